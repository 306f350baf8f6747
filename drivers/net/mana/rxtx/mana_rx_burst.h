/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx burst: completions in, mbufs out. One template with two lanes.
 *
 * The fast lane is a kernel, scalar or in vectors. It takes the common CQEs, up
 * to the end of either ring. A kernel stops before a CQE that is unusual in any
 * way, with nothing done for it. The slow lane (mana_rx_slow.c) takes any CQE,
 * one at a time, and decides on a private copy of it.
 *
 * The driver trusts nothing that the device writes: no decision depends on two
 * loads of the same word, each length is checked against the posted buffer, and
 * the driver's own counts bound every loop.
 *
 * The WQEs of an RQ are all of one size, so the indices of the RQ count WQEs
 * here. A WQE with one buffer is one BU.
 */

#ifndef MANA_RX_BURST_H
#define MANA_RX_BURST_H

#include <rte_prefetch.h>

#include "mana_rx.h"
#include "mana_rxtx.h"
#include "mana_vec.h"

/**
 * A kernel: deliver packets of the most common kinds, up to the first other CQE
 * or the end of a ring. It moves the indices of the queue and counts bytes.
 *
 * @return
 *   Packets delivered, nb_pkts at most.
 */
typedef uint32_t (*mana_rx_kernel_t)(struct mana_rxq *rxq,
				     struct rte_mbuf **pkts, uint32_t nb_pkts);

/* The trailer of this queue's CQEs in the lap of idx. No CQE of a closed queue has it. */
static inline uint32_t
mana_rx_trailer_wanted(const struct mana_cq *cq, uint32_t idx)
{
	return cq->trailer | mana_cq_owner(cq, idx);
}

static inline bool
mana_rx_trailer_is(uint32_t trailer, uint32_t want)
{
	return (trailer & MANA_CQ_TRAILER_M) == want;
}

/* Packets that a kernel may deliver, up to the end of the ring of mbufs. */
static inline uint32_t
mana_rx_batch_pkts(const struct mana_rxq *rxq, uint32_t nb_pkts)
{
	nb_pkts = RTE_MIN(nb_pkts, mana_rxq_nb_posted(rxq));
	return RTE_MIN(nb_pkts, (~rxq->rq.ci & rxq->mbuf_mask) + 1);
}

/* The end of a poll. */
static inline uint16_t
mana_rx_finish(struct mana_rx_list *list, struct rte_mbuf **pkts, uint32_t nb,
	       struct mana_rxq *rxq)
{
	rxq->packets += nb;
	if (unlikely(mana_rx_is_refill_due(rxq) || rxq->parse))
		return mana_rx_chores(list, pkts, nb, rxq);
	mana_burst_leave(&list->is_busy);
	return nb;
}

/*
 * Poll one hardware queue: see mana_rx_poll_t.
 *
 * The budget bounds the CQEs without a packet, as nb_pkts bounds the packets. The
 * slow lane sets it to 0 to end the burst.
 */
static __rte_always_inline uint16_t
mana_rx_poll_tmpl(struct mana_rx_list *list, struct rte_mbuf **pkts,
		  uint32_t nb_pkts, struct mana_rxq *rxq,
		  mana_rx_kernel_t kernel)
{
	uint32_t budget = nb_pkts, nb = 0;

	while (nb < nb_pkts && budget > 0) {
		if (likely((rxq->slow_flags & MANA_RX_SLOW_LANE) == 0 &&
			   rxq->scatter.nb_segs == 0)) {
			nb += kernel(rxq, &pkts[nb], nb_pkts - nb);
			if (likely(nb == nb_pkts) || mana_rx_is_empty(&rxq->cq))
				break;
		}
		nb += mana_rx_slow(rxq, &pkts[nb], nb_pkts - nb, &budget);
	}
	return mana_rx_finish(list, pkts, nb, rxq);
}

/* Packets that a kernel in vectors takes at a time. */
#define MANA_RX_VEC_SHIFT 2
#define MANA_RX_VEC_N (1 << MANA_RX_VEC_SHIFT)

/*
 * A burst of an ethdev queue. An empty poll calls nothing. The functions called
 * otherwise are not inlined, and end the burst, so that the calls are jumps.
 */
static __rte_always_inline uint16_t
mana_rx_burst_tmpl(struct mana_rx_list *list, struct rte_mbuf **pkts,
		   uint32_t nb_pkts, mana_rx_poll_t poll)
{
	struct mana_rxq *rxq;

	mana_burst_enter(&list->is_busy);
	rxq = mana_rx_list_only(list);
	if (likely(rxq->slow_flags == 0) && mana_rx_is_empty(&rxq->cq)) {
		mana_burst_leave(&list->is_busy);
		return 0;
	}
	if (unlikely((rxq->slow_flags & MANA_RX_STAND_IN) != 0))
		return mana_rx_list_poll(list, pkts, nb_pkts, poll);
	/* By a comparison, an empty poll would take one more instruction (gcc). */
	if (nb_pkts >> MANA_RX_VEC_SHIFT == 0)
		return mana_rx_poll_scalar(list, pkts, nb_pkts, rxq);
	return poll(list, pkts, nb_pkts, rxq);
}

/* ---- The kernel in vectors ---------------------------------------------- */

/*
 * The Rx kernel in vectors of 16 bytes, for every instruction set that has
 * them: four CQEs with a packet each at a time, or one CQE with four.
 *
 * One packet each. The words behind the header of a CQE are loaded as one
 * vector v:
 *
 *     lane     0            1           2           3
 *     v        flags        len | res   res         hash
 *     packet   0            len         len | 0     hash
 *     mbuf     packet_type  pkt_len     data_len,   hash.rss
 *                                       vlan_tci
 *
 * The packet type of the table goes into lane 0 if the application wants it.
 * What precedes these 16 bytes of the mbuf is 16 bytes more: the rearm word, the
 * same for all, and ol_flags.
 *
 * Four packets. The first one's words are in v as above, those of the others
 * span the vectors at 20 and at 36:
 *
 *     lane     0        1        2        3
 *     b        len 1    res      hash 1   len 2
 *     c        res      hash 2   len 3    res
 *     join     len 2    res      hash 2   len 3      bytes 12.. of b and c
 *     d        hash 3   hash 2   len 3    res        c, hash 3 in place of res
 *
 * so three shuffles (of v, of b and join, of d) make four packets of them.
 *
 * A packet with a VLAN tag is for the slow lane.
 */

static_assert(offsetof(struct rte_mbuf, data_off) % 16 == 0 &&
	      offsetof(struct rte_mbuf, ol_flags) ==
		      offsetof(struct rte_mbuf, data_off) + 8 &&
	      offsetof(struct rte_mbuf, packet_type) ==
		      offsetof(struct rte_mbuf, data_off) + 16 &&
	      offsetof(struct rte_mbuf, pkt_len) ==
		      offsetof(struct rte_mbuf, packet_type) + 4 &&
	      offsetof(struct rte_mbuf, data_len) ==
		      offsetof(struct rte_mbuf, packet_type) + 8 &&
	      offsetof(struct rte_mbuf, vlan_tci) ==
		      offsetof(struct rte_mbuf, packet_type) + 10 &&
	      offsetof(struct rte_mbuf, hash) ==
		      offsetof(struct rte_mbuf, packet_type) + 12,
	      "an mbuf is as it is drawn");

#define MANA_RX_VEC_AHEAD 8 /* CQEs that are prefetched */

/*
 * The constants of the kernels, in memory: the compiler would otherwise compute
 * some again in each round.
 */
struct mana_rx_vec_const {
	/* mbuf flags, shifted right by one, by flags bits 25 on, and 27 on */
	alignas(16) uint8_t ip[16];
	uint8_t l4[16];
	/* From CQE to packet, as drawn above. */
	uint8_t first[16]; /* of v */
	uint8_t mid[16]; /* of b and of join */
	uint8_t last[16]; /* of d */
	uint32_t types[4]; /* of CQEs with one packet each */
	uint32_t type[4]; /* of a header */
	uint32_t hash_type[4]; /* of a flags word */
	uint32_t trailers[4]; /* what counts of them */
	uint32_t tag[4]; /* of a flags word */
	uint32_t len[4]; /* of v's lane 1 */
};
extern const struct mana_rx_vec_const mana_rx_vec_const MANA_HIDDEN;
#define MANA_RX_VEC(name) mana_vec_load_16(mana_rx_vec_const.name)

/* The first 32 bytes of an mbuf behind its addresses. */
static inline void
mana_rx_vec_put(struct rte_mbuf *m, mana_vec_t rearm, mana_vec_t fields)
{
	mana_vec_store(&m->data_off, rearm);
	mana_vec_store(&m->packet_type, fields);
}

/* Write four mbufs, and deliver them. */
static inline void
mana_rx_vec_deliver(struct rte_mbuf **pkts, struct rte_mbuf *const *mbufs,
		    const mana_vec_t rearm[MANA_RX_VEC_N],
		    const mana_vec_t fields[MANA_RX_VEC_N])
{
	mana_rx_vec_put(mbufs[0], rearm[0], fields[0]);
	mana_rx_vec_put(mbufs[1], rearm[1], fields[1]);
	mana_rx_vec_put(mbufs[2], rearm[2], fields[2]);
	mana_rx_vec_put(mbufs[3], rearm[3], fields[3]);
	mana_vec_move32(pkts, mbufs);
}

/*
 * mbuf flags by four flags words, and by their hash types in place. These mbuf
 * flags are bits 1 to 8: the tables have them in a byte, shifted right by one, and
 * a comparison that holds is -1.
 */
static inline mana_vec_t
mana_rx_vec_flags(mana_vec_t flags, mana_vec_t hash)
{
	mana_vec_t csum;

	csum = mana_vec_or(mana_vec_lookup(MANA_RX_VEC(ip),
					   mana_vec_shr32(flags, 25)),
			   mana_vec_lookup(MANA_RX_VEC(l4),
					   mana_vec_shr32(flags, 27)));
	csum = mana_vec_sub32(csum, mana_vec_gt32(hash, mana_vec_zero()));
	return mana_vec_shl32(csum, 1);
}
static_assert(RTE_MBUF_F_RX_RSS_HASH == 1 << 1, "what a comparison gives");

/* The packet type of hash type i, the high half of word i, into a packet. */
#define MANA_RX_VEC_PTYPE(packet, hash_types, i) \
	mana_vec_set32(packet, \
		       mana_rx_fields.hash[mana_vec_get16(hash_types, \
							 2 * (i) + 1)].ptype, 0)
static_assert(MANA_RX_CQE_HASH_TYPE_S == 16, "the high half of a flags word");

/* Zero if no length is 0 or above that of a buffer. */
static inline mana_vec_t
mana_rx_vec_bound(const struct mana_rxq *rxq, mana_vec_t len)
{
	len = mana_vec_add16(len, mana_vec_dup32(UINT16_MAX));
	return mana_vec_subs16(len, mana_vec_load_16(rxq->vec_bound));
}

/*
 * Four CQEs of one packet each: v has their words, len gets the lengths. wrong is
 * not zero if one of the CQEs is of another kind. False in this case, or if a packet
 * is unusual: nothing was done.
 */
static inline bool
mana_rx_vec_okay(const struct mana_rxq *rxq, mana_vec_t queue_rearm,
		 const mana_vec_t v[MANA_RX_VEC_N], mana_vec_t wrong,
		 struct rte_mbuf **pkts, struct rte_mbuf *const *mbufs,
		 mana_vec_t *len)
{
	const mana_vec_t shuffle = MANA_RX_VEC(first);
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];
	mana_vec_t lo, hi, flags, hash, ol_flags;

	lo = mana_vec_zip_lo32(v[0], v[1]);
	hi = mana_vec_zip_lo32(v[2], v[3]);
	*len = mana_vec_and(mana_vec_zip_hi64(lo, hi), MANA_RX_VEC(len));
	flags = mana_vec_zip_lo64(lo, hi);
	wrong = mana_vec_or(wrong, mana_rx_vec_bound(rxq, *len));
	wrong = mana_vec_or(wrong, mana_vec_and(flags, MANA_RX_VEC(tag)));
	if (unlikely(!mana_vec_is_zero(wrong)))
		return false;

	p[0] = mana_vec_shuffle(v[0], shuffle);
	p[1] = mana_vec_shuffle(v[1], shuffle);
	p[2] = mana_vec_shuffle(v[2], shuffle);
	p[3] = mana_vec_shuffle(v[3], shuffle);
	hash = mana_vec_and(flags, MANA_RX_VEC(hash_type));
	ol_flags = mana_vec_and(mana_rx_vec_flags(flags, hash),
				mana_vec_load_16(rxq->vec_reported));
	if (rxq->ptypes) {
		p[0] = MANA_RX_VEC_PTYPE(p[0], hash, 0);
		p[1] = MANA_RX_VEC_PTYPE(p[1], hash, 1);
		p[2] = MANA_RX_VEC_PTYPE(p[2], hash, 2);
		p[3] = MANA_RX_VEC_PTYPE(p[3], hash, 3);
	}
	rearm[0] = mana_vec_copy32(queue_rearm, 2, ol_flags, 0);
	rearm[1] = mana_vec_copy32(queue_rearm, 2, ol_flags, 1);
	rearm[2] = mana_vec_copy32(queue_rearm, 2, ol_flags, 2);
	rearm[3] = mana_vec_copy32(queue_rearm, 2, ol_flags, 3);
	mana_rx_vec_deliver(pkts, mbufs, rearm, p);
	return true;
}

/*
 * One CQE with up to four packets. False if it has fewer than four, or a length is
 * out of bounds: nothing was done.
 */
static inline bool
mana_rx_vec_coalesced(const struct mana_rxq *rxq, mana_vec_t queue_rearm,
		      const struct gdma_cqe *cqe, struct rte_mbuf **pkts,
		      struct rte_mbuf *const *mbufs, mana_vec_t *len)
{
	const mana_vec_t mid = MANA_RX_VEC(mid);
	const mana_vec_t v = mana_vec_load(&cqe->rx.flags);
	const uint32_t flags = mana_vec_get32(v, 0);
	const struct mana_rx_hash *hash =
		&mana_rx_fields.hash[MANA_RX_HASH_TYPE(flags)];
	const mana_vec_t b = mana_vec_load(&cqe->rx.ppi[1]);
	const mana_vec_t c = mana_vec_load(&cqe->rx.ppi[2].reserved);
	const mana_vec_t d = mana_vec_set32(c, cqe->rx.ppi[3].hash, 0);
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];

	rte_compiler_barrier();
	p[0] = mana_vec_shuffle(v, MANA_RX_VEC(first));
	p[1] = mana_vec_shuffle(b, mid);
	p[2] = mana_vec_shuffle(mana_vec_join(b, c, 12), mid);
	p[3] = mana_vec_shuffle(d, MANA_RX_VEC(last));
	*len = mana_vec_zip_hi64(mana_vec_zip_lo32(p[0], p[1]),
				 mana_vec_zip_lo32(p[2], p[3]));
	if (unlikely((flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     !mana_vec_is_zero(mana_rx_vec_bound(rxq, *len))))
		return false;
	rearm[0] = mana_vec_set32(queue_rearm,
				  hash->ol_flags | mana_rx_csum_flags(rxq, flags),
				  2);
	rearm[1] = rearm[0];
	rearm[2] = rearm[0];
	rearm[3] = rearm[0];
	if (rxq->ptypes) {
		const mana_vec_t ptype = mana_vec_from32(hash->ptype);

		p[0] = mana_vec_or(p[0], ptype);
		p[1] = mana_vec_or(p[1], ptype);
		p[2] = mana_vec_or(p[2], ptype);
		p[3] = mana_vec_or(p[3], ptype);
	}
	mana_rx_vec_deliver(pkts, mbufs, rearm, p);
	return true;
}

/* Not zero if one of these four CQEs is old, or not of a single packet. */
static inline mana_vec_t
mana_rx_vec_not_okay(mana_vec_t want, const struct gdma_cqe *cqe)
{
	/* Each word is used once, so a compiler has no reason to load it twice. */
	mana_vec_t trailers, types;

	trailers = mana_vec_from32(cqe[0].trailer);
	trailers = mana_vec_set32(trailers, cqe[1].trailer, 1);
	trailers = mana_vec_set32(trailers, cqe[2].trailer, 2);
	trailers = mana_vec_set32(trailers, cqe[3].trailer, 3);
	rte_io_rmb();
	types = mana_vec_from32(cqe[0].rx.header);
	types = mana_vec_set32(types, cqe[1].rx.header, 1);
	types = mana_vec_set32(types, cqe[2].rx.header, 2);
	types = mana_vec_set32(types, cqe[3].rx.header, 3);
	/* Masked first: the trailer of a closed queue has a bit beyond the mask. */
	trailers = mana_vec_and(trailers, MANA_RX_VEC(trailers));
	types = mana_vec_and(types, MANA_RX_VEC(type));
	return mana_vec_or(mana_vec_xor(trailers, want),
			   mana_vec_xor(types, MANA_RX_VEC(types)));
}

/* Whether this CQE is new and has up to four packets. */
static inline bool
mana_rx_is_coalesced(uint32_t want, const struct gdma_cqe *cqe)
{
	if (!mana_rx_trailer_is(mana_cqe_load(&cqe->trailer), want))
		return false;
	rte_io_rmb();
	return (mana_cqe_load(&cqe->rx.header) & MANA_CQE_TYPE_M) ==
	       MANA_CQE_RX_COALESCED_4;
}

/* CQEs for a later round or the next burst; they may lie behind the ring. */
static inline void
mana_rx_vec_prefetch(const struct gdma_cqe *cqe)
{
	rte_prefetch0(&cqe[MANA_RX_VEC_AHEAD]);
	rte_prefetch0(&cqe[MANA_RX_VEC_AHEAD + 1]);
	rte_prefetch0(&cqe[MANA_RX_VEC_AHEAD + 2]);
	rte_prefetch0(&cqe[MANA_RX_VEC_AHEAD + 3]);
}

/* Where the kernel is, and the sum of lengths. */
struct mana_rx_vec_at {
	const struct gdma_cqe *cqe;
	struct rte_mbuf *const *mbufs;
	struct rte_mbuf **pkts;
	uintptr_t cqe_last, mbufs_last; /* last places with four more */
	mana_vec_t bytes;
};

static inline bool
mana_rx_vec_has_room(const struct mana_rx_vec_at *at)
{
	return (uintptr_t)at->cqe <= at->cqe_last &&
	       (uintptr_t)at->mbufs <= at->mbufs_last;
}

static inline void
mana_rx_vec_advance(struct mana_rx_vec_at *at, uint32_t nb_cqes, mana_vec_t len)
{
	at->cqe += nb_cqes;
	at->mbufs += MANA_RX_VEC_N;
	at->pkts += MANA_RX_VEC_N;
	at->bytes = mana_vec_add32(at->bytes, len);
}

/* Rounds of four CQEs with one packet each. False: there is no room for another one. */
static __rte_always_inline bool
mana_rx_vec_okay_rounds(const struct mana_rxq *rxq, mana_vec_t wants,
			struct mana_rx_vec_at *at)
{
	const mana_vec_t rearm = mana_vec_load_16(&rxq->rearm);
	mana_vec_t v[MANA_RX_VEC_N], wrong, len;

	do {
		wrong = mana_rx_vec_not_okay(wants, at->cqe);
		mana_rx_vec_prefetch(at->cqe);
		v[0] = mana_vec_load(&at->cqe[0].rx.flags);
		v[1] = mana_vec_load(&at->cqe[1].rx.flags);
		v[2] = mana_vec_load(&at->cqe[2].rx.flags);
		v[3] = mana_vec_load(&at->cqe[3].rx.flags);
		rte_compiler_barrier();
		if (unlikely(!mana_rx_vec_okay(rxq, rearm, v, wrong, at->pkts,
					       at->mbufs, &len)))
			return true;
		mana_rx_vec_advance(at, MANA_RX_VEC_N, len);
	} while (mana_rx_vec_has_room(at));
	return false;
}

/* The same with one CQE of four packets. */
static __rte_always_inline bool
mana_rx_vec_coalesced_rounds(const struct mana_rxq *rxq, uint32_t want,
			     struct mana_rx_vec_at *at)
{
	const mana_vec_t rearm = mana_vec_load_16(&rxq->rearm);
	mana_vec_t len;

	do {
		if (unlikely(!mana_rx_is_coalesced(want, at->cqe) ||
			     !mana_rx_vec_coalesced(rxq, rearm, at->cqe, at->pkts,
						    at->mbufs, &len)))
			return true;
		rte_prefetch0(&at->cqe[MANA_RX_VEC_AHEAD]);
		mana_rx_vec_advance(at, 1, len);
	} while (mana_rx_vec_has_room(at));
	return false;
}

/*
 * See mana_rx_kernel_t. The owner bits are the same up to the end of the ring.
 *
 * The next CQE selects the rounds, which load and check it again. Rounds that
 * deliver nothing end the kernel.
 */
static __rte_always_inline uint32_t
mana_rx_vec_kernel(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		   uint32_t nb_pkts)
{
	const uint32_t want = mana_rx_trailer_wanted(&rxq->cq, rxq->cq.ci);
	const mana_vec_t wants = mana_vec_dup32(want);
	const struct gdma_cqe *const first = mana_cq_cqe(&rxq->cq, rxq->cq.ci);
	struct rte_mbuf *const *const mbufs =
		&rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];
	struct rte_mbuf *const *before;
	struct mana_rx_vec_at at = {
		.cqe = first, .mbufs = mbufs, .pkts = pkts,
		.bytes = mana_vec_zero(),
	};
	uint32_t nb, nb_cqes;
	bool has_room;

	nb_pkts = mana_rx_batch_pkts(rxq, nb_pkts);
	nb_cqes = (~rxq->cq.ci & rxq->cq.mask) + 1; /* up to the end of the ring */
	if (unlikely(nb_pkts < MANA_RX_VEC_N || nb_cqes < MANA_RX_VEC_N))
		return 0;
	at.cqe_last = (uintptr_t)(first + nb_cqes - MANA_RX_VEC_N);
	at.mbufs_last = (uintptr_t)(mbufs + nb_pkts - MANA_RX_VEC_N);
	do {
		before = at.mbufs;
		has_room = unlikely(mana_rx_is_coalesced(want, at.cqe)) ?
			   mana_rx_vec_coalesced_rounds(rxq, want, &at) :
			   mana_rx_vec_okay_rounds(rxq, wants, &at);
	} while (unlikely(has_room) && at.mbufs != before);
	nb = at.mbufs - mbufs;
	if (at.cqe - first != nb)
		rxq->ppi_shift = RTE_MAX(rxq->ppi_shift, MANA_RX_CQE_PPI_SHIFT);
	rxq->cq.ci += at.cqe - first;
	rxq->rq.ci += nb;
	/* UINT16_MAX packets of UINT16_MAX bytes at most. */
	rxq->bytes += mana_vec_sum32(at.bytes);
	return nb;
}

#endif /* MANA_RX_BURST_H */
