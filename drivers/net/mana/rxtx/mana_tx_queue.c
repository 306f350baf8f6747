/* SPDX-License-Identifier: BSD-3-Clause */

/* Tx queues: their start and end, the pools that they know, their state. */

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx.h"

/* ---- Pools ---------------------------------------------------------------- */

/*
 * When all slots are taken, another pool replaces one after this many packets:
 * the look-up of a new pool in the table of regions takes a lock.
 */
#define MISSES_BEFORE_REPLACE 256

/*
 * Packets until the registration of a pool is tried again after it failed, for
 * instance because of the limit for locked memory. A try may enter the kernel, so
 * each wait is twice as long as the one before.
 */
#define MIN_RETRY_WAIT 256u
#define MAX_RETRY_WAIT 32768u

static bool
pool_take(struct mana_txq *txq, struct mana_tx_pool *pool)
{
	if (!pool->has_key && pool->nb_wait-- == 0) {
		pool->has_key = mana_mr_pool_key(&txq->mr, pool->mp, &pool->lkey);
		pool->nb_wait = pool->retry_wait;
		pool->retry_wait = RTE_MIN(pool->retry_wait * 2, MAX_RETRY_WAIT);
	}
	if (!pool->has_key)
		return false;
	txq->mp = pool->mp;
	txq->lkey = pool->lkey;
	return true;
}

bool
mana_tx_pool_use(struct mana_txq *txq, struct rte_mempool *mp)
{
	struct mana_tx_pool *pool;

	/* NULL marks an empty slot; an invalid mbuf may have it, too. */
	if (mp == NULL)
		return false;
	for (uint32_t i = 0; i < MANA_TX_NB_POOLS; i++)
		if (txq->pools[i].mp == mp)
			return pool_take(txq, &txq->pools[i]);
	pool = &txq->pools[txq->pool_next % MANA_TX_NB_POOLS];
	if (pool->mp != NULL && ++txq->nb_pool_misses < MISSES_BEFORE_REPLACE)
		return false;
	txq->nb_pool_misses = 0;
	txq->pool_next++;
	*pool = (struct mana_tx_pool){ .mp = mp, .retry_wait = MIN_RETRY_WAIT };
	return pool_take(txq, pool);
}

void
mana_tx_pools_forget(struct mana_txq *txq)
{
	mana_mr_cache_sync(&txq->mr);
	memset(txq->pools, 0, sizeof(txq->pools));
	txq->mp = NULL;
	txq->pool_next = 0;
	txq->nb_pool_misses = 0;
}

/* ---- Start and end --------------------------------------------------------- */

static int
mana_txq_conf_check(const struct mana_txq_conf *conf)
{
	if (conf->mbufs == NULL || conf->info == NULL || conf->groups == NULL ||
	    conf->nb_desc == 0 || !rte_is_power_of_2(conf->nb_wqes) ||
	    conf->nb_desc > conf->nb_wqes || !rte_is_power_of_2(conf->nb_mbufs) ||
	    conf->nb_wqes > conf->nb_mbufs || conf->max_sge == 0 ||
	    conf->max_sge > GDMA_SQ_WQE_MAX_SGE)
		return -EINVAL;
	if (conf->vp_offset > MANA_TX_LOOB_LONG_VP_M ||
	    (conf->vp_offset > MANA_TX_OOB_SHORT_VP_M &&
	     (conf->form == MANA_TX_FORM_SHORT ||
	      conf->vport == MANA_TX_VPORT_SHORT)))
		return -ERANGE;
	return 0;
}

/*
 * The queue's part of the OOB. In the long form Linux fills only the short
 * offset, OpenVMM only the long one, and both work: fill both where the value
 * fits, unless one is configured.
 */
static void
mana_txq_set_oob(struct mana_txq *txq, const struct mana_txq_conf *conf)
{
	bool is_far = conf->vp_offset > MANA_TX_OOB_SHORT_VP_M;

	txq->is_long = conf->form == MANA_TX_FORM_LONG || is_far;
	txq->is_form_changed = false;
	txq->form_tries = conf->form == MANA_TX_FORM_AUTO && !is_far ?
				  MANA_TX_FORM_TRIES : 0;
	txq->oob = MANA_SHIFT_VAL64(conf->cq_id & MANA_TX_OOB_VCQ_M,
				    MANA_TX_OOB_VCQ_S) |
		   MANA_SHIFT_VAL64(conf->sq_id >> MANA_TX_VSQ_FRAME_OF_SQ_S &
				    MANA_TX_OOB_VSQ_FRAME_M,
				    MANA_TX_OOB_VSQ_FRAME_S);
	if (!is_far)
		txq->oob |= MANA_SHIFT_VAL64(conf->vp_offset,
					     MANA_TX_OOB_SHORT_VP_S);
	txq->long_drop = conf->vport != MANA_TX_VPORT_LONG ? 0 :
		MANA_SHIFT_VAL64(MANA_TX_OOB_SHORT_VP_M, MANA_TX_OOB_SHORT_VP_S);
	txq->loob = conf->vport == MANA_TX_VPORT_SHORT ? 0 :
		MANA_SHIFT_VAL64(conf->vp_offset, MANA_TX_LOOB_LONG_VP_S);
}

int
mana_txq_init(struct mana_txq *txq, const struct mana_txq_conf *conf)
{
	int ret = mana_txq_conf_check(conf);
	struct mana_cq cq;
	struct mana_wq sq;

	if (ret == 0)
		ret = mana_wq_init(&sq, conf->sq_ring, conf->sq_bytes,
				   conf->db_page, GDMA_DB_SQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&cq, conf->cq_ring, conf->nb_cqe, true,
				   conf->db_page);
	if (ret != 0)
		return ret;

	mana_wq_open(&sq, conf->sq_id);
	mana_cq_open(&cq, conf->cq_id, conf->sq_id);
	txq->sq = sq;
	txq->cq = cq;
	txq->ci = txq->pi;
	txq->mbufs = conf->mbufs;
	txq->mbuf_mask = conf->nb_mbufs - 1;
	txq->mbuf_pi = 0;
	txq->mbuf_ci = 0;
	txq->info = conf->info;
	txq->groups = conf->groups;
	txq->mask = conf->nb_wqes - 1;
	txq->group_pi = 0;
	txq->group_ci = 0;
	txq->open_pi = txq->pi;
	txq->open_bu = 0;
	/* Each outstanding WQE may give a CQE. */
	txq->limit = RTE_MIN((uint32_t)conf->nb_desc, conf->nb_cqe);
	mana_txq_set_oob(txq, conf);
	mana_tx_offset_check_reset(txq, conf->no_suppress);
	mana_tx_pools_forget(txq);
	txq->max_sge = conf->max_sge;
	txq->mtu = conf->mtu;
	/* Their limits follow the MTU. */
	memset(txq->known, 0, sizeof(txq->known));
	txq->last_known = txq->known;
	mana_atomic_store(&txq->failure, MANA_FAILURE_NONE);
	txq->bounce = conf->bounce;
	txq->bounce_mp = conf->bounce_mp;
	return 0;
}

void
mana_txq_close(struct mana_txq *txq)
{
	txq->limit = 0;
	txq->run_room = 0;
	/* In this mode, mana_tx_reap() reads no CQE of a closed CQ. */
	txq->reap = MANA_TX_REAP_ONE;
	mana_cq_close(&txq->cq);
}

void
mana_txq_release_mbufs(struct mana_txq *txq)
{
	mana_tx_free_to(txq, NULL, txq->mbuf_pi);
	mana_txq_forget_mbufs(txq);
}

void
mana_txq_forget_mbufs(struct mana_txq *txq)
{
	mana_txq_close(txq);
	txq->mbuf_ci = txq->mbuf_pi;
	txq->ci = txq->pi;
	txq->sq.ci = txq->sq.pi;
	txq->group_ci = txq->group_pi;
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
	return mana_txq_stats_cqe_errors(stats) + stats->unfinished +
	       stats->drop_offload + stats->drop_malformed +
	       stats->drop_nomem + stats->drop_mr;
}

/*
 * ---- State ------------------------------------------------------------------
 *
 * For any thread, beside the bursts: nothing is freed here.
 */

static bool
look_checked(struct mana_txq *txq)
{
	/* Read with the lock held: the control path waits for its holder. */
	if (unlikely(mana_txq_is_paused(txq))) {
		mana_look_unlock(&txq->look);
		return false;
	}
	mana_pause_fence();
	return true;
}

bool
mana_txq_lock(struct mana_txq *txq)
{
	mana_look_lock(&txq->look);
	return look_checked(txq);
}

bool
mana_txq_trylock(struct mana_txq *txq)
{
	return mana_look_trylock(&txq->look) && look_checked(txq);
}

void
mana_txq_unlock(struct mana_txq *txq)
{
	mana_look_unlock(&txq->look);
}

uint32_t
mana_txq_look_posted(const struct mana_txq *txq)
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

/*
 * Packets whose completions were not looked at, up to max or somewhat more.
 * Bounded whatever a burst on another core does meanwhile.
 */
static uint32_t
mana_tx_nb_done(const struct mana_txq *txq, uint32_t max)
{
	const struct mana_cq *cq = &txq->cq;
	uint32_t posted = mana_txq_look_posted(txq);
	struct mana_tx_place place = mana_tx_place_of(txq);
	const uint32_t start = place.wqe, end = txq->group_pi;
	uint32_t i, idx;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq) && place.group != end &&
	     place.wqe - start < max; i++) {
		idx = cq->ci + i;
		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
		(void)mana_tx_cqe_follow(txq,
					 mana_tx_cqe_read(mana_cq_cqe(cq, idx)),
					 &place);
	}
	return RTE_MIN(place.wqe - start, posted);
}

uint32_t
mana_txq_nb_done(const struct mana_txq *txq)
{
	return mana_tx_nb_done(txq, UINT32_MAX);
}

uint32_t
mana_txq_count(const struct mana_txq *txq)
{
	uint32_t posted = mana_txq_look_posted(txq);
	uint32_t done = mana_txq_nb_done(txq);

	return posted > done ? posted - done : 0;
}

enum mana_desc_state
mana_txq_desc_state(const struct mana_txq *txq, uint32_t offset)
{
	uint32_t posted = mana_txq_look_posted(txq);
	uint32_t limit = *(const volatile uint32_t *)&txq->limit;
	uint32_t nb_free;

	/* The free ones first, then those outstanding, the oldest first. */
	if (offset >= limit)
		return MANA_DESC_NONE;
	nb_free = limit - RTE_MIN(posted, limit);
	if (offset < nb_free)
		return MANA_DESC_DONE;
	offset -= nb_free;
	return offset < mana_tx_nb_done(txq, offset + 1) ? MANA_DESC_DONE :
							   MANA_DESC_POSTED;
}
