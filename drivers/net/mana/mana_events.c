/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The link, events that the kernel sends at any moment, and a timer: EAL's interrupt
 * thread handles these beside the application. mana_recovery.c explains which objects
 * of the port it may change, and when.
 */

#include <errno.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_ethdev.h"
#include "mana_log.h"

/* Between two tries while the interrupt thread runs a callback. */
#define CLOSE_RETRY_US 100
/* Between two looks at the queues, and how many of these come before one at the link. */
#define TICK_US 50000
#define NB_TICKS_LINK 20
/* Of a device at a time. */
#define MAX_EVENTS 64

/* ---- Sources: descriptors that the interrupt thread watches -------------- */

static struct rte_intr_handle *
source_alloc(void)
{
	struct rte_intr_handle *source =
		rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

	/*
	 * EAL neither reads nor enables a source of this type, and reports that
	 * each queue has its own interrupt: rte_intr_cap_multiple().
	 */
	if (source != NULL &&
	    rte_intr_type_set(source, RTE_INTR_HANDLE_VDEV) == 0)
		return source;
	rte_intr_instance_free(source);
	return NULL;
}

/* Calls callback(dev) when fd is readable. The caller still owns fd. */
static int
source_begin(struct rte_intr_handle *source, int fd,
	     rte_intr_callback_fn callback, struct rte_eth_dev *dev)
{
	int ret = source != NULL ? rte_intr_fd_set(source, fd) : -ENOMEM;

	return ret != 0 ? ret : rte_intr_callback_register(source, callback, dev);
}

/* After this the callback does not run, unless the callback is the caller. */
static void
source_end(struct rte_intr_handle *source, rte_intr_callback_fn callback,
	   struct rte_eth_dev *dev)
{
	int ret;

	if (source == NULL)
		return;
	while ((ret = rte_intr_callback_unregister(source, callback, dev)) ==
		       -EAGAIN &&
	       !rte_thread_is_intr())
		rte_delay_us_sleep(CLOSE_RETRY_US);
	if (ret == -EAGAIN)
		(void)rte_intr_callback_unregister_pending(source, callback,
							   dev, NULL);
	MANA_ORDER_BEHIND(dev);
}

static void
source_free(struct rte_intr_handle **source)
{
	rte_intr_instance_free(*source);
	*source = NULL;
}

/* ---- The link ------------------------------------------------------------- */

/* The kernel reports the carrier of this netdev while the netdev is down. */
static void
carrier_note(const struct rte_eth_dev *dev)
{
	struct mana_priv *priv = mana_registry_hold(dev);

	if (priv == NULL)
		return;
	priv->has_carrier = true;
	mana_registry_unlock();
}

/*
 * The link is up while the port runs, unless the kernel reports that the carrier is
 * lost. The state of the verbs port is no help: it is down whenever the netdev is.
 * A telemetry thread may call this while the application closes the port, so the
 * query uses a copy.
 */
static int
link_read(struct rte_eth_dev *dev, bool is_running)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	struct rte_eth_link link = {
		.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = RTE_ETH_LINK_DOWN,
	};
	struct mana_netdev_state state;
	struct mana_netdev netdev;
	bool is_gone, has_carrier;
	uint32_t mbps;

	if (priv == NULL)
		return -ENODEV;
	netdev = priv->netdev;
	is_gone = mana_state(priv) != MANA_STATE_READY;
	has_carrier = priv->has_carrier;
	mana_registry_unlock();
	if (is_gone)
		return rte_eth_linkstatus_set(dev, &link);
	if (is_running) {
		link.link_status = RTE_ETH_LINK_UP;
		if (mana_netdev_state_get(&netdev, &state) == 0 &&
		    !state.is_up) {
			if (state.carrier)
				carrier_note(dev);
			else if (has_carrier)
				link.link_status = RTE_ETH_LINK_DOWN;
		}
	}
	if (mana_netdev_speed_get(&netdev, &mbps) == 0)
		link.link_speed = mbps;
	return rte_eth_linkstatus_set(dev, &link);
}

void
mana_link_check(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct rte_eth_link *link = &dev->data->dev_link;

	if (link_read(dev, dev->data->dev_started) != 0)
		return;
	mana_event_add(&priv->events, MANA_EVENT_LINK, link->link_status,
		       link->link_speed, 0);
	MANA_PORT_LOG(INFO, dev->data->name, "link is %s",
		      link->link_status == RTE_ETH_LINK_UP ? "up" : "down");
	if (dev->data->dev_conf.intr_conf.lsc != 0 && dev->data->dev_started) {
		mana_peers_tell_link(priv);
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_INTR_LSC, NULL);
	}
}

static void
on_link_event(void *arg)
{
	struct rte_eth_dev *dev = arg;
	const struct mana_priv *priv = dev->data->dev_private;

	if (mana_netdev_watch_read(priv->link_watch, &priv->netdev))
		mana_link_check(dev);
	MANA_ORDER_BEFORE(dev);
}

/*
 * Queries the link as well: the netdev is down, and Linux announces no lost carrier
 * of such a netdev (net/core/link_watch.c linkwatch_do_dev()), only link up, because
 * it notifies peers then (mana_en.c mana_link_state_handle()).
 */
static void
on_tick(void *arg)
{
	struct rte_eth_dev *dev = arg;
	struct mana_priv *priv = dev->data->dev_private;
	bool has_failed;

	has_failed = mana_queues_report(priv);
	mana_repair(priv);
	/* Before the event, in which the application may stop or close the port. */
	if (rte_eal_alarm_set(TICK_US, on_tick, dev) != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot set an alarm: the driver reports neither failed queues nor a lost link until the port is restarted");
	if (has_failed) {
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_QUEUE_STATE, NULL);
	} else if (priv->link_intr != NULL && ++priv->nb_ticks >= NB_TICKS_LINK) {
		priv->nb_ticks = 0;
		mana_link_check(dev);
	}
	MANA_ORDER_BEFORE(dev);
}

static int
link_watch_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int fd;
	int ret = mana_netdev_watch_open(&priv->link_watch, &fd);

	if (ret == 0) {
		/* The kernel announces every change from here on. */
		(void)link_read(dev, true);
		priv->link_intr = source_alloc();
		ret = source_begin(priv->link_intr, fd, on_link_event, dev);
		if (ret != 0) {
			source_free(&priv->link_intr);
			mana_netdev_watch_close(priv->link_watch);
		}
	}
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot watch netdev %s: %s; without intr_conf.lsc the port starts",
			      priv->netdev.name, strerror(-ret));
	return ret;
}

int
mana_watch_start(struct rte_eth_dev *dev)
{
	int ret = dev->data->dev_conf.intr_conf.lsc != 0 ? link_watch_start(dev) : 0;

	if (ret != 0)
		return ret;
	ret = rte_eal_alarm_set(TICK_US, on_tick, dev);
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name, "cannot set an alarm: %s",
			      strerror(-ret));
	return ret;
}

void
mana_watch_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	(void)rte_eal_alarm_cancel(on_tick, dev);
	MANA_ORDER_BEHIND(dev);
	if (priv->link_intr == NULL)
		return;
	source_end(priv->link_intr, on_link_event, dev);
	source_free(&priv->link_intr);
	mana_netdev_watch_close(priv->link_watch);
}

/* ---- The operations on the link -------------------------------------------- */

/* One bit of a word of ethdev's that the application's thread writes. */
static MANA_NO_TSAN bool
is_started(const struct rte_eth_dev *dev)
{
	return dev->data->dev_started;
}

int
mana_link_update(struct rte_eth_dev *dev, int wait_to_complete __rte_unused)
{
	return link_read(dev, is_started(dev));
}

/* No command of the device changes the link, which belongs to the host. */
static int
link_refuse(struct rte_eth_dev *dev, const char *way)
{
	return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
			     "cannot set the link %s, the host controls it; stop and start the port to stop and start traffic",
			     way);
}

int
mana_link_up(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;

	/* With link_intr the interrupt thread updates it. */
	if (priv->link_intr == NULL)
		(void)mana_link_update(dev, 0);
	return dev->data->dev_link.link_status == RTE_ETH_LINK_UP ? 0 :
		link_refuse(dev, "up");
}

int
mana_link_down(struct rte_eth_dev *dev)
{
	return link_refuse(dev, "down");
}

/* ---- Events of the RDMA device -------------------------------------------- */

static void
on_device_event(void *arg)
{
	struct rte_eth_dev *dev = arg;
	struct mana_priv *priv = dev->data->dev_private;
	bool is_fatal = false;
	const char *name;
	int ret = 0;

	/* The thread has other work, too: the descriptor wakes it again. */
	for (unsigned int n = 0; ret == 0 && n < MAX_EVENTS; n++) {
		ret = mana_verbs_event_get(priv->ctx, &is_fatal, &name);
		if (ret == 0)
			MANA_PORT_LOG(INFO, dev->data->name,
				      "RDMA device event: %s", name);
	}
	if (ret != 0 && ret != -EAGAIN && ret != -EINTR) {
		/* Else the descriptor would wake the thread again and again. */
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot read events of the RDMA device: %s; the driver treats it as removed",
			      strerror(-ret));
		(void)rte_intr_callback_unregister_pending(
			priv->device_intr, on_device_event, dev, NULL);
		is_fatal = true;
	}
	if (is_fatal)
		mana_device_lost(dev);
	MANA_ORDER_BEFORE(dev);
}

int
mana_events_begin(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int fd;
	int ret = mana_verbs_events_open(priv->ctx, &fd);

	if (ret == 0)
		ret = source_begin(priv->device_intr, fd, on_device_event, dev);
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot watch events of the RDMA device: %s",
			      strerror(-ret));
	return ret;
}

void
mana_events_end(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	source_end(priv->device_intr, on_device_event, dev);
}

int
mana_events_open(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	priv->device_intr = source_alloc();
	/* Each port has its own, which holds the Rx interrupts as well. */
	dev->intr_handle = priv->device_intr;
	return mana_events_begin(dev);
}

void
mana_events_close(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_events_end(dev);
	source_free(&priv->device_intr);
	dev->intr_handle = NULL;
}
