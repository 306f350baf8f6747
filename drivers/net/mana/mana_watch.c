/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the interrupt thread does periodically for a port that runs: it reports and rebuilds
 * failed queues, and keeps the link status up to date. Also the operations on the link.
 */

#include <errno.h>
#include <string.h>

#include <rte_alarm.h>

#include "mana_dump.h"
#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_queues.h"

/* Between two looks at the queues, and how many of these come before one at the link. */
#define TICK_US 50000
#define NB_TICKS_LINK 20

/* ---- The link ------------------------------------------------------------- */

/* One bit of a word of ethdev's that the application's thread writes. */
static MANA_NO_TSAN bool
is_started(const struct rte_eth_dev *dev)
{
	return dev->data->dev_started;
}

/*
 * Queries the kernel: waits for its lock of netdevs (rtnl). The link is up while the port runs,
 * unless the kernel reports that the carrier is lost; the verbs port is down whenever the netdev
 * is. A telemetry thread may call this while the port is closed, so the query uses a copy.
 */
static void
link_query(const struct rte_eth_dev *dev)
{
	struct mana_priv *priv = mana_registry_hold(dev);
	struct mana_netdev_state state;
	uint32_t mbps = RTE_ETH_SPEED_NUM_UNKNOWN;
	struct mana_netdev netdev;
	uint32_t mtu_before;
	bool is_there;

	if (priv == NULL)
		return;
	netdev = priv->netdev;
	is_there = mana_state(priv) == MANA_STATE_READY;
	mana_registry_unlock();
	if (!is_there)
		return;
	if (mana_netdev_state_get(&netdev, &state) != 0)
		state.is_up = true;
	(void)mana_netdev_speed_get(&netdev, &mbps);
	priv = mana_registry_hold(dev);
	if (priv == NULL)
		return;
	mtu_before = priv->netdev_mtu;
	priv->netdev_mtu = state.mtu;
	priv->has_carrier |= !state.is_up && state.carrier;
	priv->is_carrier_lost = !state.is_up && !state.carrier && priv->has_carrier;
	priv->link_mbps = mbps;
	mana_registry_unlock();
	if (mtu_before != 0 && state.mtu != 0 && mtu_before != state.mtu && is_started(dev))
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "the MTU of netdev %s was changed from %u to %u while the port has queues: Linux 7.2 and 7.3 crash when the port stops; find what sets it (a udev rule, NetworkManager, systemd-networkd), and exclude the netdev there",
			      netdev.name, mtu_before, state.mtu);
}

/* Sets what the last query has found. Returns as rte_eth_linkstatus_set(). */
static int
link_set(struct rte_eth_dev *dev, bool is_running)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	struct rte_eth_link link = {
		.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = RTE_ETH_LINK_DOWN,
	};

	if (priv == NULL)
		return -ENODEV;
	if (mana_state(priv) == MANA_STATE_READY) {
		link.link_speed = priv->link_mbps;
		if (is_running && !priv->is_carrier_lost &&
		    (priv->rx_set != NULL || dev->data->nb_rx_queues == 0))
			link.link_status = RTE_ETH_LINK_UP;
	}
	mana_registry_unlock();
	return rte_eth_linkstatus_set(dev, &link);
}

void
mana_link_check(struct rte_eth_dev *dev, bool is_running, bool wants_event)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct rte_eth_link link;

	link_query(dev);
	if (link_set(dev, is_running) != 0)
		return;
	rte_eth_linkstatus_get(dev, &link);
	MANA_PORT_LOG(INFO, dev->data->name, "link is %s",
		      link.link_status == RTE_ETH_LINK_UP ? "up" : "down");
	if (wants_event && is_running) {
		mana_registry_lock();
		priv->news.link_nr++;
		mana_registry_unlock();
		mana_peers_tell(priv, true);
		(void)rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
	}
}

/* ---- The operations on the link -------------------------------------------- */

int
mana_link_update(struct rte_eth_dev *dev, int wait_to_complete)
{
	/* The primary process updates the link in the shared data. */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	if (wait_to_complete != 0)
		link_query(dev);
	return link_set(dev, is_started(dev));
}

/* No command of the device changes the link, which belongs to the host. */
static int
link_refuse(struct rte_eth_dev *dev, const char *way, int error)
{
	return MANA_PORT_ERR(-error, dev->data->name,
			     "cannot set the link %s, the host controls it; stop and start the port to stop and start traffic",
			     way);
}

int
mana_link_up(struct rte_eth_dev *dev)
{
	/* Else the interrupt thread updates it, and raises an event if it has changed. */
	if (dev->data->dev_conf.intr_conf.lsc == 0 || !dev->data->dev_started)
		(void)mana_link_update(dev, 1);
	return dev->data->dev_link.link_status == RTE_ETH_LINK_UP ? 0 :
		link_refuse(dev, "up", ENOTSUP);
}

/* -EPERM: Open vSwitch ignores -ENOTSUP, and would show a port as down that has traffic. */
int
mana_link_down(struct rte_eth_dev *dev)
{
	return link_refuse(dev, "down", EPERM);
}

/* ---- Failed queues ------------------------------------------------------------- */

/* A device on which queues fail gets more time each time; after 10 s without, it begins anew. */
#define MIN_REPAIR_WAIT_NS UINT64_C(50000000)
#define MAX_REPAIR_WAIT_NS UINT64_C(5000000000)
#define QUIET_NS UINT64_C(10000000000)

/* Counts and logs what has been done for a failed queue: 1, 0 or an error as below. */
static bool
repair_log(struct mana_priv *priv, const char *what, int ret)
{
	/* No error: an lcore may have lost its processor in a burst. */
	if (ret < 0)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "cannot rebuild %s: %s; the driver tries again", what,
			      strerror(-ret));
	if (ret > 0) {
		priv->counters.repairs++;
		MANA_PORT_LOG(NOTICE, priv->data->name, "%s: rebuilt", what);
	}
	return ret != 0;
}

/* Rebuilds failed queues if it is time, unless recovery_timeout=0. */
static void
repair(struct mana_priv *priv)
{
	struct mana_recovery *recovery = &priv->recovery;
	uint64_t now_ns = mana_now_ns(), end_ns;
	bool has_failed = false;
	struct mana_txq *txq;
	char name[16] = "";
	int ret;

	if (!mana_recovers(priv) || now_ns < recovery->repair_ns || !priv->is_running ||
	    mana_state(priv) != MANA_STATE_READY)
		return;
	if (now_ns > recovery->repair_ns + QUIET_NS || recovery->repair_wait_ns == 0)
		recovery->repair_wait_ns = MIN_REPAIR_WAIT_NS;
	MANA_FOREACH_TXQ(priv, txq) {
		ret = mana_txq_repair(priv, txq);
		if (ret != 0)
			snprintf(name, sizeof(name), "Tx queue %u", txq->queue_id);
		has_failed |= repair_log(priv, name, ret);
	}
	has_failed |= repair_log(priv, "the Rx queues", mana_rx_set_repair(priv));
	if (!has_failed)
		return;
	/* The kernel may take long: the thread has other work, too. */
	end_ns = mana_now_ns();
	recovery->repair_ns = end_ns + RTE_MAX(recovery->repair_wait_ns, end_ns - now_ns);
	recovery->repair_wait_ns = RTE_MIN(2 * recovery->repair_wait_ns, MAX_REPAIR_WAIT_NS);
}

/* ---- The tick ---------------------------------------------------------------- */

/* Linux announces no lost carrier of a netdev that is down (link_watch.c linkwatch_do_dev()). */
static void
on_tick(void *arg)
{
	struct rte_eth_dev *dev = arg;
	struct mana_priv *priv = dev->data->dev_private;
	bool has_failed = false;

	/* Else the next tick does this. */
	if (mana_mutex_trylock(&priv->control)) {
		has_failed = mana_queues_report(priv);
		repair(priv);
		/* The tick is no operation of the application, so it wakes no sleeping thread. */
		mana_mutex_unlock(&priv->control);
	}
	/* Bursts may not wait for memory. */
	(void)mana_mr_reserve(priv);
	/* Before the event, in which the application may stop or close the port. */
	if (rte_eal_alarm_set(TICK_US, on_tick, dev) != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot set an alarm: the driver reports neither failed queues nor a lost link until the port is restarted");
	if (has_failed) {
		(void)rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_QUEUE_STATE, NULL);
	} else if (++priv->nb_ticks >= NB_TICKS_LINK) {
		priv->nb_ticks = 0;
		/* Running, though a start may not have set dev_started yet. */
		mana_link_check(dev, true, dev->data->dev_conf.intr_conf.lsc != 0);
	}
	MANA_ORDER_BEFORE(dev);
}

int
mana_watch_start(struct rte_eth_dev *dev)
{
	int ret;

	link_query(dev);
	(void)link_set(dev, true);
	ret = rte_eal_alarm_set(TICK_US, on_tick, dev);
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name, "cannot set an alarm: %s", strerror(-ret));
	return ret;
}

void
mana_watch_stop(struct rte_eth_dev *dev)
{
	sigset_t before;

	/* A handler that stops the port would wait for EAL's lock of the alarms. */
	mana_signals_block(&before);
	(void)rte_eal_alarm_cancel(on_tick, dev);
	mana_signals_restore(&before);
	MANA_ORDER_BEHIND(dev);
	/* Secondary processes read it. */
	(void)link_set(dev, false);
}
