/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Compares each Rx path with the scalar one: two queues receive the same CQEs;
 * after every burst their mbufs, statistics, indices and doorbells must be
 * equal byte by byte.
 *
 * CQEs are first enumerated, then random, with a printed seed (MANA_SEED sets
 * it). Buffers hold no frames, so the test identifies each by its ring
 * position, which must agree. A queue with scattered Rx is compared with a
 * queue of one segment: the same packets in segments.
 */

#include <time.h>

#include "fixture.h"

#define HDR(type) ((type) | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S)
#define MAX_BURST 70
#define MAX_TAKEN 4096

/* One of the two queues. */
struct side {
	struct fx_rx *fx;
	mana_burst_t burst;
	struct rte_mbuf *pkts[MAX_BURST];
	/* Mbufs that the test has taken out of the pool. */
	struct rte_mbuf *taken[MAX_TAKEN];
	uint32_t nb_taken;
};

struct pair {
	struct side a, b; /* scalar; the path under test */
	const char *name;
	uint64_t seed;
};

static void
pair_new_different(struct pair *pair, const struct mana_rx_path *path,
		  const struct fx_rx_opts *a, const struct fx_rx_opts *b)
{
	pair->name = path->name;
	pair->a.fx = fx_rx_new(a);
	pair->b.fx = fx_rx_new_beside(b);
	pair->a.burst = mana_rx_paths[mana_rx_nb_paths - 1].burst;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (strcmp(mana_rx_paths[i].name, "Scalar") == 0)
			pair->a.burst = mana_rx_paths[i].burst;
	pair->b.burst = path->burst;
	/* Buffers hold no frames: disable the scatter check. */
	pair->b.fx->hwq->scatter.nb_unproven = 0;
	pair->a.nb_taken = pair->b.nb_taken = 0;
}

static void
pair_new(struct pair *pair, const struct mana_rx_path *path,
	   const struct fx_rx_opts *opts)
{
	pair_new_different(pair, path, opts, opts);
}

static void
pair_delete(struct pair *pair)
{
	rte_pktmbuf_free_bulk(pair->a.taken, pair->a.nb_taken);
	rte_pktmbuf_free_bulk(pair->b.taken, pair->b.nb_taken);
	fx_rx_delete(pair->a.fx);
	fx_rx_delete(pair->b.fx);
}

static void
write_both(struct pair *pair, const uint32_t data[15], uint32_t trailer,
	   uint32_t owner)
{
	fx_cqe_write_owner(&pair->a.fx->cq, data, trailer, owner);
	fx_cqe_write_owner(&pair->b.fx->cq, data, trailer, owner);
}

/* A CQE of this queue in the current lap. */
static void
write_own(struct pair *pair, const uint32_t data[15])
{
	write_both(pair, data, FX_RQ_ID,
		   pair->a.fx->cq.pi / pair->a.fx->cq.nb_cqe);
}

static bool
is_split(const struct pair *pair)
{
	return pair->b.fx->nb_segs != 1;
}

/*
 * Compares the bytes that a path writes, 32 from data_off on. Without a VLAN
 * tag this includes stale tags: both mbufs have the same history.
 */
static void
compare_mbuf(const struct pair *pair, const struct rte_mbuf *a,
	     const struct rte_mbuf *b)
{
	assert_memory_equal(&a->data_off, &b->data_off, 26);
	assert_eq(a->hash.rss, b->hash.rss);
	if ((a->ol_flags & RTE_MBUF_F_RX_VLAN) != 0)
		assert_eq(a->vlan_tci, b->vlan_tci);
	assert_eq(a->vlan_tci_outer, b->vlan_tci_outer);
	assert_ptr_equal(a->pool, pair->a.fx->mp);
	assert_ptr_equal(b->pool, pair->b.fx->mp);
	assert_null(a->next);
	assert_null(b->next);
	assert_memory_equal(rte_pktmbuf_mtod(a, void *),
			    rte_pktmbuf_mtod(b, void *),
			    RTE_MIN(a->data_len, 32));
	assert_eq(a->buf_len, b->buf_len);
}

/* The same packet; each segment but the last fills its buffer. */
static void
compare_pieces(const struct pair *pair, const struct rte_mbuf *a,
	       const struct rte_mbuf *b)
{
	const struct fx_rx *fx = pair->b.fx;
	/* A reinserted tag uses headroom of the first buffer. */
	uint32_t left = b->pkt_len, more = fx->segs[0].offset - b->data_off;
	const struct rte_mbuf *seg;
	uint32_t i = 0, part;

	assert_eq(a->pkt_len, b->pkt_len);
	assert_eq(a->ol_flags, b->ol_flags);
	assert_eq(a->packet_type, b->packet_type);
	assert_eq(a->hash.rss, b->hash.rss);
	if ((a->ol_flags & RTE_MBUF_F_RX_VLAN) != 0)
		assert_eq(a->vlan_tci, b->vlan_tci);
	assert_eq(a->port, b->port);
	assert_eq(a->data_off, b->data_off);
	for (seg = b; seg != NULL; seg = seg->next, i++, more = 0) {
		part = RTE_MIN(left, fx->segs[i].bytes + more);
		assert_eq(seg->data_len, part);
		assert_ptr_equal(seg->pool, fx->segs[i].mp);
		assert_eq(rte_mbuf_refcnt_read(seg), 1);
		left -= part;
	}
	assert_eq(left, 0);
	assert_eq(b->nb_segs, i);
}

static void
compare_rings(const struct pair *pair)
{
	const struct mana_hwq *a = pair->a.fx->hwq, *b = pair->b.fx->hwq;

	assert_eq(a->rq.ci, b->rq.ci);
	assert_eq(a->rq.pi, b->rq.pi);
	assert_memory_equal(pair->a.fx->db_page, pair->b.fx->db_page,
			    HW_DB_PAGE_BYTES);
}

/* All statistics and indices; rings only with equal segment counts. */
static void
compare_queues(const struct pair *pair)
{
	const struct mana_hwq *a = pair->a.fx->hwq, *b = pair->b.fx->hwq;

	assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
	assert_eq(a->packets, b->packets);
	assert_eq(a->bytes, b->bytes);
	assert_eq(a->cq.ci, b->cq.ci);
	assert_eq(a->cq.rung, b->cq.rung);
	assert_eq(mana_hwq_nb_posted(a), mana_hwq_nb_posted(b));
	assert_eq(a->slow_flags, b->slow_flags);
	assert_eq(a->failure, b->failure);
	assert_eq(pair->a.fx->rxq->is_busy, 0);
	assert_eq(pair->b.fx->rxq->is_busy, 0);
	if (!is_split(pair))
		compare_rings(pair);
}

/* Polls both queues. Returns the number of packets. */
static uint32_t
poll_both(struct pair *pair, uint16_t nb_pkts)
{
	struct side *a = &pair->a, *b = &pair->b;
	uint32_t na, nb;

	na = a->burst(a->fx->rxq, a->pkts, nb_pkts);
	nb = b->burst(b->fx->rxq, b->pkts, nb_pkts);
	if (na != nb)
		fail_msg("%s: %u packets, expected %u", pair->name, nb, na);
	assert_true(na <= nb_pkts);
	for (uint32_t i = 0; i < na; i++) {
		(is_split(pair) ? compare_pieces : compare_mbuf)(
			pair, a->pkts[i], b->pkts[i]);
		rte_pktmbuf_free(a->pkts[i]);
		rte_pktmbuf_free(b->pkts[i]);
	}
	compare_queues(pair);
	return na;
}

static void
drain_both(struct pair *pair, uint16_t nb_pkts)
{
	uint32_t ci;

	do {
		ci = pair->a.fx->hwq->cq.ci;
	} while (poll_both(pair, nb_pkts) != 0 ||
		 ci != pair->a.fx->hwq->cq.ci);
}

/* Takes all but some mbufs out of both pools, or returns them. */
static void
starve_both(struct pair *pair, uint32_t leave)
{
	struct side *side[] = { &pair->a, &pair->b };

	for (uint32_t i = 0; i < 2; i++) {
		struct side *s = side[i];

		rte_pktmbuf_free_bulk(s->taken, s->nb_taken);
		s->nb_taken = 0;
		while (leave != UINT32_MAX && s->nb_taken < MAX_TAKEN &&
		       rte_mempool_avail_count(s->fx->mp) > leave)
			s->taken[s->nb_taken++] = rte_pktmbuf_alloc(s->fx->mp);
	}
}

/* Words of one packet: length, reserved, hash. */
static void
fill_ppi(uint32_t data[15], uint32_t i, uint32_t len, uint64_t *seed)
{
	data[2 + 3 * i] = len | (uint32_t)fx_random(seed) << 16;
	data[3 + 3 * i] = fx_random(seed);
	data[4 + 3 * i] = fx_random(seed);
}

static void
for_each_path(void (*test)(const struct mana_rx_path *path, uint64_t seed))
{
	const char *given = getenv("MANA_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) :
					(uint64_t)time(NULL) * 2654435761u | 1;

	print_message("MANA_SEED=%#llx\n", (unsigned long long)seed);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_path_is_allowed(&mana_rx_paths[i]))
			test(&mana_rx_paths[i], seed);
}

/* Tests on each Rx path, with a seed. The body, which uses path and seed, follows. */
#define PATH_TEST(name) \
static void name##_on(const struct mana_rx_path *path, uint64_t seed); \
TEST(name) \
{ \
	for_each_path(name##_on); \
} \
static void name##_on(const struct mana_rx_path *path, uint64_t seed)

/* Every type and border length, in each of four places. */
PATH_TEST(every_type_and_length)
{
	static const uint32_t lens[] = {
		0, 1, 2, 63, FX_ROOM_BYTES - 1, FX_ROOM_BYTES,
		FX_ROOM_BYTES + 1, 32767, 32768, 65535,
	};
	uint32_t data[15];

	for (uint32_t type = 0; type < 64; type++) {
		struct pair pair;

		pair_new(&pair, path, &(struct fx_rx_opts){0});
		for (uint32_t l = 0; l < RTE_DIM(lens) * 4; l++) {
			for (uint32_t i = 0; i < 4; i++) {
				uint32_t len = i == l % 4 ? lens[l / 4] : 60 + i;

				memset(data, 0, sizeof(data));
				data[0] = HDR(i == l % 4 ? type : HW_CQE_RX_OKAY) |
					  (uint32_t)fx_random(&seed) << 8;
				data[1] = fx_random(&seed);
				for (uint32_t k = 0; k < 4; k++)
					fill_ppi(data, k, len, &seed);
				write_own(&pair, data);
			}
			drain_both(&pair, 32);
		}
		pair_delete(&pair);
	}
}

/* All checksum bits, hash types, reserved bits and VLAN tags. */
PATH_TEST(every_flag)
{
	for (uint32_t kind = 0; kind < 4; kind++) {
		struct fx_rx_opts opts = {
			.vlan_keep = kind & 1, .no_csum = kind & 2,
		};
		struct pair pair;
		uint32_t data[15];

		pair_new(&pair, path, &opts);
		for (uint32_t i = 0; i < 65536; i++) {
			uint32_t coalesced = (i >> 2) % 3 == 1;

			memset(data, 0, sizeof(data));
			data[0] = HDR(coalesced ? HW_CQE_RX_COALESCED_4 :
						  HW_CQE_RX_OKAY);
			data[1] = i << 16 | (i % 5 == 0 ? fx_random(&seed) & 0xffff :
							  i & 0x6fff);
			for (uint32_t k = 0; k < 4; k++)
				fill_ppi(data, k, 20 + i % 99, &seed);
			write_own(&pair, data);
			if (i % 8 == 7)
				drain_both(&pair, 32);
		}
		assert_eq(pair.a.fx->hwq->stats.oversize, 0);
		pair_delete(&pair);
	}
}

/* Good packets: every burst size, every number of CQEs, from any start. */
PATH_TEST(every_size_and_place)
{
	static const uint32_t starts[] = { 0, 0xffffff00, 0xffffffc1 };

	for (uint32_t s = 0; s < RTE_DIM(starts); s++)
		for (uint32_t burst = 0; burst <= MAX_BURST; burst++) {
			struct fx_rx_opts opts = {
				.start = starts[s], .free_thresh = 1 + burst % 32,
				.pinned = burst % 16 == 5,
			};
			struct pair pair;
			uint32_t data[15];

			pair_new(&pair, path, &opts);
			for (uint32_t turn = 0; turn < 60; turn++) {
				uint32_t nb = fx_random(&seed) % 40;
				uint32_t mode = turn / 8 % 3;

				for (uint32_t i = 0; i < nb && nb <= 64; i++) {
					bool four = mode == 1 ||
						    (mode == 2 && fx_random(&seed) % 2);
					uint32_t last = 4 - (four && i % 3 == 0) *
							(fx_random(&seed) % 4);

					memset(data, 0, sizeof(data));
					data[0] = HDR(four ? HW_CQE_RX_COALESCED_4 :
							     HW_CQE_RX_OKAY);
					data[1] = fx_random(&seed) & ~(1u << 12);
					for (uint32_t k = 0; k < last; k++)
						fill_ppi(data, k, 1 + fx_random(&seed) %
							 FX_ROOM_BYTES, &seed);
					if (mana_hwq_nb_posted(pair.a.fx->hwq) >
					    4 * i + 4)
						write_own(&pair, data);
				}
				for (uint32_t k = 0; k < 3; k++)
					(void)poll_both(&pair, burst);
				if (burst == 0 || turn % 4 == 3)
					drain_both(&pair, 16);
			}
			pair_delete(&pair);
		}
}

/* Two to four segments with the total room of one. */
static void
choose_split(struct fx_rx_opts *opts, uint64_t *seed)
{
	uint32_t left = FX_ROOM_BYTES;

	opts->nb_segs = 2 + fx_random(seed) % 3;
	opts->seg_pools = fx_random(seed) % 2;
	for (uint32_t i = 0; i + 1 < opts->nb_segs; i++) {
		opts->seg_bytes[i] = 1 + fx_random(seed) % (i == 0 ? 100 : 300);
		left -= opts->seg_bytes[i];
	}
	opts->seg_bytes[opts->nb_segs - 1] = left;
	/* Without pools of their own the segments share one pool. */
	if (!opts->seg_pools)
		opts->nb_pool *= opts->nb_segs;
}

/* Random CQEs, good and bad, with pools that run empty. */
static void
random_cqes_one(const struct mana_rx_path *path, uint64_t *seed, bool is_split)
{
	struct fx_rx_opts split, opts = {
		.nb_desc = 1 + fx_random(seed) % 128, .nb_cqe = 128,
		.start = fx_random(seed) % 2 ?
				 0 : 0 - (uint32_t)fx_random(seed) % 600,
		.vlan_keep = fx_random(seed) % 2, .nb_pool = 300,
		.free_thresh = fx_random(seed) % 40,
	};
	struct pair pair;

	split = opts;
	if (is_split)
		choose_split(&split, seed);
	pair_new_different(&pair, path, &opts, &split);
	for (uint32_t turn = 0; turn < 120; turn++) {
		uint32_t nb = fx_random(seed) % 30;

		while (nb-- > 0 && pair.a.fx->cq.pi - pair.a.fx->hwq->cq.ci < 100) {
			uint64_t r = fx_random(seed);
			uint32_t trailer = FX_RQ_ID, data[15];

			for (uint32_t i = 0; i < 15; i++)
				data[i] = fx_random(seed);
			data[0] = r % 16 != 0 ? HDR(1 + (r >> 8) % 2) : data[0];
			if (r % 64 == 1) /* rare: it queue_end the queue */
				data[0] = HDR(HW_CQE_RX_TRUNCATED);
			else if (r % 16 == 0)
				data[0] = HDR(3 + r / 16 % 2);
			for (uint32_t i = 0; i < 4; i++)
				data[2 + 3 * i] = (data[2 + 3 * i] & 0xffff0000) |
						  (r >> (16 + i) & 1 && r % 4 == 0 ?
						   data[2 + 3 * i] & 0xffff :
						   1 + data[3 + 3 * i] % 200);
			if (r % 32 == 2)
				trailer = fx_random(seed) & 0x1ffffff;
			write_both(&pair, data, trailer | (r & 15) << 25,
				   pair.a.fx->cq.pi / 128);
		}
		/* Segment counts differ in what an empty pool posts. */
		if (turn % 16 == 5 && !is_split)
			starve_both(&pair, fx_random(seed) % 20);
		else if (turn % 16 == 9)
			starve_both(&pair, UINT32_MAX);
		if (turn % 32 == 20)
			fx_mr_forget();
		(void)poll_both(&pair, fx_random(seed) % (MAX_BURST + 1));
	}
	drain_both(&pair, 32);
	pair_delete(&pair);
}

PATH_TEST(random_cqes)
{
	for (uint32_t round = 0; round < 150; round++)
		random_cqes_one(path, &seed, false);
}

PATH_TEST(random_cqes_split)
{
	for (uint32_t round = 0; round < 150; round++)
		random_cqes_one(path, &seed, true);
}

/* What queue_end a queue: CQEs of another lap and unknown types. */
PATH_TEST(queue_end)
{
	for (uint32_t kind = 0; kind < 16; kind++)
		for (uint32_t place = 0; place < 12; place++) {
			struct pair pair;
			uint32_t data[15] = { 0 };

			pair_new(&pair, path, &(struct fx_rx_opts){0});
			for (uint32_t i = 0; i < 16; i++) {
				bool here = i == place || i == place + 2;

				fill_ppi(data, 0, 60, &seed);
				data[0] = HDR(here && kind >= 8 ? kind :
					      HW_CQE_RX_OKAY);
				write_both(&pair, data, FX_RQ_ID,
					   here && kind < 8 ? kind : 1);
			}
			drain_both(&pair, 32);
			pair_delete(&pair);
		}
}
