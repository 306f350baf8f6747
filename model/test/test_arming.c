/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Effects of doorbells: accepted, ignored, armed; and for which queue. The
 * cases are from OpenVMM emu/queues.rs and rdma-core.
 */

#include "nic.h"
#include "fixture.h"

/* Let a's SQ write n CQEs; returns the number of events. */
static uint32_t
send(uint32_t n)
{
	const uint32_t before = fx_nb_events;
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	while (n-- > 0)
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	return fx_nb_events - before;
}

/*
 * Ring the CQ doorbell relative to the polled index; returns immediate events.
 */
static uint32_t
ring_cq_at(int32_t ahead, bool arm)
{
	const uint32_t before = fx_nb_events, pos = a->scq.pos;

	a->scq.pos += (uint32_t)ahead;
	fx_ring_cq(a, &a->scq, arm);
	a->scq.pos = pos;
	return fx_nb_events - before;
}

FX_TEST(test_created_armed)
{
	assert_int_equal(send(1), 1);
	assert_int_equal(send(3), 0); /* one shot */
	assert_no_violation();
}

/* Behind by 1 to N: the event comes at once, and the CQ is disarmed. */
FX_TEST(test_arm_behind)
{
	uint32_t behind;

	send(256);
	for (behind = 256; behind > 0; behind--) {
		assert_int_equal(ring_cq_at(-(int32_t)behind, true), 1);
		assert_int_equal(fx_event_cq, a->scq.id);
	}
	assert_int_equal(send(1), 0);
	assert_no_violation();
}

/* Behind by more than N: an overflow; the arm state stays as it was. */
FX_TEST(test_arm_overflow)
{
	send(300);
	assert_int_equal(ring_cq_at(-257, true), 0);
	assert_violation(cq_overflow, 1);
	assert_int_equal(send(1), 0); /* was disarmed */
	assert_int_equal(ring_cq_at(0, true), 0);
	assert_int_equal(ring_cq_at(-258, false), 0);
	assert_violation(cq_overflow, 2);
	assert_int_equal(send(1), 1); /* was still armed from before */
}

/* rdma-core's index of an unarmed doorbell is one behind, of a full CQ, too. */
FX_TEST(test_unarmed_full)
{
	assert_int_equal(send(1), 1);
	assert_int_equal(ring_cq_at(-1, false), 0);
	send(256);
	assert_int_equal(ring_cq_at(-257, false), 0);
	assert_no_violation();
	assert_int_equal(send(1), 0);
	assert_int_equal(ring_cq_at(0, true), 0);
	assert_no_violation();
	assert_int_equal(send(1), 1);
}

/* rdma-core arms again without polling by head + 1, head + 2, ... */
FX_TEST(test_arm_ahead)
{
	int32_t ahead;

	send(1);
	for (ahead = 0; ahead <= 256; ahead++)
		assert_int_equal(ring_cq_at(ahead, true), 0);
	assert_no_violation();
	assert_int_equal(send(2), 1);
	assert_int_equal(ring_cq_at(257, true), 0);
	assert_violation(cq_overflow, 1);
	assert_int_equal(send(1), 0);
}

FX_TEST(test_unarmed_disarms)
{
	assert_int_equal(ring_cq_at(0, false), 0);
	assert_int_equal(send(1), 0);
	assert_no_violation();
}

/*
 * A step back is a violation, and disarms. Repeating an index is none, also at
 * the start of a lap: the index counts modulo 8 N.
 */
FX_TEST(test_backwards)
{
	uint32_t lap;

	for (lap = 0; lap < 20; lap++) {
		send(256);
		assert_int_equal(ring_cq_at(-1, false), 0);
		assert_int_equal(ring_cq_at(0, true), 0);
		assert_int_equal(ring_cq_at(0, true), 0);
		assert_no_violation();
	}
	assert_int_equal(ring_cq_at(-1, false), 0);
	assert_violation(cq_doorbell_backwards, 1);
	assert_int_equal(send(1), 0);
	assert_int_equal(ring_cq_at(-1, true), 1);
	assert_violation(cq_doorbell_backwards, 1);
}

/* The index is taken modulo 8 N, in each of the laps. */
FX_TEST(test_arm_in_each_lap)
{
	uint32_t lap;

	send(1);
	for (lap = 0; lap < 20; lap++) {
		assert_int_equal(ring_cq_at(0, true), 0);
		assert_int_equal(send(1), 1);
		assert_int_equal(ring_cq_at(-1, true), 1);
		assert_int_equal(send(255), 0);
	}
	assert_no_violation();
}

/* Any doorbell within 8 laps is enough. */
FX_TEST(test_eight_laps)
{
	send(8 * 256);
	assert_int_equal(ring_cq_at(0, false), 0);
	send(8 * 256);
	assert_int_equal(ring_cq_at(0, true), 0);
	send(8 * 256);
	assert_no_violation();
	send(1);
	assert_violation(cq_no_doorbell_8_laps, 1);
	ring_cq_at(0, false);
	send(8 * 256);
	assert_violation(cq_no_doorbell_8_laps, 1);
}

/* Refused tails do not change the queue; the next valid one is accepted. */
FX_TEST(test_refused_tails)
{
	static const struct {
		uint32_t tail;
		enum violation violation;
	} tails[] = {
		{ 0x10001, VIOLATION_doorbell_misaligned },
		{ (uint32_t)-32, VIOLATION_doorbell_backwards },
		{ 8192 + 32 + 32, VIOLATION_doorbell_beyond_ring },
		{ 0x7fffffe0, VIOLATION_doorbell_beyond_ring },
		{ 0x80000020 + 32, VIOLATION_doorbell_backwards },
	};
	uint32_t i;

	send(1);
	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		const uint64_t before = violation_count(tails[i].violation);

		fx_doorbell(a, 0x000, (uint64_t)tails[i].tail << 32 | a->sq.id,
			    8);
		assert_int_equal(violation_count(tails[i].violation), before + 1);
		assert_null(fx_cqe(&a->scq));
	}
	assert_int_equal(segment_violation_log()->nb_violations, i);
	send(1);
	/* The whole ring at once. */
	fx_doorbell(b, 0x400, (uint64_t)8192 << 32 | b->rq.id, 8);
	assert_int_equal(segment_violation_log()->nb_violations, i);
	assert_int_equal(card_rq(card_function(0), b->rq.id)->pi, 8192);
}

/* Positions run free and wrap at 32 bits. */
FX_TEST(test_tail_wraps)
{
	struct wq *sq = card_sq(card_function(0), a->sq.id);

	sq->pi = sq->ci = a->sq.pos = (uint32_t)-64;
	send(4);
	assert_int_equal(a->sq.pos, 64);
	assert_no_violation();
}

/* Queues ignore other pages, and ids of other kinds. */
FX_TEST(test_isolation)
{
	const uint32_t ids[] = { b->sq.id, b->rq.id, b->scq.id };
	static const uint32_t offsets[] = { 0x000, 0x400, 0x800 };
	static const uint32_t short_offsets[] = { 0x010, 0x410, 0x810 };
	struct fx_wqe wqe = fx_tx_wqe(b, 0, 60);
	uint32_t i, j, n = 0, unknown = 0;

	fx_post(&b->sq, &wqe);
	for (i = 0; i < 3; i++) {
		fx_doorbell(a, offsets[i], UINT64_C(32) << 32 | ids[i], 8);
		fx_doorbell(a, short_offsets[i], ids[i] << 16 | 32, 4);
		n += 2;
		assert_int_equal(violation_count(VIOLATION_doorbell_foreign_queue),
				 n);
		for (j = 0; j < 3; j++) {
			if (i == j)
				continue;
			fx_doorbell(b, offsets[j], ids[i], 8);
			assert_int_equal(violation_count(
						 VIOLATION_doorbell_unknown_queue),
					 ++unknown);
		}
	}
	assert_null(fx_cqe(&b->scq));
	assert_int_equal(card_rq(card_function(0), b->rq.id)->pi, 0);
	assert_int_equal(segment_violation_log()->nb_violations, n + unknown);
	/* A queue cannot use a CQ of another domain. */
	{
		struct card_memory m = { model_self, (uintptr_t)a->sq.mem,
					   a->sq.bytes };
		struct card_memory cq = { model_self, (uintptr_t)b->buf, 4096 };
		uint32_t cq_id, sq_id;

		assert_int_equal(card_cq_create(0, b->pdn, b->page, &cq, &cq_id),
				 0);
		assert_int_equal(card_sq_create(0, 0, a->pdn, a->page, &m,
						cq_id, &sq_id),
				 -71); /* EPROTO */
	}
}

/* 32-bit doorbells are increments: of many BUs, and over 64 KiB in parts. */
FX_TEST(test_short_increments)
{
	struct fx_wqe tx = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 200; i++)
		fx_post(&a->sq, &tx);
	fx_doorbell(a, 0x010, a->sq.id << 16 | 150 * 32, 4);
	for (i = 0; i < 150; i++)
		assert_non_null(fx_cqe(&a->scq));
	assert_null(fx_cqe(&a->scq));
	fx_doorbell(a, 0x010, a->sq.id << 16 | 50 * 32, 4);
	for (i = 0; i < 50; i++)
		assert_non_null(fx_cqe(&a->scq));
	/*
	 * No new value; and there is no register for EQs, which belong to the
	 * kernel.
	 */
	fx_doorbell(a, 0x010, a->sq.id << 16, 4);
	assert_no_violation();
	fx_doorbell(a, 0xff0, 0, 4);
	assert_violation(doorbell_bad_offset, 1);
	/* Unarmed by 100, armed by 100: the index is the sum. */
	fx_nb_events = 0;
	fx_doorbell(a, 0x810, a->scq.id << 16 | 100, 4);
	fx_doorbell(a, 0x810, 1u << 31 | a->scq.id << 16 | 100, 4);
	assert_int_equal(fx_nb_events, 0);
	assert_int_equal(send(1), 1);
	/* 64-bit doorbells continue from there. */
	assert_int_equal(ring_cq_at(0, true), 0);
	assert_int_equal(send(1), 1);
}
