/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The control lock of a port: an operation of the application that needs the device holds it,
 * and fails with -EBUSY while the port recovers, with -EIO when the device is gone for good.
 */

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"

int
mana_state_check(const struct mana_priv *priv)
{
	switch (mana_state(priv)) {
	case MANA_STATE_READY:
		return 0;
	case MANA_STATE_RECOVERING:
		return MANA_PORT_ERR(-EBUSY, priv->data->name,
				     "the port recovers from the loss of its RDMA device: wait for RTE_ETH_EVENT_RECOVERY_SUCCESS or _FAILED");
	default:
		return MANA_PORT_ERR(-EIO, priv->data->name,
				     "the RDMA device was removed: stop the port; when the device is back, reset it, or close it and probe it again");
	}
}

int
mana_control_begin(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				     "only the primary process can start the port and its queues, stop the queues, and set the MTU, the RSS key and the RETA");
	/* At once, whatever a step does. */
	ret = mana_state_check(priv);
	if (ret != 0)
		return ret;
	mana_mutex_lock(&priv->control);
	ret = mana_state_check(priv);
	if (ret != 0)
		mana_control_unlock(priv);
	return ret;
}

void
mana_control_unlock(struct mana_priv *priv)
{
	if (mana_state(priv) == MANA_STATE_GONE)
		mana_rx_wake(priv);
	mana_mutex_unlock(&priv->control);
}

/*
 * Whether the kernel has removed the RDMA device. Its folder goes first, its event comes when
 * all objects are destroyed (Linux ib_uverbs_remove_one(), uverbs_destroy_ufile_hw()). A device
 * that is back may have the folder again.
 */
static bool
is_device_removed(const struct mana_priv *priv)
{
	struct pollfd fd = { .fd = priv->ctx->async_fd, .events = POLLIN };

	return access(priv->ctx->device->dev_path, F_OK) != 0 || poll(&fd, 1, 0) > 0;
}

int
mana_control_end(struct rte_eth_dev *dev, int result)
{
	struct mana_priv *priv = dev->data->dev_private;
	const enum mana_state state = mana_state(priv);

	if (result == -EIO && mana_waits_for_device(dev, priv) &&
	    (state == MANA_STATE_RECOVERING ||
	     (state == MANA_STATE_READY && is_device_removed(priv))))
		result = MANA_PORT_ERR(-EBUSY, dev->data->name,
				       "the kernel has removed the RDMA device, and the port recovers: wait for RTE_ETH_EVENT_RECOVERY_SUCCESS or _FAILED");
	mana_control_unlock(priv);
	return result;
}

int
mana_is_removed(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	bool is_gone = mana_secondary_is_lost();

	/* NULL in a secondary process: the primary one has closed the port. */
	if (priv != NULL) {
		is_gone |= mana_state(priv) == MANA_STATE_GONE;
		mana_registry_unlock();
	}
	return is_gone;
}
