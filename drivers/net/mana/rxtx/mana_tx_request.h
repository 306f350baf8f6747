/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Offload requests of a packet, translated to the device's terms: checksums,
 * those of a tunnel's outer headers, TCP segmentation. And the header fields as
 * the device expects them.
 */

#ifndef MANA_TX_REQUEST_H
#define MANA_TX_REQUEST_H

#include <errno.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "mana_rxtx.h"

/*
 * Shortest frame that has a meaning. Not padded: no driver does (Linux posts
 * skb->len as it is).
 */
#define MANA_TX_MIN_BYTES RTE_ETHER_HDR_LEN

/* ---- Flags ---------------------------------------------------------------- */

/* Checksums that the device computes. */
#define MANA_TX_OL_CSUM (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
/* The packet is a tunnel's: all other lengths and flags speak of the inside. */
#define MANA_TX_OL_TUNNEL \
	(RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 | \
	 RTE_MBUF_F_TX_TUNNEL_MASK)
/* Checksums of the outer headers of a tunnel. */
#define MANA_TX_OL_OUTER_CSUM \
	(RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM)
/* Flags that describe a packet and ask for nothing by themselves. */
#define MANA_TX_OL_INFO \
	(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | MANA_TX_OL_TUNNEL)
/* All requests, and those that are refused. */
#define MANA_TX_OL_REQUEST (RTE_MBUF_F_TX_OFFLOAD_MASK & ~MANA_TX_OL_INFO)
#define MANA_TX_OL_REFUSED \
	(MANA_TX_OL_REQUEST & ~(MANA_TX_OL_CSUM | MANA_TX_OL_OUTER_CSUM | \
				RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_VLAN))

/* The bytes are not in the mbuf's own buffer. */
#define MANA_TX_OL_NOT_DIRECT (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
/* A packet without any of these is the bytes of its segments and no more. */
#define MANA_TX_OL_SPECIAL (MANA_TX_OL_REQUEST | MANA_TX_OL_NOT_DIRECT)
/* And what a loop that knows plain checksums, and more, does not take. */
#define MANA_TX_OL_NOT_CSUM(more) \
	((MANA_TX_OL_SPECIAL & ~(MANA_TX_OL_CSUM | (more))) | MANA_TX_OL_TUNNEL)

/* All Tx flags are in the upper half of ol_flags. */
#define MANA_TX_OL_HALF(flags) ((uint32_t)((flags) >> 32))
static_assert(((MANA_TX_OL_SPECIAL | MANA_TX_OL_INFO) & UINT32_MAX) == 0,
	      "upper half");

static inline uint32_t
mana_tx_flags(const struct rte_mbuf *m)
{
	return MANA_TX_OL_HALF(m->ol_flags);
}

/* ---- Checksums ------------------------------------------------------------ */

/*
 * What a checksum request means, by five adjacent bits of ol_flags: L4 type 2,
 * IP checksum 1, IPv4 1, IPv6 1. Header lengths are the packet's own.
 */
struct mana_tx_csum {
	alignas(16) uint16_t l3_min; /* of the IP header */
	uint16_t l3_span; /* so many lengths are valid from there on; 0: refused */
	uint16_t l4_bytes; /* shortest L4 header; 0: no L4 checksum */
	uint16_t l4_field; /* place of the checksum in it */
	uint16_t proto; /* as in the pseudo header */
	uint8_t oob; /* low bits of the short OOB */
};
#define MANA_TX_CSUM_INDEX_S 52
#define MANA_TX_CSUM_INDEX_M 0x1fu
#define MANA_TX_CSUM_INDEX(flags) \
	((uint32_t)((flags) >> MANA_TX_CSUM_INDEX_S & MANA_TX_CSUM_INDEX_M))
static_assert((RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM |
	       RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6) ==
	      (uint64_t)MANA_TX_CSUM_INDEX_M << MANA_TX_CSUM_INDEX_S,
	      "checksum request: five adjacent bits");

#define MANA_TX_CSUM_IPV4 \
	.l3_min = sizeof(struct rte_ipv4_hdr), \
	.l3_span = (1u << RTE_MBUF_L3_LEN_BITS) - sizeof(struct rte_ipv4_hdr)
/* No extension headers. */
#define MANA_TX_CSUM_IPV6 \
	.l3_min = sizeof(struct rte_ipv6_hdr), .l3_span = 1
#define MANA_TX_CSUM_TCP \
	.l4_bytes = sizeof(struct rte_tcp_hdr), \
	.l4_field = offsetof(struct rte_tcp_hdr, cksum), \
	.proto = RTE_BE16(IPPROTO_TCP)
#define MANA_TX_CSUM_UDP \
	.l4_bytes = sizeof(struct rte_udp_hdr), \
	.l4_field = offsetof(struct rte_udp_hdr, dgram_cksum), \
	.proto = RTE_BE16(IPPROTO_UDP)

/* What has no row is refused. */
static const struct mana_tx_csum mana_tx_csums[MANA_TX_CSUM_INDEX_M + 1] = {
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM)] = {
		MANA_TX_CSUM_IPV4,
		.oob = 1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_IP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
			    RTE_MBUF_F_TX_TCP_CKSUM)] = {
		MANA_TX_CSUM_IPV4, MANA_TX_CSUM_TCP,
		.oob = 1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_IP_CSUM_S |
		       1u << MANA_TX_OOB_TCP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM)] = {
		MANA_TX_CSUM_IPV4, MANA_TX_CSUM_TCP,
		.oob = 1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_TCP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
			    RTE_MBUF_F_TX_UDP_CKSUM)] = {
		MANA_TX_CSUM_IPV4, MANA_TX_CSUM_UDP,
		.oob = 1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_IP_CSUM_S |
		       1u << MANA_TX_OOB_UDP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM)] = {
		MANA_TX_CSUM_IPV4, MANA_TX_CSUM_UDP,
		.oob = 1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_UDP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM)] = {
		MANA_TX_CSUM_IPV6, MANA_TX_CSUM_TCP,
		.oob = 1u << MANA_TX_OOB_IPV6_S | 1u << MANA_TX_OOB_TCP_CSUM_S,
	},
	[MANA_TX_CSUM_INDEX(RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM)] = {
		MANA_TX_CSUM_IPV6, MANA_TX_CSUM_UDP,
		.oob = 1u << MANA_TX_OOB_IPV6_S | 1u << MANA_TX_OOB_UDP_CSUM_S,
	},
};

static inline const struct mana_tx_csum *
mana_tx_csum_of(uint32_t flags)
{
	return &mana_tx_csums[MANA_TX_CSUM_INDEX((uint64_t)flags << 32)];
}

/*
 * trans_off has 10 bits; the two lengths of an mbuf never add up to more, so
 * this is not checked at run time.
 */
static_assert((1u << RTE_MBUF_L2_LEN_BITS) + (1u << RTE_MBUF_L3_LEN_BITS) - 2 <=
	      MANA_TX_OOB_TRANS_OFF_M, "trans_off");

/* ---- Header fields ---------------------------------------------------------- */

/*
 * Sum of the addresses of an IP header. In the order of memory: it does not
 * depend on how the bytes are grouped.
 */
static inline uint64_t
mana_tx_addr_sum(const uint8_t *l3, bool is_ipv4)
{
	uint32_t v4[2], v6[8], i;
	uint64_t sum = 0;

	if (is_ipv4) {
		memcpy(v4, l3 + offsetof(struct rte_ipv4_hdr, src_addr),
		       sizeof(v4));
		return (uint64_t)v4[0] + v4[1];
	}
	memcpy(v6, l3 + offsetof(struct rte_ipv6_hdr, src_addr), sizeof(v6));
	for (i = 0; i < RTE_DIM(v6); i++)
		sum += v6[i];
	return sum;
}

/*
 * A sum in one's complement, of less than 2^36, to 16 bits: the upper 16 bits of
 * the product are the sum of its four quarters, carries included.
 */
static inline uint16_t
mana_tx_fold(uint64_t sum)
{
	return sum * UINT64_C(0x0001000100010001) >> 48;
}

static inline uint8_t *
mana_tx_length_field(const uint8_t *l3, bool is_ipv4)
{
	return (uint8_t *)(uintptr_t)l3 +
	       (is_ipv4 ? offsetof(struct rte_ipv4_hdr, total_length) :
			  offsetof(struct rte_ipv6_hdr, payload_len));
}

/*
 * Set a 16-bit field at any address. False when it differs and may not be
 * written.
 */
static inline bool
mana_tx_field_set(uint8_t *field, uint16_t value, bool may_write)
{
	if (!may_write)
		return memcmp(field, &value, sizeof(value)) == 0;
	memcpy(field, &value, sizeof(value));
	return true;
}

/* Without an L4 checksum trans_off is 0, as in Linux. */
static inline struct mana_tx_headers
mana_tx_headers_of(const struct mana_tx_csum *csum, uint32_t l2_len,
		   uint32_t l3_len, bool is_lso)
{
	bool has_l4 = csum->l4_bytes != 0;
	uint32_t l4_off = l2_len + l3_len;
	struct mana_tx_headers hdrs = {
		.oob = csum->oob,
		.sum = csum->proto,
		.l3_off = l2_len,
		.sum_off = has_l4 ? l4_off + csum->l4_field : 0,
		.is_ipv4 = (csum->oob & 1u << MANA_TX_OOB_IPV4_S) != 0,
		.is_ip_csum = (csum->oob & 1u << MANA_TX_OOB_IP_CSUM_S) != 0,
		.is_lso = is_lso,
	};

	if (has_l4)
		hdrs.oob |= MANA_SHIFT_VAL64(l4_off, MANA_TX_OOB_TRANS_OFF_S);
	/*
	 * IPv4's length includes its header. Neither is swapped: differences of
	 * swapped ones are swapped.
	 */
	if (hdrs.is_ipv4 && !is_lso)
		hdrs.sum += UINT16_MAX - rte_cpu_to_be_16((uint16_t)l3_len);
	return hdrs;
}

/**
 * Bring the fields to what the device starts from: 0 in the IPv4 checksum, the
 * sum of the pseudo header, folded and not complemented, in the L4 checksum (as
 * in Linux's CHECKSUM_PARTIAL). For LSO the length of IP is 0, and the pseudo
 * header has none. Depends on the IP header only, so doing it twice gives the
 * same.
 *
 * @return
 *   Whether the fields are right now.
 */
static __rte_always_inline bool
mana_tx_headers_write(uint8_t *frame, const struct mana_tx_headers *hdrs,
		      bool may_write)
{
	uint8_t *l3 = frame + hdrs->l3_off;
	uint8_t *length = mana_tx_length_field(l3, hdrs->is_ipv4);
	uint64_t sum = hdrs->sum;
	uint16_t len;

	if (hdrs->is_ip_csum &&
	    !mana_tx_field_set(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum),
			       0, may_write))
		return false;
	if (hdrs->sum_off == 0)
		return true;
	if (hdrs->is_lso) {
		if (!mana_tx_field_set(length, 0, may_write))
			return false;
	} else {
		memcpy(&len, length, sizeof(len));
		sum += len;
	}
	sum += mana_tx_addr_sum(l3, hdrs->is_ipv4);
	return mana_tx_field_set(frame + hdrs->sum_off, mana_tx_fold(sum),
				 may_write);
}

/* ---- Requests --------------------------------------------------------------- */

/* Both lengths as they are in tx_offload. */
#define MANA_TX_LENS_M \
	((uint64_t)((1u << RTE_MBUF_L2_LEN_BITS) - 1) << RTE_MBUF_L2_LEN_OFS | \
	 (uint64_t)((1u << RTE_MBUF_L3_LEN_BITS) - 1) << RTE_MBUF_L3_LEN_OFS)

/* The largest that a length field of IP can tell, and some kernels allow. */
#define MANA_TX_TSO_MAX_BYTES UINT16_MAX

/* Headers of a packet that asks for segmentation. */
static inline uint32_t
mana_tx_tso_header(const struct rte_mbuf *m)
{
	return m->l2_len + m->l3_len + m->l4_len;
}

/**
 * Translate a packet's requests. Nothing is written. Refused is what cannot be
 * expressed: SCTP, the headers inside a tunnel, IPv6 with extension headers
 * (Linux computes these in software, and the device would answer with
 * INVALID_OOB), a checksum without the IP version.
 *
 * @param bytes
 *   Length of the frame.
 * @param mtu
 *   Of the adapter.
 * @return
 *   0; -ENOTSUP when the device cannot do that; -EINVAL when lengths or flags
 *   contradict each other.
 */
int mana_tx_request_check(const struct rte_mbuf *m, uint32_t bytes,
			  uint32_t mtu, struct mana_tx_request *req);

/**
 * Bring the header's fields to what the device starts from. Doing it twice
 * gives the same.
 *
 * @param frame
 *   The first hdr_bytes of the frame, in one piece; there are some.
 * @return
 *   Whether the fields are right now.
 */
bool mana_tx_request_fix(uint8_t *frame, const struct mana_tx_request *req,
			 bool may_write);

/* The flags that with tx_offload make a request of the fast lane. */
#define MANA_TX_OL_KEY \
	(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | \
	 RTE_MBUF_F_TX_TCP_SEG)

/* What segmentation depends on beside the lengths of checksums. */
#define MANA_TX_TSO_FIELDS_M \
	(MANA_TX_LENS_M | \
	 ((UINT64_C(1) << RTE_MBUF_L4_LEN_BITS) - 1) << RTE_MBUF_L4_LEN_OFS | \
	 ((UINT64_C(1) << RTE_MBUF_TSO_SEGSZ_BITS) - 1) << RTE_MBUF_TSO_SEGSZ_OFS)

static inline bool
mana_tx_known_is(const struct mana_tx_known *known, const struct rte_mbuf *m)
{
	return (mana_tx_flags(m) & MANA_TX_OL_HALF(MANA_TX_OL_KEY)) ==
		       known->flags &&
	       ((m->tx_offload ^ known->offload) & known->fields) == 0;
}

/*
 * Find or translate the request of a packet; it is the queue's last_known then.
 * NULL: the slow lane has to decide.
 */
const struct mana_tx_request *
mana_tx_request_find(struct mana_txq *txq, const struct rte_mbuf *m,
		     uint32_t bytes);

/* The same; inline if the packet has the request of the one before. */
static inline const struct mana_tx_request *
mana_tx_request_of(struct mana_txq *txq, const struct rte_mbuf *m,
		   uint32_t bytes)
{
	const struct mana_tx_known *known = txq->last_known;

	return likely(mana_tx_known_is(known, m)) ?
		       &known->req : mana_tx_request_find(txq, m, bytes);
}

/* ---- Checksums in software ---------------------------------------------------- */

/* Whether a packet asks for checksums outside and inside a tunnel. */
static inline bool
mana_tx_asks_inner(const struct rte_mbuf *m)
{
	return (m->ol_flags & MANA_TX_OL_OUTER_CSUM) != 0 &&
	       (m->ol_flags & MANA_TX_OL_CSUM) != 0 &&
	       (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0;
}

/**
 * Compute the checksums inside a tunnel in software; the packet asks for them
 * no longer.
 *
 * @return
 *   0; -ENOTSUP; -EINVAL; -ENOBUFS when the headers are not in one piece or not
 *   ours to write: a copy has to be made.
 */
int mana_tx_inner_fix(struct rte_mbuf *m);

#endif /* MANA_TX_REQUEST_H */
