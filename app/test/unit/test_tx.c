/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of every shape into WQEs; what the return value says; who frees
 * what. The device reads WQEs with the model's transcription (bed_tx.c).
 */

#include <rte_errno.h>

#include "bed.h"

static struct bed_tx_wqe wqe;

static uint16_t
burst(struct bed_tx *bed, struct rte_mbuf **pkts, uint16_t nb)
{
	return bed->burst(bed->txq, pkts, nb);
}

/* The next WQE is a frame of len_bytes that counts up from seed. */
static void
expect_frame(struct bed_tx *bed, uint32_t len_bytes, uint8_t seed)
{
	assert_true(bed_tx_fetch(bed, &wqe));
	assert_eq(wqe.bytes, len_bytes);
	for (uint32_t i = 0; i < len_bytes; i++)
		if (wqe.frame[i] != (uint8_t)(seed + i))
			fail_msg("byte %u of %u: %02x", i, len_bytes,
				 wqe.frame[i]);
}

static void
paths_cover_what_is_asked(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags < 4; flags++) {
		const struct mana_path *p = mana_tx_path_select(flags);

		assert_eq(flags & ~p->flags, 0);
		assert_ptr_equal(mana_tx_path_find(p->burst), p);
	}
	assert_null(mana_tx_path_find(NULL));
}

static void
refuses_what_does_not_fit(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct mana_txq_conf conf;

	(void)state;
#define EXPECT(code, change) do { \
	conf = bed->conf; \
	change; \
	assert_int_equal(mana_txq_init(bed->txq, &conf), code); \
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
	assert_eq(bed->txq->limit, 64);
#undef EXPECT
	bed_tx_delete(bed);
}

/* Bursts of every size over many laps, completions late or early. */
static void
every_burst_size(uint32_t start, uint32_t flags, uint32_t size)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.start = start, .sq_bytes = 4096 });
	struct rte_mbuf *pkts[128];
	uint32_t posted = 0, fetched = 0, bytes = 0, turn, i, n;
	uint32_t len[2048];

	bed->burst = mana_tx_path_select(flags)->burst;
	for (turn = 0; posted < 700; turn++) {
		for (i = 0; i < size; i++) {
			len[posted + i] = 14 + (posted + i) * 31 % 1400;
			pkts[i] = bed_mbuf(bed->mp, len[posted + i],
					   posted + i);
		}
		n = burst(bed, pkts, size);
		/* Posted before this call, less what had completed. */
		assert_true(n <= size);
		for (i = 0; i < n; i++)
			bytes += len[posted + i];
		for (i = n; i < size; i++) {
			assert_eq(rte_mbuf_refcnt_read(pkts[i]), 1);
			rte_pktmbuf_free(pkts[i]);
		}
		posted += n;
		assert_eq(mana_txq_packets(bed->txq) - start, posted);
		assert_eq(bed->txq->bytes, bytes);
		assert_true(mana_txq_nb_posted(bed->txq) <= 64);
		for (i = turn % 4 == 0 ? 0 : turn * 13 % 80;
		     i > 0 && fetched < posted; i--, fetched++) {
			expect_frame(bed, len[fetched], fetched);
			assert_eq(wqe.nb_sge, 1);
			assert_eq(wqe.nb_bu, 1);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
	}
	while (fetched < posted) {
		expect_frame(bed, len[fetched], fetched);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		fetched++;
	}
	assert_false(bed_tx_fetch(bed, &wqe));
	assert_eq(mana_txq_nb_done(bed->txq), mana_txq_nb_posted(bed->txq));
	mana_txq_done_cleanup(bed->txq, 0);
	assert_eq(mana_txq_nb_posted(bed->txq), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
	assert_eq(mana_txq_errors(bed->txq), 0);
	bed_tx_delete(bed);
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
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	assert_eq(burst(bed, NULL, 0), 0);
	assert_eq(hw_le64(bed->db_page + HW_DB_SQ), 0);
	bed_tx_delete(bed);
}

/* 1 to 30 segments at every position of a small ring: the SGL goes round. */
static void
chains_at_every_position(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096, .start = 0xffffff80 });
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t i = 0; i < 128 * 31; i++) {
		uint32_t nb = 1 + i % 30;
		bool is_long = i / 30 % 2 != 0;

		m = bed_chain(bed->mp, nb, 20 + i % 50, i);
		if (is_long) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = i;
		}
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, nb * (20 + i % 50), i);
		assert_eq(wqe.nb_sge, nb);
		assert_eq(wqe.oob.inject_vlan, is_long);
		if (is_long)
			assert_eq(wqe.oob.tci, (uint16_t)i);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	assert_eq(bed->txq->stats.linearized, 0);
	bed_tx_delete(bed);
}

/* Room is counted in BUs: 128 of them take eight packets of 30 segments. */
static void
ring_full_of_chains(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096 });
	struct rte_mbuf *pkts[16];
	uint32_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		pkts[i] = bed_chain(bed->mp, 30, 30, i);
	assert_eq(burst(bed, pkts, 16), 8);
	assert_eq(mana_wq_free_bu(&bed->txq->sq), 0);
	assert_eq(burst(bed, pkts + 8, 8), 0);
	for (i = 0; i < 8; i++) {
		expect_frame(bed, 900, i);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	assert_false(bed_tx_fetch(bed, &wqe));
	assert_eq(burst(bed, pkts + 8, 8), 8);
	assert_eq(bed_tx_complete_all(bed), 8);
	bed_tx_delete(bed);
}

/* Whatever is posted completes: ring 64, 32 packets of four segments. */
static void
full_ring_never_stalls(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096, .nb_desc = 64 });
	struct rte_mbuf *pkts[32];
	uint32_t sent, turn, i;

	(void)state;
	for (turn = 0; turn < 50; turn++) {
		for (i = 0; i < 32; i++)
			pkts[i] = bed_chain(bed->mp, 4, 20, i);
		for (sent = 0; sent < 32; ) {
			sent += burst(bed, pkts + sent, 32 - sent);
			bed_tx_complete_all(bed);
		}
	}
	bed_tx_delete(bed);
}

static void
empty_segments_are_left_out(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	for (uint32_t empty = 0; empty < 32; empty++) {
		struct rte_mbuf *m = NULL, *seg;
		uint32_t len = 0, nb = 0;

		for (uint32_t i = 0; i < 5; i++) {
			uint32_t seg_len = empty & 1u << i ? 0 : 40;

			seg = bed_mbuf(bed->mp, seg_len, len);
			len += seg_len;
			nb += seg_len != 0;
			if (m == NULL)
				m = seg;
			else
				assert_eq(rte_pktmbuf_chain(m, seg), 0);
		}
		assert_eq(burst(bed, &m, 1), 1);
		if (nb == 0) {
			assert_eq(bed->txq->stats.drop_malformed, 1);
			continue;
		}
		expect_frame(bed, len, 0);
		assert_eq(wqe.nb_sge, nb);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	bed_tx_delete(bed);
}

/* 35 segments of which 30 hold something fit without a copy. */
static void
empty_segments_do_not_count(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m = bed_chain(bed->mp, 30, 20, 0);

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_eq(rte_pktmbuf_chain(m, bed_mbuf(bed->mp, 0, 0)), 0);
	assert_eq(burst(bed, &m, 1), 1);
	expect_frame(bed, 600, 0);
	assert_eq(wqe.nb_sge, 30);
	assert_eq(bed->txq->stats.linearized, 0);
	bed_tx_delete(bed);
}

static void
too_many_segments_are_copied(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t nb = 31; nb <= 120; nb++) {
		m = bed_chain(bed->mp, nb, 75, nb);
		if (nb % 2) {
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = nb;
		}
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, nb * 75, nb);
		assert_true(wqe.nb_sge <= 30);
		assert_eq(wqe.oob.inject_vlan, nb % 2);
		/* The original is free already, the copy is held. */
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		mana_txq_done_cleanup(bed->txq, 0);
		assert_eq(bed_pool_missing(bed->bounce_mp, bed->nb_bounce), 0);
	}
	assert_eq(bed->txq->stats.linearized, 90);
	assert_eq(mana_txq_errors(bed->txq), 0);
	bed_tx_delete(bed);
}

static void
segment_limit_is_that_of_the_queue(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){ .max_sge = 4 });
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t nb = 1; nb <= 8; nb++) {
		m = bed_chain(bed->mp, nb, 50, 0);
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, nb * 50, 0);
		assert_eq(wqe.nb_sge, nb <= 4 ? nb : 1);
	}
	bed_tx_delete(bed);
}

/* No mbuf for the copy, or no pool: dropped and counted, the others go. */
static void
drops_what_it_cannot_copy(void **state)
{
	struct rte_mbuf *pkts[9], *held[64];
	uint32_t i;

	(void)state;
	for (uint32_t kind = 0; kind < 2; kind++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.no_bounce_pool = kind == 0 });

		for (i = 0; kind == 1 && i < 64; i++)
			held[i] = rte_pktmbuf_alloc(bed->bounce_mp);
		for (i = 0; i < 9; i++)
			pkts[i] = i % 3 == 1 ? bed_chain(bed->mp, 40, 20, i) :
					       bed_mbuf(bed->mp, 60, i);
		assert_eq(burst(bed, pkts, 9), 9);
		for (i = 0; i < 9; i++)
			if (i % 3 != 1)
				expect_frame(bed, 60, i);
		assert_false(bed_tx_fetch(bed, &wqe));
		assert_eq(bed->txq->stats.drop_nomem, 3);
		assert_eq(mana_txq_errors(bed->txq), 3);
		assert_eq(mana_txq_packets(bed->txq), 6);
		assert_eq(bed->txq->bytes, 6 * 60);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 6);
		for (i = 0; kind == 1 && i < 64; i++)
			rte_pktmbuf_free(held[i]);
		bed_tx_delete(bed);
	}
}

/* A copy that would be in vain is not made: the packet stays the caller's. */
static void
copies_only_with_room(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.sq_bytes = 4096 });
	struct rte_mbuf *m, *fill;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		fill = bed_chain(bed->mp, i == 7 ? 29 : 30, 20, 0);
		assert_eq(burst(bed, &fill, 1), 1);
	}
	assert_eq(mana_wq_free_bu(&bed->txq->sq), 1);
	m = bed_chain(bed->mp, 31, 20, 0);
	assert_eq(burst(bed, &m, 1), 0);
	assert_eq(m->nb_segs, 31);
	assert_eq(bed_pool_missing(bed->bounce_mp, bed->nb_bounce), 0);
	bed_tx_complete_all(bed);
	assert_eq(burst(bed, &m, 1), 1);
	bed_tx_delete(bed);
}

static void
malformed_packets_are_dropped(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[8];
	uint32_t nb;

	(void)state;
	for (nb = 0; nb < 8; nb++)
		pkts[nb] = bed_mbuf(bed->mp, nb == 0 ? 0 : nb == 1 ? 13 : 60, nb);
	pkts[2]->nb_segs = 0;
	rte_pktmbuf_free(pkts[3]);
	pkts[3] = bed_chain(bed->mp, 2, 60, 3);
	pkts[3]->nb_segs = 3; /* one more than there are */
	rte_pktmbuf_free(pkts[4]);
	pkts[4] = bed_chain(bed->mp, 31, 60, 4);
	pkts[4]->pkt_len += 1000; /* and a copy is needed */
	assert_eq(burst(bed, pkts, 8), 8);
	assert_eq(bed->txq->stats.drop_malformed, 5);
	for (nb = 5; nb < 8; nb++)
		expect_frame(bed, 60, nb);
	assert_false(bed_tx_fetch(bed, &wqe));
	bed_tx_delete(bed);
}

/* A request that the device does not know is never ignored. */
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
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[3];

	(void)state;
	for (uint32_t path = 0; path < 4; path++) {
		bed->burst = mana_tx_path_select(path)->burst;
		for (uint32_t i = 0; i < RTE_DIM(refused); i++) {
			for (uint32_t p = 0; p < 3; p++) {
				pkts[p] = bed_mbuf(bed->mp, 100, p);
				pkts[p]->l2_len = 14;
				pkts[p]->l3_len = 20;
				pkts[p]->l4_len = 20;
			}
			pkts[1]->ol_flags |= refused[i];
			rte_errno = 0;
			assert_eq(mana_tx_pkt_prepare(bed->txq, pkts, 3), 1);
			assert_int_equal(rte_errno, ENOTSUP);
			assert_eq(burst(bed, pkts, 3), 3);
			expect_frame(bed, 100, 0);
			expect_frame(bed, 100, 2);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		assert_eq(bed->txq->stats.drop_offload,
			  (path + 1) * RTE_DIM(refused));
	}
	bed_tx_delete(bed);
}

/* Words that only describe the packet ask for nothing. */
static void
descriptions_are_no_requests(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t path = 0; path < 4; path++) {
		m = bed_mbuf(bed->mp, 100, 7);
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 |
			       RTE_MBUF_F_TX_TUNNEL_GRE |
			       RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN;
		bed->burst = mana_tx_path_select(path)->burst;
		assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, 100, 7);
		assert_false(wqe.oob.ip_csum || wqe.oob.tcp_csum ||
			     wqe.oob.udp_csum);
		assert_eq(wqe.oob.trans_off, 0);
		assert_eq(wqe.nb_bu, 1);
	}
	bed_tx_delete(bed);
}

static void
vlan_tags(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){ .vp_offset = 5 });
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t tci = 0; tci < 65536; tci += 257) {
		m = bed_mbuf(bed->mp, 60, tci);
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = tci;
		bed->burst = mana_tx_path_select(tci % 4)->burst;
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, 60, tci);
		assert_eq(wqe.oob.pkt_fmt, HW_PKT_FMT_LONG);
		assert_true(wqe.oob.inject_vlan);
		assert_eq(wqe.oob.tci, tci);
		assert_eq(wqe.oob.short_vp, 5);
		assert_eq(wqe.oob.long_vp, 5);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	bed_tx_delete(bed);
}

/* bed_tx_fetch() checks both fields against the offset of the queue. */
static void
vport_offsets(void **state)
{
	const uint32_t offsets[] = { 1, 255, 256, 300, 4095 };
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(offsets) * 4; i++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.vp_offset = offsets[i / 4] });

		bed->burst = mana_tx_path_select(i % 4)->burst;
		m = bed_mbuf(bed->mp, 60, i);
		assert_eq(burst(bed, &m, 1), 1);
		expect_frame(bed, 60, i);
		assert_eq(wqe.oob.pkt_fmt, offsets[i / 4] > 255);
		assert_false(wqe.oob.inject_vlan);
		bed_tx_delete(bed);
	}
}

static void
memory_without_key_is_dropped(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mempool *other = bed_pool("unregistered", 8, 2048);
	struct rte_mbuf *pkts[4];

	(void)state;
	pkts[0] = bed_mbuf(bed->mp, 60, 0);
	pkts[1] = bed_mbuf(other, 60, 1);
	pkts[2] = bed_mbuf(bed->mp, 60, 2);
	assert_eq(rte_pktmbuf_chain(pkts[2], bed_mbuf(other, 60, 62)), 0);
	pkts[3] = bed_mbuf(bed->mp, 60, 3);
	assert_eq(burst(bed, pkts, 4), 4);
	expect_frame(bed, 60, 0);
	expect_frame(bed, 60, 3);
	assert_false(bed_tx_fetch(bed, &wqe));
	assert_eq(bed->txq->stats.drop_mr, 2);
	assert_eq(bed_pool_missing(other, 8), 0);
	bed_tx_complete_all(bed);
	bed_tx_delete(bed);
	bed_pool_free(other);
}

static void
new_key_after_deregistration(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m = bed_mbuf(bed->mp, 60, 0);

	(void)state;
	assert_eq(burst(bed, &m, 1), 1);
	expect_frame(bed, 60, 0);
	bed_mr_clear();
	bed_mr_add_pool(bed->mp, 0x9001);
	m = bed_mbuf(bed->mp, 60, 1);
	assert_eq(burst(bed, &m, 1), 1);
	expect_frame(bed, 60, 1);
	assert_true(wqe.sge[0].key >= 0x9001);
	bed_tx_delete(bed);
}

static void
ext_free(void *addr, void *opaque)
{
	(void)addr;
	(*(uint32_t *)opaque)++;
}

/* Clones, second references, external buffers: freed once, when complete. */
static void
shared_mbufs(void **state)
{
	static uint8_t memory[4096] __rte_aligned(4096);
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = ext_free };
	struct rte_mbuf *pkts[3], *orig, *twice;
	uint32_t freed = 0;

	(void)state;
	bed_mr_add(memory, sizeof(memory), 0x5001);
	for (uint32_t i = 0; i < 60; i++)
		memory[i] = 40 + i;
	shinfo.fcb_opaque = &freed;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);

	orig = bed_mbuf(bed->mp, 60, 10);
	pkts[0] = rte_pktmbuf_clone(orig, bed->mp);
	pkts[1] = twice = bed_mbuf(bed->mp, 60, 20);
	rte_mbuf_refcnt_update(twice, 1);
	pkts[2] = rte_pktmbuf_alloc(bed->mp);
	rte_pktmbuf_attach_extbuf(pkts[2], memory, RTE_BAD_IOVA, sizeof(memory),
				  &shinfo);
	assert_non_null(rte_pktmbuf_append(pkts[2], 60));
	assert_eq(burst(bed, pkts, 3), 3);
	expect_frame(bed, 60, 10);
	expect_frame(bed, 60, 20);
	expect_frame(bed, 60, 40);
	assert_eq(wqe.sge[0].key, 0x5001);
	assert_eq(freed, 0);
	assert_eq(rte_mbuf_refcnt_read(orig), 2);
	for (uint32_t i = 0; i < 3; i++)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	mana_txq_done_cleanup(bed->txq, 0);
	assert_eq(freed, 1);
	assert_eq(rte_mbuf_refcnt_read(orig), 1);
	assert_eq(rte_mbuf_refcnt_read(twice), 1);
	rte_pktmbuf_free(orig);
	rte_pktmbuf_free(twice);
	bed_tx_delete(bed);
}

/* Each mbuf goes back to its own pool, however they are mixed. */
static void
many_pools(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mempool *pool[3];
	struct rte_mbuf *pkts[16];
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		pool[i] = bed_pool(name, 128, 2048);
		bed_mr_add_pool(pool[i], 0x6001 + 256 * i);
	}
	for (uint32_t turn = 0; turn < 300; turn++) {
		for (uint32_t i = 0; i < 16; i++)
			pkts[i] = bed_mbuf(pool[turn % 7 < 3 ? turn % 3 :
					   (turn * 5 + i * turn) % 3], 60, i);
		assert_eq(burst(bed, pkts, 16), 16);
		if (turn % 3 == 2)
			bed_tx_complete_all(bed);
	}
	bed_tx_complete_all(bed);
	mana_txq_done_cleanup(bed->txq, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_eq(bed_pool_missing(pool[i], 128), 0);
		bed_pool_free(pool[i]);
	}
	bed_tx_delete(bed);
}

static void
restart(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
	for (uint32_t turn = 1; turn <= 5; turn++) {
		for (uint32_t i = 0; i < 32; i++)
			pkts[i] = bed_chain(bed->mp, 1 + i % 3, 60, i);
		assert_eq(burst(bed, pkts, 32), 32);
		assert_eq(mana_txq_packets(bed->txq), turn * 32);
		for (uint32_t i = 0; i < 10; i++) {
			assert_true(bed_tx_fetch(bed, &wqe));
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		mana_txq_close(bed->txq);
		pkts[0] = bed_mbuf(bed->mp, 60, 0);
		assert_eq(burst(bed, pkts, 1), 0);
		rte_pktmbuf_free(pkts[0]);
		mana_txq_release_mbufs(bed->txq);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
		memset(bed->sq_ring, 0xff, bed->conf.sq_bytes);
		memset(bed->cq.ring, 0, bed->cq.nb_cqe * HW_CQE_BYTES);
		memset(bed->db_page, 0, HW_DB_PAGE_BYTES);
		bed->cq.pi = bed->cq.nb_cqe;
		bed->ci = bed->done_bu = 0;
		assert_eq(mana_txq_init(bed->txq, &bed->conf), 0);
	}
	bed_tx_delete(bed);
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

/* Asked after a stop, when the rings are no more. */
static void
stopped_queue_is_harmless(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	struct rte_mbuf *m = bed_mbuf(bed->mp, 60, 0);
	struct gdma_cqe *ring = bed->txq->cq.ring;

	(void)state;
	assert_eq(burst(bed, &m, 1), 1);
	bed_tx_complete_all(bed);
	mana_txq_close(bed->txq);
	bed->txq->cq.ring = (void *)4096;
	assert_eq(mana_txq_nb_done(bed->txq), 0);
	assert_eq(mana_txq_done_cleanup(bed->txq, 0), 0);
	bed->txq->cq.ring = ring;
	bed_tx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_cover_what_is_asked),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(bursts_of_every_size),
		cmocka_unit_test(bursts_across_the_index_wrap),
		cmocka_unit_test(burst_of_nothing),
		cmocka_unit_test(chains_at_every_position),
		cmocka_unit_test(ring_full_of_chains),
		cmocka_unit_test(full_ring_never_stalls),
		cmocka_unit_test(empty_segments_are_left_out),
		cmocka_unit_test(empty_segments_do_not_count),
		cmocka_unit_test(too_many_segments_are_copied),
		cmocka_unit_test(segment_limit_is_that_of_the_queue),
		cmocka_unit_test(drops_what_it_cannot_copy),
		cmocka_unit_test(copies_only_with_room),
		cmocka_unit_test(malformed_packets_are_dropped),
		cmocka_unit_test(refused_requests_are_dropped),
		cmocka_unit_test(descriptions_are_no_requests),
		cmocka_unit_test(vlan_tags),
		cmocka_unit_test(vport_offsets),
		cmocka_unit_test(memory_without_key_is_dropped),
		cmocka_unit_test(new_key_after_deregistration),
		cmocka_unit_test(shared_mbufs),
		cmocka_unit_test(many_pools),
		cmocka_unit_test(restart),
		cmocka_unit_test(zeroed_queue_is_harmless),
		cmocka_unit_test(stopped_queue_is_harmless),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
