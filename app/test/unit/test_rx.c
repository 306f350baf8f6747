/* SPDX-License-Identifier: BSD-3-Clause */

/* What a well-behaved device sends, in every form and position. */

#include <rte_cpuflags.h>
#include <rte_ether.h>
#include <rte_vect.h>

#include "fixture.h"

/* A processor that lacks what EAL does not require. */
static bool is_old_processor;

int __real_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t flag);
int __wrap_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t flag);

int
__wrap_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t flag)
{
	return is_old_processor ? 0 : __real_rte_cpu_get_flag_enabled(flag);
}

static const struct mana_rx_path *
path(const char *name)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (strcmp(mana_rx_paths[i].name, name) == 0)
			return &mana_rx_paths[i];
	fail_msg("no path %s", name);
	return NULL;
}

TEST(paths_are_found)
{
	const struct mana_rx_path *p = mana_rx_path_select();

	assert_true(mana_rx_path_is_allowed(p));
	assert_string_equal(mana_rx_burst_name(p->burst), p->name);
	assert_null(mana_rx_burst_name(NULL));
	/* Never wider than EAL allows. */
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_128), 0);
	assert_eq(mana_rx_path_select()->simd_bits, RTE_VECT_SIMD_128);
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	assert_eq(mana_rx_path_select()->simd_bits, 0);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		assert_eq(mana_rx_path_is_allowed(&mana_rx_paths[i]),
			  mana_rx_paths[i].simd_bits == 0);
		if (i > 0)
			assert_true(mana_rx_paths[i].simd_bits <
				    mana_rx_paths[i - 1].simd_bits);
	}
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_MAX), 0);
	/* Never wider than the processor's vectors. */
	is_old_processor = true;
	assert_eq(mana_rx_path_select()->simd_bits, RTE_VECT_SIMD_128);
	is_old_processor = false;
}

/*
 * Bursts of every size, frames of many lengths, many laps, from every start.
 * The number of pending frames varies from none to the whole ring.
 */
static void
rx_every_burst_size(uint32_t start, bool pinned, const struct mana_rx_path *p,
		    uint32_t burst)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
		.start = start, .pinned = pinned });
	struct rte_mbuf *pkts[128];
	uint32_t sent = 0, got = 0, want_bytes = 0, turn, i;
	uint32_t len[1024];

	for (turn = 0; got < 600; turn++) {
		uint32_t ahead = fx_rx_available(fx);

		if (turn % 3 != 0)
			ahead = RTE_MIN(ahead, (turn * 7) % 40);
		for (i = 0; i < ahead && sent < RTE_DIM(len); i++, sent++) {
			len[sent] = 1 + (sent * 37) % FX_ROOM_BYTES;
			fx_rx_okay(fx, len[sent], 0);
		}
		memset(pkts, 0, sizeof(pkts));
		assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), sent - got);
		uint32_t nb = p->burst(fx->rxq, pkts, burst);

		assert_true(nb <= burst);
		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (i = 0; i < nb; i++) {
			want_bytes += len[got];
			fx_rx_check(fx, pkts[i], len[got++], 0, 0);
		}
		for (; i < RTE_DIM(pkts); i++)
			assert_null(pkts[i]);
	}
	assert_eq(fx->hwq->packets, got);
	assert_eq(fx->hwq->bytes, want_bytes);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 0);
	fx_rx_delete(fx);
}

TEST(rx_in_bursts_of_every_size)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 70; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_every_burst_size(0, false, &mana_rx_paths[i],
						    burst);
}

TEST(rx_across_the_index_wrap)
{
	const uint32_t starts[] = { 0x7fffff80, 0xffffff00, 0xffffffc0, 0xffffffff };

	for (uint32_t p = 0; p < mana_rx_nb_paths; p++)
		for (uint32_t i = 0; i < RTE_DIM(starts) + 96; i += i < 4 ? 1 : 5)
			if (mana_rx_path_is_allowed(&mana_rx_paths[p]))
				rx_every_burst_size(i < RTE_DIM(starts) ? starts[i] : -i, false,
						    &mana_rx_paths[p], 32);
}

TEST(rx_into_pinned_buffers)
{
	rx_every_burst_size(0, true, path("Scalar"), 32);
	rx_every_burst_size(0, true, path("Scalar"), 5);
}

FX_RX_TEST(rx_burst_of_nothing)
{
	fx_rx_okay(fx, 100, 0);
	assert_eq(path("Scalar")->burst(fx->rxq, NULL, 0), 0);
	assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), 1);
}

/* All 64 combinations of the checksum bits. */
FX_RX_TEST(rx_checksum_flags)
{
	struct rte_mbuf *m;

	for (uint32_t bits = 0; bits < 64; bits++) {
		bool ip_ok = bits & 1, ip_bad = bits & 2;
		bool l4_ok = bits & 0x14, l4_bad = bits & 0x28;
		uint64_t want = 0;

		if (ip_ok != ip_bad)
			want |= ip_ok ? RTE_MBUF_F_RX_IP_CKSUM_GOOD :
					RTE_MBUF_F_RX_IP_CKSUM_BAD;
		if (l4_ok != l4_bad)
			want |= l4_ok ? RTE_MBUF_F_RX_L4_CKSUM_GOOD :
					RTE_MBUF_F_RX_L4_CKSUM_BAD;
		fx_rx_okay(fx, 60, bits << 25);
		assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
		fx_rx_check(fx, m, 60, want, 0);
	}
}

/* The hash type is a mask: any set bit means a hash. */
FX_RX_TEST(rx_hash_and_packet_type)
{
	struct rte_mbuf *m;

	for (uint32_t type = 0; type < 512; type++) {
		bool v4 = type & 0x007, v6 = type & 0x1f8;
		bool tcp = type & 0x092, udp = type & 0x124;
		uint32_t want = type == 0 ? 0 : RTE_PTYPE_L2_ETHER;

		if (v4 != v6)
			want |= v4 ? RTE_PTYPE_L3_IPV4_EXT_UNKNOWN :
				     RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
		if (tcp != udp)
			want |= tcp ? RTE_PTYPE_L4_TCP : RTE_PTYPE_L4_UDP;
		fx_rx_okay(fx, 60, type << 16);
		assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
		fx_rx_check(fx, m, 60,
			    type == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH, want);
	}
}

/* Each of the nine bits of the hash type means a hash. */
FX_RX_TEST_ON_EACH_PATH(hash_type)
{
	const uint64_t mask = RTE_MBUF_F_RX_RSS_HASH;
	const uint32_t l3_l4 = RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;
	static const uint32_t ptypes[9] = {
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP,
	};
	struct rte_mbuf *pkts[8];

	/* Eight equal CQEs, and one different CQE at each index. */
	for (uint32_t bit = 0; bit < 9; bit++)
		for (uint32_t at = 0; at < 8; at++) {
			for (uint32_t i = 0; i < 8; i++)
				fx_rx_okay(fx, 60, i == at ? 0 : 1u << (16 + bit));
			assert_eq(fx_rx_burst(fx->rxq, pkts, 8), 8);
			for (uint32_t i = 0; i < 8; i++) {
				assert_eq(pkts[i]->ol_flags & mask,
					  i == at ? 0 : mask);
				if (i != at)
					assert_eq(pkts[i]->packet_type & l3_l4,
						  ptypes[bit]);
				fx_rx_check_data(fx, pkts[i], 60);
			}
		}
}

/* Types that need not be set are right or unknown, in CQEs of one packet and of four. */
FX_RX_TEST_ON_EACH_PATH(rx_without_packet_types, .no_ptypes = true)
{
	const uint32_t flags = HW_HASH_TCP_IPV4 << HW_RX_F_HASH_TYPE_S;
	const uint32_t type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
			      RTE_PTYPE_L4_TCP;
	const uint32_t len[4] = { 60, 60, 60, 60 };
	struct rte_mbuf *pkts[32];

	for (uint32_t nb = 4; nb <= RTE_DIM(pkts); nb++) {
		for (uint32_t i = 4; i < nb; i++)
			fx_rx_okay(fx, 60, flags);
		fx_rx_coalesced(fx, len, 4, flags);
		assert_eq(fx_rx_burst(fx->rxq, pkts, nb), nb);
		for (uint32_t i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60, RTE_MBUF_F_RX_RSS_HASH,
				    pkts[i]->packet_type == 0 ? 0 : type);
	}
}

FX_RX_TEST(rx_vlan_stripped)
{
	struct rte_mbuf *m;

	fx_rx_okay(fx, 60, 1u << 12 | 0xabc);
	assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
	assert_eq(m->vlan_tci, 0xabc);
	fx_rx_check(fx, m, 60,
		    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	/* A VLAN identifier without the VLAN flag. */
	fx_rx_okay(fx, 60, 0xabc);
	assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
	fx_rx_check(fx, m, 60, 0, 0);
}

static void
check_reinserted(struct rte_mbuf *m, uint32_t len, uint32_t seq, uint16_t id)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	assert_eq(m->data_off, RTE_PKTMBUF_HEADROOM - 4);
	assert_eq(m->data_len, len + 4);
	for (uint32_t i = 0; i < len; i++) {
		uint8_t want = i < 4 ? seq >> (8 * i) : (seq + i) * 7;

		assert_eq(data[i < 12 ? i : i + 4], want);
	}
	assert_eq(hw_be16(data + 12), RTE_ETHER_TYPE_VLAN);
	assert_eq(hw_be16(data + 14), id);
	assert_eq(m->vlan_tci, id);
}

/* Without VLAN strip the driver reinserts the tag. */
FX_RX_TEST_EACH(rx_vlan_reinserted, pinned, 0, 2, .vlan_keep = true, .pinned = pinned)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t len = i % 2 ? FX_ROOM_BYTES : 14;

		fx_rx_okay(fx, len, 1u << 12 | i);
		assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
		check_reinserted(m, len, i, i);
		fx_rx_check(fx, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
	}
	assert_eq(fx->hwq->bytes, 100 * (FX_ROOM_BYTES + 14 + 8));
	/* The packet type includes the reinserted tag. */
	fx_rx_okay(fx, 60, 1u << 12 | 5 | 2u << 16);
	assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
	fx_rx_check(fx, m, 64,
		    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_RSS_HASH,
		    RTE_PTYPE_L2_ETHER_VLAN |
		    RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP);
}

/*
 * CQEs of 1 to max (4 or 8) packets, mixed with single ones, in every burst
 * size: a burst resumes a partially consumed CQE.
 */
static void
rx_coalesced_resumed(const struct mana_rx_path *p, uint32_t max, uint32_t burst,
		     uint32_t seed)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	uint32_t len[1024], sent = 0, got = 0;
	struct rte_mbuf *pkts[70];

	while (got < 400) {
		while (fx_rx_available(fx) >= max && sent < 800) {
			uint32_t kind = (sent + seed) % (max + 1);
			uint32_t nb = kind == 0 ? 1 : kind;

			for (uint32_t i = 0; i < nb; i++)
				len[sent + i] = 1 + (sent + i) * 5 %
						FX_ROOM_BYTES;
			if (kind == 0)
				fx_rx_okay(fx, len[sent], 2u << 16);
			else if (max == 4)
				fx_rx_coalesced(fx, &len[sent], nb, 2u << 16);
			else
				fx_rx_coalesced_8(fx, &len[sent], nb, 2u << 16);
			sent += nb;
		}
		assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), sent - got);
		uint32_t nb = p->burst(fx->rxq, pkts, burst);

		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (uint32_t i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], len[got++],
				    RTE_MBUF_F_RX_RSS_HASH, RTE_PTYPE_L2_ETHER |
				    RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
				    RTE_PTYPE_L4_TCP);
	}
	assert_eq(fx->hwq->packets, got);
	assert_eq(mana_hwq_stats_errors(&fx->hwq->stats), 0);
	fx_rx_delete(fx);
}

TEST(rx_coalesced)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 64; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_coalesced_resumed(&mana_rx_paths[i], 4, burst,
						     burst);
}

TEST(rx_coalesced_8)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 64; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_coalesced_resumed(&mana_rx_paths[i], 8, burst,
						     burst);
}

/* A stop frees the mbufs of a partially consumed CQE. */
FX_RX_TEST(rx_stop_in_the_middle_of_a_cqe)
{
	const uint32_t len[4] = { 60, 61, 62, 63 };
	struct rte_mbuf *m;

	fx_rx_coalesced(fx, len, 4, 0);
	assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
	fx_rx_check(fx, m, 60, 0, 0);
	assert_eq(mana_hwq_nb_waiting(fx->hwq, UINT32_MAX), 3);
	mana_hwq_close(fx->hwq);
	assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 0);
}

/* Restart after a stop: indices start at 0, statistics continue. */
FX_RX_TEST(rx_restart)
{
	struct rte_mbuf *pkts[32];

	for (uint32_t turn = 1; turn <= 5; turn++) {
		for (uint32_t i = 0; i < 10; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(path("Scalar")->burst(fx->rxq, pkts, 7), 7);
		for (uint32_t i = 0; i < 7; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
		for (uint32_t i = 0; i < 3; i++)
			fx_rx_skip(fx);
		assert_eq(fx->hwq->packets, turn * 7);

		mana_hwq_close(fx->hwq);
		fx_hwq_release(fx->hwq, true);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		memset(fx->rq_ring, 0xff, fx->rings.ring_bytes);
		memset(fx->cq.ring, 0, fx->cq.nb_cqe * HW_CQE_BYTES);
		memset(fx->db_page, 0, HW_DB_PAGE_BYTES);
		fx->cq.pi = fx->cq.nb_cqe;
		fx->ci = 0;
		assert_eq(mana_hwq_init(fx->hwq, &fx->rings, FX_PORT_ID), 0);
		assert_eq(mana_hwq_fill(fx->hwq), 0);
		assert_eq(fx_rx_available(fx), 0); /* no doorbell yet */
		mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
		assert_eq(fx_rx_available(fx), 64);
	}
}

/* An empty poll rxq. */
TEST(rx_list_of_none)
{
	struct mana_rxq rxq;
	struct rte_mbuf *m = NULL;

	fx_rxq_init(&rxq);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
			assert_eq(mana_rx_paths[i].burst(&rxq, &m, 1), 0);
	assert_eq(rxq.is_busy, 0);
	assert_eq(mana_rxq_count(&rxq), 0);
	assert_eq(mana_rxq_desc_state(&rxq, 0), RTE_ETH_RX_DESC_UNAVAIL);
	/* One that is not set up. */
	assert_eq(mana_rxq_count(NULL), 0);
}

/* Completions without a packet fill the CQ; a closed CQ has none, and nothing posted. */
FX_RX_TEST(rx_list_of_one)
{
	bool wakes = false;

	for (uint32_t i = 0; i < fx->cq.nb_cqe; i++)
		fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(mana_rxq_count(fx->rxq), 0);
	assert_eq(mana_rxq_desc_state(fx->rxq, 63), RTE_ETH_RX_DESC_AVAIL);
	mana_cq_close(&fx->hwq->cq);
	assert_eq(mana_rxq_desc_state(fx->rxq, 0), RTE_ETH_RX_DESC_UNAVAIL);
	assert_eq(mana_hwq_arm(fx->hwq, &wakes), 0);
	assert_false(wakes);
	assert_eq(fx->hwq->stats.cq_doorbells, 0);
}

/* Packets that no burst has taken wake at once: of a CQE in part, and a whole one. */
FX_RX_TEST(arm_with_packets_waiting)
{
	const uint32_t len[4] = { 60, 61, 62, 63 };
	struct rte_mbuf *m;

	fx_rx_coalesced(fx, len, 4, 0);
	for (uint32_t left = 4; left <= 4; left--) {
		bool wakes = false;

		assert_eq(mana_hwq_arm(fx->hwq, &wakes), 0);
		assert_eq(wakes, left != 0);
		assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), left != 0);
		if (left != 0)
			rte_pktmbuf_free(m);
	}
}

/* Packets that came for a stopped queue are dropped, and their buffers posted again. */
static void
packets_are_recycled(const struct fx_rx_opts *opts, uint32_t nb_taken)
{
	const uint32_t len[4] = { 60, 61, 62, 63 };
	struct fx_rx *fx = fx_rx_new(opts);
	struct rte_mbuf *pkts[8];
	uint32_t nb_free;

	fx_rx_coalesced(fx, len, 4, 0);
	assert_eq(path("Scalar")->burst(fx->rxq, pkts, nb_taken), nb_taken);
	for (uint32_t i = 0; i < nb_taken; i++)
		fx_rx_check(fx, pkts[i], len[i], 0, 0);
	fx_rx_frame(fx, 60);
	fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 9000);
	fx_rx_okay(fx, 70, 0);
	nb_free = rte_mempool_avail_count(fx->mp);
	assert_eq(mana_hwq_recycle(fx->hwq), 4 - nb_taken + 2);
	assert_eq(rte_mempool_avail_count(fx->mp), nb_free);
	/* a slot without mbufs is before those of several buffers */
	assert_eq(fx_rx_available(fx), fx->nb_segs == 1 || nb_taken == 0 ?
					       64 - nb_taken : 64 - 6);
	for (uint32_t i = nb_taken; i < 4 + 2; i++)
		fx_rx_skip(fx);
	for (uint32_t i = 0; i < 200; i++) {
		fx_rx_okay(fx, 71, 0);
		assert_eq(path("Scalar")->burst(fx->rxq, pkts, 1), 1);
		fx_rx_check(fx, pkts[0], 71, 0, 0);
	}
	assert_eq(fx->hwq->slow_flags, 0);
	/* A CQE that does not tell which WQE it completes: a burst decides. */
	fx_rx_okay(fx, 72, 0);
	fx_rx_cqe(fx, 20, 60);
	assert_eq(mana_hwq_recycle(fx->hwq), 1);
	assert_eq(path("Scalar")->burst(fx->rxq, pkts, 1), 0);
	assert_eq(mana_hwq_failure(fx->hwq), MANA_FAILURE_UNKNOWN_CQE);
	assert_eq(mana_hwq_recycle(fx->hwq), 0);
	fx_rx_delete(fx);
}

/* All entries of the CQ have a packet, one more than there are buffers. */
FX_RX_TEST(rx_recycled_from_a_full_cq, .nb_cqe = 64)
{
	struct rte_mbuf *m;

	assert_eq(fx_rx_available(fx), 63);
	for (uint32_t i = 0; i < 63; i++)
		fx_rx_okay(fx, 60, 0);
	fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60);
	assert_eq(mana_hwq_recycle(fx->hwq), 63);
	assert_eq(fx_rx_available(fx), 63);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 63);
	assert_eq(mana_hwq_recycle(fx->hwq), 0);
	for (uint32_t i = 0; i < 63; i++)
		fx_rx_skip(fx);
	for (uint32_t i = 0; i < 100; i++) {
		fx_rx_okay(fx, 70, 0);
		assert_eq(path("Scalar")->burst(fx->rxq, &m, 1), 1);
		fx_rx_check(fx, m, 70, 0, 0);
	}
}

TEST(rx_recycled)
{
	for (uint32_t nb_taken = 0; nb_taken < 4; nb_taken++) {
		packets_are_recycled(&(struct fx_rx_opts){ 0 }, nb_taken);
		packets_are_recycled(&(struct fx_rx_opts){
			.nb_segs = 3, .seg_bytes = { 20, 20, 2000 } }, nb_taken);
	}
}

/* A queue of nb_desc descriptors with no mbuf. */
static void
begin_again(struct fx_rx *fx, uint32_t nb_desc)
{
	fx->rxq->first = NULL;
	fx->fresh.nb_desc = nb_desc;
	fx->fresh.refill_thresh = mana_rx_refill_thresh(0, nb_desc, fx->cq.nb_cqe);
	fx_rx_begin(fx, 0);
}

/*
 * A new ring gets the mbufs of the old one, without access to the pool. Bursts return
 * those that it does not take, or fill the rest of it.
 */
static void
mbufs_are_posted_again(struct fx_rx_opts opts, uint32_t nb_old, uint32_t nb_new)
{
	const uint32_t nb_kept = nb_old - 7;
	struct rte_mbuf **before, *pkts[32];
	struct mana_rx_spares spares;
	struct fx_rx *fx;
	uint32_t nb_free;

	opts.nb_desc = 128;
	opts.nb_pool = 1024;
	opts.no_open = true;
	fx = fx_rx_new(&opts);
	begin_again(fx, nb_old);
	fx_rx_open(fx);
	for (uint32_t i = 0; i < 10; i++)
		fx_rx_okay(fx, 60, 0);
	assert_eq(path("Scalar")->burst(fx->rxq, pkts, 7), 7);
	for (uint32_t i = 0; i < 7; i++)
		fx_rx_check(fx, pkts[i], 60, 0, 0);
	assert_eq(mana_hwq_nb_posted(fx->hwq), nb_kept);
	mana_hwq_collect(fx->hwq, true, fx->rxq, &spares);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_true(spares.nb >= nb_kept * fx->nb_segs);
	before = fx->mbufs;
	fx->mbufs = calloc((fx->fresh.mbuf_mask + 1) * fx->nb_segs, sizeof(*fx->mbufs));
	fx->fresh.mbufs = fx->mbufs;
	begin_again(fx, nb_new);
	nb_free = rte_mempool_avail_count(fx->mp);
	mana_hwq_repost(fx->hwq, fx->rxq, UINT32_MAX);
	assert_eq(rte_mempool_avail_count(fx->mp), nb_free);
	assert_eq(mana_hwq_nb_posted(fx->hwq), RTE_MIN(nb_kept, nb_new));
	mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
	assert_eq(fx_rx_available(fx), RTE_MIN(nb_kept, nb_new));
	mana_rxq_pause(fx->rxq, false);
	for (uint32_t i = 0; i < 20; i++) {
		fx_rx_okay(fx, 60, 0);
		while (path("Scalar")->burst(fx->rxq, pkts, 1) == 0)
			continue;
		fx_rx_check(fx, pkts[0], 60, 0, 0);
	}
	assert_eq(fx->rxq->nb_spares, 0);
	assert_eq(fx->hwq->slow_flags, 0);
	assert_true(nb_new - mana_hwq_nb_posted(fx->hwq) < fx->fresh.refill_thresh);
	fx_rx_delete(fx);
	free(before);
}

TEST(rx_posted_again)
{
	const uint32_t sizes[] = { 16, 57, 64, 128 };

	for (uint32_t i = 0; i < RTE_DIM(sizes); i++) {
		mbufs_are_posted_again((struct fx_rx_opts){ 0 }, 64, sizes[i]);
		mbufs_are_posted_again((struct fx_rx_opts){
			.nb_segs = 3, .seg_bytes = { 20, 20, 2000 } }, 64, sizes[i]);
		mbufs_are_posted_again((struct fx_rx_opts){
			.nb_segs = 3, .seg_bytes = { 20, 20, 2000 },
			.seg_pools = true }, 64, sizes[i]);
	}
}

/* An mbuf of another pool is not posted: a burst returns it, also of an empty rxq. */
FX_RX_TEST(rx_spares_of_another_pool)
{
	struct fx_rx *other = fx_rx_new_beside(&(struct fx_rx_opts){ .no_open = true });
	struct mana_rx_spares spares;
	struct rte_mbuf *m;

	mana_hwq_collect(fx->hwq, true, other->rxq, &spares);
	other->rxq->first = NULL;
	mana_hwq_repost(other->hwq, other->rxq, UINT32_MAX);
	assert_eq(mana_hwq_nb_posted(other->hwq), 0);
	mana_rxq_pause(other->rxq, true);
	assert_eq(path("Scalar")->burst(other->rxq, &m, 1), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 64);
	mana_rxq_pause(other->rxq, false);
	assert_eq(path("Scalar")->burst(other->rxq, &m, 1), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(other->rxq->nb_spares, 0);
	fx_rx_delete(other);
}

/*
 * An mbuf whose key comes later is not posted, and remains for the next try. A queue that
 * opens without buffers rings no doorbell.
 */
FX_RX_TEST(rx_spares_without_key)
{
	struct rte_mbuf **before = fx->mbufs;
	struct mana_rx_spares spares;

	mana_hwq_collect(fx->hwq, true, fx->rxq, &spares);
	fx->mbufs = calloc(fx->fresh.mbuf_mask + 1, sizeof(*fx->mbufs));
	fx->fresh.mbufs = fx->mbufs;
	begin_again(fx, 64);
	fx_mr_forget();
	fx_mr_later = true;
	mana_hwq_repost(fx->hwq, fx->rxq, UINT32_MAX);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
	assert_eq(fx->rxq->nb_spares, 64);
	mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
	assert_eq(hw_le64(fx->db_page + HW_DB_RQ), 0);
	assert_eq(fx->hwq->slow_flags, MANA_RX_REFILL_RETRY);
	fx_mr_later = false;
	mana_hwq_repost(fx->hwq, fx->rxq, UINT32_MAX);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 64);
	assert_eq(fx->rxq->nb_spares, 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 64);
	free(before);
}

/* The hardware queues of one rxq take turns and keep their order. */
TEST(rx_list_of_three)
{
	struct fx_rx *fxs[3];
	struct mana_rxq rxq;
	uint32_t nb_of[3] = { 0 }, nb = 0;
	struct rte_mbuf *pkts[4];

	fx_rxq_init(&rxq);
	for (uint32_t i = 0; i < RTE_DIM(fxs); i++) {
		fxs[i] = i == 0 ? fx_rx_new(&(struct fx_rx_opts){ 0 }) :
				  fx_rx_new_beside(&(struct fx_rx_opts){ 0 });
		mana_rxq_add(&rxq, fxs[i]->hwq);
		for (uint32_t k = 0; k < 10; k++)
			fx_rx_okay(fxs[i], 60, 0);
	}
	mana_rxq_pause(&rxq, false);
	assert_eq(mana_rxq_count(&rxq), 30);
	assert_eq(mana_rxq_desc_state(&rxq, 29), RTE_ETH_RX_DESC_DONE);
	assert_eq(mana_rxq_desc_state(&rxq, 30), RTE_ETH_RX_DESC_AVAIL);
	assert_eq(mana_rxq_desc_state(&rxq, 3 * 64 - 1), RTE_ETH_RX_DESC_AVAIL);
	assert_eq(mana_rxq_desc_state(&rxq, 3 * 64), RTE_ETH_RX_DESC_UNAVAIL);
	/* A query does not touch rings that the control path may replace. */
	mana_rxq_pause(&rxq, true);
	assert_eq(mana_rxq_count(&rxq), 0);
	assert_eq(mana_rxq_desc_state(&rxq, 0), RTE_ETH_RX_DESC_UNAVAIL);
	mana_rxq_pause(&rxq, false);
	for (uint32_t got; (got = path("Scalar")->burst(&rxq, pkts, 4)) != 0;) {
		/* Only the last burst is short, and no packet is left. */
		assert_true(got == 4 || nb + got == 30);
		for (uint32_t k = 0; k < got; k++)
			for (uint32_t i = 0; i < RTE_DIM(fxs); i++)
				if (pkts[k]->pool == fxs[i]->mp) {
					fx_rx_check(fxs[i], pkts[k], 60, 0, 0);
					nb_of[i]++;
				}
		nb += got;
		for (uint32_t i = 0; nb < 24 && i < RTE_DIM(fxs); i++)
			assert_true(nb_of[i] <= nb / 3 + 4);
	}
	assert_eq(nb, 30);
	assert_eq(rxq.is_busy, 0);
	for (uint32_t i = 0; i < RTE_DIM(fxs); i++)
		fx_rx_delete(fxs[i]);
}
