/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device thread of thread mode: doorbells mark queues as pending and wake it
 * to process them.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "card.h"
#include "kernel.h"
#include "machine.h"
#include "preload.h"
#include "process_lock.h"
#include "segment.h"

#define IDLE_MS 1000
#define STACK_BYTES ((size_t)256 << 10)

static pid_t started_by; /* a child of fork() has no device thread */

static void *
run(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "mana-device");
	/* All signals are for the program and blocked here from the start. */
	for (;;) {
		uint32_t seen = kernel_kick_count(model_self);
		bool has_worked;

		segment_lock_masked();
		has_worked = card_run(model_self);
		segment_unlock_masked();
		machine_tick();
		if (!has_worked)
			kernel_kick_wait(model_self, seen, IDLE_MS);
	}
	return NULL;
}

static int
start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret = pthread_attr_init(&attr);

	if (ret != 0)
		return -ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ret = pthread_create(&thread, &attr, run, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

int
device_thread_start(void)
{
	uint64_t mask = signals_block_all();
	int ret = 0;

	process_lock(PROCESS_LOCK_THREAD);
	if (started_by != getpid()) {
		ret = start(); /* with the present signal mask */
		if (ret == 0)
			started_by = getpid();
	}
	process_unlock(PROCESS_LOCK_THREAD);
	signals_restore_all(mask);
	return ret;
}
