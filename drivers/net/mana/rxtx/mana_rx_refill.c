/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Buffers for the device: the first fill, and refills from the bursts.
 *
 * A pool is flat if all its buffers are at one distance from their mbufs and in
 * one memory region. A WQE is then written without access to mbuf or region.
 * The driver finds this out when it posts the first buffers of the pool, and
 * again after a region has gone.
 *
 * A queue that scrubs treats no pool as flat, so that the fast way needs no check.
 */

#include <errno.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_vec.h"

#define MANA_RX_REFILL_MAX 64 /* mbufs taken from the pool at a time */
#define MANA_RX_REFILL_STEP 8 /* WQEs written at a time, where it goes fast */

/* ---- Any pool ----------------------------------------------------------- */

/* Find out whether the pool is flat. */
static __rte_noinline __rte_cold void
mana_rx_flatten(struct mana_rxq *rxq)
{
	uint32_t lkey;

	rxq->flat = MANA_RX_FLAT_NO;
	if (rxq->scrub || rxq->data_delta == MANA_RX_UNEVEN ||
	    !mana_mr_pool_key(&rxq->mr, rxq->mp, &lkey))
		return;
	rxq->sge_word = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, rxq->buf_bytes));
	rxq->flat = MANA_RX_FLAT_YES;
}

/*
 * Post up to want buffers of any pool, which the rings hold in one piece. A
 * mempool gives a bulk whole or not at all, so ask for less until it gives one.
 * Returns 0 if a buffer was posted, else why not.
 */
static __rte_noinline int
mana_rx_fill_any(struct mana_rxq *rxq, uint32_t want)
{
	struct rte_mbuf **mbufs = &rxq->mbufs[rxq->rq.pi & rxq->mbuf_mask];
	const uint32_t len = rxq->buf_bytes;
	uint32_t got = RTE_MIN(want, (uint32_t)MANA_RX_REFILL_MAX);
	uint32_t lkey;

	while (got > 0 &&
	       rte_mempool_get_bulk(rxq->mp, (void **)mbufs, got) != 0)
		got >>= 1;
	if (unlikely(got == 0)) {
		rxq->stats.nombuf++;
		return -ENOMEM;
	}
	if (rxq->scrub)
		for (uint32_t i = 0; i < got; i++)
			memset(RTE_PTR_ADD(mbufs[i]->buf_addr, RTE_PKTMBUF_HEADROOM),
			       0, len);
	for (uint32_t i = 0; i < got; i++, rxq->rq.pi++) {
		uint64_t *wqe = mana_wq_bu(&rxq->rq, rxq->rq.pi);
		uintptr_t addr = (uintptr_t)mbufs[i]->buf_addr +
				 RTE_PKTMBUF_HEADROOM;

		if (unlikely(!mana_mr_lkey(&rxq->mr, mbufs[i], addr, len, &lkey))) {
			rte_mempool_put_bulk(rxq->mp, (void **)&mbufs[i], got - i);
			rxq->stats.mr_failed += got - i;
			return -EFAULT;
		}
		wqe[2] = rte_cpu_to_le_64(addr);
		wqe[3] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, len));
	}
	if (rxq->flat == MANA_RX_FLAT_UNKNOWN)
		mana_rx_flatten(rxq);
	return 0;
}

/* ---- A flat pool -------------------------------------------------------- */

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
mana_rx_write_flat(const struct mana_rxq *rxq, struct rte_mbuf **mbufs,
		   struct rte_mbuf *const *from, uint32_t nb)
{
	const mana_vec_t delta = mana_vec_of64(rxq->data_delta, rxq->data_delta);
	const mana_vec_t sge = mana_vec_of64(rxq->sge_word, rxq->sge_word);
	uint64_t *wqe = mana_wq_bu(&rxq->rq, rxq->rq.pi);

	for (; nb >= MANA_RX_REFILL_STEP; nb -= MANA_RX_REFILL_STEP) {
		mana_rx_write_two(wqe, mbufs, from, delta, sge);
		mana_rx_write_two(wqe + 2 * GDMA_BU_WORDS, mbufs + 2, from + 2,
				  delta, sge);
		mana_rx_write_two(wqe + 4 * GDMA_BU_WORDS, mbufs + 4, from + 4,
				  delta, sge);
		mana_rx_write_two(wqe + 6 * GDMA_BU_WORDS, mbufs + 6, from + 6,
				  delta, sge);
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
		wqe[2] = rte_cpu_to_le_64((uintptr_t)*from + rxq->data_delta);
		wqe[3] = rxq->sge_word;
	}
}

/*
 * Post nb buffers, taken straight from this lcore's mempool cache if it has as
 * many. False: the pool has too few, nothing was posted.
 */
static inline bool
mana_rx_fill_flat(struct mana_rxq *rxq, uint32_t nb)
{
	struct rte_mbuf **mbufs = &rxq->mbufs[rxq->rq.pi & rxq->mbuf_mask];
	struct rte_mbuf **from = mbufs;
#ifndef MANA_MEMPOOL_COUNTS
	struct rte_mempool_cache *cache;

	cache = rte_mempool_default_cache(rxq->mp, rte_lcore_id());
	if (likely(cache != NULL && cache->len >= nb)) {
		cache->len -= nb;
		from = (struct rte_mbuf **)&cache->objs[cache->len];
	} else
#endif
	if (rte_mempool_get_bulk(rxq->mp, (void **)mbufs, nb) != 0)
		return false;
	mana_rx_write_flat(rxq, mbufs, from, nb);
	rxq->rq.pi += nb;
	return true;
}

/* ---- Filling ------------------------------------------------------------ */

/* Post up to the limit. Returns 0, or why fewer were posted. */
static inline int
mana_rx_fill(struct mana_rxq *rxq)
{
	uint32_t pi, want;
	int ret = 0;

	while (ret == 0 && (want = rxq->limit - mana_rxq_nb_posted(rxq)) > 0) {
		/* In one piece, up to the end of either ring. */
		pi = rxq->rq.pi;
		want = RTE_MIN(want, (~pi & rxq->mbuf_mask) + 1);
		want = RTE_MIN(want, (~pi & rxq->rq.mask_bu) + 1);
		if (unlikely(rxq->flat != MANA_RX_FLAT_YES) ||
		    !mana_rx_fill_flat(rxq, want))
			ret = mana_rx_fill_any(rxq, want);
	}
	return ret;
}

int
mana_rxq_fill(struct mana_rxq *rxq)
{
	int ret;

	/* A region has gone: look up all regions again. */
	if (unlikely(mana_mr_cache_is_stale(&rxq->mr))) {
		mana_mr_cache_sync(&rxq->mr);
		rxq->flat = MANA_RX_FLAT_UNKNOWN;
	}
	ret = unlikely(rxq->scatter.nb_segs != 0) ? mana_rx_scatter_fill(rxq) :
						    mana_rx_fill(rxq);
	rxq->slow_flags &= ~MANA_RX_REFILL_RETRY;
	if (unlikely(ret != 0) && mana_rx_is_refill_due(rxq))
		rxq->slow_flags |= MANA_RX_REFILL_RETRY;
	return ret;
}

void
mana_rx_ring(struct mana_rxq *rxq)
{
	rte_io_rmb(); /* What the application loaded from these buffers came before. */
	mana_wq_ring_at(&rxq->rq, rxq->rq.pi * rxq->scatter.wqe_bu);
	rxq->stats.rq_doorbells++;
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
mana_rx_may_be_empty(const struct mana_rxq *rxq)
{
	const uint32_t posted = mana_rxq_nb_posted(rxq);
	const uint32_t idx = rxq->cq.ci - 1 + (posted >> rxq->ppi_shift);

	return posted == 0 ||
	       mana_cq_is_ours(&rxq->cq, idx, mana_cq_trailer(&rxq->cq, idx));
}

/*
 * Count it if the device has no buffer: it drops packets then, without a CQE.
 * look_ci makes sure that no CQE is examined twice.
 */
static __rte_noinline __rte_cold void
mana_rx_look_empty(struct mana_rxq *rxq)
{
	uint32_t nb;

	if ((int32_t)(rxq->rq.ci - rxq->look_ci) < 0)
		return;
	nb = mana_rxq_nb_waiting(rxq, UINT32_MAX);
	if (nb == mana_rxq_nb_posted(rxq))
		rxq->stats.ring_empty++;
	rxq->look_ci = rxq->rq.ci + RTE_MAX(nb, 1u);
}

__rte_noinline void
mana_rx_replenish(struct mana_rxq *rxq)
{
	const uint32_t pi = rxq->rq.pi;

	if (unlikely(mana_cq_is_closed(&rxq->cq)))
		return;
	mana_rx_cq_update(rxq);
	if (unlikely(mana_rx_may_be_empty(rxq)))
		mana_rx_look_empty(rxq);
	(void)mana_rxq_fill(rxq);
	if (likely(rxq->rq.pi != pi))
		mana_rx_ring(rxq);
}
