/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions of a send queue that are not of the usual kind, and whether
 * their positions can be trusted.
 *
 * Completions arrive in posting order: the n-th good CQE belongs to the n-th
 * WQE that asked for one (Linux mana_en.c mana_poll_tx_cq, OpenVMM net_mana),
 * and all before it is done. A WQE that did not ask has a CQE all the same
 * when it fails (DPDK commit 823dbf2860); which one it is can only be learned
 * from the position in the CQE, tx_wqe_offset, a field that no driver uses and
 * that a device may leave 0. So a queue begins with a request in every WQE,
 * and the n-th CQE, good or bad, is that of the n-th WQE. Only when the
 * position has been right MANA_TX_TRUST_AFTER times, at so many places, does
 * it ask once a group. The first position that is wrong ends that, until the
 * queue starts again.
 *
 * Then groups may be outstanding of which it is unsure whether a bad CQE was
 * that of the WQE that asked. They are taken in order all the same: better
 * late than early. A position that fits a group behind them, by no more than
 * there were doubts, settles it.
 */

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx_done.h"

/* ---- Trust --------------------------------------------------------------- */

static void
trust_set(struct mana_txq *txq, enum mana_tx_trust trust)
{
	bool is_full = trust == MANA_TX_TRUST_FULL;

	txq->trust = trust;
	/* In a quarter of the ring at least one WQE asks. */
	txq->group_wqes = is_full ? RTE_MAX(txq->limit / 4, 1u) : 1;
	txq->group_bu = (txq->sq.mask_bu + 1) / 4;
	/* Groups may be over without a CQE: which is the newest's is unsure. */
	txq->run_max = txq->is_long || txq->nb_unsure != 0 ?
			       0 : RTE_MIN(txq->group_wqes, txq->group_bu);
	txq->run_room = 0;
	txq->no_cqe = (uint64_t)is_full << MANA_TX_OOB_NO_CQE_S;
	txq->trust_mask = is_full ? txq->sq.mask_bu : 0;
	txq->trust_want = trust == MANA_TX_TRUST_LEARNING ||
			  txq->nb_unsure != 0;
}

void
mana_tx_trust_reset(struct mana_txq *txq)
{
	txq->nb_right = 0;
	txq->last_right = 0;
	txq->nb_unsure = 0;
	trust_set(txq, MANA_TX_TRUST_LEARNING);
}

static void
trust_end(struct mana_txq *txq, uint32_t nb_unsure)
{
	if (txq->trust == MANA_TX_TRUST_FULL)
		txq->stats.cqe_position++;
	txq->nb_unsure = RTE_MIN(txq->nb_unsure + nb_unsure,
				 (uint32_t)UINT8_MAX);
	trust_set(txq, MANA_TX_TRUST_DENIED);
}

/* Positions are compared modulo the ring: the field may count laps or not. */
static bool
is_at(const struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	return ((position ^ bu) & txq->sq.mask_bu) == 0;
}

/* A good CQE of a WQE at bu while every WQE asks. */
static void
trust_learn(struct mana_txq *txq, uint32_t position, uint32_t bu)
{
	uint32_t at = bu & txq->sq.mask_bu;

	if (!is_at(txq, position, bu)) {
		trust_end(txq, 0);
		return;
	}
	/* Each further in the ring than the last: all are distinct. */
	if (at <= txq->last_right)
		txq->nb_right = 0;
	txq->last_right = at;
	if (at != 0 && ++txq->nb_right == MANA_TX_TRUST_AFTER)
		trust_set(txq, MANA_TX_TRUST_FULL);
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

/* What is known of a WQE of this group; bursts of one run record nothing. */
static uint32_t
info_of(const struct mana_txq *txq, const struct mana_tx_group *group,
	const struct mana_tx_place *place)
{
	if (group->bu_end - place->bu == group->wqe_end - place->wqe)
		return MANA_TX_INFO(1, 1);
	return txq->info[place->wqe & txq->mask];
}

/* Free the WQEs up to end, which is in the oldest group or is its end. */
static void
release_to(struct mana_txq *txq, uint32_t end)
{
	const struct mana_tx_group *group =
		&txq->groups[txq->group_ci & txq->mask];
	struct mana_tx_place place = { txq->ci, txq->sq.ci };
	uint32_t mbuf_end = txq->mbuf_ci;
	uint32_t info;

	for (; place.wqe != end; place.wqe++) {
		info = info_of(txq, group, &place);
		place.bu += info & MANA_TX_INFO_BU_M;
		mbuf_end += info >> MANA_TX_INFO_MBUFS_S;
	}
	txq->ci = place.wqe;
	txq->sq.ci = place.bu;
	mana_tx_free_to(txq, group->mp, mbuf_end);
	if (end == group->wqe_end)
		txq->group_ci++;
}

static void
release_group(struct mana_txq *txq)
{
	release_to(txq, txq->groups[txq->group_ci & txq->mask].wqe_end);
}

/*
 * The WQE at a position, of those from place on to the end of the group. On
 * success the place is behind it.
 */
static bool
find_wqe(const struct mana_txq *txq, const struct mana_tx_group *group,
	 uint32_t position, struct mana_tx_place *place)
{
	struct mana_tx_place at = *place;
	bool found = false;
	uint32_t i;

	for (i = 0; i <= txq->mask && at.wqe != group->wqe_end && !found; i++) {
		found = is_at(txq, position, at.bu);
		at.bu += info_of(txq, group, &at) & MANA_TX_INFO_BU_M;
		at.wqe++;
	}
	if (found)
		*place = at;
	return found;
}

bool
mana_tx_cqe_follow(const struct mana_txq *txq, struct mana_tx_cqe cqe,
		   const struct mana_tx_group *group,
		   struct mana_tx_place *place)
{
	if (cqe.type == MANA_CQE_TX_OKAY ||
	    (group->wqe_end - place->wqe == 1 &&
	     (txq->trust != MANA_TX_TRUST_FULL ||
	      is_at(txq, cqe.position, place->bu)))) {
		place->wqe = group->wqe_end;
		place->bu = group->bu_end;
		return true;
	}
	if (txq->trust == MANA_TX_TRUST_FULL &&
	    find_wqe(txq, group, cqe.position, place))
		return true;
	place->bu += info_of(txq, group, place) & MANA_TX_INFO_BU_M;
	place->wqe++;
	return false;
}

/* ---- Odd completions ------------------------------------------------------- */

void
mana_txq_die(struct mana_txq *txq, enum mana_queue_fate fate)
{
	txq->fate = fate;
	txq->limit = 0;
	txq->run_room = 0;
}

/* The packet of this CQE was not sent, but it is done with. */
static void
count_error(struct mana_txq *txq, uint32_t type)
{
	if (type < MANA_CQE_TX_ERR_FIRST || type > MANA_CQE_TX_ERR_LAST) {
		txq->stats.cqe_unknown++;
		return;
	}
	txq->stats.cqe_error[type - MANA_CQE_TX_ERR_FIRST]++;
	if (type == MANA_CQE_TX_GDMA_ERR && txq->fate == MANA_QUEUE_ALIVE)
		mana_txq_die(txq, MANA_QUEUE_DISABLED);
}

/* Releases what it covers, or the oldest WQE alone when that is not known. */
static void
take_error(struct mana_txq *txq, struct mana_tx_cqe cqe)
{
	const struct mana_tx_group *group =
		&txq->groups[txq->group_ci & txq->mask];
	struct mana_tx_place place = { txq->ci, txq->sq.ci };

	count_error(txq, cqe.type);
	if (!mana_tx_cqe_follow(txq, cqe, group, &place))
		trust_end(txq, place.wqe != group->wqe_end);
	release_to(txq, place.wqe);
}

/* How far behind the oldest group the one at a position is; -1: nowhere. */
static int32_t
find_group(const struct mana_txq *txq, uint32_t position, uint32_t max)
{
	uint32_t nb = txq->group_pi - txq->group_ci;
	uint32_t i;

	/* What a device writes that knows no position. */
	if (is_at(txq, position, 0))
		return -1;
	for (i = 0; i < nb && i <= max; i++)
		if (is_at(txq, position,
			  txq->groups[(txq->group_ci + i) & txq->mask].bu_at))
			return i;
	return -1;
}

/* Whether the WQE of the group that was released last is at this position. */
static bool
is_last(const struct mana_txq *txq, uint32_t position)
{
	const struct mana_tx_group *last =
		&txq->groups[(txq->group_ci - 1) & txq->mask];

	if (txq->group_pi - txq->group_ci <= txq->mask)
		return is_at(txq, position, last->bu_at);
	/* The newest has its place: at least it is not far behind. */
	return ((txq->sq.ci - 1 - position) & txq->sq.mask_bu) <
	       GDMA_SQ_WQE_MAX_BU;
}

/*
 * The first good CQE with a wrong position. Once more that of the last group:
 * it releases nothing. Or of a later one: some have been lost, perhaps.
 */
static void
take_mismatch(struct mana_txq *txq, uint32_t position)
{
	int32_t ahead = find_group(txq, position, UINT32_MAX);

	if (ahead < 0 && is_last(txq, position)) {
		txq->stats.cqe_spurious++;
		trust_end(txq, 1);
		return;
	}
	trust_end(txq, RTE_MAX(ahead, 0));
	release_group(txq);
}

/* A good CQE while it is unsure to which group it belongs. */
static void
take_unsure(struct mana_txq *txq, uint32_t position)
{
	int32_t ahead = find_group(txq, position, txq->nb_unsure);

	release_group(txq);
	if (ahead < 0)
		return;
	while (ahead-- > 0)
		release_group(txq);
	txq->nb_unsure = 0;
	trust_set(txq, MANA_TX_TRUST_DENIED);
}

static void
odd_cqe(struct mana_txq *txq, struct mana_tx_cqe cqe)
{
	if (txq->group_ci == txq->group_pi) {
		txq->stats.cqe_spurious++;
		return;
	}
	if (cqe.type != MANA_CQE_TX_OKAY) {
		take_error(txq, cqe);
		return;
	}
	switch (txq->trust) {
	case MANA_TX_TRUST_FULL:
		take_mismatch(txq, cqe.position);
		break;
	case MANA_TX_TRUST_LEARNING:
		trust_learn(txq, cqe.position,
			    txq->groups[txq->group_ci & txq->mask].bu_at);
		release_group(txq);
		break;
	default:
		take_unsure(txq, cqe.position);
		break;
	}
}

/* Not a CQE of ours. True when there may be one behind it. */
static bool
skip(struct mana_txq *txq, uint32_t trailer)
{
	switch (mana_cq_state(&txq->cq, txq->cq.ci, trailer)) {
	case MANA_CQE_EMPTY:
		return false;
	case MANA_CQE_FOREIGN:
		txq->stats.cqe_foreign++;
		return true;
	default:
		break;
	}
	txq->stats.cqe_overrun++;
	mana_cq_close(&txq->cq);
	mana_txq_die(txq, MANA_QUEUE_OVERRUN);
	return false;
}

__rte_noinline bool
mana_tx_reap_odd(struct mana_txq *txq, uint32_t trailer, struct mana_tx_cqe cqe)
{
	bool is_ours = mana_cq_is_ours(&txq->cq, txq->cq.ci, trailer);

	if (!is_ours && !skip(txq, trailer))
		return false;
	txq->cq.ci++;
	if (is_ours)
		odd_cqe(txq, cqe);
	if (mana_cq_update(&txq->cq))
		txq->stats.cq_doorbells++;
	return true;
}

__rte_noinline void
mana_tx_reap(struct mana_txq *txq, struct mana_tx_seen seen)
{
	struct mana_tx_cqe cqe;
	uint32_t trailer, i;

	/* Bounded, should a device write them faster than we read. */
	for (i = 0; i <= txq->cq.mask; i++)
		if (mana_tx_reap_good(txq, UINT32_MAX, seen, &trailer, &cqe) ||
		    !mana_tx_reap_odd(txq, trailer, cqe))
			break;
}

/* ---- Cleanup ---------------------------------------------------------------- */

/*
 * When a CQE of ours completes more than max WQEs: release as many, and leave
 * it for the rest.
 */
static bool
reap_part(struct mana_txq *txq, struct mana_tx_cqe cqe, uint32_t max)
{
	struct mana_tx_place place = { txq->ci, txq->sq.ci };

	if (txq->group_ci == txq->group_pi)
		return false;
	(void)mana_tx_cqe_follow(txq, cqe,
				 &txq->groups[txq->group_ci & txq->mask],
				 &place);
	if (place.wqe - txq->ci <= max)
		return false;
	release_to(txq, txq->ci + max);
	return true;
}

uint32_t
mana_txq_done_cleanup(struct mana_txq *txq, uint32_t max)
{
	const uint32_t start = txq->ci;
	const struct mana_tx_seen none = mana_tx_seen_none(txq);
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
		if (mana_tx_reap_good(txq, left, none, &trailer, &cqe))
			break;
		left = max - (txq->ci - start);
		if ((mana_cq_is_ours(&txq->cq, txq->cq.ci, trailer) &&
		     reap_part(txq, cqe, left)) ||
		    !mana_tx_reap_odd(txq, trailer, cqe))
			break;
	}
	return txq->ci - start;
}
