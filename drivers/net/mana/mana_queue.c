/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What send and receive queues have in common, and the start and stop of all
 * of them. A start that fails is undone by the ordinary stop, which takes
 * whatever there is.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_queue.h"

uint32_t
mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc,
		  uint32_t nb_spare)
{
	uint32_t nb = rte_align32pow2((uint32_t)nb_desc + nb_spare);

	nb = RTE_MAX(nb, (uint32_t)MANA_MIN_CQE);
	return RTE_MIN(nb, priv->max_cqe);
}

void *
mana_queue_alloc(const char *what, size_t size, int socket_id)
{
	void *memory;

	memory = rte_zmalloc_socket(what, size, RTE_CACHE_LINE_SIZE, socket_id);
	if (memory == NULL)
		memory = rte_zmalloc(what, size, RTE_CACHE_LINE_SIZE);
	return memory;
}

const char *
mana_queue_fate_name(uint8_t fate)
{
	switch (fate) {
	case MANA_QUEUE_ALIVE:
		return "alive";
	case MANA_QUEUE_OVERRUN:
		return "overrun";
	case MANA_QUEUE_UNKNOWN_CQE:
		return "unknown_cqe";
	case MANA_QUEUE_DISABLED:
		return "disabled";
	default:
		return "unknown";
	}
}

bool
mana_queue_is_gone(const struct mana_priv *priv, const char *what, int error)
{
	if (error == 0 || mana_is_gone(priv))
		return true;
	MANA_PORT_LOG(WARNING, priv->data->name,
		      "the kernel does not destroy a %s: %s", what,
		      strerror(-error));
	/* A device that was reset or removed: it does nothing any more. */
	return error == -EIO || error == -ENODEV;
}

/* All queues are there, and frames of the MTU fit: both may have changed. */
static int
queues_check(struct mana_priv *priv)
{
	const struct rte_eth_dev_data *data = priv->data;
	uint16_t i;

	for (i = 0; i < data->nb_tx_queues; i++)
		if (data->tx_queues[i] == NULL)
			goto missing;
	for (i = 0; i < data->nb_rx_queues; i++)
		if (data->rx_queues[i] == NULL)
			goto missing;
	return mana_rx_shapes_check(priv);
missing:
	MANA_PORT_LOG(ERR, data->name,
		      "queue %u is configured, but was not set up", i);
	return -EINVAL;
}

static int
idle_ring_make(struct mana_priv *priv)
{
	priv->idle_ring = rte_zmalloc_socket("mana_idle", GDMA_RING_MIN_BYTES,
					     GDMA_RING_MIN_BYTES,
					     priv->data->numa_node);
	if (priv->idle_ring == NULL)
		priv->idle_ring = rte_zmalloc("mana_idle", GDMA_RING_MIN_BYTES,
					      GDMA_RING_MIN_BYTES);
	return priv->idle_ring != NULL ? 0 : -ENOMEM;
}

int
mana_queues_start(struct mana_priv *priv)
{
	int ret;

	ret = queues_check(priv);
	if (ret != 0)
		return ret;
	ret = idle_ring_make(priv);
	/* The first QP takes the vPort, which the RSS QP needs to exist. */
	if (ret == 0)
		ret = mana_txqs_start(priv);
	if (ret == 0)
		ret = mana_rxqs_start(priv);
	if (ret != 0)
		mana_queues_stop(priv);
	return ret;
}

void
mana_queues_stop(struct mana_priv *priv)
{
	mana_rxqs_stop(priv);
	mana_txqs_stop(priv);
	/* ethdev has replaced the burst functions. */
	rte_free(priv->idle_ring);
	priv->idle_ring = NULL;
}
