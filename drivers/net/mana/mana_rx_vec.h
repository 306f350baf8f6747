/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive kernel in vectors of 16 bytes, for every instruction set that
 * has them: four CQEs with a packet each at a time, or one CQE with four.
 *
 * One packet each. A CQE is loaded as one vector v, whose last lane, reserved
 * in the CQE, is replaced by the hash that follows it:
 *
 *     lane     0                1       2           3
 *     CQE      type, vendor     flags   len | res   res   ; hash
 *     v        type, vendor     flags   len | res   hash
 *                                                            MANA_RX_VEC_OKAY
 *     packet   type, 0, len     len     len | vlan  hash
 *     mbuf     packet_type      pkt_len data_len,   hash.rss
 *                                       vlan_tci
 *
 * Lane 0 of packet serves the check of all four at once, then the packet type
 * of the table goes there. What precedes these 16 bytes of the mbuf is 16 bytes
 * more: the rearm word, the same for all, and ol_flags.
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
 * so three shuffles (of v, of b and join, of d) make four packets of them, and
 * what they share, packet type and vlan, is or-ed to each.
 *
 * A packet that came with a tag is known by the flag, which is in vlan_tci then
 * (bit 12): those are gone through once more at the end.
 */

#ifndef MANA_RX_VEC_H
#define MANA_RX_VEC_H

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rxtx.h"
#include "mana_vec.h"

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
static_assert(sizeof(struct mana_rx_head) == 16 &&
	      offsetof(struct mana_rx_head, len) == 8 &&
	      offsetof(struct mana_rx_head, hash) == 12,
	      "a head is what is called v");

#define MANA_RX_VEC_N 4

/*
 * The constants of the kernels, in memory: what the compiler does not see it
 * does not make anew in each round.
 */
struct mana_rx_vec_const {
	/* mbuf flags, shifted right by one, by flags bits 25 on, and 27 on */
	alignas(16) uint8_t ip[16];
	uint8_t l4[16];
	/* From CQE to packet, as drawn above. */
	uint8_t okay[16];
	uint8_t first[16]; /* of v */
	uint8_t mid[16]; /* of b and of join */
	uint8_t last[16]; /* of d */
	/* Type and length of a packet's lane 0 */
	uint32_t type_len[4];
	uint32_t hash_type[4]; /* of a flags word */
	uint32_t hash_flag[4]; /* of an mbuf's flags */
	uint32_t trailers[4]; /* what counts of them */
	uint32_t tag[4]; /* of a flags word */
	uint32_t coalesced[4]; /* of a head: this bit, and not RX_OKAY's */
	uint8_t tci[16]; /* of a head: its flags' low half to vlan_tci */
};
extern const struct mana_rx_vec_const mana_rx_vec_const MANA_HIDDEN;
#define MANA_RX_VEC(name) mana_vec_load_16(mana_rx_vec_const.name)

/* The first 32 bytes of an mbuf behind its addresses. */
static __rte_always_inline void
mana_rx_vec_put(struct rte_mbuf *m, mana_vec_t rearm, mana_vec_t fields)
{
	mana_vec_store(&m->data_off, rearm);
	mana_vec_store(&m->packet_type, fields);
}

static __rte_always_inline mana_vec_t
mana_rx_vec_head(const struct gdma_cqe *cqe)
{
	return mana_vec_set32(mana_vec_load(cqe), cqe->rx.ppi[0].hash, 3);
}

/* Four packets go to the application. */
static __rte_always_inline void
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
 * mbuf flags by four flags words, hash their hash types in place. All that
 * come from them are below bit 9 and above bit 0: a byte of a table has them
 * shifted by one.
 */
static __rte_always_inline mana_vec_t
mana_rx_vec_flags(mana_vec_t flags, mana_vec_t hash)
{
	mana_vec_t csum;

	csum = mana_vec_or(mana_vec_lookup(MANA_RX_VEC(ip),
					   mana_vec_shr32(flags, 25)),
			   mana_vec_lookup(MANA_RX_VEC(l4),
					   mana_vec_shr32(flags, 27)));
	hash = mana_vec_andnot(MANA_RX_VEC(hash_flag),
			       mana_vec_eq32(hash, mana_vec_zero()));
	return mana_vec_or(mana_vec_shl32(csum, 1), hash);
}

/* The packet type of hash type i, the high half of word i, into a packet. */
#define MANA_RX_VEC_PTYPE(packet, hash_types, i) \
	mana_vec_set32(packet, \
		       mana_rx_hash[mana_vec_get16(hash_types, 2 * (i) + 1)].ptype, 0)
static_assert(MANA_RX_CQE_HASH_TYPE_S == 16, "the high half of a flags word");

/*
 * Four heads of one packet each. False when one of them is not as it should
 * be: nothing has happened then.
 */
static __rte_always_inline bool
mana_rx_vec_okay(const struct mana_rxq *rxq, mana_vec_t queue_rearm,
		 const mana_vec_t v[MANA_RX_VEC_N], struct rte_mbuf **pkts,
		 struct rte_mbuf *const *mbufs, mana_vec_t *bytes,
		 mana_vec_t *tags)
{
	const mana_vec_t shuffle = MANA_RX_VEC(okay);
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];
	mana_vec_t lo, hi, check, flags, hash, ol_flags;

	p[0] = mana_vec_shuffle(v[0], shuffle);
	p[1] = mana_vec_shuffle(v[1], shuffle);
	p[2] = mana_vec_shuffle(v[2], shuffle);
	p[3] = mana_vec_shuffle(v[3], shuffle);
	lo = mana_vec_zip_lo32(p[0], p[1]);
	hi = mana_vec_zip_lo32(p[2], p[3]);
	/* Half words type and length: type - 1 is 0, length - 1 in bounds. */
	check = mana_vec_and(mana_vec_zip_lo64(lo, hi), MANA_RX_VEC(type_len));
	check = mana_vec_add16(check, mana_vec_dup32(UINT32_MAX));
	check = mana_vec_subs16(check, mana_vec_load_16(rxq->vec_bound_hi));
	if (unlikely(!mana_vec_is_zero(check)))
		return false;
	*bytes = mana_vec_add32(*bytes, mana_vec_zip_hi64(lo, hi));

	flags = mana_vec_zip_hi64(mana_vec_zip_lo32(v[0], v[1]),
				  mana_vec_zip_lo32(v[2], v[3]));
	*tags = mana_vec_or(*tags, flags);
	hash = mana_vec_and(flags, MANA_RX_VEC(hash_type));
	ol_flags = mana_vec_and(mana_rx_vec_flags(flags, hash),
				mana_vec_load_16(rxq->vec_told));
	p[0] = MANA_RX_VEC_PTYPE(p[0], hash, 0);
	p[1] = MANA_RX_VEC_PTYPE(p[1], hash, 1);
	p[2] = MANA_RX_VEC_PTYPE(p[2], hash, 2);
	p[3] = MANA_RX_VEC_PTYPE(p[3], hash, 3);
	rearm[0] = mana_vec_copy32(queue_rearm, 2, ol_flags, 0);
	rearm[1] = mana_vec_copy32(queue_rearm, 2, ol_flags, 1);
	rearm[2] = mana_vec_copy32(queue_rearm, 2, ol_flags, 2);
	rearm[3] = mana_vec_copy32(queue_rearm, 2, ol_flags, 3);
	mana_rx_vec_deliver(pkts, mbufs, rearm, p);
	return true;
}
static_assert(MANA_CQE_RX_OKAY == 1, "type - 1 is 0");

/* A coalesced CQE, v its head, is left to the steps. */
static __rte_noinline __rte_cold void
mana_rx_vec_leave_parts(struct mana_rx_ahead *ahead, uint32_t trailer,
			mana_vec_t v, mana_vec_t p1, mana_vec_t p2,
			mana_vec_t p3)
{
	mana_rx_ahead_one(ahead, trailer);
	ahead->nb_heads = 1;
	ahead->has_parts = true;
	mana_vec_store(&ahead->heads[0], v);
	mana_vec_store(&ahead->parts[1], p1);
	mana_vec_store(&ahead->parts[2], p2);
	mana_vec_store(&ahead->parts[3], p3);
}

/*
 * One CQE with four packets, v its head. False when it has fewer, or a length
 * is out of bounds: it is ahead then, nothing else has happened.
 */
static __rte_always_inline bool
mana_rx_vec_coalesced(const struct mana_rxq *rxq, mana_vec_t queue_rearm,
		      const struct gdma_cqe *cqe, mana_vec_t v,
		      struct rte_mbuf **pkts, struct rte_mbuf *const *mbufs,
		      mana_vec_t *bytes, uint32_t *tag, uint32_t trailer,
		      struct mana_rx_ahead *ahead)
{
	const mana_vec_t mid = MANA_RX_VEC(mid);
	const uint32_t flags = mana_vec_get32(v, 1);
	const struct mana_rx_hash *hash = &mana_rx_hash[MANA_RX_HASH_TYPE(flags)];
	const mana_vec_t b = mana_vec_load(&cqe->rx.ppi[1]);
	const mana_vec_t c = mana_vec_load(&cqe->rx.ppi[2].reserved);
	const mana_vec_t d = mana_vec_set32(c, cqe->rx.ppi[3].hash, 0);
	mana_vec_t p[MANA_RX_VEC_N], rearm[MANA_RX_VEC_N];
	mana_vec_t len, check, shared;
	uint32_t i;

	rte_compiler_barrier();
	p[0] = mana_vec_shuffle(v, MANA_RX_VEC(first));
	p[1] = mana_vec_shuffle(b, mid);
	p[2] = mana_vec_shuffle(mana_vec_join(b, c, 12), mid);
	p[3] = mana_vec_shuffle(d, MANA_RX_VEC(last));
	len = mana_vec_zip_hi64(mana_vec_zip_lo32(p[0], p[1]),
				mana_vec_zip_lo32(p[2], p[3]));
	check = mana_vec_add16(len, mana_vec_dup32(UINT16_MAX));
	check = mana_vec_subs16(check, mana_vec_load_16(rxq->vec_bound));
	if (unlikely(!mana_vec_is_zero(check))) {
		mana_rx_vec_leave_parts(ahead, trailer, v, p[1], p[2], p[3]);
		return false;
	}
	*bytes = mana_vec_add32(*bytes, len);
	*tag |= flags;
	shared = mana_vec_set32(mana_vec_shuffle(v, MANA_RX_VEC(tci)),
				hash->ptype, 0);
	rearm[0] = mana_vec_set32(queue_rearm,
				  hash->ol_flags | mana_rx_csum_told(rxq, flags),
				  2);
	for (i = 0; i < MANA_RX_VEC_N; i++) {
		p[i] = mana_vec_or(p[i], shared);
		rearm[i] = rearm[0];
	}
	mana_rx_vec_deliver(pkts, mbufs, rearm, p);
	return true;
}

/* The packets of a kernel that came with a tag: the flag is in vlan_tci. */
static __rte_noinline __rte_cold uint64_t
mana_rx_vec_tagged(const struct mana_rxq *rxq, struct rte_mbuf **pkts,
		   uint32_t nb)
{
	uint64_t more = 0;
	uint32_t i;

	for (i = 0; i < nb; i++) {
		struct rte_mbuf *m = pkts[i];
		uint32_t len = m->pkt_len;

		if ((m->vlan_tci & RTE_BIT32(MANA_RX_CQE_VLAN_S)) == 0)
			continue;
		mana_rx_vlan(rxq, m, m->vlan_tci & MANA_RX_CQE_VLAN_ID_M);
		more += m->pkt_len - len;
	}
	return more;
}

/* One head is loaded, and left to the steps. */
static __rte_always_inline void
mana_rx_vec_leave_one(struct mana_rx_ahead *ahead, uint32_t trailer,
		      mana_vec_t v)
{
	mana_rx_ahead_one(ahead, trailer);
	ahead->nb_heads = 1;
	mana_vec_store(&ahead->heads[0], v);
}

/* The same of four. */
static __rte_always_inline void
mana_rx_vec_leave_four(struct mana_rx_ahead *ahead, uint32_t trailer,
		       const mana_vec_t v[MANA_RX_VEC_N])
{
	mana_rx_ahead_one(ahead, trailer);
	ahead->nb = MANA_RX_VEC_N;
	ahead->nb_heads = MANA_RX_VEC_N;
	mana_vec_store(&ahead->heads[0], v[0]);
	mana_vec_store(&ahead->heads[1], v[1]);
	mana_vec_store(&ahead->heads[2], v[2]);
	mana_vec_store(&ahead->heads[3], v[3]);
	/* Those bits that matter are equal. */
	ahead->trailers[1] = trailer;
	ahead->trailers[2] = trailer;
	ahead->trailers[3] = trailer;
}

/*
 * Are the three CQEs behind this one, v its head, ours, too? If not, what was
 * loaded is ahead.
 */
static __rte_always_inline bool
mana_rx_vec_ours(mana_vec_t want, const struct gdma_cqe *cqe, uint32_t trailer,
		 mana_vec_t v, struct mana_rx_ahead *ahead)
{
	mana_vec_t trailers = mana_vec_from32(trailer);

	/* Each is used once, so that no compiler has reason to load it twice. */
	trailers = mana_vec_set32(trailers, cqe[1].trailer, 1);
	trailers = mana_vec_set32(trailers, cqe[2].trailer, 2);
	trailers = mana_vec_set32(trailers, cqe[3].trailer, 3);
	rte_io_rmb();
	if (likely(mana_vec_is_zero_in(mana_vec_xor(trailers, want),
				       MANA_RX_VEC(trailers))))
		return true;
	mana_rx_vec_leave_one(ahead, trailer, v);
	ahead->nb = MANA_RX_VEC_N;
	mana_vec_store(ahead->trailers, trailers);
	return false;
}

/*
 * See mana_rx_kernel_t. The owner bits are the same for all, since the ring
 * does not end within.
 */
static __rte_always_inline void
mana_rx_vec_kernel(struct mana_rxq *rxq, struct mana_rx_at *at,
		   struct rte_mbuf **pkts, uint32_t nb_pkts, uint32_t trailer,
		   struct mana_rx_ahead *ahead)
{
	const uint32_t want = mana_rx_trailer_wanted(&rxq->cq, at->cq);
	const struct gdma_cqe *first = mana_cq_cqe(&rxq->cq, at->cq);
	const struct gdma_cqe *cqe = first;
	struct rte_mbuf **mbufs = &rxq->mbufs[at->rq & rxq->mbuf_mask];
	struct rte_mbuf **const mbufs_first = mbufs;
	uintptr_t cqe_last, mbufs_last; /* where four more are to be had */
	const mana_vec_t rearm = mana_vec_load_16(&rxq->rearm);
	const mana_vec_t wants = mana_vec_dup32(want);
	mana_vec_t bytes = mana_vec_zero(), tags = mana_vec_zero();
	uint32_t nb_cqe, nb, tag = 0;

	nb_pkts = mana_rx_run_pkts(rxq, at->rq, nb_pkts);
	nb_cqe = mana_rx_run_cqes(&rxq->cq, at->cq);
	if (unlikely(nb_pkts < MANA_RX_VEC_N || nb_cqe < MANA_RX_VEC_N)) {
		mana_rx_ahead_one(ahead, trailer);
		return;
	}
	cqe_last = (uintptr_t)(cqe + nb_cqe - MANA_RX_VEC_N);
	mbufs_last = (uintptr_t)(mbufs + nb_pkts - MANA_RX_VEC_N);
	for (;;) {
		mana_vec_t v[MANA_RX_VEC_N];

		if (unlikely(!mana_rx_trailer_is(trailer, want))) {
			mana_rx_ahead_one(ahead, trailer);
			break;
		}
		rte_io_rmb();
		v[0] = mana_rx_vec_head(cqe);
		if (!mana_vec_is_zero_in(v[0], MANA_RX_VEC(coalesced))) {
			if (unlikely((mana_vec_get32(v[0], 0) &
				      MANA_CQE_TYPE_M) !=
				     MANA_CQE_RX_COALESCED_4)) {
				mana_rx_vec_leave_one(ahead, trailer, v[0]);
				break;
			}
			if (!mana_rx_vec_coalesced(rxq, rearm, cqe, v[0], pkts,
						   mbufs, &bytes, &tag,
						   trailer, ahead))
				break;
			cqe++;
		} else {
			if (!mana_rx_vec_ours(wants, cqe, trailer, v[0], ahead))
				break;
			v[1] = mana_rx_vec_head(&cqe[1]);
			v[2] = mana_rx_vec_head(&cqe[2]);
			v[3] = mana_rx_vec_head(&cqe[3]);
			rte_compiler_barrier();
			if (!mana_rx_vec_okay(rxq, rearm, v, pkts, mbufs,
					      &bytes, &tags)) {
				mana_rx_vec_leave_four(ahead, trailer, v);
				break;
			}
			cqe += MANA_RX_VEC_N;
		}
		pkts += MANA_RX_VEC_N;
		mbufs += MANA_RX_VEC_N;
		if ((uintptr_t)cqe > cqe_last ||
		    (uintptr_t)mbufs > mbufs_last) {
			ahead->nb = 0;
			break;
		}
		trailer = mana_cqe_load(&cqe->trailer);
	}
	nb = mbufs - mbufs_first;
	if (nb == 0)
		return;
	if (cqe - first != nb)
		rxq->ppi_shift = MANA_RX_CQE_PPI_SHIFT;
	at->cq += cqe - first;
	at->rq += nb;
	at->nb += nb;
	/* UINT16_MAX packets of UINT16_MAX bytes at most. */
	at->bytes += mana_vec_sum32(bytes);
	if (unlikely((tag & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     !mana_vec_is_zero_in(tags, MANA_RX_VEC(tag))))
		at->bytes += mana_rx_vec_tagged(rxq, pkts - nb, nb);
}

#endif /* MANA_RX_VEC_H */
