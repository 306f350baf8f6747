/* SPDX-License-Identifier: BSD-3-Clause */

/* Work of the machine that depends on time. */

#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

/*
 * Do what is due: the card's timers and the scenario. Called after each
 * doorbell and kernel call, in the device thread's loop, and by the launcher,
 * without the machine's lock. Async-signal-safe. Cheap if nothing is due.
 */
void machine_tick(void);

/*
 * A slow host: spend the configured time of this thread's kernel call. Called
 * at its end, without the lock, before machine_tick(). Virtual time is
 * advanced; no thread sleeps.
 */
void machine_slow(void);

#endif /* MODEL_MACHINE_H */
