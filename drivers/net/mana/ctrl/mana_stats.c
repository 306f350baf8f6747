/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: sums of the queues' counters. Counters only grow; a reset stores their values in
 * priv->base. The driver has no others: no program can read the device's own counters while the
 * netdev is down.
 *
 * The release of a queue subtracts its counters from the base of its number, modulo 2^64: the
 * number keeps what it has counted since the reset. Each sum of a port is that over its queues.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mana_locks.h"
#include "mana_queues.h"

#define ALL_QUEUES UINT16_MAX

/* All are nothing but counters. */
static_assert(sizeof(struct mana_counters) % sizeof(uint64_t) == 0,
	      "mana_counters is an array of counters");
static_assert(sizeof(struct mana_txq_stats) >= sizeof(struct mana_hwq_stats),
	      "mana_counters: its first union member is zeroed");
static_assert(sizeof(struct mana_port_counters) % sizeof(uint64_t) == 0,
	      "mana_port_counters is an array of counters");

/* ---- Counters of a queue -------------------------------------------------- */

/*
 * Adds each counter of more, or subtracts it with sign -1. Bursts count in more meanwhile,
 * without a lock: each counter is one aligned load.
 */
static MANA_NO_TSAN void
counters_add(void *to, const volatile void *more, size_t size, int64_t sign)
{
	const volatile uint64_t *add = more;
	uint64_t *out = to;

	for (size_t i = 0; i < size / sizeof(*out); i++)
		out[i] += (uint64_t)sign * add[i];
}

static MANA_NO_TSAN struct mana_counters
hwq_now(const volatile struct mana_hwq *hwq)
{
	struct mana_counters now = {
		.packets = hwq->packets,
		.bytes = hwq->bytes,
		.mr_misses = hwq->mr.nb_misses,
		.mr_failures = hwq->mr.nb_failures,
	};

	counters_add(&now.rx, &hwq->stats, sizeof(now.rx), 1);
	now.errors = mana_hwq_stats_errors(&now.rx);
	return now;
}

struct mana_counters
mana_stats_rxq(const struct mana_priv *priv, const struct mana_rxq *rxq)
{
	struct mana_counters sum = rxq->folded, now;
	const struct mana_hwq *hwq;

	MANA_FOREACH_HWQ_OF(priv->rx_set, rxq->queue_id, hwq) {
		now = hwq_now(hwq);
		counters_add(&sum, &now, sizeof(sum), 1);
	}
	return sum;
}

MANA_NO_TSAN struct mana_counters
mana_stats_txq(const volatile struct mana_txq *txq)
{
	struct mana_counters now = {
		.packets = txq->pi,
		.bytes = txq->bytes,
		.sq_doorbells = txq->sq_doorbells,
		.mr_misses = txq->mr.nb_misses,
		.mr_failures = txq->mr.nb_failures,
	};

	counters_add(&now.tx, &txq->stats, sizeof(now.tx), 1);
	now.errors = mana_txq_stats_errors(&now.tx);
	now.cqe_errors = mana_txq_stats_cqe_errors(&now.tx);
	now.drops = now.errors - now.cqe_errors - now.tx.unfinished;
	return now;
}

void
mana_stats_fold_hwq(struct mana_rxq *rxq, struct mana_hwq *hwq)
{
	struct mana_counters now = hwq_now(hwq);

	counters_add(&rxq->folded, &now, sizeof(now), 1);
	hwq->packets = 0;
	hwq->bytes = 0;
	hwq->mr.nb_misses = 0;
	hwq->mr.nb_failures = 0;
	memset(&hwq->stats, 0, sizeof(hwq->stats));
}

/* ---- Since the last reset --------------------------------------------------- */

/* The counters of the queue that has this number, since its setup, or zeros. */
static struct mana_counters
queue_now(const struct mana_priv *priv, bool is_rx, uint16_t queue_id)
{
	const struct mana_rxq *rxq = is_rx ? priv->rxqs[queue_id] : NULL;
	const struct mana_txq *txq = is_rx ? NULL : priv->txqs[queue_id];

	return rxq != NULL ? mana_stats_rxq(priv, rxq) :
	       txq != NULL ? mana_stats_txq(txq) : (struct mana_counters){ 0 };
}

void
mana_stats_fold_queue(struct mana_priv *priv, bool is_rx, uint16_t queue_id)
{
	struct mana_counters now = queue_now(priv, is_rx, queue_id);

	counters_add(&priv->base[is_rx][queue_id], &now, sizeof(now), -1);
}

/* The counters of a queue's number, or of ALL_QUEUES, since the last reset. */
static struct mana_counters
stats_sum(const struct mana_priv *priv, bool is_rx, uint16_t queue_id)
{
	struct mana_counters sum = { 0 };

	for (uint16_t i = 0; i < MANA_MAX_QUEUES; i++) {
		struct mana_counters now;

		if (queue_id != i && queue_id != ALL_QUEUES)
			continue;
		now = queue_now(priv, is_rx, i);
		counters_add(&sum, &now, sizeof(sum), 1);
		counters_add(&sum, &priv->base[is_rx][i], sizeof(sum), -1);
	}
	return sum;
}

struct mana_port_counters
mana_stats_port(const struct mana_priv *priv)
{
	struct mana_port_counters counters = { 0 };

	counters_add(&counters, &priv->counters, sizeof(counters), 1);
	counters_add(&counters, &priv->counters_base, sizeof(counters), -1);
	return counters;
}

int
mana_stats_get(struct rte_eth_dev *dev, MANA_STATS_PARAMS)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	struct mana_counters rx, tx;

	if (priv == NULL)
		return -ENODEV;
	rx = stats_sum(priv, true, ALL_QUEUES);
	tx = stats_sum(priv, false, ALL_QUEUES);
	stats->ipackets = rx.packets;
	stats->ibytes = rx.bytes;
	stats->ierrors = rx.errors;
	stats->rx_nombuf = rx.rx.nombuf;
	stats->opackets = tx.packets;
	stats->obytes = tx.bytes;
	stats->oerrors = tx.errors;
	for (uint16_t i = 0; MANA_QSTATS(stats) != NULL && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		if (i < priv->data->nb_rx_queues) {
			rx = stats_sum(priv, true, i);
			MANA_QSTATS(stats)->q_ipackets[i] = rx.packets;
			MANA_QSTATS(stats)->q_ibytes[i] = rx.bytes;
			MANA_QSTATS(stats)->q_errors[i] = rx.errors;
		}
		if (i < priv->data->nb_tx_queues) {
			tx = stats_sum(priv, false, i);
			MANA_QSTATS(stats)->q_opackets[i] = tx.packets;
			MANA_QSTATS(stats)->q_obytes[i] = tx.bytes;
		}
	}
	mana_registry_unlock();
	return 0;
}

int
mana_stats_reset(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = mana_registry_hold(dev);
	struct mana_port_counters now;

	if (priv == NULL)
		return -ENODEV;
	priv->counters.rx_outage_max_ns = 0;
	priv->counters.rebuild_max_ns = 0;
	now = mana_stats_port(priv);
	counters_add(&priv->counters_base, &now, sizeof(now), 1);
	for (uint16_t i = 0; i < MANA_MAX_QUEUES; i++) {
		priv->base[true][i] = queue_now(priv, true, i);
		priv->base[false][i] = queue_now(priv, false, i);
	}
	mana_registry_unlock();
	return 0;
}

/* ---- Extended statistics ------------------------------------------------------ */

/*
 * Every counter by name. Programs read the names, and doc/guides/nics/mana-reference.rst
 * explains them: names may be added, none may change.
 *
 * The port's come first, then those of each queue. ethdev puts its own before them
 * (rx_good_packets and so on), and knows only 16 queues, so it leaves these to the driver.
 */

/* Where a counter is shown. */
enum {
	AT_PORT = 1 << 0,
	AT_QUEUE = 1 << 1,
	AT_BOTH = AT_PORT | AT_QUEUE,
};

struct xstat {
	const char *name; /* behind rx_, tx_, rx_q0_ or tx_q0_ */
	uint16_t at; /* index in struct mana_counters or struct mana_port_counters */
	uint16_t where;
};

#define COUNT(member) (offsetof(struct mana_counters, member) / sizeof(uint64_t))
#define PORT(member) (offsetof(struct mana_port_counters, member) / sizeof(uint64_t))
#define TX_CQE(type) (COUNT(tx.cqe_error) + MANA_CQE_TX_##type - MANA_CQE_TX_ERR_FIRST)

/* Packets, bytes and errors of the port are ethdev's. */
static const struct xstat rx_xstats[] = {
	{ "packets", COUNT(packets), AT_QUEUE },
	{ "bytes", COUNT(bytes), AT_QUEUE },
	{ "errors", COUNT(errors), AT_QUEUE },
	{ "cqe_truncated", COUNT(rx.truncated), AT_BOTH },
	{ "cqe_oversize", COUNT(rx.oversize), AT_BOTH },
	{ "cqe_zero_length", COUNT(rx.zero_len), AT_PORT },
	{ "cqe_fence", COUNT(rx.fence), AT_PORT },
	{ "cqe_unknown", COUNT(rx.cqe_unknown), AT_PORT },
	{ "cqe_wrong_queue", COUNT(rx.cqe_foreign), AT_PORT },
	{ "cqe_spurious", COUNT(rx.cqe_spurious), AT_PORT },
	{ "cqe_overrun", COUNT(rx.cqe_overrun), AT_PORT },
	{ "failed", COUNT(rx.failed), AT_BOTH },
	{ "drop_unscattered", COUNT(rx.unscattered), AT_BOTH },
	{ "drop_stopped", COUNT(rx.stopped), AT_BOTH },
	{ "drop_reconfig", COUNT(rx.reconfig), AT_BOTH },
	{ "ring_empty", COUNT(rx.ring_empty), AT_BOTH },
	{ "refill_nombuf", COUNT(rx.nombuf), AT_QUEUE },
	{ "refill_mr_failures", COUNT(rx.mr_failed), AT_BOTH },
	{ "rq_doorbells", COUNT(rx.rq_doorbells), AT_BOTH },
	{ "cq_doorbells", COUNT(rx.cq_doorbells), AT_BOTH },
	{ "mr_misses", COUNT(mr_misses), AT_PORT },
};

static const struct xstat tx_xstats[] = {
	{ "packets", COUNT(packets), AT_QUEUE },
	{ "bytes", COUNT(bytes), AT_QUEUE },
	{ "errors", COUNT(errors), AT_QUEUE },
	{ "cqe_errors", COUNT(cqe_errors), AT_BOTH },
	{ "cqe_sa_drop", TX_CQE(SA_DROP), AT_PORT },
	{ "cqe_mtu_drop", TX_CQE(MTU_DROP), AT_PORT },
	{ "cqe_invalid_oob", TX_CQE(INVALID_OOB), AT_PORT },
	{ "cqe_invalid_eth_type", TX_CQE(INVALID_ETH_TYPE), AT_PORT },
	{ "cqe_hdr_processing_error", TX_CQE(HDR_PROCESSING_ERROR), AT_PORT },
	{ "cqe_vf_disabled", TX_CQE(VF_DISABLED), AT_PORT },
	{ "cqe_vport_idx_out_of_range", TX_CQE(VPORT_IDX_OUT_OF_RANGE), AT_PORT },
	{ "cqe_vport_disabled", TX_CQE(VPORT_DISABLED), AT_PORT },
	{ "cqe_vlan_tagging_violation", TX_CQE(VLAN_TAGGING_VIOLATION), AT_PORT },
	{ "cqe_gdma_err", TX_CQE(GDMA_ERR), AT_PORT },
	{ "cqe_unknown", COUNT(tx.cqe_unknown), AT_PORT },
	{ "cqe_wrong_queue", COUNT(tx.cqe_foreign), AT_PORT },
	{ "cqe_spurious", COUNT(tx.cqe_spurious), AT_PORT },
	{ "cqe_overrun", COUNT(tx.cqe_overrun), AT_PORT },
	{ "failed", COUNT(tx.failed), AT_BOTH },
	{ "cqe_wqe_offset", COUNT(tx.cqe_position), AT_PORT },
	{ "unfinished", COUNT(tx.unfinished), AT_BOTH },
	{ "stalled", COUNT(tx.stalled), AT_BOTH },
	{ "drops", COUNT(drops), AT_BOTH },
	{ "drop_offload", COUNT(tx.drop_offload), AT_PORT },
	{ "drop_malformed", COUNT(tx.drop_malformed), AT_PORT },
	{ "drop_nomem", COUNT(tx.drop_nomem), AT_PORT },
	{ "drop_mr", COUNT(tx.drop_mr), AT_PORT },
	{ "linearized", COUNT(tx.linearized), AT_BOTH },
	{ "bounced_headers", COUNT(tx.bounced), AT_BOTH },
	{ "sq_doorbells", COUNT(sq_doorbells), AT_BOTH },
	{ "cq_doorbells", COUNT(tx.cq_doorbells), AT_BOTH },
	{ "mr_misses", COUNT(mr_misses), AT_PORT },
};

static const struct xstat port_xstats[] = {
	{ "mr_registrations", PORT(mr_registrations), AT_PORT },
	{ "mr_registration_ns", PORT(mr_registration_ns), AT_PORT },
	{ "mr_deregistrations", PORT(mr_deregistrations), AT_PORT },
	{ "resets", PORT(resets), AT_PORT },
	{ "recoveries", PORT(recoveries), AT_PORT },
	{ "recovery_ns", PORT(recovery_ns), AT_PORT },
	{ "recovery_rebuild_ns", PORT(rebuild_ns), AT_PORT },
	{ "recovery_rebuild_max_ns", PORT(rebuild_max_ns), AT_PORT },
	{ "queue_repairs", PORT(repairs), AT_PORT },
	{ "rx_outages", PORT(rx_outages), AT_PORT },
	{ "rx_outage_ns", PORT(rx_outage_ns), AT_PORT },
	{ "rx_outage_max_ns", PORT(rx_outage_max_ns), AT_PORT },
};

/* What an operation requests: names, or values; without both, the number of them. */
struct output {
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *xstats;
	unsigned int size;
	unsigned int nb;
};

static void
xstats_write(struct output *out, const char *prefix, const struct xstat *xstats,
	     unsigned int nb, unsigned int where, const void *counters)
{
	const uint64_t *values = counters;

	for (unsigned int i = 0; i < nb; i++) {
		if ((xstats[i].where & where) == 0)
			continue;
		if (out->names != NULL && out->nb < out->size)
			snprintf(out->names[out->nb].name, sizeof(out->names->name), "%s%s",
				 prefix, xstats[i].name);
		if (out->xstats != NULL && out->nb < out->size) {
			out->xstats[out->nb].id = out->nb;
			out->xstats[out->nb].value = values[xstats[i].at];
		}
		out->nb++;
	}
}

static void
queue_write(struct output *out, const struct mana_priv *priv, bool is_rx, uint16_t queue_id)
{
	unsigned int where = queue_id == ALL_QUEUES ? AT_PORT : AT_QUEUE;
	const char *direction = is_rx ? "rx" : "tx";
	struct mana_counters count = { 0 };
	char prefix[16];

	if (where == AT_PORT)
		snprintf(prefix, sizeof(prefix), "%s_", direction);
	else
		snprintf(prefix, sizeof(prefix), "%s_q%u_", direction, queue_id);
	if (out->xstats != NULL)
		count = stats_sum(priv, is_rx, queue_id);
	xstats_write(out, prefix, is_rx ? rx_xstats : tx_xstats,
		     is_rx ? RTE_DIM(rx_xstats) : RTE_DIM(tx_xstats), where, &count);
}

/* With values the registry's lock is held, else priv may be NULL. */
static void
all_write(struct output *out, const struct rte_eth_dev *dev, const struct mana_priv *priv)
{
	struct mana_port_counters port = { 0 };

	if (out->xstats != NULL)
		port = mana_stats_port(priv);
	queue_write(out, priv, true, ALL_QUEUES);
	queue_write(out, priv, false, ALL_QUEUES);
	xstats_write(out, "", port_xstats, RTE_DIM(port_xstats), AT_PORT, &port);
	for (uint16_t i = 0; i < dev->data->nb_rx_queues; i++)
		queue_write(out, priv, true, i);
	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++)
		queue_write(out, priv, false, i);
}

/*
 * ethdev makes its look-up by id of these two. The result is the number of all, which
 * may be larger than the table: the caller then uses none of it.
 */
int
mana_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int size)
{
	struct output out = { .names = names, .size = size };

	all_write(&out, dev, NULL);
	return out.nb;
}

int
mana_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	struct output out = { .xstats = xstats, .size = n };
	const struct mana_priv *priv = mana_registry_hold(dev);

	if (priv == NULL)
		return -ENODEV;
	all_write(&out, dev, priv);
	mana_registry_unlock();
	return out.nb;
}
