/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>

#include "process_lock.h"

#define FIRST_WAITED_FOR PROCESS_LOCK_PAGES

int process_locks[NB_PROCESS_LOCKS];

static uint64_t mask_of_forker; /* while fork() holds the locks */

static void
before_fork(void)
{
	uint64_t mask = signals_block_all();

	for (int name = FIRST_WAITED_FOR; name < NB_PROCESS_LOCKS; name++)
		process_lock(name);
	mask_of_forker = mask;
}

static void
release_from(int first)
{
	uint64_t mask = mask_of_forker;

	for (int name = NB_PROCESS_LOCKS - 1; name >= first; name--)
		process_unlock(name);
	signals_restore_all(mask);
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
 * Registered before the program's own handlers, so that those run while the
 * locks are free: they may unmap pages or set signal actions.
 */
__attribute__((constructor)) static void
watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
