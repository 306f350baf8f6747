/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What packets ask for by their flags, and checksums: requests in the device's
 * terms, and the fields that it starts from.
 */

#ifndef MANA_TX_CSUM_H
#define MANA_TX_CSUM_H

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

#include "mana_compat.h"
#include "mana_hw.h"

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

/* What keeps a packet from the run: requests, and bytes that are elsewhere. */
#define MANA_TX_OL_NOT_DIRECT (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
#define MANA_TX_OL_ODD (MANA_TX_OL_REQUEST | MANA_TX_OL_NOT_DIRECT)

/* The flags of sending are all in the upper half of ol_flags. */
#define MANA_TX_OL_HALF(flags) ((uint32_t)((flags) >> 32))
static_assert(((MANA_TX_OL_ODD | MANA_TX_OL_INFO) & UINT32_MAX) == 0,
	      "upper half");

static inline uint32_t
mana_tx_flags(const struct rte_mbuf *m)
{
	return MANA_TX_OL_HALF(m->ol_flags);
}

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

/* A checksum request in the mbuf's terms. */
struct mana_tx_ask {
	uint64_t ol_flags;
	uint32_t l2_len;
	uint32_t l3_len;
};

static inline struct mana_tx_ask
mana_tx_ask_of(const struct rte_mbuf *m)
{
	return (struct mana_tx_ask){ m->ol_flags, m->l2_len, m->l3_len };
}

/* The same in the device's terms. */
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
mana_tx_csum_check(const struct mana_tx_ask *ask, struct mana_tx_csum *csum)
{
	uint64_t ol_flags = ask->ol_flags;
	uint32_t bits = mana_tx_csum_bits[ol_flags >> MANA_TX_CSUM_INDEX_S &
					  MANA_TX_CSUM_INDEX_M];
	uint32_t l4_off = ask->l2_len + ask->l3_len;
	uint32_t l4_bytes = 0;

	csum->oob = 0;
	csum->hdr_bytes = 0;
	if ((ol_flags & MANA_TX_OL_CSUM) == 0)
		return 0;
	if (unlikely((ol_flags & MANA_TX_OL_TUNNEL) != 0 ||
		     (ol_flags & RTE_MBUF_F_TX_L4_MASK) ==
		     RTE_MBUF_F_TX_SCTP_CKSUM))
		return -ENOTSUP;
	if (unlikely(bits == MANA_TX_CSUM_REFUSED ||
		     ask->l2_len < RTE_ETHER_HDR_LEN))
		return -EINVAL;
	if (ol_flags & RTE_MBUF_F_TX_IPV4) {
		if (unlikely(ask->l3_len < sizeof(struct rte_ipv4_hdr)))
			return -EINVAL;
	} else if (unlikely(ask->l3_len != sizeof(struct rte_ipv6_hdr))) {
		return ask->l3_len < sizeof(struct rte_ipv6_hdr) ? -EINVAL :
								   -ENOTSUP;
	}
	if (bits & 1u << MANA_TX_OOB_TCP_CSUM_S)
		l4_bytes = sizeof(struct rte_tcp_hdr);
	else if (bits & 1u << MANA_TX_OOB_UDP_CSUM_S)
		l4_bytes = sizeof(struct rte_udp_hdr);
	csum->oob = bits | MANA_SHIFT_VAL64(l4_off, MANA_TX_OOB_TRANS_OFF_S);
	csum->hdr_bytes = l4_off + l4_bytes;
	return 0;
}

/* In one's complement; the words may be two of 16 bits each. */
static inline uint32_t
mana_tx_sum_of(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;

	return sum + (sum < b);
}

/* To 16 bits. */
static inline uint16_t
mana_tx_fold(uint32_t sum)
{
	return (sum + (sum << 16 | sum >> 16)) >> 16;
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
	/* Both halves, and the carry: they meet in the upper one. */
	sum = (sum + (sum << 32 | sum >> 32)) >> 32;
	return mana_tx_fold(sum);
}

/* The addresses in the IP header. */
static inline uint16_t
mana_tx_addr_sum(const uint8_t *l3, const struct mana_tx_ask *ask, uint64_t sum)
{
	if (ask->ol_flags & RTE_MBUF_F_TX_IPV4)
		return mana_tx_sum(l3 + offsetof(struct rte_ipv4_hdr, src_addr),
				   2, sum);
	return mana_tx_sum(l3 + offsetof(struct rte_ipv6_hdr, src_addr), 8, sum);
}

/*
 * Pseudo header: addresses, protocol, length. What rte_ipv4_phdr_cksum() and
 * rte_ipv6_phdr_cksum() give, in a fifth of the instructions.
 */
static inline uint16_t
mana_tx_pseudo_sum(const uint8_t *l3, const struct mana_tx_ask *ask)
{
	bool is_tcp = (ask->ol_flags & RTE_MBUF_F_TX_L4_MASK) ==
		      RTE_MBUF_F_TX_TCP_CKSUM;
	uint64_t sum = rte_cpu_to_be_16(is_tcp ? IPPROTO_TCP : IPPROTO_UDP);
	uint16_t len;

	if (ask->ol_flags & RTE_MBUF_F_TX_IPV4) {
		memcpy(&len, l3 + offsetof(struct rte_ipv4_hdr, total_length),
		       sizeof(len));
		len = rte_cpu_to_be_16(rte_be_to_cpu_16(len) - ask->l3_len);
	} else {
		memcpy(&len, l3 + offsetof(struct rte_ipv6_hdr, payload_len),
		       sizeof(len));
	}
	return mana_tx_addr_sum(l3, ask, sum + len);
}

/* Set a 16-bit field. False when it differs and may not be written. */
static inline bool
mana_tx_field_set(uint8_t *field, uint16_t value, bool may_write)
{
	/* At any address. */
	if (!may_write)
		return memcmp(field, &value, sizeof(value)) == 0;
	memcpy(field, &value, sizeof(value));
	return true;
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
mana_tx_hdr_fix(uint8_t *frame, const struct mana_tx_ask *ask, bool may_write)
{
	uint64_t ol_flags = ask->ol_flags;
	uint8_t *l3 = frame + ask->l2_len;
	uint8_t *l4 = l3 + ask->l3_len;
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
	return mana_tx_field_set(l4, mana_tx_pseudo_sum(l3, ask), may_write) &&
	       ok;
}

/*
 * Checksum requests of the most usual kind, TCP or UDP over IPv4, by the same
 * index: what is needed to meet them. For headers of the usual lengths: without
 * tag and options.
 */
struct mana_tx_usual {
	alignas(32) uint64_t oob; /* bits of the OOB */
	uint32_t hdr_bytes; /* the least; UINT32_MAX: it is of another kind */
	uint32_t proto; /* as the pseudo header has it */
	uint16_t field; /* the checksum's place in the L4 header */
	uint16_t ip_keep; /* mask of the IPv4 checksum: 0 where it is asked for */
};
extern const struct mana_tx_usual mana_tx_usual[MANA_TX_CSUM_INDEX_M + 1];

/* Their lengths, and where these are in tx_offload. */
#define MANA_TX_USUAL_L3 (uint32_t)sizeof(struct rte_ether_hdr)
#define MANA_TX_USUAL_L4 (MANA_TX_USUAL_L3 + (uint32_t)sizeof(struct rte_ipv4_hdr))
#define MANA_TX_LENS(l2_len, l3_len) \
	((uint64_t)(l2_len) << RTE_MBUF_L2_LEN_OFS | \
	 (uint64_t)(l3_len) << RTE_MBUF_L3_LEN_OFS)
#define MANA_TX_LENS_M \
	MANA_TX_LENS((1u << RTE_MBUF_L2_LEN_BITS) - 1, \
		     (1u << RTE_MBUF_L3_LEN_BITS) - 1)
#define MANA_TX_LENS_USUAL \
	MANA_TX_LENS(MANA_TX_USUAL_L3, MANA_TX_USUAL_L4 - MANA_TX_USUAL_L3)

/* The entry for the flags of a packet that may be of that kind. */
static inline const struct mana_tx_usual *
mana_tx_usual_of(uint32_t flags)
{
	return &mana_tx_usual[flags >> (MANA_TX_CSUM_INDEX_S - 32) &
			      MANA_TX_CSUM_INDEX_M];
}

/* Whether flags ask for more than checksums of a plain packet. */
static inline bool
mana_tx_asks_more(uint32_t flags)
{
	return (flags & MANA_TX_OL_HALF((MANA_TX_OL_ODD & ~MANA_TX_OL_CSUM) |
					MANA_TX_OL_TUNNEL)) != 0;
}

/* mana_tx_hdr_fix() of such a request. */
static __rte_always_inline void
mana_tx_usual_fix(uint8_t *l3, uint32_t l3_len, const struct mana_tx_usual *usual)
{
	uint8_t *ip_csum = l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum);
	uint32_t src, dst, sum;
	uint16_t len, field;

	memcpy(&field, ip_csum, sizeof(field));
	field &= usual->ip_keep;
	memcpy(ip_csum, &field, sizeof(field));
	memcpy(&src, l3 + offsetof(struct rte_ipv4_hdr, src_addr), sizeof(src));
	memcpy(&dst, l3 + offsetof(struct rte_ipv4_hdr, dst_addr), sizeof(dst));
	memcpy(&len, l3 + offsetof(struct rte_ipv4_hdr, total_length),
	       sizeof(len));
	len = rte_cpu_to_be_16(rte_be_to_cpu_16(len) - l3_len);
	sum = mana_tx_sum_of(mana_tx_sum_of(src, dst), len + usual->proto);
	field = mana_tx_fold(sum);
	memcpy(l3 + l3_len + usual->field, &field, sizeof(field));
}

/* The same as below for any request. */
bool mana_tx_csum_unusual(struct rte_mbuf *m, uint64_t *oob);

/*
 * The checksum request of a packet whose first segment is plain, for the run:
 * header in place, device's terms in *oob. False: there is more to it, and
 * nothing has changed.
 */
static __rte_always_inline bool
mana_tx_csum_run(struct rte_mbuf *m, uint64_t *oob)
{
	const struct mana_tx_usual *usual;
	uint32_t flags = mana_tx_flags(m);

	if ((flags & MANA_TX_OL_HALF(MANA_TX_OL_ODD)) == 0)
		return true;
	usual = mana_tx_usual_of(flags);
	if (unlikely(mana_tx_asks_more(flags) ||
		     (m->tx_offload & MANA_TX_LENS_M) != MANA_TX_LENS_USUAL ||
		     m->data_len < usual->hdr_bytes)) {
		/* Not by oob: it stays in a register. */
		uint64_t unusual = *oob;
		bool is_fixed = mana_tx_csum_unusual(m, &unusual);

		*oob = unusual;
		return is_fixed;
	}
	*oob |= usual->oob;
	mana_tx_usual_fix(rte_pktmbuf_mtod_offset(m, uint8_t *,
						  MANA_TX_USUAL_L3),
			  MANA_TX_USUAL_L4 - MANA_TX_USUAL_L3, usual);
	return true;
}

#endif /* MANA_TX_CSUM_H */
