/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wide way into the send queue: chains of plain mbufs, VLAN tags, the long
 * OOB. In runs where it can be, see mana_tx_chain.h; else one at a time.
 *
 * First all segments are looked at, then the WQE is written and the chain
 * undone: a packet that is not for this way leaves nothing behind.
 */

#include <rte_mbuf.h>

#include "mana_tx_chain.h"

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

/* Packets that the runs of chains leave. */
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

static __rte_noinline uint32_t
wide_run_plain(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	return mana_tx_chain_run(txq, pkts, nb, 0);
}

static __rte_noinline uint32_t
wide_run_csum(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	return mana_tx_chain_run(txq, pkts, nb, MANA_TX_CHAIN_CSUM);
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
	else if ((flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)) != 0)
		n = mana_tx_tso_run(txq, pkts, nb);
	return n != 0 ? n : wide_run_any(txq, pkts, 1);
}
