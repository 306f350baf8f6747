/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive burst: completions in, mbufs out. One template, of which each
 * file of a path makes its functions.
 *
 * What the device writes is input like any other: each word of a CQE is loaded
 * once, after its owner bits; each length is checked against the buffer that
 * was posted; every loop is bounded by our own counts.
 *
 * One receive WQE is one BU with one SGE, so the free-running BU indices of
 * the RQ are WQE indices as well. The rare queues where it is not so are the
 * business of mana_rx_scatter.c.
 *
 * The indices and sums of a burst live in registers (struct mana_rx_at): a
 * store to an mbuf might change those of the queue, for all the compiler
 * knows. Whatever is rare works on the queue, between mana_rx_put() and
 * mana_rx_get().
 *
 * A path is a kernel: it takes the common CQEs, in runs that cross neither
 * ring's end. What it meets beside goes to mana_rx_take_ahead(), with all the
 * words that were loaded of it.
 */

#ifndef MANA_RX_BURST_H
#define MANA_RX_BURST_H

#include "mana_rx.h"
#include "mana_rxtx.h"

/* Where a burst is. */
struct mana_rx_at {
	uint32_t cq; /* next CQE, free running */
	uint32_t rq; /* oldest posted WQE, likewise */
	uint32_t nb; /* packets delivered */
	uint64_t bytes;
};

static __rte_always_inline void
mana_rx_put(struct mana_rxq *rxq, const struct mana_rx_at *at)
{
	rxq->cq.ci = at->cq;
	rxq->rq.ci = at->rq;
}

static __rte_always_inline void
mana_rx_get(const struct mana_rxq *rxq, struct mana_rx_at *at)
{
	at->cq = rxq->cq.ci;
	at->rq = rxq->rq.ci;
}

/**
 * A kernel: deliver packets of the most common kinds until something else
 * comes, or a ring ends. Each CQE that it takes has a packet at least, and
 * nb_pkts and what is posted bound these.
 *
 * @param pkts, nb_pkts
 *   Room for packets, from the next one on, not 0.
 * @param trailer
 *   That of the next CQE.
 * @param[out] ahead
 *   What was loaded and not taken. Nothing only where something was taken.
 */
typedef void (*mana_rx_kernel_t)(struct mana_rxq *rxq, struct mana_rx_at *at,
				 struct rte_mbuf **pkts, uint32_t nb_pkts,
				 uint32_t trailer, struct mana_rx_ahead *ahead);

/* The trailer of a CQE in the lap of this one, when it is ours. Closed: none. */
static __rte_always_inline uint32_t
mana_rx_trailer_wanted(const struct mana_cq *cq, uint32_t idx)
{
	return cq->trailer | mana_cq_owner(cq, idx);
}

static __rte_always_inline bool
mana_rx_trailer_is(uint32_t trailer, uint32_t want)
{
	return (trailer & MANA_CQ_TRAILER_M) == want;
}

static inline void
mana_rx_cq_update(struct mana_rxq *rxq)
{
	if (mana_cq_update(&rxq->cq))
		rxq->stats.cq_doorbells++;
}

/* Packets that can be delivered before the ring of mbufs ends. */
static __rte_always_inline uint32_t
mana_rx_run_pkts(const struct mana_rxq *rxq, uint32_t rq, uint32_t nb_pkts)
{
	nb_pkts = RTE_MIN(nb_pkts, rxq->rq.pi - rq);
	return RTE_MIN(nb_pkts, (~rq & rxq->mbuf_mask) + 1);
}

/* CQEs before the ring of them ends. */
static __rte_always_inline uint32_t
mana_rx_run_cqes(const struct mana_cq *cq, uint32_t idx)
{
	return (~idx & cq->mask) + 1;
}

/* Of what comes next a trailer was loaded, and no more. */
static __rte_always_inline void
mana_rx_ahead_one(struct mana_rx_ahead *ahead, uint32_t trailer)
{
	ahead->nb = 1;
	ahead->nb_heads = 0;
	ahead->has_parts = false;
	ahead->trailers[0] = trailer;
}

/* mbuf flags by what a CQE says of checksums. */
static __rte_always_inline uint32_t
mana_rx_csum_told(const struct mana_rxq *rxq, uint32_t flags)
{
	return mana_rx_csum_flags[flags >> MANA_RX_CQE_CSUM_S &
				  MANA_RX_CQE_CSUM_M] & rxq->told_flags;
}

static __rte_always_inline struct mana_rx_meta
mana_rx_meta(const struct mana_rxq *rxq, uint32_t flags)
{
	const struct mana_rx_hash *hash = &mana_rx_hash[MANA_RX_HASH_TYPE(flags)];

	return (struct mana_rx_meta){
		.ol_flags = rxq->ol_flags | hash->ol_flags |
			    mana_rx_csum_told(rxq, flags),
		.ptype = hash->ptype,
		.flags = flags,
	};
}

/*
 * A buffer becomes a packet; its length is checked. Returns the bytes
 * delivered.
 */
static __rte_always_inline uint32_t
mana_rx_deliver(const struct mana_rxq *rxq, struct rte_mbuf *m,
		const struct mana_rx_meta *meta, uint32_t len, uint32_t hash)
{
	*MANA_MBUF_REARM(m) = rxq->rearm;
	m->ol_flags = meta->ol_flags;
	m->packet_type = meta->ptype;
	m->pkt_len = len;
	m->data_len = len;
	m->vlan_tci = meta->flags; /* says nothing without the flag */
	m->hash.rss = hash;
	if (unlikely(meta->flags & RTE_BIT32(MANA_RX_CQE_VLAN_S))) {
		mana_rx_vlan(rxq, m, meta->flags & MANA_RX_CQE_VLAN_ID_M);
		len = m->pkt_len;
	}
	return len;
}

/*
 * The end of a burst that has found something, or was to refill.
 *
 * @param nb_pkts
 *   Packets wanted. When so many came, there may be more.
 * @param has_odd
 *   There were CQEs without a packet. They count for what the burst may take,
 *   so there may be more, too; and they may not have taken a WQE: how far they
 *   were read is told now. Else a refill does it, and one is due when half the
 *   limit was read, or earlier.
 */
static __rte_always_inline void
mana_rx_finish(struct mana_rxq *rxq, const struct mana_rx_at *at,
	       uint32_t nb_pkts, bool has_odd, const bool is_scatter)
{
	bool may_lag = at->nb == nb_pkts;

	mana_rx_put(rxq, at);
	rxq->packets += at->nb;
	rxq->bytes += at->bytes;
	if (unlikely(has_odd)) {
		mana_rx_cq_update(rxq);
		may_lag = true;
	}
	if (is_scatter) {
		if (rxq->limit - mana_rxq_nb_posted(rxq) >= rxq->refill_thresh)
			mana_rx_scatter_replenish(rxq, may_lag);
	} else if (rxq->limit - mana_wq_used_bu(&rxq->rq) >= rxq->refill_thresh) {
		mana_rx_replenish(rxq, may_lag);
	}
	mana_burst_leave(&rxq->is_busy);
}

/*
 * A trailer with its owner bits less those of the lap of idx: as that of the
 * queue, when the CQE is ours; these bits all set, when it is still that of the
 * lap before.
 */
static __rte_always_inline uint32_t
mana_rx_trailer_in_lap(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	return trailer - mana_cq_owner(cq, idx);
}

/* Not yet written, the most common answer of mana_cq_state(). */
static __rte_always_inline bool
mana_rx_is_empty_in_lap(uint32_t in_lap)
{
	return in_lap >= MANA_CQ_OWNER_M;
}

static __rte_always_inline bool
mana_rx_is_empty(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	return mana_rx_is_empty_in_lap(mana_rx_trailer_in_lap(cq, idx, trailer));
}

/*
 * What a kernel has left, in steps. The budget bounds those that bring no
 * packet: as many as packets are wanted, and at most to the end of a lap without
 * doorbell. False when there is no more: no CQE, no room, or the queue is lost.
 */
static __rte_always_inline bool
mana_rx_go_on(struct mana_rxq *rxq, struct mana_rx_at *at, uint32_t *budget,
	      struct mana_rx_ahead *ahead, struct rte_mbuf **pkts,
	      uint32_t nb_pkts)
{
	uint32_t max;
	bool more = true;

	if (ahead->nb != 0) {
		if (likely(mana_rx_is_empty(&rxq->cq, at->cq,
					    ahead->trailers[0])))
			return false;
		mana_rx_put(rxq, at);
		/* No refill has told of this lap: a burst does not end with it. */
		if (unlikely(mana_cq_credit(&rxq->cq) == 0))
			mana_rx_cq_update(rxq);
		max = RTE_MIN(*budget, mana_cq_credit(&rxq->cq));
		ahead->budget = max;
		ahead->bytes = 0;
		at->nb += mana_rx_take_ahead(rxq, ahead, &pkts[at->nb],
					     nb_pkts - at->nb);
		at->bytes += ahead->bytes;
		*budget -= max - ahead->budget;
		more = ahead->more && ahead->budget > 0;
		mana_rx_get(rxq, at);
	}
	return more && at->nb < nb_pkts;
}

/*
 * The burst behind its first look. trailer: that of the next CQE, which may
 * be anything.
 */
static __rte_always_inline uint16_t
mana_rx_work_tmpl(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		  uint32_t nb_pkts, uint32_t trailer, mana_rx_kernel_t kernel,
		  const bool is_scatter)
{
	struct mana_rx_at at = { .nb = 0 };
	struct mana_rx_ahead ahead;
	uint32_t budget = nb_pkts;

	if (unlikely(rxq->odd.rest != 0)) {
		ahead.bytes = 0;
		at.nb = mana_rx_rest_deliver(rxq, pkts, nb_pkts, &ahead.bytes);
		at.bytes = ahead.bytes;
	}
	mana_rx_get(rxq, &at);
	if (likely(at.nb < nb_pkts)) {
		for (;;) {
			kernel(rxq, &at, &pkts[at.nb], nb_pkts - at.nb, trailer,
			       &ahead);
			if (likely(at.nb == nb_pkts) ||
			    !mana_rx_go_on(rxq, &at, &budget, &ahead, pkts,
					   nb_pkts))
				break;
			trailer = mana_cq_trailer(&rxq->cq, at.cq);
		}
	}
	mana_rx_finish(rxq, &at, nb_pkts, budget != nb_pkts, is_scatter);
	return at.nb;
}

/* What a burst may go on with, in spite of odd. */
static inline bool
mana_rx_is_held_up(uint32_t odd)
{
	const union mana_rx_odd own = { .rest = UINT8_MAX, .hungry = UINT8_MAX };

	return (odd & ~own.any) != 0;
}

/**
 * A burst function's first look: the whole of a poll that finds nothing.
 *
 * @param self
 *   The burst function itself.
 * @param work
 *   What is behind the look, not inlined.
 * @param nb_step
 *   Packets it delivers at a time: smaller bursts go the scalar way. 0: all go
 *   its way.
 */
static __rte_always_inline uint16_t
mana_rx_burst_tmpl(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		   uint16_t nb_pkts, mana_burst_t self,
		   uint16_t (*work)(struct mana_rxq *rxq, struct rte_mbuf **pkts,
				    uint32_t nb_pkts, uint32_t trailer),
		   const uint32_t nb_step)
{
	const struct gdma_cqe *cqe;
	uint32_t odd, idx, trailer, in_lap;

	mana_burst_enter(&rxq->is_busy);
	odd = mana_rxq_odd(rxq);
	if (unlikely(odd != 0) && mana_rx_is_held_up(odd)) {
		mana_burst_leave(&rxq->is_busy);
		return mana_rx_odd_burst(rxq, pkts, nb_pkts, self);
	}
	idx = rxq->cq.ci;
	cqe = mana_cq_cqe(&rxq->cq, idx);
	trailer = mana_cqe_load(&cqe->trailer);
	in_lap = mana_rx_trailer_in_lap(&rxq->cq, idx, trailer);
	if (likely(mana_rx_is_empty_in_lap(in_lap)) && likely(odd == 0)) {
		mana_burst_leave(&rxq->is_busy);
		return 0;
	}
	if (nb_step != 0 && nb_pkts == 1 && odd == 0)
		return mana_rx_work_one(rxq, pkts, cqe, in_lap);
	if (nb_step > 1 && nb_pkts < nb_step)
		return mana_rx_work_scalar(rxq, pkts, nb_pkts, trailer);
	return work(rxq, pkts, nb_pkts, trailer);
}

#endif /* MANA_RX_BURST_H */
