/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Arming: rare, but of the datapath. An ethdev queue has the CQs of its
 * chain, which report to the same completion channel. A sink is not armed:
 * its packets are not worth a wake-up.
 */

#include <errno.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

/* One CQ. event: something waits that the device does not know of. */
static int
mana_rx_arm_one(struct mana_rxq *rxq, bool event)
{
	/* A lost queue's CQ is closed, and so is that of one without traffic. */
	if (rxq->fate != MANA_QUEUE_ALIVE)
		return -EIO;
	if (mana_cq_is_closed(&rxq->cq))
		return 0;
	/* Polling would refill it some day; who sleeps does not poll. */
	if (mana_wq_used_bu(&rxq->rq) == 0) {
		if (rxq->scatter.nb_segs != 0)
			mana_rx_scatter_replenish(rxq, false);
		else
			mana_rx_replenish(rxq, false);
	}
	if (event || rxq->odd.rest != 0)
		mana_cq_ring_event(&rxq->cq);
	else
		mana_cq_ring(&rxq->cq, true);
	rxq->stats.cq_doorbells++;
	return mana_wq_used_bu(&rxq->rq) != 0 ? 0 : -ENOMEM;
}

static int
mana_rx_disarm_one(struct mana_rxq *rxq, bool event)
{
	RTE_SET_USED(event);
	if (mana_cq_is_closed(&rxq->cq))
		return 0;
	mana_cq_ring(&rxq->cq, false);
	rxq->stats.cq_doorbells++;
	return 0;
}

/*
 * The queue and those that are polled with it, up to where it is found held.
 * Returns whether that was the end of them; worst: of their results.
 */
static bool
mana_rx_walk(struct mana_rxq *rxq, const volatile uint8_t *held,
	     int (*one)(struct mana_rxq *rxq, bool event), int *worst)
{
	struct mana_rxq *at = rxq;
	int ret;

	*worst = 0;
	while (at != NULL) {
		if (*held)
			return false;
		rte_compiler_barrier();
		ret = 0;
		if (!at->is_sink)
			ret = one(at, mana_rxq_nb_backlog(at) != 0);
		if (ret != 0)
			*worst = ret;
		at = mana_rxq_has_chain(rxq) ? at->chain_next : NULL;
		if (at == rxq)
			break;
	}
	return true;
}

/*
 * Noted before the first look at held, and the control path looks for notes
 * when it has let go: one of the two sees the other's store.
 */
int
mana_rxq_arm(struct mana_rxq *rxq)
{
	int worst;

	mana_burst_enter(&rxq->more.is_busy);
	mana_atomic_store(&rxq->more.is_arm_due, 1);
	rte_compiler_barrier();
	if (mana_rx_walk(rxq, &rxq->odd.held, mana_rx_arm_one, &worst))
		mana_rxq_arm_forget(rxq);
	mana_burst_leave(&rxq->more.is_busy);
	return worst;
}

void
mana_rxq_disarm(struct mana_rxq *rxq)
{
	int worst;

	mana_burst_enter(&rxq->more.is_busy);
	mana_rxq_arm_forget(rxq);
	(void)mana_rx_walk(rxq, &rxq->odd.held, mana_rx_disarm_one, &worst);
	mana_burst_leave(&rxq->more.is_busy);
}

void
mana_rxq_arm_held(struct mana_rxq *rxq)
{
	const uint8_t not_held = 0;
	int worst;

	/* What is noted from here on may have come too late for this. */
	mana_rxq_arm_forget(rxq);
	rte_compiler_barrier();
	(void)mana_rx_walk(rxq, &not_held, mana_rx_arm_one, &worst);
}
