/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine's clock: nanoseconds since the machine was created.
 *
 * In the modes sync and step time is virtual, so that runs are repeatable: each store to a
 * doorbell page and each kernel call takes CLOCK_EVENT_NS, and nothing else takes
 * time. A program that only waits would never see time pass. So the launcher
 * advances the clock to the next timer when the machine has been idle for
 * CLOCK_IDLE_MS of real time and all programs sleep or poll. In thread mode the
 * clock is the real monotonic clock.
 *
 * Call these with the machine's lock held unless stated otherwise. They are
 * async-signal-safe.
 */

#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_EVENT_NS 1000u
#define CLOCK_IDLE_MS  2u
#define CLOCK_NEVER    UINT64_MAX

struct machine_clock {
	bool is_virtual;
	uint64_t virtual_ns;
	uint64_t start_ns; /* CLOCK_MONOTONIC when the machine was created */
	uint64_t nb_events;
	uint64_t due_ns; /* earliest timer */
	uint64_t watch_ns; /* the launcher wakes at this time by itself */
};

/* Launcher, once. */
void clock_init(bool is_virtual);
uint64_t clock_now(void);
/* Account for a doorbell or a kernel call. */
void clock_event(void);
/* Virtual time: advance the clock by ns. */
void clock_pass(uint64_t ns);
/* Start a timer. Timers are one-shot: work that remains needs a new call. */
void clock_due(uint64_t at_ns);
/* Whether a timer has expired. Needs no lock; may be outdated. */
bool clock_is_due(void);
/* Clear the expired timer, whose work the caller does now. Returns the time. */
uint64_t clock_take(void);

/*
 * For the launcher: advance the clock if the machine is idle. Returns the real
 * time in ns after which to call again (CLOCK_NEVER: when woken).
 */
uint64_t clock_watch(bool programs_wait);
/* Whether clock_watch() uses programs_wait. Needs no lock; may be outdated. */
bool clock_is_early(void);

#endif /* MODEL_CLOCK_H */
