/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checksums of headers of any length, tx_pkt_prepare, and the checksums inside a
 * tunnel, computed in software: the device computes one set of checksums in a
 * packet, and a packet may ask for those outside as well.
 */

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "mana_tx.h"
#include "mana_tx_request.h"

/* ---- Any request ------------------------------------------------------------ */

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
	/* Linux never posts LSO of one segment: an ordinary frame. */
	if (req->bytes - hdr_bytes > mss_bytes)
		req->mss_bytes = mss_bytes;
	return 0;
}

/* The outer flags are those of a plain packet, at another place. */
#define OUTER_S 4
static_assert(RTE_MBUF_F_TX_OUTER_IP_CKSUM >> OUTER_S == RTE_MBUF_F_TX_IP_CKSUM &&
	      RTE_MBUF_F_TX_OUTER_IPV4 >> OUTER_S == RTE_MBUF_F_TX_IPV4 &&
	      RTE_MBUF_F_TX_OUTER_IPV6 >> OUTER_S == RTE_MBUF_F_TX_IPV6,
	      "outer flags");
static_assert(RTE_MBUF_OUTL2_LEN_BITS <= RTE_MBUF_L2_LEN_BITS &&
	      RTE_MBUF_OUTL3_LEN_BITS <= RTE_MBUF_L3_LEN_BITS, "trans_off");

/*
 * The outer headers of a tunnel are to the device those of a plain packet. It
 * computes one set of checksums: those inside are mana_tx_inner_fix()'s.
 */
static uint64_t
outer_flags(uint64_t flags)
{
	return (flags >> OUTER_S & (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
				    RTE_MBUF_F_TX_IPV6)) |
	       (flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM ?
			RTE_MBUF_F_TX_UDP_CKSUM : 0);
}

int
mana_tx_request_check(const struct rte_mbuf *m, uint32_t bytes, uint32_t mtu,
		      struct mana_tx_request *req)
{
	uint32_t l2_len = m->l2_len, l3_len = m->l3_len, more;
	const struct mana_tx_csum *csum;
	uint64_t flags = m->ol_flags;
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
		/* Each segment needs both checksums, whatever was asked for. */
		flags |= RTE_MBUF_F_TX_TCP_CKSUM;
		if (flags & RTE_MBUF_F_TX_IPV4)
			flags |= RTE_MBUF_F_TX_IP_CKSUM;
	} else if (unlikely((flags & MANA_TX_OL_OUTER_CSUM) != 0)) {
		flags = outer_flags(flags);
		l2_len = m->outer_l2_len;
		l3_len = m->outer_l3_len;
	}
	if (unlikely((flags & MANA_TX_OL_TUNNEL) != 0 ||
		     (flags & RTE_MBUF_F_TX_L4_MASK) ==
		     RTE_MBUF_F_TX_SCTP_CKSUM))
		return -ENOTSUP;
	csum = mana_tx_csum_of(MANA_TX_OL_HALF(flags));
	more = l3_len - csum->l3_min;
	if (unlikely(l2_len < RTE_ETHER_HDR_LEN || csum->l3_span == 0 ||
		     (int32_t)more < 0))
		return -EINVAL;
	if (unlikely(more >= csum->l3_span))
		return -ENOTSUP;
	req->hdrs = mana_tx_headers_of(csum, l2_len, l3_len,
				       req->mss_bytes != 0);
	req->hdr_bytes = l2_len + l3_len + csum->l4_bytes;
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
 * The length in the IP header of an ordinary frame that asked for segmentation:
 * it is right, unless the header was prepared for segmentation before, or by the
 * application.
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

/* Where the inner headers are. */
struct tx_inner {
	const struct mana_tx_csum *csum;
	uint32_t l3_off;
	uint32_t l4_off;
	uint32_t l4_bytes; /* header and payload; 0: no L4 checksum */
	uint32_t hdr_bytes; /* of the frame, up to the end of the L4 header */
	bool is_ipv4;
};

/* Whether the segments have as many bytes as pkt_len says. */
static bool
inner_has_all_bytes(const struct rte_mbuf *m)
{
	uint32_t left = m->nb_segs;
	uint32_t bytes = 0;
	const struct rte_mbuf *seg;

	for (seg = m; left > 0 && seg != NULL; left--, seg = seg->next)
		bytes += seg->data_len;
	return left == 0 && bytes == m->pkt_len;
}

/* Bytes behind an IP header, by its length field. */
static uint32_t
inner_l4_bytes(const uint8_t *l3, uint32_t l3_len, bool is_ipv4)
{
	uint16_t len;

	memcpy(&len, mana_tx_length_field(l3, is_ipv4), sizeof(len));
	return rte_be_to_cpu_16(len) - l3_len +
	       (is_ipv4 ? 0 : sizeof(struct rte_ipv6_hdr));
}

static int
inner_check(const struct rte_mbuf *m, struct tx_inner *inner)
{
	const struct mana_tx_csum *csum = mana_tx_csum_of(mana_tx_flags(m));
	uint8_t copy[sizeof(struct rte_ipv6_hdr)];
	const uint8_t *l3;

	if ((m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_SCTP_CKSUM)
		return -ENOTSUP;
	*inner = (struct tx_inner){
		.csum = csum,
		.l3_off = m->outer_l2_len + m->outer_l3_len + m->l2_len,
		.is_ipv4 = (m->ol_flags & RTE_MBUF_F_TX_IPV4) != 0,
	};
	inner->l4_off = inner->l3_off + m->l3_len;
	inner->hdr_bytes = inner->l4_off + csum->l4_bytes;
	if (csum->l3_span == 0 || m->l3_len < csum->l3_min ||
	    !inner_has_all_bytes(m) || inner->l4_off > m->pkt_len)
		return -EINVAL;
	if (csum->l4_bytes == 0)
		return 0;
	l3 = rte_pktmbuf_read(m, inner->l3_off, csum->l3_min, copy);
	inner->l4_bytes = inner_l4_bytes(l3, m->l3_len, inner->is_ipv4);
	return inner->l4_bytes >= csum->l4_bytes &&
			       inner->l4_bytes <= m->pkt_len - inner->l4_off ?
		       0 : -EINVAL;
}

/*
 * One's complement sum of bytes of the packet, which it has.
 * rte_raw_cksum_mbuf() of DPDK 22.11 loses carries of a segment that starts at
 * an odd place.
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

static void
inner_write_l4(struct rte_mbuf *m, const struct tx_inner *inner)
{
	const uint8_t *l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, inner->l3_off);
	uint8_t *field = rte_pktmbuf_mtod_offset(m, uint8_t *, inner->l4_off) +
			 inner->csum->l4_field;
	uint16_t sum;

	mana_tx_field_set(field, 0, true);
	/* With the pseudo header. */
	sum = ~mana_tx_fold(mana_tx_addr_sum(l3, inner->is_ipv4) +
			    inner_sum(m, inner->l4_off, inner->l4_bytes) +
			    inner->csum->proto +
			    rte_cpu_to_be_16((uint16_t)inner->l4_bytes));
	/* In UDP 0 means that there is none. */
	if (sum == 0 && (inner->csum->oob & 1u << MANA_TX_OOB_UDP_CSUM_S) != 0)
		sum = UINT16_MAX;
	mana_tx_field_set(field, sum, true);
}

static void
inner_write_ip(struct rte_mbuf *m, const struct tx_inner *inner)
{
	uint8_t *l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, inner->l3_off);
	uint8_t *field = l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum);

	mana_tx_field_set(field, 0, true);
	mana_tx_field_set(field, ~rte_raw_cksum(l3, m->l3_len), true);
}

int
mana_tx_inner_fix(struct rte_mbuf *m)
{
	struct tx_inner inner;
	int ret;

	ret = inner_check(m, &inner);
	if (ret != 0)
		return ret;
	if (m->data_len < inner.hdr_bytes || !mana_tx_hdr_is_private(m))
		return -ENOBUFS;
	if (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
		inner_write_ip(m, &inner);
	if (inner.l4_bytes != 0)
		inner_write_l4(m, &inner);
	m->ol_flags &= ~MANA_TX_OL_CSUM;
	return 0;
}

/* ---- tx_pkt_prepare ------------------------------------------------------- */

static int
prepare_one(const struct mana_txq *txq, struct rte_mbuf *m)
{
	struct mana_tx_request req;
	int ret;

	ret = mana_tx_request_check(m, m->pkt_len, txq->mtu, &req);
	if (ret == 0 && unlikely(mana_tx_asks_inner(m)))
		ret = mana_tx_inner_fix(m);
	/* The burst makes a copy. */
	if (ret == -ENOBUFS)
		return 0;
	if (ret != 0)
		return ret;
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
