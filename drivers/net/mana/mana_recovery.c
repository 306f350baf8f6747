/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loss and return of the device. The kernel removes the RDMA device when the host services or
 * resets the adapter, at a hot removal, or when its driver is unbound or unloaded; these look
 * alike. The device is back when an RDMA device of the same PCI function has a port of the same
 * number and MAC address.
 *
 *   state       event: action                                                     next state
 *   ----------  ----------------------------------------------------------------  ----------
 *   READY       DEVICE_FATAL: empty burst functions, ERR_RECOVERING               RECOVERING
 *               the same with recovery_timeout=0: empty burst functions,
 *               INTR_RMV                                                          GONE
 *   RECOVERING  a step finds that
 *               - the PCI function is gone, and an owner replaces the port:
 *                 INTR_RMV                                                        GONE
 *               - queues are not paused, or an operation is at work: the next
 *                 step in 1 ms
 *               - queues are paused: destroy the objects
 *               - the device is not back: the next step in 10 ms
 *               - it is back, but cannot be used: destroy what was rebuilt; the
 *                 next step in 10 ms, then twice as long, up to 1 s
 *               - the port is rebuilt: RECOVERY_SUCCESS                           READY
 *               - the time is over: RECOVERY_FAILED and INTR_RMV; an owner that
 *                 replaces the port gets INTR_RMV alone                           GONE
 *   READY,      rte_eth_dev_reset(): destroy the objects; rebuild the stopped     READY, or
 *   GONE        port                                                              GONE
 *   any         rte_eth_dev_stop(): the port stays stopped when it is rebuilt
 *   any         rte_eth_dev_close(): no more steps
 *
 * Events and steps run in EAL's interrupt thread, one after the other, so no event arrives
 * during a step: an alarm starts each step. A reset first ends the events of the device.
 * Operations of the application (mana_control.c) and steps exclude each other by a mutex, which
 * a step only tries to lock. It is not held when the driver notifies the application, which may
 * call any operation then.
 *
 * Steps access no mempool: queues keep the mbufs that they had posted (mana_rx_set.c,
 * mana_txq_keep_mbufs()). When the old objects are destroyed the burst functions are the usual
 * ones, of paused queues, so that a Tx burst frees mbufs.
 *
 * An owner of the port (rte_eth_dev_owner_set()) that has asked for INTR_RMV, such as
 * net_netvsc, replaces the port when the PCI function is gone: it closes the port at INTR_RMV,
 * and probes the function that returns. While the function stays, no new one returns, so the
 * port recovers. The RDMA device goes before the folder of its function in sysfs, so only steps
 * look at the folder. net_netvsc removes the port for each of RECOVERY_FAILED and INTR_RMV, so
 * such an owner gets one of them.
 *
 * net_failsafe owns a port, too, but must not close it under traffic: at INTR_RMV it replaces
 * its own burst functions, and applications go on with those in ethdev's table, which call the
 * closed port. Its port recovers however long the device is away. Only where membarrier(2) is
 * refused it gets INTR_RMV, as any owner, after a warning.
 * The driver owns an unconfigured port without owner while the port recovers: net_netvsc of
 * DPDK 22.11 tries to configure a port once only, and then finds one that it can configure.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bus_pci_driver.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_queues.h"

#define SOON_US 1
#define BUSY_US 1000
#define ABSENT_US 10000
#define MAX_RETRY_US 1000000
/* The port waits so long for udev after the return of the device. */
#define MAX_SETTLE_NS UINT64_C(5000000000)
/* Events of a device that one call handles at most. */
#define MAX_EVENTS 64
/* Between two tries to end the events while the interrupt thread runs a callback. */
#define CLOSE_RETRY_US 100
/* Between two messages of a port that waits without a limit. */
#define WAIT_LOG_NS UINT64_C(60000000000)
/* drivers/net/failsafe/failsafe.c FAILSAFE_OWNER_NAME */
#define FAILSAFE_OWNER "Fail-safe"
/* A step of the recovery waits so long for running bursts. */
#define PATIENCE_MS 1

/* ---- How long a port waits for its device ----------------------------------- */

enum wait {
	WAIT_TIMEOUT, /* recovery_timeout */
	WAIT_FUNCTION, /* the same, but only while the PCI function stays */
	WAIT_FOREVER,
};

static enum wait
wait_of(const struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;
	/* Without ethdev's lock: who holds that may wait for the registry. */
	const struct rte_eth_dev_owner owner = dev->data->owner;

	if (owner.id == RTE_ETH_DEV_NO_OWNER || owner.id == priv->recovery.owner_id)
		return WAIT_TIMEOUT;
	if (strcmp(owner.name, FAILSAFE_OWNER) == 0 && !priv->options.no_membarrier)
		return WAIT_FOREVER;
	/* Without INTR_RMV the owner would not learn that the function is gone. */
	return priv->has_removal_event ? WAIT_FUNCTION : WAIT_TIMEOUT;
}

/* The driver owns an unconfigured port without owner, until port_release(). See wait_of(). */
static void
port_reserve(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct rte_eth_dev_owner owner = { .name = "net_mana" };

	if (!dev->data->dev_configured && dev->data->owner.id == RTE_ETH_DEV_NO_OWNER &&
	    rte_eth_dev_owner_new(&owner.id) == 0 &&
	    rte_eth_dev_owner_set(dev->data->port_id, &owner) == 0)
		priv->recovery.owner_id = owner.id;
}

static void
port_release(struct mana_priv *priv)
{
	if (priv->recovery.owner_id != RTE_ETH_DEV_NO_OWNER)
		(void)rte_eth_dev_owner_delete(priv->recovery.owner_id);
	priv->recovery.owner_id = RTE_ETH_DEV_NO_OWNER;
}

bool
mana_waits_for_device(const struct rte_eth_dev *dev, const struct mana_priv *priv)
{
	return mana_recovers(priv) || wait_of(dev) == WAIT_FOREVER;
}

void
mana_failsafe_warn(const struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;

	if (priv->options.no_membarrier && strcmp(dev->data->owner.name, FAILSAFE_OWNER) == 0)
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "the kernel refuses membarrier(2): net_failsafe, which owns the port, restarts no failed queue, and after a loss of the device it closes the port under traffic, which may crash; allow membarrier(2)");
}

/* ---- The end of a recovery ------------------------------------------------- */

/* Whether the port still exists after an event, in which the application may close it. */
static bool
is_open(const struct rte_eth_dev *dev, const struct mana_priv *priv)
{
	return rte_eth_dev_is_valid_port(dev - rte_eth_devices) && dev->data->dev_private == priv;
}

static void
event_send(struct rte_eth_dev *dev, const struct mana_priv *priv, enum rte_eth_event_type event)
{
	if (is_open(dev, priv))
		(void)rte_eth_dev_callback_process(dev, event, NULL);
}

/* Gives the device up: at the loss, or after it (has_failed). An event may close the port. */
static void
device_gone(struct rte_eth_dev *dev, bool has_failed)
{
	struct mana_priv *priv = dev->data->dev_private;
	const enum wait wait = wait_of(dev);
	bool has_callback = priv->has_removal_event && wait != WAIT_FOREVER;

	mana_atomic_store(&priv->state, MANA_STATE_GONE);
	port_release(priv);
	mana_peers_tell(priv, false);
	/* Wakes threads that sleep on an interrupt, or an operation that runs does at its end. */
	if (mana_mutex_trylock(&priv->control))
		mana_control_unlock(priv);
	if (has_failed && wait != WAIT_FUNCTION)
		event_send(dev, priv, RTE_ETH_EVENT_RECOVERY_FAILED);
	/* The application may have reset the port meanwhile. */
	if (has_callback && is_open(dev, priv) && mana_state(priv) == MANA_STATE_GONE)
		event_send(dev, priv, RTE_ETH_EVENT_INTR_RMV);
}

/* Counts and logs it, under control; before: time and counter when the rebuild began. */
static void
recovery_succeed(struct mana_priv *priv, uint64_t before_ns, uint64_t before_mr_ns)
{
	struct mana_port_counters *counters = &priv->counters;
	uint64_t now_ns = mana_now_ns();
	uint64_t rebuild_ns = now_ns - before_ns;
	uint64_t outage_ns = now_ns - priv->recovery.lost_ns;

	counters->recoveries++;
	counters->recovery_ns += outage_ns;
	counters->rebuild_ns += rebuild_ns;
	counters->rebuild_max_ns = RTE_MAX(counters->rebuild_max_ns, rebuild_ns);
	MANA_PORT_LOG(NOTICE, priv->data->name,
		      "the RDMA device is back as %s: the port was rebuilt in %" PRIu64 " us (%" PRIu64 " us for the registration of memory), %" PRIu64 " ms after the loss",
		      priv->ctx->device->name, rebuild_ns / 1000,
		      (counters->mr_registration_ns - before_mr_ns) / 1000, outage_ns / 1000000);
}

/* ---- The folder of the PCI function in sysfs -------------------------------- */

/*
 * Opens the folder, to learn later that the function was removed, also where a container hides
 * uevents; closes the one that is open. pci_name: NULL for none.
 */
static void
folder_open(struct mana_recovery *recovery, const char *pci_name)
{
	char path[PATH_MAX];

	if (recovery->folder != NULL)
		closedir(recovery->folder);
	recovery->folder = NULL;
	if (pci_name == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%s", rte_pci_get_sysfs_path(), pci_name);
	recovery->folder = opendir(path);
}

static bool
is_function_there(const struct mana_recovery *recovery)
{
	DIR *folder = recovery->folder;

	/* A removed folder has no file, also after another one has got its name. */
	return folder != NULL && faccessat(dirfd(folder), "uevent", F_OK, 0) == 0;
}

/* ---- Events of the RDMA device --------------------------------------------- */

static void on_device_event(void *arg);

/* The events of a device that is opened; before it is closed the caller ends them. */
static int
events_begin(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct rte_intr_handle *handle = dev->intr_handle;
	int ret = mana_verbs_nonblocking_set(priv->ctx->async_fd);

	folder_open(&priv->recovery, dev->device->name);
	if (ret == 0)
		ret = rte_intr_fd_set(handle, priv->ctx->async_fd);
	if (ret == 0)
		ret = rte_intr_callback_register(handle, on_device_event, dev);
	if (ret != 0)
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot watch events of the RDMA device: %s", strerror(-ret));
	return ret;
}

static void
events_end(struct rte_eth_dev *dev)
{
	struct rte_intr_handle *handle = dev->intr_handle;
	int ret;

	if (handle == NULL)
		return;
	while ((ret = rte_intr_callback_unregister(handle, on_device_event, dev)) == -EAGAIN &&
	       !rte_thread_is_intr())
		rte_delay_us_sleep(CLOSE_RETRY_US);
	/* The callback is the caller, and does not run again. */
	if (ret == -EAGAIN)
		(void)rte_intr_callback_unregister_pending(handle, on_device_event, dev, NULL);
	MANA_ORDER_BEHIND(dev);
}

int
mana_events_open(struct rte_eth_dev *dev)
{
	/* Each port has its own, which holds the Rx interrupts as well. */
	dev->intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	/* EAL leaves a descriptor of this type alone, and rte_intr_cap_multiple() says yes. */
	(void)rte_intr_type_set(dev->intr_handle, RTE_INTR_HANDLE_VDEV);
	(void)mana_link_update(dev, 1);
	return events_begin(dev);
}

/* ---- Steps ------------------------------------------------------------------- */

/* The objects of the lost device are destroyed. -EBUSY: a burst still runs. */
static int
port_leave(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = priv->is_running ? mana_pause(priv, MANA_PAUSE_ALL, PATIENCE_MS) : 0;

	if (ret != 0)
		return ret;
	events_end(dev);
	/* They give their doorbell pages back, which keep the context open. */
	mana_peers_tell(priv, false);
	mana_port_detach(priv);
	return 0;
}

/* As before the loss; bursts are paused. After a failure the port is detached. */
static int
port_rebuild(struct rte_eth_dev *dev, struct ibv_device *device, const struct mana_netdev *netdev)
{
	struct mana_priv *priv = dev->data->dev_private;
	enum mana_state before = mana_state(priv);
	int ret = mana_port_attach(priv, device, netdev);

	if (ret == 0 && priv->is_running)
		ret = mana_queues_start(priv);
	if (ret == 0) {
		/* Set before the events begin: the next one may be the loss of this device. */
		mana_atomic_store(&priv->state, MANA_STATE_READY);
		ret = events_begin(dev);
	}
	if (ret == 0) {
		port_release(priv);
		return 0;
	}
	mana_atomic_store(&priv->state, before);
	mana_peers_tell(priv, false);
	mana_port_detach(priv);
	return -EIO;
}

/*
 * Whether the returned netdev keeps its MTU: udev has handled all events, and the MTU is as a
 * step has seen it before, or the time is over. A udev rule may set the MTU of each new netdev,
 * and Linux 7.2 and 7.3 crash when that happens under raw queues.
 */
static bool
is_settled(struct mana_priv *priv, const struct mana_netdev *netdev)
{
	struct mana_recovery *recovery = &priv->recovery;
	const uint64_t now_ns = mana_now_ns();
	const uint32_t before = recovery->found_mtu;
	struct mana_netdev_state state;

	if (recovery->found_ns == 0)
		recovery->found_ns = now_ns;
	if (mana_netdev_state_get(netdev, &state) != 0)
		return true;
	recovery->found_mtu = state.mtu;
	return (state.mtu == before && access("/run/udev/queue", F_OK) != 0) ||
	       now_ns - recovery->found_ns > MAX_SETTLE_NS;
}

/* -ENODEV: the device is not back, or for a step: its netdev is not settled. */
static int
port_return(struct rte_eth_dev *dev, bool is_step)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_function function;
	int ret = -ENODEV;

	if (mana_discover(&priv->recovery.addr, dev->device->name, false, &function) != 0) {
		priv->recovery.found_ns = priv->recovery.found_mtu = 0;
		return -ENODEV;
	}
	for (unsigned int i = 0; i < function.nb_ports; i++) {
		const struct mana_port_info *info = &function.ports[i];

		if (info->port == priv->port && info->netdev_error == 0 &&
		    rte_is_same_ether_addr(&info->netdev.mac, &priv->netdev.mac) &&
		    (!is_step || is_settled(priv, &info->netdev)))
			ret = port_rebuild(dev, function.device, &info->netdev);
	}
	mana_discover_release(&function);
	return ret;
}

static void on_step(void *arg);

/*
 * The next step after this result of one, or 0 for the first; unless the time is over: then the
 * port is closed to the application.
 */
static void
step_later(struct rte_eth_dev *dev, int result)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint64_t timeout_ns = priv->options.recovery_timeout * (uint64_t)NS_PER_S;
	struct mana_recovery *recovery = &priv->recovery;
	uint64_t now_ns = mana_now_ns();
	uint32_t us = result == 0 ? SOON_US : result == -EBUSY ? BUSY_US : ABSENT_US;
	int ret;

	if (wait_of(dev) != WAIT_FOREVER) {
		if (now_ns >= recovery->lost_ns + timeout_ns) {
			MANA_PORT_LOG(ERR, dev->data->name,
				      "the RDMA device did not return as it was within %u s (recovery_timeout): stop the port; when the device is back, reset it, or close it and probe it again",
				      priv->options.recovery_timeout);
			device_gone(dev, true);
			return;
		}
	} else if (now_ns >= recovery->log_ns) {
		recovery->log_ns = now_ns + WAIT_LOG_NS;
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "the port still waits for its RDMA device, %" PRIu64 " s after the loss: PCI function %s is %s",
			      (now_ns - recovery->lost_ns) / (uint64_t)NS_PER_S,
			      dev->device->name,
			      is_function_there(recovery) ?
				      "there, but has no such device: `modprobe -a mana mana_ib ib_uverbs`" :
				      "gone or was replaced, and its device is not back");
	}
	/* The device is there, but cannot be used. */
	if (result != 0 && result != -EBUSY && result != -ENODEV) {
		us = recovery->retry_us;
		recovery->retry_us = RTE_MIN(2 * us, (uint32_t)MAX_RETRY_US);
	}
	ret = rte_eal_alarm_set(us, on_step, dev);
	if (ret == 0)
		return;
	MANA_PORT_LOG(ERR, dev->data->name,
		      "cannot set an alarm: %s: the driver does not wait for the device",
		      strerror(-ret));
	device_gone(dev, true);
}

static void
step(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint64_t before_ns, before_mr_ns;
	bool wants_event;
	int ret = 0;

	if (mana_state(priv) == MANA_STATE_RECOVERING && wait_of(dev) == WAIT_FUNCTION &&
	    !is_function_there(&priv->recovery)) {
		MANA_PORT_LOG(NOTICE, dev->data->name,
			      "PCI function %s is gone: the owner of the port has to replace it",
			      dev->device->name);
		device_gone(dev, false);
		return;
	}
	if (!mana_mutex_trylock(&priv->control)) {
		step_later(dev, -EBUSY);
		return;
	}
	if (mana_state(priv) != MANA_STATE_RECOVERING) {
		mana_control_unlock(priv);
		return;
	}
	if (priv->ctx != NULL) {
		ret = port_leave(dev);
		if (ret == 0 && priv->is_running)
			mana_bursts_start(dev);
	}
	before_ns = mana_now_ns();
	before_mr_ns = priv->counters.mr_registration_ns;
	if (ret == 0)
		ret = port_return(dev, true);
	if (ret == 0) {
		if (priv->is_running)
			mana_resume(priv, MANA_PAUSE_ALL);
		mana_peers_tell(priv, true);
		recovery_succeed(priv, before_ns, before_mr_ns);
	}
	/* Read here: a port that runs is not configured before its stop has control. */
	wants_event = priv->is_running && dev->data->dev_conf.intr_conf.lsc != 0;
	mana_control_unlock(priv);
	if (ret != 0) {
		step_later(dev, ret);
		return;
	}
	mana_link_check(dev, dev->data->dev_started, wants_event);
	event_send(dev, priv, RTE_ETH_EVENT_RECOVERY_SUCCESS);
}

static void
on_step(void *arg)
{
	step(arg);
	MANA_ORDER_BEFORE(arg);
}

/* ---- The beginning ----------------------------------------------------------- */

#define REMOVED \
	"the kernel removed the RDMA device (hot removal, reset, host maintenance or driver unload)"

/* The interrupt thread has learned that the kernel removed the device. */
static void
device_lost(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	const bool recovers = mana_waits_for_device(dev, priv);
	const enum mana_state next = recovers ? MANA_STATE_RECOVERING : MANA_STATE_GONE;

	mana_atomic_store(&priv->is_lost, 1);
	/* Only from READY, which is 0: a close may have set another state. */
	if (!mana_atomic_take(&priv->state, next))
		return;
	priv->recovery.lost_ns = mana_now_ns();
	priv->recovery.log_ns = priv->recovery.lost_ns + WAIT_LOG_NS;
	priv->recovery.retry_us = ABSENT_US;
	priv->recovery.found_ns = priv->recovery.found_mtu = 0;
	mana_registry_lock();
	priv->netdev_mtu = 0; /* the next netdev may have another one */
	mana_registry_unlock();
	priv->counters.resets++;
	rte_mb(); /* a concurrent start sees the state, or its bursts are replaced here */
	/*
	 * A burst that runs at this moment does no harm: the device does not write the rings any
	 * more, and the doorbell page is now plain memory (Linux uverbs_main.c rdma_umap_fault).
	 */
	mana_bursts_stop(dev);
	mana_peers_tell(priv, false);
	if (!recovers) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      REMOVED ": stop the port; when the device is back, reset it, or close it and probe it again");
		mana_link_check(dev, dev->data->dev_started,
				dev->data->dev_conf.intr_conf.lsc != 0);
		if (is_open(dev, priv))
			device_gone(dev, false);
		return;
	}
	if (wait_of(dev) == WAIT_FOREVER)
		MANA_PORT_LOG(NOTICE, dev->data->name,
			      REMOVED ": the port of net_failsafe waits for its return");
	else
		MANA_PORT_LOG(NOTICE, dev->data->name,
			      REMOVED ": the port waits %u s for its return",
			      priv->options.recovery_timeout);
	port_reserve(dev);
	/* Before the events: a close in their callbacks ends the recovery. */
	step_later(dev, 0);
	if (is_open(dev, priv))
		mana_link_check(dev, dev->data->dev_started,
				dev->data->dev_conf.intr_conf.lsc != 0);
	if (is_open(dev, priv) && mana_state(priv) == MANA_STATE_RECOVERING)
		event_send(dev, priv, RTE_ETH_EVENT_ERR_RECOVERING);
}

static void
on_device_event(void *arg)
{
	struct rte_eth_dev *dev = arg;
	const struct mana_priv *priv = dev->data->dev_private;
	struct ibv_async_event event;
	bool is_fatal = false;
	int ret = 0;

	/* The thread has other work, too: the descriptor wakes it again. */
	for (unsigned int n = 0; n < MAX_EVENTS; n++) {
		errno = 0;
		if (ibv_get_async_event(priv->ctx, &event) != 0) {
			ret = mana_verbs_error();
			break;
		}
		MANA_PORT_LOG(INFO, dev->data->name, "RDMA device event: %s",
			      ibv_event_type_str(event.event_type));
		is_fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		/* A destroy waits until all events of its object are acknowledged. */
		ibv_ack_async_event(&event);
	}
	if (ret != 0 && ret != -EAGAIN && ret != -EINTR) {
		/* Else the descriptor would wake the thread again and again. */
		MANA_PORT_LOG(ERR, dev->data->name,
			      "cannot read events of the RDMA device: %s; the driver treats it as removed",
			      strerror(-ret));
		(void)rte_intr_callback_unregister_pending(dev->intr_handle, on_device_event,
							   dev, NULL);
		is_fatal = true;
	}
	if (is_fatal)
		device_lost(dev);
	MANA_ORDER_BEFORE(dev);
}

/* ---- Reset and close ------------------------------------------------------------ */

int
mana_dev_reset(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	int ret = 0;

	/* EAL could not watch a new device whose descriptor has the number of the old. */
	if (rte_thread_is_intr())
		return MANA_PORT_ERR(-EBUSY, dev->data->name,
				     "reset: not possible in the callback of an event, use another thread");
	if (mana_state(priv) == MANA_STATE_RECOVERING)
		return mana_state_check(priv);
	/* ethdev resets also a port whose stop has failed. */
	if (priv->is_running)
		return MANA_PORT_ERR(-EBUSY, dev->data->name, "reset: the port is not stopped");
	/* Unlocked: waits for an event, which may begin a recovery. */
	events_end(dev);
	if (mana_state(priv) == MANA_STATE_RECOVERING)
		return mana_state_check(priv);
	mana_mutex_lock(&priv->control);
	/* ethdev has stopped the port. */
	if (priv->ctx != NULL)
		ret = port_leave(dev);
	if (ret == 0) {
		mana_atomic_store(&priv->state, MANA_STATE_GONE);
		ret = port_return(dev, false);
		mana_peers_tell(priv, true);
	}
	mana_control_unlock(priv);
	/* ethdev remembers that the device was removed. */
	if (ret == 0 && dev->state == RTE_ETH_DEV_REMOVED)
		dev->state = RTE_ETH_DEV_ATTACHED;
	if (ret == -ENODEV)
		ret = MANA_PORT_ERR(ret, dev->data->name,
				    "reset: the RDMA device is not there: reset the port again when it is back, or close it");
	return MANA_PORT_RESULT(ret, dev->data->name, "reset");
}

void
mana_recovery_end(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	/* An event that arrives now begins no recovery, and a step ends it. */
	mana_mutex_lock(&priv->control);
	mana_atomic_store(&priv->state, MANA_STATE_GONE);
	mana_control_unlock(priv);
	port_release(priv);
	events_end(dev);
	(void)rte_eal_alarm_cancel(on_step, dev);
	MANA_ORDER_BEHIND(dev);
	folder_open(&priv->recovery, NULL);
}
