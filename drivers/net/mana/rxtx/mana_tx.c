/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Tx burst. Its return value divides the ownership: the packets before it are
 * the driver's (posted, or freed and counted), the others are the caller's.
 *
 * There are two lanes. The fast lane takes direct mbufs with one reference, of one
 * pool, whose memory is one region. A packet of one segment with the short OOB is
 * exactly one BU: header, OOB, SGE; four words, which cannot wrap. A run of such
 * packets is posted at once, up to where a ring ends, so that no index inside
 * needs a mask. put_chains() posts chains, VLAN tags, the long OOB and
 * segmentation. All other packets take the slow lane, mana_tx_slow().
 *
 * A queue that has failed (disabled by the device, or overrun) takes nothing: the
 * burst returns 0, like ethdev's function for stopped ports, and the packets stay
 * with the caller. Posted packets are freed when the queue is stopped.
 *
 * A burst does not always look at completions: it is cheaper to take many at once,
 * and a pool takes many mbufs for little more than one. The queue knows how many
 * packets may be posted before the next look (run_room). A burst then takes all
 * completions, or earlier, if the newest one has been written. See mana_tx.h.
 */

#include <rte_mbuf.h>

#include "mana_tx.h"
#include "mana_tx_request.h"

/* Two words of a WQE at once. */
typedef uint64_t mana_u64x2 __attribute__((vector_size(16), may_alias));

/* A burst looks at completions after this many packets, or earlier. */
#define REAP_EVERY 32u

/* BUs, with an mbuf each, before a ring ends or the SQ is full. */
static inline uint32_t
ring_room(const struct mana_txq *txq)
{
	uint32_t mask_bu = txq->sq.mask_bu;
	uint32_t room = RTE_MIN(mana_wq_free_bu(&txq->sq),
				mask_bu + 1 - (txq->sq.pi & mask_bu));

	return RTE_MIN(room, txq->mbuf_mask + 1 -
				     (txq->mbuf_pi & txq->mbuf_mask));
}

/* Packets of one BU for which there is room. */
static inline uint32_t
run_room(const struct mana_txq *txq)
{
	uint32_t nb_posted = mana_txq_nb_posted(txq);

	if (unlikely(nb_posted >= txq->limit))
		return 0;
	return RTE_MIN(txq->limit - nb_posted, ring_room(txq));
}

/*
 * Whether a burst fits as one run and one group, before the next look at
 * completions. False for a burst of 0 packets.
 */
static inline bool
is_one_run(const struct mana_txq *txq, size_t nb)
{
	return nb - 1 < txq->run_room && nb <= txq->run_max;
}

/*
 * Look at completions, then set how many packets may go before the next look.
 * Returns whether the burst fits now. Not inlined, so that other bursts have fewer
 * registers to save.
 */
static __rte_noinline bool
refresh(struct mana_txq *txq, size_t nb)
{
	mana_tx_reap_inline(txq);
	txq->look_pi = txq->pi;
	txq->run_room = RTE_MIN(run_room(txq), RTE_MAX(nb, REAP_EVERY));
	return is_one_run(txq, nb);
}

/*
 * Constants of the instances of the loops below. With none of them, a loop takes
 * packets without requests, in the short OOB.
 */
#define F_CSUM 1u /* takes checksum requests */
#define F_TSO 2u /* takes segmentation requests */
#define F_LONG 4u /* writes the long OOB, and takes VLAN tags */
#define F_ROUNDS 8u /* several packets at a time, in the short OOB */

#define FLAGS_CSUM MANA_TX_OL_HALF(MANA_TX_OL_CSUM)
#define FLAG_VLAN MANA_TX_OL_HALF(RTE_MBUF_F_TX_VLAN)
#define FLAG_TSO MANA_TX_OL_HALF(RTE_MBUF_F_TX_TCP_SEG)

/* A function that is an instance of a template, with constant flags. */
#define INSTANCE(type, name, template, flags) \
static __rte_noinline type \
name(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb) \
{ \
	return template(txq, pkts, nb, flags); \
}

/* Flags of packets that an instance does not take. */
static inline uint32_t
flags_refused(const uint32_t f)
{
	uint64_t taken = MANA_TX_OL_CSUM |
			 (f & F_TSO ? RTE_MBUF_F_TX_TCP_SEG : 0) |
			 (f & F_LONG ? RTE_MBUF_F_TX_VLAN : 0);

	return MANA_TX_OL_HALF(f & F_CSUM ?
		(MANA_TX_OL_SPECIAL & ~taken) | MANA_TX_OL_TUNNEL :
		MANA_TX_OL_SPECIAL);
}

/* Flags that all packets of an instance need. */
static inline uint32_t
flags_needed(const struct mana_txq *txq, const uint32_t f)
{
	return (f & F_LONG) && !txq->is_long ? FLAG_VLAN : 0;
}

/* Packets of a round. */
#define ROUND 4

/*
 * Write rounds of packets without requests, or all with the checksum request
 * of txq->last_known. One test covers a round. The first round that fails it is left for
 * the loop of single packets.
 */
static __rte_always_inline size_t
write_rounds(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb,
	     uint64_t *wqe, struct rte_mbuf **mbufs, const uint32_t f)
{
	/* Copies: stores to a frame cannot change them. */
	const struct mana_tx_known *known = txq->last_known;
	const struct mana_tx_headers hdrs = known->req.hdrs;
	const uint64_t offload = known->offload;
	const struct rte_mempool *mp = txq->mp;
	const mana_vec_t head = mana_vec_of64(
		GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4),
		txq->oob | txq->no_cqe | (f & F_CSUM ? hdrs.oob : 0));
	const mana_vec_t key = mana_vec_of64(0, txq->lkey);
	const mana_vec_t want = mana_vec_of64(
		(uint64_t)MANA_TX_ONE_REF_ONE_SEG << 16,
		f & F_CSUM ? (uint64_t)known->flags << 32 &
			       ~RTE_MBUF_F_TX_TCP_SEG : 0);
	const mana_vec_t mask = mana_vec_of64(UINT64_C(0xffffffff0000),
		MANA_TX_OL_SPECIAL | (f & F_CSUM ? MANA_TX_OL_INFO : 0));
	const mana_vec_t min = mana_vec_of64(0, (uint64_t)(f & F_CSUM ?
		known->req.hdr_bytes : MANA_TX_MIN_BYTES) << 32);
	mana_vec_t sum = mana_vec_zero();
	size_t n;

	for (n = 0; n + ROUND <= nb; n += ROUND) {
		struct rte_mbuf *m0 = pkts[n], *m1 = pkts[n + 1];
		struct rte_mbuf *m2 = pkts[n + 2], *m3 = pkts[n + 3];
		mana_vec_t a0 = mana_tx_load(m0), a1 = mana_tx_load(m1);
		mana_vec_t a2 = mana_tx_load(m2), a3 = mana_tx_load(m3);
		mana_vec_t wrong = mana_vec_or(
			mana_vec_or(mana_vec_xor(a0, want), mana_vec_xor(a1, want)),
			mana_vec_or(mana_vec_xor(a2, want), mana_vec_xor(a3, want)));
		mana_vec_t least;

		a0 = mana_tx_sge(m0, a0, key);
		a1 = mana_tx_sge(m1, a1, key);
		a2 = mana_tx_sge(m2, a2, key);
		a3 = mana_tx_sge(m3, a3, key);
		least = mana_vec_min16(mana_vec_min16(a0, a1),
				       mana_vec_min16(a2, a3));
		wrong = mana_vec_or(mana_vec_and(wrong, mask),
				    mana_vec_subs16(min, least));
		if (unlikely(!mana_vec_is_zero(wrong) || m0->pool != mp ||
			     m1->pool != mp || m2->pool != mp || m3->pool != mp))
			break;
		if (f & F_CSUM) {
			if (unlikely((((m0->tx_offload ^ offload) |
				       (m1->tx_offload ^ offload) |
				       (m2->tx_offload ^ offload) |
				       (m3->tx_offload ^ offload)) &
				      MANA_TX_LENS_M) != 0))
				break;
			mana_tx_headers_write(mana_vec_ptr(a0), &hdrs, true);
			mana_tx_headers_write(mana_vec_ptr(a1), &hdrs, true);
			mana_tx_headers_write(mana_vec_ptr(a2), &hdrs, true);
			mana_tx_headers_write(mana_vec_ptr(a3), &hdrs, true);
		}
		sum = mana_vec_add32(sum,
			mana_vec_add32(mana_vec_add32(a0, a1),
				       mana_vec_add32(a2, a3)));
		mana_vec_store_16(wqe, head);
		mana_vec_store_16(wqe + 2, a0);
		mana_vec_store_16(wqe + 4, head);
		mana_vec_store_16(wqe + 6, a1);
		mana_vec_store_16(wqe + 8, head);
		mana_vec_store_16(wqe + 10, a2);
		mana_vec_store_16(wqe + 12, head);
		mana_vec_store_16(wqe + 14, a3);
		mana_vec_move32(mbufs + n, pkts + n);
		wqe += ROUND * GDMA_BU_WORDS;
	}
	txq->bytes += mana_vec_get32(sum, 3);
	return n;
}

/*
 * Write packets of one segment, until one is not of this kind: WQEs from sq.pi and
 * mbuf entries from mbuf_pi on.
 *
 * @param nb
 *   Packets at most, for which there is room; not 0.
 * @return
 *   Packets that are ready to be posted.
 */
static __rte_always_inline uint32_t
write_run(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb,
	  const uint32_t f)
{
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi);
	struct rte_mbuf **mbufs = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	const struct rte_mempool *mp = txq->mp;
	const uint32_t lkey = txq->lkey;
	const uint32_t refused = flags_refused(f), needed = flags_needed(txq, f);
	const uint64_t queue_oob = f & F_LONG ?
		mana_tx_long_oob(txq) : txq->oob | txq->no_cqe;
	const mana_u64x2 head = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(1, f & F_LONG ?
				GDMA_OOB_LONG_DIV4 : GDMA_OOB_SHORT_DIV4)),
		rte_cpu_to_le_64(queue_oob),
	};
	uint64_t bytes = 0;
	size_t n = 0;

	if ((f & F_ROUNDS) && nb >= ROUND &&
	    (!(f & F_CSUM) ||
	     mana_tx_request_of(txq, pkts[0], pkts[0]->data_len) != NULL)) {
		n = write_rounds(txq, pkts, nb, wqe, mbufs, f);
		if (n == nb)
			return n;
		wqe += n * GDMA_BU_WORDS;
	}
	do {
		struct rte_mbuf *m = pkts[n];
		uint64_t len = m->data_len;

		if (unlikely(mana_tx_ref_and_segs(m) != MANA_TX_ONE_REF_ONE_SEG ||
			     m->pool != mp || len < MANA_TX_MIN_BYTES ||
			     (mana_tx_flags(m) & refused) != 0 ||
			     (~mana_tx_flags(m) & needed) != 0))
			break;
		*(mana_u64x2 *)wqe = head;
		if ((f & F_CSUM) && (mana_tx_flags(m) & FLAGS_CSUM) != 0) {
			const struct mana_tx_request *req =
				mana_tx_request_of(txq, m, len);

			if (unlikely(req == NULL || len < req->hdr_bytes))
				break;
			mana_tx_headers_write(rte_pktmbuf_mtod(m, uint8_t *),
					      &req->hdrs, true);
			wqe[1] = rte_cpu_to_le_64(queue_oob | req->hdrs.oob);
		}
		if (f & F_LONG) {
			mana_wqe_set(&wqe[2], mana_tx_loob(txq, m));
			mana_wqe_set(&wqe[3], 0);
			mana_wqe_set(&wqe[6], 0);
			mana_wqe_set(&wqe[7], 0);
		}
		mana_sge_set(&wqe[f & F_LONG ? 4 : 2],
			     rte_pktmbuf_mtod(m, uintptr_t), lkey, len);
		mbufs[n] = m;
		bytes += len;
		wqe += (f & F_LONG ? 2 : 1) * GDMA_BU_WORDS;
	} while (++n < nb);
	txq->bytes += bytes;
	return n;
}

/* For bursts that are not one run. */
INSTANCE(uint32_t, run_plain, write_run, F_ROUNDS)
INSTANCE(uint32_t, run_csum, write_run, F_CSUM | F_ROUNDS)
INSTANCE(uint32_t, run_long, write_run, F_CSUM | F_LONG)

/* Post a run among others; each packet has nb_bu. */
static inline void
post_run(struct mana_txq *txq, uint32_t nb, uint32_t nb_bu)
{
	if (nb == 0)
		return;
	for (uint32_t i = 0; i < nb; i++)
		txq->info[(txq->pi + i) & txq->mask] = MANA_TX_INFO(nb_bu, 1);
	mana_tx_post(txq, nb, nb * nb_bu, nb_bu, nb, txq->mp);
}

/* Post a run that is the whole burst, and a group of its own. */
static inline void
post_burst(struct mana_txq *txq, size_t nb)
{
	txq->pi += nb;
	txq->sq.pi += nb;
	txq->mbuf_pi += nb;
	txq->run_room -= nb;
	mana_tx_group_add(txq, txq->mp, txq->sq.pi - 1);
}

/* Write and post a run among others. Returns the number of packets. */
static uint32_t
put_run(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t room = RTE_MIN(run_room(txq), mana_tx_group_room(txq));
	uint32_t flags, nb_bu;

	if (room == 0)
		return 0;
	flags = mana_tx_flags(pkts[0]);
	nb_bu = txq->is_long || (flags & FLAG_VLAN) != 0 ? 2 : 1;
	nb = RTE_MIN(nb, room >> (nb_bu - 1));
	if (nb == 0)
		return 0;
	nb = nb_bu == 2 ? run_long(txq, pkts, nb) :
	     (flags & FLAGS_CSUM) != 0 ? run_csum(txq, pkts, nb) :
					 run_plain(txq, pkts, nb);
	post_run(txq, nb, nb_bu);
	return nb;
}

/*
 * ---- Packets of more than one BU ---------------------------------------------
 *
 * Chains, VLAN tags, the long OOB, segmentation.
 *
 * The loop checks a packet while it writes the WQE. The packet's mbufs and the
 * queue's indices change after all checks have passed.
 */

/*
 * Mbuf entries and BUs before a ring ends or the group is full. left: WQEs that
 * may still be posted, each of which needs an entry.
 */
static inline uint32_t
chain_room(const struct mana_txq *txq, uint32_t left)
{
	uint32_t room = RTE_MIN(ring_room(txq), txq->mbuf_mask + 1 - left -
					(txq->mbuf_pi - txq->mbuf_ci));

	return RTE_MIN(room, txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/*
 * Bytes of the headers if they share the first segment with payload and need an
 * SGE of their own; else 0. Also 0 for a packet with nb_segs 0, which is refused
 * for that.
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
	uint64_t header = GDMA_WQE_HEADER(nb_sge, f & F_LONG ?
					  GDMA_OOB_LONG_DIV4 :
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
		mana_tx_headers_write(rte_pktmbuf_mtod(m, uint8_t *), &req->hdrs,
				      true);
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
 * Write SGEs and entries of all segments. Returns the bytes; 0: the packet is not
 * for this lane.
 *
 * @param split_bytes
 *   Of the first segment, in an SGE of their own; 0: none.
 */
static __rte_always_inline uint32_t
chain_segments(const struct rte_mempool *mp, uint32_t lkey, struct rte_mbuf *m,
	       uint64_t *sge, struct rte_mbuf **entry, struct rte_mbuf **end,
	       uint32_t split_bytes)
{
	const mana_vec_t key = mana_vec_of64(0, lkey);
	const mana_vec_t want = mana_vec_of64(UINT64_C(1) << 16, 0);
	const mana_vec_t mask = mana_vec_of64(UINT64_C(0xffff0000),
					      MANA_TX_OL_NOT_DIRECT);
	const mana_vec_t one = mana_vec_of64(0, UINT64_C(1) << 32);
	mana_vec_t wrong = mana_vec_zero(), least = one;
	mana_vec_t split = mana_vec_of64(split_bytes,
					 (0 - (uint64_t)split_bytes) << 32);
	uint32_t bytes = 0;

	if (split_bytes != 0) {
		mana_sge_set(sge, rte_pktmbuf_mtod(m, uintptr_t), lkey,
			     split_bytes);
		sge += 2;
	}
	for (;;) {
		mana_vec_t loaded = mana_tx_load(m);
		mana_vec_t full = mana_tx_sge(m, loaded, key);

		if (unlikely(m->pool != mp))
			return 0;
		mana_vec_store_16(sge, mana_vec_add64(full, split));
		split = mana_vec_zero();
		sge += 2;
		bytes += m->data_len;
		*entry++ = m;
		m = m->next;
		wrong = mana_vec_or(wrong, mana_vec_xor(loaded, want));
		least = mana_vec_min16(least, full);
		if (m == NULL)
			break;
		if (unlikely(entry == end))
			return 0;
	}
	wrong = mana_vec_or(mana_vec_and(wrong, mask), mana_vec_xor(least, one));
	return likely(entry == end && mana_vec_is_zero(wrong) &&
		      bytes >= MANA_TX_MIN_BYTES) ? bytes : 0;
}

static __rte_always_inline uint32_t
chain_run(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb,
	  const uint32_t f)
{
	/* Copies: stores to a WQE cannot change them. */
	const uint64_t oob = f & F_LONG ? mana_tx_long_oob(txq) :
					  txq->oob | txq->no_cqe;
	const uint32_t refused = flags_refused(f), needed = flags_needed(txq, f);
	const uint32_t max_sge = txq->max_sge, mask = txq->mask;
	const uint32_t lkey = txq->lkey;
	const struct rte_mempool *mp = txq->mp;
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t room = chain_room(txq, left);
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi), *const start = wqe;
	struct rte_mbuf **entry = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	struct rte_mbuf **const first = entry;
	uint16_t *info = txq->info;
	uint32_t pi = txq->pi, n;
	uint64_t bytes = 0;

	nb = RTE_MIN(RTE_MIN(nb, left), mana_tx_group_room(txq));
	for (n = 0; n < nb; n++) {
		struct rte_mbuf *m = pkts[n];
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
			     nb_sge - 1 >= max_sge || needs > room))
			break;
		nb_bu = f & F_LONG ? (nb_sge + 1) / 2 + 1 : nb_sge / 2 + 1;
		next = wqe + nb_bu * GDMA_BU_WORDS;
		/* Where no SGE overwrites this, the rest of the last BU is 0. */
		mana_vec_store_16(&next[-2], mana_vec_zero());
		len = chain_segments(mp, lkey, m, wqe + (f & F_LONG ? 4 : 2),
				     entry, end, f & F_TSO ? split_bytes : 0);
		if (unlikely(len == 0 || !chain_head(txq, m, flags, len, nb_sge,
						     oob, wqe, f)))
			break;
		info[pi++ & mask] = MANA_TX_INFO(nb_bu, nb_segs);
		wqe = next;
		room -= needs;
		bytes += len;
		do {
			m = *entry++;
			m->next = NULL;
			mana_tx_ref_and_segs_set(m, MANA_TX_ONE_REF_ONE_SEG);
		} while (entry != end);
	}
	if (n == 0)
		return 0;
	txq->bytes += bytes;
	mana_tx_post(txq, n, (wqe - start) / GDMA_BU_WORDS,
		     info[(pi - 1) & mask] & MANA_TX_INFO_BU_M,
		     entry - first, txq->mp);
	return n;
}
static_assert(GDMA_WQE_SGL_SHORT_BYTES + 2 * GDMA_SGE_BYTES ==
	      GDMA_BU_BYTES + GDMA_SGE_BYTES, "short OOB: one SGE in the first BU");
static_assert(GDMA_WQE_SGL_LONG_BYTES == GDMA_BU_BYTES,
	      "long OOB: no SGE in the first BU");

INSTANCE(uint32_t, chain_run_plain, chain_run, 0)
INSTANCE(uint32_t, chain_run_csum, chain_run, F_CSUM)
INSTANCE(uint32_t, chain_run_tso, chain_run, F_CSUM | F_TSO)
INSTANCE(uint32_t, chain_run_long, chain_run, F_CSUM | F_TSO | F_LONG)

/*
 * Post chains of direct mbufs of txq->mp, each with one reference, with any
 * request, up to where a ring ends or the group is full. The segments of each
 * chain are separated, so that they are freed with the pool's other mbufs.
 *
 * @param nb
 *   Packets at most; the queue has room for one WQE at least.
 * @return
 *   Packets posted. The next packet is unchanged.
 */
static uint32_t
put_chains(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t flags = mana_tx_flags(pkts[0]);

	if (txq->is_long || (flags & FLAG_VLAN) != 0)
		return chain_run_long(txq, pkts, nb);
	if (flags & FLAG_TSO)
		return chain_run_tso(txq, pkts, nb);
	if (flags & FLAGS_CSUM)
		return chain_run_csum(txq, pkts, nb);
	return chain_run_plain(txq, pkts, nb);
}

/* ---- Bursts ------------------------------------------------------------------ */

/*
 * Handle packets of which the first one is not for a run, or is of another pool.
 *
 * @return
 *   Packets posted or dropped; 0: the pool has changed, try a run again; -EAGAIN:
 *   there is no room.
 */
static int
put_special(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t n;
	int ret;

	if (mana_txq_nb_posted(txq) >= txq->limit)
		return -EAGAIN;
	if (pkts[0]->pool != txq->mp && mana_tx_pool_use(txq, pkts[0]->pool))
		return 0;
	n = put_chains(txq, pkts, nb);
	if (n != 0)
		return n;
	ret = mana_tx_slow(txq, pkts[0]);
	if (ret < 0)
		return ret;
	txq->bytes += ret;
	return 1;
}

/* A burst that is not one run; nb_run packets of it are written. */
static __rte_noinline uint16_t
mixed_burst(struct mana_txq *txq, struct rte_mbuf **pkts, uint16_t nb_pkts,
	    uint32_t nb_run)
{
	const uint64_t start = txq->pi;
	/* Once per burst is enough. */
	bool is_reaped = txq->look_pi == (uint32_t)start;
	uint32_t i = nb_run;

	txq->run_room = 0;
	txq->open_pi = txq->pi;
	txq->open_bu = txq->sq.pi;
	post_run(txq, nb_run, 1);
	while (i < nb_pkts) {
		int ret;

		i += put_run(txq, pkts + i, nb_pkts - i);
		if (i == nb_pkts)
			break;
		ret = put_special(txq, pkts + i, nb_pkts - i);
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
	mana_wq_ring_at(&txq->sq, txq->sq.pi);
	txq->sq_doorbells++;
	return i;
}

static __rte_always_inline uint16_t
burst(struct mana_txq *txq, struct rte_mbuf **pkts, const size_t nb,
      const uint32_t f)
{
	uint32_t n;

	if (unlikely(mana_mr_cache_is_stale(&txq->mr)))
		mana_tx_pools_forget(txq);
	if (unlikely(!is_one_run(txq, nb) || mana_tx_newest_is_done(txq)) &&
	    !refresh(txq, nb))
		return mixed_burst(txq, pkts, nb, 0);
	n = write_run(txq, pkts, nb, f);
	if (unlikely(n != nb))
		return mixed_burst(txq, pkts, nb, n);
	post_burst(txq, nb);
	mana_wq_ring_at(&txq->sq, txq->sq.pi);
	txq->sq_doorbells++;
	return nb;
}

/* Bursts smaller than a round do without the constants of a round. */
INSTANCE(uint16_t, burst_few, burst, 0)
INSTANCE(uint16_t, burst_few_csum, burst, F_CSUM)
INSTANCE(uint16_t, burst_plain, burst, F_ROUNDS)
INSTANCE(uint16_t, burst_csum, burst, F_CSUM | F_ROUNDS)

/* If the first packet requests no checksum, the others may not either. */
uint16_t
mana_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct mana_txq *txq = queue;
	uint16_t nb;

	mana_burst_enter(&txq->is_busy);
	if (unlikely(mana_txq_is_paused(txq)))
		nb = 0;
	else if (nb_pkts != 0 && (mana_tx_flags(pkts[0]) & FLAGS_CSUM) != 0)
		nb = nb_pkts < ROUND ? burst_few_csum(txq, pkts, nb_pkts) :
				       burst_csum(txq, pkts, nb_pkts);
	else
		nb = nb_pkts < ROUND ? burst_few(txq, pkts, nb_pkts) :
				       burst_plain(txq, pkts, nb_pkts);
	mana_burst_leave(&txq->is_busy);
	return nb;
}

static uint16_t
burst_fenced(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct mana_txq *txq = queue;
	uint16_t nb = 0;

	mana_fenced_enter(&txq->is_fenced);
	if (!mana_txq_is_paused(txq)) {
		mana_pause_fence();
		nb = mana_tx_burst(txq, pkts, nb_pkts);
	}
	mana_fenced_leave(&txq->is_fenced);
	return nb;
}

mana_burst_t
mana_tx_burst_get(void)
{
	return mana_has_fences ? burst_fenced : mana_tx_burst;
}

const char *
mana_tx_burst_name(mana_burst_t function)
{
	if (function != mana_tx_burst && function != burst_fenced)
		return NULL;
#ifdef RTE_ARCH_X86_64
	return "Vector SSE";
#else
	return "Vector NEON";
#endif
}
