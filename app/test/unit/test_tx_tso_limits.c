/* SPDX-License-Identifier: BSD-3-Clause */

/* Borders of TCP segmentation, and what is not segmented. */

#include <rte_errno.h>
#include <rte_ip.h>

#include "bed_tso.h"

static const struct bed_tso v4 = { false, 14, 20, 20, 100 };
static const struct bed_tso v6 = { true, 14, 40, 32, 100 };

/* From how many segments on a copy is made, and what that is. */
static void
segments(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	for (uint32_t nb = 28; nb <= 40; nb++) {
		/* headers and payload in the first: one SGE more */
		for (uint32_t more = 0; more < 2; more++) {
			uint32_t first = 54 + more * 9;
			uint32_t len = first + (nb - 1) * 33;
			uint64_t copies = bed->txq->stats.linearized;
			bool copied = nb + more > 30;
			uint8_t frame[2048];
			struct rte_mbuf *m;

			bed_tso_frame(&v4, frame, len);
			m = bed_mbuf(bed->mp, first, 0);
			memcpy(rte_pktmbuf_mtod(m, void *), frame, first);
			for (uint32_t i = 1; i < nb; i++) {
				struct rte_mbuf *seg = bed_mbuf(bed->mp, 33, 0);

				memcpy(rte_pktmbuf_mtod(seg, void *),
				       frame + first + 33 * (i - 1), 33);
				assert_eq(rte_pktmbuf_chain(m, seg), 0);
			}
			bed_tso_request(&v4, m);
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
			assert_eq(bed->burst(bed->txq, &m, 1), 1);
			bed_tso_expect(bed, &v4, len, copied ? 2 : nb + more);
			assert_eq(bed->txq->stats.linearized - copies, copied);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
		}
	}
	assert_eq(bed->txq->stats.bounced, 0);
	bed_tx_delete(bed);
}

/* Without slots the whole is copied, without a pool nothing can be. */
static void
without_slots(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 2; kind++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.no_bounce_slots = true, .no_bounce_pool = kind == 1 });
		struct rte_mbuf *orig = bed_tso_mbuf(bed, &v4, 700);
		struct rte_mbuf *m = rte_pktmbuf_clone(orig, bed->mp);

		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		if (kind == 0)
			bed_tso_expect(bed, &v4, 700, 2);
		assert_false(bed_tx_fetch(bed, &bed_tso_wqe));
		assert_eq(bed->txq->stats.bounced, kind == 0);
		assert_eq(bed->txq->stats.drop_nomem, kind == 1);
		mana_txq_release_mbufs(bed->txq);
		rte_pktmbuf_free(orig);
		bed_tx_delete(bed);
	}
}

struct border {
	struct bed_tso shape;
	uint32_t len;
	int error; /* 0: sent */
	uint64_t more_flags;
};

#define TUNNEL RTE_MBUF_F_TX_TUNNEL_VXLAN
static const struct border borders[] = {
	/* header of 54 to 255 bytes */
	{ .shape = { false, 14, 20, 20, 1 }, .len = 54 + 2 },
	{ .shape = { false, 14, 20, 221, 100 }, .len = 1000 },
	{ .shape = { false, 14, 20, 222, 100 }, .len = 1000, .error = ENOTSUP },
	{ .shape = { false, 127, 60, 68, 100 }, .len = 1000 },
	{ .shape = { false, 127, 60, 69, 100 }, .len = 1000, .error = ENOTSUP },
	{ .shape = { true, 127, 40, 88, 100 }, .len = 1000 },
	{ .shape = { true, 127, 40, 89, 100 }, .len = 1000, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 19, 100 }, .len = 1000, .error = EINVAL },
	{ .shape = { false, 14, 20, 0, 100 }, .len = 1000, .error = EINVAL },
	{ .shape = { false, 13, 20, 20, 100 }, .len = 1000, .error = EINVAL },
	{ .shape = { false, 0, 0, 20, 100 }, .len = 1000, .error = EINVAL },
	{ .shape = { false, 14, 16, 20, 100 }, .len = 1000, .error = EINVAL },
	{ .shape = { true, 14, 20, 20, 100 }, .len = 1000, .error = EINVAL },
	/* an extension header */
	{ .shape = { true, 14, 48, 20, 100 }, .len = 1000, .error = ENOTSUP },
	/* size of segments */
	{ .shape = { false, 14, 20, 20, 1 }, .len = 65535 },
	{ .shape = { false, 14, 20, 20, 16383 }, .len = 65535 },
	{ .shape = { false, 14, 20, 20, 16383 }, .len = 54 + 16384 },
	{ .shape = { false, 14, 20, 20, 16383 }, .len = 54 + 16383 },
	{ .shape = { false, 14, 20, 20, 16384 }, .len = 65535, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 20, 16384 }, .len = 100, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 20, 65535 }, .len = 65535, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 20, 0 }, .len = 1000, .error = EINVAL },
	{ .shape = { false, 14, 20, 20, 0 }, .len = 54, .error = EINVAL },
	/* length */
	{ .shape = { true, 14, 40, 20, 1000 }, .len = 65535 },
	{ .shape = { true, 14, 40, 20, 1000 }, .len = 65536, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 65536, .error = ENOTSUP },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 53, .error = EINVAL },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 14, .error = EINVAL },
	{ .shape = { true, 14, 40, 32, 100 }, .len = 85, .error = EINVAL },
	/* flags */
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = ENOTSUP,
	  .more_flags = TUNNEL },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 100, .error = ENOTSUP,
	  .more_flags = TUNNEL },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = ENOTSUP,
	  .more_flags = RTE_MBUF_F_TX_OUTER_IPV4 },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = ENOTSUP,
	  .more_flags = RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = ENOTSUP,
	  .more_flags = RTE_MBUF_F_TX_UDP_SEG },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = EINVAL,
	  .more_flags = RTE_MBUF_F_TX_UDP_CKSUM },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = EINVAL,
	  .more_flags = RTE_MBUF_F_TX_SCTP_CKSUM },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000, .error = EINVAL,
	  .more_flags = RTE_MBUF_F_TX_IPV6 },
	{ .shape = { true, 14, 40, 20, 100 }, .len = 1000, .error = EINVAL,
	  .more_flags = RTE_MBUF_F_TX_IP_CKSUM },
	{ .shape = { false, 14, 20, 20, 100 }, .len = 1000,
	  .more_flags = RTE_MBUF_F_TX_TCP_CKSUM },
};

static struct rte_mbuf *
border_mbuf(const struct border *b, struct rte_mempool *mp)
{
	static uint8_t frame[65536 + 256];
	struct rte_mbuf *head, *m;
	uint32_t at, part;

	bed_tso_frame(&b->shape, frame, RTE_MAX(b->len, 256u));
	if (b->len >= bed_tso_header(&b->shape) && b->len <= UINT16_MAX)
		bed_tso_frame(&b->shape, frame, b->len);
	head = bed_mbuf(mp, RTE_MIN(b->len, 8000u), 0);
	memcpy(rte_pktmbuf_mtod(head, void *), frame, head->data_len);
	for (at = head->data_len; at < b->len; at += part) {
		part = RTE_MIN(b->len - at, 8000u);
		m = bed_mbuf(mp, part, 0);
		memcpy(rte_pktmbuf_mtod(m, void *), frame + at, part);
		assert_eq(rte_pktmbuf_chain(head, m), 0);
	}
	bed_tso_request(&b->shape, head);
	if (b->more_flags & (RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_SCTP_CKSUM))
		head->ol_flags &= ~RTE_MBUF_F_TX_L4_MASK;
	head->ol_flags |= b->more_flags;
	return head;
}

/*
 * What is refused by prepare and dropped by the burst; what is sent. A packet
 * that the application did not let prepare see is never posted if refused.
 * is_trusted: by a run of chains, where one can.
 */
static void
every_border_on(bool is_trusted)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mempool *big = bed_pool("big", 32, 8192);
	uint32_t notsup = 0, inval = 0;

	if (is_trusted)
		bed_tx_earn_trust(bed);
	bed_mr_add_pool(big, 0x6001);
	for (uint32_t i = 0; i < RTE_DIM(borders) * 4; i++) {
		const struct border *b = &borders[i / 4];
		struct rte_mbuf *m = border_mbuf(b, big);
		uint32_t nb_sge = m->nb_segs;

		if (b->error == 0)
			nb_sge += b->len - bed_tso_header(&b->shape) >
				  b->shape.segsz;
		bed->burst = mana_tx_path_select(i % 4)->burst;
		rte_errno = 0;
		if (i & 1)
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1),
				  b->error == 0);
		if (i & 1)
			assert_int_equal(rte_errno, b->error);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		if (b->error == 0) {
			bed_tso_expect(bed, &b->shape, b->len, nb_sge);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		assert_false(bed_tx_fetch(bed, &bed_tso_wqe));
		notsup += b->error == ENOTSUP;
		inval += b->error == EINVAL;
		assert_eq(bed->txq->stats.drop_offload, notsup);
		assert_eq(bed->txq->stats.drop_malformed, inval);
		mana_txq_done_cleanup(bed->txq, 0);
	}
	assert_eq(bed_pool_missing(big, 32), 0);
	bed_tx_delete(bed);
	bed_pool_free(big);
}

static void
every_border(void **state)
{
	(void)state;
	every_border_on(false);
	every_border_on(true);
}

/*
 * Up to one segment of payload it is an ordinary packet with real lengths.
 * is_trusted: by a run of chains.
 */
static void
one_segment_is_ordinary_on(bool is_trusted)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	static const uint32_t payloads[] = { 0, 1, 99, 100, 101 };

	if (is_trusted)
		bed_tx_earn_trust(bed);
	for (uint32_t i = 0; i < RTE_DIM(payloads) * 8; i++) {
		const struct bed_tso *s = i & 1 ? &v4 : &v6;
		uint32_t hdr = bed_tso_header(s);
		uint32_t len = hdr + payloads[i / 8];
		struct rte_mbuf *m = bed_tso_mbuf(bed, s, len);

		/* an application may have left it 0 for TSO */
		if (i & 2)
			bed_tso_set_length(s, rte_pktmbuf_mtod(m, uint8_t *), 0);
		if (i & 4)
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		bed_tso_expect(bed, s, len, payloads[i / 8] > 100 ? 2 : 1);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	bed_tx_delete(bed);
}

static void
one_segment_is_ordinary(void **state)
{
	(void)state;
	one_segment_is_ordinary_on(false);
	one_segment_is_ordinary_on(true);
}

/* What pads a short frame is no payload: the length stays. */
static void
padding_is_no_payload(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m = bed_tso_mbuf(bed, &v4, 60);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	(void)state;
	bed_tso_set_length(&v4, frame, 40);
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	assert_true(bed_tx_fetch(bed, &bed_tso_wqe));
	assert_eq(bed_tso_wqe.bytes, 60);
	assert_false(bed_tso_wqe.header.oob_in_sgl);
	assert_eq(hw_be16(bed_tso_wqe.frame + 16), 40);
	assert_int_equal(rte_cpu_to_be_16(hw_be16(bed_tso_wqe.frame + 50)),
			 rte_ipv4_phdr_cksum((void *)(bed_tso_wqe.frame + 14), 0));
	bed_tx_delete(bed);
}

/* A full ring: the packet stays the caller's, as it was. */
static void
no_room_changes_nothing(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_desc = 128, .nb_cqe = 256, .sq_bytes = 4096 });
	struct rte_mbuf *pkts[128], *m = bed_tso_mbuf(bed, &v4, 400);
	uint8_t frame[400];

	(void)state;
	for (uint32_t i = 0; i < 127; i++)
		pkts[i] = bed_mbuf(bed->mp, 60, i);
	assert_eq(bed->burst(bed->txq, pkts, 127), 127);
	assert_eq(bed->burst(bed->txq, &m, 1), 0);
	bed_tso_frame(&v4, frame, sizeof(frame));
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), frame, sizeof(frame));
	assert_eq(bed_tx_complete_all(bed), 127);
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	bed_tso_expect(bed, &v4, 400, 2);
	bed_tx_delete(bed);
}

/* In no memory region: freed and counted. */
static void
no_region(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m = bed_tso_mbuf(bed, &v4, 400);

	(void)state;
	bed_mr_clear();
	bed_mr_deny = true;
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	bed_mr_deny = false;
	assert_false(bed_tx_fetch(bed, &bed_tso_wqe));
	assert_eq(bed->txq->stats.drop_mr, 1);
	bed_tx_delete(bed);
}

/* 40 segments of 1400 bytes: a copy takes 28 of the 64 mbufs for copies. */
static struct rte_mbuf *
large_chain(struct bed_tx *bed)
{
	static uint8_t frame[40 * 1400];
	struct rte_mbuf *head = bed_mbuf(bed->mp, 1400, 0), *m;

	bed_tso_frame(&v4, frame, sizeof(frame));
	memcpy(rte_pktmbuf_mtod(head, void *), frame, 1400);
	for (uint32_t i = 1; i < 40; i++) {
		m = bed_mbuf(bed->mp, 1400, 0);
		memcpy(rte_pktmbuf_mtod(m, void *), frame + 1400 * i, 1400);
		assert_eq(rte_pktmbuf_chain(head, m), 0);
	}
	bed_tso_request(&v4, head);
	return head;
}

/*
 * While mbufs for copies come back by themselves, a packet waits for them with
 * the caller. When others have them all it is dropped.
 */
static void
copies_wait_for_copies(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[7], *held[64];
	uint32_t at = 0;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = large_chain(bed);
	while (at < RTE_DIM(pkts)) {
		uint16_t nb = bed->burst(bed->txq, pkts + at, RTE_DIM(pkts) - at);

		assert_eq(nb, RTE_MIN(RTE_DIM(pkts) - at, 2u));
		assert_eq(bed->burst(bed->txq, pkts + at + nb,
				     RTE_DIM(pkts) - at - nb), 0);
		for (uint32_t i = 0; i < nb; i++) {
			bed_tso_expect(bed, &v4, 40 * 1400, 29);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		at += nb;
	}
	mana_txq_done_cleanup(bed->txq, 0);
	assert_eq(bed->txq->stats.linearized, RTE_DIM(pkts));

	for (uint32_t i = 0; i < 64; i++)
		held[i] = rte_pktmbuf_alloc(bed->bounce_mp);
	/* an ordinary packet on its way brings nothing back */
	pkts[0] = bed_mbuf(bed->mp, 60, 0);
	pkts[1] = large_chain(bed);
	assert_eq(bed->burst(bed->txq, pkts, 2), 2);
	assert_eq(bed->txq->stats.drop_nomem, 1);
	for (uint32_t i = 0; i < 64; i++)
		rte_pktmbuf_free(held[i]);
	bed_tx_delete(bed);
}

/* Whatever the packet says of its segments: all but one BU are the device's. */
static void
wrong_count_touches_nothing(void **state)
{
	static const uint16_t counts[] = { 0, 1, 3, UINT16_MAX };
	uint8_t before[4096];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(counts); i++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.nb_desc = 128, .nb_cqe = 256,
			.sq_bytes = sizeof(before) });
		struct rte_mbuf *m;
		uint32_t free_bu;

		bed_tx_earn_trust(bed);
		while (mana_txq_nb_posted(bed->txq) < 127) {
			m = bed_mbuf(bed->mp, 60, 0);
			assert_eq(bed->burst(bed->txq, &m, 1), 1);
		}
		m = bed_tso_mbuf(bed, &v4, 554);
		assert_eq(rte_pktmbuf_chain(m, bed_mbuf(bed->mp, 100, 0)), 0);
		m->nb_segs = counts[i];
		memcpy(before, bed->sq_ring, sizeof(before));
		/* Dropped, or left to whoever sends it. */
		if (bed->burst(bed->txq, &m, 1) == 0)
			rte_pktmbuf_free(m);
		free_bu = bed->txq->sq.pi & bed->txq->sq.mask_bu;
		memcpy(before + free_bu * GDMA_BU_BYTES,
		       bed->sq_ring + free_bu * GDMA_BU_BYTES, GDMA_BU_BYTES);
		assert_memory_equal(bed->sq_ring, before, sizeof(before));
		assert_eq(mana_txq_nb_posted(bed->txq), 127);
		bed_tx_delete(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments),
		cmocka_unit_test(without_slots),
		cmocka_unit_test(copies_wait_for_copies),
		cmocka_unit_test(every_border),
		cmocka_unit_test(one_segment_is_ordinary),
		cmocka_unit_test(padding_is_no_payload),
		cmocka_unit_test(no_room_changes_nothing),
		cmocka_unit_test(wrong_count_touches_nothing),
		cmocka_unit_test(no_region),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
