/* SPDX-License-Identifier: BSD-3-Clause */

/* One hardware Rx queue: kernel objects, buffers, and its move between lists. */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <rte_malloc.h>

#include "mana_diag.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* ---- Interrupts ------------------------------------------------------------ */

int
mana_rx_hwq_intr_add(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		     uint16_t queue_id)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (hwq->channel == NULL)
		return 0;
	if (epoll_ctl(priv->rx_intrs[queue_id].sources_fd, EPOLL_CTL_ADD,
		      hwq->channel->fd, &event) == 0 ||
	    errno == EEXIST)
		return 0;
	return -errno;
}

void
mana_rx_hwq_intr_remove(const struct mana_priv *priv,
			const struct mana_rx_hwq *hwq, uint16_t queue_id)
{
	if (hwq->channel != NULL && priv->rx_intrs != NULL)
		(void)epoll_ctl(priv->rx_intrs[queue_id].sources_fd,
				EPOLL_CTL_DEL,
				hwq->channel->fd, NULL);
}

/* A CQ's channel is fixed when the CQ is created, so each CQ has its own. */
static int
channel_open(const struct mana_priv *priv, struct mana_rx_hwq *hwq)
{
	int ret;

	if (priv->rx_intrs == NULL)
		return 0;
	ret = mana_verbs_channel_create(priv->ctx, &hwq->channel);
	/* A stopped queue is woken from its start on. */
	if (ret == 0 && priv->data->rx_queue_state[hwq->owner] ==
				RTE_ETH_QUEUE_STATE_STARTED)
		ret = mana_rx_hwq_intr_add(priv, hwq, hwq->owner);
	return ret;
}

/* ---- Kernel objects and buffers ---------------------------------------------- */

static int
objects_create(struct mana_priv *priv, struct mana_rx_hwq *hwq,
	       const struct mana_eth_rxq *ctl, uint32_t nb_sge)
{
	uint32_t vectors = RTE_MAX(priv->caps.nb_comp_vectors, 1u);
	int ret;

	ret = channel_open(priv, hwq);
	if (ret == 0)
		ret = mana_verbs_rings_from(priv->ctx, &priv->rings,
					    ctl != NULL ? ctl->socket_id :
							  SOCKET_ID_ANY);
	if (ret == 0)
		ret = mana_verbs_cq_create(priv->ctx,
					   ctl != NULL ? ctl->nb_cqe :
							 MANA_MIN_CQE,
					   hwq->channel, hwq->owner % vectors,
					   &hwq->cq);
	if (ret == 0)
		ret = mana_verbs_wq_create(priv->parent, hwq->cq, hwq->nb_desc,
					   nb_sge, &hwq->wq);
	return ret;
}

static int
rings_init(const struct mana_priv *priv, struct mana_rx_hwq *hwq,
	   const struct mana_eth_rxq *ctl, const struct mana_rx_seg *segs,
	   uint16_t nb_segs)
{
	struct mana_rxq_conf conf;
	struct mana_verbs_queue queue;
	int ret;

	ret = mana_verbs_rq_get(hwq->wq, hwq->cq, &queue);
	if (ret != 0)
		return ret;
	conf = (struct mana_rxq_conf){
		.rq_ring = queue.ring,
		.rq_bytes = queue.ring_bytes,
		.cq_ring = queue.cq_ring,
		.nb_cqe = ctl->nb_cqe,
		.db_page = queue.doorbell_page,
		.mp = ctl->mp,
		.segs = segs,
		.nb_segs = nb_segs,
		.mbufs = hwq->mbufs,
		.nb_mbufs = rte_align32pow2(hwq->nb_desc),
		.nb_desc = hwq->nb_desc,
		.free_thresh = hwq->free_thresh,
		.port_id = hwq->rxq.port_id,
		.queue_id = hwq->owner,
		.vlan_strip = (ctl->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
		.csum = (ctl->offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0,
		.ptypes = priv->wants_ptypes,
	};
	return mana_rxq_init(&hwq->rxq, &conf);
}

/* Whether the pool stands only one thread at a time. */
static bool
is_single(const struct rte_mempool *mp)
{
	const char *ops = rte_mempool_get_ops(mp->ops_index)->name;

	return (mp->flags & (RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET)) != 0 ||
	       strcmp(ops, "ring_sp_sc") == 0 || strcmp(ops, "ring_sp_mc") == 0 ||
	       strcmp(ops, "ring_mp_sc") == 0;
}

static bool
has_single_pool(const struct mana_eth_rxq *ctl)
{
	uint16_t i;

	for (i = 0; i < ctl->layout.nb_segs; i++)
		if (is_single(ctl->layout.segs[i].mp))
			return true;
	return false;
}

int
mana_rx_hwq_create(struct mana_priv *priv, struct mana_rx_hwq *hwq,
		   uint16_t owner, bool is_polled, bool may_lack, bool *lacks)
{
	const struct mana_eth_rxq *ctl =
		mana_eth_rxq_of(priv->data->rx_queues[owner]);
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs = 0;
	int ret;

	hwq->owner = owner;
	hwq->rxq.port_id = priv->data->port_id;
	hwq->nb_desc = MANA_MIN_DESC;
	mana_mr_cache_init(&hwq->rxq.mr, &priv->mr_generation, priv);
	if (ctl == NULL || ctl->is_released) {
		/* The owner was released: the device drops for want of buffers. */
		ret = objects_create(priv, hwq, NULL, 1);
		goto end;
	}
	hwq->nb_desc = ctl->nb_desc;
	hwq->free_thresh = ctl->free_thresh;
	hwq->offloads = ctl->offloads;
	ret = mana_rx_layout_get(priv, &ctl->layout, priv->data->mtu, segs, &nb_segs);
	if (ret == 0)
		ret = objects_create(priv, hwq, ctl, RTE_MAX(nb_segs, 1));
	if (ret == 0) {
		hwq->mbufs = mana_queue_alloc("mana_rxq",
			(size_t)rte_align32pow2(hwq->nb_desc) *
				RTE_MAX(nb_segs, 1) * sizeof(*hwq->mbufs),
			ctl->socket_id);
		ret = hwq->mbufs == NULL ? -ENOMEM :
		      rings_init(priv, hwq, ctl, segs, nb_segs);
	}
	if (ret != 0)
		goto end;
	hwq->nb_segs = nb_segs;
	hwq->has_buffers = true;
	/* Bursts use the pool now: the ring is filled in the pause. */
	if (is_polled && has_single_pool(ctl)) {
		*lacks = true;
		return 0;
	}
	/* Now, so that a lack of mbufs is found before traffic flows. */
	ret = mana_rxq_fill(&hwq->rxq);
	if (ret == -ENOMEM && may_lack) {
		*lacks = true;
		ret = 0;
	}
end:
	/* -EPROTO: perhaps it is only too large. */
	if (ret != 0 && ret != -EPROTO)
		mana_rx_hwq_diag(priv, hwq, ret);
	return ret;
}

void
mana_rx_hwq_objects_destroy(const struct mana_priv *priv, struct mana_rx_hwq *hwq)
{
	int ret;

	ret = mana_verbs_wq_destroy(hwq->wq);
	(void)mana_queue_is_gone(priv, "Rx queue", ret);
	ret = mana_verbs_cq_destroy(hwq->cq);
	(void)mana_queue_is_gone(priv, "CQ", ret);
	hwq->wq = NULL;
	hwq->cq = NULL;
	mana_rxq_close(&hwq->rxq);
}

void
mana_rx_hwq_destroy(struct mana_priv *priv, struct mana_rx_hwq *hwq, bool is_gone)
{
	mana_rx_hwq_objects_destroy(priv, hwq);
	if (hwq->channel != NULL) {
		/* A child may have inherited it: its close removes nothing. */
		mana_rx_hwq_intr_remove(priv, hwq, hwq->owner);
		mana_verbs_channel_destroy(hwq->channel);
		hwq->channel = NULL;
	}
	if (hwq->has_buffers)
		mana_rxq_release_mbufs(&hwq->rxq, is_gone);
	hwq->has_buffers = false;
	rte_free(hwq->mbufs);
	hwq->mbufs = NULL;
}

/* Of the pools of a queue's WQEs that with the fewest mbufs left. */
static void
diag_pool(const struct mana_priv *priv, const struct mana_rx_hwq *hwq)
{
	const struct mana_rx_scatter *scatter = &hwq->rxq.scatter;
	struct rte_mempool *mp = hwq->rxq.mp;
	uint32_t per_wqe = scatter->nb_segs == 0;
	uint16_t i;

	if (scatter->nb_segs != 0)
		mp = scatter->segs[0].mp;
	for (i = 1; i < scatter->nb_segs; i++)
		if (rte_mempool_avail_count(scatter->segs[i].mp) <
		    rte_mempool_avail_count(mp))
			mp = scatter->segs[i].mp;
	for (i = 0; i < scatter->nb_segs; i++)
		per_wqe += scatter->segs[i].mp == mp;
	MANA_PORT_LOG(ERR, priv->data->name,
		      "Rx queue %u: mempool %s has too few mbufs: needs %u, %u available",
		      hwq->owner, mp->name, hwq->nb_desc * per_wqe,
		      mana_rxq_nb_posted(&hwq->rxq) * per_wqe +
			      rte_mempool_avail_count(mp));
}

void
mana_rx_hwq_diag(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		 int error)
{
	if (hwq->has_buffers && error == -ENOMEM)
		diag_pool(priv, hwq);
	else
		mana_diag_object(priv->data->name, &priv->netdev, "Rx queue",
				 hwq->owner, error);
}

/* ---- Moves -------------------------------------------------------------------- */

/* Two pools of which posted and fresh mbufs may be mixed. */
static bool
can_mix(struct rte_mempool *from, struct rte_mempool *to)
{
	return from == to ||
	       (!is_single(from) && !is_single(to) &&
		rte_pktmbuf_priv_flags(from) == rte_pktmbuf_priv_flags(to));
}

bool
mana_rx_hwq_can_move(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		     const struct mana_eth_rxq *to)
{
	const uint64_t fixed = ~(uint64_t)RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	const struct mana_rxq *rxq = &hwq->rxq;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs, i;

	if (!hwq->has_buffers || rxq->failure != MANA_FAILURE_NONE ||
	    ((hwq->offloads ^ to->offloads) & fixed) != 0 ||
	    hwq->nb_desc != to->nb_desc || hwq->free_thresh != to->free_thresh ||
	    mana_rx_layout_get(priv, &to->layout, priv->data->mtu, segs,
			       &nb_segs) != 0 ||
	    nb_segs != rxq->scatter.nb_segs)
		return false;
	if (nb_segs == 0)
		return to->layout.segs[0].bytes == rxq->buf_bytes &&
		       can_mix(rxq->mp, to->mp);
	for (i = 0; i < nb_segs; i++)
		if (segs[i].mp != rxq->scatter.segs[i].mp ||
		    segs[i].offset != rxq->scatter.segs[i].offset ||
		    segs[i].bytes != rxq->scatter.segs[i].bytes)
			return false;
	return true;
}

void
mana_rx_hwq_move(struct mana_rx_hwq *hwq, struct mana_eth_rxq *from,
		 const struct mana_eth_rxq *to, uint16_t owner)
{
	hwq->owner = owner;
	if (from != NULL)
		mana_stats_fold_hwq(from, &hwq->rxq);
	if (to == NULL || !hwq->has_buffers)
		return;
	hwq->offloads = to->offloads;
	hwq->is_mixed |= hwq->rxq.mp != to->mp;
	mana_rxq_assign(&hwq->rxq, to->owner, to->mp, to->data_delta,
			(to->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0);
}
