/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations that ethdev calls. */

#include <errno.h>
#include <stdio.h>

#include <ethdev_driver.h>
#include <rte_ether.h>
#include <rte_mbuf_ptype.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

#define RX_QUEUE_OFFLOADS                                             \
	(RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER | \
	 RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT)

#define RX_OFFLOADS                                                     \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM |                                 \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH | RX_QUEUE_OFFLOADS)

#define TX_OFFLOADS                                                         \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |     \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |        \
	 RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM |                              \
	 RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM |                               \
	 RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |   \
	 RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)

#define DEFAULT_BURST 32

static int
conf_check(const struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const char *refused = NULL;

	/* Each driver has modes of its own; most have none, and pass them over. */
	if (conf->lpbk_mode != 0)
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "there is no loopback mode: what is sent goes to the wire");
	if ((conf->link_speeds & RTE_ETH_LINK_SPEED_FIXED) != 0)
		refused = "way to set the link speed";
	else if (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE)
		refused = "DCB or VMDq mode of send queues";
	if (refused != NULL) {
		MANA_PORT_LOG(ERR, dev->data->name, "there is no %s", refused);
		return -ENOTSUP;
	}
	return 0;
}

static int
mana_dev_configure(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = conf_check(dev);
	if (ret == 0)
		ret = mana_rss_configure(priv);
	mana_event_add(&priv->events, MANA_EVENT_CONFIGURE,
		       dev->data->nb_rx_queues, dev->data->nb_tx_queues, ret);
	return ret;
}

static int
mana_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct mana_priv *priv = dev->data->dev_private;

	info->if_index = priv->netdev.ifindex;
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = priv->max_mtu;
	info->max_rx_pktlen = priv->max_mtu + MANA_FRAME_OVERHEAD;
	info->min_rx_bufsize = RTE_ETHER_MIN_LEN;
	info->max_mac_addrs = 1;
	/* The device has 2^n of them, of which ethdev may use any number. */
	info->max_rx_queues = rte_align32prevpow2(priv->max_queues);
	info->max_tx_queues = priv->max_queues;
	info->rx_offload_capa = RX_OFFLOADS;
	info->rx_queue_offload_capa = RX_QUEUE_OFFLOADS;
	info->rx_seg_capa.max_nseg = mana_rx_max_segs(priv);
	info->rx_seg_capa.multi_pools = 1;
	info->rx_seg_capa.offset_allowed = 1;
	info->rx_seg_capa.offset_align_log2 = 0;
	info->tx_offload_capa = TX_OFFLOADS;
	info->tx_queue_offload_capa = TX_OFFLOADS;
	info->flow_type_rss_offloads = MANA_RSS_TYPES;
	info->hash_key_size = MANA_RSS_KEY_BYTES;
	info->reta_size = priv->has_rss ? mana_rss_nb_wqs(priv) : 0;
	info->rx_desc_lim = (struct rte_eth_desc_lim){
		.nb_min = MANA_MIN_DESC,
		.nb_max = priv->max_rx_desc,
		.nb_align = 1,
	};
	info->tx_desc_lim = (struct rte_eth_desc_lim){
		.nb_min = MANA_MIN_DESC,
		.nb_max = priv->max_tx_desc,
		.nb_align = 1,
		.nb_seg_max = priv->tx_max_sge,
		.nb_mtu_seg_max = priv->tx_max_sge,
	};
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = DEFAULT_BURST,
		.ring_size = RTE_MIN((uint32_t)MANA_DEFAULT_DESC,
				     priv->max_rx_desc),
		.nb_queues = 1,
	};
	info->default_txportconf = info->default_rxportconf;
	info->default_txportconf.ring_size =
		RTE_MIN((uint32_t)MANA_DEFAULT_DESC, priv->max_tx_desc);
	info->default_rxconf.offloads = 0;
	info->dev_capa = RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP |
			 RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP;
	return 0;
}

static void
traffic_stop(struct rte_eth_dev *dev)
{
	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_link_watch_stop(dev);
	mana_queues_stop(dev->data->dev_private);
	mana_intr_stop(dev);
}

static int
traffic_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	/* Somebody may have taken the netdev up since the probe. */
	ret = mana_takeover(priv);
	if (ret == 0)
		ret = mana_intr_start(dev);
	if (ret == 0)
		ret = mana_queues_start(priv);
	if (ret == 0) {
		mana_bursts_select(dev);
		/* The interrupt thread sees them, or we see its word. */
		rte_mb();
		ret = mana_gone_check(priv);
	}
	if (ret == 0)
		ret = mana_link_watch_start(dev);
	if (ret != 0)
		traffic_stop(dev);
	return ret;
}

static int
mana_dev_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	mana_queue_states_start(dev);
	ret = mana_gone_check(priv);
	if (ret == 0)
		ret = traffic_start(dev);
	if (ret != 0)
		mana_queue_states_stop(dev);
	else
		mana_mtu_to_netdev(priv, dev->data->mtu);
	mana_event_add(&priv->events, MANA_EVENT_START, dev->data->nb_rx_queues,
		       dev->data->nb_tx_queues, ret);
	return ret;
}

static int
mana_dev_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	traffic_stop(dev);
	mana_mr_remove_foreign(priv);
	mana_queue_states_stop(dev);
	mana_event_add(&priv->events, MANA_EVENT_STOP, 0, 0, 0);
	return 0;
}

static int
mana_dev_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	traffic_stop(dev);
	mana_events_close(dev);
	mana_mtu_restore(priv);
	mana_port_close(priv);
	/* Not of its own: ethdev must not free it. */
	dev->data->mac_addrs = NULL;
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

const struct eth_dev_ops mana_dev_ops = {
	.dev_configure = mana_dev_configure,
	.dev_start = mana_dev_start,
	.dev_stop = mana_dev_stop,
	.dev_close = mana_dev_close,
	.is_removed = mana_is_removed,
	.rx_queue_intr_enable = mana_rx_queue_intr_enable,
	.rx_queue_intr_disable = mana_rx_queue_intr_disable,
	.dev_infos_get = mana_dev_infos_get,
	.dev_supported_ptypes_get = mana_supported_ptypes_get,
	.dev_ptypes_set = mana_ptypes_set,
	.link_update = mana_link_update,
	.dev_set_link_up = mana_link_up,
	.dev_set_link_down = mana_link_down,
	.mtu_set = mana_mtu_set,
	.mac_addr_set = mana_mac_addr_set,
	.promiscuous_enable = mana_promisc_enable,
	.promiscuous_disable = mana_promisc_disable,
	.allmulticast_enable = mana_promisc_enable,
	.allmulticast_disable = mana_promisc_disable,
	.flow_ops_get = mana_flow_ops_get,
	.vlan_offload_set = mana_vlan_offload_set,
	.vlan_strip_queue_set = mana_vlan_strip_queue_set,
	.rx_queue_setup = mana_rx_queue_setup,
	.rx_queue_release = mana_rx_queue_release,
	.tx_queue_setup = mana_tx_queue_setup,
	.rx_queue_start = mana_rx_queue_start,
	.rx_queue_stop = mana_rx_queue_stop,
	.tx_queue_start = mana_tx_queue_start,
	.tx_queue_stop = mana_tx_queue_stop,
	.tx_queue_release = mana_tx_queue_release,
	.tx_done_cleanup = mana_tx_done_cleanup,
	.rxq_info_get = mana_rxq_info_get,
	.txq_info_get = mana_txq_info_get,
	.get_monitor_addr = mana_get_monitor_addr,
	.eth_rx_descriptor_dump = mana_rx_descriptor_dump,
	.eth_tx_descriptor_dump = mana_tx_descriptor_dump,
	.eth_dev_priv_dump = mana_dev_priv_dump,
	.rx_burst_mode_get = mana_rx_burst_mode_get,
	.tx_burst_mode_get = mana_tx_burst_mode_get,
	.rss_hash_update = mana_rss_hash_update,
	.rss_hash_conf_get = mana_rss_hash_conf_get,
	.reta_update = mana_reta_update,
	.reta_query = mana_reta_query,
	.stats_get = mana_stats_get,
	.stats_reset = mana_stats_reset,
	.xstats_get = mana_xstats_get,
	.xstats_get_names = mana_xstats_get_names,
	.xstats_get_by_id = mana_xstats_get_by_id,
	.xstats_get_names_by_id = mana_xstats_get_names_by_id,
	.xstats_reset = mana_stats_reset,
};
