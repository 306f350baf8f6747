/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Send queues: their memory (setup, release) and their kernel objects (start,
 * stop).
 */

#include <errno.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_queue.h"

/* The last owner of a vPort may be on its way out for so many tries. */
#define NB_BUSY_TRIES 5

/* ---- Setup and release -------------------------------------------------- */

/* Copies of frames that cannot be sent as they are; made when first needed. */
static int
bounce_pool_make(struct mana_priv *priv)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t room = RTE_PKTMBUF_HEADROOM + MANA_FRAME_OVERHEAD +
			RTE_VLAN_HLEN + priv->max_mtu;

	if (priv->bounce_mp != NULL)
		return 0;
	snprintf(name, sizeof(name), "mana_copy_%u", priv->data->port_id);
	priv->bounce_mp =
		rte_pktmbuf_pool_create(name, 255, 0, 0,
					RTE_MIN(room, (uint32_t)UINT16_MAX),
					priv->data->numa_node);
	if (priv->bounce_mp == NULL) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no memory for the pool of copies: %s",
			      rte_strerror(rte_errno));
		return -ENOMEM;
	}
	return 0;
}

static int
txq_alloc(struct mana_txq_ctl *ctl)
{
	ctl->mbufs = mana_queue_alloc("mana_txq",
				      ctl->nb_mbufs * sizeof(*ctl->mbufs),
				      ctl->socket_id);
	ctl->info = mana_queue_alloc("mana_txq",
				     ctl->nb_mbufs * sizeof(*ctl->info),
				     ctl->socket_id);
	ctl->bounce =
		mana_queue_alloc("mana_txq",
				 (size_t)ctl->nb_mbufs * MANA_TX_BOUNCE_BYTES,
				 ctl->socket_id);
	return ctl->mbufs != NULL && ctl->info != NULL && ctl->bounce != NULL ?
		       0 :
		       -ENOMEM;
}

int
mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_txq_ctl *ctl;
	int ret;

	if (conf->tx_deferred_start) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "deferred start of a send queue is not supported");
		return -ENOTSUP;
	}
	ret = bounce_pool_make(priv);
	if (ret != 0)
		return ret;
	ctl = mana_queue_alloc("mana_txq", sizeof(*ctl), socket_id);
	if (ctl == NULL)
		return -ENOMEM;
	ctl->txq.ctl = ctl;
	ctl->txq.port_id = priv->data->port_id;
	ctl->txq.queue_id = queue_id;
	mana_mr_cache_init(&ctl->txq.mr, &priv->mr_generation, priv);
	ctl->nb_desc = nb_desc;
	ctl->nb_cqe = mana_queue_nb_cqe(priv, nb_desc, 0);
	ctl->free_thresh = conf->tx_free_thresh;
	ctl->offloads = conf->offloads | priv->data->dev_conf.txmode.offloads;
	ctl->socket_id = socket_id;
	ctl->nb_mbufs = rte_align32pow2(nb_desc);
	ret = txq_alloc(ctl);
	if (ret != 0) {
		mana_txq_release(priv, ctl);
		return ret;
	}
	mana_mr_track_pools(priv);
	priv->data->tx_queues[queue_id] = &ctl->txq;
	return 0;
}

void
mana_txq_release(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	if (ctl == NULL)
		return;
	mana_stats_fold_txq(priv, ctl);
	rte_free(ctl->bounce);
	rte_free(ctl->info);
	rte_free(ctl->mbufs);
	rte_free(ctl);
}

/* ---- Start and stop ------------------------------------------------------ */

/* Returns whether the device has let go of the packets. */
static bool
sq_destroy(const struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	bool is_gone;
	int ret;

	/* The CQ at once after its QP: the kernel keeps the CQ's id till then. */
	ret = mana_verbs_qp_destroy(ctl->qp);
	is_gone = mana_queue_is_gone(priv, "send queue", ret);
	ret = mana_verbs_cq_destroy(ctl->cq);
	(void)mana_queue_is_gone(priv, "CQ", ret);
	ctl->qp = NULL;
	ctl->cq = NULL;
	return is_gone;
}

static int
sq_create(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	int ret;

	ret = mana_verbs_rings_from(priv->ctx, &priv->rings, ctl->socket_id);
	if (ret == 0)
		ret = mana_verbs_cq_create(priv->ctx, ctl->nb_cqe, NULL, 0,
					   &ctl->cq);
	if (ret == 0)
		ret = mana_verbs_sq_create(priv->parent, ctl->cq, ctl->nb_desc,
					   priv->tx_max_sge, &ctl->qp);
	if (ret != 0)
		(void)sq_destroy(priv, ctl);
	return ret;
}

/* Whether another try may succeed where this one met the error. */
static bool
sq_retry(struct mana_priv *priv, int error, unsigned int tries)
{
	struct mana_netdev_state state;

	switch (error) {
	case -EINVAL:
		/*
		 * The CQ's id may still be in the kernel's table, of a CQ that
		 * somebody is about to destroy (mana_ib_install_cq_cb).
		 */
		if (tries == 1)
			break;
		/* Or the kernel wants fewer segments than the device takes. */
		if (tries > 2 || priv->caps.max_sge == 0 ||
		    priv->caps.max_sge >= priv->tx_max_sge)
			return false;
		priv->tx_max_sge = priv->caps.max_sge;
		MANA_PORT_LOG(INFO, priv->data->name,
			      "trying with %u segments a packet",
			      priv->tx_max_sge);
		break;
	case -EBUSY:
	case -ENODEV:
		/* The last owner may be on its way out (a killed process). */
		if (tries >= NB_BUSY_TRIES ||
		    mana_netdev_state_get(&priv->netdev, &state) != 0 ||
		    state.is_up)
			return false;
		break;
	default:
		return false;
	}
	rte_delay_us_sleep(MANA_QUEUE_RETRY_US);
	return true;
}

static int
sq_create_retried(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	unsigned int tries = 0;
	int ret;

	do {
		ret = sq_create(priv, ctl);
	} while (ret != 0 && sq_retry(priv, ret, ++tries));
	return ret;
}

static int
txq_init(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	struct mana_txq_conf conf;
	struct mana_verbs_sq sq;
	int ret;

	ret = mana_verbs_sq_get(ctl->qp, ctl->cq, &sq);
	if (ret != 0)
		return ret;
	conf = (struct mana_txq_conf){
		.sq_ring = sq.sq_ring,
		.sq_bytes = sq.sq_bytes,
		.cq_ring = sq.cq_ring,
		.nb_cqe = ctl->nb_cqe,
		.db_page = sq.doorbell_page,
		.sq_id = sq.sq_id,
		.cq_id = sq.cq_id,
		.vp_offset = sq.vp_offset,
		.mbufs = ctl->mbufs,
		.info = ctl->info,
		.nb_mbufs = ctl->nb_mbufs,
		.bounce = ctl->bounce,
		.bounce_mp = priv->bounce_mp,
		.nb_desc = ctl->nb_desc,
		.max_sge = priv->tx_max_sge,
		.port_id = ctl->txq.port_id,
		.queue_id = ctl->txq.queue_id,
	};
	return mana_txq_init(&ctl->txq, &conf);
}

static int
txq_start(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	int ret;

	ret = sq_create_retried(priv, ctl);
	if (ret == 0)
		ret = txq_init(priv, ctl);
	if (ret != 0)
		mana_diag_object(priv->data->name, &priv->netdev, "send queue",
				 ctl->txq.queue_id, ret);
	return ret;
}

static void
txq_stop(struct mana_priv *priv, struct mana_txq_ctl *ctl)
{
	mana_txq_close(&ctl->txq);
	/* Better lost than used by two. */
	if (!sq_destroy(priv, ctl))
		ctl->txq.ci = ctl->txq.pi;
	mana_txq_release_mbufs(&ctl->txq);
}

/* Reception needs a vPort, which a Tx queue configures: one that sends nothing. */
static int
hidden_txq_start(struct mana_priv *priv)
{
	struct mana_txq_ctl *ctl;
	int ret;

	ctl = mana_queue_alloc("mana_txq", sizeof(*ctl), priv->data->numa_node);
	if (ctl == NULL)
		return -ENOMEM;
	priv->hidden_txq = ctl;
	ctl->nb_desc = MANA_MIN_DESC;
	ctl->nb_cqe = mana_queue_nb_cqe(priv, ctl->nb_desc, 0);
	ctl->socket_id = priv->data->numa_node;
	ret = sq_create_retried(priv, ctl);
	if (ret != 0)
		mana_diag_object(priv->data->name, &priv->netdev,
				 "internal send queue", MANA_DIAG_NO_ID, ret);
	return ret;
}

static void
hidden_txq_stop(struct mana_priv *priv)
{
	if (priv->hidden_txq == NULL)
		return;
	(void)sq_destroy(priv, priv->hidden_txq);
	rte_free(priv->hidden_txq);
	priv->hidden_txq = NULL;
}

int
mana_txqs_start(struct mana_priv *priv)
{
	uint16_t i;
	int ret;

	if (priv->data->nb_tx_queues == 0 && priv->data->nb_rx_queues != 0)
		return hidden_txq_start(priv);
	for (i = 0; i < priv->data->nb_tx_queues; i++) {
		ret = txq_start(priv, mana_txq_ctl_of(priv->data->tx_queues[i]));
		if (ret != 0)
			return ret;
	}
	return 0;
}

void
mana_txqs_stop(struct mana_priv *priv)
{
	uint16_t i;

	for (i = 0; i < priv->data->nb_tx_queues; i++)
		if (priv->data->tx_queues[i] != NULL)
			txq_stop(priv, mana_txq_ctl_of(priv->data->tx_queues[i]));
	hidden_txq_stop(priv);
}
