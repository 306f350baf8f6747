/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the kernel tells at any moment, heard in EAL's interrupt thread while
 * the application goes on. That thread only marks what has happened, turns the
 * burst functions off and tells the application; objects and memory are the
 * control path's, and stay until the port is closed.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_interrupts.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

/* Between two tries while the interrupt thread runs a callback. */
#define CLOSE_RETRY_US 100

/* ---- Sources: descriptors that the interrupt thread watches -------------- */

/* Calls callback(dev) whenever fd, which stays the caller's, has something. */
static int
source_open(struct rte_intr_handle **source, int fd,
	    rte_intr_callback_fn callback, struct rte_eth_dev *dev)
{
	int ret = -ENOMEM;

	*source = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	/*
	 * Of this type EAL reads and enables nothing, and says that each queue
	 * has an interrupt of its own: rte_intr_cap_multiple().
	 */
	if (*source != NULL)
		ret = rte_intr_type_set(*source, RTE_INTR_HANDLE_VDEV);
	if (ret == 0)
		ret = rte_intr_fd_set(*source, fd);
	if (ret == 0)
		ret = rte_intr_callback_register(*source, callback, dev);
	if (ret != 0) {
		rte_intr_instance_free(*source);
		*source = NULL;
	}
	return ret;
}

/* The callback does not run any more, unless it is the one that calls this. */
static void
source_close(struct rte_intr_handle **source, rte_intr_callback_fn callback,
	     struct rte_eth_dev *dev)
{
	int ret;

	if (*source == NULL)
		return;
	while ((ret = rte_intr_callback_unregister(*source, callback, dev)) ==
		       -EAGAIN &&
	       !rte_thread_is_intr())
		rte_delay_us_sleep(CLOSE_RETRY_US);
	if (ret == -EAGAIN)
		(void)rte_intr_callback_unregister_pending(*source, callback,
							   dev, NULL);
	rte_intr_instance_free(*source);
	*source = NULL;
}

/* ---- The link ------------------------------------------------------------- */

/* Tells the application when the status, not only the speed, is another. */
static void
link_changed(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct rte_eth_link *link = &dev->data->dev_link;

	if (mana_link_read(dev, true) != 0)
		return;
	mana_event_add(&priv->events, MANA_EVENT_LINK, link->link_status,
		       link->link_speed, 0);
	MANA_PORT_LOG(INFO, dev->data->name, "the link is %s",
		      link->link_status == RTE_ETH_LINK_UP ? "up" : "down");
	if (dev->data->dev_conf.intr_conf.lsc != 0 && dev->data->dev_started)
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

static void
on_link_event(void *arg)
{
	struct rte_eth_dev *dev = arg;
	const struct mana_priv *priv = dev->data->dev_private;

	if (mana_netdev_watch_read(priv->link_fd, &priv->netdev))
		link_changed(dev);
}

int
mana_link_watch_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	if (dev->data->dev_conf.intr_conf.lsc == 0)
		return 0;
	ret = mana_netdev_watch_open(&priv->link_fd);
	if (ret == 0) {
		/* A change from here on is told: none is missed. */
		(void)mana_link_read(dev, true);
		ret = source_open(&priv->link_intr, priv->link_fd,
				  on_link_event, dev);
		if (ret != 0)
			close(priv->link_fd);
	}
	if (ret != 0)
		MANA_PORT_LOG(
			ERR, dev->data->name,
			"cannot listen to changes of netdev %s: %s; without intr_conf.lsc the port starts",
			priv->netdev.name, strerror(-ret));
	return ret;
}

void
mana_link_watch_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (priv->link_intr == NULL)
		return;
	source_close(&priv->link_intr, on_link_event, dev);
	close(priv->link_fd);
}

/* ---- The device goes ------------------------------------------------------ */

/*
 * A burst that runs just now does no harm: the rings are memory of ours, in
 * which nothing moves any more, and the doorbell page is one of plain memory
 * (Linux uverbs_main.c rdma_umap_fault).
 */
void
mana_bursts_off(struct rte_eth_dev *dev)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[dev->data->port_id];

	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	if (dev->data->dev_started) {
		ops->rx_pkt_burst = rte_eth_pkt_burst_dummy;
		ops->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	}
}

/* Whoever hears of it may close the port: it is not touched afterwards. */
static void
device_gone(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	bool is_wanted = dev->data->dev_conf.intr_conf.rmv != 0;
	uint16_t port_id = dev->data->port_id;

	if (mana_is_gone(priv))
		return;
	mana_atomic_store(&priv->is_gone, 1);
	mana_atomic_add(&priv->nb_resets, 1);
	rte_mb(); /* a start that goes on now sees it, or is undone here */
	mana_bursts_off(dev);
	mana_event_add(&priv->events, MANA_EVENT_REMOVED, 0, 0, 0);
	MANA_PORT_LOG(
		ERR, dev->data->name,
		"the kernel took the RDMA device away (removal, reset or service of the card, or its driver was unloaded): stop and close the port, probe it again when the device is back");
	link_changed(dev);
	if (is_wanted && rte_eth_dev_is_valid_port(port_id))
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_INTR_RMV, NULL);
}

int
mana_gone_check(const struct mana_priv *priv)
{
	if (!mana_is_gone(priv))
		return 0;
	MANA_PORT_LOG(
		ERR, priv->data->name,
		"the RDMA device is gone: close the port, probe it again when the device is back");
	return -EIO;
}

int
mana_is_removed(struct rte_eth_dev *dev)
{
	return mana_is_gone(dev->data->dev_private);
}

/* ---- Events of the RDMA device -------------------------------------------- */

static void
on_device_event(void *arg)
{
	struct rte_eth_dev *dev = arg;
	struct mana_priv *priv = dev->data->dev_private;
	enum mana_verbs_event event;
	bool is_fatal = false;
	const char *name;
	int ret;

	while ((ret = mana_verbs_event_get(priv->ctx, &event, &name)) == 0) {
		is_fatal |= event == MANA_VERBS_EVENT_FATAL;
		MANA_PORT_LOG(INFO, dev->data->name, "event of the device: %s",
			      name);
	}
	if (ret != -EAGAIN && ret != -EINTR) {
		/* Would be told again and again. */
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot read events of the device: %s",
			      strerror(-ret));
		(void)rte_intr_callback_unregister_pending(
			priv->device_intr, on_device_event, dev, NULL);
		is_fatal = true;
	}
	if (is_fatal)
		device_gone(dev);
}

int
mana_events_open(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int fd;
	int ret;

	ret = mana_verbs_events_open(priv->ctx, &fd);
	if (ret == 0)
		ret = source_open(&priv->device_intr, fd, on_device_event, dev);
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot listen to events of the device: %s",
			      strerror(-ret));
	/* Each port its own: the receive interrupts are in it, too. */
	dev->intr_handle = priv->device_intr;
	return ret;
}

void
mana_events_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	source_close(&priv->device_intr, on_device_event, dev);
	dev->intr_handle = NULL;
}
