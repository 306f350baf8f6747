/* SPDX-License-Identifier: BSD-3-Clause */

/* What a port receives at all: modes and addresses. */

#include <errno.h>

#include <ethdev_driver.h>
#include <rte_ether.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

/*
 * No receive filter exists: all that the host's switch delivers comes in.
 * Enabling says so, or is refused if that was asked for. Disabling does not:
 * ethdev calls it at each start, and the application only after it has enabled.
 */
int
mana_promisc_enable(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (priv->reject_promisc) {
		MANA_PORT_LOG(
			ERR, dev->data->name,
			"promisc=reject: promiscuous and all-multicast modes are always in effect and cannot be chosen; leave the argument out to have that accepted");
		return -ENOTSUP;
	}
	if (!priv->is_promisc_noted)
		MANA_PORT_LOG(
			NOTICE, dev->data->name,
			"the port has no receive filter: promiscuous and all-multicast modes are always in effect");
	priv->is_promisc_noted = true;
	return 0;
}

int
mana_promisc_disable(struct rte_eth_dev *dev)
{
	RTE_SET_USED(dev);
	return 0;
}

int
mana_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	const struct mana_priv *priv = dev->data->dev_private;

	if (rte_is_same_ether_addr(mac, &priv->netdev.mac))
		return 0;
	MANA_PORT_LOG(ERR, dev->data->name,
		      "the MAC address belongs to the vPort and cannot be changed");
	return -ENOTSUP;
}
