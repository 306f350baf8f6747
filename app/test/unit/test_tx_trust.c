/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When send completions are asked for, and what each of them releases: while
 * their positions are trusted, not yet, and no more. The device of bed_tx.c
 * checks that a CQE is asked for in each quarter of the ring and before each
 * doorbell.
 */

#include "bed.h"

#define GROUP 16u /* packets of a group: a quarter of 64 */

static uint16_t
post(struct bed_tx *bed, uint32_t nb, uint32_t nb_segs)
{
	struct rte_mbuf *pkts[128];
	uint16_t sent;

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = bed_chain(bed->mp, nb_segs, 60, i);
	sent = bed->burst(bed->txq, pkts, nb);
	for (uint32_t i = sent; i < nb; i++)
		rte_pktmbuf_free(pkts[i]);
	return sent;
}

static uint32_t
missing(const struct bed_tx *bed)
{
	return bed_pool_missing(bed->mp, bed->nb_mbufs);
}

/* Of the next nb WQEs, how many ask for a CQE. */
static uint32_t
nb_asking(struct bed_tx *bed, uint32_t nb)
{
	static struct bed_tx_wqe wqe;
	uint32_t asking = 0;

	for (uint32_t i = 0; i < nb; i++) {
		assert_true(bed_tx_fetch(bed, &wqe));
		asking += !wqe.oob.suppress;
	}
	assert_false(bed_tx_fetch(bed, &wqe));
	return asking;
}

static struct bed_tx *
trusted_bed(uint32_t start)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){ .start = start });

	bed_tx_earn_trust(bed);
	return bed;
}

static void
expect_denied(struct bed_tx *bed)
{
	static struct bed_tx_wqe wqe;

	while (bed_tx_fetch(bed, &wqe))
		;
	for (uint32_t i = 0; i < 5; i++) {
		assert_eq(post(bed, 10, 1), 10);
		assert_eq(nb_asking(bed, 10), 10);
		for (uint32_t k = 0; k < 10; k++)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(bed->txq, 0);
	}
	assert_eq(bed->txq->trust, MANA_TX_TRUST_DENIED);
}

/* Eight times right at so many places; that at 0 tells nothing. */
static void
trust_after_eight(void **state)
{
	(void)state;
	for (uint32_t start = 0; start < 300; start++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.start = start, .sq_bytes = 4096 });
		uint32_t nb_right = 0;

		for (uint32_t i = 0; i < 40 && nb_right < 8; i++) {
			assert_eq(post(bed, 1, 1), 1);
			assert_eq(nb_asking(bed, 1), 1);
			/* A new lap is a new count. */
			nb_right = bed->done_bu % 128 == 0 ? 0 : nb_right + 1;
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			mana_txq_done_cleanup(bed->txq, 0);
			assert_eq(bed->txq->trust == MANA_TX_TRUST_FULL,
				  nb_right == 8);
		}
		assert_eq(post(bed, 10, 1), 10);
		assert_eq(nb_asking(bed, 10), 1);
		bed_tx_delete(bed);
	}
}

/* A device that always tells 0 is right once a lap. */
static void
no_trust_in_zeros(void **state)
{
	(void)state;
	for (uint32_t start = 0; start < 256; start += 16) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.start = start, .zero_position = true });

		expect_denied(bed);
		assert_eq(bed->txq->stats.cqe_position, 0);
		bed_tx_delete(bed);
	}
}

/* Right seven times, then wrong once: never. Errors teach nothing. */
static void
no_trust_after_one_mistake(void **state)
{
	(void)state;
	for (uint32_t wrong = 1; wrong < 9; wrong++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

		for (uint32_t i = 0; i < wrong; i++) {
			assert_eq(post(bed, 1, 1), 1);
			assert_eq(nb_asking(bed, 1), 1);
			if (i + 1 < wrong) {
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			} else {
				assert_true(bed_tx_silent(bed));
				bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, 0x7fff);
			}
		}
		mana_txq_done_cleanup(bed->txq, 0);
		assert_eq(mana_txq_nb_posted(bed->txq), 0);
		expect_denied(bed);
		bed_tx_delete(bed);
	}
}

/* Laps may be counted in 27 bits, or not at all. */
static void
positions_modulo_the_ring(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096, .start = 0x7ffff00 });

	(void)state;
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t at = i % 2 ? bed->done_bu % 128 : bed->done_bu;

		assert_eq(post(bed, 1, 1), 1);
		assert_eq(nb_asking(bed, 1), 1);
		assert_true(bed_tx_silent(bed));
		bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, at);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
	}
	assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
	bed_tx_delete(bed);
}

/* One CQE frees a burst; the next poll does, also one of no packets. */
static void
one_completion_a_group(void **state)
{
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	for (uint32_t nb = 1; nb <= GROUP; nb++) {
		assert_eq(post(bed, nb, 1), nb);
		assert_eq(nb_asking(bed, nb), 1);
		for (uint32_t i = 0; i < nb; i++) {
			assert_eq(bed->burst(bed->txq, NULL, 0), 0);
			assert_eq(missing(bed), nb);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		assert_eq(mana_txq_nb_done(bed->txq), nb);
		assert_eq(bed->burst(bed->txq, NULL, 0), 0);
		assert_eq(missing(bed), 0);
	}
	assert_eq(post(bed, 64, 1), 64);
	assert_eq(nb_asking(bed, 64), 4);
	bed_tx_delete(bed);
}

/* Room is never lost: bursts of four segments fill a ring of 64 for ever. */
static void
full_ring_for_ever(void **state)
{
	static struct bed_tx_wqe wqe;

	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++) {
		uint32_t sent = 0;
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.sq_bytes = kind & 1 ? 4096 : 0,
			.zero_position = (kind & 2) != 0,
			.start = 0xffffff00 });

		for (uint32_t turn = 0; turn < 300; turn++) {
			uint32_t nb_out = mana_txq_nb_posted(bed->txq);

			/* All, none, some: the oldest first. */
			for (uint32_t i = nb_out * (turn % 5) / 4; i > 0; i--)
				if (bed->done_bu != bed->txq->sq.pi)
					bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			sent += post(bed, 32, 4);
			assert_true(mana_txq_nb_posted(bed->txq) <= 64);
			while (bed_tx_fetch(bed, &wqe))
				;
		}
		assert_true(sent > 300 * 10);
		while (bed->done_bu != bed->txq->sq.pi)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(bed->txq, 0);
		assert_eq(mana_txq_nb_posted(bed->txq), 0);
		assert_eq(missing(bed), 0);
		bed_tx_delete(bed);
	}
}

/* A bad one at each place of a group: it and those before it, no more. */
static void
error_releases_what_it_covers(void **state)
{
	(void)state;
	for (uint32_t type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++)
		for (uint32_t at = 0; at < 2 * GROUP; at++) {
			struct bed_tx *bed = trusted_bed(at * 7);
			bool dead = type == HW_CQE_TX_GDMA_ERR;
			uint32_t i;

			/* A group of one run, and one of chains among others. */
			assert_eq(post(bed, GROUP, 1), GROUP);
			assert_eq(post(bed, GROUP, 1 + at % 3), GROUP);
			for (i = 0; i < at; i++)
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			bed_tx_cqe(bed, type);
			assert_eq(mana_txq_nb_done(bed->txq), at + 1);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), at + 1);
			assert_eq(mana_txq_nb_posted(bed->txq),
				  2 * GROUP - at - 1);
			assert_eq(missing(bed), at < GROUP ?
				  GROUP - 1 - at + GROUP * (1 + at % 3) :
				  (2 * GROUP - 1 - at) * (1 + at % 3));
			assert_eq(bed->txq->stats.cqe_error[type - 33], 1);
			assert_eq(bed->txq->stats.cqe_position, 0);
			assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
			for (i++; i < 2 * GROUP && !dead; i++)
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			assert_eq(bed->txq->fate, dead ? MANA_QUEUE_DISABLED :
							 MANA_QUEUE_ALIVE);
			assert_eq(post(bed, 4, 1), dead ? 0 : 4);
			assert_eq(mana_txq_nb_posted(bed->txq), dead ?
				  2 * GROUP - 1 - at : 4);
			bed_tx_delete(bed);
		}
}

/* All of them are bad. */
static void
nothing_but_errors(void **state)
{
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	for (uint32_t turn = 1; turn <= 20; turn++) {
		assert_eq(post(bed, GROUP, 2), GROUP);
		for (uint32_t i = 0; i < GROUP; i++)
			bed_tx_cqe(bed, HW_CQE_TX_INVALID_OOB);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
		assert_eq(missing(bed), 0);
		assert_eq(mana_txq_errors(bed->txq), turn * GROUP);
	}
	assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
	bed_tx_delete(bed);
}

/*
 * Bad ones that tell a wrong position, while groups are outstanding: the
 * oldest packet is released, the others as soon as that is sure. Positions
 * of good ones stay right, or become wrong, too.
 */
static void
error_at_a_wrong_position(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < GROUP; at++)
		for (uint32_t kind = 0; kind < 2; kind++) {
			struct bed_tx *bed = trusted_bed(0);
			uint32_t i, left;

			for (i = 0; i < 3; i++)
				assert_eq(post(bed, GROUP, 1), GROUP);
			bed->zero_position = true;
			for (i = 0; i < at; i++)
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			bed_tx_cqe(bed, HW_CQE_TX_MTU_DROP);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
			assert_eq(missing(bed), 3 * GROUP - 1);
			assert_eq(bed->txq->stats.cqe_position, 1);
			assert_eq(mana_txq_errors(bed->txq), 1);

			bed->zero_position = kind == 1;
			for (i++; i < 3 * GROUP; i++)
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			mana_txq_done_cleanup(bed->txq, 0);
			/* That of the first group was the bad one itself. */
			left = kind == 1 && at == GROUP - 1 ? GROUP : 0;
			assert_eq(mana_txq_nb_posted(bed->txq), left);
			assert_eq(missing(bed), left);

			/* One a packet; what is late stays so, and no more. */
			for (i = 0; i < 10; i++) {
				assert_eq(post(bed, 20, 1), 20);
				for (uint32_t k = 0; k < 20; k++)
					bed_tx_cqe(bed, HW_CQE_TX_OKAY);
				mana_txq_done_cleanup(bed->txq, 0);
				assert_true(mana_txq_nb_posted(bed->txq) <=
					    (left != 0));
			}
			assert_eq(bed->txq->trust, MANA_TX_TRUST_DENIED);
			bed_tx_delete(bed);
		}
}

/* The first good one that is wrong ends it, until the queue starts again. */
static void
first_mismatch_ends_trust(void **state)
{
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	assert_eq(post(bed, GROUP, 1), GROUP);
	assert_eq(post(bed, GROUP, 1), GROUP);
	assert_eq(nb_asking(bed, 2 * GROUP), 2);
	bed->zero_position = true;
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	assert_eq(bed->txq->stats.cqe_position, 1);
	bed->zero_position = false;
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	expect_denied(bed);
	assert_eq(bed->txq->stats.cqe_position, 1);
	mana_txq_release_mbufs(bed->txq);
	memset(bed->cq.ring, 0, bed->cq.nb_cqe * HW_CQE_BYTES);
	memset(bed->db_page, 0, HW_DB_PAGE_BYTES);
	bed->cq.pi = bed->cq.nb_cqe;
	bed->ci = bed->done_bu = 0;
	assert_eq(mana_txq_init(bed->txq, &bed->conf), 0);
	bed_tx_earn_trust(bed);
	bed_tx_delete(bed);
}

/* The CQE of the last group once more: it has released that already. */
static void
duplicate_releases_nothing(void **state)
{
	struct bed_tx *bed = trusted_bed(0);
	uint32_t last;

	(void)state;
	assert_eq(post(bed, GROUP, 1), GROUP);
	last = bed->txq->sq.pi - 1;
	assert_eq(post(bed, GROUP, 1), GROUP);
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, last);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	assert_eq(missing(bed), GROUP);
	assert_eq(bed->txq->stats.cqe_spurious, 1);
	assert_eq(bed->txq->stats.cqe_position, 1);
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	expect_denied(bed);
	assert_eq(mana_txq_nb_posted(bed->txq), 0);
	bed_tx_delete(bed);
}

/*
 * The same when every WQE of a full ring is a group: what was known of the
 * last one is overwritten.
 */
static void
duplicate_at_a_full_ring(void **state)
{
	for (uint32_t nb_segs = 1; nb_segs < 8; nb_segs++) {
		struct bed_tx *bed = trusted_bed(0xfffffff0);
		uint32_t last = bed->txq->sq.pi;

		(void)state;
		for (uint32_t i = 0; i < 64; i++)
			assert_eq(post(bed, 1, nb_segs), 1);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(post(bed, 1, nb_segs), 1);
		assert_eq(mana_txq_nb_posted(bed->txq), 64);
		bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, last);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 0);
		assert_eq(missing(bed), 64 * nb_segs);
		assert_eq(bed->txq->stats.cqe_spurious, 1);
		for (uint32_t i = 0; i < 64; i++)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 64);
		assert_eq(missing(bed), 0);
		bed_tx_delete(bed);
	}
}

/* A CQE gets lost: late, not early, and made good by the next one. */
static void
lost_completion(void **state)
{
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_eq(post(bed, GROUP, 1), GROUP);
	for (uint32_t i = 0; i < GROUP; i++)
		(void)bed_tx_silent(bed);
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 2 * GROUP);
	expect_denied(bed);
	bed_tx_delete(bed);
}

static void
foreign_and_spurious(void **state)
{
	const uint32_t data[15] = {
		HW_CQE_TX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, bed->done_bu);
	assert_eq(post(bed, GROUP, 1), GROUP);
	assert_eq(bed->txq->stats.cqe_spurious, 1);
	bed_cqe_write(&bed->cq, data, (BED_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 0);
	assert_eq(bed->txq->stats.cqe_foreign, 1);
	for (uint32_t i = 0; i < GROUP; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), GROUP);
	assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
	bed_tx_delete(bed);
}

/* tx_done_cleanup takes a part of a group, good or bad. */
static void
cleanup_of_a_part(void **state)
{
	(void)state;
	for (uint32_t max = 1; max < GROUP; max++)
		for (uint32_t bad = 0; bad < 2; bad++) {
			struct bed_tx *bed = trusted_bed(max * 31);
			uint32_t done = 0, n, turn;

			assert_eq(post(bed, GROUP, 2), GROUP);
			assert_eq(post(bed, GROUP, 1), GROUP);
			for (uint32_t i = 0; i < 2 * GROUP; i++)
				bed_tx_cqe(bed, bad && i % 5 == 3 ?
					   HW_CQE_TX_SA_DROP : HW_CQE_TX_OKAY);
			for (turn = 0; done < 2 * GROUP; turn++) {
				assert_true(turn < 3 * GROUP);
				assert_eq(mana_txq_nb_done(bed->txq),
					  2 * GROUP - done);
				assert_eq(mana_txq_count(bed->txq), 0);
				n = mana_txq_done_cleanup(bed->txq, max);
				assert_true(n >= 1 && n <= max);
				assert_true(bad || n == RTE_MIN(max,
							2 * GROUP - done));
				done += n;
				assert_eq(missing(bed), done < GROUP ?
					  3 * GROUP - 2 * done :
					  2 * GROUP - done);
			}
			assert_eq(mana_txq_errors(bed->txq), bad ? 6 : 0);
			assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
			bed_tx_delete(bed);
		}
}

/* Descriptors: the free ones, then those outstanding, the oldest first. */
static void
states_in_a_group(void **state)
{
	struct bed_tx *bed = trusted_bed(0);

	(void)state;
	assert_eq(post(bed, GROUP, 1), GROUP);
	assert_eq(post(bed, GROUP, 1), GROUP);
	for (uint32_t done = 0; done <= GROUP; done += GROUP) {
		for (uint32_t i = 0; i < 64; i++)
			assert_eq(mana_txq_desc_state(bed->txq, i),
				  i < 64 - 2 * GROUP + done ?
				  MANA_DESC_DONE : MANA_DESC_POSTED);
		for (uint32_t i = 0; i < GROUP; i++)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	bed_tx_delete(bed);
}

/* Packets of all kinds in one group, a bad one at each place. */
static void
mixed_group(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 14; bad++) {
		struct bed_tx *bed = trusted_bed(0xfffffff0);
		struct rte_mempool *other = bed_pool("other", 63, 2048);
		struct rte_mbuf *pkts[14], *orig = bed_mbuf(bed->mp, 60, 0);

		bed_mr_add_pool(other, 0x6001);
		for (uint32_t i = 0; i < 14; i++) {
			pkts[i] = i % 7 == 5 ? rte_pktmbuf_clone(orig, bed->mp) :
				  i % 7 == 3 ? bed_mbuf(other, 60, i) :
				  bed_chain(bed->mp, 1 + i % 3, 60, i);
			if (i % 7 == 2) {
				pkts[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
				pkts[i]->vlan_tci = i;
			}
		}
		assert_eq(bed->burst(bed->txq, pkts, 14), 14);
		assert_eq(nb_asking(bed, 14), 1);
		for (uint32_t i = 0; i < 14; i++) {
			bed_tx_cqe(bed, i == bad ? HW_CQE_TX_INVALID_OOB :
						   HW_CQE_TX_OKAY);
			if (i == bad)
				assert_eq(mana_txq_done_cleanup(bed->txq, 0),
					  bad + 1);
		}
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 13 - bad);
		assert_eq(rte_mbuf_refcnt_read(orig), 1);
		rte_pktmbuf_free(orig);
		assert_eq(missing(bed), 0);
		assert_eq(bed_pool_missing(other, 63), 0);
		bed_tx_delete(bed);
		bed_pool_free(other);
	}
}

/* Each burst size at each place of a small ring, over 2^32, two lanes. */
static void
every_size_at_every_place(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 64; size++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.sq_bytes = 4096, .start = 0xffffff00,
			.mbufs_per_wqe = 1 + size % 4 / 2 });

		for (uint32_t turn = 0; turn < 140; turn++) {
			assert_eq(post(bed, size, 1 + turn % 7 / 6), size);
			assert_eq(bed_tx_complete_all(bed), size);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), size);
			assert_eq(missing(bed), 0);
		}
		assert_eq(bed->txq->trust, MANA_TX_TRUST_FULL);
		bed_tx_delete(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trust_after_eight),
		cmocka_unit_test(no_trust_in_zeros),
		cmocka_unit_test(no_trust_after_one_mistake),
		cmocka_unit_test(positions_modulo_the_ring),
		cmocka_unit_test(one_completion_a_group),
		cmocka_unit_test(full_ring_for_ever),
		cmocka_unit_test(error_releases_what_it_covers),
		cmocka_unit_test(nothing_but_errors),
		cmocka_unit_test(error_at_a_wrong_position),
		cmocka_unit_test(first_mismatch_ends_trust),
		cmocka_unit_test(duplicate_releases_nothing),
		cmocka_unit_test(duplicate_at_a_full_ring),
		cmocka_unit_test(lost_completion),
		cmocka_unit_test(foreign_and_spurious),
		cmocka_unit_test(cleanup_of_a_part),
		cmocka_unit_test(states_in_a_group),
		cmocka_unit_test(mixed_group),
		cmocka_unit_test(every_size_at_every_place),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
