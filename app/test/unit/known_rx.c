/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Known defects of Rx paths: one test each, on all burst functions of this
 * processor. devtools/test-broken.sh --known adds each defect to the driver and
 * expects the test known-* to fail.
 */

#include "fixture.h"

/* nb packets of 60 bytes arrive and are received. */
static void
receive(struct fx_rx *fx, uint32_t nb)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(fx_rx_burst(fx->list, pkts, 64), nb);
	for (uint32_t i = 0; i < nb; i++)
		fx_rx_check_data(fx, pkts[i], 60);
}

/* The mempool is empty for a while: polls refill the ring later. */
static void
pool_empty_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 128 });
	struct rte_mbuf *pkts[64], *kept[64];

	for (uint32_t round = 0; round < 3; round++) {
		assert_eq(rte_pktmbuf_alloc_bulk(fx->mp, kept, 64), 0);
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_okay(fx, 60, 0);
		/* All WQEs are consumed and the mempool is empty. */
		assert_eq(fx_rx_burst(fx->list, pkts, 64), 64);
		assert_eq(fx_rx_burst(fx->list, pkts, 64), 0);
		assert_eq(fx_rx_available(fx), 0);
		for (uint32_t i = 0; i < 64; i++)
			fx_rx_check_data(fx, pkts[i], 60);
		/* No completion can arrive: polls alone refill the ring. */
		for (uint32_t i = 0; i < 4; i++)
			assert_eq(fx_rx_burst(fx->list, pkts, 64), 0);
		assert_eq(fx_rx_available(fx), 64);
		rte_pktmbuf_free_bulk(kept, 64);
		receive(fx, 64);
		fx_rx_burst(fx->list, pkts, 64);
	}
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(pool_empty)

/* CQEs of another queue and of an unknown type. */
static void
bad_cqes_rx_test(void)
{
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint32_t posted;

	/* A foreign CQE at each index of a group of eight. */
	for (uint32_t at = 0; at < 8; at++) {
		for (uint32_t i = 0; i < 8; i++)
			if (i == at)
				fx_cqe_write(&fx->cq, data, FX_RQ_ID + 1);
			else
				fx_rx_okay(fx, 60 + i, 0);
		assert_eq(fx_rx_burst(fx->list, pkts, 64), 7);
		for (uint32_t i = 0; i < 7; i++)
			fx_rx_check_data(fx, pkts[i], 60 + i + (i >= at));
		assert_eq(fx->rxq->stats.cqe_foreign, at + 1);
		receive(fx, 32);
	}
	/* An unknown type uses no buffer; later packets are received. */
	posted = mana_rxq_nb_posted(fx->rxq);
	fx_rx_cqe(fx, 60, 60);
	assert_eq(fx_rx_burst(fx->list, pkts, 64), 0);
	assert_eq(fx->rxq->stats.cqe_unknown, 1);
	assert_eq(mana_rxq_nb_posted(fx->rxq), posted);
	receive(fx, 32);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(bad_cqes_rx)

/* Duplicate CQEs: more packets than posted buffers. */
static void
duplicate_cqes_rx_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_pool = 64 });
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < 64; i++)
		fx_rx_okay(fx, 60, 0);
	for (uint32_t i = 0; i < 7; i++)
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60);
	assert_eq(fx_rx_burst(fx->list, pkts, 64), 64);
	assert_eq(fx_rx_burst(fx->list, pkts, 0), 0);
	assert_eq(mana_rxq_nb_posted(fx->rxq), 0);
	for (uint32_t i = 0; i < 64; i++)
		assert_eq(pkts[i]->pkt_len, 60);
	/* The application owns all mbufs: none is delivered twice. */
	assert_eq(fx_rx_burst(fx->list, &pkts[0], 64), 0);
	assert_eq(fx->rxq->stats.cqe_spurious, 7);
	assert_eq(fx_pool_missing(fx->mp, 64), 64);
	for (uint32_t i = 0; i < 64; i++)
		fx_rx_check_data(fx, pkts[i], 60);
	fx_rx_burst(fx->list, pkts, 0);
	receive(fx, 32);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(duplicate_cqes_rx)

/* CQEs of a closed queue whose number has changed. */
static void
late_cqes_rx_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[8];

	fx_rx_okay(fx, 60, 0);
	mana_rxq_close(fx->rxq);
	assert_eq(fx_rx_burst(fx->list, pkts, 8), 0);
	mana_rxq_open(fx->rxq, FX_RQ_ID + 5, FX_RX_CQ_ID);
	assert_eq(fx_rx_burst(fx->list, pkts, 8), 0);
	assert_eq(fx->rxq->stats.cqe_foreign, 1);
	assert_eq(fx->rxq->packets, 0);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(late_cqes_rx)

/* Packets longer than the buffer are dropped, no others. */
static void
length_beyond_buffer_test(void)
{
	const uint32_t bad[] = { FX_ROOM_BYTES + 1, 32768, 65535 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint64_t nb_bad = 0;

	for (uint32_t k = 0; k < RTE_DIM(bad) * 8; k++) {
		for (uint32_t i = 0; i < 8; i++)
			fx_rx_okay(fx, i == k % 8 ? bad[k / 8] : FX_ROOM_BYTES, 0);
		assert_eq(fx_rx_burst(fx->list, pkts, 64), 7);
		for (uint32_t i = 0, n = 0; i < 8; i++)
			if (i == k % 8)
				fx_rx_skip(fx);
			else
				fx_rx_check_data(fx, pkts[n++], FX_ROOM_BYTES);
		assert_eq(fx->rxq->stats.oversize, ++nb_bad);
	}
	for (uint32_t k = 0; k < RTE_DIM(bad) * 4; k++) {
		uint32_t len[4] = { 60, 61, 62, 63 };

		len[k % 4] = bad[k / 4];
		fx_rx_coalesced(fx, len, 4, 0);
		assert_eq(fx_rx_burst(fx->list, pkts, 64), 3);
		for (uint32_t i = 0, n = 0; i < 4; i++)
			if (i == k % 4)
				fx_rx_skip(fx);
			else
				fx_rx_check_data(fx, pkts[n++], 60 + i);
		assert_eq(fx->rxq->stats.oversize, ++nb_bad);
	}
	receive(fx, 32);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(length_beyond_buffer)

/* Each of the nine bits of the hash type means a hash. */
static void
hash_type_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	const uint64_t mask = RTE_MBUF_F_RX_RSS_HASH;
	const uint32_t l3_l4 = RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;
	static const uint32_t ptypes[9] = {
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
	};
	struct rte_mbuf *pkts[8];

	/* Eight equal CQEs, and one different CQE at each index. */
	for (uint32_t bit = 0; bit < 9; bit++)
		for (uint32_t at = 0; at < 8; at++) {
			for (uint32_t i = 0; i < 8; i++)
				fx_rx_okay(fx, 60, i == at ? 0 : 1u << (16 + bit));
			assert_eq(fx_rx_burst(fx->list, pkts, 8), 8);
			for (uint32_t i = 0; i < 8; i++) {
				assert_eq(pkts[i]->ol_flags & mask,
					  i == at ? 0 : mask);
				if (i != at)
					assert_eq(pkts[i]->packet_type & l3_l4,
						  ptypes[bit]);
				fx_rx_check_data(fx, pkts[i], 60);
			}
		}
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(hash_type)

/* Whether the driver rang the CQ doorbell; the index it wrote. */
static bool
cq_acknowledged(struct fx_rx *fx, uint32_t *rung)
{
	struct hw_doorbell db;

	db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
	if (db.id == 0)
		return false;
	assert_eq(db.id, FX_RX_CQ_ID);
	*rung += (db.tail - *rung) & (fx->cq.nb_cqe * 8 - 1);
	memset(fx->db_page + HW_DB_CQ, 0, 8);
	return true;
}

/* The driver rings the CQ doorbell in each lap. */
static void
cq_doorbell_rx_test(void)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_cqe = 64, .nb_desc = 48 });
	uint32_t rung = fx->cq.pi, nb = 0;

	for (uint32_t turn = 0; turn < 200; turn++) {
		receive(fx, 1 + turn % 7);
		nb += cq_acknowledged(fx, &rung);
		/* One lap, and the CQE that the doorbell leaves out. */
		assert_true(fx->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb >= fx->rxq->packets / 64);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(cq_doorbell_rx)

/* Also for CQEs without buffer, which cause no refill. */
static void
cq_doorbell_bad_cqes_test(void)
{
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.nb_cqe = 64, .nb_desc = 48 });
	uint32_t rung = fx->cq.pi, nb = 0;
	struct rte_mbuf *pkts[8];

	for (uint32_t turn = 0; turn < 200; turn++) {
		for (uint32_t i = 0; i < 1 + turn % 7; i++)
			fx_cqe_write(&fx->cq, data, FX_RQ_ID + 1);
		assert_eq(fx_rx_burst(fx->list, pkts, 8), 0);
		nb += cq_acknowledged(fx, &rung);
		assert_true(fx->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb > 8);
	receive(fx, 32);
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(cq_doorbell_bad_cqes)

/* All indices wrap at 2^32. */
static void
index_wrap_rx_test(void)
{
	for (uint32_t before = 0; before < 96; before += 5) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.start = -before - 1 });

		for (uint32_t turn = 0; turn < 16; turn++)
			receive(fx, 8 + turn % 3);
		assert_true(fx->rxq->rq.pi < UINT32_MAX / 2);
		fx_rx_delete(fx);
	}
}
FX_RX_ON_EACH_PATH(index_wrap_rx)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_empty),
		cmocka_unit_test(bad_cqes_rx),
		cmocka_unit_test(duplicate_cqes_rx),
		cmocka_unit_test(late_cqes_rx),
		cmocka_unit_test(length_beyond_buffer),
		cmocka_unit_test(hash_type),
		cmocka_unit_test(cq_doorbell_rx),
		cmocka_unit_test(cq_doorbell_bad_cqes),
		cmocka_unit_test(index_wrap_rx),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
