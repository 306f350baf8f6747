/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a send queue stands, for whoever asks beside the bursts: nothing is
 * freed here.
 */

#include "mana_tx_done.h"

uint32_t
mana_txq_look_posted(const struct mana_txq *txq)
{
	/*
	 * ci first: what a burst does between the loads makes too much of it,
	 * which the limit bounds (0: the queue is dead), and never too little.
	 */
	uint32_t ci = *(const volatile uint32_t *)&txq->ci;
	uint32_t limit, nb;

	rte_io_rmb();
	nb = (uint32_t)*(const volatile uint64_t *)&txq->pi - ci;
	limit = *(const volatile uint32_t *)&txq->limit;
	return RTE_MIN(nb, limit != 0 ? limit : txq->mask + 1);
}

/*
 * Packets whose completions were not looked at, up to max or somewhat more.
 * Bounded whatever a burst on another core does meanwhile.
 */
static uint32_t
mana_tx_nb_done(const struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq *cq = &txq->cq;
	uint32_t start = txq->ci, posted = mana_txq_look_posted(txq);
	struct mana_tx_place place = { start, txq->sq.ci };
	uint32_t g = txq->group_ci, end = txq->group_pi;
	uint32_t i, idx;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq) && g != end &&
	     place.wqe - start < max; i++) {
		const struct mana_tx_group *group = &txq->groups[g & txq->mask];

		idx = cq->ci + i;
		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
		(void)mana_tx_cqe_follow(txq,
					 mana_tx_cqe_read(mana_cq_cqe(cq, idx)),
					 group, &place);
		if (place.wqe == group->wqe_end)
			g++;
	}
	return RTE_MIN(place.wqe - start, posted);
}

uint32_t
mana_txq_nb_done(const struct mana_txq *txq)
{
	return mana_tx_nb_done(txq, UINT32_MAX);
}

uint32_t
mana_txq_count(const struct mana_txq *txq)
{
	uint32_t posted = mana_txq_look_posted(txq);
	uint32_t done = mana_txq_nb_done(txq);

	return posted > done ? posted - done : 0;
}

enum mana_desc_state
mana_txq_desc_state(const struct mana_txq *txq, uint32_t offset)
{
	uint32_t posted = mana_txq_look_posted(txq);
	uint32_t limit = *(const volatile uint32_t *)&txq->limit;
	uint32_t nb_free;

	/* The free ones first, then those outstanding, the oldest first. */
	if (offset >= limit)
		return MANA_DESC_NONE;
	nb_free = limit - RTE_MIN(posted, limit);
	if (offset < nb_free)
		return MANA_DESC_DONE;
	offset -= nb_free;
	return offset < mana_tx_nb_done(txq, offset + 1) ? MANA_DESC_DONE :
							   MANA_DESC_POSTED;
}
