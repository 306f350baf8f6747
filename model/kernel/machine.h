/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the machine does by itself as time goes by.
 */

#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include <stdbool.h>

/*
 * Do what is due: the card's timers and the scenario. After each doorbell and
 * kernel call, in the device thread's loop, and by the launcher. Without the
 * machine's lock; async-signal-safe. Cheap when nothing is due.
 */
void machine_tick(void);

/*
 * Step mode, where machine_tick() does nothing: do what is due, and when the
 * machine is idle move the clock to it. False when nothing is.
 */
bool machine_step(bool is_idle);

/*
 * A slow host: take the time that the kernel call of this thread takes. At its
 * end, without the lock, before machine_tick(). Virtual time goes on and
 * nobody sleeps.
 */
void machine_slow(void);

#endif /* MODEL_MACHINE_H */
