/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The processes of a machine, including those that are no descendants of its
 * launcher: daemons, joined programs, programs of a killed launcher.
 */

#ifndef MODEL_PROCESSES_H
#define MODEL_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "child.h"

/*
 * End the processes of the machine in run_dir; NULL: only descendants of the
 * caller. Returns when they have ended, or after 10 s.
 *
 * child: the launcher's program. Processes, including descendants, get SIGTERM
 * first. NULL: the launcher was killed, so they are killed at once.
 *
 * Guardians and joined launchers are not signalled: they end by themselves.
 */
void processes_end(const char *run_dir, struct child *child);

/*
 * The guardian waits for the launcher to be killed. It then ends the machine's
 * processes and removes the run folder, as the launcher would have.
 */
struct guardian {
	pid_t pid; /* 0: none */
	int pipe;  /* closes when the launcher ends */
};

/*
 * 0 or -errno. Call before opening any descriptor that must close with the
 * launcher, since the guardian would inherit it.
 */
int guardian_start(struct guardian *guardian, const char *run_dir);
/* End the guardian; idempotent. */
void guardian_dismiss(struct guardian *guardian);

/* Whether a process is the guardian of any machine. */
bool guardian_is(pid_t pid);

#endif /* MODEL_PROCESSES_H */
