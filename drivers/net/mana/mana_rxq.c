/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A receive queue: its memory (setup, release) and its kernel objects. All of
 * them together are in mana_rxq_start.c.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_queue.h"

/* ---- Setup and release -------------------------------------------------- */

struct rte_mbuf **
mana_rxq_mbufs_alloc(const struct mana_priv *priv,
		     const struct mana_rxq_ctl *ctl)
{
	size_t nb = (size_t)ctl->nb_mbufs *
		    mana_rx_shape_max_segs(priv, &ctl->shape);

	return mana_queue_alloc("mana_rxq", nb * sizeof(*ctl->mbufs),
				ctl->socket_id);
}

struct mana_rxq_ctl *
mana_rxq_alloc(struct mana_priv *priv, enum mana_rxq_kind kind, uint16_t owner,
	       uint16_t nb_desc, int socket_id,
	       const struct mana_rx_shape *shape)
{
	struct mana_rxq_ctl *ctl;

	ctl = mana_queue_alloc("mana_rxq", sizeof(*ctl), socket_id);
	if (ctl == NULL)
		return NULL;
	ctl->kind = kind;
	ctl->owner = owner;
	ctl->rxq.ctl = ctl;
	ctl->rxq.port_id = priv->data->port_id;
	ctl->rxq.queue_id = owner;
	ctl->rxq.is_sink = kind == MANA_RXQ_SINK;
	mana_mr_cache_init(&ctl->rxq.mr, &priv->mr_generation, priv);
	ctl->shape = *shape;
	ctl->mp = shape->segs[0].mp;
	ctl->nb_desc = nb_desc;
	ctl->nb_cqe = mana_queue_nb_cqe(priv, nb_desc, 1);
	ctl->free_thresh = mana_rx_refill_thresh(0, nb_desc, ctl->nb_cqe);
	ctl->socket_id = socket_id;
	ctl->nb_mbufs = rte_align32pow2(nb_desc);
	ctl->mbufs = mana_rxq_mbufs_alloc(priv, ctl);
	if (ctl->mbufs == NULL) {
		rte_free(ctl);
		return NULL;
	}
	return ctl;
}

void
mana_rxq_free(struct mana_rxq_ctl *ctl)
{
	if (ctl == NULL)
		return;
	rte_free(ctl->rxq.more.backlog);
	rte_free(ctl->mbufs);
	rte_free(ctl);
}

int
mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf,
	       struct rte_mempool *mp)
{
	uint64_t offloads = conf->offloads |
			    priv->data->dev_conf.rxmode.offloads;
	struct mana_rx_shape shape;
	struct mana_rxq_ctl *ctl;
	int ret;

	ret = mana_rx_shape_take(priv, conf, offloads, mp, &shape);
	if (ret == 0)
		ret = mana_rx_shape_check(priv, &shape, priv->data->mtu);
	if (ret != 0)
		return ret;
	ctl = mana_rxq_alloc(priv, MANA_RXQ_ETHDEV, queue_id, nb_desc,
			     socket_id, &shape);
	if (ctl == NULL)
		return -ENOMEM;
	ctl->free_thresh = mana_rx_refill_thresh(conf->rx_free_thresh, nb_desc,
						 ctl->nb_cqe);
	ctl->is_deferred = conf->rx_deferred_start;
	ctl->offloads = offloads;
	ret = mana_rx_shape_add_pools(priv, &shape);
	if (ret != 0) {
		mana_rxq_free(ctl);
		return ret;
	}
	if (priv->idle_ring != NULL)
		mana_rxq_idle(priv, ctl);
	priv->data->rx_queues[queue_id] = &ctl->rxq;
	return 0;
}

void
mana_rxq_release(struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	if (ctl == NULL)
		return;
	mana_stats_fold_rxq(priv, ctl);
	/* Its pool may go now, and with it memory that nobody tells us of. */
	if (!priv->data->dev_started)
		mana_mr_remove_foreign(priv);
	mana_rxq_free(ctl);
}

/* ---- Kernel objects ------------------------------------------------------ */

void
mana_rxq_destroy(const struct mana_priv *priv, struct ibv_cq *cq,
		 struct ibv_wq *wq)
{
	int ret;

	ret = mana_verbs_wq_destroy(wq);
	(void)mana_queue_is_gone(priv, "receive queue", ret);
	ret = mana_verbs_cq_destroy(cq);
	(void)mana_queue_is_gone(priv, "CQ", ret);
}

/* The buffers of its WQEs, as mana_rx_shape_get(). A sink takes any frame. */
static int
rxq_shape(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
	  struct mana_rx_seg *segs, uint16_t *nb_segs)
{
	*nb_segs = 0;
	if (ctl->kind == MANA_RXQ_SINK)
		return 0;
	return mana_rx_shape_get(priv, &ctl->shape, priv->data->mtu, segs,
				 nb_segs);
}

int
mana_rxq_create(struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
		struct ibv_cq **cq, struct ibv_wq **wq)
{
	uint32_t vectors = RTE_MAX(priv->caps.nb_comp_vectors, 1u);
	struct ibv_comp_channel *channel = NULL;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs;
	int ret;

	/* A sink wakes nobody. */
	if (priv->rx_intrs != NULL && ctl->kind != MANA_RXQ_SINK)
		channel = priv->rx_intrs[ctl->owner].channel;

	*cq = NULL;
	*wq = NULL;
	ret = rxq_shape(priv, ctl, segs, &nb_segs);
	if (ret == 0)
		ret = mana_verbs_rings_from(priv->ctx, &priv->rings,
					    ctl->socket_id);
	if (ret == 0)
		ret = mana_verbs_cq_create(priv->ctx, ctl->nb_cqe, channel,
					   ctl->owner % vectors, cq);
	if (ret == 0)
		ret = mana_verbs_wq_create(priv->parent, *cq, ctl->nb_desc,
					   RTE_MAX(nb_segs, 1), wq);
	if (ret != 0) {
		mana_rxq_destroy(priv, *cq, *wq);
		*cq = NULL;
		*wq = NULL;
	}
	return ret;
}

int
mana_rxq_lay(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
	     struct mana_rxq *rxq, struct ibv_cq *cq, struct ibv_wq *wq)
{
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	struct mana_rxq_conf conf;
	struct mana_verbs_rq rq;
	uint16_t nb_segs;
	int ret;

	ret = rxq_shape(priv, ctl, segs, &nb_segs);
	if (ret == 0)
		ret = mana_verbs_rq_get(wq, cq, &rq);
	if (ret != 0)
		return ret;
	conf = (struct mana_rxq_conf){
		.rq_ring = rq.rq_ring,
		.rq_bytes = rq.rq_bytes,
		.cq_ring = rq.cq_ring,
		.nb_cqe = ctl->nb_cqe,
		.db_page = rq.doorbell_page,
		.mp = ctl->mp,
		.segs = segs,
		.nb_segs = nb_segs,
		.mbufs = ctl->mbufs,
		.nb_mbufs = ctl->nb_mbufs,
		.nb_desc = ctl->nb_desc,
		.free_thresh = ctl->free_thresh,
		.port_id = ctl->rxq.port_id,
		.queue_id = ctl->rxq.queue_id,
		.vlan_strip = (ctl->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
		.csum = (ctl->offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0,
	};
	ret = mana_rxq_init(rxq, &conf);
	/* Written now, so that a lack of mbufs is found before traffic flows. */
	return ret != 0 ? ret : mana_rxq_fill(rxq);
}

int
mana_rxq_enable(struct mana_rxq *rxq, struct ibv_cq *cq, struct ibv_wq *wq)
{
	struct mana_verbs_rq rq;
	int ret;

	ret = mana_verbs_rq_get(wq, cq, &rq);
	if (ret == 0)
		mana_rxq_open(rxq, rq.rq_id, rq.cq_id);
	return ret;
}

/* Of the pools of a queue's WQEs that with the fewest mbufs left. */
static void
diag_pool(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
	  uint32_t nb_posted)
{
	const struct mana_rx_scatter *scatter = &ctl->rxq.scatter;
	struct rte_mempool *mp = ctl->mp;
	uint32_t per_wqe = scatter->nb_segs == 0;
	uint16_t i;

	for (i = 0; i < scatter->nb_segs; i++)
		if (rte_mempool_avail_count(scatter->segs[i].mp) <
		    rte_mempool_avail_count(mp))
			mp = scatter->segs[i].mp;
	for (i = 0; i < scatter->nb_segs; i++)
		per_wqe += scatter->segs[i].mp == mp;
	MANA_PORT_LOG(ERR, priv->data->name,
		      "receive queue %u: mempool %s has too few mbufs left: it wants %u, %u are there",
		      ctl->owner, mp->name, ctl->nb_desc * per_wqe,
		      nb_posted * per_wqe + rte_mempool_avail_count(mp));
}

void
mana_rxq_diag(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
	      uint32_t nb_posted, bool is_fill, int error)
{
	if (is_fill && error == -ENOMEM)
		diag_pool(priv, ctl, nb_posted);
	else
		mana_diag_object(priv->data->name, &priv->netdev,
				 "receive queue", ctl->owner, error);
}

void
mana_rxq_idle(const struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	struct mana_rxq *rxq = &ctl->rxq;

	memset(&rxq->rq, 0, sizeof(rxq->rq));
	rxq->mp = ctl->mp;
	rxq->limit = 0;
	rxq->refill_thresh = 1;
	rxq->rest = (struct mana_rx_rest){0};
	rxq->odd.rest = 0;
	rxq->odd.hungry = 0;
	rxq->fate = MANA_QUEUE_ALIVE;
	/* Nothing is ever rung on it: any address will do as doorbell page. */
	(void)mana_cq_init(&rxq->cq, priv->idle_ring, MANA_MIN_CQE, false,
			   priv->idle_ring);
}
