/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process that is killed at some instruction of what it does.
 */

#ifndef MODEL_TEST_KILL_RIG_H
#define MODEL_TEST_KILL_RIG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Shared with the process that is killed; cmocka's asserts must not be used
 * there: exit with a status instead.
 */
struct kill_rig {
	/* In the process: before, and up to where it is killed. */
	void (*prepare)(void *arg);
	void (*work)(void *arg);
	void *arg;
	uint64_t nb_steps; /* of work, after a run that nobody killed */
	bool is_done;
};

struct kill_rig *kill_rig_new(void);
void kill_rig_free(struct kill_rig *rig);

/*
 * Run both in a new process, which is killed after so many instructions of
 * work. False when it was done by then, or ended by itself: is_done tells.
 */
bool kill_rig_run(struct kill_rig *rig, uint64_t nb_steps);
#define KILL_RIG_NEVER UINT64_MAX

/*
 * How many instructions further the next one is killed, of nb_all: so that there
 * are nb_kills, or fewer where each is late, as it takes that many traps. Or what
 * the program's first argument says, 1 being all, which takes minutes.
 */
uint64_t kill_rig_stride(uint64_t nb_all, uint64_t nb_kills);
void kill_rig_arguments(int argc, char **argv);

#endif /* MODEL_TEST_KILL_RIG_H */
