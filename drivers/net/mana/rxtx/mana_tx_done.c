/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions of a Tx queue that are not of the usual kind, and whether the
 * positions in them are right: the WQE-offset check.
 *
 * Completions arrive in posting order: the n-th CQE belongs to the n-th WQE
 * that asked for one (Linux mana_en.c mana_poll_tx_cq, OpenVMM net_mana), and
 * all WQEs before it are done. A WQE that did not ask has a CQE all the same
 * when it fails (DPDK commit 823dbf2860), and a device that ignores the request
 * to suppress (as Microsoft's emulator does: OpenVMM
 * vm/devices/net/gdma/src/bnic.rs) completes each WQE. Which WQE a CQE belongs
 * to can then only be learned from the position in the CQE, tx_wqe_offset, a
 * field that no driver uses and that a device may leave 0.
 *
 * So a queue begins with a request in every WQE, and the n-th CQE, good or bad,
 * is that of the n-th WQE. Only when the position has been right
 * MANA_TX_OFFSET_NB_RIGHT times, at as many places, does the queue ask once a
 * group. From then on a CQE releases WQEs up to the one that it names, and not
 * one more:
 *
 *   the WQE that asked, in the oldest group     that group
 *   a bad CQE: any WQE of the oldest group      up to it
 *   any other outstanding WQE                   up to it; check fails
 *   0, when that is not the oldest WQE, or no   the oldest WQE, the only one
 *   outstanding WQE                             done for sure; check fails
 *   one of the BUs that were released last      nothing; check fails
 *
 * When the check fails, every WQE asks again until the queue is restarted.
 * Positions are still looked at: mbufs that were released late go with the next
 * CQE that names a later WQE.
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
	 * In a quarter of the ring at least one WQE asks. While positions count
	 * and every WQE asks, each is a group.
	 */
	txq->group_wqes = is_right || is_unused ?
				  RTE_MAX(txq->limit / 4, 1u) : 1;
	txq->group_bu = (txq->sq.mask_bu + 1) / 4;
	/* How many CQEs will come before the newest group's is not known. */
	txq->run_max = txq->is_long || is_wrong ?
			       0 : RTE_MIN(txq->group_wqes, txq->group_bu);
	txq->run_room = 0;
	txq->no_cqe = (uint64_t)is_right << MANA_TX_OOB_NO_CQE_S;
	txq->reap = MANA_TX_REAP_ONE;
	if (txq->form_tries == 0 && is_right)
		txq->reap = MANA_TX_REAP_GROUPS;
	else if (txq->form_tries == 0 && is_unused)
		txq->reap = MANA_TX_REAP_EACH;
}

void
mana_tx_offset_check_reset(struct mana_txq *txq, bool no_suppress)
{
	txq->nb_right = 0;
	txq->last_right = 0;
	offset_check_set(txq, no_suppress ? MANA_TX_OFFSET_UNUSED :
					    MANA_TX_OFFSET_LEARNING);
}

/* Positions are compared modulo the ring: the field may count laps or not. */
static bool
is_at(const struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	return ((position ^ bu) & txq->sq.mask_bu) == 0;
}

/* A good CQE of a WQE at bu while every WQE asks. */
static void
offset_check_learn(struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	uint32_t at = bu & txq->sq.mask_bu;

	if (!is_at(txq, position, bu)) {
		offset_check_set(txq, MANA_TX_OFFSET_UNUSED);
		return;
	}
	/* Each further in the ring than the last: all are distinct. */
	if (at <= txq->last_right)
		txq->nb_right = 0;
	txq->last_right = at;
	if (at != 0 && ++txq->nb_right == MANA_TX_OFFSET_NB_RIGHT)
		offset_check_set(txq, MANA_TX_OFFSET_RIGHT);
}

/* ---- Release -------------------------------------------------------------- */

void
mana_tx_free_to(struct mana_txq *txq, struct rte_mempool *mp, uint32_t end)
{
	uint32_t nb = end - txq->mbuf_ci;

	while (nb != 0) {
		uint32_t at = txq->mbuf_ci & txq->mbuf_mask;
		uint32_t run = RTE_MIN(nb, txq->mbuf_mask + 1 - at);

		if (mp != NULL)
			rte_mempool_put_bulk(mp, (void **)&txq->mbufs[at], run);
		else
			rte_pktmbuf_free_bulk(&txq->mbufs[at], run);
		txq->mbuf_ci += run;
		nb -= run;
	}
}

/*
 * What is known of a WQE of this group. A burst that is one run records nothing:
 * then all WQEs of the group are one BU.
 */
static uint32_t
info_of(const struct mana_txq *txq, const struct mana_tx_group *group,
	const struct mana_tx_place *place)
{
	if (group->bu_end - place->bu == group->wqe_end - place->wqe)
		return MANA_TX_INFO(1, 1);
	return txq->info[place->wqe & txq->mask];
}

/* WQEs up to end are done, which is within the oldest group. Where mbufs end. */
static uint32_t
release_part(struct mana_txq *txq, uint32_t end)
{
	const struct mana_tx_group *group =
		&txq->groups[txq->group_ci & txq->mask];
	struct mana_tx_place place = mana_tx_place_of(txq);
	uint32_t mbuf_end = txq->mbuf_ci;
	uint32_t info;

	for (; place.wqe != end; place.wqe++) {
		info = info_of(txq, group, &place);
		place.bu += info & MANA_TX_INFO_BU_M;
		mbuf_end += info >> MANA_TX_INFO_MBUFS_S;
	}
	txq->ci = place.wqe;
	txq->sq.ci = place.bu;
	return mbuf_end;
}

/* Free the WQEs up to end, which is not behind the newest group's. */
static void
release_to(struct mana_txq *txq, uint32_t end)
{
	struct rte_mempool *mp = NULL;
	uint32_t mbuf_end = txq->mbuf_ci;

	while (txq->ci != end) {
		const struct mana_tx_group *group =
			&txq->groups[txq->group_ci & txq->mask];

		/* Groups of one pool together. */
		if (group->mp != mp) {
			mana_tx_free_to(txq, mp, mbuf_end);
			mp = group->mp;
		}
		if (group->wqe_end - txq->ci > end - txq->ci) {
			mana_tx_free_to(txq, mp, mbuf_end);
			mbuf_end = release_part(txq, end);
			break;
		}
		mbuf_end = group->mbuf_end;
		txq->ci = group->wqe_end;
		txq->sq.ci = group->bu_end;
		txq->group_ci++;
	}
	mana_tx_free_to(txq, mp, mbuf_end);
}

/* ---- Positions -------------------------------------------------------------- */

/* Behind the WQE at this place. */
static void
place_next(const struct mana_txq *txq, struct mana_tx_place *place)
{
	const struct mana_tx_group *group =
		&txq->groups[place->group & txq->mask];

	place->bu += info_of(txq, group, place) & MANA_TX_INFO_BU_M;
	place->wqe++;
	place->group += place->wqe == group->wqe_end;
}

/*
 * Behind the WQE at a position, of those from the place on that are
 * outstanding. All loops are bounded: a thread beside the bursts may be here.
 */
static bool
place_find(const struct mana_txq *txq, uint32_t position,
	   struct mana_tx_place *place)
{
	uint32_t offset = (position - place->bu) & txq->sq.mask_bu;
	uint32_t nb = txq->group_pi - place->group;
	struct mana_tx_place at = *place;
	const struct mana_tx_group *group;
	uint32_t i;

	/* 0 is what a device writes that knows no position. */
	if (offset >= txq->sq.pi - place->bu ||
	    (offset != 0 && is_at(txq, position, 0)))
		return false;
	for (i = 0; i <= txq->mask; i++) {
		if (i == nb)
			return false;
		group = &txq->groups[at.group & txq->mask];
		if (group->bu_end - place->bu > offset)
			break;
		at.wqe = group->wqe_end;
		at.bu = group->bu_end;
		at.group++;
	}
	/* In a full ring the newest WQE is where the last released one was. */
	if (i != 0 && offset + GDMA_SQ_WQE_MAX_BU > txq->sq.mask_bu)
		return false;
	for (i = 0; i <= txq->mask && at.bu - place->bu <= offset; i++)
		place_next(txq, &at);
	*place = at;
	return true;
}

enum mana_tx_match
mana_tx_cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe,
		   struct mana_tx_place *place)
{
	const struct mana_tx_group *group =
		&txq->groups[place->group & txq->mask];
	const struct mana_tx_place start = *place;
	bool is_good = cqe.type == MANA_CQE_TX_OKAY;

	if (txq->offset_check != MANA_TX_OFFSET_RIGHT &&
	    txq->offset_check != MANA_TX_OFFSET_WRONG) {
		place_next(txq, place);
		return MANA_TX_MATCH_EXPECTED;
	}
	if (is_good && is_at(txq, cqe.position, group->bu_at)) {
		place->wqe = group->wqe_end;
		place->bu = group->bu_end;
		place->group++;
		return MANA_TX_MATCH_EXPECTED;
	}
	if (place_find(txq, cqe.position, place))
		return is_good || place->wqe - start.wqe >
					  group->wqe_end - start.wqe ?
			       MANA_TX_MATCH_OTHER : MANA_TX_MATCH_EXPECTED;
	if (((start.bu - 1 - cqe.position) & txq->sq.mask_bu) <
		    GDMA_SQ_WQE_MAX_BU && !is_at(txq, cqe.position, 0))
		return MANA_TX_MATCH_PAST;
	place_next(txq, place);
	return MANA_TX_MATCH_OTHER;
}

/* ---- Odd completions ------------------------------------------------------- */

void
mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure)
{
	txq->failure = failure;
	txq->stats.failed++;
	txq->bad_cqes.fatal_header = txq->bad_cqes.last_header;
	txq->limit = 0;
	txq->run_room = 0;
}

/* Record the completion at cq.ci as unexpected. */
static void
note(struct mana_txq *txq, enum mana_bad_cqe_kind kind)
{
	mana_bad_cqe_note(&txq->bad_cqes, mana_cq_cqe(&txq->cq, txq->cq.ci),
			  kind);
}

/* The packet of this CQE was not sent, but it is done with. */
static void
count_error(struct mana_txq *txq, uint32_t type)
{
	if (type < MANA_CQE_TX_ERR_FIRST || type > MANA_CQE_TX_ERR_LAST) {
		txq->stats.cqe_unknown++;
		note(txq, MANA_BAD_CQE_UNKNOWN);
		return;
	}
	note(txq, MANA_BAD_CQE_TX_ERROR + type - MANA_CQE_TX_ERR_FIRST);
	txq->stats.cqe_error[type - MANA_CQE_TX_ERR_FIRST]++;
}

/*
 * Whether the device takes the short form is known when it has sent a packet in
 * it, or refused so many and sent none. The WQE is still in the ring; its place
 * may be any that the device names.
 */
static void
form_learn(struct mana_txq *txq, uint32_t type, uint32_t bu)
{
	uint64_t oob = rte_le_to_cpu_64(mana_wq_bu(&txq->sq, bu)[1]);

	if ((oob & UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S) != 0)
		return;
	if (type == MANA_CQE_TX_OKAY) {
		txq->form_tries = 0;
	} else if (type == MANA_CQE_TX_INVALID_OOB && --txq->form_tries == 0) {
		txq->is_long = true;
		txq->is_form_changed = true;
	}
	if (txq->form_tries == 0)
		offset_check_set(txq, txq->offset_check);
}

static void
bad_cqe(struct mana_txq *txq, struct mana_tx_cqe cqe)
{
	struct mana_tx_place place = mana_tx_place_of(txq);
	uint32_t bu = place.bu;
	enum mana_tx_match match;

	/* Whichever WQE it names: no completion comes after it. */
	if (cqe.type == MANA_CQE_TX_GDMA_ERR && txq->failure == MANA_FAILURE_NONE) {
		note(txq, MANA_BAD_CQE_TX_ERROR + MANA_CQE_TX_GDMA_ERR -
				  MANA_CQE_TX_ERR_FIRST);
		mana_txq_fail(txq, MANA_FAILURE_DISABLED);
	}
	if (txq->group_ci == txq->group_pi) {
		txq->stats.cqe_spurious++;
		note(txq, MANA_BAD_CQE_SPURIOUS);
		return;
	}
	if (txq->offset_check == MANA_TX_OFFSET_LEARNING &&
	    cqe.type == MANA_CQE_TX_OKAY)
		offset_check_learn(txq, cqe.position,
			txq->groups[txq->group_ci & txq->mask].bu_at);
	match = mana_tx_cqe_follow(txq, cqe, &place);
	if (txq->form_tries != 0)
		form_learn(txq, cqe.type,
			   txq->offset_check == MANA_TX_OFFSET_RIGHT ||
			   txq->offset_check == MANA_TX_OFFSET_WRONG ?
				   cqe.position : bu);
	if (match != MANA_TX_MATCH_EXPECTED &&
	    txq->offset_check == MANA_TX_OFFSET_RIGHT) {
		txq->stats.cqe_position++;
		note(txq, MANA_BAD_CQE_POSITION);
		offset_check_set(txq, MANA_TX_OFFSET_WRONG);
	}
	if (match == MANA_TX_MATCH_PAST) {
		txq->stats.cqe_spurious++;
		return;
	}
	if (cqe.type != MANA_CQE_TX_OKAY)
		count_error(txq, cqe.type);
	release_to(txq, place.wqe);
}

/* The CQE is not a new one of this queue. True when one may follow it. */
static bool
skip(struct mana_txq *txq, uint32_t trailer)
{
	switch (mana_cq_state(&txq->cq, txq->cq.ci, trailer)) {
	case MANA_CQE_EMPTY:
		return false;
	case MANA_CQE_FOREIGN:
		txq->stats.cqe_foreign++;
		note(txq, MANA_BAD_CQE_FOREIGN);
		return true;
	default:
		break;
	}
	txq->stats.cqe_overrun++;
	note(txq, MANA_BAD_CQE_OVERRUN);
	mana_cq_close(&txq->cq);
	mana_txq_fail(txq, MANA_FAILURE_OVERRUN);
	return false;
}

/* The next entry of the CQ needs a closer look. True: another may be there. */
static bool
reap_one(struct mana_txq *txq, uint32_t trailer, struct mana_tx_cqe cqe)
{
	bool is_ours = mana_cq_is_ours(&txq->cq, txq->cq.ci, trailer);

	if (!is_ours && !skip(txq, trailer))
		return false;
	if (is_ours)
		bad_cqe(txq, cqe);
	mana_tx_cq_advance(txq, 1);
	return true;
}

/*
 * Count good CQEs from idx on, max at most, before the ring ends: all have the
 * same trailer.
 *
 * @param[out] trailer, type
 *   Of the one that is not good, if any.
 */
static uint32_t
count_good(const struct mana_cq *cq, uint32_t idx, uint32_t max,
	   uint32_t *trailer, uint32_t *type)
{
	const struct gdma_cqe *entry = mana_cq_cqe(cq, idx);
	uint32_t n, ours = cq->trailer | mana_cq_owner(cq, idx);

	for (n = 0; n < max; n++, entry++) {
		*trailer = mana_cqe_load(&entry->trailer);
		if ((*trailer & MANA_CQ_TRAILER_M) != ours)
			break;
		rte_io_rmb();
		*type = mana_tx_cqe_type(entry);
		if (*type != MANA_CQE_TX_OKAY)
			break;
	}
	return n;
}

/*
 * MANA_TX_REAP_EACH: every WQE has a CQE, in order. As mana_tx_reap_groups(), by
 * counting good ones: what else they say does not matter.
 */
static bool
reap_each(struct mana_txq *txq, uint32_t max, uint32_t *trailer,
	  struct mana_tx_cqe *cqe)
{
	const struct mana_cq cq = txq->cq;
	uint32_t left = RTE_MIN(mana_txq_nb_posted(txq), max);
	uint32_t idx = cq.ci, room, n;

	cqe->position = 0;
	do {
		room = RTE_MIN(left, mana_cq_size(&cq) - (idx & cq.mask));
		n = count_good(&cq, idx, room, trailer, &cqe->type);
		idx += n;
		left -= n;
	} while (n == room && left != 0);
	if (n == room) {
		*trailer = mana_cq_trailer(&cq, idx);
		if (mana_cq_is_ours(&cq, idx, *trailer))
			cqe->type = mana_tx_cqe_type(mana_cq_cqe(&cq, idx));
	}
	release_to(txq, txq->ci + (idx - cq.ci));
	mana_tx_cq_advance(txq, idx - cq.ci);
	return mana_cq_is_empty(&cq, idx, *trailer);
}

/* As mana_tx_reap_groups(), in any mode. */
static bool
reap_expected(struct mana_txq *txq, uint32_t max, uint32_t *trailer,
	      struct mana_tx_cqe *cqe)
{
	const struct mana_cq *cq = &txq->cq;

	if (txq->reap == MANA_TX_REAP_GROUPS)
		return mana_tx_reap_groups(txq, max, trailer, cqe);
	if (txq->reap == MANA_TX_REAP_EACH)
		return reap_each(txq, max, trailer, cqe);
	*trailer = mana_cq_trailer(cq, cq->ci);
	if (!mana_cq_is_ours(cq, cq->ci, *trailer))
		return mana_cq_is_empty(cq, cq->ci, *trailer);
	*cqe = mana_tx_cqe_read(mana_cq_cqe(cq, cq->ci));
	return false;
}

void
mana_tx_reap(struct mana_txq *txq)
{
	struct mana_tx_cqe cqe;
	uint32_t trailer, i;

	/* Bounded, should a device write them faster than we read. */
	for (i = 0; i <= txq->cq.mask; i++)
		if (reap_expected(txq, UINT32_MAX, &trailer, &cqe) ||
		    !reap_one(txq, trailer, cqe))
			break;
}

__rte_noinline void
mana_tx_reap_behind(struct mana_txq *txq, uint32_t trailer,
		    struct mana_tx_cqe cqe)
{
	if (reap_one(txq, trailer, cqe))
		mana_tx_reap(txq);
}

/* ---- Cleanup ---------------------------------------------------------------- */

/*
 * If a CQE of this queue completes more than max WQEs: release max of them. The CQE
 * remains for the others.
 */
static bool
reap_part(struct mana_txq *txq, struct mana_tx_cqe cqe, uint32_t max)
{
	struct mana_tx_place place = mana_tx_place_of(txq);

	if (txq->group_ci == txq->group_pi)
		return false;
	(void)mana_tx_cqe_follow(txq, cqe, &place);
	if (place.wqe - txq->ci <= max)
		return false;
	release_to(txq, txq->ci + max);
	return true;
}

uint32_t
mana_txq_done_cleanup(struct mana_txq *txq, uint32_t max)
{
	const uint32_t start = txq->ci;
	struct mana_tx_cqe cqe;
	uint32_t trailer, left, i;

	/* Closed: the ring may be gone. */
	if (txq->cq.ring == NULL || mana_cq_is_closed(&txq->cq))
		return 0;
	if (max == 0)
		max = UINT32_MAX;
	/* There may be no group left whose CQE the next burst could look at. */
	txq->run_room = 0;
	for (i = 0; i <= txq->cq.mask; i++) {
		left = max - (txq->ci - start);
		if (reap_expected(txq, left, &trailer, &cqe))
			break;
		left = max - (txq->ci - start);
		if ((mana_cq_is_ours(&txq->cq, txq->cq.ci, trailer) &&
		     reap_part(txq, cqe, left)) ||
		    !reap_one(txq, trailer, cqe))
			break;
	}
	return txq->ci - start;
}
