/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The transmit burst. What it returns is a statement of ownership: packets
 * before are ours (posted, or freed and counted), packets after are the
 * caller's. No packet is skipped without deciding which.
 *
 * A packet of one segment with the short OOB is exactly one BU: header, OOB,
 * SGE; four words, and it cannot wrap. Of such packets, when they are plain
 * and of one pool, which lies in one memory region, a run is posted at once:
 * up to where a ring ends, so that nothing has to be masked in between.
 * Plain chains, tags and the long OOB go the wide way, mana_tx_wide_run();
 * whatever else comes goes the general way, mana_tx_put_any(), in every path.
 *
 * A queue that is dead (disabled by the device, or overrun) takes nothing:
 * the burst returns 0, as ethdev's own function for stopped ports does, and
 * the packets stay with the caller. Nothing is lost silently, and what was
 * posted is freed when the queue is stopped.
 *
 * Completions are not looked at in each burst: to take many at once is cheaper,
 * and a pool takes many mbufs as cheaply as one. How many packets may go before
 * the next look is known (run_room); then, or when the newest CQE that is due
 * is there, all that have come are taken. See mana_tx_done.h.
 */

#include <rte_mbuf.h>

#include "mana_tx.h"
#include "mana_tx_done.h"

/* Two words of a WQE at once. */
typedef uint64_t mana_u64x2 __attribute__((vector_size(16), may_alias));

typedef uint16_t (*mana_tx_rest_t)(struct mana_txq *txq, struct rte_mbuf **pkts,
				   uint16_t nb_pkts, uint32_t nb_run);

/* Completions are looked at after so many packets, if not before. */
#define REAP_EVERY 32u

/* Entries before a ring ends. */
static inline uint32_t
mana_tx_run_left(const struct mana_txq *txq)
{
	return RTE_MIN(txq->sq.mask_bu + 1 - (txq->sq.pi & txq->sq.mask_bu),
		       txq->mbuf_mask + 1 - (txq->mbuf_pi & txq->mbuf_mask));
}

/* Packets of one BU for which there is room before a ring ends. */
static inline uint32_t
mana_tx_ring_room(const struct mana_txq *txq)
{
	uint32_t nb_posted = mana_txq_nb_posted(txq);
	uint32_t room;

	if (unlikely(nb_posted >= txq->limit))
		return 0;
	room = RTE_MIN(txq->limit - nb_posted, mana_wq_free_bu(&txq->sq));
	return RTE_MIN(room, mana_tx_run_left(txq));
}

/*
 * Whether a burst fits as one run and one group, and needs no look at
 * completions for that; not one of 0 packets.
 */
static inline bool
mana_tx_fits(const struct mana_txq *txq, size_t nb)
{
	return nb - 1 < txq->run_room && nb <= txq->run_max;
}

/* Whether completions have to be looked at, and what was seen of them for that. */
static inline bool
mana_tx_look_is_due(const struct mana_txq *txq, size_t nb,
		    struct mana_tx_seen *seen)
{
	if (likely(mana_tx_fits(txq, nb)))
		return mana_tx_newest_is_done(txq, seen);
	*seen = mana_tx_seen_none(txq);
	return true;
}

/*
 * Look at completions, then say how many packets may go before the next look.
 * Whether the burst fits now. On its own, so that bursts that do not come here
 * have fewer registers to save.
 */
static __rte_noinline bool
mana_tx_refresh(struct mana_txq *txq, size_t nb, uint32_t seen_idx,
		uint32_t seen_trailer)
{
	mana_tx_reap_inline(txq, (struct mana_tx_seen){ seen_idx,
							 seen_trailer });
	txq->look_pi = txq->pi;
	txq->run_room = RTE_MIN(mana_tx_ring_room(txq),
				RTE_MAX(nb, REAP_EVERY));
	return mana_tx_fits(txq, nb);
}

/*
 * Write packets as long as they are of the simple kind: WQEs from sq.pi and
 * mbuf entries from mbuf_pi on.
 *
 * @param nb
 *   At most, no more than there is room for; not 0.
 * @return
 *   Packets that are ready to be posted.
 */
static __rte_always_inline uint32_t
mana_tx_run(struct mana_txq *txq, struct rte_mbuf **pkts, size_t nb,
	    const uint32_t f)
{
	uint64_t *wqe = mana_wq_bu(&txq->sq, txq->sq.pi);
	struct rte_mbuf **mbufs = &txq->mbufs[txq->mbuf_pi & txq->mbuf_mask];
	const struct rte_mempool *mp = txq->mp;
	const uint32_t lkey = txq->lkey;
	const uint64_t queue_oob = txq->oob | txq->no_cqe;
	const mana_u64x2 head = {
		rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4)),
		rte_cpu_to_le_64(queue_oob),
	};
	uint64_t bytes = 0;
	size_t n = 0;

	do {
		struct rte_mbuf *m = pkts[n];
		uint64_t oob = queue_oob;
		uint64_t len = m->data_len;

		if (unlikely(!mana_tx_is_alone(m) || m->pool != mp ||
			     len < MANA_TX_MIN_BYTES))
			break;
		if (f & MANA_TX_F_CSUM ?
		    unlikely(!mana_tx_csum_run(m, &oob)) :
		    unlikely((mana_tx_flags(m) &
			      MANA_TX_OL_HALF(MANA_TX_OL_ODD)) != 0))
			break;
		*(mana_u64x2 *)wqe = head;
		if (f & MANA_TX_F_CSUM)
			wqe[1] = rte_cpu_to_le_64(oob);
		mana_sge_set(&wqe[2], rte_pktmbuf_mtod(m, uintptr_t), lkey,
			     len);
		mbufs[n] = m;
		bytes += len;
		wqe += GDMA_BU_WORDS;
	} while (++n < nb);
	txq->bytes += bytes;
	return n;
}

/* Post a run that is the whole burst, and a group of its own. */
static inline void
mana_tx_run_post_all(struct mana_txq *txq, size_t nb)
{
	struct mana_tx_group *group =
		&txq->groups[txq->group_pi++ & txq->mask];
	uint32_t bu_end = txq->sq.pi + nb;

	txq->pi += nb;
	txq->sq.pi = bu_end;
	txq->mbuf_pi += nb;
	mana_tx_want_cqe(txq, bu_end - 1);
	group->mp = txq->mp;
	group->wqe_end = txq->pi;
	group->mbuf_end = txq->mbuf_pi;
	group->bu_end = bu_end;
	group->bu_at = bu_end - 1;
	txq->run_room -= nb;
}

/* Post a run among others. */
static inline void
mana_tx_run_post(struct mana_txq *txq, uint32_t nb)
{
	for (; nb > 0; nb--)
		mana_tx_post(txq, 1, 1, txq->mp);
}

/* What of a run fits the group that is being filled. */
static inline uint32_t
mana_tx_group_room(const struct mana_txq *txq)
{
	if (txq->is_long)
		return 0;
	if (txq->no_cqe == 0)
		return UINT32_MAX;
	return RTE_MIN(txq->group_wqes - ((uint32_t)txq->pi - txq->open_pi),
		       txq->group_bu - (txq->sq.pi - txq->open_bu));
}

/*
 * Packets of which the first one is not of the simple kind, or of another
 * pool: some of them are done with, or may be simple now.
 *
 * @return
 *   Packets posted or dropped; -EAGAIN: there is no room.
 */
static __rte_noinline int
mana_tx_put_odd(struct mana_txq *txq, struct rte_mbuf **pkts, uint32_t nb)
{
	uint32_t n;
	int ret;

	if (mana_txq_nb_posted(txq) >= txq->limit)
		return -EAGAIN;
	if (pkts[0]->pool != txq->mp && mana_tx_pool_use(txq, pkts[0]->pool))
		return 0;
	n = mana_tx_wide_run(txq, pkts, nb);
	if (n != 0)
		return n;
	ret = mana_tx_put_any(txq, pkts[0]);
	if (ret < 0)
		return ret;
	txq->bytes += ret;
	return 1;
}

/* There was no room, and completions have not been looked at in this burst. */
static __rte_noinline void
mana_tx_rest_reap(struct mana_txq *txq)
{
	/* What follows may be trusted otherwise. */
	if ((uint32_t)txq->pi != txq->open_pi)
		mana_tx_group_close(txq);
	mana_tx_reap(txq, mana_tx_seen_none(txq));
}

/* The burst, when it is not one run: nb_run packets of it are written. */
static __rte_always_inline uint16_t
mana_tx_rest_tmpl(struct mana_txq *txq, struct rte_mbuf **pkts,
		  uint16_t nb_pkts, uint32_t nb_run, const uint32_t f)
{
	const uint64_t start = txq->pi;
	/* In this burst: once is enough. */
	bool is_reaped = txq->look_pi == (uint32_t)start;
	uint32_t i = nb_run;

	txq->run_room = 0;
	txq->open_pi = txq->pi;
	txq->open_bu = txq->sq.pi;
	mana_tx_run_post(txq, nb_run);
	while (i < nb_pkts) {
		uint32_t room = RTE_MIN(mana_tx_ring_room(txq),
					mana_tx_group_room(txq));
		uint32_t n;
		int ret;

		room = RTE_MIN(room, nb_pkts - i);
		if (room != 0) {
			n = mana_tx_run(txq, pkts + i, room, f);
			mana_tx_run_post(txq, n);
			i += n;
			if (n == room)
				continue;
		}
		ret = mana_tx_put_odd(txq, pkts + i, nb_pkts - i);
		if (ret < 0 && is_reaped)
			break;
		if (ret < 0) {
			mana_tx_rest_reap(txq);
			is_reaped = true;
			continue;
		}
		i += ret;
	}
	if (txq->pi == start)
		return i;
	if ((uint32_t)txq->pi != txq->open_pi)
		mana_tx_group_close(txq);
	mana_wq_ring(&txq->sq);
	txq->sq_doorbells++;
	return i;
}

static __rte_always_inline uint16_t
mana_tx_burst_tmpl(struct mana_txq *txq, struct rte_mbuf **pkts,
		   uint16_t nb_pkts, mana_tx_rest_t rest, const uint32_t f)
{
	const size_t nb = nb_pkts;
	struct mana_tx_seen seen;
	uint32_t n;

	if (unlikely(mana_mr_cache_is_stale(&txq->mr)))
		mana_tx_pools_forget(txq);
	if (unlikely(mana_tx_look_is_due(txq, nb, &seen)) &&
	    !mana_tx_refresh(txq, nb, seen.idx, seen.trailer))
		return rest(txq, pkts, nb_pkts, 0);
	n = mana_tx_run(txq, pkts, nb, f);
	if (unlikely(n != nb))
		return rest(txq, pkts, nb_pkts, n);
	mana_tx_run_post_all(txq, nb);
	mana_wq_ring(&txq->sq);
	txq->sq_doorbells++;
	return nb;
}

#define MANA_TX_BURST(name, flags) \
static __rte_noinline uint16_t \
mana_tx_rest_##name(struct mana_txq *txq, struct rte_mbuf **pkts, \
		    uint16_t nb_pkts, uint32_t nb_run) \
{ \
	return mana_tx_rest_tmpl(txq, pkts, nb_pkts, nb_run, flags); \
} \
static uint16_t \
mana_tx_burst_##name(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts) \
{ \
	return mana_tx_burst_tmpl(txq, pkts, nb_pkts, mana_tx_rest_##name, \
				  flags); \
}

MANA_TX_BURST(plain, 0)
MANA_TX_BURST(csum, MANA_TX_F_CSUM)

/* The cheapest first; the last one covers all. */
const struct mana_path mana_tx_paths[] = {
	{
		.name = "Scalar", .key = "scalar",
		.flags = MANA_TX_F_WIDE,
		.burst = mana_tx_burst_plain,
	}, {
		.name = "Scalar Checksum", .key = "scalar",
		.flags = MANA_TX_F_WIDE | MANA_TX_F_CSUM,
		.burst = mana_tx_burst_csum,
	},
};

const uint32_t mana_tx_nb_paths = RTE_DIM(mana_tx_paths);

const struct mana_path *
mana_tx_path_select(uint32_t flags)
{
	return mana_path_select(mana_tx_paths, mana_tx_nb_paths, flags, NULL);
}

const struct mana_path *
mana_tx_path_find(mana_burst_t burst)
{
	return mana_path_find(mana_tx_paths, mana_tx_nb_paths, burst);
}
