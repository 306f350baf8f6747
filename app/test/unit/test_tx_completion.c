/* SPDX-License-Identifier: BSD-3-Clause */

/* Completions, valid and invalid: which mbufs they free, and when. */

#include "fixture.h"

static uint64_t
error_sum(const struct fx_tx *fx)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < MANA_NB_CQE_TX_ERR; i++)
		sum += fx->txq->stats.cqe_error[i];
	return sum;
}

/* Each CQE frees the oldest packet. */
FX_TX_TEST(in_order_one_each)
{
	assert_eq(fx_tx_post(fx, 50, 1), 50);
	for (uint32_t i = 1; i <= 50; i++) {
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 0);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 1);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
		assert_eq(fx_tx_missing(fx), 50 - i);
	}
}

FX_TX_TEST(cleanup_frees_as_many_as_asked)
{
	assert_eq(fx_tx_post(fx, 20, 1), 20);
	assert_eq(mana_txq_done_cleanup(fx->txq, 5), 0);
	assert_eq(fx_tx_complete_all(fx), 20);
	assert_eq(mana_txq_done_cleanup(fx->txq, 5), 5);
	assert_eq(mana_txq_done_cleanup(fx->txq, 1), 1);
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 14);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 14);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
}

/*
 * Each error type at each position of a burst is counted and freed. Of a disabled queue
 * no later completion is read.
 */
FX_TX_TEST_EACH(every_error_at_every_position, nr, 0,
		(HW_CQE_TX_GDMA_ERR - HW_CQE_TX_SA_DROP + 1) * 16)
{
	const uint32_t type = HW_CQE_TX_SA_DROP + nr / 16, at = nr % 16;
	bool dead = type == HW_CQE_TX_GDMA_ERR;

	assert_eq(fx_tx_post(fx, 16, 1), 16);
	for (uint32_t i = 0; i < 16; i++)
		fx_tx_cqe(fx, i == at ? type : HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), dead ? at + 1 : 16);
	assert_eq(fx_tx_missing(fx), dead ? 15 - at : 0);
	assert_eq(fx->txq->stats.cqe_error[type - 33], 1);
	assert_eq(error_sum(fx), 1);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
	assert_eq(mana_txq_failure(fx->txq),
		  dead ? MANA_FAILURE_DISABLED : MANA_FAILURE_NONE);
	assert_eq(fx_tx_post(fx, 4, 1), dead ? 0 : 4);
	mana_txq_release_mbufs(fx->txq);
}

/*
 * A disabled queue completes nothing: emptying the queue frees the outstanding
 * packets, and bursts accept none.
 */
FX_TX_TEST(disabled_queue_accepts_no_packet)
{
	uint64_t db;

	assert_eq(fx_tx_post(fx, 20, 1), 20);
	fx_tx_complete(fx, 4);
	fx_tx_cqe(fx, HW_CQE_TX_GDMA_ERR);
	db = hw_le64(fx->db_page + HW_DB_SQ);
	for (uint32_t i = 0; i < 10; i++)
		assert_eq(fx_tx_post(fx, 8, 1), 0);
	assert_eq(hw_le64(fx->db_page + HW_DB_SQ), db);
	assert_eq(fx->txq->pi, 20);
	assert_eq(fx_tx_missing(fx), 15);
	mana_txq_release_mbufs(fx->txq);
	assert_eq(fx_tx_missing(fx), 0);
}

/* A packet of two segments, each in a region of its own, whose CQE comes after changes. */
static void
unreadable_packet(uint32_t lkey, uint32_t other_lkey, uint32_t bad)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0), *tail = fx_mbuf(other, 70, 0), *next;
	const uintptr_t addr[2] = {
		rte_pktmbuf_mtod(m, uintptr_t), rte_pktmbuf_mtod(tail, uintptr_t),
	};

	fx_mr_add_pool(other, 0x6001);
	assert_eq(rte_pktmbuf_chain(m, tail), 0);
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	fx_mr_clear();
	fx_mr_add_pool(fx->mp, lkey);
	if (other_lkey != 0)
		fx_mr_add_pool(other, other_lkey);
	/* Registers both; each burst follows the changes before it. */
	for (uint32_t i = 0; i < 3; i++) {
		next = fx_mbuf(i == 1 ? other : fx->mp, 60, 0);
		assert_eq(fx->burst(fx->txq, &next, 1), 1);
	}
	assert_eq(fx->txq->stats.drop_mr, other_lkey == 0);
	fx_tx_cqe(fx, HW_CQE_TX_GDMA_ERR);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_DISABLED);
	assert_eq(fx->txq->bad_buf.addr, addr[bad]);
	assert_eq(fx->txq->bad_buf.len_bytes, bad == 0 ? 60 : 70);
	assert_string_equal(fx->txq->bad_buf.mempool, fx->mp->name);
	mana_txq_release_mbufs(fx->txq);
	assert_eq(fx_pool_missing(other, 63), 0);
	fx_tx_delete(fx);
	fx_pool_free(other);
}

/* The queue records the segment whose key is not valid, else the first one. */
TEST(unreadable_packet_is_recorded)
{
	unreadable_packet(0x2001, 0x6001, 0);
	unreadable_packet(0x2001, 0, 1);
	unreadable_packet(0x2001, 0x6101, 1);
	unreadable_packet(0x2101, 0x6001, 0);
	unreadable_packet(0x2101, 0x6101, 0);
}

/* The application's own mbuf, of which it keeps a reference. */
FX_TX_TEST(unreadable_packet_of_no_pool)
{
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0);

	rte_mbuf_refcnt_update(m, 1);
	m->pool = NULL;
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	fx_tx_cqe(fx, HW_CQE_TX_GDMA_ERR);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_DISABLED);
	assert_eq(fx->txq->bad_buf.addr, rte_pktmbuf_mtod(m, uintptr_t));
	assert_string_equal(fx->txq->bad_buf.mempool, "");
	assert_eq(rte_mbuf_refcnt_read(m), 1);
	m->pool = fx->mp;
	rte_pktmbuf_free(m);
}

FX_TX_TEST_EACH(unknown_type_is_an_error_and_frees, type, 0, 64)
{
	if (type >= HW_CQE_TX_OKAY && type <= HW_CQE_TX_GDMA_ERR)
		return;
	assert_eq(fx_tx_post(fx, 2, 1), 2);
	fx_tx_cqe(fx, type);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx->txq->stats.cqe_unknown, 1);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
	assert_eq(fx_tx_post(fx, 2, 1), 2);
}

FX_TX_TEST(foreign_cqe_frees_nothing)
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};

	assert_eq(fx_tx_post(fx, 3, 1), 3);
	fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	fx_cqe_write(&fx->cq, data, FX_SQ_ID); /* an RQ with the same number */
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_cqe_write(&fx->cq, data, 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx->txq->stats.cqe_foreign, 3);
	assert_eq(mana_txq_nb_posted(fx->txq), 2);
}

/* A burst reads no more than the ring holds, however many CQEs follow. */
FX_TX_TEST(lap_of_foreign_cqes, .nb_cqe = 64)
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};

	assert_eq(fx_tx_post(fx, 3, 1), 3);
	for (uint32_t i = 0; i < 64; i++)
		fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx->txq->stats.cqe_foreign, 64);
	fx_tx_complete_all(fx);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 3);
	assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_NONE);
}

/* Spurious CQEs are not credited to packets posted later. */
FX_TX_TEST(spurious_cqe_frees_nothing)
{
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_tx_cqe(fx, HW_CQE_TX_SA_DROP);
	assert_eq(fx_tx_post(fx, 3, 1), 3);
	assert_eq(fx->txq->stats.cqe_spurious, 2);
	assert_eq(error_sum(fx), 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 3);
	fx_tx_complete(fx, 5);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 3);
	assert_eq(fx->txq->stats.cqe_spurious, 4);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
}

FX_TX_TEST_EACH(overrun_ends_the_queue, owner, 2, 8)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };

	assert_eq(fx_tx_post(fx, 5, 1), 5);
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	fx_cqe_write_owner(&fx->cq, data,
			   FX_SQ_ID | 1u << HW_CQE_IS_SQ_S, owner);
	assert_eq(fx_tx_post(fx, 5, 1), 0);
	assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_OVERRUN);
	assert_eq(fx->txq->stats.cqe_overrun, 1);
	assert_eq(fx_tx_missing(fx), 4);
	assert_eq(fx_tx_post(fx, 5, 1), 0);
	assert_eq(fx->txq->stats.cqe_overrun, 1);
}

/* The driver ignores the WQE offset of the CQE. */
FX_TX_TEST(wqe_offset_is_ignored)
{
	uint32_t data[15];

	assert_eq(fx_tx_post(fx, 10, 1), 10);
	for (uint32_t i = 0; i < 10; i++) {
		memset(data, 0x11 * i, sizeof(data));
		data[0] = HW_CQE_TX_OKAY | 0xffffff00;
		fx_cqe_write(&fx->cq, data, FX_SQ_ID |
			     1u << HW_CQE_IS_SQ_S | (i & 0xf) << 25);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	}
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
}

/* Outstanding WQEs never exceed the CQ; each lap is acknowledged. */
FX_TX_TEST(acknowledges_every_lap, .nb_cqe = 64, .nb_desc = 64)
{
	uint32_t last = 64, turn;
	struct hw_doorbell db;

	for (turn = 0; turn < 60; turn++) {
		assert_eq(fx_tx_post(fx, 1 + turn % 64, 1), 1 + turn % 64);
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
}

FX_TX_TEST(cq_smaller_than_the_ring_is_the_limit, .nb_cqe = 64, .nb_desc = 256)
{
	assert_eq(fx_tx_post(fx, 100, 1), 64);
	assert_eq(fx_tx_post(fx, 1, 1), 0);
	assert_eq(fx_tx_complete_all(fx), 64);
	assert_eq(fx_tx_post(fx, 100, 1), 64);
}

/* Freeing packets of one segment reads no mbuf. */
FX_TX_TEST(direct_mbufs_are_not_read_again)
{
	struct rte_mbuf *pkts[32], saved[32];

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
}

/* CQEs of any bytes, while packets of all kinds are sent. */
FX_TX_TEST_EACH(any_bytes, round, 0, 200, .sq_bytes = 4096)
{
	static uint64_t seed = 0x7a57e;
	struct rte_mbuf *pkts[16];

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
}
