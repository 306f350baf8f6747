/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checksum requests: the OOB and the frame that the device finds. Which headers may be
 * written, also with TSO.
 */

#include <sys/mman.h>

#include "fixture_pkt.h"

static const struct fx_pkt shapes[] = {
	{ false, 6, true, 14, 20, 20 }, { false, 6, false, 14, 20, 20 },
	{ false, 17, true, 14, 20, 8 }, { false, 17, false, 14, 20, 8 },
	{ false, 0, true, 14, 20 }, { false, 0, false, 14, 20 },
	{ true, 6, false, 14, 40, 20 }, { true, 17, false, 14, 40, 8 },
	{ true, 0, false, 14, 40 },
	{ false, 6, true, 18, 20, 20 }, { false, 17, true, 18, 60, 8 },
	{ false, 6, true, 14, 24, 20 }, { true, 6, false, 22, 40, 20 },
	{ false, 6, true, 127, 60, 20 }, { true, 17, false, 127, 40, 8 },
	FX_TSO4(14, 20, 20, 100), FX_TSO6(14, 40, 32, 100),
};

/* Every kind of frame, with and without prepare. */
FX_TX_TEST(every_shape)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < RTE_DIM(shapes) * 8; i++) {
		const struct fx_pkt *s = &shapes[i / 8];
		uint32_t len = fx_pkt_header(s) + i % 90;

		m = fx_pkt_mbuf(fx, s, len);
		if (i / 4 % 2)
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, s, len, 1);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_eq(fx->txq->stats.bounced, 0);
}

/* The header in the first segment, the payload in nb_more. */
static struct rte_mbuf *
chain_of(struct fx_tx *fx, const struct fx_pkt *s, uint32_t nb_more,
	 uint32_t len)
{
	uint32_t hdr_bytes = fx_pkt_header(s);

	return fx_pkt_pieces(fx->mp, s, len, hdr_bytes,
			     (len - hdr_bytes + nb_more - 1) / nb_more);
}

/* Packet i of a burst of kind k, or of all kinds; each packet has other bytes. */
static struct fx_pkt
shape_of(uint32_t k, uint32_t i)
{
	struct fx_pkt s = shapes[k < RTE_DIM(shapes) ? k : i];

	s.seed = i;
	return s;
}

/* Chains of every kind, on a queue that requests few CQEs. */
FX_TX_TEST(chains_of_every_shape)
{
	struct rte_mbuf *pkts[RTE_DIM(shapes)];
	uint32_t len, i;

	fx_tx_pass_offset_check(fx);
	for (uint32_t nb_more = 1; nb_more < 6; nb_more++) {
		for (uint32_t k = 0; k <= RTE_DIM(shapes); k++) {
			for (i = 0; i < RTE_DIM(pkts); i++) {
				struct fx_pkt s = shape_of(k, i);

				len = fx_pkt_header(&s) + 40 + i;
				pkts[i] = chain_of(fx, &s, nb_more, len);
			}
			assert_eq(fx->burst(fx->txq, pkts, i), i);
			for (i = 0; i < RTE_DIM(pkts); i++) {
				struct fx_pkt s = shape_of(k, i);

				len = fx_pkt_header(&s) + 40 + i;
				fx_pkt_expect(fx, &s, len, 1 + nb_more);
				fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			}
		}
	}
	assert_eq(fx->txq->stats.bounced, 0);
}

/*
 * The header cut at every byte, into up to three segments: copied to a slot unless it is in
 * the first one. With and without prepare, and as a batch of chains, if possible.
 */
FX_TX_TEST_EACH(header_in_pieces, how, 0, 4)
{
	static const uint8_t which[] = { 0, 2, 6, 7, 10, 15, 16 };
	uint8_t frame[512];
	struct rte_mbuf *m;

	if (how & 1)
		fx_tx_pass_offset_check(fx);
	for (uint32_t w = 0; w < RTE_DIM(which); w++) {
		const struct fx_pkt *s = &shapes[which[w]];
		uint32_t hdr = fx_pkt_header(s);
		uint32_t len = hdr + (s->segsz != 0 ? 300 : 30);

		fx_pkt_frame(s, frame, len);
		for (uint32_t cut = 0; cut <= hdr + 30; cut++) {
			uint32_t two = RTE_MIN(cut + 7, len);
			uint32_t nb_sge = 1 + (s->segsz != 0 && cut > hdr) +
					  (two > hdr && two > cut) + (len > two);
			uint64_t bounced = fx->txq->stats.bounced;

			m = fx_pieces(fx->mp, frame, cut, cut, 0);
			assert_eq(rte_pktmbuf_chain(m, fx_pieces(fx->mp, frame + cut,
						two - cut, two - cut, 0)), 0);
			assert_eq(rte_pktmbuf_chain(m, fx_pieces(fx->mp, frame + two,
						len - two, len - two, 0)), 0);
			fx_pkt_request(s, m);
			if (how & 2)
				assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			fx_pkt_expect(fx, s, len, nb_sge);
			assert_eq(fx->txq->stats.bounced - bounced, cut < hdr);
			if (cut < hdr)
				assert_eq(fx_wqe.sge[0].size_bytes, hdr);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
	}
	assert_eq(fx_pool_missing(fx->bounce_mp, fx->nb_bounce), 0);
}

static bool
writes_header(const struct fx_pkt *s)
{
	return s->l4 != 0 || s->ip_csum;
}

static void
expect_untouched(const struct fx_pkt *s, const struct rte_mbuf *m)
{
	uint8_t want[1024];

	fx_pkt_frame(s, want, m->data_len);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), want, m->data_len);
}

/* Shared bytes are never written, not even by prepare. */
FX_TX_TEST(shared_header_is_copied)
{
	struct rte_mbuf *orig, *m;

	for (uint32_t i = 0; i < RTE_DIM(shapes) * 8; i++) {
		const struct fx_pkt *s = &shapes[i / 8];
		uint32_t len = fx_pkt_header(s) + (i & 4 ? 100 : 300);
		uint64_t bounced = fx->txq->stats.bounced;

		m = orig = fx_pkt_mbuf(fx, s, len);
		if (i & 1)
			m = rte_pktmbuf_clone(orig, fx->mp);
		else
			rte_mbuf_refcnt_update(orig, 1);
		if (i & 2)
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, s, len, 1 + writes_header(s));
		expect_untouched(s, orig);
		assert_eq(fx->txq->stats.bounced - bounced, writes_header(s));
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
		rte_pktmbuf_free(orig);
	}
}

/* Two clones in a burst get two header slots. */
FX_TX_TEST(clones_get_separate_header_slots)
{
	struct rte_mbuf *orig = fx_pkt_mbuf(fx, &shapes[0], 200), *pkts[64];

	for (uint32_t turn = 0; turn < 5; turn++) {
		for (uint32_t i = 0; i < 64; i++)
			pkts[i] = rte_pktmbuf_clone(orig, fx->mp);
		assert_eq(fx->burst(fx->txq, pkts, 64), 64);
		for (uint32_t i = 0; i < 64; i++) {
			fx_pkt_expect(fx, &shapes[0], 200, 2);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
	}
	mana_txq_done_cleanup(fx->txq, 0);
	rte_pktmbuf_free(orig);
}

/* External buffers may be mapped read-only. */
FX_TX_TEST(read_only_header_is_copied)
{
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = fx_ext_free };
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rte_mbuf *m;

	fx_mr_add(page, 4096, 0x5001);
	for (uint32_t i = 0; i < RTE_DIM(shapes) * 2; i++) {
		const struct fx_pkt *s = &shapes[i / 2];
		uint32_t len = fx_pkt_header(s) + 300;
		uint64_t bounced = fx->txq->stats.bounced;

		assert_eq(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
		fx_pkt_frame(s, page, len);
		assert_eq(mprotect(page, 4096, PROT_READ), 0);
		rte_mbuf_ext_refcnt_set(&shinfo, 1);
		m = rte_pktmbuf_alloc(fx->mp);
		rte_pktmbuf_attach_extbuf(m, page, RTE_BAD_IOVA, 4096, &shinfo);
		assert_non_null(rte_pktmbuf_append(m, len));
		fx_pkt_request(s, m);
		if (i % 2)
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, s, len, 1 + writes_header(s));
		assert_eq(fx->txq->stats.bounced - bounced, writes_header(s));
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
	}
	munmap(page, 4096);
}

/*
 * Pinned external buffers belong to their mbuf: written in place. Unless it is cloned, which
 * does not count in the mbuf.
 */
FX_TX_TEST(pinned_header_is_written_in_place)
{
	struct rte_mempool *pinned = fx_pool_pinned("pinned", 16);

	for (uint32_t i = 0; i < RTE_DIM(shapes) * 2; i++) {
		const struct fx_pkt *s = &shapes[i / 2];
		uint32_t len = fx_pkt_header(s) + 300;
		struct rte_mbuf *m = fx_pkt_pieces(pinned, s, len, len, 0);
		struct rte_mbuf *clone = i % 2 ? rte_pktmbuf_clone(m, fx->mp) : NULL;
		bool is_copied = clone != NULL && writes_header(s);
		uint64_t bounced = fx->txq->stats.bounced;

		assert_int_equal(clone != NULL, i % 2);
		assert_eq(rte_mbuf_refcnt_read(m), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, s, len, is_copied || s->segsz != 0 ? 2 : 1);
		assert_eq(fx->txq->stats.bounced - bounced, is_copied);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx_pool_missing(pinned, 16), i % 2);
		if (clone != NULL) {
			expect_untouched(s, clone);
			rte_pktmbuf_free(clone);
		}
		assert_eq(fx_pool_missing(pinned, 16), 0);
	}
	fx_pool_free(pinned);
}

/* 30 segments and a header SGE are 31: the packet is copied. */
FX_TX_TEST(header_makes_one_segment_too_many)
{
	const uint32_t len = 29 * 20 + 100;
	struct rte_mbuf *orig = fx_pkt_pieces(fx->mp, &shapes[0], len, 100, 20);
	struct rte_mbuf *m = rte_pktmbuf_clone(orig, fx->mp);

	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	fx_pkt_expect(fx, &shapes[0], len, 1);
	mana_txq_release_mbufs(fx->txq);
	rte_pktmbuf_free(orig);
}

/* A frame without its header among others of the same request, or empty among plain ones. */
FX_TX_TEST(one_short_packet_in_a_burst)
{
	struct rte_mbuf *pkts[8];

	for (uint32_t at = 0; at < 2 * RTE_DIM(pkts); at++) {
		const bool is_plain = at >= RTE_DIM(pkts);

		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			const bool is_short = i == at % RTE_DIM(pkts);

			pkts[i] = fx_mbuf(fx->mp, !is_short ? 100 : is_plain ? 0 : 53, 1);
			if (!is_plain)
				fx_pkt_request(&shapes[1], pkts[i]);
		}
		assert_eq(fx->burst(fx->txq, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		assert_eq(fx->txq->stats.drop_malformed, at + 1);
		for (uint32_t i = 1; i < RTE_DIM(pkts); i++) {
			assert_true(fx_tx_fetch(fx, &fx_wqe));
			assert_eq(fx_wqe.bytes, 100);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		assert_false(fx_tx_fetch(fx, &fx_wqe));
	}
}

/* What makes one packet of a burst differ from the others. */
enum difference {
	SHARED, CLONE, OTHER_POOL, OTHER_HEADER, TAGGED, TUNNEL, NB_DIFFERENCES
};

/* Prepares the packet. Returns the mbuf that the test keeps and frees, or NULL. */
static struct rte_mbuf *
make_different(struct fx_tx *fx, enum difference kind, struct fx_pkt *s,
	       struct rte_mbuf **pkt, uint32_t len)
{
	struct rte_mbuf *kept = NULL;

	s->l3_len += kind == OTHER_HEADER ? 4 : 0;
	*pkt = fx_pkt_mbuf(fx, s, len);
	if (kind == SHARED) {
		kept = *pkt;
		rte_mbuf_refcnt_set(kept, 2);
	} else if (kind == CLONE) {
		kept = *pkt;
		*pkt = rte_pktmbuf_clone(kept, fx->mp);
	} else if (kind == OTHER_POOL) {
		rte_pktmbuf_free(*pkt);
		*pkt = fx_pkt_pieces(fx->bounce_mp, s, len, len, 0);
	} else if (kind == TAGGED) {
		(*pkt)->ol_flags |= RTE_MBUF_F_TX_VLAN;
		(*pkt)->vlan_tci = 5;
	} else if (kind == TUNNEL) {
		(*pkt)->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN;
	}
	return kept;
}

/*
 * Each place of a burst of equal packets has a packet that differs in one way:
 * all frames are right and in order, only headers that may be written are, and each
 * mbuf returns to its pool.
 */
FX_TX_TEST(one_different_packet_in_a_burst)
{
	const struct fx_pkt kinds[] = {
		{ .l2_len = 14, .l3_len = 20 },
		{ .l4 = 6, .ip_csum = true, .l2_len = 14, .l3_len = 20, .l4_len = 20 },
	};
	static uint8_t untouched[100];
	struct rte_mbuf *pkts[8];
	const uint32_t nb = RTE_DIM(kinds) * NB_DIFFERENCES * RTE_DIM(pkts);

	for (uint32_t i = 0; i < nb; i++) {
		const struct fx_pkt *base = &kinds[i % RTE_DIM(kinds)];
		enum difference kind = i / RTE_DIM(kinds) % NB_DIFFERENCES;
		uint32_t at = i / RTE_DIM(kinds) / NB_DIFFERENCES;
		bool is_refused = kind == TUNNEL && base->l4 != 0;
		uint64_t refused = fx->txq->stats.drop_offload;
		struct fx_pkt other = *base;
		struct rte_mbuf *kept = NULL;

		for (uint32_t k = 0; k < RTE_DIM(pkts); k++)
			if (k == at)
				kept = make_different(fx, kind, &other, &pkts[k], 100);
			else
				pkts[k] = fx_pkt_mbuf(fx, base, 100);
		assert_eq(fx->burst(fx->txq, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		assert_eq(fx->txq->stats.drop_offload, refused + is_refused);
		for (uint32_t k = 0; k < RTE_DIM(pkts); k++)
			if (k != at || !is_refused) {
				fx_pkt_expect(fx, k == at ? &other : base, 100,
					      k == at && kept != NULL && base->l4 != 0 ? 2 : 1);
				assert_int_equal(fx_wqe.oob.inject_vlan,
						 k == at && kind == TAGGED);
				fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			}
		assert_false(fx_tx_fetch(fx, &fx_wqe));
		if (kept == NULL)
			continue;
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(rte_mbuf_refcnt_read(kept), 1);
		fx_pkt_frame(&other, untouched, sizeof(untouched));
		assert_memory_equal(rte_pktmbuf_mtod(kept, void *), untouched,
				    sizeof(untouched));
		rte_pktmbuf_free(kept);
	}
}

/* Addresses of all ones and zeros: every carry. */
FX_TX_TEST(checksum_carries)
{
	static const uint8_t fill[] = { 0x00, 0xff, 0xfe, 0x01, 0x80 };
	uint8_t want[1000];
	struct rte_mbuf *m;
	uint8_t *frame;

	for (uint32_t i = 0; i < RTE_DIM(shapes) * RTE_DIM(fill); i++) {
		const struct fx_pkt *s = &shapes[i / RTE_DIM(fill)];

		if (s->l4 == 0)
			continue;
		m = fx_pkt_mbuf(fx, s, 1000);
		frame = rte_pktmbuf_mtod(m, uint8_t *);
		memset(frame + s->l2_len + (s->ipv6 ? 8 : 12),
		       fill[i % RTE_DIM(fill)], s->ipv6 ? 32 : 8);
		memcpy(want, frame, sizeof(want));
		fx_pkt_set_fields(s, want, sizeof(want));
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_true(fx_tx_fetch(fx, &fx_wqe));
		assert_memory_equal(fx_wqe.frame, want, sizeof(want));
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
}

/* A wrong length field changes the sum, nothing else. */
FX_TX_TEST(wrong_ip_length)
{
	const uint16_t lies[] = { 0, 1, 19, 65535 };
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < RTE_DIM(lies); i++) {
		m = fx_pkt_mbuf(fx, &shapes[0], 100);
		hw_put_be16(rte_pktmbuf_mtod(m, uint8_t *) + 16, lies[i]);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_true(fx_tx_fetch(fx, &fx_wqe));
		assert_eq(fx_wqe.bytes, 100);
	}
}
