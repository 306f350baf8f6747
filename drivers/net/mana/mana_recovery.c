/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loss and return of the device. The kernel removes the RDMA device when the host
 * services or resets the adapter, at a hot removal, or when its driver is unbound or
 * unloaded; these look alike. The device is back when an RDMA device of the same PCI
 * function has a port of the same number and MAC address.
 *
 *   state       event                     action                          next state
 *   ----------  ------------------------  ------------------------------  ----------
 *   READY       DEVICE_FATAL              empty burst functions;          RECOVERING
 *                                         ERR_RECOVERING
 *   READY       the same, with            empty burst functions;          GONE
 *               recovery_timeout=0, or    INTR_RMV
 *               an owner replaces the
 *               port
 *   RECOVERING  step: queues are not      the next step in 1 ms           RECOVERING
 *               paused, or an operation
 *               is at work
 *   RECOVERING  step: queues are paused   destroy the objects, free the   RECOVERING
 *                                         packets
 *   RECOVERING  step: the device is       the next step in 10 ms          RECOVERING
 *               not back
 *   RECOVERING  step: it is back, but     destroy what was rebuilt; the   RECOVERING
 *               cannot be used            next step in 10 ms, then twice
 *                                         as long, up to 1 s
 *   RECOVERING  step: the port is         RECOVERY_SUCCESS                READY
 *               rebuilt
 *   RECOVERING  step: the time is over    RECOVERY_FAILED, INTR_RMV       GONE
 *   any         rte_eth_dev_stop()        the port stays stopped when     as it was
 *                                         it is rebuilt
 *   READY,      rte_eth_dev_reset()       destroy the objects; rebuild    READY, or
 *   GONE                                  the stopped port                GONE
 *   any         rte_eth_dev_close()       no more steps                   -
 *
 * Events and steps run in EAL's interrupt thread, one after the other, so no event
 * arrives during a step: an alarm starts each step. A reset first ends the events of the
 * device. Operations of the application and steps exclude each other by a mutex, which a
 * step only tries to lock. It is not held when the driver notifies the application, which
 * may call any operation then. An operation that needs the device fails in RECOVERING
 * with -EBUSY, in GONE with -EIO.
 *
 * A port with a mempool for one thread at a time does not recover, because the interrupt
 * thread would use the pool beside its thread.
 *
 * net_netvsc and net_failsafe own a port and replace it: they close it at INTR_RMV, and
 * probe the device again. net_netvsc of DPDK 22.11 does not use a running port that has
 * recovered (hn_vf.c hn_vf_add(): "VF already started on hot add"). An owner that asked
 * for no INTR_RMV would not learn of the loss, so the port recovers: it may be one that
 * is not configured yet. The argument recovery_timeout is for ports with any owner.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_ether.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

#define SOON_US 1
#define BUSY_US 1000
#define ABSENT_US 10000
#define MAX_RETRY_US 1000000
/* For which a step waits for running bursts. */
#define PATIENCE_MS 1

/* The device of a port that was rebuilt. */
struct returned {
	uint64_t found_ns;
	uint64_t registration_ns; /* as the port's counter */
	char name[IBV_SYSFS_NAME_MAX];
};

/* ---- Operations of the application ----------------------------------------- */

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

void
mana_control_lock(struct mana_priv *priv)
{
	pthread_mutex_lock(&priv->control);
}

int
mana_control_begin(struct mana_priv *priv)
{
	/* At once, whatever a step does. */
	int ret = mana_state_check(priv);

	if (ret != 0)
		return ret;
	mana_control_lock(priv);
	ret = mana_state_check(priv);
	if (ret != 0)
		mana_control_end(priv);
	return ret;
}

void
mana_control_end(struct mana_priv *priv)
{
	if (mana_state(priv) == MANA_STATE_GONE)
		mana_rx_wake(priv);
	pthread_mutex_unlock(&priv->control);
}

int
mana_is_removed(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	bool is_gone;

	/* The primary process has closed it: no secondary process has a port. */
	if (priv == NULL)
		return 0;
	is_gone = mana_state(priv) == MANA_STATE_GONE;
	mana_registry_unlock();
	return is_gone;
}

/* ---- Burst functions --------------------------------------------------------- */

/*
 * Of the port and, while that has the port's, of ethdev's table: at start and stop of the
 * port ethdev changes it at another time.
 */
void
mana_bursts_set(struct rte_eth_dev *dev, eth_rx_burst_t rx, eth_tx_burst_t tx,
		eth_tx_prep_t prepare)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[dev->data->port_id];
	bool is_used = ops->rx_pkt_burst == dev->rx_pkt_burst &&
		       ops->tx_pkt_burst == dev->tx_pkt_burst;

	dev->rx_pkt_burst = rx;
	dev->tx_pkt_burst = tx;
	dev->tx_pkt_prepare = prepare;
	if (is_used) {
		/* A secondary process has set its queues before. */
		rte_wmb();
		ops->rx_pkt_burst = rx;
		ops->tx_pkt_burst = tx;
		ops->tx_pkt_prepare = prepare;
	}
}

/* The burst that follows takes none. */
static uint16_t
no_prepare(void *txq __rte_unused, struct rte_mbuf **pkts __rte_unused, uint16_t nb)
{
	return nb;
}

void
mana_bursts_stop(struct rte_eth_dev *dev)
{
	mana_bursts_set(dev, rte_eth_pkt_burst_dummy, rte_eth_pkt_burst_dummy,
			no_prepare);
}

void
mana_bursts_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct mana_rx_path *path =
		mana_rx_path_select(priv->options.rx_path);

	MANA_PORT_LOG(INFO, dev->data->name, "Rx path: %s", path->name);
	priv->rx_poll = path->poll;
	mana_bursts_set(dev, mana_rx_burst_get(path), mana_tx_burst_get(),
			mana_tx_pkt_prepare);
}

/* ---- The end of a recovery ------------------------------------------------- */

/* Whether the port still exists after an event, in which the application may close it. */
static bool
is_open(const struct rte_eth_dev *dev, const struct mana_priv *priv, uint16_t port_id)
{
	return rte_eth_dev_is_valid_port(port_id) && dev->data->dev_private == priv;
}

static void
state_set(struct mana_priv *priv, enum mana_state state)
{
	mana_atomic_store(&priv->state, state);
}

/* The device will not return. The application may close the port in an event. */
static void
device_gone(struct rte_eth_dev *dev, bool has_failed)
{
	struct mana_priv *priv = dev->data->dev_private;
	bool has_callback = dev->data->dev_conf.intr_conf.rmv != 0;
	uint16_t port_id = dev->data->port_id;

	state_set(priv, MANA_STATE_GONE);
	mana_peers_send_loss(priv);
	/*
	 * Each thread that sleeps learns it when it enables its interrupt again. An
	 * operation that runs now wakes them at its end.
	 */
	if (pthread_mutex_trylock(&priv->control) == 0)
		mana_control_end(priv);
	if (has_failed)
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_RECOVERY_FAILED, NULL);
	if (has_callback && is_open(dev, priv, port_id))
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_INTR_RMV, NULL);
}

static void
recovery_fail(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_event_add(&priv->events, MANA_EVENT_RECOVERED, 0, 0, -ETIMEDOUT);
	MANA_PORT_LOG(ERR, dev->data->name,
		      "the RDMA device did not return as it was within %u s (recovery_timeout): stop the port; when the device is back, reset it, or close it and probe it again",
		      priv->options.recovery_timeout);
	device_gone(dev, true);
}

static void
recovery_succeed(struct rte_eth_dev *dev, const struct returned *device)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_port_counters *counters = &priv->counters;
	uint64_t now_ns = mana_now_ns(CLOCK_MONOTONIC);
	uint64_t rebuild_ns = now_ns - device->found_ns;
	uint64_t outage_ns = now_ns - priv->recovery.lost_ns;
	uint16_t port_id = dev->data->port_id;

	counters->recoveries++;
	counters->recovery_ns += outage_ns;
	counters->rebuild_ns += rebuild_ns;
	counters->rebuild_max_ns = RTE_MAX(counters->rebuild_max_ns, rebuild_ns);
	mana_event_add(&priv->events, MANA_EVENT_RECOVERED, outage_ns / 1000000,
		       rebuild_ns / 1000000, 0);
	MANA_PORT_LOG(NOTICE, dev->data->name,
		      "the RDMA device is back as %s: the port was rebuilt in %" PRIu64
		      " us (%" PRIu64 " us for the registration of memory), %" PRIu64
		      " ms after the loss",
		      device->name, rebuild_ns / 1000,
		      (counters->mr_registration_ns - device->registration_ns) / 1000,
		      outage_ns / 1000000);
	mana_link_check(dev);
	if (is_open(dev, priv, port_id))
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_RECOVERY_SUCCESS, NULL);
}

/* ---- Steps ------------------------------------------------------------------- */

/* The objects of the lost device are destroyed. -EBUSY: a burst still runs. */
static int
port_leave(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = priv->is_running ?
			  mana_pause(priv, MANA_PAUSE_ALL, PATIENCE_MS) : 0;

	if (ret != 0)
		return ret;
	mana_events_end(dev);
	/* They give their doorbell pages back, which keep the context open. */
	mana_peers_tell(priv, false, false);
	mana_port_detach(priv);
	return 0;
}

/* As before the loss; bursts are paused. After a failure the port is detached. */
static int
port_rebuild(struct rte_eth_dev *dev, struct ibv_device *device,
	     const struct mana_netdev *netdev)
{
	struct mana_priv *priv = dev->data->dev_private;
	enum mana_state before = mana_state(priv);
	int ret = mana_port_attach(priv, device, netdev);

	if (ret != 0)
		return -EIO;
	if (priv->is_running)
		ret = mana_port_netdev_start(priv);
	if (ret == 0 && priv->is_running)
		ret = mana_queues_start(priv);
	if (ret == 0) {
		/* First: the next event may be the loss of this device. */
		state_set(priv, MANA_STATE_READY);
		ret = mana_events_begin(dev);
	}
	if (ret == 0)
		return 0;
	state_set(priv, before);
	mana_peers_tell(priv, false, false);
	mana_port_detach(priv);
	/* Not the results that have a meaning for a step. */
	return ret == -EBUSY || ret == -ENODEV ? -EIO : ret;
}

/* -ENODEV: the device is not back. */
static int
port_return(struct rte_eth_dev *dev, struct returned *device)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_function function;
	int ret;

	device->found_ns = mana_now_ns(CLOCK_MONOTONIC);
	device->registration_ns = priv->counters.mr_registration_ns;
	if (mana_discover_silently(&priv->recovery.addr, dev->device->name,
				   &function) != 0)
		return -ENODEV;
	snprintf(device->name, sizeof(device->name), "%s", function.device->name);
	ret = -ENODEV;
	for (unsigned int i = 0; i < function.nb_ports; i++) {
		const struct mana_port_info *info = &function.ports[i];

		if (info->port == priv->port && info->netdev_error == 0 &&
		    rte_is_same_ether_addr(&info->netdev.mac, &priv->netdev.mac))
			ret = port_rebuild(dev, function.device, &info->netdev);
	}
	mana_discover_release(&function);
	return ret;
}

static void on_step(void *arg);

/* The time until the next step after this result of one. */
static uint32_t
wait_us(struct mana_recovery *recovery, int result)
{
	uint32_t us = recovery->retry_us;

	if (result == -EBUSY)
		return BUSY_US;
	if (result == -ENODEV)
		return ABSENT_US;
	recovery->retry_us = RTE_MIN(2 * us, (uint32_t)MAX_RETRY_US);
	return us;
}

/* The next step, unless the time is over: then the port is closed to the application. */
static void
step_later(struct rte_eth_dev *dev, uint32_t us)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret;

	if (mana_now_ns(CLOCK_MONOTONIC) >= priv->recovery.deadline_ns) {
		recovery_fail(dev);
		return;
	}
	ret = rte_eal_alarm_set(us, on_step, dev);
	if (ret == 0)
		return;
	MANA_PORT_LOG(ERR, dev->data->name,
		      "cannot set an alarm: %s: the driver does not wait for the device",
		      strerror(-ret));
	recovery_fail(dev);
}

static void
step(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct returned device = { .found_ns = 0 };
	bool is_over;
	int ret = 0;

	if (pthread_mutex_trylock(&priv->control) != 0) {
		step_later(dev, BUSY_US);
		return;
	}
	is_over = priv->is_closing || mana_state(priv) != MANA_STATE_RECOVERING;
	if (!is_over && priv->ctx != NULL)
		ret = port_leave(dev);
	if (!is_over && ret == 0)
		ret = port_return(dev, &device);
	if (!is_over && ret == 0) {
		/* First: a secondary process may be slow to follow. */
		if (priv->is_running) {
			mana_bursts_start(dev);
			mana_resume(priv, MANA_PAUSE_ALL);
		}
		mana_peers_tell(priv, true, priv->is_running);
	}
	mana_control_end(priv);
	if (is_over)
		return;
	if (ret == 0)
		recovery_succeed(dev, &device);
	else
		step_later(dev, wait_us(&priv->recovery, ret));
}

static void
on_step(void *arg)
{
	step(arg);
	MANA_ORDER_BEFORE(arg);
}

/* ---- The beginning ----------------------------------------------------------- */

/* Whether the port has an owner that replaces it. */
static bool
is_replaced(const struct rte_eth_dev *dev, const struct mana_priv *priv,
	    struct rte_eth_dev_owner *owner)
{
	return !priv->options.recovers_owned &&
	       dev->data->dev_conf.intr_conf.rmv != 0 &&
	       rte_eth_dev_owner_get(dev->data->port_id, owner) == 0 &&
	       owner->id != RTE_ETH_DEV_NO_OWNER;
}

bool
mana_waits_for_device(const struct rte_eth_dev *dev, const struct mana_priv *priv)
{
	struct rte_eth_dev_owner owner;

	return mana_recovers(priv) && !is_replaced(dev, priv, &owner);
}

#define REMOVED \
	"the kernel removed the RDMA device (hot removal, reset, host maintenance or driver unload)"

static void
removal_log(const struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;
	struct rte_eth_dev_owner owner;

	if (mana_recovers(priv) && is_replaced(dev, priv, &owner))
		MANA_PORT_LOG(NOTICE, dev->data->name,
			      REMOVED ": %s, which owns the port, has to replace it; with the device argument recovery_timeout=%u the driver waits for the device instead",
			      owner.name, priv->options.recovery_timeout);
	else
		MANA_PORT_LOG(ERR, dev->data->name,
			      REMOVED ": stop the port; when the device is back, reset it, or close it and probe it again");
}

void
mana_device_lost(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const uint32_t timeout_s = priv->options.recovery_timeout;
	const bool recovers = mana_waits_for_device(dev, priv) &&
			      mana_pause_check() == 0;
	uint16_t port_id = dev->data->port_id;

	if (mana_state(priv) != MANA_STATE_READY)
		return;
	mana_atomic_store(&priv->is_lost, 1);
	priv->recovery.lost_ns = mana_now_ns(CLOCK_MONOTONIC);
	priv->recovery.deadline_ns = priv->recovery.lost_ns + timeout_s * (uint64_t)NS_PER_S;
	priv->recovery.retry_us = ABSENT_US;
	state_set(priv, recovers ? MANA_STATE_RECOVERING : MANA_STATE_GONE);
	priv->counters.resets++;
	rte_mb(); /* a concurrent start sees the state, or its bursts are replaced here */
	/*
	 * A burst that runs at this moment does no harm: the rings are the driver's
	 * memory, which the device does not write any more, and the doorbell page is
	 * now plain memory (Linux uverbs_main.c rdma_umap_fault).
	 */
	mana_bursts_stop(dev);
	mana_peers_send_loss(priv);
	mana_event_add(&priv->events, MANA_EVENT_REMOVED, 0, 0, 0);
	if (!recovers) {
		removal_log(dev);
		mana_link_check(dev);
		if (is_open(dev, priv, port_id))
			device_gone(dev, false);
		return;
	}
	MANA_PORT_LOG(NOTICE, dev->data->name,
		      REMOVED ": the port waits %u s for its return",
		      timeout_s);
	/* Before the events: a close in their callbacks ends the recovery. */
	step_later(dev, SOON_US);
	if (is_open(dev, priv, port_id))
		mana_link_check(dev);
	if (is_open(dev, priv, port_id) && mana_state(priv) == MANA_STATE_RECOVERING)
		(void)rte_eth_dev_callback_process(
			dev, RTE_ETH_EVENT_ERR_RECOVERING, NULL);
}

/* ---- Failed queues ------------------------------------------------------------- */

/*
 * A device that makes queues fail again and again gets more time each time: 50 ms, 100 ms
 * and so on, up to 5 s. After 10 s without a failure it begins anew.
 */
#define MIN_REPAIR_WAIT_NS UINT64_C(50000000)
#define MAX_REPAIR_WAIT_NS UINT64_C(5000000000)
#define QUIET_NS UINT64_C(10000000000)

void
mana_repair(struct mana_priv *priv)
{
	struct mana_recovery *recovery = &priv->recovery;
	uint64_t now_ns = mana_now_ns(CLOCK_MONOTONIC);
	const uint64_t nb = priv->counters.repairs;

	if (!mana_recovers(priv) || now_ns < recovery->repair_ns ||
	    mana_state(priv) != MANA_STATE_READY ||
	    pthread_mutex_trylock(&priv->control) != 0)
		return;
	if (now_ns > recovery->repair_ns + QUIET_NS || recovery->repair_wait_ns == 0)
		recovery->repair_wait_ns = MIN_REPAIR_WAIT_NS;
	if (priv->is_running && mana_recovers(priv) &&
	    (mana_queues_repair(priv) != 0 || priv->counters.repairs != nb)) {
		/* The kernel may take long: the thread has other work, too. */
		uint64_t end_ns = mana_now_ns(CLOCK_MONOTONIC);

		recovery->repair_ns = end_ns + RTE_MAX(recovery->repair_wait_ns,
						       end_ns - now_ns);
		recovery->repair_wait_ns = RTE_MIN(2 * recovery->repair_wait_ns,
						   MAX_REPAIR_WAIT_NS);
	}
	mana_control_end(priv);
}

/* ---- Reset and close ------------------------------------------------------------ */

int
mana_dev_reset(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct returned device;
	int ret = 0;

	/* EAL could not watch a new device whose descriptor has the number of the old. */
	if (rte_thread_is_intr())
		return MANA_PORT_ERR(-EBUSY, dev->data->name,
				     "reset: not possible in the callback of an event, use another thread");
	if (mana_state(priv) == MANA_STATE_RECOVERING)
		return mana_state_check(priv);
	/* ethdev resets also a port whose stop has failed. */
	if (priv->is_running)
		return MANA_PORT_ERR(-EBUSY, dev->data->name,
				     "reset: the port is not stopped");
	/* Unlocked: waits for an event, which may begin a recovery. */
	mana_events_end(dev);
	if (mana_state(priv) == MANA_STATE_RECOVERING)
		return mana_state_check(priv);
	mana_control_lock(priv);
	/* ethdev has stopped the port. */
	if (priv->ctx != NULL)
		ret = port_leave(dev);
	if (ret == 0) {
		state_set(priv, MANA_STATE_GONE);
		ret = port_return(dev, &device);
		mana_peers_tell(priv, true, priv->is_running);
	}
	mana_control_end(priv);
	/* ethdev remembers that the device was removed. */
	if (ret == 0 && dev->state == RTE_ETH_DEV_REMOVED)
		dev->state = RTE_ETH_DEV_ATTACHED;
	if (ret == -ENODEV)
		ret = MANA_PORT_ERR(ret, dev->data->name,
				    "reset: the RDMA device is not there: reset the port again when it is back, or close it");
	return mana_event_add(&priv->events, MANA_EVENT_RESET, 0, 0, ret);
}

void
mana_recovery_end(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	mana_control_lock(priv);
	priv->is_closing = true;
	mana_control_end(priv);
	/* An event may begin a recovery until this. */
	mana_events_close(dev);
	(void)rte_eal_alarm_cancel(on_step, dev);
	MANA_ORDER_BEHIND(dev);
}
