/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver refills the Rx ring as early as possible in all situations. */

#include <pthread.h>

#include "fixture.h"

static uint16_t
poll_rx(struct fx_rx *fx, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select(NULL)->burst(fx->list, pkts, nb);
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

static void
invalid_sizes_are_rejected(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .no_open = true });
	struct mana_rxq_conf conf;
	struct rte_mempool *small;

	(void)state;
#define EXPECT(code, change) do { \
	conf = fx->conf;  \
	change; \
	assert_int_equal(mana_rxq_init(fx->rxq, &conf), code);  \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, conf.mp = NULL);
	EXPECT(-EINVAL, conf.mbufs = NULL);
	EXPECT(-EINVAL, conf.nb_mbufs = 63);
	EXPECT(-EINVAL, conf.nb_mbufs = 32);
	EXPECT(-EINVAL, conf.nb_desc = 0);
	EXPECT(-EINVAL, conf.nb_desc = 129; conf.nb_mbufs = 256);
	EXPECT(-EINVAL, conf.rq_ring = NULL);
	EXPECT(-EINVAL, conf.rq_bytes = 4095);
	EXPECT(-EINVAL, conf.cq_ring = fx->cq.ring + 64);
	EXPECT(-EINVAL, conf.nb_cqe = 100);
	EXPECT(-EINVAL, conf.db_page = NULL);
	small = fx_pool("small", 1, 0);
	EXPECT(-ENOTSUP, conf.mp = small);
	fx_pool_free(small);
#undef EXPECT
	fx_rx_delete(fx);
}

/* One CQE per WQE, and one spare for a fence. */
static void
posts_no_more_than_the_cq_takes(void **state)
{
	struct fx_rx *fx;

	(void)state;
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

static void
first_fill_reports_a_small_pool(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_pool = 40, .no_open = true });

	(void)state;
	assert_int_equal(mana_rxq_fill(fx->rxq), -ENOMEM);
	/* The posted WQEs are counted, but no doorbell was rung. */
	assert_eq(mana_rxq_nb_posted(fx->rxq), 40);
	assert_eq(hw_le64(fx->db_page + HW_DB_RQ), 0);
	fx_rx_delete(fx);
}

static void
first_fill_reports_unregistered_memory(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .no_open = true });

	(void)state;
	fx_mr_deny = true;
	assert_int_equal(mana_rxq_fill(fx->rxq), -EFAULT);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	fx_mr_deny = false;
	assert_eq(mana_rxq_fill(fx->rxq), 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 64);
	fx_rx_delete(fx);
}

/*
 * The pool is empty for a while, and no completion arrives. Polls alone refill
 * the whole ring.
 */
static void
empty_pool_is_refilled_without_completions(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *taken[512], *pkts[64];
	uint32_t nb_taken, i;

	(void)state;
	take_all(fx->mp, taken, &nb_taken, 0);
	for (i = 0; i < 64; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 64), 64);
	assert_eq(fx_rx_available(fx), 0);
	assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_true(fx->rxq->stats.nombuf >= 2);

	for (i = 0; i < 64; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
	for (i = 0; i < nb_taken; i++)
		rte_pktmbuf_free(taken[i]);
	assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_eq(fx_rx_available(fx), 64);
	fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 1), 1);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	fx_rx_delete(fx);
}

/* All mbufs left in the pool are posted, whatever their number. */
static void
takes_the_last_mbufs(void **state)
{
	struct rte_mbuf *taken[512], *pkts[64];
	uint32_t nb_taken, i, left;

	(void)state;
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
static void
few_mbufs_over_many_laps(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_pool = 7, .free_thresh = 1 });
	struct rte_mbuf *pkts[8];
	uint32_t i, nb, turn;

	(void)state;
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
	fx_rx_delete(fx);
}

/* One doorbell for many packets, also with small bursts. */
static void
refills_by_threshold(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_desc = 128, .nb_cqe = 256 });
	const uint32_t thresh = mana_rx_refill_thresh(0, 128, 256);
	uint32_t i, rung = 0;
	struct rte_mbuf *m;
	uint64_t db, last;

	(void)state;
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
	fx_rx_delete(fx);
}

static void
threshold_fits_the_ring(void **state)
{
	static const struct { uint32_t asked, nb_desc, want; } t[] = {
		{ 0, 64, 16 }, { 0, 16, 4 }, { 1, 64, 1 }, { 5, 64, 5 },
		{ 1000, 64, 32 }, { 0, 1, 1 },
	};

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(t); i++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.free_thresh = t[i].asked, .nb_desc = t[i].nb_desc });

		assert_eq(fx->rxq->refill_thresh, t[i].want);
		fx_rx_delete(fx);
	}
}

/* Registration fails for a while: nothing is posted or lost. */
static void
memory_without_key(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint32_t i;

	(void)state;
	fx_mr_generation++;
	fx_mr_deny = true;
	for (i = 0; i < 40; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 64), 40);
	assert_eq(fx_rx_available(fx), 24);
	assert_true(fx->rxq->stats.mr_failed > 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 24 + 40);
	fx_mr_deny = false;
	assert_eq(poll_rx(fx, pkts, 0), 0);
	assert_eq(fx_rx_available(fx), 64);
	for (i = 0; i < 40; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
	fx_rx_delete(fx);
}

static void
pool_span(struct rte_mempool *mp, void *span, struct rte_mempool_memhdr *chunk,
	  unsigned int idx)
{
	(void)mp;
	assert_eq(idx, 0);
	((uintptr_t *)span)[0] = (uintptr_t)chunk->addr;
	((uintptr_t *)span)[1] = (uintptr_t)chunk->addr + chunk->len;
}

/* Buffers of the upper half have the upper region's key. */
static void
check_keys(const struct fx_rx *fx, uint32_t upper_key, uintptr_t base)
{
	for (uint32_t i = fx->rxq->rq.ci; i != fx->rxq->rq.pi; i++) {
		const uint64_t *wqe = mana_wq_bu(&fx->rxq->rq, i);

		if ((uint32_t)rte_le_to_cpu_64(wqe[3]) == upper_key)
			assert_true(rte_le_to_cpu_64(wqe[2]) >= base);
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
 * Two regions share a pool. When the pool runs low, keys come from a lookup and
 * may be those of the smaller region: a ring slot must not keep its key for
 * later buffers of the other region.
 */
static void
each_buffer_has_key_of_its_region(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 4096 });
	static struct rte_mbuf *low[4096], *high[4096];
	uint32_t generation = fx_mr_generation;
	uint32_t nb_low = 0, nb_high = 0, nb_kept, i;
	uintptr_t span[2] = { 0, 0 }, base;
	struct rte_mbuf *m, *kept[64];

	(void)state;
	receive(fx, 400, NULL);
	assert_eq(fx->rxq->flat, MANA_RX_FLAT_YES);
	rte_mempool_mem_iter(fx->mp, pool_span, span);
	base = span[0] + (span[1] - span[0]) / 2;
	fx_mr_clear();
	fx_mr_generation = generation;
	fx_mr_add((void *)base, span[1] - base, 0x5001);
	fx_mr_add_pool(fx->mp, 0x1001);

	while (rte_mempool_get(fx->mp, (void **)&m) == 0) {
		if ((uintptr_t)m < base)
			low[nb_low++] = m;
		else
			high[nb_high++] = m;
	}
	nb_kept = mana_rxq_nb_posted(fx->rxq);
	receive(fx, nb_kept, kept);
	/* Buffers of the upper half, one at a time. */
	for (i = 0; i < 33; i++) {
		rte_mempool_put(fx->mp, high[--nb_high]);
		assert_eq(poll_rx(fx, NULL, 0), 0);
		assert_eq(mana_rxq_nb_posted(fx->rxq), i + 1);
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
	fx_rx_delete(fx);
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
			  nb_hoard + nb + mana_rxq_nb_posted(fx->rxq));
		for (i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60 + turn, 0, 0);
		if (nb_hoard != 0)
			rte_mempool_put_bulk(fx->mp, (void **)hoard, nb_hoard);
		(void)poll_rx(fx, pkts, 0);
	}
	assert_true(fx_rx_available(fx) > 32);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs),
		  mana_rxq_nb_posted(fx->rxq));
	return NULL;
}

/* With and without a cache, other mempool ops, and a non-EAL thread. */
static void
pools_of_every_kind(void **state)
{
	static const uint32_t caches[] = { 0, 1, 31, 64, 500 };
	static const char *const ops[] = { NULL, "ring_sp_sc", "stack" };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(caches) * RTE_DIM(ops) * 2; i++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_pool = i % 4 == 3 ? 2047 : 800,
			.nb_cache = caches[i / 2 % RTE_DIM(caches)],
			.ops = ops[i / 2 / RTE_DIM(caches)],
			.start = i % 3 == 1 ? 0xffffff00 : 0 });
		pthread_t thread;

		if (i % 2 == 0) {
			receive_of_any_pool(fx);
		} else {
			assert_eq(pthread_create(&thread, NULL,
						 receive_of_any_pool, fx), 0);
			assert_eq(pthread_join(thread, NULL), 0);
		}
		assert_eq(fx->rxq->flat, MANA_RX_FLAT_YES);
		fx_rx_delete(fx);
	}
}

/*
 * A device that claims more bytes than it has written. The buffers contain bytes of
 * older packets; only a queue that scrubs delivers zeros. On any pool and layout, and
 * also from buffers that a short frame has left in their slot.
 */
static void
scrubbed_buffers_show_no_older_packet(void **state)
{
	static const struct fx_rx_opts layouts[] = {
		{ .nb_pool = 100 },
		{ .nb_pool = 100, .nb_cache = 50 },
		{ .nb_pool = 100, .pinned = true },
		{ .nb_pool = 300, .nb_segs = 3, .seg_bytes = { 64, 8, 512 } },
	};

	(void)state;
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
static void
distances_in_a_pool(void **state)
{
	struct rte_mempool *mp = fx_pool("even", 8, 2048);
	struct rte_mempool *pinned = fx_pool_pinned("pinned", 4);
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp), *other = rte_pktmbuf_alloc(mp);
	const uint64_t delta = (uint64_t)((uint8_t *)m->buf_addr - (uint8_t *)m) +
			       RTE_PKTMBUF_HEADROOM;

	(void)state;
	assert_eq(mana_rx_pool_delta(mp), delta);
	rte_pktmbuf_attach(other, m);
	assert_eq(mana_rx_pool_delta(mp), MANA_RX_UNEVEN);
	rte_pktmbuf_free(other);
	assert_eq(mana_rx_pool_delta(mp), delta);
	mp->populated_size--;
	assert_eq(mana_rx_pool_delta(mp), MANA_RX_UNEVEN);
	mp->populated_size++;
	assert_eq(mana_rx_pool_delta(pinned), MANA_RX_UNEVEN);
	rte_pktmbuf_free(m);
	fx_pool_free(mp);
	fx_pool_free(pinned);
}

/* A hardware queue that moves takes the pool of its new ethdev queue, if unsplit. */
static void
queue_takes_another_pool(void **state)
{
	(void)state;
	for (uint32_t nb_segs = 0; nb_segs <= 2; nb_segs += 2) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_segs = nb_segs, .seg_bytes = { 100, 2000 } });
		struct rte_mempool *mp = fx_pool("other", 8, 2048);
		struct rte_mempool *first = fx->rxq->mp;
		const uint64_t delta = fx->rxq->data_delta;

		mana_rxq_assign(fx->rxq, 5, first, 1, false);
		assert_eq(fx->rxq->queue_id, 5);
		assert_ptr_equal(fx->rxq->mp, first);
		assert_eq(fx->rxq->data_delta, delta);
		mana_rxq_assign(fx->rxq, 6, mp, 1, true);
		assert_true(fx->rxq->vlan_strip);
		assert_ptr_equal(fx->rxq->mp, nb_segs == 0 ? mp : first);
		fx_pool_free(mp);
		fx_rx_delete(fx);
	}
}

/* A failed or closed queue allocates no buffers. */
static void
closed_queue_takes_no_buffers(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 40 });
	struct rte_mbuf *pkts[64];

	(void)state;
	mana_rxq_close(fx->rxq);
	for (uint32_t i = 0; i < 100; i++)
		assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 40);
	fx_rx_delete(fx);

	/* The same for a queue that was emptied but not closed. */
	fx = fx_rx_new(&(struct fx_rx_opts){0});
	fx_rx_okay(fx, 60, 0);
	mana_rxq_release_mbufs(fx->rxq, true);
	assert_eq(mana_rxq_nb_waiting(fx->rxq, UINT32_MAX), 0);
	assert_eq(poll_rx(fx, pkts, 64), 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 0);
	fx_rx_delete(fx);
}

/* A failed queue does not retry refills. */
static void
failed_queue_does_not_retry(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 64 });
	struct rte_mbuf *pkts[64];
	uint32_t nb;

	(void)state;
	for (nb = 0; nb < 32; nb++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 32), 32);
	assert_eq(fx->rxq->slow_flags, MANA_RX_REFILL_RETRY);
	fx_cqe_write_owner(&fx->cq, (const uint32_t[15]){0}, FX_RQ_ID, 5);
	assert_eq(poll_rx(fx, &pkts[32], 32), 0);
	assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_OVERRUN);
	/* No slow-path flag is set. */
	assert_eq(fx->rxq->slow_flags, 0);
	for (nb = 0; nb < 32; nb++)
		fx_rx_check(fx, pkts[nb], 60, 0, 0);
	fx_rx_delete(fx);
}

/* Release and count on a zeroed queue. */
static void
zeroed_queue_is_harmless(void **state)
{
	static struct mana_rxq rxq;

	(void)state;
	mana_rxq_release_mbufs(&rxq, true);
	mana_rxq_close(&rxq);
	assert_eq(mana_rxq_nb_waiting(&rxq, UINT32_MAX), 0);
	assert_eq(mana_rxq_nb_posted(&rxq), 0);
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
static void
counts_an_empty_ring(void **state)
{
	(void)state;
	for (uint32_t nb_each = 1; nb_each <= 4; nb_each *= 2) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_desc = 64, .nb_pool = 1024 });

		for (uint32_t turn = 1; turn <= 40; turn++) {
			let_wait(fx, 64 / nb_each, nb_each);
			assert_eq(fx->rxq->stats.ring_empty, turn);
			assert_eq(fx_rx_available(fx), 64);
			/* with one buffer left the ring was not empty */
			let_wait(fx, 64 / nb_each - 1, nb_each);
			assert_eq(fx->rxq->stats.ring_empty, turn);
			/* up to the next refill */
			let_wait(fx, (64 - fx_rx_available(fx)) / nb_each,
				 nb_each);
			assert_eq(fx->rxq->stats.ring_empty, turn);
			while (fx_rx_available(fx) != 64)
				let_wait(fx, 1, nb_each);
		}
		fx_rx_delete(fx);
	}
}

/* Bursts of all sizes: most refills happen inside a CQE. */
static void
counts_an_empty_ring_within_a_cqe(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_desc = 64, .nb_pool = 1024 });

		for (uint32_t turn = 1; turn <= 20; turn++) {
			let_wait_by(fx, 16, 4, size);
			if (fx->rxq->stats.ring_empty != turn)
				fail_msg("bursts of %u: %lu, expected %u", size,
					 fx->rxq->stats.ring_empty, turn);
			while (fx_rx_available(fx) != 64)
				let_wait_by(fx, 1, 1, size);
		}
		fx_rx_delete(fx);
	}
}

/* The same with dropped frames: such bursts end before the last CQE. */
static void
counts_an_empty_ring_after_drops(void **state)
{
	(void)state;
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
			assert_eq(fx->rxq->stats.ring_empty, turn);
		}
		assert_eq(fx->rxq->stats.truncated, 640);
		fx_rx_delete(fx);
	}
}

/* A lap without doorbell neither ends a burst nor hides an empty ring. */
static void
lap_does_not_end_a_burst(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_desc = 63, .nb_cqe = 64 });
	struct rte_mbuf *pkts[64];
	uint32_t left, nb;

	(void)state;
	/* The most CQEs that need no CQ doorbell. */
	for (nb = 0; nb < 44; nb++) {
		fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 1), 1);
		fx_rx_check(fx, pkts[0], 60, 0, 0);
	}
	assert_eq(fx->rxq->stats.cq_doorbells, 0);
	left = fx_rx_available(fx);
	for (nb = 0; nb < left; nb++)
		fx_rx_okay(fx, 60, 0);
	assert_true(left + 44 > 64);
	assert_eq(poll_rx(fx, pkts, RTE_DIM(pkts)), left);
	for (nb = 0; nb < left; nb++)
		fx_rx_check(fx, pkts[nb], 60, 0, 0);
	assert_eq(fx->rxq->stats.cq_doorbells, 1);
	assert_eq(fx->rxq->stats.ring_empty, 1);
	fx_rx_delete(fx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_sizes_are_rejected),
		cmocka_unit_test(posts_no_more_than_the_cq_takes),
		cmocka_unit_test(first_fill_reports_a_small_pool),
		cmocka_unit_test(first_fill_reports_unregistered_memory),
		cmocka_unit_test(empty_pool_is_refilled_without_completions),
		cmocka_unit_test(takes_the_last_mbufs),
		cmocka_unit_test(few_mbufs_over_many_laps),
		cmocka_unit_test(refills_by_threshold),
		cmocka_unit_test(threshold_fits_the_ring),
		cmocka_unit_test(memory_without_key),
		cmocka_unit_test(each_buffer_has_key_of_its_region),
		cmocka_unit_test(pools_of_every_kind),
		cmocka_unit_test(counts_an_empty_ring),
		cmocka_unit_test(counts_an_empty_ring_within_a_cqe),
		cmocka_unit_test(counts_an_empty_ring_after_drops),
		cmocka_unit_test(lap_does_not_end_a_burst),
		cmocka_unit_test(scrubbed_buffers_show_no_older_packet),
		cmocka_unit_test(distances_in_a_pool),
		cmocka_unit_test(queue_takes_another_pool),
		cmocka_unit_test(closed_queue_takes_no_buffers),
		cmocka_unit_test(failed_queue_does_not_retry),
		cmocka_unit_test(zeroed_queue_is_harmless),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
