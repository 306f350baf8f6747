/* SPDX-License-Identifier: BSD-3-Clause */

/* Tunnel packets: outer and inner checksums. */

#include <rte_errno.h>
#include <rte_ip.h>

#include "fixture.h"

#define TUNNEL RTE_MBUF_F_TX_TUNNEL_VXLAN

static struct fx_tx_wqe wqe;

struct outer {
	uint64_t ol_flags;
	uint16_t l2_len, l3_len;
	int error;
};

#define O4 RTE_MBUF_F_TX_OUTER_IPV4
#define O6 RTE_MBUF_F_TX_OUTER_IPV6
#define OIP RTE_MBUF_F_TX_OUTER_IP_CKSUM
#define OUDP RTE_MBUF_F_TX_OUTER_UDP_CKSUM

static const struct outer outers[] = {
	{ TUNNEL | O4 | OIP, 14, 20, 0 },
	{ TUNNEL | O4 | OIP | OUDP, 14, 20, 0 },
	{ TUNNEL | O4 | OUDP, 14, 20, 0 },
	{ TUNNEL | O6 | OUDP, 14, 40, 0 },
	{ TUNNEL | O4 | OIP | OUDP, 18, 24, 0 },
	{ RTE_MBUF_F_TX_TUNNEL_GRE | O4 | OIP, 14, 20, 0 },
	/* flags without a tunnel type are enough */
	{ O4 | OIP | OUDP, 14, 20, 0 },
	/* inner headers are described, but no request */
	{ TUNNEL | O4 | OIP | RTE_MBUF_F_TX_IPV6, 14, 20, 0 },
	{ TUNNEL | OIP, 14, 20, EINVAL },
	{ TUNNEL | OUDP, 14, 20, EINVAL },
	{ TUNNEL | O6 | OIP, 14, 40, EINVAL },
	{ TUNNEL | O4 | O6 | OUDP, 14, 40, EINVAL },
	{ TUNNEL | O4 | OIP, 0, 0, EINVAL },
	{ TUNNEL | O4 | OIP, 14, 16, EINVAL },
	{ TUNNEL | O6 | OUDP, 14, 48, ENOTSUP },
	{ TUNNEL | O4 | OIP, 127, 280, EINVAL }, /* beyond the frame */
	{ TUNNEL | O4 | OIP | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG, 14, 20,
	  ENOTSUP },
	{ TUNNEL | O4 | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20,
	  ENOTSUP },
	{ O4 | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 14, 20, ENOTSUP },
};

/* Ethernet, IP and UDP headers; only the flags say tunnel. */
static void
outer_frame(const struct outer *o, uint8_t *frame)
{
	uint8_t *ip = frame + o->l2_len;
	bool ipv6 = o->ol_flags & O6;

	for (uint32_t i = 0; i < 400; i++)
		frame[i] = i * 17;
	if (o->error != 0)
		return;
	hw_put_be16(ip + (ipv6 ? 4 : 2), 400 - o->l2_len - (ipv6 ? 40 : 0));
	ip[0] = ipv6 ? 0x60 : 0x40 | o->l3_len / 4;
	ip[ipv6 ? 6 : 9] = 17;
}

static void
outer_expect(struct fx_tx *fx, const struct outer *o)
{
	const struct hw_tx_oob *oob = &wqe.oob;
	uint8_t want[400], *ip = want + o->l2_len;
	uint16_t sum;

	assert_true(fx_tx_fetch(fx, &wqe));
	assert_false(oob->is_encap);
	assert_int_equal(oob->is_ipv4, (o->ol_flags & O4) != 0);
	assert_int_equal(oob->is_ipv6, (o->ol_flags & O6) != 0);
	assert_int_equal(oob->ip_csum, (o->ol_flags & OIP) != 0);
	assert_int_equal(oob->udp_csum, (o->ol_flags & OUDP) != 0);
	assert_false(oob->tcp_csum);
	assert_eq(oob->trans_off,
		  o->ol_flags & OUDP ? o->l2_len + o->l3_len : 0);
	outer_frame(o, want);
	if (o->ol_flags & OIP)
		hw_put_be16(ip + 10, 0);
	if (o->ol_flags & OUDP) {
		sum = o->ol_flags & O6 ? rte_ipv6_phdr_cksum((void *)ip, 0) :
					 rte_ipv4_phdr_cksum((void *)ip, 0);
		memcpy(ip + o->l3_len + 6, &sum, sizeof(sum));
	}
	assert_eq(wqe.bytes, sizeof(want));
	assert_memory_equal(wqe.frame, want, sizeof(want));
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
}

static void
outer_checksums(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	uint32_t notsup = 0, inval = 0;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(outers) * 8; i++) {
		const struct outer *o = &outers[i / 8];
		struct rte_mbuf *m = fx_mbuf(fx->mp, 400, 0), *orig = m;

		outer_frame(o, rte_pktmbuf_mtod(m, uint8_t *));
		if (i & 4) /* not writable: shared */
			m = rte_pktmbuf_clone(orig, fx->mp);
		m->ol_flags |= o->ol_flags;
		m->outer_l2_len = o->l2_len;
		m->outer_l3_len = o->l3_len;
		m->l2_len = 30; /* inner headers, with the tunnel header */
		m->l3_len = 20;
		rte_errno = 0;
		if (i & 1) {
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1),
				  o->error == 0);
			assert_int_equal(rte_errno, o->error);
		}
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		if (o->error == 0)
			outer_expect(fx, o);
		assert_false(fx_tx_fetch(fx, &wqe));
		notsup += o->error == ENOTSUP;
		inval += o->error == EINVAL;
		assert_eq(fx->txq->stats.drop_offload, notsup);
		assert_eq(fx->txq->stats.drop_malformed, inval);
		mana_txq_done_cleanup(fx->txq, 0);
		if (orig != m)
			rte_pktmbuf_free(orig);
	}
	fx_tx_delete(fx);
}

/* ---- Inner checksums -------------------------------------------------------- */

#define INNER_OFF (14 + 20 + 8 + 8 + 14) /* offset of the inner IP header */
#define INNER_BYTES 400

struct inner {
	uint64_t ol_flags; /* of the inner headers */
	uint32_t l3_len;
	int32_t more_bytes; /* added to the IP length: beyond the frame */
	int error;
};

#define I4 RTE_MBUF_F_TX_IPV4
#define I6 RTE_MBUF_F_TX_IPV6
#define IIP RTE_MBUF_F_TX_IP_CKSUM
#define ITCP RTE_MBUF_F_TX_TCP_CKSUM
#define IUDP RTE_MBUF_F_TX_UDP_CKSUM

static const struct inner inners[] = {
	{ I4 | IIP, 20, 0, 0 },
	{ I4 | IIP | ITCP, 20, 0, 0 },
	{ I4 | IIP | IUDP, 20, 0, 0 },
	{ I4 | ITCP, 24, 0, 0 },
	{ I4 | IIP | IUDP, 24, -7, 0 }, /* padding */
	{ I6 | ITCP, 40, 0, 0 },
	{ I6 | IUDP, 40, 0, 0 },
	{ I6 | IUDP, 48, 0, 0 },
	{ I4 | I6 | IUDP, 40, 0, EINVAL },
	{ I6 | IIP, 40, 0, EINVAL },
	{ ITCP, 20, 0, EINVAL },
	{ IIP, 20, 0, EINVAL },
	{ I4 | IIP, 16, 0, EINVAL },
	{ I4 | ITCP, 20, 1, EINVAL },
	{ I4 | IUDP, 20, -400, EINVAL },
	{ I4 | IUDP, 20, -310, EINVAL }, /* less than a UDP header */
	{ I4 | IIP, 340, 0, EINVAL }, /* beyond the frame */
	{ I4 | RTE_MBUF_F_TX_SCTP_CKSUM, 20, 0, ENOTSUP },
};

static bool
inner_is_tcp(const struct inner *in)
{
	return (in->ol_flags & RTE_MBUF_F_TX_L4_MASK) == ITCP;
}

/* VXLAN; the payload depends on seed, so that any change shows. */
static void
inner_frame(const struct inner *in, uint8_t *frame, uint32_t seed)
{
	const struct outer outer = { .l2_len = 14, .l3_len = 20 };
	uint8_t *ip = frame + INNER_OFF;
	bool ipv6 = (in->ol_flags & I6) != 0;
	uint32_t bytes = INNER_BYTES - INNER_OFF + in->more_bytes;

	outer_frame(&outer, frame);
	for (uint32_t i = 42; i < INNER_BYTES; i++)
		frame[i] = i * seed;
	ip[0] = ipv6 ? 0x60 : 0x40 | in->l3_len / 4;
	ip[ipv6 ? 6 : 9] = inner_is_tcp(in) ? 6 : 17;
	hw_put_be16(ip + (ipv6 ? 4 : 2), bytes - (ipv6 ? 40 : 0));
}

/* DPDK finds both sums correct, and no other byte has changed. */
static void
inner_expect(struct fx_tx *fx, const struct inner *in, uint32_t seed)
{
	bool ipv6 = (in->ol_flags & I6) != 0;
	uint8_t want[INNER_BYTES], *ip = want + INNER_OFF;
	uint8_t *l4 = ip + in->l3_len, *field = l4 + (inner_is_tcp(in) ? 16 : 6);
	uint16_t sum;

	assert_true(fx_tx_fetch(fx, &wqe));
	assert_true(wqe.oob.is_ipv4 && wqe.oob.ip_csum && wqe.oob.udp_csum);
	assert_false(wqe.oob.is_ipv6 || wqe.oob.tcp_csum);
	assert_eq(wqe.oob.trans_off, 34);
	assert_eq(wqe.bytes, INNER_BYTES);
	inner_frame(in, want, seed);
	if (in->ol_flags & IIP) {
		memset(ip + 10, 0, 2);
		sum = ~rte_raw_cksum(ip, in->l3_len);
		memcpy(ip + 10, &sum, 2);
	}
	if (in->ol_flags & RTE_MBUF_F_TX_L4_MASK) {
		uint32_t nb = INNER_BYTES + in->more_bytes - INNER_OFF - in->l3_len;
		uint32_t total = 0;

		memset(field, 0, 2);
		for (uint32_t i = 0; i < nb; i++)
			total += (uint32_t)l4[i] << (i % 2 ? 0 : 8);
		for (uint32_t i = ipv6 ? 8 : 12; i < (ipv6 ? 40u : 20u); i++)
			total += (uint32_t)ip[i] << (i % 2 ? 0 : 8);
		total += nb + (inner_is_tcp(in) ? 6 : 17);
		while (total > 0xffff)
			total = (total & 0xffff) + (total >> 16);
		sum = ~total;
		hw_put_be16(field, sum == 0 && !inner_is_tcp(in) ? 0xffff : sum);
	}
	/* The outer fields that the device starts from. */
	hw_put_be16(want + 14 + 10, 0);
	sum = rte_ipv4_phdr_cksum((void *)(want + 14), 0);
	memcpy(want + 34 + 6, &sum, 2);
	assert_memory_equal(wqe.frame, want, INNER_BYTES);
	fx_tx_cqe(fx, HW_CQE_TX_OKAY);
}

/* One to three segments, cut at any byte. */
static struct rte_mbuf *
inner_mbuf(struct fx_tx *fx, const struct inner *in, uint32_t turn)
{
	uint8_t frame[INNER_BYTES];
	uint32_t cut[4] = { 0, INNER_BYTES, INNER_BYTES, INNER_BYTES };
	struct rte_mbuf *m = NULL, *seg;

	inner_frame(in, frame, turn);
	if (turn % 3 != 0)
		cut[1] = 15 + turn % 200;
	if (turn % 3 == 2)
		cut[2] = cut[1] + 1 + turn % 180;
	for (uint32_t i = 0; i <= turn % 3; i++) {
		seg = fx_mbuf(fx->mp, cut[i + 1] - cut[i], 0);
		memcpy(rte_pktmbuf_mtod(seg, void *), frame + cut[i],
		       cut[i + 1] - cut[i]);
		if (m == NULL)
			m = seg;
		else
			assert_eq(rte_pktmbuf_chain(m, seg), 0);
	}
	m->ol_flags |= TUNNEL | O4 | OIP | OUDP | in->ol_flags;
	m->outer_l2_len = 14;
	m->outer_l3_len = 20;
	m->l2_len = INNER_OFF - 34;
	m->l3_len = in->l3_len;
	return m;
}

/*
 * Outer and inner requests: the device computes the outer checksums, the driver
 * the inner ones, in a copy if the packet is shared.
 */
static void
inner_checksums(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	uint64_t notsup = 0, inval = 0;

	(void)state;
	for (uint32_t turn = 0; turn < RTE_DIM(inners) * 240; turn++) {
		const struct inner *in = &inners[turn / 240];
		struct rte_mbuf *m = inner_mbuf(fx, in, turn), *orig = m;
		uint8_t before[INNER_BYTES], after[INNER_BYTES];
		const uint8_t *data;

		if (turn & 4)
			m = rte_pktmbuf_clone(orig, fx->mp);
		data = rte_pktmbuf_read(orig, 0, INNER_BYTES, before);
		memcpy(before, data, INNER_BYTES);
		rte_errno = 0;
		if (turn & 8) {
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1),
				  in->error == 0);
			assert_int_equal(rte_errno, in->error);
		}
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		if (in->error == 0)
			inner_expect(fx, in, turn);
		assert_false(fx_tx_fetch(fx, &wqe));
		notsup += in->error == ENOTSUP;
		inval += in->error == EINVAL;
		assert_eq(fx->txq->stats.drop_offload, notsup);
		assert_eq(fx->txq->stats.drop_malformed, inval);
		mana_txq_done_cleanup(fx->txq, 0);
		if (orig != m) {
			data = rte_pktmbuf_read(orig, 0, INNER_BYTES, after);
			assert_memory_equal(data, before, INNER_BYTES);
			rte_pktmbuf_free(orig);
		}
	}
	fx_tx_delete(fx);
}

/* The mbufs of the copy are too small for the headers. */
static void
headers_exceed_mbufs_of_copy(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *small = fx_pool("small", 63, 64);
	struct rte_mbuf *m = inner_mbuf(fx, &inners[1], 1);

	(void)state;
	fx_mr_add_pool(small, 0x7001);
	fx->txq->bounce_mp = small;
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
	assert_eq(fx->txq->stats.drop_malformed, 1);
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(fx_pool_missing(small, 63), 0);
	fx_pool_free(small);
	fx_tx_delete(fx);
}

/* The segments do not add up to the packet's length. */
static void
lengths_contradict(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m = inner_mbuf(fx, &inners[1], 0);

	(void)state;
	m->pkt_len++;
	assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 0);
	assert_eq(rte_errno, EINVAL);
	m->pkt_len--;
	assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
	rte_pktmbuf_free(m);
	fx_tx_delete(fx);
}

/* In UDP a checksum of 0 is written as 0xffff, because 0 means none; in TCP as 0. */
static void
inner_checksum_of_zero(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		struct rte_mbuf *m = inner_mbuf(fx, &inners[i], 0);
		const uint64_t asked = m->ol_flags;
		uint8_t *l4 = rte_pktmbuf_mtod_offset(m, uint8_t *, INNER_OFF + 20);
		uint8_t *field = l4 + (inner_is_tcp(&inners[i]) ? 16 : 6);
		uint16_t csum;

		memset(l4 + 20, 0, sizeof(csum));
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		memcpy(&csum, field, sizeof(csum));
		assert_int_not_equal(csum, 0);
		/* The payload makes up for the rest of the sum. */
		memcpy(l4 + 20, &csum, sizeof(csum));
		m->ol_flags = asked;
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		memcpy(&csum, field, sizeof(csum));
		assert_eq(csum, inner_is_tcp(&inners[i]) ? 0 : 0xffff);
		rte_pktmbuf_free(m);
	}
	fx_tx_delete(fx);
}

/* No room in the ring: the caller keeps the packet unchanged. */
static void
no_room_leaves_packet_unchanged(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096 });
	const uint64_t asked = TUNNEL | O4 | OIP | OUDP | inners[1].ol_flags;
	struct rte_mbuf *m;
	uint8_t want[INNER_BYTES], got[INNER_BYTES];

	(void)state;
	/* 127 of 128 BUs, 43 of 64 descriptors */
	for (uint32_t i = 0; i < 43; i++) {
		m = fx_chain(fx->mp, i < 41 ? 4 : 2, 60, i);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
	}
	m = inner_mbuf(fx, &inners[1], 197); /* 3 segments, headers in [0] */
	assert_eq(m->nb_segs, 3);
	memcpy(want, rte_pktmbuf_read(m, 0, INNER_BYTES, got), INNER_BYTES);
	assert_eq(fx->burst(fx->txq, &m, 1), 0);
	assert_eq(m->ol_flags, asked);
	assert_memory_equal(rte_pktmbuf_read(m, 0, INNER_BYTES, got), want,
			    INNER_BYTES);
	rte_pktmbuf_free(m);
	fx_tx_delete(fx);
}

/* A clone of a pinned buffer: the driver writes to a copy. */
static void
clone_of_pinned_buffer_is_copied(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *pinned = fx_pool_pinned("pinned", 4);
	struct rte_mbuf *m, *from, *clone;
	uint8_t want[INNER_BYTES];

	(void)state;
	for (uint32_t is_shared = 0; is_shared < 2; is_shared++) {
		from = inner_mbuf(fx, &inners[1], 0);
		m = fx_mbuf(pinned, INNER_BYTES, 0);
		memcpy(rte_pktmbuf_mtod(m, void *),
		       rte_pktmbuf_mtod(from, void *), INNER_BYTES);
		memcpy(want, rte_pktmbuf_mtod(m, void *), INNER_BYTES);
		m->ol_flags |= from->ol_flags;
		m->tx_offload = from->tx_offload;
		rte_pktmbuf_free(from);
		clone = is_shared ? rte_pktmbuf_clone(m, fx->mp) : NULL;
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		inner_expect(fx, &inners[1], 0);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx->txq->stats.bounced, is_shared);
		if (clone == NULL)
			continue;
		assert_memory_equal(rte_pktmbuf_mtod(clone, void *), want,
				    INNER_BYTES);
		rte_pktmbuf_free(clone);
	}
	fx_pool_free(pinned);
	fx_tx_delete(fx);
}

/* A tunnel packet without request is sent unchanged. */
static void
tunnel_without_request_is_unchanged(void **state)
{
	static const uint64_t flags[] = {
		TUNNEL, TUNNEL | O4 | RTE_MBUF_F_TX_IPV4, O6, TUNNEL | O4 | O6,
	};
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(flags) * 4; i++) {
		struct rte_mbuf *m = fx_mbuf(fx->mp, 300, i);

		m->ol_flags |= flags[i / 4];
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_true(fx_tx_fetch(fx, &wqe));
		assert_false(wqe.oob.wants_csum || wqe.oob.is_encap);
		assert_eq(wqe.bytes, 300);
		assert_memory_equal(wqe.frame, rte_pktmbuf_mtod(m, void *),
				    300);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	fx_tx_delete(fx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outer_checksums),
		cmocka_unit_test(inner_checksums),
		cmocka_unit_test(headers_exceed_mbufs_of_copy),
		cmocka_unit_test(lengths_contradict),
		cmocka_unit_test(inner_checksum_of_zero),
		cmocka_unit_test(no_room_leaves_packet_unchanged),
		cmocka_unit_test(clone_of_pinned_buffer_is_copied),
		cmocka_unit_test(tunnel_without_request_is_unchanged),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
