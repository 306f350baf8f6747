/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Tx burst. Its return value divides the ownership: the packets before it are
 * the driver's (posted, or freed and counted), the others are the caller's.
 *
 * There are two lanes. The fast lane takes direct mbufs with one reference, whose data is
 * in registered memory. A packet of one segment with the short OOB is
 * exactly one BU: header, OOB, SGE; four words, which cannot wrap. A batch of such
 * packets is posted at once, up to where a ring ends, so that no index inside
 * needs a mask. put_chains() posts chains, VLAN tags, the long OOB and
 * segmentation. All other packets take the slow lane, mana_tx_slow().
 *
 * The key of a packet follows from its address. Rounds of four packets whose data is in
 * txq->region, where the packet before was, need one comparison. Other packets are looked
 * up one by one (F_REGIONS). A batch has mbufs of one pool, or (F_POOLS) records the pool of
 * each, so that they are freed without access to them.
 *
 * A queue that has failed (disabled by the device, or overrun) takes nothing: the
 * burst returns 0, like ethdev's function for stopped ports, and the packets stay
 * with the caller. Posted packets are freed when the queue is stopped.
 */

#include <rte_cpuflags.h>
#include <rte_mbuf.h>

#include "mana_tx.h"

/* A burst looks at completions after this many packets, or earlier. */
#define REAP_EVERY 32u

/* BUs, with an mbuf each, before a ring ends or the SQ is full. */
static inline uint32_t
ring_space(const struct mana_txq *txq)
{
	uint32_t mask_bu = txq->sq.mask_bu;
	uint32_t space = RTE_MIN(mana_wq_free_bu(&txq->sq), mask_bu + 1 - (txq->sq.pi & mask_bu));

	return RTE_MIN(space, txq->mbuf_mask + 1 - (txq->mbuf_pi & txq->mbuf_mask));
}

/* Packets of one BU for which there is space. */
static inline uint32_t
wqe_space(const struct mana_txq *txq)
{
	uint32_t nb_posted = mana_txq_nb_posted(txq);

	if (unlikely(nb_posted >= txq->limit))
		return 0;
	return RTE_MIN(txq->limit - nb_posted, ring_space(txq));
}

/*
 * Look at completions, then set how many packets may go before the next look. Returns whether
 * the burst fits now, as one batch and one group. Not inlined: bursts save fewer registers.
 */
static __rte_noinline bool
refresh(struct mana_txq *txq, size_t nb)
{
	const size_t most = RTE_MAX(nb, REAP_EVERY);

	mana_tx_reap_inline(txq);
	txq->reaped_pi = txq->pi;
	txq->batch_space = RTE_MIN(wqe_space(txq), txq->batch_max);
	txq->batch_space = RTE_MIN(txq->batch_space, most);
	return nb <= txq->batch_space;
}

/* Instances of the loops below. With no flag, one takes packets without requests, short OOB. */
#define F_CSUM 1u /* takes checksum requests */
#define F_TSO 2u /* takes segmentation requests */
#define F_LONG 4u /* writes the long OOB, and takes VLAN tags */
#define F_ROUNDS 8u /* several packets at a time, in the short OOB */
#define F_FOLLOW 16u /* takes batches of packets in a region each */
#define F_REGIONS 32u /* takes packets in a region each */
#define F_POOLS 64u /* takes mbufs of several pools */

#define FLAGS_CSUM MANA_TX_OL_HALF(MANA_TX_OL_CSUM)
#define FLAG_VLAN MANA_TX_OL_HALF(RTE_MBUF_F_TX_VLAN)
#define FLAG_TSO MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)

/* A function that is an instance of a template, with constant flags. */
#define INSTANCE(result_t, name, template, flags) \
static __rte_noinline result_t \
name(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb) \
{ \
	return template(txq, pkts, nb, pkts[0]->pool, flags); \
}

/* Flags of packets that an instance does not take. */
static inline uint32_t
flags_refused(const uint32_t f)
{
	uint64_t taken = MANA_TX_OL_CSUM | (f & F_TSO ? RTE_MBUF_F_TX_TCP_SEG : 0) |
			 (f & F_LONG ? RTE_MBUF_F_TX_VLAN : 0);

	return MANA_TX_OL_HALF(f & F_CSUM ? (MANA_TX_OL_SPECIAL & ~taken) | MANA_TX_OL_TUNNEL :
					    MANA_TX_OL_SPECIAL);
}

/* Flags that all packets of an instance need. */
static inline uint32_t
flags_needed(const struct mana_txq *txq, const uint32_t f)
{
	return (f & F_LONG) && !txq->is_long ? FLAG_VLAN : 0;
}

/* Packets of a round. */
#define ROUND ((size_t)4)

/* Rounds that fail one after another: then their packets differ too often. */
#define MAX_FAILED 2

/* What the four packets of a round have in common. */
struct round {
	mana_vec_t wrong; /* bits that differ from the wanted ones */
	mana_vec_t most; /* the largest of each 32 bits of their places */
};

static inline mana_vec_t
round_add(struct round *round, const struct rte_mbuf *m,
	  const struct mana_tx_origin *origin, mana_vec_t want, bool is_first)
{
	mana_vec_t loaded = mana_tx_load(m), wrong = mana_vec_xor(loaded, want);
	mana_vec_t place = mana_tx_place(m, loaded, origin);

	round->wrong = is_first ? wrong : mana_vec_or(round->wrong, wrong);
	round->most = is_first ? place : mana_vec_max32(round->most, place);
	return place;
}

/* Whether a packet begins in another region, which is then that of the queue. */
static inline bool
region_follow(struct mana_txq *txq, const struct rte_mbuf *m)
{
	uintptr_t addr = rte_pktmbuf_mtod(m, uintptr_t);
	struct mana_mr_range region;

	if (mana_mr_range_holds(&txq->region, addr, 1) || !mana_mr_find(&txq->mr, addr, 1, &region))
		return false;
	mana_tx_region_set(txq, region);
	return true;
}

static inline struct mana_tx_origin
round_origin(const struct mana_txq *txq, const struct mana_tx_known *known, const uint32_t f)
{
	return f & F_CSUM ? mana_tx_origin(&txq->region, known->req.hdr_bytes) : txq->origin;
}

/*
 * Write rounds of packets without requests, or all with the checksum request
 * of txq->last_known, whose data is in txq->region. One test covers a round. The first
 * round that fails it is left for the loop of single packets.
 */
static __rte_always_inline size_t
write_rounds(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb,
	     const struct rte_mempool *mp, uint64_t *wqe, struct rte_mbuf **mbufs,
	     mana_vec_t head, const uint32_t f)
{
	/* Copies: stores to a frame cannot change them. */
	const struct mana_tx_known *known = txq->last_known;
	const struct mana_tx_headers hdrs = known->req.hdrs;
	const uint64_t offload = known->offload;
	struct mana_tx_origin origin = round_origin(txq, known, f);
	const mana_vec_t want = mana_vec_of64((uint64_t)MANA_TX_ONE_REF_ONE_SEG << 16,
		f & F_CSUM ? (uint64_t)known->flags << 32 & ~RTE_MBUF_F_TX_TCP_SEG : 0);
	const mana_vec_t mask = mana_vec_of64(UINT64_C(0xffffffff0000),
		MANA_TX_OL_SPECIAL | (f & F_CSUM ? MANA_TX_OL_INFO : 0));
	struct rte_mbuf **const first = pkts, **const end = pkts + (nb & ~(ROUND - 1));
	mana_vec_t sum = mana_vec_zero();

	if (f & F_CSUM)
		head = mana_vec_or(head, mana_vec_of64(0, hdrs.oob));
	for (; pkts != end; pkts += ROUND) {
		struct rte_mbuf *m[ROUND] = { pkts[0], pkts[1], pkts[2], pkts[3] };
		mana_vec_t sge[ROUND];
		struct round round;

		if ((f & F_FOLLOW) && unlikely(region_follow(txq, m[0])))
			origin = round_origin(txq, known, f);
#pragma GCC unroll 8
		for (uint32_t i = 0; i < ROUND; i++)
			sge[i] = round_add(&round, m[i], &origin, want, i == 0);
		if (unlikely(!mana_vec_is_zero(mana_vec_or(
				mana_vec_and(round.wrong, mask),
				mana_tx_places_wrong(round.most, &origin))) ||
			     m[0]->pool != mp || m[1]->pool != mp || m[2]->pool != mp ||
			     m[3]->pool != mp))
			break;
#pragma GCC unroll 8
		for (uint32_t i = 0; i < ROUND; i++)
			sge[i] = mana_vec_add64(sge[i], origin.to_sge);
		if (f & F_CSUM) {
			if (unlikely((((m[0]->tx_offload ^ offload) |
				       (m[1]->tx_offload ^ offload) |
				       (m[2]->tx_offload ^ offload) |
				       (m[3]->tx_offload ^ offload)) &
				      MANA_TX_LENS_M) != 0))
				break;
#pragma GCC unroll 8
			for (uint32_t i = 0; i < ROUND; i++)
				mana_tx_headers_write(mana_vec_ptr(sge[i]), &hdrs);
		}
#pragma GCC unroll 8
		for (uint32_t i = 0; i < ROUND; i++) {
			mana_vec_store_16(wqe + i * GDMA_BU_WORDS, head);
			mana_vec_store_16(wqe + i * GDMA_BU_WORDS + 2, sge[i]);
			sum = mana_vec_add32(sum, sge[i]);
		}
		mana_vec_move32(mbufs, pkts);
		mbufs += ROUND;
		wqe += ROUND * GDMA_BU_WORDS;
	}
	txq->bytes += mana_vec_get32(sum, 3);
	return pkts - first;
}

/* Write one packet of one segment. Returns its bytes; 0: it is not for this instance. */
static __rte_always_inline uint32_t
write_one(struct mana_txq *txq, struct rte_mbuf *m, const struct rte_mempool *mp,
	  const struct mana_mr_view *view, uint64_t *wqe, mana_vec_t head, uint64_t oob,
	  uint32_t needed, const uint32_t f)
{
	const uint32_t refused = flags_refused(f);
	uintptr_t addr = rte_pktmbuf_mtod(m, uintptr_t);
	uint32_t flags = mana_tx_flags(m), lkey;
	uint64_t len = m->data_len;

	if (unlikely(*mana_tx_ref_and_segs(m) != MANA_TX_ONE_REF_ONE_SEG ||
		     (!(f & F_POOLS) && m->pool != mp) || len < MANA_TX_MIN_BYTES ||
		     (flags & refused) != 0 || (~flags & needed) != 0))
		return 0;
	if (unlikely(f & F_REGIONS ? !mana_mr_peek(view, addr, len, &lkey) :
				     !mana_mr_range_holds(&txq->region, addr, len)))
		return 0;
	if (!(f & F_REGIONS))
		lkey = txq->region.lkey;
	mana_vec_store_16(wqe, head);
	if ((f & F_CSUM) && (flags & FLAGS_CSUM) != 0) {
		const struct mana_tx_request *req = mana_tx_request_of(txq, m, len);

		if (unlikely(req == NULL || len < req->hdr_bytes))
			return 0;
		mana_tx_headers_write(rte_pktmbuf_mtod(m, uint8_t *), &req->hdrs);
		wqe[1] = rte_cpu_to_le_64(oob | req->hdrs.oob);
	}
	if (f & F_LONG) {
		mana_wqe_set(&wqe[2], mana_tx_loob(txq, m));
		mana_wqe_set(&wqe[3], 0);
		mana_wqe_set(&wqe[6], 0);
		mana_wqe_set(&wqe[7], 0);
	}
	mana_sge_set(&wqe[f & F_LONG ? 4 : 2], addr, lkey, len);
	return len;
}

/*
 * Write packets of one segment, until one is not of this kind: WQEs from sq.pi and
 * mbuf entries from mbuf_pi on. With F_FOLLOW, also until packets differ too often for
 * rounds. n of nb packets, for which there is space, are written already. Without F_POOLS
 * all are of mp. Returns how many are ready to be posted, with those before.
 */
static __rte_always_inline uint32_t
write_batch(struct mana_txq *txq, struct rte_mbuf **pkts, size_t n, size_t nb,
	    const struct rte_mempool *mp, const uint32_t f)
{
	/* Copies: stores to a WQE cannot change them. */
	const struct mana_mr_view view = txq->mr.view;
	const uint64_t bytes_before = txq->bytes;
	const size_t nb_before = n;
	const uint32_t wqe_words = (f & F_LONG ? 2 : 1) * GDMA_BU_WORDS;
	uint64_t *const wqes = mana_wq_bu(&txq->sq, txq->sq.pi);
	const uint32_t at = txq->mbuf_pi & txq->mbuf_mask;
	struct rte_mbuf **mbufs = &txq->mbufs[at];
	struct rte_mempool **pools = &txq->pools[at];
	const uint64_t oob = f & F_LONG ? mana_tx_long_oob(txq) : txq->oob | txq->no_cqe;
	const mana_vec_t head = mana_vec_of64(
		GDMA_WQE_HEADER(1, f & F_LONG ? GDMA_OOB_LONG_DIV4 : GDMA_OOB_SHORT_DIV4), oob);
	const uint32_t needed = flags_needed(txq, f);
	uint64_t *wqe = wqes + n * wqe_words;
	size_t end = nb, nb_round;
	uint32_t len, nb_failed = f & F_FOLLOW ? txq->nb_failed : 0;
	uint64_t bytes = 0;

	do {
		if ((f & F_ROUNDS) && nb - n >= ROUND &&
		    (!(f & F_CSUM) ||
		     mana_tx_request_of(txq, pkts[n], pkts[n]->data_len) != NULL)) {
			nb_round = write_rounds(txq, pkts + n, nb - n, mp, wqe, mbufs + n, head, f);
			n += nb_round;
			if (n == nb)
				break;
			wqe = wqes + n * wqe_words;
			nb_failed = nb_round == 0 ? nb_failed + 1 : 0;
			if ((f & F_FOLLOW) && nb_failed == MAX_FAILED)
				break;
			end = nb_failed == MAX_FAILED ? nb : RTE_MIN(n + ROUND, nb);
		}
		do {
			struct rte_mbuf *m = pkts[n];

			len = write_one(txq, m, mp, &view, wqe, head, oob, needed, f);
			if (unlikely(len == 0))
				break;
			if (f & F_POOLS)
				pools[n] = m->pool;
			mbufs[n] = m;
			bytes += len;
			wqe += wqe_words;
		} while (++n < end);
		end = nb;
	} while ((len != 0 || ((f & F_FOLLOW) && region_follow(txq, pkts[n]))) && n < nb);
	if (f & F_FOLLOW)
		txq->nb_failed = nb_failed == MAX_FAILED ? MAX_FAILED - 1 : 0;
	txq->bytes += bytes;
	if (f & F_REGIONS) {
		rte_smp_rmb();
		if (unlikely(mana_mr_is_stale(&txq->mr.view))) {
			txq->bytes = bytes_before;
			return nb_before;
		}
	}
	return n;
}

/*
 * Instances for packets without requests also stand in the encoding of AVX2: its instructions
 * have a target of their own, which saves a copy in each of many. The vectors have 128 bits in
 * both.
 */
#ifdef RTE_ARCH_X86_64
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 (rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) == 1)
#else
#define AVX2
#define HAS_AVX2 false
#endif

/* An instance of write_batch(); mp is the pool of the first packet of the burst. */
#define BATCH(name, flags) \
static __rte_noinline uint32_t \
name(struct mana_txq *txq, struct rte_mbuf **pkts, size_t n, size_t nb) \
{ \
	return write_batch(txq, pkts, n, nb, pkts[0]->pool, flags); \
}

/* Instances for bursts that are not one batch in one region. */
BATCH(batch_no_request, F_ROUNDS | F_FOLLOW)
AVX2 BATCH(batch_no_request_avx2, F_ROUNDS | F_FOLLOW)
BATCH(batch_csum, F_CSUM | F_ROUNDS | F_FOLLOW)
BATCH(batch_regions, F_CSUM | F_REGIONS)
BATCH(batch_pools, F_CSUM | F_REGIONS | F_POOLS)
BATCH(batch_long, F_CSUM | F_LONG)

/* Write packets of one pool behind n others, in any regions; otherwise as write_batch(). */
static inline uint32_t
batch_of_pool(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t n, uint32_t nb)
{
	(void)region_follow(txq, pkts[n]);
	n = (mana_tx_flags(pkts[n]) & FLAGS_CSUM) != 0 ? batch_csum(txq, pkts, n, nb) :
	    mana_tx_uses_avx2 ? batch_no_request_avx2(txq, pkts, n, nb) :
				batch_no_request(txq, pkts, n, nb);
	return n == nb ? n : batch_regions(txq, pkts, n, nb);
}

/* Post a batch among others; each packet has nb_bu. mp: as for mana_tx_post(). */
static inline void
post_batch(struct mana_txq *txq, uint32_t nb, uint32_t nb_bu, struct rte_mempool *mp)
{
	if (nb == 0)
		return;
	for (uint32_t i = 0; i < nb; i++)
		txq->info[(txq->pi + i) & txq->mask] = MANA_TX_INFO(nb_bu, 1);
	mana_tx_post(txq, nb, nb * nb_bu, nb_bu, nb, mp);
}

/* Pass what was posted to the device. */
static inline void
ring(struct mana_txq *txq)
{
	mana_wq_ring_at(&txq->sq, txq->sq.pi);
	txq->sq_doorbells++;
}

/* Post a batch that is the whole burst, and a group of its own. */
static inline uint16_t
post_burst(struct mana_txq *txq, size_t nb, struct rte_mempool *mp)
{
	txq->pi += nb;
	txq->sq.pi += nb;
	txq->mbuf_pi += nb;
	txq->batch_space -= nb;
	mana_tx_group_add(txq, mp, txq->sq.pi - 1);
	ring(txq);
	return nb;
}

/*
 * Write and post a batch among others, with any_pool of mbufs of several pools. Returns the
 * number of packets.
 */
static uint32_t
put_batch(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb, bool any_pool)
{
	uint32_t space = RTE_MIN(wqe_space(txq), mana_tx_group_space(txq));
	uint32_t flags = mana_tx_flags(pkts[0]), n;
	uint32_t nb_bu = txq->is_long || (flags & FLAG_VLAN) != 0 ? 2 : 1;

	nb = RTE_MIN(nb, space >> (nb_bu - 1));
	if (nb == 0)
		return 0;
	any_pool = any_pool && nb_bu == 1;
	n = nb_bu == 2 ? batch_long(txq, pkts, 0, nb) :
	    any_pool ? batch_pools(txq, pkts, 0, nb) : batch_of_pool(txq, pkts, 0, nb);
	post_batch(txq, n, nb_bu, any_pool ? NULL : pkts[0]->pool);
	return n;
}

/*
 * ---- Packets of more than one BU: chains, VLAN tags, long OOB, segmentation -----
 *
 * The loop checks a packet while it writes the WQE. The packet's mbufs and the
 * queue's indices change after all checks have passed.
 */

/*
 * Mbuf entries and BUs before a ring ends or the group is full. left: WQEs that
 * may still be posted, each of which needs an entry.
 */
static inline uint32_t
chain_space(const struct mana_txq *txq, uint32_t left)
{
	uint32_t space = RTE_MIN(ring_space(txq), txq->mbuf_mask + 1 - left -
					  (txq->mbuf_pi - txq->mbuf_ci));

	return RTE_MIN(space, txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/*
 * Bytes of the headers if they share the first segment with payload and need an SGE of their
 * own; else 0. Also 0 for a packet with nb_segs 0, which is refused for that.
 */
static inline uint32_t
chain_split(const struct rte_mbuf *m, uint32_t flags, const uint32_t f)
{
	uint32_t hdr_bytes;

	if (!(f & F_TSO) || (flags & FLAG_TSO) == 0)
		return 0;
	hdr_bytes = mana_tx_tso_header(m);
	return m->data_len > hdr_bytes && m->nb_segs != 0 ? hdr_bytes : 0;
}

/* Write all words before the SGL, and the header's fields: the last check. */
static __rte_always_inline bool
chain_head(struct mana_txq *txq, struct rte_mbuf *m, uint32_t flags,
	   uint32_t bytes, uint32_t nb_sge, uint64_t oob, uint64_t *wqe,
	   const uint32_t f)
{
	uint64_t header = GDMA_WQE_HEADER(nb_sge, f & F_LONG ? GDMA_OOB_LONG_DIV4 :
							       GDMA_OOB_SHORT_DIV4);
	const struct mana_tx_request *req;

	if ((f & F_CSUM) && (flags & (FLAGS_CSUM | FLAG_TSO)) != 0) {
		req = mana_tx_request_of(txq, m, bytes);
		if (unlikely(req == NULL || m->data_len < req->hdr_bytes))
			return false;
		/* A segmentation request also depends on the length. */
		if ((f & F_TSO) && (flags & FLAG_TSO) != 0 &&
		    unlikely(bytes - req->hdr_bytes <= req->mss_bytes ||
			     bytes > MANA_TX_TSO_MAX_BYTES))
			return false;
		mana_tx_headers_write(rte_pktmbuf_mtod(m, uint8_t *), &req->hdrs);
		header |= req->wqe_header;
		oob |= req->hdrs.oob;
	}
	mana_wqe_set(&wqe[0], header);
	mana_wqe_set(&wqe[1], oob);
	if (f & F_LONG) {
		mana_wqe_set(&wqe[2], mana_tx_loob(txq, m));
		mana_wqe_set(&wqe[3], 0);
	}
	return true;
}

/*
 * Write SGEs and entries of all segments; the first split_bytes have an SGE of their own.
 * Returns the bytes; 0: the packet is not for this lane, or its data is not in the region.
 */
static __rte_always_inline uint32_t
chain_segments(const struct mana_tx_origin *origin, uint32_t lkey,
	       const struct rte_mempool *mp, struct rte_mbuf *m, uint64_t *sge,
	       struct rte_mbuf **entry, struct rte_mbuf **end, uint32_t split_bytes)
{
	const mana_vec_t want = mana_vec_of64(UINT64_C(1) << 16, 0);
	const mana_vec_t mask = mana_vec_of64(UINT64_C(0xffff0000), MANA_TX_OL_NOT_DIRECT);
	mana_vec_t split = mana_vec_of64(split_bytes, (0 - (uint64_t)split_bytes) << 32);
	mana_vec_t wrong = mana_vec_zero(), most = mana_vec_zero();
	uint32_t bytes = 0;

	if (split_bytes != 0) {
		mana_sge_set(sge, rte_pktmbuf_mtod(m, uintptr_t), lkey, split_bytes);
		sge += 2;
	}
	for (;;) {
		mana_vec_t loaded = mana_tx_load(m);
		mana_vec_t place = mana_tx_place(m, loaded, origin);
		mana_vec_t full = mana_vec_add64(place, origin->to_sge);

		if (unlikely(m->pool != mp))
			return 0;
		mana_vec_store_16(sge, mana_vec_add64(full, split));
		split = mana_vec_zero();
		sge += 2;
		bytes += m->data_len;
		*entry++ = m;
		m = m->next;
		wrong = mana_vec_or(wrong, mana_vec_xor(loaded, want));
		most = mana_vec_max32(most, place);
		if (m == NULL)
			break;
		if (unlikely(entry == end))
			return 0;
	}
	return likely(entry == end && bytes >= MANA_TX_MIN_BYTES &&
		      mana_vec_is_zero(mana_vec_or(mana_vec_and(wrong, mask),
				mana_tx_places_wrong(most, origin)))) ? bytes : 0;
}

static __rte_always_inline uint32_t
write_chains(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb,
	     struct rte_mempool *mp, const uint32_t f)
{
	/* Copies: stores to a WQE cannot change them. */
	const uint64_t oob = f & F_LONG ? mana_tx_long_oob(txq) : txq->oob | txq->no_cqe;
	const uint32_t refused = flags_refused(f), needed = flags_needed(txq, f);
	const uint32_t max_sge = txq->max_sge, mask = txq->mask;
	const struct mana_tx_origin origin = mana_tx_origin(&txq->region, 1);
	const uint32_t lkey = txq->region.lkey;
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t space = chain_space(txq, left);
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi), *const start = wqe;
	struct rte_mbuf **entry = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	struct rte_mbuf **const first = entry;
	uint16_t *info = txq->info;
	const uint32_t pi_before = txq->pi;
	uint32_t pi = pi_before;
	uint64_t bytes = 0;

	nb = RTE_MIN(nb, left);
	nb = RTE_MIN(nb, mana_tx_group_space(txq));
	for (const uint32_t end_pi = pi + nb; pi != end_pi; pi++) {
		struct rte_mbuf *m = *pkts++;
		uint32_t flags = mana_tx_flags(m);
		uint32_t split_bytes = chain_split(m, flags, f);
		uint64_t nb_segs = m->nb_segs;
		uint64_t nb_sge = nb_segs + (split_bytes != 0);
		/* At least as many as BUs and entries. */
		uint32_t needs = nb_sge + (f & F_LONG ? 1 : 0);
		struct rte_mbuf **end = entry + nb_segs;
		uint32_t nb_bu, len;
		uint64_t *next;

		if (unlikely((flags & refused) != 0 || (~flags & needed) != 0 ||
			     nb_sge - 1 >= max_sge || needs > space))
			break;
		nb_bu = f & F_LONG ? (nb_sge + 1) / 2 + 1 : nb_sge / 2 + 1;
		next = wqe + nb_bu * GDMA_BU_WORDS;
		/* Where no SGE overwrites this, the rest of the last BU is 0. */
		mana_vec_store_16(&next[-2], mana_vec_zero());
		len = chain_segments(&origin, lkey, mp, m, wqe + (f & F_LONG ? 4 : 2),
				     entry, end, f & F_TSO ? split_bytes : 0);
		if (unlikely(len == 0 || !chain_head(txq, m, flags, len, nb_sge, oob, wqe, f)))
			break;
		info[pi & mask] = MANA_TX_INFO(nb_bu, nb_segs);
		wqe = next;
		space -= needs;
		bytes += len;
		do {
			m = *entry++;
			m->next = NULL;
			*mana_tx_ref_and_segs(m) = MANA_TX_ONE_REF_ONE_SEG;
		} while (entry != end);
	}
	if (pi == pi_before)
		return 0;
	txq->bytes += bytes;
	mana_tx_post(txq, pi - pi_before, (size_t)(wqe - start) / GDMA_BU_WORDS,
		     info[(pi - 1) & mask] & MANA_TX_INFO_BU_M, entry - first, mp);
	return pi - pi_before;
}
static_assert(GDMA_WQE_SGL_SHORT_BYTES + 2 * GDMA_SGE_BYTES ==
	      GDMA_BU_BYTES + GDMA_SGE_BYTES, "short OOB: one SGE in the first BU");
static_assert(GDMA_WQE_SGL_LONG_BYTES == GDMA_BU_BYTES, "long OOB: no SGE in the first BU");

INSTANCE(uint32_t, chains_no_request, write_chains, 0)
INSTANCE(uint32_t, chains_csum, write_chains, F_CSUM)
INSTANCE(uint32_t, chains_tso, write_chains, F_CSUM | F_TSO)
INSTANCE(uint32_t, chains_long, write_chains, F_CSUM | F_TSO | F_LONG)

/*
 * Post up to nb chains of direct mbufs of one pool, each with one reference, with any
 * request, up to where a ring ends or the group is full. The data of a packet is in one
 * region. The segments of each chain are separated, so that they are freed with the pool's
 * other mbufs. The queue has space for one WQE at least. Returns the packets posted; the
 * next one is unchanged.
 */
static uint32_t
put_chains(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t flags = mana_tx_flags(pkts[0]);

	if (pkts[0]->pool == NULL)
		return 0;
	if (txq->is_long || (flags & FLAG_VLAN) != 0)
		return chains_long(txq, pkts, nb);
	if (flags & FLAG_TSO)
		return chains_tso(txq, pkts, nb);
	if (flags & FLAGS_CSUM)
		return chains_csum(txq, pkts, nb);
	return chains_no_request(txq, pkts, nb);
}

/* ---- Bursts ------------------------------------------------------------------ */

/*
 * Handle packets of which the first one is not for a batch. Returns how many were posted
 * or dropped; -EAGAIN: there is no space, or no key yet.
 */
static int
put_special(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t n;
	int ret;

	n = put_chains(txq, pkts, nb);
	if (n == 0 && region_follow(txq, pkts[0]))
		n = put_chains(txq, pkts, nb);
	if (n != 0)
		return n;
	ret = mana_tx_slow(txq, pkts[0]);
	if (ret < 0)
		return ret;
	txq->bytes += ret;
	return 1;
}

/*
 * A burst that is not one batch. nb_batch packets of it are written, all of pool mp, or (NULL)
 * each of that in txq->pools.
 */
static __rte_noinline uint16_t
mixed_burst(struct mana_txq *txq, struct rte_mbuf **pkts, uint16_t nb_pkts,
	    uint32_t nb_batch, struct rte_mempool *mp)
{
	const uint64_t start = txq->pi;
	/* One look at completions per burst is enough. */
	bool is_reaped = txq->reaped_pi == (uint32_t)start;
	bool any_pool = false;
	uint32_t i = nb_batch, n;

	txq->batch_space = 0;
	mana_tx_group_open(txq);
	post_batch(txq, nb_batch, 1, mp);
	while (i < nb_pkts) {
		int ret = -EAGAIN;

		if (mana_txq_nb_posted(txq) < txq->limit) {
			/* A packet of another pool ends a batch, but not one of any pool. */
			any_pool = any_pool || pkts[i]->pool == NULL ||
				   (i != 0 && pkts[i]->pool != pkts[i - 1]->pool);
			n = pkts[i]->nb_segs == 1 ?
				    put_batch(txq, pkts + i, nb_pkts - i, any_pool) : 0;
			i += n;
			if (n != 0)
				continue;
			ret = put_special(txq, pkts + i, nb_pkts - i);
		}
		if (ret < 0 && is_reaped)
			break;
		if (ret < 0) {
			/* Later WQEs may request CQEs in another way. */
			mana_tx_group_close(txq);
			mana_tx_reap(txq, UINT32_MAX);
			is_reaped = true;
			continue;
		}
		i += ret;
	}
	if (txq->pi == start)
		return i;
	mana_tx_group_close(txq);
	ring(txq);
	return i;
}

/* A burst that begins with a batch of n written packets. The others are of any pool and region. */
static __rte_noinline uint16_t
batch_burst(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb, uint32_t n)
{
	struct rte_mempool *mp = pkts[0]->pool;
	bool any_pool = pkts[n]->pool != mp || pkts[nb - 1]->pool != mp;

	if (!any_pool) {
		n = batch_of_pool(txq, pkts, n, nb);
		any_pool = n != nb && pkts[n]->pool != mp;
	}
	if (any_pool) {
		mana_tx_pools_set(txq, txq->mbuf_pi, n, mp);
		mp = NULL;
		n = batch_pools(txq, pkts, n, nb);
	}
	if (n != nb)
		return mixed_burst(txq, pkts, nb, n, mp);
	return post_burst(txq, nb, mp);
}

/* The table of regions has changed. */
static __rte_noinline void
regions_sync(struct mana_txq *txq)
{
	mana_mr_sync(&txq->mr);
	mana_tx_region_set(txq, (struct mana_mr_range){ .base = 0 });
}

static __rte_always_inline uint16_t
burst(struct mana_txq *txq, struct rte_mbuf **pkts, const size_t nb,
      struct rte_mempool *mp, const uint32_t f)
{
	uint32_t n;

	if (unlikely(mana_mr_is_stale(&txq->mr.view)))
		regions_sync(txq);
	if (unlikely(nb > txq->batch_space || mana_tx_newest_is_done(txq)) && !refresh(txq, nb))
		return mixed_burst(txq, pkts, nb, 0, NULL);
	/* A burst of chains is no batch. An invalid mbuf may have no pool. */
	n = mp == NULL || ((f & F_ROUNDS) && pkts[0]->nb_segs != 1) ? 0 :
		    write_batch(txq, pkts, 0, nb, mp, f);
	if (unlikely(n != nb))
		return mp == NULL || pkts[n]->nb_segs != 1 ||
		       (mana_tx_flags(pkts[n]) & flags_refused(F_CSUM)) != 0 ?
			       mixed_burst(txq, pkts, nb, n, mp) :
			       batch_burst(txq, pkts, nb, n);
	return post_burst(txq, nb, mp);
}

/* Bursts smaller than a round do without the constants of a round. */
INSTANCE(uint16_t, burst_few, burst, 0)
INSTANCE(uint16_t, burst_few_csum, burst, F_CSUM)
INSTANCE(uint16_t, burst_no_request, burst, F_ROUNDS)
INSTANCE(uint16_t, burst_csum, burst, F_CSUM | F_ROUNDS)
AVX2 INSTANCE(uint16_t, burst_no_request_avx2, burst, F_ROUNDS)

bool mana_tx_uses_avx2;

RTE_INIT(encoding_choose)
{
	mana_tx_uses_avx2 = HAS_AVX2;
}

/*
 * A burst of a paused queue, or of no packets, which takes completions. A port that recovers
 * has no SQ yet, and frees what the old one had. The control path accesses these mbufs only
 * where no burst of its own process runs.
 */
static __rte_noinline __rte_cold uint16_t
burst_none(struct mana_txq *txq)
{
	if (!mana_txq_is_paused(txq)) {
		mana_tx_reap_inline(txq);
		txq->reaped_pi = txq->pi;
		txq->batch_space = 0;
	} else if (mana_atomic_load(&txq->user) == 0) {
		(void)mana_tx_old_free(txq, UINT32_MAX);
	}
	return 0;
}

/* The first packet selects the instance; a packet that does not fit it ends the batch. */
uint16_t
mana_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct mana_txq *txq = queue;
	uint16_t nb;

	mana_burst_enter(&txq->is_busy);
	if (unlikely(mana_txq_is_paused(txq) || nb_pkts == 0))
		nb = burst_none(txq);
	else if ((mana_tx_flags(pkts[0]) & FLAGS_CSUM) != 0)
		nb = nb_pkts < ROUND ? burst_few_csum(txq, pkts, nb_pkts) :
				       burst_csum(txq, pkts, nb_pkts);
	else
		nb = nb_pkts < ROUND ? burst_few(txq, pkts, nb_pkts) :
		     mana_tx_uses_avx2 ? burst_no_request_avx2(txq, pkts, nb_pkts) :
					 burst_no_request(txq, pkts, nb_pkts);
	mana_burst_leave(&txq->is_busy);
	return nb;
}

const char *
mana_tx_burst_name(mana_burst_t function)
{
	return function == mana_tx_burst ? MANA_VEC_NAME : NULL;
}
