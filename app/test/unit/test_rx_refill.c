/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver refills the Rx ring as early as possible in all situations. */

#include <pthread.h>

#include <rte_ether.h>

#include "fixture.h"

static uint16_t
poll_rx(struct fx_rx *fx, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select()->burst(fx->rxq, pkts, nb);
}

static void
take_all(struct rte_mempool *mp, struct rte_mbuf **mbufs, uint32_t *nb,
	 uint32_t leave)
{
	*nb = 0;
	while (rte_mempool_avail_count(mp) > leave) {
		mbufs[*nb] = rte_pktmbuf_alloc(mp);
		assert_non_null(mbufs[*nb]);
		(*nb)++;
	}
}

FX_RX_TEST(invalid_sizes_are_rejected, .no_open = true)
{
	struct mana_queue_rings rings;
	struct mana_hwq *hwq = fx->hwq;

#define EXPECT(code, change) do { \
	rings = fx->rings;  \
	*hwq = fx->fresh;  \
	change; \
	assert_int_equal(mana_hwq_init(hwq, &rings, FX_PORT_ID), code);  \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, hwq->scatter.segs[0].mp = NULL);
	EXPECT(-EINVAL, hwq->mbuf_mask = 31);
	EXPECT(-EINVAL, hwq->nb_desc = 0);
	EXPECT(-EINVAL, hwq->nb_desc = 129; hwq->mbuf_mask = 255);
	EXPECT(-EINVAL, rings.ring = NULL);
	EXPECT(-EINVAL, rings.ring_bytes = 4095);
	EXPECT(-EINVAL, rings.cq_ring = fx->cq.ring + 64);
	EXPECT(-EINVAL, rings.nb_cqe = 100);
	EXPECT(-EINVAL, rings.db_page = NULL);
	EXPECT(-ENOTSUP, hwq->scatter.segs[0].bytes = RTE_ETHER_MIN_LEN - 1);
#undef EXPECT
}

/* One CQE per WQE, and one spare for a fence. */
TEST(posts_no_more_than_the_cq_takes)
{
	struct fx_rx *fx;

	fx = fx_rx_new(&(struct fx_rx_opts){ .nb_desc = 64, .nb_cqe = 64 });
	assert_eq(fx_rx_available(fx), 63);
	fx_rx_delete(fx);
	fx = fx_rx_new(&(struct fx_rx_opts){ .nb_desc = 128, .nb_cqe = 128 });
	assert_eq(fx_rx_available(fx), 127);
	fx_rx_delete(fx);
	fx = fx_rx_new(&(struct fx_rx_opts){ .nb_desc = 100, .nb_cqe = 128 });
	assert_eq(fx_rx_available(fx), 100);
	fx_rx_delete(fx);
}

FX_RX_TEST(first_fill_reports_a_small_pool, .nb_pool = 40, .no_open = true)
{
	assert_int_equal(mana_hwq_fill(fx->hwq), -ENOMEM);
	/* The posted WQEs are counted, but no doorbell was rung. */
	assert_eq(mana_hwq_nb_posted(fx->hwq), 40);
	assert_eq(hw_le64(fx->db_page + HW_DB_RQ), 0);
}

FX_RX_TEST(first_fill_reports_unregistered_memory, .no_open = true)
{
	fx_mr_deny = true;
	assert_int_equal(mana_hwq_fill(fx->hwq), -EFAULT);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	fx_mr_deny = false;
	assert_eq(mana_hwq_fill(fx->hwq), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 64);
}

/* The mempool is empty for a while: polls refill the ring later. */
FX_RX_TEST_ON_EACH_PATH(pool_empty, .nb_pool = 128)
{
	struct rte_mbuf *pkts[64], *kept[64];

	for (uint32_t round = 0; round < 3; round++) {
		assert_eq(rte_pktmbuf_alloc_bulk(fx->mp, kept, 64), 0);
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_okay(fx, 60, 0);
		/* All WQEs are consumed and the mempool is empty. */
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 64);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 0);
		assert_eq(fx_rx_available(fx), 0);
		assert_true(fx->hwq->stats.nombuf >= 2 * (round + 1));
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_check_data(fx, pkts[i], 60);
		/* No completion can arrive: polls alone refill the ring. */
		for (uint32_t i = 0; i < 4; i++)
			assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 0);
		assert_eq(fx_rx_available(fx), 64);
		rte_pktmbuf_free_bulk(kept, 64);
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 64);
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_check_data(fx, pkts[i], 60);
		fx_rx_burst(fx->rxq, pkts, 64);
	}
}

/* All mbufs left in the pool are posted, whatever their number. */
TEST(takes_the_last_mbufs)
{
	struct rte_mbuf *taken[512], *pkts[64];
	uint32_t nb_taken, i, left;

	for (left = 0; left <= 64; left++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});

		take_all(fx->mp, taken, &nb_taken, left);
		for (i = 0; i < 64; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 64), 64);
		for (i = 0; i < 6; i++)
			assert_eq(poll_rx(fx, pkts, 0), 0);
		assert_eq(fx_rx_available(fx), left);
		assert_eq(rte_mempool_avail_count(fx->mp), 0);
		for (i = 0; i < 64; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
		for (i = 0; i < nb_taken; i++)
			rte_pktmbuf_free(taken[i]);
		fx_rx_delete(fx);
	}
}

/* Few mbufs over many laps, at every ring position. */
FX_RX_TEST(few_mbufs_over_many_laps, .nb_pool = 7, .free_thresh = 1)
{
	struct rte_mbuf *pkts[8];
	uint32_t i, nb, turn;

	for (turn = 0; turn < 500; turn++) {
		nb = 1 + turn % 7;
		for (i = 0; i < nb; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 8), nb);
		for (i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(fx_rx_available(fx), 7);
	}
}

/* One doorbell for many packets, also with small bursts. */
FX_RX_TEST(refills_by_threshold, .nb_desc = 128, .nb_cqe = 256)
{
	const uint32_t thresh = mana_rx_refill_thresh(0, 128, 256);
	uint32_t i, rung = 0;
	struct rte_mbuf *m;
	uint64_t db, last;

	last = hw_le64(fx->db_page + HW_DB_RQ);
	for (i = 0; i < 1024; i++) {
		fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, &m, 1), 1);
		fx_rx_check(fx, m, 60, 0, 0);
		assert_true(fx_rx_available(fx) > 128 - thresh);
		db = hw_le64(fx->db_page + HW_DB_RQ);
		rung += db != last;
		last = db;
	}
	assert_eq(rung, 1024 / thresh);
}

static const struct { uint32_t asked, nb_desc, want; } thresholds[] = {
	{ 0, 64, 16 }, { 0, 16, 4 }, { 1, 64, 1 }, { 5, 64, 5 },
	{ 1000, 64, 32 }, { 0, 1, 1 },
};

FX_RX_TEST_EACH(threshold_fits_the_ring, i, 0, RTE_DIM(thresholds),
		.free_thresh = thresholds[i].asked, .nb_desc = thresholds[i].nb_desc)
{
	assert_eq(fx->hwq->refill_thresh, thresholds[i].want);
}

/* Registration fails for a while: nothing is posted or lost. */
FX_RX_TEST(memory_without_key)
{
	struct rte_mbuf *pkts[64];
	uint32_t i;

	fx_mr_forget();
	fx_mr_deny = true;
	for (i = 0; i < 40; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 64), 40);
	assert_eq(fx_rx_available(fx), 24);
	assert_true(fx->hwq->stats.mr_failed > 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 24 + 40);
	fx_mr_deny = false;
	assert_eq(poll_rx(fx, pkts, 0), 0);
	assert_eq(fx_rx_available(fx), 64);
	for (i = 0; i < 40; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
}

/* A key that comes later is no failure: the next refill asks for it again. */
FX_RX_TEST(key_that_comes_later, .no_open = true)
{
	fx_mr_later = true;
	assert_int_equal(mana_hwq_fill(fx->hwq), -EAGAIN);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(fx->hwq->stats.mr_failed, 0);
	assert_eq(fx->hwq->slow_flags, MANA_RX_REFILL_RETRY);
	fx_mr_later = false;
	assert_int_equal(mana_hwq_fill(fx->hwq), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 64);
	assert_eq(fx->hwq->slow_flags, 0);
}

static rte_mempool_dequeue_t dequeue;

/*
 * Another thread changes the table twice while the pool gives mbufs, and has begun to write
 * the version that the search has begun with.
 */
static int
dequeue_and_change(struct rte_mempool *mp, void **objs, unsigned int nb)
{
	const uint32_t seq = fx_mr_table.seq[MANA_KIND_PRIMARY];

	fx_mr_publish();
	mana_mr_list(fx_mr_table.array, seq, MANA_KIND_PRIMARY)[1].range.lkey = 0xbad;
	return dequeue(mp, objs, nb);
}

/* No buffer is posted with what a search has found in a version that is written. */
FX_RX_TEST(table_changes_within_a_refill, .no_open = true)
{
	struct rte_mempool_ops *ops = rte_mempool_get_ops(fx->mp->ops_index);
	struct mana_hwq *hwq = fx->hwq;
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->mp);
	uint32_t lkey = 0, right = 0;

	assert_non_null(m);
	assert_eq(mana_mr_lkey(&hwq->mr, m, (uintptr_t)m->buf_addr, 64, &right), 0);
	rte_pktmbuf_free(m);
	mana_mr_sync(&hwq->mr);
	dequeue = ops->dequeue;
	ops->dequeue = dequeue_and_change;
	assert_eq(mana_hwq_fill(hwq), 0);
	ops->dequeue = dequeue;
	assert_eq(mana_hwq_nb_posted(hwq), 64);
	assert_eq(hwq->stats.mr_failed, 0);
	for (uint32_t i = hwq->rq.ci; i != hwq->rq.pi; i++)
		assert_eq((uint32_t)rte_le_to_cpu_64(mana_wq_bu(&hwq->rq, i)[3]), right);
	assert_eq(mana_mr_lkey(&hwq->mr, m, (uintptr_t)m->buf_addr, 64, &lkey), 0);
	assert_eq(lkey, right);
}

static void
pool_span(struct rte_mempool *mp, void *span, struct rte_mempool_memhdr *chunk,
	  unsigned int idx)
{
	assert_eq(idx, 0);
	((uintptr_t *)span)[0] = (uintptr_t)chunk->addr;
	((uintptr_t *)span)[1] = (uintptr_t)chunk->addr + chunk->len;
}

/* Buffers of the upper half have the upper region's key. */
static void
check_keys(const struct fx_rx *fx, uint32_t upper_key, uintptr_t base)
{
	for (uint32_t i = fx->hwq->rq.ci; i != fx->hwq->rq.pi; i++) {
		const uint64_t *wqe = mana_wq_bu(&fx->hwq->rq, i);

		assert_int_equal((uint32_t)rte_le_to_cpu_64(wqe[3]) == upper_key,
				 rte_le_to_cpu_64(wqe[2]) >= base);
	}
}

/* Receives nb packets and frees or keeps them. */
static void
receive(struct fx_rx *fx, uint32_t nb, struct rte_mbuf **kept)
{
	struct rte_mbuf *m;

	for (; nb > 0; nb--) {
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60);
		assert_eq(poll_rx(fx, &m, 1), 1);
		if (kept != NULL)
			*kept++ = m;
		else
			rte_pktmbuf_free(m);
	}
}

/*
 * A pool that is one region becomes two: a ring slot must not keep its key for later
 * buffers of the other region.
 */
FX_RX_TEST(each_buffer_has_key_of_its_region, .nb_pool = 4096)
{
	static struct rte_mbuf *all[4096], *low[4096], *high[4096];
	uint32_t nb = 0, nb_low = 0, nb_high = 0, nb_kept, i;
	uintptr_t span[2] = { 0, 0 }, base;
	struct rte_mbuf *kept[64];

	receive(fx, 400, NULL);
	assert_eq(fx->hwq->in_one_region, true);
	rte_mempool_mem_iter(fx->mp, pool_span, span);
	while (rte_mempool_get(fx->mp, (void **)&all[nb]) == 0)
		nb++;
	/* The first mbuf of the upper half, and no other memory, begins a region. */
	base = span[1];
	for (i = 0; i < nb; i++)
		if ((uintptr_t)all[i] >= span[0] + (span[1] - span[0]) / 2)
			base = RTE_MIN(base, (uintptr_t)all[i]);
	for (i = 0; i < nb; i++) {
		if ((uintptr_t)all[i] < base)
			low[nb_low++] = all[i];
		else
			high[nb_high++] = all[i];
	}
	fx_mr_clear();
	fx_mr_add((void *)span[0], base - span[0], 0x1001);
	fx_mr_add((void *)base, span[1] - base, 0x5001);
	/* What is posted has the key of the region that was. */
	nb_kept = mana_hwq_nb_posted(fx->hwq);
	receive(fx, nb_kept, kept);
	/* Buffers of the upper half, one at a time. */
	for (i = 0; i < 33; i++) {
		rte_mempool_put(fx->mp, high[--nb_high]);
		assert_eq(poll_rx(fx, NULL, 0), 0);
		assert_eq(mana_hwq_nb_posted(fx->hwq), i + 1);
	}
	assert_true(fx_mr_calls > 0);
	check_keys(fx, 0x5001, base);
	/* More than a lap of the lower half. */
	rte_mempool_put_bulk(fx->mp, (void **)low, nb_low);
	for (i = 0; i < 300; i++) {
		receive(fx, 1, NULL);
		check_keys(fx, 0x5001, base);
	}
	rte_mempool_put_bulk(fx->mp, (void **)high, nb_high);
	rte_mempool_put_bulk(fx->mp, (void **)kept, nb_kept);
}

/* Bursts of any size; at times the pool is low or empty. */
static void *
receive_of_any_pool(void *arg)
{
	struct fx_rx *fx = arg;
	static struct rte_mbuf *pkts[64], *hoard[2048];
	uint32_t nb, nb_hoard, i;

	for (uint32_t turn = 0; turn < 300; turn++) {
		nb_hoard = 0;
		if (turn % 8 == 5)
			while (nb_hoard < fx->nb_mbufs - 64 - turn % 40 &&
			       rte_mempool_get(fx->mp, (void **)
					       &hoard[nb_hoard]) == 0)
				nb_hoard++;
		nb = RTE_MIN(1 + turn * 37 % 64, fx_rx_available(fx));
		for (i = 0; i < nb; i++)
			fx_rx_okay(fx, 60 + turn, 0);
		assert_eq(poll_rx(fx, pkts, 64), nb);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs),
			  nb_hoard + nb + mana_hwq_nb_posted(fx->hwq));
		for (i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60 + turn, 0, 0);
		if (nb_hoard != 0)
			rte_mempool_put_bulk(fx->mp, (void **)hoard, nb_hoard);
		(void)poll_rx(fx, pkts, 0);
	}
	assert_true(fx_rx_available(fx) > 32);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs),
		  mana_hwq_nb_posted(fx->hwq));
	return NULL;
}

static const uint32_t caches[] = { 0, 1, 31, 64, 500 };
static const char *const ops[] = { NULL, "ring_sp_sc", "stack" };

/* With and without a cache, other mempool ops, and a non-EAL thread. */
FX_RX_TEST_EACH(pools_of_every_kind, i, 0, RTE_DIM(caches) * RTE_DIM(ops) * 2,
		.nb_pool = i % 4 == 3 ? 2047 : 800,
		.nb_cache = caches[i / 2 % RTE_DIM(caches)],
		.ops = ops[i / 2 / RTE_DIM(caches)],
		.start = i % 3 == 1 ? 0xffffff00 : 0)
{
	pthread_t thread;

	if (i % 2 == 0) {
		receive_of_any_pool(fx);
	} else {
		assert_eq(pthread_create(&thread, NULL,
					 receive_of_any_pool, fx), 0);
		assert_eq(pthread_join(thread, NULL), 0);
	}
	assert_eq(fx->hwq->in_one_region, true);
}

/*
 * A device that claims more bytes than it has written. The buffers contain bytes of
 * older packets; only a queue that scrubs delivers zeros. On any pool and layout, and
 * also from buffers that a short frame has left in their slot.
 */
TEST(scrubbed_buffers_show_no_older_packet)
{
	static const struct fx_rx_opts layouts[] = {
		{ .nb_pool = 100 },
		{ .nb_pool = 100, .nb_cache = 50 },
		{ .nb_pool = 100, .pinned = true },
		{ .nb_pool = 300, .nb_segs = 3, .seg_bytes = { 64, 8, 512 } },
	};

	for (uint32_t i = 0; i < 2 * RTE_DIM(layouts); i++) {
		struct fx_rx_opts opts = layouts[i / 2];
		struct rte_mbuf *pkts[8];
		struct fx_rx *fx;

		opts.scrub = i % 2 != 0;
		fx = fx_rx_new(&opts);
		for (uint32_t k = 0; k < 1000; k++) {
			const uint32_t written = k % 7 * 10;
			uint32_t nb = 0;

			fx_rx_frame(fx, written);
			fx_rx_cqe(fx, HW_CQE_RX_OKAY, 300);
			assert_eq(poll_rx(fx, pkts, 8), 1);
			assert_eq(pkts[0]->pkt_len, 300);
			for (uint32_t at = written; at < 300; at++)
				nb += *(const uint8_t *)rte_pktmbuf_read(pkts[0], at,
						1, &(uint8_t){ 0 }) != 0;
			if (opts.scrub)
				assert_eq(nb, 0);
			else
				assert_true(nb != 0);
			rte_pktmbuf_free(pkts[0]);
			/* The device writes all of the next buffers. */
			fx_rx_okay(fx, fx->room_bytes, 0);
			assert_eq(poll_rx(fx, pkts, 8), 1);
			rte_pktmbuf_free(pkts[0]);
		}
		fx_rx_delete(fx);
	}
}

/* All packets start at the same distance from their mbufs, or the pool is uneven. */
TEST(distances_in_a_pool)
{
	struct rte_mempool *mp = fx_pool("even", 8, 2048);
	struct rte_mempool *pinned = fx_pool_pinned("pinned", 4);
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp), *other = rte_pktmbuf_alloc(mp);
	const uint64_t delta = (uint64_t)((uint8_t *)m->buf_addr - (uint8_t *)m) +
			       RTE_PKTMBUF_HEADROOM;

	assert_eq(mana_rx_pool_delta(mp), delta);
	rte_pktmbuf_attach(other, m);
	assert_eq(mana_rx_pool_delta(mp), MANA_RX_DELTA_VARIES);
	rte_pktmbuf_free(other);
	assert_eq(mana_rx_pool_delta(mp), delta);
	mp->populated_size--;
	assert_eq(mana_rx_pool_delta(mp), MANA_RX_DELTA_VARIES);
	mp->populated_size++;
	assert_eq(mana_rx_pool_delta(pinned), MANA_RX_DELTA_VARIES);
	rte_pktmbuf_free(m);
	fx_pool_free(mp);
	fx_pool_free(pinned);
}

/* A failed or closed queue allocates no buffers. */
TEST(closed_queue_takes_no_buffers)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 40 });
	struct rte_mbuf *pkts[64];

	mana_hwq_close(fx->hwq);
	for (uint32_t i = 0; i < 100; i++)
		assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 40);
	fx_rx_delete(fx);

	/* The same for a queue that was emptied but not closed. */
	fx = fx_rx_new(&(struct fx_rx_opts){0});
	fx_rx_okay(fx, 60, 0);
	fx_hwq_release(fx->hwq, true);
	assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), 0);
	assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	fx_rx_delete(fx);
}

/* A failed queue does not retry refills. */
FX_RX_TEST(failed_queue_does_not_retry, .nb_pool = 64)
{
	struct rte_mbuf *pkts[64];
	uint32_t nb;

	for (nb = 0; nb < 32; nb++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 32), 32);
	assert_eq(fx->hwq->slow_flags, MANA_RX_REFILL_RETRY);
	fx_cqe_write_owner(&fx->cq, (const uint32_t[15]){0}, FX_RQ_ID, 5);
	assert_eq(poll_rx(fx, &pkts[32], 32), 0);
	assert_eq(mana_hwq_failure(fx->hwq), MANA_FAILURE_OVERRUN);
	/* No slow-path flag is set. */
	assert_eq(fx->hwq->slow_flags, 0);
	for (nb = 0; nb < 32; nb++)
		fx_rx_check(fx, pkts[nb], 60, 0, 0);
}

/* Release and count on a zeroed queue. */
TEST(zeroed_queue_is_harmless)
{
	static struct mana_hwq hwq;

	fx_hwq_release(&hwq, true);
	assert_eq(mana_hwq_recycle(&hwq), 0);
	mana_hwq_close(&hwq);
	assert_eq(mana_hwq_nb_waiting(&hwq, UINT32_MAX), 0);
	assert_eq(mana_hwq_nb_posted(&hwq), 0);
}

/* Writes nb_cqe CQEs of nb_each packets, then polls them all. */
static void
let_wait_by(struct fx_rx *fx, uint32_t nb_cqe, uint32_t nb_each, uint32_t size)
{
	const uint32_t len_bytes[4] = { 60, 60, 60, 60 };
	struct rte_mbuf *pkts[64];
	uint32_t i, got = 0, nb;

	for (i = 0; i < nb_cqe; i++)
		fx_rx_coalesced(fx, len_bytes, nb_each, 0);
	do {
		nb = poll_rx(fx, pkts, size);
		got += nb;
		for (i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
	} while (nb != 0);
	assert_eq(got, nb_cqe * nb_each);
}

static void
let_wait(struct fx_rx *fx, uint32_t nb_cqe, uint32_t nb_each)
{
	let_wait_by(fx, nb_cqe, nb_each, 32);
}

/* The device used all buffers between two polls, with any kind of CQE. */
TEST(counts_an_empty_ring)
{
	for (uint32_t nb_each = 1; nb_each <= 4; nb_each *= 2) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_desc = 64, .nb_pool = 1024 });

		for (uint32_t turn = 1; turn <= 40; turn++) {
			let_wait(fx, 64 / nb_each, nb_each);
			assert_eq(fx->hwq->stats.ring_empty, turn);
			assert_eq(fx_rx_available(fx), 64);
			/* with one buffer left the ring was not empty */
			let_wait(fx, 64 / nb_each - 1, nb_each);
			assert_eq(fx->hwq->stats.ring_empty, turn);
			/* up to the next refill */
			let_wait(fx, (64 - fx_rx_available(fx)) / nb_each,
				 nb_each);
			assert_eq(fx->hwq->stats.ring_empty, turn);
			while (fx_rx_available(fx) != 64)
				let_wait(fx, 1, nb_each);
		}
		fx_rx_delete(fx);
	}
}

/* Bursts of all sizes: most refills happen inside a CQE. */
FX_RX_TEST_EACH(counts_an_empty_ring_within_a_cqe, size, 1, 65, .nb_desc = 64, .nb_pool = 1024)
{
	for (uint32_t turn = 1; turn <= 20; turn++) {
		let_wait_by(fx, 16, 4, size);
		if (fx->hwq->stats.ring_empty != turn)
			fail_msg("bursts of %u: %lu, expected %u", size,
				 fx->hwq->stats.ring_empty, turn);
		while (fx_rx_available(fx) != 64)
			let_wait_by(fx, 1, 1, size);
	}
}

/* The same with dropped frames: such bursts end before the last CQE. */
TEST(counts_an_empty_ring_after_drops)
{
	for (uint32_t nb_pkts = 1; nb_pkts <= 16; nb_pkts *= 4) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_desc = 64 });
		struct rte_mbuf *pkts[16];

		for (uint32_t turn = 1; turn <= 10; turn++) {
			assert_eq(fx_rx_available(fx), 64);
			for (uint32_t i = 0; i < 64; i++) {
				fx_rx_frame(fx, 60);
				fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 9000);
			}
			for (uint32_t i = 0; i < 64; i += nb_pkts)
				assert_eq(poll_rx(fx, pkts, nb_pkts), 0);
			assert_eq(fx->hwq->stats.ring_empty, turn);
		}
		assert_eq(fx->hwq->stats.truncated, 640);
		fx_rx_delete(fx);
	}
}

/* A lap without doorbell neither ends a burst nor hides an empty ring. */
FX_RX_TEST(lap_does_not_end_a_burst, .nb_desc = 63, .nb_cqe = 64)
{
	struct rte_mbuf *pkts[64];
	uint32_t left, nb;

	/* The most CQEs that need no CQ doorbell. */
	for (nb = 0; nb < 44; nb++) {
		fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 1), 1);
		fx_rx_check(fx, pkts[0], 60, 0, 0);
	}
	assert_eq(fx->hwq->stats.cq_doorbells, 0);
	left = fx_rx_available(fx);
	for (nb = 0; nb < left; nb++)
		fx_rx_okay(fx, 60, 0);
	assert_true(left + 44 > 64);
	assert_eq(poll_rx(fx, pkts, RTE_DIM(pkts)), left);
	for (nb = 0; nb < left; nb++)
		fx_rx_check(fx, pkts[nb], 60, 0, 0);
	assert_eq(fx->hwq->stats.cq_doorbells, 1);
	assert_eq(fx->hwq->stats.ring_empty, 1);
}
