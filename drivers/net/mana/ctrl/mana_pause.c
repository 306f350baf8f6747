/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pause of queues, and the burst functions of a port: mana_locks.h.
 *
 * Other cores poll and send while the control path replaces rings, and DPDK cannot
 * ask them to stop. An atomic read-modify-write or a fence would cost a burst more
 * than all its other instructions, so the cost is here:
 *
 *   burst                           control path
 *   is_busy = stack pointer         pause the queue
 *   (compiler barrier)              membarrier()
 *   is the queue paused? return     wait until is_busy is 0
 *   (compiler barrier)              membarrier()
 *   ... rings ...                   ... rings, hwqs of an rxq ...
 *   (compiler barrier)              membarrier()
 *   is_busy = 0                     resume the queue
 *
 * membarrier(2) makes every running thread of the process execute a full barrier, and of the
 * secondary processes while there are any, so the control path has the fences of both sides. An
 * Rx burst finds that its queue is paused by the stand-in (struct mana_rxq), an hwq with a
 * slow-path flag; a Tx burst by the flag runs. So a burst pays two plain stores and one load.
 * Where membarrier(2) is refused (seccomp), no queue of a running port can be paused:
 * mana_probe.c reports what that means.
 *
 * The guide's page mana-datapath explains each barrier. The unit test pause_protocol tries all
 * interleavings.
 */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <ethdev_driver.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

#define WAIT_US 20
#define MAX_WAIT_US 1000u

/*
 * Linux kernel/sched/membarrier.c: the private expedited command since 4.14. The global
 * one, since 4.16, reaches the processes that have registered for it.
 */
static int
membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0 ? 0 : -ENOTSUP;
}

int
mana_threads_barrier(void)
{
	if (mana_peers_exist())
		return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
	/* The command fails before the process has registered for it. */
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return 0;
	(void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

int
mana_pause_share(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

static bool
is_meant(const struct mana_txq *txq, unsigned int what)
{
	const unsigned int only = what >> MANA_PAUSE_TXQ_S;

	return (what & MANA_PAUSE_TX) != 0 && (only == 0 || only == txq->queue_id + 1u);
}

/* In a function of its own for the thread sanitizer: bursts read the flag at any time. */
static void
tx_pause_set(const struct mana_priv *priv, struct mana_txq *txq, unsigned int what, bool is_paused)
{
	txq->is_stopping = is_paused && (what & MANA_PAUSE_FOR_STOP) != 0;
	txq->device = priv->device;
	MANA_ORDER_BEFORE(txq);
	/* A queue that does not run stays paused: it has no rings. */
	txq->runs = !is_paused && txq->qp != NULL;
}

void
mana_pause_set(const struct mana_priv *priv, unsigned int what, bool is_paused)
{
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	if ((what & MANA_PAUSE_RX) != 0)
		MANA_FOREACH_RXQ(priv, rxq) {
			/* Other processes leave it alone if there are no rings. */
			rxq->device = priv->rx_set != NULL ? priv->device : 0;
			mana_rxq_pause(rxq, is_paused);
		}
	MANA_FOREACH_TXQ(priv, txq)
		if (is_meant(txq, what))
			tx_pause_set(priv, txq, what, is_paused);
}

/* Whether a stack pointer is that of the calling thread, whatever stack that uses now. */
static bool
is_own_stack(uintptr_t stack_pointer)
{
	pthread_attr_t attr;
	size_t bytes = 0;
	void *base = NULL;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return false;
	(void)pthread_attr_getstack(&attr, &base, &bytes);
	pthread_attr_destroy(&attr);
	return stack_pointer - (uintptr_t)base < bytes;
}

/* Whether a burst and a status function have left before the time end. */
static bool
wait_idle(MANA_ATOMIC(uintptr_t) *is_busy, const MANA_ATOMIC(uint32_t) *user,
	  const MANA_ATOMIC(uint64_t) *lock, bool for_stop, uint64_t end)
{
	const uintptr_t burst = mana_atomic_load(is_busy);
	const bool is_own = for_stop && burst != 0 && mana_atomic_load(user) == 0 &&
			    is_own_stack(burst);
	unsigned int wait_us = WAIT_US;

	/* The handler may never return to it. */
	if (is_own)
		mana_atomic_store(is_busy, 0);
	while (mana_atomic_load(is_busy) != 0 || mana_atomic_load(user) != 0 ||
	       mana_atomic_load(lock) != 0) {
		if (rte_get_timer_cycles() > end)
			return false;
		/* A thread that wakes often keeps the burst from a processor that both share. */
		rte_delay_us_sleep(wait_us);
		wait_us = RTE_MIN(2 * wait_us, MAX_WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	MANA_ORDER_BEHIND(is_busy);
	MANA_ORDER_BEHIND(lock);
	return true;
}

void
mana_query_wait(MANA_ATOMIC(uint64_t) *lock)
{
	while (!mana_query_trylock(lock)) {
		rte_delay_us_sleep(WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	mana_query_unlock(lock);
}

void
mana_queries_drop(const struct mana_priv *priv)
{
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		if (mana_atomic_load(&rxq->query_lock) == mana_query_id())
			mana_query_unlock(&rxq->query_lock);
	MANA_FOREACH_TXQ(priv, txq)
		if (mana_atomic_load(&txq->query_lock) == mana_query_id())
			mana_query_unlock(&txq->query_lock);
}

/*
 * Called after the barrier that follows the pause. A queue that was found idle is not checked
 * again: a burst that begins now accesses nothing, but sets is_busy for a moment.
 */
static int
wait_all_idle(const struct mana_priv *priv, unsigned int what, uint64_t end)
{
	bool for_stop = (what & MANA_PAUSE_FOR_STOP) != 0;
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		if ((what & MANA_PAUSE_RX) != 0 &&
		    !wait_idle(&rxq->is_busy, &rxq->user, &rxq->query_lock, for_stop, end))
			return -EBUSY;
	MANA_FOREACH_TXQ(priv, txq)
		if (is_meant(txq, what) &&
		    !wait_idle(&txq->is_busy, &txq->user, &txq->query_lock, for_stop, end))
			return -EBUSY;
	return 0;
}

int
mana_pause(struct mana_priv *priv, unsigned int what, uint32_t patience_ms)
{
	uint64_t end = rte_get_timer_cycles() + patience_ms * rte_get_timer_hz() / 1000;
	/* Tried before anything is paused: the end of a pause needs it, too. */
	int ret = mana_threads_barrier();

	if (ret == 0) {
		mana_pause_set(priv, what, true);
		ret = mana_threads_barrier();
		if (ret == 0)
			ret = wait_all_idle(priv, what, end);
		if (ret == 0)
			ret = mana_threads_barrier();
		if (ret != 0)
			mana_resume(priv, what);
	}
	if (ret != 0 && patience_ms == MANA_PATIENCE_MS && (what & MANA_PAUSE_FOR_STOP) == 0)
		MANA_PORT_LOG(ERR, priv->data->name, "%s", ret == -EBUSY ?
			      "a burst does not end: continue or end its thread, or the secondary process that it runs in, and try again" :
			      "the kernel refuses membarrier(2) (seccomp): stop the port to change its Rx queues");
	return ret;
}

void
mana_resume(struct mana_priv *priv, unsigned int what)
{
	/* It has worked a moment ago. */
	(void)mana_threads_barrier();
	mana_pause_set(priv, what, false);
	(void)mana_threads_barrier();
	/* An enable that found its queue paused has cleared the eventfd by now. */
	if ((what & MANA_PAUSE_RX) != 0)
		mana_rx_wake(priv);
}

void
mana_rx_wake(const struct mana_priv *priv)
{
	for (uint16_t i = 0; i < priv->nb_rx_intrs; i++)
		(void)eventfd_write(priv->rx_intrs[i].wake_fd, 1);
}

/* ---- Burst functions --------------------------------------------------------- */

void
mana_bursts_set(struct rte_eth_dev *dev, eth_rx_burst_t rx, eth_tx_burst_t tx,
		eth_tx_prep_t prepare)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[dev->data->port_id];
	bool is_used = ops->rx_pkt_burst == dev->rx_pkt_burst &&
		       ops->tx_pkt_burst == dev->tx_pkt_burst;

	dev->rx_pkt_burst = rx;
	dev->tx_pkt_burst = tx;
	dev->tx_pkt_prepare = prepare;
	if (is_used) {
		/* A secondary process has set its queues before. */
		rte_wmb();
		ops->rx_pkt_burst = rx;
		ops->tx_pkt_burst = tx;
		ops->tx_pkt_prepare = prepare;
	}
}

/* The burst that follows takes none. */
static uint16_t
no_prepare(void *txq __rte_unused, struct rte_mbuf **pkts __rte_unused, uint16_t nb)
{
	return nb;
}

void
mana_bursts_stop(struct rte_eth_dev *dev)
{
	mana_bursts_set(dev, rte_eth_pkt_burst_dummy, rte_eth_pkt_burst_dummy, no_prepare);
}
