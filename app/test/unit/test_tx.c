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

static void
invalid_sizes_are_rejected(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct mana_txq_conf conf;

	(void)state;
#define EXPECT(code, change) do { \
	conf = fx->conf;  \
	change; \
	assert_int_equal(mana_txq_init(fx->txq, &conf), code);  \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, conf.mbufs = NULL);
	EXPECT(-EINVAL, conf.info = NULL);
	EXPECT(-EINVAL, conf.groups = NULL);
	EXPECT(-EINVAL, conf.nb_mbufs = 96);
	EXPECT(-EINVAL, conf.nb_mbufs = 32);
	EXPECT(-EINVAL, conf.nb_wqes = 96);
	EXPECT(-EINVAL, conf.nb_wqes = 32);
	EXPECT(-EINVAL, conf.nb_desc = 0);
	EXPECT(-EINVAL, conf.max_sge = 0);
	EXPECT(-EINVAL, conf.max_sge = 31);
	EXPECT(-EINVAL, conf.sq_ring = NULL);
	EXPECT(-EINVAL, conf.sq_bytes = 5000);
	EXPECT(-EINVAL, conf.nb_cqe = 63);
	EXPECT(-EINVAL, conf.db_page = NULL);
	EXPECT(-ERANGE, conf.vp_offset = 4096);
	EXPECT(0, conf.nb_desc = 1);
	EXPECT(0, conf.nb_cqe = 64; conf.nb_wqes = 128; conf.nb_desc = 128);
	assert_eq(fx->txq->limit, 64);
#undef EXPECT
	fx_tx_delete(fx);
}

/* Bursts of every size over many laps, with early or late completions. */
static void
every_burst_size(uint32_t start, uint32_t flags, uint32_t size)
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
	assert_eq(mana_txq_nb_done(fx->txq), mana_txq_nb_posted(fx->txq));
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(mana_txq_stats_errors(&fx->txq->stats), 0);
	fx_tx_delete(fx);
}

static void
bursts_of_every_size(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 100; size++)
		every_burst_size(0, size % 4, size);
}

static void
bursts_across_the_index_wrap(void **state)
{
	const uint32_t starts[] = { 0x7fffff80, 0xffffff00, 0xffffffc0, 0xffffffff };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(starts); i++)
		for (uint32_t flags = 0; flags < 4; flags++)
			every_burst_size(starts[i], flags, 32);
}

static void
burst_of_nothing(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	assert_eq(burst(fx, NULL, 0), 0);
	assert_eq(hw_le64(fx->db_page + HW_DB_SQ), 0);
	fx_tx_delete(fx);
}

/* 1 to 30 segments at every position of a small ring, across the wrap. */
static void
chains_at_every_position(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096, .start = 0xffffff80 });
	struct rte_mbuf *m;

	(void)state;
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
	fx_tx_delete(fx);
}

/* Ring space counts BUs: 128 take eight packets of 30 segments. */
static void
ring_full_of_chains(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096 });
	struct rte_mbuf *pkts[16];
	uint32_t i;

	(void)state;
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
	fx_tx_delete(fx);
}

/* Every posted packet completes: ring of 64, 32 packets of 4 segments. */
static void
full_ring_never_stalls(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096, .nb_desc = 64 });
	struct rte_mbuf *pkts[32];
	uint32_t sent, turn, i;

	(void)state;
	for (turn = 0; turn < 50; turn++) {
		for (i = 0; i < 32; i++)
			pkts[i] = fx_chain(fx->mp, 4, 20, i);
		for (sent = 0; sent < 32; ) {
			sent += burst(fx, pkts + sent, 32 - sent);
			fx_tx_complete_all(fx);
		}
	}
	fx_tx_delete(fx);
}

static void
empty_segments_are_left_out(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
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
	fx_tx_delete(fx);
}

/* Empty segments need no SGE: 30 of 35 have data, and no copy is made. */
static void
empty_segments_need_no_sge(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m = fx_chain(fx->mp, 30, 20, 0);

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_eq(rte_pktmbuf_chain(m, fx_mbuf(fx->mp, 0, 0)), 0);
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 600, 0);
	assert_eq(wqe.nb_sge, 30);
	assert_eq(fx->txq->stats.linearized, 0);
	fx_tx_delete(fx);
}

static void
too_many_segments_are_copied(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
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
	fx_tx_delete(fx);
}

static void
segment_limit_is_that_of_the_queue(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){ .max_sge = 4 });
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t nb = 1; nb <= 8; nb++) {
		m = fx_chain(fx->mp, nb, 50, 0);
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, nb * 50, 0);
		assert_eq(wqe.nb_sge, nb <= 4 ? nb : 1);
	}
	fx_tx_delete(fx);
}

/* Without mbuf for the copy, or without pool: dropped and counted. */
static void
drops_what_it_cannot_copy(void **state)
{
	struct rte_mbuf *pkts[9], *held[64];
	uint32_t i;

	(void)state;
	for (uint32_t kind = 0; kind < 2; kind++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.no_bounce_pool = kind == 0 });

		for (i = 0; kind == 1 && i < 64; i++)
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
		for (i = 0; kind == 1 && i < 64; i++)
			rte_pktmbuf_free(held[i]);
		fx_tx_delete(fx);
	}
}

/* No copy without ring space: the caller keeps the packet. */
static void
copies_only_with_room(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.sq_bytes = 4096 });
	struct rte_mbuf *m, *fill;

	(void)state;
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
	fx_tx_delete(fx);
}

static void
malformed_packets_are_dropped(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[8];
	uint32_t nb;

	(void)state;
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
	fx_tx_delete(fx);
}

/* An unsupported offload request is dropped, never ignored. */
static void
refused_requests_are_dropped(void **state)
{
	const uint64_t refused[] = {
		RTE_MBUF_F_TX_UDP_SEG, RTE_MBUF_F_TX_QINQ,
		RTE_MBUF_F_TX_MACSEC, RTE_MBUF_F_TX_SEC_OFFLOAD,
		RTE_MBUF_F_TX_IEEE1588_TMST,
		RTE_MBUF_F_TX_SCTP_CKSUM | RTE_MBUF_F_TX_IPV4,
		RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
			RTE_MBUF_F_TX_TUNNEL_VXLAN,
	};
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[3];

	(void)state;
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
	fx_tx_delete(fx);
}

/* Flags that only describe the packet request nothing. */
static void
descriptive_flags_request_nothing(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
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
	fx_tx_delete(fx);
}

static void
vlan_tags(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){ .vp_offset = 5 });
	struct rte_mbuf *m;

	(void)state;
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
	fx_tx_delete(fx);
}

/* fx_tx_fetch() checks both fields against the queue's offset. */
static void
vport_offsets(void **state)
{
	const uint32_t offsets[] = { 1, 255, 256, 300, 4095 };
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(offsets) * 4; i++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.vp_offset = offsets[i / 4] });

		m = fx_mbuf(fx->mp, 60, i);
		assert_eq(burst(fx, &m, 1), 1);
		expect_frame(fx, 60, i);
		assert_eq(wqe.oob.pkt_fmt, offsets[i / 4] > 255);
		assert_false(wqe.oob.inject_vlan);
		fx_tx_delete(fx);
	}
}

static void
memory_without_key_is_dropped(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *other = fx_pool("unregistered", 8, 2048);
	struct rte_mbuf *pkts[4];

	(void)state;
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
	fx_tx_delete(fx);
	fx_pool_free(other);
}

static void
new_key_after_deregistration(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0);

	(void)state;
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 60, 0);
	fx_mr_clear();
	fx_mr_add_pool(fx->mp, 0x9001);
	m = fx_mbuf(fx->mp, 60, 1);
	assert_eq(burst(fx, &m, 1), 1);
	expect_frame(fx, 60, 1);
	assert_true(wqe.sge[0].key >= 0x9001);
	fx_tx_delete(fx);
}

/* Adds a region that lacks the last byte of the chunk. */
static void
add_all_but_a_byte(struct rte_mempool *mp, void *lkey, struct rte_mempool_memhdr *chunk,
		   unsigned int idx)
{
	(void)mp;
	fx_mr_add(chunk->addr, chunk->len - 1, *(uint32_t *)lkey + idx);
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

/* Registration of a failed pool is retried at growing intervals. */
static void
pool_is_registered_later(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *other = fx_pool("other", 63, 2048);
	uint32_t lkey = 0x6001, calls;

	(void)state;
	rte_mempool_mem_iter(other, add_all_but_a_byte, &lkey);
	/* mbufs have their own keys; the pool's registration has failed */
	send_from_pool(fx, other, 63);
	assert_ptr_not_equal(fx->txq->mp, other);
	calls = fx_mr_calls;
	send_from_pool(fx, other, 30000);
	assert_ptr_not_equal(fx->txq->mp, other);
	assert_in_range(fx_mr_calls - calls, 1, 10);
	fx_mr_add_pool(other, lkey);
	send_from_pool(fx, other, 40000);
	assert_ptr_equal(fx->txq->mp, other);
	assert_eq(fx->txq->lkey, lkey);
	mana_txq_done_cleanup(fx->txq, 0);
	fx_tx_delete(fx);
	fx_pool_free(other);
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

	(void)addr;
	ext->mbuf_ci = ext->txq->mbuf_ci;
	ext->nb++;
}

/*
 * Clones, shared mbufs, external buffers: freed once, at completion. A process that is
 * killed meanwhile must have taken them from the queue before.
 */
static void
shared_mbufs(void **state)
{
	static uint8_t memory[4096] __rte_aligned(4096);
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = ext_free };
	struct rte_mbuf *pkts[3], *orig, *twice;
	struct ext ext = { .txq = fx->txq };

	(void)state;
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
	for (uint32_t i = 0; i < 3; i++)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	mana_txq_done_cleanup(fx->txq, 0);
	assert_eq(ext.nb, 1);
	assert_eq(ext.mbuf_ci, fx->txq->mbuf_ci);
	assert_eq(rte_mbuf_refcnt_read(orig), 1);
	assert_eq(rte_mbuf_refcnt_read(twice), 1);
	rte_pktmbuf_free(orig);
	rte_pktmbuf_free(twice);
	fx_tx_delete(fx);
}

/* Each mbuf returns to its own pool, also with more pools than the queue remembers. */
static void
many_pools(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mempool *pool[MANA_TX_NB_POOLS + 2];
	struct rte_mbuf *pkts[16];
	char name[32];

	(void)state;
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
	fx_tx_delete(fx);
}

/* An invalid mbuf may have no pool. */
static void
no_pool_is_remembered(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	assert_false(mana_tx_pool_use(fx->txq, NULL));
	assert_eq(fx_mr_calls, 0);
	fx_tx_delete(fx);
}

static void
restart(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
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
	fx_tx_delete(fx);
}

static void
zeroed_queue_is_harmless(void **state)
{
	static struct mana_txq txq;

	(void)state;
	mana_txq_release_mbufs(&txq);
	mana_txq_close(&txq);
	assert_eq(mana_txq_nb_done(&txq), 0);
	assert_eq(mana_txq_nb_posted(&txq), 0);
	assert_eq(mana_txq_done_cleanup(&txq, 0), 0);
}

/* The queue is queried after a stop, without rings. */
static void
stopped_queue_is_harmless(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m = fx_mbuf(fx->mp, 60, 0);
	struct gdma_cqe *ring = fx->txq->cq.ring;

	(void)state;
	assert_eq(burst(fx, &m, 1), 1);
	fx_tx_complete_all(fx);
	mana_txq_close(fx->txq);
	fx->txq->cq.ring = (void *)4096;
	assert_eq(mana_txq_nb_done(fx->txq), 0);
	assert_eq(mana_txq_done_cleanup(fx->txq, 0), 0);
	fx->txq->cq.ring = ring;
	fx_tx_delete(fx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_sizes_are_rejected),
		cmocka_unit_test(bursts_of_every_size),
		cmocka_unit_test(bursts_across_the_index_wrap),
		cmocka_unit_test(burst_of_nothing),
		cmocka_unit_test(chains_at_every_position),
		cmocka_unit_test(ring_full_of_chains),
		cmocka_unit_test(full_ring_never_stalls),
		cmocka_unit_test(empty_segments_are_left_out),
		cmocka_unit_test(empty_segments_need_no_sge),
		cmocka_unit_test(too_many_segments_are_copied),
		cmocka_unit_test(segment_limit_is_that_of_the_queue),
		cmocka_unit_test(drops_what_it_cannot_copy),
		cmocka_unit_test(copies_only_with_room),
		cmocka_unit_test(malformed_packets_are_dropped),
		cmocka_unit_test(refused_requests_are_dropped),
		cmocka_unit_test(descriptive_flags_request_nothing),
		cmocka_unit_test(vlan_tags),
		cmocka_unit_test(vport_offsets),
		cmocka_unit_test(memory_without_key_is_dropped),
		cmocka_unit_test(new_key_after_deregistration),
		cmocka_unit_test(pool_is_registered_later),
		cmocka_unit_test(shared_mbufs),
		cmocka_unit_test(many_pools),
		cmocka_unit_test(no_pool_is_remembered),
		cmocka_unit_test(restart),
		cmocka_unit_test(zeroed_queue_is_harmless),
		cmocka_unit_test(stopped_queue_is_harmless),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
