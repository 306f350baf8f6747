/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process that waits for the launcher to be killed by force, and then does
 * what the launcher would have done: ends all that runs on the machine and
 * removes the run folder.
 */

#ifndef MODEL_GUARDIAN_H
#define MODEL_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

struct guardian {
	pid_t pid; /* 0: none */
	int pipe;  /* its end closes with the launcher */
};

/* 0 or -errno. Before any descriptor that must close with the launcher. */
int guardian_start(struct guardian *guardian, const char *run_dir);
/* Not needed any more; idempotent. */
void guardian_dismiss(struct guardian *guardian);

/* Of whatever machine: it ends that when its launcher is killed. */
bool guardian_is(pid_t pid);

#endif /* MODEL_GUARDIAN_H */
