/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The devarg netdev_down=1: a port is taken from the kernel's network stack
 * when it is probed, and given back when it is closed.
 */

#include <errno.h>
#include <string.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"

int
mana_takeover(struct mana_priv *priv)
{
	const char *name = priv->data->name;
	struct mana_netdev_state state;
	int ret;

	if (!priv->netdev_down)
		return 0;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == 0 && !state.is_up)
		return 0;
	if (ret == 0)
		ret = mana_netdev_up_set(&priv->netdev, false);
	mana_event_add(&priv->events, MANA_EVENT_NETDEV, priv->netdev.ifindex,
		       false, ret);
	if (ret != 0) {
		mana_diag_netdev_down(name, state.name, ret);
		return ret;
	}
	priv->is_netdev_taken = true;
	MANA_PORT_LOG(NOTICE, name,
		      "netdev %s is taken down until the port is closed",
		      state.name);
	return 0;
}

void
mana_takeover_end(struct mana_priv *priv)
{
	struct mana_netdev_state state;
	int ret;

	if (!priv->is_netdev_taken)
		return;
	priv->is_netdev_taken = false;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == 0)
		ret = mana_netdev_up_set(&priv->netdev, true);
	mana_event_add(&priv->events, MANA_EVENT_NETDEV, priv->netdev.ifindex,
		       true, ret);
	/* Without the netdev, as after a removal, there is nothing to do. */
	if (ret != 0 && ret != -ENODEV)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "netdev %s stays down: %s; `ip link set dev %s up`",
			      state.name, strerror(-ret), state.name);
}
