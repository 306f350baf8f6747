/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the Tx datapath share. */

#ifndef MANA_TX_H
#define MANA_TX_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "mana_rxtx.h"
#include "mana_vec.h"

/* ---- Mbufs ---------------------------------------------------------------- */

/*
 * Whether the driver may write to the first segment. ethdev forbids it if there is
 * another reference. An external buffer may be read-only memory, unless it is the
 * pool's own; a clone of such an mbuf counts only in the buffer
 * (rte_pktmbuf_attach()).
 */
static inline bool
mana_tx_hdr_is_private(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 &&
	       (likely(RTE_MBUF_DIRECT(m)) ||
		(RTE_MBUF_HAS_PINNED_EXTBUF(m) &&
		 rte_mbuf_ext_refcnt_read(m->shinfo) == 1));
}

/*
 * A direct mbuf of one segment and one reference returns to its pool without being
 * read: no other owner can get a reference before its completion.
 *
 * refcnt and nb_segs are the halves of one word.
 */
#define MANA_TX_ONE_REF_ONE_SEG UINT32_C(0x00010001)
static_assert(offsetof(struct rte_mbuf, nb_segs) ==
	      offsetof(struct rte_mbuf, refcnt) + sizeof(uint16_t), "rte_mbuf");

static inline uint32_t
mana_tx_ref_and_segs(const struct rte_mbuf *m)
{
	uint32_t word;

	memcpy(&word, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)),
	       sizeof(word));
	return word;
}

static inline void
mana_tx_ref_and_segs_set(struct rte_mbuf *m, uint32_t word)
{
	memcpy(RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)), &word,
	       sizeof(word));
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
 * The SGE of all data of an mbuf. loaded: by mana_tx_load(); key: at its place in
 * the SGE.
 */
static inline mana_vec_t
mana_tx_sge(const struct rte_mbuf *m, mana_vec_t loaded, mana_vec_t key)
{
	mana_vec_t addr = mana_vec_add64(mana_vec_load64(&m->buf_addr),
		mana_vec_and(loaded, mana_vec_of64(UINT16_MAX, 0)));

	return mana_vec_or(mana_vec_set16(addr, m->data_len, 6), key);
}

/* ---- WQEs ----------------------------------------------------------------- */

/*
 * Store a word of a WQE. volatile, because the compiler would combine two words in
 * a vector, which costs more.
 */
static inline void
mana_wqe_set(uint64_t *word, uint64_t value)
{
	*(volatile uint64_t *)word = rte_cpu_to_le_64(value);
}

/* Half a word of a WQE. */
typedef uint32_t mana_u32 __attribute__((may_alias));

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
	return (txq->oob & ~txq->long_drop) | txq->no_cqe |
	       UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S;
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
	mana_wq_bu(&txq->sq, last_bu)[1] &=
		~rte_cpu_to_le_64(UINT64_C(1) << MANA_TX_OOB_NO_CQE_S);
	group->mp = mp;
	group->wqe_end = txq->pi;
	group->mbuf_end = txq->mbuf_pi;
	group->bu_end = txq->sq.pi;
	group->bu_at = last_bu;
}

/* Close the group that is being filled, if it is not empty. */
static inline void
mana_tx_group_close(struct mana_txq *txq)
{
	if ((uint32_t)txq->pi == txq->open_pi)
		return;
	mana_tx_group_add(txq, txq->open_mp, txq->last_bu);
	txq->open_pi = txq->pi;
	txq->open_bu = txq->sq.pi;
}

/* WQEs, of one BU each, that still fit in the group that is being filled. */
static inline uint32_t
mana_tx_group_room(const struct mana_txq *txq)
{
	return RTE_MIN(txq->group_wqes - ((uint32_t)txq->pi - txq->open_pi),
		       txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/*
 * Post WQEs: add them to the group that is being filled. They are written from
 * sq.pi on, with txq->no_cqe in their OOB; mbufs and info are in their rings.
 *
 * @param last_bu
 *   BUs of the last one.
 * @param mp
 *   The pool of all these mbufs, which are direct and have one reference; NULL:
 *   check each mbuf when it is freed.
 */
static inline void
mana_tx_post(struct mana_txq *txq, uint32_t nb_wqes, uint32_t nb_bu,
	     uint32_t last_bu, uint32_t nb_mbufs, struct rte_mempool *mp)
{
	if ((uint32_t)txq->pi == txq->open_pi)
		txq->open_mp = mp;
	else if (txq->open_mp != mp)
		txq->open_mp = NULL;
	txq->pi += nb_wqes;
	txq->sq.pi += nb_bu;
	txq->mbuf_pi += nb_mbufs;
	txq->last_bu = txq->sq.pi - last_bu;
	if ((uint32_t)txq->pi - txq->open_pi >= txq->group_wqes ||
	    txq->sq.pi - txq->open_bu >= txq->group_bu)
		mana_tx_group_close(txq);
}

/* ---- Pools ---------------------------------------------------------------- */

/**
 * Make this pool the one of the fast lane: txq->mp, txq->lkey.
 *
 * @return
 *   False if the pool is not in one memory region, or too many pools alternate.
 */
bool mana_tx_pool_use(struct mana_txq *txq, struct rte_mempool *mp);
/* Forget all keys, because a region was deregistered. */
void mana_tx_pools_forget(struct mana_txq *txq);

/* ---- The slow lane -------------------------------------------------------- */

/**
 * Post one packet of any kind.
 *
 * @return
 *   Bytes posted. 0: the packet cannot be sent; it was freed and counted. -EAGAIN:
 *   there is no room in the ring; nothing has changed, and the packet is still the
 *   caller's.
 */
int mana_tx_slow(struct mana_txq *txq, struct rte_mbuf *m);

/*
 * ---- Completions -------------------------------------------------------------
 *
 * The part that bursts inline. The rest is in mana_tx_done.c.
 *
 * A burst frees completed packets:
 * - all of them, if it is a burst of no packets or would not fit otherwise, and
 *   in mana_txq_done_cleanup();
 * - all of them, if the newest packet before the burst has completed: an idle
 *   queue holds no packet beyond the next poll;
 * - all of them, after a CQE with an unexpected offset;
 * - else at the latest 32 packets after the last time, or one burst if it is
 *   larger.
 * The driver notices errors and overruns at the same moments.
 */

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
		.position = mana_cqe_load(&cqe->tx.offsets) >>
			    MANA_TX_CQE_WQE_OFFSET_S,
	};
}

/* A place in the queue: the indices of a WQE, of its mbufs and its group. */
struct mana_tx_place {
	uint32_t wqe;
	uint32_t mbuf;
	uint32_t bu;
	uint32_t group;
};

/* Of the oldest WQE. */
static inline struct mana_tx_place
mana_tx_place_of(const struct mana_txq *txq)
{
	return (struct mana_tx_place){
		txq->ci, txq->mbuf_ci, txq->sq.ci, txq->group_ci
	};
}

/**
 * Move a place behind the last WQE that a CQE completes; if that WQE was
 * released before, do not move it. The queue has a group.
 *
 * @param[in,out] place
 *   The oldest WQE that is not done.
 * @return
 *   Whether the CQE names a WQE whose CQE may come now.
 */
bool mana_tx_cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe,
			struct mana_tx_place *place);

/* The start of a queue: nothing is known of the offsets in CQEs. */
void mana_tx_offset_check_reset(struct mana_txq *txq, bool no_suppress);

/* Free the mbufs up to an index of their ring; mp as in struct mana_tx_group. */
void mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp,
		     uint32_t end);

/* The same, inlined for mbufs of one pool that do not wrap. */
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
			     ((cqe.position ^ group->bu_at) &
			      txq->sq.mask_bu) != 0 ||
			     (max != UINT32_MAX &&
			      group->wqe_end - txq->ci > max))) {
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
 * Whether the CQE of the newest group has been written; then all before it have
 * been, too. This only decides that it is time to reap. If WQEs without request
 * have CQEs, it looks at an older CQE, and may be true too early.
 *
 * There is a group: otherwise each burst reaps.
 */
static inline bool
mana_tx_newest_is_done(const struct mana_txq *txq)
{
	uint32_t nb_due = txq->no_cqe != 0 ? txq->group_pi - txq->group_ci :
					     mana_txq_nb_posted(txq);
	uint32_t idx = txq->cq.ci + nb_due - 1;

	return !mana_cq_is_empty(&txq->cq, idx, mana_cq_trailer(&txq->cq, idx));
}

/**
 * Read CQEs, and free the packets that they release.
 *
 * @param max
 *   Packets to free at most.
 * @return
 *   Packets freed.
 */
uint32_t mana_tx_reap(struct mana_txq *txq, uint32_t max);

/* Free all, inlined for CQEs in the expected order. */
static inline void
mana_tx_reap_inline(struct mana_txq *txq)
{
	if (unlikely(txq->reap != MANA_TX_REAP_GROUPS ||
		     !mana_tx_reap_groups(txq, UINT32_MAX)))
		mana_tx_reap(txq, UINT32_MAX);
}

#endif /* MANA_TX_H */
