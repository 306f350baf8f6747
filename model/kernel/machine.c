/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "card.h"
#include "clock.h"
#include "fault.h"
#include "machine.h"
#include "platform.h"
#include "script.h"
#include "segment.h"

/* With the lock held. */
static void
run_timers(void)
{
	const uint64_t now = clock_take();

	card_timers(now);
	if (platform->timers != NULL)
		platform->timers(now);
	script_due();
}

void
machine_tick(void)
{
	const bool is_due = clock_is_due();

	if (!is_due && !script_is_due())
		return;
	if (is_due) {
		segment_lock();
		run_timers();
		segment_unlock();
	}
	script_run();
}

static void
sleep_ns(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	/* Kernel calls are not interrupted by signals here. */
	while (syscall(SYS_nanosleep, &left, &left) < 0 && errno == EINTR)
		;
}

void
machine_slow(void)
{
	const uint64_t ns = fault_slow_take();
	const int saved_errno = errno;

	if (ns == 0)
		return;
	if (segment_clock()->is_virtual) {
		segment_lock();
		clock_pass(ns);
		segment_unlock();
	} else {
		sleep_ns(ns);
	}
	errno = saved_errno;
}
