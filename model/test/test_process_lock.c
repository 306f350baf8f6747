/* SPDX-License-Identifier: BSD-3-Clause */

/* fork() while another thread of the process holds a lock. */

#include <stdbool.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../preload/process_lock.h"
#include "test.h"

/* How long a lock is held once the other thread is in fork(). */
#define HELD_US 20000

static enum process_lock_name name;
static bool is_held, is_forking, has_forked;
static volatile int first, second; /* written together, under the lock */

static void
await(const bool *what)
{
	while (!__atomic_load_n(what, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void
set(bool *what)
{
	__atomic_store_n(what, true, __ATOMIC_RELEASE);
}

/* Runs before the handler of the locks, which was registered first. */
static void
note_fork(void)
{
	set(&is_forking);
}

static void *
hold(void *arg)
{
	signals_block_all();
	process_lock(name);
	first++;
	set(&is_held);
	if (name < PROCESS_LOCK_PAGES) {
		await(&has_forked);
	} else {
		await(&is_forking);
		usleep(HELD_US);
	}
	second++;
	process_unlock(name);
	return arg;
}

static uint64_t
mask_now(void)
{
	uint64_t mask = 0;

	signals_set_mask(SIG_BLOCK, NULL, &mask);
	return mask;
}

/* The number of the first wrong property in the child, or 0. */
static int
check_child(uint64_t mask)
{
	for (int i = 0; i < NB_PROCESS_LOCKS; i++)
		if (process_locks[i] != 0)
			return 1;
	if (mask_now() != mask)
		return 2;
	return name >= PROCESS_LOCK_PAGES && first != second ? 3 : 0;
}

static void
fork_while_held(void)
{
	const uint64_t mask = mask_now();
	pthread_t thread;
	int status;
	pid_t pid;

	is_held = is_forking = has_forked = false;
	assert_int_equal(pthread_create(&thread, NULL, hold, NULL), 0);
	await(&is_held);
	pid = fork();
	if (pid == 0)
		_exit(check_child(mask));
	set(&has_forked);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(status, 0);
	assert_int_equal(mask_now(), mask);
	for (int i = 0; i < NB_PROCESS_LOCKS; i++)
		assert_int_equal(process_locks[i], 0);
}

TEST(child_finds_locks_free_and_data_consistent)
{
	for (int i = 0; i < NB_PROCESS_LOCKS; i++) {
		name = i;
		fork_while_held();
	}
}

int
main(void)
{
	if (pthread_atfork(note_fork, NULL, NULL) != 0)
		return 1;
	return test_run("process lock", NULL, NULL);
}
