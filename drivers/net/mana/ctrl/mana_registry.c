/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_memzone.h>

#include "mana.h"
#include "mana_rx_set.h"

#define ZONE_NAME "mana_ports"

/* In a memzone, which all processes map at one address. */
struct mana_shared {
	pthread_mutex_t lock; /* robust: a process may die while it holds it */
	uint64_t layout; /* of the structs that processes share; 0: not ready */
	struct mana_priv *ports[RTE_MAX_ETHPORTS]; /* by port_id */
};

/* Another version of the driver has, most likely, another number. */
#define LAYOUT                                \
	((uint64_t)sizeof(struct mana_priv) << 32 | \
	 (sizeof(struct mana_eth_rxq) + sizeof(struct mana_rx_hwq)) << 16 | \
	 sizeof(struct mana_eth_txq))

/*
 * Protects the pointer to the shared part: a telemetry thread may still run after EAL
 * has unmapped the memory of a program that ends.
 */
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mana_shared *shared; /* NULL: no port in this process */
static unsigned int nb_users;

/* ---- The shared part ------------------------------------------------------- */

static int
shared_init(struct mana_shared *zone)
{
	pthread_mutexattr_t attr;
	int ret;

	memset(zone, 0, sizeof(*zone));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	ret = pthread_mutex_init(&zone->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	/* Last, because a secondary process may read it at any time. */
	if (ret == 0)
		__atomic_store_n(&zone->layout, LAYOUT, __ATOMIC_RELEASE);
	return -ret;
}

/* The primary process makes the zone once, and keeps it until it ends. */
static int
shared_find(struct mana_shared **zone)
{
	const struct rte_memzone *mz = rte_memzone_lookup(ZONE_NAME);
	uint64_t layout;

	if (mz == NULL && rte_eal_process_type() == RTE_PROC_PRIMARY) {
		mz = rte_memzone_reserve(ZONE_NAME, sizeof(**zone),
					 SOCKET_ID_ANY, 0);
		if (mz == NULL)
			return -ENOMEM;
		*zone = mz->addr;
		return shared_init(*zone);
	}
	if (mz == NULL)
		return -ENOENT;
	*zone = mz->addr;
	layout = __atomic_load_n(&(*zone)->layout, __ATOMIC_ACQUIRE);
	if (layout == 0)
		return -ENOENT;
	return layout == LAYOUT ? 0 : -EINVAL;
}

int
mana_registry_open(void)
{
	int ret = 0;

	pthread_mutex_lock(&process_lock);
	if (nb_users == 0)
		ret = shared_find(&shared);
	if (ret == 0)
		nb_users++;
	else
		shared = NULL;
	pthread_mutex_unlock(&process_lock);
	return ret;
}

void
mana_registry_close(void)
{
	pthread_mutex_lock(&process_lock);
	if (nb_users > 0 && --nb_users == 0)
		shared = NULL;
	pthread_mutex_unlock(&process_lock);
}

void
mana_registry_lock(void)
{
	pthread_mutex_lock(&process_lock);
	if (shared == NULL)
		return;
	/*
	 * The last owner may have failed. Only the primary process changes the
	 * lists, so they are consistent while it lives.
	 */
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		(void)pthread_mutex_consistent(&shared->lock);
}

void
mana_registry_unlock(void)
{
	if (shared != NULL)
		pthread_mutex_unlock(&shared->lock);
	pthread_mutex_unlock(&process_lock);
}

/* ---- Ports ----------------------------------------------------------------- */

int
mana_registry_add(struct mana_priv *priv)
{
	int ret = mana_registry_open();

	if (ret != 0)
		return ret;
	mana_registry_lock();
	shared->ports[priv->data->port_id] = priv;
	priv->is_listed = true;
	mana_registry_unlock();
	return 0;
}

void
mana_registry_remove(struct mana_priv *priv)
{
	if (!priv->is_listed)
		return;
	mana_registry_lock();
	shared->ports[priv->data->port_id] = NULL;
	priv->is_listed = false;
	mana_registry_unlock();
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
mana_registry_next(uint32_t from_port_id)
{
	struct mana_priv *priv = NULL;

	while (priv == NULL && from_port_id < RTE_MAX_ETHPORTS)
		priv = mana_registry_find(from_port_id++);
	return priv;
}
