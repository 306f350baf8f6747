/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions that may have used WQEs: of an unknown type, or of a packet
 * without length. The WQE offset of the next completion shows how many. The
 * driver delivers each packet in the buffer the device has filled, or the queue
 * fails.
 */

#include <errno.h>

#include "fixture.h"

#define UNKNOWN 20

/* Receives nb packets, one or four per CQE. */
static void
pass(struct fx_rx *fx, uint32_t nb, bool coalesced)
{
	const uint32_t len[4] = { 60, 60, 60, 60 };
	struct rte_mbuf *pkts[64];
	uint32_t got = 0, empty = 0;

	for (uint32_t i = 0; i < nb; i += coalesced ? 4 : 1)
		if (coalesced)
			fx_rx_coalesced(fx, len, 4, 0);
		else
			fx_rx_okay(fx, 60, 0);
	while (got < nb) {
		uint32_t more = fx_rx_burst(fx->list, &pkts[got], 64 - got);

		/* A burst may end at a slow-path completion. */
		empty = more == 0 ? empty + 1 : 0;
		assert_true(empty < 4);
		got += more;
	}
	assert_eq(got, nb);
	for (uint32_t i = 0; i < nb; i++)
		fx_rx_check_data(fx, pkts[i], 60);
}

/* The device uses nb_wqes WQEs for this CQE and fills their buffers. */
static void
unresolved(struct fx_rx *fx, uint32_t nb_wqes, uint32_t type, uint32_t len_bytes)
{
	for (uint32_t i = 0; i < nb_wqes; i++)
		fx_rx_frame(fx, 60);
	fx_rx_cqe(fx, type, len_bytes);
	for (uint32_t i = 0; i < nb_wqes; i++)
		fx_rx_skip(fx);
}

static const struct {
	uint32_t type, len_bytes;
} cqes[] = {
	{ UNKNOWN, 60 }, { HW_CQE_RX_OKAY, 0 }, { HW_CQE_RX_COALESCED_4, 0 },
};

/* WQEs that the k-th CQE uses, up to nb: one at most without length. */
static uint32_t
wqes_of(uint32_t k, uint32_t nb)
{
	return cqes[k % 3].len_bytes == 0 ? RTE_MIN(nb, 1u) : nb;
}

/* The CQE arrives alone, or between packets of a burst. */
static void
all_buffers_are_right(struct fx_rx *fx, bool coalesced, uint32_t max_wqes)
{
	uint64_t resynced = 0;

	for (uint32_t k = 0; k < RTE_DIM(cqes) * 8; k++) {
		uint32_t nb_wqes = wqes_of(k, max_wqes);

		pass(fx, 8, coalesced);
		unresolved(fx, nb_wqes, cqes[k % 3].type, cqes[k % 3].len_bytes);
		if (k % 2 == 0) {
			struct rte_mbuf *m;

			assert_eq(fx_rx_burst(fx->list, &m, 1), 0);
			assert_eq(fx_rx_burst(fx->list, &m, 1), 0);
		}
		pass(fx, 8, coalesced);
		resynced += nb_wqes;
		assert_eq(fx->rxq->stats.resynced, resynced);
		assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
		assert_eq(fx->rxq->slow_flags, 0);
	}
	assert_eq(fx->rxq->stats.cqe_unknown, 8);
	assert_eq(fx->rxq->stats.zero_len, 16);
}

static void
packets_arrive_in_their_buffers_test(void)
{
	for (uint32_t position = 0; position < FX_RX_POSITION_NONE; position++)
		for (uint32_t nb_wqes = 0; nb_wqes <= 8; nb_wqes++)
			for (uint32_t coalesced = 0; coalesced < 2; coalesced++) {
				struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
					.position = position,
					.start = nb_wqes % 3 == 0 ? 0 : -70,
				});

				all_buffers_are_right(fx, coalesced, nb_wqes);
				fx_rx_delete(fx);
			}
}
FX_RX_ON_EACH_PATH(packets_arrive_in_their_buffers)

/* WQEs of several segments and several BUs. */
static void
multi_segment_wqes(void **state)
{
	(void)state;
	fx_rx_burst = mana_rx_path_select(NULL)->burst;
	for (uint32_t position = 0; position < FX_RX_POSITION_NONE; position++)
		for (uint32_t nb_wqes = 0; nb_wqes <= 4; nb_wqes++) {
			struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
				.position = position,
				.nb_segs = 4,
				.seg_bytes = { 20, 20, 20, 2000 },
			});

			all_buffers_are_right(fx, nb_wqes % 2 == 0, nb_wqes);
			fx_rx_delete(fx);
		}
}

/* Several such CQEs in a row: the offset resolves their sum. */
static void
several_unresolved_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *m;

	pass(fx, 8, false);
	unresolved(fx, 2, UNKNOWN, 60);
	unresolved(fx, 0, UNKNOWN + 1, 60);
	unresolved(fx, 1, HW_CQE_RX_OKAY, 0);
	fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(fx_rx_burst(fx->list, &m, 1), 0);
	pass(fx, 8, false);
	assert_eq(fx->rxq->stats.resynced, 3);
	assert_eq(fx->rxq->stats.fence, 1);
	assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(several_unresolved)

/* More of them than a poll reads before it continues on its fast path. */
static void
many_unresolved_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_desc = 512, .nb_pool = 2048, .nb_cqe = 1024 });
	struct rte_mbuf *pkts[64];

	pass(fx, 8, false);
	for (uint32_t i = 0; i < 12; i++)
		fx_rx_cqe(fx, UNKNOWN, 60);
	assert_eq(fx_rx_burst(fx->list, pkts, RTE_DIM(pkts)), 0);
	pass(fx, 8, false);
	assert_eq(fx->rxq->stats.resynced, 0);
	assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(many_unresolved)

/* A CQE of this kind after each packet. */
static void
alternating_unresolved_test(void)
{
	for (uint32_t max_wqes = 0; max_wqes < 3; max_wqes++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
		uint64_t resynced = 0;

		pass(fx, 8, false);
		for (uint32_t k = 0; k < 300; k++) {
			unresolved(fx, wqes_of(k, max_wqes), cqes[k % 3].type,
				   cqes[k % 3].len_bytes);
			pass(fx, 1, false);
			resynced += wqes_of(k, max_wqes);
			assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
		}
		assert_eq(fx->rxq->stats.resynced, resynced);
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(alternating_unresolved)

/*
 * After many CQEs that have used eight WQEs each, the device has no buffer and
 * sends no completion: the driver must not wait for one.
 */
static void
unresolved_cqes_use_all_buffers(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];
	uint32_t nb = 0;

	(void)state;
	fx_rx_burst = mana_rx_paths[0].burst;
	pass(fx, 8, false);
	while (mana_rxq_nb_posted(fx->rxq) > nb * 8) {
		assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_NONE);
		fx_rx_cqe(fx, UNKNOWN, 60);
		assert_eq(fx_rx_burst(fx->list, pkts, 8), 0);
		nb++;
	}
	assert_true(nb > 4);
	assert_eq(mana_rxq_failure(fx->rxq), MANA_FAILURE_UNKNOWN_CQE);
	fx_rx_delete(fx);
}

/* A queue restarts with one segment after scattered Rx. */
static void
single_after_scattered(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_segs = 4, .seg_bytes = { 20, 20, 20, 2000 } });
	struct fx_rx *single = fx_rx_new_beside(&(struct fx_rx_opts){
		.no_open = true });
	struct mana_rxq *fresh = single->rxq;

	(void)state;
	fx_rx_burst = mana_rx_paths[0].burst;
	mana_rxq_close(fx->rxq);
	mana_rxq_release_mbufs(fx->rxq, true);
	/* The queue struct is kept, as by a port restart. */
	single->rxq = fx->rxq;
	fx->rxq = fresh;
	RTE_SWAP(single->list, fx->list);
	assert_eq(mana_rxq_init(single->rxq, &single->conf), 0);
	mana_rxq_fill(single->rxq);
	mana_rxq_open(single->rxq, FX_RQ_ID, FX_RX_CQ_ID);
	pass(single, 8, false);
	unresolved(single, 1, UNKNOWN, 60);
	pass(single, 8, false);
	assert_eq(single->rxq->stats.resynced, 1);
	fx_rx_delete(single);
	fx_rx_delete(fx);
}

/* The queue fails at the next packet and delivers nothing more. */
static void
expect_stopped(struct fx_rx *fx, const char *why)
{
	struct rte_mbuf *pkts[8];
	uint64_t packets = fx->rxq->packets;
	bool wakes = false;

	for (uint32_t i = 0; i < 4; i++)
		fx_rx_okay(fx, 60, 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_eq(fx_rx_burst(fx->list, pkts, 8), 0);
	if (mana_rxq_failure(fx->rxq) != MANA_FAILURE_UNKNOWN_CQE)
		fail_msg("%s: the queue has not failed", why);
	assert_eq(fx->rxq->packets, packets);
	assert_eq(fx->rxq->slow_flags, 0);
	assert_eq(mana_rxq_arm(fx->rxq, &wakes), -EIO);
}

/* All WQE offsets are equal: the queue fails. */
static void
equal_offsets_fail_queue_test(void)
{
	for (uint32_t k = 0; k < RTE_DIM(cqes); k++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.position = FX_RX_POSITION_NONE });

		pass(fx, 8, false);
		unresolved(fx, 0, cqes[k].type, cqes[k].len_bytes);
		expect_stopped(fx, "WQE offsets are all equal");
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(equal_offsets_fail_queue)

/* Earlier CQEs of one packet leave open whether an offset is of the first or last WQE. */
static void
ambiguous_offset_fails_queue_test(void)
{
	const uint32_t len[4] = { 60, 60, 60, 60 };

	for (uint32_t nb_wqes = 2; nb_wqes < 4; nb_wqes++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_desc = 128 });
		struct rte_mbuf *pkts[8];

		pass(fx, 8, false);
		unresolved(fx, nb_wqes, UNKNOWN, 60);
		fx_rx_coalesced(fx, len, 4, 0);
		for (uint32_t i = 0; i < 2; i++)
			while (fx_rx_burst(fx->list, pkts, 8) != 0)
				rte_pktmbuf_free_bulk(pkts, 4);
		assert_eq(mana_rxq_failure(fx->rxq), nb_wqes < 3 ? MANA_FAILURE_NONE :
							  MANA_FAILURE_UNKNOWN_CQE);
		assert_eq(fx->rxq->stats.resynced, nb_wqes < 3 ? nb_wqes : 0);
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(ambiguous_offset_fails_queue)

/* Too few packets before it to know the WQE distance. */
static void
unknown_wqe_distance_fails_queue_test(void)
{
	for (uint32_t nb = 0; nb < 2; nb++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});

		if (nb != 0)
			pass(fx, nb, false);
		unresolved(fx, 0, UNKNOWN, 60);
		expect_stopped(fx, "there are no two completions before it");
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(unknown_wqe_distance_fails_queue)

/* Invalid WQE offsets: between two WQEs, backward, too far. */
static void
wrong_offset_fails_queue_test(void)
{
	const int32_t steps[] = { 33, 16, -32, 0, 32 * 10, 32 * 65 };

	for (uint32_t k = 0; k < RTE_DIM(steps); k++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
		uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };

		pass(fx, 8, false);
		unresolved(fx, 0, UNKNOWN, 60);
		data[14] = fx->last_bu * HW_BU_BYTES + steps[k];
		fx_rx_frame(fx, 60);
		fx_cqe_write(&fx->cq, data, FX_RQ_ID);
		expect_stopped(fx, "the WQE offset is invalid");
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(wrong_offset_fails_queue)

/*
 * The offset shows more WQEs than the CQEs may have used: eight of an unknown type,
 * one without length.
 */
static void
too_many_wqes_fail_queue_test(void)
{
	static const struct {
		uint32_t nb_unknown, nb_empty;
	} doubts[] = { { 1, 0 }, { 0, 1 }, { 0, 2 }, { 1, 1 } };

	for (uint32_t k = 0; k < RTE_DIM(doubts) * 2; k++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
		const uint32_t nb_unknown = doubts[k / 2].nb_unknown;
		const uint32_t nb_empty = doubts[k / 2].nb_empty;
		const uint32_t max = 8 * nb_unknown + nb_empty;
		struct rte_mbuf *m;

		pass(fx, 8, false);
		for (uint32_t i = 0; i < max + k % 2; i++) {
			fx_rx_frame(fx, 60);
			fx_rx_skip(fx);
		}
		for (uint32_t i = 0; i < nb_unknown; i++)
			fx_rx_cqe(fx, UNKNOWN, 60);
		for (uint32_t i = 0; i < nb_empty; i++)
			fx_rx_cqe(fx, cqes[1 + k % 2].type, 0);
		assert_eq(fx_rx_burst(fx->list, &m, 1), 0);
		if (k % 2 == 0)
			pass(fx, 8, false);
		else
			expect_stopped(fx, "the CQEs may not use so many WQEs");
		assert_eq(fx->rxq->stats.resynced, k % 2 == 0 ? max : 0);
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(too_many_wqes_fail_queue)

/* No repeated wake-ups of a sleeping thread while no packet arrives. */
static void
no_repeated_wakeup(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct hw_doorbell db;
	struct rte_mbuf *m;
	bool wakes = false;

	(void)state;
	fx_rx_burst = mana_rx_paths[0].burst;
	pass(fx, 8, false);
	unresolved(fx, 1, UNKNOWN, 60);
	assert_eq(fx_rx_burst(fx->list, &m, 1), 0);
	assert_eq(mana_rxq_arm(fx->rxq, &wakes), 0);
	assert_false(wakes);
	db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
	assert_true(db.arm);
	assert_eq(db.tail, fx->cq.pi & (8 * fx->cq.nb_cqe - 1));
	pass(fx, 8, false);
	fx_rx_delete(fx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_arrive_in_their_buffers),
		cmocka_unit_test(multi_segment_wqes),
		cmocka_unit_test(several_unresolved),
		cmocka_unit_test(many_unresolved),
		cmocka_unit_test(alternating_unresolved),
		cmocka_unit_test(unresolved_cqes_use_all_buffers),
		cmocka_unit_test(single_after_scattered),
		cmocka_unit_test(equal_offsets_fail_queue),
		cmocka_unit_test(ambiguous_offset_fails_queue),
		cmocka_unit_test(unknown_wqe_distance_fails_queue),
		cmocka_unit_test(wrong_offset_fails_queue),
		cmocka_unit_test(too_many_wqes_fail_queue),
		cmocka_unit_test(no_repeated_wakeup),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
