/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive ring is full again as soon as it can be, whatever happened. */

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
	uint32_t i, rung = 0;
	struct rte_mbuf *m;
	uint64_t db, last;

	(void)state;
	last = hw_le64(bed->db_page + HW_DB_RQ);
	for (i = 0; i < 1024; i++) {
		bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, &m, 1), 1);
		bed_rx_check(bed, m, 60, 0, 0);
		assert_true(bed_rx_available(bed) > 128 - MANA_RX_REFILL_THRESH);
		db = hw_le64(bed->db_page + HW_DB_RQ);
		rung += db != last;
		last = db;
	}
	assert_eq(rung, 1024 / MANA_RX_REFILL_THRESH);
	bed_rx_delete(bed);
}

static void
threshold_fits_the_ring(void **state)
{
	static const struct { uint32_t asked, nb_desc, want; } t[] = {
		{ 0, 64, 32 }, { 0, 16, 8 }, { 1, 64, 1 }, { 5, 64, 5 },
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
	mana_rxq_release_mbufs(bed->rxq);
	assert_eq(mana_rxq_nb_waiting(bed->rxq), 0);
	assert_eq(poll_rx(bed, pkts, 64), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	bed_rx_delete(bed);
}

/* Release and count on a queue that never was. */
static void
zeroed_queue_is_harmless(void **state)
{
	static struct mana_rxq rxq;

	(void)state;
	mana_rxq_release_mbufs(&rxq);
	mana_rxq_close(&rxq);
	assert_eq(mana_rxq_nb_waiting(&rxq), 0);
	assert_eq(mana_rxq_nb_posted(&rxq), 0);
}

static int
group_setup(void **state)
{
	(void)state;
	bed_eal_init();
	return 0;
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
		cmocka_unit_test(closed_queue_takes_no_buffers),
		cmocka_unit_test(zeroed_queue_is_harmless),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
