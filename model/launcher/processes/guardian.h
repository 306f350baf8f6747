/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The guardian: a process between the launcher and its program. It starts the
 * program. Whatever the program starts and leaves behind becomes the guardian's
 * child (PR_SET_CHILD_SUBREAPER), so that the guardian can end it, also when the
 * launcher was killed. If the guardian is killed, the kernel kills the program,
 * and the rest becomes the launcher's children.
 */

#ifndef MODEL_GUARDIAN_H
#define MODEL_GUARDIAN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* What the guardian is to do; set before it starts. */
struct guardian_plan {
	char **argv; /* the program; NULL: none */
	const char *run_dir; /* the machine's folder */
	bool is_joined; /* else the folder is removed if the launcher is killed */
	const sigset_t *mask; /* the program's signal mask */
	int terminal; /* the program gets this terminal; -1: none */
};

/* Requests of the launcher, as one int. Positive ones are signals for the program. */
enum {
	GUARDIAN_START = 0, /* start the program */
	GUARDIAN_END = -1, /* end all processes, in order */
	GUARDIAN_DISMISS = -2, /* exit: the launcher removes the run folder */
};

/* The program has stopped or ended, or was not started. */
struct guardian_answer {
	pid_t pid; /* of the program; 0: all processes have ended (GUARDIAN_END) */
	int error; /* errno of fork() or execvp(), or 0: status is valid */
	int status; /* as from wait() */
};

/*
 * Start the guardian. Its pid, and a socket for requests and answers in *channel;
 * or -errno. Call before opening any descriptor that must close with the launcher,
 * since the guardian would inherit it.
 */
pid_t guardian_start(const struct guardian_plan *plan, int *channel);

/*
 * For the launcher, if its guardian was killed: kill all children and theirs, but
 * guardians, which end by themselves. Returns when they have ended, or after 10 s.
 */
void guardian_replace(void);

#endif /* MODEL_GUARDIAN_H */
