/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs what doorbells of this process's queues have left to do. The stores
 * themselves only note it and wake this thread.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "device.h"
#include "device_thread.h"
#include "kernel.h"
#include "quiet.h"
#include "segment.h"

#define IDLE_MS 1000
#define STACK_BYTES ((size_t)256 << 10)

static struct quiet_lock lock;
static pid_t started_by; /* threads do not survive fork() */

static void *
run(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "mana-device");
	/* Every signal is the program's business, and blocked from birth. */
	for (;;) {
		uint32_t seen = kernel_kick_count(model_self);
		bool has_worked;

		segment_lock_masked();
		has_worked = device_run(model_self);
		segment_unlock_masked();
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
	uint64_t mask = quiet_enter();
	int ret = 0;

	quiet_lock(&lock);
	if (started_by != getpid()) {
		ret = start(); /* with the mask of this moment */
		if (ret == 0)
			started_by = getpid();
	}
	quiet_unlock(&lock);
	quiet_leave(mask);
	return ret;
}
