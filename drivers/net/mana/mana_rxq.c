/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive queues: their memory (setup, release) and their kernel objects
 * (start, stop).
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_queue.h"

/* ---- Setup and release -------------------------------------------------- */

uint32_t
mana_rx_buf_bytes(const struct rte_mempool *mp)
{
	uint32_t room =
		rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)mp);

	return room > RTE_PKTMBUF_HEADROOM ? room - RTE_PKTMBUF_HEADROOM : 0;
}

int
mana_rx_mtu_check(const struct mana_priv *priv, uint16_t mtu,
		  const struct rte_mempool *mp)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;

	if (mana_rx_buf_bytes(mp) >= frame_bytes)
		return 0;
	MANA_PORT_LOG(ERR, priv->data->name,
		      "MTU %u needs buffers of %u bytes, those of mempool %s have %u: make the pool with data_room_size %u or more",
		      mtu, frame_bytes, mp->name, mana_rx_buf_bytes(mp),
		      frame_bytes + RTE_PKTMBUF_HEADROOM);
	return -EINVAL;
}

static int
rxconf_check(const struct mana_priv *priv, const struct rte_eth_rxconf *conf,
	     const struct rte_mempool *mp)
{
	if (mp == NULL) {
		MANA_PORT_LOG(
			ERR, priv->data->name,
			"a receive queue needs a mempool; split into several is not supported");
		return -EINVAL;
	}
	if (conf->rx_deferred_start) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "deferred start of a receive queue is not supported");
		return -ENOTSUP;
	}
	return mana_rx_mtu_check(priv, priv->data->mtu, mp);
}

int
mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf,
	       struct rte_mempool *mp)
{
	struct mana_rxq_ctl *ctl;
	int ret;

	ret = rxconf_check(priv, conf, mp);
	if (ret != 0)
		return ret;
	ctl = mana_queue_alloc("mana_rxq", sizeof(*ctl), socket_id);
	if (ctl == NULL)
		return -ENOMEM;
	ctl->rxq.ctl = ctl;
	ctl->rxq.port_id = priv->data->port_id;
	ctl->rxq.queue_id = queue_id;
	mana_mr_cache_init(&ctl->rxq.mr, &priv->mr_generation, priv);
	ctl->mp = mp;
	ctl->nb_desc = nb_desc;
	ctl->nb_cqe = mana_queue_nb_cqe(priv, nb_desc, 1);
	ctl->free_thresh = conf->rx_free_thresh;
	ctl->offloads = conf->offloads | priv->data->dev_conf.rxmode.offloads;
	ctl->socket_id = socket_id;
	ctl->nb_mbufs = rte_align32pow2(nb_desc);
	ctl->mbufs = mana_queue_alloc("mana_rxq",
				      ctl->nb_mbufs * sizeof(*ctl->mbufs),
				      socket_id);
	if (ctl->mbufs == NULL)
		ret = -ENOMEM;
	else
		ret = mana_mr_add_pool(priv, mp);
	if (ret != 0) {
		mana_rxq_release(priv, ctl);
		return ret;
	}
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
	mana_mr_remove_foreign(priv);
	rte_free(ctl->idle_ring);
	rte_free(ctl->mbufs);
	rte_free(ctl);
}

/* ---- Start and stop ------------------------------------------------------ */

static void
wq_destroy(const struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	int ret;

	ret = mana_verbs_wq_destroy(ctl->wq);
	(void)mana_queue_is_gone(priv, "receive queue", ret);
	ret = mana_verbs_cq_destroy(ctl->cq);
	(void)mana_queue_is_gone(priv, "CQ", ret);
	ctl->wq = NULL;
	ctl->cq = NULL;
}

static int
wq_create(struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	uint32_t vectors = RTE_MAX(priv->caps.nb_comp_vectors, 1u);
	int ret;

	ret = mana_verbs_rings_from(priv->ctx, &priv->rings, ctl->socket_id);
	if (ret == 0)
		ret = mana_verbs_cq_create(priv->ctx, ctl->nb_cqe, NULL,
					   ctl->rxq.queue_id % vectors, &ctl->cq);
	if (ret == 0)
		ret = mana_verbs_wq_create(priv->parent, ctl->cq, ctl->nb_desc,
					   1, &ctl->wq);
	return ret;
}

static int
rxq_init(struct mana_rxq_ctl *ctl)
{
	struct mana_rxq_conf conf;
	struct mana_verbs_rq rq;
	int ret;

	ret = mana_verbs_rq_get(ctl->wq, ctl->cq, &rq);
	if (ret != 0)
		return ret;
	conf = (struct mana_rxq_conf){
		.rq_ring = rq.rq_ring,
		.rq_bytes = rq.rq_bytes,
		.cq_ring = rq.cq_ring,
		.nb_cqe = ctl->nb_cqe,
		.db_page = rq.doorbell_page,
		.mp = ctl->mp,
		.mbufs = ctl->mbufs,
		.nb_mbufs = ctl->nb_mbufs,
		.nb_desc = ctl->nb_desc,
		.free_thresh = ctl->free_thresh,
		.port_id = ctl->rxq.port_id,
		.queue_id = ctl->rxq.queue_id,
		.vlan_strip = (ctl->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
	};
	ret = mana_rxq_init(&ctl->rxq, &conf);
	/* Written now, so that a lack of mbufs is found before traffic flows. */
	return ret != 0 ? ret : mana_rxq_fill(&ctl->rxq);
}

static void
rxq_diag(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl, int error)
{
	if (ctl->wq != NULL && error == -ENOMEM)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "receive queue %u: mempool %s has too few mbufs left: it wants %u, %u are there",
			      ctl->rxq.queue_id, ctl->mp->name, ctl->rxq.limit,
			      mana_rxq_nb_posted(&ctl->rxq) +
				      rte_mempool_avail_count(ctl->mp));
	else
		mana_diag_object(priv->data->name, &priv->netdev,
				 "receive queue", ctl->rxq.queue_id, error);
}

static int
rxq_start(struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	int ret;

	ret = wq_create(priv, ctl);
	if (ret == 0)
		ret = rxq_init(ctl);
	if (ret != 0)
		rxq_diag(priv, ctl, ret);
	return ret;
}

void
mana_rxqs_stop(struct mana_priv *priv)
{
	bool is_gone;
	uint16_t i;

	/* Reception ends here; then the objects it stands on. */
	is_gone = mana_rss_destroy(priv);
	for (i = 0; i < priv->data->nb_rx_queues; i++) {
		struct mana_rxq_ctl *ctl =
			mana_rxq_ctl_of(priv->data->rx_queues[i]);

		if (ctl == NULL)
			continue;
		mana_rxq_close(&ctl->rxq);
		wq_destroy(priv, ctl);
		/* Better lost than written to by the device. */
		if (!is_gone)
			ctl->rxq.rq.ci = ctl->rxq.rq.pi;
		mana_rxq_release_mbufs(&ctl->rxq);
	}
	priv->nb_wqs = 0;
}

/* Tells the queues their ids, which the RSS QP has brought. */
static int
rxqs_open(struct mana_priv *priv)
{
	uint32_t i;

	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rxq_ctl *ctl =
			mana_rxq_ctl_of(priv->data->rx_queues[i]);
		struct mana_verbs_rq rq;
		int ret;

		ret = mana_verbs_rq_get(ctl->wq, ctl->cq, &rq);
		if (ret != 0)
			return ret;
		mana_rxq_open(&ctl->rxq, rq.rq_id, rq.cq_id);
	}
	return 0;
}

/* A queue that gets no traffic: a closed CQ over an empty ring, no WQEs. */
static int
rxq_idle(struct mana_rxq_ctl *ctl)
{
	struct mana_rxq *rxq = &ctl->rxq;

	if (ctl->idle_ring == NULL)
		ctl->idle_ring =
			rte_zmalloc_socket("mana_rxq", GDMA_RING_MIN_BYTES,
					   GDMA_RING_MIN_BYTES, ctl->socket_id);
	if (ctl->idle_ring == NULL)
		return -ENOMEM;
	memset(&rxq->rq, 0, sizeof(rxq->rq));
	rxq->mp = ctl->mp;
	rxq->limit = 0;
	rxq->refill_thresh = 1;
	/* Nothing is ever rung on it: any address will do as doorbell page. */
	return mana_cq_init(&rxq->cq, ctl->idle_ring, MANA_MIN_CQE, false,
			    ctl->idle_ring);
}

static int
rxqs_try_start(struct mana_priv *priv)
{
	uint32_t i;
	int ret;

	priv->nb_wqs = mana_rss_nb_wqs(priv);
	for (i = 0; i < priv->nb_wqs; i++) {
		ret = rxq_start(priv, mana_rxq_ctl_of(priv->data->rx_queues[i]));
		if (ret != 0)
			return ret;
	}
	for (ret = 0; ret == 0 && i < priv->data->nb_rx_queues; i++)
		ret = rxq_idle(mana_rxq_ctl_of(priv->data->rx_queues[i]));
	return ret;
}

int
mana_rxqs_start(struct mana_priv *priv)
{
	unsigned int tries = 0;
	int ret;

	if (priv->data->nb_rx_queues == 0)
		return 0;
	for (;;) {
		ret = rxqs_try_start(priv);
		if (ret != 0)
			return ret;
		ret = mana_rss_create(priv);
		if (ret == 0)
			ret = rxqs_open(priv);
		/*
		 * As for a send queue: an id may still be taken. A CQ or WQ
		 * that was part of a failed attempt is used up.
		 */
		if (ret != -EINVAL || tries++ > 0)
			break;
		mana_rxqs_stop(priv);
		rte_delay_us_sleep(MANA_QUEUE_RETRY_US);
	}
	if (ret != 0)
		mana_diag_object(priv->data->name, &priv->netdev,
				 "RSS over the receive queues", MANA_DIAG_NO_ID,
				 ret);
	return ret;
}
