/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pausing the Rx queues of a running port.
 *
 * Other cores poll while the control path replaces rings, and DPDK cannot ask
 * them to stop. An atomic read-modify-write or a fence would cost a burst more
 * than all its other instructions, so the cost is here:
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
 * membarrier(2) makes every running thread of the process execute a full barrier,
 * so the control path has the fences of both sides. The stand-in (struct
 * mana_rx_list) is a queue with a slow-path flag, so a burst pays two plain stores
 * to a line of its own and a load from it.
 *
 * The guide's page mana-datapath explains each barrier, the cost, and what Tx
 * queues, recovery and other processes would need. The unit test
 * rx_pause_protocol tries all interleavings.
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

/* A burst takes microseconds, unless its thread is preempted. */
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

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		mana_rx_list_pause(&ctl->list, is_paused);
}

/*
 * Called after the barrier that follows the pause. A queue that was found idle is
 * not checked again: a burst that begins now accesses nothing, but sets is_busy
 * for a moment, and of many polled queues some always are in this moment.
 */
static int
wait_idle(const struct mana_priv *priv)
{
	uint64_t end = rte_get_timer_cycles() +
		       PATIENCE_S * rte_get_timer_hz();
	struct mana_eth_rxq *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		while (mana_atomic_load(&ctl->list.is_busy) != 0 ||
		       rte_spinlock_is_locked(&ctl->list.lock)) {
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
