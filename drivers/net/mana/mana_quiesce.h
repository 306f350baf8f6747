/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keeping bursts off the receive queues of a running port.
 *
 * Other cores poll while the control path replaces rings under them, and
 * DPDK has no way to ask them to stop. An atomic read-modify-write or a fence
 * in each burst would cost more than anything else in it, so all of the cost
 * is here:
 *
 *   burst                           control path
 *   is_busy = 1                     held = 1
 *   (compiler barrier)              membarrier()
 *   held? is_busy = 0, return 0     wait until is_busy is 0
 *   (compiler barrier)              membarrier()
 *   ... rings ...                   ... rings ...
 *   (compiler barrier)              membarrier()
 *   is_busy = 0                     held = 0
 *
 * membarrier(2) makes every running thread of the process execute a full
 * barrier. After the first one, either the burst's is_busy is seen here, or
 * the burst sees held: the store and the load cannot pass each other any more
 * (Dekker's algorithm, with all of the fence on one side). The second one
 * makes what a burst has done visible before its end; the third one, what has
 * been changed before the queue is open again. On x86 these two matter to the
 * compiler only.
 *
 * held is looked at together with all else that is out of the ordinary (union
 * mana_rx_odd), so a burst pays two plain stores to a line of its own.
 *
 * The guide's page mana-datapath has the whole argument, what it costs, and
 * what send queues, recovery and other processes would need. The unit test
 * quiesce-protocol tries all interleavings of it.
 */

#ifndef MANA_QUIESCE_H
#define MANA_QUIESCE_H

#include "mana.h"

/**
 * From the return on, until mana_quiesce_end(), bursts of receive queues
 * return 0 and look at nothing. Control path.
 *
 * @return
 *   0; -ENOTSUP when the kernel has no membarrier() for us; -EBUSY when a
 *   burst does not end (its thread is stopped by a debugger, say). Nothing
 *   has changed then, a message says which.
 */
int mana_quiesce_rx(struct mana_priv *priv);
/*
 * Lets bursts in again. Interrupts that were enabled while a queue was held,
 * also by a mana_quiesce_rx() that gave up, and not disabled again, are armed.
 */
void mana_quiesce_end(struct mana_priv *priv);

#endif /* MANA_QUIESCE_H */
