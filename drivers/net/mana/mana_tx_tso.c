/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * TCP segmentation: one WQE and one completion for up to 64 KiB.
 *
 * SGE 0 is the headers, no more and no less, the others are payload (Linux
 * mana_en.c mana_start_xmit). The device takes lengths of 0 in the IP header
 * and a pseudo header without length. A WQE without payload, or with a header
 * beyond 255 bytes, would make it disable the queue (OpenVMM net_mana
 * handle_tx), so nothing of the kind is ever posted.
 */

#include "mana_tx_chain.h"
#include "mana_tx_request.h"

/* The largest that a length field of IP can tell, and some kernels allow. */
#define TSO_MAX_BYTES UINT16_MAX

static_assert(MANA_TX_LSO_HDR_MAX_BYTES <= MANA_TX_BOUNCE_BYTES,
	      "any header fits a bounce slot");

int
mana_tx_tso_check(const struct rte_mbuf *m, struct mana_tx_request *req)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint32_t hdr_bytes = mana_tx_tso_header(m);

	if ((l4 != RTE_MBUF_F_TX_L4_NO_CKSUM && l4 != RTE_MBUF_F_TX_TCP_CKSUM) ||
	    m->l4_len < sizeof(struct rte_tcp_hdr) || m->tso_segsz == 0 ||
	    hdr_bytes > req->bytes)
		return -EINVAL;
	if (hdr_bytes > MANA_TX_LSO_HDR_MAX_BYTES ||
	    m->tso_segsz > MANA_TX_LSO_MSS_MAX_BYTES ||
	    req->bytes > TSO_MAX_BYTES)
		return -ENOTSUP;
	/* Each segment needs both checksums, whatever else was asked for. */
	req->ask.ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM;
	if (m->ol_flags & RTE_MBUF_F_TX_IPV4)
		req->ask.ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
	/* Linux never posts LSO of one segment: an ordinary frame. */
	if (req->bytes - hdr_bytes > m->tso_segsz)
		req->mss_bytes = m->tso_segsz;
	return 0;
}

/*
 * The length in the IP header: 0 for segmentation. In an ordinary frame it is
 * right, unless the header was prepared for segmentation before, or by the
 * application.
 */
static bool
mana_tx_tso_fix_length(uint8_t *l3, const struct mana_tx_request *req,
		       bool may_write)
{
	uint32_t bytes = req->bytes - req->ask.l2_len;
	uint16_t now;

	if (req->ask.ol_flags & RTE_MBUF_F_TX_IPV4) {
		l3 += offsetof(struct rte_ipv4_hdr, total_length);
	} else {
		l3 += offsetof(struct rte_ipv6_hdr, payload_len);
		bytes -= sizeof(struct rte_ipv6_hdr);
	}
	if (req->mss_bytes != 0)
		return mana_tx_field_set(l3, 0, may_write);
	memcpy(&now, l3, sizeof(now));
	return now != 0 ||
	       mana_tx_field_set(l3, rte_cpu_to_be_16(bytes), may_write);
}

bool
mana_tx_tso_fix(uint8_t *frame, const struct mana_tx_request *req,
		bool may_write)
{
	uint8_t *l3 = frame + req->ask.l2_len;
	uint8_t *tcp = l3 + req->ask.l3_len;
	uint16_t sum;

	if (!mana_tx_tso_fix_length(l3, req, may_write))
		return false;
	if (req->mss_bytes == 0)
		return mana_tx_hdr_fix(frame, &req->ask, may_write);
	if ((req->ask.ol_flags & RTE_MBUF_F_TX_IPV4) &&
	    !mana_tx_field_set(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum),
			       0, may_write))
		return false;
	sum = mana_tx_addr_sum(l3, &req->ask, rte_cpu_to_be_16(IPPROTO_TCP));
	return mana_tx_field_set(tcp + offsetof(struct rte_tcp_hdr, cksum), sum,
				 may_write);
}

/* The OOB of what follows. */
#define USUAL_OOB \
	(1u << MANA_TX_OOB_IPV4_S | 1u << MANA_TX_OOB_IP_CSUM_S | \
	 1u << MANA_TX_OOB_TCP_CSUM_S | \
	 MANA_SHIFT_VAL64(MANA_TX_USUAL_L4, MANA_TX_OOB_TRANS_OFF_S))
/* Of flags: in USUAL_M these alone. Above TCP are SCTP and UDP, by one bit. */
#define USUAL_FLAGS MANA_TX_OL_HALF(RTE_MBUF_F_TX_IPV4)
#define USUAL_M \
	MANA_TX_OL_HALF(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | \
			MANA_TX_OL_TUNNEL | RTE_MBUF_F_TX_SCTP_CKSUM)
static_assert((RTE_MBUF_F_TX_UDP_CKSUM & RTE_MBUF_F_TX_SCTP_CKSUM) != 0 &&
	      (RTE_MBUF_F_TX_TCP_CKSUM & RTE_MBUF_F_TX_SCTP_CKSUM) == 0, "L4");

/*
 * TCP over IPv4, headers of the usual lengths, but for that of TCP, and more
 * than one segment: all of what mana_tx_request_check() and _fix() come to.
 */
static inline bool
tso_usual(struct rte_mbuf *m, uint32_t bytes, uint64_t header, uint64_t oob,
	  uint64_t *wqe)
{
	uint32_t l4_len = m->l4_len, mss_bytes = m->tso_segsz;
	uint32_t hdr_bytes = MANA_TX_USUAL_L4 + l4_len;
	uint32_t src, dst, sum;
	uint16_t field;
	uint8_t *l3;

	if (unlikely((mana_tx_flags(m) & USUAL_M) != USUAL_FLAGS ||
		     (m->tx_offload & MANA_TX_LENS_M) != MANA_TX_LENS_USUAL ||
		     l4_len < sizeof(struct rte_tcp_hdr) ||
		     hdr_bytes > MANA_TX_LSO_HDR_MAX_BYTES ||
		     m->data_len < hdr_bytes || bytes > TSO_MAX_BYTES ||
		     mss_bytes - 1 >= MANA_TX_LSO_MSS_MAX_BYTES ||
		     bytes - hdr_bytes <= mss_bytes))
		return false;
	l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, MANA_TX_USUAL_L3);
	memset(l3 + offsetof(struct rte_ipv4_hdr, total_length), 0,
	       sizeof(uint16_t));
	memset(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum), 0,
	       sizeof(uint16_t));
	memcpy(&src, l3 + offsetof(struct rte_ipv4_hdr, src_addr), sizeof(src));
	memcpy(&dst, l3 + offsetof(struct rte_ipv4_hdr, dst_addr), sizeof(dst));
	sum = mana_tx_sum_of(mana_tx_sum_of(src, dst), RTE_BE16(IPPROTO_TCP));
	field = mana_tx_fold(sum);
	memcpy(l3 + sizeof(struct rte_ipv4_hdr) +
	       offsetof(struct rte_tcp_hdr, cksum), &field, sizeof(field));
	mana_wqe_set(&wqe[0], header | mana_tx_lso_header(hdr_bytes, mss_bytes));
	mana_wqe_set(&wqe[1], oob | USUAL_OOB);
	return true;
}

static __rte_noinline bool
tso_any(struct rte_mbuf *m, uint32_t bytes, uint64_t header, uint64_t oob,
	uint64_t *wqe)
{
	struct mana_tx_request req;

	if (mana_tx_request_check(m, bytes, &req) != 0 ||
	    m->data_len < req.csum.hdr_bytes)
		return false;
	/* One frame after all: nothing of it leaves its segment. */
	if (req.mss_bytes == 0 && m->data_len > mana_tx_tso_header(m))
		return false;
	mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), &req, true);
	mana_wqe_set(&wqe[0], header | mana_tx_request_header(&req));
	mana_wqe_set(&wqe[1], oob | req.csum.oob);
	return true;
}

__rte_noinline bool
mana_tx_tso_head(struct rte_mbuf *m, uint32_t bytes, uint32_t nb_sge,
		 uint64_t oob, uint64_t *wqe)
{
	uint64_t header = GDMA_WQE_HEADER(nb_sge, GDMA_OOB_SHORT_DIV4);

	return tso_usual(m, bytes, header, oob, wqe) ||
	       tso_any(m, bytes, header, oob, wqe);
}

__rte_noinline uint32_t
mana_tx_tso_run(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	return mana_tx_chain_run(txq, pkts, nb,
				 MANA_TX_CHAIN_CSUM | MANA_TX_CHAIN_TSO);
}
