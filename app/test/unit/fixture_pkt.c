/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_ip.h>

#include "fixture_pkt.h"

struct fx_tx_wqe fx_wqe;

static uint8_t *
l4_csum(const struct fx_pkt *s, uint8_t *frame)
{
	return frame + s->l2_len + s->l3_len + (s->l4 == 6 ? 16 : 6);
}

static bool
is_lso(const struct fx_pkt *s, uint32_t len)
{
	return s->segsz != 0 && len - fx_pkt_header(s) > s->segsz;
}

void
fx_pkt_set_length(const struct fx_pkt *s, uint8_t *frame, uint16_t len)
{
	hw_put_be16(frame + s->l2_len + (s->ipv6 ? 4 : 2), len);
}

void
fx_pkt_frame(const struct fx_pkt *s, uint8_t *frame, uint32_t len)
{
	uint8_t *ip = frame + s->l2_len;
	uint32_t i;

	for (i = 0; i < len; i++)
		frame[i] = i * 29 + (i >> 8) + s->seed;
	if (s->ipv6) {
		ip[0] = 0x60;
		ip[6] = s->l4;
	} else {
		ip[0] = 0x40 | s->l3_len / 4;
		hw_put_be16(ip + 6, 0);
		ip[9] = s->l4;
		hw_put_be16(ip + 10, 0xbad1);
	}
	fx_pkt_set_length(s, frame, len - s->l2_len - (s->ipv6 ? 40 : 0));
	if (s->l4 == 6)
		ip[s->l3_len + 12] = s->l4_len / 4 << 4;
	if (s->l4 != 0)
		hw_put_be16(l4_csum(s, frame), 0xbad2);
}

void
fx_pkt_set_fields(const struct fx_pkt *s, uint8_t *frame, uint32_t len)
{
	uint64_t flags = is_lso(s, len) ? RTE_MBUF_F_TX_TCP_SEG : 0;
	void *ip = frame + s->l2_len;
	uint16_t sum;

	if (flags != 0)
		fx_pkt_set_length(s, frame, 0);
	if (s->ip_csum)
		hw_put_be16(frame + s->l2_len + 10, 0);
	if (s->l4 == 0)
		return;
	sum = s->ipv6 ? rte_ipv6_phdr_cksum(ip, flags) :
			rte_ipv4_phdr_cksum(ip, flags);
	memcpy(l4_csum(s, frame), &sum, sizeof(sum));
}

void
fx_pkt_request(const struct fx_pkt *s, struct rte_mbuf *m)
{
	m->ol_flags |= s->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
	if (s->ip_csum)
		m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
	/* TCP_SEG implies the checksums (rte_mbuf_core.h). */
	if (s->segsz != 0)
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
	else if (s->l4 != 0)
		m->ol_flags |= s->l4 == 6 ? RTE_MBUF_F_TX_TCP_CKSUM :
					    RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = s->l2_len;
	m->l3_len = s->l3_len;
	m->l4_len = s->l4_len;
	m->tso_segsz = s->segsz;
}

struct rte_mbuf *
fx_pkt_pieces(struct rte_mempool *mp, const struct fx_pkt *s, uint32_t len, uint32_t first,
	      uint32_t piece)
{
	static uint8_t frame[65536];
	struct rte_mbuf *m;

	fx_pkt_frame(s, frame, len);
	m = fx_pieces(mp, frame, len, first, piece);
	fx_pkt_request(s, m);
	return m;
}

struct rte_mbuf *
fx_pkt_mbuf(struct fx_tx *fx, const struct fx_pkt *s, uint32_t len)
{
	return fx_pkt_pieces(fx->mp, s, len, len, 0);
}

void
fx_pkt_expect(struct fx_tx *fx, const struct fx_pkt *s, uint32_t len, uint32_t nb_sge)
{
	static uint8_t want[65536];
	const struct fx_tx_wqe *wqe = &fx_wqe;
	uint32_t hdr = is_lso(s, len) ? fx_pkt_header(s) : 0;

	assert_true(fx_tx_fetch(fx, &fx_wqe));
	assert_int_equal(wqe->header.oob_in_sgl, hdr != 0);
	assert_eq(wqe->header.last_vbytes, hdr);
	assert_eq(wqe->header.client_data_unit, hdr != 0 ? s->segsz : 0);
	assert_eq(wqe->nb_sge, nb_sge);
	if (hdr != 0)
		assert_eq(wqe->sge[0].size_bytes, hdr);
	assert_int_equal(wqe->oob.ip_csum, s->ip_csum);
	assert_int_equal(wqe->oob.tcp_csum, s->l4 == 6);
	assert_int_equal(wqe->oob.udp_csum, s->l4 == 17);
	if (s->ip_csum || s->l4 != 0) {
		assert_int_equal(wqe->oob.is_ipv4, !s->ipv6);
		assert_int_equal(wqe->oob.is_ipv6, s->ipv6);
		/* As Linux: 0 without L4 checksum. */
		assert_eq(wqe->oob.trans_off, s->l4 != 0 ? s->l2_len + s->l3_len : 0);
	}
	assert_eq(wqe->bytes, len);
	fx_pkt_frame(s, want, len);
	fx_pkt_set_fields(s, want, len);
	for (uint32_t i = 0; i < len; i++)
		if (wqe->frame[i] != want[i])
			fail_msg("byte %u of %u: %02x, expected %02x", i, len,
				 wqe->frame[i], want[i]);
}
