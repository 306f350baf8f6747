/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Known ways in which the transmit path of such a device goes wrong, as in
 * known_rx.c.
 */

#include "known_tx.h"

/* One packet of a burst is of another kind: none is left out, or comes twice. */
static void
skipped_packet(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
	for (uint32_t odd = 0; odd < 32 * 4; odd++) {
		for (uint32_t i = 0; i < 32; i++) {
			bool is_odd = i == odd / 4;

			pkts[i] = bed_chain(bed->mp, is_odd && odd % 4 == 1 ? 3 : 1,
					    60, i);
			if (is_odd && odd % 4 == 2)
				pkts[i]->ol_flags = RTE_MBUF_F_TX_VLAN;
			if (is_odd && odd % 4 == 3)
				rte_mbuf_refcnt_update(pkts[i], 1);
		}
		assert_eq(bed->burst(bed->txq, pkts, 32), 32);
		for (uint32_t i = 0; i < 32; i++)
			expect_frame(bed, i == odd / 4 && odd % 4 == 1 ? 180 : 60, i);
		assert_false(bed_tx_fetch(bed, &wqe));
		if (odd % 4 == 3) {
			while (bed->ci != bed->done_bu)
				bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			assert_eq(bed->burst(bed->txq, NULL, 0), 0);
			assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 1);
			rte_pktmbuf_free(pkts[odd / 4]);
		}
		complete_all(bed);
	}
	bed_tx_delete(bed);
}

/* Whatever was posted, its last WQE asks: nothing waits for a CQE for ever. */
static void
last_without_request(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_desc = 64, .sq_bytes = 4096 });
	struct rte_mbuf *pkts[32];

	(void)state;
	bed_tx_earn_trust(bed);
	for (uint32_t turn = 0; turn < 64; turn++) {
		uint32_t nb = turn % 2 == 0 ? 32 : 1 + turn / 2, sent, i;

		uint32_t nb_segs = turn % 4 == 3 ? 1 : 4;

		for (i = 0; i < nb; i++)
			pkts[i] = bed_chain(bed->mp, nb_segs, 60, i);
		sent = bed->burst(bed->txq, pkts, nb);
		rte_pktmbuf_free_bulk(pkts + sent, nb - sent);
		assert_eq(sent, nb);
		for (i = 0; i < sent; i++)
			expect_frame(bed, nb_segs * 60, i);
		assert_false(wqe.oob.suppress);
		complete_all(bed);
	}
	assert_true(bed->txq->no_cqe != 0);
	bed_tx_delete(bed);
}

/* Of another queue, once more, when nothing is out, of no known type. */
static void
odd_cqes_tx(void **state)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t is_trusted = 0; is_trusted < 2; is_trusted++) {
		uint64_t foreign = bed->txq->stats.cqe_foreign;
		uint64_t spurious = bed->txq->stats.cqe_spurious;

		m = bed_mbuf(bed->mp, 60, 0);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		bed_cqe_write(&bed->cq, data, (BED_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
		assert_eq(bed->burst(bed->txq, NULL, 0), 0);
		assert_eq(bed->txq->stats.cqe_foreign, foreign + 1);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 1);
		complete_all(bed);
		/* Late: nothing is out, and what comes now is not paid. */
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(bed->burst(bed->txq, NULL, 0), 0);
		m = bed_mbuf(bed->mp, 60, 0);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_eq(bed->txq->stats.cqe_spurious, spurious + 1);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 1);
		complete_all(bed);
		/* Unknown: an error, of one packet. */
		m = bed_mbuf(bed->mp, 60, 0);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_true(bed_tx_fetch(bed, &wqe));
		bed_tx_cqe(bed, 60);
		assert_eq(bed->burst(bed->txq, NULL, 0), 0);
		assert_eq(bed->txq->stats.cqe_unknown, is_trusted + 1);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
		if (is_trusted == 0)
			bed_tx_earn_trust(bed);
	}
	bed_tx_delete(bed);
}

/* The CQE of a group once more: the next group is not done yet. */
static void
duplicate_cqes_tx(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	bed_tx_earn_trust(bed);
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 8; i++)
			pkts[i] = bed_mbuf(bed->mp, 60, i);
		assert_eq(bed->burst(bed->txq, pkts, 8), 8);
		while (k == 0 && bed_tx_fetch(bed, &wqe))
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	assert_eq(bed->burst(bed->txq, NULL, 0), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 8);
	bed_tx_cqe_at(bed, HW_CQE_TX_OKAY, bed->done_bu - 1);
	assert_eq(bed->burst(bed->txq, NULL, 0), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 8);
	assert_eq(bed->txq->stats.cqe_spurious, 1);
	complete_all(bed);
	bed_tx_delete(bed);
}

/* A chain, and with a header in two pieces, which goes the general way. */
static struct rte_mbuf *
long_packet(struct bed_tx *bed, uint32_t nb_segs, uint8_t seed, bool is_general)
{
	struct rte_mbuf *m = bed_chain(bed->mp, nb_segs, 20, seed);

	if (is_general) {
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
		m->l2_len = 14;
		m->l3_len = 20;
	}
	return m;
}

/* WQEs of many BUs: what is posted never overtakes what is not yet read. */
static void
fill_with(uint32_t nb_segs, bool is_general)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096, .nb_desc = 64, .mbufs_per_wqe = 32 });
	uint32_t most = RTE_MIN(64u, 128 / ((16 + nb_segs * 16 + 31) / 32));
	struct rte_mbuf *pkts[32];
	uint32_t sent, i, nb = 0;

	do {
		for (i = 0; i < 32; i++)
			pkts[i] = long_packet(bed, nb_segs, nb + i, is_general);
		sent = bed->burst(bed->txq, pkts, 32);
		rte_pktmbuf_free_bulk(pkts + sent, 32 - sent);
		nb += sent;
	} while (sent == 32);
	assert_eq(nb, most);
	for (i = 0; i < nb; i++) {
		assert_true(bed_tx_fetch(bed, &wqe));
		assert_eq(wqe.nb_sge, nb_segs);
		assert_eq(wqe.bytes, nb_segs * 20);
		for (uint32_t k = 0; k < wqe.bytes; k++) /* but the IP checksum */
			if (k / 2 != 12 || !is_general)
				assert_eq(wqe.frame[k], (uint8_t)(i + k));
	}
	assert_false(bed_tx_fetch(bed, &wqe));
	complete_all(bed);
	bed_tx_delete(bed);
}

static void
space_in_bu(void **state)
{
	(void)state;
	for (uint32_t nb_segs = 2; nb_segs <= 30; nb_segs += 7) {
		fill_with(nb_segs, false);
		fill_with(nb_segs, true);
	}
}

static void
send_nb(struct bed_tx *bed, uint32_t nb)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = bed_mbuf(bed->mp, 60, i);
	assert_eq(bed->burst(bed->txq, pkts, nb), nb);
	for (uint32_t i = 0; i < nb; i++)
		expect_frame(bed, 60, i);
	complete_all(bed);
}

/* The device must know in each lap how far its CQEs were read. */
static void
cq_doorbell_tx(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.nb_cqe = 64, .zero_position = k == 0 });
		uint32_t rung = bed->cq.pi, start = rung, nb = 0;

		for (uint32_t turn = 0; bed->cq.pi - start < 64 * 20; turn++) {
			struct hw_doorbell db;

			send_nb(bed, 1 + turn % 5);
			db = hw_doorbell_read(hw_le64(bed->db_page + HW_DB_CQ), true);
			if (db.id != 0) {
				nb++;
				assert_eq(db.id, BED_TX_CQ_ID);
				rung += (db.tail - rung) & (64 * 8 - 1);
				memset(bed->db_page + HW_DB_CQ, 0, 8);
			}
			assert_true(bed->cq.pi - rung <= 64 + 1);
		}
		assert_true(nb >= 20);
		bed_tx_delete(bed);
	}
}

/*
 * Groups of 8 WQEs, the last of which asks. One of them fails: it has a CQE, and it
 * and those before are done, not those behind.
 */
static void
error_in_group(void **state)
{
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++)
		for (uint32_t at = 0; at < 8; at++) {
			struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
			struct mana_txq *txq = bed->txq;
			bool dead = type == HW_CQE_TX_GDMA_ERR;

			bed_tx_earn_trust(bed);
			for (uint32_t i = 0; i < 8; i++)
				pkts[i] = bed_mbuf(bed->mp, 60, i);
			assert_eq(bed->burst(txq, pkts, 8), 8);
			for (uint32_t i = 0; i < 8; i++)
				expect_frame(bed, 60, i);
			for (uint32_t i = 0; i < at; i++)
				assert_true(bed_tx_silent(bed) == false);
			bed_tx_cqe(bed, type);
			assert_eq(bed->burst(txq, NULL, 0), 0);
			assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 7 - at);
			assert_eq(mana_txq_nb_posted(txq), 7 - at);
			assert_eq(mana_txq_errors(txq), 1);
			assert_eq(txq->stats.cqe_error[type - HW_CQE_TX_SA_DROP], 1);
			assert_eq(txq->fate, dead ? MANA_QUEUE_DISABLED :
						    MANA_QUEUE_ALIVE);
			if (!dead) {
				complete_all(bed);
				assert_true(txq->no_cqe != 0);
				send_nb(bed, 32);
			}
			assert_eq(mana_txq_errors(txq), 1);
			bed_tx_delete(bed);
		}
}

/* All indices run to 2^32 and on. */
static void
index_wrap_tx(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 40; k++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.start = -1 - k / 2 * 5, .zero_position = k % 2 == 0,
			.sq_bytes = 4096 });

		for (uint32_t turn = 0; turn < 16; turn++)
			send_nb(bed, 8 + turn % 3);
		assert_true(bed->txq->sq.pi < UINT32_MAX / 2);
		bed_tx_delete(bed);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_packet),
		cmocka_unit_test(last_without_request),
		cmocka_unit_test(odd_cqes_tx),
		cmocka_unit_test(duplicate_cqes_tx),
		cmocka_unit_test(space_in_bu),
		cmocka_unit_test(cq_doorbell_tx),
		cmocka_unit_test(error_in_group),
		cmocka_unit_test(index_wrap_tx),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
