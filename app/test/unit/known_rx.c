/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Known ways in which the receive path of such a device goes wrong: one test each,
 * on all paths that the processor has. devtools/test-broken.sh --known goes wrong in
 * each of them, and looks whether its test, known-*, notices.
 */

#include "bed.h"

static uint16_t (*burst)(void *queue, struct rte_mbuf **pkts, uint16_t nb);

static void
on_each_path(void (*test)(void))
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		if (!mana_path_is_allowed(&mana_rx_paths[i]))
			continue;
		burst = mana_rx_paths[i].burst;
		test();
	}
}

#define ON_EACH_PATH(name) \
static void \
name(void **state) \
{ \
	(void)state; \
	on_each_path(name##_test); \
}

/* The next packet in order, contents and all; flags are for others to judge. */
static void
check(struct bed_rx *bed, struct rte_mbuf *m, uint32_t len_bytes)
{
	bed_rx_check(bed, m, len_bytes, m->ol_flags, m->packet_type);
}

/* nb packets of 60 bytes arrive and are received. */
static void
receive(struct bed_rx *bed, uint32_t nb)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		bed_rx_okay(bed, 60, 0);
	assert_eq(burst(bed->rxq, pkts, 64), nb);
	for (uint32_t i = 0; i < nb; i++)
		check(bed, pkts[i], 60);
}

/* The pool has nothing for a while: the ring is filled when it has. */
static void
pool_empty_test(void)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_pool = 128 });
	struct rte_mbuf *pkts[64], *kept[64];

	for (uint32_t round = 0; round < 3; round++) {
		assert_eq(rte_pktmbuf_alloc_bulk(bed->mp, kept, 64), 0);
		for (uint32_t i = 0; i < 64; i++)
			bed_rx_okay(bed, 60, 0);
		/* Received to the last, no buffer to be had. */
		assert_eq(burst(bed->rxq, pkts, 64), 64);
		assert_eq(burst(bed->rxq, pkts, 64), 0);
		assert_eq(bed_rx_available(bed), 0);
		for (uint32_t i = 0; i < 64; i++)
			check(bed, pkts[i], 60);
		/* Nothing has arrived, nothing can: polls alone make it good. */
		for (uint32_t i = 0; i < 4; i++)
			assert_eq(burst(bed->rxq, pkts, 64), 0);
		assert_eq(bed_rx_available(bed), 64);
		rte_pktmbuf_free_bulk(kept, 64);
		receive(bed, 64);
		burst(bed->rxq, pkts, 64);
	}
	bed_rx_delete(bed);
}
ON_EACH_PATH(pool_empty)

/* Of another queue, and of no known type. */
static void
odd_cqes_rx_test(void)
{
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint32_t posted;

	/* Foreign: at each place of a group of eight. */
	for (uint32_t at = 0; at < 8; at++) {
		for (uint32_t i = 0; i < 8; i++)
			if (i == at)
				bed_cqe_write(&bed->cq, data, BED_RQ_ID + 1);
			else
				bed_rx_okay(bed, 60 + i, 0);
		assert_eq(burst(bed->rxq, pkts, 64), 7);
		for (uint32_t i = 0; i < 7; i++)
			check(bed, pkts[i], 60 + i + (i >= at));
		assert_eq(bed->rxq->stats.cqe_foreign, at + 1);
		receive(bed, 32);
	}
	/* Unknown: takes no buffer, and the packets behind it come. */
	posted = mana_rxq_nb_posted(bed->rxq);
	bed_rx_cqe(bed, 60, 60);
	assert_eq(burst(bed->rxq, pkts, 64), 0);
	assert_eq(bed->rxq->stats.cqe_unknown, 1);
	assert_eq(mana_rxq_nb_posted(bed->rxq), posted);
	receive(bed, 32);
	bed_rx_delete(bed);
}
ON_EACH_PATH(odd_cqes_rx)

/* Twice: packets for which no buffer was posted. */
static void
duplicate_cqes_rx_test(void)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_pool = 64 });
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < 64; i++)
		bed_rx_okay(bed, 60, 0);
	for (uint32_t i = 0; i < 7; i++)
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 60);
	assert_eq(burst(bed->rxq, pkts, 64), 64);
	assert_eq(burst(bed->rxq, pkts, 0), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	for (uint32_t i = 0; i < 64; i++)
		assert_eq(pkts[i]->pkt_len, 60);
	/* All are the application's: there is none to deliver again. */
	assert_eq(burst(bed->rxq, &pkts[0], 64), 0);
	assert_eq(bed->rxq->stats.cqe_spurious, 7);
	assert_eq(bed_pool_missing(bed->mp, 64), 64);
	for (uint32_t i = 0; i < 64; i++)
		check(bed, pkts[i], 60);
	burst(bed->rxq, pkts, 0);
	receive(bed, 32);
	bed_rx_delete(bed);
}
ON_EACH_PATH(duplicate_cqes_rx)

/* Late: the queue was closed, and has another number when it is opened. */
static void
late_cqes_rx_test(void)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[8];

	bed_rx_okay(bed, 60, 0);
	mana_rxq_close(bed->rxq);
	assert_eq(burst(bed->rxq, pkts, 8), 0);
	mana_rxq_open(bed->rxq, BED_RQ_ID + 5, BED_RX_CQ_ID);
	assert_eq(burst(bed->rxq, pkts, 8), 0);
	assert_eq(bed->rxq->stats.cqe_foreign, 1);
	assert_eq(bed->rxq->packets, 0);
	bed_rx_delete(bed);
}
ON_EACH_PATH(late_cqes_rx)

/* A length beyond the buffer, alone or among others: dropped, and only that. */
static void
length_beyond_buffer_test(void)
{
	const uint32_t bad[] = { BED_ROOM_BYTES + 1, 32768, 65535 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[64];
	uint64_t nb_bad = 0;

	for (uint32_t k = 0; k < RTE_DIM(bad) * 8; k++) {
		for (uint32_t i = 0; i < 8; i++)
			bed_rx_okay(bed, i == k % 8 ? bad[k / 8] : BED_ROOM_BYTES, 0);
		assert_eq(burst(bed->rxq, pkts, 64), 7);
		for (uint32_t i = 0, n = 0; i < 8; i++)
			if (i == k % 8)
				bed_rx_skip(bed);
			else
				check(bed, pkts[n++], BED_ROOM_BYTES);
		assert_eq(bed->rxq->stats.oversize, ++nb_bad);
	}
	for (uint32_t k = 0; k < RTE_DIM(bad) * 4; k++) {
		uint32_t len[4] = { 60, 61, 62, 63 };

		len[k % 4] = bad[k / 4];
		bed_rx_coalesced(bed, len, 4, 0);
		assert_eq(burst(bed->rxq, pkts, 64), 3);
		for (uint32_t i = 0, n = 0; i < 4; i++)
			if (i == k % 4)
				bed_rx_skip(bed);
			else
				check(bed, pkts[n++], 60 + i);
		assert_eq(bed->rxq->stats.oversize, ++nb_bad);
	}
	receive(bed, 32);
	bed_rx_delete(bed);
}
ON_EACH_PATH(length_beyond_buffer)

/* The hash type is a mask of nine bits, each of which is a hash. */
static void
hash_type_test(void)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
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

	/* All alike, and with one that differs at each place. */
	for (uint32_t bit = 0; bit < 9; bit++)
		for (uint32_t at = 0; at < 8; at++) {
			for (uint32_t i = 0; i < 8; i++)
				bed_rx_okay(bed, 60, i == at ? 0 : 1u << (16 + bit));
			assert_eq(burst(bed->rxq, pkts, 8), 8);
			for (uint32_t i = 0; i < 8; i++) {
				assert_eq(pkts[i]->ol_flags & mask,
					  i == at ? 0 : mask);
				if (i != at)
					assert_eq(pkts[i]->packet_type & l3_l4,
						  ptypes[bit]);
				check(bed, pkts[i], 60);
			}
		}
	bed_rx_delete(bed);
}
ON_EACH_PATH(hash_type)

/* Whether the device was told; from where on it has not been. */
static bool
cq_told(struct bed_rx *bed, uint32_t *rung)
{
	struct hw_doorbell db;

	db = hw_doorbell_read(hw_le64(bed->db_page + HW_DB_CQ), true);
	if (db.id == 0)
		return false;
	assert_eq(db.id, BED_RX_CQ_ID);
	*rung += (db.tail - *rung) & (bed->cq.nb_cqe * 8 - 1);
	memset(bed->db_page + HW_DB_CQ, 0, 8);
	return true;
}

/* The device must know in each lap how far its CQEs were read. */
static void
cq_doorbell_rx_test(void)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_cqe = 64, .nb_desc = 48 });
	uint32_t rung = bed->cq.pi, nb = 0;

	for (uint32_t turn = 0; turn < 200; turn++) {
		receive(bed, 1 + turn % 7);
		nb += cq_told(bed, &rung);
		/* A lap, and the one CQE that is never told of. */
		assert_true(bed->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb >= bed->rxq->packets / 64);
	bed_rx_delete(bed);
}
ON_EACH_PATH(cq_doorbell_rx)

/* Also of CQEs that take no buffer: no refill comes with them. */
static void
cq_doorbell_odd_test(void)
{
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.nb_cqe = 64, .nb_desc = 48 });
	uint32_t rung = bed->cq.pi, nb = 0;
	struct rte_mbuf *pkts[8];

	for (uint32_t turn = 0; turn < 200; turn++) {
		for (uint32_t i = 0; i < 1 + turn % 7; i++)
			bed_cqe_write(&bed->cq, data, BED_RQ_ID + 1);
		assert_eq(burst(bed->rxq, pkts, 8), 0);
		nb += cq_told(bed, &rung);
		assert_true(bed->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb > 8);
	receive(bed, 32);
	bed_rx_delete(bed);
}
ON_EACH_PATH(cq_doorbell_odd)

/* All indices run to 2^32 and on. */
static void
index_wrap_rx_test(void)
{
	for (uint32_t before = 0; before < 96; before += 5) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.start = -before - 1 });

		for (uint32_t turn = 0; turn < 16; turn++)
			receive(bed, 8 + turn % 3);
		assert_true(bed->rxq->rq.pi < UINT32_MAX / 2);
		bed_rx_delete(bed);
	}
}
ON_EACH_PATH(index_wrap_rx)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_empty),
		cmocka_unit_test(odd_cqes_rx),
		cmocka_unit_test(duplicate_cqes_rx),
		cmocka_unit_test(late_cqes_rx),
		cmocka_unit_test(length_beyond_buffer),
		cmocka_unit_test(hash_type),
		cmocka_unit_test(cq_doorbell_rx),
		cmocka_unit_test(cq_doorbell_odd),
		cmocka_unit_test(index_wrap_rx),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
