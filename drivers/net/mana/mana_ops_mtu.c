/* SPDX-License-Identifier: BSD-3-Clause */

/* The operation that sets the largest packet. */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

static int
mtu_check(const struct rte_eth_dev *dev, uint16_t mtu)
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
	/*
	 * Of a port that is stopped the program may have freed the pools, and is
	 * about to set up its queues anew: start looks at those.
	 */
	if (!dev->data->dev_started)
		return 0;
	/* The device takes what fits the posted buffers: nothing to tell it. */
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mana_rxq_ctl *ctl = dev->data->rx_queues[i];

		if (ctl == NULL)
			continue;
		ret = mana_rx_shape_check(priv, &ctl->shape, mtu);
		if (ret != 0)
			return ret;
		if (ctl->wq != NULL &&
		    ctl->rxq.buf_bytes < (uint32_t)mtu + MANA_FRAME_OVERHEAD) {
			MANA_PORT_LOG(ERR, dev->data->name,
				      "MTU %u: receive queue %u runs with buffers of %u bytes a packet; stop the port, set the MTU, start the port",
				      mtu, i, ctl->rxq.buf_bytes);
			return -EBUSY;
		}
	}
	return 0;
}

/*
 * The netdev's MTU, which means nothing to the device's queues of the port,
 * but tells a user's tools what goes there. Somebody else's setting is not
 * undone: see mana_mtu_restore().
 */
void
mana_mtu_to_netdev(struct mana_priv *priv, uint16_t mtu)
{
	struct mana_netdev_state state;
	int ret;

	if (mana_netdev_state_get(&priv->netdev, &state) != 0 ||
	    state.mtu == 0 || state.mtu == mtu)
		return;
	ret = mana_netdev_mtu_set(&priv->netdev, mtu);
	if (ret == 0) {
		if (priv->netdev_mtu_before == 0)
			priv->netdev_mtu_before = state.mtu;
		priv->netdev_mtu = mtu;
		return;
	}
	if (!priv->is_mtu_noted)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s keeps its MTU %u, the port has %u: %s%s",
			      state.name, state.mtu, mtu, strerror(-ret),
			      ret == -EPERM ? " (this needs CAP_NET_ADMIN)" :
					      "");
	priv->is_mtu_noted = true;
}

void
mana_mtu_restore(struct mana_priv *priv)
{
	struct mana_netdev_state state;

	if (priv->netdev_mtu_before == 0)
		return;
	if (mana_netdev_state_get(&priv->netdev, &state) == 0 &&
	    state.mtu == priv->netdev_mtu)
		(void)mana_netdev_mtu_set(&priv->netdev,
					  priv->netdev_mtu_before);
	priv->netdev_mtu_before = 0;
}

int
mana_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = mtu_check(dev, mtu);

	if (ret == 0)
		mana_mtu_to_netdev(priv, mtu);
	mana_event_add(&priv->events, MANA_EVENT_MTU, mtu, 0, ret);
	return ret;
}
