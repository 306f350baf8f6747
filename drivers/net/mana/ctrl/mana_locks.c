/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pause of queues, burst functions, and the registry of ports: mana_locks.h.
 *
 * Other cores poll and send while the control path replaces rings, and DPDK cannot
 * ask them to stop. An atomic read-modify-write or a fence would cost a burst more
 * than all its other instructions, so the cost is here:
 *
 *   burst                           control path
 *   is_busy = 1                     pause the queue
 *   (compiler barrier)              membarrier()
 *   is the queue paused? return     wait until is_busy is 0
 *   (compiler barrier)              membarrier()
 *   ... rings ...                   ... rings, hwqs of an rxq ...
 *   (compiler barrier)              membarrier()
 *   is_busy = 0                     resume the queue
 *
 * membarrier(2) makes every running thread of the process execute a full barrier,
 * and of the secondary processes while there are any, so the control path has the
 * fences of both sides. An Rx burst finds that its queue is paused by the stand-in
 * (struct mana_rxq), an hwq with a slow-path flag; a Tx burst by the flag runs. So a
 * burst pays two plain stores and one load.
 *
 * Where membarrier(2) is refused (seccomp), no queue of a running port can be paused:
 * mana_probe.c reports what that means.
 *
 * The guide's page mana-datapath explains each barrier and the cost. The unit test
 * pause_protocol tries all interleavings.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <ethdev_driver.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_memzone.h>
#include <rte_string_fns.h>

#include "mana_locks.h"
#include "mana_queues.h"

#define WAIT_US 20
#define MAX_WAIT_US 1000u
#define ZONE_NAME "mana_ports"

/*
 * Linux kernel/sched/membarrier.c: the private expedited command since 4.14. The global
 * one, since 4.16, reaches the processes that have registered for it.
 */
static int
membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0 ? 0 : -ENOTSUP;
}

int
mana_threads_barrier(void)
{
	if (mana_peers_exist())
		return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
	/* The command fails before the process has registered for it. */
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return 0;
	(void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

int
mana_pause_share(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

static bool
is_meant(const struct mana_txq *txq, unsigned int what)
{
	return (what & MANA_PAUSE_TX) != 0 &&
	       (what >> MANA_PAUSE_TXQ_S == 0 ||
		what >> MANA_PAUSE_TXQ_S == txq->queue_id + 1u);
}

/* In a function of its own for the thread sanitizer: bursts read the flag at any time. */
static void
tx_pause_set(const struct mana_priv *priv, struct mana_txq *txq, unsigned int what,
	     bool is_paused)
{
	txq->is_stopping = is_paused && (what & MANA_PAUSE_FOR_STOP) != 0;
	txq->device = priv->device;
	MANA_ORDER_BEFORE(txq);
	/* A queue that does not run stays paused: it has no rings. */
	txq->runs = !is_paused && txq->qp != NULL;
}

void
mana_pause_set(const struct mana_priv *priv, unsigned int what, bool is_paused)
{
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	if ((what & MANA_PAUSE_RX) != 0)
		MANA_FOREACH_RXQ(priv, rxq) {
			/* Other processes leave it alone if there are no rings. */
			rxq->device = priv->rx_set != NULL ? priv->device : 0;
			mana_rxq_pause(rxq, is_paused);
		}
	MANA_FOREACH_TXQ(priv, txq)
		if (is_meant(txq, what))
			tx_pause_set(priv, txq, what, is_paused);
}

/* Whether a stack pointer is that of the calling thread, whatever stack that uses now. */
static bool
is_own_stack(uintptr_t stack_pointer)
{
	pthread_attr_t attr;
	size_t bytes = 0;
	void *base = NULL;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return false;
	(void)pthread_attr_getstack(&attr, &base, &bytes);
	pthread_attr_destroy(&attr);
	return stack_pointer - (uintptr_t)base < bytes;
}

/*
 * Whether a burst and a status function have left before the time end; for_stop: see
 * MANA_PAUSE_FOR_STOP.
 */
static bool
wait_idle(MANA_ATOMIC(uintptr_t) *is_busy, const MANA_ATOMIC(uint32_t) *user,
	  const MANA_ATOMIC(uint64_t) *lock, bool for_stop, uint64_t end)
{
	const uintptr_t burst = mana_atomic_load(is_busy);
	const bool is_own = for_stop && burst != 0 && mana_atomic_load(user) == 0 &&
			    is_own_stack(burst);
	unsigned int wait_us = WAIT_US;

	/* The handler may never return to it. */
	if (is_own)
		mana_atomic_store(is_busy, 0);
	while (mana_atomic_load(is_busy) != 0 || mana_atomic_load(user) != 0 ||
	       mana_atomic_load(lock) != 0) {
		if (rte_get_timer_cycles() > end)
			return false;
		/* A thread that wakes often keeps the burst from a processor that both share. */
		rte_delay_us_sleep(wait_us);
		wait_us = RTE_MIN(2 * wait_us, MAX_WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	MANA_ORDER_BEHIND(is_busy);
	MANA_ORDER_BEHIND(lock);
	return true;
}

void
mana_query_wait(MANA_ATOMIC(uint64_t) *lock)
{
	while (!mana_query_trylock(lock)) {
		rte_delay_us_sleep(WAIT_US);
		if (mana_peers_exist())
			mana_peers_reap();
	}
	mana_query_unlock(lock);
}

void
mana_queries_drop(const struct mana_priv *priv)
{
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		if (mana_atomic_load(&rxq->query_lock) == mana_query_id())
			mana_query_unlock(&rxq->query_lock);
	MANA_FOREACH_TXQ(priv, txq)
		if (mana_atomic_load(&txq->query_lock) == mana_query_id())
			mana_query_unlock(&txq->query_lock);
}

/*
 * Called after the barrier that follows the pause. A queue that was found idle is
 * not checked again: a burst that begins now accesses nothing, but sets is_busy
 * for a moment, and of many polled queues some always are in this moment.
 */
static int
wait_all_idle(const struct mana_priv *priv, unsigned int what, uint64_t end)
{
	bool for_stop = (what & MANA_PAUSE_FOR_STOP) != 0;
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		if ((what & MANA_PAUSE_RX) != 0 &&
		    !wait_idle(&rxq->is_busy, &rxq->user, &rxq->query_lock,
			       for_stop, end))
			return -EBUSY;
	MANA_FOREACH_TXQ(priv, txq)
		if (is_meant(txq, what) &&
		    !wait_idle(&txq->is_busy, &txq->user, &txq->query_lock,
			       for_stop, end))
			return -EBUSY;
	return 0;
}

int
mana_pause(struct mana_priv *priv, unsigned int what, uint32_t patience_ms)
{
	uint64_t end = rte_get_timer_cycles() +
		       patience_ms * rte_get_timer_hz() / 1000;
	int ret;

	/* Tried before anything is paused: the end of a pause needs it, too. */
	ret = mana_threads_barrier();
	if (ret != 0)
		return ret;
	mana_pause_set(priv, what, true);
	ret = mana_threads_barrier();
	if (ret == 0)
		ret = wait_all_idle(priv, what, end);
	if (ret == 0)
		ret = mana_threads_barrier();
	if (ret != 0)
		mana_resume(priv, what);
	return ret;
}

void
mana_resume(struct mana_priv *priv, unsigned int what)
{
	/* It has worked a moment ago. */
	(void)mana_threads_barrier();
	mana_pause_set(priv, what, false);
	(void)mana_threads_barrier();
	/* An enable that found its queue paused has cleared the eventfd by now. */
	if ((what & MANA_PAUSE_RX) != 0)
		mana_rx_wake(priv);
}

void
mana_rx_wake(const struct mana_priv *priv)
{
	for (uint16_t i = 0; priv->rx_intrs != NULL && i < priv->data->nb_rx_queues; i++)
		(void)eventfd_write(priv->rx_intrs[i].wake_fd, 1);
}

/* ---- Burst functions --------------------------------------------------------- */

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

/* ---- The registry ---------------------------------------------------------- */

/* In a memzone, which all processes map at one address. */
struct mana_shared {
	/* In each version of the driver the first two: */
	uint64_t layout; /* of the structs that processes share; 0: not ready */
	char file[256]; /* of the primary process's driver */
	struct mana_mutex lock; /* a process may die while it holds it */
	struct mana_priv *ports[RTE_MAX_ETHPORTS]; /* by port_id */
	struct mana_burst_queues queues[RTE_MAX_ETHPORTS];
};

/* Another version of the driver has, most likely, another number. */
#define LAYOUT                                                              \
	((uint64_t)sizeof(struct mana_priv) << 32 |                         \
	 (sizeof(struct mana_rxq) + sizeof(struct mana_hwq)) << 16 | \
	 sizeof(struct mana_txq))

/*
 * Protects the pointer to the shared part: a telemetry thread may still run after EAL
 * has unmapped the memory of a program that ends.
 */
static struct mana_mutex process_lock;
static struct mana_shared *shared; /* NULL: no port in this process */
static unsigned int nb_users;

/* ---- Forked children ------------------------------------------------------------ */

/*
 * A child that the program has forked has no port: ethdev answers -ENODEV, and its inline
 * functions do nothing. It would share the kernel's objects with its parent, and perhaps the
 * memory, it has none of EAL's threads, and threads that it does not have may hold locks.
 */
static void
on_child(void)
{
	for (uint16_t i = 0; shared != NULL && i < RTE_DIM(shared->ports); i++) {
		if (shared->ports[i] == NULL || rte_eth_devices[i].state != RTE_ETH_DEV_ATTACHED)
			continue;
		rte_eth_devices[i].state = RTE_ETH_DEV_UNUSED;
		mana_bursts_stop(&rte_eth_devices[i]);
		/* ethdev's inline functions of the port do nothing. */
		rte_eth_fp_ops[i].rx_queue_count = MANA_NO_QUEUE_COUNT;
		MANA_TX_QUEUE_COUNT_SET(&rte_eth_fp_ops[i], MANA_NO_QUEUE_COUNT);
		rte_eth_fp_ops[i].rx_descriptor_status = MANA_NO_DESCRIPTOR_STATUS;
		rte_eth_fp_ops[i].tx_descriptor_status = MANA_NO_DESCRIPTOR_STATUS;
	}
	shared = NULL;
	nb_users = 0;
	mana_atomic_store(&mana_process_id, 0);
	mana_mutex_init(&process_lock, MANA_LOCK_PROCESS);
}

/* When the program starts, so neither lacks memory. */
RTE_INIT(process_init)
{
	mana_mutex_init(&process_lock, MANA_LOCK_PROCESS);
	(void)pthread_atfork(NULL, NULL, on_child);
}

/* ---- The shared part ------------------------------------------------------- */

const char *
mana_driver_file(void)
{
	Dl_info info;

	return dladdr(&process_lock, &info) != 0 ? info.dli_fname : "unknown file";
}

const char *
mana_registry_file(void)
{
	const struct rte_memzone *mz = rte_memzone_lookup(ZONE_NAME);

	return mz != NULL ? ((const struct mana_shared *)mz->addr)->file : "unknown file";
}

/* The primary process makes the zone once, and keeps it until it ends. */
int
mana_registry_open(void)
{
	const struct rte_memzone *mz = rte_memzone_lookup(ZONE_NAME);
	struct mana_shared *zone = mz != NULL ? mz->addr : NULL;
	uint64_t layout;

	if (zone == NULL && rte_eal_process_type() == RTE_PROC_PRIMARY) {
		mz = rte_memzone_reserve(ZONE_NAME, sizeof(*zone), SOCKET_ID_ANY, 0);
		if (mz == NULL)
			return -ENOMEM;
		zone = memset(mz->addr, 0, sizeof(*zone));
		(void)rte_strscpy(zone->file, mana_driver_file(), sizeof(zone->file));
		mana_mutex_init(&zone->lock, MANA_LOCK_REGISTRY);
		/* Last, because a secondary process may read it at any time. */
		__atomic_store_n(&zone->layout, LAYOUT, __ATOMIC_RELEASE);
	}
	layout = zone != NULL ? __atomic_load_n(&zone->layout, __ATOMIC_ACQUIRE) : 0;
	if (layout != LAYOUT)
		return layout == 0 ? -ENOENT : -EINVAL;
	mana_mutex_lock(&process_lock);
	shared = zone;
	nb_users++;
	mana_mutex_unlock(&process_lock);
	return 0;
}

void
mana_registry_close(void)
{
	mana_mutex_lock(&process_lock);
	if (--nb_users == 0)
		shared = NULL;
	mana_mutex_unlock(&process_lock);
}

void
mana_registry_lock(void)
{
	mana_mutex_lock(&process_lock);
	/* Only the primary process changes the lists: they are consistent while it lives. */
	if (shared != NULL)
		mana_mutex_lock(&shared->lock);
}

void
mana_registry_unlock(void)
{
	if (shared != NULL)
		mana_mutex_unlock(&shared->lock);
	mana_mutex_unlock(&process_lock);
}

struct mana_burst_queues *
mana_registry_queues(uint16_t port_id)
{
	return &shared->queues[port_id];
}

/* ---- Ports ----------------------------------------------------------------- */

int
mana_registry_add(struct mana_priv *priv)
{
	int ret = mana_registry_open();

	if (ret != 0)
		return ret;
	mana_registry_lock();
	priv->burst_queues = mana_registry_queues(priv->data->port_id);
	shared->ports[priv->data->port_id] = priv;
	mana_registry_unlock();
	return 0;
}

void
mana_registry_remove(struct mana_priv *priv)
{
	bool is_listed;

	mana_registry_lock();
	is_listed = mana_registry_find(priv->data->port_id) == priv;
	if (is_listed)
		shared->ports[priv->data->port_id] = NULL;
	mana_registry_unlock();
	if (is_listed)
		mana_registry_close();
}

struct mana_priv *
mana_registry_hold(const struct rte_eth_dev *dev)
{
	struct mana_priv *priv;

	mana_registry_lock();
	/* dev->data may be another port's by now. */
	priv = mana_registry_find(dev - rte_eth_devices);
	if (priv == NULL)
		mana_registry_unlock();
	return priv;
}

struct mana_priv *
mana_registry_find(uint64_t port_id)
{
	if (shared == NULL || port_id >= RTE_DIM(shared->ports))
		return NULL;
	return shared->ports[port_id];
}

struct mana_priv *
mana_registry_next(uint32_t *port_id)
{
	struct mana_priv *priv = NULL;

	while (priv == NULL && *port_id < RTE_MAX_ETHPORTS)
		priv = mana_registry_find((*port_id)++);
	return priv;
}
