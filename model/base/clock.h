/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine's clock: nanoseconds since the machine was made.
 *
 * In synchronous mode time is virtual, so that a run can be repeated: each
 * store to a doorbell page and each kernel call takes CLOCK_EVENT_NS, and nothing
 * else takes time. A program that only waits would wait for ever; so when
 * something is due later, the machine has been idle for CLOCK_IDLE_MS of real
 * time, and its programs sleep or poll, the launcher moves the clock there. In step mode it is virtual too, and
 * a step that finds nothing else to do moves it. In the other modes it is the
 * real monotonic clock.
 *
 * With the machine's lock held unless stated otherwise; async-signal-safe.
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
	uint64_t start_ns; /* CLOCK_MONOTONIC when the machine was made */
	uint64_t nb_events;
	uint64_t due_ns; /* the earliest thing that waits for its time */
	uint64_t watch_ns; /* nobody need wake the launcher for what is due later */
};

/* Launcher, once. */
void clock_init(bool is_virtual);
uint64_t clock_now(void);
/* A doorbell or a kernel call has happened. */
void clock_event(void);
/* Virtual time: something has taken this long. */
void clock_pass(uint64_t ns);
/*
 * Something is to be done at this time. Timers are forgotten when they are
 * due: who has more to do then says so again.
 */
void clock_due(uint64_t at_ns);
/* Whether something is due; without the lock it is a guess. */
bool clock_is_due(void);
/* Something was due: it is being done. The time. */
uint64_t clock_take(void);

/* Step mode: move the clock to what is due next. */
void clock_skip(void);

/*
 * The launcher watches the clock: moves it when the machine is idle, and says
 * in how many nanoseconds of real time to look again (CLOCK_NEVER: when woken).
 */
uint64_t clock_watch(bool programs_wait);
/* Whether it matters just now if programs wait; without the lock a guess. */
bool clock_is_early(void);
/* Wake the launcher; provided by the kernel side. */
void kernel_kick_launcher(void);

#endif /* MODEL_CLOCK_H */
