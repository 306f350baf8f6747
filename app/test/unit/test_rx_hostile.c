/* SPDX-License-Identifier: BSD-3-Clause */

/* CQEs that no device should write: counted, bounded, no mbuf lost. */

#include <errno.h>

#include "fixture.h"

#define HDR(type) ((type) | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S)

static uint16_t
poll_rx(struct fx_rx *fx, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select(NULL)->burst(fx->list, pkts, nb);
}

/* The next good packet is received. */
static void
expect_packet(struct fx_rx *fx)
{
	struct rte_mbuf *m;

	fx_rx_okay(fx, 99, 0);
	assert_eq(poll_rx(fx, &m, 1), 1);
	fx_rx_check(fx, m, 99, 0, 0);
}

/* Completions from which the driver learns the distance of WQEs. */
static void
expect_steps(struct fx_rx *fx)
{
	expect_packet(fx);
	expect_packet(fx);
}

static void
foreign_cqe_is_skipped(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	fx_cqe_write(&fx->cq, data, FX_RQ_ID + 1);
	fx_rx_okay(fx, 70, 0);
	fx_cqe_write(&fx->cq, data, FX_RQ_ID | 1u << HW_CQE_IS_SQ_S);
	fx_cqe_write(&fx->cq, data, 0);
	fx_rx_okay(fx, 71, 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 64);
	assert_eq(poll_rx(fx, pkts, 8), 2);
	fx_rx_check(fx, pkts[0], 70, 0, 0);
	fx_rx_check(fx, pkts[1], 71, 0, 0);
	assert_eq(fx->rxq->stats.cqe_foreign, 3);
	fx_rx_delete(fx);
}

/* An endless row of foreign CQEs does not extend a burst. */
static void
burst_is_bounded(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[512];

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		fx_cqe_write(&fx->cq, data, 1);
	assert_eq(poll_rx(fx, pkts, 32), 0);
	assert_eq(fx->rxq->stats.cqe_foreign, 32);
	assert_eq(poll_rx(fx, pkts, 512), 0);
	assert_eq(fx->rxq->stats.cqe_foreign, 40);
	expect_packet(fx);
	fx_rx_delete(fx);
}

static void
oversize_packet_is_dropped(void **state)
{
	const uint32_t bad[] = { FX_ROOM_BYTES + 1, 4096, 32768, 65535 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(bad); i++) {
		fx_rx_okay(fx, 80, 0);
		fx_rx_okay(fx, bad[i], 0);
		fx_rx_okay(fx, FX_ROOM_BYTES, 0); /* fits exactly */
		assert_eq(poll_rx(fx, pkts, 8), 2);
		fx_rx_check(fx, pkts[0], 80, 0, 0);
		fx_rx_skip(fx);
		fx_rx_check(fx, pkts[1], FX_ROOM_BYTES, 0, 0);
		assert_eq(fx->rxq->stats.oversize, i + 1);
	}
	fx_rx_delete(fx);
}

static void
zero_length_takes_no_wqe(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];
	uint32_t posted;

	(void)state;
	expect_steps(fx);
	posted = mana_rxq_nb_posted(fx->rxq);
	fx_rx_cqe(fx, HW_CQE_RX_OKAY, 0);
	fx_rx_cqe(fx, HW_CQE_RX_COALESCED_4, 0);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(fx->rxq->stats.zero_len, 2);
	assert_eq(mana_rxq_nb_posted(fx->rxq), posted);
	expect_packet(fx);
	fx_rx_delete(fx);
}

/* Only the low 16 bits of the length word count. */
static void
reserved_bits_are_ignored(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	uint32_t data[15];
	struct rte_mbuf *m;

	(void)state;
	memset(data, 0xff, sizeof(data));
	data[0] = HW_CQE_RX_OKAY | 0xffffff00;
	data[1] = 1u << 31 | 1u << 15 | 3u << 13;
	data[2] = 0xffff0000 | 77;
	fx_rx_frame(fx, 77);
	fx_cqe_write(&fx->cq, data, FX_RQ_ID | 0xfu << 25);
	assert_eq(poll_rx(fx, &m, 1), 1);
	fx_rx_check(fx, m, 77, 0, 0);
	fx_rx_delete(fx);
}

static void
bad_length_inside_of_a_coalesced_cqe(void **state)
{
	const uint32_t len[4] = { 60, 5000, 61, 62 };
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t burst = 1; burst <= 4; burst++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
		uint32_t nb = 0;

		fx_rx_coalesced(fx, len, 4, 0);
		while (nb < 3) {
			uint32_t got = poll_rx(fx, &pkts[nb], burst);

			assert_true(got > 0);
			nb += got;
		}
		assert_eq(poll_rx(fx, pkts + 3, burst), 0);
		fx_rx_check(fx, pkts[0], 60, 0, 0);
		fx_rx_skip(fx);
		fx_rx_check(fx, pkts[1], 61, 0, 0);
		fx_rx_check(fx, pkts[2], 62, 0, 0);
		assert_eq(fx->rxq->stats.oversize, 1);
		expect_packet(fx);
		fx_rx_delete(fx);
	}
}

/* A length of 0 ends the packets of a coalesced CQE. */
static void
coalesced_list_ends_at_zero(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	uint32_t data[15] = { HDR(HW_CQE_RX_COALESCED_4), 0, 60 };
	struct rte_mbuf *pkts[8];

	(void)state;
	data[8] = 64; /* third packet; the second is empty */
	fx_rx_frame(fx, 60);
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
	assert_eq(poll_rx(fx, pkts, 8), 1);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 63);
	expect_packet(fx);
	fx_rx_delete(fx);
}

static void
truncated_packet_is_dropped(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	fx_rx_frame(fx, FX_ROOM_BYTES);
	fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 9000);
	fx_rx_okay(fx, 61, 0);
	assert_eq(poll_rx(fx, pkts, 8), 1);
	fx_rx_skip(fx);
	fx_rx_check(fx, pkts[0], 61, 0, 0);
	assert_eq(fx->rxq->stats.truncated, 1);
	assert_eq(mana_rxq_stats_errors(&fx->rxq->stats), 1);
	fx_rx_delete(fx);
}

static void
fence_takes_no_wqe(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(poll_rx(fx, &m, 1), 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 64);
	assert_eq(fx->rxq->stats.fence, 1);
	assert_eq(mana_rxq_stats_errors(&fx->rxq->stats), 0);
	expect_packet(fx);
	fx_rx_delete(fx);
}

/* Counted. The next WQE offset resolves it if the WQE distance is known. */
static void
unknown_type(void **state)
{
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t type = 0; type < 64; type++) {
		struct fx_rx *fx;

		if ((type >= HW_CQE_RX_OKAY && type <= HW_CQE_RX_TRUNCATED) ||
		    type == HW_CQE_RX_COALESCED_8)
			continue;
		fx = fx_rx_new(&(struct fx_rx_opts){0});
		expect_steps(fx);
		fx_rx_cqe(fx, type, 60);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(fx->rxq->stats.cqe_unknown, 1);
		assert_eq(mana_rxq_nb_posted(fx->rxq), 62);
		assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
		expect_packet(fx);
		fx_rx_delete(fx);
		fx = fx_rx_new(&(struct fx_rx_opts){0});
		fx_rx_cqe(fx, type, 60);
		fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_UNKNOWN_CQE);
		assert_eq(fx->rxq->stats.cqe_unknown, 1);
		fx_rx_delete(fx);
	}
}

/* More completions than posted buffers. */
static void
spurious_cqe(void **state)
{
	const uint32_t types[] = {
		HW_CQE_RX_OKAY, HW_CQE_RX_COALESCED_4, HW_CQE_RX_TRUNCATED,
	};
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t t = 0; t < RTE_DIM(types); t++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_pool = 3 });

		for (uint32_t i = 0; i < 3; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 8), 3);
		fx_rx_cqe(fx, types[t], 60);
		assert_eq(poll_rx(fx, pkts + 3, 5), 0);
		assert_eq(fx->rxq->stats.cqe_spurious, 1);
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60000);
		assert_eq(poll_rx(fx, pkts + 3, 5), 0);
		assert_eq(fx->rxq->stats.cqe_spurious, 2);
		for (uint32_t i = 0; i < 3; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
		assert_eq(poll_rx(fx, pkts, 8), 0); /* refills */
		expect_packet(fx);
		fx_rx_delete(fx);
	}
}

/* CQ overrun: the queue reports it and keeps its buffers. */
static void
overrun_ends_the_queue(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct rte_mbuf *pkts[8];
	bool wakes = false;

	(void)state;
	for (uint32_t owner = 2; owner < 8; owner++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});

		fx_rx_okay(fx, 60, 0);
		fx_cqe_write_owner(&fx->cq, data, FX_RQ_ID, owner);
		assert_eq(poll_rx(fx, pkts, 8), 1);
		fx_rx_check(fx, pkts[0], 60, 0, 0);
		fx_rx_okay(fx, 60, 0);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_OVERRUN);
		/* No CQE follows, so arming fails. */
		assert_eq(mana_rxq_arm(fx->rxq, &wakes), -EIO);
		assert_eq(fx->rxq->stats.cqe_overrun, 1);
		assert_eq(mana_rxq_nb_posted(fx->rxq), 63);
		assert_eq(poll_rx(fx, pkts, 8), 0);
		assert_eq(fx->rxq->stats.cqe_overrun, 1);
		fx_rx_delete(fx);
	}
}

/*
 * CQEs of any bytes, mostly near valid ones. Every delivered mbuf is a valid
 * mbuf of the pool; the fixture checks the mbuf count.
 */
static void
any_bytes(void **state)
{
	uint64_t seed = 0x5eed;
	struct rte_mbuf *pkts[64];

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.nb_pool = 100 + round % 30 * 10 });

		for (uint32_t i = 0; i < 300; i++) {
			uint64_t r = fx_random(&seed);
			uint32_t data[15], trailer = FX_RQ_ID;
			uint32_t nb;

			for (nb = 0; nb < 15; nb++)
				data[nb] = fx_random(&seed);
			if (r % 8 != 0)
				data[0] = HDR(1 + (r >> 8) % 2);
			for (nb = 0; nb < 4; nb++)
				data[2 + 3 * nb] >>= r >> 16 & 31;
			/* Valid steps, so that some queues continue. */
			if (r >> 32 & 15)
				data[14] = i * 32;
			if (r % 32 == 1)
				trailer = fx_random(&seed);
			fx_cqe_write(&fx->cq, data,
				     trailer & ((1u << HW_CQE_OWNER_S) - 1));
			nb = poll_rx(fx, pkts, r >> 24 & 63);
			while (nb-- > 0) {
				assert_ptr_equal(pkts[nb]->pool, fx->mp);
				assert_in_range(pkts[nb]->data_len, 1,
						FX_ROOM_BYTES);
				rte_mbuf_sanity_check(pkts[nb], 1);
				rte_pktmbuf_free(pkts[nb]);
			}
			assert_true(mana_rxq_nb_posted(fx->rxq) <= 64);
			(void)mana_rxq_nb_waiting(fx->rxq, UINT32_MAX);
		}
		fx_rx_delete(fx);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_cqe_is_skipped),
		cmocka_unit_test(burst_is_bounded),
		cmocka_unit_test(oversize_packet_is_dropped),
		cmocka_unit_test(zero_length_takes_no_wqe),
		cmocka_unit_test(reserved_bits_are_ignored),
		cmocka_unit_test(bad_length_inside_of_a_coalesced_cqe),
		cmocka_unit_test(coalesced_list_ends_at_zero),
		cmocka_unit_test(truncated_packet_is_dropped),
		cmocka_unit_test(fence_takes_no_wqe),
		cmocka_unit_test(unknown_type),
		cmocka_unit_test(spurious_cqe),
		cmocka_unit_test(overrun_ends_the_queue),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
