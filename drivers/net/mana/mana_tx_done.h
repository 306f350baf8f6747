/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions, as a burst meets them. The rest is in mana_tx_done.c.
 *
 * When what has completed is freed:
 * - all of it by a burst of no packets, by one that does not fit otherwise, and
 *   by mana_txq_done_cleanup();
 * - all of it by any burst when the newest packet before it has completed, so a
 *   queue that falls idle holds nothing behind the next poll;
 * - all of it by each burst while it is unsure which CQE is the newest one's;
 * - else by a burst, 32 packets after the last time at the latest, or one burst
 *   if it is larger.
 * An error, or an overrun, is noticed then, too.
 */

#ifndef MANA_TX_DONE_H
#define MANA_TX_DONE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rxtx.h"

/*
 * A trailer that was loaded ahead. No word of a CQE is loaded again once it is
 * there: this one is used when it is that CQE's turn.
 */
struct mana_tx_seen {
	uint32_t idx; /* of its CQE; before cq.ci: there is none */
	uint32_t trailer;
};

static inline struct mana_tx_seen
mana_tx_seen_none(const struct mana_txq *txq)
{
	return (struct mana_tx_seen){ .idx = txq->cq.ci - 1 };
}

/* What is read of a CQE, each word once. */
struct mana_tx_cqe {
	uint32_t type;
	uint32_t position; /* of its WQE in BU, if the device tells */
};

static inline struct mana_tx_cqe
mana_tx_cqe_read(const struct gdma_cqe *cqe)
{
	return (struct mana_tx_cqe){
		.type = mana_cqe_load(&cqe->tx.header) & MANA_CQE_TYPE_M,
		.position = mana_cqe_load(&cqe->tx.offsets) >>
			    MANA_TX_CQE_WQE_OFFSET_S,
	};
}

/* A good CQE of the oldest group, with nothing to wonder about. */
static inline bool
mana_tx_cqe_is_expected(const struct mana_txq *txq, struct mana_tx_cqe cqe,
			const struct mana_tx_group *group)
{
	return cqe.type == MANA_CQE_TX_OKAY &&
	       ((cqe.position ^ group->bu_at) & txq->trust_mask) ==
	       txq->trust_want;
}

/* A place in the queue. */
struct mana_tx_place {
	uint32_t wqe;
	uint32_t bu;
};

/**
 * Move a place to behind what a CQE completes.
 *
 * @param group
 *   The oldest one that is not wholly done, and in it
 * @param[in,out] place
 *   the oldest such WQE.
 * @return
 *   Whether the place is sure. Else only the oldest WQE is done for sure:
 *   that is where it is.
 */
bool mana_tx_cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe,
			const struct mana_tx_group *group,
			struct mana_tx_place *place);

/* A queue that starts knows nothing of its device. */
void mana_tx_trust_reset(struct mana_txq *txq);
void mana_txq_die(struct mana_txq *txq, enum mana_queue_fate fate);

/* Free the mbufs up to an index of their ring; mp as in struct mana_tx_group. */
void mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp,
		     uint32_t end);

/*
 * The next entry of the CQ is not empty, and not a good CQE of the oldest
 * group or not of a group of this size. True when another look may help.
 *
 * @param trailer
 *   Its trailer. When that is ours,
 * @param cqe
 *   the rest of it.
 */
bool mana_tx_reap_odd(struct mana_txq *txq, uint32_t trailer,
		      struct mana_tx_cqe cqe);

/* The same; here when they are a pool's, and do not wrap. */
static __rte_always_inline void
mana_tx_put_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end)
{
	uint32_t nb = end - txq->mbuf_ci;
	uint32_t at = txq->mbuf_ci & txq->mbuf_mask;

	if (unlikely(mp == NULL || nb > txq->mbuf_mask + 1 - at)) {
		mana_tx_free_to(txq, mp, end);
		return;
	}
	txq->mbuf_ci = end;
	rte_mempool_put_bulk(mp, (void **)&txq->mbufs[at], nb);
}

/*
 * Take good CQEs as they are expected, each for a group, and free what they
 * release. False when the next one is to be looked at closer, and what it
 * has is in *trailer and *cqe.
 *
 * @param max
 *   WQEs to release at most, in whole groups.
 */
static __rte_always_inline bool
mana_tx_reap_good(struct mana_txq *txq, const uint32_t max,
		  const struct mana_tx_seen seen, uint32_t *trailer,
		  struct mana_tx_cqe *cqe)
{
	/* Copies: each load of a CQE has the compiler forget what is in memory. */
	const struct mana_cq cq = txq->cq;
	const uint32_t first = txq->group_ci;
	const uint32_t left = txq->group_pi - first;
	uint32_t nb = 0;
	const struct mana_tx_group *group, *last = NULL;
	bool is_good = true;

	for (;; nb++) {
		uint32_t idx = cq.ci + nb;
		const struct gdma_cqe *entry = mana_cq_cqe(&cq, idx);

		*trailer = likely(idx != seen.idx) ?
				   mana_cqe_load(&entry->trailer) :
				   seen.trailer;
		if (!mana_cq_is_ours(&cq, idx, *trailer)) {
			is_good = mana_cq_is_empty(&cq, idx, *trailer);
			break;
		}
		*cqe = mana_tx_cqe_read(entry);
		group = &txq->groups[(first + nb) & txq->mask];
		if (unlikely(nb == left ||
			     !mana_tx_cqe_is_expected(txq, *cqe, group) ||
			     (max != UINT32_MAX &&
			      group->wqe_end - txq->ci > max))) {
			is_good = false;
			break;
		}
		/* Of several pools: one after the other. */
		if (unlikely(last != NULL && last->mp != group->mp))
			mana_tx_free_to(txq, last->mp, last->mbuf_end);
		last = group;
	}
	if (likely(last != NULL)) {
		txq->ci = last->wqe_end;
		txq->sq.ci = last->bu_end;
		txq->group_ci = first + nb;
		txq->cq.ci += nb;
		mana_tx_put_to(txq, last->mp, last->mbuf_end);
		if (mana_cq_update(&txq->cq))
			txq->stats.cq_doorbells++;
	}
	return is_good;
}

/*
 * Whether the CQE is there that the newest group is to have: then all before
 * are. This look decides only that all are due; it is kept for when they have
 * come to this one. With CQEs before it that came unasked it is at an older one,
 * and true too early.
 *
 * There is a group: where there is none, no packets may go without a look.
 */
static inline bool
mana_tx_newest_is_done(const struct mana_txq *txq, struct mana_tx_seen *seen)
{
	uint32_t idx = txq->cq.ci + (txq->group_pi - txq->group_ci) - 1;

	seen->idx = idx;
	seen->trailer = mana_cq_trailer(&txq->cq, idx);
	return !mana_cq_is_empty(&txq->cq, idx, seen->trailer);
}

/* Look at completions and free all that they release. */
void mana_tx_reap(struct mana_txq *txq, struct mana_tx_seen seen);

/* The same, inlined as far as they are good. */
static __rte_always_inline void
mana_tx_reap_inline(struct mana_txq *txq, const struct mana_tx_seen seen)
{
	struct mana_tx_cqe cqe;
	uint32_t trailer;

	if (unlikely(!mana_tx_reap_good(txq, UINT32_MAX, seen, &trailer,
					&cqe)) &&
	    mana_tx_reap_odd(txq, trailer, cqe))
		mana_tx_reap(txq, seen);
}

#endif /* MANA_TX_DONE_H */
