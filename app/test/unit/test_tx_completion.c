/* SPDX-License-Identifier: BSD-3-Clause */

/* Completions, good, bad and impossible: what is freed, and when. */

#include "bed.h"

static uint16_t
post(struct bed_tx *bed, uint32_t nb)
{
	struct rte_mbuf *pkts[128];
	uint16_t sent;

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = bed_mbuf(bed->mp, 60, i);
	sent = bed->burst(bed->txq, pkts, nb);
	for (uint32_t i = sent; i < nb; i++)
		rte_pktmbuf_free(pkts[i]);
	return sent;
}

static uint64_t
error_sum(const struct bed_tx *bed)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < MANA_NB_CQE_TX_ERR; i++)
		sum += bed->txq->stats.cqe_error[i];
	return sum;
}

/* Each CQE frees one packet, the oldest. */
static void
in_order_one_each(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	assert_eq(post(bed, 50), 50);
	for (uint32_t i = 1; i <= 50; i++) {
		assert_eq(mana_txq_nb_done(bed->txq), 0);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_nb_done(bed->txq), 1);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 50 - i);
	}
	bed_tx_delete(bed);
}

static void
cleanup_frees_as_many_as_asked(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	assert_eq(post(bed, 20), 20);
	assert_eq(mana_txq_done_cleanup(bed->txq, 5), 0);
	assert_eq(bed_tx_complete_all(bed), 20);
	assert_eq(mana_txq_done_cleanup(bed->txq, 5), 5);
	assert_eq(mana_txq_done_cleanup(bed->txq, 1), 1);
	assert_eq(mana_txq_nb_done(bed->txq), 14);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 14);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 0);
	bed_tx_delete(bed);
}

/* Every error type at every position of a burst: counted, freed, going on. */
static void
every_error_at_every_position(void **state)
{
	(void)state;
	for (uint32_t type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++)
		for (uint32_t at = 0; at < 16; at++) {
			struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
			bool dead = type == HW_CQE_TX_GDMA_ERR;

			assert_eq(post(bed, 16), 16);
			for (uint32_t i = 0; i < 16; i++)
				bed_tx_cqe(bed, i == at ? type : HW_CQE_TX_OKAY);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), 16);
			assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
			assert_eq(bed->txq->stats.cqe_error[type - 33], 1);
			assert_eq(error_sum(bed), 1);
			assert_eq(mana_txq_errors(bed->txq), 1);
			assert_eq(bed->txq->fate,
				  dead ? MANA_QUEUE_DISABLED : MANA_QUEUE_ALIVE);
			assert_eq(post(bed, 4), dead ? 0 : 4);
			bed_tx_delete(bed);
		}
}

/*
 * A disabled queue completes nothing more: what is outstanding is freed when
 * the queue is emptied, what is offered stays with the caller.
 */
static void
disabled_queue_takes_nothing(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	uint64_t db;

	(void)state;
	assert_eq(post(bed, 20), 20);
	for (uint32_t i = 0; i < 4; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	bed_tx_cqe(bed, HW_CQE_TX_GDMA_ERR);
	db = hw_le64(bed->db_page + HW_DB_SQ);
	for (uint32_t i = 0; i < 10; i++)
		assert_eq(post(bed, 8), 0);
	assert_eq(hw_le64(bed->db_page + HW_DB_SQ), db);
	assert_eq(mana_txq_packets(bed->txq), 20);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 15);
	mana_txq_release_mbufs(bed->txq);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
	bed_tx_delete(bed);
}

static void
unknown_type_is_an_error_and_frees(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < 64; type++) {
		struct bed_tx *bed;

		if (type >= HW_CQE_TX_OKAY && type <= HW_CQE_TX_GDMA_ERR)
			continue;
		bed = bed_tx_new(&(struct bed_tx_opts){0});
		assert_eq(post(bed, 2), 2);
		bed_tx_cqe(bed, type);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
		assert_eq(bed->txq->stats.cqe_unknown, 1);
		assert_eq(mana_txq_errors(bed->txq), 1);
		assert_eq(post(bed, 2), 2);
		bed_tx_delete(bed);
	}
}

static void
foreign_cqe_frees_nothing(void **state)
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	assert_eq(post(bed, 3), 3);
	bed_cqe_write(&bed->cq, data, (BED_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	bed_cqe_write(&bed->cq, data, BED_SQ_ID); /* an RQ of that number */
	bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	bed_cqe_write(&bed->cq, data, 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
	assert_eq(bed->txq->stats.cqe_foreign, 3);
	assert_eq(mana_txq_nb_posted(bed->txq), 2);
	bed_tx_delete(bed);
}

/* Too many CQEs: none is saved up against a packet posted later. */
static void
spurious_cqe_frees_nothing(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	bed_tx_cqe(bed, HW_CQE_TX_SA_DROP);
	assert_eq(post(bed, 3), 3);
	assert_eq(bed->txq->stats.cqe_spurious, 2);
	assert_eq(error_sum(bed), 0);
	assert_eq(mana_txq_nb_posted(bed->txq), 3);
	for (uint32_t i = 0; i < 5; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 3);
	assert_eq(bed->txq->stats.cqe_spurious, 4);
	assert_eq(mana_txq_nb_posted(bed->txq), 0);
	bed_tx_delete(bed);
}

static void
overrun_ends_the_queue(void **state)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };

	(void)state;
	for (uint32_t owner = 2; owner < 8; owner++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

		assert_eq(post(bed, 5), 5);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		bed_cqe_write_owner(&bed->cq, data,
				    BED_SQ_ID | 1u << HW_CQE_IS_SQ_S, owner);
		assert_eq(post(bed, 5), 0);
		assert_eq(bed->txq->fate, MANA_QUEUE_OVERRUN);
		assert_eq(bed->txq->stats.cqe_overrun, 1);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 4);
		assert_eq(post(bed, 5), 0);
		assert_eq(bed->txq->stats.cqe_overrun, 1);
		bed_tx_delete(bed);
	}
}

/* The offset in the CQE may be anything: it is not looked at. */
static void
wqe_offset_is_ignored(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	uint32_t data[15];

	(void)state;
	assert_eq(post(bed, 10), 10);
	for (uint32_t i = 0; i < 10; i++) {
		memset(data, 0x11 * i, sizeof(data));
		data[0] = HW_CQE_TX_OKAY | 0xffffff00;
		bed_cqe_write(&bed->cq, data, BED_SQ_ID |
			      1u << HW_CQE_IS_SQ_S | (i & 0xf) << 25);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
	}
	assert_eq(mana_txq_errors(bed->txq), 0);
	bed_tx_delete(bed);
}

/* Outstanding WQEs never exceed the CQ; each lap is acknowledged. */
static void
acknowledges_every_lap(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_cqe = 64, .nb_desc = 64 });
	uint32_t last = 64, turn;
	struct hw_doorbell db;

	(void)state;
	for (turn = 0; turn < 60; turn++) {
		assert_eq(post(bed, 1 + turn % 64), 1 + turn % 64);
		bed_tx_complete_all(bed);
		mana_txq_done_cleanup(bed->txq, 0);
		db = hw_doorbell_read(hw_le64(bed->db_page + HW_DB_CQ), true);
		if (db.id != 0) {
			assert_eq(db.id, BED_TX_CQ_ID);
			assert_false(db.arm);
			assert_eq(db.tail, (bed->txq->cq.ci - 1) & 511);
			last = bed->txq->cq.ci;
			memset(bed->db_page + HW_DB_CQ, 0, 8);
		}
		assert_true(bed->cq.pi - last <= 64);
	}
	bed_tx_delete(bed);
}

static void
cq_smaller_than_the_ring_is_the_limit(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_cqe = 64, .nb_desc = 256 });

	(void)state;
	assert_eq(post(bed, 100), 64);
	assert_eq(post(bed, 1), 0);
	assert_eq(bed_tx_complete_all(bed), 64);
	assert_eq(post(bed, 100), 64);
	bed_tx_delete(bed);
}

/* The one-segment path looks at no mbuf when it frees. */
static void
plain_mbufs_are_not_touched_again(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[32], saved[32];

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		pkts[i] = bed_mbuf(bed->mp, 60, i);
	assert_eq(bed->burst(bed->txq, pkts, 32), 32);
	assert_eq(bed_tx_complete_all(bed), 32);
	/* Poison: whoever follows these pointers now does not come back. */
	for (uint32_t i = 0; i < 32; i++) {
		saved[i] = *pkts[i];
		memset(pkts[i], 0xdb, sizeof(*pkts[i]));
	}
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 32);
	for (uint32_t i = 0; i < 32; i++) {
		assert_eq(pkts[i]->nb_segs, 0xdbdb);
		*pkts[i] = saved[i];
	}
	bed_tx_delete(bed);
}

static uint64_t
random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Any bytes at all, while packets of all kinds go out. */
static void
any_bytes(void **state)
{
	uint64_t seed = 0x7a57e;
	struct rte_mbuf *pkts[16];

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.sq_bytes = 4096 });

		for (uint32_t i = 0; i < 200; i++) {
			uint32_t data[15], trailer, n, sent;
			uint64_t r = random_next(&seed);

			for (n = 0; n < 16; n++)
				pkts[n] = bed_chain(bed->mp, 1 + (r >> n) % 35,
						    20, n);
			sent = bed->burst(bed->txq, pkts, r % 16);
			for (n = sent; n < 16; n++)
				rte_pktmbuf_free(pkts[n]);
			for (n = 0; n < (r >> 20 & 7); n++) {
				for (uint32_t w = 0; w < 15; w++)
					data[w] = random_next(&seed);
				if (r & 1u << 30)
					data[0] = HW_CQE_TX_OKAY + (r >> 40) % 10;
				trailer = BED_SQ_ID | 1u << HW_CQE_IS_SQ_S;
				if (r >> 48 == 0)
					trailer = random_next(&seed);
				bed_cqe_write(&bed->cq, data, trailer &
					((1u << HW_CQE_OWNER_S) - 1));
			}
			assert_true(mana_txq_nb_posted(bed->txq) <= 64);
			assert_true(mana_wq_used_bu(&bed->txq->sq) <= 128);
		}
		bed_tx_delete(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_one_each),
		cmocka_unit_test(cleanup_frees_as_many_as_asked),
		cmocka_unit_test(every_error_at_every_position),
		cmocka_unit_test(disabled_queue_takes_nothing),
		cmocka_unit_test(unknown_type_is_an_error_and_frees),
		cmocka_unit_test(foreign_cqe_frees_nothing),
		cmocka_unit_test(spurious_cqe_frees_nothing),
		cmocka_unit_test(overrun_ends_the_queue),
		cmocka_unit_test(wqe_offset_is_ignored),
		cmocka_unit_test(acknowledges_every_lap),
		cmocka_unit_test(cq_smaller_than_the_ring_is_the_limit),
		cmocka_unit_test(plain_mbufs_are_not_touched_again),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
