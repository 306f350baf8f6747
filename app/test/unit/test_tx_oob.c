/* SPDX-License-Identifier: BSD-3-Clause */

/* Short and long OOB: configuration, and rejection by the device. */

#include <errno.h>

#include "fixture.h"

static struct fx_tx_wqe wqe;

/* Posts a packet of 1 to 3 segments, with or without VLAN tag. */
static void
post_one(struct fx_tx *fx, bool has_tag, uint32_t seed)
{
	struct rte_mbuf *m = fx_chain(fx->mp, 1 + seed % 3, 100, seed);

	if (has_tag) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = seed;
	}
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
}

/* Whether the next WQE is long; fx_tx_fetch() checks the vPort fields. */
static bool
fetch_is_long(struct fx_tx *fx)
{
	assert_true(fx_tx_fetch(fx, &wqe));
	return wqe.oob.pkt_fmt == HW_PKT_FMT_LONG;
}

TEST(each_form)
{
	static const uint32_t offsets[] = { 3, 255, 256, 4095 };

	for (uint32_t i = 0; i < 3 * 3 * 4; i++) {
		const struct fx_tx_opts opts = {
			.form = i % 3, .vport = i / 3 % 3,
			.vp_offset = offsets[i / 9],
		};
		bool is_far = opts.vp_offset > 255;
		struct fx_tx *fx;

		if (is_far && (opts.form == MANA_TX_FORM_SHORT ||
			       opts.vport == MANA_TX_VPORT_SHORT))
			continue;
		fx = fx_tx_new(&opts);
		for (uint32_t k = 0; k < 60; k++) {
			bool has_tag = k % 3 == 1;

			post_one(fx, has_tag, k);
			assert_int_equal(fetch_is_long(fx), has_tag || is_far ||
					 opts.form == MANA_TX_FORM_LONG);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		fx_tx_delete(fx);
	}
}

/* Reserved bits of the long OOB are 0, whatever the ring held. */
TEST(long_oob_garbage)
{
	static const uint32_t far[] = { 3, 300 };
	struct rte_mbuf *m;

	for (uint32_t k = 0; k < RTE_DIM(far) * 2; k++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.vp_offset = far[k / 2], .sq_bytes = 4096 });

		for (uint32_t turn = 0; turn < 300; turn++) {
			/* Each place of the ring, filled with ones before. */
			memset(fx->sq_ring, 0xff, fx->rings.ring_bytes);
			m = fx_chain(fx->mp, 1 + turn % 3, 60, turn);
			m->ol_flags = RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = 0xabc;
			if (k % 2 == 1) /* takes the slow path */
				rte_pktmbuf_refcnt_update(m, 1);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			assert_eq(hw_le64(fx->sq_ring + 24 + (fx->ci * HW_BU_BYTES &
					  (fx->rings.ring_bytes - 1))), 0);
			assert_true(fetch_is_long(fx));
			assert_eq(wqe.bytes, 60 * (1 + turn % 3));
			assert_eq(wqe.oob.tci, 0xabc);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			assert_eq(fx->burst(fx->txq, NULL, 0), 0);
			if (k % 2 == 1)
				rte_pktmbuf_free(m);
		}
		fx_tx_delete(fx);
	}
}

/* A vPort offset beyond the field of the long form. */
FX_TX_TEST(too_large_vport_offset)
{
	struct mana_queue_rings rings = fx->rings;
	struct mana_txq_conf conf = fx->conf;

	rings.vp_offset = 256;
	conf.form = MANA_TX_FORM_SHORT;
	assert_int_equal(mana_txq_init(fx->txq, &rings, &conf), -ERANGE);
	conf.form = MANA_TX_FORM_LONG;
	conf.vport = MANA_TX_VPORT_SHORT;
	assert_int_equal(mana_txq_init(fx->txq, &rings, &conf), -ERANGE);
}

/*
 * The device rejects each short OOB with TX_INVALID_OOB, and completes tagged
 * packets. After 8 errors the queue switches to the long form, if configured.
 */
TEST(rejected_short_form_switches_to_long)
{
	for (uint32_t kind = 0; kind < 16; kind++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.form = kind & 1 ? MANA_TX_FORM_SHORT : 0,
			.zero_position = (kind & 2) != 0,
			.no_suppress = (kind & 4) != 0 });
		bool has_tags = (kind & 8) != 0;
		uint32_t nb_refused = 0;

		for (uint32_t i = 0; i < 100; i++) {
			bool has_tag = has_tags && i % 2;
			bool is_long;

			post_one(fx, has_tag, i);
			is_long = fetch_is_long(fx);
			nb_refused += !is_long;
			assert_int_equal(fx->txq->is_form_changed,
					 !(kind & 1) && nb_refused == 8 && is_long);
			fx_tx_cqe(fx, is_long ? HW_CQE_TX_OKAY :
						  HW_CQE_TX_INVALID_OOB);
			mana_txq_done_cleanup(fx->txq, 0);
			assert_eq(mana_txq_nb_posted(fx->txq), 0);
		}
		assert_eq(nb_refused, kind & 1 ? has_tags ? 50 : 100 : 8);
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), nb_refused);
		fx_tx_delete(fx);
	}
}

/* The switch happens within a burst; packets complete in order. */
TEST(switch_to_long_form_within_burst)
{
	for (uint32_t nb = 2; nb <= 60; nb++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
		uint32_t nb_long = 0, nb_all = 0;

		for (uint32_t turn = 0; turn < 30; turn++) {
			struct rte_mbuf *pkts[60];

			for (uint32_t i = 0; i < nb; i++)
				pkts[i] = fx_mbuf(fx->mp, 60, i);
			assert_eq(fx->burst(fx->txq, pkts, nb), nb);
			for (uint32_t i = 0; i < nb; i++, nb_all++) {
				bool is_long = fetch_is_long(fx);

				nb_long += is_long;
				fx_tx_cqe(fx, is_long ? HW_CQE_TX_OKAY :
						  HW_CQE_TX_INVALID_OOB);
			}
			mana_txq_done_cleanup(fx->txq, 0);
			assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		}
		assert_eq(nb_all - nb_long, (8 + nb - 1) / nb * nb);
		fx_tx_delete(fx);
	}
}

/* The device has accepted the short form once: no later switch. */
TEST(accepted_short_form_is_kept)
{
	for (uint32_t good = 0; good < 8; good++)
		for (uint32_t kind = 0; kind < 4; kind++) {
			struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
				.zero_position = (kind & 1) != 0,
				.no_suppress = (kind & 2) != 0 });

			for (uint32_t i = 0; i < 50; i++) {
				post_one(fx, false, i);
				assert_false(fetch_is_long(fx));
				fx_tx_cqe(fx, i == good ?
					  HW_CQE_TX_OKAY :
					  HW_CQE_TX_INVALID_OOB);
				mana_txq_done_cleanup(fx->txq, 0);
			}
			fx_tx_delete(fx);
		}
}

/* Other errors cause no switch. */
TEST(other_errors)
{
	for (uint32_t type = HW_CQE_TX_SA_DROP; type < HW_CQE_TX_GDMA_ERR; type++) {
		struct fx_tx *fx;

		if (type == HW_CQE_TX_INVALID_OOB)
			continue;
		fx = fx_tx_new(&(struct fx_tx_opts){0});
		for (uint32_t i = 0; i < 30; i++) {
			post_one(fx, false, i);
			assert_false(fetch_is_long(fx));
			fx_tx_cqe(fx, type);
			mana_txq_done_cleanup(fx->txq, 0);
		}
		fx_tx_delete(fx);
	}
}
