/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations on the link. */

#include <errno.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

/*
 * Up while the port runs, unless the kernel says that the carrier is gone.
 * The verbs port's state says nothing: it is down whenever the netdev is.
 */
int
mana_link_read(struct rte_eth_dev *dev, bool is_running)
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

	if (mana_is_gone(priv))
		return rte_eth_linkstatus_set(dev, &link);
	if (is_running) {
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

int
mana_link_update(struct rte_eth_dev *dev, int wait_to_complete)
{
	RTE_SET_USED(wait_to_complete);
	return mana_link_read(dev, dev->data->dev_started);
}

/* The link is the host's, and no command of the device moves it. */
static int
link_refuse(struct rte_eth_dev *dev, const char *way)
{
	MANA_PORT_LOG(
		ERR, dev->data->name,
		"the link belongs to the host and cannot be set %s; rte_eth_dev_stop() and rte_eth_dev_start() end and begin traffic",
		way);
	return -ENOTSUP;
}

int
mana_link_up(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;

	/* Else the interrupt thread keeps it. */
	if (priv->link_intr == NULL)
		(void)mana_link_update(dev, 0);
	if (dev->data->dev_link.link_status == RTE_ETH_LINK_UP)
		return 0;
	return link_refuse(dev, "up");
}

int
mana_link_down(struct rte_eth_dev *dev)
{
	return link_refuse(dev, "down");
}
