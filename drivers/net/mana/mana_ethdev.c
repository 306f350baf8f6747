/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations on a port, and the tables of all. */

#include <errno.h>
#include <stdio.h>

#include <ethdev_driver.h>
#include <rte_ether.h>
#include <rte_flow_driver.h>
#include <rte_mbuf_ptype.h>
#include <rte_power_intrinsics.h>

#include "mana_dump.h"
#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_queues.h"

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
	 RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |   \
	 RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)

/* ---- Promiscuous mode and MAC address ---------------------------------- */

/*
 * The adapter has no Rx filter: the port receives all that the host's switch delivers. Only
 * enabling reports that, because ethdev disables the modes at each start.
 */
static int
promisc_enable(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY || priv->is_promisc_noted)
		return 0;
	MANA_PORT_LOG(NOTICE, dev->data->name,
		      "the port has no Rx filter: promiscuous and all-multicast modes are always on");
	priv->is_promisc_noted = true;
	return 0;
}

static int
promisc_keep(struct rte_eth_dev *dev __rte_unused)
{
	return 0;
}

/* Packets of these groups arrive, as all packets do. */
static int
mc_addr_list_set(struct rte_eth_dev *dev, struct rte_ether_addr *groups __rte_unused,
		 uint32_t nb_groups __rte_unused)
{
	return promisc_enable(dev);
}

static int
mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	const struct mana_priv *priv = dev->data->dev_private;

	if (rte_is_same_ether_addr(mac, &priv->netdev.mac))
		return 0;
	return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
			     "the MAC address belongs to the vPort and cannot be changed");
}

/* ethdev has refused all but the port's own address: max_mac_addrs is 1. */
static int
mac_addr_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac,
	     uint32_t index __rte_unused, uint32_t pool __rte_unused)
{
	return mac_addr_set(dev, mac);
}

/* ---- MTU ----------------------------------------------------------------- */

/* ethdev knows max_mtu. What fits the posted buffers arrives, whatever the MTU. ASSUMED: no-mtu */
static int
mtu_check(struct mana_priv *priv, uint16_t mtu)
{
	struct mana_rx_scatter scatter;
	const struct mana_hwq *hwq;
	struct mana_rxq *rxq;

	/* The start checks a stopped port: its mempools may be freed by now. */
	if (!priv->is_running)
		return 0;
	MANA_FOREACH_RXQ(priv, rxq) {
		int ret = mana_rx_layout_check(priv, &rxq->layout, mtu, &scatter);

		if (ret != 0)
			return ret;
		MANA_FOREACH_HWQ_OF(priv->rx_set, rxq->queue_id, hwq)
			if (hwq->next != NULL &&
			    hwq->scatter.bytes < (uint32_t)mtu + MANA_FRAME_OVERHEAD)
				return MANA_PORT_ERR(-EBUSY, priv->data->name,
						     "MTU %u: Rx queue %u has posted buffers of %u bytes a packet; stop the port, set the MTU, start the port",
						     mtu, rxq->queue_id, hwq->scatter.bytes);
	}
	/* For the hardware queues that are created from now on. */
	MANA_FOREACH_RXQ(priv, rxq)
		(void)mana_rx_layout_check(priv, &rxq->layout, mtu, &rxq->scatter);
	return 0;
}

static int
mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	return MANA_OPERATION(dev, mtu_check(dev->data->dev_private, mtu), "MTU %u", mtu);
}

/* ---- VLAN stripping ---------------------------------------------------------- */

/*
 * The device always strips (Linux mana_en.c: NETIF_F_HW_VLAN_CTAG_RX cannot be switched). With
 * stripping off the burst puts the tag back. It reads the setting for each tagged packet.
 */
static int
strip_set(struct rte_eth_dev *dev, uint16_t queue_id, bool is_on)
{
	struct mana_rxq *rxq = dev->data->rx_queues[queue_id];
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_hwq *hwq;
	int ret = 0;

	/* In any state: a rebuild takes it from the offloads. */
	mana_mutex_lock(&priv->control);
	if (rxq == NULL) {
		ret = MANA_PORT_ERR(-EINVAL, dev->data->name,
				    "cannot set VLAN stripping of Rx queue %u: the queue is not set up",
				    queue_id);
	} else if (!is_on && RTE_PKTMBUF_HEADROOM < RTE_VLAN_HLEN) {
		ret = MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				    "VLAN stripping cannot be off: DPDK was built with a headroom of %d bytes, a tag needs %d",
				    RTE_PKTMBUF_HEADROOM, RTE_VLAN_HLEN);
	} else {
		rxq->offloads &= ~RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
		if (is_on)
			rxq->offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
		/* A plain byte: a concurrent burst reads either value. */
		MANA_FOREACH_HWQ_OF(priv->rx_set, queue_id, hwq)
			*(volatile bool *)&hwq->vlan_strip = is_on;
	}
	mana_control_unlock(priv);
	return MANA_PORT_RESULT(ret, dev->data->name, "VLAN stripping of Rx queue %u %s",
				queue_id, is_on ? "on" : "off");
}

static int
vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
	const bool is_on = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	const struct mana_priv *priv = dev->data->dev_private;
	const struct mana_rxq *rxq;
	int ret = 0;

	/* ethdev has refused filter, extend and QinQ: the port has no such offload. */
	if ((mask & RTE_ETH_VLAN_STRIP_MASK) == 0)
		return 0;
	MANA_FOREACH_RXQ(priv, rxq)
		ret = strip_set(dev, rxq->queue_id, is_on);
	return ret;
}

static void
vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue_id, int is_on)
{
	(void)strip_set(dev, queue_id, is_on != 0);
}

/* ---- Flow rules ---------------------------------------------------------------- */

/*
 * Linux mana has no flow steering for Ethernet vPorts. Without these operations ethdev reports
 * "function not implemented"; with them the application gets the reason.
 */
static int
flow_flush(struct rte_eth_dev *dev __rte_unused, struct rte_flow_error *error)
{
	return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
				  "the adapter has no flow steering, use RSS");
}

static int
flow_validate(struct rte_eth_dev *dev, const struct rte_flow_attr *attr __rte_unused,
	      const struct rte_flow_item *pattern __rte_unused,
	      const struct rte_flow_action *actions __rte_unused, struct rte_flow_error *error)
{
	return flow_flush(dev, error);
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	    const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	    struct rte_flow_error *error)
{
	(void)flow_validate(dev, attr, pattern, actions, error);
	return NULL;
}

static int
flow_isolate(struct rte_eth_dev *dev, int is_on __rte_unused, struct rte_flow_error *error)
{
	return flow_flush(dev, error);
}

static int
flow_ops_get(struct rte_eth_dev *dev __rte_unused, const struct rte_flow_ops **ops)
{
	static const struct rte_flow_ops flow_ops = {
		.validate = flow_validate,
		.create = flow_create,
		.flush = flow_flush,
		.isolate = flow_isolate,
	};

	*ops = &flow_ops;
	return 0;
}

/* ---- Firmware version ------------------------------------------------------------ */

/*
 * Neither Linux nor verbs report the adapter's version (mana_ib leaves fw_ver 0).
 * So this reports the kernel's driver and rdma-core's provider.
 */
static int
fw_version_get(struct rte_eth_dev *dev, char *text, size_t size)
{
	const struct mana_priv *priv = dev->data->dev_private;
	char driver[MANA_NETDEV_DRIVER_BYTES];
	char provider[32];
	int ret = mana_state_check(priv);

	if (ret == 0)
		ret = mana_netdev_driver_get(&priv->netdev, driver);
	if (ret != 0)
		return ret;
	mana_verbs_provider_version(provider, sizeof(provider));
	ret = snprintf(text, size, "%s, libmana %s", driver, provider);
	if (ret < 0)
		return -EINVAL;
	/* ethdev expects the full size, final 0 included, when size is too small. */
	return (size_t)ret < size ? 0 : ret + 1;
}

/* ---- Names of burst functions -------------------------------------------- */

/* name: NULL for a function that is not the driver's. */
static int
burst_mode_set(struct rte_eth_burst_mode *mode, const char *name)
{
	snprintf(mode->info, sizeof(mode->info), "%s", name != NULL ? name : "");
	return name != NULL ? 0 : -EINVAL;
}

static int
rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return burst_mode_set(mode, mana_rx_burst_name(mana_secondary_burst(dev->rx_pkt_burst)));
}

static int
tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return burst_mode_set(mode, mana_tx_burst_name(mana_secondary_burst(dev->tx_pkt_burst)));
}

/* ---- Setup, start and stop of queues ------------------------------------------ */

/* A queue that is not set up makes the start fail, whatever its state. */
static void
queue_states_set(struct rte_eth_dev *dev, bool is_running)
{
	const struct mana_priv *priv = dev->data->dev_private;
	struct rte_eth_dev_data *data = dev->data;
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		data->rx_queue_state[rxq->queue_id] = is_running && !rxq->is_deferred ?
			RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
	MANA_FOREACH_TXQ(priv, txq)
		data->tx_queue_state[txq->queue_id] = is_running && !txq->is_deferred ?
			RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
}

static int
rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	return MANA_OPERATION(dev, mana_rxq_setup(dev->data->dev_private, queue_id, nb_desc,
						  socket_id, conf, mp),
			      "setup of Rx queue %u with %u descriptors", queue_id, nb_desc);
}

static int
tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	return MANA_OPERATION(dev, mana_txq_setup(dev->data->dev_private, queue_id, nb_desc,
						  socket_id, conf),
			      "setup of Tx queue %u with %u descriptors", queue_id, nb_desc);
}

#define QUEUE_RELEASE(function, call, direction) \
static void \
function(struct rte_eth_dev *dev, uint16_t queue_id) \
{ \
	struct mana_priv *priv = dev->data->dev_private; \
\
	mana_mutex_lock(&priv->control); \
	call(priv, queue_id); \
	mana_control_unlock(priv); \
	MANA_PORT_LOG(INFO, dev->data->name, "release of " direction " queue %u", queue_id); \
}

QUEUE_RELEASE(rx_queue_release, mana_rxq_release, "Rx")
QUEUE_RELEASE(tx_queue_release, mana_txq_release, "Tx")

/* ethdev has checked that the port runs, and the queue is set up and stopped or started. */
#define QUEUE_OPERATION(function, call, what) \
static int \
function(struct rte_eth_dev *dev, uint16_t queue_id) \
{ \
	return MANA_OPERATION(dev, call(dev->data->dev_private, queue_id), \
			      what " queue %u", queue_id); \
}

QUEUE_OPERATION(rx_queue_start, mana_rx_set_queue_start, "start of Rx")
QUEUE_OPERATION(rx_queue_stop, mana_rx_set_queue_stop, "stop of Rx")
QUEUE_OPERATION(tx_queue_start, mana_txq_start, "start of Tx")
QUEUE_OPERATION(tx_queue_stop, mana_txq_stop, "stop of Tx")

/* ---- The settings in effect --------------------------------------------- */

static void
rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id, struct rte_eth_rxq_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	const struct mana_hwq *hwq;
	const struct mana_rxq *rxq;

	if (priv == NULL)
		return;
	rxq = priv->rxqs[queue_id];
	if (rxq != NULL) {
		info->mp = rxq->layout.is_split ? NULL : rxq->layout.segs[0].mp;
		info->nb_desc = rxq->nb_desc;
		info->rx_buf_size = rxq->layout.segs[0].bytes;
		MANA_FOREACH_HWQ_OF(priv->rx_set, queue_id, hwq)
			info->scattered_rx = hwq->scatter.nb_segs != 0;
		info->conf.rx_free_thresh = rxq->free_thresh;
		/* Without a buffer the device drops the packet: it cannot wait. */
		info->conf.rx_drop_en = 1;
		info->conf.rx_deferred_start = rxq->is_deferred;
		info->conf.offloads = rxq->offloads;
		if (rxq->layout.is_split) {
			info->conf.rx_seg = (union rte_eth_rxseg *)(uintptr_t)rxq->layout.rx_seg;
			info->conf.rx_nseg = rxq->layout.nb_segs;
		}
	}
	mana_registry_unlock();
}

static void
txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id, struct rte_eth_txq_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	const struct mana_txq *txq;

	if (priv == NULL)
		return;
	txq = priv->txqs[queue_id];
	if (txq != NULL) {
		info->nb_desc = txq->nb_desc;
		info->conf.tx_free_thresh = txq->free_thresh;
		info->conf.tx_deferred_start = txq->is_deferred;
		info->conf.offloads = txq->offloads;
	}
	mana_registry_unlock();
}

/*
 * ---- Status: ethdev keeps these functions in the port, not in the table ----
 *
 * A secondary process has queues that are not set up: NULL.
 */

static int
rx_descriptor_status(void *queue, uint16_t offset)
{
	struct mana_rxq *rxq = queue;

	return rxq != NULL && offset < rxq->nb_desc ? mana_rxq_desc_state(rxq, offset) : -EINVAL;
}

static int
tx_descriptor_status(void *queue, uint16_t offset)
{
	struct mana_txq *txq = queue;

	return txq != NULL && offset < txq->nb_desc ? mana_txq_desc_state(txq, offset) : -EINVAL;
}

/* ---- Monitor mode (rte_power) --------------------------------------------- */

/*
 * A core may wait for a write to the last word of the next CQE. The address is valid for one
 * wait, right after a poll that returned no packet: each packet advances it, and each lap of the
 * ring has other owner bits. If the rxq has no hardware queue, the core waits for the first one;
 * if the rxq is paused and has some, the core does not wait.
 */

/* The bits of the word to compare, and their value at which to wait. */
enum { OPAQUE_MASK, OPAQUE_VALUE };

static int
monitor_check(const uint64_t val, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	return (val & opaque[OPAQUE_MASK]) == opaque[OPAQUE_VALUE] ? 0 : -1;
}

static int
get_monitor_addr(void *queue, struct rte_power_monitor_cond *pmc)
{
	struct mana_rxq *rxq = queue;
	const struct mana_hwq *hwq;
	int ret = 0;

	if (rxq == NULL)
		return -EINVAL;
	pmc->fn = monitor_check;
	pmc->addr = &rxq->first;
	pmc->size = sizeof(uint64_t);
	pmc->opaque[OPAQUE_MASK] = UINT64_MAX;
	pmc->opaque[OPAQUE_VALUE] = 0;
	if (!mana_rxq_lock(rxq))
		return 0;
	hwq = rxq->first;
	if (hwq != NULL && hwq->next != hwq) {
		/* A core monitors one address, not several CQs. */
		ret = -ENOTSUP;
	} else if (hwq != NULL && mana_cq_is_closed(&hwq->cq)) {
		ret = -EINVAL;
	} else if (hwq != NULL) {
		const struct mana_cq *cq = &hwq->cq;

		pmc->addr = (void *)(uintptr_t)&mana_cq_cqe(cq, cq->ci)->trailer;
		pmc->size = sizeof(uint32_t);
		pmc->opaque[OPAQUE_MASK] = rte_cpu_to_le_32(MANA_CQ_OWNER_M);
		pmc->opaque[OPAQUE_VALUE] =
			rte_cpu_to_le_32(mana_cq_owner(cq, cq->ci - mana_cq_size(cq)));
		/* No CQE comes for packets that wait elsewhere, nor without a posted buffer. */
		if (hwq->slow_flags != 0 || mana_hwq_nb_posted(hwq) == 0)
			pmc->opaque[OPAQUE_VALUE] = UINT64_MAX;
	}
	mana_query_unlock(&rxq->query_lock);
	return ret;
}

/* ---- Configuration and information ------------------------------------------ */

static int
configure(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const char *name = dev->data->name;
	int ret;

	/* Each driver has modes of its own, and most have none and ignore it. */
	if (conf->lpbk_mode != 0)
		MANA_PORT_LOG(WARNING, name,
			      "lpbk_mode is ignored: the adapter has no loopback, packets are sent to the wire");
	if ((conf->link_speeds & RTE_ETH_LINK_SPEED_FIXED) != 0)
		return MANA_PORT_ERR(-ENOTSUP, name,
				     "a fixed link speed is not supported, the host controls the link; set link_speeds to 0");
	if (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE)
		return MANA_PORT_ERR(-ENOTSUP, name,
				     "Tx mq_mode %#x not supported, use NONE",
				     conf->txmode.mq_mode);
	ret = mana_intr_check(dev);
	if (ret == 0)
		ret = mana_rss_configure(priv);
	if (ret == 0)
		priv->has_removal_event = conf->intr_conf.rmv != 0;
	return ret;
}

/* ethdev has set what this leaves alone: zeros, and an alignment of 1. */
static int
dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);

	if (priv == NULL)
		return -ENODEV;
	info->if_index = priv->netdev.ifindex;
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = priv->limits.max_mtu;
	info->max_rx_pktlen = priv->limits.max_mtu + MANA_FRAME_OVERHEAD;
	info->min_rx_bufsize = MANA_MIN_RX_BUF_BYTES;
	info->max_mac_addrs = 1;
	/* The device has 2^n of them, of which ethdev may use any number. */
	info->max_rx_queues = rte_align32prevpow2(priv->limits.max_queues);
	info->max_tx_queues = priv->limits.max_queues;
	info->rx_offload_capa = RX_OFFLOADS;
	info->rx_queue_offload_capa = RX_QUEUE_OFFLOADS;
	info->rx_seg_capa.max_nseg = mana_rx_max_segs(priv);
	info->rx_seg_capa.multi_pools = 1;
	info->rx_seg_capa.offset_allowed = 1;
	info->tx_offload_capa = TX_OFFLOADS;
	info->tx_queue_offload_capa = TX_OFFLOADS;
	info->flow_type_rss_offloads = MANA_RSS_TYPES;
	info->hash_key_size = MANA_RSS_KEY_BYTES;
	info->reta_size = MANA_RETA_SIZE;
	info->rx_desc_lim.nb_min = MANA_MIN_DESC;
	info->rx_desc_lim.nb_max = priv->limits.max_rx_desc;
	info->rx_desc_lim.nb_seg_max = info->rx_seg_capa.max_nseg;
	info->rx_desc_lim.nb_mtu_seg_max = info->rx_seg_capa.max_nseg;
	info->tx_desc_lim.nb_min = MANA_MIN_DESC;
	info->tx_desc_lim.nb_max = priv->limits.max_tx_desc;
	info->tx_desc_lim.nb_seg_max = priv->options.max_send_sge;
	info->tx_desc_lim.nb_mtu_seg_max = priv->options.max_send_sge;
	info->default_rxportconf.burst_size = 32;
	info->default_rxportconf.nb_queues = 1;
	info->default_txportconf = info->default_rxportconf;
	info->default_rxportconf.ring_size =
		RTE_MIN((uint32_t)MANA_DEFAULT_DESC, priv->limits.max_rx_desc);
	info->default_txportconf.ring_size =
		RTE_MIN((uint32_t)MANA_DEFAULT_DESC, priv->limits.max_tx_desc);
	if (mana_waits_for_device(dev, priv))
		info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE;
	info->dev_capa = RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP |
			 RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP;
	/* The kernel reports no other speeds than that at this moment. */
	if (priv->link_mbps != RTE_ETH_SPEED_NUM_UNKNOWN)
		info->speed_capa = rte_eth_speed_bitflag(priv->link_mbps, RTE_ETH_LINK_FULL_DUPLEX);
	mana_registry_unlock();
	return 0;
}

/* Under control. On return no burst runs but one that the calling signal handler interrupted. */
static int
traffic_pause(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	mana_bursts_stop(dev);
	ret = mana_pause(priv, MANA_PAUSE_ALL | MANA_PAUSE_FOR_STOP, MANA_PATIENCE_MS);
	/* Without membarrier(2) the application has to end its bursts before the stop. */
	if (ret == 0 || (ret == -ENOTSUP && !mana_peers_exist()))
		return 0;
	return MANA_PORT_ERR(ret, dev->data->name,
			     "a burst does not end: continue or end its thread, or the secondary process that it runs in");
}

/* Under control, after traffic_pause(). The queues stay paused. */
static void
traffic_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	(void)mana_queues_report(priv);
	priv->is_running = false;
	mana_queues_stop(priv);
	mana_intr_stop(dev);
	queue_states_set(dev, false);
}

void
mana_bursts_start(struct rte_eth_dev *dev)
{
	const struct mana_rx_path *path = mana_rx_path_select();

	MANA_PORT_LOG(INFO, dev->data->name, "Rx path: %s", path->name);
	mana_bursts_set(dev, path->burst, mana_tx_burst, mana_tx_pkt_prepare);
}

/* Under control. */
static int
port_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_port_netdev_start(priv);

	queue_states_set(dev, true);
	/* A burst of another process may begin late. */
	mana_pause_set(priv, MANA_PAUSE_ALL, true);
	if (ret == 0)
		ret = mana_intr_start(dev);
	if (ret == 0)
		ret = mana_queues_start(priv);
	if (ret == 0) {
		mana_bursts_start(dev);
		mana_resume(priv, MANA_PAUSE_ALL);
		/* The interrupt thread sees these bursts, or this sees the state. */
		rte_mb();
		ret = mana_state_check(priv);
	}
	if (ret == 0)
		ret = mana_watch_start(dev);
	priv->is_running = ret == 0;
	if (ret == 0) {
		mana_failsafe_warn(dev);
	} else {
		mana_watch_stop(dev);
		/* Bursts of other processes may run. */
		(void)traffic_pause(dev);
		traffic_stop(dev);
	}
	return ret;
}

static int
dev_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	mana_queries_drop(priv);
	/* Unlocked: waits for the interrupt thread, in which a step may run. */
	mana_watch_stop(dev);
	mana_mutex_lock(&priv->control);
	ret = traffic_pause(dev);
	if (ret == 0) {
		traffic_stop(dev);
		mana_mr_remove_unknown(priv);
	} else {
		/* No burst begins any more; ethdev lets the application try again. */
		(void)mana_watch_start(dev);
	}
	mana_control_unlock(priv);
	return MANA_PORT_RESULT(ret, dev->data->name, "stop");
}

/* The stop of a signal handler at the end of ethdev's start does nothing: not started. */
static int
stop_at_last(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;
	const bool runs = rte_eal_process_type() == RTE_PROC_PRIMARY && priv->is_running;

	return runs ? dev_stop(dev) : 0;
}

static int
dev_configure(struct rte_eth_dev *dev)
{
	int ret = stop_at_last(dev);

	return ret != 0 ? ret :
		MANA_OPERATION(dev, configure(dev), "configuration with %u Rx and %u Tx queues",
			       dev->data->nb_rx_queues, dev->data->nb_tx_queues);
}

static int
dev_start(struct rte_eth_dev *dev)
{
	int ret = stop_at_last(dev);

	return ret != 0 ? ret :
		MANA_OPERATION(dev, port_start(dev), "start with %u Rx and %u Tx queues",
			       dev->data->nb_rx_queues, dev->data->nb_tx_queues);
}

static int
dev_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_queries_drop(priv);
	mana_recovery_end(dev);
	mana_watch_stop(dev);
	mana_mutex_lock(&priv->control);
	/* The application has stopped the port, unless ethdev's stop has failed. */
	(void)traffic_pause(dev);
	traffic_stop(dev);
	mana_control_unlock(priv);
	rte_intr_instance_free(dev->intr_handle);
	dev->intr_handle = NULL;
	mana_peers_close(priv);
	mana_port_close(priv);
	/* Part of priv: ethdev must not free it. */
	dev->data->mac_addrs = NULL;
	return 0;
}

static const uint32_t *
supported_ptypes_get(MANA_PTYPES_PARAMS)
{
	static const uint32_t ptypes[] = {
		/* By the hash type of completions, or the headers: */
		RTE_PTYPE_L2_ETHER,
		RTE_PTYPE_L2_ETHER_VLAN,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L4_UDP,
		/* By the headers alone, with rte_net_get_ptype(): */
		RTE_PTYPE_L2_ETHER_QINQ,
		RTE_PTYPE_L3_IPV4,
		RTE_PTYPE_L3_IPV4_EXT,
		RTE_PTYPE_L3_IPV6,
		RTE_PTYPE_L3_IPV6_EXT,
		RTE_PTYPE_L4_FRAG,
		RTE_PTYPE_L4_SCTP,
		RTE_PTYPE_UNKNOWN,
	};

	RTE_SET_USED(dev);
	MANA_PTYPES_NB_SET(RTE_DIM(ptypes) - 1);
	return ptypes;
}

static int
ptypes_set(struct rte_eth_dev *dev, uint32_t ptype_mask)
{
	struct mana_priv *priv = dev->data->dev_private;

	/* Takes effect at the next start, which chooses the burst function. */
	priv->wants_ptypes = ptype_mask != 0;
	return 0;
}

/*
 * In all processes. In a secondary one mana_control_begin() refuses those that change the port;
 * programs that capture packets enable and disable the promiscuous mode there.
 */
#define COMMON_OPS \
	.dev_start = dev_start, \
	.dev_infos_get = dev_infos_get, \
	.dev_supported_ptypes_get = supported_ptypes_get, \
	.link_update = mana_link_update, \
	.mtu_set = mtu_set, \
	.promiscuous_enable = promisc_enable, \
	.promiscuous_disable = promisc_keep, \
	.allmulticast_enable = promisc_enable, \
	.allmulticast_disable = promisc_keep, \
	.flow_ops_get = flow_ops_get, \
	.rx_queue_start = rx_queue_start, \
	.rx_queue_stop = rx_queue_stop, \
	.tx_queue_start = tx_queue_start, \
	.tx_queue_stop = tx_queue_stop, \
	.rxq_info_get = rxq_info_get, \
	.txq_info_get = txq_info_get, \
	.rx_burst_mode_get = rx_burst_mode_get, \
	.tx_burst_mode_get = tx_burst_mode_get, \
	.rss_hash_update = mana_rss_hash_update, \
	.rss_hash_conf_get = mana_rss_hash_conf_get, \
	.reta_update = mana_reta_update, \
	.reta_query = mana_reta_query, \
	.stats_get = mana_stats_get, \
	.stats_reset = mana_stats_reset, \
	.xstats_get = mana_xstats_get, \
	.xstats_get_names = mana_xstats_get_names, \
	.xstats_reset = mana_stats_reset, \
	.is_removed = mana_is_removed

static const struct eth_dev_ops primary_ops = {
	COMMON_OPS,
	.dev_configure = dev_configure,
	.dev_stop = dev_stop,
	.dev_close = dev_close,
	.dev_reset = mana_dev_reset,
	.rx_queue_intr_enable = mana_rx_queue_intr_enable,
	.rx_queue_intr_disable = mana_rx_queue_intr_disable,
	.dev_ptypes_set = ptypes_set,
	.dev_set_link_up = mana_link_up,
	.dev_set_link_down = mana_link_down,
	.fw_version_get = fw_version_get,
	.mac_addr_set = mac_addr_set,
	.mac_addr_add = mac_addr_add,
	.set_mc_addr_list = mc_addr_list_set,
	.vlan_offload_set = vlan_offload_set,
	.vlan_strip_queue_set = vlan_strip_queue_set,
	.rx_queue_setup = rx_queue_setup,
	.rx_queue_release = rx_queue_release,
	.tx_queue_setup = tx_queue_setup,
	.tx_queue_release = tx_queue_release,
	.tx_done_cleanup = mana_txq_done_cleanup,
	.get_monitor_addr = get_monitor_addr,
	.eth_rx_descriptor_dump = mana_rx_descriptor_dump,
	.eth_tx_descriptor_dump = mana_tx_descriptor_dump,
	.eth_dev_priv_dump = mana_dev_priv_dump,
};

/*
 * ethdev changes the shared data of the port before it calls some operations (configure,
 * stop, setup and release of queues). Those are absent here, so ethdev returns -ENOTSUP
 * before it changes anything.
 */
static const struct eth_dev_ops secondary_ops = {
	COMMON_OPS,
	.dev_close = mana_secondary_close,
	.tx_done_cleanup = mana_secondary_tx_done_cleanup,
};

void
mana_dev_init(struct rte_eth_dev *dev, struct rte_device *device)
{
	dev->device = device;
	dev->dev_ops = rte_eal_process_type() == RTE_PROC_PRIMARY ? &primary_ops : &secondary_ops;
	mana_bursts_stop(dev);
	dev->rx_queue_count = mana_rxq_count;
	dev->rx_descriptor_status = rx_descriptor_status;
	dev->tx_descriptor_status = tx_descriptor_status;
	MANA_TX_QUEUE_COUNT_SET(dev, mana_txq_count);
}
