/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device thread. In thread mode doorbells mark queues as pending and wake
 * it to process them. In polled mode it polls the doorbell pages.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "card.h"
#include "kernel.h"
#include "machine.h"
#include "polled_pages.h"
#include "preload.h"
#include "process_lock.h"
#include "segment.h"

#define IDLE_MS 1000
#define IDLE_LOOKS 100000u
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

/* After long idle time, let other threads use the core. */
static void
rest(uint32_t nb_idle)
{
	if (nb_idle < IDLE_LOOKS)
		__builtin_ia32_pause();
	else
		sched_yield();
}

static void *
run_polled(void *arg)
{
	uint32_t nb_idle = 0;

	(void)arg;
	pthread_setname_np(pthread_self(), "mana-device");
	for (;;) {
		nb_idle = polled_pages_run(false) != 0 ? 0 : nb_idle + 1;
		if (card_is_due()) {
			segment_lock_masked();
			card_run(model_self);
			segment_unlock_masked();
		}
		machine_tick();
		if (nb_idle != 0)
			rest(nb_idle);
	}
	return NULL;
}

/* Set the thread's cores: not just those of the program's thread. */
static int
place(pthread_attr_t *attr)
{
	const struct model_process *launcher = segment_process(SEGMENT_LAUNCHER);
	const uint32_t core = segment_config()->core;
	cpu_set_t cores;

	CPU_ZERO(&cores);
	if (core != MODEL_ANY_CORE)
		CPU_SET(core, &cores);
	else if (sched_getaffinity(launcher->pid, sizeof(cores), &cores) < 0)
		return 0;
	return pthread_attr_setaffinity_np(attr, sizeof(cores), &cores);
}

static int
start(void)
{
	const bool is_polled = segment_config()->mode == MODEL_MODE_POLLED;
	pthread_attr_t attr;
	pthread_t thread;
	int ret = pthread_attr_init(&attr);

	if (ret != 0)
		return -ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ret = is_polled ? place(&attr) : 0;
	if (ret == 0)
		ret = pthread_create(&thread, &attr,
				     is_polled ? run_polled : run, NULL);
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
