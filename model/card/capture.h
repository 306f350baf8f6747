/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --capture: what is on the wire at each port, in pcapng files (IETF
 * draft-ietf-opsawg-pcapng). Each frame is written by the process at work, at
 * once and as a whole block: a file is valid at any moment, whoever was killed.
 * With the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_CAPTURE_H
#define MODEL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct wire;

struct capture {
	bool has_failed; /* and it was said */
	uint64_t nb_bytes[MODEL_MAX_PORTS]; /* of each file: whole blocks */
	uint64_t nb_lost[MODEL_MAX_PORTS]; /* frames of a port, not written */
};

/*
 * Launcher: make the files. 0, or a negative errno with the path of the one
 * that could not be made.
 */
int capture_create(char *path, uint32_t path_bytes);
/* Launcher, at the end: cut off what a killed process wrote half. */
void capture_finish(void);

/* A frame that a port sends or receives. */
void capture_frame(const struct wire *wire, bool is_sent, const uint8_t *frame,
		   uint32_t nb_bytes);

#endif /* MODEL_CAPTURE_H */
