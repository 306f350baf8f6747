/* SPDX-License-Identifier: BSD-3-Clause */

/* What a well-behaved device sends, in every shape and position. */

#include <rte_ether.h>
#include <rte_malloc.h>

#include "bed.h"

static const struct mana_path *
path(const char *name)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (strcmp(mana_rx_paths[i].name, name) == 0)
			return &mana_rx_paths[i];
	fail_msg("no path %s", name);
	return NULL;
}

static void
paths_cover_what_is_asked(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags < 32; flags++) {
		const struct mana_path *p = mana_rx_path_select(flags);

		assert_eq(flags & ~p->flags, 0);
		assert_ptr_equal(mana_rx_path_find(p->burst), p);
	}
	assert_null(mana_rx_path_find(NULL));
}

/*
 * Bursts of every size over frames of many lengths, for many laps, from every
 * start; the device is sometimes ahead by nothing, sometimes by all it has.
 */
static void
rx_every_burst_size(uint32_t start, bool pinned, const struct mana_path *p,
		    uint32_t burst)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
		.start = start, .pinned = pinned });
	struct rte_mbuf *pkts[128];
	uint32_t sent = 0, got = 0, want_bytes = 0, turn, i;
	uint32_t len[1024];

	for (turn = 0; got < 600; turn++) {
		uint32_t ahead = bed_rx_available(bed);

		if (turn % 3 != 0)
			ahead = RTE_MIN(ahead, (turn * 7) % 40);
		for (i = 0; i < ahead && sent < RTE_DIM(len); i++, sent++) {
			len[sent] = 1 + (sent * 37) % BED_ROOM_BYTES;
			bed_rx_okay(bed, len[sent], 0);
		}
		memset(pkts, 0, sizeof(pkts));
		assert_eq(mana_rxq_nb_waiting(bed->rxq), sent - got);
		uint32_t nb = p->burst(bed->rxq, pkts, burst);

		assert_true(nb <= burst);
		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (i = 0; i < nb; i++) {
			want_bytes += len[got];
			bed_rx_check(bed, pkts[i], len[got++], 0, 0);
		}
		for (; i < RTE_DIM(pkts); i++)
			assert_null(pkts[i]);
	}
	assert_eq(bed->rxq->packets, got);
	assert_eq(bed->rxq->bytes, want_bytes);
	assert_eq(mana_rxq_errors(bed->rxq), 0);
	bed_rx_delete(bed);
}

static void
rx_in_bursts_of_every_size(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 70; burst++)
			if (mana_path_is_allowed(&mana_rx_paths[i]))
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
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});

	(void)state;
	bed_rx_okay(bed, 100, 0);
	assert_eq(path("Scalar")->burst(bed->rxq, NULL, 0), 0);
	assert_eq(mana_rxq_nb_waiting(bed->rxq), 1);
	bed_rx_delete(bed);
}

/* All 64 combinations of the checksum bits, worked out the long way. */
static void
rx_checksum_flags(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
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
		bed_rx_okay(bed, 60, bits << 25);
		assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
		bed_rx_check(bed, m, 60, want, 0);
	}
	bed_rx_delete(bed);
}

/* The hash type is a mask: any bit means a hash, none means none. */
static void
rx_hash_and_packet_type(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
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
		bed_rx_okay(bed, 60, type << 16);
		assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
		bed_rx_check(bed, m, 60,
			     type == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH, want);
	}
	bed_rx_delete(bed);
}

static void
rx_vlan_stripped(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *m;

	(void)state;
	bed_rx_okay(bed, 60, 1u << 12 | 0xabc);
	assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
	assert_eq(m->vlan_tci, 0xabc);
	bed_rx_check(bed, m, 60,
		     RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	/* An identifier without the bit that says it is one. */
	bed_rx_okay(bed, 60, 0xabc);
	assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
	bed_rx_check(bed, m, 60, 0, 0);
	bed_rx_delete(bed);
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

/* Not asked to strip: the tag is back in the frame, length and all. */
static void
rx_vlan_reinserted(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t pinned = 0; pinned < 2; pinned++) {
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
			.vlan_keep = true, .pinned = pinned });

		for (uint32_t i = 0; i < 200; i++) {
			uint32_t len = i % 2 ? BED_ROOM_BYTES : 14;

			bed_rx_okay(bed, len, 1u << 12 | i);
			assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
			check_reinserted(m, len, i, i);
			bed_rx_check(bed, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
		}
		assert_eq(bed->rxq->bytes, 100 * (BED_ROOM_BYTES + 14 + 8));
		/* The packet type tells of the tag that is there again. */
		bed_rx_okay(bed, 60, 1u << 12 | 5 | 2u << 16);
		assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
		bed_rx_check(bed, m, 64,
			     RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_RSS_HASH,
			     RTE_PTYPE_L2_ETHER_VLAN |
			     RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_TCP);
		bed_rx_delete(bed);
	}
}

/*
 * 1 to 4 packets a CQE, alone and mixed with single ones, and every burst size:
 * a CQE is left in the middle and taken up there again.
 */
static void
rx_coalesced_resumed(const struct mana_path *p, uint32_t burst, uint32_t seed)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	uint32_t len[1024], sent = 0, got = 0, turn;
	struct rte_mbuf *pkts[70];

	for (turn = 0; got < 400; turn++) {
		while (bed_rx_available(bed) >= 4 && sent < 800) {
			uint32_t kind = (sent + seed) % 5;
			uint32_t nb = kind == 0 ? 1 : kind;

			for (uint32_t i = 0; i < nb; i++)
				len[sent + i] = 1 + (sent + i) * 5 %
						BED_ROOM_BYTES;
			if (kind == 0)
				bed_rx_okay(bed, len[sent], 2u << 16);
			else
				bed_rx_coalesced(bed, &len[sent], nb, 2u << 16);
			sent += nb;
		}
		assert_eq(mana_rxq_nb_waiting(bed->rxq), sent - got);
		uint32_t nb = p->burst(bed->rxq, pkts, burst);

		assert_eq(nb, RTE_MIN(burst, sent - got));
		for (uint32_t i = 0; i < nb; i++)
			bed_rx_check(bed, pkts[i], len[got++],
				     RTE_MBUF_F_RX_RSS_HASH, RTE_PTYPE_L2_ETHER |
				     RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
				     RTE_PTYPE_L4_TCP);
	}
	assert_eq(bed->rxq->packets, got);
	assert_eq(mana_rxq_errors(bed->rxq), 0);
	bed_rx_delete(bed);
}

static void
rx_coalesced(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		for (uint32_t burst = 1; burst <= 64; burst++)
			if (mana_path_is_allowed(&mana_rx_paths[i]))
				rx_coalesced_resumed(&mana_rx_paths[i], burst,
						     burst);
}

/* The pool's mbufs in the rest of a CQE are not lost at a stop. */
static void
rx_stop_in_the_middle_of_a_cqe(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	const uint32_t len[4] = { 60, 61, 62, 63 };
	struct rte_mbuf *m;

	(void)state;
	bed_rx_coalesced(bed, len, 4, 0);
	assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
	bed_rx_check(bed, m, 60, 0, 0);
	assert_eq(mana_rxq_nb_waiting(bed->rxq), 3);
	mana_rxq_close(bed->rxq);
	assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 0);
	bed_rx_delete(bed);
}

/* Start again after a stop: indices at zero, statistics go on. */
static void
rx_restart(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[32];

	(void)state;
	for (uint32_t turn = 1; turn <= 5; turn++) {
		for (uint32_t i = 0; i < 10; i++)
			bed_rx_okay(bed, 60, 0);
		assert_eq(path("Scalar")->burst(bed->rxq, pkts, 7), 7);
		for (uint32_t i = 0; i < 7; i++)
			bed_rx_check(bed, pkts[i], 60, 0, 0);
		for (uint32_t i = 0; i < 3; i++)
			bed_rx_skip(bed);
		assert_eq(bed->rxq->packets, turn * 7);

		mana_rxq_close(bed->rxq);
		mana_rxq_release_mbufs(bed->rxq, true);
		assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
		memset(bed->rq_ring, 0xff, bed->conf.rq_bytes);
		memset(bed->cq.ring, 0, bed->cq.nb_cqe * HW_CQE_BYTES);
		memset(bed->db_page, 0, HW_DB_PAGE_BYTES);
		bed->cq.pi = bed->cq.nb_cqe;
		bed->ci = 0;
		assert_eq(mana_rxq_init(bed->rxq, &bed->conf), 0);
		assert_eq(mana_rxq_fill(bed->rxq), 0);
		assert_eq(bed_rx_available(bed), 0); /* no doorbell yet */
		mana_rxq_open(bed->rxq, BED_RQ_ID, BED_RX_CQ_ID);
		assert_eq(bed_rx_available(bed), 64);
	}
	bed_rx_delete(bed);
}

/* 20 laps of a small CQ: each lap is acknowledged, unarmed, mod 8 N. */
static void
rx_acknowledges_every_lap(void **state)
{
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ .nb_cqe = 64 });
	uint32_t last = 64, i;
	struct hw_doorbell db;
	struct rte_mbuf *m;

	(void)state;
	for (i = 0; i < 20 * 64; i++) {
		bed_rx_okay(bed, 60, 0);
		assert_eq(path("Scalar")->burst(bed->rxq, &m, 1), 1);
		bed_rx_check(bed, m, 60, 0, 0);
		db = hw_doorbell_read(hw_le64(bed->db_page + HW_DB_CQ), true);
		if (db.id != 0) {
			assert_eq(db.id, BED_RX_CQ_ID);
			assert_eq(db.tail, (64 + i) & 511);
			assert_false(db.arm);
			last = 64 + i + 1;
			memset(bed->db_page + HW_DB_CQ, 0, 8);
		}
		assert_true(64 + i + 1 - last <= 64);
	}
	bed_rx_delete(bed);
}

/* A queue that is polled with another one has packets of its own to wait. */
static void
rx_backlog_of_a_chained_queue(void **state)
{
	const struct mana_path *p = path("Scalar");
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){ 0 });
	struct mana_rxq *poller;
	struct rte_mbuf **backlog;
	struct rte_mbuf *m = NULL;

	(void)state;
	poller = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*poller));
	backlog = rte_malloc("backlog", sizeof(*backlog), 0);
	assert_non_null(poller);
	assert_non_null(backlog);
	memset(poller, 0, sizeof(*poller));
	poller->refill_thresh = 1; /* a queue without rings */
	mana_rxq_chain(poller, bed->rxq);
	assert_eq(mana_rxq_count(poller), 0);

	bed_rx_okay(bed, 60, 0);
	assert_eq(p->burst(bed->rxq, backlog, 1), 1);
	mana_rxq_backlog(bed->rxq, backlog, 1);
	assert_eq(mana_rxq_count(poller), 1);
	assert_eq(mana_rxq_desc_state(poller, 0), MANA_DESC_DONE);
	bed_rx_okay(bed, 61, 0);
	assert_eq(mana_rxq_count(poller), 2);

	for (uint32_t i = 0; i < 2; i++) {
		assert_eq(p->burst(bed->rxq, &m, 1), 1);
		bed_rx_check(bed, m, 60 + i, 0, 0);
		assert_eq(mana_rxq_count(poller), 1 - i);
	}
	mana_rxq_backlog(bed->rxq, NULL, 0);
	bed_rx_delete(bed);
	free(poller);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_cover_what_is_asked),
		cmocka_unit_test(rx_in_bursts_of_every_size),
		cmocka_unit_test(rx_across_the_index_wrap),
		cmocka_unit_test(rx_into_pinned_buffers),
		cmocka_unit_test(rx_burst_of_nothing),
		cmocka_unit_test(rx_checksum_flags),
		cmocka_unit_test(rx_hash_and_packet_type),
		cmocka_unit_test(rx_vlan_stripped),
		cmocka_unit_test(rx_vlan_reinserted),
		cmocka_unit_test(rx_coalesced),
		cmocka_unit_test(rx_stop_in_the_middle_of_a_cqe),
		cmocka_unit_test(rx_restart),
		cmocka_unit_test(rx_acknowledges_every_lap),
		cmocka_unit_test(rx_backlog_of_a_chained_queue),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
