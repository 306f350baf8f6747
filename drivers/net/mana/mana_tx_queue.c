/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Send queues: laying the ring, completions, emptying it.
 *
 * Every WQE asks for a completion, and completions arrive in posting order:
 * the n-th CQE belongs to the n-th WQE (Linux mana_en.c mana_poll_tx_cq,
 * OpenVMM net_mana). tx_wqe_offset is not used: the device may leave it 0.
 */

#include <errno.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx.h"

static int
mana_txq_conf_check(const struct mana_txq_conf *conf)
{
	if (conf->mbufs == NULL || conf->info == NULL || conf->nb_desc == 0 ||
	    !rte_is_power_of_2(conf->nb_mbufs) ||
	    conf->nb_desc > conf->nb_mbufs || conf->max_sge == 0 ||
	    conf->max_sge > GDMA_SQ_WQE_MAX_SGE)
		return -EINVAL;
	if (conf->vp_offset > MANA_TX_LOOB_LONG_VP_M)
		return -ERANGE;
	return 0;
}

/*
 * The queue's part of the OOB. In the long form Linux fills only the short
 * offset, OpenVMM only the long one, and both work: fill both where the value
 * fits.
 */
static void
mana_txq_set_oob(struct mana_txq *txq, const struct mana_txq_conf *conf)
{
	txq->is_long = conf->vp_offset > MANA_TX_OOB_SHORT_VP_M;
	txq->plain_match = txq->is_long ? UINT64_MAX : 0;
	txq->oob = RTE_SHIFT_VAL64(conf->cq_id & MANA_TX_OOB_VCQ_M,
				   MANA_TX_OOB_VCQ_S) |
		   RTE_SHIFT_VAL64(conf->sq_id >> MANA_TX_VSQ_FRAME_OF_SQ_S &
				   MANA_TX_OOB_VSQ_FRAME_M,
				   MANA_TX_OOB_VSQ_FRAME_S);
	if (!txq->is_long)
		txq->oob |= RTE_SHIFT_VAL64(conf->vp_offset,
					    MANA_TX_OOB_SHORT_VP_S);
	txq->loob = RTE_SHIFT_VAL64(conf->vp_offset, MANA_TX_LOOB_LONG_VP_S);
}

int
mana_txq_init(struct mana_txq *txq, const struct mana_txq_conf *conf)
{
	struct mana_cq cq;
	struct mana_wq sq;
	int ret;

	ret = mana_txq_conf_check(conf);
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
	txq->pi = 0;
	txq->ci = 0;
	txq->mbufs = conf->mbufs;
	txq->info = conf->info;
	txq->mask = conf->nb_mbufs - 1;
	/* Each outstanding WQE may give a CQE. */
	txq->limit = RTE_MIN((uint32_t)conf->nb_desc, conf->nb_cqe);
	txq->mp = NULL;
	txq->last_plain = 0;
	txq->max_sge = conf->max_sge;
	txq->fate = MANA_QUEUE_ALIVE;
	txq->bounce = conf->bounce;
	txq->bounce_mp = conf->bounce_mp;
	txq->port_id = conf->port_id;
	txq->queue_id = conf->queue_id;
	mana_txq_set_oob(txq, conf);
	return 0;
}

static __rte_cold void
mana_txq_die(struct mana_txq *txq, enum mana_queue_fate fate)
{
	txq->fate = fate;
	txq->limit = 0;
}

/* The packet of this CQE was not sent, but it is done with. */
static __rte_noinline __rte_cold void
mana_tx_cqe_error(struct mana_txq *txq, uint32_t type)
{
	if (type < MANA_CQE_TX_ERR_FIRST || type > MANA_CQE_TX_ERR_LAST) {
		txq->stats.cqe_unknown++;
		return;
	}
	txq->stats.cqe_error[type - MANA_CQE_TX_ERR_FIRST]++;
	if (type == MANA_CQE_TX_GDMA_ERR && txq->fate == MANA_QUEUE_ALIVE)
		mana_txq_die(txq, MANA_QUEUE_DISABLED);
}

/* Not a CQE of ours. True when there may be one behind it. */
static __rte_noinline __rte_cold bool
mana_tx_skip(struct mana_txq *txq, uint32_t trailer)
{
	if (mana_cq_state(&txq->cq, txq->cq.ci, trailer) ==
	    MANA_CQE_FOREIGN) {
		txq->stats.cqe_foreign++;
		return true;
	}
	txq->stats.cqe_overrun++;
	mana_cq_close(&txq->cq);
	mana_txq_die(txq, MANA_QUEUE_OVERRUN);
	return false;
}

/* Free nb packets from the oldest on. When all are PLAIN no mbuf is touched. */
static inline void
mana_tx_free(struct mana_txq *txq, uint32_t nb, bool all_plain)
{
	while (nb > 0) {
		uint32_t at = txq->ci & txq->mask;
		uint32_t run = RTE_MIN(nb, txq->mask + 1 - at);

		if (likely(all_plain))
			rte_mempool_put_bulk(txq->mp, (void **)&txq->mbufs[at],
					     run);
		else
			rte_pktmbuf_free_bulk(&txq->mbufs[at], run);
		txq->ci += run;
		nb -= run;
	}
}

uint32_t
mana_tx_reap(struct mana_txq *txq, uint32_t max)
{
	const uint32_t posted = mana_txq_nb_posted(txq);
	uint32_t budget = mana_cq_credit(&txq->cq);
	uint32_t all = MANA_TX_INFO_PLAIN;
	uint32_t nb = 0, nb_bu = 0;

	for (; budget > 0 && nb < max; budget--) {
		uint32_t idx = txq->cq.ci;
		uint32_t trailer = mana_cq_trailer(&txq->cq, idx);
		uint32_t info, type;

		if (!mana_cq_is_ours(&txq->cq, idx, trailer)) {
			if (likely(mana_cq_state(&txq->cq, idx, trailer) ==
				   MANA_CQE_EMPTY) ||
			    !mana_tx_skip(txq, trailer))
				break;
			txq->cq.ci = idx + 1;
			continue;
		}
		txq->cq.ci = idx + 1;
		if (unlikely(nb == posted)) {
			txq->stats.cqe_spurious++;
			continue;
		}
		type = mana_cqe_load(&mana_cq_cqe(&txq->cq, idx)->tx.header) &
		       MANA_CQE_TYPE_M;
		if (unlikely(type != MANA_CQE_TX_OKAY))
			mana_tx_cqe_error(txq, type);
		info = txq->info[(txq->ci + nb) & txq->mask];
		nb_bu += info & MANA_TX_INFO_BU_M;
		all &= info;
		nb++;
	}

	txq->sq.ci += nb_bu;
	mana_tx_free(txq, nb, all != 0);
	mana_cq_update(&txq->cq);
	return nb;
}

uint32_t
mana_txq_done_cleanup(struct mana_txq *txq, uint32_t max)
{
	/* Closed: the ring may be gone. */
	if (txq->cq.ring == NULL || mana_cq_is_closed(&txq->cq))
		return 0;
	return mana_tx_reap(txq, max == 0 ? UINT32_MAX : max);
}

void
mana_txq_close(struct mana_txq *txq)
{
	txq->limit = 0;
	mana_cq_close(&txq->cq);
}

void
mana_txq_release_mbufs(struct mana_txq *txq)
{
	mana_txq_close(txq);
	mana_tx_free(txq, mana_txq_nb_posted(txq), false);
	txq->sq.ci = txq->sq.pi;
}

uint32_t
mana_txq_nb_done(const struct mana_txq *txq)
{
	const struct mana_cq *cq = &txq->cq;
	uint32_t i, idx;

	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq); i++) {
		idx = cq->ci + i;
		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
	}
	return RTE_MIN(i, mana_txq_nb_posted(txq));
}

uint64_t
mana_txq_stats_errors(const struct mana_txq_stats *stats)
{
	uint64_t nb = stats->cqe_unknown + stats->drop_offload +
		      stats->drop_malformed + stats->drop_nomem +
		      stats->drop_mr;
	uint32_t i;

	for (i = 0; i < MANA_NB_CQE_TX_ERR; i++)
		nb += stats->cqe_error[i];
	return nb;
}
