/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The same packets on two queues: from a pool whose region the queue knows, so
 * that batches and chains take the fast path; and from a pool without such a
 * region, so that each packet takes the slow path. The device must find the
 * same frames.
 */

#include "fixture.h"

#define NB_POOL 4095
#define MAX_BURST 40

static struct fx_tx_wqe wqe;
static uint64_t seed;

static uint32_t
chance(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

/* True once in nb calls. */
static bool
one_in(uint32_t nb)
{
	return chance() % nb == 0;
}

/* An extra reference that the test holds. */
struct held {
	struct rte_mbuf *m;
	void (*release)(struct rte_mbuf *m);
};

/* One of the two queues and its pools. */
struct side {
	struct fx_tx *fx;
	struct rte_mempool *mp, *other;
	struct held held[MAX_BURST];
	uint32_t nb_held;
	uint64_t *outcomes; /* of the first queue, expected on the second */
	uint32_t nb_outcomes;
	bool is_first;
	bool has_fast; /* a packet of `mp` took the fast lane */
};

#define MAX_OUTCOMES (1u << 20)

static void
outcome(struct side *side, uint64_t value)
{
	assert_true(side->nb_outcomes < MAX_OUTCOMES);
	if (side->is_first)
		side->outcomes[side->nb_outcomes] = value;
	else
		assert_eq(value, side->outcomes[side->nb_outcomes]);
	side->nb_outcomes++;
}

static uint64_t
hash_bytes(uint64_t hash, const void *data, uint32_t bytes)
{
	const uint8_t *at = data;

	while (bytes-- > 0)
		hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t
hash_word(uint64_t hash, uint64_t word)
{
	return hash_bytes(hash, &word, sizeof(word));
}

/* ---- Packets -------------------------------------------------------------- */

struct request {
	uint64_t ol_flags;
	uint16_t l2_len, l3_len, l4_len;
};

static const struct request requests[] = {
	{ 0, 14, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4, 14, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM,
	  14, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM,
	  14, 20, 32 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM,
	  14, 20, 8 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 14, 20, 0 },
	{ RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 40, 20 },
	{ RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM, 18, 40, 8 },
	/* VLAN tag in the frame; IP options */
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM,
	  18, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM,
	  14, 60, 8 },
	/* too short for TSO */
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, 16 },
	/* rejected */
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_SCTP_CKSUM, 14, 20, 12 },
	{ RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 13, 20, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 19, 20 },
	{ RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM |
	  RTE_MBUF_F_TX_TUNNEL_VXLAN, 14, 20, 20 },
};

static struct rte_mbuf *
random_segment(struct rte_mempool *mp, uint32_t len_bytes)
{
	struct rte_mbuf *m = fx_mbuf(mp, len_bytes, chance());

	/* Data whose checksums carry. */
	if (one_in(8))
		memset(rte_pktmbuf_mtod(m, void *), -(int)(chance() % 2),
		       len_bytes);
	return m;
}

/* Packet mix of a burst. */
enum mix {
	FAST, /* batches of chains take them all */
	FAST_OR_TSO, /* as FAST, but most TCP packets request TSO */
	ANY, /* any kind */
	NB_MIXES
};
#define NB_FAST 11 /* of requests[] */

static void
random_request(struct rte_mbuf *m, const struct request *r, enum mix mix)
{
	bool is_tcp = (r->ol_flags & RTE_MBUF_F_TX_L4_MASK) ==
		      RTE_MBUF_F_TX_TCP_CKSUM;

	m->ol_flags |= r->ol_flags;
	m->l2_len = r->l2_len;
	m->l3_len = r->l3_len;
	m->l4_len = r->l4_len;
	if (mix == ANY && one_in(8)) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = chance();
	}
	if (is_tcp && mix != FAST && !one_in(mix == ANY ? 2 : 6)) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
		m->tso_segsz = one_in(20) ? chance() % 3 * 0x4000 :
					    1 + chance() % 300;
		/* implied by TCP_SEG */
		if (one_in(3))
			m->ol_flags &= ~RTE_MBUF_F_TX_TCP_CKSUM;
	}
}

/* A segment is shared, or the packet is a clone. */
static struct rte_mbuf *
random_share(struct side *side, struct rte_mbuf *m, struct rte_mbuf *last)
{
	struct rte_mbuf *shared = one_in(2) ? m : last;

	if (one_in(3)) {
		side->held[side->nb_held++] = (struct held){ m, rte_pktmbuf_free };
		return rte_pktmbuf_clone(m, side->mp);
	}
	rte_mbuf_refcnt_update(shared, 1);
	side->held[side->nb_held++] =
		(struct held){ shared, rte_pktmbuf_free_seg };
	return m;
}

/*
 * nb_segs of 1 is believed without reading next: the application leaks the
 * other segments.
 */
static uint16_t
random_lie(uint16_t nb_segs)
{
	if (one_in(3))
		return 0;
	return nb_segs > 2 && one_in(2) ? nb_segs - 1 : nb_segs + 1;
}

static struct rte_mbuf *
random_packet(struct side *side, enum mix mix)
{
	bool is_any = mix == ANY;
	const struct request *r = &requests[chance() % (is_any ?
							RTE_DIM(requests) :
							NB_FAST)];
	uint32_t hdr_bytes = r->l2_len + r->l3_len + r->l4_len;
	uint32_t nb_more = one_in(3) ? 0 : is_any && one_in(6) ?
				   chance() % 40 : 1 + chance() % 3;
	struct rte_mbuf *m, *last;

	/* The header in segments, with or without payload. */
	last = m = random_segment(side->mp, is_any && one_in(8) ?
				  chance() % hdr_bytes :
				  hdr_bytes + (one_in(2) ? 0 : chance() % 99));
	for (; nb_more > 0; nb_more--) {
		last = random_segment(is_any && one_in(30) ? side->other :
							      side->mp,
				      is_any && one_in(20) ? 0 :
							      1 + chance() % 199);
		assert_eq(rte_pktmbuf_chain(m, last), 0);
	}
	random_request(m, r, mix);
	if (is_any && one_in(10))
		m = random_share(side, m, last);
	else if (is_any && one_in(40))
		m->nb_segs = random_lie(m->nb_segs);
	return m;
}

static uint64_t
packet_hash(const struct rte_mbuf *m)
{
	uint64_t hash = hash_word(hash_word(0, m->nb_segs), m->ol_flags);

	for (; m != NULL; m = m->next) {
		hash = hash_word(hash, (uintptr_t)m);
		hash = hash_word(hash, rte_mbuf_refcnt_read(m));
		hash = hash_bytes(hash, rte_pktmbuf_mtod(m, void *), m->data_len);
	}
	return hash;
}

/* ---- Frames that the device finds ----------------------------------------- */

static uint64_t
wqe_hash(void)
{
	const struct hw_wqe *header = &wqe.header;
	const struct hw_tx_oob *oob = &wqe.oob;
	const uint64_t words[] = {
		header->last_vbytes, header->oob_div4, header->oob_in_sgl,
		header->client_data_unit, oob->is_ipv4, oob->is_ipv6,
		oob->ip_csum, oob->tcp_csum, oob->udp_csum, oob->trans_off,
		oob->is_encap, oob->inject_vlan, oob->tci, wqe.nb_sge,
	};
	uint64_t hash = hash_bytes(0, words, sizeof(words));

	for (uint32_t i = 0; i < wqe.nb_sge; i++)
		hash = hash_word(hash, wqe.sge[i].size_bytes);
	return hash_bytes(hash, wqe.frame, wqe.bytes);
}

static void
random_burst(struct side *side)
{
	struct rte_mbuf *pkts[MAX_BURST];
	uint64_t hashes[MAX_BURST];
	uint32_t nb = 1 + chance() % MAX_BURST, sent;
	enum mix mix = chance() % NB_MIXES;

	side->nb_held = 0;
	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = random_packet(side, one_in(8) ? ANY : mix);
	for (uint32_t i = 0; i < nb; i++)
		hashes[i] = packet_hash(pkts[i]);
	sent = side->fx->burst(side->fx->txq, pkts, nb);
	outcome(side, sent);
	while (fx_tx_fetch(side->fx, &wqe))
		outcome(side, wqe_hash());
	/* Unsent packets are unchanged and not in the queue. */
	for (uint32_t i = sent; i < nb; i++) {
		assert_eq(packet_hash(pkts[i]), hashes[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	for (uint32_t i = 0; i < side->nb_held; i++)
		side->held[i].release(side->held[i].m);
}

static void
random_completions(struct side *side, uint32_t *done)
{
	uint32_t nb = (uint32_t)side->fx->txq->pi - *done;

	/* Some stay outstanding: nearly full rings are common. */
	for (nb = chance() % (nb + 1); nb > 0; nb--, ++*done)
		fx_tx_cqe(side->fx, HW_CQE_TX_OKAY);
}

/*
 * Adds a small region at the start of the chunk, which is registered: a search for any
 * packet ends there, and only the slow lane looks at the regions before it.
 */
static void
hide_chunk(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *chunk,
	   unsigned int idx)
{
	fx_mr_register(RTE_PTR_ADD(chunk->addr, 1), 1, 0xdead);
}

/* WQE offsets of CQEs: right; wrong from some burst on; all 0. */
enum positions { RIGHT, BECOME_WRONG, ZERO, NB_POSITIONS };

static void
run_side(struct side *side, uint32_t round)
{
	enum positions positions = round % NB_POSITIONS;
	struct mana_txq_stats *stats;
	uint32_t done;

	seed = round;
	side->nb_outcomes = 0;
	side->has_fast = false;
	side->fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_desc = 33 + chance() % 200, .nb_cqe = 256,
		.nb_bounce = 2047,
		.sq_bytes = 4096 << chance() % 4,
		.max_sge = one_in(4) ? 3 : 30,
		.vp_offset = one_in(6) ? 300 : 3,
		.start = UINT32_MAX - chance() % 500,
		.mbufs_per_wqe = 1 << chance() % 3,
		.zero_position = positions == ZERO });
	side->mp = fx_pool("this", NB_POOL, FX_ROOM_BYTES);
	fx_mr_add_pool(side->mp, 0x5001);
	if (!side->is_first)
		rte_mempool_mem_iter(side->mp, hide_chunk, NULL);
	side->other = fx_pool("other", NB_POOL, FX_ROOM_BYTES);
	fx_mr_add_pool(side->other, 0x7001);
	done = side->fx->txq->ci;
	for (uint32_t i = 0; i < 150; i++) {
		if (positions == BECOME_WRONG && i == 100)
			side->fx->zero_position = true;
		if (!one_in(4))
			random_completions(side, &done);
		random_burst(side);
		side->has_fast |= side->fx->txq->region.lkey == 0x5001;
	}
	/* The queue uses the intended path. */
	assert_int_equal(side->has_fast, side->is_first);
	stats = &side->fx->txq->stats;
	outcome(side, stats->drop_offload);
	outcome(side, stats->drop_malformed);
	outcome(side, stats->drop_nomem);
	outcome(side, stats->drop_mr);
	outcome(side, stats->bounced);
	outcome(side, stats->linearized);
	assert_eq(stats->drop_mr, 0);
	mana_txq_release_mbufs(side->fx->txq);
	assert_eq(fx_pool_missing(side->mp, NB_POOL), 0);
	assert_eq(fx_pool_missing(side->other, NB_POOL), 0);
	fx_tx_delete(side->fx);
	fx_pool_free(side->mp);
	fx_pool_free(side->other);
}

TEST(slow_lane_sends_same_wqes)
{
	static uint64_t outcomes[MAX_OUTCOMES];
	uint32_t nb;

	for (uint32_t round = 0; round < 90; round++) {
		struct side side = { .outcomes = outcomes, .is_first = true };

		run_side(&side, round);
		nb = side.nb_outcomes;
		side.is_first = false;
		run_side(&side, round);
		assert_eq(side.nb_outcomes, nb);
	}
}
