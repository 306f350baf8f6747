/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the transmit path share among themselves. */

#ifndef MANA_TX_H
#define MANA_TX_H

#include <errno.h>
#include <netinet/in.h>
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

/* Checksums that the device computes. */
#define MANA_TX_OL_CSUM (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
/* Flags that describe a packet and ask for nothing by themselves. */
#define MANA_TX_OL_INFO \
	(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_OUTER_IPV4 | \
	 RTE_MBUF_F_TX_OUTER_IPV6 | RTE_MBUF_F_TX_TUNNEL_MASK)
/* All requests, and those that are refused. */
#define MANA_TX_OL_REQUEST (RTE_MBUF_F_TX_OFFLOAD_MASK & ~MANA_TX_OL_INFO)
#define MANA_TX_OL_REFUSED \
	(MANA_TX_OL_REQUEST & ~(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_VLAN))

/*
 * Shortest frame that has a meaning. Not padded: no driver does (Linux posts
 * skb->len as it is).
 */
#define MANA_TX_MIN_BYTES RTE_ETHER_HDR_LEN

/* OOB bits by L4 type, IP checksum, IPv4 and IPv6 of ol_flags. */
#define MANA_TX_CSUM_INDEX_S 52
#define MANA_TX_CSUM_INDEX_M 0x1fu
#define MANA_TX_CSUM_REFUSED 0xffu
extern const uint8_t mana_tx_csum_bits[MANA_TX_CSUM_INDEX_M + 1];

#define MANA_TX_OOB_CSUM_ANY \
	(1u << MANA_TX_OOB_IP_CSUM_S | 1u << MANA_TX_OOB_TCP_CSUM_S | \
	 1u << MANA_TX_OOB_UDP_CSUM_S)

/*
 * trans_off has 10 bits; the two lengths of an mbuf never add up to more, so
 * this is not checked at run time.
 */
static_assert((1u << RTE_MBUF_L2_LEN_BITS) + (1u << RTE_MBUF_L3_LEN_BITS) - 2 <=
	      MANA_TX_OOB_TRANS_OFF_M, "trans_off");

/* A checksum request in the device's terms. */
struct mana_tx_csum {
	uint64_t oob; /* bits to add to the short OOB */
	uint32_t hdr_bytes; /* frame bytes that are read or written; 0: none */
};

/**
 * Translate a checksum request, refusing what cannot be expressed: SCTP, the
 * headers inside a tunnel, IPv6 with extension headers (Linux computes these
 * in software, and the device would answer with INVALID_OOB), an L4 checksum
 * without IP version.
 *
 * @return
 *   0; -ENOTSUP; -EINVAL when lengths or flags contradict each other.
 */
static inline int
mana_tx_csum_check(const struct rte_mbuf *m, struct mana_tx_csum *csum)
{
	uint64_t ol_flags = m->ol_flags;
	uint32_t bits = mana_tx_csum_bits[ol_flags >> MANA_TX_CSUM_INDEX_S &
					  MANA_TX_CSUM_INDEX_M];
	uint32_t l4_off = m->l2_len + m->l3_len;
	uint32_t l4_bytes = 0;

	csum->oob = 0;
	csum->hdr_bytes = 0;
	if ((ol_flags & MANA_TX_OL_CSUM) == 0)
		return 0;
	if (unlikely((ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0 ||
		     (ol_flags & RTE_MBUF_F_TX_L4_MASK) ==
		     RTE_MBUF_F_TX_SCTP_CKSUM))
		return -ENOTSUP;
	if (unlikely(bits == MANA_TX_CSUM_REFUSED ||
		     m->l2_len < RTE_ETHER_HDR_LEN))
		return -EINVAL;
	if (ol_flags & RTE_MBUF_F_TX_IPV4) {
		if (unlikely(m->l3_len < sizeof(struct rte_ipv4_hdr)))
			return -EINVAL;
	} else if (unlikely(m->l3_len != sizeof(struct rte_ipv6_hdr))) {
		return m->l3_len < sizeof(struct rte_ipv6_hdr) ? -EINVAL :
								 -ENOTSUP;
	}
	if (bits & 1u << MANA_TX_OOB_TCP_CSUM_S)
		l4_bytes = sizeof(struct rte_tcp_hdr);
	else if (bits & 1u << MANA_TX_OOB_UDP_CSUM_S)
		l4_bytes = sizeof(struct rte_udp_hdr);
	csum->oob = bits | RTE_SHIFT_VAL64(l4_off, MANA_TX_OOB_TRANS_OFF_S);
	csum->hdr_bytes = l4_off + l4_bytes;
	return 0;
}

/*
 * Sum of 32-bit words in the order of memory, folded to 16 bits: the one's
 * complement sum does not mind how it is cut.
 */
static inline uint16_t
mana_tx_sum(const uint8_t *data, uint32_t nb_words, uint64_t sum)
{
	uint32_t word, i;

	for (i = 0; i < nb_words; i++) {
		memcpy(&word, data + i * sizeof(word), sizeof(word));
		sum += word;
	}
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (sum & UINT16_MAX) + (sum >> 16);
}

/*
 * Pseudo header: addresses, protocol, length. What rte_ipv4_phdr_cksum() and
 * rte_ipv6_phdr_cksum() give, in a fifth of the instructions.
 */
static inline uint16_t
mana_tx_pseudo_sum(const uint8_t *l3, const struct rte_mbuf *m)
{
	bool is_tcp = (m->ol_flags & RTE_MBUF_F_TX_L4_MASK) ==
		      RTE_MBUF_F_TX_TCP_CKSUM;
	uint64_t sum = rte_cpu_to_be_16(is_tcp ? IPPROTO_TCP : IPPROTO_UDP);
	uint16_t len;

	if (m->ol_flags & RTE_MBUF_F_TX_IPV4) {
		memcpy(&len, l3 + offsetof(struct rte_ipv4_hdr, total_length),
		       sizeof(len));
		len = rte_cpu_to_be_16(rte_be_to_cpu_16(len) - m->l3_len);
		return mana_tx_sum(l3 + offsetof(struct rte_ipv4_hdr, src_addr),
				   2, sum + len);
	}
	memcpy(&len, l3 + offsetof(struct rte_ipv6_hdr, payload_len),
	       sizeof(len));
	return mana_tx_sum(l3 + offsetof(struct rte_ipv6_hdr, src_addr), 8,
			   sum + len);
}

/* Set a checksum field. False when it differs and may not be written. */
static inline bool
mana_tx_field_set(uint8_t *field, uint16_t value, bool may_write)
{
	uint16_t now;

	memcpy(&now, field, sizeof(now)); /* at any address */
	if (now == value)
		return true;
	if (may_write)
		memcpy(field, &value, sizeof(value));
	return may_write;
}

/**
 * Bring the checksum fields to what the device starts from: 0 in the IPv4
 * header, the sum of the pseudo header, folded and not complemented, in the
 * L4 header (as in Linux's CHECKSUM_PARTIAL). Depends on the IP header only,
 * so doing it twice gives the same.
 *
 * @param frame
 *   The first hdr_bytes of the frame, in one piece.
 * @return
 *   Whether the fields are right now.
 */
static inline bool
mana_tx_hdr_fix(uint8_t *frame, const struct rte_mbuf *m, bool may_write)
{
	uint64_t ol_flags = m->ol_flags;
	uint8_t *l3 = frame + m->l2_len;
	uint8_t *l4 = l3 + m->l3_len;
	bool ok = true;

	if (ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
		ok = mana_tx_field_set(l3 + offsetof(struct rte_ipv4_hdr,
						     hdr_checksum), 0, may_write);
	if ((ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_L4_NO_CKSUM)
		return ok;
	if ((ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_TCP_CKSUM)
		l4 += offsetof(struct rte_tcp_hdr, cksum);
	else
		l4 += offsetof(struct rte_udp_hdr, dgram_cksum);
	return mana_tx_field_set(l4, mana_tx_pseudo_sum(l3, m), may_write) &&
	       ok;
}

/*
 * May the driver write into the first segment? ethdev: not when anyone else
 * holds a reference. An external buffer may even be read-only memory, unless
 * it is the pool's own.
 */
static inline bool
mana_tx_hdr_is_private(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 &&
	       (likely(RTE_MBUF_DIRECT(m)) || RTE_MBUF_HAS_PINNED_EXTBUF(m));
}

/*
 * Remember what was posted. An mbuf that is alone, direct and only ours needs
 * no look when its completion comes: whoever does not hold a reference now
 * cannot get one. These go back to one pool in bulk.
 */
static inline void
mana_tx_record(struct mana_txq *txq, uint32_t idx, struct rte_mbuf *m,
	       uint32_t nb_bu)
{
	uint32_t info = nb_bu;

	if (likely(m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 &&
		   RTE_MBUF_DIRECT(m))) {
		/* Another pool may take over when nothing is left of the last. */
		if (unlikely(m->pool != txq->mp) &&
		    (int32_t)(txq->ci - txq->last_plain) >= 0)
			txq->mp = m->pool;
		if (likely(m->pool == txq->mp)) {
			info |= MANA_TX_INFO_PLAIN;
			txq->last_plain = idx + 1;
		}
	}
	txq->mbufs[idx & txq->mask] = m;
	txq->info[idx & txq->mask] = info;
}

/**
 * Post one packet of any shape: the general way.
 *
 * @return
 *   Bytes posted: sq.pi and pi have moved. 0: the packet can never be sent; it
 *   has been freed and counted. -EAGAIN: no room in the ring; nothing has
 *   changed, the packet is still the caller's.
 */
int mana_tx_put_any(struct mana_txq *txq, struct rte_mbuf *m);

/**
 * Look at completions and free what they release.
 *
 * @return
 *   Packets released.
 */
uint32_t mana_tx_reap(struct mana_txq *txq, uint32_t max);

#endif /* MANA_TX_H */
