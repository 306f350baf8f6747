/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive queues out of the ordinary, which cost the others nothing.
 *
 * A poll of an ethdev queue can bring more than the packets of its own work
 * queue: first a backlog, packets that were on a completion queue when the
 * control path replaced it; then in turn those of other work queues that the
 * device's RSS needs and ethdev does not know.
 */

#include <stddef.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "mana_rxtx.h"

#define MANA_RX_SINK_BURST 32

static bool
mana_rx_has_more(const struct mana_rxq *rxq)
{
	return mana_rxq_has_chain(rxq) || mana_rxq_nb_backlog(rxq) != 0;
}

/* A stopped queue's packets: they are counted by the burst, and freed. */
static void
mana_rx_sink_burst(struct mana_rxq *rxq, mana_burst_t burst)
{
	struct rte_mbuf *pkts[MANA_RX_SINK_BURST];
	uint16_t nb;

	nb = burst(rxq, pkts, RTE_DIM(pkts));
	if (nb != 0)
		rte_pktmbuf_free_bulk(pkts, nb);
}

static uint16_t
mana_rx_backlog_burst(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		      uint16_t nb_pkts)
{
	struct mana_rx_more *more = &rxq->more;
	uint16_t nb = 0;

	while (nb < nb_pkts && more->backlog_next != more->backlog_nb) {
		pkts[nb] = more->backlog[more->backlog_next++];
		rxq->bytes += pkts[nb++]->pkt_len;
	}
	rxq->packets += nb;
	return nb;
}

/* The queue's own packets: an ordinary burst, which must not end up here. */
static uint16_t
mana_rx_own_burst(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts,
		  mana_burst_t burst)
{
	uint16_t nb;

	rxq->odd.more = 0;
	nb = burst(rxq, pkts, nb_pkts);
	rxq->odd.more = mana_rx_has_more(rxq);
	return nb;
}

/* The round ends where the burst is full: there the next one goes on. */
static uint16_t
mana_rx_chain_burst(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		    uint16_t nb_pkts, mana_burst_t burst)
{
	struct mana_rxq *first = rxq->more.turn;
	struct mana_rxq *at = first;
	uint16_t nb = 0;

	if (first == NULL)
		return mana_rx_own_burst(rxq, pkts, nb_pkts, burst);
	do {
		if (at == rxq)
			nb += mana_rx_own_burst(rxq, pkts + nb, nb_pkts - nb,
						burst);
		else if (at->is_sink)
			mana_rx_sink_burst(at, burst);
		else
			nb += burst(at, pkts + nb, nb_pkts - nb);
		at = at->chain_next;
	} while (nb < nb_pkts && at != first);
	rxq->more.turn = at;
	return nb;
}

__rte_noinline __rte_cold uint16_t
mana_rx_odd_burst(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		  uint16_t nb_pkts, mana_burst_t burst)
{
	uint16_t nb = 0;

	/* So ends a burst from below, too, and leaves is_busy alone. */
	if (mana_rxq_is_held(rxq))
		return 0;
	mana_burst_enter(&rxq->more.is_busy);
	if (!mana_rxq_is_held(rxq)) {
		nb = mana_rx_backlog_burst(rxq, pkts, nb_pkts);
		nb += mana_rx_chain_burst(rxq, pkts + nb, nb_pkts - nb, burst);
	}
	mana_burst_leave(&rxq->more.is_busy);
	return nb;
}

void
mana_rxq_chain(struct mana_rxq *rxq, struct mana_rxq *chain)
{
	struct mana_rxq *at;

	rxq->more.turn = NULL;
	if (chain != NULL) {
		for (at = chain; at->chain_next != NULL; at = at->chain_next)
			;
		at->chain_next = rxq;
		rxq->chain_next = chain;
		rxq->more.turn = rxq;
	}
	rxq->odd.more = mana_rx_has_more(rxq);
}

void
mana_rxq_backlog(struct mana_rxq *rxq, struct rte_mbuf **backlog, uint32_t nb)
{
	rte_free(rxq->more.backlog);
	rxq->more.backlog = backlog;
	rxq->more.backlog_next = 0;
	rxq->more.backlog_nb = nb;
	rxq->odd.more = mana_rx_has_more(rxq);
}

uint32_t
mana_rxq_backlog_free(struct mana_rxq *rxq)
{
	uint32_t nb = mana_rxq_nb_backlog(rxq);

	if (nb != 0)
		rte_pktmbuf_free_bulk(rxq->more.backlog + rxq->more.backlog_next,
				      nb);
	mana_rxq_backlog(rxq, NULL, 0);
	return nb;
}

/* The device's objects are gone: doorbells go nowhere, and nothing is posted. */
static void
mana_rx_detach(struct mana_rxq *rxq)
{
	static uint64_t nowhere;

	rxq->odd.more = 0;
	rxq->odd.held = 0;
	rxq->cq.db = &nowhere;
	rxq->rq.db = &nowhere;
	rxq->refill_thresh = UINT32_MAX;
}

/* A burst of such a queue, which no refill frees of its bounds. */
static uint16_t
mana_rx_detached_burst(struct mana_rxq *rxq, mana_burst_t burst,
		       struct rte_mbuf **pkts)
{
	rxq->cq.rung = rxq->cq.ci;
	return burst(rxq, pkts, MANA_RX_TAKE_BURST);
}

uint32_t
mana_rxq_take(struct mana_rxq *rxq, mana_burst_t burst, struct rte_mbuf **pkts)
{
	uint64_t packets = rxq->packets;
	uint64_t bytes = rxq->bytes;
	uint32_t total = 0;
	uint32_t ci;
	uint16_t nb;

	mana_rx_detach(rxq);
	do {
		ci = rxq->cq.ci;
		nb = mana_rx_detached_burst(rxq, burst, pkts + total);
		total += nb;
	} while (nb != 0 || rxq->cq.ci != ci);
	rxq->packets = packets;
	rxq->bytes = bytes;
	return total;
}

void
mana_rxq_discard(struct mana_rxq *rxq, mana_burst_t burst)
{
	uint64_t packets = rxq->packets;
	uint64_t bytes = rxq->bytes;
	struct rte_mbuf *pkts[MANA_RX_TAKE_BURST];
	uint32_t ci;
	uint16_t nb;

	rxq->stats.stopped += mana_rxq_backlog_free(rxq);
	mana_rx_detach(rxq);
	do {
		ci = rxq->cq.ci;
		nb = mana_rx_detached_burst(rxq, burst, pkts);
		rte_pktmbuf_free_bulk(pkts, nb);
		rxq->stats.stopped += nb;
	} while (nb != 0 || rxq->cq.ci != ci);
	rxq->packets = packets;
	rxq->bytes = bytes;
}

void
mana_rxq_replace(struct mana_rxq *rxq, const struct mana_rxq *copy)
{
	memcpy(&rxq->cq, &copy->cq,
	       offsetof(struct mana_rxq, port_id) -
		       offsetof(struct mana_rxq, cq));
	rxq->odd.rest = copy->odd.rest;
	rxq->odd.hungry = copy->odd.hungry;
}
