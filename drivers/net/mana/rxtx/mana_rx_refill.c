/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Buffers for the device: the first fill, and refills from the bursts.
 *
 * A pool is flat when all of it is known at once: its buffers are at one
 * distance from their mbufs and in one memory region. Then a WQE is written
 * without a look at mbuf or region. Whether a pool is flat is found out when the
 * first buffer is posted the general way, and again after a region has gone.
 */

#include <errno.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_rxtx.h"
#include "mana_vec.h"

#define MANA_RX_REFILL_MAX 64 /* mbufs taken from the pool at a time */
#define MANA_RX_REFILL_STEP 8 /* WQEs written at a time, where it goes fast */

/* ---- Any pool ----------------------------------------------------------- */

/*
 * Fresh mbufs, as many as there are up to nb: a bulk is given whole or not at
 * all, so ask for less until the pool agrees.
 */
static uint32_t
mana_rx_alloc(struct rte_mempool *mp, struct rte_mbuf **mbufs, uint32_t nb)
{
	while (nb > 0 && rte_mempool_get_bulk(mp, (void **)mbufs, nb) != 0)
		nb >>= 1;
	return nb;
}

/* Write one WQE for each mbuf, up to the first that is in no memory region. */
static uint32_t
mana_rx_write(struct mana_rxq *rxq, struct rte_mbuf **mbufs, uint32_t nb)
{
	const uint32_t len = rxq->buf_bytes;
	uint32_t i, lkey;

	for (i = 0; i < nb; i++) {
		uint64_t *wqe = mana_wq_bu(&rxq->rq, rxq->rq.pi + i);
		uintptr_t addr = (uintptr_t)mbufs[i]->buf_addr +
				 RTE_PKTMBUF_HEADROOM;

		if (unlikely(!mana_mr_lkey(&rxq->mr, mbufs[i], addr, len, &lkey)))
			break;
		wqe[2] = rte_cpu_to_le_64(addr);
		wqe[3] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, len));
	}
	return i;
}

/* ---- A flat pool -------------------------------------------------------- */

struct mana_rx_extent {
	uintptr_t base;
	uintptr_t end;
};

static void
mana_rx_extend(struct rte_mempool *mp, void *arg,
	       struct rte_mempool_memhdr *memhdr, unsigned int idx)
{
	struct mana_rx_extent *extent = arg;
	uintptr_t base = (uintptr_t)memhdr->addr;

	RTE_SET_USED(mp);
	if (idx == 0 || base < extent->base)
		extent->base = base;
	if (idx == 0 || base + memhdr->len > extent->end)
		extent->end = base + memhdr->len;
}

/* Is the pool flat? m: one of its mbufs, which is in a memory region. */
static __rte_noinline __rte_cold void
mana_rx_flatten(struct mana_rxq *rxq, const struct rte_mbuf *m)
{
	struct mana_rx_extent extent = { 0, 0 };
	struct mana_mr_range range = { 0 };
	uintptr_t addr = (uintptr_t)m->buf_addr + RTE_PKTMBUF_HEADROOM;

	rxq->flat = MANA_RX_FLAT_NO;
	if (!rxq->is_even ||
	    mana_mr_miss(&rxq->mr, m, addr, rxq->buf_bytes, &range) != 0)
		return;
	rte_mempool_mem_iter(rxq->mp, mana_rx_extend, &extent);
	if (extent.base < range.base ||
	    extent.end - range.base > range.len_bytes)
		return;
	rxq->sge_word = rte_cpu_to_le_64(GDMA_SGE_WORD(range.lkey,
						       rxq->buf_bytes));
	rxq->flat = MANA_RX_FLAT_YES;
}

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
	struct rte_mbuf *const *const end = from + nb;

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
	for (; from != end; from++) {
		*mbufs++ = *from;
		wqe[2] = rte_cpu_to_le_64((uintptr_t)*from + rxq->data_delta);
		wqe[3] = rxq->sge_word;
		wqe += GDMA_BU_WORDS;
	}
}

/*
 * nb mbufs of a pool, as rte_mempool_get_bulk(), and a WQE for each. Taken
 * straight from this lcore's cache when it has so many.
 */
static inline bool
mana_rx_get_flat(struct mana_rxq *rxq, struct rte_mbuf **mbufs, uint32_t nb)
{
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
	return true;
}

/* ---- Filling ------------------------------------------------------------ */

/* Buffers that can be written in one piece: rings end. */
static inline uint32_t
mana_rx_piece(const struct mana_rxq *rxq, uint32_t room)
{
	uint32_t pi = rxq->rq.pi;
	uint32_t nb = rxq->mbuf_mask + 1 - (pi & rxq->mbuf_mask);

	nb = RTE_MIN(nb, rxq->rq.mask_bu + 1 - (pi & rxq->rq.mask_bu));
	return RTE_MIN(nb, room);
}

/* A piece of any pool. 0, or why not all of it was posted. */
static __rte_noinline int
mana_rx_fill_piece(struct mana_rxq *rxq, uint32_t want)
{
	struct rte_mbuf **mbufs = &rxq->mbufs[rxq->rq.pi & rxq->mbuf_mask];
	uint32_t got, done;

	got = mana_rx_alloc(rxq->mp, mbufs,
			    RTE_MIN(want, (uint32_t)MANA_RX_REFILL_MAX));
	done = mana_rx_write(rxq, mbufs, got);
	rxq->rq.pi += done;
	if (unlikely(done < got)) {
		rte_mempool_put_bulk(rxq->mp, (void **)&mbufs[done], got - done);
		rxq->stats.mr_failed += got - done;
		return -EFAULT;
	}
	if (unlikely(got == 0)) {
		rxq->stats.nombuf++;
		return -ENOMEM;
	}
	if (rxq->flat == MANA_RX_FLAT_UNKNOWN)
		mana_rx_flatten(rxq, mbufs[0]);
	return 0;
}

/* Returns 0 when the ring is full up to the limit. */
static inline int
mana_rx_fill(struct mana_rxq *rxq)
{
	uint32_t room, want;
	int ret;

	while ((room = rxq->limit - mana_rxq_nb_posted(rxq)) > 0) {
		want = mana_rx_piece(rxq, room);
		if (likely(rxq->flat == MANA_RX_FLAT_YES) &&
		    mana_rx_get_flat(rxq, &rxq->mbufs[rxq->rq.pi & rxq->mbuf_mask],
				     want)) {
			rxq->rq.pi += want;
			continue;
		}
		ret = mana_rx_fill_piece(rxq, want);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/* A region has gone: nothing is known of any. */
static __rte_noinline __rte_cold void
mana_rx_regions_forget(struct mana_rxq *rxq)
{
	mana_mr_cache_sync(&rxq->mr);
	rxq->flat = MANA_RX_FLAT_UNKNOWN;
}

/* Post up to the limit; the next poll tries again when a refill is due still. */
static int
mana_rx_post(struct mana_rxq *rxq)
{
	int ret;

	if (unlikely(mana_mr_cache_is_stale(&rxq->mr)))
		mana_rx_regions_forget(rxq);
	ret = unlikely(rxq->scatter.nb_segs != 0) ? mana_rx_scatter_fill(rxq) :
						    mana_rx_fill(rxq);
	rxq->slow_flags &= ~MANA_RX_REFILL_RETRY;
	if (unlikely(ret != 0) && mana_rx_is_refill_due(rxq))
		rxq->slow_flags |= MANA_RX_REFILL_RETRY;
	return ret;
}

int
mana_rxq_fill(struct mana_rxq *rxq)
{
	return mana_rx_post(rxq);
}

void
mana_rx_ring(struct mana_rxq *rxq)
{
	mana_wq_ring_at(&rxq->rq, rxq->rq.pi * rxq->scatter.wqe_bu);
	rxq->stats.rq_doorbells++;
}

/* ---- From the bursts ---------------------------------------------------- */

static inline bool
mana_rx_is_written(const struct mana_rxq *rxq, uint32_t idx)
{
	return mana_cq_is_ours(&rxq->cq, idx, mana_cq_trailer(&rxq->cq, idx));
}

/*
 * Whether the device may have used all that is posted: with up to four
 * packets a CQE, and up to three left of the one that was taken last, no fewer
 * CQEs than a quarter of it wait, rounded down; with eight, an eighth. One load
 * at most. How many a CQE may have is known when one had them. Where none need
 * wait it is the last one taken, which is written.
 */
static inline bool
mana_rx_may_be_empty(const struct mana_rxq *rxq)
{
	const uint32_t posted = mana_rxq_nb_posted(rxq);

	return posted == 0 ||
	       mana_rx_is_written(rxq, rxq->cq.ci - 1 +
					       (posted >> rxq->ppi_shift));
}

/*
 * Count that the device has no buffer, which nothing else tells of: it drops
 * then, without a CQE. Looks at no CQE twice.
 */
static __rte_noinline __rte_cold void
mana_rx_look_empty(struct mana_rxq *rxq)
{
	uint32_t nb;

	if ((int32_t)(rxq->rq.ci - rxq->look_ci) < 0)
		return;
	nb = mana_rxq_nb_waiting(rxq);
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
	mana_rx_post(rxq);
	if (likely(rxq->rq.pi != pi))
		mana_rx_ring(rxq);
}
