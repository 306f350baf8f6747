/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a receive queue stands, for whoever asks beside the bursts. The
 * device's completions are only looked at: nothing is taken.
 */

#include "mana_rxtx.h"

uint32_t
mana_rxq_look_posted(const struct mana_rxq *rxq)
{
	bool is_scatter = rxq->scatter.nb_segs != 0;
	/* ci first, as of a send queue (mana_txq_look_posted). */
	uint32_t ci = *(const volatile uint32_t *)(is_scatter ? &rxq->scatter.ci :
								&rxq->rq.ci);
	uint32_t pi;

	rte_io_rmb();
	pi = *(const volatile uint32_t *)(is_scatter ? &rxq->scatter.pi :
						       &rxq->rq.pi);
	return RTE_MIN(pi - ci, rxq->limit);
}

/*
 * Descriptors that are done and were not polled, up to max. Each packet has
 * one, dropped or not; a CQE may bring up to four.
 */
static uint32_t
mana_rx_nb_done(const struct mana_rxq *rxq, uint32_t max)
{
	const struct mana_cq *cq = &rxq->cq;
	uint32_t nb = (uint8_t)(rxq->rest.nb - rxq->rest.next);
	uint32_t i, p, type;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq) && nb < max; i++) {
		uint32_t idx = cq->ci + i;
		const struct gdma_cqe *cqe = mana_cq_cqe(cq, idx);

		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
		type = mana_cqe_load(&cqe->rx.header) & MANA_CQE_TYPE_M;
		if (type == MANA_CQE_RX_OKAY || type == MANA_CQE_RX_TRUNCATED)
			nb++;
		for (p = 0; type == MANA_CQE_RX_COALESCED_4 &&
			    p < MANA_RX_CQE_NB_PPI; p++)
			if ((mana_cqe_load(&cqe->rx.ppi[p].len) & UINT16_MAX) != 0)
				nb++;
	}
	nb = RTE_MIN(nb, max);
	return RTE_MIN(nb, mana_rxq_look_posted(rxq));
}

uint32_t
mana_rxq_nb_waiting(const struct mana_rxq *rxq)
{
	return mana_rx_nb_done(rxq, UINT32_MAX);
}

bool
mana_rxq_look_begin(struct mana_rxq *rxq)
{
	rte_spinlock_lock(&rxq->more.look);
	/* Read behind the lock: whoever sets it waits for this end. */
	if (likely(!mana_rxq_is_held(rxq)))
		return true;
	rte_spinlock_unlock(&rxq->more.look);
	return false;
}

void
mana_rxq_look_end(struct mana_rxq *rxq)
{
	rte_spinlock_unlock(&rxq->more.look);
}

/* The own queue and those that are polled with it, up to max. */
static uint32_t
mana_rxq_nb_done(struct mana_rxq *rxq, uint32_t max)
{
	struct mana_rxq *at = rxq;
	uint32_t nb;

	if (!mana_rxq_look_begin(rxq))
		return 0;
	nb = 0;
	do {
		/* Any of them may have a backlog. */
		if (nb < max && !at->is_sink)
			nb += mana_rxq_nb_backlog(at);
		if (nb < max && !at->is_sink)
			nb += mana_rx_nb_done(at, max - nb);
		at = at->chain_next;
	} while (mana_rxq_has_chain(rxq) && at != rxq);
	mana_rxq_look_end(rxq);
	return nb;
}

uint32_t
mana_rxq_count(struct mana_rxq *rxq)
{
	return mana_rxq_nb_done(rxq, UINT32_MAX);
}

enum mana_desc_state
mana_rxq_desc_state(struct mana_rxq *rxq, uint32_t offset)
{
	if (offset < mana_rxq_nb_done(rxq, offset + 1))
		return MANA_DESC_DONE;
	if (mana_cq_is_closed(&rxq->cq) || offset >= mana_rxq_look_posted(rxq))
		return MANA_DESC_NONE;
	return MANA_DESC_POSTED;
}
