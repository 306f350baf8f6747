/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When completions are looked at: not in each burst, but soon enough that a ring
 * never stalls, that what has completed is held while no more than REAP_EVERY
 * packets are sent, and that a queue which falls idle holds nothing behind the
 * next poll.
 */

#include "bed.h"

#define REAP_EVERY 32u

static uint16_t
post_chains(struct bed_tx *bed, uint32_t nb, uint32_t nb_segs)
{
	struct rte_mbuf *pkts[256];
	uint16_t sent;

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = bed_chain(bed->mp, nb_segs, 60, i);
	sent = bed->burst(bed->txq, pkts, nb);
	rte_pktmbuf_free_bulk(pkts + sent, nb - sent);
	return sent;
}

static uint16_t
post(struct bed_tx *bed, uint32_t nb)
{
	return post_chains(bed, nb, 1);
}

static uint32_t
missing(const struct bed_tx *bed)
{
	return bed_pool_missing(bed->mp, bed->nb_mbufs);
}

/* BUs that the device has: packets, when each has one. */
static uint32_t
nb_out(const struct bed_tx *bed)
{
	return bed->txq->sq.pi - bed->done_bu;
}

static void
complete(struct bed_tx *bed, uint32_t nb)
{
	while (nb-- > 0)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
}

static struct bed_tx *
trusted_bed(uint32_t nb_desc, uint32_t start)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_desc = nb_desc, .nb_cqe = 256, .start = start });

	bed_tx_earn_trust(bed);
	return bed;
}

/* Every packet asks for a CQE: no position is ever right. */
static struct bed_tx *
untrusted_bed(uint32_t nb_desc, uint32_t start)
{
	return bed_tx_new(&(struct bed_tx_opts){
		.nb_desc = nb_desc, .nb_cqe = 256, .start = start,
		.zero_position = true });
}

/* The device is always so many packets behind: the newest has no completion. */
static void
lag_behind(struct bed_tx *bed, uint32_t lag, uint32_t size)
{
	bool is_trusted = bed->txq->trust == MANA_TX_TRUST_FULL;
	uint32_t most = 0;

	for (uint32_t turn = 0; turn < 1000; turn++) {
		assert_eq(post(bed, size), size);
		most = RTE_MAX(most, mana_txq_nb_done(bed->txq));
		if (nb_out(bed) > lag)
			complete(bed, nb_out(bed) - lag);
	}
	assert_true(most <= REAP_EVERY);
	/* It is put off, and that is what this is about. */
	assert_true(size > (is_trusted ? REAP_EVERY / 3 : 1) || most > size);
	assert_eq(mana_txq_errors(bed->txq), 0);
	assert_eq(bed->txq->trust, is_trusted ? MANA_TX_TRUST_FULL :
						MANA_TX_TRUST_DENIED);
	bed_tx_delete(bed);
}

static void
little_is_held(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size += 1 + size / 4)
		for (uint32_t lag = 1; lag < 128; lag += 31) {
			lag_behind(trusted_bed(256, 0), lag, size);
			lag_behind(trusted_bed(256, 0xfffffe00 + lag), lag, size);
			lag_behind(untrusted_bed(256, 0xfffffe00 + lag), lag, size);
		}
}

/* Many complete at once, but never the newest: all are freed soon. */
static void
many_are_freed_soon(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size += 1 + size / 4) {
		struct bed_tx *bed = trusted_bed(256, 0xffffff80);
		uint32_t nb = 0;

		while (mana_txq_nb_posted(bed->txq) + 2 * size <= 200)
			assert_eq(post(bed, size), size);
		do {
			complete(bed, nb_out(bed) - 1);
			assert_eq(post(bed, size), size);
			nb += size;
			assert_true(nb <= REAP_EVERY + size);
		} while (missing(bed) > 2 * size);
		bed_tx_delete(bed);
	}
}

/* The newest has completed: one poll frees all, with a packet or without. */
static void
idle_queue_frees_all(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t nb = 1; nb < 100; nb++) {
			uint32_t start = (kind & 1) * 0xffffffc0;
			struct bed_tx *bed = kind < 2 ? trusted_bed(256, start) :
							untrusted_bed(256, start);

			for (uint32_t turn = 0; turn < 8; turn++) {
				uint32_t held = turn % 4;

				for (uint32_t i = 0; i < nb; i++)
					assert_eq(post(bed, 1), 1);
				complete(bed, nb_out(bed));
				assert_eq(post(bed, held), held);
				assert_eq(missing(bed), held);
			}
			bed_tx_delete(bed);
		}
}

/* The same with completions that nobody had asked for, before and among them. */
static void
idle_queue_frees_all_behind_odd_cqes(void **state)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };

	(void)state;
	for (uint32_t at = 0; at < 20; at++)
		for (uint32_t kind = 0; kind < 3; kind++) {
			struct bed_tx *bed = trusted_bed(256, 0);

			for (uint32_t i = 0; i < 10; i++)
				assert_eq(post(bed, 2), 2);
			for (uint32_t i = 0; i < 20; i++) {
				if (i == at && kind == 0)
					bed_cqe_write(&bed->cq, data, (BED_SQ_ID + 1) |
						      1u << HW_CQE_IS_SQ_S);
				bed_tx_cqe(bed, i == at && kind == 1 ?
					   HW_CQE_TX_SA_DROP : HW_CQE_TX_OKAY);
			}
			if (kind == 2)
				bed_cqe_write(&bed->cq, data, BED_SQ_ID);
			assert_eq(post(bed, 1), 1);
			assert_eq(missing(bed), 1);
			assert_eq(mana_txq_errors(bed->txq), kind == 1);
			assert_eq(bed->txq->stats.cqe_foreign, kind != 1);
			bed_tx_delete(bed);
		}
}

/*
 * The same when the CQE of a group was taken for another one's: it may never come,
 * and is not waited for to look at those that have.
 */
static void
idle_queue_frees_all_that_is_sure(void **state)
{
	(void)state;
	for (uint32_t nb = 2; nb < 40; nb++) {
		struct bed_tx *bed = trusted_bed(256, 0xfffffe10);

		assert_eq(post(bed, nb), nb);
		bed->zero_position = true;
		complete(bed, nb - 1);
		bed_tx_cqe(bed, HW_CQE_TX_MTU_DROP);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
		assert_eq(missing(bed), nb - 1);
		for (uint32_t turn = 0; turn < 10; turn++) {
			for (uint32_t i = 0; i < 10; i++)
				assert_eq(post(bed, 1), 1);
			complete(bed, 10);
			assert_eq(post(bed, 1), 1);
			assert_eq(missing(bed), 1 + 1);
			complete(bed, 1);
		}
		bed_tx_delete(bed);
	}
}

/* What waits for a look is freed by whoever asks, in part or all. */
static void
cleanup_frees_at_once(void **state)
{
	struct bed_tx *bed = trusted_bed(256, 0);

	(void)state;
	for (uint32_t turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 20; i++)
			assert_eq(post(bed, 1), 1);
		complete(bed, 15);
		assert_eq(mana_txq_nb_done(bed->txq), missing(bed) - 5);
		assert_eq(mana_txq_done_cleanup(bed->txq, 1), 1);
		mana_txq_done_cleanup(bed->txq, 0);
		assert_eq(missing(bed), 5);
		assert_eq(bed->txq->run_room, 0);
		/* Bursts go on behind it as if they had looked. */
		assert_eq(post(bed, 1), 1);
		assert_eq(missing(bed), 6);
		complete(bed, 6);
		assert_eq(post(bed, 0), 0);
		assert_eq(missing(bed), 0);
	}
	bed_tx_delete(bed);
}

/* A ring that is full takes a burst as soon as there is room, at any place. */
static void
full_ring_takes_what_fits(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size++) {
		struct bed_tx *bed = trusted_bed(64, 0xffffff00);

		for (uint32_t turn = 0; turn < 30; turn++) {
			while (nb_out(bed) < 64)
				assert_eq(post(bed, 1), 1);
			assert_eq(post(bed, 1), 0);
			complete(bed, size);
			assert_eq(post(bed, size), size);
			assert_eq(missing(bed), 64);
			assert_eq(post(bed, 1), 0);
			complete(bed, 64);
			assert_eq(post(bed, turn * 2), turn * 2);
			assert_eq(missing(bed), turn * 2);
			complete(bed, turn * 2);
		}
		bed_tx_delete(bed);
	}
}

/* The largest burst: as many as there is room for, no packet behind is touched. */
static void
burst_of_any_size(void **state)
{
	static struct rte_mbuf *pkts[UINT16_MAX];

	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++) {
		uint32_t start = kind & 1 ? 0xffffff80 : 0;
		struct bed_tx *bed = kind < 2 ? trusted_bed(256, start) :
						untrusted_bed(256, start);

		for (uint32_t held = 0; held < 300; held += 1 + held / 3) {
			uint32_t done = held / 2, left;

			for (uint32_t i = 0; i < held % 256; i++)
				assert_eq(post(bed, 1), 1);
			done = RTE_MIN(done, nb_out(bed));
			left = nb_out(bed) - done;
			complete(bed, done);
			for (uint32_t i = 0; i < 256 - left; i++)
				pkts[i] = bed_mbuf(bed->mp, 60, i);
			assert_eq(bed->burst(bed->txq, pkts, UINT16_MAX), 256 - left);
			memset(pkts, 0, sizeof(pkts));
			assert_eq(missing(bed), 256);
			complete(bed, 256);
			assert_eq(bed->burst(bed->txq, NULL, 0), 0);
			assert_eq(missing(bed), 0);
		}
		bed_tx_delete(bed);
	}
}

/* However small it is: what is done makes room, at the latest when it is needed. */
static void
small_rings_never_stall(void **state)
{
	const uint32_t sizes[] = { 1, 2, 3, 8, 33, 64 };

	(void)state;
	for (uint32_t s = 0; s < RTE_DIM(sizes); s++)
		for (uint32_t lag = 0; lag < sizes[s]; lag += 1 + sizes[s] / 4) {
			struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
				.nb_desc = sizes[s], .nb_cqe = 64,
				.sq_bytes = 4096, .start = 0xfffffe00,
				.zero_position = lag % 2 != 0 });

			for (uint32_t turn = 0; turn < 1000; turn++) {
				assert_eq(post(bed, 1), 1);
				if (nb_out(bed) > lag)
					complete(bed, nb_out(bed) - lag);
			}
			assert_eq(mana_txq_packets(bed->txq) - 0xfffffe00, 1000);
			assert_eq(mana_txq_errors(bed->txq), 0);
			bed_tx_delete(bed);
		}
}

/* Room that was left is none on a queue that is closed, and after a new start. */
static void
closed_queue_takes_nothing(void **state)
{
	struct bed_tx *bed = trusted_bed(64, 0);

	(void)state;
	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < 5 + turn; i++)
			assert_eq(post(bed, 1), 1);
		assert_true(bed->txq->run_room != 0);
		mana_txq_close(bed->txq);
		assert_eq(post(bed, 1), 0);
		assert_eq(post(bed, 20), 0);
		mana_txq_release_mbufs(bed->txq);
		assert_eq(missing(bed), 0);
		memset(bed->cq.ring, 0, bed->cq.nb_cqe * HW_CQE_BYTES);
		memset(bed->db_page, 0, HW_DB_PAGE_BYTES);
		bed->cq.pi = bed->cq.nb_cqe;
		bed->ci = bed->done_bu = 0;
		assert_eq(mana_txq_init(bed->txq, &bed->conf), 0);
		assert_eq(bed->txq->run_room, 0);
		bed_tx_earn_trust(bed);
	}
	bed_tx_delete(bed);
}

/* A queue that dies takes no more than what was to come before the next look. */
static void
dead_queue_takes_nothing(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 3; kind++) {
		struct bed_tx *bed = trusted_bed(256, 0);
		uint32_t nb = 0, i;

		for (i = 0; i < 10; i++)
			assert_eq(post(bed, 1), 1);
		complete(bed, 4);
		bed_tx_cqe(bed, HW_CQE_TX_GDMA_ERR);
		if (kind == 0)
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), 5);
		else if (kind == 1)
			assert_eq(post(bed, 0), 0);
		for (i = 0; i < 100; i++)
			nb += post(bed, 1);
		assert_true(nb <= (kind == 2 ? REAP_EVERY : 0));
		assert_eq(bed->txq->fate, MANA_QUEUE_DISABLED);
		assert_eq(missing(bed), 5 + nb);
		bed_tx_delete(bed);
	}
}

/* Trust ends while a look is put off: every packet asks for a CQE from then on. */
static void
room_ends_with_trust(void **state)
{
	static struct bed_tx_wqe wqe;
	struct bed_tx *bed = trusted_bed(256, 0);

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		assert_eq(post(bed, 1), 1);
	assert_true(bed_tx_silent(bed));
	bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, bed->done_bu + 100);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
	assert_eq(bed->txq->trust, MANA_TX_TRUST_DENIED);
	assert_eq(post(bed, 10), 10);
	while (bed_tx_fetch(bed, &wqe))
		assert_false(wqe.oob.suppress);
	complete(bed, 19);
	mana_txq_done_cleanup(bed->txq, 0);
	assert_eq(missing(bed), 0);
	bed_tx_delete(bed);
}

/* A bad one among those that wait for a look: it is found, and what it was. */
static void
errors_among_what_waits(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 30; at++) {
		struct bed_tx *bed = trusted_bed(256, at * 0x0fffffff);

		for (uint32_t i = 0; i < 31; i++)
			assert_eq(post(bed, 1), 1);
		for (uint32_t i = 0; i < 30; i++)
			bed_tx_cqe(bed, i == at ? HW_CQE_TX_MTU_DROP :
						  HW_CQE_TX_OKAY);
		for (uint32_t i = 0; i < REAP_EVERY; i++)
			assert_eq(post(bed, 1), 1);
		assert_eq(missing(bed), 1 + REAP_EVERY);
		assert_eq(mana_txq_errors(bed->txq), 1);
		assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
		complete(bed, nb_out(bed));
		assert_eq(post(bed, 1), 1);
		assert_eq(missing(bed), 1);
		bed_tx_delete(bed);
	}
}

/*
 * The same one by one: runs of one packet tell nothing of their WQEs, and there
 * is what chains have left of the last lap. Each frees what it has posted.
 */
static void
errors_among_runs_of_one(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 40; at++) {
		struct bed_tx *bed = at % 2 ? trusted_bed(64, 0xffffff40) :
					      untrusted_bed(64, 0xffffff40);
		uint32_t held = 0;

		for (uint32_t i = 0; i < 64; i++) {
			assert_eq(post_chains(bed, 1, 3), 1);
			bed_tx_complete_all(bed);
		}
		assert_eq(post(bed, 0), 0);
		assert_eq(missing(bed), 0);
		for (uint32_t i = 0; i < 20; i++) {
			assert_eq(post_chains(bed, 1, i % 3 == 1 ? 3 : 1), 1);
			held += i % 3 == 1 ? 3 : 1;
		}
		for (uint32_t i = 0; i < 20; i++) {
			bed_tx_cqe(bed, i == at / 2 ? HW_CQE_TX_MTU_DROP :
						      HW_CQE_TX_OKAY);
			assert_eq(mana_txq_nb_done(bed->txq), 1);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
			held -= i % 3 == 1 ? 3 : 1;
			assert_eq(missing(bed), held);
		}
		assert_eq(mana_txq_errors(bed->txq), 1);
		assert_eq(bed->txq->nb_unsure, 0);
		bed_tx_delete(bed);
	}
}

/* There is room for small packets yet, not for a large one, unless one looks. */
static void
large_packet_finds_room(void **state)
{
	static struct bed_tx_wqe wqe;

	(void)state;
	for (uint32_t nb_first = 0; nb_first < 3; nb_first++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.sq_bytes = 4096 });
		struct rte_mbuf *pkts[3];
		uint32_t i;

		bed_tx_earn_trust(bed);
		/* To the start of the ring. */
		while (bed->txq->sq.pi % 128 != 0) {
			assert_eq(post(bed, 1), 1);
			assert_eq(bed_tx_complete_all(bed), 1);
		}
		assert_eq(post_chains(bed, 7, 30), 7);
		assert_eq(post(bed, 1), 1);
		assert_true(bed->txq->run_room > nb_first);
		while (bed_tx_fetch(bed, &wqe))
			;
		for (i = 0; i < 7; i++)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		for (i = 0; i < nb_first; i++)
			pkts[i] = bed_mbuf(bed->mp, 60, i);
		pkts[i] = bed_chain(bed->mp, 30, 60, i);
		assert_eq(bed->burst(bed->txq, pkts, nb_first + 1), nb_first + 1);
		assert_eq(missing(bed), 1 + nb_first + 30);
		while (bed_tx_fetch(bed, &wqe))
			;
		while (nb_out(bed) != 0)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(post(bed, 0), 0);
		assert_eq(missing(bed), 0);
		bed_tx_delete(bed);
	}
}

/* A lap of completions that wait is no more than the device was told of. */
static void
doorbell_in_each_lap(void **state)
{
	(void)state;
	for (uint32_t lag = 0; lag < 64; lag += 7) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.nb_cqe = 64, .nb_desc = 64 });
		uint32_t rung = bed->cq.pi, most = 0;

		bed_tx_earn_trust(bed);
		for (uint32_t turn = 0; turn < 2000; turn++) {
			struct hw_doorbell db;

			assert_eq(post(bed, 1), 1);
			db = hw_doorbell_read(hw_le64(bed->db_page + HW_DB_CQ), true);
			if (db.id != 0)
				rung += (db.tail - rung) & (64 * 8 - 1);
			most = RTE_MAX(most, bed->cq.pi - rung);
			if (nb_out(bed) > lag)
				complete(bed, nb_out(bed) - lag);
		}
		/* Half a lap, what waits for a look, and one. */
		assert_true(most <= 32 + REAP_EVERY + 1);
		bed_tx_delete(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_is_held),
		cmocka_unit_test(many_are_freed_soon),
		cmocka_unit_test(idle_queue_frees_all),
		cmocka_unit_test(idle_queue_frees_all_behind_odd_cqes),
		cmocka_unit_test(idle_queue_frees_all_that_is_sure),
		cmocka_unit_test(cleanup_frees_at_once),
		cmocka_unit_test(full_ring_takes_what_fits),
		cmocka_unit_test(burst_of_any_size),
		cmocka_unit_test(small_rings_never_stall),
		cmocka_unit_test(closed_queue_takes_nothing),
		cmocka_unit_test(dead_queue_takes_nothing),
		cmocka_unit_test(room_ends_with_trust),
		cmocka_unit_test(errors_among_what_waits),
		cmocka_unit_test(errors_among_runs_of_one),
		cmocka_unit_test(large_packet_finds_room),
		cmocka_unit_test(doorbell_in_each_lap),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
