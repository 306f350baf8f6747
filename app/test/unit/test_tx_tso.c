/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * TCP segmentation: the WQE, the header that the device finds and whose bytes
 * are written on the way, and every border.
 */

#include <rte_ip.h>

#include "bed_tso.h"


/* spec: header 66, MSS 1448, payload of 1000 and 7000 bytes; byte by byte. */
static void
golden_wqe(void **state)
{
	const uint32_t want[] = { 0x42000000, 0x05a80a03, 0x00004134, 0x00000022 };
	const struct bed_tso shape = { false, 14, 20, 32, 1448 };
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mempool *big = bed_pool("big", 4, 8192);
	struct rte_mbuf *m = bed_mbuf(big, 1066, 0);
	struct rte_mbuf *tail = bed_mbuf(big, 7000, 0);
	static uint8_t frame[8066];
	struct hw_sge sge;

	(void)state;
	bed_mr_add_pool(big, 0x6001);
	bed->conf.sq_id = 0x30;
	bed->conf.cq_id = 0x41;
	bed->conf.vp_offset = 0;
	assert_eq(mana_txq_init(bed->txq, &bed->conf), 0);
	bed_tso_frame(&shape, frame, sizeof(frame));
	memcpy(rte_pktmbuf_mtod(m, void *), frame, 1066);
	memcpy(rte_pktmbuf_mtod(tail, void *), frame + 1066, 7000);
	assert_eq(rte_pktmbuf_chain(m, tail), 0);
	bed_tso_request(&shape, m);
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	for (uint32_t i = 0; i < RTE_DIM(want); i++)
		assert_eq(hw_le32(bed->sq_ring + 4 * i), want[i]);
	sge = hw_sge_read(bed->sq_ring + 16);
	assert_eq(sge.addr, rte_pktmbuf_mtod(m, uintptr_t));
	assert_eq(sge.size_bytes, 66);
	sge = hw_sge_read(bed->sq_ring + 32);
	assert_eq(sge.addr, rte_pktmbuf_mtod(m, uintptr_t) + 66);
	assert_eq(sge.size_bytes, 1000);
	sge = hw_sge_read(bed->sq_ring + 48);
	assert_eq(sge.addr, rte_pktmbuf_mtod(tail, uintptr_t));
	assert_eq(sge.size_bytes, 7000);
	assert_eq(hw_le64(bed->db_page + HW_DB_SQ) >> 32, 64);
	mana_txq_release_mbufs(bed->txq);
	bed_tx_delete(bed);
	bed_pool_free(big);
}

/*
 * Every size of header that there can be, on every path, prepared or not.
 * is_trusted: by a run of chains.
 */
static void
every_header_on(bool is_trusted)
{
	static const uint16_t l2[] = { 14, 18, 22, 127 }, l3[] = { 20, 24, 60 };
	static const uint16_t l4[] = { 20, 24, 32, 60 };
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m;

	if (is_trusted)
		bed_tx_earn_trust(bed);
	for (uint32_t i = 0; i < 4 * 4 * 4 * 8; i++) {
		struct bed_tso s = { i / 8 % 4 == 3, l2[i / 32 % 4],
				     l3[i / 8 % 4 % 3], l4[i / 128], 100 + i };
		uint32_t len;

		if (s.ipv6)
			s.l3_len = 40;
		len = bed_tso_header(&s) + s.segsz + 1 + i % 5;
		bed->burst = mana_tx_path_select(i % 4)->burst;
		m = bed_tso_mbuf(bed, &s, len);
		/* once more changes nothing */
		for (uint32_t n = 0; n < i / 4 % 2 * 2; n++)
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_eq(mana_txq_nb_posted(bed->txq), 1);
		bed_tso_expect(bed, &s, len, 2);
		assert_eq(bed_tso_wqe.sge[0].addr, rte_pktmbuf_mtod(m, uintptr_t));
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_done_cleanup(bed->txq, 0), 1);
	}
	assert_eq(bed->txq->stats.bounced, 0);
	bed_tx_delete(bed);
}

static void
every_header(void **state)
{
	(void)state;
	every_header_on(false);
	every_header_on(true);
}

static const struct bed_tso v4 = { false, 14, 20, 20, 100 };
static const struct bed_tso v6 = { true, 14, 40, 32, 100 };

/* Either version's, cut after cut bytes and after second more; 0: no cut. */
static struct rte_mbuf *
cut_mbuf(struct bed_tx *bed, const struct bed_tso *s, uint32_t len,
	 uint32_t cut, uint32_t second)
{
	const uint32_t parts[] = { cut, second, len - cut - second };
	struct rte_mbuf *head = NULL, *m;
	uint8_t frame[1024];
	uint32_t at = 0;

	bed_tso_frame(s, frame, len);
	for (uint32_t i = 0; i < RTE_DIM(parts); i++) {
		m = bed_mbuf(bed->mp, parts[i], 0);
		memcpy(rte_pktmbuf_mtod(m, void *), frame + at, parts[i]);
		at += parts[i];
		if (head == NULL)
			head = m;
		else
			assert_eq(rte_pktmbuf_chain(head, m), 0);
	}
	bed_tso_request(s, head);
	return head;
}

/*
 * The header cut at every byte: bounced unless it is in the first segment.
 * is_trusted: by a run of chains, where one can.
 */
static void
header_in_pieces_on(bool is_trusted)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	const struct bed_tso *shapes[] = { &v4, &v6 };
	uint64_t bounced;
	struct rte_mbuf *m;

	if (is_trusted)
		bed_tx_earn_trust(bed);
	for (uint32_t w = 0; w < 2; w++) {
		const struct bed_tso *s = shapes[w];
		uint32_t hdr = bed_tso_header(s), len = hdr + 300;

		for (uint32_t cut = 0; cut <= hdr + 4; cut++) {
			uint32_t nb_sge = 2 + (cut + 7 > hdr);

			m = cut_mbuf(bed, s, len, cut, 7);
			if (cut > hdr)
				nb_sge = 4;
			bounced = bed->txq->stats.bounced;
			if (cut % 2)
				assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
			assert_eq(bed->burst(bed->txq, &m, 1), 1);
			bed_tso_expect(bed, s, len, nb_sge);
			assert_eq(bed->txq->stats.bounced - bounced, cut < hdr);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
	}
	assert_eq(bed_pool_missing(bed->bounce_mp, bed->nb_bounce), 0);
	bed_tx_delete(bed);
}

static void
header_in_pieces(void **state)
{
	(void)state;
	header_in_pieces_on(false);
	header_in_pieces_on(true);
}

static void
expect_untouched(const struct bed_tso *s, const struct rte_mbuf *m)
{
	uint8_t want[1024];

	bed_tso_frame(s, want, m->data_len);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), want, m->data_len);
}

/* Bytes that someone else sees are never written, also not by prepare. */
static void
shared_header_is_copied(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *orig, *m;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		const struct bed_tso *s = i & 1 ? &v4 : &v6;
		uint32_t payload = i & 8 ? 100 : 300;
		uint32_t len = bed_tso_header(s) + payload;

		orig = bed_tso_mbuf(bed, s, len);
		if (i & 2) {
			m = rte_pktmbuf_clone(orig, bed->mp);
		} else {
			rte_mbuf_refcnt_update(orig, 1);
			m = orig;
		}
		if (i & 4)
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		bed_tso_expect(bed, s, len, 2);
		expect_untouched(s, orig);
		assert_eq(bed->txq->stats.bounced, i + 1);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(bed->txq, 0);
		rte_pktmbuf_free(orig);
	}
	bed_tx_delete(bed);
}

static void
ext_free(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

/* External buffers may be read-only; those of a pinned pool are its own. */
static void
external_headers(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mempool *pinned = bed_pool_pinned("pinned", 16);
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = ext_free };
	static uint8_t memory[4096];
	struct rte_mbuf *m;
	const uint32_t len = 54 + 300;

	(void)state;
	bed_mr_add(memory, sizeof(memory), 0x5001);
	bed_tso_frame(&v4, memory, len);
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	m = rte_pktmbuf_alloc(bed->mp);
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, sizeof(memory),
				  &shinfo);
	assert_non_null(rte_pktmbuf_append(m, len));
	bed_tso_request(&v4, m);
	assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	bed_tso_expect(bed, &v4, len, 2);
	expect_untouched(&v4, m);
	assert_eq(bed->txq->stats.bounced, 1);
	bed_tx_cqe(bed, HW_CQE_TX_OKAY);

	m = bed_mbuf(pinned, len, 0);
	bed_tso_frame(&v4, rte_pktmbuf_mtod(m, uint8_t *), len);
	bed_tso_request(&v4, m);
	assert_eq(bed->burst(bed->txq, &m, 1), 1);
	bed_tso_expect(bed, &v4, len, 2);
	assert_eq(bed->txq->stats.bounced, 1);
	bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	mana_txq_done_cleanup(bed->txq, 0);
	assert_eq(bed_pool_missing(pinned, 16), 0);
	bed_tx_delete(bed);
	bed_pool_free(pinned);
}

/*
 * A header that was prepared while it was private, and is sent again, whole
 * and in part, and with another size of segments.
 */
static void
sent_again(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	const struct bed_tso *shapes[] = { &v4, &v6 };

	(void)state;
	for (uint32_t w = 0; w < 2; w++) {
		struct bed_tso s = *shapes[w];
		uint32_t len = bed_tso_header(&s) + 300;
		struct rte_mbuf *m = bed_tso_mbuf(bed, &s, len);

		bed->txq->stats.bounced = 0;
		assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		for (uint32_t turn = 0; turn < 6; turn++) {
			/* shared, and in the last turn not */
			if (turn < 5)
				rte_mbuf_refcnt_update(m, 1);
			if (turn == 2) {
				m->tso_segsz = s.segsz = 60;
			} else if (turn == 4) {
				rte_pktmbuf_trim(m, 250);
				len -= 250;
			}
			if (turn % 2)
				assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
			assert_eq(bed->burst(bed->txq, &m, 1), 1);
			bed_tso_expect(bed, &s, len, turn == 5 ? 1 : 2);
			assert_eq(bed->txq->stats.bounced, turn >= 4);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			mana_txq_done_cleanup(bed->txq, 0);
		}
	}
	bed_tx_delete(bed);
}

/* A tag in the frame and one that the device puts there; short and long OOB. */
static void
vlan_tags(void **state)
{
	struct bed_tso s = { false, 14, 20, 20, 100 };

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.vp_offset = i & 1 ? 400 : 0 });
		struct rte_mbuf *m;
		uint32_t len;

		s.l2_len = i & 2 ? 18 : 14;
		s.ipv6 = i & 8;
		s.l3_len = s.ipv6 ? 40 : 20;
		len = bed_tso_header(&s) + 333;
		m = bed_tso_mbuf(bed, &s, len);
		if (i & 4) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = 0x6064;
		}
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		bed_tso_expect(bed, &s, len, 2);
		assert_eq(bed_tso_wqe.oob.inject_vlan, (i & 4) != 0);
		assert_eq(bed_tso_wqe.oob.tci, i & 4 ? 0x6064 : 0);
		bed_tx_delete(bed);
	}
}

/* WQEs of every size, at every place of the ring's end. */
static void
around_the_ring_end(void **state)
{
	const uint32_t ring_bu = 128;
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t nb_segs = 1; nb_segs <= 29; nb_segs += 7) {
		for (uint32_t back = 0; back <= 16; back++) {
			struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
				.sq_bytes = ring_bu * 32,
				.start = 3 * ring_bu - back });
			uint32_t len = 54 + 200 + (nb_segs - 1) * 40;
			uint8_t frame[2048];

			bed_tso_frame(&v4, frame, len);
			m = bed_mbuf(bed->mp, 254, 0);
			memcpy(rte_pktmbuf_mtod(m, void *), frame, 254);
			for (uint32_t i = 1; i < nb_segs; i++) {
				struct rte_mbuf *seg = bed_mbuf(bed->mp, 40, 0);

				memcpy(rte_pktmbuf_mtod(seg, void *),
				       frame + 254 + 40 * (i - 1), 40);
				assert_eq(rte_pktmbuf_chain(m, seg), 0);
			}
			bed_tso_request(&v4, m);
			m->ol_flags |= back % 2 ? RTE_MBUF_F_TX_VLAN : 0;
			assert_eq(bed->burst(bed->txq, &m, 1), 1);
			bed_tso_expect(bed, &v4, len, nb_segs + 1);
			bed_tx_delete(bed);
		}
	}
}

/*
 * Bounced headers of many WQEs that ask for no completion: each has a slot of
 * its own till one is known to be done.
 */
static void
amid_silent_packets(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *orig = bed_tso_mbuf(bed, &v4, 400), *pkts[48];
	bool silent = false;

	(void)state;
	bed_tx_earn_trust(bed);
	for (uint32_t turn = 0; turn < 5; turn++) {
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = i % 3 == 0 ? rte_pktmbuf_clone(orig, bed->mp) :
				  i % 3 == 1 ? bed_tso_mbuf(bed, &v6, 500) :
					       bed_tso_mbuf(bed, &v4, 100);
		assert_eq(bed->burst(bed->txq, pkts, RTE_DIM(pkts)),
			  RTE_DIM(pkts));
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			if (i % 3 == 0)
				bed_tso_expect(bed, &v4, 400, 2);
			else if (i % 3 == 1)
				bed_tso_expect(bed, &v6, 500, 2);
			else
				bed_tso_expect(bed, &v4, 100, 1);
			silent |= bed_tso_wqe.oob.suppress;
		}
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(bed->txq, 0);
		assert_eq(mana_txq_nb_posted(bed->txq), 0);
	}
	assert_true(silent);
	assert_eq(bed->txq->stats.bounced, 5 * RTE_DIM(pkts) / 3);
	rte_pktmbuf_free(orig);
	bed_tx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_wqe),
		cmocka_unit_test(every_header),
		cmocka_unit_test(header_in_pieces),
		cmocka_unit_test(shared_header_is_copied),
		cmocka_unit_test(external_headers),
		cmocka_unit_test(sent_again),
		cmocka_unit_test(vlan_tags),
		cmocka_unit_test(around_the_ring_end),
		cmocka_unit_test(amid_silent_packets),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
