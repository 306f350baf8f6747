/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Run a function in a process and kill it at a given instruction.
 */

#ifndef MODEL_TEST_KILL_RUN_H
#define MODEL_TEST_KILL_RUN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Shared with the killed process, which must not use cmocka's asserts: it exits
 * with a status instead.
 */
struct kill_run {
	/*
	 * Run in the process: preparation, then the work during which it is
	 * killed.
	 */
	void (*prepare)(void *arg);
	void (*work)(void *arg);
	void *arg;
	uint64_t nb_steps; /* instructions of work, after a complete run */
	bool is_done;
};

struct kill_run *kill_run_new(void);
void kill_run_free(struct kill_run *fx);

/*
 * Run both in a new process and kill it after nb_steps instructions of work.
 * False if it completed the work or ended by itself: see is_done.
 */
bool kill_run_try(struct kill_run *fx, uint64_t nb_steps);
#define KILL_RUN_NEVER UINT64_MAX

/*
 * The distance in instructions between kills, for nb_kills kills in nb_all
 * instructions, or fewer if they are late, since each instruction takes a trap.
 * The program's first argument overrides it; 1 means all instructions, which
 * takes minutes.
 */
uint64_t kill_run_stride(uint64_t nb_all, uint64_t nb_kills);
void kill_run_arguments(int argc, char **argv);

#endif /* MODEL_TEST_KILL_RUN_H */
