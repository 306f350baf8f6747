/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CQEs that no device should write: counted, bounded, no mbuf lost. Most are tried on all
 * burst functions of this processor.
 */

#include "fixture.h"

#define HDR(type) ((type) | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S)

static uint16_t
poll_rx(struct fx_rx *fx, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select()->burst(fx->rxq, pkts, nb);
}

/* The next good packet is received. */
static void
expect_packet(struct fx_rx *fx)
{
	struct rte_mbuf *m;

	fx_rx_okay(fx, 99, 0);
	assert_eq(poll_rx(fx, &m, 1), 1);
	fx_rx_check(fx, m, 99, 0, 0);
}

/* nb packets of 60 bytes arrive and are received. */
static void
receive(struct fx_rx *fx, uint32_t nb)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 64), nb);
	for (uint32_t i = 0; i < nb; i++)
		fx_rx_check_data(fx, pkts[i], 60);
}

/* CQEs of another queue, and one of an unknown type. */
FX_RX_TEST_ON_EACH_PATH(bad_cqes_rx)
{
	static const uint32_t foreign[] = {
		FX_RQ_ID + 1, FX_RQ_ID | 1u << HW_CQE_IS_SQ_S, 0,
	};
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	struct rte_mbuf *pkts[64];
	uint32_t nb_taken;

	/* A foreign CQE at each index of a group of eight. */
	for (uint32_t at = 0; at < 8; at++) {
		for (uint32_t i = 0; i < 8; i++)
			if (i == at)
				fx_cqe_write(&fx->cq, data, foreign[at % RTE_DIM(foreign)]);
			else
				fx_rx_okay(fx, 60 + i, 0);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 7);
		for (uint32_t i = 0; i < 7; i++)
			fx_rx_check_data(fx, pkts[i], 60 + i + (i >= at));
		assert_eq(fx->hwq->stats.cqe_foreign, at + 1);
		receive(fx, 32);
	}
	/* Behind it, no packet is delivered, and no buffer is taken. */
	nb_taken = fx->hwq->rq.ci;
	fx_rx_cqe(fx, 60, 60);
	fx_rx_okay(fx, 60, 0);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 0);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 0);
	assert_eq(fx->hwq->rq.ci, nb_taken);
	assert_eq(fx->hwq->stats.cqe_unknown, 1);
	assert_eq(mana_hwq_failure(fx->hwq), MANA_FAILURE_UNKNOWN_CQE);
}

/* An endless row of foreign CQEs does not extend a burst. */
FX_RX_TEST(burst_is_bounded)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct rte_mbuf *pkts[512];

	for (uint32_t i = 0; i < 40; i++)
		fx_cqe_write(&fx->cq, data, 1);
	assert_eq(poll_rx(fx, pkts, 32), 0);
	assert_eq(fx->hwq->stats.cqe_foreign, 32);
	assert_eq(poll_rx(fx, pkts, 512), 0);
	assert_eq(fx->hwq->stats.cqe_foreign, 40);
	expect_packet(fx);
}

/* Packets longer than the buffer are dropped, no others. */
FX_RX_TEST_ON_EACH_PATH(length_beyond_buffer)
{
	const uint32_t bad[] = { FX_ROOM_BYTES + 1, 4096, 32768, 65535 };
	struct rte_mbuf *pkts[64];
	uint64_t nb_bad = 0;

	for (uint32_t k = 0; k < RTE_DIM(bad) * 8; k++) {
		for (uint32_t i = 0; i < 8; i++)
			fx_rx_okay(fx, i == k % 8 ? bad[k / 8] : FX_ROOM_BYTES, 0);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 7);
		for (uint32_t i = 0, n = 0; i < 8; i++)
			if (i == k % 8)
				fx_rx_skip(fx);
			else
				fx_rx_check_data(fx, pkts[n++], FX_ROOM_BYTES);
		assert_eq(fx->hwq->stats.oversize, ++nb_bad);
	}
	for (uint32_t k = 0; k < RTE_DIM(bad) * 4; k++) {
		uint32_t len[4] = { 60, 61, 62, 63 };

		len[k % 4] = bad[k / 4];
		fx_rx_coalesced(fx, len, 4, 0);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 3);
		for (uint32_t i = 0, n = 0; i < 4; i++)
			if (i == k % 4)
				fx_rx_skip(fx);
			else
				fx_rx_check_data(fx, pkts[n++], 60 + i);
		assert_eq(fx->hwq->stats.oversize, ++nb_bad);
	}
	receive(fx, 32);
}

/* Only the low 16 bits of the length word count. */
FX_RX_TEST(reserved_bits_are_ignored)
{
	uint32_t data[15];
	struct rte_mbuf *m;

	memset(data, 0xff, sizeof(data));
	data[0] = HW_CQE_RX_OKAY | 0xffffff00;
	data[1] = 1u << 31 | 1u << 15 | 3u << 13;
	data[2] = 0xffff0000 | 77;
	fx_rx_frame(fx, 77);
	fx_cqe_write(&fx->cq, data, FX_RQ_ID | 0xfu << 25);
	assert_eq(poll_rx(fx, &m, 1), 1);
	fx_rx_check(fx, m, 77, 0, 0);
}

FX_RX_TEST_EACH(bad_length_inside_of_a_coalesced_cqe, burst, 1, 5)
{
	const uint32_t len[4] = { 60, 5000, 61, 62 };
	struct rte_mbuf *pkts[8];
	uint32_t nb = 0;

	fx_rx_coalesced(fx, len, 4, 0);
	while (nb < 3) {
		uint32_t got = poll_rx(fx, &pkts[nb], burst);

		assert_true(got > 0);
		nb += got;
	}
	assert_eq(poll_rx(fx, pkts + 3, burst), 0);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	fx_rx_skip(fx);
	fx_rx_check(fx, pkts[1], 61, 0, 0);
	fx_rx_check(fx, pkts[2], 62, 0, 0);
	assert_eq(fx->hwq->stats.oversize, 1);
	expect_packet(fx);
}

/* A length of 0 ends the packets of a coalesced CQE. */
FX_RX_TEST(coalesced_list_ends_at_zero)
{
	uint32_t data[15] = { HDR(HW_CQE_RX_COALESCED_4), 0, 60 };
	struct rte_mbuf *pkts[8];

	data[8] = 64; /* third packet; the second is empty */
	fx_rx_frame(fx, 60);
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
	assert_eq(poll_rx(fx, pkts, 8), 1);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 63);
	expect_packet(fx);
}

FX_RX_TEST(truncated_packet_is_dropped)
{
	struct rte_mbuf *pkts[8];

	fx_rx_frame(fx, FX_ROOM_BYTES);
	fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 9000);
	fx_rx_okay(fx, 61, 0);
	assert_eq(poll_rx(fx, pkts, 8), 1);
	fx_rx_skip(fx);
	fx_rx_check(fx, pkts[0], 61, 0, 0);
	assert_eq(fx->hwq->stats.truncated, 1);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 1);
}

FX_RX_TEST(fence_takes_no_wqe)
{
	struct rte_mbuf *m;

	fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(poll_rx(fx, &m, 1), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 64);
	assert_eq(fx->hwq->stats.fence, 1);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 0);
	expect_packet(fx);
}

/* The queue delivers nothing behind the completion, and wakes no sleeping thread. */
static void
expect_failure(struct fx_rx *fx)
{
	const uint32_t posted = mana_hwq_nb_posted(fx->hwq);
	struct rte_mbuf *pkts[8];
	bool wakes = false;

	fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(mana_hwq_failure(fx->hwq), MANA_FAILURE_UNKNOWN_CQE);
	assert_eq(fx->hwq->stats.failed, 1);
	assert_eq(fx->hwq->slow_flags, 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), posted);
	assert_eq(mana_hwq_arm(fx->hwq, &wakes), -EIO);
	assert_false(wakes);
}

/* Whether it has used WQEs is not known. */
TEST(unknown_type)
{
	for (uint32_t type = 0; type < 64; type++) {
		struct fx_rx *fx;

		if ((type >= HW_CQE_RX_OKAY && type <= HW_CQE_RX_TRUNCATED) ||
		    type == HW_CQE_RX_COALESCED_8)
			continue;
		fx = fx_rx_new(&(struct fx_rx_opts){0});
		expect_packet(fx);
		fx_rx_cqe(fx, type, 60);
		expect_failure(fx);
		assert_eq(fx->hwq->stats.cqe_unknown, 1);
		fx_rx_delete(fx);
	}
}

/* Nor is it for packets without length. */
FX_RX_TEST_EACH(zero_length, i, 0, 3)
{
	const uint32_t types[] = {
		HW_CQE_RX_OKAY, HW_CQE_RX_COALESCED_4, HW_CQE_RX_COALESCED_8
	};

	expect_packet(fx);
	fx_rx_cqe(fx, types[i], 0);
	expect_failure(fx);
	assert_eq(fx->hwq->stats.zero_len, 1);
}

/* More completions than posted buffers. */
FX_RX_TEST_EACH(spurious_cqe, t, 0, 3, .nb_pool = 3)
{
	const uint32_t types[] = {
		HW_CQE_RX_OKAY, HW_CQE_RX_COALESCED_4, HW_CQE_RX_TRUNCATED,
	};
	struct rte_mbuf *pkts[8];

	for (uint32_t i = 0; i < 3; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 8), 3);
	fx_rx_cqe(fx, types[t], 60);
	assert_eq(poll_rx(fx, pkts + 3, 5), 0);
	assert_eq(fx->hwq->stats.cqe_spurious, 1);
	fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60000);
	assert_eq(poll_rx(fx, pkts + 3, 5), 0);
	assert_eq(fx->hwq->stats.cqe_spurious, 2);
	for (uint32_t i = 0; i < 3; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
	assert_eq(poll_rx(fx, pkts, 8), 0); /* refills */
	expect_packet(fx);
}

/* Duplicate CQEs: more packets than posted buffers. */
FX_RX_TEST_ON_EACH_PATH(duplicate_cqes_rx, .nb_pool = 64)
{
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < 64; i++)
		fx_rx_okay(fx, 60, 0);
	for (uint32_t i = 0; i < 7; i++)
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 64), 64);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 0), 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	for (uint32_t i = 0; i < 64; i++)
		assert_eq(pkts[i]->pkt_len, 60);
	/* The application owns all mbufs: none is delivered twice. */
	assert_eq(fx_rx_burst(fx->rxq, &pkts[0], 64), 0);
	assert_eq(fx->hwq->stats.cqe_spurious, 7);
	assert_eq(fx_pool_missing(fx->mp, 64), 64);
	for (uint32_t i = 0; i < 64; i++)
		fx_rx_check_data(fx, pkts[i], 60);
	fx_rx_burst(fx->rxq, pkts, 0);
	receive(fx, 32);
}

/* CQEs of a closed queue whose number has changed. */
FX_RX_TEST_ON_EACH_PATH(late_cqes_rx)
{
	struct rte_mbuf *pkts[8];

	fx_rx_okay(fx, 60, 0);
	mana_hwq_close(fx->hwq);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 8), 0);
	mana_hwq_open(fx->hwq, FX_RQ_ID + 5, FX_RX_CQ_ID);
	assert_eq(fx_rx_burst(fx->rxq, pkts, 8), 0);
	assert_eq(fx->hwq->stats.cqe_foreign, 1);
	assert_eq(fx->hwq->packets, 0);
}

/* Whether the driver rang the CQ doorbell; the index it wrote. */
static bool
cq_acknowledged(struct fx_rx *fx, uint32_t *rung)
{
	struct hw_doorbell db;

	db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
	if (db.id == 0)
		return false;
	assert_eq(db.id, FX_RX_CQ_ID);
	assert_false(db.arm);
	*rung += (db.tail - *rung) & (fx->cq.nb_cqe * 8 - 1);
	memset(fx->db_page + HW_DB_CQ, 0, 8);
	return true;
}

/* The driver rings the CQ doorbell in each lap. */
FX_RX_TEST_ON_EACH_PATH(cq_doorbell_rx, .nb_cqe = 64, .nb_desc = 48)
{
	uint32_t rung = fx->cq.pi, nb = 0;

	for (uint32_t turn = 0; turn < 200; turn++) {
		receive(fx, 1 + turn % 7);
		nb += cq_acknowledged(fx, &rung);
		/* One lap, and the CQE that the doorbell leaves out. */
		assert_true(fx->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb >= fx->hwq->packets / 64);
}

/* Also for CQEs without buffer, which cause no refill. */
FX_RX_TEST_ON_EACH_PATH(cq_doorbell_bad_cqes, .nb_cqe = 64, .nb_desc = 48)
{
	const uint32_t data[15] = { HW_CQE_RX_OKAY, 0, 60 };
	uint32_t rung = fx->cq.pi, nb = 0;
	struct rte_mbuf *pkts[8];

	for (uint32_t turn = 0; turn < 200; turn++) {
		for (uint32_t i = 0; i < 1 + turn % 7; i++)
			fx_cqe_write(&fx->cq, data, FX_RQ_ID + 1);
		assert_eq(fx_rx_burst(fx->rxq, pkts, 8), 0);
		nb += cq_acknowledged(fx, &rung);
		assert_true(fx->cq.pi - rung <= 64 + 1);
	}
	assert_true(nb > 8);
	receive(fx, 32);
}

/* CQ overrun: the queue reports it and keeps its buffers. */
FX_RX_TEST_EACH(overrun_ends_the_queue, owner, 2, 8)
{
	const uint32_t data[15] = { HDR(HW_CQE_RX_OKAY), 0, 60 };
	struct rte_mbuf *pkts[8];
	bool wakes = false;

	fx_rx_okay(fx, 60, 0);
	fx_cqe_write_owner(&fx->cq, data, FX_RQ_ID, owner);
	assert_eq(poll_rx(fx, pkts, 8), 1);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	fx_rx_okay(fx, 60, 0);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(mana_hwq_failure(fx->hwq), MANA_FAILURE_OVERRUN);
	/* No CQE follows, so arming fails. */
	assert_eq(mana_hwq_arm(fx->hwq, &wakes), -EIO);
	assert_eq(fx->hwq->stats.cqe_overrun, 1);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 63);
	assert_eq(poll_rx(fx, pkts, 8), 0);
	assert_eq(fx->hwq->stats.cqe_overrun, 1);
}

/*
 * CQEs of any bytes, mostly near valid ones. Every delivered mbuf is a valid
 * mbuf of the pool; the fixture checks the mbuf count.
 */
FX_RX_TEST_EACH(any_bytes, round, 0, 300, .nb_pool = 100 + round % 30 * 10)
{
	static uint64_t seed = 0x5eed;
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t r = fx_random(&seed);
		uint32_t data[15], trailer = FX_RQ_ID;
		uint32_t nb;

		for (nb = 0; nb < 15; nb++)
			data[nb] = fx_random(&seed);
		if (r % 8 != 0)
			data[0] = HDR(1 + (r >> 8) % 2);
		for (nb = 0; nb < 4; nb++)
			data[2 + 3 * nb] >>= r >> 16 & 31;
		/* Valid steps, so that some queues continue. */
		if (r >> 32 & 15)
			data[14] = i * 32;
		if (r % 32 == 1)
			trailer = fx_random(&seed);
		fx_cqe_write(&fx->cq, data,
			     trailer & ((1u << HW_CQE_OWNER_S) - 1));
		nb = poll_rx(fx, pkts, r >> 24 & 63);
		while (nb-- > 0) {
			assert_ptr_equal(pkts[nb]->pool, fx->mp);
			assert_uint_in_range(pkts[nb]->data_len, 1,
					FX_ROOM_BYTES);
			rte_mbuf_sanity_check(pkts[nb], 1);
			rte_pktmbuf_free(pkts[nb]);
		}
		assert_true(mana_hwq_nb_posted(fx->hwq) <= 64);
		(void)mana_hwq_nb_waiting(fx->hwq, UINT32_MAX);
	}
}
