/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wide way into the send queue: chains of plain mbufs, VLAN tags, the long
 * OOB.
 *
 * First all segments are looked at, then the WQE is written and the chain
 * undone: a packet that is not for this way leaves nothing behind.
 */

#include <rte_mbuf.h>

#include "mana_tx.h"

#define PKT_FMT_LONG (UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S)

/* What a request adds to the words of the OOB; false: it is not for us. */
static inline bool
wide_request(const struct rte_mbuf *m, const struct mana_tx_ask *ask,
	     uint64_t *oob, uint64_t *loob)
{
	uint64_t request = ask->ol_flags & MANA_TX_OL_REQUEST;
	struct mana_tx_csum csum;

	if (unlikely((request & ~(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_VLAN)) != 0 ||
		     mana_tx_csum_check(ask, &csum) != 0 ||
		     m->data_len < csum.hdr_bytes))
		return false;
	*oob |= csum.oob;
	if (request & RTE_MBUF_F_TX_VLAN) {
		*oob |= PKT_FMT_LONG;
		*loob |= MANA_TX_LOOB_VLAN(m->vlan_tci);
	}
	return true;
}

/* Bytes of a chain of nb_segs plain mbufs of one pool; 0: it is none. */
static inline uint32_t
wide_bytes(const struct rte_mbuf *m, uint32_t nb_segs,
	   const struct rte_mempool *mp)
{
	uint32_t bytes = 0;

	for (; m != NULL && nb_segs > 0; m = m->next, nb_segs--) {
		if (unlikely(rte_mbuf_refcnt_read(m) != 1 ||
			     !RTE_MBUF_DIRECT(m) || m->pool != mp ||
			     m->data_len == 0))
			return 0;
		bytes += m->data_len;
	}
	return likely(m == NULL && nb_segs == 0 && bytes >= MANA_TX_MIN_BYTES) ?
		       bytes : 0;
}

/*
 * The SGL from sge on, which may go round the end of the ring, between two
 * SGEs. The chain is undone, its mbufs are entered each.
 */
static inline void
wide_segments(const struct mana_txq *txq, struct rte_mbuf *m, uint64_t *sge)
{
	const uint64_t *sge_end =
		txq->sq.ring + (size_t)(txq->sq.mask_bu + 1) * GDMA_BU_WORDS;
	struct rte_mbuf **entry = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	struct rte_mbuf **entry_end = &txq->mbufs[txq->mbuf_mask] + 1;
	const uint64_t lkey = txq->lkey;

	do {
		struct rte_mbuf *next = m->next;

		if (unlikely(sge == sge_end))
			sge = txq->sq.ring;
		sge[0] = rte_cpu_to_le_64(rte_pktmbuf_mtod(m, uintptr_t));
		sge[1] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, m->data_len));
		sge += 2;
		*entry++ = m;
		if (unlikely(entry == entry_end))
			entry = txq->mbufs;
		m->next = NULL;
		m->nb_segs = 1;
		m = next;
	} while (m != NULL);
	/* The last BU's rest is not read; no stale bytes all the same. */
	if ((sge - txq->sq.ring) % GDMA_BU_WORDS != 0)
		sge[0] = sge[1] = 0;
}

static inline void
wide_write(const struct mana_txq *txq, struct rte_mbuf *m, uint64_t oob,
	   uint64_t loob)
{
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi);
	uint32_t nb_segs = m->nb_segs;

	wqe[1] = rte_cpu_to_le_64(oob);
	if (likely((oob & PKT_FMT_LONG) == 0)) {
		wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(nb_segs,
							  GDMA_OOB_SHORT_DIV4));
		wide_segments(txq, m, wqe + 2);
		return;
	}
	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(nb_segs, GDMA_OOB_LONG_DIV4));
	wqe[2] = rte_cpu_to_le_64(loob);
	wqe[3] = 0;
	wide_segments(txq, m, wqe + 4);
}

/* The same for any packet that wide_run_chains() leaves. */
static uint32_t
wide_run_any(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	const uint64_t queue_oob = txq->oob | txq->no_cqe |
				   (txq->is_long ? PKT_FMT_LONG : 0);
	/* WQEs that may come, and entries beyond the one that each has to have. */
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t spare = txq->mbuf_mask + 1 - (txq->mbuf_pi - txq->mbuf_ci) -
			 left;
	uint32_t n, bytes, nb_bu;

	nb = RTE_MIN(nb, left);
	for (n = 0; n < nb; n++) {
		struct rte_mbuf *m = pkts[n];
		struct mana_tx_ask ask = mana_tx_ask_of(m);
		uint32_t nb_more = m->nb_segs - 1u;
		uint64_t oob = queue_oob, loob = txq->loob;

		if (unlikely(nb_more >= txq->max_sge || nb_more > spare))
			break;
		if (unlikely((ask.ol_flags & MANA_TX_OL_REQUEST) != 0) &&
		    !wide_request(m, &ask, &oob, &loob))
			break;
		nb_bu = mana_wqe_bu(oob & PKT_FMT_LONG ?
					    GDMA_WQE_SGL_LONG_BYTES :
					    GDMA_WQE_SGL_SHORT_BYTES,
				    nb_more + 1);
		if (unlikely(nb_bu > mana_wq_free_bu(&txq->sq)))
			break;
		bytes = wide_bytes(m, nb_more + 1, txq->mp);
		if (unlikely(bytes == 0))
			break;
		if (unlikely((ask.ol_flags & MANA_TX_OL_CSUM) != 0))
			mana_tx_hdr_fix(rte_pktmbuf_mtod(m, uint8_t *), &ask,
					true);
		wide_write(txq, m, oob, loob);
		mana_tx_post(txq, nb_bu, nb_more + 1, txq->mp);
		txq->bytes += bytes;
		spare -= nb_more;
	}
	return n;
}

/*
 * A chain whose WQE and mbuf entries do not wrap, and which asks for checksums
 * at most: SGEs, entries up to end, its request in *oob. Bytes; 0: it is not
 * for us, and what was written means nothing.
 */
static __rte_always_inline uint32_t
chain_write(const struct rte_mempool *mp, uint32_t lkey, struct rte_mbuf *m,
	    uint64_t *sge, struct rte_mbuf **entry, struct rte_mbuf **end,
	    uint64_t *oob, const uint32_t f)
{
	struct rte_mbuf **first = entry;
	uint32_t bytes = 0;

	for (;;) {
		uint64_t len = m->data_len;

		if (unlikely(!mana_tx_is_ours(m) || !mana_tx_is_direct(m) ||
			     m->pool != mp || len == 0))
			return 0;
		mana_sge_set(sge, rte_pktmbuf_mtod(m, uintptr_t), lkey, len);
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
	if ((f & MANA_TX_F_CSUM) && unlikely(!mana_tx_csum_run(*first, oob)))
		return 0;
	do {
		m = *--entry;
		m->next = NULL;
		mana_tx_set_alone(m);
	} while (entry != first);
	return bytes;
}

/* Where a run of chains is; nothing that is written can change it. */
struct chain_run {
	uint64_t *wqe;
	struct rte_mbuf **entries;
	/*
	 * Segments: entries and BUs before a ring ends or the group is full.
	 * A WQE never has more BUs than segments.
	 */
	uint32_t room;
};

/* left: WQEs that may come, each of which has to have an entry. */
static inline uint32_t
chain_room(const struct mana_txq *txq, uint32_t left)
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
chain_run_end(struct mana_txq *txq, const struct chain_run *run, uint32_t nb,
	      uint64_t bytes)
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

/*
 * Chains in the short OOB, in the group that is being filled: as many as there
 * is room for before any ring ends. f: with checksum request or without; else
 * without only.
 */
static __rte_always_inline uint32_t
wide_run_chains(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb,
		const uint32_t f)
{
	const uint64_t queue_oob = txq->oob | txq->no_cqe;
	const struct rte_mempool *mp = txq->mp;
	const uint32_t max_sge = txq->max_sge, mask = txq->mask;
	const uint32_t lkey = txq->lkey;
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t pi = txq->pi, n;
	uint16_t *info = txq->info;
	struct chain_run run = {
		.wqe = mana_wq_bu(&txq->sq, txq->sq.pi),
		.entries = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask],
		.room = chain_room(txq, left),
	};
	uint64_t bytes = 0;

	if (txq->is_long || txq->no_cqe == 0)
		return 0;
	nb = RTE_MIN(nb, left);
	nb = RTE_MIN(nb, txq->group_wqes - (pi - txq->open_pi));
	for (n = 0; n < nb; n++) {
		struct rte_mbuf *m = pkts[n];
		uint64_t nb_segs = m->nb_segs;
		uint64_t nb_bu = nb_segs / 2 + 1;
		uint64_t *next = run.wqe + nb_bu * GDMA_BU_WORDS;
		uint64_t oob = queue_oob;
		uint32_t len;

		if (unlikely((!(f & MANA_TX_F_CSUM) &&
			      (mana_tx_flags(m) &
			       MANA_TX_OL_HALF(MANA_TX_OL_ODD)) != 0) ||
			     nb_segs - 1 >= max_sge ||
			     nb_segs > run.room))
			break;
		/* If the last SGE is not here: no stale bytes all the same. */
		mana_wqe_set(&next[-2], 0);
		mana_wqe_set(&next[-1], 0);
		len = chain_write(mp, lkey, m, run.wqe + 2, run.entries,
				  run.entries + nb_segs, &oob, f);
		if (unlikely(len == 0))
			break;
		mana_wqe_set(&run.wqe[0],
			     GDMA_WQE_HEADER(nb_segs, GDMA_OOB_SHORT_DIV4));
		mana_wqe_set(&run.wqe[1], oob);
		info[pi++ & mask] = MANA_TX_INFO(nb_bu, nb_segs);
		run.wqe = next;
		run.entries += nb_segs;
		run.room -= nb_segs;
		bytes += len;
	}
	chain_run_end(txq, &run, n, bytes);
	return n;
}
static_assert(GDMA_WQE_SGL_SHORT_BYTES + 2 * GDMA_SGE_BYTES ==
	      GDMA_BU_BYTES + GDMA_SGE_BYTES, "one SGE in the first BU");

static __rte_noinline uint32_t
wide_run_plain(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	return wide_run_chains(txq, pkts, nb, 0);
}

static __rte_noinline uint32_t
wide_run_csum(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	return wide_run_chains(txq, pkts, nb, MANA_TX_F_CSUM);
}

__rte_noinline uint32_t
mana_tx_wide_run(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t flags = mana_tx_flags(pkts[0]);
	uint32_t n = 0;

	if ((flags & MANA_TX_OL_HALF(MANA_TX_OL_ODD)) == 0)
		n = wide_run_plain(txq, pkts, nb);
	else if (!mana_tx_asks_more(flags))
		n = wide_run_csum(txq, pkts, nb);
	return n != 0 ? n : wide_run_any(txq, pkts, 1);
}
