/* SPDX-License-Identifier: BSD-3-Clause */

/* What ethdev may ask of a queue: how it is set up, and where it stands. */

#include <errno.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "mana.h"
#include "mana_ethdev.h"

void
mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_rxq_info *info)
{
	const struct mana_rxq_ctl *ctl =
		mana_rxq_ctl_of(dev->data->rx_queues[queue_id]);

	info->mp = ctl->shape.is_split ? NULL : ctl->mp;
	info->nb_desc = ctl->nb_desc;
	info->rx_buf_size = ctl->shape.segs[0].bytes;
	info->conf.rx_free_thresh = ctl->free_thresh;
	/* Without a buffer the device drops: there is no way to wait. */
	info->conf.rx_drop_en = 1;
	info->conf.rx_deferred_start = ctl->is_deferred;
	info->conf.offloads = ctl->offloads;
	if (ctl->shape.is_split) {
		info->conf.rx_seg = (union rte_eth_rxseg *)(uintptr_t)
					    ctl->shape.rx_seg;
		info->conf.rx_nseg = ctl->shape.nb_segs;
	}
	info->scattered_rx = ctl->rxq.scatter.nb_segs != 0;
}

void
mana_txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		  struct rte_eth_txq_info *info)
{
	const struct mana_txq_ctl *ctl =
		mana_txq_ctl_of(dev->data->tx_queues[queue_id]);

	info->nb_desc = ctl->nb_desc;
	info->conf.tx_free_thresh = ctl->free_thresh;
	info->conf.tx_deferred_start = ctl->is_deferred;
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

int
mana_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(queue_id);
	return burst_mode_get(mana_rx_path_find(dev->rx_pkt_burst), mode);
}

int
mana_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(queue_id);
	return burst_mode_get(mana_tx_path_find(dev->tx_pkt_burst), mode);
}

int
mana_tx_done_cleanup(void *txq, uint32_t free_cnt)
{
	/* ethdev does not look whether the queue was set up. */
	if (txq == NULL)
		return -EINVAL;
	return mana_txq_done_cleanup(txq, free_cnt);
}

/* ---- Of the datapath: ethdev keeps these in the port, not in the table ---- */

static mana_queue_count_t
rx_queue_count(void *rxq)
{
	return mana_rxq_count(rxq);
}

static int
rx_descriptor_status(void *rxq, uint16_t offset)
{
	if (offset >= mana_rxq_ctl_of(rxq)->nb_desc)
		return -EINVAL;
	switch (mana_rxq_desc_state(rxq, offset)) {
	case MANA_DESC_DONE:
		return RTE_ETH_RX_DESC_DONE;
	case MANA_DESC_POSTED:
		return RTE_ETH_RX_DESC_AVAIL;
	default:
		return RTE_ETH_RX_DESC_UNAVAIL;
	}
}

static int
tx_queue_count(void *txq)
{
	return mana_txq_count(txq);
}

static int
tx_descriptor_status(void *txq, uint16_t offset)
{
	if (offset >= mana_txq_ctl_of(txq)->nb_desc)
		return -EINVAL;
	switch (mana_txq_desc_state(txq, offset)) {
	case MANA_DESC_DONE:
		return RTE_ETH_TX_DESC_DONE;
	case MANA_DESC_POSTED:
		return RTE_ETH_TX_DESC_FULL;
	default:
		return RTE_ETH_TX_DESC_UNAVAIL;
	}
}

void
mana_status_ops_set(struct rte_eth_dev *dev)
{
	dev->rx_queue_count = rx_queue_count;
	dev->rx_descriptor_status = rx_descriptor_status;
	dev->tx_descriptor_status = tx_descriptor_status;
	MANA_TX_QUEUE_COUNT_SET(dev, tx_queue_count);
}
