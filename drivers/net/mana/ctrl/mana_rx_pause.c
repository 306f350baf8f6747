/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keeping bursts off the Rx queues of a running port.
 *
 * Other cores poll while the control path replaces rings under them, and
 * DPDK has no way to ask them to stop. An atomic read-modify-write or a fence
 * in each burst would cost more than anything else in it, so all of the cost
 * is here:
 *
 *   burst                           control path
 *   is_busy = 1                     only = the stand-in
 *   (compiler barrier)              membarrier()
 *   which queue? stand-in: return   wait until is_busy is 0
 *   (compiler barrier)              membarrier()
 *   ... rings ...                   ... rings, lists ...
 *   (compiler barrier)              membarrier()
 *   is_busy = 0                     only = the queue to poll
 *
 * membarrier(2) makes every running thread of the process execute a full
 * barrier. After the first one, either the burst's is_busy is seen here, or
 * the burst sees the stand-in: the store and the load cannot pass each other any
 * more (Dekker's algorithm, with all of the fence on one side). The second one
 * makes what a burst has done visible before its end; the third one, what has
 * been changed before the queue is open again. On x86 these two matter to the
 * compiler only.
 *
 * The stand-in (struct mana_rx_list) is a queue with a slow-path flag, so a
 * burst pays two plain stores to a line of its own and a load from it.
 *
 * The guide's page mana-datapath has the whole argument, what it costs, and
 * what Tx queues, recovery and other processes would need. The unit test
 * rx_pause_protocol tries all interleavings of it.
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

/* A burst takes microseconds, unless the scheduler has other plans. */
#define PATIENCE_S 2
#define WAIT_US 20

/* Linux kernel/sched/membarrier.c; the expedited one since 4.14. */
static int
all_threads_barrier(void)
{
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

void
mana_rx_lists_pause(const struct mana_priv *priv, bool is_paused)
{
	struct mana_eth_rxq *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		if (is_paused)
			mana_rx_list_pause(&ctl->list);
		else
			mana_rx_list_resume(&ctl->list);
	}
}

static bool
is_busy(struct mana_rx_list *list)
{
	return mana_atomic_load(&list->is_busy) != 0 ||
	       rte_spinlock_is_locked(&list->lock);
}

/*
 * Behind the barrier that follows the pause. A queue that was found idle is not
 * looked at again: a burst that begins now touches nothing, but sets is_busy for a
 * moment, and with many queues that are polled some would be in that moment always.
 */
static int
wait_idle(const struct mana_priv *priv)
{
	uint64_t end = rte_get_timer_cycles() +
		       PATIENCE_S * rte_get_timer_hz();
	struct mana_eth_rxq *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		while (is_busy(&ctl->list)) {
			if (rte_get_timer_cycles() > end)
				return -EBUSY;
			rte_delay_us_sleep(WAIT_US);
		}
	}
	return 0;
}

int
mana_rx_pause(struct mana_priv *priv)
{
	int ret;

	/* Tried before anything is paused: the end of a pause needs it, too. */
	ret = all_threads_barrier();
	if (ret != 0)
		goto forbidden;
	mana_rx_lists_pause(priv, true);
	ret = all_threads_barrier();
	if (ret == 0)
		ret = wait_idle(priv);
	if (ret == 0)
		ret = all_threads_barrier();
	if (ret == 0)
		return 0;
	mana_rx_resume(priv);
	if (ret == -EBUSY) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "an Rx burst has not ended for %d s: try again",
			      PATIENCE_S);
		return ret;
	}
forbidden:
	MANA_PORT_LOG(ERR, priv->data->name,
		      "this kernel does not let Rx queues be changed while the port runs (membarrier: %s): stop the port first",
		      strerror(-ret));
	return -ENOTSUP;
}

void
mana_rx_resume(struct mana_priv *priv)
{
	uint16_t i;

	/* It has worked a moment ago. */
	(void)all_threads_barrier();
	mana_rx_lists_pause(priv, false);
	(void)all_threads_barrier();
	/* An enable that found its queue paused has cleared the eventfd by now. */
	for (i = 0; priv->rx_intrs != NULL && i < priv->data->nb_rx_queues; i++)
		(void)eventfd_write(priv->rx_intrs[i].wake_fd, 1);
}
