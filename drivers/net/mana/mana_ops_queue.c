/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations on single queues, and the burst functions they need. */

#include <errno.h>

#include <ethdev_driver.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_registry.h"

#define RX_CSUM_OFFLOADS                                                \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM)

#define TX_CSUM_OFFLOADS                                                \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

/* ---- Burst functions ----------------------------------------------------- */

/* For all offloads that some queue of the side wants. */
static void
rx_burst_select(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint64_t wanted = dev->data->dev_conf.rxmode.offloads;
	const struct mana_path *path;
	uint32_t flags = 0;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (dev->data->rx_queues[i] != NULL)
			wanted |= mana_rxq_ctl_of(dev->data->rx_queues[i])
					  ->offloads;
	if ((wanted & RX_CSUM_OFFLOADS) != 0)
		flags |= MANA_RX_F_CSUM;
	if ((wanted & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 || priv->wants_ptypes)
		flags |= MANA_RX_F_HASH;
	if (priv->wants_ptypes && priv->nb_wqs <= 1)
		flags |= MANA_RX_F_PARSE;
	if ((wanted & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0)
		flags |= MANA_RX_F_VLAN;
	if (dev->data->scattered_rx)
		flags |= MANA_RX_F_SCATTER;
	path = mana_path_select(mana_rx_paths, mana_rx_nb_paths, flags,
				priv->rx_path);
	priv->rx_burst = path->burst;
	dev->rx_pkt_burst = path->burst;
	MANA_PORT_LOG(INFO, dev->data->name, "receive path: %s", path->name);
}

static void
tx_burst_select(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint64_t wanted = dev->data->dev_conf.txmode.offloads;
	const struct mana_path *path;
	uint32_t flags = 0;
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct mana_txq_ctl *ctl =
			mana_txq_ctl_of(dev->data->tx_queues[i]);

		if (ctl == NULL)
			continue;
		wanted |= ctl->offloads;
		if (ctl->txq.is_long)
			flags |= MANA_TX_F_WIDE;
	}
	if ((wanted & TX_CSUM_OFFLOADS) != 0)
		flags |= MANA_TX_F_CSUM;
	if ((wanted & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		       RTE_ETH_TX_OFFLOAD_VLAN_INSERT)) != 0)
		flags |= MANA_TX_F_WIDE;
	path = mana_path_select(mana_tx_paths, mana_tx_nb_paths, flags,
				priv->tx_path);
	dev->tx_pkt_burst = path->burst;
	MANA_PORT_LOG(INFO, dev->data->name, "send path: %s", path->name);
	dev->tx_pkt_prepare = mana_tx_pkt_prepare;
}

void
mana_bursts_select(struct rte_eth_dev *dev)
{
	rx_burst_select(dev);
	tx_burst_select(dev);
}

/* ---- States --------------------------------------------------------------- */

static uint8_t
state_of(bool is_deferred)
{
	return is_deferred ? RTE_ETH_QUEUE_STATE_STOPPED :
			     RTE_ETH_QUEUE_STATE_STARTED;
}

void
mana_queue_states_start(struct rte_eth_dev *dev)
{
	struct rte_eth_dev_data *data = dev->data;
	uint16_t i;

	for (i = 0; i < data->nb_rx_queues; i++)
		data->rx_queue_state[i] =
			state_of(data->rx_queues[i] != NULL &&
				 mana_rxq_ctl_of(data->rx_queues[i])->is_deferred);
	for (i = 0; i < data->nb_tx_queues; i++)
		data->tx_queue_state[i] =
			state_of(data->tx_queues[i] != NULL &&
				 mana_txq_ctl_of(data->tx_queues[i])->is_deferred);
}

void
mana_queue_states_stop(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		dev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		dev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
}

/* ---- Operations ------------------------------------------------------------ */

int
mana_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id,
		    uint16_t nb_desc, unsigned int socket_id,
		    const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = mana_rxq_setup(priv, queue_id, nb_desc, socket_id,
				     conf, mp);
	if (ret == 0)
		mana_registry_set_rxq(priv, queue_id,
				      dev->data->rx_queues[queue_id]);
	mana_event_add(&priv->events, MANA_EVENT_RXQ_SETUP, queue_id, nb_desc,
		       ret);
	return ret;
}

void
mana_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_registry_set_rxq(priv, queue_id, NULL);
	mana_rxq_release(priv, dev->data->rx_queues[queue_id]);
	dev->data->rx_queues[queue_id] = NULL;
	mana_event_add(&priv->events, MANA_EVENT_RXQ_RELEASE, queue_id, 0, 0);
}

int
mana_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
		    unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = mana_txq_setup(priv, queue_id, nb_desc, socket_id,
				     conf);
	if (ret == 0)
		mana_registry_set_txq(priv, queue_id,
				      dev->data->tx_queues[queue_id]);
	mana_event_add(&priv->events, MANA_EVENT_TXQ_SETUP, queue_id, nb_desc,
		       ret);
	return ret;
}

void
mana_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_registry_set_txq(priv, queue_id, NULL);
	mana_txq_release(priv, dev->data->tx_queues[queue_id]);
	dev->data->tx_queues[queue_id] = NULL;
	mana_event_add(&priv->events, MANA_EVENT_TXQ_RELEASE, queue_id, 0, 0);
}

static int
rx_state_change(struct mana_priv *priv, uint16_t queue_id, uint8_t state)
{
	struct mana_rx_setting setting;

	mana_rx_setting_get(priv, &setting);
	setting.states[queue_id] = state;
	return mana_rx_change(priv, &setting);
}

/* ethdev has seen to it that the port runs and that the queue does not. */
int
mana_rx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rxq_ctl *ctl = dev->data->rx_queues[queue_id];
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0 && ctl == NULL) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "receive queue %u was not set up", queue_id);
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = mana_rx_shape_check(priv, &ctl->shape, dev->data->mtu);
	if (ret == 0)
		ret = rx_state_change(priv, queue_id,
				      RTE_ETH_QUEUE_STATE_STARTED);
	mana_event_add(&priv->events, MANA_EVENT_RXQ_START, queue_id, 0, ret);
	return ret;
}

int
mana_rx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = rx_state_change(priv, queue_id,
				      RTE_ETH_QUEUE_STATE_STOPPED);
	mana_event_add(&priv->events, MANA_EVENT_RXQ_STOP, queue_id, 0, ret);
	return ret;
}

int
mana_tx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = mana_txq_start(priv, queue_id);
	if (ret == 0) {
		dev->data->tx_queue_state[queue_id] =
			RTE_ETH_QUEUE_STATE_STARTED;
		/* It may have been set up with other offloads. */
		tx_burst_select(dev);
		rte_eth_fp_ops[dev->data->port_id].tx_pkt_burst =
			dev->tx_pkt_burst;
		/* The interrupt thread sees them, or we see its word. */
		rte_mb();
		if (mana_is_gone(priv))
			mana_bursts_off(dev);
	}
	mana_event_add(&priv->events, MANA_EVENT_TXQ_START, queue_id, 0, ret);
	return ret;
}

int
mana_tx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = mana_txq_stop(priv, queue_id);
	if (ret == 0)
		dev->data->tx_queue_state[queue_id] =
			RTE_ETH_QUEUE_STATE_STOPPED;
	mana_event_add(&priv->events, MANA_EVENT_TXQ_STOP, queue_id, 0, ret);
	return ret;
}
