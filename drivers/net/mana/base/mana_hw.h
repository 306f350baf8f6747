/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hardware layouts: bytes, offsets and bits of work queue elements, completion
 * queue entries and doorbells. No code.
 *
 * All words are little endian in memory; bit 0 is the least significant.
 * _S is the shift of a field in its word, _M its mask after the shift.
 * The driver composes and stores whole words and uses no C bit fields, so
 * reserved bits are zero.
 *
 * Sources, named at each block:
 *   Linux     include/net/mana/gdma.h, include/net/mana/mana.h and
 *             drivers/net/ethernet/microsoft/mana/
 *   OpenVMM   vm/devices/net/gdma_defs/src/{lib,bnic}.rs, .../net_mana
 *   rdma-core providers/mana/gdma.h, doorbells.h
 */

#ifndef MANA_HW_H
#define MANA_HW_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>

/*
 * Work queue: a ring of WQEs, each of which is a whole number of basic units
 * (BU). Linux gdma.h GDMA_WQE_BU_SIZE, MAX_TX_WQE_SIZE; OpenVMM gdma_defs
 * WQE_ALIGNMENT.
 */
#define GDMA_BU_BYTES 32u
#define GDMA_BU_WORDS 4u /* 64-bit words in a BU */
#define GDMA_BU_SHIFT 5
#define GDMA_SQ_WQE_MAX_BU 16u
#define GDMA_RING_MIN_BYTES 4096u /* any ring; power of two, page aligned */

/*
 * SGEs per WQE. Linux gdma.h MAX_TX_WQE_SGL_ENTRIES, MAX_RX_WQE_SGL_ENTRIES.
 * ASSUMED: send-sges
 */
#define GDMA_SQ_WQE_MAX_SGE 30u
#define GDMA_RQ_WQE_MAX_SGE 15u

/*
 * WQE header, one 64-bit word made of word 0 (low) and word 1 (high).
 * Linux gdma.h struct gdma_wqe; OpenVMM gdma_defs WqeHeader, WqeParams.
 */
#define GDMA_WQE_LAST_VBYTES_S 24 /* LSO: bytes of SGE 0 */
#define GDMA_WQE_LAST_VBYTES_M 0xffu
#define GDMA_WQE_NUM_SGE_S 32
#define GDMA_WQE_NUM_SGE_M 0xffu
#define GDMA_WQE_OOB_DIV4_S 40 /* inline OOB size in 4-byte units */
#define GDMA_WQE_OOB_DIV4_M 0x7u
#define GDMA_WQE_OOB_IN_SGL_S 43 /* LSO: SGE 0 is the packet header */
#define GDMA_WQE_CLIENT_UNIT_S 48 /* LSO: MSS */
#define GDMA_WQE_CLIENT_UNIT_M 0x3fffu

#define GDMA_OOB_SHORT_DIV4 2u /* 8 bytes */
#define GDMA_OOB_LONG_DIV4 6u /* 24 bytes */

/* Offset of the SGL, behind the header of 8 bytes and the inline OOB. */
#define GDMA_WQE_SGL_SHORT_BYTES 16u
#define GDMA_WQE_SGL_LONG_BYTES 32u

/* Header of a WQE without LSO. */
#define GDMA_WQE_HEADER(nb_sge, oob_div4) \
	(((uint64_t)(nb_sge) << GDMA_WQE_NUM_SGE_S) | \
	 ((uint64_t)(oob_div4) << GDMA_WQE_OOB_DIV4_S))

/*
 * SGE: 8 bytes of address, then one 64-bit word of key and size.
 * Linux gdma.h struct gdma_sge.
 */
#define GDMA_SGE_BYTES 16u
#define GDMA_SGE_SIZE_S 32
#define GDMA_SGE_WORD(lkey, size_bytes) \
	(((uint64_t)(size_bytes) << GDMA_SGE_SIZE_S) | (uint32_t)(lkey))

/*
 * Short Tx OOB, one 64-bit word made of word 0 (low) and word 1 (high).
 * Linux mana.h struct mana_tx_short_oob; OpenVMM bnic.rs ManaTxShortOob.
 */
#define MANA_TX_OOB_PKT_FMT_S 0 /* 0 short, 1 long */
#define MANA_TX_OOB_IPV4_S 2
#define MANA_TX_OOB_IPV6_S 3
#define MANA_TX_OOB_IP_CSUM_S 4
#define MANA_TX_OOB_TCP_CSUM_S 5
#define MANA_TX_OOB_UDP_CSUM_S 6
#define MANA_TX_OOB_NO_CQE_S 7 /* no CQE unless it fails */
#define MANA_TX_OOB_VCQ_S 8
#define MANA_TX_OOB_VCQ_M 0xffffffu
#define MANA_TX_OOB_TRANS_OFF_S 32
#define MANA_TX_OOB_TRANS_OFF_M 0x3ffu
#define MANA_TX_OOB_VSQ_FRAME_S 42
#define MANA_TX_OOB_VSQ_FRAME_M 0x3fffu
#define MANA_TX_OOB_SHORT_VP_S 56
#define MANA_TX_OOB_SHORT_VP_M 0xffu

#define MANA_TX_VSQ_FRAME_OF_SQ_S 10 /* vsq_frame = SQ id >> 10 */

/*
 * Long Tx OOB: the short one with pkt_fmt 1, then this word (words 2 and 3),
 * then a word of zeros. Linux mana.h struct mana_tx_long_oob; OpenVMM bnic.rs
 * ManaTxLongOob.
 */
#define MANA_TX_LOOB_ENCAP_S 0
#define MANA_TX_LOOB_INNER_IPV6_S 1
#define MANA_TX_LOOB_INNER_TCP_OPT_S 2
#define MANA_TX_LOOB_VLAN_INSERT_S 3
#define MANA_TX_LOOB_PCP_S 16
#define MANA_TX_LOOB_PCP_M 0x7u
#define MANA_TX_LOOB_DEI_S 19
#define MANA_TX_LOOB_VLAN_ID_S 20
#define MANA_TX_LOOB_VLAN_ID_M 0xfffu
#define MANA_TX_LOOB_LONG_VP_S 48
#define MANA_TX_LOOB_LONG_VP_M 0xfffu

/* An 802.1Q tag control word is pcp 3, dei 1, vlan id 12. */
#define MANA_TX_LOOB_VLAN(tci) \
	(((uint64_t)1 << MANA_TX_LOOB_VLAN_INSERT_S) | \
	 ((uint64_t)((tci) >> 13 & 0x7) << MANA_TX_LOOB_PCP_S) | \
	 ((uint64_t)((tci) >> 12 & 0x1) << MANA_TX_LOOB_DEI_S) | \
	 ((uint64_t)((tci) & 0xfff) << MANA_TX_LOOB_VLAN_ID_S))

/* LSO limits: the header size has 8 bits, the MSS 14. ASSUMED: lso-limits */
#define MANA_TX_LSO_HDR_MAX_BYTES 255u
#define MANA_TX_LSO_MSS_MAX_BYTES 16383u

/*
 * Completion queue entry. Linux gdma.h struct gdma_cqe, mana.h struct
 * mana_cqe_header, mana_tx_comp_oob, mana_rxcomp_oob; OpenVMM gdma_defs Cqe,
 * bnic.rs ManaCqeHeader, ManaTxCompOob, ManaRxcompOob.
 */
struct gdma_cqe {
	union {
		uint32_t data[15];
		struct {
			uint32_t header; /* type 6, client 2, vendor error 24 */
			uint32_t data_offset;
			uint32_t offsets; /* SGL 5, WQE 27 */
		} tx;
		struct {
			uint32_t header;
			uint32_t flags;
			struct {
				uint32_t len; /* 16 bits, then reserved */
				uint32_t reserved;
				uint32_t hash;
			} ppi[4]; /* of RX_COALESCED_8: see below */
			uint32_t wqe_offset;
		} rx;
	};
	uint32_t trailer; /* wq 24, is_sq 1, reserved 4, owner 3; written last */
};
static_assert(sizeof(struct gdma_cqe) == 64, "gdma_cqe");
static_assert(offsetof(struct gdma_cqe, trailer) == 60, "trailer");

#define GDMA_CQE_BYTES 64u
#define GDMA_CQE_WQ_M 0xffffffu
#define GDMA_CQE_IS_SQ_S 24
#define GDMA_CQE_OWNER_S 29
#define GDMA_CQE_OWNER_M 0x7u

#define MANA_CQE_TYPE_S 0
#define MANA_CQE_TYPE_M 0x3fu
#define MANA_CQE_CLIENT_S 6
#define MANA_CQE_CLIENT_M 0x3u
#define MANA_CQE_VENDOR_ERR_S 8
#define MANA_CQE_VENDOR_ERR_M 0xffffffu

/*
 * Vendor errors of a Tx completion: the address of packet data cannot be translated (access,
 * range, configuration). rdma-core providers/mana/gdma.h, which uses them for RC queues.
 */
#define GDMA_VENDOR_ERR_TX_DATA_FIRST 0x206u
#define GDMA_VENDOR_ERR_TX_DATA_LAST 0x208u

#define MANA_TX_CQE_SGL_OFFSET_M 0x1fu
#define MANA_TX_CQE_WQE_OFFSET_S 5 /* in BU, 27 bits */

/* Linux mana.h enum mana_cqe_type; OpenVMM bnic.rs. 42: OpenVMM only; 7: Linux 7.3. */
enum mana_cqe_type {
	MANA_CQE_INVALID = 0,
	MANA_CQE_RX_OKAY = 1,
	MANA_CQE_RX_COALESCED_4 = 2,
	MANA_CQE_RX_OBJECT_FENCE = 3,
	MANA_CQE_RX_TRUNCATED = 4,
	MANA_CQE_RX_COALESCED_8 = 7,

	MANA_CQE_TX_OKAY = 32,
	MANA_CQE_TX_SA_DROP = 33,
	MANA_CQE_TX_MTU_DROP = 34,
	MANA_CQE_TX_INVALID_OOB = 35,
	MANA_CQE_TX_INVALID_ETH_TYPE = 36,
	MANA_CQE_TX_HDR_PROCESSING_ERROR = 37,
	MANA_CQE_TX_VF_DISABLED = 38,
	MANA_CQE_TX_VPORT_IDX_OUT_OF_RANGE = 39,
	MANA_CQE_TX_VPORT_DISABLED = 40,
	MANA_CQE_TX_VLAN_TAGGING_VIOLATION = 41,
	MANA_CQE_TX_GDMA_ERR = 42, /* the device has disabled the queue */
};
#define MANA_CQE_TX_ERR_FIRST MANA_CQE_TX_SA_DROP
#define MANA_NB_CQE_TX_ERR 10

/* Packets per coalesced CQE. Linux mana.h MANA_RXCOMP_OOB_NUM_PPI. */
#define MANA_RX_CQE_NB_PPI 4
#define MANA_RX_CQE_PPI_SHIFT 2 /* log2 of it */
/*
 * RX_COALESCED_8 has two packets in each ppi. Its words are the hash of the
 * first packet, both lengths (that of the first in the low half) and the hash of
 * the second. A length of 0 ends the list. Linux 7.3 mana.h union
 * mana_rxcomp_perpkt_info, mana_en.c mana_process_rx_cqe().
 */
#define MANA_RX_CQE_MAX_PKTS 8
#define MANA_RX_CQE_MAX_PKTS_SHIFT 3 /* log2 of it */

/* Rx flags word. Linux mana.h struct mana_rxcomp_oob. */
#define MANA_RX_CQE_VLAN_ID_S 0
#define MANA_RX_CQE_VLAN_ID_M 0xfffu
#define MANA_RX_CQE_VLAN_S 12
#define MANA_RX_CQE_OUTER_IP_OK_S 13
#define MANA_RX_CQE_OUTER_IP_BAD_S 14
#define MANA_RX_CQE_HASH_TYPE_S 16
#define MANA_RX_CQE_HASH_TYPE_M 0x1ffu
#define MANA_RX_CQE_CSUM_S 25 /* the six bits below, in this order */
#define MANA_RX_CQE_CSUM_M 0x3fu

/* Bits of the checksum field, after shift and mask. */
#define MANA_RX_CSUM_IP_OK (1u << 0)
#define MANA_RX_CSUM_IP_BAD (1u << 1)
#define MANA_RX_CSUM_TCP_OK (1u << 2)
#define MANA_RX_CSUM_TCP_BAD (1u << 3)
#define MANA_RX_CSUM_UDP_OK (1u << 4)
#define MANA_RX_CSUM_UDP_BAD (1u << 5)

/*
 * Bits of the hash type, after shift and mask: a bit mask in NDIS numbering.
 * Linux mana.h NDIS_HASH_*, MANA_HASH_L3, MANA_HASH_L4.
 */
#define MANA_HASH_IPV4 (1u << 0)
#define MANA_HASH_TCP_IPV4 (1u << 1)
#define MANA_HASH_UDP_IPV4 (1u << 2)
#define MANA_HASH_IPV6 (1u << 3)
#define MANA_HASH_TCP_IPV6 (1u << 4)
#define MANA_HASH_UDP_IPV6 (1u << 5)
#define MANA_HASH_IPV6_EX (1u << 6)
#define MANA_HASH_TCP_IPV6_EX (1u << 7)
#define MANA_HASH_UDP_IPV6_EX (1u << 8)

/*
 * Doorbell page: 64-bit write-only registers, one for each kind of queue.
 * Linux gdma_main.c DOORBELL_OFFSET_*, union gdma_doorbell_entry; OpenVMM
 * gdma_defs DB_SQ, DB_RQ, CqEqDoorbellValue, WqDoorbellValue.
 */
#define GDMA_DB_SQ_OFFSET 0x000u
#define GDMA_DB_RQ_OFFSET 0x400u
#define GDMA_DB_CQ_OFFSET 0x800u

/* SQ and RQ: tail in bytes, free running. The RQ's WQE count must be 0. */
#define GDMA_DB_ID_M 0xffffffu
#define GDMA_DB_TAIL_S 32
/* CQ: index of the next CQE to read, modulo 8 times the ring size; then arm. */
#define GDMA_DB_CQ_ARM_S 63

/* PCI identities. Linux gdma_main.c mana_id_table, gdma.h MANA_*_DEVICE_ID. */
#define MANA_PCI_VENDOR_ID 0x1414u
#define MANA_PCI_DEVICE_ID_PF 0x00b9u
#define MANA_PCI_DEVICE_ID_VF 0x00bau
#define MANA_PCI_DEVICE_ID_PF2 0x00c1u

#endif /* MANA_HW_H */
