/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation of offload requests, tx_pkt_prepare, and the checksums inside a
 * tunnel, computed in software: the device computes one set of checksums per
 * packet, and a packet may request the outer ones, too.
 */

#include <netinet/in.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "mana_tx.h"
#include "mana_tx_request.h"

/* ---- Any request ------------------------------------------------------------ */

/* A checksum request. The packet has the lengths of its headers. */
struct csum {
	uint32_t l3_min; /* bytes of the IP header */
	uint32_t l3_max;
	uint32_t l4_bytes; /* shortest L4 header; 0: no L4 checksum */
	uint32_t l4_field; /* offset of the checksum in it */
	uint32_t proto; /* as in the pseudo header */
	uint32_t oob; /* low bits of the short OOB */
	bool is_ipv4;
};

/*
 * A checksum request as the device supports it, by ol_flags: of IPv4 or IPv6, with
 * or without TCP or UDP.
 */
static int
csum_get(uint64_t flags, struct csum *csum)
{
	const uint64_t versions = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6;

	if ((flags & versions) == RTE_MBUF_F_TX_IPV4)
		*csum = (struct csum){
			.is_ipv4 = true,
			.l3_min = sizeof(struct rte_ipv4_hdr),
			.l3_max = UINT32_MAX,
			.oob = 1u << MANA_TX_OOB_IPV4_S,
		};
	else
		/* No extension headers. */
		*csum = (struct csum){
			.l3_min = sizeof(struct rte_ipv6_hdr),
			.l3_max = sizeof(struct rte_ipv6_hdr),
			.oob = 1u << MANA_TX_OOB_IPV6_S,
		};
	switch (flags & RTE_MBUF_F_TX_L4_MASK) {
	case RTE_MBUF_F_TX_TCP_CKSUM:
		csum->l4_bytes = sizeof(struct rte_tcp_hdr);
		csum->l4_field = offsetof(struct rte_tcp_hdr, cksum);
		csum->proto = RTE_BE16(IPPROTO_TCP);
		csum->oob |= 1u << MANA_TX_OOB_TCP_CSUM_S;
		break;
	case RTE_MBUF_F_TX_UDP_CKSUM:
		csum->l4_bytes = sizeof(struct rte_udp_hdr);
		csum->l4_field = offsetof(struct rte_udp_hdr, dgram_cksum);
		csum->proto = RTE_BE16(IPPROTO_UDP);
		csum->oob |= 1u << MANA_TX_OOB_UDP_CSUM_S;
		break;
	case RTE_MBUF_F_TX_SCTP_CKSUM:
		return -ENOTSUP;
	}
	if (flags & RTE_MBUF_F_TX_IP_CKSUM)
		csum->oob |= 1u << MANA_TX_OOB_IP_CSUM_S;
	/* One IP version is given, and only IPv4's header has a checksum. */
	if (!csum->is_ipv4 && (flags & (versions | RTE_MBUF_F_TX_IP_CKSUM)) !=
				      RTE_MBUF_F_TX_IPV6)
		return -EINVAL;
	return 0;
}

/*
 * trans_off has 10 bits. The sum of the two lengths of an mbuf always fits, so
 * nothing checks this at run time.
 */
static_assert((1u << RTE_MBUF_L2_LEN_BITS) + (1u << RTE_MBUF_L3_LEN_BITS) - 2 <=
	      MANA_TX_OOB_TRANS_OFF_M, "trans_off");

/* Without an L4 checksum trans_off is 0, as in Linux. */
static struct mana_tx_headers
headers_of(const struct csum *csum, uint32_t l2_len, uint32_t l3_len, bool is_lso)
{
	uint32_t l4_off = l2_len + l3_len;
	struct mana_tx_headers hdrs = {
		.oob = csum->oob,
		.sum = csum->proto,
		.l3_off = l2_len,
		.is_ipv4 = csum->is_ipv4,
		.is_ip_csum = (csum->oob & 1u << MANA_TX_OOB_IP_CSUM_S) != 0,
		.is_lso = is_lso,
	};

	if (csum->l4_bytes != 0) {
		hdrs.sum_off = l4_off + csum->l4_field;
		hdrs.oob |= MANA_SHIFT_VAL64(l4_off, MANA_TX_OOB_TRANS_OFF_S);
	}
	/*
	 * IPv4's length includes its header. Neither is swapped: the difference of
	 * swapped numbers is the swapped difference.
	 */
	if (hdrs.is_ipv4 && !is_lso)
		hdrs.sum += UINT16_MAX - rte_cpu_to_be_16((uint16_t)l3_len);
	return hdrs;
}

/*
 * RTE_MBUF_F_TX_TCP_SEG: one WQE and one completion for up to 64 KiB. The
 * device would disable the queue for a WQE without payload, or with a header
 * beyond 255 bytes (OpenVMM net_mana handle_tx).
 */
static int
tso_check(const struct rte_mbuf *m, uint32_t mtu, struct mana_tx_request *req)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint32_t hdr_bytes = mana_tx_tso_header(m), mss_bytes = m->tso_segsz;

	if (unlikely((l4 & ~RTE_MBUF_F_TX_TCP_CKSUM) != 0 ||
		     m->l4_len < sizeof(struct rte_tcp_hdr) ||
		     mss_bytes == 0 || hdr_bytes > req->bytes))
		return -EINVAL;
	if (unlikely(hdr_bytes > MANA_TX_LSO_HDR_MAX_BYTES ||
		     mss_bytes > MANA_TX_LSO_MSS_MAX_BYTES ||
		     req->bytes > MANA_TX_TSO_MAX_BYTES ||
		     RTE_MIN(req->bytes, hdr_bytes + mss_bytes) >
			     mtu + m->l2_len))
		return -ENOTSUP;
	req->is_tso = true;
	/* As Linux, post one segment as an ordinary frame. */
	if (req->bytes - hdr_bytes > mss_bytes)
		req->mss_bytes = mss_bytes;
	return 0;
}

/* The outer flags are in the same order as those of other packets. */
#define OUTER_S 4
static_assert(RTE_MBUF_F_TX_OUTER_IP_CKSUM >> OUTER_S == RTE_MBUF_F_TX_IP_CKSUM &&
	      RTE_MBUF_F_TX_OUTER_IPV4 >> OUTER_S == RTE_MBUF_F_TX_IPV4 &&
	      RTE_MBUF_F_TX_OUTER_IPV6 >> OUTER_S == RTE_MBUF_F_TX_IPV6,
	      "outer flags");
static_assert(RTE_MBUF_OUTL2_LEN_BITS <= RTE_MBUF_L2_LEN_BITS &&
	      RTE_MBUF_OUTL3_LEN_BITS <= RTE_MBUF_L3_LEN_BITS, "trans_off");

/*
 * For the device, the outer headers of a tunnel are those of an ordinary packet.
 * mana_tx_inner_fix() computes the checksums inside.
 */
static uint64_t
outer_flags(uint64_t flags)
{
	return (flags >> OUTER_S & (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
				    RTE_MBUF_F_TX_IPV6)) |
	       ((flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0 ?
			RTE_MBUF_F_TX_UDP_CKSUM : 0);
}

int
mana_tx_request_check(const struct rte_mbuf *m, uint32_t bytes, uint32_t mtu,
		      struct mana_tx_request *req)
{
	uint32_t l2_len = m->l2_len, l3_len = m->l3_len;
	uint64_t flags = m->ol_flags;
	struct csum csum;
	int ret;

	*req = (struct mana_tx_request){ .bytes = bytes };
	if (unlikely((flags & MANA_TX_OL_REFUSED) != 0))
		return -ENOTSUP;
	if (unlikely(bytes < MANA_TX_MIN_BYTES))
		return -EINVAL;
	if ((flags & (MANA_TX_OL_CSUM | MANA_TX_OL_OUTER_CSUM |
		      RTE_MBUF_F_TX_TCP_SEG)) == 0)
		return 0;
	if (flags & RTE_MBUF_F_TX_TCP_SEG) {
		if (flags & MANA_TX_OL_OUTER_CSUM)
			return -ENOTSUP;
		ret = tso_check(m, mtu, req);
		if (unlikely(ret != 0))
			return ret;
		/* Each segment needs both checksums, even if not requested. */
		flags |= RTE_MBUF_F_TX_TCP_CKSUM;
		if (flags & RTE_MBUF_F_TX_IPV4)
			flags |= RTE_MBUF_F_TX_IP_CKSUM;
	} else if (unlikely((flags & MANA_TX_OL_OUTER_CSUM) != 0)) {
		flags = outer_flags(flags);
		l2_len = m->outer_l2_len;
		l3_len = m->outer_l3_len;
	}
	if (unlikely((flags & MANA_TX_OL_TUNNEL) != 0))
		return -ENOTSUP;
	ret = csum_get(flags, &csum);
	if (unlikely(ret != 0))
		return ret;
	if (unlikely(l2_len < RTE_ETHER_HDR_LEN || l3_len < csum.l3_min))
		return -EINVAL;
	if (unlikely(l3_len > csum.l3_max))
		return -ENOTSUP;
	req->hdrs = headers_of(&csum, l2_len, l3_len, req->mss_bytes != 0);
	req->hdr_bytes = l2_len + l3_len + csum.l4_bytes;
	if (req->mss_bytes != 0) {
		req->hdr_bytes = mana_tx_tso_header(m);
		req->wqe_header =
			MANA_SHIFT_VAL64(req->hdr_bytes, GDMA_WQE_LAST_VBYTES_S) |
			UINT64_C(1) << GDMA_WQE_OOB_IN_SGL_S |
			MANA_SHIFT_VAL64(req->mss_bytes, GDMA_WQE_CLIENT_UNIT_S);
	}
	return likely(bytes >= req->hdr_bytes) ? 0 : -EINVAL;
}

static __rte_noinline const struct mana_tx_request *
request_learn(const struct mana_txq *txq, const struct rte_mbuf *m,
	      uint32_t bytes, struct mana_tx_known *known)
{
	struct mana_tx_request req;

	/* The entry does not describe outer headers. */
	if ((m->ol_flags & (MANA_TX_OL_TUNNEL | MANA_TX_OL_OUTER_CSUM)) != 0)
		return NULL;
	if (mana_tx_request_check(m, bytes, txq->mtu, &req) != 0 ||
	    (req.is_tso && req.mss_bytes == 0))
		return NULL;
	*known = (struct mana_tx_known){
		.offload = m->tx_offload,
		.fields = req.is_tso ? MANA_TX_TSO_FIELDS_M : MANA_TX_LENS_M,
		.flags = mana_tx_flags(m) & MANA_TX_OL_HALF(MANA_TX_OL_KEY),
		.req = req,
	};
	return &known->req;
}

__rte_noinline const struct mana_tx_request *
mana_tx_request_find(struct mana_txq *txq, const struct rte_mbuf *m,
		     uint32_t bytes)
{
	const uint32_t flags = mana_tx_flags(m);
	/* Traffic alternates between these: an entry for each combination. */
	const uint32_t is_ipv6 = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_IPV6)) != 0;
	const uint32_t is_tso = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)) != 0;
	/* The second bit of RTE_MBUF_F_TX_L4_MASK: UDP, or SCTP, which is refused. */
	const uint32_t is_udp = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_SCTP_CKSUM)) != 0;
	struct mana_tx_known *known =
		&txq->known[is_ipv6 | is_tso << 1 | is_udp << 2];

	txq->last_known = known;
	return likely(mana_tx_known_is(known, m)) ?
		       &known->req : request_learn(txq, m, bytes, known);
}

/*
 * Set the length in the IP header of an ordinary frame that requested segmentation.
 * It is right unless the header was prepared for segmentation before, or by the
 * application: then it is 0.
 */
static bool
tso_fix_length(uint8_t *l3, const struct mana_tx_request *req, bool may_write)
{
	uint32_t bytes = req->bytes - req->hdrs.l3_off -
			 (req->hdrs.is_ipv4 ? 0 : sizeof(struct rte_ipv6_hdr));
	uint8_t *field = mana_tx_length_field(l3, req->hdrs.is_ipv4);
	uint16_t now;

	memcpy(&now, field, sizeof(now));
	return now != 0 ||
	       mana_tx_field_set(field, rte_cpu_to_be_16(bytes), may_write);
}

bool
mana_tx_request_fix(uint8_t *frame, const struct mana_tx_request *req,
		    bool may_write)
{
	if (req->is_tso && req->mss_bytes == 0 &&
	    !tso_fix_length(frame + req->hdrs.l3_off, req, may_write))
		return false;
	return mana_tx_headers_write(frame, &req->hdrs, may_write);
}

/* ---- Inside a tunnel ------------------------------------------------------ */

/*
 * One's complement sum of existing bytes of the packet. rte_raw_cksum_mbuf() of
 * DPDK 22.11 loses carries of a segment that starts at an odd offset.
 */
static uint32_t
inner_sum(const struct rte_mbuf *m, uint32_t off, uint32_t bytes)
{
	uint32_t sum = 0, done = 0, len;
	uint16_t part;

	/* The header is in the first segment. */
	for (; done < bytes; m = m->next, off = 0) {
		len = RTE_MIN(m->data_len - off, bytes - done);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, uint8_t *, off),
				     len);
		sum += done % 2 == 0 ? part : rte_bswap16(part);
		done += len;
	}
	return sum;
}

/* Checksum of the L4 header at off and its payload; the field itself is 0. */
static uint16_t
inner_l4_csum(const struct rte_mbuf *m, const struct csum *csum, const uint8_t *l3,
	      uint32_t off, uint32_t bytes)
{
	uint16_t sum = ~mana_tx_fold(mana_tx_addr_sum(l3, csum->is_ipv4) +
				     inner_sum(m, off, bytes) + csum->proto +
				     rte_cpu_to_be_16((uint16_t)bytes));

	/* In UDP 0 means that there is none. */
	return sum == 0 && csum->proto == RTE_BE16(IPPROTO_UDP) ? UINT16_MAX : sum;
}

int
mana_tx_inner_fix(struct rte_mbuf *m)
{
	uint32_t l3_off = m->outer_l2_len + m->outer_l3_len + m->l2_len;
	uint32_t l4_off = l3_off + m->l3_len, l4_bytes = 0;
	uint8_t copy[sizeof(struct rte_ipv6_hdr)], *l3, *field;
	struct csum csum;
	int ret = csum_get(m->ol_flags, &csum);
	uint16_t len;

	if (ret != 0)
		return ret;
	if (m->l3_len < csum.l3_min || l4_off > m->pkt_len ||
	    mana_tx_frame_bytes(m) != m->pkt_len)
		return -EINVAL;
	if (csum.l4_bytes != 0) {
		const uint8_t *hdr = rte_pktmbuf_read(m, l3_off, csum.l3_min, copy);

		/* Bytes behind the IP header, by its length field. */
		memcpy(&len, mana_tx_length_field(hdr, csum.is_ipv4), sizeof(len));
		l4_bytes = rte_be_to_cpu_16(len) - m->l3_len +
			   (csum.is_ipv4 ? 0 : sizeof(struct rte_ipv6_hdr));
		if (l4_bytes < csum.l4_bytes || l4_bytes > m->pkt_len - l4_off)
			return -EINVAL;
	}
	if (m->data_len < l4_off + csum.l4_bytes || !mana_tx_hdr_is_private(m))
		return -ENOBUFS;
	l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, l3_off);
	if (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) {
		field = l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum);
		mana_tx_field_set(field, 0, true);
		mana_tx_field_set(field, ~rte_raw_cksum(l3, m->l3_len), true);
	}
	if (csum.l4_bytes != 0) {
		field = l3 + m->l3_len + csum.l4_field;
		mana_tx_field_set(field, 0, true);
		mana_tx_field_set(field, inner_l4_csum(m, &csum, l3, l4_off, l4_bytes),
				  true);
	}
	m->ol_flags &= ~MANA_TX_OL_CSUM;
	return 0;
}

/* ---- tx_pkt_prepare ------------------------------------------------------- */

static int
prepare_one(const struct mana_txq *txq, struct rte_mbuf *m)
{
	struct mana_tx_request req;
	int ret = mana_tx_request_check(m, m->pkt_len, txq->mtu, &req);

	if (ret == 0 && unlikely(mana_tx_asks_inner(m)))
		ret = mana_tx_inner_fix(m);
	/* -ENOBUFS: the burst makes a copy. */
	if (ret != 0)
		return ret == -ENOBUFS ? 0 : ret;
	if (req.hdr_bytes != 0 && m->data_len >= req.hdr_bytes &&
	    mana_tx_hdr_is_private(m))
		mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), &req, true);
	return 0;
}

uint16_t
mana_tx_pkt_prepare(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	uint16_t i;
	int ret;

	for (i = 0; i < nb_pkts; i++) {
		ret = prepare_one(queue, pkts[i]);
		if (ret != 0) {
			rte_errno = -ret;
			break;
		}
	}
	return i;
}
