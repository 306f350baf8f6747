/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <time.h>

#include "clock.h"
#include "platform.h"
#include "segment.h"

static_assert(sizeof(struct machine_clock) <= SEGMENT_CLOCK_BYTES, "clock");

#define IDLE_NS (CLOCK_IDLE_MS * UINT64_C(1000000))

static uint64_t
monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void
clock_init(bool is_virtual)
{
	struct machine_clock *clock = segment_clock();

	clock->is_virtual = is_virtual;
	clock->start_ns = monotonic_ns();
	clock->due_ns = CLOCK_NEVER;
	clock->watch_ns = CLOCK_NEVER;
}

uint64_t
clock_now(void)
{
	const struct machine_clock *clock = segment_clock();

	return clock->is_virtual ? clock->virtual_ns :
				   monotonic_ns() - clock->start_ns;
}

void
clock_event(void)
{
	clock_pass(CLOCK_EVENT_NS);
}

void
clock_pass(uint64_t ns)
{
	struct machine_clock *clock = segment_clock();

	clock->nb_events++;
	clock->virtual_ns += ns;
}

void
clock_due(uint64_t at_ns)
{
	struct machine_clock *clock = segment_clock();

	if (at_ns >= clock->due_ns)
		return;
	__atomic_store_n(&clock->due_ns, at_ns, __ATOMIC_RELAXED);
	if (at_ns < clock->watch_ns) {
		clock->watch_ns = 0; /* once is enough */
		platform->wake_owner();
	}
}

bool
clock_is_due(void)
{
	const uint64_t due =
		__atomic_load_n(&segment_clock()->due_ns, __ATOMIC_RELAXED);

	return due != CLOCK_NEVER && due <= clock_now();
}

uint64_t
clock_take(void)
{
	struct machine_clock *clock = segment_clock();

	__atomic_store_n(&clock->due_ns, CLOCK_NEVER, __ATOMIC_RELAXED);
	return clock_now();
}

/* Virtual time: nb_events, and its real time, when clock_watch() saw it. */
static uint64_t seen_events, seen_ns;

static uint64_t
watch_virtual(struct machine_clock *clock, bool programs_wait)
{
	const uint64_t real_ns = monotonic_ns();

	if (clock->due_ns == CLOCK_NEVER) {
		clock->watch_ns = CLOCK_NEVER;
		return CLOCK_NEVER;
	}
	clock->watch_ns = 0;
	if (clock->nb_events != seen_events) {
		seen_events = clock->nb_events;
		seen_ns = real_ns;
	} else if (real_ns - seen_ns >= IDLE_NS && !programs_wait) {
		return IDLE_NS;
	} else if (real_ns - seen_ns >= IDLE_NS) {
		if (clock->due_ns > clock->virtual_ns)
			clock->virtual_ns = clock->due_ns;
		return 0;
	}
	return IDLE_NS - (real_ns - seen_ns);
}

bool
clock_is_early(void)
{
	const struct machine_clock *clock = segment_clock();

	return clock->is_virtual && clock->due_ns != CLOCK_NEVER &&
	       clock->nb_events == seen_events;
}

uint64_t
clock_watch(bool programs_wait)
{
	struct machine_clock *clock = segment_clock();
	uint64_t now;

	if (clock->is_virtual)
		return watch_virtual(clock, programs_wait);
	now = clock_now();
	clock->watch_ns = clock->due_ns;
	if (clock->due_ns == CLOCK_NEVER)
		return CLOCK_NEVER;
	return clock->due_ns > now ? clock->due_ns - now : 0;
}
