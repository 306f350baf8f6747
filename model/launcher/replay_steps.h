/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A recording in the making: the lines of a trace become calls and steps.
 */

#ifndef MODEL_REPLAY_STEPS_H
#define MODEL_REPLAY_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay_line.h"

/* An array that grows. */
struct replay_list {
	void *items;
	size_t nb, room, item_bytes;
};

struct recording_file {
	uint32_t parts; /* REPLAY_* */
	struct replay_list calls, queues, steps, texts;
	struct replay_list live; /* one for each queue */
};

void replay_steps_init(struct recording_file *file);

/* One more line. False after a complaint. */
bool replay_steps_add(struct recording_file *file, struct replay_line *line);

#endif /* MODEL_REPLAY_STEPS_H */
