/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Poll lists: which hardware queues the bursts of an ethdev queue poll.
 *
 * A list of one hardware queue costs a burst one load. A list that is paused,
 * empty or has several hardware queues takes the slow path, which polls them in
 * turn.
 */

#include <stddef.h>

#include <rte_mbuf.h>

#include "mana_rx.h"

#define MANA_RX_DRAIN_BURST 32

/* ---- Bursts ------------------------------------------------------------- */

/* The next burst starts behind the last queue that this one has polled. */
__rte_noinline __rte_cold uint16_t
mana_rx_list_poll(struct mana_rx_list *list, struct rte_mbuf **pkts,
		  uint16_t nb_pkts, mana_rx_poll_t poll)
{
	const bool is_paused = mana_rx_list_is_paused(list);
	struct mana_rxq *first = is_paused ? NULL : list->first, *at = first;
	struct mana_rx_list unused;
	uint16_t nb = 0;

	while (at != NULL && nb < nb_pkts) {
		if (at->slow_flags != 0 || !mana_rx_is_empty(&at->cq))
			nb += poll(&unused, pkts + nb, nb_pkts - nb, at);
		at = at->next;
		list->first = at;
		if (at == first)
			break;
	}
	mana_burst_leave(&list->is_busy);
	return nb;
}

/* ---- Control path ------------------------------------------------------- */

void
mana_rx_list_init(struct mana_rx_list *list, struct mana_rxq *stand_in)
{
	stand_in->slow_flags = MANA_RX_STAND_IN;
	*list = (struct mana_rx_list){ .stand_in = stand_in };
	mana_rx_list_pause(list, false);
}

void
mana_rx_list_add(struct mana_rx_list *list, struct mana_rxq *rxq)
{
	struct mana_rxq *last;

	if (list->first == NULL)
		list->first = rxq;
	last = list->first;
	while (last->next != NULL && last->next != list->first)
		last = last->next;
	last->next = rxq;
	rxq->next = list->first;
}

void
mana_rx_list_clear(struct mana_rx_list *list)
{
	struct mana_rxq *at = list->first, *next;

	for (; at != NULL && at->next != NULL; at = next) {
		next = at->next;
		at->next = NULL;
	}
	list->first = NULL;
}

void
mana_rx_list_pause(struct mana_rx_list *list, bool is_paused)
{
	struct mana_rxq *only = list->first;

	if (is_paused || only == NULL || only->next != only)
		only = list->stand_in;
	MANA_ORDER_BEFORE(list);
	list->is_paused = is_paused;
	list->only = only;
}

bool
mana_rx_list_lock(struct mana_rx_list *list)
{
	mana_look_lock(&list->look);
	/* Read with the lock held: the control path waits for its holder. */
	if (unlikely(mana_rx_list_is_paused(list))) {
		mana_look_unlock(&list->look);
		return false;
	}
	mana_pause_fence();
	return true;
}

void
mana_rx_list_unlock(struct mana_rx_list *list)
{
	mana_look_unlock(&list->look);
}

/* ---- Drains ------------------------------------------------------------- */

uint32_t
mana_rxq_drain(struct mana_rxq *rxq, mana_rx_poll_t poll, bool is_gone)
{
	const uint32_t end = rxq->cq.ci + 2 * mana_cq_size(&rxq->cq);
	struct rte_mbuf *pkts[MANA_RX_DRAIN_BURST];
	static uint64_t nowhere;
	uint64_t packets = rxq->packets, bytes = rxq->bytes;
	struct mana_rx_list unused;
	uint32_t total = 0, ci;
	uint16_t nb;

	/* Without a device, doorbells go nowhere and nothing is posted. */
	if (is_gone) {
		rxq->cq.db = mana_db_offset(&nowhere);
		rxq->rq.db = mana_db_offset(&nowhere);
		rxq->refill_thresh = UINT32_MAX;
	}
	do {
		ci = rxq->cq.ci;
		/* No refill rings for a lap of the CQ any more. */
		if (is_gone)
			rxq->cq.rung = ci;
		nb = poll(&unused, pkts, MANA_RX_DRAIN_BURST, rxq);
		rte_pktmbuf_free_bulk(pkts, nb);
		total += nb;
	} while ((nb != 0 || rxq->cq.ci != ci) && (int32_t)(end - rxq->cq.ci) > 0);
	rxq->packets = packets;
	rxq->bytes = bytes;
	return total;
}
