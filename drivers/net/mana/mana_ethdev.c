/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations that ethdev calls. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_ether.h>
#include <rte_mbuf_ptype.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

#define RX_OFFLOADS                                                     \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP | \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH)

#define RX_CSUM_OFFLOADS                                                \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM)

#define TX_OFFLOADS                                                      \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |  \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_VLAN_INSERT | \
	 RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)

#define TX_CSUM_OFFLOADS                                                \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

#define DEFAULT_BURST 32

static int
mana_dev_configure(struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const char *refused = NULL;

	if (conf->lpbk_mode != 0)
		refused = "loopback mode";
	else if ((conf->link_speeds & RTE_ETH_LINK_SPEED_FIXED) != 0)
		refused = "way to set the link speed";
	else if (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE)
		refused = "DCB or VMDq mode of send queues";
	else if (conf->intr_conf.rxq != 0)
		refused = "receive interrupt in this driver yet";
	if (refused != NULL) {
		MANA_PORT_LOG(ERR, dev->data->name, "there is no %s", refused);
		return -ENOTSUP;
	}
	return mana_rss_configure(dev->data->dev_private);
}

static int
mana_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint16_t ring_size = RTE_MIN((uint32_t)MANA_DEFAULT_DESC, priv->max_desc);

	info->if_index = priv->netdev.ifindex;
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = priv->max_mtu;
	info->max_rx_pktlen = priv->max_mtu + MANA_FRAME_OVERHEAD;
	info->min_rx_bufsize = RTE_ETHER_MIN_LEN;
	info->max_mac_addrs = 1;
	info->max_rx_queues = priv->max_queues;
	info->max_tx_queues = priv->max_queues;
	info->rx_offload_capa = RX_OFFLOADS;
	info->rx_queue_offload_capa = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	info->tx_offload_capa = TX_OFFLOADS;
	info->tx_queue_offload_capa = TX_OFFLOADS;
	info->flow_type_rss_offloads = MANA_RSS_TYPES;
	info->hash_key_size = MANA_RSS_KEY_BYTES;
	info->reta_size = priv->has_rss ? mana_rss_nb_wqs(priv) : 0;
	info->rx_desc_lim = (struct rte_eth_desc_lim){
		.nb_min = MANA_MIN_DESC,
		.nb_max = priv->max_desc,
		.nb_align = 1,
	};
	info->tx_desc_lim = (struct rte_eth_desc_lim){
		.nb_min = MANA_MIN_DESC,
		.nb_max = priv->max_desc,
		.nb_align = 1,
		.nb_seg_max = priv->tx_max_sge,
		.nb_mtu_seg_max = priv->tx_max_sge,
	};
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = DEFAULT_BURST,
		.ring_size = ring_size,
		.nb_queues = 1,
	};
	info->default_txportconf = info->default_rxportconf;
	info->default_rxconf.offloads = 0;
	/* Queues cannot be set up or started on a running port. */
	info->dev_capa = 0;
	return 0;
}

/* All offloads that some queue of a side wants. */
static void
select_bursts(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint64_t rx = dev->data->dev_conf.rxmode.offloads;
	uint64_t tx = dev->data->dev_conf.txmode.offloads;
	uint32_t rx_flags = 0;
	uint32_t tx_flags = 0;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		rx |= mana_rxq_ctl_of(dev->data->rx_queues[i])->offloads;
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct mana_txq_ctl *ctl =
			mana_txq_ctl_of(dev->data->tx_queues[i]);

		tx |= ctl->offloads;
		if (ctl->txq.is_long)
			tx_flags |= MANA_TX_F_WIDE;
	}
	if ((rx & RX_CSUM_OFFLOADS) != 0)
		rx_flags |= MANA_RX_F_CSUM;
	if ((rx & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 || priv->wants_ptypes)
		rx_flags |= MANA_RX_F_HASH;
	if ((rx & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0)
		rx_flags |= MANA_RX_F_VLAN;
	if ((tx & TX_CSUM_OFFLOADS) != 0)
		tx_flags |= MANA_TX_F_CSUM;
	if ((tx & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		   RTE_ETH_TX_OFFLOAD_VLAN_INSERT)) != 0)
		tx_flags |= MANA_TX_F_WIDE;
	dev->rx_pkt_burst = mana_rx_path_select(rx_flags)->burst;
	dev->tx_pkt_burst = mana_tx_path_select(tx_flags)->burst;
	dev->tx_pkt_prepare = mana_tx_pkt_prepare;
}

static void
set_queue_states(struct rte_eth_dev *dev, uint8_t state)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		dev->data->rx_queue_state[i] = state;
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		dev->data->tx_queue_state[i] = state;
}

/*
 * Up while the port runs, unless the kernel says that the carrier is gone.
 * The verbs port's state says nothing: it is down whenever the netdev is.
 */
static int
mana_link_update(struct rte_eth_dev *dev, int wait_to_complete)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct rte_eth_link link = {
		.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = RTE_ETH_LINK_DOWN,
	};
	struct mana_netdev_state state;
	uint32_t mbps;

	RTE_SET_USED(wait_to_complete);
	if (dev->data->dev_started) {
		link.link_status = RTE_ETH_LINK_UP;
		if (mana_netdev_state_get(&priv->netdev, &state) == 0 &&
		    !state.is_up) {
			if (state.carrier)
				priv->has_carrier = true;
			else if (priv->has_carrier)
				link.link_status = RTE_ETH_LINK_DOWN;
		}
	}
	if (mana_netdev_speed_get(&priv->netdev, &mbps) == 0)
		link.link_speed = mbps;
	return rte_eth_linkstatus_set(dev, &link);
}

static int
mana_dev_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_queues_start(priv);
	if (ret != 0)
		return ret;
	select_bursts(dev);
	set_queue_states(dev, RTE_ETH_QUEUE_STATE_STARTED);
	return 0;
}

static int
mana_dev_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_queues_stop(priv);
	mana_mr_remove_foreign(priv);
	set_queue_states(dev, RTE_ETH_QUEUE_STATE_STOPPED);
	return 0;
}

static int
mana_dev_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_port_close(priv);
	/* Not of its own: ethdev must not free it. */
	dev->data->mac_addrs = NULL;
	return 0;
}

static int
mana_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id,
		    uint16_t nb_desc, unsigned int socket_id,
		    const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	return mana_rxq_setup(dev->data->dev_private, queue_id, nb_desc,
			      socket_id, conf, mp);
}

static void
mana_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	mana_rxq_release(dev->data->dev_private, dev->data->rx_queues[queue_id]);
	dev->data->rx_queues[queue_id] = NULL;
}

static int
mana_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
		    unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	return mana_txq_setup(dev->data->dev_private, queue_id, nb_desc,
			      socket_id, conf);
}

static void
mana_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	mana_txq_release(dev->data->dev_private, dev->data->tx_queues[queue_id]);
	dev->data->tx_queues[queue_id] = NULL;
}

static void
mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_rxq_info *info)
{
	const struct mana_rxq_ctl *ctl =
		mana_rxq_ctl_of(dev->data->rx_queues[queue_id]);

	info->mp = ctl->mp;
	info->nb_desc = ctl->nb_desc;
	info->rx_buf_size = mana_rx_buf_bytes(ctl->mp);
	info->conf.rx_free_thresh = ctl->free_thresh;
	info->conf.offloads = ctl->offloads;
	info->scattered_rx = 0;
}

static void
mana_txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_txq_info *info)
{
	const struct mana_txq_ctl *ctl =
		mana_txq_ctl_of(dev->data->tx_queues[queue_id]);

	info->nb_desc = ctl->nb_desc;
	info->conf.tx_free_thresh = ctl->free_thresh;
	info->conf.offloads = ctl->offloads;
}

static int
burst_mode_get(const struct mana_path *path, struct rte_eth_burst_mode *mode)
{
	if (path == NULL)
		return -EINVAL;
	snprintf(mode->info, sizeof(mode->info), "%s", path->name);
	return 0;
}

static int
mana_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(queue_id);
	return burst_mode_get(mana_rx_path_find(dev->rx_pkt_burst), mode);
}

static int
mana_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(queue_id);
	return burst_mode_get(mana_tx_path_find(dev->tx_pkt_burst), mode);
}

static int
mana_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint16_t i;
	int ret;

	if (mtu > priv->max_mtu) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "MTU %u: the kernel allows %u at most for netdev %s",
			      mtu, priv->max_mtu, priv->netdev.name);
		return -EINVAL;
	}
	/* The device takes what fits the posted buffers: nothing to tell it. */
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mana_rxq_ctl *ctl = dev->data->rx_queues[i];

		if (ctl == NULL)
			continue;
		ret = mana_rx_mtu_check(priv, mtu, ctl->mp);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/*
 * No receive filter exists: all that the host's switch delivers comes in.
 * Enabling says so. Disabling does not: ethdev calls it at each start, and
 * the application only after it has enabled.
 */
static int
promisc_enable(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (!priv->is_promisc_noted)
		MANA_PORT_LOG(
			NOTICE, dev->data->name,
			"the port has no receive filter: promiscuous and all-multicast modes are always in effect");
	priv->is_promisc_noted = true;
	return 0;
}

static int
promisc_disable(struct rte_eth_dev *dev)
{
	RTE_SET_USED(dev);
	return 0;
}

static int
mana_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	const struct mana_priv *priv = dev->data->dev_private;

	if (rte_is_same_ether_addr(mac, &priv->netdev.mac))
		return 0;
	MANA_PORT_LOG(ERR, dev->data->name,
		      "the MAC address belongs to the vPort and cannot be changed");
	return -ENOTSUP;
}

static int
mana_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mana_priv *priv = dev->data->dev_private;

	conf->rss_hf = priv->has_rss ? MANA_RSS_TYPES : 0;
	if (conf->rss_key != NULL && conf->rss_key_len >= MANA_RSS_KEY_BYTES)
		memcpy(conf->rss_key, priv->rss_key, MANA_RSS_KEY_BYTES);
	conf->rss_key_len = MANA_RSS_KEY_BYTES;
	return 0;
}

static int
mana_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf,
		uint16_t size)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint32_t nb_wqs = mana_rss_nb_wqs(priv);
	uint16_t i;

	if (!priv->has_rss || size != nb_wqs)
		return -EINVAL;
	for (i = 0; i < size; i++)
		if ((conf[i / RTE_ETH_RETA_GROUP_SIZE].mask &
		     RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE)) != 0)
			conf[i / RTE_ETH_RETA_GROUP_SIZE]
				.reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				mana_rss_queue_of(i, nb_wqs);
	return 0;
}

static const uint32_t *
mana_supported_ptypes_get(struct rte_eth_dev *dev MANA_PTYPES_PARAM)
{
	static const uint32_t ptypes[] = {
		RTE_PTYPE_L2_ETHER,
		RTE_PTYPE_L2_ETHER_VLAN,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L4_UDP,
		RTE_PTYPE_UNKNOWN,
	};

	RTE_SET_USED(dev);
	MANA_PTYPES_NB_SET(RTE_DIM(ptypes) - 1);
	return ptypes;
}

static int
mana_ptypes_set(struct rte_eth_dev *dev, uint32_t ptype_mask)
{
	struct mana_priv *priv = dev->data->dev_private;

	/* Takes effect at the next start, which chooses the burst function. */
	priv->wants_ptypes = ptype_mask != 0;
	return 0;
}

static int
mana_tx_done_cleanup(void *txq, uint32_t free_cnt)
{
	return mana_txq_done_cleanup(txq, free_cnt);
}

const struct eth_dev_ops mana_dev_ops = {
	.dev_configure = mana_dev_configure,
	.dev_start = mana_dev_start,
	.dev_stop = mana_dev_stop,
	.dev_close = mana_dev_close,
	.dev_infos_get = mana_dev_infos_get,
	.dev_supported_ptypes_get = mana_supported_ptypes_get,
	.dev_ptypes_set = mana_ptypes_set,
	.link_update = mana_link_update,
	.mtu_set = mana_mtu_set,
	.mac_addr_set = mana_mac_addr_set,
	.promiscuous_enable = promisc_enable,
	.promiscuous_disable = promisc_disable,
	.allmulticast_enable = promisc_enable,
	.allmulticast_disable = promisc_disable,
	.rx_queue_setup = mana_rx_queue_setup,
	.rx_queue_release = mana_rx_queue_release,
	.tx_queue_setup = mana_tx_queue_setup,
	.tx_queue_release = mana_tx_queue_release,
	.tx_done_cleanup = mana_tx_done_cleanup,
	.rxq_info_get = mana_rxq_info_get,
	.txq_info_get = mana_txq_info_get,
	.rx_burst_mode_get = mana_rx_burst_mode_get,
	.tx_burst_mode_get = mana_tx_burst_mode_get,
	.rss_hash_conf_get = mana_rss_hash_conf_get,
	.reta_query = mana_reta_query,
	.stats_get = mana_stats_get,
	.stats_reset = mana_stats_reset,
};
