/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When the driver requests Tx CQEs, and which packets each CQE frees: while WQE
 * offsets are known to be right, not yet, and no longer. The device of fixture_tx.c
 * checks that a CQE is requested in each quarter of the ring and before each
 * doorbell.
 */

#include "fixture.h"

#define GROUP 16u /* packets per group: a quarter of 64 */

/* How many of the next nb WQEs ask for a CQE. */
static uint32_t
nb_asking(struct fx_tx *fx, uint32_t nb)
{
	static struct fx_tx_wqe wqe;
	uint32_t asking = 0;

	for (uint32_t i = 0; i < nb; i++) {
		assert_true(fx_tx_fetch(fx, &wqe));
		asking += !wqe.oob.suppress;
	}
	assert_false(fx_tx_fetch(fx, &wqe));
	return asking;
}

static struct fx_tx *
fx_with_groups(uint32_t start)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){ .start = start });

	fx_tx_pass_offset_check(fx);
	return fx;
}

static void
expect_denied(struct fx_tx *fx)
{
	static struct fx_tx_wqe wqe;

	while (fx_tx_fetch(fx, &wqe))
		;
	for (uint32_t i = 0; i < 5; i++) {
		assert_eq(fx_tx_post(fx, 10, 1), 10);
		assert_eq(nb_asking(fx, 10), 10);
		fx_tx_complete(fx, 10);
		mana_txq_done_cleanup(fx->txq, 0);
	}
	assert_true(fx->txq->offset_check == MANA_TX_OFFSET_UNUSED ||
		    fx->txq->offset_check == MANA_TX_OFFSET_WRONG);
}

/* Trust after eight right offsets in a row; offset 0 is no evidence. */
FX_TX_TEST_EACH(groups_after_eight_right_offsets, start, 0, 300, .start = start, .sq_bytes = 4096)
{
	uint32_t nb_right = 0;

	for (uint32_t i = 0; i < 40 && nb_right < 8; i++) {
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(nb_asking(fx, 1), 1);
		/* The count restarts in each lap. */
		nb_right = fx->done_bu % 128 == 0 ? 0 : nb_right + 1;
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx->txq->offset_check == MANA_TX_OFFSET_RIGHT,
			  nb_right == 8);
	}
	assert_eq(fx_tx_post(fx, 10, 1), 10);
	assert_eq(nb_asking(fx, 10), 1);
}

/* A device that always writes 0 is right once a lap. */
FX_TX_TEST_EACH(no_groups_for_zero_offsets, i, 0, 16, .start = 16 * i, .zero_position = true)
{
	expect_denied(fx);
	assert_eq(fx->txq->stats.cqe_position, 0);
}

/* tx_suppress=0: offsets are ignored. */
FX_TX_TEST_EACH(no_groups_with_tx_suppress_0, kind, 0, 2,
		.no_suppress = true, .zero_position = kind == 1)
{
	for (uint32_t i = 0; i < 4; i++)
		expect_denied(fx);
	assert_eq(fx->txq->stats.cqe_position, 0);
}

/* A wrong offset after up to seven right ones prevents groups; errors do not. */
FX_TX_TEST_EACH(no_groups_after_a_wrong_offset, wrong, 1, 9)
{
	for (uint32_t i = 0; i < wrong; i++) {
		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(nb_asking(fx, 1), 1);
		if (i + 1 < wrong) {
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		} else {
			assert_true(fx_tx_silent(fx));
			fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, 0x7fff);
		}
	}
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	expect_denied(fx);
}

/* Offsets may count laps in 27 bits, or be modulo the ring. */
FX_TX_TEST(offsets_modulo_the_ring, .sq_bytes = 4096, .start = 0x7ffff00)
{
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t at = i % 2 ? fx->done_bu % 128 : fx->done_bu;

		assert_eq(fx_tx_post(fx, 1, 1), 1);
		assert_eq(nb_asking(fx, 1), 1);
		assert_true(fx_tx_silent(fx));
		fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, at);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	}
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
}

/* One CQE frees a burst at the next poll, even without packets. */
FX_TX_TEST_OF(one_completion_per_group, fx_with_groups(0))
{
	for (uint32_t nb = 1; nb <= GROUP; nb++) {
		assert_eq(fx_tx_post(fx, nb, 1), nb);
		assert_eq(nb_asking(fx, nb), 1);
		for (uint32_t i = 0; i < nb; i++) {
			assert_eq(fx->burst(fx->txq, NULL, 0), 0);
			assert_eq(fx_tx_missing(fx), nb);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), nb);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		assert_eq(fx_tx_missing(fx), 0);
	}
	assert_eq(fx_tx_post(fx, 64, 1), 64);
	assert_eq(nb_asking(fx, 64), 4);
}

/* Bursts of four segments fill a ring of 64 without a stall. */
FX_TX_TEST_EACH(full_ring_of_groups_never_stalls, kind, 0, 4,
		.sq_bytes = kind & 1 ? 4096 : 0,
		.zero_position = (kind & 2) != 0,
		.start = 0xffffff00)
{
	static struct fx_tx_wqe wqe;
	uint32_t sent = 0;

	for (uint32_t turn = 0; turn < 300; turn++) {
		uint32_t nb_out = mana_txq_nb_posted(fx->txq);

		/* Complete all, none or some, oldest first. */
		for (uint32_t i = nb_out * (turn % 5) / 4; i > 0; i--)
			if (fx->done_bu != fx->txq->sq.pi)
				fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		sent += fx_tx_post(fx, 32, 4);
		assert_true(mana_txq_nb_posted(fx->txq) <= 64);
		while (fx_tx_fetch(fx, &wqe))
			;
	}
	assert_true(sent > 300 * 10);
	while (fx->done_bu != fx->txq->sq.pi)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	assert_eq(fx_tx_missing(fx), 0);
}

/* An error at each place of a group frees it and those before, no more. */
FX_TX_TEST_EACH_OF(error_frees_packets_up_to_its_own, nr, 0,
		(HW_CQE_TX_GDMA_ERR - HW_CQE_TX_SA_DROP + 1) * 2 * GROUP,
		fx_with_groups(nr % (2 * GROUP) * 7))
{
	const uint32_t type = HW_CQE_TX_SA_DROP + nr / (2 * GROUP), at = nr % (2 * GROUP);
	bool dead = type == HW_CQE_TX_GDMA_ERR;

	/* One batch; a group that includes chains. */
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	assert_eq(fx_tx_post(fx, GROUP, 1 + at % 3), GROUP);
	fx_tx_complete(fx, at);
	fx_tx_cqe(fx, type);
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), at + 1);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), at + 1);
	assert_eq(mana_txq_nb_posted(fx->txq),
		  2 * GROUP - at - 1);
	assert_eq(fx_tx_missing(fx), at < GROUP ?
		  GROUP - 1 - at + GROUP * (1 + at % 3) :
		  (2 * GROUP - 1 - at) * (1 + at % 3));
	assert_eq(fx->txq->stats.cqe_error[type - 33], 1);
	assert_eq(fx->txq->stats.cqe_position, 0);
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
	if (!dead)
		fx_tx_complete(fx, 2 * GROUP - 1 - at);
	assert_eq(mana_txq_failure(fx->txq), dead ? MANA_FAILURE_DISABLED :
					 MANA_FAILURE_NONE);
	assert_eq(fx_tx_post(fx, 4, 1), dead ? 0 : 4);
	assert_eq(mana_txq_nb_posted(fx->txq), dead ?
		  2 * GROUP - 1 - at : 4);
}

/* GDMA_ERR disables the queue, also with an invalid offset. */
FX_TX_TEST_EACH_OF(gdma_err_disables_at_any_offset, nr, 0, 2 * GROUP, fx_with_groups(0))
{
	const uint32_t nb_groups = 1 + nr / GROUP, back = 1 + nr % GROUP;

	for (uint32_t i = 0; i < nb_groups; i++)
		assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	fx_tx_complete(fx, GROUP);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_nb_posted(fx->txq),
		  (nb_groups - 1) * GROUP);
	fx_tx_cqe_at(fx, HW_CQE_TX_GDMA_ERR,
		     fx->done_bu - back);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_failure(fx->txq), MANA_FAILURE_DISABLED);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	assert_eq(mana_txq_nb_posted(fx->txq),
		  (nb_groups - 1) * GROUP);
	assert_eq(fx_tx_post(fx, 1, 1), 0);
}

/* A good CQE for the oldest WQE, which has requested none. */
static void
complete_unrequested(struct fx_tx *fx)
{
	uint32_t position = fx->done_bu;

	(void)fx_tx_silent(fx);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, position);
}

/*
 * Unrequested CQEs: each frees the WQE it names and those before it. From then
 * on every WQE requests a CQE.
 */
FX_TX_TEST_EACH_OF(unrequested_cqe_ends_groups, nr, 0, 3 * 3, fx_with_groups(0xfffffff0))
{
	const uint32_t nb_segs = 1 + nr / 3, poll = nr % 3;

	for (uint32_t i = 0; i < 3; i++)
		assert_eq(fx_tx_post(fx, GROUP, nb_segs), GROUP);
	assert_eq(nb_asking(fx, 3 * GROUP), 3);
	for (uint32_t left = 3 * GROUP; left > 0; left--) {
		complete_unrequested(fx);
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 1);
		if (poll == 0)
			fx->burst(fx->txq, NULL, 0);
		else
			mana_txq_done_cleanup(fx->txq,
					      poll - 1);
		assert_eq(mana_txq_nb_posted(fx->txq),
			  left - 1);
		assert_eq(fx_tx_missing(fx), (left - 1) * nb_segs);
		assert_eq(fx->txq->no_cqe, 0);
	}
	assert_eq(fx->txq->stats.cqe_position, 1);
	assert_eq(fx->txq->stats.cqe_spurious, 0);
	expect_denied(fx);
}

/* WQEs freed by a good CQE with this offset within a group. */
static uint32_t
nb_named(const struct fx_tx *fx, uint32_t position)
{
	uint32_t ring_bu = fx->rings.ring_bytes / HW_BU_BYTES;
	uint32_t offset = (position - fx->txq->sq.ci) & (ring_bu - 1);
	uint32_t nb_bu = fx->txq->sq.pi - fx->txq->sq.ci;

	/* Two segments need two BUs. */
	if (offset < nb_bu && (position & (ring_bu - 1)) != 0)
		return offset / 2 + 1;
	/* Already freed? An offset of 0 may be a missing one. */
	if (offset >= ring_bu - 16 && position != 0)
		return 0;
	return 1;
}

/* Any offset: the driver frees no WQE behind it. */
FX_TX_TEST_EACH_OF(any_offset_frees_no_later_wqe, position, 0, 1024, fx_with_groups(1000))
{
	uint32_t nb, asked;

	for (uint32_t i = 0; i < 3; i++)
		assert_eq(fx_tx_post(fx, 10, 2), 10);
	asked = (fx->txq->sq.ci + 18) & 1023;
	nb = nb_named(fx, position);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, position);
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), nb);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), nb);
	assert_eq(fx_tx_missing(fx), 60 - 2 * nb);
	assert_eq(fx->txq->stats.cqe_position,
		  position != asked);
}

/* One CQE for several groups frees them all, and no more. */
FX_TX_TEST_EACH_OF(one_completion_for_groups, nb_groups, 2, 4, fx_with_groups(0))
{
	for (uint32_t i = 0; i < 4; i++)
		assert_eq(fx_tx_post(fx, GROUP, 1 + i % 2), GROUP);
	for (uint32_t i = 1; i < nb_groups * GROUP; i++)
		(void)fx_tx_silent(fx);
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0),
		  nb_groups * GROUP);
	assert_eq(mana_txq_nb_posted(fx->txq),
		  (4 - nb_groups) * GROUP);
	fx_tx_complete(fx, (4 - nb_groups) * GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0),
		  (4 - nb_groups) * GROUP);
	assert_eq(fx_tx_missing(fx), 0);
	expect_denied(fx);
}

/* Every packet fails. */
FX_TX_TEST_OF(every_packet_fails, fx_with_groups(0))
{
	for (uint32_t turn = 1; turn <= 20; turn++) {
		assert_eq(fx_tx_post(fx, GROUP, 2), GROUP);
		for (uint32_t i = 0; i < GROUP; i++)
			fx_tx_cqe(fx, HW_CQE_TX_INVALID_OOB);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), GROUP);
		assert_eq(fx_tx_missing(fx), 0);
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), turn * GROUP);
	}
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
}

/*
 * Errors with wrong offsets while groups are outstanding: the oldest packet is
 * freed, the others as soon as they are known to be complete. Offsets of good
 * CQEs stay right or become wrong.
 */
FX_TX_TEST_EACH_OF(error_with_a_wrong_offset, nr, 0, GROUP * 2, fx_with_groups(0))
{
	const uint32_t at = nr / 2, kind = nr % 2;
	uint32_t left;

	for (uint32_t i = 0; i < 3; i++)
		assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	fx->zero_position = true;
	fx_tx_complete(fx, at);
	fx_tx_cqe(fx, HW_CQE_TX_MTU_DROP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx_tx_missing(fx), 3 * GROUP - 1);
	assert_eq(fx->txq->stats.cqe_position, 1);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);

	fx->zero_position = kind == 1;
	fx_tx_complete(fx, 3 * GROUP - 1 - at);
	mana_txq_done_cleanup(fx->txq, 0);
	/*
	 * Without offsets each CQE frees one packet: there were
	 * two, or three if the error was not the CQE of its
	 * group.
	 */
	left = kind == 0 ? 0 :
	       3 * GROUP - (at == GROUP - 1 ? 3 : 4);
	assert_eq(mana_txq_nb_posted(fx->txq), left);
	assert_eq(fx_tx_missing(fx), left);

	/* One packet per CQE; the lag stays the same. */
	for (uint32_t i = 0; i < 10; i++) {
		assert_eq(fx_tx_post(fx, 15, 1), 15);
		fx_tx_complete(fx, 15);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_true(mana_txq_nb_posted(fx->txq) <=
			    left);
	}
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_WRONG);
	fx->zero_position = false;
	assert_eq(fx_tx_post(fx, 1, 1), 1);
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(fx_tx_missing(fx), 0);
}

/*
 * The first good CQE with a wrong offset ends groups until restart. The oldest
 * packet is complete, and the next right offset frees the others.
 */
FX_TX_TEST_OF(first_wrong_offset_ends_groups, fx_with_groups(0))
{
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	assert_eq(nb_asking(fx, 2 * GROUP), 2);
	fx->zero_position = true;
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	assert_eq(fx->txq->stats.cqe_position, 1);
	fx->zero_position = false;
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 2 * GROUP - 1);
	expect_denied(fx);
	assert_eq(fx->txq->stats.cqe_position, 1);
	mana_txq_release_mbufs(fx->txq);
	fx_tx_restart(fx);
	fx_tx_pass_offset_check(fx);
}

/* A duplicate CQE of the last group frees nothing. */
FX_TX_TEST_OF(duplicate_frees_nothing, fx_with_groups(0))
{
	uint32_t last;

	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	last = fx->txq->sq.pi - 1;
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	fx_tx_complete(fx, GROUP);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, last);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), GROUP);
	assert_eq(fx_tx_missing(fx), GROUP);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	assert_eq(fx->txq->stats.cqe_position, 1);
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), GROUP);
	expect_denied(fx);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
}

/* The same when no BU is free: the newest WQE is where the last released one was. */
FX_TX_TEST(duplicate_without_free_bu, .nb_desc = 128, .nb_cqe = 256, .sq_bytes = 4096)
{
	uint32_t last, group;

	fx_tx_pass_offset_check(fx);
	group = fx->txq->group_wqes;
	for (uint32_t i = 0; i < 128 / group; i++)
		assert_eq(fx_tx_post(fx, group, 1), group);
	last = fx->txq->sq.ci + group - 1;
	fx_tx_complete(fx, group);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), group);
	assert_eq(fx_tx_post(fx, group, 1), group);
	assert_eq(mana_wq_free_bu(&fx->txq->sq), 0);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, last);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx_tx_missing(fx), 128);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	fx_tx_complete(fx, 128);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 128);
}

/*
 * The same when every WQE of a full ring is a group, so that the record of the
 * last group is overwritten.
 */
FX_TX_TEST_EACH_OF(duplicate_at_a_full_ring, nb_segs, 1, 8, fx_with_groups(0xfffffff0))
{
	uint32_t last = fx->txq->sq.pi;

	for (uint32_t i = 0; i < 64; i++)
		assert_eq(fx_tx_post(fx, 1, nb_segs), 1);
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	assert_eq(fx_tx_post(fx, 1, nb_segs), 1);
	assert_eq(mana_txq_nb_posted(fx->txq), 64);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, last);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx_tx_missing(fx), 64 * nb_segs);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	fx_tx_complete(fx, 64);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 64);
	assert_eq(fx_tx_missing(fx), 0);
}

/* The next CQE makes up for a lost one. */
FX_TX_TEST_OF(next_cqe_replaces_lost_one, fx_with_groups(0))
{
	for (uint32_t i = 0; i < 3; i++)
		assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	for (uint32_t i = 0; i < GROUP; i++)
		(void)fx_tx_silent(fx);
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 2 * GROUP);
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), GROUP);
	expect_denied(fx);
}

FX_TX_TEST_OF(foreign_and_spurious_cqes_free_nothing, fx_with_groups(0))
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};

	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, fx->done_bu);
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	assert_eq(fx->txq->stats.cqe_foreign, 1);
	fx_tx_complete(fx, GROUP);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), GROUP);
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
}

/* tx_done_cleanup frees a part of a group, good or failed. */
FX_TX_TEST_EACH_OF(cleanup_of_a_part, nr, 0, (GROUP - 1) * 2, fx_with_groups((1 + nr / 2) * 31))
{
	const uint32_t max = 1 + nr / 2, bad = nr % 2;
	uint32_t done = 0, n, turn;

	assert_eq(fx_tx_post(fx, GROUP, 2), GROUP);
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	for (uint32_t i = 0; i < 2 * GROUP; i++)
		fx_tx_cqe(fx, bad && i % 5 == 3 ?
			  HW_CQE_TX_SA_DROP : HW_CQE_TX_OKAY);
	for (turn = 0; done < 2 * GROUP; turn++) {
		assert_true(turn < 3 * GROUP);
		assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX),
			  2 * GROUP - done);
		assert_eq(mana_txq_count(fx->txq), 0);
		n = mana_txq_done_cleanup(fx->txq, max);
		assert_true(n >= 1 && n <= max);
		assert_true(bad || n == RTE_MIN(max,
					2 * GROUP - done));
		done += n;
		assert_eq(fx_tx_missing(fx), done < GROUP ?
			  3 * GROUP - 2 * done :
			  2 * GROUP - done);
	}
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), bad ? 6 : 0);
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
}

/* Descriptor states: first the free, then the outstanding ones. */
FX_TX_TEST_OF(descriptor_states_in_a_group, fx_with_groups(0))
{
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	for (uint32_t done = 0; done <= GROUP; done += GROUP) {
		assert_eq(mana_txq_count(fx->txq), 2 * GROUP - done);
		for (uint32_t i = 0; i < 64; i++)
			assert_eq(mana_txq_desc_state(fx->txq, i),
				  i < 64 - 2 * GROUP + done ?
				  RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL);
		assert_eq(mana_txq_desc_state(fx->txq, 64), RTE_ETH_TX_DESC_UNAVAIL);
		fx_tx_complete(fx, GROUP);
	}
}

/* A query looks at each CQE of a CQ full of stale ones once. */
FX_TX_TEST_OF(query_of_stale_cqes, fx_with_groups(0))
{
	assert_eq(fx_tx_post(fx, GROUP, 1), GROUP);
	for (uint32_t i = 0; i < fx->cq.nb_cqe; i++)
		fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, fx->done_bu - 1);
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 0);
	assert_eq(mana_txq_count(fx->txq), GROUP);
}

/* All kinds of packets in one group, with an error at each place. */
FX_TX_TEST_EACH_OF(mixed_group, bad, 0, 14, fx_with_groups(0xfffffff0))
{
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	struct rte_mbuf *pkts[14], *orig = fx_mbuf(fx->mp, 60, 0);

	fx_mr_add_pool(other, 0x6001);
	for (uint32_t i = 0; i < 14; i++) {
		pkts[i] = i % 7 == 5 ? rte_pktmbuf_clone(orig, fx->mp) :
			  i % 7 == 3 ? fx_mbuf(other, 60, i) :
			  fx_chain(fx->mp, 1 + i % 3, 60, i);
		if (i % 7 == 2) {
			pkts[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
			pkts[i]->vlan_tci = i;
		}
	}
	assert_eq(fx->burst(fx->txq, pkts, 14), 14);
	assert_eq(nb_asking(fx, 14), 1);
	for (uint32_t i = 0; i < 14; i++) {
		fx_tx_cqe(fx, i == bad ? HW_CQE_TX_INVALID_OOB :
					   HW_CQE_TX_OKAY);
		if (i == bad)
			assert_eq(mana_txq_done_cleanup(fx->txq, 0),
				  bad + 1);
	}
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 13 - bad);
	assert_eq(rte_mbuf_refcnt_read(orig), 1);
	rte_pktmbuf_free(orig);
	assert_eq(fx_tx_missing(fx), 0);
	assert_eq(fx_pool_missing(other, 63), 0);
	fx_pool_free(other);
}

/* Each burst size at each place of a small ring, across 2^32. */
FX_TX_TEST_EACH(every_burst_size_at_every_position, size, 1, 65,
		.sq_bytes = 4096, .start = 0xffffff00,
		.mbufs_per_wqe = 1 + size % 4 / 2)
{
	for (uint32_t turn = 0; turn < 140; turn++) {
		assert_eq(fx_tx_post(fx, size, 1 + turn % 7 / 6), size);
		assert_eq(fx_tx_complete_all(fx), size);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), size);
		assert_eq(fx_tx_missing(fx), 0);
	}
	assert_eq(fx->txq->offset_check, MANA_TX_OFFSET_RIGHT);
}
