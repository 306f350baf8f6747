/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive interrupts: a completion channel for each ethdev queue, which has
 * something to read when an armed CQ of the queue has. The application sleeps
 * on the channel's descriptor: ethdev hands it out by the interrupt handle.
 *
 * Enabling arms the CQs at the place up to which they have been polled. What
 * came before that makes the event at once, so no wake-up is lost.
 */

#include <errno.h>
#include <string.h>

#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

static int
handle_fill(struct rte_eth_dev *dev, uint16_t nb_rxq)
{
	const struct mana_priv *priv = dev->data->dev_private;
	struct rte_intr_handle *handle = dev->intr_handle;
	uint16_t i;
	int ret;

	ret = rte_intr_vec_list_alloc(handle, "mana_intr", nb_rxq);
	if (ret == 0)
		ret = rte_intr_nb_efd_set(handle, nb_rxq);
	for (i = 0; ret == 0 && i < nb_rxq; i++) {
		ret = rte_intr_efds_index_set(
			handle, i,
			mana_verbs_channel_fd(priv->rx_intrs[i].channel));
		if (ret == 0)
			ret = rte_intr_vec_list_index_set(
				handle, i, RTE_INTR_VEC_RXTX_OFFSET + i);
	}
	return ret;
}

int
mana_intr_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint16_t nb_rxq = dev->data->nb_rx_queues;
	uint16_t i;
	int ret = 0;

	if (dev->data->dev_conf.intr_conf.rxq == 0 || nb_rxq == 0)
		return 0;
	priv->rx_intrs = rte_zmalloc("mana_intr",
				     nb_rxq * sizeof(*priv->rx_intrs), 0);
	if (priv->rx_intrs == NULL)
		ret = -ENOMEM;
	for (i = 0; ret == 0 && i < nb_rxq; i++)
		ret = mana_verbs_channel_create(priv->ctx,
						&priv->rx_intrs[i].channel);
	if (ret == 0)
		ret = handle_fill(dev, nb_rxq);
	if (ret == 0)
		return 0;
	MANA_PORT_LOG(
		ERR, dev->data->name,
		"no receive interrupts (intr_conf.rxq): %s%s", strerror(-ret),
		ret == -EMFILE ?
			": each receive queue takes a descriptor, see `ulimit -n`" :
			"");
	mana_intr_stop(dev);
	return ret;
}

void
mana_intr_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint16_t i;

	if (priv->rx_intrs == NULL)
		return;
	/* What the application has left in its epoll sets goes, too. */
	rte_intr_free_epoll_fd(dev->intr_handle);
	(void)rte_intr_nb_efd_set(dev->intr_handle, 0);
	rte_intr_vec_list_free(dev->intr_handle);
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		mana_verbs_channel_destroy(priv->rx_intrs[i].channel);
	rte_free(priv->rx_intrs);
	priv->rx_intrs = NULL;
}

/* NULL after a message when there are none. */
static struct mana_rx_intr *
rx_intr_of(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (priv->rx_intrs != NULL)
		return &priv->rx_intrs[queue_id];
	if (dev->data->dev_conf.intr_conf.rxq != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "receive interrupts: the port is not started");
	else
		MANA_PORT_LOG(
			ERR, dev->data->name,
			"receive interrupts: configure the port with intr_conf.rxq");
	return NULL;
}

/* Datapath of this queue. */
int
mana_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rx_intr *intr = rx_intr_of(dev, queue_id);

	if (intr == NULL)
		return -EINVAL;
	if (mana_is_gone(priv))
		return -EIO;
	/* First: if the queue is held now, it is armed when that ends. */
	mana_atomic_store(&intr->is_armed, 1);
	return mana_rxq_arm(dev->data->rx_queues[queue_id]);
}

int
mana_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_rx_intr *intr = rx_intr_of(dev, queue_id);
	uint32_t was_armed;
	int ret;

	if (intr == NULL)
		return -EINVAL;
	was_armed = mana_atomic_load(&intr->is_armed);
	mana_atomic_store(&intr->is_armed, 0);
	mana_rxq_arm_forget(dev->data->rx_queues[queue_id]);
	ret = mana_verbs_channel_drain(intr->channel);
	if (ret < 0)
		return ret;
	/*
	 * A CQ gives an event once: who has given one is not armed any more.
	 * Where there was none, or where there are several CQs, some are.
	 */
	if (was_armed != 0 &&
	    (ret == 0 || mana_rxq_has_chain(dev->data->rx_queues[queue_id])))
		mana_rxq_disarm(dev->data->rx_queues[queue_id]);
	return 0;
}
