/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_ip.h>

#include "fixture_tso.h"

struct fx_tx_wqe fx_tso_wqe;

void
fx_tso_set_length(const struct fx_tso *s, uint8_t *frame, uint16_t len)
{
	hw_put_be16(frame + s->l2_len + (s->ipv6 ? 4 : 2), len);
}

void
fx_tso_frame(const struct fx_tso *s, uint8_t *frame, uint32_t len)
{
	uint8_t *ip = frame + s->l2_len;
	uint32_t i;

	for (i = 0; i < len; i++)
		frame[i] = i * 29 + (i >> 8);
	if (s->ipv6) {
		ip[0] = 0x60;
		ip[6] = 6;
	} else {
		ip[0] = 0x40 | s->l3_len / 4;
		hw_put_be16(ip + 6, 0);
		ip[9] = 6;
		hw_put_be16(ip + 10, 0xbad1);
	}
	fx_tso_set_length(s, frame, len - s->l2_len - (s->ipv6 ? 40 : 0));
	ip[s->l3_len + 12] = s->l4_len / 4 << 4;
	hw_put_be16(ip + s->l3_len + 16, 0xbad2);
}

void
fx_tso_request(const struct fx_tso *s, struct rte_mbuf *m)
{
	/* TCP_SEG implies the checksums (rte_mbuf_core.h). */
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
	m->ol_flags |= s->ipv6 ? RTE_MBUF_F_TX_IPV6 :
				 RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = s->l2_len;
	m->l3_len = s->l3_len;
	m->l4_len = s->l4_len;
	m->tso_segsz = s->segsz;
}

struct rte_mbuf *
fx_tso_mbuf(struct fx_tx *fx, const struct fx_tso *s, uint32_t len)
{
	struct rte_mbuf *m = fx_mbuf(fx->mp, len, 0);

	fx_tso_frame(s, rte_pktmbuf_mtod(m, uint8_t *), len);
	fx_tso_request(s, m);
	return m;
}

/* The frame that the device must find: fx_tso_frame(), fields set. */
static void
expected_frame(const struct fx_tso *s, uint8_t *frame, uint32_t len, bool is_lso)
{
	uint64_t flags = is_lso ? RTE_MBUF_F_TX_TCP_SEG : 0;
	void *ip = frame + s->l2_len;
	uint16_t sum;

	fx_tso_frame(s, frame, len);
	if (is_lso)
		fx_tso_set_length(s, frame, 0);
	if (!s->ipv6)
		hw_put_be16(frame + s->l2_len + 10, 0);
	sum = s->ipv6 ? rte_ipv6_phdr_cksum(ip, flags) :
			rte_ipv4_phdr_cksum(ip, flags);
	memcpy(frame + s->l2_len + s->l3_len + 16, &sum, sizeof(sum));
}

void
fx_tso_expect(struct fx_tx *fx, const struct fx_tso *s, uint32_t len,
	      uint32_t nb_sge)
{
	static uint8_t want[65536];
	const struct fx_tx_wqe *wqe = &fx_tso_wqe;
	uint32_t hdr = fx_tso_header(s);
	bool is_lso = len - hdr > s->segsz;

	assert_true(fx_tx_fetch(fx, &fx_tso_wqe));
	assert_int_equal(wqe->header.oob_in_sgl, is_lso);
	assert_eq(wqe->header.last_vbytes, is_lso ? hdr : 0);
	assert_eq(wqe->header.client_data_unit, is_lso ? s->segsz : 0);
	assert_eq(wqe->nb_sge, nb_sge);
	if (is_lso)
		assert_eq(wqe->sge[0].size_bytes, hdr);
	assert_int_equal(wqe->oob.is_ipv4, !s->ipv6);
	assert_int_equal(wqe->oob.is_ipv6, s->ipv6);
	assert_int_equal(wqe->oob.ip_csum, !s->ipv6);
	assert_true(wqe->oob.tcp_csum);
	assert_false(wqe->oob.udp_csum);
	assert_eq(wqe->oob.trans_off, s->l2_len + s->l3_len);
	assert_eq(wqe->bytes, len);
	expected_frame(s, want, len, is_lso);
	for (uint32_t i = 0; i < len; i++)
		if (wqe->frame[i] != want[i])
			fail_msg("byte %u of %u: %02x, expected %02x", i, len,
				 wqe->frame[i], want[i]);
}
