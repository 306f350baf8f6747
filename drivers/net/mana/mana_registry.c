/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mana_registry.h"

/* A port's entry; in the C library's heap, as the list is this process's. */
struct mana_shown_port {
	struct mana_priv *priv;
	struct mana_shown_queue rxqs[MANA_MAX_RXQ];
	struct mana_shown_queue txqs[MANA_MAX_TXQ];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mana_shown_port *ports[RTE_MAX_ETHPORTS]; /* by port_id */

int
mana_registry_add(struct mana_priv *priv)
{
	struct mana_shown_port *shown = calloc(1, sizeof(*shown));

	if (shown == NULL)
		return -ENOMEM;
	shown->priv = priv;
	pthread_mutex_lock(&lock);
	priv->shown = shown;
	ports[priv->data->port_id] = shown;
	pthread_mutex_unlock(&lock);
	return 0;
}

void
mana_registry_remove(struct mana_priv *priv)
{
	if (priv->shown == NULL)
		return;
	pthread_mutex_lock(&lock);
	ports[priv->data->port_id] = NULL;
	pthread_mutex_unlock(&lock);
	free(priv->shown);
	priv->shown = NULL;
}

static void
queue_set(struct mana_shown_queue *queue, const void *ctl, const char *mempool)
{
	pthread_mutex_lock(&lock);
	queue->ctl = ctl;
	snprintf(queue->mempool, sizeof(queue->mempool), "%s", mempool);
	pthread_mutex_unlock(&lock);
}

void
mana_registry_set_rxq(struct mana_priv *priv, uint16_t queue_id,
		      const struct mana_rxq_ctl *ctl)
{
	if (priv->shown != NULL && queue_id < RTE_DIM(priv->shown->rxqs))
		queue_set(&priv->shown->rxqs[queue_id], ctl,
			  ctl != NULL && ctl->mp != NULL ? ctl->mp->name : "");
}

void
mana_registry_set_txq(struct mana_priv *priv, uint16_t queue_id,
		      const struct mana_txq_ctl *ctl)
{
	if (priv->shown != NULL && queue_id < RTE_DIM(priv->shown->txqs))
		queue_set(&priv->shown->txqs[queue_id], ctl, "");
}

void
mana_registry_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
mana_registry_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct mana_priv *
mana_registry_next(uint32_t from_port_id)
{
	for (; from_port_id < RTE_DIM(ports); from_port_id++)
		if (ports[from_port_id] != NULL)
			return ports[from_port_id]->priv;
	return NULL;
}

struct mana_priv *
mana_registry_find(uint64_t port_id)
{
	if (port_id >= RTE_DIM(ports) || ports[port_id] == NULL)
		return NULL;
	return ports[port_id]->priv;
}

static const struct mana_shown_queue *
queue_find(const struct mana_shown_queue *queues, uint32_t nb, uint64_t queue_id)
{
	return queue_id < nb && queues[queue_id].ctl != NULL ? &queues[queue_id] :
							       NULL;
}

const struct mana_shown_queue *
mana_registry_rxq(const struct mana_priv *priv, uint64_t queue_id)
{
	return queue_find(priv->shown->rxqs, MANA_MAX_RXQ, queue_id);
}

const struct mana_shown_queue *
mana_registry_txq(const struct mana_priv *priv, uint64_t queue_id)
{
	return queue_find(priv->shown->txqs, MANA_MAX_TXQ, queue_id);
}
