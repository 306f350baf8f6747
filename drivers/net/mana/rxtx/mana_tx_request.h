/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation of a packet's offload requests to WQE fields: checksums, those of
 * a tunnel's outer headers, TCP segmentation. And the header fields as the
 * device expects them.
 */

#ifndef MANA_TX_REQUEST_H
#define MANA_TX_REQUEST_H

#include <errno.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "mana_rxtx.h"

/*
 * Shortest valid frame. The driver does not pad it, like all drivers (Linux posts
 * skb->len as it is).
 */
#define MANA_TX_MIN_BYTES RTE_ETHER_HDR_LEN

/* ---- Flags ---------------------------------------------------------------- */

/* Checksums that the device computes. */
#define MANA_TX_OL_CSUM (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
/* A tunnel packet: all other lengths and flags describe the inner headers. */
#define MANA_TX_OL_TUNNEL \
	(RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 | \
	 RTE_MBUF_F_TX_TUNNEL_MASK)
/* Checksums of the outer headers of a tunnel. */
#define MANA_TX_OL_OUTER_CSUM \
	(RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM)
/* Flags that describe a packet and request nothing by themselves. */
#define MANA_TX_OL_INFO \
	(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | MANA_TX_OL_TUNNEL)
/* All requests, and those that are refused. */
#define MANA_TX_OL_REQUEST (RTE_MBUF_F_TX_OFFLOAD_MASK & ~MANA_TX_OL_INFO)
#define MANA_TX_OL_REFUSED \
	(MANA_TX_OL_REQUEST & ~(MANA_TX_OL_CSUM | MANA_TX_OL_OUTER_CSUM | \
				RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_VLAN))

/* The data is not in the mbuf's own buffer. */
#define MANA_TX_OL_NOT_DIRECT (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
/* A packet without any of these needs no more than its data sent. */
#define MANA_TX_OL_SPECIAL (MANA_TX_OL_REQUEST | MANA_TX_OL_NOT_DIRECT)

/* All Tx flags are in the upper half of ol_flags. */
#define MANA_TX_OL_HALF(flags) ((uint32_t)((flags) >> 32))
static_assert(((MANA_TX_OL_SPECIAL | MANA_TX_OL_INFO) & UINT32_MAX) == 0,
	      "upper half");

static inline uint32_t
mana_tx_flags(const struct rte_mbuf *m)
{
	return MANA_TX_OL_HALF(m->ol_flags);
}

/* ---- Header fields ---------------------------------------------------------- */

/*
 * Sum of the addresses of an IP header, without byte swaps: a one's complement
 * sum does not depend on how the bytes are grouped.
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

/**
 * Set the fields to the values that the device expects: 0 in the IPv4 checksum, the
 * sum of the pseudo header, folded and not complemented, in the L4 checksum (as
 * in Linux's CHECKSUM_PARTIAL). For LSO the length of IP is 0, and the pseudo
 * header has none. The values depend on the IP header only, so a second call
 * changes nothing.
 *
 * @return
 *   Whether the fields have these values.
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

/* The largest value of IP's length field, and the limit of some kernels. */
#define MANA_TX_TSO_MAX_BYTES UINT16_MAX

/* Bytes of the headers of a packet that requests segmentation. */
static inline uint32_t
mana_tx_tso_header(const struct rte_mbuf *m)
{
	return m->l2_len + m->l3_len + m->l4_len;
}

/*
 * Bytes of a packet's segments; 0 if it has fewer segments than nb_segs. Drivers
 * cannot rely on pkt_len, which the application sets.
 */
static inline uint32_t
mana_tx_frame_bytes(const struct rte_mbuf *m)
{
	uint32_t left = m->nb_segs, bytes = 0;

	for (; left > 0 && m != NULL; left--, m = m->next)
		bytes += m->data_len;
	return left == 0 ? bytes : 0;
}

/**
 * Translate a packet's requests, without writing to the packet. The device
 * supports no SCTP checksums, none of the headers inside a tunnel, no IPv6
 * extension headers (Linux computes these in software; the device would return
 * INVALID_OOB), and no checksum without the IP version.
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
 * Set the header fields to the values that the device expects. A second call
 * changes nothing.
 *
 * @param frame
 *   The first hdr_bytes of the frame, in one piece; hdr_bytes is not 0.
 * @return
 *   Whether the fields have these values.
 */
bool mana_tx_request_fix(uint8_t *frame, const struct mana_tx_request *req,
			 bool may_write);

/* The flags that, with tx_offload, identify a request of the fast lane. */
#define MANA_TX_OL_KEY \
	(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | \
	 RTE_MBUF_F_TX_TCP_SEG)

/* The fields of tx_offload that segmentation depends on. */
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

/* Whether a packet requests checksums outside and inside a tunnel. */
static inline bool
mana_tx_asks_inner(const struct rte_mbuf *m)
{
	return (m->ol_flags & MANA_TX_OL_OUTER_CSUM) != 0 &&
	       (m->ol_flags & MANA_TX_OL_CSUM) != 0 &&
	       (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0;
}

/**
 * Compute the checksums inside a tunnel in software, and remove the request for
 * them from the packet.
 *
 * @return
 *   0; -ENOTSUP; -EINVAL; -ENOBUFS if the headers are not in one piece or must
 *   not be written: the caller makes a copy.
 */
int mana_tx_inner_fix(struct rte_mbuf *m);

#endif /* MANA_TX_REQUEST_H */
