/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx WQEs of several segments: all counts, borders and shortages. */

#include <sys/mman.h>
#include <unistd.h>

#include <rte_ether.h>

#include "fixture.h"

/* The packet type that a hash of TCP over IPv4 tells. */
#define TCP_OF_HASH (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP)

static uint16_t
burst(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select()->burst(rxq, pkts, nb);
}

/*
 * The pools lack at least the mbufs of posted WQEs, at most those of all slots.
 */
static void
check_held(const struct fx_rx *fx)
{
	uint32_t posted = mana_hwq_nb_posted(fx->hwq) * fx->nb_segs;
	uint32_t missing = 0;

	for (uint32_t i = 0; i < fx->nb_pools; i++)
		missing += fx_pool_missing(fx->seg_mp[i], fx->nb_mbufs);
	assert_true(missing >= posted);
	assert_true(missing <= (fx->fresh.mbuf_mask + 1) * fx->nb_segs);
}

static void
pass(struct fx_rx *fx, uint32_t len_bytes)
{
	struct rte_mbuf *m = NULL;

	fx_rx_okay(fx, len_bytes, 0);
	assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), 1);
	assert_eq(burst(fx->rxq, &m, 1), 1);
	fx_rx_check(fx, m, len_bytes, 0, 0);
	check_held(fx);
}

/* Frame lengths at, below and above each buffer border, and one byte. */
static void
pass_borders(struct fx_rx *fx)
{
	uint32_t edge = 0;

	pass(fx, 1);
	for (uint32_t i = 0; i < fx->nb_segs; i++) {
		edge += fx->segs[i].bytes;
		pass(fx, edge - 1);
		pass(fx, edge);
		if (edge < fx->room_bytes)
			pass(fx, edge + 1);
	}
}

FX_RX_TEST_EACH(every_number_of_buffers_at_every_border, nb, 1, FX_MAX_SEGS + 1,
		.nb_segs = nb, .nb_pool = 64 * nb)
{
	assert_eq(fx_rx_available(fx), 64);
	for (uint32_t lap = 0; lap < 10; lap++)
		pass_borders(fx);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 0);
}

/* Offsets, a pool per segment, half of them with external buffers. */
FX_RX_TEST_EACH(pools_and_offsets, nb, 2, 7, .nb_segs = nb, .seg_pools = true, .nb_pool = 70,
		.seg_offset = { 0, 97, 194, 291, 88, 185 })
{
	for (uint32_t lap = 0; lap < 20; lap++)
		pass_borders(fx);
}

/* BU indices and WQE indices wrap at different points. */
static const uint32_t wraps[] = { 0x7fffff80, 0xffffff00, 0xfffffffd, 0xffffffff };

FX_RX_TEST_EACH(across_the_index_wraps, i, 0, 5 * RTE_DIM(wraps), .start = wraps[i / 5],
		.nb_segs = 2 + i % 5 * 3, .nb_pool = 64 * (2 + i % 5 * 3))
{
	for (uint32_t lap = 0; lap < 10; lap++)
		pass_borders(fx);
}

/* A partially filled ring, bursts and coalesced CQEs of any size. */
FX_RX_TEST_EACH(bursts_and_coalesced, i, 0, 14, .nb_segs = 2 + (1 + 3 * i) % 5,
		.nb_desc = 50, .free_thresh = 1 + (1 + 3 * i) % 20)
{
	uint32_t sent = 0, got = 0, bytes = 0;
	const uint32_t size = 1 + 3 * i;
	struct rte_mbuf *pkts[64];
	uint32_t len[2048];

	while (got < 500) {
		while (fx_rx_available(fx) >= 4 && sent < 1000) {
			uint32_t nb = sent % 5;

			for (uint32_t k = 0; k < RTE_MAX(nb, 1u); k++)
				len[sent + k] = 1 + (sent + k) * 41 % fx->room_bytes;
			if (nb == 0)
				fx_rx_okay(fx, len[sent], 2u << 16);
			else
				fx_rx_coalesced(fx, &len[sent], nb, 2u << 16);
			sent += RTE_MAX(nb, 1u);
		}
		assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), sent - got);
		uint32_t nb = burst(fx->rxq, pkts, size);

		assert_eq(nb, RTE_MIN(size, sent - got));
		for (uint32_t k = 0; k < nb; k++) {
			bytes += len[got];
			fx_rx_check(fx, pkts[k], len[got++],
				    RTE_MBUF_F_RX_RSS_HASH, TCP_OF_HASH);
		}
		check_held(fx);
	}
	assert_eq(fx->hwq->packets, got);
	assert_eq(fx->hwq->bytes, bytes);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 0);
}

/* Unused segments of a short frame are reposted: one mbuf per frame. */
FX_RX_TEST(unused_buffers_are_kept, .nb_segs = 8, .nb_pool = 64 * 8 + 200, .free_thresh = 1)
{
	struct rte_mbuf *m, *held[200];

	for (uint32_t i = 0; i < RTE_DIM(held); i++) {
		fx_rx_okay(fx, 60, 0);
		assert_eq(burst(fx->rxq, &m, 1), 1);
		assert_eq(m->nb_segs, 1);
		held[i] = m;
		assert_eq(mana_hwq_nb_posted(fx->hwq), 64);
	}
	assert_eq(rte_mempool_avail_count(fx->mp), 0);
	for (uint32_t i = 0; i < RTE_DIM(held); i++)
		fx_rx_check(fx, held[i], 60, 0, 0);
}

/* A pool runs empty within a WQE; polls alone complete the refill. */
FX_RX_TEST_EACH(empty_pool, dry, 0, 3, .nb_segs = 3, .seg_pools = true, .free_thresh = 1)
{
	struct rte_mbuf *m, *taken[512];
	uint32_t nb_taken = 0, posted;

	while ((m = rte_pktmbuf_alloc(fx->seg_mp[dry])) != NULL)
		taken[nb_taken++] = m;
	for (uint32_t i = 0; i < 64; i++) {
		struct rte_mbuf *pkt;

		fx_rx_okay(fx, fx->room_bytes - 1, 0);
		assert_eq(burst(fx->rxq, &pkt, 1), 1);
		taken[nb_taken++] = pkt; /* needs all three pools */
	}
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_true(fx->hwq->stats.nombuf > 0);
	assert_true(fx->hwq->stats.ring_empty > 0);
	/* each returned mbuf is posted at once */
	for (posted = 0; posted < 64; posted++) {
		rte_pktmbuf_free(taken[posted]);
		assert_eq(burst(fx->rxq, &m, 1), 0);
		assert_eq(mana_hwq_nb_posted(fx->hwq), posted + 1);
	}
	assert_eq(fx_rx_available(fx), 64);
	while (posted < nb_taken)
		rte_pktmbuf_free(taken[posted++]);
	for (uint32_t i = 0; i < 64; i++)
		fx_rx_skip(fx);
	pass_borders(fx);
}

/* An arming thread stops polling, so arming refills the ring. */
FX_RX_TEST(arming_fills_an_empty_ring, .nb_segs = 3, .nb_desc = 2, .nb_pool = 2 * 3)
{
	struct rte_mbuf *pkts[2];
	bool wakes = false;

	fx_rx_okay(fx, fx->room_bytes, 0);
	fx_rx_okay(fx, fx->room_bytes, 0);
	assert_eq(burst(fx->rxq, pkts, 2), 2);
	assert_int_equal(mana_hwq_arm(fx->hwq, &wakes), -ENOMEM);
	fx_rx_check(fx, pkts[0], fx->room_bytes, 0, 0);
	fx_rx_check(fx, pkts[1], fx->room_bytes, 0, 0);
	assert_int_equal(mana_hwq_arm(fx->hwq, &wakes), 0);
	assert_eq(fx_rx_available(fx), 2);
	/* A CQE already in the ring causes no event: arm reports a wake-up. */
	assert_false(wakes);
	fx_rx_okay(fx, fx->room_bytes, 0);
	assert_int_equal(mana_hwq_arm(fx->hwq, &wakes), 0);
	assert_true(wakes);
	assert_eq(burst(fx->rxq, pkts, 2), 1);
	fx_rx_check(fx, pkts[0], fx->room_bytes, 0, 0);
	pass_borders(fx);
}

FX_RX_TEST(unregistered_memory, .nb_segs = 4, .no_open = true)
{
	fx_mr_deny = true;
	assert_int_equal(mana_hwq_fill(fx->hwq), -EFAULT);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(fx->hwq->stats.mr_failed, 1);
	fx_mr_deny = false;
	assert_int_equal(mana_hwq_fill(fx->hwq), 0);
	mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
	pass_borders(fx);
}

/* A key that comes later is no failure. The mbufs that were taken stay in their slot. */
FX_RX_TEST_EACH(key_that_comes_later, nb_segs, 1, 5, .nb_segs = nb_segs, .no_open = true)
{
	fx_mr_later = true;
	assert_int_equal(mana_hwq_fill(fx->hwq), -EAGAIN);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	/* A slot of one mbuf is full, and is not posted either. */
	mana_hwq_repost(fx->hwq, fx->rxq, UINT32_MAX);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 1);
	assert_eq(fx->hwq->stats.mr_failed, 0);
	fx_mr_later = false;
	assert_int_equal(mana_hwq_fill(fx->hwq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 64 * nb_segs);
	mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
	pass_borders(fx);
}

/* Invalid lengths between good ones: each uses a WQE. */
FX_RX_TEST(hostile_lengths, .nb_segs = 5)
{
	const uint32_t bad[] = { 1, 2, 0x7fff, 0xffff }; /* 1, 2: beyond the room */
	struct rte_mbuf *pkts[8];

	for (uint32_t round = 0; round < 200; round++) {
		uint32_t len = bad[round % RTE_DIM(bad)];

		if (len == 1 || len == 2)
			len += fx->room_bytes;
		fx_rx_okay(fx, 100, 0);
		fx_rx_frame(fx, fx->room_bytes);
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, len);
		fx_rx_frame(fx, fx->room_bytes);
		fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 9000);
		fx_rx_okay(fx, fx->room_bytes, 0);
		assert_eq(burst(fx->rxq, pkts, 8), 2);
		fx_rx_check(fx, pkts[0], 100, 0, 0);
		fx_rx_skip(fx);
		fx_rx_skip(fx);
		fx_rx_check(fx, pkts[1], fx->room_bytes, 0, 0);
		check_held(fx);
	}
	assert_eq(fx->hwq->stats.oversize, 200);
	assert_eq(fx->hwq->stats.truncated, 200);
}

/* The same in coalesced CQEs. */
FX_RX_TEST(hostile_coalesced, .nb_segs = 3)
{
	struct rte_mbuf *pkts[8];

	for (uint32_t at = 0; at < 4; at++) {
		uint32_t len[4] = { 60, 61, 62, 63 };

		len[at] = fx->room_bytes + 1;
		fx_rx_coalesced(fx, len, 4, 0);
		assert_eq(burst(fx->rxq, pkts, 8), 3);
		for (uint32_t i = 0, k = 0; i < 4; i++) {
			if (i == at)
				fx_rx_skip(fx);
			else
				fx_rx_check(fx, pkts[k++], len[i], 0, 0);
		}
	}
	assert_eq(fx->hwq->stats.oversize, 4);
}

/* More packets than posted. */
FX_RX_TEST(spurious_cqes, .nb_segs = 3, .nb_pool = 3 * 2, .nb_desc = 2)
{
	struct rte_mbuf *pkts[8];

	fx_rx_okay(fx, fx->room_bytes, 0);
	fx_rx_okay(fx, fx->room_bytes, 0);
	for (uint32_t i = 0; i < 4; i++)
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60);
	fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 60);
	assert_eq(burst(fx->rxq, pkts, 8), 2);
	assert_eq(fx->hwq->stats.cqe_spurious, 5);
	rte_pktmbuf_free_bulk(pkts, 2);
}

/* Without VLAN strip: the tag is reinserted behind the MAC addresses. */
FX_RX_TEST_EACH(vlan_reinserted, first, 1, 21, .nb_segs = 4, .vlan_keep = true,
		.seg_bytes = { first, 1 + first % 7, 2, 100 })
{
	uint8_t got[256], want[256];

	for (uint32_t len = 14; len <= fx->room_bytes; len++) {
		uint32_t seq = fx->rx_seq, at = 0;
		struct rte_mbuf *m;

		for (uint32_t i = 0; i < len; i++)
			want[i < 12 ? i : i + 4] = i < 4 ?
				seq >> (8 * i) : (seq + i) * 7;
		memcpy(want + 12, (const uint8_t[]){ 0x81, 0, 0xa, 0xbc }, 4);
		fx_rx_okay(fx, len, 1u << 12 | 0xabc);
		assert_eq(burst(fx->rxq, &m, 1), 1);
		assert_eq(m->pkt_len, len + 4);
		assert_eq(m->data_off, RTE_PKTMBUF_HEADROOM - 4);
		for (struct rte_mbuf *seg = m; seg != NULL; seg = seg->next) {
			memcpy(got + at, rte_pktmbuf_mtod(seg, void *),
			       seg->data_len);
			at += seg->data_len;
		}
		assert_eq(at, len + 4);
		assert_memory_equal(got, want, at);
		fx_rx_check(fx, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
	}
	/* shorter than its addresses: only bounds matter */
	for (uint32_t len = 1; len < 14; len++) {
		struct rte_mbuf *m;

		fx_rx_okay(fx, len, 1u << 12 | 1);
		assert_eq(burst(fx->rxq, &m, 1), 1);
		fx_rx_check(fx, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
	}
}

FX_RX_TEST(vlan_stripped, .nb_segs = 3)
{
	struct rte_mbuf *m;

	fx_rx_okay(fx, fx->room_bytes, 1u << 12 | 7);
	assert_eq(burst(fx->rxq, &m, 1), 1);
	assert_eq(m->vlan_tci, 7);
	fx_rx_check(fx, m, fx->room_bytes,
		    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
}

FX_RX_TEST(invalid_sizes_are_rejected, .nb_segs = 3, .no_open = true)
{
	struct mana_queue_rings rings;
	struct mana_hwq *hwq = fx->hwq;
	struct mana_rx_seg *segs = hwq->scatter.segs;

#define EXPECT(code, change) do { \
	rings = fx->rings;  \
	*hwq = fx->fresh;  \
	change; \
	assert_int_equal(mana_hwq_init(hwq, &rings, FX_PORT_ID), code);  \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, hwq->scatter.nb_segs = 16);
	EXPECT(-EINVAL, rings.ring_bytes = 4096; hwq->nb_desc = 65; hwq->mbuf_mask = 127);
	EXPECT(-EINVAL, segs[1].mp = NULL);
	EXPECT(-EINVAL, segs[1].bytes = 0);
	EXPECT(-EINVAL, segs[1].bytes = 2048 + RTE_PKTMBUF_HEADROOM + 1);
	EXPECT(-EINVAL, segs[1].offset = 2048 + RTE_PKTMBUF_HEADROOM);
	EXPECT(-ENOTSUP, hwq->scatter.nb_segs = 1; segs[0].bytes = RTE_ETHER_MIN_LEN - 1);
	EXPECT(-ENOTSUP, hwq->vlan_strip = false; segs[0].offset = 3);
	EXPECT(0, hwq->vlan_strip = false; segs[0].offset = 4);
	EXPECT(0, segs[1].bytes = 2048 + RTE_PKTMBUF_HEADROOM);
#undef EXPECT
}

/* The WQ cannot be destroyed: posted mbufs leak, the others are freed. */
FX_RX_TEST(wq_that_cannot_be_destroyed, .nb_segs = 4, .free_thresh = 30)
{
	struct rte_mbuf *pkts[10];
	uint32_t posted;

	for (uint32_t i = 0; i < 10; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(burst(fx->rxq, pkts, 10), 10);
	for (uint32_t i = 0; i < 10; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
	posted = mana_hwq_nb_posted(fx->hwq);
	assert_eq(posted, 54);
	fx_hwq_release(fx->hwq, false);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), posted * 4);
	/* the fixture frees them: no device uses them here */
	for (uint32_t i = 0; i < posted; i++) {
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t at = (fx->ci * HW_BU_BYTES + 16 + 16 * k) &
				      (fx->rings.ring_bytes - 1);
			struct hw_sge sge = hw_sge_read(fx->rq_ring + at);
			uintptr_t addr = sge.addr - fx->segs[k].offset;

			rte_mempool_put(fx->mp, (uint8_t *)addr - sizeof(struct rte_mbuf) -
					rte_pktmbuf_priv_size(fx->mp));
		}
		fx->ci += fx->wqe_bu;
	}
}

/* Queues of one or more segments deliver the configured offloads only. */
FX_RX_TEST_EACH(queues_deliver_configured_offloads, i, 0, 4,
		.nb_segs = i < 2 ? 0 : 2, .no_csum = i % 2 == 0)
{
	const uint32_t cqe = 1u << 25 | 1u << 27 | 2u << 16;
	uint64_t want = RTE_MBUF_F_RX_RSS_HASH;
	struct rte_mbuf *m;

	fx_rx_okay(fx, fx->room_bytes, cqe);
	assert_eq(burst(fx->rxq, &m, 1), 1);
	if (i % 2 != 0)
		want |= RTE_MBUF_F_RX_IP_CKSUM_GOOD |
			RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	fx_rx_check(fx, m, fx->room_bytes, want, TCP_OF_HASH);
}

/* Headers in many segments are parsed. */
FX_RX_TEST(types_of_frames_in_pieces, .parse = true,
		.nb_segs = 9, .seg_bytes = { 1, 2, 3, 4, 5, 6, 7, 8, 100 })
{
	/* Ethernet, a tag, IPv4, UDP */
	const uint8_t frame[38] = { [12] = 0x81, [15] = 5, [16] = 8, [18] = 0x45,
				    [27] = 17 };
	struct rte_mbuf *m;

	fx_rx_okay(fx, 60, 0);
	for (uint32_t i = 0, at = 0; at < sizeof(frame); i++) {
		uint32_t part = RTE_MIN(sizeof(frame) - at, fx->segs[i].bytes);

		memcpy(rte_pktmbuf_mtod_offset(fx->mbufs[i], uint8_t *, 0) -
			       fx->mbufs[i]->data_off + fx->segs[i].offset,
		       frame + at, part);
		at += part;
	}
	assert_eq(burst(fx->rxq, &m, 1), 1);
	assert_eq(m->packet_type, RTE_PTYPE_L2_ETHER_VLAN |
		  RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP);
	rte_pktmbuf_free(m);
	fx_rx_skip(fx);
	/* a single byte has no packet type */
	fx_rx_okay(fx, 1, 0);
	assert_eq(burst(fx->rxq, &m, 1), 1);
	fx_rx_check(fx, m, 1, 0, 0);
}

/*
 * The control path may be replacing the rings: a burst of a paused rxq must
 * not access its hardware queue. Here such an access faults.
 */
FX_RX_TEST(paused_queue_is_not_accessed, .nb_segs = 3)
{
	const size_t page_bytes = sysconf(_SC_PAGESIZE);
	struct mana_rxq rxq;
	struct rte_mbuf *m = NULL;
	struct mana_hwq *hwq;

	assert_true(sizeof(*hwq) <= page_bytes);
	hwq = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(hwq != MAP_FAILED);
	memcpy(hwq, fx->hwq, sizeof(*hwq));
	hwq->next = NULL;
	fx_rxq_init(&rxq);
	mana_rxq_add(&rxq, hwq);
	mana_rxq_pause(&rxq, true);
	fx_rx_okay(fx, 100, 0);
	assert_eq(mprotect(hwq, page_bytes, PROT_NONE), 0);
	assert_eq(burst(&rxq, &m, 1), 0);
	assert_eq(rxq.is_busy, 0);
	assert_eq(mana_rxq_count(&rxq), 0);
	assert_eq(mprotect(hwq, page_bytes, PROT_READ | PROT_WRITE), 0);
	mana_rxq_pause(&rxq, false);
	/* Where a pause fails a burst may go on, whose members are not written again. */
	rxq.nb_spares = 1;
	mana_rxq_pause(&rxq, false);
	assert_eq(hwq->slow_flags, MANA_RX_SEE_RXQ);
	mana_rxq_pause(&rxq, true);
	assert_eq(mprotect(hwq, page_bytes, PROT_READ), 0);
	mana_rxq_pause(&rxq, false);
	assert_eq(mprotect(hwq, page_bytes, PROT_READ | PROT_WRITE), 0);
	rxq.nb_spares = 0;
	assert_eq(burst(&rxq, &m, 1), 1);
	assert_eq(rxq.is_busy, 0);
	fx_rx_check(fx, m, 100, 0, 0);
	memcpy(fx->hwq, hwq, sizeof(*hwq));
	munmap(hwq, page_bytes);
}

/* The device fills the first buffer only, and reports success. */
static uint16_t
pass_unscattered(struct fx_rx *fx, uint32_t len_bytes)
{
	struct rte_mbuf *m = NULL;
	uint16_t nb;

	fx_rx_frame(fx, fx->segs[0].bytes);
	fx_rx_cqe(fx, HW_CQE_RX_OKAY, len_bytes);
	nb = burst(fx->rxq, &m, 1);
	fx_rx_skip(fx);
	if (nb != 0)
		rte_pktmbuf_free(m);
	return nb;
}

/*
 * The first packets show whether the device scatters; the check restarts with
 * each lap until then. After eight scattered packets it ends.
 */
FX_RX_TEST(scattering_is_proven, .nb_segs = 3, .nb_pool = 3 * 64)
{
	for (uint32_t i = 0; i < 150; i++) {
		uint32_t len = fx->segs[0].bytes + 16 + i % 100;

		assert_eq(pass_unscattered(fx, len), 0);
		assert_eq(fx->hwq->stats.unscattered, i + 1);
		/* the check cannot tell if few bytes are missing */
		if (i % 10 == 0)
			assert_eq(pass_unscattered(fx, fx->segs[0].bytes), 1);
	}
	assert_eq(pass_unscattered(fx, fx->segs[0].bytes + 1), 0);
	for (uint32_t i = 0; i < 8; i++) {
		assert_eq(pass_unscattered(fx, fx->room_bytes), 0);
		pass(fx, fx->room_bytes - i);
	}
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 150 + 1 + 8);
	assert_eq(pass_unscattered(fx, fx->room_bytes), 1);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 150 + 1 + 8);
}
