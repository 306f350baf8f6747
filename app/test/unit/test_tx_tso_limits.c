/* SPDX-License-Identifier: BSD-3-Clause */

/* Limits of TSO and of checksum requests, and packets that are not segmented. */

#include <rte_errno.h>
#include <rte_ip.h>

#include "fixture_pkt.h"

static const struct fx_pkt v4 = FX_TSO4(14, 20, 20, 100);
static const struct fx_pkt v6 = FX_TSO6(14, 40, 32, 100);

/* From how many segments on the packet is copied. */
FX_TX_TEST(segments)
{
	for (uint32_t nb = 28; nb <= 40; nb++) {
		/* header and payload share a segment: one SGE more */
		for (uint32_t more = 0; more < 2; more++) {
			uint32_t first = 54 + more * 9;
			uint32_t len = first + (nb - 1) * 33;
			uint64_t copies = fx->txq->stats.linearized;
			bool copied = nb + more > 30;
			struct rte_mbuf *m = fx_pkt_pieces(fx->mp, &v4, len, first, 33);

			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			fx_pkt_expect(fx, &v4, len, copied ? 2 : nb + more);
			assert_eq(fx->txq->stats.linearized - copies, copied);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
		}
	}
	assert_eq(fx->txq->stats.bounced, 0);
}

struct border {
	struct fx_pkt shape;
	uint32_t len;
	int error; /* 0: sent */
	uint64_t more_flags; /* without l4: all flags */
	uint64_t no_flags;
};

#define V4 FX_TSO4
#define V6 FX_TSO6
#define RAW(l2, l3) { .l2_len = l2, .l3_len = l3 }
#define IPV4 RTE_MBUF_F_TX_IPV4
#define IPV6 RTE_MBUF_F_TX_IPV6
#define IP RTE_MBUF_F_TX_IP_CKSUM
#define TCP RTE_MBUF_F_TX_TCP_CKSUM
#define UDP RTE_MBUF_F_TX_UDP_CKSUM
#define TUNNEL RTE_MBUF_F_TX_TUNNEL_VXLAN
static const struct border borders[] = {
	/* header length 54 to 255 */
	{ V4(14, 20, 20, 1), 54 + 2 },
	{ V4(14, 20, 221, 100), 1000 },
	{ V4(14, 20, 222, 100), 1000, ENOTSUP },
	{ V4(127, 60, 68, 100), 1000 },
	{ V4(127, 60, 69, 100), 1000, ENOTSUP },
	{ V6(127, 40, 88, 100), 1000 },
	{ V6(127, 40, 89, 100), 1000, ENOTSUP },
	{ V4(14, 20, 19, 100), 1000, EINVAL },
	{ V4(14, 20, 0, 100), 1000, EINVAL },
	{ V4(13, 20, 20, 100), 1000, EINVAL },
	{ V4(0, 0, 20, 100), 1000, EINVAL },
	{ V4(14, 16, 20, 100), 1000, EINVAL },
	{ V4(14, 64, 20, 100), 1000, EINVAL },
	{ V6(14, 20, 20, 100), 1000, EINVAL },
	/* an extension header */
	{ V6(14, 48, 20, 100), 1000, ENOTSUP },
	/* size of segments */
	{ V4(14, 20, 20, 1), 65535 },
	{ V4(14, 20, 20, 16383), 65535 },
	{ V4(14, 20, 20, 16383), 54 + 16384 },
	{ V4(14, 20, 20, 16383), 54 + 16383 },
	{ V4(14, 20, 20, 16384), 65535, ENOTSUP },
	{ V4(14, 20, 20, 16384), 100, ENOTSUP },
	{ V4(14, 20, 20, 65535), 65535, ENOTSUP },
	{ V4(14, 20, 20, 0), 1000, EINVAL },
	{ V4(14, 20, 20, 0), 54, EINVAL },
	/* packet length */
	{ V6(14, 40, 20, 1000), 65535 },
	{ V6(14, 40, 20, 1000), 65536, ENOTSUP },
	{ V4(14, 20, 20, 100), 65536, ENOTSUP },
	{ V4(14, 20, 20, 100), 53, EINVAL },
	{ V4(14, 20, 20, 100), 14, EINVAL },
	{ V6(14, 40, 32, 100), 85, EINVAL },
	/* flags */
	{ V4(14, 20, 20, 100), 1000, ENOTSUP, TUNNEL },
	{ V4(14, 20, 20, 100), 100, ENOTSUP, TUNNEL },
	{ V4(14, 20, 20, 100), 1000, ENOTSUP, RTE_MBUF_F_TX_OUTER_IPV4 },
	{ V4(14, 20, 20, 100), 1000, ENOTSUP,
	  RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM },
	{ V4(14, 20, 20, 100), 1000, ENOTSUP, RTE_MBUF_F_TX_UDP_SEG },
	{ V4(14, 20, 20, 100), 1000, EINVAL, RTE_MBUF_F_TX_UDP_CKSUM },
	{ V4(14, 20, 20, 100), 1000, EINVAL, RTE_MBUF_F_TX_SCTP_CKSUM },
	{ V4(14, 20, 20, 100), 1000, EINVAL, RTE_MBUF_F_TX_IPV6 },
	{ V6(14, 40, 20, 100), 1000, EINVAL, RTE_MBUF_F_TX_IP_CKSUM },
	{ V6(14, 40, 20, 100), 1000, EINVAL, 0, RTE_MBUF_F_TX_IPV6 },
	{ V4(14, 20, 20, 100), 1000, 0, RTE_MBUF_F_TX_TCP_CKSUM },
	/* each segment has the checksum, which was not requested */
	{ V4(14, 20, 20, 100), 1000, 0, 0, RTE_MBUF_F_TX_IP_CKSUM },
	/* without TSO */
	{ RAW(14, 40), 100, EINVAL, TCP }, /* no IP version */
	{ RAW(14, 40), 100, EINVAL, UDP },
	{ RAW(14, 40), 100, EINVAL, IP },
	{ RAW(14, 40), 100, EINVAL, IP | IPV6 },
	{ RAW(14, 40), 100, EINVAL, TCP | IPV4 | IPV6 },
	{ RAW(13, 20), 100, EINVAL, TCP | IPV4 },
	{ RAW(0, 0), 100, EINVAL, TCP | IPV4 },
	{ RAW(14, 16), 100, EINVAL, TCP | IPV4 },
	{ RAW(14, 64), 150, EINVAL, TCP | IPV4 }, /* beyond the length field of IPv4 */
	{ RAW(14, 508), 1000, EINVAL, IP | IPV4 },
	{ RAW(14, 20), 100, EINVAL, TCP | IPV6 },
	{ RAW(14, 48), 150, ENOTSUP, TCP | IPV6 }, /* extension header */
	{ RAW(14, 80), 150, ENOTSUP, UDP | IPV6 },
	{ RAW(14, 20), 53, EINVAL, TCP | IPV4 }, /* below its header length */
	{ RAW(14, 20), 41, EINVAL, UDP | IPV4 },
	{ RAW(14, 20), 33, EINVAL, IP | IPV4 },
	{ RAW(14, 40), 73, EINVAL, TCP | IPV6 },
	{ RAW(14, 20), 100, ENOTSUP, RTE_MBUF_F_TX_SCTP_CKSUM | IPV4 },
	{ RAW(14, 20), 100, ENOTSUP, TCP | IPV4 | RTE_MBUF_F_TX_TUNNEL_GRE },
	{ RAW(0, 0), 13, EINVAL, 0 },
	{ RAW(0, 0), 0, EINVAL, 0 },
};

static struct rte_mbuf *
border_mbuf(const struct border *b, struct rte_mempool *mp)
{
	static uint8_t frame[65536 + 256];
	struct rte_mbuf *head;

	fx_pkt_frame(&b->shape, frame, RTE_MAX(b->len, 256u));
	if (b->len >= fx_pkt_header(&b->shape) && b->len <= UINT16_MAX)
		fx_pkt_frame(&b->shape, frame, b->len);
	head = fx_pieces(mp, frame, b->len, RTE_MIN(b->len, 8000u), 8000);
	fx_pkt_request(&b->shape, head);
	head->ol_flags &= ~RTE_MBUF_F_TX_L4_MASK;
	head->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | b->more_flags;
	if (b->shape.l4 == 0)
		head->ol_flags = b->more_flags;
	head->ol_flags &= ~b->no_flags;
	return head;
}

/*
 * prepare rejects and a burst drops; the others are sent, alone and after another packet. A
 * rejected packet is never posted, even without prepare. has_groups: as a batch of chains,
 * if possible.
 */
FX_TX_TEST_EACH(every_border, has_groups, 0, 2)
{
	struct rte_mempool *big = fx_pool("big", 32, 8192);
	uint32_t notsup = 0, inval = 0;

	if (has_groups)
		fx_tx_pass_offset_check(fx);
	fx_mr_add_pool(big, 0x6001);
	for (uint32_t i = 0; i < RTE_DIM(borders) * 4; i++) {
		const struct border *b = &borders[i / 4];
		struct rte_mbuf *m = border_mbuf(b, big), *pkts[] = { m, m };
		uint32_t nb = i & 2 ? 2 : 1, nb_sge = m->nb_segs;

		if (nb == 2)
			pkts[0] = fx_mbuf(fx->mp, 60, 1);
		if (b->error == 0)
			nb_sge += b->len - fx_pkt_header(&b->shape) >
				  b->shape.segsz;
		rte_errno = 0;
		if (i & 1) {
			assert_eq(mana_tx_pkt_prepare(fx->txq, pkts, nb), nb - (b->error != 0));
			assert_int_equal(rte_errno, b->error);
		}
		assert_eq(fx->burst(fx->txq, pkts, nb), nb);
		if (nb == 2) {
			assert_true(fx_tx_fetch(fx, &fx_wqe));
			assert_eq(fx_wqe.bytes, 60);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		if (b->error == 0) {
			fx_pkt_expect(fx, &b->shape, b->len, nb_sge);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		assert_false(fx_tx_fetch(fx, &fx_wqe));
		notsup += b->error == ENOTSUP;
		inval += b->error == EINVAL;
		assert_eq(fx->txq->stats.drop_offload, notsup);
		assert_eq(fx->txq->stats.drop_malformed, inval);
		mana_txq_done_cleanup(fx->txq, 0);
	}
	assert_eq(fx_pool_missing(big, 32), 0);
	fx_pool_free(big);
}

/* Sends one packet; nb_sge 0: it is dropped. */
static void
try_one(struct fx_tx *fx, const struct fx_pkt *s, uint32_t len, bool prepare,
	uint32_t nb_sge)
{
	struct rte_mbuf *m = fx_pkt_mbuf(fx, s, len);
	uint64_t nb_dropped = fx->txq->stats.drop_offload;

	rte_errno = 0;
	if (prepare) {
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), nb_sge != 0);
		assert_int_equal(rte_errno, nb_sge != 0 ? 0 : ENOTSUP);
	}
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	if (nb_sge != 0) {
		fx_pkt_expect(fx, s, len, nb_sge);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_false(fx_tx_fetch(fx, &fx_wqe));
	assert_eq(fx->txq->stats.drop_offload, nb_dropped + (nb_sge == 0));
	mana_txq_done_cleanup(fx->txq, 0);
}

/* A segment of the largest size fits the adapter's MTU, or does not. */
TEST(segments_and_the_mtu)
{
	const uint32_t mtu = 1300;

	for (uint32_t i = 0; i < 64; i++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.mtu = mtu });
		struct fx_pkt s = {
			.ipv6 = (i & 1) != 0,
			.l4 = 6,
			.ip_csum = (i & 1) == 0,
			.l2_len = i & 2 ? 18 : 14,
			.l3_len = i & 1 ? 40 : 20,
			.l4_len = i & 4 ? 32 : 20,
		};
		bool is_over = (i & 8) != 0, prepare = (i & 16) != 0;
		uint32_t hdr = fx_pkt_header(&s);

		if (i & 32)
			fx_tx_pass_offset_check(fx);
		s.segsz = mtu - s.l3_len - s.l4_len + is_over;
		try_one(fx, &s, hdr + s.segsz + 300, prepare, is_over ? 0 : 2);
		/* Unsegmented frames, one of the same size and a small one. */
		try_one(fx, &s, hdr + s.segsz, prepare, is_over ? 0 : 1);
		s.segsz = 9000;
		try_one(fx, &s, hdr + 100, prepare, 1);
		fx_tx_delete(fx);
	}
}

/* A request that fitted before does not fit after a restart with a smaller MTU. */
TEST(restart_checks_requests_again)
{
	const uint32_t mtu = 1000, nb_bytes = 1500;

	for (uint32_t i = 0; i < 2; i++) {
		struct fx_pkt s = i == 0 ? v4 : v6;
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){ .mtu = mtu });

		s.segsz = mtu - s.l3_len - s.l4_len;
		fx_tx_pass_offset_check(fx);
		try_one(fx, &s, nb_bytes, false, 2);
		mana_txq_close(fx->txq);
		fx->txq->mtu = mtu - 1;
		fx_tx_restart(fx);
		try_one(fx, &s, nb_bytes, false, 0);
		fx_tx_delete(fx);
	}
}

/*
 * A payload of one segment is sent unsegmented, with real lengths. has_groups:
 * as a batch of chains.
 */
FX_TX_TEST_EACH(one_segment_is_sent_without_tso, has_groups, 0, 2)
{
	static const uint32_t payloads[] = { 0, 1, 99, 100, 101 };

	if (has_groups)
		fx_tx_pass_offset_check(fx);
	for (uint32_t i = 0; i < RTE_DIM(payloads) * 8; i++) {
		const struct fx_pkt *s = i & 1 ? &v4 : &v6;
		uint32_t hdr = fx_pkt_header(s);
		uint32_t len = hdr + payloads[i / 8];
		struct rte_mbuf *m = fx_pkt_mbuf(fx, s, len);

		/* the application may have set 0 for TSO */
		if (i & 2)
			fx_pkt_set_length(s, rte_pktmbuf_mtod(m, uint8_t *), 0);
		if (i & 4)
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, s, len, payloads[i / 8] > 100 ? 2 : 1);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
}

/* Padding of a short frame is no payload: the length is kept. */
FX_TX_TEST(padding_is_not_counted_as_payload)
{
	struct rte_mbuf *m = fx_pkt_mbuf(fx, &v4, 60);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	fx_pkt_set_length(&v4, frame, 40);
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	assert_true(fx_tx_fetch(fx, &fx_wqe));
	assert_eq(fx_wqe.bytes, 60);
	assert_false(fx_wqe.header.oob_in_sgl);
	assert_eq(hw_be16(fx_wqe.frame + 16), 40);
	assert_int_equal(rte_cpu_to_be_16(hw_be16(fx_wqe.frame + 50)),
			 rte_ipv4_phdr_cksum((void *)(fx_wqe.frame + 14), 0));
}

/* A full ring: the caller keeps the packet unchanged. */
FX_TX_TEST(no_room_leaves_packet_unchanged, .nb_desc = 128, .nb_cqe = 256, .sq_bytes = 4096)
{
	struct rte_mbuf *pkts[128], *m = fx_pkt_mbuf(fx, &v4, 400);
	uint8_t frame[400];

	for (uint32_t i = 0; i < 127; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(fx->burst(fx->txq, pkts, 127), 127);
	assert_eq(fx->burst(fx->txq, &m, 1), 0);
	fx_pkt_frame(&v4, frame, sizeof(frame));
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), frame, sizeof(frame));
	assert_eq(fx_tx_complete_all(fx), 127);
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	fx_pkt_expect(fx, &v4, 400, 2);
}

/* Not in a memory region: freed and counted. */
FX_TX_TEST(no_region)
{
	struct rte_mbuf *m = fx_pkt_mbuf(fx, &v4, 400);

	fx_mr_clear();
	fx_mr_deny = true;
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	fx_mr_deny = false;
	assert_false(fx_tx_fetch(fx, &fx_wqe));
	assert_eq(fx->txq->stats.drop_mr, 1);
}

/* 40 segments of 1400 bytes: the copy takes 28 of 64 mbufs. */
static struct rte_mbuf *
large_chain(struct fx_tx *fx)
{
	return fx_pkt_pieces(fx->mp, &v4, 40 * 1400, 1400, 1400);
}

/*
 * The caller keeps a packet while mbufs of earlier copies will come back. If
 * none is outstanding, the packet is dropped.
 */
FX_TX_TEST(copies_wait_for_free_slots)
{
	struct rte_mbuf *pkts[7], *held[64];
	uint32_t at = 0;

	for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = large_chain(fx);
	while (at < RTE_DIM(pkts)) {
		uint16_t nb = fx->burst(fx->txq, pkts + at, RTE_DIM(pkts) - at);

		assert_eq(nb, RTE_MIN(RTE_DIM(pkts) - at, 2u));
		assert_eq(fx->burst(fx->txq, pkts + at + nb,
				    RTE_DIM(pkts) - at - nb), 0);
		for (uint32_t i = 0; i < nb; i++) {
			fx_pkt_expect(fx, &v4, 40 * 1400, 29);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		at += nb;
	}
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(fx->txq->stats.linearized, RTE_DIM(pkts));

	for (uint32_t i = 0; i < 64; i++)
		held[i] = rte_pktmbuf_alloc(fx->bounce_mp);
	/* an outstanding packet without copy returns no such mbuf */
	pkts[0] = fx_mbuf(fx->mp, 60, 0);
	pkts[1] = large_chain(fx);
	assert_eq(fx->burst(fx->txq, pkts, 2), 2);
	assert_eq(fx->txq->stats.drop_nomem, 1);
	for (uint32_t i = 0; i < 64; i++)
		rte_pktmbuf_free(held[i]);
}

/* Wrong segment counts: the driver writes only to the free BU. */
TEST(wrong_nb_segs_reads_no_other_segment)
{
	static const uint16_t counts[] = { 0, 1, 3, UINT16_MAX };
	uint8_t before[4096];

	for (uint32_t i = 0; i < RTE_DIM(counts); i++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.nb_desc = 128, .nb_cqe = 256,
			.sq_bytes = sizeof(before) });
		struct rte_mbuf *m;
		uint32_t free_bu;

		fx_tx_pass_offset_check(fx);
		while (mana_txq_nb_posted(fx->txq) < 127) {
			m = fx_mbuf(fx->mp, 60, 0);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
		}
		m = fx_pkt_mbuf(fx, &v4, 554);
		assert_eq(rte_pktmbuf_chain(m, fx_mbuf(fx->mp, 100, 0)), 0);
		m->nb_segs = counts[i];
		memcpy(before, fx->sq_ring, sizeof(before));
		/* Dropped, or kept by the caller. */
		if (fx->burst(fx->txq, &m, 1) == 0)
			rte_pktmbuf_free(m);
		free_bu = fx->txq->sq.pi & fx->txq->sq.mask_bu;
		memcpy(before + free_bu * GDMA_BU_BYTES,
		       fx->sq_ring + free_bu * GDMA_BU_BYTES, GDMA_BU_BYTES);
		assert_memory_equal(fx->sq_ring, before, sizeof(before));
		assert_eq(mana_txq_nb_posted(fx->txq), 127);
		fx_tx_delete(fx);
	}
}
