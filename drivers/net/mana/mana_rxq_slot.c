/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Slots: the work queues of the device, and which receive queue stands behind
 * each. The RSS object is made over 2^n different ones (Linux
 * mana_ib_create_qp_rss, rdma-core ibv_create_rwq_ind_table), ethdev has any
 * number of queues, and some of those may be stopped:
 *
 *   slot < number of ethdev queues    that queue
 *   beyond                            a hidden queue, like its owner's, polled
 *                                     with it
 *   owner stopped                     a sink, polled with some running queue;
 *                                     what arrives is freed and counted
 *
 * When no queue runs nobody polls the sinks: their few buffers fill, and the
 * device drops the rest for want of a WQE.
 */

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_ether.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_queue.h"

/* A sink's packets are of no interest: a longer one is truncated. */
#define SINK_NB_DESC MANA_MIN_DESC
#define SINK_BUF_BYTES 128

uint16_t
mana_rx_slot_owner(const struct mana_priv *priv, uint32_t slot)
{
	uint16_t nb_rxq = priv->data->nb_rx_queues;

	/* There are fewer than twice as many slots. */
	return slot < nb_rxq ? slot : slot - nb_rxq;
}

bool
mana_rxq_is_running(const struct mana_priv *priv, uint16_t queue_id)
{
	return priv->data->rx_queue_state[queue_id] ==
	       RTE_ETH_QUEUE_STATE_STARTED;
}

struct mana_rxq_ctl *
mana_rxq_next(const struct mana_priv *priv, uint32_t *at)
{
	uint32_t nb_rxq = priv->data->nb_rx_queues;
	struct mana_rxq_ctl *ctl;

	while (*at < nb_rxq + RTE_DIM(priv->slots)) {
		uint32_t i = (*at)++;

		if (i < nb_rxq)
			ctl = mana_rxq_ctl_of(priv->data->rx_queues[i]);
		else
			ctl = priv->slots[i - nb_rxq];
		if (ctl != NULL && (i < nb_rxq) == (ctl->kind == MANA_RXQ_ETHDEV))
			return ctl;
	}
	return NULL;
}

/* One pool for the sinks of all slots. */
static int
sink_pool_make(struct mana_priv *priv)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	int ret;

	if (priv->sink_mp != NULL)
		return 0;
	snprintf(name, sizeof(name), "mana_sink_%u", priv->data->port_id);
	priv->sink_mp = rte_pktmbuf_pool_create(name,
						priv->nb_wqs * SINK_NB_DESC, 0,
						0,
						RTE_PKTMBUF_HEADROOM +
							SINK_BUF_BYTES,
						priv->data->numa_node);
	if (priv->sink_mp == NULL) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no memory for the packets of stopped queues: %s",
			      rte_strerror(rte_errno));
		return -ENOMEM;
	}
	ret = mana_mr_add_pool(priv, priv->sink_mp);
	if (ret != 0)
		mana_rx_sinks_end(priv);
	return ret;
}

void
mana_rx_sinks_end(struct mana_priv *priv)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(priv->slots); i++)
		if (priv->slots[i] != NULL &&
		    priv->slots[i]->kind == MANA_RXQ_SINK)
			return;
	rte_mempool_free(priv->sink_mp);
	priv->sink_mp = NULL;
}

static struct mana_rxq_ctl *
hidden_alloc(struct mana_priv *priv, uint16_t owner)
{
	const struct mana_rxq_ctl *like =
		mana_rxq_ctl_of(priv->data->rx_queues[owner]);
	struct mana_rxq_ctl *ctl;

	ctl = mana_rxq_alloc(priv, MANA_RXQ_HIDDEN, owner, like->nb_desc,
			     like->socket_id, &like->shape);
	if (ctl != NULL) {
		ctl->free_thresh = like->free_thresh;
		ctl->offloads = like->offloads;
	}
	return ctl;
}

static struct mana_rxq_ctl *
sink_alloc(struct mana_priv *priv, uint16_t owner)
{
	struct mana_rx_shape shape;

	(void)mana_rx_shape_take(priv, NULL, 0, priv->sink_mp, &shape);
	return mana_rxq_alloc(priv, MANA_RXQ_SINK, owner, SINK_NB_DESC,
			      priv->data->numa_node, &shape);
}

struct mana_rxq_ctl *
mana_rx_slot_queue(struct mana_priv *priv, uint32_t slot,
		   struct mana_rxq_ctl *old)
{
	uint16_t owner = mana_rx_slot_owner(priv, slot);
	struct mana_rxq_ctl *ctl = NULL;
	enum mana_rxq_kind kind;

	if (!mana_rxq_is_running(priv, owner))
		kind = MANA_RXQ_SINK;
	else if (slot < priv->data->nb_rx_queues)
		return mana_rxq_ctl_of(priv->data->rx_queues[slot]);
	else
		kind = MANA_RXQ_HIDDEN;
	if (old != NULL && old->kind == kind)
		return old;
	if (kind == MANA_RXQ_HIDDEN)
		ctl = hidden_alloc(priv, owner);
	else if (sink_pool_make(priv) == 0)
		ctl = sink_alloc(priv, owner);
	if (ctl == NULL)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no memory for an internal receive queue");
	return ctl;
}

void
mana_rx_slot_drop(struct mana_priv *priv, struct mana_rxq_ctl *ctl)
{
	if (ctl == NULL || ctl->kind == MANA_RXQ_ETHDEV)
		return;
	mana_stats_fold_rxq(priv, ctl);
	mana_rxq_free(ctl);
}

/* Adds a queue to what an ethdev queue polls. */
static void
chain_add(struct mana_rxq_ctl **chains, uint16_t queue_id,
	  struct mana_rxq_ctl *ctl)
{
	ctl->rxq.chain_next = chains[queue_id] != NULL ?
				      &chains[queue_id]->rxq :
				      NULL;
	chains[queue_id] = ctl;
}

/* The next running queue behind this one, the same if there is no other. */
static uint16_t
next_running(const struct mana_priv *priv, uint16_t queue_id)
{
	uint16_t nb_rxq = priv->data->nb_rx_queues;
	uint16_t i;

	for (i = 0; i < nb_rxq; i++) {
		queue_id = queue_id + 1 < nb_rxq ? queue_id + 1 : 0;
		if (mana_rxq_is_running(priv, queue_id))
			break;
	}
	return queue_id;
}

void
mana_rx_slots_chain(struct mana_priv *priv)
{
	struct mana_rxq_ctl *chains[RTE_MAX_QUEUES_PER_PORT] = { NULL };
	uint16_t nb_rxq = priv->data->nb_rx_queues;
	uint16_t poller = nb_rxq - 1;
	uint32_t i;

	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rxq_ctl *ctl = priv->slots[i];

		if (ctl->kind == MANA_RXQ_HIDDEN) {
			chain_add(chains, ctl->owner, ctl);
		} else if (ctl->kind == MANA_RXQ_SINK) {
			poller = next_running(priv, poller);
			chain_add(chains, poller, ctl);
		}
	}
	for (i = 0; i < nb_rxq; i++) {
		struct mana_rxq_ctl *ctl =
			mana_rxq_ctl_of(priv->data->rx_queues[i]);

		if (ctl != NULL)
			mana_rxq_chain(&ctl->rxq, chains[i] != NULL &&
					       mana_rxq_is_running(priv, i) ?
						      &chains[i]->rxq :
						      NULL);
	}
}
