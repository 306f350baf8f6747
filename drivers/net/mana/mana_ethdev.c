/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations on a port, and the table of all. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_ether.h>
#include <rte_flow_driver.h>
#include <rte_mbuf_ptype.h>
#include <rte_power_intrinsics.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_rx_set.h"

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

/* With the device argument tx_outer=1. */
#define TX_OUTER_OFFLOADS                      \
	(RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM)

#define DEFAULT_BURST 32

/* ---- Promiscuous mode and MAC address ---------------------------------- */

/*
 * The adapter has no Rx filter: the port receives all that the host's switch
 * delivers. Only enabling reports that, because ethdev disables the modes at each
 * start.
 */
static int
promisc_enable(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (priv->options.reject_promisc)
		return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				     "promisc=reject: promiscuous and all-multicast modes are always on and cannot be set; remove the argument to have the request accepted");
	if (!priv->is_promisc_noted)
		MANA_PORT_LOG(NOTICE, dev->data->name,
			      "the port has no Rx filter: promiscuous and all-multicast modes are always on");
	priv->is_promisc_noted = true;
	return 0;
}

int
mana_promisc_keep(struct rte_eth_dev *dev __rte_unused)
{
	return 0;
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

/* ---- MTU ----------------------------------------------------------------- */

/* The device accepts what fits the posted buffers: it has no MTU register. */
static int
mtu_check(const struct mana_priv *priv, uint16_t mtu)
{
	const char *name = priv->data->name;
	const struct mana_eth_rxq *ctl;
	uint32_t at = 0;
	int ret = 0;

	if (mtu > priv->limits.max_mtu)
		ret = MANA_PORT_ERR(-EINVAL, name,
				    "MTU %u: the kernel allows at most %u for netdev %s",
				    mtu, priv->limits.max_mtu, priv->netdev.name);
	/*
	 * The application may have freed the mempools of a stopped port, to set up
	 * its queues anew. The start checks those.
	 */
	while (ret == 0 && priv->is_running &&
	       (ctl = mana_rxq_next(priv, &at)) != NULL) {
		uint32_t room_bytes = mana_rx_set_room_bytes(priv, ctl->owner);

		ret = mana_rx_layout_check(priv, &ctl->layout, mtu);
		if (ret == 0 && room_bytes < (uint32_t)mtu + MANA_FRAME_OVERHEAD)
			ret = MANA_PORT_ERR(-EBUSY, name,
					    "MTU %u: Rx queue %u has posted buffers of %u bytes a packet; stop the port, set the MTU, start the port",
					    mtu, ctl->owner, room_bytes);
	}
	return ret;
}

static int
mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		ret = mtu_check(priv, mtu);
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, MANA_EVENT_MTU, mtu, 0, ret);
}

/* ---- VLAN stripping ---------------------------------------------------------- */

/*
 * The device always strips (Linux mana_en.c: NETIF_F_HW_VLAN_CTAG_RX cannot be
 * switched). With stripping off the burst puts the tag back. So the setting can
 * change at any time: the burst reads one byte for each tagged packet.
 */
static int
strip_set(struct rte_eth_dev *dev, uint32_t queue_id, bool is_on)
{
	struct mana_priv *priv = dev->data->dev_private;
	const bool is_all = queue_id == UINT32_MAX;
	struct mana_eth_rxq *ctl;
	struct mana_rx_set *set;
	uint32_t at = 0;
	int ret = 0;

	/* In any state: a rebuild takes it from the offloads. */
	mana_control_lock(priv);
	set = priv->rx_set;
	if (!is_all && dev->data->rx_queues[queue_id] == NULL)
		ret = MANA_PORT_ERR(-EINVAL, dev->data->name,
				    "cannot set VLAN stripping of Rx queue %u: the queue is not set up",
				    queue_id);
	else if (!is_on && RTE_PKTMBUF_HEADROOM < RTE_VLAN_HLEN)
		ret = MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				    "VLAN stripping cannot be off: DPDK was built with a headroom of %d bytes, a tag needs %d",
				    RTE_PKTMBUF_HEADROOM, RTE_VLAN_HLEN);
	while (ret == 0 && (ctl = mana_rxq_next(priv, &at)) != NULL) {
		if (!is_all && ctl->owner != queue_id)
			continue;
		ctl->offloads &= ~RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
		if (is_on)
			ctl->offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	}
	/* A plain byte: a concurrent burst reads either value. */
	for (uint32_t i = 0; ret == 0 && set != NULL && i < set->nb; i++)
		if (is_all || set->hwqs[i].owner == queue_id)
			*(volatile bool *)&set->hwqs[i].rxq.vlan_strip = is_on;
	mana_control_end(priv);
	return mana_event_add(&priv->events, MANA_EVENT_VLAN_STRIP, queue_id,
			      is_on, ret);
}

static int
vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	uint64_t offloads = dev->data->dev_conf.rxmode.offloads;

	/* ethdev has refused filter, extend and QinQ: the port has no such offload. */
	if ((mask & RTE_ETH_VLAN_STRIP_MASK) == 0)
		return 0;
	return strip_set(dev, UINT32_MAX,
			 (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0);
}

static void
vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue_id, int is_on)
{
	(void)strip_set(dev, queue_id, is_on != 0);
}

/* ---- Flow rules ---------------------------------------------------------------- */

/*
 * Linux mana has no flow steering for Ethernet vPorts. Without these operations
 * ethdev reports "function not implemented"; with them the application gets the
 * reason.
 */
static int
flow_flush(struct rte_eth_dev *dev __rte_unused, struct rte_flow_error *error)
{
	return rte_flow_error_set(
		error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"the adapter has no flow steering, use RSS");
}

static int
flow_validate(struct rte_eth_dev *dev,
	      const struct rte_flow_attr *attr __rte_unused,
	      const struct rte_flow_item *pattern __rte_unused,
	      const struct rte_flow_action *actions __rte_unused,
	      struct rte_flow_error *error)
{
	return flow_flush(dev, error);
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev,
	    const struct rte_flow_attr *attr __rte_unused,
	    const struct rte_flow_item *pattern __rte_unused,
	    const struct rte_flow_action *actions __rte_unused,
	    struct rte_flow_error *error)
{
	(void)flow_flush(dev, error);
	return NULL;
}

static int
flow_isolate(struct rte_eth_dev *dev, int is_on __rte_unused,
	     struct rte_flow_error *error)
{
	return flow_flush(dev, error);
}

int
mana_flow_ops_get(struct rte_eth_dev *dev __rte_unused,
		  const struct rte_flow_ops **ops)
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

static int
burst_mode_set(struct rte_eth_burst_mode *mode, const char *name)
{
	snprintf(mode->info, sizeof(mode->info), "%s", name != NULL ? name : "");
	return name != NULL ? 0 : -EINVAL;
}

int
mana_rx_burst_mode_set(struct rte_eth_burst_mode *mode, mana_burst_t burst)
{
	const struct mana_rx_path *path = mana_rx_path_find(burst);

	return burst_mode_set(mode, path != NULL ? path->name : NULL);
}

int
mana_tx_burst_mode_set(struct rte_eth_burst_mode *mode, mana_burst_t burst)
{
	return burst_mode_set(mode, mana_tx_burst_name(burst));
}

static int
rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return mana_rx_burst_mode_set(mode, dev->rx_pkt_burst);
}

static int
tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return mana_tx_burst_mode_set(mode, dev->tx_pkt_burst);
}

/* ---- States --------------------------------------------------------------- */

static uint8_t
state_of(bool is_started)
{
	return is_started ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
}

/* A queue that is not set up makes the start fail, whatever its state. */
static void
queue_states_set(struct rte_eth_dev *dev, bool is_running)
{
	struct rte_eth_dev_data *data = dev->data;

	for (uint16_t i = 0; i < data->nb_rx_queues; i++) {
		const struct mana_eth_rxq *ctl = data->rx_queues[i];

		data->rx_queue_state[i] =
			state_of(is_running && ctl != NULL && !ctl->is_deferred);
	}
	for (uint16_t i = 0; i < data->nb_tx_queues; i++) {
		const struct mana_eth_txq *ctl = data->tx_queues[i];

		data->tx_queue_state[i] =
			state_of(is_running && ctl != NULL && !ctl->is_deferred);
	}
}

/* ---- Operations ------------------------------------------------------------ */

static int
rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf,
	       struct rte_mempool *mp)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		ret = mana_rxq_setup(priv, queue_id, nb_desc, socket_id, conf, mp);
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, MANA_EVENT_RXQ_SETUP, queue_id,
			      nb_desc, ret);
}

static void
rx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	/* net_netvsc may call this of a port that was never configured. */
	if (dev->data->rx_queues == NULL)
		return;
	mana_control_lock(priv);
	mana_rxq_release(priv, queue_id);
	mana_control_end(priv);
	mana_event_add(&priv->events, MANA_EVENT_RXQ_RELEASE, queue_id, 0, 0);
}

static int
tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		ret = mana_txq_setup(priv, queue_id, nb_desc, socket_id, conf);
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, MANA_EVENT_TXQ_SETUP, queue_id,
			      nb_desc, ret);
}

static void
tx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (dev->data->tx_queues == NULL)
		return;
	mana_control_lock(priv);
	mana_txq_release(priv, dev->data->tx_queues[queue_id]);
	dev->data->tx_queues[queue_id] = NULL;
	mana_control_end(priv);
	mana_event_add(&priv->events, MANA_EVENT_TXQ_RELEASE, queue_id, 0, 0);
}

/* ethdev has checked that the port runs, and the queue is set up and stopped. */
static int
queue_change(struct rte_eth_dev *dev, uint16_t queue_id,
	     int (*change)(struct mana_priv *priv, uint16_t queue_id),
	     enum mana_event_kind kind)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		ret = change(priv, queue_id);
		/* The queue may have been set up anew. */
		mana_peers_tell(priv, true, priv->is_running);
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, kind, queue_id, 0, ret);
}

static int
rx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_rx_set_queue_start,
			    MANA_EVENT_RXQ_START);
}

static int
rx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_rx_set_queue_stop,
			    MANA_EVENT_RXQ_STOP);
}

static int
tx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_txq_start, MANA_EVENT_TXQ_START);
}

static int
tx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_txq_stop, MANA_EVENT_TXQ_STOP);
}

/* ---- The settings in effect --------------------------------------------- */

void
mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_rxq_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	const struct mana_rx_set *set;
	const struct mana_eth_rxq *ctl;

	if (priv == NULL)
		return;
	set = priv->rx_set;
	ctl = priv->rxqs[queue_id];
	if (ctl != NULL) {
		info->mp = ctl->layout.is_split ? NULL : ctl->mp;
		info->nb_desc = ctl->nb_desc;
		info->rx_buf_size = ctl->layout.segs[0].bytes;
		for (uint32_t i = 0; set != NULL && i < set->nb; i++)
			if (set->hwqs[i].owner == queue_id)
				info->scattered_rx =
					set->hwqs[i].rxq.scatter.nb_segs != 0;
		info->conf.rx_free_thresh = ctl->free_thresh;
		/* Without a buffer the device drops the packet: it cannot wait. */
		info->conf.rx_drop_en = 1;
		info->conf.rx_deferred_start = ctl->is_deferred;
		info->conf.offloads = ctl->offloads;
		if (ctl->layout.is_split) {
			info->conf.rx_seg = (union rte_eth_rxseg *)(uintptr_t)
						    ctl->layout.rx_seg;
			info->conf.rx_nseg = ctl->layout.nb_segs;
		}
	}
	mana_registry_unlock();
}

void
mana_txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_txq_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	const struct mana_eth_txq *ctl;

	if (priv == NULL)
		return;
	ctl = priv->txqs[queue_id];
	if (ctl != NULL) {
		info->nb_desc = ctl->nb_desc;
		info->conf.tx_free_thresh = ctl->free_thresh;
		info->conf.tx_deferred_start = ctl->is_deferred;
		info->conf.offloads = ctl->offloads;
	}
	mana_registry_unlock();
}

static int
tx_done_cleanup(void *txq, uint32_t free_cnt)
{
	/* ethdev does not check that the queue was set up. */
	return txq != NULL ? (int)mana_txq_done_cleanup(txq, free_cnt) : -EINVAL;
}

/* ---- Status: ethdev keeps these functions in the port, not in the table ---- */

static mana_queue_count_t
rx_queue_count(void *list)
{
	return mana_rx_list_count(list);
}

static_assert((int)MANA_DESC_POSTED == RTE_ETH_RX_DESC_AVAIL &&
	      (int)MANA_DESC_DONE == RTE_ETH_RX_DESC_DONE &&
	      (int)MANA_DESC_NONE == RTE_ETH_RX_DESC_UNAVAIL, "states are ethdev's");
static_assert((int)MANA_DESC_POSTED == RTE_ETH_TX_DESC_FULL &&
	      (int)MANA_DESC_DONE == RTE_ETH_TX_DESC_DONE &&
	      (int)MANA_DESC_NONE == RTE_ETH_TX_DESC_UNAVAIL, "states are ethdev's");

static int
rx_descriptor_status(void *list, uint16_t offset)
{
	const struct mana_eth_rxq *ctl = list; /* its first member */

	return offset < ctl->nb_desc ? (int)mana_rx_list_desc_state(list, offset) :
				       -EINVAL;
}

static int
tx_queue_count(void *txq)
{
	int nb = 0;

	if (mana_txq_lock(txq)) {
		nb = mana_txq_count(txq);
		mana_txq_unlock(txq);
	}
	return nb;
}

static int
tx_descriptor_status(void *txq, uint16_t offset)
{
	const struct mana_eth_txq *ctl = txq; /* its first member */
	enum mana_desc_state state = MANA_DESC_NONE;

	if (offset >= ctl->nb_desc)
		return -EINVAL;
	if (mana_txq_lock(txq)) {
		state = mana_txq_desc_state(txq, offset);
		mana_txq_unlock(txq);
	}
	return state;
}

void
mana_status_ops_set(struct rte_eth_dev *dev)
{
	dev->rx_queue_count = rx_queue_count;
	dev->rx_descriptor_status = rx_descriptor_status;
	dev->tx_descriptor_status = tx_descriptor_status;
	MANA_TX_QUEUE_COUNT_SET(dev, tx_queue_count);
}

/* ---- Monitor mode (rte_power) --------------------------------------------- */

/*
 * A core may wait for a write to the last word of the next CQE. The address is valid
 * for one wait, right after a poll that returned no packet: each packet advances it,
 * and each lap of the ring has other owner bits. In an empty list the core waits for
 * the first hardware queue.
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
	struct mana_rx_list *list = queue;
	const struct mana_rxq *rxq;
	int ret = 0;

	if (list == NULL)
		return -EINVAL;
	if (!mana_rx_list_lock(list))
		return -EBUSY;
	pmc->fn = monitor_check;
	rxq = list->first;
	if (rxq == NULL) {
		pmc->addr = &list->first;
		pmc->size = sizeof(uint64_t);
		pmc->opaque[OPAQUE_MASK] = UINT64_MAX;
		pmc->opaque[OPAQUE_VALUE] = 0;
	} else if (rxq->next != rxq) {
		/* A core monitors one address, not several CQs. */
		ret = -ENOTSUP;
	} else if (mana_cq_is_closed(&rxq->cq)) {
		ret = -EINVAL;
	} else {
		const struct mana_cq *cq = &rxq->cq;

		pmc->addr = (void *)(uintptr_t)&mana_cq_cqe(cq, cq->ci)->trailer;
		pmc->size = sizeof(uint32_t);
		pmc->opaque[OPAQUE_MASK] = rte_cpu_to_le_32(MANA_CQ_OWNER_M);
		pmc->opaque[OPAQUE_VALUE] =
			rte_cpu_to_le_32(mana_cq_owner(cq, cq->ci - mana_cq_size(cq)));
		/*
		 * The device writes nothing for packets that wait elsewhere, and
		 * nothing without a buffer, which the next poll may post: no wait.
		 */
		if (rxq->slow_flags != 0 || mana_rxq_nb_posted(rxq) == 0)
			pmc->opaque[OPAQUE_VALUE] = UINT64_MAX;
	}
	mana_rx_list_unlock(list);
	return ret;
}

/* ---- Configuration and information ------------------------------------------ */

static int
conf_check(const struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const char *name = dev->data->name;

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
	return 0;
}

static int
dev_configure(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		ret = conf_check(dev);
		if (ret == 0)
			ret = mana_intr_check(dev);
		if (ret == 0)
			ret = mana_rss_configure(priv);
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, MANA_EVENT_CONFIGURE,
			      dev->data->nb_rx_queues, dev->data->nb_tx_queues, ret);
}

/* ethdev has set what this leaves alone: zeros, and an alignment of 1. */
int
mana_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	struct mana_netdev netdev;
	uint32_t mbps;

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
	if (priv->options.tx_outer)
		info->tx_offload_capa |= TX_OUTER_OFFLOADS;
	info->tx_queue_offload_capa = info->tx_offload_capa;
	info->flow_type_rss_offloads = MANA_RSS_TYPES;
	info->hash_key_size = MANA_RSS_KEY_BYTES;
	info->reta_size = MANA_RETA_SIZE;
	info->rx_desc_lim.nb_min = MANA_MIN_DESC;
	info->rx_desc_lim.nb_max = priv->limits.max_rx_desc;
	info->rx_desc_lim.nb_seg_max = info->rx_seg_capa.max_nseg;
	info->rx_desc_lim.nb_mtu_seg_max = info->rx_seg_capa.max_nseg;
	info->tx_desc_lim.nb_min = MANA_MIN_DESC;
	info->tx_desc_lim.nb_max = priv->limits.max_tx_desc;
	info->tx_desc_lim.nb_seg_max = priv->tx_max_sge;
	info->tx_desc_lim.nb_mtu_seg_max = priv->tx_max_sge;
	info->default_rxportconf.burst_size = DEFAULT_BURST;
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
	netdev = priv->netdev;
	mana_registry_unlock();
	/*
	 * The driver queries the kernel without the lock. No command reports other
	 * speeds than that at this moment.
	 */
	if (mana_netdev_speed_get(&netdev, &mbps) == 0)
		info->speed_capa = rte_eth_speed_bitflag(
			mbps, RTE_ETH_LINK_FULL_DUPLEX);
	return 0;
}

/* Under control. */
static int
traffic_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_port_netdev_start(priv);

	/* A burst of another process may begin late. */
	mana_pause_set(priv, MANA_PAUSE_ALL, true);
	if (ret == 0)
		ret = mana_intr_start(dev);
	if (ret == 0)
		ret = mana_queues_start(priv);
	if (ret != 0)
		return ret;
	mana_bursts_start(dev);
	/* The queues of a port that was stopped are paused. */
	if (mana_peers_exist())
		mana_resume(priv, MANA_PAUSE_ALL);
	else
		mana_pause_set(priv, MANA_PAUSE_ALL, false);
	/* The interrupt thread sees these bursts, or this sees the state. */
	rte_mb();
	ret = mana_state_check(priv);
	return ret != 0 ? ret : mana_watch_start(dev);
}

/*
 * Under control. No burst of another process either: the queues stay paused until the next
 * start. Of this process there is none, or a signal handler that stops the port has
 * interrupted it and does not return to it.
 */
static int
traffic_pause(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = 0;

	mana_bursts_stop(dev);
	/* First: a process that joins from now on begins no burst. */
	mana_peers_tell(priv, true, false);
	if (mana_peers_exist())
		ret = mana_pause(priv, MANA_PAUSE_ALL | MANA_PAUSE_OTHERS,
				 MANA_PATIENCE_MS);
	return ret == 0 ? 0 :
		MANA_PORT_ERR(ret, dev->data->name,
			      "the burst of a secondary process does not end: continue or end that process");
}

/* Under control, after traffic_pause(). */
static void
traffic_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	(void)mana_queues_report(priv);
	mana_queues_stop(priv);
	mana_intr_stop(dev);
	/* They have no rings now. */
	if (!mana_peers_exist())
		mana_pause_set(priv, MANA_PAUSE_ALL, false);
	priv->is_running = false;
}

static int
dev_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_control_begin(priv);

	if (ret == 0) {
		queue_states_set(dev, true);
		ret = traffic_start(dev);
		priv->is_running = ret == 0;
		if (ret == 0) {
			mana_peers_tell(priv, true, priv->is_running);
		} else {
			mana_watch_stop(dev);
			mana_bursts_stop(dev);
			traffic_stop(dev);
			queue_states_set(dev, false);
		}
		mana_control_end(priv);
	}
	return mana_event_add(&priv->events, MANA_EVENT_START,
			      dev->data->nb_rx_queues, dev->data->nb_tx_queues, ret);
}

static int
dev_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	/* Unlocked: waits for the interrupt thread, in which a step may run. */
	mana_watch_stop(dev);
	mana_control_lock(priv);
	ret = traffic_pause(dev);
	if (ret == 0) {
		traffic_stop(dev);
		mana_mr_remove_foreign(priv);
		queue_states_set(dev, false);
	} else {
		/* No burst begins any more; ethdev lets the application try again. */
		(void)mana_watch_start(dev);
	}
	mana_control_end(priv);
	return mana_event_add(&priv->events, MANA_EVENT_STOP, 0, 0, ret);
}

static int
dev_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_recovery_end(dev);
	mana_watch_stop(dev);
	/* The application has stopped the port, unless ethdev's stop has failed. */
	(void)traffic_pause(dev);
	traffic_stop(dev);
	mana_port_close(priv);
	/* Part of priv: ethdev must not free it. */
	dev->data->mac_addrs = NULL;
	return 0;
}

const uint32_t *
mana_supported_ptypes_get(struct rte_eth_dev *dev MANA_PTYPES_PARAM)
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

const struct eth_dev_ops mana_dev_ops = {
	.dev_configure = dev_configure,
	.dev_start = dev_start,
	.dev_stop = dev_stop,
	.dev_close = dev_close,
	.dev_reset = mana_dev_reset,
	.is_removed = mana_is_removed,
	.rx_queue_intr_enable = mana_rx_queue_intr_enable,
	.rx_queue_intr_disable = mana_rx_queue_intr_disable,
	.dev_infos_get = mana_dev_infos_get,
	.dev_supported_ptypes_get = mana_supported_ptypes_get,
	.dev_ptypes_set = ptypes_set,
	.link_update = mana_link_update,
	.dev_set_link_up = mana_link_up,
	.dev_set_link_down = mana_link_down,
	.fw_version_get = fw_version_get,
	.mtu_set = mtu_set,
	.mac_addr_set = mac_addr_set,
	.promiscuous_enable = promisc_enable,
	.promiscuous_disable = mana_promisc_keep,
	.allmulticast_enable = promisc_enable,
	.allmulticast_disable = mana_promisc_keep,
	.flow_ops_get = mana_flow_ops_get,
	.vlan_offload_set = vlan_offload_set,
	.vlan_strip_queue_set = vlan_strip_queue_set,
	.rx_queue_setup = rx_queue_setup,
	.rx_queue_release = rx_queue_release,
	.tx_queue_setup = tx_queue_setup,
	.rx_queue_start = rx_queue_start,
	.rx_queue_stop = rx_queue_stop,
	.tx_queue_start = tx_queue_start,
	.tx_queue_stop = tx_queue_stop,
	.tx_queue_release = tx_queue_release,
	.tx_done_cleanup = tx_done_cleanup,
	.rxq_info_get = mana_rxq_info_get,
	.txq_info_get = mana_txq_info_get,
	.get_monitor_addr = get_monitor_addr,
	.eth_rx_descriptor_dump = mana_rx_descriptor_dump,
	.eth_tx_descriptor_dump = mana_tx_descriptor_dump,
	.eth_dev_priv_dump = mana_dev_priv_dump,
	.rx_burst_mode_get = rx_burst_mode_get,
	.tx_burst_mode_get = tx_burst_mode_get,
	.rss_hash_update = mana_rss_hash_update,
	.rss_hash_conf_get = mana_rss_hash_conf_get,
	.reta_update = mana_reta_update,
	.reta_query = mana_reta_query,
	.stats_get = mana_stats_get,
	.stats_reset = mana_stats_reset,
	.xstats_get = mana_xstats_get,
	.xstats_get_names = mana_xstats_get_names,
	.xstats_reset = mana_stats_reset,
};
