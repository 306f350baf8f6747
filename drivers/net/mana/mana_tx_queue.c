/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues: laying the ring, emptying it. */

#include <errno.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_tx.h"
#include "mana_tx_done.h"

static int
mana_txq_conf_check(const struct mana_txq_conf *conf)
{
	if (conf->mbufs == NULL || conf->info == NULL || conf->groups == NULL ||
	    conf->nb_desc == 0 || !rte_is_power_of_2(conf->nb_wqes) ||
	    conf->nb_desc > conf->nb_wqes || !rte_is_power_of_2(conf->nb_mbufs) ||
	    conf->nb_wqes > conf->nb_mbufs || conf->max_sge == 0 ||
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
	txq->oob = MANA_SHIFT_VAL64(conf->cq_id & MANA_TX_OOB_VCQ_M,
				    MANA_TX_OOB_VCQ_S) |
		   MANA_SHIFT_VAL64(conf->sq_id >> MANA_TX_VSQ_FRAME_OF_SQ_S &
				    MANA_TX_OOB_VSQ_FRAME_M,
				    MANA_TX_OOB_VSQ_FRAME_S);
	if (!txq->is_long)
		txq->oob |= MANA_SHIFT_VAL64(conf->vp_offset,
					     MANA_TX_OOB_SHORT_VP_S);
	txq->loob = MANA_SHIFT_VAL64(conf->vp_offset, MANA_TX_LOOB_LONG_VP_S);
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
	mana_tx_trust_reset(txq);
	mana_tx_pools_forget(txq);
	txq->max_sge = conf->max_sge;
	txq->fate = MANA_QUEUE_ALIVE;
	txq->bounce = conf->bounce;
	txq->bounce_mp = conf->bounce_mp;
	txq->port_id = conf->port_id;
	txq->queue_id = conf->queue_id;
	return 0;
}

void
mana_txq_close(struct mana_txq *txq)
{
	txq->limit = 0;
	txq->run_room = 0;
	mana_cq_close(&txq->cq);
}

void
mana_txq_release_mbufs(struct mana_txq *txq)
{
	mana_txq_close(txq);
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
	uint32_t i;

	for (i = 0; i < MANA_NB_CQE_TX_ERR; i++)
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
