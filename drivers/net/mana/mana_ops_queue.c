/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The operations on single queues: burst functions, setup, start and stop,
 * information, status, and the address that a core monitors.
 */

#include <errno.h>
#include <stdio.h>

#include <ethdev_driver.h>
#include <rte_power_intrinsics.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* ---- Burst functions ----------------------------------------------------- */

void
mana_bursts_select(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct mana_rx_path *path =
		mana_rx_path_select(priv->options.rx_path);

	priv->rx_poll = path->poll;
	dev->rx_pkt_burst = path->burst;
	dev->tx_pkt_burst = mana_tx_burst;
	dev->tx_pkt_prepare = mana_tx_pkt_prepare;
	MANA_PORT_LOG(INFO, dev->data->name, "Rx path: %s", path->name);
}

static int
burst_mode_set(struct rte_eth_burst_mode *mode, const char *name)
{
	snprintf(mode->info, sizeof(mode->info), "%s", name != NULL ? name : "");
	return name != NULL ? 0 : -EINVAL;
}

int
mana_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		       struct rte_eth_burst_mode *mode)
{
	const struct mana_rx_path *path = mana_rx_path_find(dev->rx_pkt_burst);

	return burst_mode_set(mode, path != NULL ? path->name : NULL);
}

int
mana_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		       struct rte_eth_burst_mode *mode)
{
	return burst_mode_set(mode, mana_tx_burst_name(dev->tx_pkt_burst));
}

/* ---- States --------------------------------------------------------------- */

static uint8_t
state_of(bool is_started)
{
	return is_started ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
}

/* A queue that is not set up makes the start fail, whatever its state. */
void
mana_queue_states_set(struct rte_eth_dev *dev, bool is_running)
{
	struct rte_eth_dev_data *data = dev->data;
	uint16_t i;

	for (i = 0; i < data->nb_rx_queues; i++) {
		const struct mana_eth_rxq *ctl = data->rx_queues[i];

		data->rx_queue_state[i] =
			state_of(is_running && ctl != NULL && !ctl->is_deferred);
	}
	for (i = 0; i < data->nb_tx_queues; i++) {
		const struct mana_eth_txq *ctl = data->tx_queues[i];

		data->tx_queue_state[i] =
			state_of(is_running && ctl != NULL && !ctl->is_deferred);
	}
}

/* ---- Operations ------------------------------------------------------------ */

int
mana_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id,
		    uint16_t nb_desc, unsigned int socket_id,
		    const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_gone_check(priv);

	if (ret == 0)
		ret = mana_rxq_setup(priv, queue_id, nb_desc, socket_id, conf, mp);
	return mana_event_add(&priv->events, MANA_EVENT_RXQ_SETUP, queue_id,
			      nb_desc, ret);
}

void
mana_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	/* net_netvsc may call this of a port that was never configured. */
	if (dev->data->rx_queues == NULL)
		return;
	mana_rxq_release(priv, queue_id);
	mana_event_add(&priv->events, MANA_EVENT_RXQ_RELEASE, queue_id, 0, 0);
}

int
mana_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id, uint16_t nb_desc,
		    unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_gone_check(priv);

	if (ret == 0)
		ret = mana_txq_setup(priv, queue_id, nb_desc, socket_id, conf);
	return mana_event_add(&priv->events, MANA_EVENT_TXQ_SETUP, queue_id,
			      nb_desc, ret);
}

void
mana_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (dev->data->tx_queues == NULL)
		return;
	mana_txq_release(priv, dev->data->tx_queues[queue_id]);
	dev->data->tx_queues[queue_id] = NULL;
	mana_event_add(&priv->events, MANA_EVENT_TXQ_RELEASE, queue_id, 0, 0);
}

/* ethdev has checked that the port runs, and the queue is set up and stopped. */
static int
queue_change(struct rte_eth_dev *dev, uint16_t queue_id,
	     int (*change)(struct mana_priv *priv, uint16_t queue_id),
	     enum mana_event_kind kind)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mana_gone_check(priv);

	if (ret == 0)
		ret = change(priv, queue_id);
	return mana_event_add(&priv->events, kind, queue_id, 0, ret);
}

int
mana_rx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_rx_set_queue_start,
			    MANA_EVENT_RXQ_START);
}

int
mana_rx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_rx_set_queue_stop,
			    MANA_EVENT_RXQ_STOP);
}

int
mana_tx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_txq_start, MANA_EVENT_TXQ_START);
}

int
mana_tx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id)
{
	return queue_change(dev, queue_id, mana_txq_stop, MANA_EVENT_TXQ_STOP);
}

/* ---- The settings in effect --------------------------------------------- */

static bool
is_scattered(const struct mana_priv *priv, uint16_t queue_id)
{
	const struct mana_rx_set *set = priv->rx_set;
	uint32_t i;

	for (i = 0; set != NULL && i < set->nb; i++)
		if (set->hwqs[i].owner == queue_id)
			return set->hwqs[i].rxq.scatter.nb_segs != 0;
	return false;
}

void
mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_rxq_info *info)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	const struct mana_eth_rxq *ctl;

	if (priv == NULL)
		return;
	ctl = priv->rxqs[queue_id];
	if (ctl != NULL) {
		info->mp = ctl->layout.is_split ? NULL : ctl->mp;
		info->nb_desc = ctl->nb_desc;
		info->rx_buf_size = ctl->layout.segs[0].bytes;
		info->scattered_rx = is_scattered(priv, queue_id);
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

int
mana_tx_done_cleanup(void *txq, uint32_t free_cnt)
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
	return mana_txq_count(txq);
}

static int
tx_descriptor_status(void *txq, uint16_t offset)
{
	const struct mana_eth_txq *ctl = txq; /* its first member */

	return offset < ctl->nb_desc ? (int)mana_txq_desc_state(txq, offset) : -EINVAL;
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

/* The value of opaque[0] at which to wait: for a CQE, its owner bits while empty. */
#define NEVER UINT64_MAX

static int
list_check(const uint64_t val, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	RTE_SET_USED(opaque);
	return val == 0 ? 0 : -1;
}

/* 0: no CQE, wait. -1: do not wait. */
static int
trailer_check(const uint64_t val, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	uint32_t trailer = rte_le_to_cpu_32((uint32_t)val);

	return (trailer & MANA_CQ_OWNER_M) == opaque[0] ? 0 : -1;
}

int
mana_get_monitor_addr(void *queue, struct rte_power_monitor_cond *pmc)
{
	struct mana_rx_list *list = queue;
	const struct mana_rxq *rxq;
	int ret = 0;

	if (list == NULL)
		return -EINVAL;
	if (!mana_rx_list_lock(list))
		return -EBUSY;
	rxq = list->first;
	if (rxq == NULL) {
		pmc->addr = &list->first;
		pmc->size = sizeof(uint64_t);
		pmc->fn = list_check;
	} else if (rxq->next != rxq) {
		/* A core monitors one address, not several CQs. */
		ret = -ENOTSUP;
	} else if (mana_cq_is_closed(&rxq->cq)) {
		ret = -EINVAL;
	} else {
		const struct mana_cq *cq = &rxq->cq;

		pmc->addr = (void *)(uintptr_t)&mana_cq_cqe(cq, cq->ci)->trailer;
		pmc->size = sizeof(uint32_t);
		pmc->fn = trailer_check;
		/*
		 * The device writes nothing for packets that wait elsewhere, and
		 * nothing without a buffer, which the next poll may post.
		 */
		pmc->opaque[0] =
			rxq->slow_flags != 0 || mana_rxq_nb_posted(rxq) == 0 ?
				NEVER :
				mana_cq_owner(cq, cq->ci - mana_cq_size(cq));
	}
	mana_rx_list_unlock(list);
	return ret;
}
