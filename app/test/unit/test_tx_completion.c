/* SPDX-License-Identifier: BSD-3-Clause */

/* Completions, valid and invalid: which mbufs they free, and when. */

#include "fixture.h"

static uint16_t
post(struct fx_tx *fx, uint32_t nb)
{
	struct rte_mbuf *pkts[128];
	uint16_t sent;

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	sent = fx->burst(fx->txq, pkts, nb);
	for (uint32_t i = sent; i < nb; i++)
		rte_pktmbuf_free(pkts[i]);
	return sent;
}

static uint64_t
error_sum(const struct fx_tx *fx)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < MANA_NB_CQE_TX_ERR; i++)
		sum += fx->txq->stats.cqe_error[i];
	return sum;
}

/* Each CQE frees the oldest packet. */
static void
in_order_one_each(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	assert_eq(post(fx, 50), 50);
	for (uint32_t i = 1; i <= 50; i++) {
		assert_eq(mana_txq_nb_done(fx->txq), 0);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_nb_done(fx->txq), 1);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 50 - i);
	}
	fx_tx_delete(fx);
}

static void
cleanup_frees_as_many_as_asked(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	assert_eq(post(fx, 20), 20);
	assert_eq(mana_txq_done_cleanup(fx->txq, 5), 0);
	assert_eq(fx_tx_complete_all(fx), 20);
	assert_eq(mana_txq_done_cleanup(fx->txq, 5), 5);
	assert_eq(mana_txq_done_cleanup(fx->txq, 1), 1);
	assert_eq(mana_txq_nb_done(fx->txq), 14);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 14);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	fx_tx_delete(fx);
}

/* Each error type at each position of a burst is counted and freed. */
static void
every_error_at_every_position(void **state)
{
	(void)state;
	for (uint32_t type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++)
		for (uint32_t at = 0; at < 16; at++) {
			struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
			bool dead = type == HW_CQE_TX_GDMA_ERR;

			assert_eq(post(fx, 16), 16);
			for (uint32_t i = 0; i < 16; i++)
				fx_tx_cqe(fx, i == at ? type : HW_CQE_TX_OKAY);
			assert_eq(mana_txq_done_cleanup(fx->txq, 0), 16);
			assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
			assert_eq(fx->txq->stats.cqe_error[type - 33], 1);
			assert_eq(error_sum(fx), 1);
			assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
			assert_eq(mana_txq_failure(fx->txq),
				  dead ? MANA_FAILURE_DISABLED : MANA_FAILURE_NONE);
			assert_eq(post(fx, 4), dead ? 0 : 4);
			fx_tx_delete(fx);
		}
}

/*
 * A disabled queue completes nothing: emptying the queue frees the outstanding
 * packets, and bursts accept none.
 */
static void
disabled_queue_accepts_no_packet(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	uint64_t db;

	(void)state;
	assert_eq(post(fx, 20), 20);
	for (uint32_t i = 0; i < 4; i++)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_tx_cqe(fx, HW_CQE_TX_GDMA_ERR);
	db = hw_le64(fx->db_page + HW_DB_SQ);
	for (uint32_t i = 0; i < 10; i++)
		assert_eq(post(fx, 8), 0);
	assert_eq(hw_le64(fx->db_page + HW_DB_SQ), db);
	assert_eq(fx->txq->pi, 20);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 15);
	mana_txq_release_mbufs(fx->txq);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	fx_tx_delete(fx);
}

static void
unknown_type_is_an_error_and_frees(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < 64; type++) {
		struct fx_tx *fx;

		if (type >= HW_CQE_TX_OKAY && type <= HW_CQE_TX_GDMA_ERR)
			continue;
		fx = fx_tx_new(&(struct fx_tx_opts){0});
		assert_eq(post(fx, 2), 2);
		fx_tx_cqe(fx, type);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
		assert_eq(fx->txq->stats.cqe_unknown, 1);
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
		assert_eq(post(fx, 2), 2);
		fx_tx_delete(fx);
	}
}

static void
foreign_cqe_frees_nothing(void **state)
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	assert_eq(post(fx, 3), 3);
	fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	fx_cqe_write(&fx->cq, data, FX_SQ_ID); /* an RQ with the same number */
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_cqe_write(&fx->cq, data, 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx->txq->stats.cqe_foreign, 3);
	assert_eq(mana_txq_nb_posted(fx->txq), 2);
	fx_tx_delete(fx);
}

/* Spurious CQEs are not credited to packets posted later. */
static void
spurious_cqe_frees_nothing(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_tx_cqe(fx, HW_CQE_TX_SA_DROP);
	assert_eq(post(fx, 3), 3);
	assert_eq(fx->txq->stats.cqe_spurious, 2);
	assert_eq(error_sum(fx), 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 3);
	for (uint32_t i = 0; i < 5; i++)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 3);
	assert_eq(fx->txq->stats.cqe_spurious, 4);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	fx_tx_delete(fx);
}

static void
overrun_ends_the_queue(void **state)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };

	(void)state;
	for (uint32_t owner = 2; owner < 8; owner++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

		assert_eq(post(fx, 5), 5);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		fx_cqe_write_owner(&fx->cq, data,
				   FX_SQ_ID | 1u << HW_CQE_IS_SQ_S, owner);
		assert_eq(post(fx, 5), 0);
		assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_OVERRUN);
		assert_eq(fx->txq->stats.cqe_overrun, 1);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 4);
		assert_eq(post(fx, 5), 0);
		assert_eq(fx->txq->stats.cqe_overrun, 1);
		fx_tx_delete(fx);
	}
}

/* The driver ignores the WQE offset of the CQE. */
static void
wqe_offset_is_ignored(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	uint32_t data[15];

	(void)state;
	assert_eq(post(fx, 10), 10);
	for (uint32_t i = 0; i < 10; i++) {
		memset(data, 0x11 * i, sizeof(data));
		data[0] = HW_CQE_TX_OKAY | 0xffffff00;
		fx_cqe_write(&fx->cq, data, FX_SQ_ID |
			     1u << HW_CQE_IS_SQ_S | (i & 0xf) << 25);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	}
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	fx_tx_delete(fx);
}

/* Outstanding WQEs never exceed the CQ; each lap is acknowledged. */
static void
acknowledges_every_lap(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_cqe = 64, .nb_desc = 64 });
	uint32_t last = 64, turn;
	struct hw_doorbell db;

	(void)state;
	for (turn = 0; turn < 60; turn++) {
		assert_eq(post(fx, 1 + turn % 64), 1 + turn % 64);
		fx_tx_complete_all(fx);
		mana_txq_done_cleanup(fx->txq, 0);
		db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
		if (db.id != 0) {
			assert_eq(db.id, FX_TX_CQ_ID);
			assert_false(db.arm);
			assert_eq(db.tail, (fx->txq->cq.ci - 1) & 511);
			last = fx->txq->cq.ci;
			memset(fx->db_page + HW_DB_CQ, 0, 8);
		}
		assert_true(fx->cq.pi - last <= 64);
	}
	fx_tx_delete(fx);
}

static void
cq_smaller_than_the_ring_is_the_limit(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_cqe = 64, .nb_desc = 256 });

	(void)state;
	assert_eq(post(fx, 100), 64);
	assert_eq(post(fx, 1), 0);
	assert_eq(fx_tx_complete_all(fx), 64);
	assert_eq(post(fx, 100), 64);
	fx_tx_delete(fx);
}

/* Freeing packets of one segment reads no mbuf. */
static void
direct_mbufs_are_not_read_again(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[32], saved[32];

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(fx->burst(fx->txq, pkts, 32), 32);
	assert_eq(fx_tx_complete_all(fx), 32);
	/* Poison the mbufs: following their pointers crashes. */
	for (uint32_t i = 0; i < 32; i++) {
		saved[i] = *pkts[i];
		memset(pkts[i], 0xdb, sizeof(*pkts[i]));
	}
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 32);
	for (uint32_t i = 0; i < 32; i++) {
		assert_eq(pkts[i]->nb_segs, 0xdbdb);
		*pkts[i] = saved[i];
	}
	fx_tx_delete(fx);
}

/* CQEs of any bytes, while packets of all kinds are sent. */
static void
any_bytes(void **state)
{
	uint64_t seed = 0x7a57e;
	struct rte_mbuf *pkts[16];

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.sq_bytes = 4096 });

		for (uint32_t i = 0; i < 200; i++) {
			uint32_t data[15], trailer, n, sent;
			uint64_t r = fx_random(&seed);

			for (n = 0; n < 16; n++)
				pkts[n] = fx_chain(fx->mp, 1 + (r >> n) % 35,
						   20, n);
			sent = fx->burst(fx->txq, pkts, r % 16);
			for (n = sent; n < 16; n++)
				rte_pktmbuf_free(pkts[n]);
			for (n = 0; n < (r >> 20 & 7); n++) {
				for (uint32_t w = 0; w < 15; w++)
					data[w] = fx_random(&seed);
				if (r & 1u << 30)
					data[0] = HW_CQE_TX_OKAY + (r >> 40) % 10;
				trailer = FX_SQ_ID | 1u << HW_CQE_IS_SQ_S;
				if (r >> 48 == 0)
					trailer = fx_random(&seed);
				fx_cqe_write(&fx->cq, data, trailer &
					((1u << HW_CQE_OWNER_S) - 1));
			}
			assert_true(mana_txq_nb_posted(fx->txq) <= 64);
			assert_true(fx->txq->sq.pi - fx->txq->sq.ci <= 128);
		}
		fx_tx_delete(fx);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_one_each),
		cmocka_unit_test(cleanup_frees_as_many_as_asked),
		cmocka_unit_test(every_error_at_every_position),
		cmocka_unit_test(disabled_queue_accepts_no_packet),
		cmocka_unit_test(unknown_type_is_an_error_and_frees),
		cmocka_unit_test(foreign_cqe_frees_nothing),
		cmocka_unit_test(spurious_cqe_frees_nothing),
		cmocka_unit_test(overrun_ends_the_queue),
		cmocka_unit_test(wqe_offset_is_ignored),
		cmocka_unit_test(acknowledges_every_lap),
		cmocka_unit_test(cq_smaller_than_the_ring_is_the_limit),
		cmocka_unit_test(direct_mbufs_are_not_read_again),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
