/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: sums of what the queues count. Counters only grow; a reset
 * remembers where they stood. There are no others: the device's own reach no
 * program while the netdev is down.
 */

#include <string.h>

#include "mana.h"

/* Both are nothing but counters. */
static_assert(sizeof(struct mana_rx_counters) % sizeof(uint64_t) == 0,
	      "mana_rx_counters is an array of counters");
static_assert(sizeof(struct mana_tx_counters) % sizeof(uint64_t) == 0,
	      "mana_tx_counters is an array of counters");

static void
counters_subtract(void *from, const void *base, size_t size)
{
	const uint64_t *sub = base;
	uint64_t *out = from;
	size_t i;

	for (i = 0; i < size / sizeof(*out); i++)
		out[i] -= sub[i];
}

static void
counters_add(void *to, const void *more, size_t size)
{
	const uint64_t *add = more;
	uint64_t *out = to;
	size_t i;

	for (i = 0; i < size / sizeof(*out); i++)
		out[i] += add[i];
}

static struct mana_rx_counters
rx_now(const struct mana_rxq_ctl *ctl)
{
	return (struct mana_rx_counters){
		.packets = ctl->rxq.packets,
		.bytes = ctl->rxq.bytes,
		.rare = ctl->rxq.stats,
	};
}

static struct mana_tx_counters
tx_now(const struct mana_txq_ctl *ctl)
{
	return (struct mana_tx_counters){
		.packets = ctl->txq.packets,
		.bytes = ctl->txq.bytes,
		.rare = ctl->txq.stats,
	};
}

static struct mana_rx_counters
rx_since_reset(const struct mana_rxq_ctl *ctl)
{
	struct mana_rx_counters counters = rx_now(ctl);

	counters_subtract(&counters, &ctl->base, sizeof(counters));
	return counters;
}

static struct mana_tx_counters
tx_since_reset(const struct mana_txq_ctl *ctl)
{
	struct mana_tx_counters counters = tx_now(ctl);

	counters_subtract(&counters, &ctl->base, sizeof(counters));
	return counters;
}

void
mana_stats_fold_rxq(struct mana_priv *priv, const struct mana_rxq_ctl *ctl)
{
	struct mana_rx_counters counters = rx_since_reset(ctl);

	counters_add(&priv->rx_released, &counters, sizeof(counters));
}

void
mana_stats_fold_txq(struct mana_priv *priv, const struct mana_txq_ctl *ctl)
{
	struct mana_tx_counters counters = tx_since_reset(ctl);

	counters_add(&priv->tx_released, &counters, sizeof(counters));
}

static void
rx_add(struct rte_eth_stats *stats, const struct mana_rx_counters *rx)
{
	stats->ipackets += rx->packets;
	stats->ibytes += rx->bytes;
	stats->ierrors += mana_rxq_stats_errors(&rx->rare);
	stats->rx_nombuf += rx->rare.nombuf;
}

static void
tx_add(struct rte_eth_stats *stats, const struct mana_tx_counters *tx)
{
	stats->opackets += tx->packets;
	stats->obytes += tx->bytes;
	stats->oerrors += mana_txq_stats_errors(&tx->rare);
}

int
mana_stats_get(struct rte_eth_dev *dev,
	       struct rte_eth_stats *stats MANA_QSTATS_PARAM)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint16_t i;

	stats->rx_nombuf = 0;
	rx_add(stats, &priv->rx_released);
	tx_add(stats, &priv->tx_released);
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mana_rxq_ctl *ctl = dev->data->rx_queues[i];
		struct mana_rx_counters now;

		if (ctl == NULL)
			continue;
		now = rx_since_reset(ctl);
		rx_add(stats, &now);
		if (MANA_QSTATS(stats) == NULL || i >= RTE_ETHDEV_QUEUE_STAT_CNTRS)
			continue;
		MANA_QSTATS(stats)->q_ipackets[i] = now.packets;
		MANA_QSTATS(stats)->q_ibytes[i] = now.bytes;
		MANA_QSTATS(stats)->q_errors[i] = mana_rxq_stats_errors(&now.rare);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct mana_txq_ctl *ctl = dev->data->tx_queues[i];
		struct mana_tx_counters now;

		if (ctl == NULL)
			continue;
		now = tx_since_reset(ctl);
		tx_add(stats, &now);
		if (MANA_QSTATS(stats) == NULL || i >= RTE_ETHDEV_QUEUE_STAT_CNTRS)
			continue;
		MANA_QSTATS(stats)->q_opackets[i] = now.packets;
		MANA_QSTATS(stats)->q_obytes[i] = now.bytes;
	}
	return 0;
}

int
mana_stats_reset(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint16_t i;

	memset(&priv->rx_released, 0, sizeof(priv->rx_released));
	memset(&priv->tx_released, 0, sizeof(priv->tx_released));
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct mana_rxq_ctl *ctl = dev->data->rx_queues[i];

		if (ctl != NULL)
			ctl->base = rx_now(ctl);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct mana_txq_ctl *ctl = dev->data->tx_queues[i];

		if (ctl != NULL)
			ctl->base = tx_now(ctl);
	}
	return 0;
}
