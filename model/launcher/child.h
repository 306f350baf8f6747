/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program on the machine, as a child of the launcher: started in a process
 * group of its own, given the terminal, told signals, reaped.
 */

#ifndef MODEL_CHILD_H
#define MODEL_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int terminal; /* ours to hand over, or -1 */
	bool has_ended;
	int status; /* as of wait() */
	int exec_error; /* errno: it never was the program */
};

/*
 * Start argv on the machine of run_dir. mask is the signal mask the program is
 * to have. 0 or -errno; a program that cannot be executed is no error here.
 */
int child_start(struct child *child, char **argv, const char *run_dir,
		const sigset_t *mask);

/* Reap whatever has ended; orphans of the program come to us too. */
void child_reap(struct child *child);

/* Pass on a signal that was sent to the launcher. */
void child_signal(const struct child *child, int signo);

/*
 * The machine is switched off: end every descendant that is left, but for one
 * that wait() does not see (guardian.h; 0: none). Guardians of machines on this
 * one are waited for.
 */
void child_end_all(struct child *child, pid_t spared);

/* The launcher's exit status for the program's. */
int child_exit_status(const struct child *child);

#endif /* MODEL_CHILD_H */
