/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions of a Tx queue, and the WQE-offset check: whether completions name
 * their WQE.
 *
 * Completions arrive in posting order: the n-th CQE belongs to the n-th WQE
 * that requested one (Linux mana_en.c mana_poll_tx_cq, OpenVMM net_mana), and
 * all WQEs before it are done. A WQE without request has a CQE all the same
 * when it fails (DPDK commit 823dbf2860), and a device that ignores the request
 * to suppress (as Microsoft's emulator does: OpenVMM
 * vm/devices/net/gdma/src/bnic.rs) completes each WQE. Then only the WQE offset
 * in the CQE, tx_wqe_offset, tells which WQE has completed. No other driver uses
 * this field, and a device may leave it 0.
 *
 * Therefore a queue begins with a request in every WQE, and the n-th CQE, good
 * or bad, is that of the n-th WQE. After MANA_TX_OFFSET_NB_RIGHT correct offsets,
 * at as many places, the queue requests one CQE per group. From then on a CQE
 * releases WQEs up to the one that it names, and no further:
 *
 *   the WQE with the request, in the oldest     that group
 *   group
 *   a bad CQE: any WQE of the oldest group      up to it
 *   any other outstanding WQE                   up to it; check fails
 *   0, when that is not the oldest WQE, or no   the oldest WQE, the only one
 *   outstanding WQE                             certainly done; check fails
 *   one of the BUs that were released last      nothing; check fails
 *
 * After the check has failed, every WQE requests a CQE until the queue is
 * restarted. The driver still uses the offsets: a later CQE that names a later
 * WQE releases what was not released in time.
 */

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx.h"

/* ---- WQE-offset check ----------------------------------------------------- */

static void
offset_check_set(struct mana_txq *txq, enum mana_tx_offset_check state)
{
	bool is_right = state == MANA_TX_OFFSET_RIGHT;
	bool is_unused = state == MANA_TX_OFFSET_UNUSED;
	bool is_wrong = state == MANA_TX_OFFSET_WRONG;

	txq->offset_check = state;
	/*
	 * At least one WQE in a quarter of the ring requests a CQE. While offsets
	 * count and every WQE requests one, each WQE is a group.
	 */
	txq->group_wqes = is_right || is_unused ?
				  RTE_MAX(txq->limit / 4, 1u) : 1;
	txq->group_bu = (txq->sq.mask_bu + 1) / 4;
	/* If wrong, the number of CQEs before the newest group's is unknown. */
	txq->run_max = txq->is_long || is_wrong ?
			       0 : RTE_MIN(txq->group_wqes, txq->group_bu);
	txq->run_room = 0;
	txq->no_cqe = (uint64_t)is_right << MANA_TX_OOB_NO_CQE_S;
	txq->reap = txq->form_tries != 0 ? MANA_TX_REAP_ONE :
		    is_right ? MANA_TX_REAP_GROUPS :
		    is_unused ? MANA_TX_REAP_EACH : MANA_TX_REAP_ONE;
}

void
mana_tx_offset_check_reset(struct mana_txq *txq, bool no_suppress)
{
	txq->nb_right = 0;
	txq->last_right = 0;
	offset_check_set(txq, no_suppress ? MANA_TX_OFFSET_UNUSED :
					    MANA_TX_OFFSET_LEARNING);
}

/* Offsets are compared modulo the ring: the field may count laps or not. */
static bool
is_at(const struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	return ((position ^ bu) & txq->sq.mask_bu) == 0;
}

/* A good CQE of the WQE at bu, while every WQE requests one. */
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

/* Move a place behind the WQE there. */
static void
place_next(const struct mana_txq *txq, struct mana_tx_place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);
	uint32_t info = txq->info[place->wqe & txq->mask];

	/* A burst that is one run writes no info: all its WQEs are one BU. */
	if (group->bu_end - place->bu == group->wqe_end - place->wqe)
		info = MANA_TX_INFO(1, 1);
	place->bu += info & MANA_TX_INFO_BU_M;
	place->mbuf += info >> MANA_TX_INFO_MBUFS_S;
	place->wqe++;
	place->group += place->wqe == group->wqe_end;
}

/* Move a place behind its group. */
static void
place_next_group(const struct mana_txq *txq, struct mana_tx_place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);

	*place = (struct mana_tx_place){
		.wqe = group->wqe_end,
		.mbuf = group->mbuf_end,
		.bu = group->bu_end,
		.group = place->group + 1,
	};
}

/*
 * Move a place behind the WQE at a position, if that WQE is outstanding. The
 * loop is bounded: a thread beside the bursts may be here.
 */
static bool
place_find(const struct mana_txq *txq, uint32_t position,
	   struct mana_tx_place *place)
{
	uint32_t offset = (position - place->bu) & txq->sq.mask_bu;
	struct mana_tx_place at = *place;
	const struct mana_tx_group *group = mana_tx_group_at(txq, at.group);

	/* A device that knows no position writes 0. */
	if (offset >= txq->sq.pi - place->bu ||
	    (offset != 0 && is_at(txq, position, 0)))
		return false;
	/* In a full ring the newest WQE is where the last released one was. */
	if (group->bu_end - place->bu <= offset &&
	    offset + GDMA_SQ_WQE_MAX_BU > txq->sq.mask_bu)
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

bool
mana_tx_cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe,
		   struct mana_tx_place *place)
{
	const struct mana_tx_group *group = mana_tx_group_at(txq, place->group);
	const struct mana_tx_place start = *place;
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
		return !is_good &&
		       place->wqe - start.wqe <= group->wqe_end - start.wqe;
	if (((start.bu - 1 - cqe.position) & txq->sq.mask_bu) >=
		    GDMA_SQ_WQE_MAX_BU || is_at(txq, cqe.position, 0))
		place_next(txq, place);
	return false;
}

/* ---- Release -------------------------------------------------------------- */

void
mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end)
{
	uint32_t nb = end - txq->mbuf_ci;

	while (nb != 0) {
		uint32_t at = txq->mbuf_ci & txq->mbuf_mask;
		uint32_t run = RTE_MIN(nb, txq->mbuf_mask + 1 - at);

		/* First: a process that is killed here loses mbufs, frees none twice. */
		txq->mbuf_ci += run;
		rte_compiler_barrier();
		if (mp != NULL)
			rte_mempool_put_bulk(mp, (void **)&txq->mbufs[at], run);
		else
			rte_pktmbuf_free_bulk(&txq->mbufs[at], run);
		nb -= run;
	}
}

/* Free the WQEs before end, which is not behind the newest group. */
static void
release_to(struct mana_txq *txq, uint32_t end)
{
	struct mana_tx_place place = mana_tx_place_of(txq);
	struct rte_mempool *mp = NULL;

	while (place.wqe != end) {
		const struct mana_tx_group *group =
			mana_tx_group_at(txq, place.group);

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
mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure)
{
	mana_atomic_store(&txq->failure, failure);
	txq->stats.failed++;
	txq->bad_cqes.fatal_header = txq->bad_cqes.last_header;
	txq->limit = 0;
	txq->run_room = 0;
}

/* Record the CQE at cq.ci as unexpected. */
static void
note(struct mana_txq *txq, enum mana_bad_cqe_kind kind)
{
	mana_bad_cqe_note(&txq->bad_cqes, mana_cq_cqe(&txq->cq, txq->cq.ci),
			  kind);
}

/* The packet of this CQE was not sent. */
static void
count_error(struct mana_txq *txq, uint32_t type)
{
	uint32_t error = type - MANA_CQE_TX_ERR_FIRST;

	if (error >= MANA_NB_CQE_TX_ERR) {
		txq->stats.cqe_unknown++;
		note(txq, MANA_BAD_CQE_UNKNOWN);
		return;
	}
	note(txq, MANA_BAD_CQE_TX_ERROR + error);
	txq->stats.cqe_error[error]++;
}

/*
 * The device accepts the short form if it sends a packet in it. It does not if
 * it refuses MANA_TX_FORM_TRIES packets and has sent none. The WQE is still in
 * the ring. The device may name any position.
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
	} else if (cqe.type == MANA_CQE_TX_INVALID_OOB &&
		   --txq->form_tries == 0) {
		txq->is_long = true;
		txq->is_form_changed = true;
	}
	if (txq->form_tries == 0)
		offset_check_set(txq, txq->offset_check);
}

/*
 * Handle the CQE at cq.ci, of any kind, and free what it releases: at most max
 * packets. False: it releases more, and remains for the others.
 */
static bool
handle_cqe(struct mana_txq *txq, struct mana_tx_cqe cqe, uint32_t max)
{
	const bool has_posted = txq->group_ci != txq->group_pi;
	struct mana_tx_place place = mana_tx_place_of(txq);
	bool is_expected = has_posted && mana_tx_cqe_follow(txq, cqe, &place);

	if (place.wqe - txq->ci > max) {
		release_to(txq, txq->ci + max);
		return false;
	}
	/* Whichever WQE it names, no CQE follows. */
	if (cqe.type == MANA_CQE_TX_GDMA_ERR &&
	    mana_txq_failure(txq) == MANA_FAILURE_NONE) {
		note(txq, MANA_BAD_CQE_TX_ERROR + MANA_CQE_TX_GDMA_ERR -
				  MANA_CQE_TX_ERR_FIRST);
		mana_txq_fail(txq, MANA_FAILURE_DISABLED);
	}
	if (!has_posted) {
		txq->stats.cqe_spurious++;
		note(txq, MANA_BAD_CQE_SPURIOUS);
		return true;
	}
	if (txq->offset_check == MANA_TX_OFFSET_LEARNING &&
	    cqe.type == MANA_CQE_TX_OKAY)
		offset_check_learn(txq, cqe.position,
			mana_tx_group_at(txq, txq->group_ci)->bu_at);
	if (txq->form_tries != 0)
		form_learn(txq, cqe);
	if (!is_expected && txq->offset_check == MANA_TX_OFFSET_RIGHT) {
		txq->stats.cqe_position++;
		note(txq, MANA_BAD_CQE_POSITION);
		offset_check_set(txq, MANA_TX_OFFSET_WRONG);
	}
	if (place.wqe == txq->ci) {
		txq->stats.cqe_spurious++;
		return true;
	}
	if (cqe.type != MANA_CQE_TX_OKAY)
		count_error(txq, cqe.type);
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
		note(txq, MANA_BAD_CQE_FOREIGN);
	} else if (state == MANA_CQE_OVERRUN) {
		txq->stats.cqe_overrun++;
		note(txq, MANA_BAD_CQE_OVERRUN);
		mana_cq_close(&txq->cq);
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
 * Count good CQEs from idx on, at most max, before the ring ends: all have the
 * same trailer.
 */
static uint32_t
count_good(const struct mana_cq *cq, uint32_t idx, uint32_t max)
{
	const struct gdma_cqe *entry = mana_cq_cqe(cq, idx);
	uint32_t n, ours = cq->trailer | mana_cq_owner(cq, idx);

	for (n = 0; n < max; n++, entry++) {
		if ((mana_cqe_load(&entry->trailer) & MANA_CQ_TRAILER_M) != ours)
			break;
		rte_io_rmb();
		if (mana_tx_cqe_type(entry) != MANA_CQE_TX_OKAY)
			break;
	}
	return n;
}

/*
 * MANA_TX_REAP_EACH: every WQE has a CQE, in order. As mana_tx_reap_groups(), by
 * counting good ones: nothing else in them matters.
 */
static bool
reap_each(struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq cq = txq->cq;
	uint32_t left = RTE_MIN(mana_txq_nb_posted(txq), max);
	uint32_t idx = cq.ci, room, n;

	do {
		room = RTE_MIN(left, mana_cq_size(&cq) - (idx & cq.mask));
		n = count_good(&cq, idx, room);
		idx += n;
		left -= n;
	} while (n == room && left != 0);
	release_to(txq, txq->ci + (idx - cq.ci));
	mana_tx_cq_advance(txq, idx - cq.ci);
	return mana_cq_is_empty(&cq, idx, mana_cq_trailer(&cq, idx));
}

/* As mana_tx_reap_groups(), in any mode. */
static bool
reap_expected(struct mana_txq *txq, uint32_t max)
{
	if (txq->reap == MANA_TX_REAP_EACH)
		return reap_each(txq, max);
	return txq->reap == MANA_TX_REAP_GROUPS && mana_tx_reap_groups(txq, max);
}

__rte_noinline uint32_t
mana_tx_reap(struct mana_txq *txq, uint32_t max)
{
	const uint32_t start = txq->ci;

	/* Bounded, in case the device writes CQEs faster than this reads them. */
	for (uint32_t i = 0; i <= txq->cq.mask; i++)
		if (reap_expected(txq, max - (txq->ci - start)) ||
		    !reap_one(txq, max - (txq->ci - start)))
			break;
	return txq->ci - start;
}

uint32_t
mana_txq_settle(struct mana_txq *txq, uint32_t max)
{
	/* There may be no group left whose CQE the next burst could look at. */
	txq->run_room = 0;
	return mana_tx_reap(txq, max != 0 ? max : UINT32_MAX);
}

uint32_t
mana_txq_done_cleanup(struct mana_txq *txq, uint32_t max)
{
	uint32_t nb = 0;

	mana_fenced_enter(&txq->is_fenced);
	mana_burst_enter(&txq->is_busy);
	if (likely(!mana_txq_is_paused(txq))) {
		mana_pause_fence();
		nb = mana_txq_settle(txq, max);
	}
	mana_burst_leave(&txq->is_busy);
	mana_fenced_leave(&txq->is_fenced);
	return nb;
}
