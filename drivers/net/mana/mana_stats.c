/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: sums of what the queues count. Counters only grow; a reset
 * remembers where they stood. There are no others: the device's own reach no
 * program while the netdev is down.
 *
 * What a queue has counted stays with its number when it is released, so that
 * nothing is lost when queues are set up anew, and each sum of a port is the
 * sum over its queues.
 */

#include <string.h>

#include "mana.h"

/* All are nothing but counters. */
static_assert(sizeof(struct mana_rx_counters) % sizeof(uint64_t) == 0,
	      "mana_rx_counters is an array of counters");
static_assert(sizeof(struct mana_tx_counters) % sizeof(uint64_t) == 0,
	      "mana_tx_counters is an array of counters");
static_assert(sizeof(struct mana_port_counters) % sizeof(uint64_t) == 0,
	      "mana_port_counters is an array of counters");

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
	struct mana_rx_counters counters = {
		.packets = ctl->rxq.packets,
		.bytes = ctl->rxq.bytes,
		.mr_misses = ctl->rxq.mr.nb_misses,
		.rare = ctl->rxq.stats,
	};

	/* No one has seen a sink's packets, long or short. */
	if (ctl->kind == MANA_RXQ_SINK) {
		counters.rare.stopped += counters.packets +
					 counters.rare.truncated;
		counters.rare.truncated = 0;
		counters.packets = 0;
		counters.bytes = 0;
	}
	return counters;
}

static struct mana_tx_counters
tx_now(const struct mana_txq_ctl *ctl)
{
	return (struct mana_tx_counters){
		.packets = mana_txq_packets(&ctl->txq),
		.bytes = ctl->txq.bytes,
		.sq_doorbells = ctl->txq.sq_doorbells,
		.mr_misses = ctl->txq.mr.nb_misses,
		.rare = ctl->txq.stats,
	};
}

/* The queue that exists now; NULL. */
static struct mana_txq_ctl *
txq_of(const struct mana_priv *priv, uint16_t queue_id)
{
	if (queue_id >= priv->data->nb_tx_queues)
		return NULL;
	return mana_txq_ctl_of(priv->data->tx_queues[queue_id]);
}

static void
rx_fold(struct mana_rx_counters *to, const struct mana_rxq_ctl *ctl)
{
	struct mana_rx_counters counters = rx_now(ctl);

	counters_subtract(&counters, &ctl->base, sizeof(counters));
	counters_add(to, &counters, sizeof(counters));
}

static void
tx_fold(struct mana_tx_counters *to, const struct mana_txq_ctl *ctl)
{
	struct mana_tx_counters counters = tx_now(ctl);

	counters_subtract(&counters, &ctl->base, sizeof(counters));
	counters_add(to, &counters, sizeof(counters));
}

void
mana_stats_fold_rxq(struct mana_priv *priv, const struct mana_rxq_ctl *ctl)
{
	rx_fold(&priv->rx_released[ctl->owner], ctl);
}

void
mana_stats_fold_txq(struct mana_priv *priv, const struct mana_txq_ctl *ctl)
{
	tx_fold(&priv->tx_released[ctl->txq.queue_id], ctl);
}

struct mana_rx_counters
mana_stats_rx(const struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_rx_counters counters = priv->rx_released[queue_id];
	const struct mana_rxq_ctl *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		if (ctl->owner == queue_id)
			rx_fold(&counters, ctl);
	return counters;
}

struct mana_tx_counters
mana_stats_tx(const struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_tx_counters counters = priv->tx_released[queue_id];
	const struct mana_txq_ctl *ctl = txq_of(priv, queue_id);

	if (ctl != NULL)
		tx_fold(&counters, ctl);
	return counters;
}

struct mana_rx_counters
mana_stats_rx_sum(const struct mana_priv *priv)
{
	struct mana_rx_counters sum = {0};
	const struct mana_rxq_ctl *ctl;
	uint32_t i;

	for (i = 0; i < MANA_MAX_RXQ; i++)
		counters_add(&sum, &priv->rx_released[i], sizeof(sum));
	for (i = 0; (ctl = mana_rxq_next(priv, &i)) != NULL; )
		rx_fold(&sum, ctl);
	return sum;
}

struct mana_tx_counters
mana_stats_tx_sum(const struct mana_priv *priv)
{
	struct mana_tx_counters sum = {0};
	uint16_t i;

	for (i = 0; i < MANA_MAX_TXQ; i++) {
		struct mana_tx_counters counters = mana_stats_tx(priv, i);

		counters_add(&sum, &counters, sizeof(sum));
	}
	return sum;
}

static struct mana_port_counters
port_now(const struct mana_priv *priv)
{
	struct mana_port_counters counters = priv->counters;

	counters.resets = mana_atomic_load(&priv->nb_resets);
	return counters;
}

struct mana_port_counters
mana_stats_port(const struct mana_priv *priv)
{
	struct mana_port_counters counters = port_now(priv);

	counters_subtract(&counters, &priv->counters_base, sizeof(counters));
	return counters;
}

int
mana_stats_get(struct rte_eth_dev *dev,
	       struct rte_eth_stats *stats MANA_QSTATS_PARAM)
{
	const struct mana_priv *priv = dev->data->dev_private;
	const struct mana_rx_counters rx = mana_stats_rx_sum(priv);
	const struct mana_tx_counters tx = mana_stats_tx_sum(priv);
	uint16_t i;

	stats->ipackets = rx.packets;
	stats->ibytes = rx.bytes;
	stats->ierrors = mana_rxq_stats_errors(&rx.rare);
	stats->rx_nombuf = rx.rare.nombuf;
	stats->opackets = tx.packets;
	stats->obytes = tx.bytes;
	stats->oerrors = mana_txq_stats_errors(&tx.rare);
	if (MANA_QSTATS(stats) == NULL)
		return 0;
	for (i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		if (i < dev->data->nb_rx_queues) {
			const struct mana_rx_counters q = mana_stats_rx(priv, i);

			MANA_QSTATS(stats)->q_ipackets[i] = q.packets;
			MANA_QSTATS(stats)->q_ibytes[i] = q.bytes;
			MANA_QSTATS(stats)->q_errors[i] =
				mana_rxq_stats_errors(&q.rare);
		}
		if (i < dev->data->nb_tx_queues) {
			const struct mana_tx_counters q = mana_stats_tx(priv, i);

			MANA_QSTATS(stats)->q_opackets[i] = q.packets;
			MANA_QSTATS(stats)->q_obytes[i] = q.bytes;
		}
	}
	return 0;
}

int
mana_stats_reset(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rxq_ctl *rx;
	uint32_t i;

	priv->counters.rss_gap_max_ns = 0;
	priv->counters_base = port_now(priv);
	memset(&priv->rx_released, 0, sizeof(priv->rx_released));
	memset(&priv->tx_released, 0, sizeof(priv->tx_released));
	for (i = 0; (rx = mana_rxq_next(priv, &i)) != NULL; )
		rx->base = rx_now(rx);
	for (i = 0; i < MANA_MAX_TXQ; i++) {
		struct mana_txq_ctl *ctl = txq_of(priv, i);

		if (ctl != NULL)
			ctl->base = tx_now(ctl);
	}
	return 0;
}
