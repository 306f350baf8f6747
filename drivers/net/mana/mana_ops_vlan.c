/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * VLAN stripping, of all receive queues or of one, at any time.
 *
 * The device always strips (Linux mana_en.c: NETIF_F_HW_VLAN_CTAG_RX cannot be
 * switched); what changes is whether the burst puts the tag back. So a queue
 * need not rest: the burst reads one byte for each tagged packet.
 */

#include <errno.h>

#include <ethdev_driver.h>
#include <rte_ether.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"


/* Where a tag that is put back goes: into the headroom. */
static int
can_keep_tags(const struct rte_eth_dev *dev)
{
	if (RTE_PKTMBUF_HEADROOM >= RTE_VLAN_HLEN)
		return 0;
	MANA_PORT_LOG(ERR, dev->data->name,
		      "VLAN tags can only be stripped: DPDK was built with a headroom of %d bytes, a tag needs %d",
		      RTE_PKTMBUF_HEADROOM, RTE_VLAN_HLEN);
	return -ENOTSUP;
}

static void
strip_set(struct mana_rxq_ctl *ctl, bool is_on)
{
	if (is_on)
		ctl->offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	else
		ctl->offloads &= ~RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	/* A plain byte: a burst that runs meanwhile sees either value. */
	*(volatile bool *)&ctl->rxq.vlan_strip = is_on;
}

int
mana_vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	struct mana_priv *priv = dev->data->dev_private;
	bool is_on = (dev->data->dev_conf.rxmode.offloads &
		      RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;
	int ret = 0;

	/* ethdev has refused filter, extend and QinQ: no offload of ours. */
	if ((mask & RTE_ETH_VLAN_STRIP_MASK) == 0)
		return 0;
	if (!is_on)
		ret = can_keep_tags(dev);
	while (ret == 0 && (ctl = mana_rxq_next(priv, &at)) != NULL)
		strip_set(ctl, is_on);
	mana_event_add(&priv->events, MANA_EVENT_VLAN_STRIP, UINT32_MAX, is_on,
		       ret);
	return ret;
}

void
mana_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue_id, int is_on)
{
	struct mana_priv *priv = dev->data->dev_private;
	void *rxq = dev->data->rx_queues[queue_id];
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;
	int ret = 0;

	if (rxq == NULL) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "VLAN stripping of receive queue %u: set it up first",
			      queue_id);
		ret = -EINVAL;
	} else if (is_on == 0) {
		ret = can_keep_tags(dev);
	}
	/* And those that are hidden behind it. */
	while (ret == 0 && (ctl = mana_rxq_next(priv, &at)) != NULL)
		if (ctl->owner == queue_id)
			strip_set(ctl, is_on != 0);
	mana_event_add(&priv->events, MANA_EVENT_VLAN_STRIP, queue_id,
		       is_on != 0, ret);
}
