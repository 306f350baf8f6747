/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * WQEs for packets of every form, the return value of a burst, and who frees an
 * mbuf. The device reads WQEs with the model's transcription (fixture_tx.c).
 */

#include <rte_errno.h>

#include "fixture.h"
#include "mana_tx.h"

static struct fx_tx_wqe wqe;

static uint16_t
burst(struct fx_tx *fx, struct rte_mbuf **pkts, uint16_t nb)
{
	return fx->burst(fx->txq, pkts, nb);
}

/* Expects a frame of len_bytes that counts up from seed. */
static void
expect_frame(struct fx_tx *fx, uint32_t len_bytes, uint8_t seed)
{
	assert_true(fx_tx_fetch(fx, &wqe));
	assert_eq(wqe.bytes, len_bytes);
	for (uint32_t i = 0; i < len_bytes; i++)
		if (wqe.frame[i] != (uint8_t)(seed + i))
			fail_msg("byte %u of %u: %02x", i, len_bytes,
				 wqe.frame[i]);
}

FX_TX_TEST(invalid_sizes_are_rejected)
{
	struct mana_queue_rings rings;
	struct mana_txq *txq = fx->txq;

#define EXPECT(code, change) do { \
	rings = fx->rings;  \
	txq->nb_desc = fx->fresh.nb_desc; \
	txq->max_sge = fx->fresh.max_sge; \
	change; \
	assert_int_equal(mana_txq_init(txq, &rings, &fx->conf), code);  \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, txq->nb_desc = 0);
	EXPECT(-EINVAL, txq->nb_desc = 65);
	EXPECT(-EINVAL, txq->max_sge = 0);
	EXPECT(-EINVAL, txq->max_sge = 31);
	EXPECT(-EINVAL, rings.ring = NULL);
	EXPECT(-EINVAL, rings.ring_bytes = 5000);
	EXPECT(-EINVAL, rings.nb_cqe = 63);
	EXPECT(-EINVAL, rings.db_page = NULL);
	EXPECT(-ERANGE, rings.vp_offset = 4096);
	EXPECT(0, txq->nb_desc = 1);
	fx->txq->mask = 127;
	EXPECT(0, rings.nb_cqe = 64; txq->nb_desc = 128);
	assert_eq(fx->txq->limit, 64);
#undef EXPECT
}

/* Bursts of every size over many laps, with early or late completions. */
static void
every_burst_size(uint32_t start, uint32_t size)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.start = start, .sq_bytes = 4096 });
	struct rte_mbuf *pkts[128];
	uint32_t posted = 0, fetched = 0, bytes = 0, turn, i, n;
	uint32_t len[2048];

	for (turn = 0; posted < 700; turn++) {
		for (i = 0; i < size; i++) {
			len[posted + i] = 14 + (posted + i) * 31 % 1400;
			pkts[i] = fx_mbuf(fx->mp, len[posted + i],
					  posted + i);
		}
		n = burst(fx, pkts, size);
		/* Posted before this burst, minus completed ones. */
		assert_true(n <= size);
		for (i = 0; i < n; i++)
			bytes += len[posted + i];
		for (i = n; i < size; i++) {
			assert_eq(rte_mbuf_refcnt_read(pkts[i]), 1);
			rte_pktmbuf_free(pkts[i]);
		}
		posted += n;
		assert_eq(fx->txq->pi - start, posted);
		assert_eq(fx->txq->bytes, bytes);
		assert_true(mana_txq_nb_posted(fx->txq) <= 64);
		for (i = turn % 4 == 0 ? 0 : turn * 13 % 80;
		     i > 0 && fetched < posted; i--, fetched++) {
			expect_frame(fx, len[fetched], fetched);
			assert_eq(wqe.nb_sge, 1);
			assert_eq(wqe.nb_bu, 1);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
	}
	while (fetched < posted) {
		expect_frame(fx, len[fetched], fetched);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		fetched++;
	}
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), mana_txq_nb_posted(fx->txq));
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	fx_tx_delete(fx);
}

TEST(bursts_of_every_size)
{
	for (uint32_t size = 1; size <= 100; size++)
		every_burst_size(0, size);
}

TEST(bursts_across_the_index_wrap)
{
	const uint32_t starts[] = { 0x7fffff80, 0xffffff00, 0xffffffc0, 0xffffffff };

	for (uint32_t i = 0; i < RTE_DIM(starts); i++)
		every_burst_size(starts[i], 32);
}

FX_TX_TEST(burst_of_nothing)
{
	assert_eq(burst(fx, NULL, 0), 0);
	assert_eq(hw_le64(fx->db_page + HW_DB_SQ), 0);
}

/* 1 to 30 segments at every position of a small ring, across the wrap. */
FX_TX_TEST(chains_at_every_position, .sq_bytes = 4096, .start = 0xffffff80)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < 128 * 31; i++) {
		uint32_t nb = 1 + i % 30;
		bool is_long = i / 30 % 2 != 0;

		m = fx_chain(fx->mp, nb, 20 + i % 50, i);
		if (is_long) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = i;
		}
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, nb * (20 + i % 50), i);
		assert_eq(wqe.nb_sge, nb);
		assert_eq(wqe.oob.inject_vlan, is_long);
		if (is_long)
			assert_eq(wqe.oob.tci, (uint16_t)i);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_eq(fx->txq->stats.linearized, 0);
}

/* Ring space counts BUs: 128 take eight packets of 30 segments. */
FX_TX_TEST(ring_full_of_chains, .sq_bytes = 4096)
{
	struct rte_mbuf *pkts[16];
	uint32_t i;

	for (i = 0; i < 16; i++)
		pkts[i] = fx_chain(fx->mp, 30, 30, i);
	assert_eq(burst(fx, pkts, 16), 8);
	assert_eq(mana_wq_free_bu(&fx->txq->sq), 0);
	assert_eq(burst(fx, pkts + 8, 8), 0);
	for (i = 0; i < 8; i++) {
		expect_frame(fx, 900, i);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(burst(fx, pkts + 8, 8), 8);
	assert_eq(fx_tx_complete_all(fx), 8);
}

/* Every posted packet completes: ring of 64, 32 packets of 4 segments. */
FX_TX_TEST(full_ring_never_stalls, .sq_bytes = 4096, .nb_desc = 64)
{
	struct rte_mbuf *pkts[32];
	uint32_t sent, turn, i;

	for (turn = 0; turn < 50; turn++) {
		for (i = 0; i < 32; i++)
			pkts[i] = fx_chain(fx->mp, 4, 20, i);
		for (sent = 0; sent < 32; ) {
			sent += burst(fx, pkts + sent, 32 - sent);
			fx_tx_complete_all(fx);
		}
	}
}

FX_TX_TEST(empty_segments_are_left_out)
{
	for (uint32_t empty = 0; empty < 32; empty++) {
		struct rte_mbuf *m = NULL, *seg;
		uint32_t len = 0, nb = 0;

		for (uint32_t i = 0; i < 5; i++) {
			uint32_t seg_len = empty & 1u << i ? 0 : 40;

			seg = fx_mbuf(fx->mp, seg_len, len);
			len += seg_len;
			nb += seg_len != 0;
			if (m == NULL)
				m = seg;
			else
				assert_eq(rte_pktmbuf_chain(m, seg), 0);
		}
		assert_eq(burst(fx, &m, 1), 1);
		if (nb == 0) {
			assert_eq(fx->txq->stats.drop_malformed, 1);
			continue;
		}
		expect_frame(fx, len, 0);
		assert_eq(wqe.nb_sge, nb);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
}

/* Empty segments need no SGE: 30 of 35 have data, and no copy is made. */
FX_TX_TEST(empty_segments_need_no_sge)
{
	struct rte_mbuf *m = fx_chain(fx->mp, 30, 20, 0);

	for (uint32_t i = 0; i < 5; i++)
		assert_eq(rte_pktmbuf_chain(m, fx_mbuf(fx->mp, 0, 0)), 0);
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 600, 0);
	assert_eq(wqe.nb_sge, 30);
	assert_eq(fx->txq->stats.linearized, 0);
}

FX_TX_TEST(too_many_segments_are_copied)
{
	struct rte_mbuf *m;

	for (uint32_t nb = 31; nb <= 120; nb++) {
		m = fx_chain(fx->mp, nb, 75, nb);
		if (nb % 2) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = nb;
		}
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, nb * 75, nb);
		assert_true(wqe.nb_sge <= 30);
		assert_eq(wqe.oob.inject_vlan, nb % 2);
		/* The original is free, the copy is in use. */
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx_pool_missing(fx->bounce_mp, fx->nb_bounce), 0);
	}
	assert_eq(fx->txq->stats.linearized, 90);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
}

FX_TX_TEST(segment_limit_is_that_of_the_queue, .max_sge = 4)
{
	struct rte_mbuf *m;

	for (uint32_t nb = 1; nb <= 8; nb++) {
		m = fx_chain(fx->mp, nb, 50, 0);
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, nb * 50, 0);
		assert_eq(wqe.nb_sge, nb <= 4 ? nb : 1);
	}
}

/* Without an mbuf for the copy: dropped and counted. */
FX_TX_TEST(drops_what_it_cannot_copy)
{
	struct rte_mbuf *pkts[9], *held[64];
	uint32_t i;

	for (i = 0; i < 64; i++)
		held[i] = rte_pktmbuf_alloc(fx->bounce_mp);
	for (i = 0; i < 9; i++)
		pkts[i] = i % 3 == 1 ? fx_chain(fx->mp, 40, 20, i) :
				       fx_mbuf(fx->mp, 60, i);
	assert_eq(burst(fx, pkts, 9), 9);
	for (i = 0; i < 9; i++)
		if (i % 3 != 1)
			expect_frame(fx, 60, i);
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(fx->txq->stats.drop_nomem, 3);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 3);
	assert_eq(fx->txq->pi, 6);
	assert_eq(fx->txq->bytes, 6 * 60);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 6);
	for (i = 0; i < 64; i++)
		rte_pktmbuf_free(held[i]);
}

/* No copy without ring space: the caller keeps the packet. */
FX_TX_TEST(copies_only_with_room, .sq_bytes = 4096)
{
	struct rte_mbuf *m, *fill;

	for (uint32_t i = 0; i < 8; i++) {
		fill = fx_chain(fx->mp, i == 7 ? 29 : 30, 20, 0);
		assert_eq(burst(fx, &fill, 1), 1);
	}
	assert_eq(mana_wq_free_bu(&fx->txq->sq), 1);
	m = fx_chain(fx->mp, 31, 20, 0);
	assert_eq(burst(fx, &m, 1), 0);
	assert_eq(m->nb_segs, 31);
	assert_eq(fx_pool_missing(fx->bounce_mp, fx->nb_bounce), 0);
	fx_tx_complete_all(fx);
	assert_eq(burst(fx, &m, 1), 1);
}

FX_TX_TEST(malformed_packets_are_dropped)
{
	struct rte_mbuf *pkts[8];
	uint32_t nb;

	for (nb = 0; nb < 8; nb++)
		pkts[nb] = fx_mbuf(fx->mp, nb == 0 ? 0 : nb == 1 ? 13 : 60, nb);
	pkts[2]->nb_segs = 0;
	rte_pktmbuf_free(pkts[3]);
	pkts[3] = fx_chain(fx->mp, 2, 60, 3);
	pkts[3]->nb_segs = 3; /* one more than present */
	rte_pktmbuf_free(pkts[4]);
	pkts[4] = fx_chain(fx->mp, 31, 60, 4);
	pkts[4]->pkt_len += 1000; /* and needs a copy */
	assert_eq(burst(fx, pkts, 8), 8);
	assert_eq(fx->txq->stats.drop_malformed, 5);
	for (nb = 5; nb < 8; nb++)
		expect_frame(fx, 60, nb);
	assert_false(fx_tx_fetch(fx, &wqe));
}

/* An unsupported offload request is dropped, never ignored. */
FX_TX_TEST(refused_requests_are_dropped)
{
	const uint64_t refused[] = {
		RTE_MBUF_F_TX_UDP_SEG, RTE_MBUF_F_TX_QINQ,
		RTE_MBUF_F_TX_MACSEC, RTE_MBUF_F_TX_SEC_OFFLOAD,
		RTE_MBUF_F_TX_IEEE1588_TMST,
		RTE_MBUF_F_TX_SCTP_CKSUM | RTE_MBUF_F_TX_IPV4,
		RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
			RTE_MBUF_F_TX_TUNNEL_VXLAN,
		/* the checksums of a tunnel's outer headers */
		RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4 |
			RTE_MBUF_F_TX_TUNNEL_VXLAN,
		RTE_MBUF_F_TX_OUTER_UDP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV6,
		RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4 |
			RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
			RTE_MBUF_F_TX_TUNNEL_VXLAN,
	};
	struct rte_mbuf *pkts[3];

	for (uint32_t path = 0; path < 4; path++) {
		for (uint32_t i = 0; i < RTE_DIM(refused); i++) {
			for (uint32_t p = 0; p < 3; p++) {
				pkts[p] = fx_mbuf(fx->mp, 100, p);
				pkts[p]->l2_len = 14;
				pkts[p]->l3_len = 20;
				pkts[p]->l4_len = 20;
			}
			pkts[1]->ol_flags |= refused[i];
			rte_errno = 0;
			assert_eq(mana_tx_pkt_prepare(fx->txq, pkts, 3), 1);
			assert_int_equal(rte_errno, ENOTSUP);
			assert_eq(burst(fx, pkts, 3), 3);
			expect_frame(fx, 100, 0);
			expect_frame(fx, 100, 2);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		assert_eq(fx->txq->stats.drop_offload,
			  (path + 1) * RTE_DIM(refused));
	}
}

/* Flags that only describe the packet request nothing. */
FX_TX_TEST(descriptive_flags_request_nothing)
{
	struct rte_mbuf *m;

	for (uint32_t path = 0; path < 4; path++) {
		m = fx_mbuf(fx->mp, 100, 7);
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 |
			       RTE_MBUF_F_TX_TUNNEL_GRE |
			       RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN;
		assert_eq(mana_tx_pkt_prepare(fx->txq, &m, 1), 1);
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, 100, 7);
		assert_false(wqe.oob.ip_csum || wqe.oob.tcp_csum ||
			     wqe.oob.udp_csum);
		assert_eq(wqe.oob.trans_off, 0);
		assert_eq(wqe.nb_bu, 1);
	}
}

FX_TX_TEST(vlan_tags, .vp_offset = 5)
{
	struct rte_mbuf *m;

	for (uint32_t tci = 0; tci < 65536; tci += 257) {
		m = fx_mbuf(fx->mp, 60, tci);
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = tci;
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, 60, tci);
		assert_eq(wqe.oob.pkt_fmt, HW_PKT_FMT_LONG);
		assert_true(wqe.oob.inject_vlan);
		assert_eq(wqe.oob.tci, tci);
		assert_eq(wqe.oob.short_vp, 5);
		assert_eq(wqe.oob.long_vp, 5);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
}

static const uint32_t offsets[] = { 1, 255, 256, 300, 4095 };

/* fx_tx_fetch() checks both fields against the queue's offset. */
FX_TX_TEST_EACH(vport_offsets, i, 0, RTE_DIM(offsets) * 4, .vp_offset = offsets[i / 4])
{
	struct rte_mbuf *m;

	m = fx_mbuf(fx->mp, 60, i);
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 60, i);
	assert_eq(wqe.oob.pkt_fmt, offsets[i / 4] > 255);
	assert_false(wqe.oob.inject_vlan);
}

FX_TX_TEST(memory_without_key_is_dropped)
{
	struct rte_mempool *other = fx_pool("unregistered", 8, 2048);
	struct rte_mbuf *pkts[4];

	pkts[0] = fx_mbuf(fx->mp, 60, 0);
	pkts[1] = fx_mbuf(other, 60, 1);
	pkts[2] = fx_mbuf(fx->mp, 60, 2);
	assert_eq(rte_pktmbuf_chain(pkts[2], fx_mbuf(other, 60, 62)), 0);
	pkts[3] = fx_mbuf(fx->mp, 60, 3);
	assert_eq(burst(fx, pkts, 4), 4);
	expect_frame(fx, 60, 0);
	expect_frame(fx, 60, 3);
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(fx->txq->stats.drop_mr, 2);
	assert_eq(fx_pool_missing(other, 8), 0);
	fx_tx_complete_all(fx);
	fx_pool_free(other);
}

FX_TX_TEST(new_key_after_deregistration)
{
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0);

	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 60, 0);
	fx_mr_clear();
	fx_mr_add_pool(fx->mp, 0x9001);
	m = fx_mbuf(fx->mp, 60, 1);
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 60, 1);
	assert_true(wqe.sge[0].key >= 0x9001);
}

static void
send_from_pool(struct fx_tx *fx, struct rte_mempool *mp, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *m = fx_mbuf(mp, 60, i);

		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, 60, i);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
}

/* Memory that cannot be registered is tried again by each packet. */
FX_TX_TEST(pool_is_registered_later)
{
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	struct rte_mbuf *m = fx_mbuf(other, 60, 1);

	assert_eq(burst(fx, &m, 1), 1);
	assert_eq(fx->txq->stats.drop_mr, 1);
	assert_eq(fx_pool_missing(other, 63), 0);
	fx_mr_add_pool(other, 0x6001);
	send_from_pool(fx, other, 1000);
	assert_eq(fx->txq->stats.drop_mr, 1);
	mana_txq_done_cleanup(fx->txq, 0);
	fx_pool_free(other);
}

/* The caller keeps a packet whose key comes later, and those behind it. */
FX_TX_TEST(key_that_comes_later)
{
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	struct rte_mbuf *pkts[4];

	fx_mr_add_pool(other, 0x6001);
	send_from_pool(fx, fx->mp, 1);
	for (uint32_t i = 0; i < 4; i++)
		pkts[i] = fx_mbuf(i == 2 ? other : fx->mp, 60, i);
	fx_mr_later = true;
	assert_eq(burst(fx, pkts, 4), 2);
	assert_eq(burst(fx, pkts + 2, 2), 0);
	expect_frame(fx, 60, 0);
	expect_frame(fx, 60, 1);
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(fx_pool_missing(other, 63), 1);
	fx_mr_later = false;
	assert_eq(burst(fx, pkts + 2, 2), 2);
	expect_frame(fx, 60, 2);
	expect_frame(fx, 60, 3);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	fx_tx_complete(fx, 4);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(fx_pool_missing(other, 63), 0);
	fx_pool_free(other);
}

static int
compare_mbufs(const void *a, const void *b)
{
	const struct rte_mbuf *const *left = a, *const *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Parts of a pool, of equally many mbufs, are regions of their own. Sorts the mbufs. */
static void
split_pool(const struct rte_mempool *mp, uint32_t nb_parts, struct rte_mbuf **all,
	   uint32_t nb)
{
	uint32_t part = (nb + nb_parts - 1) / nb_parts, last;

	qsort(all, nb, sizeof(*all), compare_mbufs);
	for (uint32_t i = 0; i < nb; i += part) {
		last = RTE_MIN(i + part, nb) - 1;
		fx_mr_add(all[i], (uintptr_t)all[last] + mp->elt_size - (uintptr_t)all[i],
			  0x6001 + i);
	}
}

/*
 * Packets of pools in any number of regions, in runs of any length, with and without
 * chains. The fixture checks the key of each SGE; every mbuf returns to its pool.
 */
FX_TX_TEST_EACH(many_regions, round, 0, 60)
{
	static const uint32_t nb_parts[] = { 1, 2, 3, 8, 24 };
	static uint64_t seed = 5;
	struct rte_mempool *mp[2] = {
		fx_pool("one", 511, 512), fx_pool("two", 511, 512),
	};
	static struct rte_mbuf *all[2][511];
	struct rte_mbuf *pkts[32];
	uint32_t run = 1 + fx_random(&seed) % 12, at = 0, p;

	for (p = 0; p < 2; p++) {
		assert_eq(rte_mempool_get_bulk(mp[p], (void **)all[p], 511), 0);
		split_pool(mp[p], nb_parts[round % RTE_DIM(nb_parts)], all[p], 511);
		rte_mempool_put_bulk(mp[p], (void **)all[p], 511);
	}
	for (uint32_t turn = 0; turn < 40; turn++) {
		uint32_t nb = 1 + fx_random(&seed) % 32;

		for (uint32_t i = 0; i < nb; i++) {
			if (i % run == 0)
				p = round % 3 == 0 ? 0 : fx_random(&seed) % 2;
			pkts[i] = fx_random(&seed) % 16 == 0 ?
				fx_chain(mp[p], 2, 60, i) :
				fx_mbuf(mp[p], 60 + at++ % 300, i);
		}
		assert_eq(burst(fx, pkts, nb), nb);
		fx_tx_complete_all(fx);
	}
	assert_eq(fx->txq->stats.drop_mr, 0);
	mana_txq_done_cleanup(fx->txq, 0);
	for (p = 0; p < 2; p++) {
		assert_eq(fx_pool_missing(mp[p], 511), 0);
		fx_pool_free(mp[p]);
	}
}

static void
span(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *chunk, unsigned int idx)
{
	uintptr_t *at = arg;

	at[0] = RTE_MIN(at[0], (uintptr_t)chunk->addr);
	at[1] = RTE_MAX(at[1], (uintptr_t)chunk->addr + chunk->len);
}

/*
 * One packet of another pool, at any place among those of a region that both pools are in.
 * Each mbuf returns to its pool.
 */
FX_TX_TEST(two_pools_in_one_region)
{
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	uintptr_t region[2] = { UINTPTR_MAX, 0 };
	struct rte_mbuf *pkts[16];

	rte_mempool_mem_iter(fx->mp, span, region);
	rte_mempool_mem_iter(other, span, region);
	fx_mr_clear();
	fx_mr_add((void *)region[0], region[1] - region[0], 0x6001);
	send_from_pool(fx, fx->mp, 1);
	for (uint32_t turn = 0; turn < 2 * RTE_DIM(pkts); turn++) {
		const bool csum = turn >= RTE_DIM(pkts);

		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			pkts[i] = fx_mbuf(i == turn % RTE_DIM(pkts) ? other : fx->mp, 60, i);
			if (!csum)
				continue;
			pkts[i]->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
			pkts[i]->l2_len = 14;
			pkts[i]->l3_len = 20;
			pkts[i]->l4_len = 20;
		}
		assert_eq(burst(fx, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			assert_true(fx_tx_fetch(fx, &wqe));
			assert_eq(wqe.nb_sge, 1);
			assert_eq(wqe.sge[0].addr, rte_pktmbuf_mtod(pkts[i], uintptr_t));
			assert_eq(wqe.bytes, 60);
			assert_int_equal(wqe.oob.tcp_csum, csum);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		mana_txq_done_cleanup(fx->txq, 0);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		assert_eq(fx_pool_missing(other, 63), 0);
	}
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	fx_pool_free(other);
}

/* A packet that ends behind its region, at each place of a burst: it is dropped. */
FX_TX_TEST_EACH(packet_across_the_end_of_a_region, at, 0, 16)
{
	struct rte_mbuf *pkts[16];
	uintptr_t region[2] = { UINTPTR_MAX, 0 };

	rte_mempool_mem_iter(fx->mp, span, region);
	for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	/* The highest one of all goes to this place. */
	for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
		if (pkts[i] > pkts[at])
			RTE_SWAP(pkts[i], pkts[at]);
	region[1] = rte_pktmbuf_mtod(pkts[at], uintptr_t) + 30;
	fx_mr_clear();
	fx_mr_register((void *)region[0], region[1] - region[0], 0x6001);
	fx_mr_deny = true;
	assert_eq(burst(fx, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	for (uint32_t i = 1; i < RTE_DIM(pkts); i++) {
		assert_true(fx_tx_fetch(fx, &wqe));
		assert_true(wqe.sge[0].addr + wqe.bytes <= region[1]);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	}
	assert_false(fx_tx_fetch(fx, &wqe));
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 1);
	fx_mr_deny = false;
}

struct ext {
	const struct mana_txq *txq;
	uint32_t mbuf_ci; /* of the queue, while the buffer was freed */
	uint32_t nb;
};

static void
ext_free(void *addr, void *opaque)
{
	struct ext *ext = opaque;

	ext->mbuf_ci = ext->txq->mbuf_ci;
	ext->nb++;
}

/*
 * Clones, shared mbufs, external buffers: freed once, at completion. A process that is
 * killed meanwhile must have taken them from the queue before.
 */
FX_TX_TEST(shared_mbufs)
{
	static uint8_t memory[4096] __rte_aligned(4096);
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = ext_free };
	struct rte_mbuf *pkts[3], *orig, *twice;
	struct ext ext = { .txq = fx->txq };

	fx_mr_add(memory, sizeof(memory), 0x5001);
	for (uint32_t i = 0; i < 60; i++)
		memory[i] = 40 + i;
	shinfo.fcb_opaque = &ext;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);

	orig = fx_mbuf(fx->mp, 60, 10);
	pkts[0] = rte_pktmbuf_clone(orig, fx->mp);
	pkts[1] = twice = fx_mbuf(fx->mp, 60, 20);
	rte_mbuf_refcnt_update(twice, 1);
	pkts[2] = rte_pktmbuf_alloc(fx->mp);
	rte_pktmbuf_attach_extbuf(pkts[2], memory, RTE_BAD_IOVA, sizeof(memory),
				  &shinfo);
	assert_non_null(rte_pktmbuf_append(pkts[2], 60));
	assert_eq(burst(fx, pkts, 3), 3);
	expect_frame(fx, 60, 10);
	expect_frame(fx, 60, 20);
	expect_frame(fx, 60, 40);
	assert_eq(wqe.sge[0].key, 0x5001);
	assert_eq(ext.nb, 0);
	assert_eq(rte_mbuf_refcnt_read(orig), 2);
	fx_tx_complete(fx, 3);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(ext.nb, 1);
	assert_eq(ext.mbuf_ci, fx->txq->mbuf_ci);
	assert_eq(rte_mbuf_refcnt_read(orig), 1);
	assert_eq(rte_mbuf_refcnt_read(twice), 1);
	rte_pktmbuf_free(orig);
	rte_pktmbuf_free(twice);
}

/* Each mbuf returns to its own pool. */
FX_TX_TEST(many_pools)
{
	struct rte_mempool *pool[10];
	struct rte_mbuf *pkts[16];
	char name[32];

	for (uint32_t i = 0; i < RTE_DIM(pool); i++) {
		snprintf(name, sizeof(name), "many%u", i);
		pool[i] = fx_pool(name, 128, 2048);
		fx_mr_add_pool(pool[i], 0x6001 + 256 * i);
	}
	for (uint32_t turn = 0; turn < 300; turn++) {
		for (uint32_t i = 0; i < 16; i++)
			pkts[i] = fx_mbuf(pool[turn % 7 < 3 ? turn % RTE_DIM(pool) :
					  (turn * 5 + i * turn) % RTE_DIM(pool)], 60, i);
		assert_eq(burst(fx, pkts, 16), 16);
		if (turn % 3 == 2)
			fx_tx_complete_all(fx);
	}
	fx_tx_complete_all(fx);
	mana_txq_done_cleanup(fx->txq, 0);
	for (uint32_t i = 0; i < RTE_DIM(pool); i++) {
		assert_eq(fx_pool_missing(pool[i], 128), 0);
		fx_pool_free(pool[i]);
	}
}

/* Mbufs of several pools return to the lcore's caches; what is too much, to the pools. */
FX_TX_TEST(pools_with_caches)
{
	struct rte_mempool *pool[2];
	struct rte_mbuf *all[255];

	for (uint32_t p = 0; p < 2; p++) {
		pool[p] = fx_pool_cached(p == 0 ? "one" : "two", RTE_DIM(all), 16, NULL);
		fx_mr_add_pool(pool[p], 0x6001 + 256 * p);
	}
	for (uint32_t turn = 0; turn < 50; turn++) {
		struct rte_mbuf *pkts[60];

		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = fx_mbuf(pool[i % 3 % 2], 60, i);
		assert_eq(burst(fx, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		fx_tx_complete_all(fx);
		mana_txq_done_cleanup(fx->txq, 0);
		for (uint32_t p = 0; p < 2; p++) {
			struct rte_mempool_cache *cache =
				rte_mempool_default_cache(pool[p], rte_lcore_id());

			assert_true(cache->len != 0);
			assert_true(cache->len <= 2 * cache->size);
			assert_eq(fx_pool_missing(pool[p], RTE_DIM(all)), 0);
		}
	}
	for (uint32_t p = 0; p < 2; p++) {
		/* Each of them, once. */
		for (uint32_t i = 0; i < RTE_DIM(all); i++)
			assert_eq(rte_mempool_get(pool[p], (void **)&all[i]), 0);
		qsort(all, RTE_DIM(all), sizeof(*all), compare_mbufs);
		for (uint32_t i = 0; i < RTE_DIM(all); i++) {
			assert_ptr_equal(all[i]->pool, pool[p]);
			assert_true(i == 0 || all[i] != all[i - 1]);
		}
		rte_mempool_put_bulk(pool[p], (void **)all, RTE_DIM(all));
		fx_pool_free(pool[p]);
	}
}

FX_TX_TEST(restart)
{
	struct rte_mbuf *pkts[32];

	for (uint32_t turn = 1; turn <= 5; turn++) {
		for (uint32_t i = 0; i < 32; i++)
			pkts[i] = fx_chain(fx->mp, 1 + i % 3, 60, i);
		assert_eq(burst(fx, pkts, 32), 32);
		assert_eq(fx->txq->pi, turn * 32);
		for (uint32_t i = 0; i < 10; i++) {
			assert_true(fx_tx_fetch(fx, &wqe));
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		}
		mana_txq_close(fx->txq);
		pkts[0] = fx_mbuf(fx->mp, 60, 0);
		assert_eq(burst(fx, pkts, 1), 0);
		rte_pktmbuf_free(pkts[0]);
		mana_txq_release_mbufs(fx->txq);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		fx_tx_restart(fx);
	}
}

TEST(zeroed_queue_is_harmless)
{
	static struct mana_txq txq;
	struct rte_mbuf *none = NULL;

	mana_txq_release_mbufs(&txq);
	mana_txq_close(&txq);
	assert_eq(mana_txq_nb_done(&txq, UINT32_MAX), 0);
	assert_eq(mana_txq_nb_posted(&txq), 0);
	assert_eq(mana_txq_done_cleanup(&txq, 0), 0);
	assert_eq(mana_tx_burst(&txq, &none, 0), 0);
	assert_eq(mana_tx_burst(&txq, &none, 1), 0);
}

/* The queue is queried after a stop, without rings. */
FX_TX_TEST(stopped_queue_is_harmless)
{
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0);
	struct gdma_cqe *ring = fx->txq->cq.ring;

	assert_eq(burst(fx, &m, 1), 1);
	fx_tx_complete_all(fx);
	mana_txq_close(fx->txq);
	fx->txq->cq.ring = (void *)4096;
	assert_eq(mana_txq_nb_done(fx->txq, UINT32_MAX), 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	fx->txq->cq.ring = ring;
}

/* The SQ could not be destroyed: the device may still read its mbufs, which are lost. */
FX_TX_TEST(forgotten_mbufs_are_not_freed)
{
	struct rte_mbuf *pkts[5];

	for (uint32_t i = 0; i < 5; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(burst(fx, pkts, 5), 5);
	mana_txq_forget_mbufs(fx->txq);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	mana_txq_release_mbufs(fx->txq);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 5);
	rte_pktmbuf_free_bulk(pkts, 5);

	/* Those of an SQ that was destroyed before wait for a burst all the same. */
	fx_tx_restart(fx);
	for (uint32_t i = 0; i < 5; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(burst(fx, pkts, 5), 5);
	mana_txq_keep_mbufs(fx->txq);
	mana_txq_forget_mbufs(fx->txq);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 5);
	assert_eq(mana_tx_old_free(fx->txq, UINT32_MAX), 5);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
}

int
main(int argc, char **argv)
{
	int nb_failed;

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	nb_failed = test_run("unit", fx_group_setup, NULL);
	/* In the other encoding, too, where the processor has it. */
	mana_tx_uses_avx2 = false;
	return nb_failed + test_run("unit", NULL, NULL);
}
