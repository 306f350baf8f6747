/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A line of a trace, taken apart. What is wrong is told with file and line.
 */

#ifndef MODEL_REPLAY_LINE_H
#define MODEL_REPLAY_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay.h"

struct replay_line {
	const char *path;
	uint32_t number; /* from 1 */
	char *text; /* without line feed */
	const char *class; /* its word, and what follows it */
	uint32_t class_bytes;
	const char *rest;
};

/* False after a complaint: "PATH:NUMBER: ...". */
bool replay_line_complain(const struct replay_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Time and class of line->text. */
bool replay_line_cut(struct replay_line *line);
bool replay_line_is(const struct replay_line *line, const char *class);

/* The value of a key and its length, or NULL. */
const char *replay_line_find(const struct replay_line *line, const char *key,
			     uint32_t *nb_bytes);
/* Whether key has this value. */
bool replay_line_has(const struct replay_line *line, const char *key,
		     const char *value);
/* A number that must be there. */
bool replay_line_number(const struct replay_line *line, const char *key,
			uint64_t max, uint32_t *number);

/* The CQE of a line: of its fields, of raw=, or of both when they agree. */
bool replay_line_cqe(const struct replay_line *line,
		     uint8_t cqe[REPLAY_CQE_BYTES]);

#endif /* MODEL_REPLAY_LINE_H */
