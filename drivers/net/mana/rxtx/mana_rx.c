/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx burst: completions in, mbufs out. One template with two lanes.
 *
 * The fast lane is a loop, scalar or in vectors. It takes the common CQEs, up
 * to the end of either ring. A loop stops before a CQE that is unusual in any
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

#include <rte_cpuflags.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_vect.h>

#include "mana_rx.h"
#include "mana_vec.h"

/* ---- Templates ------------------------------------------------------------ */

/*
 * A loop: deliver up to nb_pkts packets of the most common kinds, up to the first other
 * CQE or the end of a ring. Moves the queue's indices, counts bytes, returns the packets.
 */
typedef uint32_t (*mana_rx_loop_t)(struct mana_hwq *hwq, struct rte_mbuf **pkts, uint32_t nb_pkts);

/* Packets that a loop may deliver, up to the end of the ring of mbufs. */
static inline uint32_t
mana_rx_batch_pkts(const struct mana_hwq *hwq, uint32_t nb_pkts)
{
	nb_pkts = RTE_MIN(nb_pkts, mana_hwq_nb_posted(hwq));
	return RTE_MIN(nb_pkts, (~hwq->rq.ci & hwq->mbuf_mask) + 1);
}

/*
 * Poll one hardware queue: see mana_rx_poll_t. The budget bounds the CQEs without a packet, as
 * nb_pkts bounds the packets. The slow lane sets it to 0 to end the burst.
 */
static __rte_always_inline uint16_t
mana_rx_poll_tmpl(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint32_t nb_pkts,
		  struct mana_hwq *hwq, mana_rx_loop_t loop)
{
	uint32_t budget = nb_pkts, nb = 0;

	while (nb < nb_pkts && budget > 0) {
		if (likely((hwq->slow_flags & MANA_RX_SLOW_LANE) == 0 &&
			   hwq->scatter.nb_segs == 0)) {
			nb += loop(hwq, &pkts[nb], nb_pkts - nb);
			if (likely(nb == nb_pkts) || mana_rx_is_empty(&hwq->cq))
				break;
		}
		nb += mana_rx_slow(hwq, &pkts[nb], nb_pkts - nb, &budget);
	}
	return mana_rx_finish(rxq, pkts, nb, hwq);
}

/*
 * A poll function (mana_rx_poll_t) that is an instance. Flat: a compiler would not inline
 * functions that several instances call.
 */
#define POLL(name, loop) \
static __rte_noinline __attribute__((flatten)) uint16_t \
name(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts, \
     struct mana_hwq *hwq) \
{ \
	return mana_rx_poll_tmpl(rxq, pkts, nb_pkts, hwq, loop); \
}

/* ---- The scalar loop ------------------------------------------------------- */

/*
 * Deliver the packet of a CQE with one packet; m is its buffer. Returns its length,
 * or 0 if the CQE is not a new one of this queue, or is unusual. Moves no index.
 */
static inline uint32_t
mana_rx_okay(const struct mana_hwq *hwq, const struct gdma_cqe *cqe,
	     uint32_t want, struct rte_mbuf *m)
{
	uint32_t header, flags, len, hash;

	if (unlikely(!mana_cq_trailer_is(mana_cqe_load(&cqe->trailer), want)))
		return 0;
	rte_io_rmb();
	header = mana_cqe_load(&cqe->rx.header);
	flags = mana_cqe_load(&cqe->rx.flags);
	len = mana_cqe_load(&cqe->rx.ppi[0].len) & UINT16_MAX;
	hash = mana_cqe_load(&cqe->rx.ppi[0].hash);
	if (unlikely((header & MANA_CQE_TYPE_M) != MANA_CQE_RX_OKAY ||
		     (flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     len - 1 >= hwq->buf_bytes))
		return 0;
	*MANA_MBUF_REARM(m) = hwq->rearm;
	m->data_len = len;
	mana_rx_describe(hwq, m, flags, len, hash);
	return len;
}

/* One packet a CQE, one CQE at a time: see mana_rx_loop_t. */
static __rte_always_inline uint32_t
mana_rx_scalar_loop(struct mana_hwq *hwq, struct rte_mbuf **pkts, uint32_t nb_pkts)
{
	const uint32_t want = mana_cq_trailer_wanted(&hwq->cq, hwq->cq.ci);
	const struct gdma_cqe *cqe = mana_cq_cqe(&hwq->cq, hwq->cq.ci);
	struct rte_mbuf **const mbufs = &hwq->mbufs[hwq->rq.ci & hwq->mbuf_mask];
	uint64_t bytes = 0;
	uint32_t nb, len;

	nb_pkts = mana_rx_batch_pkts(hwq, nb_pkts);
	nb_pkts = RTE_MIN(nb_pkts, (~hwq->cq.ci & hwq->cq.mask) + 1);
	for (nb = 0; nb < nb_pkts; nb++) {
		struct rte_mbuf *m = mbufs[nb];

		len = mana_rx_okay(hwq, &cqe[nb], want, m);
		if (unlikely(len == 0))
			break;
		pkts[nb] = m;
		bytes += len;
	}
	hwq->cq.ci += nb;
	hwq->rq.ci += nb;
	hwq->bytes += bytes;
	return nb;
}

POLL(poll_many_scalar, mana_rx_scalar_loop)

static __rte_noinline uint16_t
poll_scalar(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts, struct mana_hwq *hwq)
{
	const struct mana_cq *cq = &hwq->cq;
	struct rte_mbuf *m = hwq->mbufs[hwq->rq.ci & hwq->mbuf_mask];
	uint32_t len;

	/*
	 * For a single packet the set-up of a loop would be the greater part.
	 * With several buffers per WQE no length is below buf_bytes.
	 */
	if (nb_pkts != 1 || mana_hwq_nb_posted(hwq) == 0 ||
	    (hwq->slow_flags & MANA_RX_SLOW_LANE) != 0)
		return poll_many_scalar(rxq, pkts, nb_pkts, hwq);
	len = mana_rx_okay(hwq, mana_cq_cqe(cq, cq->ci), mana_cq_trailer_wanted(cq, cq->ci), m);
	if (unlikely(len == 0))
		return poll_many_scalar(rxq, pkts, nb_pkts, hwq);
	*pkts = m;
	hwq->cq.ci++;
	hwq->rq.ci++;
	hwq->bytes += len;
	return mana_rx_finish(rxq, pkts, 1, hwq);
}

/* ---- The loop in vectors ---------------------------------------------- */

/*
 * The Rx loop in vectors of 16 bytes, for every instruction set that has
 * them: four CQEs with a packet each at a time, or one CQE with four.
 *
 * One packet each. The words behind the header of a CQE are loaded as vector v:
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

#define IS_AT(member, bytes) \
	(offsetof(struct rte_mbuf, member) == offsetof(struct rte_mbuf, data_off) + (bytes))
static_assert(offsetof(struct rte_mbuf, data_off) % 16 == 0 && IS_AT(ol_flags, 8) &&
	      IS_AT(packet_type, 16) && IS_AT(pkt_len, 20) && IS_AT(data_len, 24) &&
	      IS_AT(vlan_tci, 26) && IS_AT(hash, 28), "an mbuf is as it is drawn");

/* Packets that a loop in vectors takes at a time. */
#define MANA_RX_VEC_SHIFT 2
#define MANA_RX_VEC_N (1 << MANA_RX_VEC_SHIFT)

#define MANA_RX_VEC_AHEAD 8 /* CQEs that are prefetched */

#define MANA_RX_VEC(name) mana_vec_load_16(mana_rx_vec_const.name)

/* Write four mbufs, the 32 bytes behind their addresses, and deliver them. */
static inline void
mana_rx_vec_deliver(struct rte_mbuf **pkts, struct rte_mbuf *const *mbufs,
		    const mana_vec_t rearm[MANA_RX_VEC_N],
		    const mana_vec_t fields[MANA_RX_VEC_N])
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < MANA_RX_VEC_N; i++) {
		struct rte_mbuf *m = mbufs[i];

		mana_vec_store(&m->data_off, rearm[i]);
		mana_vec_store(&m->packet_type, fields[i]);
	}
	mana_vec_move32(pkts, mbufs);
}

/*
 * mbuf flags by four flags words, and by their hash types in place. These are bits 1 to 8: the
 * tables have them in a byte, shifted right by one, and a comparison that holds is -1.
 */
static inline mana_vec_t
mana_rx_vec_flags(mana_vec_t flags, mana_vec_t hash)
{
	mana_vec_t csum;

	csum = mana_vec_or(mana_vec_lookup(MANA_RX_VEC(ip), mana_vec_shr32(flags, 25)),
			   mana_vec_lookup(MANA_RX_VEC(l4), mana_vec_shr32(flags, 27)));
	csum = mana_vec_sub32(csum, mana_vec_gt32(hash, mana_vec_zero()));
	return mana_vec_shl32(csum, 1);
}
static_assert(RTE_MBUF_F_RX_RSS_HASH == 1 << 1, "what a comparison gives");

static_assert(MANA_RX_CQE_HASH_TYPE_S == 16, "the high half of a flags word");

/* Zero if no length is 0 or above that of a buffer. */
static inline mana_vec_t
mana_rx_vec_bound(const struct mana_hwq *hwq, mana_vec_t len)
{
	len = mana_vec_add16(len, mana_vec_dup32(UINT16_MAX));
	return mana_vec_subs16(len, mana_vec_load_16(hwq->vec_bound));
}

/*
 * Four CQEs of one packet each: v has their words, len gets the lengths. False if wrong is not
 * zero, for a CQE of another kind, or if a packet is unusual: nothing was done.
 */
static inline bool
mana_rx_vec_okay(const struct mana_hwq *hwq, mana_vec_t queue_rearm,
		 const mana_vec_t v[MANA_RX_VEC_N], mana_vec_t wrong,
		 struct rte_mbuf **pkts, struct rte_mbuf *const *mbufs,
		 mana_vec_t *len)
{
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];
	mana_vec_t lo, hi, flags, hash, ol_flags;

	lo = mana_vec_zip_lo32(v[0], v[1]);
	hi = mana_vec_zip_lo32(v[2], v[3]);
	*len = mana_vec_and(mana_vec_zip_hi64(lo, hi), MANA_RX_VEC(len));
	flags = mana_vec_zip_lo64(lo, hi);
	wrong = mana_vec_or(wrong, mana_rx_vec_bound(hwq, *len));
	wrong = mana_vec_or(wrong, mana_vec_and(flags, MANA_RX_VEC(tag)));
	if (unlikely(!mana_vec_is_zero(wrong)))
		return false;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < MANA_RX_VEC_N; i++)
		p[i] = mana_vec_shuffle(v[i], MANA_RX_VEC(first));
	hash = mana_vec_and(flags, MANA_RX_VEC(hash_type));
	ol_flags = mana_vec_and(mana_rx_vec_flags(flags, hash),
				mana_vec_load_16(hwq->vec_reported));
	if (hwq->ptypes) {
#pragma GCC unroll 8
		for (uint32_t i = 0; i < MANA_RX_VEC_N; i++) {
			uint32_t type = mana_vec_get16(hash, 2 * i + 1);

			p[i] = mana_vec_set32(p[i], mana_rx_fields.hash[type].ptype, 0);
		}
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
mana_rx_vec_coalesced(const struct mana_hwq *hwq, mana_vec_t queue_rearm,
		      const struct gdma_cqe *cqe, struct rte_mbuf **pkts,
		      struct rte_mbuf *const *mbufs, mana_vec_t *len)
{
	const mana_vec_t mid = MANA_RX_VEC(mid);
	const mana_vec_t v = mana_vec_load(&cqe->rx.flags);
	const uint32_t flags = mana_vec_get32(v, 0);
	const struct mana_rx_hash *hash = &mana_rx_fields.hash[MANA_RX_HASH_TYPE(flags)];
	const mana_vec_t b = mana_vec_load(&cqe->rx.ppi[1]);
	const mana_vec_t c = mana_vec_load(&cqe->rx.ppi[2].reserved);
	const mana_vec_t d = mana_vec_set32(c, cqe->rx.ppi[3].hash, 0);
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];

	rte_compiler_barrier();
	p[0] = mana_vec_shuffle(v, MANA_RX_VEC(first));
	p[1] = mana_vec_shuffle(b, mid);
	p[2] = mana_vec_shuffle(mana_vec_join(b, c, 12), mid);
	p[3] = mana_vec_shuffle(d, MANA_RX_VEC(last));
	*len = mana_vec_zip_hi64(mana_vec_zip_lo32(p[0], p[1]), mana_vec_zip_lo32(p[2], p[3]));
	if (unlikely((flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     !mana_vec_is_zero(mana_rx_vec_bound(hwq, *len))))
		return false;
	queue_rearm = mana_vec_set32(queue_rearm, hash->ol_flags |
						  mana_rx_csum_flags(hwq, flags), 2);
#pragma GCC unroll 8
	for (uint32_t i = 0; i < MANA_RX_VEC_N; i++) {
		rearm[i] = queue_rearm;
		if (hwq->ptypes)
			p[i] = mana_vec_or(p[i], mana_vec_from32(hash->ptype));
	}
	mana_rx_vec_deliver(pkts, mbufs, rearm, p);
	return true;
}

/* Not zero if one of these four CQEs is old, or not of a single packet. */
static inline mana_vec_t
mana_rx_vec_not_okay(mana_vec_t want, const struct gdma_cqe *cqe)
{
	/* Each word is used once, so a compiler has no reason to load it twice. */
	mana_vec_t trailers = mana_vec_zero(), types = mana_vec_zero();

#pragma GCC unroll 8
	for (uint32_t i = 0; i < MANA_RX_VEC_N; i++)
		trailers = mana_vec_set32(trailers, cqe[i].trailer, i);
	rte_io_rmb();
#pragma GCC unroll 8
	for (uint32_t i = 0; i < MANA_RX_VEC_N; i++)
		types = mana_vec_set32(types, cqe[i].rx.header, i);
	/* Masked first: the trailer of a closed queue has a bit beyond the mask. */
	trailers = mana_vec_and(trailers, MANA_RX_VEC(trailers));
	types = mana_vec_and(types, MANA_RX_VEC(type));
	return mana_vec_or(mana_vec_xor(trailers, want), mana_vec_xor(types, MANA_RX_VEC(types)));
}

/* Whether this CQE is new and has up to four packets. */
static inline bool
mana_rx_is_coalesced(uint32_t want, const struct gdma_cqe *cqe)
{
	if (!mana_cq_trailer_is(mana_cqe_load(&cqe->trailer), want))
		return false;
	rte_io_rmb();
	return (mana_cqe_load(&cqe->rx.header) & MANA_CQE_TYPE_M) == MANA_CQE_RX_COALESCED_4;
}

/* Where the loop is, and the sum of lengths. */
struct mana_rx_vec_at {
	const struct gdma_cqe *cqe;
	struct rte_mbuf *const *mbufs;
	struct rte_mbuf **pkts;
	uintptr_t cqe_last, mbufs_last; /* last places with four more */
	mana_vec_t bytes;
};

static inline bool
mana_rx_vec_has_space(const struct mana_rx_vec_at *at)
{
	return (uintptr_t)at->cqe <= at->cqe_last && (uintptr_t)at->mbufs <= at->mbufs_last;
}

static inline void
mana_rx_vec_advance(struct mana_rx_vec_at *at, uint32_t nb_cqes, mana_vec_t len)
{
	at->cqe += nb_cqes;
	at->mbufs += MANA_RX_VEC_N;
	at->pkts += MANA_RX_VEC_N;
	at->bytes = mana_vec_add32(at->bytes, len);
}

/* Rounds of four CQEs with one packet each. False: there is no space for another one. */
static __rte_always_inline bool
mana_rx_vec_okay_rounds(const struct mana_hwq *hwq, mana_vec_t wants, struct mana_rx_vec_at *at)
{
	const mana_vec_t rearm = mana_vec_load_16(&hwq->rearm);
	mana_vec_t v[MANA_RX_VEC_N], wrong, len;

	do {
		wrong = mana_rx_vec_not_okay(wants, at->cqe);
		/* CQEs for a later round or the next burst; they may lie behind the ring. */
#pragma GCC unroll 8
		for (uint32_t i = 0; i < MANA_RX_VEC_N; i++)
			rte_prefetch0(&at->cqe[MANA_RX_VEC_AHEAD + i]);
#pragma GCC unroll 8
		for (uint32_t i = 0; i < MANA_RX_VEC_N; i++)
			v[i] = mana_vec_load(&at->cqe[i].rx.flags);
		rte_compiler_barrier();
		if (unlikely(!mana_rx_vec_okay(hwq, rearm, v, wrong, at->pkts, at->mbufs, &len)))
			return true;
		mana_rx_vec_advance(at, MANA_RX_VEC_N, len);
	} while (mana_rx_vec_has_space(at));
	return false;
}

/* Deliver the packets of one CQE of four packets. */
static __rte_always_inline bool
mana_rx_vec_coalesced_rounds(const struct mana_hwq *hwq, uint32_t want, struct mana_rx_vec_at *at)
{
	const mana_vec_t rearm = mana_vec_load_16(&hwq->rearm);
	mana_vec_t len;

	do {
		if (unlikely(!mana_rx_is_coalesced(want, at->cqe) ||
			     !mana_rx_vec_coalesced(hwq, rearm, at->cqe, at->pkts,
						    at->mbufs, &len)))
			return true;
		rte_prefetch0(&at->cqe[MANA_RX_VEC_AHEAD]);
		mana_rx_vec_advance(at, 1, len);
	} while (mana_rx_vec_has_space(at));
	return false;
}

/*
 * See mana_rx_loop_t. The owner bits are the same up to the end of the ring. The next CQE
 * selects the rounds, which load and check it again. Rounds that deliver nothing end the loop.
 */
static __rte_always_inline uint32_t
mana_rx_vec_loop(struct mana_hwq *hwq, struct rte_mbuf **pkts, uint32_t nb_pkts)
{
	const uint32_t want = mana_cq_trailer_wanted(&hwq->cq, hwq->cq.ci);
	const mana_vec_t wants = mana_vec_dup32(want);
	const struct gdma_cqe *const first = mana_cq_cqe(&hwq->cq, hwq->cq.ci);
	struct rte_mbuf *const *const mbufs = &hwq->mbufs[hwq->rq.ci & hwq->mbuf_mask];
	struct rte_mbuf *const *before;
	struct mana_rx_vec_at at = {
		.cqe = first, .mbufs = mbufs, .pkts = pkts, .bytes = mana_vec_zero(),
	};
	uint32_t nb, nb_cqes;
	bool has_space;

	nb_pkts = mana_rx_batch_pkts(hwq, nb_pkts);
	nb_cqes = (~hwq->cq.ci & hwq->cq.mask) + 1; /* up to the end of the ring */
	if (unlikely(nb_pkts < MANA_RX_VEC_N || nb_cqes < MANA_RX_VEC_N))
		return 0;
	at.cqe_last = (uintptr_t)(first + nb_cqes - MANA_RX_VEC_N);
	at.mbufs_last = (uintptr_t)(mbufs + nb_pkts - MANA_RX_VEC_N);
	do {
		before = at.mbufs;
		has_space = unlikely(mana_rx_is_coalesced(want, at.cqe)) ?
				    mana_rx_vec_coalesced_rounds(hwq, want, &at) :
				    mana_rx_vec_okay_rounds(hwq, wants, &at);
	} while (unlikely(has_space) && at.mbufs != before);
	nb = at.mbufs - mbufs;
	if (at.cqe - first != nb)
		hwq->ppi_shift = RTE_MAX(hwq->ppi_shift, MANA_RX_CQE_PPI_SHIFT);
	hwq->cq.ci += at.cqe - first;
	hwq->rq.ci += nb;
	/* UINT16_MAX packets of UINT16_MAX bytes at most. */
	hwq->bytes += mana_vec_sum32(at.bytes);
	return nb;
}

/* ---- Bursts ------------------------------------------------------------- */

/*
 * The hardware queue to poll; the control path changes it to pause the rxq. It is
 * the first load between enter and leave: the compiler may move no load before it.
 * For the processor, the control path takes care of that (mana_pause.c).
 */
static inline struct mana_hwq *
mana_rxq_only(const struct mana_rxq *rxq)
{
	struct mana_hwq *hwq = rxq->only;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(rxq);
	return hwq;
}

/*
 * A burst of an ethdev queue. An empty poll calls nothing. The functions called
 * otherwise are not inlined, and end the burst, so that the calls are jumps.
 */
static __rte_always_inline uint16_t
mana_rx_burst_tmpl(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint32_t nb_pkts,
		   mana_rx_poll_t poll)
{
	struct mana_hwq *hwq;

	mana_burst_enter(&rxq->is_busy);
	hwq = mana_rxq_only(rxq);
	if (likely(hwq->slow_flags == 0) && mana_rx_is_empty(&hwq->cq)) {
		mana_burst_leave(&rxq->is_busy);
		return 0;
	}
	if (unlikely((hwq->slow_flags & MANA_RX_SEE_RXQ) != 0))
		return mana_rxq_poll(rxq, pkts, nb_pkts, poll);
	/* A comparison would cost an empty poll one more instruction (gcc). */
	if (nb_pkts >> MANA_RX_VEC_SHIFT == 0)
		return poll_scalar(rxq, pkts, nb_pkts, hwq);
	return poll(rxq, pkts, nb_pkts, hwq);
}

#define BURST(name, poll) \
static uint16_t \
name(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts) \
{ \
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, poll); \
}

BURST(burst_scalar, poll_scalar)
POLL(poll_vec128, mana_rx_vec_loop)
BURST(burst_vec128, poll_vec128)

/* The loop in vectors, too, in instructions of three operands. */
#ifdef RTE_ARCH_X86_64
__attribute__((target("avx2")))
POLL(poll_avx2, mana_rx_vec_loop)
__attribute__((target("avx2")))
BURST(burst_avx2, poll_avx2)
#endif

/* ---- Selection ---------------------------------------------------------- */

const struct mana_rx_path mana_rx_paths[] = {
#ifdef RTE_ARCH_X86_64
	{
		.name = "Vector AVX2",
		.simd_bits = RTE_VECT_SIMD_256,
		.burst = burst_avx2,
	},
#endif
	{
		.name = MANA_VEC_NAME,
		.simd_bits = RTE_VECT_SIMD_128,
		.burst = burst_vec128,
	}, {
		.name = "Scalar",
		.burst = burst_scalar,
	},
};
const uint32_t mana_rx_nb_paths = RTE_DIM(mana_rx_paths);

/* DPDK requires vectors of 128 bits on all processors that the driver supports. */
bool
mana_rx_path_is_allowed(const struct mana_rx_path *path)
{
#ifdef RTE_ARCH_X86_64
	if (path->simd_bits == RTE_VECT_SIMD_256 && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) != 1)
		return false;
#endif
	return path->simd_bits <= rte_vect_get_max_simd_bitwidth();
}

const struct mana_rx_path *
mana_rx_path_select(void)
{
	const struct mana_rx_path *path = mana_rx_paths;

	while (!mana_rx_path_is_allowed(path))
		path++;
	return path;
}

const char *
mana_rx_burst_name(mana_burst_t function)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_paths[i].burst == function)
			return mana_rx_paths[i].name;
	return NULL;
}
