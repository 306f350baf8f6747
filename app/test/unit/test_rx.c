/* SPDX-License-Identifier: BSD-3-Clause */

/* What a well-behaved device sends, in every form and position. */

#include <rte_cpuflags.h>
#include <rte_ether.h>
#include <rte_malloc.h>
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

static void
paths_are_found(void **state)
{
	const struct mana_rx_path *p = mana_rx_path_select(NULL);

	(void)state;
	assert_true(mana_rx_path_is_allowed(p));
	assert_ptr_equal(mana_rx_path_find(p->burst), p);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
			assert_ptr_equal(mana_rx_path_select(mana_rx_paths[i].key),
					 &mana_rx_paths[i]);
	assert_null(mana_rx_path_find(NULL));
	/* Never wider than EAL allows, even if forced. */
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_128), 0);
	assert_eq(mana_rx_path_select(NULL)->simd_bits, RTE_VECT_SIMD_128);
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		assert_eq(mana_rx_path_select(mana_rx_paths[i].key)->simd_bits, 0);
		assert_eq(mana_rx_path_is_allowed(&mana_rx_paths[i]),
			  mana_rx_paths[i].simd_bits == 0);
		if (i > 0)
			assert_true(mana_rx_paths[i].simd_bits <
				    mana_rx_paths[i - 1].simd_bits);
	}
	assert_eq(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_MAX), 0);
	/* Never wider than the processor's vectors. */
	is_old_processor = true;
	assert_eq(mana_rx_path_select(NULL)->simd_bits, RTE_VECT_SIMD_128);
	assert_eq(mana_rx_path_select("avx2")->simd_bits, 0);
	is_old_processor = false;
}

/* A burst with fences is that of its path, and takes nothing from a paused list. */
static void
rx_burst_with_fences(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .start = 0 });
	const struct mana_rx_path *path = mana_rx_path_select("scalar");
	struct rte_mbuf *pkts[4];
	mana_burst_t burst;

	(void)state;
	assert_ptr_equal(mana_rx_burst_get(path), path->burst);
	mana_has_fences = true;
	burst = mana_rx_burst_get(path);
	assert_ptr_not_equal(burst, path->burst);
	assert_ptr_equal(mana_rx_path_find(burst), path);
	fx_rx_okay(fx, 60, 0);
	mana_rx_list_pause(fx->list, true);
	assert_eq(burst(fx->list, pkts, RTE_DIM(pkts)), 0);
	assert_eq(fx->list->is_fenced, 0);
	mana_rx_list_pause(fx->list, false);
	assert_eq(burst(fx->list, pkts, RTE_DIM(pkts)), 1);
	assert_eq(fx->list->is_fenced, 0);
	fx_rx_check(fx, pkts[0], 60, 0, 0);
	mana_has_fences = false;
	fx_rx_delete(fx);
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
		assert_eq(mana_rxq_nb_waiting(fx->rxq, UINT32_MAX), sent - got);
		uint32_t nb = p->burst(fx->list, pkts, burst);

		assert_true(nb <= burst);
		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (i = 0; i < nb; i++) {
			want_bytes += len[got];
			fx_rx_check(fx, pkts[i], len[got++], 0, 0);
		}
		for (; i < RTE_DIM(pkts); i++)
			assert_null(pkts[i]);
	}
	assert_eq(fx->rxq->packets, got);
	assert_eq(fx->rxq->bytes, want_bytes);
	assert_eq(mana_rxq_stats_errors(&fx->rxq->stats), 0);
	fx_rx_delete(fx);
}

static void
rx_in_bursts_of_every_size(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 70; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_every_burst_size(0, false, &mana_rx_paths[i],
						    burst);
}

static void
rx_across_the_index_wrap(void **state)
{
	const uint32_t starts[] = { 0x7fffff80, 0xffffff00, 0xffffffc0, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < RTE_DIM(starts); i++)
		rx_every_burst_size(starts[i], false, path("Scalar"), 32);
}

static void
rx_into_pinned_buffers(void **state)
{
	(void)state;
	rx_every_burst_size(0, true, path("Scalar"), 32);
	rx_every_burst_size(0, true, path("Scalar"), 5);
}

static void
rx_burst_of_nothing(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});

	(void)state;
	fx_rx_okay(fx, 100, 0);
	assert_eq(path("Scalar")->burst(fx->list, NULL, 0), 0);
	assert_eq(mana_rxq_nb_waiting(fx->rxq, UINT32_MAX), 1);
	fx_rx_delete(fx);
}

/* All 64 combinations of the checksum bits. */
static void
rx_checksum_flags(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
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
		assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
		fx_rx_check(fx, m, 60, want, 0);
	}
	fx_rx_delete(fx);
}

/* The hash type is a mask: any set bit means a hash. */
static void
rx_hash_and_packet_type(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
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
		assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
		fx_rx_check(fx, m, 60,
			    type == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH, want);
	}
	fx_rx_delete(fx);
}

/* Types that need not be set are right or unknown, in CQEs of one packet and of four. */
static void
rx_without_packet_types_test(void)
{
	const uint32_t flags = HW_HASH_TCP_IPV4 << HW_RX_F_HASH_TYPE_S;
	const uint32_t type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
			      RTE_PTYPE_L4_TCP;
	const uint32_t len[4] = { 60, 60, 60, 60 };
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .no_ptypes = true });
	struct rte_mbuf *pkts[32];

	for (uint32_t nb = 4; nb <= RTE_DIM(pkts); nb++) {
		for (uint32_t i = 4; i < nb; i++)
			fx_rx_okay(fx, 60, flags);
		fx_rx_coalesced(fx, len, 4, flags);
		assert_eq(fx_rx_burst(fx->list, pkts, nb), nb);
		for (uint32_t i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], 60, RTE_MBUF_F_RX_RSS_HASH,
				    pkts[i]->packet_type == 0 ? 0 : type);
	}
	fx_rx_delete(fx);
}
FX_RX_ON_EACH_PATH(rx_without_packet_types)

static void
rx_vlan_stripped(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	fx_rx_okay(fx, 60, 1u << 12 | 0xabc);
	assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
	assert_eq(m->vlan_tci, 0xabc);
	fx_rx_check(fx, m, 60,
		    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	/* A VLAN identifier without the VLAN flag. */
	fx_rx_okay(fx, 60, 0xabc);
	assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
	fx_rx_check(fx, m, 60, 0, 0);
	fx_rx_delete(fx);
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
static void
rx_vlan_reinserted(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t pinned = 0; pinned < 2; pinned++) {
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
			.vlan_keep = true, .pinned = pinned });

		for (uint32_t i = 0; i < 200; i++) {
			uint32_t len = i % 2 ? FX_ROOM_BYTES : 14;

			fx_rx_okay(fx, len, 1u << 12 | i);
			assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
			check_reinserted(m, len, i, i);
			fx_rx_check(fx, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
		}
		assert_eq(fx->rxq->bytes, 100 * (FX_ROOM_BYTES + 14 + 8));
		/* The packet type includes the reinserted tag. */
		fx_rx_okay(fx, 60, 1u << 12 | 5 | 2u << 16);
		assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
		fx_rx_check(fx, m, 64,
			    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_RSS_HASH,
			    RTE_PTYPE_L2_ETHER_VLAN |
			    RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP);
		fx_rx_delete(fx);
	}
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
	uint32_t len[1024], sent = 0, got = 0, turn;
	struct rte_mbuf *pkts[70];

	for (turn = 0; got < 400; turn++) {
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
		assert_eq(mana_rxq_nb_waiting(fx->rxq, UINT32_MAX), sent - got);
		uint32_t nb = p->burst(fx->list, pkts, burst);

		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (uint32_t i = 0; i < nb; i++)
			fx_rx_check(fx, pkts[i], len[got++],
				    RTE_MBUF_F_RX_RSS_HASH, RTE_PTYPE_L2_ETHER |
				    RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
				    RTE_PTYPE_L4_TCP);
	}
	assert_eq(fx->rxq->packets, got);
	assert_eq(mana_rxq_stats_errors(&fx->rxq->stats), 0);
	fx_rx_delete(fx);
}

static void
rx_coalesced(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 64; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_coalesced_resumed(&mana_rx_paths[i], 4, burst,
						     burst);
}

static void
rx_coalesced_8(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 64; burst++)
			if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
				rx_coalesced_resumed(&mana_rx_paths[i], 8, burst,
						     burst);
}

/* A stop frees the mbufs of a partially consumed CQE. */
static void
rx_stop_in_the_middle_of_a_cqe(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	const uint32_t len[4] = { 60, 61, 62, 63 };
	struct rte_mbuf *m;

	(void)state;
	fx_rx_coalesced(fx, len, 4, 0);
	assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
	fx_rx_check(fx, m, 60, 0, 0);
	assert_eq(mana_rxq_nb_waiting(fx->rxq, UINT32_MAX), 3);
	mana_rxq_close(fx->rxq);
	assert_eq(path("Scalar")->burst(fx->list, &m, 1), 0);
	fx_rx_delete(fx);
}

/* Restart after a stop: indices start at 0, statistics continue. */
static void
rx_restart(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
	for (uint32_t turn = 1; turn <= 5; turn++) {
		for (uint32_t i = 0; i < 10; i++)
			fx_rx_okay(fx, 60, 0);
		assert_eq(path("Scalar")->burst(fx->list, pkts, 7), 7);
		for (uint32_t i = 0; i < 7; i++)
			fx_rx_check(fx, pkts[i], 60, 0, 0);
		for (uint32_t i = 0; i < 3; i++)
			fx_rx_skip(fx);
		assert_eq(fx->rxq->packets, turn * 7);

		mana_rxq_close(fx->rxq);
		mana_rxq_release_mbufs(fx->rxq, true);
		assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
		memset(fx->rq_ring, 0xff, fx->conf.rq_bytes);
		memset(fx->cq.ring, 0, fx->cq.nb_cqe * HW_CQE_BYTES);
		memset(fx->db_page, 0, HW_DB_PAGE_BYTES);
		fx->cq.pi = fx->cq.nb_cqe;
		fx->ci = 0;
		assert_eq(mana_rxq_init(fx->rxq, &fx->conf), 0);
		assert_eq(mana_rxq_fill(fx->rxq), 0);
		assert_eq(fx_rx_available(fx), 0); /* no doorbell yet */
		mana_rxq_open(fx->rxq, FX_RQ_ID, FX_RX_CQ_ID);
		assert_eq(fx_rx_available(fx), 64);
	}
	fx_rx_delete(fx);
}

/* 20 laps of a small CQ: each lap is acknowledged, unarmed, modulo 8 N. */
static void
rx_acknowledges_every_lap(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .nb_cqe = 64 });
	uint32_t last = 64, i;
	struct hw_doorbell db;
	struct rte_mbuf *m;

	(void)state;
	for (i = 0; i < 20 * 64; i++) {
		fx_rx_okay(fx, 60, 0);
		assert_eq(path("Scalar")->burst(fx->list, &m, 1), 1);
		fx_rx_check(fx, m, 60, 0, 0);
		db = hw_doorbell_read(hw_le64(fx->db_page + HW_DB_CQ), true);
		if (db.id != 0) {
			assert_eq(db.id, FX_RX_CQ_ID);
			assert_eq(db.tail, (64 + i) & 511);
			assert_false(db.arm);
			last = 64 + i + 1;
			memset(fx->db_page + HW_DB_CQ, 0, 8);
		}
		assert_true(64 + i + 1 - last <= 64);
	}
	fx_rx_delete(fx);
}

/* An empty poll list. */
static void
rx_list_of_none(void **state)
{
	struct mana_rx_list list;
	struct rte_mbuf *m = NULL;

	(void)state;
	fx_rx_list_init(&list);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
			assert_eq(mana_rx_paths[i].burst(&list, &m, 1), 0);
	assert_eq(list.is_busy, 0);
	assert_eq(mana_rx_list_count(&list), 0);
	assert_eq(mana_rx_list_desc_state(&list, 0), MANA_DESC_NONE);
}

/* Completions without a packet fill the CQ; a closed CQ has none, and nothing posted. */
static void
rx_list_of_one(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ 0 });
	bool wakes = false;

	(void)state;
	for (uint32_t i = 0; i < fx->cq.nb_cqe; i++)
		fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
	assert_eq(mana_rx_list_count(fx->list), 0);
	assert_eq(mana_rx_list_desc_state(fx->list, 63), MANA_DESC_POSTED);
	mana_cq_close(&fx->rxq->cq);
	assert_eq(mana_rx_list_desc_state(fx->list, 0), MANA_DESC_NONE);
	assert_eq(mana_rxq_arm(fx->rxq, &wakes), 0);
	assert_false(wakes);
	assert_eq(fx->rxq->stats.cq_doorbells, 0);
	fx_rx_delete(fx);
}

/* A poll that always finds completions. */
static uint16_t
poll_without_end(struct mana_rx_list *list, struct rte_mbuf **pkts, uint16_t nb_pkts,
		 struct mana_rxq *rxq)
{
	(void)list;
	(void)pkts;
	(void)nb_pkts;
	rxq->cq.ci += 8;
	return 0;
}

/* A device that does not stop does not keep the control path. */
static void
rx_drain_ends(void **state)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ 0 });
	const uint32_t ci = fx->rxq->cq.ci;

	(void)state;
	assert_eq(mana_rxq_drain(fx->rxq, poll_without_end, false), 0);
	assert_eq(fx->rxq->cq.ci - ci, 2 * fx->cq.nb_cqe);
	fx_rx_delete(fx);
}

/* The hardware queues of one list take turns and keep their order. */
static void
rx_list_of_three(void **state)
{
	struct fx_rx *fxs[3];
	struct mana_rx_list list;
	uint32_t nb_of[3] = { 0 }, nb = 0;
	struct rte_mbuf *pkts[4];

	(void)state;
	fx_rx_list_init(&list);
	for (uint32_t i = 0; i < RTE_DIM(fxs); i++) {
		fxs[i] = i == 0 ? fx_rx_new(&(struct fx_rx_opts){ 0 }) :
				  fx_rx_new_beside(&(struct fx_rx_opts){ 0 });
		mana_rx_list_add(&list, fxs[i]->rxq);
		for (uint32_t k = 0; k < 10; k++)
			fx_rx_okay(fxs[i], 60, 0);
	}
	mana_rx_list_pause(&list, false);
	assert_eq(mana_rx_list_count(&list), 30);
	assert_eq(mana_rx_list_desc_state(&list, 29), MANA_DESC_DONE);
	assert_eq(mana_rx_list_desc_state(&list, 30), MANA_DESC_POSTED);
	assert_eq(mana_rx_list_desc_state(&list, 3 * 64 - 1), MANA_DESC_POSTED);
	assert_eq(mana_rx_list_desc_state(&list, 3 * 64), MANA_DESC_NONE);
	for (uint32_t got; (got = path("Scalar")->burst(&list, pkts, 4)) != 0;) {
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
	assert_eq(list.is_busy, 0);
	mana_rx_list_clear(&list);
	for (uint32_t i = 0; i < RTE_DIM(fxs); i++) {
		assert_null(fxs[i]->rxq->next);
		fx_rx_delete(fxs[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_found),
		cmocka_unit_test(rx_burst_with_fences),
		cmocka_unit_test(rx_in_bursts_of_every_size),
		cmocka_unit_test(rx_across_the_index_wrap),
		cmocka_unit_test(rx_into_pinned_buffers),
		cmocka_unit_test(rx_burst_of_nothing),
		cmocka_unit_test(rx_checksum_flags),
		cmocka_unit_test(rx_hash_and_packet_type),
		cmocka_unit_test(rx_without_packet_types),
		cmocka_unit_test(rx_vlan_stripped),
		cmocka_unit_test(rx_vlan_reinserted),
		cmocka_unit_test(rx_coalesced),
		cmocka_unit_test(rx_coalesced_8),
		cmocka_unit_test(rx_stop_in_the_middle_of_a_cqe),
		cmocka_unit_test(rx_restart),
		cmocka_unit_test(rx_acknowledges_every_lap),
		cmocka_unit_test(rx_list_of_none),
		cmocka_unit_test(rx_list_of_one),
		cmocka_unit_test(rx_drain_ends),
		cmocka_unit_test(rx_list_of_three),
	};

	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
