/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The registry: the list of ports of all processes, and its lock: mana_locks.h. What a forked
 * child finds of it.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_memzone.h>
#include <rte_string_fns.h>

#include "mana_locks.h"

#define ZONE_NAME "mana_ports"

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
#define LAYOUT \
	((uint64_t)sizeof(struct mana_priv) << 32 | sizeof(struct mana_txq) | \
	 (sizeof(struct mana_rxq) + sizeof(struct mana_hwq)) << 16)

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
		if (shared->ports[i] == NULL || rte_eth_devices[i].state == RTE_ETH_DEV_UNUSED)
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
