/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive WQEs of several buffers: every number, every border, every shortage. */

#include <sys/mman.h>
#include <unistd.h>

#include <rte_ether.h>

#include "bed.h"

#define ALL (MANA_RX_F_CSUM | MANA_RX_F_HASH)

static uint16_t
burst(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb)
{
	return mana_rx_path_select(ALL | MANA_RX_F_SCATTER)->burst(rxq, pkts, nb);
}

/* nb buffers of sizes all different, small enough to be crossed often. */
static struct bed_rx_opts
several(uint32_t nb)
{
	struct bed_rx_opts opts = { .nb_segs = nb };

	for (uint32_t i = 0; i < nb; i++)
		opts.seg_bytes[i] = 64 + i * 37 % 150;
	return opts;
}

/*
 * Mbufs that are not in the pools are those of the posted WQEs, at least, and
 * those of all slots, at most.
 */
static void
check_held(const struct bed_rx *bed)
{
	uint32_t posted = mana_rxq_nb_posted(bed->rxq) * bed->nb_segs;
	uint32_t missing = 0;

	for (uint32_t i = 0; i < bed->nb_pools; i++)
		missing += bed_pool_missing(bed->seg_mp[i], bed->nb_mbufs);
	assert_true(missing >= posted);
	assert_true(missing <= bed->conf.nb_mbufs * bed->nb_segs);
}

static void
pass(struct bed_rx *bed, uint32_t len_bytes)
{
	struct rte_mbuf *m = NULL;

	bed_rx_okay(bed, len_bytes, 0);
	assert_eq(mana_rxq_nb_waiting(bed->rxq), 1);
	assert_eq(burst(bed->rxq, &m, 1), 1);
	bed_rx_check(bed, m, len_bytes, 0, 0);
	check_held(bed);
}

/* A byte before, at and behind the end of each buffer, and one byte alone. */
static void
pass_borders(struct bed_rx *bed)
{
	uint32_t edge = 0;

	pass(bed, 1);
	for (uint32_t i = 0; i < bed->nb_segs; i++) {
		edge += bed->segs[i].bytes;
		pass(bed, edge - 1);
		pass(bed, edge);
		if (edge < bed->room_bytes)
			pass(bed, edge + 1);
	}
}

static void
every_number_of_buffers_at_every_border(void **state)
{
	(void)state;
	for (uint32_t nb = 1; nb <= BED_MAX_SEGS; nb++) {
		struct bed_rx_opts opts = several(nb);
		struct bed_rx *bed;

		opts.nb_pool = 64 * nb;
		bed = bed_rx_new(&opts);
		assert_eq(bed_rx_available(bed), 64);
		for (uint32_t lap = 0; lap < 10; lap++)
			pass_borders(bed);
		assert_eq(mana_rxq_errors(bed->rxq), 0);
		bed_rx_delete(bed);
	}
}

/* Offsets, a pool for each buffer, half of them with buffers outside. */
static void
pools_and_offsets(void **state)
{
	(void)state;
	for (uint32_t nb = 2; nb <= 6; nb++) {
		struct bed_rx_opts opts = several(nb);
		struct bed_rx *bed;

		opts.seg_pools = true;
		opts.nb_pool = 70;
		for (uint32_t i = 0; i < nb; i++)
			opts.seg_offset[i] = i * 97 % 300;
		bed = bed_rx_new(&opts);
		for (uint32_t lap = 0; lap < 20; lap++)
			pass_borders(bed);
		bed_rx_delete(bed);
	}
}

/* BU indices and WQE indices wrap at different times. */
static void
across_the_index_wraps(void **state)
{
	const uint32_t starts[] = { 0x7fffff80, 0xffffff00, 0xfffffffd, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < RTE_DIM(starts); i++)
		for (uint32_t nb = 2; nb <= BED_MAX_SEGS; nb += 3) {
			struct bed_rx_opts opts = several(nb);
			struct bed_rx *bed;

			opts.start = starts[i];
			opts.nb_pool = 64 * nb;
			bed = bed_rx_new(&opts);
			for (uint32_t lap = 0; lap < 10; lap++)
				pass_borders(bed);
			bed_rx_delete(bed);
		}
}

/* A ring that is not full of WQEs, in bursts and coalesced CQEs of any size. */
static void
bursts_and_coalesced(void **state)
{
	struct rte_mbuf *pkts[64];
	uint32_t len[2048];

	(void)state;
	for (uint32_t size = 1; size <= 40; size += 3) {
		struct bed_rx_opts opts = several(2 + size % 5);
		uint32_t sent = 0, got = 0, bytes = 0;
		struct bed_rx *bed;

		opts.nb_desc = 50;
		opts.free_thresh = 1 + size % 20;
		bed = bed_rx_new(&opts);
		while (got < 500) {
			while (bed_rx_available(bed) >= 4 && sent < 1000) {
				uint32_t nb = sent % 5;

				for (uint32_t i = 0; i < RTE_MAX(nb, 1u); i++)
					len[sent + i] = 1 + (sent + i) * 41 %
							bed->room_bytes;
				if (nb == 0)
					bed_rx_okay(bed, len[sent], 2u << 16);
				else
					bed_rx_coalesced(bed, &len[sent], nb, 2u << 16);
				sent += RTE_MAX(nb, 1u);
			}
			assert_eq(mana_rxq_nb_waiting(bed->rxq), sent - got);
			uint32_t nb = burst(bed->rxq, pkts, size);

			assert_eq(nb, RTE_MIN(size, sent - got));
			for (uint32_t i = 0; i < nb; i++) {
				bytes += len[got];
				bed_rx_check(bed, pkts[i], len[got++],
					     RTE_MBUF_F_RX_RSS_HASH,
					     RTE_PTYPE_L2_ETHER |
					     RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
					     RTE_PTYPE_L4_TCP);
			}
			check_held(bed);
		}
		assert_eq(bed->rxq->packets, got);
		assert_eq(bed->rxq->bytes, bytes);
		assert_eq(mana_rxq_errors(bed->rxq), 0);
		bed_rx_delete(bed);
	}
}

/* What a short frame left is posted again: the pool gives one mbuf a frame. */
static void
unused_buffers_are_kept(void **state)
{
	struct bed_rx_opts opts = several(8);
	struct rte_mbuf *m, *held[200];
	struct bed_rx *bed;

	(void)state;
	opts.nb_pool = 64 * 8 + 200;
	opts.free_thresh = 1;
	bed = bed_rx_new(&opts);
	for (uint32_t i = 0; i < RTE_DIM(held); i++) {
		bed_rx_okay(bed, 60, 0);
		assert_eq(burst(bed->rxq, &m, 1), 1);
		assert_eq(m->nb_segs, 1);
		held[i] = m;
		assert_eq(mana_rxq_nb_posted(bed->rxq), 64);
	}
	assert_eq(rte_mempool_avail_count(bed->mp), 0);
	for (uint32_t i = 0; i < RTE_DIM(held); i++)
		bed_rx_check(bed, held[i], 60, 0, 0);
	bed_rx_delete(bed);
}

/* A pool that runs dry in the middle of a WQE; polls alone make it good. */
static void
empty_pool(void **state)
{
	(void)state;
	for (uint32_t dry = 0; dry < 3; dry++) {
		struct bed_rx_opts opts = several(3);
		struct rte_mbuf *m, *taken[512];
		uint32_t nb_taken = 0, posted;
		struct bed_rx *bed;

		opts.seg_pools = true;
		opts.free_thresh = 1;
		bed = bed_rx_new(&opts);
		while ((m = rte_pktmbuf_alloc(bed->seg_mp[dry])) != NULL)
			taken[nb_taken++] = m;
		for (uint32_t i = 0; i < 64; i++) {
			struct rte_mbuf *pkt;

			bed_rx_okay(bed, bed->room_bytes - 1, 0);
			assert_eq(burst(bed->rxq, &pkt, 1), 1);
			taken[nb_taken++] = pkt; /* all three pools wait for it */
		}
		assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
		assert_true(bed->rxq->stats.nombuf > 0);
		assert_true(bed->rxq->stats.ring_empty > 0);
		/* one by one they come back, and go to work at once */
		for (posted = 0; posted < 64; posted++) {
			rte_pktmbuf_free(taken[posted]);
			assert_eq(burst(bed->rxq, &m, 1), 0);
			assert_eq(mana_rxq_nb_posted(bed->rxq), posted + 1);
		}
		assert_eq(bed_rx_available(bed), 64);
		while (posted < nb_taken)
			rte_pktmbuf_free(taken[posted++]);
		for (uint32_t i = 0; i < 64; i++)
			bed_rx_skip(bed);
		pass_borders(bed);
		bed_rx_delete(bed);
	}
}

/* Who asks for an interrupt does not poll: the ring is filled then, if it can. */
static void
arming_fills_an_empty_ring(void **state)
{
	struct bed_rx_opts opts = several(3);
	struct rte_mbuf *pkts[2];
	struct bed_rx *bed;

	(void)state;
	opts.nb_desc = 2;
	opts.nb_pool = 2 * 3;
	bed = bed_rx_new(&opts);
	bed_rx_okay(bed, bed->room_bytes, 0);
	bed_rx_okay(bed, bed->room_bytes, 0);
	assert_eq(burst(bed->rxq, pkts, 2), 2);
	assert_int_equal(mana_rxq_arm(bed->rxq), -ENOMEM);
	bed_rx_check(bed, pkts[0], bed->room_bytes, 0, 0);
	bed_rx_check(bed, pkts[1], bed->room_bytes, 0, 0);
	assert_int_equal(mana_rxq_arm(bed->rxq), 0);
	assert_eq(bed_rx_available(bed), 2);
	pass_borders(bed);
	bed_rx_delete(bed);
}

static void
unregistered_memory(void **state)
{
	struct bed_rx_opts opts = several(4);
	struct bed_rx *bed;

	(void)state;
	opts.no_open = true;
	bed = bed_rx_new(&opts);
	bed_mr_deny = true;
	assert_int_equal(mana_rxq_fill(bed->rxq), -EFAULT);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
	assert_eq(bed->rxq->stats.mr_failed, 1);
	bed_mr_deny = false;
	assert_int_equal(mana_rxq_fill(bed->rxq), 0);
	mana_rxq_open(bed->rxq, BED_RQ_ID, BED_RX_CQ_ID);
	pass_borders(bed);
	bed_rx_delete(bed);
}

/* Lengths that no frame can have, among good ones: each costs a WQE, or none. */
static void
hostile_lengths(void **state)
{
	const uint32_t bad[] = { 0, 1, 2, 0x7fff, 0xffff }; /* 1, 2: beyond the room */
	struct bed_rx_opts opts = several(5);
	struct rte_mbuf *pkts[8];
	struct bed_rx *bed;

	(void)state;
	bed = bed_rx_new(&opts);
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t len = bad[round % RTE_DIM(bad)];

		if (len == 1 || len == 2)
			len += bed->room_bytes;
		bed_rx_okay(bed, 100, 0);
		if (len != 0)
			bed_rx_frame(bed, bed->room_bytes);
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, len);
		bed_rx_frame(bed, bed->room_bytes);
		bed_rx_cqe(bed, HW_CQE_RX_TRUNCATED, 9000);
		bed_rx_okay(bed, bed->room_bytes, 0);
		assert_eq(burst(bed->rxq, pkts, 8), 2);
		bed_rx_check(bed, pkts[0], 100, 0, 0);
		if (len != 0)
			bed_rx_skip(bed);
		bed_rx_skip(bed);
		bed_rx_check(bed, pkts[1], bed->room_bytes, 0, 0);
		check_held(bed);
	}
	assert_eq(bed->rxq->stats.zero_len, 40);
	assert_eq(bed->rxq->stats.oversize, 160);
	assert_eq(bed->rxq->stats.truncated, 200);
	bed_rx_delete(bed);
}

/* The same inside a coalesced CQE; and more packets than were posted. */
static void
hostile_coalesced(void **state)
{
	struct bed_rx_opts opts = several(3);
	struct rte_mbuf *pkts[8];
	struct bed_rx *bed;
	uint32_t nb;

	(void)state;
	bed = bed_rx_new(&opts);
	for (uint32_t at = 0; at < 4; at++) {
		uint32_t len[4] = { 60, 61, 62, 63 };

		len[at] = bed->room_bytes + 1;
		bed_rx_coalesced(bed, len, 4, 0);
		assert_eq(burst(bed->rxq, pkts, 8), 3);
		for (uint32_t i = 0, k = 0; i < 4; i++) {
			if (i == at)
				bed_rx_skip(bed);
			else
				bed_rx_check(bed, pkts[k++], len[i], 0, 0);
		}
	}
	assert_eq(bed->rxq->stats.oversize, 4);
	bed_rx_delete(bed);

	opts.nb_pool = 3 * 2;
	opts.nb_desc = 2;
	bed = bed_rx_new(&opts);
	bed_rx_okay(bed, bed->room_bytes, 0);
	bed_rx_okay(bed, bed->room_bytes, 0);
	for (uint32_t i = 0; i < 4; i++)
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 60);
	bed_rx_cqe(bed, HW_CQE_RX_TRUNCATED, 60);
	nb = burst(bed->rxq, pkts, 8);
	assert_eq(nb, 2);
	assert_eq(bed->rxq->stats.cqe_spurious, 5);
	rte_pktmbuf_free_bulk(pkts, nb);
	bed_rx_delete(bed);
}

/* Not asked to strip: the tag is put back wherever the addresses end. */
static void
vlan_put_back(void **state)
{
	(void)state;
	for (uint32_t first = 1; first <= 20; first++) {
		struct bed_rx_opts opts = { .nb_segs = 4, .vlan_keep = true,
			.seg_bytes = { first, 1 + first % 7, 2, 100 } };
		struct bed_rx *bed = bed_rx_new(&opts);
		uint8_t got[256], want[256];

		for (uint32_t len = 14; len <= bed->room_bytes; len++) {
			uint32_t seq = bed->rx_seq, at = 0;
			struct rte_mbuf *m;

			for (uint32_t i = 0; i < len; i++)
				want[i < 12 ? i : i + 4] = i < 4 ?
					seq >> (8 * i) : (seq + i) * 7;
			memcpy(want + 12, (const uint8_t[]){ 0x81, 0, 0xa, 0xbc }, 4);
			bed_rx_okay(bed, len, 1u << 12 | 0xabc);
			assert_eq(burst(bed->rxq, &m, 1), 1);
			assert_eq(m->pkt_len, len + 4);
			assert_eq(m->data_off, RTE_PKTMBUF_HEADROOM - 4);
			for (struct rte_mbuf *seg = m; seg != NULL; seg = seg->next) {
				memcpy(got + at, rte_pktmbuf_mtod(seg, void *),
				       seg->data_len);
				at += seg->data_len;
			}
			assert_eq(at, len + 4);
			assert_memory_equal(got, want, at);
			bed_rx_check(bed, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
		}
		/* shorter than its own addresses: only bounded */
		for (uint32_t len = 1; len < 14; len++) {
			struct rte_mbuf *m;

			bed_rx_okay(bed, len, 1u << 12 | 1);
			assert_eq(burst(bed->rxq, &m, 1), 1);
			bed_rx_check(bed, m, len + 4, RTE_MBUF_F_RX_VLAN, 0);
		}
		bed_rx_delete(bed);
	}
}

static void
vlan_stripped(void **state)
{
	struct bed_rx_opts opts = several(3);
	struct bed_rx *bed;
	struct rte_mbuf *m;

	(void)state;
	bed = bed_rx_new(&opts);
	bed_rx_okay(bed, bed->room_bytes, 1u << 12 | 7);
	assert_eq(burst(bed->rxq, &m, 1), 1);
	assert_eq(m->vlan_tci, 7);
	bed_rx_check(bed, m, bed->room_bytes,
		     RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	bed_rx_delete(bed);
}

static void
refuses_what_does_not_fit(void **state)
{
	struct bed_rx_opts opts = several(3);
	struct mana_rx_seg segs[BED_MAX_SEGS + 1];
	struct mana_rxq_conf conf;
	struct bed_rx *bed;

	(void)state;
	opts.no_open = true;
	bed = bed_rx_new(&opts);
#define EXPECT(code, change) do { \
	conf = bed->conf; \
	memcpy(segs, bed->segs, sizeof(bed->segs)); \
	segs[BED_MAX_SEGS] = segs[0]; \
	conf.segs = segs; \
	change; \
	assert_int_equal(mana_rxq_init(bed->rxq, &conf), code); \
} while (0)
	EXPECT(0, (void)0);
	EXPECT(-EINVAL, conf.nb_segs = 16);
	EXPECT(-EINVAL, conf.rq_bytes = 4096; conf.nb_desc = 65; conf.nb_mbufs = 128);
	EXPECT(-EINVAL, conf.mbufs = NULL);
	EXPECT(-EINVAL, segs[1].mp = NULL);
	EXPECT(-EINVAL, segs[1].bytes = 0);
	EXPECT(-EINVAL, segs[1].bytes = 2048 + RTE_PKTMBUF_HEADROOM + 1);
	EXPECT(-EINVAL, segs[1].offset = 2048 + RTE_PKTMBUF_HEADROOM);
	EXPECT(-ENOTSUP, conf.nb_segs = 1; segs[0].bytes = RTE_ETHER_MIN_LEN - 1);
	EXPECT(-ENOTSUP, conf.vlan_strip = false; segs[0].offset = 3);
	EXPECT(0, conf.vlan_strip = false; segs[0].offset = 4);
	EXPECT(0, segs[1].bytes = 2048 + RTE_PKTMBUF_HEADROOM);
#undef EXPECT
	bed_rx_delete(bed);
}

/* The kernel kept the WQ: what was posted is lost, what was not is freed. */
static void
device_that_does_not_let_go(void **state)
{
	struct bed_rx_opts opts = several(4);
	struct rte_mbuf *pkts[10];
	struct bed_rx *bed;
	uint32_t posted;

	(void)state;
	opts.free_thresh = 30;
	bed = bed_rx_new(&opts);
	for (uint32_t i = 0; i < 10; i++)
		bed_rx_okay(bed, 60, 0);
	assert_eq(burst(bed->rxq, pkts, 10), 10);
	for (uint32_t i = 0; i < 10; i++)
		bed_rx_check(bed, pkts[i], 60, 0, 0);
	posted = mana_rxq_nb_posted(bed->rxq);
	assert_eq(posted, 54);
	mana_rxq_release_mbufs(bed->rxq, false);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), posted * 4);
	/* the device's no more: for the fixture's sake */
	for (uint32_t i = 0; i < posted; i++) {
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t at = (bed->ci * HW_BU_BYTES + 16 + 16 * k) &
				      (bed->conf.rq_bytes - 1);
			struct hw_sge sge = hw_sge_read(bed->rq_ring + at);
			uintptr_t addr = sge.addr - bed->segs[k].offset;

			rte_mempool_put(bed->mp, (uint8_t *)addr - sizeof(struct rte_mbuf) -
					rte_pktmbuf_priv_size(bed->mp));
		}
		bed->ci += bed->wqe_bu;
	}
	bed_rx_delete(bed);
}

/* A port has both kinds: the one burst serves either, by queue. */
static void
ordinary_queue_by_the_same_burst(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= ALL; flags++) {
		const struct mana_path *p =
			mana_rx_path_select(flags | MANA_RX_F_SCATTER);
		struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
		struct rte_mbuf *m;

		assert_non_null(strstr(p->name, "Scattered"));
		assert_null(strstr(mana_rx_path_select(flags)->name, "Scattered"));
		for (uint32_t i = 0; i < 200; i++) {
			bed_rx_okay(bed, 1 + i * 10, 0);
			assert_eq(p->burst(bed->rxq, &m, 1), 1);
			bed_rx_check(bed, m, 1 + i * 10, 0, 0);
		}
		bed_rx_delete(bed);
	}
}

/* Each path of the scattered kind delivers what was asked for, no more. */
static void
queues_deliver_what_is_asked(void **state)
{
	const uint32_t cqe = 1u << 25 | 1u << 27 | 2u << 16;
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t nb = 0; nb <= 2; nb += 2)
		for (uint32_t csum = 0; csum < 2; csum++) {
			struct bed_rx_opts opts = several(nb);
			uint64_t want = RTE_MBUF_F_RX_RSS_HASH;
			struct bed_rx *bed;

			opts.no_csum = csum == 0;
			bed = bed_rx_new(&opts);
			bed_rx_okay(bed, bed->room_bytes, cqe);
			assert_eq(burst(bed->rxq, &m, 1), 1);
			if (csum)
				want |= RTE_MBUF_F_RX_IP_CKSUM_GOOD |
					RTE_MBUF_F_RX_L4_CKSUM_GOOD;
			bed_rx_check(bed, m, bed->room_bytes, want,
				     RTE_PTYPE_L2_ETHER |
				     RTE_PTYPE_L3_IPV4_EXT_UNKNOWN |
				     RTE_PTYPE_L4_TCP);
			bed_rx_delete(bed);
		}
}

/* Headers that lie in many buffers are looked into all the same. */
static void
types_of_frames_in_pieces(void **state)
{
	/* Ethernet, a tag, IPv4, UDP */
	const uint8_t frame[38] = { [12] = 0x81, [15] = 5, [16] = 8, [18] = 0x45,
				    [27] = 17 };
	const struct mana_path *p = mana_rx_path_select(
		ALL | MANA_RX_F_SCATTER | MANA_RX_F_PARSE);
	struct bed_rx_opts opts = { .nb_segs = 9 };
	struct bed_rx *bed;
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t i = 0; i < opts.nb_segs; i++)
		opts.seg_bytes[i] = i < 8 ? 1 + i : 100;
	bed = bed_rx_new(&opts);
	bed_rx_okay(bed, 60, 0);
	for (uint32_t i = 0, at = 0; at < sizeof(frame); i++) {
		uint32_t part = RTE_MIN(sizeof(frame) - at, opts.seg_bytes[i]);

		memcpy(rte_pktmbuf_mtod_offset(bed->mbufs[i], uint8_t *, 0) -
			       bed->mbufs[i]->data_off + bed->segs[i].offset,
		       frame + at, part);
		at += part;
	}
	assert_eq(p->burst(bed->rxq, &m, 1), 1);
	assert_eq(m->packet_type, RTE_PTYPE_L2_ETHER_VLAN |
		  RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_UDP);
	rte_pktmbuf_free(m);
	bed_rx_skip(bed);
	/* one byte alone has no type, and is not read beyond */
	bed_rx_okay(bed, 1, 0);
	assert_eq(p->burst(bed->rxq, &m, 1), 1);
	bed_rx_check(bed, m, 1, 0, 0);
	bed_rx_delete(bed);
}

/*
 * The control path may just be giving the queue other buffers: a burst looks
 * at nothing of them before it knows that the queue is not held. Here it could
 * not, from the last cache line before them on.
 */
static void
held_queue_is_not_looked_at(void **state)
{
	const size_t page_bytes = sysconf(_SC_PAGESIZE);
	const size_t seen_bytes = offsetof(struct mana_rxq, scatter) /
				  RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
	struct bed_rx_opts opts = several(3);
	struct bed_rx *bed = bed_rx_new(&opts);
	struct rte_mbuf *m = NULL;
	struct mana_rxq *rxq;
	uint8_t *pages;

	(void)state;
	assert_true(seen_bytes > offsetof(struct mana_rxq, is_busy));
	assert_true(seen_bytes < page_bytes);
	assert_true(sizeof(*rxq) - seen_bytes < page_bytes);
	pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	rxq = (void *)(pages + page_bytes - seen_bytes);
	memcpy(rxq, bed->rxq, sizeof(*rxq));
	bed_rx_okay(bed, 100, 0);
	rxq->odd.held = 1;
	assert_eq(mprotect(pages + page_bytes, page_bytes, PROT_NONE), 0);
	assert_eq(burst(rxq, &m, 1), 0);
	assert_eq(rxq->is_busy, 0);
	assert_eq(mprotect(pages + page_bytes, page_bytes,
			   PROT_READ | PROT_WRITE), 0);
	rxq->odd.held = 0;
	assert_eq(burst(rxq, &m, 1), 1);
	assert_eq(rxq->is_busy, 0);
	bed_rx_check(bed, m, 100, 0, 0);
	memcpy(bed->rxq, rxq, sizeof(*rxq));
	munmap(pages, 2 * page_bytes);
	bed_rx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_of_buffers_at_every_border),
		cmocka_unit_test(pools_and_offsets),
		cmocka_unit_test(across_the_index_wraps),
		cmocka_unit_test(bursts_and_coalesced),
		cmocka_unit_test(unused_buffers_are_kept),
		cmocka_unit_test(empty_pool),
		cmocka_unit_test(arming_fills_an_empty_ring),
		cmocka_unit_test(unregistered_memory),
		cmocka_unit_test(hostile_lengths),
		cmocka_unit_test(hostile_coalesced),
		cmocka_unit_test(vlan_put_back),
		cmocka_unit_test(vlan_stripped),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(device_that_does_not_let_go),
		cmocka_unit_test(ordinary_queue_by_the_same_burst),
		cmocka_unit_test(queues_deliver_what_is_asked),
		cmocka_unit_test(types_of_frames_in_pieces),
		cmocka_unit_test(held_queue_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
