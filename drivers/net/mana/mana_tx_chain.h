/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run of chains: packets of any number of segments, all plain mbufs of
 * txq->mp, in the short OOB, up to where a ring ends. One template; what the
 * packets may ask for is constant in each instance.
 */

#ifndef MANA_TX_CHAIN_H
#define MANA_TX_CHAIN_H

#include "mana_tx.h"

/* An instance without any takes packets without request. */
#define MANA_TX_CHAIN_CSUM 1u /* and those that ask for checksums */
#define MANA_TX_CHAIN_TSO 2u /* and those that ask for segmentation */

/* Headers of a packet that asks for segmentation. */
static inline uint32_t
mana_tx_tso_header(const struct rte_mbuf *m)
{
	return m->l2_len + m->l3_len + m->l4_len;
}

/*
 * Of a chain of nb_sge that asks for segmentation and is all the queue's own:
 * the first two words of the WQE, and the header's fields.
 *
 * @return
 *   False: it is not for the run of chains; nothing has changed.
 */
bool mana_tx_tso_head(struct rte_mbuf *m, uint32_t bytes, uint32_t nb_sge,
		      uint64_t oob, uint64_t *wqe);
/* A run of chains which may ask for segmentation. */
uint32_t mana_tx_tso_run(struct mana_txq *txq, struct rte_mbuf **pkts,
			 uint32_t nb);

/* Where a run of chains is; nothing that is written can change it. */
struct mana_tx_chain {
	uint64_t *wqe;
	struct rte_mbuf **entries;
	/*
	 * SGEs: entries and BUs before a ring ends or the group is full. A WQE
	 * never has more BUs than SGEs, nor a packet more segments.
	 */
	uint32_t room;
};

/* left: WQEs that may come, each of which has to have an entry. */
static inline uint32_t
mana_tx_chain_room(const struct mana_txq *txq, uint32_t left)
{
	uint32_t nb_entries = txq->mbuf_mask + 1;
	uint32_t nb_bu = txq->sq.mask_bu + 1;
	uint32_t room;

	room = RTE_MIN(nb_entries - (txq->mbuf_pi & txq->mbuf_mask),
		       nb_entries - left - (txq->mbuf_pi - txq->mbuf_ci));
	room = RTE_MIN(room, nb_bu - (txq->sq.pi & txq->sq.mask_bu));
	room = RTE_MIN(room, mana_wq_free_bu(&txq->sq));
	return RTE_MIN(room, txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/* Account for nb packets. */
static inline void
mana_tx_chain_end(struct mana_txq *txq, const struct mana_tx_chain *run,
		  uint32_t nb, uint64_t bytes)
{
	if (nb == 0)
		return;
	if ((uint32_t)txq->pi == txq->open_pi)
		txq->open_mp = txq->mp;
	else if (txq->open_mp != txq->mp)
		txq->open_mp = NULL;
	txq->pi += nb;
	txq->sq.pi += (run->wqe - mana_wq_bu(&txq->sq, txq->sq.pi)) /
		      GDMA_BU_WORDS;
	txq->mbuf_pi += run->entries -
			&txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	txq->last_bu = txq->sq.pi - (txq->info[(txq->pi - 1) & txq->mask] &
				     MANA_TX_INFO_BU_M);
	txq->bytes += bytes;
	if ((uint32_t)txq->pi - txq->open_pi >= txq->group_wqes ||
	    txq->sq.pi - txq->open_bu >= txq->group_bu)
		mana_tx_group_close(txq);
}

/* Can flags be met by this instance, as far as they alone tell? */
static __rte_always_inline bool
mana_tx_chain_may_ask(uint32_t flags, const uint32_t f)
{
	if (f & MANA_TX_CHAIN_TSO)
		return (flags & MANA_TX_OL_HALF(MANA_TX_OL_ODD &
						~(MANA_TX_OL_CSUM |
						  RTE_MBUF_F_TX_TCP_SEG))) == 0;
	if (f & MANA_TX_CHAIN_CSUM)
		return true; /* mana_tx_csum_run() looks */
	return (flags & MANA_TX_OL_HALF(MANA_TX_OL_ODD)) == 0;
}

/*
 * Bytes of the headers when they have to leave the first segment, for an SGE of
 * their own; else 0, also for a packet that says it has no segment: there is no
 * SGE for that then, and the run refuses it.
 */
static __rte_always_inline uint32_t
mana_tx_chain_split(const struct rte_mbuf *m, const uint32_t f)
{
	uint32_t hdr_bytes;

	if (!(f & MANA_TX_CHAIN_TSO) ||
	    (mana_tx_flags(m) & MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)) == 0)
		return 0;
	hdr_bytes = mana_tx_tso_header(m);
	return m->data_len > hdr_bytes && m->nb_segs != 0 ? hdr_bytes : 0;
}

/* The first two words of the WQE, and the header's fields. */
static __rte_always_inline bool
mana_tx_chain_head(struct rte_mbuf *m, uint32_t bytes, uint64_t nb_sge,
		   uint64_t oob, uint64_t *wqe, const uint32_t f)
{
	if ((f & MANA_TX_CHAIN_TSO) &&
	    (mana_tx_flags(m) & MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)) != 0)
		return mana_tx_tso_head(m, bytes, nb_sge, oob, wqe);
	if (f != 0 && unlikely(!mana_tx_csum_run(m, &oob)))
		return false;
	mana_wqe_set(&wqe[0], GDMA_WQE_HEADER(nb_sge, GDMA_OOB_SHORT_DIV4));
	mana_wqe_set(&wqe[1], oob);
	return true;
}

/*
 * A chain whose WQE and mbuf entries do not wrap: WQE, and entries up to end.
 * Bytes; 0: it is not for us, and what was written means nothing.
 *
 * @param split_bytes
 *   Of the first segment, in an SGE of their own; 0: none.
 */
static __rte_always_inline uint32_t
mana_tx_chain_write(const struct rte_mempool *mp, uint32_t lkey, uint64_t oob,
		    struct rte_mbuf *m, uint64_t nb_sge, uint64_t *wqe,
		    struct rte_mbuf **entry, struct rte_mbuf **end,
		    uint32_t split_bytes, const uint32_t f)
{
	struct rte_mbuf **first = entry;
	uint64_t *sge = wqe + 2;
	uint32_t bytes = 0;

	if ((f & MANA_TX_CHAIN_TSO) && split_bytes != 0) {
		mana_sge_set(sge, rte_pktmbuf_mtod(m, uintptr_t), lkey,
			     split_bytes);
		sge += 2;
	}
	for (;;) {
		uint64_t len = m->data_len;

		if (unlikely(!mana_tx_is_ours(m) || !mana_tx_is_direct(m) ||
			     m->pool != mp || len == 0))
			return 0;
		mana_sge_set(sge, rte_pktmbuf_mtod(m, uintptr_t) + split_bytes,
			     lkey, len - split_bytes);
		split_bytes = 0;
		sge += 2;
		*entry++ = m;
		bytes += len;
		m = m->next;
		if (entry == end)
			break;
		if (unlikely(m == NULL))
			return 0;
	}
	if (unlikely(m != NULL || bytes < MANA_TX_MIN_BYTES))
		return 0;
	/* The first segment is ours to write, and nothing can fail behind this. */
	if (unlikely(!mana_tx_chain_head(*first, bytes, nb_sge, oob, wqe, f)))
		return 0;
	do {
		m = *--entry;
		m->next = NULL;
		mana_tx_set_alone(m);
	} while (entry != first);
	return bytes;
}

/*
 * Post chains, in the group that is being filled: as many as there is room for
 * before any ring ends. How many.
 */
static __rte_always_inline uint32_t
mana_tx_chain_run(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb,
		  const uint32_t f)
{
	const uint64_t oob = txq->oob | txq->no_cqe;
	const struct rte_mempool *mp = txq->mp;
	const uint32_t max_sge = txq->max_sge, mask = txq->mask;
	const uint32_t lkey = txq->lkey;
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t pi = txq->pi, n;
	uint16_t *info = txq->info;
	struct mana_tx_chain run = {
		.wqe = mana_wq_bu(&txq->sq, txq->sq.pi),
		.entries = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask],
		.room = mana_tx_chain_room(txq, left),
	};
	uint64_t bytes = 0;

	if (txq->is_long || txq->no_cqe == 0)
		return 0;
	nb = RTE_MIN(nb, left);
	nb = RTE_MIN(nb, txq->group_wqes - (pi - txq->open_pi));
	for (n = 0; n < nb; n++) {
		struct rte_mbuf *m = pkts[n];
		uint32_t split_bytes = mana_tx_chain_split(m, f);
		uint64_t nb_segs = m->nb_segs;
		uint64_t nb_sge = nb_segs + (split_bytes != 0);
		uint64_t nb_bu = nb_sge / 2 + 1;
		uint64_t *next = run.wqe + nb_bu * GDMA_BU_WORDS;
		uint32_t len;

		if (unlikely(!mana_tx_chain_may_ask(mana_tx_flags(m), f) ||
			     nb_sge - 1 >= max_sge || nb_sge > run.room))
			break;
		/* If the last SGE is not here: no stale bytes all the same. */
		mana_wqe_set(&next[-2], 0);
		mana_wqe_set(&next[-1], 0);
		len = mana_tx_chain_write(mp, lkey, oob, m, nb_sge, run.wqe,
					  run.entries, run.entries + nb_segs,
					  split_bytes, f);
		if (unlikely(len == 0))
			break;
		info[pi++ & mask] = MANA_TX_INFO(nb_bu, nb_segs);
		run.wqe = next;
		run.entries += nb_segs;
		run.room -= nb_sge;
		bytes += len;
	}
	mana_tx_chain_end(txq, &run, n, bytes);
	return n;
}
static_assert(GDMA_WQE_SGL_SHORT_BYTES + 2 * GDMA_SGE_BYTES ==
	      GDMA_BU_BYTES + GDMA_SGE_BYTES, "one SGE in the first BU");

#endif /* MANA_TX_CHAIN_H */
