/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <rte_cycles.h>

#include "mana_log.h"
#include "mana_quiesce.h"

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

/* ---- One queue --------------------------------------------------------- */

static void
hold(struct mana_rxq *rxq, uint8_t held)
{
	*(volatile uint8_t *)&rxq->odd.held = held;
}

static bool
is_busy(struct mana_rxq *rxq)
{
	return mana_atomic_load(&rxq->is_busy) != 0 ||
	       mana_atomic_load(&rxq->more.is_busy) != 0 ||
	       rte_spinlock_is_locked(&rxq->more.look);
}

static uint64_t
patience_end(void)
{
	return rte_get_timer_cycles() + PATIENCE_S * rte_get_timer_hz();
}

/*
 * Arms a queue of ethdev whose interrupt was enabled while it was held. Its
 * chain is polled by its own bursts alone, so it is held by itself: no other
 * queue's burst is waited for.
 */
static void
arm_due(const struct mana_priv *priv, struct mana_rxq *rxq)
{
	uint64_t end = patience_end();

	while (mana_rxq_is_arm_due(rxq)) {
		bool is_late = rte_get_timer_cycles() > end;

		hold(rxq, 1);
		(void)all_threads_barrier();
		if (!is_busy(rxq)) {
			(void)all_threads_barrier();
			if (mana_rxq_is_arm_due(rxq))
				mana_rxq_arm_held(rxq);
			is_late = false;
		}
		(void)all_threads_barrier();
		hold(rxq, 0);
		(void)all_threads_barrier();
		if (is_late) {
			MANA_PORT_LOG(ERR, priv->data->name,
				      "receive queue %u: its interrupt was not enabled, for a burst of it has not ended for %d s",
				      rxq->queue_id, PATIENCE_S);
			return;
		}
		if (mana_rxq_is_arm_due(rxq))
			rte_delay_us_sleep(WAIT_US);
	}
}

/* ---- All of them --------------------------------------------------------- */

static void
hold_all(const struct mana_priv *priv, uint8_t held)
{
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		hold(&ctl->rxq, held);
}

static bool
is_any_busy(const struct mana_priv *priv)
{
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		if (is_busy(&ctl->rxq))
			return true;
	return false;
}

int
mana_quiesce_rx(struct mana_priv *priv)
{
	uint64_t end = patience_end();
	int ret;

	/*
	 * Tried before anything is held: who enables an interrupt of a held
	 * queue counts on the end of a change that has begun.
	 */
	ret = all_threads_barrier();
	if (ret != 0)
		goto forbidden;
	hold_all(priv, 1);
	ret = all_threads_barrier();
	while (ret == 0 && is_any_busy(priv)) {
		if (rte_get_timer_cycles() > end)
			ret = -EBUSY;
		rte_delay_us_sleep(WAIT_US);
	}
	if (ret == 0)
		ret = all_threads_barrier();
	if (ret == 0)
		return 0;
	mana_quiesce_end(priv);
	if (ret == -EBUSY) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "a receive burst has not ended for %d s: try again",
			      PATIENCE_S);
		return ret;
	}
forbidden:
	MANA_PORT_LOG(ERR, priv->data->name,
		      "this kernel does not let receive queues be changed while the port runs (membarrier: %s): stop the port first",
		      strerror(-ret));
	return -ENOTSUP;
}

void
mana_quiesce_end(struct mana_priv *priv)
{
	uint16_t i;

	/* It has worked a moment ago. */
	(void)all_threads_barrier();
	hold_all(priv, 0);
	(void)all_threads_barrier();
	for (i = 0; i < priv->data->nb_rx_queues; i++)
		if (priv->data->rx_queues[i] != NULL)
			arm_due(priv, priv->data->rx_queues[i]);
}
