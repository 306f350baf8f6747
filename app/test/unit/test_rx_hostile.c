/* SPDX-License-Identifier: BSD-3-Clause */

/* CQEs that no device should write: counted, bounded, nothing lost. */

#include <errno.h>

#include "bed.h"

#define HDR(type) ((type) | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S)

static uint16_t
poll_rx(struct bed_rx *bed, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select(MANA_RX_F_CSUM | MANA_RX_F_HASH |
				   MANA_RX_F_VLAN)->burst(bed->rxq, pkts, nb);
}

/* A good packet still comes through. */
static void
expect_packet(struct bed_rx *bed)
{
	struct rte_mbuf *m;

	bed_rx_okay(bed, 99, 0);
	assert_eq(poll_rx(bed, &m, 1), 1);
	bed_rx_check(bed, m, 99, 0, 0);
}

static void
foreign_cqe_is_skipped(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	bed_cqe_write(&bed->cq, data, BED_RQ_ID + 1);
	bed_rx_okay(bed, 70, 0);
	bed_cqe_write(&bed->cq, data, BED_RQ_ID | 1u << HW_CQE_IS_SQ_S);
	bed_cqe_write(&bed->cq, data, 0);
	bed_rx_okay(bed, 71, 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 64);
	assert_eq(poll_rx(bed, pkts, 8), 2);
	bed_rx_check(bed, pkts[0], 70, 0, 0);
	bed_rx_check(bed, pkts[1], 71, 0, 0);
	assert_eq(bed->rxq->stats.cqe_foreign, 3);
	bed_rx_delete(bed);
}

/* Foreign CQEs without end do not keep a burst for ever. */
static void
burst_is_bounded(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[512];

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		bed_cqe_write(&bed->cq, data, 1);
	assert_eq(poll_rx(bed, pkts, 32), 0);
	assert_eq(bed->rxq->stats.cqe_foreign, 32);
	assert_eq(poll_rx(bed, pkts, 512), 0);
	assert_eq(bed->rxq->stats.cqe_foreign, 40);
	expect_packet(bed);
	bed_rx_delete(bed);
}

static void
oversize_packet_is_dropped(void **state)
{
	const uint32_t bad[] = { BED_ROOM_BYTES + 1, 4096, 32768, 65535 };
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(bad); i++) {
		bed_rx_okay(bed, 80, 0);
		bed_rx_okay(bed, bad[i], 0);
		bed_rx_okay(bed, BED_ROOM_BYTES, 0); /* fits exactly: good */
		assert_eq(poll_rx(bed, pkts, 8), 2);
		bed_rx_check(bed, pkts[0], 80, 0, 0);
		bed_rx_skip(bed);
		bed_rx_check(bed, pkts[1], BED_ROOM_BYTES, 0, 0);
		assert_eq(bed->rxq->stats.oversize, i + 1);
	}
	bed_rx_delete(bed);
}

static void
zero_length_takes_nothing(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	uint32_t posted = mana_rxq_nb_posted(bed->rxq);
	struct rte_mbuf *pkts[8];

	(void)state;
	bed_rx_cqe(bed, HW_CQE_RX_OKAY, 0);
	bed_rx_cqe(bed, HW_CQE_RX_COALESCED_4, 0);
	assert_eq(poll_rx(bed, pkts, 8), 0);
	assert_eq(bed->rxq->stats.zero_len, 2);
	assert_eq(mana_rxq_nb_posted(bed->rxq), posted);
	expect_packet(bed);
	bed_rx_delete(bed);
}

/* Only the low 16 bits of the length word are the length. */
static void
reserved_bits_are_ignored(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	uint32_t data[15];
	struct rte_mbuf *m;

	(void)state;
	memset(data, 0xff, sizeof(data));
	data[0] = HW_CQE_RX_OKAY | 0xffffff00;
	data[1] = 1u << 31 | 1u << 15 | 3u << 13;
	data[2] = 0xffff0000 | 77;
	bed_rx_frame(bed, 77);
	bed_cqe_write(&bed->cq, data, BED_RQ_ID | 0xfu << 25);
	assert_eq(poll_rx(bed, &m, 1), 1);
	bed_rx_check(bed, m, 77, 0, 0);
	bed_rx_delete(bed);
}

static void
bad_length_inside_of_a_coalesced_cqe(void **state)
{
	const uint32_t len[4] = { 60, 5000, 61, 62 };
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t burst = 1; burst <= 4; burst++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
		uint32_t nb = 0;

		bed_rx_coalesced(bed, len, 4, 0);
		while (nb < 3) {
			uint32_t got = poll_rx(bed, &pkts[nb], burst);

			assert_true(got > 0);
			nb += got;
		}
		assert_eq(poll_rx(bed, pkts + 3, burst), 0);
		bed_rx_check(bed, pkts[0], 60, 0, 0);
		bed_rx_skip(bed);
		bed_rx_check(bed, pkts[1], 61, 0, 0);
		bed_rx_check(bed, pkts[2], 62, 0, 0);
		assert_eq(bed->rxq->stats.oversize, 1);
		expect_packet(bed);
		bed_rx_delete(bed);
	}
}

/* A zero ends the list, whatever stands behind. */
static void
coalesced_list_ends_at_zero(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	uint32_t data[15] = { HDR(HW_CQE_RX_COALESCED_4), 0, 60 };
	struct rte_mbuf *pkts[8];

	(void)state;
	data[8] = 64; /* third packet, the second being empty */
	bed_rx_frame(bed, 60);
	bed_cqe_write(&bed->cq, data, BED_RQ_ID);
	assert_eq(poll_rx(bed, pkts, 8), 1);
	bed_rx_check(bed, pkts[0], 60, 0, 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 63);
	expect_packet(bed);
	bed_rx_delete(bed);
}

static void
truncated_packet_is_dropped(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[8];

	(void)state;
	bed_rx_frame(bed, BED_ROOM_BYTES);
	bed_rx_cqe(bed, HW_CQE_RX_TRUNCATED, 9000);
	bed_rx_okay(bed, 61, 0);
	assert_eq(poll_rx(bed, pkts, 8), 1);
	bed_rx_skip(bed);
	bed_rx_check(bed, pkts[0], 61, 0, 0);
	assert_eq(bed->rxq->stats.truncated, 1);
	assert_eq(mana_rxq_errors(bed->rxq), 1);
	bed_rx_delete(bed);
}

static void
fence_takes_nothing(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	bed_rx_cqe(bed, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(poll_rx(bed, &m, 1), 0);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 64);
	assert_eq(bed->rxq->stats.fence, 1);
	assert_eq(mana_rxq_errors(bed->rxq), 0);
	expect_packet(bed);
	bed_rx_delete(bed);
}

/* Once is counted, and no buffer moves; twice ends the queue. */
static void
unknown_type(void **state)
{
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t type = 0; type < 64; type++) {
		struct bed_rx *bed;

		if (type >= HW_CQE_RX_OKAY && type <= HW_CQE_RX_TRUNCATED)
			continue;
		bed = bed_rx_new(&(struct bed_rx_opts){0});
		bed_rx_cqe(bed, type, 60);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(bed->rxq->stats.cqe_unknown, 1);
		assert_eq(mana_rxq_nb_posted(bed->rxq), 64);
		assert_eq(bed->rxq->fate, MANA_QUEUE_ALIVE);
		expect_packet(bed);
		bed_rx_cqe(bed, type, 60);
		bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(bed->rxq->fate, MANA_QUEUE_UNKNOWN_CQE);
		assert_eq(bed->rxq->stats.cqe_unknown, 2);
		bed_rx_delete(bed);
	}
}

/* More completions than buffers: none is invented. */
static void
spurious_cqe(void **state)
{
	const uint32_t types[] = {
		HW_CQE_RX_OKAY, HW_CQE_RX_COALESCED_4, HW_CQE_RX_TRUNCATED,
	};
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t t = 0; t < RTE_DIM(types); t++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_pool = 3 });

		for (uint32_t i = 0; i < 3; i++)
			bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 8), 3);
		bed_rx_cqe(bed, types[t], 60);
		assert_eq(poll_rx(bed, pkts + 3, 5), 0);
		assert_eq(bed->rxq->stats.cqe_spurious, 1);
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 60000);
		assert_eq(poll_rx(bed, pkts + 3, 5), 0);
		assert_eq(bed->rxq->stats.cqe_spurious, 2);
		for (uint32_t i = 0; i < 3; i++)
			bed_rx_check(bed, pkts[i], 60, 0, 0);
		assert_eq(poll_rx(bed, pkts, 8), 0); /* refills */
		expect_packet(bed);
		bed_rx_delete(bed);
	}
}

/* The device overtook us: the queue says so, and keeps its buffers. */
static void
overrun_ends_the_queue(void **state)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct rte_mbuf *pkts[8];

	(void)state;
	for (uint32_t owner = 2; owner < 8; owner++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});

		bed_rx_okay(bed, 60, 0);
		bed_cqe_write_owner(&bed->cq, data, BED_RQ_ID, owner);
		assert_eq(poll_rx(bed, pkts, 8), 1);
		bed_rx_check(bed, pkts[0], 60, 0, 0);
		bed_rx_okay(bed, 60, 0);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(bed->rxq->fate, MANA_QUEUE_OVERRUN);
		/* nothing would wake who sleeps on it */
		assert_eq(mana_rxq_arm(bed->rxq), -EIO);
		assert_eq(bed->rxq->stats.cqe_overrun, 1);
		assert_eq(mana_rxq_nb_posted(bed->rxq), 63);
		assert_eq(poll_rx(bed, pkts, 8), 0);
		assert_eq(bed->rxq->stats.cqe_overrun, 1);
		bed_rx_delete(bed);
	}
}

static uint64_t
random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/*
 * Any bytes at all, mostly near the truth. What comes out is a proper mbuf of
 * the pool; the bed's own count of mbufs says the rest.
 */
static void
any_bytes(void **state)
{
	uint64_t seed = 0x5eed;
	struct rte_mbuf *pkts[64];

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.nb_pool = 100 + round % 30 * 10 });

		for (uint32_t i = 0; i < 300; i++) {
			uint64_t r = random_next(&seed);
			uint32_t data[15], trailer = BED_RQ_ID;
			uint32_t nb;

			for (nb = 0; nb < 15; nb++)
				data[nb] = random_next(&seed);
			if (r % 8 != 0)
				data[0] = HDR(1 + (r >> 8) % 2);
			for (nb = 0; nb < 4; nb++)
				data[2 + 3 * nb] >>= r >> 16 & 31;
			if (r % 32 == 1)
				trailer = random_next(&seed);
			bed_cqe_write(&bed->cq, data,
				      trailer & ((1u << HW_CQE_OWNER_S) - 1));
			nb = poll_rx(bed, pkts, r >> 24 & 63);
			while (nb-- > 0) {
				assert_ptr_equal(pkts[nb]->pool, bed->mp);
				assert_in_range(pkts[nb]->data_len, 1,
						BED_ROOM_BYTES);
				rte_mbuf_sanity_check(pkts[nb], 1);
				rte_pktmbuf_free(pkts[nb]);
			}
			assert_true(mana_rxq_nb_posted(bed->rxq) <= 64);
			(void)mana_rxq_nb_waiting(bed->rxq);
		}
		bed_rx_delete(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_cqe_is_skipped),
		cmocka_unit_test(burst_is_bounded),
		cmocka_unit_test(oversize_packet_is_dropped),
		cmocka_unit_test(zero_length_takes_nothing),
		cmocka_unit_test(reserved_bits_are_ignored),
		cmocka_unit_test(bad_length_inside_of_a_coalesced_cqe),
		cmocka_unit_test(coalesced_list_ends_at_zero),
		cmocka_unit_test(truncated_packet_is_dropped),
		cmocka_unit_test(fence_takes_nothing),
		cmocka_unit_test(unknown_type),
		cmocka_unit_test(spurious_cqe),
		cmocka_unit_test(overrun_ends_the_queue),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
