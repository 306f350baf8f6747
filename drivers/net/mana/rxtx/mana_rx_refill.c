/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Buffers for the device: the first fill, and refills at the end of each poll.
 *
 * If all buffers of a pool are in one memory region, at one distance from their mbufs,
 * a WQE is written without access to mbuf or table. The driver finds this out again when
 * the table of regions has changed. A queue that scrubs treats no pool so.
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_net.h>
#include <rte_prefetch.h>
#include <rte_tcp.h>

#include "mana_rx.h"
#include "mana_vec.h"

#define MANA_RX_REFILL_MAX 64 /* mbufs taken from the pool at a time */
#define MANA_RX_REFILL_STEP 8 /* WQEs written at a time, where it goes fast */

/* ---- Any pool ----------------------------------------------------------- */

/* Follow a change of the table of regions. */
static __rte_noinline __rte_cold void
mana_rx_regions_sync(struct mana_hwq *hwq)
{
	struct mana_mr_range range = { 0 };

	mana_mr_sync(&hwq->mr);
	hwq->in_one_region = !hwq->scrub && hwq->data_delta != MANA_RX_DELTA_VARIES &&
			     mana_mr_find(&hwq->mr, hwq->pool_base, hwq->pool_bytes, &range);
	if (hwq->in_one_region)
		hwq->sge_word = rte_cpu_to_le_64(GDMA_SGE_WORD(range.lkey, hwq->buf_bytes));
}

/* Where the data of an mbuf begins. The mbuf is accessed only if distances differ. */
static inline uintptr_t
mana_rx_data_of(const struct mana_hwq *hwq, const struct rte_mbuf *m)
{
	return hwq->data_delta != MANA_RX_DELTA_VARIES ? (uintptr_t)m + hwq->data_delta :
		       (uintptr_t)m->buf_addr + RTE_PKTMBUF_HEADROOM;
}

/* Write the WQE of a buffer, which the queue's array has. */
static inline void
mana_rx_write(struct mana_hwq *hwq, uintptr_t addr, uint32_t lkey)
{
	uint64_t *wqe = mana_wq_bu(&hwq->rq, hwq->rq.pi);

	if (hwq->scrub)
		memset((void *)addr, 0, hwq->buf_bytes);
	wqe[2] = rte_cpu_to_le_64(addr);
	wqe[3] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, hwq->buf_bytes));
	hwq->rq.pi++;
}

/* Post buffers that are in known regions. Returns how many, up to the first other one. */
static inline uint32_t
mana_rx_write_known(struct mana_hwq *hwq, struct rte_mbuf *const *mbufs, uint32_t nb)
{
	/* A copy: stores to a WQE cannot change it. */
	const struct mana_mr_view view = hwq->mr.view;
	const uint32_t pi = hwq->rq.pi;
	uint32_t lkey;

	for (uint32_t i = 0; i < nb; i++) {
		uintptr_t addr = mana_rx_data_of(hwq, mbufs[i]);

		if (unlikely(!mana_mr_peek(&view, addr, hwq->buf_bytes, &lkey)))
			break;
		mana_rx_write(hwq, addr, lkey);
	}
	rte_smp_rmb();
	if (unlikely(mana_mr_is_stale(&hwq->mr.view)))
		hwq->rq.pi = pi;
	return hwq->rq.pi - pi;
}

/*
 * Post up to want buffers of any pool, which the rings hold in one piece. A
 * mempool gives a bulk whole or not at all, so ask for less until it gives one.
 * Returns 0 if all that the pool gave were posted, else why not.
 */
static __rte_noinline int
mana_rx_fill_any(struct mana_hwq *hwq, uint32_t want)
{
	struct rte_mbuf **mbufs = &hwq->mbufs[hwq->rq.pi & hwq->mbuf_mask];
	uint32_t got = RTE_MIN(want, (uint32_t)MANA_RX_REFILL_MAX);
	uint32_t lkey;
	int ret;

	while (got > 0 && rte_mempool_get_bulk(hwq->mp, (void **)mbufs, got) != 0)
		got >>= 1;
	if (unlikely(got == 0)) {
		hwq->stats.nombuf++;
		return -ENOMEM;
	}
	for (uint32_t i = mana_rx_write_known(hwq, mbufs, got); i < got; i++) {
		uintptr_t addr = mana_rx_data_of(hwq, mbufs[i]);

		ret = mana_mr_lkey(&hwq->mr, mbufs[i], addr, hwq->buf_bytes, &lkey);
		if (unlikely(ret != 0)) {
			rte_mempool_put_bulk(hwq->mp, (void **)&mbufs[i], got - i);
			hwq->stats.mr_failed += ret != -EAGAIN ? got - i : 0;
			return ret == -EAGAIN ? ret : -EFAULT;
		}
		mana_rx_write(hwq, addr, lkey);
	}
	return 0;
}

/* ---- A pool in one region ----------------------------------------------- */

/* The WQEs of two mbufs: address, then key and size. */
static inline void
mana_rx_write_two(uint64_t *wqe, struct rte_mbuf **mbufs,
		  struct rte_mbuf *const *from, mana_vec_t delta, mana_vec_t sge)
{
	mana_vec_t two = mana_vec_load(from);

	mana_vec_store(mbufs, two);
	two = mana_vec_add64(two, delta);
	mana_vec_store(&wqe[2], mana_vec_zip_lo64(two, sge));
	mana_vec_store(&wqe[2 + GDMA_BU_WORDS], mana_vec_zip_hi64(two, sge));
}

/* A WQE for each of nb mbufs, which are moved to the queue. */
static inline void
mana_rx_write_region(const struct mana_hwq *hwq, struct rte_mbuf **mbufs,
		     struct rte_mbuf *const *from, uint32_t nb)
{
	const mana_vec_t delta = mana_vec_of64(hwq->data_delta, hwq->data_delta);
	const mana_vec_t sge = mana_vec_of64(hwq->sge_word, hwq->sge_word);
	uint64_t *wqe = mana_wq_bu(&hwq->rq, hwq->rq.pi);

	for (; nb >= MANA_RX_REFILL_STEP; nb -= MANA_RX_REFILL_STEP) {
#pragma GCC unroll 8
		for (uint32_t i = 0; i < MANA_RX_REFILL_STEP / 2; i++)
			mana_rx_write_two(&wqe[2 * i * GDMA_BU_WORDS], &mbufs[(size_t)2 * i],
					  &from[(size_t)2 * i], delta, sge);
		wqe += MANA_RX_REFILL_STEP * GDMA_BU_WORDS;
		mbufs += MANA_RX_REFILL_STEP;
		from += MANA_RX_REFILL_STEP;
	}
	for (; nb >= 2; nb -= 2) {
		mana_rx_write_two(wqe, mbufs, from, delta, sge);
		wqe += 2 * GDMA_BU_WORDS;
		mbufs += 2;
		from += 2;
	}
	if (nb != 0) {
		*mbufs = *from;
		wqe[2] = rte_cpu_to_le_64((uintptr_t)*from + hwq->data_delta);
		wqe[3] = hwq->sge_word;
	}
}

/*
 * Post nb buffers, taken straight from this lcore's mempool cache if it has as
 * many. False: the pool has too few, nothing was posted.
 */
static inline bool
mana_rx_fill_region(struct mana_hwq *hwq, uint32_t nb)
{
	struct rte_mbuf **mbufs = &hwq->mbufs[hwq->rq.pi & hwq->mbuf_mask];
	struct rte_mbuf **from = mbufs;
#ifndef MANA_MEMPOOL_COUNTS
	struct rte_mempool_cache *cache;

	cache = rte_mempool_default_cache(hwq->mp, rte_lcore_id());
	if (likely(cache != NULL && cache->len >= nb)) {
		cache->len -= nb;
		from = (struct rte_mbuf **)&cache->objs[cache->len];
	} else
#endif
	if (rte_mempool_get_bulk(hwq->mp, (void **)mbufs, nb) != 0)
		return false;
	mana_rx_write_region(hwq, mbufs, from, nb);
	hwq->rq.pi += nb;
	return true;
}

/* ---- Filling ------------------------------------------------------------ */

void
mana_hwq_repost(struct mana_hwq *hwq, struct mana_rxq *rxq, uint32_t max)
{
	const struct mana_rx_seg *seg = &hwq->scatter.segs[0];
	struct rte_mbuf *m;
	uint32_t lkey;

	max = RTE_MIN(max, hwq->limit);
	if (mana_mr_is_stale(&hwq->mr.view))
		mana_rx_regions_sync(hwq);
	if (hwq->scatter.nb_segs != 0) {
		mana_rx_scatter_repost(hwq, rxq, max);
		return;
	}
	while (mana_hwq_nb_posted(hwq) < max &&
	       (m = mana_rx_spares_take(rxq, &hwq->mr, seg, &lkey)) != NULL) {
		hwq->mbufs[hwq->rq.pi & hwq->mbuf_mask] = m;
		mana_rx_write(hwq, mana_rx_data_of(hwq, m), lkey);
	}
}

int
mana_hwq_fill(struct mana_hwq *hwq)
{
	uint32_t pi, want;
	int ret = 0;

	if (unlikely(mana_mr_is_stale(&hwq->mr.view)))
		mana_rx_regions_sync(hwq);
	while (ret == 0 && (want = hwq->limit - mana_hwq_nb_posted(hwq)) > 0) {
		if (unlikely(hwq->scatter.nb_segs != 0)) {
			ret = mana_rx_scatter_post(hwq);
			continue;
		}
		/* Post one piece, up to the end of either ring. */
		pi = hwq->rq.pi;
		want = RTE_MIN(want, (~pi & hwq->mbuf_mask) + 1);
		want = RTE_MIN(want, (~pi & hwq->rq.mask_bu) + 1);
		if (unlikely(!hwq->in_one_region) || !mana_rx_fill_region(hwq, want))
			ret = mana_rx_fill_any(hwq, want);
	}
	hwq->slow_flags &= ~MANA_RX_REFILL_RETRY;
	if (unlikely(ret != 0) && mana_rx_is_refill_due(hwq))
		hwq->slow_flags |= MANA_RX_REFILL_RETRY;
	return ret;
}

uint32_t
mana_hwq_recycle(struct mana_hwq *hwq)
{
	uint32_t nb = (uint8_t)(hwq->part.nb - hwq->part.next), nb_wqes;
	struct gdma_cqe cqe;

	if (hwq->cq.ring == NULL || mana_cq_is_closed(&hwq->cq))
		return 0;
	hwq->part.next = hwq->part.nb;
	/* A burst looks at a CQE without packet. */
	for (uint32_t i = 0; i < mana_cq_size(&hwq->cq); i++, hwq->cq.ci++) {
		nb_wqes = mana_cq_copy(&hwq->cq, hwq->cq.ci, &cqe) ? mana_rx_cqe_nb_wqes(&cqe) : 0;
		if (nb_wqes == 0)
			break;
		nb += nb_wqes;
	}
	mana_rx_cq_update(hwq);
	nb = RTE_MIN(nb, mana_hwq_nb_posted(hwq));
	for (uint32_t i = 0; i < nb; i++) {
		const uint64_t *wqe = mana_wq_bu(&hwq->rq, hwq->rq.ci);
		struct rte_mbuf *m = hwq->mbufs[hwq->rq.ci++ & hwq->mbuf_mask];

		if (hwq->scatter.nb_segs != 0)
			continue;
		hwq->mbufs[hwq->rq.pi & hwq->mbuf_mask] = m;
		mana_rx_write(hwq, mana_rx_data_of(hwq, m), (uint32_t)rte_le_to_cpu_64(wqe[3]));
	}
	if (hwq->scatter.nb_segs != 0)
		mana_rx_scatter_repost(hwq, NULL, hwq->limit);
	if (nb != 0)
		mana_rx_ring(hwq);
	/* Perhaps nothing is posted, so no packet makes a burst refill. */
	if (mana_rx_is_refill_due(hwq))
		hwq->slow_flags |= MANA_RX_REFILL_RETRY;
	return nb;
}

void
mana_rx_ring(struct mana_hwq *hwq)
{
	rte_io_rmb(); /* What the application loaded from these buffers came before. */
	mana_wq_ring_at(&hwq->rq, hwq->rq.pi * hwq->scatter.wqe_bu);
	hwq->stats.rq_doorbells++;
}

/* ---- From the bursts ---------------------------------------------------- */

/*
 * Whether the device may have used all posted buffers. A CQE has up to four or
 * eight packets (ppi_shift follows those received), and up to three or seven may
 * be left of the last CQE. So at least a quarter or an eighth of the buffers,
 * rounded down, is the number of CQEs that wait then. The test loads one CQE. If
 * none needs to wait, it is the last one taken, which is written.
 */
static inline bool
mana_rx_may_be_empty(const struct mana_hwq *hwq)
{
	const uint32_t posted = mana_hwq_nb_posted(hwq);
	const uint32_t idx = hwq->cq.ci - 1 + (posted >> hwq->ppi_shift);

	return posted == 0 || mana_cq_is_ours(&hwq->cq, idx, mana_cq_trailer(&hwq->cq, idx));
}

/* Count it if the device has no buffer: it drops packets then, without a CQE. */
static __rte_noinline __rte_cold void
mana_rx_count_empty(struct mana_hwq *hwq)
{
	uint32_t nb;

	if ((int32_t)(hwq->rq.ci - hwq->empty_ci) < 0)
		return;
	nb = mana_hwq_nb_waiting(hwq, UINT32_MAX);
	if (nb == mana_hwq_nb_posted(hwq))
		hwq->stats.ring_empty++;
	hwq->empty_ci = hwq->rq.ci + RTE_MAX(nb, 1u);
}

__rte_noinline void
mana_rx_replenish(struct mana_hwq *hwq)
{
	const uint32_t pi = hwq->rq.pi;

	if (unlikely(mana_cq_is_closed(&hwq->cq)))
		return;
	mana_rx_cq_update(hwq);
	if (unlikely(mana_rx_may_be_empty(hwq)))
		mana_rx_count_empty(hwq);
	(void)mana_hwq_fill(hwq);
	if (likely(hwq->rq.pi != pi))
		mana_rx_ring(hwq);
}

/* ---- The end of a poll -------------------------------------------------- */

/* Prefetch the headers of packets of unknown type. False: there are no such packets. */
static inline bool
mana_rx_headers_prefetch(struct rte_mbuf *const *pkts, uint16_t nb)
{
	bool is_needed = false;

	for (uint16_t i = 0; i < nb; i++)
		if (pkts[i]->packet_type == RTE_PTYPE_UNKNOWN) {
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i], const void *));
			is_needed = true;
		}
	return is_needed;
}

/*
 * TCP or UDP over IPv4 without options: the general search would take longer. The first
 * segment may begin at an odd address.
 */
typedef struct {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
} mana_rx_headers_t __rte_aligned(1);

static inline uint32_t
mana_rx_headers_type(const struct rte_mbuf *m)
{
	const mana_rx_headers_t *h = rte_pktmbuf_mtod(m, const mana_rx_headers_t *);
	uint32_t l4 = 0;

	if (m->data_len >= sizeof(*h) &&
	    h->ether.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	    h->ip.version_ihl == RTE_IPV4_VHL_DEF &&
	    (h->ip.fragment_offset &
	     RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) == 0)
		l4 = h->ip.next_proto_id == IPPROTO_TCP ? RTE_PTYPE_L4_TCP :
		     h->ip.next_proto_id == IPPROTO_UDP ? RTE_PTYPE_L4_UDP : 0;
	if (likely(l4 != 0))
		return RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | l4;
	return rte_net_get_ptype(m, NULL, RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
				 RTE_PTYPE_L4_MASK);
}

__rte_noinline uint16_t
mana_rx_chores(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb, struct mana_hwq *hwq)
{
	bool needs_headers;

	/*
	 * A device that receives into one queue only computes no hash, and so
	 * reports no types (Linux mana_ib main.c, mana_ib_cfg_vport_steering()).
	 * The headers arrive in the cache while the queue refills.
	 */
	needs_headers = hwq->parse && mana_rx_headers_prefetch(pkts, nb);
	if (mana_rx_is_refill_due(hwq))
		mana_rx_replenish(hwq);
	for (uint16_t i = 0; i < nb && needs_headers; i++)
		if (pkts[i]->packet_type == RTE_PTYPE_UNKNOWN)
			pkts[i]->packet_type = mana_rx_headers_type(pkts[i]);
	mana_burst_leave(&rxq->is_busy);
	return nb;
}
