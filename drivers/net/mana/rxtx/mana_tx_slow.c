/* SPDX-License-Identifier: BSD-3-Clause */

/* Offload requests, tx_pkt_prepare, and the slow lane of the Tx burst. */

#include <netinet/in.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "mana_tx.h"

/* ---- Any request ------------------------------------------------------------ */

/* The largest header of IPv4, and the largest headers of a packet without segmentation. */
#define IPV4_MAX_BYTES (RTE_IPV4_HDR_IHL_MASK * RTE_IPV4_IHL_MULTIPLIER)
#define HEADERS_MAX_BYTES \
	((1u << RTE_MBUF_L2_LEN_BITS) - 1 + IPV4_MAX_BYTES + sizeof(struct rte_tcp_hdr))

static_assert(HEADERS_MAX_BYTES <= MANA_TX_BOUNCE_BYTES &&
	      MANA_TX_LSO_HDR_MAX_BYTES <= MANA_TX_BOUNCE_BYTES,
	      "all headers fit a bounce slot");
static_assert(HEADERS_MAX_BYTES <= MANA_TX_OOB_TRANS_OFF_M, "trans_off");

/*
 * Translate a request of checksums: of the IP version, without extension headers, and of
 * TCP or UDP behind it. Without an L4 checksum trans_off is 0, as in Linux.
 * ASSUMED: l4-offset
 */
static int
csum_get(const struct rte_mbuf *m, uint64_t flags, struct mana_tx_request *req)
{
	const uint32_t l3_len = m->l3_len, l4_off = m->l2_len + l3_len;
	const uint64_t l4 = flags & RTE_MBUF_F_TX_L4_MASK;
	const uint64_t version = flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6);
	const bool is_ipv4 = version == RTE_MBUF_F_TX_IPV4;
	const bool is_tcp = l4 == RTE_MBUF_F_TX_TCP_CKSUM;
	const uint32_t l3_min = is_ipv4 ? sizeof(struct rte_ipv4_hdr) :
					  sizeof(struct rte_ipv6_hdr);
	struct mana_tx_headers *hdrs = &req->hdrs;

	if (l4 == RTE_MBUF_F_TX_SCTP_CKSUM)
		return -ENOTSUP;
	/* One IP version is given, and only IPv4's header has a checksum. */
	if (!is_ipv4 && (version | (flags & RTE_MBUF_F_TX_IP_CKSUM)) != RTE_MBUF_F_TX_IPV6)
		return -EINVAL;
	if (unlikely(m->l2_len < RTE_ETHER_HDR_LEN || l3_len < l3_min ||
		     (is_ipv4 && l3_len > IPV4_MAX_BYTES)))
		return -EINVAL;
	if (unlikely(!is_ipv4 && l3_len > l3_min))
		return -ENOTSUP;
	hdrs->l3_off = m->l2_len;
	hdrs->is_ipv4 = is_ipv4;
	hdrs->is_ip_csum = (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
	hdrs->oob = 1u << (is_ipv4 ? MANA_TX_OOB_IPV4_S : MANA_TX_OOB_IPV6_S) |
		    (uint32_t)hdrs->is_ip_csum << MANA_TX_OOB_IP_CSUM_S;
	req->hdr_bytes = l4_off;
	if (l4 == 0)
		return 0;
	hdrs->oob |= 1u << (is_tcp ? MANA_TX_OOB_TCP_CSUM_S : MANA_TX_OOB_UDP_CSUM_S) |
		     MANA_SHIFT_VAL64(l4_off, MANA_TX_OOB_TRANS_OFF_S);
	hdrs->sum = is_tcp ? RTE_BE16(IPPROTO_TCP) : RTE_BE16(IPPROTO_UDP);
	hdrs->sum_off = l4_off + (is_tcp ? offsetof(struct rte_tcp_hdr, cksum) :
					   offsetof(struct rte_udp_hdr, dgram_cksum));
	req->hdr_bytes += is_tcp ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
	/*
	 * IPv4's length includes its header. Neither is swapped: the difference of
	 * swapped numbers is the swapped difference.
	 */
	if (is_ipv4 && req->mss_bytes == 0)
		hdrs->sum += UINT16_MAX - rte_cpu_to_be_16((uint16_t)l3_len);
	return 0;
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

/*
 * Translate the requests of a packet of this many bytes, without writing to it. The device
 * supports no SCTP checksums, none of a tunnel's headers, no IPv6 extension headers (Linux
 * computes these in software; the device would return INVALID_OOB), and no checksum without
 * the IP version. Returns 0; -ENOTSUP when the device cannot do that; -EINVAL when lengths
 * or flags contradict each other.
 */
static int
request_check(const struct rte_mbuf *m, uint32_t bytes, uint32_t mtu, struct mana_tx_request *req)
{
	uint64_t flags = m->ol_flags;
	int ret;

	*req = (struct mana_tx_request){ .bytes = bytes };
	if (unlikely(bytes < MANA_TX_MIN_BYTES))
		return -EINVAL;
	if (unlikely((flags & MANA_TX_OL_REFUSED) != 0))
		return -ENOTSUP;
	if ((flags & (MANA_TX_OL_CSUM | RTE_MBUF_F_TX_TCP_SEG)) == 0)
		return 0;
	if (flags & RTE_MBUF_F_TX_TCP_SEG) {
		ret = tso_check(m, mtu, req);
		if (unlikely(ret != 0))
			return ret;
		/* Each segment needs both checksums, even if not requested. */
		flags |= RTE_MBUF_F_TX_TCP_CKSUM;
		if (flags & RTE_MBUF_F_TX_IPV4)
			flags |= RTE_MBUF_F_TX_IP_CKSUM;
	}
	if (unlikely((flags & MANA_TX_OL_TUNNEL) != 0))
		return -ENOTSUP;
	ret = csum_get(m, flags, req);
	if (unlikely(ret != 0))
		return ret;
	if (req->mss_bytes != 0) {
		req->hdrs.is_lso = true;
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

	if (request_check(m, bytes, txq->mtu, &req) != 0 || (req.is_tso && req.mss_bytes == 0))
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
mana_tx_request_find(struct mana_txq *txq, const struct rte_mbuf *m, uint32_t bytes)
{
	const uint32_t flags = mana_tx_flags(m);
	/* Traffic alternates between these: an entry for each combination. */
	const uint32_t is_ipv6 = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_IPV6)) != 0;
	const uint32_t is_tso = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)) != 0;
	/* The second bit of RTE_MBUF_F_TX_L4_MASK: UDP, or SCTP, which is refused. */
	const uint32_t is_udp = (flags & MANA_TX_OL_HALF(RTE_MBUF_F_TX_SCTP_CKSUM)) != 0;
	struct mana_tx_known *known = &txq->known[is_ipv6 | is_tso << 1 | is_udp << 2];

	txq->last_known = known;
	return likely(mana_tx_known_is(known, m)) ?
		       &known->req : request_learn(txq, m, bytes, known);
}

/*
 * mana_tx_headers_write() of a frame, whose first hdr_bytes are in one piece. An ordinary
 * frame that requested segmentation may have been prepared for it before, or by the
 * application: then the length in its IP header is 0.
 */
static void
headers_fix(uint8_t *frame, const struct mana_tx_request *req)
{
	const struct mana_tx_headers *hdrs = &req->hdrs;
	uint8_t *length = mana_tx_length_field(frame + hdrs->l3_off, hdrs->is_ipv4);
	uint32_t bytes = req->bytes - hdrs->l3_off -
			 (hdrs->is_ipv4 ? 0 : sizeof(struct rte_ipv6_hdr));

	if (req->is_tso && req->mss_bytes == 0 && length[0] == 0 && length[1] == 0)
		mana_tx_field_set(length, rte_cpu_to_be_16(bytes));
	mana_tx_headers_write(frame, hdrs);
}

/* ---- tx_pkt_prepare ------------------------------------------------------- */

uint16_t
mana_tx_pkt_prepare(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	const struct mana_txq *txq = queue;
	struct mana_tx_request req;
	uint16_t i;
	int ret;

	for (i = 0; i < nb_pkts; i++) {
		struct rte_mbuf *m = pkts[i];

		ret = request_check(m, m->pkt_len, txq->mtu, &req);
		if (ret != 0) {
			rte_errno = -ret;
			break;
		}
		if (req.hdr_bytes != 0 && m->data_len >= req.hdr_bytes &&
		    mana_tx_hdr_is_private(m))
			headers_fix(rte_pktmbuf_mtod(m, uint8_t *), &req);
	}
	return i;
}

/*
 * ---- The slow lane -----------------------------------------------------------
 *
 * One packet of any kind at a time: what the fast lane leaves, the end of the ring, and
 * packets that cannot be sent at all.
 *
 * The order is: check the packet, decide, check the space, find the keys; only
 * then write, and advance the indices last. So a packet that fails leaves nothing
 * in the ring, and is itself unchanged.
 */

/*
 * Bytes of a packet's segments; 0 if it has fewer segments than nb_segs. Drivers
 * cannot rely on pkt_len, which the application sets.
 */
static uint32_t
frame_bytes(const struct rte_mbuf *m)
{
	uint32_t left = m->nb_segs, bytes = 0;

	for (; left > 0 && m != NULL; left--, m = m->next)
		bytes += m->data_len;
	return left == 0 ? bytes : 0;
}

/* How to send a packet. */
struct plan {
	struct mana_tx_request req;
	bool is_bounced; /* the header is sent from the bounce slot */
	bool is_long;
	uint32_t nb_sge;
	struct {
		const struct rte_mbuf *m; /* NULL: the bounce slot */
		uintptr_t addr;
		uint32_t bytes;
		uint32_t lkey;
	} sge[GDMA_SQ_WQE_MAX_SGE];
};

static uint8_t *
bounce_slot(const struct mana_txq *txq)
{
	return txq->bounce + (size_t)(txq->pi & txq->mask) * MANA_TX_BOUNCE_BYTES;
}

static void
plan_sge(struct plan *plan, const struct rte_mbuf *m, uintptr_t addr, uint32_t bytes)
{
	plan->sge[plan->nb_sge].m = m;
	plan->sge[plan->nb_sge].addr = addr;
	plan->sge[plan->nb_sge].bytes = bytes;
	plan->nb_sge++;
}

/*
 * Decide how to send a packet as it is. The header is sent in place, if it may be written, or
 * from the bounce slot of this descriptor. There it has an SGE of its own, and always for
 * segmentation: SGE 0 is then exactly the headers (Linux mana_en.c mana_start_xmit). -E2BIG:
 * the packet has more segments than a WQE may have, so it needs a copy.
 */
static int
plan_make(const struct mana_txq *txq, struct rte_mbuf *m, struct plan *plan)
{
	uint32_t left = m->nb_segs, bytes, skip;
	int ret = request_check(m, frame_bytes(m), txq->mtu, &plan->req);

	if (ret != 0)
		return ret;
	plan->is_long = txq->is_long || (m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0;
	plan->nb_sge = 0;
	bytes = plan->req.hdr_bytes;
	plan->is_bounced = bytes != 0 && (m->data_len < bytes || !mana_tx_hdr_is_private(m));
	skip = plan->is_bounced || plan->req.mss_bytes != 0 ? bytes : 0;
	if (plan->is_bounced)
		plan_sge(plan, NULL, (uintptr_t)bounce_slot(txq), skip);
	else if (skip != 0)
		plan_sge(plan, m, rte_pktmbuf_mtod(m, uintptr_t), skip);
	/* Empty segments need no SGE. */
	for (; left > 0; left--, m = m->next) {
		if (m->data_len <= skip) {
			skip -= m->data_len;
			continue;
		}
		if (plan->nb_sge == txq->max_sge)
			return -E2BIG;
		plan_sge(plan, m, rte_pktmbuf_mtod(m, uintptr_t) + skip, m->data_len - skip);
		skip = 0;
	}
	return 0;
}

/* -EAGAIN: the next burst tries it again. */
static int
plan_find_keys(struct mana_txq *txq, struct plan *plan)
{
	int ret = 0;

	for (uint32_t i = 0; i < plan->nb_sge && ret == 0; i++)
		ret = mana_mr_lkey(&txq->mr, plan->sge[i].m, plan->sge[i].addr,
				   plan->sge[i].bytes, &plan->sge[i].lkey);
	return ret == 0 || ret == -EAGAIN ? ret : -EFAULT;
}

/* Write the header's fields, in place or in the slot. */
static void
write_header(struct mana_txq *txq, struct rte_mbuf *m, const struct plan *plan)
{
	uint32_t bytes = plan->req.hdr_bytes, at, len;
	uint8_t *slot;

	if (!plan->is_bounced) {
		if (bytes != 0)
			headers_fix(rte_pktmbuf_mtod(m, uint8_t *), &plan->req);
		return;
	}
	slot = bounce_slot(txq);
	/* The lengths are those of the segments: pkt_len may be wrong. */
	for (at = 0; at < bytes; m = m->next, at += len) {
		len = RTE_MIN((uint32_t)m->data_len, bytes - at);
		memcpy(slot + at, rte_pktmbuf_mtod(m, void *), len);
	}
	headers_fix(slot, &plan->req);
	txq->stats.bounced++;
}

/* Write the WQE. The SGL may wrap at the end of the ring, but only between BUs. */
static void
write_wqe(const struct mana_txq *txq, const struct rte_mbuf *m, const struct plan *plan)
{
	uint64_t oob = plan->is_long ? mana_tx_long_oob(txq) :
				       txq->oob | txq->no_cqe;
	uint32_t idx = txq->sq.pi;
	uint64_t *wqe = mana_wq_bu(&txq->sq, idx);
	uint32_t at = 2;

	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(plan->nb_sge,
		plan->is_long ? GDMA_OOB_LONG_DIV4 : GDMA_OOB_SHORT_DIV4) |
		plan->req.wqe_header);
	if (plan->is_long) {
		wqe[2] = rte_cpu_to_le_64(mana_tx_loob(txq, m));
		wqe[3] = 0;
		at = 4;
	}
	wqe[1] = rte_cpu_to_le_64(oob | plan->req.hdrs.oob);
	for (uint32_t i = 0; i < plan->nb_sge; i++) {
		if (at == GDMA_BU_WORDS) {
			wqe = mana_wq_bu(&txq->sq, ++idx);
			at = 0;
		}
		wqe[at] = rte_cpu_to_le_64(plan->sge[i].addr);
		wqe[at + 1] = rte_cpu_to_le_64(
			GDMA_SGE_WORD(plan->sge[i].lkey, plan->sge[i].bytes));
		at += 2;
	}
	/* The device does not read the rest of the last BU; it is 0 all the same. */
	if (at != GDMA_BU_WORDS)
		wqe[2] = wqe[3] = 0;
}

/* Whether all segments are direct, of one reference and of one pool. */
static bool
is_of_pool(const struct rte_mbuf *m)
{
	const struct rte_mempool *mp = m->pool;

	for (uint32_t left = m->nb_segs; left > 0; left--, m = m->next)
		if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m) ||
		    m->pool != mp || (left == 1) != (m->next == NULL))
			return false;
	return true;
}

/*
 * Post a packet whose WQE is written. As in the fast lane, a chain is split if all of it can
 * return to its pool unread, and has space; else it is freed by its head.
 */
static void
post(struct mana_txq *txq, struct rte_mbuf *m, uint32_t nb_bu)
{
	/* Reserve one entry for each WQE that may still be posted. */
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t space = txq->mbuf_mask + 1 - (txq->mbuf_pi - txq->mbuf_ci) - left;
	struct rte_mempool *mp = NULL;
	uint32_t nb = 1;

	/*
	 * Empty segments are not bounded by the WQE. A WQE of one BU has one
	 * entry: place_next() in mana_txq.c relies on it.
	 */
	if (m->nb_segs <= RTE_MIN(space + 1, GDMA_SQ_WQE_MAX_SGE) &&
	    (nb_bu > 1 || m->nb_segs == 1) && is_of_pool(m)) {
		mp = m->pool;
		nb = m->nb_segs;
	}
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *next = m->next;

		txq->mbufs[(txq->mbuf_pi + i) & txq->mbuf_mask] = m;
		txq->pools[(txq->mbuf_pi + i) & txq->mbuf_mask] = NULL;
		if (mp != NULL) {
			m->next = NULL;
			m->nb_segs = 1;
		}
		m = next;
	}
	txq->info[txq->pi & txq->mask] = MANA_TX_INFO(nb_bu, nb);
	mana_tx_post(txq, 1, nb_bu, nb_bu, nb, mp);
}

/* Post a packet as it is, with the header bounced where needed. */
static int
put_as_is(struct mana_txq *txq, struct rte_mbuf *m)
{
	struct plan plan;
	int ret = plan_make(txq, m, &plan);
	uint32_t nb_bu;

	if (ret != 0)
		return ret;
	nb_bu = mana_wqe_bu(plan.is_long ? GDMA_WQE_SGL_LONG_BYTES :
					   GDMA_WQE_SGL_SHORT_BYTES, plan.nb_sge);
	if (nb_bu > mana_wq_free_bu(&txq->sq))
		return -EAGAIN;
	ret = plan_find_keys(txq, &plan);
	if (ret != 0)
		return ret;
	write_header(txq, m, &plan);
	write_wqe(txq, m, &plan);
	post(txq, m, nb_bu);
	return plan.req.bytes;
}

/* Post a copy in the driver's own mbufs, and free the original. */
static int
put_copy(struct mana_txq *txq, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;
	int ret;

	/* A copy needs at most the largest WQE: do not copy in vain. */
	if (mana_wq_free_bu(&txq->sq) < GDMA_SQ_WQE_MAX_BU)
		return -EAGAIN;
	/* rte_pktmbuf_copy() relies on pkt_len. */
	if (frame_bytes(m) != m->pkt_len)
		return -EINVAL;
	copy = rte_pktmbuf_copy(m, txq->bounce_mp, 0, UINT32_MAX);
	if (copy == NULL)
		/* An mbuf will return if a posted copy has yet to complete. */
		return txq->copy_end - 1 - txq->ci < mana_txq_nb_posted(txq) ? -EAGAIN : -ENOMEM;
	ret = put_as_is(txq, copy);
	if (ret <= 0) {
		rte_pktmbuf_free(copy);
		return ret == -E2BIG ? -ENOMEM : ret;
	}
	txq->copy_end = txq->pi;
	txq->stats.linearized++;
	rte_pktmbuf_free(m);
	return ret;
}

int
mana_tx_slow(struct mana_txq *txq, struct rte_mbuf *m)
{
	int ret = put_as_is(txq, m);

	if (ret == -E2BIG)
		ret = put_copy(txq, m);
	if (ret > 0 || ret == -EAGAIN)
		return ret;
	if (ret == -ENOTSUP)
		txq->stats.drop_offload++;
	else if (ret == -EFAULT)
		txq->stats.drop_mr++;
	else if (ret == -ENOMEM)
		txq->stats.drop_nomem++;
	else
		txq->stats.drop_malformed++;
	rte_pktmbuf_free(m);
	return 0;
}
