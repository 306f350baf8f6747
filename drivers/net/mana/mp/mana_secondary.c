/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port in a secondary process. Its bursts use the queues of the primary process, which
 * are in memory that processes share, and a doorbell page of its own. They find a queue
 * paused while the primary process changes it (mana_pause.c), and leave it alone while the
 * page of its device is not mapped here. mana_peers.c has the communication of both.
 *
 * Verbs objects, file descriptors and function pointers belong to the primary process: no
 * operation here uses them. All else is read under the lock of mana_registry.c.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>

#include <ethdev_driver.h>
#include <rte_errno.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_rx.h"
#include "mana_tx.h"

/* Time in which the primary process should reply to a join. */
#define JOIN_S 5

/* What this process has of a port. */
struct port {
	struct mana_news news; /* as far as it was followed */
	MANA_ATOMIC(bool) is_attached; /* changed under ports_lock */
	struct rte_eth_dev_data data; /* ethdev's, after the primary process has closed the port */
};

static struct port ports[RTE_MAX_ETHPORTS];
/*
 * By mana_device_slot(): whose doorbell page this process has mapped, or 0. Slot 0 is that of
 * a queue that was freed, and matches none.
 */
static MANA_ATOMIC(uint32_t) mapped[1 + RTE_MAX_ETHPORTS] = { [0] = UINT32_MAX };
static MANA_ATOMIC(mana_burst_t) path_burst; /* of all ports */
/* Protects these, and the order of joins and of news. */
static struct mana_mutex ports_lock = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .rank = MANA_LOCK_PORT,
};

/* ---- Operations ------------------------------------------------------------------ */

static MANA_ATOMIC(uint32_t) *
mapped_of(uint16_t port_id)
{
	return &mapped[mana_device_slot(mana_device_id(port_id, 0))];
}

static void
device_unmap(uint16_t port_id)
{
	mana_atomic_store(mapped_of(port_id), 0);
	mana_db_unmap(port_id);
}

static bool
is_joined(void)
{
	return mana_atomic_load(&mana_process_id) > MANA_PROCESS_PRIMARY;
}

/*
 * The port in the registry, which is locked then, or NULL: the primary process has closed it.
 * ethdev zeroes the shared data of such a port, or frees all, so this process has its own then.
 */
static const struct mana_priv *
port_hold(struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	struct port *port = &ports[dev - rte_eth_devices];

	port->data.port_id = dev - rte_eth_devices;
	dev->data = priv != NULL ? priv->data : &port->data;
	return priv;
}

/*
 * Releases what this process has: ethdev then detaches the port here. Before the primary
 * process closes the port it waits for bursts that run now: mana_pause().
 */
int
mana_secondary_close(struct rte_eth_dev *dev)
{
	mana_mutex_lock(&ports_lock);
	if (port_hold(dev) != NULL)
		mana_registry_unlock();
	mana_bursts_stop(dev);
	device_unmap(dev->data->port_id);
	mana_atomic_store(&ports[dev->data->port_id].is_attached, false);
	mana_mutex_unlock(&ports_lock);
	mana_registry_close();
	return 0;
}

bool
mana_secondary_is_lost(void)
{
	return mana_socket_has_ended(mana_atomic_load(&mana_primary_socket));
}

bool
mana_secondary_has(const struct rte_eth_dev *dev)
{
	return mana_atomic_load(&ports[dev - rte_eth_devices].is_attached);
}

/* ---- Bursts --------------------------------------------------------------------- */

/*
 * The queue knows its user while a burst accesses it, so the primary process finds the queue
 * in whose burst this process was killed. The driver's own bursts have no time for that. A
 * queue with the mark of another process is left alone: that one has ended in a burst, and
 * the primary process will rebuild the queue. A burst leaves a paused queue before it sets
 * the mark, too: else the primary process, which waits for a moment without a mark, could
 * miss the moments between bursts that only poll.
 */
static bool
burst_enter(MANA_ATOMIC(uint32_t) *user)
{
	if (mana_atomic_load(user) != 0)
		return false;
	mana_atomic_store(user, mana_atomic_load(&mana_process_id));
	rte_compiler_barrier();
	return true;
}

static inline void
burst_leave(MANA_ATOMIC(uint32_t) *user)
{
	rte_compiler_barrier();
	MANA_ORDER_BEFORE(user);
	mana_atomic_store(user, 0);
}

/*
 * Whether the doorbells of a queue that is not paused reach its device. Not before this
 * process, which may be slow to follow, has mapped the page of a device that has returned.
 */
static inline bool
is_mapped(uint32_t device)
{
	return mana_atomic_load(&mapped[mana_device_slot(device)]) == device;
}

static uint16_t
rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb)
{
	struct mana_rxq *rxq = queue;

	if (unlikely(rxq == NULL || mana_rxq_is_paused(rxq) || !burst_enter(&rxq->user)))
		return 0;
	nb = unlikely(mana_rxq_is_paused(rxq) || !is_mapped(rxq->device)) ?
		0 : mana_atomic_load(&path_burst)(queue, pkts, nb);
	burst_leave(&rxq->user);
	return nb;
}

static uint16_t
tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb)
{
	struct mana_txq *txq = queue;

	if (unlikely(txq == NULL || mana_txq_is_paused(txq) || !burst_enter(&txq->user)))
		return 0;
	nb = unlikely(mana_txq_is_paused(txq) || !is_mapped(txq->device)) ?
		0 : mana_tx_burst(queue, pkts, nb);
	burst_leave(&txq->user);
	return nb;
}

static uint16_t
tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t nb)
{
	return txq != NULL ? mana_tx_pkt_prepare(txq, pkts, nb) : nb;
}

mana_burst_t
mana_secondary_burst(mana_burst_t burst)
{
	return burst == rx_burst ? mana_atomic_load(&path_burst) :
	       burst == tx_burst ? mana_tx_burst : burst;
}

int
mana_secondary_tx_done_cleanup(void *queue, uint32_t max)
{
	struct mana_txq *txq = queue;
	uint32_t nb;

	if (txq == NULL)
		return -EINVAL;
	/* The mark of this process has a meaning from its join on. */
	if (!is_joined() || !burst_enter(&txq->user))
		return 0;
	nb = mana_txq_is_paused(txq) || !is_mapped(txq->device) ? 0 :
	     mana_txq_done_cleanup(txq, max);
	burst_leave(&txq->user);
	return nb;
}

/* ---- News ----------------------------------------------------------------------- */

static void on_event(void *arg);

/*
 * Asks the primary process for the device of a port. socket: of this process's first join, or
 * -1. *fd: -1, or for the caller to close, also after an error.
 */
static int
join_request(uint32_t port_id, int socket, struct mana_joined *joined, int *fd)
{
	const struct timespec limit = { .tv_sec = JOIN_S };
	struct rte_mp_msg msg = {
		.name = MANA_JOIN_ACTION, .len_param = sizeof(port_id),
		.num_fds = socket >= 0, .fds = { socket },
	};
	struct rte_mp_reply reply;
	int ret;

	memcpy(msg.param, &port_id, sizeof(port_id));
	if (rte_mp_request_sync(&msg, &reply, &limit) != 0)
		return rte_errno != 0 ? -rte_errno : -EIO;
	if (reply.nb_received == 0)
		return -ETIMEDOUT;
	memcpy(joined, reply.msgs[0].param, sizeof(*joined));
	if (reply.msgs[0].num_fds > 0)
		*fd = reply.msgs[0].fds[0];
	ret = reply.msgs[0].len_param == sizeof(*joined) ? joined->ret : -EPROTO;
	free(reply.msgs);
	return ret;
}

/* The first join of this process. */
static int
first_join(uint32_t port_id, struct mana_joined *joined, int *fd)
{
	int ends[2];
	int ret = mana_pause_share();

	if (ret == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		ret = -errno;
	if (ret != 0)
		return ret;
	ret = join_request(port_id, ends[1], joined, fd);
	close(ends[1]);
	if (ret == 0)
		ret = mana_socket_watch(ends[0], on_event);
	if (ret != 0) {
		close(ends[0]); /* for a primary process that has replied, the end of this one */
		return ret;
	}
	mana_atomic_store(&mana_primary_socket, ends[0]);
	mana_atomic_store(&mana_process_id, joined->process_id);
	mana_process_kind = MANA_KIND_SECONDARY;
	return 0;
}

/* Joins, also for another device, and maps its doorbell page. The lock is held. */
static int
port_join(uint16_t port_id)
{
	struct mana_joined joined = { .ret = 0 };
	int fd = -1, ret, error;

	ret = is_joined() ? join_request(port_id, -1, &joined, &fd) :
			    first_join(port_id, &joined, &fd);
	if (ret == 0 && fd >= 0) {
		error = mana_db_map(port_id, fd);
		mana_atomic_release(mapped_of(port_id), error == 0 ? joined.device : 0);
		if (error != 0)
			MANA_PORT_LOG(ERR, rte_eth_devices[port_id].data->name,
				      "cannot map the doorbell page: %s; this process passes no packets of the port",
				      strerror(-error));
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Follows the news of a port, and joins it if need be. The lock is held. */
static void
port_follow(uint16_t port_id)
{
	struct rte_eth_dev *dev = &rte_eth_devices[port_id];
	struct port *port = &ports[port_id];
	/* What holds for a port that the primary process has closed. */
	struct mana_news news = port->news;
	const struct mana_priv *priv = port_hold(dev);
	int ret = 0;

	news.device = 0;
	if (priv != NULL) {
		news = priv->news;
		mana_registry_unlock();
	}
	if (mana_secondary_is_lost()) {
		/* While a process has the page, the kernel keeps the dead one's queues. */
		news.device = 0;
		news.state = MANA_STATE_GONE;
	}
	if (news.device == 0)
		device_unmap(port_id);
	if (!is_joined() || (news.device != 0 && !is_mapped(news.device)))
		ret = port_join(port_id);
	if (ret != 0) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "this process passes no packets of the port: %s",
			      ret == -ENOTSUP ? "the kernel does not let processes pause each other's queues (membarrier(2), Linux 4.16)" :
					       strerror(-ret));
		return;
	}
	port->news = news;
	if (priv != NULL)
		mana_bursts_set(dev, rx_burst, tx_burst, tx_prepare);
	/* As in mana_dev_reset(). */
	if (news.state == MANA_STATE_READY && dev->state == RTE_ETH_DEV_REMOVED)
		dev->state = RTE_ETH_DEV_ATTACHED;
}

/* The callback may detach the port. */
static void
event_notify(uint16_t port_id, enum rte_eth_event_type event)
{
	struct rte_eth_dev *dev = &rte_eth_devices[port_id];

	if (mana_secondary_has(dev))
		(void)rte_eth_dev_callback_process(dev, event, NULL);
}

/* Follows the news of a port, and notifies the application of what has changed. */
static void
port_update(uint16_t port_id)
{
	struct port *port = &ports[port_id];
	struct mana_news before, now;

	mana_mutex_lock(&ports_lock);
	before = port->news;
	if (port->is_attached)
		port_follow(port_id);
	now = port->news;
	mana_mutex_unlock(&ports_lock);
	if (before.link_nr != now.link_nr)
		event_notify(port_id, RTE_ETH_EVENT_INTR_LSC);
	if (before.state == now.state)
		return;
	if (now.state == MANA_STATE_RECOVERING)
		event_notify(port_id, RTE_ETH_EVENT_ERR_RECOVERING);
	if (before.state == MANA_STATE_RECOVERING)
		event_notify(port_id, now.state == MANA_STATE_READY ?
					      RTE_ETH_EVENT_RECOVERY_SUCCESS :
					      RTE_ETH_EVENT_RECOVERY_FAILED);
	if (now.state == MANA_STATE_GONE)
		event_notify(port_id, RTE_ETH_EVENT_INTR_RMV);
}

/* Interrupt thread: there is news, or the primary process has ended. */
static void
on_event(void *arg __rte_unused)
{
	const int fd = mana_atomic_load(&mana_primary_socket);

	(void)mana_socket_drain(fd);
	if (mana_secondary_is_lost()) {
		mana_socket_unwatch(fd);
		MANA_INIT_LOG(ERR,
			      "the primary process has ended: its ports are gone, close them and end this process");
	}
	for (uint16_t i = 0; i < RTE_MAX_ETHPORTS; i++)
		port_update(i);
}

/* ---- Attach --------------------------------------------------------------------------- */

void
mana_secondary_join(struct rte_eth_dev *dev)
{
	const uint16_t port_id = dev->data->port_id;
	struct mana_burst_queues *queues = mana_registry_queues(port_id);
	struct port *port = &ports[port_id];
	struct mana_news before;

	/* ethdev's arrays exist from the primary's configuration to its close of the port. */
	rte_eth_fp_ops[port_id].rxq.data = (void **)(uintptr_t)queues->rxqs;
	rte_eth_fp_ops[port_id].txq.data = (void **)(uintptr_t)queues->txqs;
	mana_mutex_lock(&ports_lock);
	mana_atomic_store(&path_burst, mana_rx_path_select()->burst);
	before = port->news;
	port_follow(port_id);
	/* The interrupt thread notifies the application, which may know that the port recovers. */
	port->news.state = before.state == MANA_STATE_RECOVERING ?
		MANA_STATE_RECOVERING : MANA_STATE_READY;
	/* For a process that joins the link has not changed. */
	if (mana_secondary_has(dev))
		port->news.link_nr = before.link_nr;
	mana_atomic_store(&port->is_attached, true);
	mana_mutex_unlock(&ports_lock);
}
