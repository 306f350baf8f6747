/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What keeps threads and processes apart: the pause of bursts, and the registry.
 *
 * enum mana_lock_rank has all locks in their order. The kernel is called under control, ports_lock
 * and changes_lock only, and, to deregister memory that EAL frees, under EAL's lock of memory.
 * Bursts take none, and only try changes_lock. The guide's page mana-control has the threads, what
 * each lock protects, and the reasons.
 */

#ifndef MANA_LOCKS_H
#define MANA_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "mana_port.h"

/* ---- mana_pause.c: the pause of bursts ---------------------------------------- */

/* Queues to pause. */
#define MANA_PAUSE_RX 1u
#define MANA_PAUSE_TX 2u
#define MANA_PAUSE_ALL (MANA_PAUSE_RX | MANA_PAUSE_TX)
#define MANA_PAUSE_TXQ_S 16
#define MANA_PAUSE_TXQ(queue_id) \
	(MANA_PAUSE_TX | ((queue_id) + 1u) << MANA_PAUSE_TXQ_S) /* only this one */
/*
 * A burst of the calling thread does not count: a signal handler has interrupted it, stops
 * the port, and does not return to it.
 */
#define MANA_PAUSE_FOR_STOP 4u

/* So long an operation of the application waits for bursts, and the rebuild of a failed queue. */
#define MANA_PATIENCE_MS 2000
#define MANA_REPAIR_PATIENCE_MS 10

/* Each thread of the processes that share ports executes a full barrier: 0, or -ENOTSUP. */
int mana_threads_barrier(void);
/* Lets other processes pause the queues of this one: 0, or -ENOTSUP. */
int mana_pause_share(void);
/* Waits until the status function or the process has ended that has locked a queue. */
void mana_query_wait(MANA_ATOMIC(uint64_t) *lock);
/* Unlocks the queues that the calling thread has locked, likewise. */
void mana_queries_drop(const struct mana_priv *priv);
/* Pauses or resumes queues of the port without waiting, where no burst runs. */
void mana_pause_set(const struct mana_priv *priv, unsigned int what, bool is_paused);
/*
 * From the return on, until mana_resume(), bursts and status functions of the queues return 0
 * and access nothing. -ENOTSUP: the kernel refuses membarrier(2); -EBUSY: a burst does not end
 * in this time (a debugger has stopped its thread, say). Nothing has changed then; there is a
 * message only for an operation of the application, and not for the stop of the port.
 */
int mana_pause(struct mana_priv *priv, unsigned int what, uint32_t patience_ms);
/*
 * Lets bursts in again, and wakes the applications that sleep or are about to, to enable their
 * interrupts again: CQs may be new ones, and nothing was armed during the pause. Also at the end
 * of a mana_pause() that gave up.
 */
void mana_resume(struct mana_priv *priv, unsigned int what);
/*
 * Sets the burst functions of a port and, while that has the port's, of ethdev's table: at
 * start and stop of the port ethdev changes it at another time.
 */
void mana_bursts_set(struct rte_eth_dev *dev, eth_rx_burst_t rx, eth_tx_burst_t tx,
		     eth_tx_prep_t prepare);
/* Sets empty burst functions in the same way. */
void mana_bursts_stop(struct rte_eth_dev *dev);
/* Wakes the threads that sleep on an Rx interrupt, without a packet. */
void mana_rx_wake(const struct mana_priv *priv);

/* ---- mp/mana_peers.c: what this layer asks of processes ---------------- */

/* Whether there are secondary processes with ports. Any thread. */
bool mana_peers_exist(void);
/*
 * Forgets the processes that have ended, and removes their marks: for who waits for bursts, as
 * the interrupt thread may. Not with the registry locked.
 */
void mana_peers_reap(void);
/* From a burst of a secondary process, without a wait: the primary looks at each mana_mr_ask. */
void mana_peers_ask(void);

/* ---- mana_registry.c: the registry ---------------------------------------------- */

/*
 * The list of ports, and the lock for all that another thread or process may read while the
 * application changes it, in memory that processes share. ethdev's own tables have no lock. A
 * port or queue that a caller finds exists until the caller unlocks. No burst and no system call
 * runs under the lock.
 *
 * open finds the list, or makes it in the primary process. Open and close are counted per process.
 * -ENOENT: the primary process has no list; -EINVAL: it has another version of the driver.
 */
int mana_registry_open(void);
void mana_registry_close(void);
/* The file of this driver in this process: the plug-in, or a program linked with it. */
const char *mana_driver_file(void);
/* And in the primary process, which may have another version of the driver. */
const char *mana_registry_file(void);
/*
 * The queues of a port, for bursts of secondary processes: also while there is no such port.
 * This process has the list open; the memory remains while EAL runs.
 */
struct mana_burst_queues *mana_registry_queues(uint16_t port_id);
/* remove: also of a port that was not added. */
int mana_registry_add(struct mana_priv *priv);
void mana_registry_remove(struct mana_priv *priv);
void mana_registry_lock(void);
void mana_registry_unlock(void);
/* Locks and returns the port of dev; NULL, unlocked: it was closed. */
struct mana_priv *mana_registry_hold(const struct rte_eth_dev *dev);
/* With the lock held: the port of this number, or NULL. */
struct mana_priv *mana_registry_find(uint64_t port_id);
/* With the lock held: the next port from this number on, which it raises; NULL: none. */
struct mana_priv *mana_registry_next(uint32_t *port_id);

#endif /* MANA_LOCKS_H */
