/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine's lock: who waits for it gets it next. */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "segment.h"

#define NB_ROUNDS 20

static pid_t waiting; /* the thread that wants the lock */
static bool has_had;

static void *
lock_once(void *arg)
{
	__atomic_store_n(&waiting, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	segment_lock();
	__atomic_store_n(&has_had, true, __ATOMIC_RELEASE);
	segment_unlock();
	return arg;
}

static bool
sleeps(pid_t thread)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* The launcher takes the lock again at once while a generator is behind its rate. */
FX_TEST(waiting_thread_gets_the_lock_next)
{
	for (uint32_t i = 0; i < NB_ROUNDS; i++) {
		pthread_t thread;
		pid_t tid;

		waiting = 0;
		has_had = false;
		segment_lock();
		assert_int_equal(pthread_create(&thread, NULL, lock_once, NULL), 0);
		while ((tid = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE)) == 0 ||
		       !sleeps(tid))
			sched_yield();
		segment_unlock();
		segment_lock();
		assert_true(__atomic_load_n(&has_had, __ATOMIC_ACQUIRE));
		segment_unlock();
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
}
