/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive paths without vectors: for every machine, and for what is rare
 * everywhere.
 */

#include <rte_mbuf.h>

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rxtx.h"

/* One packet a CQE, one CQE at a time: see mana_rx_kernel_t. */
static __rte_always_inline void
mana_rx_scalar_kernel(struct mana_rxq *rxq, struct mana_rx_at *at,
		      struct rte_mbuf **pkts, uint32_t nb_pkts, uint32_t trailer,
		      struct mana_rx_ahead *ahead)
{
	const uint32_t want = mana_rx_trailer_wanted(&rxq->cq, at->cq);
	const struct gdma_cqe *cqe = mana_cq_cqe(&rxq->cq, at->cq);
	struct rte_mbuf **mbufs = &rxq->mbufs[at->rq & rxq->mbuf_mask];
	struct rte_mbuf **first = mbufs, **end;
	uint32_t nb;

	ahead->nb = 1;
	ahead->nb_heads = 0;
	ahead->has_parts = false;
	nb_pkts = mana_rx_run_pkts(rxq, at->rq, nb_pkts);
	end = mbufs + RTE_MIN(nb_pkts, mana_rx_run_cqes(&rxq->cq, at->cq));
	while (likely(mana_rx_trailer_is(trailer, want) && mbufs != end)) {
		uint32_t header, flags, len, hash;
		struct mana_rx_meta meta;

		rte_io_rmb();
		header = mana_cqe_load(&cqe->rx.header);
		flags = mana_cqe_load(&cqe->rx.flags);
		len = mana_cqe_load(&cqe->rx.ppi[0].len);
		hash = mana_cqe_load(&cqe->rx.ppi[0].hash);
		if (unlikely((header & MANA_CQE_TYPE_M) != MANA_CQE_RX_OKAY ||
			     (len & UINT16_MAX) - 1 >= rxq->buf_bytes)) {
			ahead->nb_heads = 1;
			ahead->heads[0] = (struct mana_rx_head){
				header, flags, len, hash };
			break;
		}
		meta = mana_rx_meta(rxq, flags);
		*pkts = *mbufs++;
		at->bytes += mana_rx_deliver(rxq, *pkts++, &meta,
					     len & UINT16_MAX, hash);
		cqe++;
		if (mbufs == end) {
			ahead->nb = 0;
			break;
		}
		trailer = mana_cqe_load(&cqe->trailer);
	}
	ahead->trailers[0] = trailer;
	nb = mbufs - first;
	at->cq += nb;
	at->rq += nb;
	at->nb += nb;
}

__rte_noinline uint16_t
mana_rx_work_scalar(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		    uint32_t nb_pkts, uint32_t trailer)
{
	return mana_rx_work_tmpl(rxq, pkts, nb_pkts, trailer,
				 mana_rx_scalar_kernel, false);
}

/* A CQE of ours that is not for mana_rx_work_one() after all. */
static __rte_noinline uint16_t
mana_rx_left_one(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint32_t in_lap,
		 struct mana_rx_head head)
{
	const uint32_t trailer = in_lap + mana_cq_owner(&rxq->cq, rxq->cq.ci);
	struct mana_rx_ahead ahead = {
		.nb = 1, .nb_heads = 1, .budget = 1,
		.trailers = { trailer }, .heads = { head },
	};
	struct mana_rx_at at = { .nb = 0 };

	at.nb = mana_rx_take_ahead(rxq, &ahead, pkts, 1);
	at.bytes = ahead.bytes;
	mana_rx_get(rxq, &at);
	mana_rx_finish(rxq, &at, 1, ahead.budget == 0, false);
	return at.nb;
}

/* Its end when a refill is due. */
static __rte_noinline uint16_t
mana_rx_refill_one(struct mana_rxq *rxq)
{
	mana_rx_replenish(rxq, true);
	mana_burst_leave(&rxq->is_busy);
	return 1;
}

/* Calls nothing but as its last deed: so it has no registers to save. */
__rte_noinline uint16_t
mana_rx_work_one(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		 const struct gdma_cqe *cqe, uint32_t in_lap)
{
	const uint32_t rq = rxq->rq.ci;
	uint32_t header, flags, len, hash;
	struct mana_rx_meta meta;
	struct rte_mbuf *m;

	if (unlikely((in_lap & MANA_CQ_TRAILER_M) != rxq->cq.trailer))
		return mana_rx_work_scalar(rxq, pkts, 1,
					   in_lap + mana_cq_owner(&rxq->cq,
								  rxq->cq.ci));
	rte_io_rmb();
	header = mana_cqe_load(&cqe->rx.header);
	flags = mana_cqe_load(&cqe->rx.flags);
	len = mana_cqe_load(&cqe->rx.ppi[0].len);
	hash = mana_cqe_load(&cqe->rx.ppi[0].hash);
	if (unlikely((header & MANA_CQE_TYPE_M) != MANA_CQE_RX_OKAY ||
		     (flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     (len & UINT16_MAX) - 1 >= rxq->buf_bytes ||
		     rxq->rq.pi == rq))
		return mana_rx_left_one(rxq, pkts, in_lap,
					(struct mana_rx_head){
						header, flags, len, hash });
	meta = mana_rx_meta(rxq, flags);
	m = rxq->mbufs[rq & rxq->mbuf_mask];
	*pkts = m;
	rxq->cq.ci++;
	rxq->rq.ci = rq + 1;
	rxq->packets++;
	rxq->bytes += mana_rx_deliver(rxq, m, &meta, len & UINT16_MAX, hash);
	if (unlikely(rxq->limit - mana_wq_used_bu(&rxq->rq) >=
		     rxq->refill_thresh))
		return mana_rx_refill_one(rxq);
	mana_burst_leave(&rxq->is_busy);
	return 1;
}

uint16_t
mana_rx_burst_scalar(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, mana_rx_burst_scalar,
				  mana_rx_work_scalar, 1);
}

/* Of a queue with several buffers a WQE all is left to the steps. */
static __rte_always_inline void
mana_rx_no_kernel(struct mana_rxq *rxq, struct mana_rx_at *at,
		  struct rte_mbuf **pkts, uint32_t nb_pkts, uint32_t trailer,
		  struct mana_rx_ahead *ahead)
{
	RTE_SET_USED(rxq);
	RTE_SET_USED(at);
	RTE_SET_USED(pkts);
	RTE_SET_USED(nb_pkts);
	mana_rx_ahead_one(ahead, trailer);
}

/*
 * For ports where some queue has several buffers in a WQE; the others go the
 * ordinary way. The control path changes a queue's number of buffers while the
 * queue is held (mana_quiesce.h), so it is looked at here and not before.
 */
static __rte_noinline uint16_t
mana_rx_work_scattered(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		       uint32_t nb_pkts, uint32_t trailer)
{
	if (rxq->scatter.nb_segs == 0)
		return mana_rx_work_scalar(rxq, pkts, nb_pkts, trailer);
	return mana_rx_work_tmpl(rxq, pkts, nb_pkts, trailer,
				 mana_rx_no_kernel, true);
}

uint16_t
mana_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, mana_rx_burst_scattered,
				  mana_rx_work_scattered, 0);
}

/* Looks into the frames, whose types the device does not tell. */
static void
mana_rx_parse(struct rte_mbuf **pkts, uint16_t nb)
{
	uint8_t head[MANA_RX_PTYPE_BYTES]; /* of a frame in pieces */
	uint16_t i;

	for (i = 0; i < nb; i++) {
		struct rte_mbuf *m = pkts[i];
		uint32_t len = RTE_MIN(m->pkt_len, sizeof(head));

		if (m->packet_type == RTE_PTYPE_UNKNOWN)
			m->packet_type = mana_rx_ptype_by_headers(
				rte_pktmbuf_read(m, 0, len, head), len);
	}
}

uint16_t
mana_rx_burst_parsed(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	uint16_t nb = mana_rx_burst_scalar(rxq, pkts, nb_pkts);

	mana_rx_parse(pkts, nb);
	return nb;
}

uint16_t
mana_rx_burst_scattered_parsed(void *rxq, struct rte_mbuf **pkts,
			       uint16_t nb_pkts)
{
	uint16_t nb = mana_rx_burst_scattered(rxq, pkts, nb_pkts);

	mana_rx_parse(pkts, nb);
	return nb;
}
