/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the Tx datapath share. */

#ifndef MANA_TX_H
#define MANA_TX_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "mana_txq.h"
#include "mana_vec.h"

/* ---- Mbufs ---------------------------------------------------------------- */

/*
 * Whether the driver may write to the first segment. ethdev forbids it if there is another
 * reference. An external buffer may be read-only memory, unless it is the pool's own; a clone
 * of such an mbuf counts only in the buffer (rte_pktmbuf_attach()).
 */
static inline bool
mana_tx_hdr_is_private(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 &&
	       (likely(RTE_MBUF_DIRECT(m)) ||
		(RTE_MBUF_HAS_PINNED_EXTBUF(m) && rte_mbuf_ext_refcnt_read(m->shinfo) == 1));
}

/* Two fields of an mbuf, or half a word of a WQE. */
typedef uint32_t mana_u32 __attribute__((may_alias, aligned(2)));

/*
 * A direct mbuf of one segment and one reference returns to its pool without being read: no
 * other owner can get a reference before its completion. refcnt and nb_segs share a word.
 */
#define MANA_TX_ONE_REF_ONE_SEG UINT32_C(0x00010001)
static_assert(offsetof(struct rte_mbuf, nb_segs) ==
	      offsetof(struct rte_mbuf, refcnt) + sizeof(uint16_t), "rte_mbuf");

static inline mana_u32 *
mana_tx_ref_and_segs(const struct rte_mbuf *m)
{
	return RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt));
}

/* The 16 bytes from data_off on: data_off, refcnt, nb_segs, port, ol_flags. */
static inline mana_vec_t
mana_tx_load(const struct rte_mbuf *m)
{
	return mana_vec_load(RTE_PTR_ADD(m, offsetof(struct rte_mbuf, data_off)));
}
static_assert(offsetof(struct rte_mbuf, refcnt) ==
	      offsetof(struct rte_mbuf, data_off) + 2 &&
	      offsetof(struct rte_mbuf, ol_flags) ==
	      offsetof(struct rte_mbuf, data_off) + 8, "rte_mbuf");

/*
 * Shortest valid frame. The driver does not pad it, like all drivers (Linux posts
 * skb->len as it is). ASSUMED: runts
 */
#define MANA_TX_MIN_BYTES RTE_ETHER_HDR_LEN

/* ---- Flags ---------------------------------------------------------------- */

/* Checksums that the device computes. */
#define MANA_TX_OL_CSUM (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
/* A tunnel packet: all other lengths and flags describe the inner headers. */
#define MANA_TX_OL_TUNNEL \
	(RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 | RTE_MBUF_F_TX_TUNNEL_MASK)
/* Flags that describe a packet and request nothing by themselves. */
#define MANA_TX_OL_INFO (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | MANA_TX_OL_TUNNEL)
/* All requests, and those that are refused. */
#define MANA_TX_OL_REQUEST (RTE_MBUF_F_TX_OFFLOAD_MASK & ~MANA_TX_OL_INFO)
#define MANA_TX_OL_REFUSED \
	(MANA_TX_OL_REQUEST & ~(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_VLAN))

/* The data is not in the mbuf's own buffer. */
#define MANA_TX_OL_NOT_DIRECT (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
/* A packet without any of these needs no more than its data sent. */
#define MANA_TX_OL_SPECIAL (MANA_TX_OL_REQUEST | MANA_TX_OL_NOT_DIRECT)

/* All Tx flags are in the upper half of ol_flags. */
#define MANA_TX_OL_HALF(flags) ((uint32_t)((flags) >> 32))
static_assert(((MANA_TX_OL_SPECIAL | MANA_TX_OL_INFO) & UINT32_MAX) == 0, "upper half");

static inline uint32_t
mana_tx_flags(const struct rte_mbuf *m)
{
	return MANA_TX_OL_HALF(m->ol_flags);
}

/*
 * ---- Addresses ----------------------------------------------------------------
 *
 * Whether packets are in a memory region costs little if it is found out for several at
 * once. The place of an mbuf's data is its SGE without a key, less an origin: the address
 * less that of the region, and the size less the smallest one that is allowed. If a half
 * of an address or a size is negative, its place has the upper bit set. So the largest of
 * each 32 bits of all places tells whether all are right. (Of a region of 4 GiB and more it
 * may say that they are not.)
 */

static inline struct mana_tx_origin
mana_tx_origin(const struct mana_mr_range *region, uint32_t min_bytes)
{
	return (struct mana_tx_origin){
		.from_sge = mana_vec_of64(0 - region->base, (0 - (uint64_t)min_bytes) << 32),
		.to_sge = mana_vec_of64(region->base,
					(uint64_t)min_bytes << 32 | region->lkey),
		.bytes = mana_vec_of64(region->end - region->base - min_bytes, INT64_MAX),
	};
}

/* The region that the fast lane tries first. */
static inline void
mana_tx_region_set(struct mana_txq *txq, struct mana_mr_range region)
{
	txq->region = region;
	txq->origin = mana_tx_origin(&region, MANA_TX_MIN_BYTES);
}

/* loaded: by mana_tx_load(). */
static inline mana_vec_t
mana_tx_place(const struct rte_mbuf *m, mana_vec_t loaded, const struct mana_tx_origin *origin)
{
	mana_vec_t sge = mana_vec_add64(mana_vec_of64((uintptr_t)m->buf_addr, 0),
		mana_vec_and(loaded, mana_vec_of64(UINT16_MAX, 0)));

	return mana_vec_add64(mana_vec_set16(sge, m->data_len, 6), origin->from_sge);
}

/* most: the largest of each 32 bits of the places. Returns 0 if all are right. */
static inline mana_vec_t
mana_tx_places_wrong(mana_vec_t most, const struct mana_tx_origin *origin)
{
	mana_vec_t left = mana_vec_sub64(mana_vec_sub64(origin->bytes, most),
					 mana_vec_last32(most));

	return mana_vec_and(mana_vec_or(left, most), mana_vec_of64(INT64_MIN, INT64_MIN));
}

/* ---- WQEs ----------------------------------------------------------------- */

/*
 * A posted WQE: its size, and the number of mbuf ring entries that are freed with
 * it. The driver reads this to find the WQE of an error completion.
 */
#define MANA_TX_INFO_BU_M 0x1fu
#define MANA_TX_INFO_MBUFS_S 5
#define MANA_TX_INFO(nb_bu, nb_mbufs) ((uint16_t)((nb_bu) | (nb_mbufs) << MANA_TX_INFO_MBUFS_S))

/* Store a word of a WQE. volatile: a compiler combines two in a vector, which costs more. */
static inline void
mana_wqe_set(uint64_t *word, uint64_t value)
{
	*(volatile uint64_t *)word = rte_cpu_to_le_64(value);
}

/* Store an SGE. Two stores for key and size cost less than combining them. */
static inline void
mana_sge_set(uint64_t *sge, uint64_t addr, uint32_t key, uint32_t size_bytes)
{
	volatile mana_u32 *halves = (volatile mana_u32 *)&sge[1];

	mana_wqe_set(sge, addr);
	halves[0] = rte_cpu_to_le_32(key);
	halves[1] = rte_cpu_to_le_32(size_bytes);
}

/* The first word of the long OOB without a packet's requests. */
static inline uint64_t
mana_tx_long_oob(const struct mana_txq *txq)
{
	return (txq->oob & ~txq->long_drop) | txq->no_cqe | UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S;
}

/* The second word of the long OOB. */
static inline uint64_t
mana_tx_loob(const struct mana_txq *txq, const struct rte_mbuf *m)
{
	if ((m->ol_flags & RTE_MBUF_F_TX_VLAN) == 0)
		return txq->loob;
	return txq->loob | MANA_TX_LOOB_VLAN(m->vlan_tci);
}

/* ---- Groups --------------------------------------------------------------- */

static inline struct mana_tx_group *
mana_tx_group_at(const struct mana_txq *txq, uint32_t idx)
{
	return &txq->groups[idx & txq->mask];
}

/* Append a group that ends at the queue's indices; its last WQE requests a CQE. */
static inline void
mana_tx_group_add(struct mana_txq *txq, struct rte_mempool *mp, uint32_t last_bu)
{
	struct mana_tx_group *group = mana_tx_group_at(txq, txq->group_pi++);

	/* The device does not have the WQE yet. */
	mana_wq_bu(&txq->sq, last_bu)[1] &= ~rte_cpu_to_le_64(UINT64_C(1) << MANA_TX_OOB_NO_CQE_S);
	group->mp = mp;
	group->wqe_end = txq->pi;
	group->mbuf_end = txq->mbuf_pi;
	group->bu_end = txq->sq.pi;
	group->bu_at = last_bu;
}

/* Begin a group at the queue's indices. */
static inline void
mana_tx_group_open(struct mana_txq *txq)
{
	txq->open_pi = txq->pi;
	txq->open_bu = txq->sq.pi;
	txq->open_mbuf = txq->mbuf_pi;
}

/* Close the group that is being filled, if it is not empty. */
static inline void
mana_tx_group_close(struct mana_txq *txq)
{
	if ((uint32_t)txq->pi == txq->open_pi)
		return;
	mana_tx_group_add(txq, txq->open_mp, txq->last_bu);
	mana_tx_group_open(txq);
}

/* WQEs, of one BU each, that still fit in the group that is being filled. */
static inline uint32_t
mana_tx_group_space(const struct mana_txq *txq)
{
	return RTE_MIN(txq->group_wqes - ((uint32_t)txq->pi - txq->open_pi),
		       txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/* Record the pool of the mbufs from an index of their ring on. */
static inline void
mana_tx_pools_set(struct mana_txq *txq, uint32_t at, uint32_t nb, struct rte_mempool *mp)
{
	for (; nb != 0; nb--)
		txq->pools[at++ & txq->mbuf_mask] = mp;
}

/*
 * Post WQEs, the last one of last_bu BUs: add them to the group that is being filled. They
 * are written from sq.pi on, with txq->no_cqe in their OOB; mbufs and info are in their
 * rings. mp: the pool of all these mbufs, which are direct and have one reference; NULL:
 * txq->pools has that of each.
 */
static inline void
mana_tx_post(struct mana_txq *txq, uint32_t nb_wqes, uint32_t nb_bu,
	     uint32_t last_bu, uint32_t nb_mbufs, struct rte_mempool *mp)
{
	if ((uint32_t)txq->pi == txq->open_pi)
		txq->open_mp = mp;
	else if (txq->open_mp != mp && txq->open_mp != NULL) {
		mana_tx_pools_set(txq, txq->open_mbuf, txq->mbuf_pi - txq->open_mbuf, txq->open_mp);
		txq->open_mp = NULL;
	}
	if (txq->open_mp == NULL && mp != NULL)
		mana_tx_pools_set(txq, txq->mbuf_pi, nb_mbufs, mp);
	txq->pi += nb_wqes;
	txq->sq.pi += nb_bu;
	txq->mbuf_pi += nb_mbufs;
	txq->last_bu = txq->sq.pi - last_bu;
	if ((uint32_t)txq->pi - txq->open_pi >= txq->group_wqes ||
	    txq->sq.pi - txq->open_bu >= txq->group_bu)
		mana_tx_group_close(txq);
}

/* ---- Header fields ---------------------------------------------------------- */

/*
 * Sum of the addresses of an IP header, without byte swaps: a one's complement
 * sum does not depend on how the bytes are grouped.
 */
static inline uint64_t
mana_tx_addr_sum(const uint8_t *l3, bool is_ipv4)
{
	uint32_t v4[2], v6[8], i;
	uint64_t sum = 0;

	if (is_ipv4) {
		memcpy(v4, l3 + offsetof(struct rte_ipv4_hdr, src_addr), sizeof(v4));
		return (uint64_t)v4[0] + v4[1];
	}
	memcpy(v6, l3 + offsetof(struct rte_ipv6_hdr, src_addr), sizeof(v6));
	for (i = 0; i < RTE_DIM(v6); i++)
		sum += v6[i];
	return sum;
}

static inline uint8_t *
mana_tx_length_field(const uint8_t *l3, bool is_ipv4)
{
	return (uint8_t *)(uintptr_t)l3 +
	       (is_ipv4 ? offsetof(struct rte_ipv4_hdr, total_length) :
			  offsetof(struct rte_ipv6_hdr, payload_len));
}

/* Set a 16-bit field at any address. */
static inline void
mana_tx_field_set(uint8_t *field, uint16_t value)
{
	memcpy(field, &value, sizeof(value));
}

/*
 * Set the fields to the values that the device expects: 0 in the IPv4 checksum, the sum of the
 * pseudo header, folded and not complemented, in the L4 checksum (as in Linux's
 * CHECKSUM_PARTIAL). For LSO the length of IP is 0, and the pseudo header has none. The values
 * depend on the IP header only: a second call changes nothing. ASSUMED: lso-headers
 */
static __rte_always_inline void
mana_tx_headers_write(uint8_t *frame, const struct mana_tx_headers *hdrs)
{
	uint8_t *l3 = frame + hdrs->l3_off;
	uint8_t *length = mana_tx_length_field(l3, hdrs->is_ipv4);
	uint64_t sum = hdrs->sum;
	uint16_t len;

	if (hdrs->is_ip_csum)
		mana_tx_field_set(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum), 0);
	if (hdrs->sum_off == 0)
		return;
	memcpy(&len, length, sizeof(len));
	if (hdrs->is_lso)
		mana_tx_field_set(length, 0);
	else
		sum += len;
	sum += mana_tx_addr_sum(l3, hdrs->is_ipv4);
	/* Folds the sum: these 16 bits are the sum of its four quarters, carries included. */
	mana_tx_field_set(frame + hdrs->sum_off, sum * UINT64_C(0x0001000100010001) >> 48);
}

/* ---- Requests --------------------------------------------------------------- */

/* Both lengths as they are in tx_offload. */
#define MANA_TX_LENS_M \
	((uint64_t)((1u << RTE_MBUF_L2_LEN_BITS) - 1) << RTE_MBUF_L2_LEN_OFS | \
	 (uint64_t)((1u << RTE_MBUF_L3_LEN_BITS) - 1) << RTE_MBUF_L3_LEN_OFS)

/* The largest value of IP's length field, and the limit of some kernels. */
#define MANA_TX_TSO_MAX_BYTES UINT16_MAX

/* Bytes of the headers of a packet that requests segmentation. */
static inline uint32_t
mana_tx_tso_header(const struct rte_mbuf *m)
{
	return m->l2_len + m->l3_len + m->l4_len;
}

/* The flags that, with tx_offload, identify a request of the fast lane. */
#define MANA_TX_OL_KEY \
	(MANA_TX_OL_CSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_SEG)

/* The fields of tx_offload that segmentation depends on. */
#define MANA_TX_TSO_FIELDS_M \
	(MANA_TX_LENS_M | \
	 ((UINT64_C(1) << RTE_MBUF_L4_LEN_BITS) - 1) << RTE_MBUF_L4_LEN_OFS | \
	 ((UINT64_C(1) << RTE_MBUF_TSO_SEGSZ_BITS) - 1) << RTE_MBUF_TSO_SEGSZ_OFS)

static inline bool
mana_tx_known_is(const struct mana_tx_known *known, const struct rte_mbuf *m)
{
	return (mana_tx_flags(m) & MANA_TX_OL_HALF(MANA_TX_OL_KEY)) == known->flags &&
	       ((m->tx_offload ^ known->offload) & known->fields) == 0;
}

/*
 * Find or translate the request of a packet; it is the queue's last_known then.
 * NULL: the slow lane has to decide.
 */
const struct mana_tx_request *
mana_tx_request_find(struct mana_txq *txq, const struct rte_mbuf *m, uint32_t bytes);

/* mana_tx_request_find(), inline if the packet has the request of the one before. */
static inline const struct mana_tx_request *
mana_tx_request_of(struct mana_txq *txq, const struct rte_mbuf *m, uint32_t bytes)
{
	const struct mana_tx_known *known = txq->last_known;

	return likely(mana_tx_known_is(known, m)) ?
		       &known->req : mana_tx_request_find(txq, m, bytes);
}

/* ---- The slow lane -------------------------------------------------------- */

/*
 * Post one packet of any kind. Returns its bytes. 0: the packet cannot be sent; it was
 * freed and counted. -EAGAIN: there is no space in the ring, or no key yet; nothing has
 * changed, and the packet is still the caller's.
 */
int mana_tx_slow(struct mana_txq *txq, struct rte_mbuf *m);

/*
 * ---- Completions -------------------------------------------------------------
 *
 * The part that bursts inline. The rest is in mana_txq.c.
 *
 * A burst does not always look at completions: it is cheaper to take many at once, and
 * a pool takes many mbufs for little more than one. It frees all completed packets:
 * - if it is a burst of no packets or would not fit otherwise; mana_txq_done_cleanup(), too;
 * - if the newest packet before the burst has completed: an idle queue holds no packet
 *   beyond the next poll;
 * - after a CQE with an unexpected offset;
 * - at the latest 32 packets after the last time, or one burst if it is larger.
 * The driver notices errors and overruns at the same moments.
 */

/* How completions are taken. */
enum mana_tx_reap {
	MANA_TX_REAP_ONE, /* one at a time, with a check of each position */
	MANA_TX_REAP_GROUPS, /* good CQEs, one per group */
	MANA_TX_REAP_EACH, /* good CQEs, one per WQE */
};

/* What the driver reads of a CQE, each word once. */
struct mana_tx_cqe {
	uint32_t type;
	uint32_t position; /* of its WQE in BU, if the device sets it */
};

static inline uint32_t
mana_tx_cqe_type(const struct gdma_cqe *cqe)
{
	return mana_cqe_load(&cqe->tx.header) & MANA_CQE_TYPE_M;
}

static inline struct mana_tx_cqe
mana_tx_cqe_read(const struct gdma_cqe *cqe)
{
	return (struct mana_tx_cqe){
		.type = mana_tx_cqe_type(cqe),
		.position = mana_cqe_load(&cqe->tx.offsets) >> MANA_TX_CQE_WQE_OFFSET_S,
	};
}

/* Free the mbufs up to an index of their ring; mp as in struct mana_tx_group. */
void mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end);

/* Free mbufs of one pool that do not wrap, inline. */
static inline void
mana_tx_put_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end)
{
	uint32_t nb = end - txq->mbuf_ci;
	uint32_t at = txq->mbuf_ci & txq->mbuf_mask;

	if (unlikely(mp == NULL || nb > txq->mbuf_mask + 1 - at)) {
		mana_tx_free_to(txq, mp, end);
		return;
	}
	txq->mbuf_ci = end; /* first, as in mana_tx_free_to() */
	rte_compiler_barrier();
	rte_mempool_put_bulk(mp, (void **)&txq->mbufs[at], nb);
}

/* Move the CQ's index behind nb CQEs. */
static inline void
mana_tx_cq_advance(struct mana_txq *txq, uint32_t nb)
{
	txq->cq.ci += nb;
	if (mana_cq_update(&txq->cq))
		txq->stats.cq_doorbells++;
}

/*
 * MANA_TX_REAP_GROUPS: take good CQEs in the expected order, one per group, and
 * free what they release: at most max WQEs, in whole groups. False: the next CQE
 * is not one of these; nothing was done for it.
 */
static inline bool
mana_tx_reap_groups(struct mana_txq *txq, const uint32_t max)
{
	/* Copies: after each load of a CQE the compiler reloads from memory. */
	const struct mana_cq cq = txq->cq;
	const uint32_t first = txq->group_ci;
	const uint32_t left = txq->group_pi - first;
	const struct mana_tx_group *group, *last = NULL;
	bool is_good = true;
	uint32_t trailer, nb;

	for (nb = 0;; nb++) {
		const struct gdma_cqe *entry = mana_cq_cqe(&cq, cq.ci + nb);
		struct mana_tx_cqe cqe;

		trailer = mana_cqe_load(&entry->trailer);
		if (!mana_cq_is_ours(&cq, cq.ci + nb, trailer)) {
			is_good = mana_cq_is_empty(&cq, cq.ci + nb, trailer);
			break;
		}
		cqe = mana_tx_cqe_read(entry);
		group = mana_tx_group_at(txq, first + nb);
		if (unlikely(nb == left || cqe.type != MANA_CQE_TX_OKAY ||
			     ((cqe.position ^ group->bu_at) & txq->sq.mask_bu) != 0 ||
			     (max != UINT32_MAX && group->wqe_end - txq->ci > max))) {
			is_good = false;
			break;
		}
		/* Groups of one pool are freed together. */
		if (unlikely(last != NULL && last->mp != group->mp))
			mana_tx_free_to(txq, last->mp, last->mbuf_end);
		last = group;
	}
	if (likely(last != NULL)) {
		txq->ci = last->wqe_end;
		txq->sq.ci = last->bu_end;
		txq->group_ci = first + nb;
		mana_tx_put_to(txq, last->mp, last->mbuf_end);
		mana_tx_cq_advance(txq, nb);
	}
	return is_good;
}

/*
 * Whether the CQE of the newest group, which there is, has been written; then all before it
 * have been, too. This only decides that it is time to reap. If WQEs without request have
 * CQEs, it looks at an older CQE, and may be true too early.
 */
static inline bool
mana_tx_newest_is_done(const struct mana_txq *txq)
{
	uint32_t nb_due = txq->no_cqe != 0 ? txq->group_pi - txq->group_ci :
					     mana_txq_nb_posted(txq);
	uint32_t idx = txq->cq.ci + nb_due - 1;

	return !mana_cq_is_empty(&txq->cq, idx, mana_cq_trailer(&txq->cq, idx));
}

/* Free at most max mbufs of an SQ that was destroyed. Returns how many. */
uint32_t mana_tx_old_free(struct mana_txq *txq, uint32_t max);

/*
 * Read CQEs, and free the packets that they release, at most max; also those of an SQ
 * that was destroyed. Returns their number.
 */
uint32_t mana_tx_reap(struct mana_txq *txq, uint32_t max);

/* Free all, inlined for CQEs in the expected order. */
static inline void
mana_tx_reap_inline(struct mana_txq *txq)
{
	if (unlikely(txq->reap != MANA_TX_REAP_GROUPS || !mana_tx_reap_groups(txq, UINT32_MAX)))
		mana_tx_reap(txq, UINT32_MAX);
}

#endif /* MANA_TX_H */
