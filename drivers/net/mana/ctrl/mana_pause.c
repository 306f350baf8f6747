/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pausing the queues of a running port.
 *
 * Other cores poll and send while the control path replaces rings, and DPDK cannot
 * ask them to stop. An atomic read-modify-write or a fence would cost a burst more
 * than all its other instructions, so the cost is here:
 *
 *   burst                           control path
 *   is_busy = 1                     pause the queue
 *   (compiler barrier)              membarrier()
 *   is the queue paused? return     wait until is_busy is 0
 *   (compiler barrier)              membarrier()
 *   ... rings ...                   ... rings, lists ...
 *   (compiler barrier)              membarrier()
 *   is_busy = 0                     resume the queue
 *
 * membarrier(2) makes every running thread of the process execute a full barrier,
 * and of the secondary processes while there are any, so the control path has the
 * fences of both sides. An Rx burst finds a paused list by
 * the stand-in (struct mana_rx_list), a queue with a slow-path flag; a Tx burst by
 * is_paused. So a burst pays two plain stores and one load.
 *
 * Where membarrier(2) is refused (seccomp), another burst function calls this one. It
 * stores is_fenced, executes a fence, checks the pause, and executes another fence.
 *
 * The guide's page mana-datapath explains each barrier and the cost. The unit test
 * pause_protocol tries all interleavings.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <rte_cycles.h>

#include "mana_log.h"
#include "mana_rx_set.h"

#define WAIT_US 20

/*
 * A full barrier of this thread, and of all others unless their bursts have fences. Linux
 * kernel/sched/membarrier.c; the expedited one since 4.14. The global one, since 4.16,
 * reaches the processes that have registered for it.
 */
static int
all_threads_barrier(void)
{
	if (mana_has_fences) {
		rte_mb();
		return 0;
	}
	if (mana_peers_exist())
		return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0,
			       0) == 0 ? 0 : -errno;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return 0;
	/* Not registered yet, which costs nothing when done again. */
	if (errno == EPERM &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		    0) == 0 &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return 0;
	return -errno;
}

bool
mana_pause_begin(void)
{
	static bool has_begun;

	if (!has_begun)
		mana_has_fences = all_threads_barrier() != 0;
	has_begun = true;
	return !mana_has_fences;
}

int
mana_pause_check(void)
{
	return all_threads_barrier();
}

int
mana_pause_share(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
		       0) == 0 ? 0 : -errno;
}

static void
tx_pause_set(struct mana_eth_txq *ctl, bool is_paused)
{
	MANA_ORDER_BEFORE(&ctl->txq);
	/* A queue that does not run stays paused: it has no rings. */
	ctl->txq.is_paused = is_paused || ctl->qp == NULL;
}

void
mana_pause_set(const struct mana_priv *priv, unsigned int what, bool is_paused)
{
	struct mana_eth_rxq *rx;
	struct mana_eth_txq *tx;
	uint32_t at = 0;

	while ((what & MANA_PAUSE_RX) != 0 && (rx = mana_rxq_next(priv, &at)) != NULL)
		mana_rx_list_pause(&rx->list, is_paused);
	at = 0;
	while ((what & MANA_PAUSE_TX) != 0 && (tx = mana_txq_next(priv, &at)) != NULL)
		tx_pause_set(tx, is_paused);
}

/*
 * Whether a burst and a status function have left before the time end; with others_only,
 * bursts of this process do not count.
 */
static bool
wait_idle(const MANA_ATOMIC(uint32_t) *is_busy, const MANA_ATOMIC(uint32_t) *is_fenced,
	  const MANA_ATOMIC(uint32_t) *user, const MANA_ATOMIC(uint32_t) *look,
	  bool others_only, uint64_t end)
{
	while (((mana_atomic_load(is_busy) != 0 || mana_atomic_load(is_fenced) != 0) &&
		(!others_only || mana_atomic_load(user) != 0)) ||
	       mana_atomic_load(look) != 0) {
		if (rte_get_timer_cycles() > end)
			return false;
		rte_delay_us_sleep(WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	MANA_ORDER_BEHIND(is_busy);
	MANA_ORDER_BEHIND(look);
	return true;
}

void
mana_look_wait(MANA_ATOMIC(uint32_t) *look)
{
	while (!mana_look_trylock(look)) {
		rte_delay_us_sleep(WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	mana_look_unlock(look);
}

/*
 * Called after the barrier that follows the pause. A queue that was found idle is
 * not checked again: a burst that begins now accesses nothing, but sets is_busy
 * for a moment, and of many polled queues some always are in this moment.
 */
static int
wait_all_idle(const struct mana_priv *priv, unsigned int what, uint64_t end)
{
	bool others_only = (what & MANA_PAUSE_OTHERS) != 0;
	struct mana_eth_rxq *rx;
	struct mana_eth_txq *tx;
	uint32_t at = 0;

	while ((what & MANA_PAUSE_RX) != 0 && (rx = mana_rxq_next(priv, &at)) != NULL)
		if (!wait_idle(&rx->list.is_busy, &rx->list.is_fenced, &rx->list.user,
			       &rx->list.look, others_only, end))
			return -EBUSY;
	at = 0;
	while ((what & MANA_PAUSE_TX) != 0 && (tx = mana_txq_next(priv, &at)) != NULL)
		if (!wait_idle(&tx->txq.is_busy, &tx->txq.is_fenced, &tx->txq.user,
			       &tx->txq.look, others_only, end))
			return -EBUSY;
	return 0;
}

int
mana_pause(struct mana_priv *priv, unsigned int what, uint32_t patience_ms)
{
	uint64_t end = rte_get_timer_cycles() +
		       patience_ms * rte_get_timer_hz() / 1000;
	int ret;

	/* Tried before anything is paused: the end of a pause needs it, too. */
	ret = all_threads_barrier();
	if (ret != 0)
		return -ENOTSUP;
	mana_pause_set(priv, what, true);
	ret = all_threads_barrier();
	if (ret == 0)
		ret = wait_all_idle(priv, what, end);
	if (ret == 0)
		ret = all_threads_barrier();
	if (ret == 0)
		return 0;
	mana_resume(priv, what);
	return ret == -EBUSY ? -EBUSY : -ENOTSUP;
}

int
mana_txq_pause(struct mana_eth_txq *ctl, uint32_t patience_ms)
{
	uint64_t end = rte_get_timer_cycles() +
		       patience_ms * rte_get_timer_hz() / 1000;
	bool is_idle = false;

	ctl->txq.is_paused = true;
	if (all_threads_barrier() == 0)
		is_idle = wait_idle(&ctl->txq.is_busy, &ctl->txq.is_fenced,
				    &ctl->txq.user, &ctl->txq.look, false, end);
	if (is_idle && all_threads_barrier() == 0)
		return 0;
	mana_txq_resume(ctl);
	return -EBUSY;
}

void
mana_txq_resume(struct mana_eth_txq *ctl)
{
	(void)all_threads_barrier();
	MANA_ORDER_BEFORE(&ctl->txq);
	ctl->txq.is_paused = false;
}

void
mana_resume(struct mana_priv *priv, unsigned int what)
{
	/* It has worked a moment ago. */
	(void)all_threads_barrier();
	mana_pause_set(priv, what, false);
	(void)all_threads_barrier();
	/* An enable that found its queue paused has cleared the eventfd by now. */
	if ((what & MANA_PAUSE_RX) != 0)
		mana_rx_wake(priv);
}

void
mana_rx_wake(const struct mana_priv *priv)
{
	for (uint16_t i = 0; priv->rx_intrs != NULL && i < priv->data->nb_rx_queues; i++)
		(void)eventfd_write(priv->rx_intrs[i].wake_fd, 1);
}
