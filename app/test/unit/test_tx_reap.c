/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When a burst polls the CQ: not always, but often enough that no ring stalls,
 * that completed packets are freed within REAP_EVERY packets, and that the next
 * poll of an idle queue frees them all.
 */

#include "fixture.h"

#define REAP_EVERY 32u

/* Outstanding BUs; packets, if each has one. */
static uint32_t
nb_out(const struct fx_tx *fx)
{
	return fx->txq->sq.pi - fx->done_bu;
}

static void
complete(struct fx_tx *fx, uint32_t nb)
{
	while (nb-- > 0)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
}

static struct fx_tx *
fx_with_groups(uint32_t nb_desc, uint32_t start)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_desc = nb_desc, .nb_cqe = 256, .start = start });

	fx_tx_pass_offset_check(fx);
	return fx;
}

/* WQE offsets are never right: every packet asks for a CQE. */
static struct fx_tx *
fx_without_groups(uint32_t nb_desc, uint32_t start)
{
	return fx_tx_new(&(struct fx_tx_opts){
		.nb_desc = nb_desc, .nb_cqe = 256, .start = start,
		.zero_position = true });
}

/* The device lags by a fixed number of packets. */
static void
lag_behind(struct fx_tx *fx, uint32_t lag, uint32_t size)
{
	bool has_groups = fx->txq->offset_check == MANA_TX_OFFSET_RIGHT;
	uint32_t most = 0;

	for (uint32_t turn = 0; turn < 1000; turn++) {
		assert_eq(fx_tx_post(fx, size, 1), size);
		most = RTE_MAX(most, mana_txq_nb_done(fx->txq, UINT32_MAX));
		if (nb_out(fx) > lag)
			complete(fx, nb_out(fx) - lag);
	}
	assert_true(most <= REAP_EVERY);
	/* Reaping was deferred, as intended. */
	assert_true(size > (has_groups ? REAP_EVERY / 3 : 1) || most > size);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	assert_eq(fx->txq->offset_check, has_groups ? MANA_TX_OFFSET_RIGHT :
						MANA_TX_OFFSET_UNUSED);
	fx_tx_delete(fx);
}

TEST(few_completed_packets_are_held)
{
	for (uint32_t size = 1; size <= 64; size += 1 + size / 4)
		for (uint32_t lag = 1; lag < 128; lag += 31) {
			lag_behind(fx_with_groups(256, 0), lag, size);
			lag_behind(fx_with_groups(256, 0xfffffe00 + lag), lag, size);
			lag_behind(fx_without_groups(256, 0xfffffe00 + lag), lag, size);
		}
}

/* Many packets complete, but not the newest: all are freed soon. */
TEST(completed_packets_are_freed_soon)
{
	for (uint32_t size = 1; size <= 64; size += 1 + size / 4) {
		struct fx_tx *fx = fx_with_groups(256, 0xffffff80);
		uint32_t nb = 0;

		while (mana_txq_nb_posted(fx->txq) + 2 * size <= 200)
			assert_eq(fx_tx_post(fx, size, 1), size);
		do {
			complete(fx, nb_out(fx) - 1);
			assert_eq(fx_tx_post(fx, size, 1), size);
			nb += size;
			assert_true(nb <= REAP_EVERY + size);
		} while (fx_tx_missing(fx) > 2 * size);
		fx_tx_delete(fx);
	}
}

/* All packets have completed: one poll frees them, even without packets. */
TEST(idle_queue_frees_all)
{
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t nb = 1; nb < 100; nb++) {
			uint32_t start = (kind & 1) * 0xffffffc0;
			struct fx_tx *fx = kind < 2 ? fx_with_groups(256, start) :
							fx_without_groups(256, start);

			for (uint32_t turn = 0; turn < 8; turn++) {
				uint32_t held = turn % 4;

				for (uint32_t i = 0; i < nb; i++)
					assert_eq(fx_tx_post(fx, 1, 1), 1);
				complete(fx, nb_out(fx));
				assert_eq(fx_tx_post(fx, held, 1), held);
				assert_eq(fx_tx_missing(fx), held);
			}
			fx_tx_delete(fx);
		}
}

/* The same with unrequested CQEs before and between them. */
TEST(idle_queue_frees_all_after_unrequested_cqes)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };

	for (uint32_t at = 0; at < 20; at++)
		for (uint32_t kind = 0; kind < 3; kind++) {
			struct fx_tx *fx = fx_with_groups(256, 0);

			for (uint32_t i = 0; i < 10; i++)
				assert_eq(fx_tx_post(fx, 2, 1), 2);
			for (uint32_t i = 0; i < 20; i++) {
				if (i == at && kind == 0)
					fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) |
						     1u << HW_CQE_IS_SQ_S);
				fx_tx_cqe(fx, i == at && kind == 1 ?
					  HW_CQE_TX_SA_DROP : HW_CQE_TX_OKAY);
			}
			if (kind == 2)
				fx_cqe_write(&fx->cq, data, FX_SQ_ID);
			assert_eq(fx_tx_post(fx, 1, 1), 1);
			assert_eq(fx_tx_missing(fx), 1);
			assert_eq(mana_txq_stats_errors(&fx->txq->stats), kind == 1);
			assert_eq(fx->txq->stats.cqe_foreign, kind != 1);
			fx_tx_delete(fx);
		}
}

/*
 * The same after the CQE of a group was taken for another one's: it may never
 * come, and the driver polls without waiting for it.
 */
TEST(idle_queue_frees_all_that_is_resolved)
{
	for (uint32_t nb = 2; nb < 40; nb++) {
		struct fx_tx *fx = fx_with_groups(256, 0xfffffe10);

		assert_eq(fx_tx_post(fx, nb, 1), nb);
		fx->zero_position = true;
		complete(fx, nb - 1);
		fx_tx_cqe(fx, HW_CQE_TX_MTU_DROP);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
		assert_eq(fx_tx_missing(fx), nb - 1);
		for (uint32_t turn = 0; turn < 10; turn++) {
			for (uint32_t i = 0; i < 10; i++)
				assert_eq(fx_tx_post(fx, 1, 1), 1);
			complete(fx, 10);
			assert_eq(fx_tx_post(fx, 1, 1), 1);
			/* Unresolved packets of the first group. */
			assert_eq(fx_tx_missing(fx), 1 + nb - 1);
			complete(fx, 1);
		}
		fx->zero_position = false;
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		complete(fx, 1);
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(fx_tx_missing(fx), 1);
		fx_tx_delete(fx);
	}
}

/* tx_done_cleanup frees completed packets at once, some or all. */
TEST(cleanup_frees_at_once)
{
	struct fx_tx *fx = fx_with_groups(256, 0);

	for (uint32_t turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 20; i++)
			assert_eq(fx_tx_post(fx, 1, 1), 1);
		complete(fx, 15);
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), fx_tx_missing(fx) - 5);
		assert_eq(mana_txq_done_cleanup(fx->txq, 1), 1);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx_tx_missing(fx), 5);
		assert_eq(fx->txq->batch_space, 0);
		/* Bursts continue as after a poll of the CQ. */
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(fx_tx_missing(fx), 6);
		complete(fx, 6);
		assert_eq(fx_tx_post(fx, 0, 1), 0);
		assert_eq(fx_tx_missing(fx), 0);
	}
	fx_tx_delete(fx);
}

/* A full ring takes packets as soon as it has room, at any place. */
TEST(full_ring_accepts_what_fits)
{
	for (uint32_t size = 1; size <= 64; size++) {
		struct fx_tx *fx = fx_with_groups(64, 0xffffff00);

		for (uint32_t turn = 0; turn < 30; turn++) {
			while (nb_out(fx) < 64)
				assert_eq(fx_tx_post(fx, 1, 1), 1);
			assert_eq(fx_tx_post(fx, 1, 1), 0);
			complete(fx, size);
			assert_eq(fx_tx_post(fx, size, 1), size);
			assert_eq(fx_tx_missing(fx), 64);
			assert_eq(fx_tx_post(fx, 1, 1), 0);
			complete(fx, 64);
			assert_eq(fx_tx_post(fx, turn * 2, 1), turn * 2);
			assert_eq(fx_tx_missing(fx), turn * 2);
			complete(fx, turn * 2);
		}
		fx_tx_delete(fx);
	}
}

/* The largest burst takes what fits, and touches no later packet. */
TEST(burst_of_any_size)
{
	static struct rte_mbuf *pkts[UINT16_MAX];

	for (uint32_t kind = 0; kind < 4; kind++) {
		uint32_t start = kind & 1 ? 0xffffff80 : 0;
		struct fx_tx *fx = kind < 2 ? fx_with_groups(256, start) :
						fx_without_groups(256, start);

		for (uint32_t held = 0; held < 300; held += 1 + held / 3) {
			uint32_t done = held / 2, left;

			for (uint32_t i = 0; i < held % 256; i++)
				assert_eq(fx_tx_post(fx, 1, 1), 1);
			done = RTE_MIN(done, nb_out(fx));
			left = nb_out(fx) - done;
			complete(fx, done);
			for (uint32_t i = 0; i < 256 - left; i++)
				pkts[i] = fx_mbuf(fx->mp, 60, i);
			assert_eq(fx->burst(fx->txq, pkts, UINT16_MAX), 256 - left);
			memset(pkts, 0, sizeof(pkts));
			assert_eq(fx_tx_missing(fx), 256);
			complete(fx, 256);
			assert_eq(fx->burst(fx->txq, NULL, 0), 0);
			assert_eq(fx_tx_missing(fx), 0);
		}
		fx_tx_delete(fx);
	}
}

/* Small rings: completed packets make room when it is needed. */
TEST(small_rings_never_stall)
{
	const uint32_t sizes[] = { 1, 2, 3, 8, 33, 64 };

	for (uint32_t s = 0; s < RTE_DIM(sizes); s++)
		for (uint32_t lag = 0; lag < sizes[s]; lag += 1 + sizes[s] / 4) {
			struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
				.nb_desc = sizes[s], .nb_cqe = 64,
				.sq_bytes = 4096, .start = 0xfffffe00,
				.zero_position = lag % 2 != 0 });

			for (uint32_t turn = 0; turn < 1000; turn++) {
				assert_eq(fx_tx_post(fx, 1, 1), 1);
				if (nb_out(fx) > lag)
					complete(fx, nb_out(fx) - lag);
			}
			assert_eq(fx->txq->pi - 0xfffffe00, 1000);
			assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
			fx_tx_delete(fx);
		}
}

/* Remaining room is void after a close and after a restart. */
TEST(closed_queue_accepts_no_packet)
{
	struct fx_tx *fx = fx_with_groups(64, 0);

	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < 5 + turn; i++)
			assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_true(fx->txq->batch_space != 0);
		mana_txq_close(fx->txq);
		assert_eq(fx_tx_post(fx, 1, 1), 0);
		assert_eq(fx_tx_post(fx, 20, 1), 0);
		mana_txq_release_mbufs(fx->txq);
		assert_eq(fx_tx_missing(fx), 0);
		fx_tx_restart(fx);
		assert_eq(fx->txq->batch_space, 0);
		fx_tx_pass_offset_check(fx);
	}
	fx_tx_delete(fx);
}

/* A failed queue takes no more packets than before the next CQ poll. */
TEST(failed_queue_accepts_no_packet)
{
	for (uint32_t kind = 0; kind < 3; kind++) {
		struct fx_tx *fx = fx_with_groups(256, 0);
		uint32_t nb = 0, i;

		for (i = 0; i < 10; i++)
			assert_eq(fx_tx_post(fx, 1, 1), 1);
		complete(fx, 4);
		fx_tx_cqe(fx, HW_CQE_TX_GDMA_ERR);
		if (kind == 0)
			assert_eq(mana_txq_done_cleanup(fx->txq, 0), 5);
		else if (kind == 1)
			assert_eq(fx_tx_post(fx, 0, 1), 0);
		for (i = 0; i < 100; i++)
			nb += fx_tx_post(fx, 1, 1);
		assert_true(nb <= (kind == 2 ? REAP_EVERY : 0));
		assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_DISABLED);
		assert_eq(fx_tx_missing(fx), 5 + nb);
		fx_tx_delete(fx);
	}
}

/* Trust ends while a poll is deferred: each packet then asks for a CQE. */
TEST(wrong_offset_ends_deferral)
{
	static struct fx_tx_wqe wqe;
	struct fx_tx *fx = fx_with_groups(256, 0);

	for (uint32_t i = 0; i < 10; i++)
		assert_eq(fx_tx_post(fx, 1, 1), 1);
	assert_true(fx_tx_silent(fx));
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, fx->done_bu + 100);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_WRONG);
	assert_eq(fx_tx_post(fx, 10, 1), 10);
	while (fx_tx_fetch(fx, &wqe))
		assert_false(wqe.oob.suppress);
	complete(fx, 19);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(fx_tx_missing(fx), 0);
	fx_tx_delete(fx);
}

/* An error among deferred completions is found and counted. */
TEST(error_among_deferred_cqes_is_counted)
{
	for (uint32_t at = 0; at < 30; at++) {
		struct fx_tx *fx = fx_with_groups(256, at * 0x0fffffff);

		for (uint32_t i = 0; i < 31; i++)
			assert_eq(fx_tx_post(fx, 1, 1), 1);
		for (uint32_t i = 0; i < 30; i++)
			fx_tx_cqe(fx, i == at ? HW_CQE_TX_MTU_DROP :
						  HW_CQE_TX_OKAY);
		for (uint32_t i = 0; i < REAP_EVERY; i++)
			assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(fx_tx_missing(fx), 1 + REAP_EVERY);
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
		assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
		complete(fx, nb_out(fx));
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(fx_tx_missing(fx), 1);
		fx_tx_delete(fx);
	}
}

/*
 * The same with batches of one packet, over ring entries that chains have left.
 * Each completion frees its own packet.
 */
TEST(error_among_batches_of_one_is_counted)
{
	for (uint32_t at = 0; at < 40; at++) {
		struct fx_tx *fx = at % 2 ? fx_with_groups(64, 0xffffff40) :
					      fx_without_groups(64, 0xffffff40);
		uint32_t held = 0;

		for (uint32_t i = 0; i < 64; i++) {
			assert_eq(fx_tx_post(fx, 1, 3), 1);
			fx_tx_complete_all(fx);
		}
		assert_eq(fx_tx_post(fx, 0, 1), 0);
		assert_eq(fx_tx_missing(fx), 0);
		for (uint32_t i = 0; i < 20; i++) {
			assert_eq(fx_tx_post(fx, 1, i % 3 == 1 ? 3 : 1), 1);
			held += i % 3 == 1 ? 3 : 1;
		}
		for (uint32_t i = 0; i < 20; i++) {
			fx_tx_cqe(fx, i == at / 2 ? HW_CQE_TX_MTU_DROP :
						      HW_CQE_TX_OKAY);
			assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 1);
			assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
			held -= i % 3 == 1 ? 3 : 1;
			assert_eq(fx_tx_missing(fx), held);
		}
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
		assert_eq(fx->txq->stats.cqe_spurious, 0);
		fx_tx_delete(fx);
	}
}

/* The room suffices for small packets; a large one makes the burst poll. */
TEST(large_packet_makes_burst_poll)
{
	static struct fx_tx_wqe wqe;

	for (uint32_t nb_first = 0; nb_first < 3; nb_first++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.sq_bytes = 4096 });
		struct rte_mbuf *pkts[3];
		uint32_t i;

		fx_tx_pass_offset_check(fx);
		/* Up to the start of the ring. */
		while (fx->txq->sq.pi % 128 != 0) {
			assert_eq(fx_tx_post(fx, 1, 1), 1);
			assert_eq(fx_tx_complete_all(fx), 1);
		}
		assert_eq(fx_tx_post(fx, 7, 30), 7);
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_true(fx->txq->batch_space > nb_first);
		while (fx_tx_fetch(fx, &wqe))
			;
		for (i = 0; i < 7; i++)
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		for (i = 0; i < nb_first; i++)
			pkts[i] = fx_mbuf(fx->mp, 60, i);
		pkts[i] = fx_chain(fx->mp, 30, 60, i);
		assert_eq(fx->burst(fx->txq, pkts, nb_first + 1), nb_first + 1);
		assert_eq(fx_tx_missing(fx), 1 + nb_first + 30);
		while (fx_tx_fetch(fx, &wqe))
			;
		while (nb_out(fx) != 0)
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(fx_tx_post(fx, 0, 1), 0);
		assert_eq(fx_tx_missing(fx), 0);
		fx_tx_delete(fx);
	}
}

/* Deferred completions never exceed a lap since the CQ doorbell. */
TEST(doorbell_in_each_lap)
{
	for (uint32_t lag = 0; lag < 64; lag += 7) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.nb_cqe = 64, .nb_desc = 64 });
		uint32_t rung = fx->cq.pi, most = 0;

		fx_tx_pass_offset_check(fx);
		for (uint32_t turn = 0; turn < 2000; turn++) {
			struct hw_doorbell db;

			assert_eq(fx_tx_post(fx, 1, 1), 1);
			db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
			if (db.id != 0)
				rung += (db.tail - rung) & (64 * 8 - 1);
			most = RTE_MAX(most, fx->cq.pi - rung);
			if (nb_out(fx) > lag)
				complete(fx, nb_out(fx) - lag);
		}
		/* Half a lap, the deferred ones, and one. */
		assert_true(most <= 32 + REAP_EVERY + 1);
		fx_tx_delete(fx);
	}
}

/* A paused queue accepts and frees nothing, and its rings cannot be locked for reading. */
TEST(paused_queue_is_left_alone)
{
	struct fx_tx *fx = fx_with_groups(256, 0);

	assert_eq(fx_tx_post(fx, 20, 1), 20);
	complete(fx, 20);
	fx->txq->runs = false;
	assert_eq(fx_tx_post(fx, 1, 1), 0);
	assert_eq(fx_tx_post(fx, 0, 1), 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx_tx_missing(fx), 20);
	assert_eq(fx->txq->is_busy, 0);
	assert_false(mana_txq_lock(fx->txq));
	assert_false(mana_txq_trylock(fx->txq));
	fx->txq->runs = true;
	assert_true(mana_txq_lock(fx->txq));
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 20);
	mana_query_unlock(&fx->txq->query_lock);
	assert_eq(fx_tx_post(fx, 1, 1), 1);
	assert_eq(fx_tx_missing(fx), 1);
	complete(fx, 1);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx_tx_post(fx, 1, 1), 1);
	complete(fx, 1);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx_tx_post(fx, 1, 1), 1);
	complete(fx, 1);
	assert_true(mana_txq_trylock(fx->txq));
	assert_false(mana_txq_trylock(fx->txq));
	mana_query_unlock(&fx->txq->query_lock);
	fx->txq->runs = false;
	assert_non_null(mana_tx_burst_name(mana_tx_burst));
	assert_null(mana_tx_burst_name(NULL));
	/* The control path frees them before a stop. */
	assert_eq(mana_txq_settle(fx->txq, 0), 1);
	assert_eq(fx_tx_missing(fx), 0);
	fx_tx_delete(fx);
}

/*
 * A burst or a cleanup of a paused queue frees what an old SQ had, but not while the queue
 * is that of another process.
 */
TEST(old_mbufs_wait_for_their_process)
{
	struct fx_tx *fx = fx_with_groups(256, 0);

	assert_eq(fx_tx_post(fx, 20, 1), 20);
	fx->txq->runs = false;
	mana_txq_keep_mbufs(fx->txq);
	mana_atomic_store(&fx->txq->user, 1);
	assert_eq(fx_tx_post(fx, 1, 1), 0);
	assert_eq(fx_tx_post(fx, 0, 1), 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx_tx_missing(fx), 20);
	mana_atomic_store(&fx->txq->user, 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 5), 5);
	assert_eq(fx_tx_missing(fx), 15);
	assert_eq(fx_tx_post(fx, 0, 1), 0);
	assert_eq(fx_tx_missing(fx), 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	fx->txq->runs = true;
	fx_tx_restart(fx);
	assert_eq(fx_tx_post(fx, 3, 1), 3);
	assert_eq(fx_tx_missing(fx), 3);
	fx_tx_delete(fx);
}
