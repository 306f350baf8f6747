/* SPDX-License-Identifier: BSD-3-Clause */

/* Known defects of Tx paths; see known_rx.c. */

#include "known_tx.h"

/* One packet of a burst takes a slower path: none is lost or sent twice. */
static void
skipped_packet(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
	for (uint32_t slow = 0; slow < 32 * 4; slow++) {
		for (uint32_t i = 0; i < 32; i++) {
			bool is_slow = i == slow / 4;

			pkts[i] = fx_chain(fx->mp, is_slow && slow % 4 == 1 ? 3 : 1,
					   60, i);
			if (is_slow && slow % 4 == 2)
				pkts[i]->ol_flags = RTE_MBUF_F_TX_VLAN;
			if (is_slow && slow % 4 == 3)
				rte_mbuf_refcnt_update(pkts[i], 1);
		}
		assert_eq(fx->burst(fx->txq, pkts, 32), 32);
		for (uint32_t i = 0; i < 32; i++)
			expect_frame(fx, i == slow / 4 && slow % 4 == 1 ? 180 : 60, i);
		assert_false(fx_tx_fetch(fx, &wqe));
		if (slow % 4 == 3) {
			while (fx->ci != fx->done_bu)
				fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			assert_eq(fx->burst(fx->txq, NULL, 0), 0);
			assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 1);
			rte_pktmbuf_free(pkts[slow / 4]);
		}
		complete_all(fx);
	}
	fx_tx_delete(fx);
}

/* The last WQE of a doorbell asks for a CQE. */
static void
last_without_request(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_desc = 64, .sq_bytes = 4096 });
	struct rte_mbuf *pkts[32];

	(void)state;
	fx_tx_pass_offset_check(fx);
	for (uint32_t turn = 0; turn < 64; turn++) {
		uint32_t nb = turn % 2 == 0 ? 32 : 1 + turn / 2, sent, i;

		uint32_t nb_segs = turn % 4 == 3 ? 1 : 4;

		for (i = 0; i < nb; i++)
			pkts[i] = fx_chain(fx->mp, nb_segs, 60, i);
		sent = fx->burst(fx->txq, pkts, nb);
		rte_pktmbuf_free_bulk(pkts + sent, nb - sent);
		assert_eq(sent, nb);
		for (i = 0; i < sent; i++)
			expect_frame(fx, nb_segs * 60, i);
		assert_false(wqe.oob.suppress);
		complete_all(fx);
	}
	assert_true(fx->txq->no_cqe != 0);
	fx_tx_delete(fx);
}

/* CQEs of another queue, duplicate, spurious and of unknown type. */
static void
bad_cqes_tx(void **state)
{
	const uint32_t data[15] = { HW_CQE_TX_OKAY };
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t has_groups = 0; has_groups < 2; has_groups++) {
		uint64_t foreign = fx->txq->stats.cqe_foreign;
		uint64_t spurious = fx->txq->stats.cqe_spurious;

		m = fx_mbuf(fx->mp, 60, 0);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_cqe_write(&fx->cq, data, (FX_SQ_ID + 1) | 1u << HW_CQE_IS_SQ_S);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		assert_eq(fx->txq->stats.cqe_foreign, foreign + 1);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 1);
		complete_all(fx);
		/* Spurious: no WQE is outstanding, and a later WQE stays so. */
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		m = fx_mbuf(fx->mp, 60, 0);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_eq(fx->txq->stats.cqe_spurious, spurious + 1);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 1);
		complete_all(fx);
		/* Unknown type: an error of one packet. */
		m = fx_mbuf(fx->mp, 60, 0);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_true(fx_tx_fetch(fx, &wqe));
		fx_tx_cqe(fx, 60);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		assert_eq(fx->txq->stats.cqe_unknown, has_groups + 1);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		if (has_groups == 0)
			fx_tx_pass_offset_check(fx);
	}
	fx_tx_delete(fx);
}

/* The same CQE again: the next group is not complete. */
static void
duplicate_cqes_tx(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	fx_tx_pass_offset_check(fx);
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 8; i++)
			pkts[i] = fx_mbuf(fx->mp, 60, i);
		assert_eq(fx->burst(fx->txq, pkts, 8), 8);
		while (k == 0 && fx_tx_fetch(fx, &wqe))
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_eq(fx->burst(fx->txq, NULL, 0), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 8);
	fx_tx_cqe_at(fx, HW_CQE_TX_OKAY, fx->done_bu - 1);
	assert_eq(fx->burst(fx->txq, NULL, 0), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 8);
	assert_eq(fx->txq->stats.cqe_spurious, 1);
	complete_all(fx);
	fx_tx_delete(fx);
}

/* A chain; general: its header is in two segments. */
static struct rte_mbuf *
long_packet(struct fx_tx *fx, uint32_t nb_segs, uint8_t seed, bool is_general)
{
	struct rte_mbuf *m = fx_chain(fx->mp, nb_segs, 20, seed);

	if (is_general) {
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
		m->l2_len = 14;
		m->l3_len = 20;
	}
	return m;
}

/* WQEs of many BUs: the driver never overwrites an unread WQE. */
static void
fill_with(uint32_t nb_segs, bool is_general)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096, .nb_desc = 64, .mbufs_per_wqe = 32 });
	uint32_t most = RTE_MIN(64u, 128 / ((16 + nb_segs * 16 + 31) / 32));
	struct rte_mbuf *pkts[32];
	uint32_t sent, i, nb = 0;

	do {
		for (i = 0; i < 32; i++)
			pkts[i] = long_packet(fx, nb_segs, nb + i, is_general);
		sent = fx->burst(fx->txq, pkts, 32);
		rte_pktmbuf_free_bulk(pkts + sent, 32 - sent);
		nb += sent;
	} while (sent == 32);
	assert_eq(nb, most);
	for (i = 0; i < nb; i++) {
		assert_true(fx_tx_fetch(fx, &wqe));
		assert_eq(wqe.nb_sge, nb_segs);
		assert_eq(wqe.bytes, nb_segs * 20);
		for (uint32_t k = 0; k < wqe.bytes; k++) /* not the IP sum */
			if (k / 2 != 12 || !is_general)
				assert_eq(wqe.frame[k], (uint8_t)(i + k));
	}
	assert_false(fx_tx_fetch(fx, &wqe));
	complete_all(fx);
	fx_tx_delete(fx);
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
send_nb(struct fx_tx *fx, uint32_t nb)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(fx->burst(fx->txq, pkts, nb), nb);
	for (uint32_t i = 0; i < nb; i++)
		expect_frame(fx, 60, i);
	complete_all(fx);
}

/* The driver rings the CQ doorbell in each lap. */
static void
cq_doorbell_tx(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.nb_cqe = 64, .zero_position = k == 0 });
		uint32_t rung = fx->cq.pi, start = rung, nb = 0;

		for (uint32_t turn = 0; fx->cq.pi - start < 64 * 20; turn++) {
			struct hw_doorbell db;

			send_nb(fx, 1 + turn % 5);
			db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
			if (db.id != 0) {
				nb++;
				assert_eq(db.id, FX_TX_CQ_ID);
				rung += (db.tail - rung) & (64 * 8 - 1);
				memset(fx->db_page + HW_DB_CQ, 0, 8);
			}
			assert_true(fx->cq.pi - rung <= 64 + 1);
		}
		assert_true(nb >= 20);
		fx_tx_delete(fx);
	}
}

/*
 * Groups of 8 WQEs with one request. One WQE fails and gets a CQE: it and those
 * before it are complete, those behind it are not.
 */
static void
error_in_group(void **state)
{
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++)
		for (uint32_t at = 0; at < 8; at++) {
			struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
			struct mana_txq *txq = fx->txq;
			bool dead = type == HW_CQE_TX_GDMA_ERR;

			fx_tx_pass_offset_check(fx);
			for (uint32_t i = 0; i < 8; i++)
				pkts[i] = fx_mbuf(fx->mp, 60, i);
			assert_eq(fx->burst(txq, pkts, 8), 8);
			for (uint32_t i = 0; i < 8; i++)
				expect_frame(fx, 60, i);
			for (uint32_t i = 0; i < at; i++)
				assert_true(fx_tx_silent(fx) == false);
			fx_tx_cqe(fx, type);
			assert_eq(fx->burst(txq, NULL, 0), 0);
			assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 7 - at);
			assert_eq(mana_txq_nb_posted(txq), 7 - at);
			assert_eq(mana_txq_stats_errors(&txq->stats), 1);
			assert_eq(txq->stats.cqe_error[type - HW_CQE_TX_SA_DROP], 1);
			assert_eq(mana_txq_failure(txq), dead ? MANA_FAILURE_DISABLED :
						    MANA_FAILURE_NONE);
			if (!dead) {
				complete_all(fx);
				assert_true(txq->no_cqe != 0);
				send_nb(fx, 32);
			}
			assert_eq(mana_txq_stats_errors(&txq->stats), 1);
			fx_tx_delete(fx);
		}
}

/* All indices wrap at 2^32. */
static void
index_wrap_tx(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 40; k++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.start = -1 - k / 2 * 5, .zero_position = k % 2 == 0,
			.sq_bytes = 4096 });

		for (uint32_t turn = 0; turn < 16; turn++)
			send_nb(fx, 8 + turn % 3);
		assert_true(fx->txq->sq.pi < UINT32_MAX / 2);
		fx_tx_delete(fx);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_packet),
		cmocka_unit_test(last_without_request),
		cmocka_unit_test(bad_cqes_tx),
		cmocka_unit_test(duplicate_cqes_tx),
		cmocka_unit_test(space_in_bu),
		cmocka_unit_test(cq_doorbell_tx),
		cmocka_unit_test(error_in_group),
		cmocka_unit_test(index_wrap_tx),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
