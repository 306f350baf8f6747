/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's hardware header against bytes worked out by hand, and against
 * the model's independent transcription of the same sources.
 */

#include "config.h"
#include "fixture.h"

/* Compares words in memory order. */
static void
assert_words(const uint64_t *got, const uint32_t *want, uint32_t nb)
{
	uint32_t word;

	for (uint32_t i = 0; i < nb; i++) {
		word = hw_le32((const uint8_t *)got + 4 * i);
		if (word != want[i])
			fail_msg("word %u: %08x, expected %08x", i, word, want[i]);
	}
}

static uint64_t
short_oob(uint32_t cq, uint32_t sq, uint32_t vp, uint32_t trans_off,
	  uint32_t bits)
{
	return rte_cpu_to_le_64(bits |
		MANA_SHIFT_VAL64(cq, MANA_TX_OOB_VCQ_S) |
		MANA_SHIFT_VAL64(trans_off, MANA_TX_OOB_TRANS_OFF_S) |
		MANA_SHIFT_VAL64(sq >> MANA_TX_VSQ_FRAME_OF_SQ_S,
				 MANA_TX_OOB_VSQ_FRAME_S) |
		MANA_SHIFT_VAL64(vp, MANA_TX_OOB_SHORT_VP_S));
}

TEST(tx_tcp_checksum)
{
	const uint32_t want[] = { 0, 0x00000201, 0x00005534, 0x03001022 };
	uint64_t got[2] = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4)),
		short_oob(0x55, 0x1042, 3, 34, 1u << MANA_TX_OOB_IPV4_S |
			  1u << MANA_TX_OOB_IP_CSUM_S |
			  1u << MANA_TX_OOB_TCP_CSUM_S),
	};

	assert_words(got, want, 4);
	assert_eq(mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, 1), 1);
}

TEST(tx_vlan_insert)
{
	const uint32_t want[] = {
		0, 0x00000601, 0x00004145, 0x05000022,
		0x06430008, 0x00050000, 0, 0,
	};
	uint64_t got[4] = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_LONG_DIV4)),
		short_oob(0x41, 0x30, 5, 34, 1u << MANA_TX_OOB_PKT_FMT_S |
			  1u << MANA_TX_OOB_IPV4_S |
			  1u << MANA_TX_OOB_UDP_CSUM_S),
		rte_cpu_to_le_64(MANA_TX_LOOB_VLAN(0x6064) |
				 MANA_SHIFT_VAL64(5, MANA_TX_LOOB_LONG_VP_S)),
		0,
	};

	assert_words(got, want, 8);
	assert_eq(mana_wqe_bu(GDMA_WQE_SGL_LONG_BYTES, 1), 2);
}

TEST(tx_lso)
{
	const uint32_t want[] = { 0x42000000, 0x05a80a03, 0x00004134, 0x00000022 };
	uint64_t got[2] = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(3, GDMA_OOB_SHORT_DIV4) |
			MANA_SHIFT_VAL64(66, GDMA_WQE_LAST_VBYTES_S) |
			MANA_SHIFT_VAL64(1, GDMA_WQE_OOB_IN_SGL_S) |
			MANA_SHIFT_VAL64(1448, GDMA_WQE_CLIENT_UNIT_S)),
		short_oob(0x41, 0x30, 0, 34, 1u << MANA_TX_OOB_IPV4_S |
			  1u << MANA_TX_OOB_IP_CSUM_S |
			  1u << MANA_TX_OOB_TCP_CSUM_S),
	};

	assert_words(got, want, 4);
	assert_eq(mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, 3), 2);
}

TEST(rx_wqe)
{
	const uint32_t want[] = { 0, 0x00000201 };
	uint64_t got[1] = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4)),
	};

	assert_words(got, want, 2);
}

TEST(sge)
{
	uint64_t got[2] = {
		rte_cpu_to_le_64(UINT64_C(0x1122334455667788)),
		rte_cpu_to_le_64(GDMA_SGE_WORD(0xfedcba98, 0x12345)),
	};
	struct hw_sge read = hw_sge_read((const uint8_t *)got);

	assert_eq(read.addr, UINT64_C(0x1122334455667788));
	assert_eq(read.key, 0xfedcba98);
	assert_eq(read.size_bytes, 0x12345);
}

TEST(tx_cqe)
{
	const struct gdma_cqe cqe = {
		.tx.header = rte_cpu_to_le_32(0x00000060),
		.trailer = rte_cpu_to_le_32(0x21000030),
	};
	uint32_t trailer = mana_cqe_load(&cqe.trailer);

	assert_eq(mana_cqe_load(&cqe.tx.header) & MANA_CQE_TYPE_M,
		  MANA_CQE_TX_OKAY);
	assert_eq(mana_cqe_load(&cqe.tx.header) >> MANA_CQE_CLIENT_S &
		  MANA_CQE_CLIENT_M, HW_CQE_CLIENT_ETHERNET);
	assert_eq(trailer & GDMA_CQE_WQ_M, 0x30);
	assert_eq(trailer >> GDMA_CQE_IS_SQ_S & 1, 1);
	assert_eq(trailer >> GDMA_CQE_OWNER_S & GDMA_CQE_OWNER_M, 1);
}

TEST(rx_cqe)
{
	const uint32_t flags = 0x0a020000, vlan = 0x22041064;

	assert_eq(0x41 & MANA_CQE_TYPE_M, MANA_CQE_RX_OKAY);
	assert_eq(flags >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M,
		  MANA_HASH_TCP_IPV4);
	assert_eq(flags >> MANA_RX_CQE_CSUM_S & MANA_RX_CQE_CSUM_M,
		  MANA_RX_CSUM_IP_OK | MANA_RX_CSUM_TCP_OK);
	assert_eq(vlan >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M,
		  MANA_HASH_UDP_IPV4);
	assert_eq(vlan >> MANA_RX_CQE_CSUM_S & MANA_RX_CQE_CSUM_M,
		  MANA_RX_CSUM_IP_OK | MANA_RX_CSUM_UDP_OK);
	assert_eq(vlan >> MANA_RX_CQE_VLAN_S & 1, 1);
	assert_eq(vlan >> MANA_RX_CQE_VLAN_ID_S & MANA_RX_CQE_VLAN_ID_M, 100);
}

/* Doorbell values that the driver's ring functions write. */
TEST(doorbells)
{
	uint8_t *page = fx_ring_alloc(HW_DB_PAGE_BYTES, 0);
	uint8_t *ring = fx_ring_alloc(16384, 0);
	struct mana_wq wq = {0};
	struct mana_cq cq = {0};

	assert_eq(mana_wq_init(&wq, ring, 4096, page, GDMA_DB_SQ_OFFSET), 0);
	mana_wq_open(&wq, 0x30);
	wq.pi = 2;
	mana_wq_ring_at(&wq, wq.pi);
	assert_eq(hw_le64(page + HW_DB_SQ), UINT64_C(0x0000004000000030));

	assert_eq(mana_wq_init(&wq, ring, 4096, page, GDMA_DB_RQ_OFFSET), 0);
	mana_wq_open(&wq, 0x31);
	wq.pi = 3;
	mana_wq_ring_at(&wq, wq.pi);
	assert_eq(hw_le64(page + HW_DB_RQ), UINT64_C(0x0000006000000031));

	assert_eq(mana_cq_init(&cq, ring, 256, true, page), 0);
	mana_cq_open(&cq, 0x41, 0x30);
	cq.ci = 300;
	mana_cq_ring(&cq, true);
	assert_eq(hw_le64(page + HW_DB_CQ), UINT64_C(0x8000012c00000041));
	cq.ci = 8 * 256 + 5;
	mana_cq_ring(&cq, false);
	assert_eq(hw_le64(page + HW_DB_CQ), UINT64_C(0x0000000400000041));
	free(page);
	free(ring);
}

/* Each field of WQE header and OOB alone, read by the model. */
TEST(model_reads_wqe_fields)
{
	uint64_t w;

#define READ_HEADER(value) \
	(w = rte_cpu_to_le_64(value), hw_wqe_read((const uint8_t *)&w))
	assert_eq(READ_HEADER(GDMA_WQE_HEADER(0xff, 0)).nb_sge, 0xff);
	assert_eq(READ_HEADER(GDMA_WQE_HEADER(0, 7)).oob_div4, 7);
	assert_eq(READ_HEADER(MANA_SHIFT_VAL64(GDMA_WQE_LAST_VBYTES_M,
		GDMA_WQE_LAST_VBYTES_S)).last_vbytes, 0xff);
	assert_true(READ_HEADER(MANA_SHIFT_VAL64(1,
		GDMA_WQE_OOB_IN_SGL_S)).oob_in_sgl);
	assert_eq(READ_HEADER(MANA_SHIFT_VAL64(GDMA_WQE_CLIENT_UNIT_M,
		GDMA_WQE_CLIENT_UNIT_S)).client_data_unit, 0x3fff);
	assert_false(READ_HEADER(GDMA_WQE_HEADER(0xff, 7) |
		MANA_SHIFT_VAL64(GDMA_WQE_LAST_VBYTES_M,
				 GDMA_WQE_LAST_VBYTES_S) |
		MANA_SHIFT_VAL64(1, GDMA_WQE_OOB_IN_SGL_S) |
		MANA_SHIFT_VAL64(GDMA_WQE_CLIENT_UNIT_M, GDMA_WQE_CLIENT_UNIT_S)
		).has_reserved_bits);
#undef READ_HEADER
	assert_eq(GDMA_BU_BYTES, HW_BU_BYTES);
	assert_eq(GDMA_BU_WORDS * 8, HW_BU_BYTES);
	assert_eq(1u << GDMA_BU_SHIFT, HW_BU_BYTES);
	assert_eq(GDMA_SQ_WQE_MAX_BU * GDMA_BU_BYTES, HW_SQ_WQE_MAX_BYTES);
	assert_eq(GDMA_RING_MIN_BYTES, HW_RING_MIN_BYTES);
	assert_eq(GDMA_OOB_SHORT_DIV4, HW_OOB_DIV4_SHORT);
	assert_eq(GDMA_OOB_LONG_DIV4, HW_OOB_DIV4_LONG);
	assert_eq(GDMA_SGE_BYTES, HW_SGE_BYTES);
	for (uint32_t nb = 1; nb <= 30; nb++) {
		struct hw_wqe s = { .nb_sge = nb, .oob_div4 = HW_OOB_DIV4_SHORT };
		struct hw_wqe l = { .nb_sge = nb, .oob_div4 = HW_OOB_DIV4_LONG };

		assert_eq(hw_wqe_sgl_offset(&s), GDMA_WQE_SGL_SHORT_BYTES);
		assert_eq(hw_wqe_sgl_offset(&l), GDMA_WQE_SGL_LONG_BYTES);
		assert_eq(mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, nb) * 32,
			  hw_wqe_bytes(&s));
		assert_eq(mana_wqe_bu(GDMA_WQE_SGL_LONG_BYTES, nb) * 32,
			  hw_wqe_bytes(&l));
	}
}

TEST(model_reads_oob_fields)
{
	uint64_t w[3];

#define READ_OOB(first, second) \
	(w[0] = rte_cpu_to_le_64(first), w[1] = rte_cpu_to_le_64(second), \
	 w[2] = 0, hw_tx_oob_read((const uint8_t *)w, true))
#define BIT(shift) MANA_SHIFT_VAL64(1, shift)
	assert_eq(READ_OOB(BIT(MANA_TX_OOB_PKT_FMT_S), 0).pkt_fmt, 1);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_IPV4_S), 0).is_ipv4);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_IPV6_S), 0).is_ipv6);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_IP_CSUM_S), 0).ip_csum);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_TCP_CSUM_S), 0).tcp_csum);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_UDP_CSUM_S), 0).udp_csum);
	assert_true(READ_OOB(BIT(MANA_TX_OOB_NO_CQE_S), 0).suppress);
	assert_eq(READ_OOB(MANA_SHIFT_VAL64(MANA_TX_OOB_VCQ_M,
		MANA_TX_OOB_VCQ_S), 0).vcq_num, 0xffffff);
	assert_eq(READ_OOB(MANA_SHIFT_VAL64(MANA_TX_OOB_TRANS_OFF_M,
		MANA_TX_OOB_TRANS_OFF_S), 0).trans_off, 0x3ff);
	assert_eq(READ_OOB(MANA_SHIFT_VAL64(MANA_TX_OOB_VSQ_FRAME_M,
		MANA_TX_OOB_VSQ_FRAME_S), 0).vsq_frame, 0x3fff);
	assert_eq(READ_OOB(MANA_SHIFT_VAL64(MANA_TX_OOB_SHORT_VP_M,
		MANA_TX_OOB_SHORT_VP_S), 0).short_vp, 0xff);
	assert_true(READ_OOB(0, BIT(MANA_TX_LOOB_ENCAP_S)).is_encap);
	assert_true(READ_OOB(0, BIT(MANA_TX_LOOB_VLAN_INSERT_S)).inject_vlan);
	assert_eq(READ_OOB(0, MANA_TX_LOOB_VLAN(0xffffu)).tci, 0xffff);
	assert_eq(READ_OOB(0, MANA_TX_LOOB_VLAN(0xe000u)).tci, 0xe000);
	assert_eq(READ_OOB(0, MANA_TX_LOOB_VLAN(0x1000u)).tci, 0x1000);
	assert_eq(READ_OOB(0, MANA_SHIFT_VAL64(MANA_TX_LOOB_LONG_VP_M,
		MANA_TX_LOOB_LONG_VP_S)).long_vp, 0xfff);
	assert_false(READ_OOB(UINT64_MAX, MANA_TX_LOOB_VLAN(0xffffu) |
		MANA_SHIFT_VAL64(MANA_TX_LOOB_LONG_VP_M,
				 MANA_TX_LOOB_LONG_VP_S)).has_stray_bits);
	/* These bits are valid only for tunnels. */
	assert_true(READ_OOB(0, BIT(MANA_TX_LOOB_INNER_IPV6_S)).has_stray_bits);
	assert_true(READ_OOB(0, BIT(MANA_TX_LOOB_INNER_TCP_OPT_S)).has_stray_bits);
#undef BIT
#undef READ_OOB
	assert_eq(MANA_TX_VSQ_FRAME_OF_SQ_S, HW_VSQ_FRAME_SHIFT);
	assert_eq(MANA_TX_LSO_HDR_MAX_BYTES, HW_LSO_MAX_HEADER_BYTES);
	assert_eq(MANA_TX_LSO_MSS_MAX_BYTES, HW_WQE_CLIENT_DATA_UNIT_M);
}

TEST(model_agrees_on_cqe)
{
	assert_eq(sizeof(struct gdma_cqe), HW_CQE_BYTES);
	assert_eq(offsetof(struct gdma_cqe, trailer), HW_CQE_TRAILER_OFF);
	assert_eq(0, HW_CQE_WQ_NUM_S);
	assert_eq(GDMA_CQE_WQ_M, HW_CQE_WQ_NUM_M);
	assert_eq(GDMA_CQE_IS_SQ_S, HW_CQE_IS_SQ_S);
	assert_eq(GDMA_CQE_OWNER_S, HW_CQE_OWNER_S);
	assert_eq(GDMA_CQE_OWNER_M, HW_CQE_OWNER_M);
	assert_eq(GDMA_CQE_OWNER_M + 1, HW_OWNER_LAPS);
	assert_eq(MANA_CQE_TYPE_S, HW_CQE_TYPE_S);
	assert_eq(MANA_CQE_TYPE_M, HW_CQE_TYPE_M);
	assert_eq(MANA_CQE_CLIENT_S, HW_CQE_CLIENT_S);
	assert_eq(MANA_CQE_VENDOR_ERR_S, HW_CQE_VENDOR_ERR_S);
	assert_eq(GDMA_VENDOR_ERR_TX_DATA_FIRST, HW_VENDOR_TX_DATA_ACCESS);
	assert_eq(GDMA_VENDOR_ERR_TX_DATA_LAST, HW_VENDOR_TX_DATA_CONFIG);
	assert_eq(offsetof(struct gdma_cqe, tx.data_offset),
		  HW_TX_CQE_DATA_OFFSET_OFF);
	assert_eq(offsetof(struct gdma_cqe, tx.offsets), HW_TX_CQE_OFFSETS_OFF);
	assert_eq(MANA_TX_CQE_WQE_OFFSET_S, HW_TX_CQE_WQE_OFFSET_S);
	assert_eq(offsetof(struct gdma_cqe, rx.flags), HW_RX_CQE_FLAGS_OFF);
	assert_eq(MANA_RX_CQE_NB_PPI, HW_RX_CQE_NB_PPI);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t ppi = HW_RX_CQE_PPI_OFF + i * HW_RX_CQE_PPI_BYTES;

		assert_eq(offsetof(struct gdma_cqe, rx.ppi[i].len),
			  ppi + HW_RX_PPI_LEN_OFF);
		assert_eq(offsetof(struct gdma_cqe, rx.ppi[i].hash),
			  ppi + HW_RX_PPI_HASH_OFF);
	}
	assert_eq(offsetof(struct gdma_cqe, rx.wqe_offset),
		  HW_RX_CQE_WQE_OFFSET_OFF);
	assert_eq(MANA_RX_CQE_VLAN_ID_M << MANA_RX_CQE_VLAN_ID_S,
		  HW_RX_F_VLAN_ID_M);
	assert_eq(1u << MANA_RX_CQE_VLAN_S, HW_RX_F_VLAN);
	assert_eq(MANA_RX_CQE_HASH_TYPE_S, HW_RX_F_HASH_TYPE_S);
	assert_eq(MANA_RX_CSUM_IP_OK << MANA_RX_CQE_CSUM_S, HW_RX_F_IP_OK);
	assert_eq(MANA_RX_CSUM_IP_BAD << MANA_RX_CQE_CSUM_S, HW_RX_F_IP_FAIL);
	assert_eq(MANA_RX_CSUM_TCP_OK << MANA_RX_CQE_CSUM_S, HW_RX_F_TCP_OK);
	assert_eq(MANA_RX_CSUM_TCP_BAD << MANA_RX_CQE_CSUM_S, HW_RX_F_TCP_FAIL);
	assert_eq(MANA_RX_CSUM_UDP_OK << MANA_RX_CQE_CSUM_S, HW_RX_F_UDP_OK);
	assert_eq(MANA_RX_CSUM_UDP_BAD << MANA_RX_CQE_CSUM_S, HW_RX_F_UDP_FAIL);
}

TEST(model_agrees_on_types_and_doorbells)
{
	assert_eq(MANA_CQE_RX_OKAY, HW_CQE_RX_OKAY);
	assert_eq(MANA_CQE_RX_COALESCED_4, HW_CQE_RX_COALESCED_4);
	assert_eq(MANA_CQE_RX_OBJECT_FENCE, HW_CQE_RX_OBJECT_FENCE);
	assert_eq(MANA_CQE_RX_TRUNCATED, HW_CQE_RX_TRUNCATED);
	assert_eq(MANA_CQE_RX_COALESCED_8, HW_CQE_RX_COALESCED_8);
	assert_eq(MANA_RX_CQE_MAX_PKTS, HW_RX_CQE_8_NB_PKTS);
	assert_eq(MANA_CQE_TX_OKAY, HW_CQE_TX_OKAY);
	assert_eq(MANA_CQE_TX_SA_DROP, HW_CQE_TX_SA_DROP);
	assert_eq(MANA_CQE_TX_MTU_DROP, HW_CQE_TX_MTU_DROP);
	assert_eq(MANA_CQE_TX_INVALID_OOB, HW_CQE_TX_INVALID_OOB);
	assert_eq(MANA_CQE_TX_INVALID_ETH_TYPE, HW_CQE_TX_INVALID_ETH_TYPE);
	assert_eq(MANA_CQE_TX_HDR_PROCESSING_ERROR,
		  HW_CQE_TX_HDR_PROCESSING_ERROR);
	assert_eq(MANA_CQE_TX_VF_DISABLED, HW_CQE_TX_VF_DISABLED);
	assert_eq(MANA_CQE_TX_VPORT_IDX_OUT_OF_RANGE,
		  HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_eq(MANA_CQE_TX_VPORT_DISABLED, HW_CQE_TX_VPORT_DISABLED);
	assert_eq(MANA_CQE_TX_VLAN_TAGGING_VIOLATION,
		  HW_CQE_TX_VLAN_TAGGING_VIOLATION);
	assert_eq(MANA_CQE_TX_GDMA_ERR, HW_CQE_TX_GDMA_ERR);
	assert_eq(MANA_CQE_TX_GDMA_ERR - MANA_CQE_TX_ERR_FIRST + 1,
		  MANA_NB_CQE_TX_ERR);
	assert_eq(MANA_HASH_IPV4, HW_HASH_IPV4);
	assert_eq(MANA_HASH_TCP_IPV4, HW_HASH_TCP_IPV4);
	assert_eq(MANA_HASH_UDP_IPV4, HW_HASH_UDP_IPV4);
	assert_eq(MANA_HASH_IPV6, HW_HASH_IPV6);
	assert_eq(MANA_HASH_TCP_IPV6, HW_HASH_TCP_IPV6);
	assert_eq(MANA_HASH_UDP_IPV6, HW_HASH_UDP_IPV6);
	assert_eq(MANA_HASH_IPV6_EX, HW_HASH_IPV6_EXT);
	/* The L3 and L4 masks of Linux mana.h. */
	assert_eq(MANA_HASH_IPV4 | MANA_HASH_IPV6 | MANA_HASH_IPV6_EX, 0x049);
	assert_eq(MANA_HASH_TCP_IPV4 | MANA_HASH_UDP_IPV4 | MANA_HASH_TCP_IPV6 |
		  MANA_HASH_UDP_IPV6 | MANA_HASH_TCP_IPV6_EX |
		  MANA_HASH_UDP_IPV6_EX, 0x1b6);
	assert_eq(GDMA_DB_SQ_OFFSET, HW_DB_SQ);
	assert_eq(GDMA_DB_RQ_OFFSET, HW_DB_RQ);
	assert_eq(GDMA_DB_CQ_OFFSET, HW_DB_CQ);
	assert_eq(0, HW_DB_ID_S);
	assert_eq(GDMA_DB_ID_M, HW_DB_ID_M);
	assert_eq(GDMA_DB_TAIL_S, HW_DB_TAIL_S);
	assert_eq(GDMA_DB_CQ_ARM_S, HW_DB_ARM_S);
}

/* Masks and limits that no field above shows to be exact. */
TEST(model_agrees_on_masks_and_limits)
{
	assert_eq(GDMA_SQ_WQE_MAX_SGE,
		  (HW_SQ_WQE_MAX_BYTES - GDMA_WQE_SGL_LONG_BYTES) / HW_SGE_BYTES);
	assert_eq(GDMA_RQ_WQE_MAX_SGE,
		  (HW_RQ_WQE_MAX_BYTES - GDMA_WQE_SGL_SHORT_BYTES) / HW_SGE_BYTES);
	assert_eq(GDMA_WQE_LAST_VBYTES_M, HW_WQE_LAST_VBYTES_M);
	assert_eq(GDMA_WQE_NUM_SGE_M, HW_WQE_NUM_SGE_M);
	assert_eq(GDMA_WQE_OOB_DIV4_M, HW_WQE_OOB_DIV4_M);
	assert_eq(GDMA_WQE_CLIENT_UNIT_M, HW_WQE_CLIENT_DATA_UNIT_M);
	assert_eq(MANA_TX_OOB_VCQ_M, HW_OOB_VCQ_NUM_M);
	assert_eq(MANA_TX_OOB_TRANS_OFF_M, HW_OOB_TRANS_OFF_M);
	assert_eq(MANA_TX_OOB_VSQ_FRAME_M, HW_OOB_VSQ_FRAME_M);
	assert_eq(MANA_TX_OOB_SHORT_VP_M, HW_OOB_SHORT_VP_M);
	assert_eq(MANA_TX_LOOB_ENCAP_S, HW_OOB_IS_ENCAP_S);
	assert_eq(MANA_TX_LOOB_INNER_IPV6_S, HW_OOB_INNER_IS_IPV6_S);
	assert_eq(MANA_TX_LOOB_INNER_TCP_OPT_S, HW_OOB_INNER_TCP_OPT_S);
	assert_eq(MANA_TX_LOOB_PCP_M, HW_OOB_PCP_M);
	assert_eq(MANA_TX_LOOB_VLAN_ID_M, HW_OOB_VLAN_ID_M);
	assert_eq(MANA_TX_LOOB_LONG_VP_M, HW_OOB_LONG_VP_M);
	/* The fields of the first word of a CQE fill it; so do the Tx offsets. */
	assert_eq((uint64_t)MANA_CQE_TYPE_M << MANA_CQE_TYPE_S |
		  (uint64_t)MANA_CQE_CLIENT_M << MANA_CQE_CLIENT_S |
		  (uint64_t)MANA_CQE_VENDOR_ERR_M << MANA_CQE_VENDOR_ERR_S, UINT32_MAX);
	assert_eq(MANA_TX_CQE_SGL_OFFSET_M + 1, 1u << MANA_TX_CQE_WQE_OFFSET_S);
	assert_eq(1u << MANA_RX_CQE_OUTER_IP_OK_S, HW_RX_F_OUTER_IP_OK);
	assert_eq(1u << MANA_RX_CQE_OUTER_IP_BAD_S, HW_RX_F_OUTER_IP_FAIL);
	assert_eq(MANA_RX_CQE_CSUM_M, 2 * MANA_RX_CSUM_UDP_BAD - 1);
	assert_eq(MANA_RX_CQE_HASH_TYPE_M, 2 * MANA_HASH_UDP_IPV6_EX - 1);
	assert_eq(MANA_HASH_TCP_IPV6_EX, HW_HASH_TCP_IPV6_EXT);
	assert_eq(MANA_HASH_UDP_IPV6_EX, HW_HASH_UDP_IPV6_EXT);
	assert_eq(1u << MANA_RX_CQE_PPI_SHIFT, HW_RX_CQE_NB_PPI);
	assert_eq(1u << MANA_RX_CQE_MAX_PKTS_SHIFT, HW_RX_CQE_8_NB_PKTS);
	assert_eq(MANA_CQE_INVALID, 0);
	assert_eq(MANA_PCI_VENDOR_ID, MODEL_PCI_VENDOR);
	assert_eq(MANA_PCI_DEVICE_ID_VF, MODEL_PCI_VF);
	assert_eq(MANA_PCI_DEVICE_ID_PF, MODEL_PCI_PF);
	assert_eq(MANA_PCI_DEVICE_ID_PF2, MODEL_PCI_PF2);
}
