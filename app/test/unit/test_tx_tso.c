/* SPDX-License-Identifier: BSD-3-Clause */

/* TSO: the WQE, and the header that the device finds. */

#include "fixture_pkt.h"

/* A WQE byte by byte: header 66, MSS 1448, payload 1000 and 7000 bytes. */
TEST(golden_wqe)
{
	const uint32_t want[] = { 0x42000000, 0x05a80a03, 0x00004134, 0x00000022 };
	const struct fx_pkt shape = FX_TSO4(14, 20, 32, 1448);
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *big = fx_pool("big", 4, 8192);
	struct rte_mbuf *m, *tail;
	struct hw_sge sge;

	fx_mr_add_pool(big, 0x6001);
	fx->rings.id = 0x30;
	fx->rings.cq_id = 0x41;
	fx->rings.vp_offset = 0;
	assert_eq(mana_txq_init(fx->txq, &fx->rings, &fx->conf), 0);
	m = fx_pkt_pieces(big, &shape, 8066, 1066, 7000);
	tail = m->next;
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	for (uint32_t i = 0; i < RTE_DIM(want); i++)
		assert_eq(hw_le32(fx->sq_ring + 4 * i), want[i]);
	sge = hw_sge_read(fx->sq_ring + 16);
	assert_eq(sge.addr, rte_pktmbuf_mtod(m, uintptr_t));
	assert_eq(sge.size_bytes, 66);
	sge = hw_sge_read(fx->sq_ring + 32);
	assert_eq(sge.addr, rte_pktmbuf_mtod(m, uintptr_t) + 66);
	assert_eq(sge.size_bytes, 1000);
	sge = hw_sge_read(fx->sq_ring + 48);
	assert_eq(sge.addr, rte_pktmbuf_mtod(tail, uintptr_t));
	assert_eq(sge.size_bytes, 7000);
	assert_eq(hw_le64(fx->db_page + HW_DB_SQ) >> 32, 64);
	mana_txq_release_mbufs(fx->txq);
	fx_tx_delete(fx);
	fx_pool_free(big);
}

/*
 * Every header size, on every path, with and without prepare. has_groups: as a
 * batch of chains.
 */
FX_TX_TEST_EACH(every_header, has_groups, 0, 2)
{
	static const uint16_t l2[] = { 14, 18, 22, 127 }, l3[] = { 20, 24, 60 };
	static const uint16_t l4[] = { 20, 24, 32, 60 };
	struct rte_mbuf *m;

	if (has_groups)
		fx_tx_pass_offset_check(fx);
	for (uint32_t i = 0; i < 4 * 4 * 4 * 8; i++) {
		struct fx_pkt s4 = FX_TSO4(l2[i / 32 % 4], l3[i / 8 % 4 % 3], l4[i / 128],
					   100 + i);
		struct fx_pkt s6 = FX_TSO6(s4.l2_len, 40, s4.l4_len, s4.segsz);
		struct fx_pkt s = i / 8 % 4 == 3 ? s6 : s4;
		uint32_t len;

		len = fx_pkt_header(&s) + s.segsz + 1 + i % 5;
		m = fx_pkt_mbuf(fx, &s, len);
		/* a second prepare changes nothing */
		for (uint32_t n = 0; n < i / 4 % 2 * 2; n++)
			assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_eq(mana_txq_nb_posted(fx->txq), 1);
		fx_pkt_expect(fx, &s, len, 2);
		assert_eq(fx_wqe.sge[0].addr, rte_pktmbuf_mtod(m, uintptr_t));
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(mana_txq_done_cleanup(fx->txq, 0), 1);
	}
	assert_eq(fx->txq->stats.bounced, 0);
}

static const struct fx_pkt v4 = FX_TSO4(14, 20, 20, 100);
static const struct fx_pkt v6 = FX_TSO6(14, 40, 32, 100);

/*
 * A header that was prepared while private is sent again: whole, in part, and
 * with another segment size.
 */
FX_TX_TEST(packet_is_sent_again)
{
	const struct fx_pkt *shapes[] = { &v4, &v6 };

	for (uint32_t w = 0; w < 2; w++) {
		struct fx_pkt s = *shapes[w];
		uint32_t len = fx_pkt_header(&s) + 300;
		struct rte_mbuf *m = fx_pkt_mbuf(fx, &s, len);

		fx->txq->stats.bounced = 0;
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		for (uint32_t turn = 0; turn < 6; turn++) {
			/* shared, except in the last turn */
			if (turn < 5)
				rte_mbuf_refcnt_update(m, 1);
			if (turn == 2) {
				m->tso_segsz = s.segsz = 60;
			} else if (turn == 4) {
				rte_pktmbuf_trim(m, 250);
				len -= 250;
			}
			if (turn % 2)
				assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			fx_pkt_expect(fx, &s, len, turn == 5 ? 1 : 2);
			assert_eq(fx->txq->stats.bounced, RTE_MIN(turn + 1, 5u));
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			mana_txq_done_cleanup(fx->txq, 0);
		}
	}
}

/* A tag in the frame, and one that the device inserts; both OOB forms. Also without TSO. */
TEST(vlan_tags)
{
	struct fx_pkt s = v4;

	for (uint32_t i = 0; i < 32; i++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.vp_offset = i & 1 ? 400 : 0 });
		struct rte_mbuf *m;
		uint32_t len;

		s.l2_len = i & 2 ? 18 : 14;
		s.ipv6 = i & 8;
		s.segsz = i & 16 ? 0 : 100;
		s.ip_csum = !s.ipv6;
		s.l3_len = s.ipv6 ? 40 : 20;
		len = fx_pkt_header(&s) + 333;
		m = fx_pkt_mbuf(fx, &s, len);
		if (i & 4) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = 0x6064;
		}
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		fx_pkt_expect(fx, &s, len, i & 16 ? 1 : 2);
		assert_eq(fx_wqe.oob.inject_vlan, (i & 4) != 0);
		assert_eq(fx_wqe.oob.tci, i & 4 ? 0x6064 : 0);
		fx_tx_delete(fx);
	}
}

/* WQEs of every size, at every place before the wrap. */
TEST(around_the_ring_end)
{
	const uint32_t ring_bu = 128;
	struct rte_mbuf *m;

	for (uint32_t nb_segs = 1; nb_segs <= 29; nb_segs += 7) {
		for (uint32_t back = 0; back <= 16; back++) {
			struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
				.sq_bytes = ring_bu * 32,
				.start = 3 * ring_bu - back });
			uint32_t len = 54 + 200 + (nb_segs - 1) * 40;

			m = fx_pkt_pieces(fx->mp, &v4, len, 254, 40);
			m->ol_flags |= back % 2 ? RTE_MBUF_F_TX_VLAN : 0;
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			fx_pkt_expect(fx, &v4, len, nb_segs + 1);
			fx_tx_delete(fx);
		}
	}
}

/*
 * Copied headers of WQEs that request no CQE: each slot is used until its WQE
 * is known to be complete.
 */
FX_TX_TEST(slots_without_cqe_requests)
{
	struct rte_mbuf *orig = fx_pkt_mbuf(fx, &v4, 400), *pkts[48];
	bool silent = false;

	fx_tx_pass_offset_check(fx);
	for (uint32_t turn = 0; turn < 5; turn++) {
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = i % 3 == 0 ? rte_pktmbuf_clone(orig, fx->mp) :
				  i % 3 == 1 ? fx_pkt_mbuf(fx, &v6, 500) :
					       fx_pkt_mbuf(fx, &v4, 100);
		assert_eq(fx->burst(fx->txq, pkts, RTE_DIM(pkts)),
			  RTE_DIM(pkts));
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			if (i % 3 == 0)
				fx_pkt_expect(fx, &v4, 400, 2);
			else if (i % 3 == 1)
				fx_pkt_expect(fx, &v6, 500, 2);
			else
				fx_pkt_expect(fx, &v4, 100, 1);
			silent |= fx_wqe.oob.suppress;
		}
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(mana_txq_nb_posted(fx->txq), 0);
	}
	assert_true(silent);
	assert_eq(fx->txq->stats.bounced, 5 * RTE_DIM(pkts) / 3);
	rte_pktmbuf_free(orig);
}
