/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive ring is full again as soon as it can be, whatever happened. */

#include <pthread.h>

#include "bed.h"

static uint16_t
poll_rx(struct bed_rx *bed, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select(0)->burst(bed->rxq, pkts, nb);
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
refuses_what_does_not_fit(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .no_open = true });
	struct mana_rxq_conf conf;
	struct rte_mempool *small;

	(void)state;
#define EXPECT(code, change) do { \
	conf = bed->conf; \
	change; \
	assert_int_equal(mana_rxq_init(bed->rxq, &conf), code); \
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
	EXPECT(-EINVAL, conf.cq_ring = bed->cq.ring + 64);
	EXPECT(-EINVAL, conf.nb_cqe = 100);
	EXPECT(-EINVAL, conf.db_page = NULL);
	small = bed_pool("small", 1, 0);
	EXPECT(-ENOTSUP, conf.mp = small);
	bed_pool_free(small);
#undef EXPECT
	bed_rx_delete(bed);
}

/* One CQE for each WQE, and one to spare for a fence. */
static void
posts_no_more_than_the_cq_takes(void **state)
{
	struct bed_rx *bed;

	(void)state;
	bed = bed_rx_new(&(struct bed_rx_opts){ .nb_desc = 64, .nb_cqe = 64 });
	assert_eq(bed_rx_available(bed), 63);
	bed_rx_delete(bed);
	bed = bed_rx_new(&(struct bed_rx_opts){ .nb_desc = 128, .nb_cqe = 128 });
	assert_eq(bed_rx_available(bed), 127);
	bed_rx_delete(bed);
	bed = bed_rx_new(&(struct bed_rx_opts){ .nb_desc = 100, .nb_cqe = 128 });
	assert_eq(bed_rx_available(bed), 100);
	bed_rx_delete(bed);
}

static void
first_fill_tells_of_a_small_pool(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_pool = 40, .no_open = true });

	(void)state;
	assert_int_equal(mana_rxq_fill(bed->rxq), -ENOMEM);
	/* It took what there was, and it has it on its books. */
	assert_eq(mana_rxq_nb_posted(bed->rxq), 40);
	assert_eq(hw_le64(bed->db_page + HW_DB_RQ), 0);
	bed_rx_delete(bed);
}

static void
first_fill_tells_of_unregistered_memory(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .no_open = true });

	(void)state;
	bed_mr_deny = true;
	assert_int_equal(mana_rxq_fill(bed->rxq), -EFAULT);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
	bed_mr_deny = false;
	assert_eq(mana_rxq_fill(bed->rxq), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 64);
	bed_rx_delete(bed);
}

/*
 * The pool is empty for a while; no completion comes afterwards. The polls
 * alone fill the ring, to the last slot.
 */
static void
empty_pool_is_made_good_without_completions(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *taken[512], *pkts[64];
	uint32_t nb_taken, i;

	(void)state;
	take_all(bed->mp, taken, &nb_taken, 0);
	for (i = 0; i < 64; i++)
		bed_rx_okay(bed, 60, 0);
	assert_eq(poll_rx(bed, pkts, 64), 64);
	assert_eq(bed_rx_available(bed), 0);
	assert_eq(poll_rx(bed, pkts, 64), 0);
	assert_true(bed->rxq->stats.nombuf >= 2);

	for (i = 0; i < 64; i++)
		bed_rx_check(bed, pkts[i], 60, 0, 0);
	for (i = 0; i < nb_taken; i++)
		rte_pktmbuf_free(taken[i]);
	assert_eq(poll_rx(bed, pkts, 64), 0);
	assert_eq(bed_rx_available(bed), 64);
	bed_rx_okay(bed, 60, 0);
	assert_eq(poll_rx(bed, pkts, 1), 1);
	bed_rx_check(bed, pkts[0], 60, 0, 0);
	bed_rx_delete(bed);
}

/* Whatever number is left in the pool, all of it is posted. */
static void
takes_the_last_mbufs(void **state)
{
	struct rte_mbuf *taken[512], *pkts[64];
	uint32_t nb_taken, i, left;

	(void)state;
	for (left = 0; left <= 64; left++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});

		take_all(bed->mp, taken, &nb_taken, left);
		for (i = 0; i < 64; i++)
			bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 64), 64);
		for (i = 0; i < 6; i++)
			assert_eq(poll_rx(bed, pkts, 0), 0);
		assert_eq(bed_rx_available(bed), left);
		assert_eq(rte_mempool_avail_count(bed->mp), 0);
		for (i = 0; i < 64; i++)
			bed_rx_check(bed, pkts[i], 60, 0, 0);
		for (i = 0; i < nb_taken; i++)
			rte_pktmbuf_free(taken[i]);
		bed_rx_delete(bed);
	}
}

/* A trickle of mbufs over many laps: never a slot lost, in any position. */
static void
lives_on_a_trickle(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_pool = 7, .free_thresh = 1 });
	struct rte_mbuf *pkts[8];
	uint32_t i, nb, turn;

	(void)state;
	for (turn = 0; turn < 500; turn++) {
		nb = 1 + turn % 7;
		for (i = 0; i < nb; i++)
			bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 8), nb);
		for (i = 0; i < nb; i++)
			bed_rx_check(bed, pkts[i], 60, 0, 0);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(bed_rx_available(bed), 7);
	}
	bed_rx_delete(bed);
}

/* One doorbell for many packets, however small the bursts. */
static void
refills_by_threshold(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_desc = 128, .nb_cqe = 256 });
	const uint32_t thresh = mana_rx_refill_thresh(0, 128, 256);
	uint32_t i, rung = 0;
	struct rte_mbuf *m;
	uint64_t db, last;

	(void)state;
	last = hw_le64(bed->db_page + HW_DB_RQ);
	for (i = 0; i < 1024; i++) {
		bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, &m, 1), 1);
		bed_rx_check(bed, m, 60, 0, 0);
		assert_true(bed_rx_available(bed) > 128 - thresh);
		db = hw_le64(bed->db_page + HW_DB_RQ);
		rung += db != last;
		last = db;
	}
	assert_eq(rung, 1024 / thresh);
	bed_rx_delete(bed);
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
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.free_thresh = t[i].asked, .nb_desc = t[i].nb_desc });

		assert_eq(bed->rxq->refill_thresh, t[i].want);
		bed_rx_delete(bed);
	}
}

/* No region for a while: nothing is posted, nothing lost, then all is well. */
static void
memory_without_key(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint32_t i;

	(void)state;
	bed_mr_generation++;
	bed_mr_deny = true;
	for (i = 0; i < 40; i++)
		bed_rx_okay(bed, 60, 0);
	assert_eq(poll_rx(bed, pkts, 64), 40);
	assert_eq(bed_rx_available(bed), 24);
	assert_true(bed->rxq->stats.mr_failed > 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 24 + 40);
	bed_mr_deny = false;
	assert_eq(poll_rx(bed, pkts, 0), 0);
	assert_eq(bed_rx_available(bed), 64);
	for (i = 0; i < 40; i++)
		bed_rx_check(bed, pkts[i], 60, 0, 0);
	bed_rx_delete(bed);
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

/* Keys of the upper part are for buffers there. */
static void
check_keys(const struct bed_rx *bed, uint32_t upper_key, uintptr_t base)
{
	for (uint32_t i = bed->rxq->rq.ci; i != bed->rxq->rq.pi; i++) {
		const uint64_t *wqe = mana_wq_bu(&bed->rxq->rq, i);

		if ((uint32_t)rte_le_to_cpu_64(wqe[3]) == upper_key)
			assert_true(rte_le_to_cpu_64(wqe[2]) >= base);
	}
}

/* Received, and freed or kept. */
static void
receive(struct bed_rx *bed, uint32_t nb, struct rte_mbuf **kept)
{
	struct rte_mbuf *m;

	for (; nb > 0; nb--) {
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 60);
		assert_eq(poll_rx(bed, &m, 1), 1);
		if (kept != NULL)
			*kept++ = m;
		else
			rte_pktmbuf_free(m);
	}
}

/*
 * Two regions hold a part of the pool. What is posted while the pool runs dry
 * is looked up, and may get the key of the smaller one: the slot of the ring
 * must not keep it for buffers that are elsewhere.
 */
static void
keys_hold_for_every_buffer(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_pool = 4096 });
	static struct rte_mbuf *low[4096], *high[4096];
	uint32_t generation = bed_mr_generation;
	uint32_t nb_low = 0, nb_high = 0, nb_kept, i;
	uintptr_t span[2] = { 0, 0 }, base;
	struct rte_mbuf *m, *kept[64];

	(void)state;
	receive(bed, 400, NULL);
	assert_eq(bed->rxq->flat, MANA_RX_FLAT_YES);
	rte_mempool_mem_iter(bed->mp, pool_span, span);
	base = span[0] + (span[1] - span[0]) / 2;
	bed_mr_clear();
	bed_mr_generation = generation;
	bed_mr_add((void *)base, span[1] - base, 0x5001);
	bed_mr_add_pool(bed->mp, 0x1001);

	while (rte_mempool_get(bed->mp, (void **)&m) == 0) {
		if ((uintptr_t)m < base)
			low[nb_low++] = m;
		else
			high[nb_high++] = m;
	}
	nb_kept = mana_rxq_nb_posted(bed->rxq);
	receive(bed, nb_kept, kept);
	/* Buffers of the upper half, one by one. */
	for (i = 0; i < 33; i++) {
		rte_mempool_put(bed->mp, high[--nb_high]);
		assert_eq(poll_rx(bed, NULL, 0), 0);
		assert_eq(mana_rxq_nb_posted(bed->rxq), i + 1);
	}
	assert_true(bed_mr_calls > 0);
	check_keys(bed, 0x5001, base);
	/* A lap and more of the lower half. */
	rte_mempool_put_bulk(bed->mp, (void **)low, nb_low);
	for (i = 0; i < 300; i++) {
		receive(bed, 1, NULL);
		check_keys(bed, 0x5001, base);
	}
	rte_mempool_put_bulk(bed->mp, (void **)high, nb_high);
	rte_mempool_put_bulk(bed->mp, (void **)kept, nb_kept);
	bed_rx_delete(bed);
}

/* Turns of any size; in some the pool has little, or nothing. */
static void *
receive_of_any_pool(void *arg)
{
	struct bed_rx *bed = arg;
	static struct rte_mbuf *pkts[64], *hoard[2048];
	uint32_t nb, nb_hoard, i;

	for (uint32_t turn = 0; turn < 300; turn++) {
		nb_hoard = 0;
		if (turn % 8 == 5)
			while (nb_hoard < bed->nb_mbufs - 64 - turn % 40 &&
			       rte_mempool_get(bed->mp, (void **)
					       &hoard[nb_hoard]) == 0)
				nb_hoard++;
		nb = RTE_MIN(1 + turn * 37 % 64, bed_rx_available(bed));
		for (i = 0; i < nb; i++)
			bed_rx_okay(bed, 60 + turn, 0);
		assert_eq(poll_rx(bed, pkts, 64), nb);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs),
			  nb_hoard + nb + mana_rxq_nb_posted(bed->rxq));
		for (i = 0; i < nb; i++)
			bed_rx_check(bed, pkts[i], 60 + turn, 0, 0);
		if (nb_hoard != 0)
			rte_mempool_put_bulk(bed->mp, (void **)hoard, nb_hoard);
		(void)poll_rx(bed, pkts, 0);
	}
	assert_true(bed_rx_available(bed) > 32);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs),
		  mana_rxq_nb_posted(bed->rxq));
	return NULL;
}

/* With and without a cache, of other ops, in a thread that has no cache. */
static void
pools_of_every_kind(void **state)
{
	static const uint32_t caches[] = { 0, 1, 31, 64, 500 };
	static const char *const ops[] = { NULL, "ring_sp_sc", "stack" };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(caches) * RTE_DIM(ops) * 2; i++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_pool = i % 4 == 3 ? 2047 : 800,
			.nb_cache = caches[i / 2 % RTE_DIM(caches)],
			.ops = ops[i / 2 / RTE_DIM(caches)],
			.start = i % 3 == 1 ? 0xffffff00 : 0 });
		pthread_t thread;

		if (i % 2 == 0) {
			receive_of_any_pool(bed);
		} else {
			assert_eq(pthread_create(&thread, NULL,
						 receive_of_any_pool, bed), 0);
			assert_eq(pthread_join(thread, NULL), 0);
		}
		assert_eq(bed->rxq->flat, MANA_RX_FLAT_YES);
		bed_rx_delete(bed);
	}
}

/* A queue that is lost or closed does not swallow buffers. */
static void
closed_queue_takes_no_buffers(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_pool = 40 });
	struct rte_mbuf *pkts[64];

	(void)state;
	mana_rxq_close(bed->rxq);
	for (uint32_t i = 0; i < 100; i++)
		assert_eq(poll_rx(bed, pkts, 64), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 40);
	bed_rx_delete(bed);

	/* Emptied without being closed: the same. */
	bed = bed_rx_new(&(struct bed_rx_opts){0});
	bed_rx_okay(bed, 60, 0);
	mana_rxq_release_mbufs(bed->rxq, true);
	assert_eq(mana_rxq_nb_waiting(bed->rxq), 0);
	assert_eq(poll_rx(bed, pkts, 64), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	bed_rx_delete(bed);
}

/* Nor does one that is lost try at each poll to get those it had wanted. */
static void
lost_queue_is_not_hungry(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_pool = 64 });
	struct rte_mbuf *pkts[64];
	uint32_t nb;

	(void)state;
	for (nb = 0; nb < 32; nb++)
		bed_rx_okay(bed, 60, 0);
	assert_eq(poll_rx(bed, pkts, 32), 32);
	assert_eq(bed->rxq->odd.hungry, 1);
	bed_rx_cqe(bed, 50, 60);
	bed_rx_cqe(bed, 50, 60);
	assert_eq(poll_rx(bed, &pkts[32], 32), 0);
	assert_eq(bed->rxq->fate, MANA_QUEUE_UNKNOWN_CQE);
	/* A poll finds nothing at its first look. */
	assert_eq(bed->rxq->odd.any, 0);
	for (nb = 0; nb < 32; nb++)
		bed_rx_check(bed, pkts[nb], 60, 0, 0);
	bed_rx_delete(bed);
}

/* Release and count on a queue that never was. */
static void
zeroed_queue_is_harmless(void **state)
{
	static struct mana_rxq rxq;

	(void)state;
	mana_rxq_release_mbufs(&rxq, true);
	mana_rxq_close(&rxq);
	assert_eq(mana_rxq_nb_waiting(&rxq), 0);
	assert_eq(mana_rxq_nb_posted(&rxq), 0);
}

/* nb_cqe completions of nb_each packets, then all of them polled by size. */
static void
let_wait_by(struct bed_rx *bed, uint32_t nb_cqe, uint32_t nb_each, uint32_t size)
{
	const uint32_t len_bytes[4] = { 60, 60, 60, 60 };
	struct rte_mbuf *pkts[64];
	uint32_t i, got = 0, nb;

	for (i = 0; i < nb_cqe; i++)
		bed_rx_coalesced(bed, len_bytes, nb_each, 0);
	do {
		nb = poll_rx(bed, pkts, size);
		got += nb;
		for (i = 0; i < nb; i++)
			bed_rx_check(bed, pkts[i], 60, 0, 0);
	} while (nb != 0);
	assert_eq(got, nb_cqe * nb_each);
}

static void
let_wait(struct bed_rx *bed, uint32_t nb_cqe, uint32_t nb_each)
{
	let_wait_by(bed, nb_cqe, nb_each, 32);
}

/* All buffers used up before anybody looked, however the CQEs are made up. */
static void
counts_a_ring_that_ran_empty(void **state)
{
	(void)state;
	for (uint32_t nb_each = 1; nb_each <= 4; nb_each *= 2) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_desc = 64, .nb_pool = 1024 });

		for (uint32_t turn = 1; turn <= 40; turn++) {
			let_wait(bed, 64 / nb_each, nb_each);
			assert_eq(bed->rxq->stats.ring_empty, turn);
			assert_eq(bed_rx_available(bed), 64);
			/* one buffer short of it is no such case */
			let_wait(bed, 64 / nb_each - 1, nb_each);
			assert_eq(bed->rxq->stats.ring_empty, turn);
			/* to the next refill */
			let_wait(bed, (64 - bed_rx_available(bed)) / nb_each,
				 nb_each);
			assert_eq(bed->rxq->stats.ring_empty, turn);
			while (bed_rx_available(bed) != 64)
				let_wait(bed, 1, nb_each);
		}
		bed_rx_delete(bed);
	}
}

/* Bursts of all sizes: most refills come where a rest of a CQE is not delivered. */
static void
counts_it_with_a_rest_left(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_desc = 64, .nb_pool = 1024 });

		for (uint32_t turn = 1; turn <= 20; turn++) {
			let_wait_by(bed, 16, 4, size);
			if (bed->rxq->stats.ring_empty != turn)
				fail_msg("bursts of %u: %lu, not %u", size,
					 bed->rxq->stats.ring_empty, turn);
			while (bed_rx_available(bed) != 64)
				let_wait_by(bed, 1, 1, size);
		}
		bed_rx_delete(bed);
	}
}

/* Likewise by frames that are dropped: such bursts end before the CQEs do. */
static void
counts_a_ring_that_dropped_frames_emptied(void **state)
{
	(void)state;
	for (uint32_t nb_pkts = 1; nb_pkts <= 16; nb_pkts *= 4) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_desc = 64 });
		struct rte_mbuf *pkts[16];

		for (uint32_t turn = 1; turn <= 10; turn++) {
			assert_eq(bed_rx_available(bed), 64);
			for (uint32_t i = 0; i < 64; i++) {
				bed_rx_frame(bed, 60);
				bed_rx_cqe(bed, HW_CQE_RX_TRUNCATED, 9000);
			}
			for (uint32_t i = 0; i < 64; i += nb_pkts)
				assert_eq(poll_rx(bed, pkts, nb_pkts), 0);
			assert_eq(bed->rxq->stats.ring_empty, turn);
		}
		assert_eq(bed->rxq->stats.truncated, 640);
		bed_rx_delete(bed);
	}
}

/* A lap without a doorbell ends no burst, and hides no empty ring. */
static void
burst_goes_on_behind_a_lap(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_desc = 63, .nb_cqe = 64 });
	struct rte_mbuf *pkts[64];
	uint32_t left, nb;

	(void)state;
	/* As far as it gets without a doorbell of the CQ. */
	for (nb = 0; nb < 44; nb++) {
		bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 1), 1);
		bed_rx_check(bed, pkts[0], 60, 0, 0);
	}
	assert_eq(bed->rxq->stats.cq_doorbells, 0);
	left = bed_rx_available(bed);
	for (nb = 0; nb < left; nb++)
		bed_rx_okay(bed, 60, 0);
	assert_true(left + 44 > 64);
	assert_eq(poll_rx(bed, pkts, RTE_DIM(pkts)), left);
	for (nb = 0; nb < left; nb++)
		bed_rx_check(bed, pkts[nb], 60, 0, 0);
	assert_eq(bed->rxq->stats.cq_doorbells, 1);
	assert_eq(bed->rxq->stats.ring_empty, 1);
	bed_rx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(posts_no_more_than_the_cq_takes),
		cmocka_unit_test(first_fill_tells_of_a_small_pool),
		cmocka_unit_test(first_fill_tells_of_unregistered_memory),
		cmocka_unit_test(empty_pool_is_made_good_without_completions),
		cmocka_unit_test(takes_the_last_mbufs),
		cmocka_unit_test(lives_on_a_trickle),
		cmocka_unit_test(refills_by_threshold),
		cmocka_unit_test(threshold_fits_the_ring),
		cmocka_unit_test(memory_without_key),
		cmocka_unit_test(keys_hold_for_every_buffer),
		cmocka_unit_test(pools_of_every_kind),
		cmocka_unit_test(counts_a_ring_that_ran_empty),
		cmocka_unit_test(counts_it_with_a_rest_left),
		cmocka_unit_test(counts_a_ring_that_dropped_frames_emptied),
		cmocka_unit_test(burst_goes_on_behind_a_lap),
		cmocka_unit_test(closed_queue_takes_no_buffers),
		cmocka_unit_test(lost_queue_is_not_hungry),
		cmocka_unit_test(zeroed_queue_is_harmless),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
