/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The transmit burst. What it returns is a statement of ownership: packets
 * before are ours (posted, or freed and counted), packets after are the
 * caller's. No packet is skipped without deciding which.
 *
 * A packet of one segment with the short OOB is exactly one BU: header, OOB,
 * SGE; four words, and it cannot wrap. That is the fast part; whatever else
 * comes goes the general way, mana_tx_put_any(), in every path.
 *
 * A queue that is dead (disabled by the device, or overrun) takes nothing:
 * the burst returns 0, as ethdev's own function for stopped ports does, and
 * the packets stay with the caller. Nothing is lost silently, and what was
 * posted is freed when the queue is stopped.
 */

#include <rte_mbuf.h>

#include "mana_tx.h"

/* What the fast part needs to know of a packet; false: the general way. */
static inline bool
mana_tx_is_fast(const struct mana_txq *txq, struct rte_mbuf *m, uint64_t *oob,
		const uint32_t f)
{
	struct mana_tx_csum csum;

	if (unlikely(m->nb_segs != 1 || m->data_len < MANA_TX_MIN_BYTES))
		return false;
	if (likely((m->ol_flags & MANA_TX_OL_REQUEST) == txq->plain_match))
		return true;
	if (!(f & MANA_TX_F_CSUM))
		return false;
	if (unlikely((m->ol_flags & MANA_TX_OL_REQUEST & ~MANA_TX_OL_CSUM) !=
		     txq->plain_match))
		return false;
	if (unlikely(mana_tx_csum_check(m, &csum) != 0 ||
		     m->data_len < csum.hdr_bytes ||
		     !mana_tx_hdr_is_private(m)))
		return false;
	mana_tx_hdr_fix(rte_pktmbuf_mtod(m, uint8_t *), m, true);
	*oob |= csum.oob;
	return true;
}

/* Header, OOB and SGE of a one-BU packet. */
static inline void
mana_tx_put_one(struct mana_txq *txq, struct rte_mbuf *m, uint64_t oob,
		uint32_t lkey)
{
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi++);

	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4));
	wqe[1] = rte_cpu_to_le_64(oob);
	wqe[2] = rte_cpu_to_le_64(rte_pktmbuf_mtod(m, uintptr_t));
	wqe[3] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, m->data_len));
	mana_tx_record(txq, txq->pi++, m, 1);
}

static __rte_always_inline uint16_t
mana_tx_burst_tmpl(struct mana_txq *txq, struct rte_mbuf **pkts,
		   uint16_t nb_pkts, const uint32_t f)
{
	const uint32_t start = txq->pi;
	uint64_t bytes = 0;
	uint16_t i;

	mana_mr_cache_sync(&txq->mr);
	mana_tx_reap(txq, UINT32_MAX);

	for (i = 0; i < nb_pkts; i++) {
		struct rte_mbuf *m = pkts[i];
		uint64_t oob = txq->oob;
		uint32_t lkey;
		int ret;

		if (unlikely(mana_txq_nb_posted(txq) >= txq->limit))
			break;
		if (likely(mana_tx_is_fast(txq, m, &oob, f) &&
			   mana_wq_free_bu(&txq->sq) != 0 &&
			   mana_mr_lkey(&txq->mr, m,
					rte_pktmbuf_mtod(m, uintptr_t),
					m->data_len, &lkey))) {
			mana_tx_put_one(txq, m, oob, lkey);
			bytes += m->data_len;
			continue;
		}
		ret = mana_tx_put_any(txq, m);
		if (unlikely(ret < 0))
			break;
		bytes += ret;
	}

	if (likely(txq->pi != start)) {
		mana_wq_ring(&txq->sq);
		txq->packets += txq->pi - start;
		txq->bytes += bytes;
	}
	return i;
}

#define MANA_TX_BURST(name, flags) \
static uint16_t \
mana_tx_burst_##name(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts) \
{ \
	return mana_tx_burst_tmpl(txq, pkts, nb_pkts, flags); \
}

MANA_TX_BURST(plain, 0)
MANA_TX_BURST(csum, MANA_TX_F_CSUM)

/* The cheapest first; the last one covers all. */
static const struct mana_path mana_tx_paths[] = {
	{ "Scalar", MANA_TX_F_WIDE, mana_tx_burst_plain },
	{ "Scalar Checksum", MANA_TX_F_WIDE | MANA_TX_F_CSUM, mana_tx_burst_csum },
};

const struct mana_path *
mana_tx_path_select(uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(mana_tx_paths) - 1; i++)
		if ((flags & ~mana_tx_paths[i].flags) == 0)
			break;
	return &mana_tx_paths[i];
}

const struct mana_path *
mana_tx_path_find(mana_burst_t burst)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(mana_tx_paths); i++)
		if (mana_tx_paths[i].burst == burst)
			return &mana_tx_paths[i];
	return NULL;
}
