/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hardware's layouts as the device reads and writes them: positions in
 * little-endian 32-bit words, and readers of bytes. Transcribed independently
 * of any driver, so that tests find errors of either side.
 *
 * _S is a shift, _M a mask after the shift; _OFF and _BYTES are bytes.
 */

#ifndef MODEL_HW_H
#define MODEL_HW_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Rings: Linux gdma.h GDMA_WQE_BU_SIZE, MAX_TX_WQE_SIZE, MAX_RX_WQE_SIZE. */
#define HW_BU_BYTES	    32u
#define HW_SQ_WQE_MAX_BYTES 512u
#define HW_RQ_WQE_MAX_BYTES 256u
#define HW_RING_MIN_BYTES   4096u
#define HW_RING_ALIGN_BYTES 4096u
#define HW_TX_WQE_OFFSET_M  0x7ffffffu /* 27 bits of BUs */

/* WQE header: Linux gdma.h struct gdma_wqe, OpenVMM gdma_defs WqeHeader. */
#define HW_WQE_HEADER_BYTES	  8u
#define HW_WQE_RESERVED0_M	  0x00ffffffu /* of word 0 */
#define HW_WQE_LAST_VBYTES_S	  24
#define HW_WQE_LAST_VBYTES_M	  0xffu
#define HW_WQE_NUM_SGE_S	  0
#define HW_WQE_NUM_SGE_M	  0xffu
#define HW_WQE_OOB_DIV4_S	  8
#define HW_WQE_OOB_DIV4_M	  0x7u
#define HW_WQE_OOB_IN_SGL_S	  11
#define HW_WQE_OOB_IN_SGL_M	  0x1u
#define HW_WQE_RESERVED1_M	  0xc000f000u /* of word 1: 12-15, 30, 31 */
#define HW_WQE_CLIENT_DATA_UNIT_S 16
#define HW_WQE_CLIENT_DATA_UNIT_M 0x3fffu

#define HW_OOB_DIV4_SHORT  2u
#define HW_OOB_DIV4_LONG   6u
#define HW_SHORT_OOB_BYTES 8u
#define HW_LONG_OOB_BYTES  24u

/* SGE: Linux gdma.h struct gdma_sge. */
#define HW_SGE_BYTES	16u
#define HW_SGE_ADDR_OFF 0
#define HW_SGE_KEY_OFF	8
#define HW_SGE_SIZE_OFF 12

/* Tx OOB: Linux mana.h struct mana_tx_short_oob, mana_tx_long_oob. */
#define HW_OOB_PKT_FMT_S       0
#define HW_OOB_PKT_FMT_M       0x3u
#define HW_OOB_IS_IPV4_S       2
#define HW_OOB_IS_IPV6_S       3
#define HW_OOB_IP_CSUM_S       4
#define HW_OOB_TCP_CSUM_S      5
#define HW_OOB_UDP_CSUM_S      6
#define HW_OOB_SUPPRESS_S      7
#define HW_OOB_VCQ_NUM_S       8
#define HW_OOB_VCQ_NUM_M       0xffffffu
#define HW_OOB_TRANS_OFF_S     0
#define HW_OOB_TRANS_OFF_M     0x3ffu
#define HW_OOB_VSQ_FRAME_S     10
#define HW_OOB_VSQ_FRAME_M     0x3fffu
#define HW_OOB_SHORT_VP_S      24
#define HW_OOB_SHORT_VP_M      0xffu
#define HW_OOB_IS_ENCAP_S      0
#define HW_OOB_INNER_IS_IPV6_S 1
#define HW_OOB_INNER_TCP_OPT_S 2
#define HW_OOB_INJECT_VLAN_S   3
#define HW_OOB_RESERVED2_M     0x0000fff0u /* of word 2 */
#define HW_OOB_PCP_S	       16
#define HW_OOB_PCP_M	       0x7u
#define HW_OOB_DEI_S	       19
#define HW_OOB_VLAN_ID_S       20
#define HW_OOB_VLAN_ID_M       0xfffu
#define HW_OOB_INNER_FRAME_M   0x0000ffffu /* of word 3: both inner offsets */
#define HW_OOB_LONG_VP_S       16
#define HW_OOB_LONG_VP_M       0xfffu
#define HW_OOB_RESERVED3_M     0xf0000000u /* of word 3 */

#define HW_PKT_FMT_SHORT   0u
#define HW_PKT_FMT_LONG	   1u
#define HW_VSQ_FRAME_SHIFT 10

/* CQE: Linux gdma.h struct gdma_cqe; the trailer is written last. */
#define HW_CQE_BYTES	   64u
#define HW_CQE_TRAILER_OFF 60
#define HW_CQE_WQ_NUM_S	   0
#define HW_CQE_WQ_NUM_M	   0xffffffu
#define HW_CQE_IS_SQ_S	   24
#define HW_CQE_OWNER_S	   29
#define HW_CQE_OWNER_M	   0x7u
#define HW_OWNER_LAPS	   8u

/* Completion header: Linux mana.h struct mana_cqe_header. */
#define HW_CQE_TYPE_S	       0
#define HW_CQE_TYPE_M	       0x3fu
#define HW_CQE_CLIENT_S	       6
#define HW_CQE_CLIENT_ETHERNET 1u
#define HW_CQE_VENDOR_ERR_S    8

/* Tx completion: Linux mana.h struct mana_tx_comp_oob. */
#define HW_TX_CQE_DATA_OFFSET_OFF 4
#define HW_TX_CQE_OFFSETS_OFF	  8
#define HW_TX_CQE_WQE_OFFSET_S	  5

/* Rx completion: Linux mana.h struct mana_rxcomp_oob. */
#define HW_RX_CQE_FLAGS_OFF	 4
#define HW_RX_CQE_PPI_OFF	 8
#define HW_RX_CQE_PPI_BYTES	 12
#define HW_RX_CQE_NB_PPI	 4
#define HW_RX_PPI_LEN_OFF	 0
#define HW_RX_PPI_HASH_OFF	 8
/* Two packets per info in RX_COALESCED_8: Linux 7.3 mana_rxcomp_perpkt_info. */
#define HW_RX_CQE_8_NB_PKTS	 8
#define HW_RX_PPI_8_HASH_0_OFF	 0
#define HW_RX_PPI_8_LEN_0_OFF	 4
#define HW_RX_PPI_8_LEN_1_OFF	 6
#define HW_RX_PPI_8_HASH_1_OFF	 8
#define HW_RX_CQE_WQE_OFFSET_OFF 56

#define HW_RX_F_VLAN_ID_M     0xfffu
#define HW_RX_F_VLAN	      (1u << 12)
#define HW_RX_F_OUTER_IP_OK   (1u << 13)
#define HW_RX_F_OUTER_IP_FAIL (1u << 14)
#define HW_RX_F_HASH_TYPE_S   16
#define HW_RX_F_IP_OK	      (1u << 25)
#define HW_RX_F_IP_FAIL	      (1u << 26)
#define HW_RX_F_TCP_OK	      (1u << 27)
#define HW_RX_F_TCP_FAIL      (1u << 28)
#define HW_RX_F_UDP_OK	      (1u << 29)
#define HW_RX_F_UDP_FAIL      (1u << 30)

/* Hash types: Linux mana.h NDIS_HASH_*. */
#define HW_HASH_IPV4	     0x001u
#define HW_HASH_TCP_IPV4     0x002u
#define HW_HASH_UDP_IPV4     0x004u
#define HW_HASH_IPV6	     0x008u
#define HW_HASH_TCP_IPV6     0x010u
#define HW_HASH_UDP_IPV6     0x020u
#define HW_HASH_IPV6_EXT     0x040u
#define HW_HASH_TCP_IPV6_EXT 0x080u
#define HW_HASH_UDP_IPV6_EXT 0x100u

/* CQE types: Linux mana.h enum mana_cqe_type; 42: OpenVMM defs/bnic.rs. */
enum hw_cqe_type {
	HW_CQE_RX_OKAY = 1,
	HW_CQE_RX_COALESCED_4 = 2,
	HW_CQE_RX_OBJECT_FENCE = 3,
	HW_CQE_RX_TRUNCATED = 4,
	HW_CQE_RX_COALESCED_8 = 7,
	HW_CQE_TX_OKAY = 32,
	HW_CQE_TX_SA_DROP = 33,
	HW_CQE_TX_MTU_DROP = 34,
	HW_CQE_TX_INVALID_OOB = 35,
	HW_CQE_TX_INVALID_ETH_TYPE = 36,
	HW_CQE_TX_HDR_PROCESSING_ERROR = 37,
	HW_CQE_TX_VF_DISABLED = 38,
	HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE = 39,
	HW_CQE_TX_VPORT_DISABLED = 40,
	HW_CQE_TX_VLAN_TAGGING_VIOLATION = 41,
	HW_CQE_TX_GDMA_ERR = 42,
};

/* Vendor error codes: rdma-core providers/mana/gdma.h. */
#define HW_VENDOR_TX_CORRUPT_WQE 0x201u
#define HW_VENDOR_TX_WQE_FAULT	 0x203u
#define HW_VENDOR_TX_DATA_ACCESS 0x206u
#define HW_VENDOR_TX_DATA_RANGE	 0x207u
#define HW_VENDOR_TX_DATA_CONFIG 0x208u

/* Doorbells: Linux gdma_main.c DOORBELL_OFFSET_*, OpenVMM gdma_defs DB_*. */
#define HW_DB_SQ	0x000u
#define HW_DB_RQ	0x400u
#define HW_DB_CQ	0x800u
#define HW_DB_ID_S	0
#define HW_DB_ID_M	0xffffffu
#define HW_DB_WQE_CNT_S 24 /* RQ; reserved for SQ and CQ */
#define HW_DB_WQE_CNT_M 0xffu
#define HW_DB_TAIL_S	32
#define HW_DB_CQ_TAIL_M 0x7fffffffu
#define HW_DB_ARM_S	63
/* 32-bit registers: DPDK commit 26c6bdf3d1. */
#define HW_DB_SHORT_SQ	       0x010u
#define HW_DB_SHORT_RQ	       0x410u
#define HW_DB_SHORT_CQ	       0x810u
#define HW_DB_SHORT_TAIL_M     0xffffu
#define HW_DB_SHORT_ID_S       16
#define HW_DB_SHORT_ID_M       0xfffu
#define HW_DB_SHORT_RESERVED_M 0x70000000u
#define HW_DB_SHORT_ARM_S      31
#define HW_DB_PAGE_BYTES       4096u

/*
 * LSO: OpenVMM net_mana handle_tx refuses headers over 255 bytes, emu/bnic.rs
 * process_sqe those over 256; Linux mana_en.c netif_set_tso_max_size.
 */
#define HW_LSO_MAX_HEADER_BYTES	     255u
#define HW_LSO_EMULATOR_HEADER_BYTES 256u
#define HW_LSO_MAX_BYTES	     (512u << 10)

static_assert(HW_WQE_HEADER_BYTES + HW_LONG_OOB_BYTES == HW_BU_BYTES,
	      "the header and the long OOB fill a BU");
static_assert(HW_RX_CQE_PPI_OFF + HW_RX_CQE_NB_PPI * HW_RX_CQE_PPI_BYTES ==
		      HW_RX_CQE_WQE_OFFSET_OFF,
	      "four packet infos");
static_assert(HW_RX_CQE_WQE_OFFSET_OFF + 4 == HW_CQE_TRAILER_OFF &&
		      HW_CQE_TRAILER_OFF + 4 == HW_CQE_BYTES,
	      "completion data, then the trailer");

static inline uint16_t
hw_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline void
hw_put_be16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static inline uint16_t
hw_le16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t
hw_le32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
	       (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t
hw_le64(const uint8_t *bytes)
{
	return hw_le32(bytes) | (uint64_t)hw_le32(bytes + 4) << 32;
}

static inline void
hw_put_le16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

static inline void
hw_put_le32(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline bool
hw_bit(uint32_t word, unsigned int shift)
{
	return (word >> shift & 1) != 0;
}

/*
 * The decoded structs below also have fields that combine others. Compilers
 * merge tests of several fields into one wider load, which must then wait until
 * the narrow stores, and all earlier ones, have left the core.
 */

/* A decoded WQE header. */
struct hw_wqe {
	uint8_t last_vbytes;
	uint8_t nb_sge;
	uint8_t oob_div4;
	bool oob_in_sgl; /* LSO */
	uint16_t client_data_unit;
	bool has_lso_fields; /* last_vbytes or client_data_unit */
	bool has_reserved_bits;
};

static inline struct hw_wqe
hw_wqe_read(const uint8_t *bytes)
{
	uint32_t w0 = hw_le32(bytes), w1 = hw_le32(bytes + 4);

	return (struct hw_wqe){
		.last_vbytes = w0 >> HW_WQE_LAST_VBYTES_S,
		.nb_sge = w1 >> HW_WQE_NUM_SGE_S & HW_WQE_NUM_SGE_M,
		.oob_div4 = w1 >> HW_WQE_OOB_DIV4_S & HW_WQE_OOB_DIV4_M,
		.oob_in_sgl = hw_bit(w1, HW_WQE_OOB_IN_SGL_S),
		.client_data_unit = w1 >> HW_WQE_CLIENT_DATA_UNIT_S &
				    HW_WQE_CLIENT_DATA_UNIT_M,
		.has_lso_fields =
			((w0 & HW_WQE_LAST_VBYTES_M << HW_WQE_LAST_VBYTES_S) |
			 (w1 & HW_WQE_CLIENT_DATA_UNIT_M
					 << HW_WQE_CLIENT_DATA_UNIT_S)) != 0,
		.has_reserved_bits = (w0 & HW_WQE_RESERVED0_M) != 0 ||
				     (w1 & HW_WQE_RESERVED1_M) != 0,
	};
}

/* Where the SGL starts: OpenVMM emu/queues.rs rounds to the size of an SGE. */
static inline uint32_t
hw_wqe_sgl_offset(const struct hw_wqe *wqe)
{
	uint32_t end = HW_WQE_HEADER_BYTES + 4u * wqe->oob_div4;

	return (end + HW_SGE_BYTES - 1) & ~(HW_SGE_BYTES - 1);
}

/* Size in the ring: Linux gdma_main.c mana_gd_post_work_request. */
static inline uint32_t
hw_wqe_bytes(const struct hw_wqe *wqe)
{
	uint32_t end = hw_wqe_sgl_offset(wqe) + HW_SGE_BYTES * wqe->nb_sge;

	return (end + HW_BU_BYTES - 1) & ~(HW_BU_BYTES - 1);
}

struct hw_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t size_bytes;
};

static inline struct hw_sge
hw_sge_read(const uint8_t *bytes)
{
	return (struct hw_sge){
		.addr = hw_le64(bytes + HW_SGE_ADDR_OFF),
		.key = hw_le32(bytes + HW_SGE_KEY_OFF),
		.size_bytes = hw_le32(bytes + HW_SGE_SIZE_OFF),
	};
}

/* A decoded Tx OOB; the long part is zero in the short form. */
struct hw_tx_oob {
	uint8_t pkt_fmt;
	bool is_ipv4, is_ipv6;
	bool is_ip; /* either */
	bool ip_csum, tcp_csum, udp_csum;
	bool wants_csum; /* any */
	bool suppress;
	uint32_t vcq_num;
	uint16_t trans_off;
	uint16_t vsq_frame;
	uint16_t short_vp;
	bool is_encap;
	bool inject_vlan;
	uint16_t tci; /* pcp, dei and id as on the wire */
	uint16_t long_vp;
	/* Meaningless bits are set: reserved, inner without is_encap, ... */
	bool has_stray_bits;
};

static inline void
hw_tx_oob_read_long(const uint8_t *bytes, struct hw_tx_oob *oob)
{
	uint32_t w2 = hw_le32(bytes + 8), w3 = hw_le32(bytes + 12);
	uint32_t inner = w2 & (1u << HW_OOB_INNER_IS_IPV6_S |
			       1u << HW_OOB_INNER_TCP_OPT_S);

	oob->is_encap = hw_bit(w2, HW_OOB_IS_ENCAP_S);
	oob->inject_vlan = hw_bit(w2, HW_OOB_INJECT_VLAN_S);
	oob->tci = (uint16_t)((w2 >> HW_OOB_PCP_S & HW_OOB_PCP_M) << 13 |
			      (w2 >> HW_OOB_DEI_S & 1) << 12 |
			      (w2 >> HW_OOB_VLAN_ID_S & HW_OOB_VLAN_ID_M));
	oob->long_vp = w3 >> HW_OOB_LONG_VP_S & HW_OOB_LONG_VP_M;
	inner |= w3 & HW_OOB_INNER_FRAME_M;
	oob->has_stray_bits = (w2 & HW_OOB_RESERVED2_M) != 0 ||
			      (w3 & HW_OOB_RESERVED3_M) != 0 ||
			      hw_le64(bytes + 16) != 0 ||
			      (inner != 0 && !oob->is_encap) ||
			      (oob->tci != 0 && !oob->inject_vlan);
}

/* Inline, for the reason given above. */
static inline void
hw_tx_oob_take(const uint8_t *bytes, bool is_long, struct hw_tx_oob *oob)
{
	const uint32_t is_ip = 1u << HW_OOB_IS_IPV4_S | 1u << HW_OOB_IS_IPV6_S;
	const uint32_t csum = 1u << HW_OOB_IP_CSUM_S | 1u << HW_OOB_TCP_CSUM_S |
			      1u << HW_OOB_UDP_CSUM_S;
	uint32_t w0 = hw_le32(bytes), w1 = hw_le32(bytes + 4);

	oob->pkt_fmt = w0 >> HW_OOB_PKT_FMT_S & HW_OOB_PKT_FMT_M;
	oob->is_ipv4 = hw_bit(w0, HW_OOB_IS_IPV4_S);
	oob->is_ipv6 = hw_bit(w0, HW_OOB_IS_IPV6_S);
	oob->is_ip = (w0 & is_ip) != 0;
	oob->ip_csum = hw_bit(w0, HW_OOB_IP_CSUM_S);
	oob->tcp_csum = hw_bit(w0, HW_OOB_TCP_CSUM_S);
	oob->udp_csum = hw_bit(w0, HW_OOB_UDP_CSUM_S);
	oob->wants_csum = (w0 & csum) != 0;
	oob->suppress = hw_bit(w0, HW_OOB_SUPPRESS_S);
	oob->vcq_num = w0 >> HW_OOB_VCQ_NUM_S & HW_OOB_VCQ_NUM_M;
	oob->trans_off = w1 >> HW_OOB_TRANS_OFF_S & HW_OOB_TRANS_OFF_M;
	oob->vsq_frame = w1 >> HW_OOB_VSQ_FRAME_S & HW_OOB_VSQ_FRAME_M;
	oob->short_vp = w1 >> HW_OOB_SHORT_VP_S & HW_OOB_SHORT_VP_M;
	oob->is_encap = false;
	oob->inject_vlan = false;
	oob->tci = 0;
	oob->long_vp = 0;
	oob->has_stray_bits = false;
	if (is_long)
		hw_tx_oob_read_long(bytes, oob);
}

static inline struct hw_tx_oob
hw_tx_oob_read(const uint8_t *bytes, bool is_long)
{
	struct hw_tx_oob oob;

	hw_tx_oob_take(bytes, is_long, &oob);
	return oob;
}

/* A decoded doorbell store; the meaning of tail depends on the register. */
struct hw_doorbell {
	uint32_t id;
	uint32_t tail; /* bytes (SQ, RQ) or CQEs; an increment if short */
	uint32_t wqe_cnt; /* bits 24 to 31 of the 64-bit forms */
	bool arm; /* CQ: bit 63 or 31; else bit 31 of the short form */
	bool reserved_bits; /* of the 32-bit form */
};

static inline struct hw_doorbell
hw_doorbell_read(uint64_t value, bool is_cq)
{
	uint32_t tail = (uint32_t)(value >> HW_DB_TAIL_S);

	return (struct hw_doorbell){
		.id = value >> HW_DB_ID_S & HW_DB_ID_M,
		.tail = is_cq ? tail & HW_DB_CQ_TAIL_M : tail,
		.wqe_cnt = value >> HW_DB_WQE_CNT_S & HW_DB_WQE_CNT_M,
		.arm = is_cq && (value >> HW_DB_ARM_S) != 0,
	};
}

static inline struct hw_doorbell
hw_doorbell_read_short(uint32_t value, bool is_cq)
{
	bool top = hw_bit(value, HW_DB_SHORT_ARM_S);

	return (struct hw_doorbell){
		.id = value >> HW_DB_SHORT_ID_S & HW_DB_SHORT_ID_M,
		.tail = value & HW_DB_SHORT_TAIL_M,
		.arm = is_cq && top,
		.reserved_bits = (value & HW_DB_SHORT_RESERVED_M) != 0 ||
				 (top && !is_cq),
	};
}

#endif /* MODEL_HW_H */
