/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>

#include "quiet.h"

#define FIRST_WAITED_FOR QUIET_PLAIN

int quiet_held[NB_QUIET];

static uint64_t mask_of_forker; /* with all that fork() waits for */

static void
before_fork(void)
{
	uint64_t mask = quiet_enter();

	for (int name = FIRST_WAITED_FOR; name < NB_QUIET; name++)
		quiet_lock(name);
	mask_of_forker = mask;
}

static void
release_from(int first)
{
	uint64_t mask = mask_of_forker;

	for (int name = NB_QUIET - 1; name >= first; name--)
		quiet_unlock(name);
	quiet_leave(mask);
}

static void
after_fork_in_parent(void)
{
	release_from(FIRST_WAITED_FOR);
}

static void
after_fork_in_child(void)
{
	release_from(0);
}

/*
 * Registered before the program's own handlers, which then run while the locks
 * are free: they may unmap pages or set actions of signals.
 */
__attribute__((constructor)) static void
watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
