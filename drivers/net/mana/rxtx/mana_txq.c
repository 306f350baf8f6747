/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tx queues: completions, start and end, and the state for other threads.
 *
 * The WQE-offset check finds out whether completions name their WQE.
 *
 * Completions arrive in posting order: the n-th CQE belongs to the n-th WQE that requested
 * one (Linux mana_en.c mana_poll_tx_cq, OpenVMM net_mana), and all WQEs before it are done.
 * A WQE without request has a CQE all the same when it fails (DPDK commit 823dbf2860), and a
 * device that ignores the request to suppress (as Microsoft's emulator does: OpenVMM
 * vm/devices/net/gdma/src/bnic.rs) completes each WQE. Then only the WQE offset in the CQE,
 * tx_wqe_offset, tells which WQE has completed. No other driver uses this field, and a
 * device may leave it 0.
 *
 * Therefore a queue begins with a request in every WQE, and the n-th CQE, good or bad, is
 * that of the n-th WQE. After MANA_TX_OFFSET_NB_RIGHT correct offsets, at as many places, the
 * queue requests one CQE per group. From then on a CQE releases WQEs up to the one that it
 * names, and no further:
 *
 *   the WQE with the request, in the oldest group      that group
 *   a bad CQE: any WQE of the oldest group             up to it
 *   any other outstanding WQE                          up to it; check fails
 *   0, when that is not the oldest WQE, or no          the oldest WQE, the only one
 *   outstanding WQE                                    certainly done; check fails
 *   one of the BUs that were released last             nothing; check fails
 *
 * After the check has failed, every WQE requests a CQE until the queue is restarted. The
 * driver still uses the offsets: a later CQE that names a later WQE releases what was not
 * released in time.
 */

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx.h"

/* Good CQEs in succession with correct offsets, at distinct places but 0. */
#define MANA_TX_OFFSET_NB_RIGHT 8

/* ---- WQE-offset check ----------------------------------------------------- */

static void
offset_check_set(struct mana_txq *txq, enum mana_tx_offset_check state)
{
	bool is_right = state == MANA_TX_OFFSET_RIGHT;
	bool is_unused = state == MANA_TX_OFFSET_UNUSED;

	txq->offset_check = state;
	/*
	 * At least one WQE in a quarter of the ring requests a CQE. While offsets
	 * count and every WQE requests one, each WQE is a group.
	 */
	txq->group_wqes = is_right || is_unused ? RTE_MAX(txq->limit / 4, 1u) : 1;
	txq->group_bu = (txq->sq.mask_bu + 1) / 4;
	txq->batch_max = txq->is_long ? 0 : RTE_MIN(txq->group_wqes, txq->group_bu);
	txq->batch_space = 0;
	/* ASSUMED: suppressed */
	txq->no_cqe = (uint64_t)is_right << MANA_TX_OOB_NO_CQE_S;
	txq->reap = txq->form_tries != 0 ? MANA_TX_REAP_ONE :
		    is_right ? MANA_TX_REAP_GROUPS :
		    is_unused ? MANA_TX_REAP_EACH : MANA_TX_REAP_ONE;
}

/* Offsets are compared modulo the ring: the field may count laps or not. */
static bool
is_at(const struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	return ((position ^ bu) & txq->sq.mask_bu) == 0;
}

/* A good CQE of the WQE at bu, while every WQE requests one. ASSUMED: wqe-position */
static void
offset_check_learn(struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	uint32_t at = bu & txq->sq.mask_bu;

	if (!is_at(txq, position, bu)) {
		offset_check_set(txq, MANA_TX_OFFSET_UNUSED);
		return;
	}
	/* Each is further in the ring than the last one: all are distinct. */
	if (at <= txq->last_right)
		txq->nb_right = 0;
	txq->last_right = at;
	if (at != 0 && ++txq->nb_right == MANA_TX_OFFSET_NB_RIGHT)
		offset_check_set(txq, MANA_TX_OFFSET_RIGHT);
}

/* ---- Places ----------------------------------------------------------------- */

/* A place in the queue: the indices of a WQE, of its mbufs and its group. */
struct place {
	uint32_t wqe;
	uint32_t mbuf;
	uint32_t bu;
	uint32_t group;
};

/* The place of the oldest WQE. */
static inline struct place
place_of(const struct mana_txq *txq)
{
	return (struct place){
		txq->ci, txq->mbuf_ci, txq->sq.ci, txq->group_ci
	};
}

/* Move a place behind the WQE there. */
static void
place_next(const struct mana_txq *txq, struct place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);
	uint32_t info = txq->info[place->wqe & txq->mask];

	/* A burst that is one batch writes no info: all its WQEs are one BU. */
	if (group->bu_end - place->bu == group->wqe_end - place->wqe)
		info = MANA_TX_INFO(1, 1);
	place->bu += info & MANA_TX_INFO_BU_M;
	place->mbuf += info >> MANA_TX_INFO_MBUFS_S;
	place->wqe++;
	place->group += place->wqe == group->wqe_end;
}

/* Move a place behind its group. */
static void
place_next_group(const struct mana_txq *txq, struct place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);

	*place = (struct place){
		group->wqe_end, group->mbuf_end, group->bu_end, place->group + 1
	};
}

/* Move a place behind the WQE at a position, if it is outstanding. Bounded, for any thread. */
static bool
place_find(const struct mana_txq *txq, uint32_t position, struct place *place)
{
	uint32_t offset = (position - place->bu) & txq->sq.mask_bu;
	struct place at = *place;
	const struct mana_tx_group *group = mana_tx_group_at(txq, at.group);

	/* A device that knows no position writes 0. */
	if (offset >= txq->sq.pi - place->bu || (offset != 0 && is_at(txq, position, 0)))
		return false;
	/* In a full ring the newest WQE is where the last released one was. */
	if (group->bu_end - place->bu <= offset && offset + GDMA_SQ_WQE_MAX_BU > txq->sq.mask_bu)
		return false;
	for (uint32_t i = 0; i <= txq->mask && at.bu - place->bu <= offset; i++) {
		if (at.group == txq->group_pi)
			return false;
		group = mana_tx_group_at(txq, at.group);
		if (group->bu_end - place->bu <= offset)
			place_next_group(txq, &at);
		else
			place_next(txq, &at);
	}
	*place = at;
	return true;
}

/* Whether CQEs are assigned to WQEs by the offsets in them. */
static bool
is_offset_used(const struct mana_txq *txq)
{
	return txq->offset_check == MANA_TX_OFFSET_RIGHT ||
	       txq->offset_check == MANA_TX_OFFSET_WRONG;
}

/*
 * Move a place behind the last WQE that a CQE completes, unless that WQE was released before.
 * The queue has a group. Returns whether the CQE names a WQE whose CQE may come now.
 */
static bool
cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe, struct place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);
	const struct place start = *place;
	bool is_good = cqe.type == MANA_CQE_TX_OKAY;

	if (!is_offset_used(txq)) {
		place_next(txq, place);
		return true;
	}
	if (is_good && is_at(txq, cqe.position, group->bu_at)) {
		place_next_group(txq, place);
		return true;
	}
	if (place_find(txq, cqe.position, place))
		return !is_good && place->wqe - start.wqe <= group->wqe_end - start.wqe;
	if (((start.bu - 1 - cqe.position) & txq->sq.mask_bu) >=
		    GDMA_SQ_WQE_MAX_BU || is_at(txq, cqe.position, 0))
		place_next(txq, place);
	return false;
}

/* ---- Release -------------------------------------------------------------- */

/* Free the first mbufs, up to one of another pool; NULL: of any. Returns their number. */
static __rte_noinline size_t
free_run(struct rte_mbuf **mbufs, struct rte_mempool *const *pools, size_t nb)
{
	struct rte_mempool *mp = pools[0];
	size_t n = 1;

	while (n < nb && pools[n] == mp)
		n++;
	if (mp == NULL)
		rte_pktmbuf_free_bulk(mbufs, n);
	else
		rte_mempool_put_bulk(mp, (void **)mbufs, n);
	return n;
}

/* Free mbufs of several pools. No mbuf whose pool is given is accessed. */
static void
free_mixed(struct rte_mbuf **mbufs, struct rte_mempool *const *pools, size_t nb)
{
	const unsigned int lcore = rte_lcore_id();
	/* A thread that is no lcore has no cache. */
	const uint32_t no_cache __rte_unused = lcore == LCORE_ID_ANY ? UINT32_MAX : 0;
	struct rte_mbuf **const end = mbufs + nb;

	while (mbufs != end) {
#ifndef MANA_MEMPOOL_COUNTS
		struct rte_mempool *mp = *pools;

		if (likely(mp != NULL && mp->cache_size > no_cache)) {
			struct rte_mempool_cache *cache = &mp->local_cache[lcore];

			if (likely(cache->len < cache->size)) {
				cache->objs[cache->len++] = *mbufs++;
				pools++;
				continue;
			}
		}
#endif
		nb = free_run(mbufs, pools, end - mbufs);
		mbufs += nb;
		pools += nb;
	}
}

void
mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end)
{
	uint32_t nb = end - txq->mbuf_ci;

	while (nb != 0) {
		uint32_t at = txq->mbuf_ci & txq->mbuf_mask;
		uint32_t nb_piece = RTE_MIN(nb, txq->mbuf_mask + 1 - at);

		/* Moved before the free: a killed process loses mbufs, but frees none twice. */
		txq->mbuf_ci += nb_piece;
		rte_compiler_barrier();
		if (mp != NULL)
			rte_mempool_put_bulk(mp, (void **)&txq->mbufs[at], nb_piece);
		else
			free_mixed(&txq->mbufs[at], &txq->pools[at], nb_piece);
		nb -= nb_piece;
	}
}

__rte_noinline __rte_cold uint32_t
mana_tx_old_free(struct mana_txq *txq, uint32_t max)
{
	uint32_t nb;

	/* The control path has destroyed the SQ, and marked the mbufs, before. */
	if (txq->is_stopping || mana_atomic_acquire(&txq->has_old) == 0)
		return 0;
	nb = RTE_MIN(txq->mbuf_pi - txq->mbuf_ci, max);
	mana_tx_free_to(txq, NULL, txq->mbuf_ci + nb);
	if (txq->mbuf_ci == txq->mbuf_pi)
		mana_atomic_release(&txq->has_old, 0);
	return nb;
}

/* Free the WQEs before end, which is not behind the newest group. */
static void
release_to(struct mana_txq *txq, uint32_t end)
{
	struct place place = place_of(txq);
	struct rte_mempool *mp = NULL;

	while (place.wqe != end) {
		const struct mana_tx_group *group = mana_tx_group_at(txq, place.group);

		/* Groups of one pool are freed together. */
		if (group->mp != mp) {
			mana_tx_free_to(txq, mp, place.mbuf);
			mp = group->mp;
		}
		if (group->wqe_end - place.wqe <= end - place.wqe)
			place_next_group(txq, &place);
		else
			place_next(txq, &place);
	}
	mana_tx_put_to(txq, mp, place.mbuf);
	txq->ci = place.wqe;
	txq->sq.ci = place.bu;
	txq->group_ci = place.group;
}

/* ---- Single completions ------------------------------------------------------- */

void
mana_txq_close(struct mana_txq *txq)
{
	txq->limit = 0;
	txq->batch_space = 0;
	/* mana_tx_reap() reads no CQE of a closed CQ in this mode. */
	txq->reap = MANA_TX_REAP_ONE;
	mana_cq_close(&txq->cq);
}

void
mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure)
{
	mana_atomic_store(&txq->failure, failure);
	txq->stats.failed++;
	mana_txq_close(txq);
}

/* Record the CQE at cq.ci as unexpected. */
static void
note(struct mana_txq *txq, bool is_fatal)
{
	mana_bad_cqe_note(&txq->bad_cqes, mana_cq_cqe(&txq->cq, txq->cq.ci), is_fatal);
}

/*
 * The device accepts the short form if it sends a packet in it, and does not if it refuses
 * MANA_TX_FORM_TRIES packets and has sent none. The WQE is still in the ring.
 */
static void
form_learn(struct mana_txq *txq, struct mana_tx_cqe cqe)
{
	uint32_t bu = is_offset_used(txq) ? cqe.position : txq->sq.ci;
	uint64_t oob = rte_le_to_cpu_64(mana_wq_bu(&txq->sq, bu)[1]);

	if ((oob & UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S) != 0)
		return;
	if (cqe.type == MANA_CQE_TX_OKAY) {
		txq->form_tries = 0;
	} else if (cqe.type == MANA_CQE_TX_INVALID_OOB && --txq->form_tries == 0) {
		txq->is_long = true;
		txq->is_form_changed = true;
	}
	if (txq->form_tries == 0)
		offset_check_set(txq, txq->offset_check);
}

/* Record which memory the device could not read for the WQE at bu, whose mbuf is m. */
static __rte_cold __rte_noinline void
note_buffer(struct mana_txq *txq, uint32_t bu, const struct rte_mbuf *m)
{
	const uint64_t *wqe = mana_wq_bu(&txq->sq, bu);
	bool is_long = (rte_le_to_cpu_64(wqe[1]) & UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S) != 0;
	uint32_t nb_sge = rte_le_to_cpu_64(wqe[0]) >> GDMA_WQE_NUM_SGE_S & GDMA_WQE_NUM_SGE_M;
	uint32_t at = is_long ? GDMA_BU_WORDS : GDMA_BU_WORDS / 2;
	struct mana_tx_bad_buf *bad = &txq->bad_buf;
	struct mana_mr_range range;

	static_assert(sizeof(bad->mempool) == sizeof(m->pool->name), "copied whole");
	bad->mempool[0] = '\0';
	if (m->pool != NULL)
		memcpy(bad->mempool, m->pool->name, sizeof(bad->mempool));
	for (uint32_t i = 0; i < RTE_MIN(nb_sge, GDMA_SQ_WQE_MAX_SGE); i++, at += 2) {
		const uint64_t *sge = mana_wq_bu(&txq->sq, bu + at / GDMA_BU_WORDS) +
				      at % GDMA_BU_WORDS;
		uint64_t addr = rte_le_to_cpu_64(sge[0]), word = rte_le_to_cpu_64(sge[1]);
		bool is_known = mana_mr_find(&txq->mr, addr, word >> GDMA_SGE_SIZE_S, &range) &&
				range.lkey == (uint32_t)word;

		if (i != 0 && is_known)
			continue;
		bad->addr = addr;
		bad->len_bytes = word >> GDMA_SGE_SIZE_S;
		if (!is_known)
			break;
	}
}

/*
 * Handle the CQE at cq.ci, of any kind, and free what it releases: at most max
 * packets. False: it releases more, and remains for the others.
 */
static bool
handle_cqe(struct mana_txq *txq, struct mana_tx_cqe cqe, uint32_t max)
{
	const bool has_posted = txq->group_ci != txq->group_pi;
	const uint32_t error = cqe.type - MANA_CQE_TX_ERR_FIRST;
	struct place place = place_of(txq);
	bool is_expected = has_posted && cqe_follow(txq, cqe, &place);

	if (place.wqe - txq->ci > max) {
		release_to(txq, txq->ci + max);
		return false;
	}
	/* Whichever WQE it names, no CQE follows. */
	if (cqe.type == MANA_CQE_TX_GDMA_ERR) {
		note(txq, true);
		if (place.wqe != txq->ci)
			note_buffer(txq, is_offset_used(txq) ? cqe.position : txq->sq.ci,
				    txq->mbufs[(place.mbuf - 1) & txq->mbuf_mask]);
		mana_txq_fail(txq, MANA_FAILURE_DISABLED);
	}
	if (!has_posted) {
		txq->stats.cqe_spurious++;
		note(txq, false);
		return true;
	}
	if (txq->offset_check == MANA_TX_OFFSET_LEARNING && cqe.type == MANA_CQE_TX_OKAY)
		offset_check_learn(txq, cqe.position, mana_tx_group_at(txq, txq->group_ci)->bu_at);
	if (txq->form_tries != 0)
		form_learn(txq, cqe);
	if (!is_expected && txq->offset_check == MANA_TX_OFFSET_RIGHT) {
		txq->stats.cqe_position++;
		note(txq, false);
		offset_check_set(txq, MANA_TX_OFFSET_WRONG);
	}
	if (place.wqe == txq->ci) {
		txq->stats.cqe_spurious++;
		return true;
	}
	if (cqe.type != MANA_CQE_TX_OKAY) {
		note(txq, false);
		if (error < MANA_NB_CQE_TX_ERR)
			txq->stats.cqe_error[error]++;
		else
			txq->stats.cqe_unknown++;
	}
	release_to(txq, place.wqe);
	return true;
}

/* The CQE at cq.ci is not a new one of this queue. True: another may follow. */
static bool
skip(struct mana_txq *txq, uint32_t trailer)
{
	enum mana_cqe_state state = mana_cq_state(&txq->cq, txq->cq.ci, trailer);

	if (state == MANA_CQE_FOREIGN) {
		txq->stats.cqe_foreign++;
		note(txq, false);
	} else if (state == MANA_CQE_OVERRUN) {
		txq->stats.cqe_overrun++;
		note(txq, true);
		mana_txq_fail(txq, MANA_FAILURE_OVERRUN);
	}
	return state == MANA_CQE_FOREIGN;
}

/* Take the next CQE, of any kind, as handle_cqe(). True: another may follow. */
static bool
reap_one(struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq *cq = &txq->cq;
	uint32_t trailer;

	/* Closed: the ring may be gone. */
	if (mana_cq_is_closed(cq))
		return false;
	trailer = mana_cq_trailer(cq, cq->ci);
	if (mana_cq_is_ours(cq, cq->ci, trailer) ?
		    !handle_cqe(txq, mana_tx_cqe_read(mana_cq_cqe(cq, cq->ci)), max) :
		    !skip(txq, trailer))
		return false;
	mana_tx_cq_advance(txq, 1);
	return true;
}

/* ---- Many completions --------------------------------------------------------- */

/*
 * MANA_TX_REAP_EACH: every WQE has a CQE, in order. As mana_tx_reap_groups(), by counting
 * good ones before the ring ends, which all have the same trailer: nothing else in them
 * matters.
 */
static bool
reap_each(struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq cq = txq->cq;
	const struct gdma_cqe *entry = mana_cq_cqe(&cq, cq.ci);
	const uint32_t want = mana_cq_trailer_wanted(&cq, cq.ci);
	uint32_t n;

	max = RTE_MIN(max, mana_txq_nb_posted(txq));
	max = RTE_MIN(max, mana_cq_size(&cq) - (cq.ci & cq.mask));
	for (n = 0; n < max; n++, entry++) {
		if (!mana_cq_trailer_is(mana_cqe_load(&entry->trailer), want))
			break;
		rte_io_rmb();
		if (mana_tx_cqe_type(entry) != MANA_CQE_TX_OKAY)
			break;
	}
	release_to(txq, txq->ci + n);
	mana_tx_cq_advance(txq, n);
	return mana_cq_is_empty(&cq, cq.ci + n, mana_cq_trailer(&cq, cq.ci + n));
}

__rte_noinline uint32_t
mana_tx_reap(struct mana_txq *txq, uint32_t max)
{
	const uint32_t start = txq->ci;
	uint32_t nb_old = unlikely(mana_atomic_load(&txq->has_old) != 0) ?
				  mana_tx_old_free(txq, max) : 0;
	bool ends = false;

	max -= nb_old;
	/* Bounded, in case the device writes CQEs faster than this reads them. */
	for (uint32_t i = 0; i <= txq->cq.mask && !ends; i++) {
		const uint32_t left = max - (txq->ci - start);

		ends = txq->reap == MANA_TX_REAP_EACH ? reap_each(txq, left) :
		       txq->reap == MANA_TX_REAP_GROUPS && mana_tx_reap_groups(txq, left);
		ends = ends || !reap_one(txq, max - (txq->ci - start));
	}
	return nb_old + (txq->ci - start);
}

uint32_t
mana_txq_settle(struct mana_txq *txq, uint32_t max)
{
	/* There may be no group left whose CQE the next burst could look at. */
	txq->batch_space = 0;
	return mana_tx_reap(txq, max != 0 ? max : UINT32_MAX);
}

int
mana_txq_done_cleanup(void *queue, uint32_t max)
{
	struct mana_txq *txq = queue;
	uint32_t nb = 0;

	if (txq == NULL)
		return -EINVAL;
	mana_burst_enter(&txq->is_busy);
	if (likely(!mana_txq_is_paused(txq)))
		nb = mana_txq_settle(txq, max);
	else if (mana_atomic_load(&txq->user) == 0)
		nb = mana_tx_old_free(txq, max != 0 ? max : UINT32_MAX);
	mana_burst_leave(&txq->is_busy);
	return nb;
}

/* ---- Start and end --------------------------------------------------------- */

static int
conf_check(const struct mana_txq *txq, const struct mana_queue_rings *rings,
		    const struct mana_txq_conf *conf)
{
	if (txq->nb_desc == 0 || txq->nb_desc > txq->mask + 1 ||
	    txq->max_sge == 0 || txq->max_sge > GDMA_SQ_WQE_MAX_SGE)
		return -EINVAL;
	if (rings->vp_offset > MANA_TX_LOOB_LONG_VP_M ||
	    (rings->vp_offset > MANA_TX_OOB_SHORT_VP_M &&
	     (conf->form == MANA_TX_FORM_SHORT ||
	      conf->vport == MANA_TX_VPORT_SHORT)))
		return -ERANGE;
	return 0;
}

/*
 * The queue's part of the OOB. In the long form Linux fills only the short
 * offset, OpenVMM only the long one, and both work: fill both where the value
 * fits, unless one is configured. ASSUMED: vport-field, ASSUMED: short-form
 */
static void
oob_set(struct mana_txq *txq, const struct mana_queue_rings *rings,
		 const struct mana_txq_conf *conf)
{
	bool is_far = rings->vp_offset > MANA_TX_OOB_SHORT_VP_M;

	txq->is_long = conf->form == MANA_TX_FORM_LONG || is_far;
	txq->is_form_changed = false;
	txq->form_tries = conf->form == MANA_TX_FORM_AUTO && !is_far ? MANA_TX_FORM_TRIES : 0;
	txq->oob = MANA_SHIFT_VAL64(rings->cq_id & MANA_TX_OOB_VCQ_M, MANA_TX_OOB_VCQ_S) |
		   MANA_SHIFT_VAL64(rings->id >> MANA_TX_VSQ_FRAME_OF_SQ_S &
				    MANA_TX_OOB_VSQ_FRAME_M,
				    MANA_TX_OOB_VSQ_FRAME_S);
	if (!is_far)
		txq->oob |= MANA_SHIFT_VAL64(rings->vp_offset, MANA_TX_OOB_SHORT_VP_S);
	txq->long_drop = conf->vport != MANA_TX_VPORT_LONG ? 0 :
		MANA_SHIFT_VAL64(MANA_TX_OOB_SHORT_VP_M, MANA_TX_OOB_SHORT_VP_S);
	txq->loob = conf->vport == MANA_TX_VPORT_SHORT ? 0 :
		MANA_SHIFT_VAL64(rings->vp_offset, MANA_TX_LOOB_LONG_VP_S);
}

int
mana_txq_init(struct mana_txq *txq, const struct mana_queue_rings *rings,
	      const struct mana_txq_conf *conf)
{
	int ret = conf_check(txq, rings, conf);

	if (ret == 0)
		ret = mana_wq_init(&txq->sq, rings->ring, rings->ring_bytes,
				   rings->db_page, GDMA_DB_SQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&txq->cq, rings->cq_ring, rings->nb_cqe, true, rings->db_page);
	if (ret != 0)
		return ret;

	mana_wq_open(&txq->sq, rings->id);
	mana_cq_open(&txq->cq, rings->cq_id, rings->id);
	txq->ci = txq->pi;
	txq->group_pi = 0;
	txq->group_ci = 0;
	mana_tx_group_open(txq);
	/* Each outstanding WQE may give a CQE. */
	txq->limit = RTE_MIN((uint32_t)txq->nb_desc, rings->nb_cqe);
	oob_set(txq, rings, conf);
	/* Nothing is known of the offsets in CQEs. */
	txq->nb_right = 0;
	txq->last_right = 0;
	offset_check_set(txq, conf->suppress ? MANA_TX_OFFSET_LEARNING :
					       MANA_TX_OFFSET_UNUSED);
	/* The first burst sets the region. */
	txq->mr.view.seq = MANA_MR_SEQ_NONE;
	/* Their limits follow the MTU. */
	memset(txq->known, 0, sizeof(txq->known));
	txq->last_known = txq->known;
	mana_atomic_store(&txq->failure, MANA_FAILURE_NONE);
	return 0;
}

static void
wqes_forget(struct mana_txq *txq)
{
	mana_txq_close(txq);
	txq->ci = txq->pi;
	txq->sq.ci = txq->sq.pi;
	txq->group_ci = txq->group_pi;
}

/* A burst may just free old mbufs: then nothing was posted since. */
void
mana_txq_keep_mbufs(struct mana_txq *txq)
{
	bool has_posted = mana_txq_nb_posted(txq) != 0;

	wqes_forget(txq);
	if (!has_posted)
		return;
	/* Each mbuf is checked when it is freed: a process may have died in a burst. */
	mana_tx_pools_set(txq, txq->mbuf_ci, txq->mbuf_pi - txq->mbuf_ci, NULL);
	mana_atomic_release(&txq->has_old, 1);
}

void
mana_txq_release_mbufs(struct mana_txq *txq)
{
	wqes_forget(txq);
	mana_atomic_store(&txq->has_old, 0);
	mana_tx_pools_set(txq, txq->mbuf_ci, txq->mbuf_pi - txq->mbuf_ci, NULL);
	mana_tx_free_to(txq, NULL, txq->mbuf_pi);
}

void
mana_txq_forget_mbufs(struct mana_txq *txq)
{
	if (mana_txq_nb_posted(txq) != 0)
		txq->mbuf_ci = txq->mbuf_pi;
	wqes_forget(txq);
}

uint64_t
mana_txq_stats_cqe_errors(const struct mana_txq_stats *stats)
{
	uint64_t nb = stats->cqe_unknown;

	for (uint32_t i = 0; i < MANA_NB_CQE_TX_ERR; i++)
		nb += stats->cqe_error[i];
	return nb;
}

uint64_t
mana_txq_stats_errors(const struct mana_txq_stats *stats)
{
	return mana_txq_stats_cqe_errors(stats) + stats->unfinished + stats->drop_offload +
	       stats->drop_malformed + stats->drop_nomem + stats->drop_mr;
}

/* ---- State, for any thread beside the bursts: nothing is freed here -------------- */

bool
mana_txq_lock(struct mana_txq *txq)
{
	mana_query_lock(&txq->query_lock);
	return mana_query_admit(&txq->query_lock, mana_txq_is_paused(txq));
}

bool
mana_txq_trylock(struct mana_txq *txq)
{
	return mana_query_trylock(&txq->query_lock) &&
	       mana_query_admit(&txq->query_lock, mana_txq_is_paused(txq));
}

uint32_t
mana_txq_posted_snapshot(const struct mana_txq *txq)
{
	/*
	 * ci first: what a burst does between the loads makes too much of it,
	 * which the limit bounds (0: the queue is dead), and never too little.
	 */
	uint32_t ci = *(const volatile uint32_t *)&txq->ci;
	uint32_t limit, nb;

	rte_io_rmb();
	nb = (uint32_t)*(const volatile uint64_t *)&txq->pi - ci;
	limit = *(const volatile uint32_t *)&txq->limit;
	return RTE_MIN(nb, limit != 0 ? limit : txq->mask + 1);
}

uint32_t
mana_txq_nb_done(const struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq *cq = &txq->cq;
	uint32_t posted = mana_txq_posted_snapshot(txq);
	struct place place = place_of(txq);
	const uint32_t start = place.wqe, end = txq->group_pi;
	uint32_t i, idx;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq) && place.group != end && place.wqe - start < max; i++) {
		idx = cq->ci + i;
		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
		(void)cqe_follow(txq, mana_tx_cqe_read(mana_cq_cqe(cq, idx)), &place);
	}
	return RTE_MIN(place.wqe - start, posted);
}

int
mana_txq_count(void *queue)
{
	struct mana_txq *txq = queue;
	uint32_t posted, done;

	if (txq == NULL || !mana_txq_lock(txq))
		return 0;
	posted = mana_txq_posted_snapshot(txq);
	done = mana_txq_nb_done(txq, UINT32_MAX);
	mana_query_unlock(&txq->query_lock);
	return posted > done ? posted - done : 0;
}

int
mana_txq_desc_state(struct mana_txq *txq, uint32_t offset)
{
	uint32_t posted, limit, done;

	if (!mana_txq_lock(txq))
		return RTE_ETH_TX_DESC_UNAVAIL;
	posted = mana_txq_posted_snapshot(txq);
	limit = *(const volatile uint32_t *)&txq->limit;
	done = mana_txq_nb_done(txq, offset + 1);
	mana_query_unlock(&txq->query_lock);
	if (offset >= limit)
		return RTE_ETH_TX_DESC_UNAVAIL;
	/* The free ones first, then those outstanding, the oldest first. */
	return offset < limit - RTE_MIN(posted, limit) + done ? RTE_ETH_TX_DESC_DONE :
								RTE_ETH_TX_DESC_FULL;
}
