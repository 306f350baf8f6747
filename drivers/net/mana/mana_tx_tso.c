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

#include "mana_tx_request.h"

/* The largest that a length field of IP can tell, and some kernels allow. */
#define TSO_MAX_BYTES UINT16_MAX

static_assert(MANA_TX_LSO_HDR_MAX_BYTES <= MANA_TX_BOUNCE_BYTES,
	      "any header fits a bounce slot");

int
mana_tx_tso_check(const struct rte_mbuf *m, struct mana_tx_request *req)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint32_t hdr_bytes = m->l2_len + m->l3_len + m->l4_len;

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
