/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Programs read the names by telemetry, and doc/guides/nics/mana.rst lists them:
 * names may be added, none may change.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_rx_set.h"

static void
number_add(const struct mana_facts *facts, const char *name, int64_t number)
{
	if (facts->dict == NULL)
		fprintf(facts->file, "%s%s %" PRId64 "%s", facts->before, name,
			number, facts->after);
	else if (number >= 0)
		mana_tel_dict_u64(facts->dict, name, number);
	else
		rte_tel_data_add_dict_int(facts->dict, name, number);
}

static void
text_add(const struct mana_facts *facts, const char *name, const char *text)
{
	if (facts->dict == NULL)
		fprintf(facts->file, "%s%s %s%s", facts->before, name, text,
			facts->after);
	else
		rte_tel_data_add_dict_string(facts->dict, name, text);
}

static void
hex_add(const struct mana_facts *facts, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	text_add(facts, name, text);
}

/* ---- The port ------------------------------------------------------------ */

void
mana_facts_port(const struct mana_facts *facts, const struct mana_priv *priv)
{
	const struct mana_port_counters counters = mana_stats_port(priv);
	const struct rte_eth_dev_data *data = priv->data;
	const struct rte_eth_dev *dev = &rte_eth_devices[data->port_id];
	const struct mana_rx_path *rx_path = mana_rx_path_find(dev->rx_pkt_burst);
	const char *tx_path = mana_tx_burst_name(dev->tx_pkt_burst);
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	char pci[RTE_ETH_NAME_MAX_LEN];

	/* "7870:00:00.0" of "7870:00:00.0_port1". */
	snprintf(pci, sizeof(pci), "%.*s", (int)strcspn(data->name, "_"),
		 data->name);
	rte_ether_format_addr(mac, sizeof(mac), &priv->netdev.mac);
	number_add(facts, "port_id", data->port_id);
	text_add(facts, "name", data->name);
	text_add(facts, "pci", pci);
	text_add(facts, "rdma_device", priv->ctx != NULL ? priv->ctx->device->name : "none");
	number_add(facts, "verbs_port", priv->port);
	text_add(facts, "mac", mac);
	text_add(facts, "state", mana_state(priv) == MANA_STATE_GONE ? "removed" :
		 mana_state(priv) != MANA_STATE_READY ? "recovering" :
		 data->dev_started ? "started" : "stopped");
	number_add(facts, "nb_rxq", data->nb_rx_queues);
	number_add(facts, "nb_txq", data->nb_tx_queues);
	number_add(facts, "hw_rxq", priv->rx_set != NULL ? priv->rx_set->nb : 0);
	number_add(facts, "mtu", data->mtu);
	number_add(facts, "max_mtu", priv->limits.max_mtu);
	number_add(facts, "max_queues", priv->limits.max_queues);
	number_add(facts, "max_rx_desc", priv->limits.max_rx_desc);
	number_add(facts, "max_tx_desc", priv->limits.max_tx_desc);
	number_add(facts, "max_tx_segs", priv->tx_max_sge);
	number_add(facts, "rss", priv->has_rss);
	/* A stopped port has no burst function of the driver. */
	text_add(facts, "rx_path", rx_path != NULL ? rx_path->name : "none");
	text_add(facts, "tx_path", tx_path != NULL ? tx_path : "none");
	number_add(facts, "netdev_taken", priv->is_netdev_taken);
	number_add(facts, "mr_registrations", counters.mr_registrations);
	number_add(facts, "mr_deregistrations", counters.mr_deregistrations);
	number_add(facts, "resets", counters.resets);
	number_add(facts, "recoveries", counters.recoveries);
}

void
mana_facts_netdev(const struct mana_facts *facts, const struct mana_netdev *netdev)
{
	struct mana_netdev_state state;
	const char *word = "unknown";
	int ret = mana_netdev_state_get(netdev, &state);

	if (ret == 0)
		word = state.is_up ? "up" : "down";
	else if (ret == -ENODEV) /* gone, or in another network namespace */
		word = "absent";
	text_add(facts, "netdev", state.name);
	number_add(facts, "netdev_ifindex", netdev->ifindex);
	text_add(facts, "netdev_state", word);
}

/* ---- Queues ---------------------------------------------------------------- */

/* The first facts of a queue. */
static void
queue_add(const struct mana_facts *facts, const struct mana_priv *priv, bool is_rx,
	  uint16_t queue_id, uint8_t failure, uint32_t fatal_header)
{
	const struct rte_eth_dev_data *data = priv->data;
	uint8_t state = is_rx ? data->rx_queue_state[queue_id] :
				data->tx_queue_state[queue_id];

	number_add(facts, "port_id", data->port_id);
	text_add(facts, "direction", is_rx ? "rx" : "tx");
	number_add(facts, "queue", queue_id);
	text_add(facts, "state", state == RTE_ETH_QUEUE_STATE_STOPPED ?
		 "stopped" : "started");
	text_add(facts, "failure", mana_queue_failure_name(failure));
	if (failure == MANA_FAILURE_NONE || failure == MANA_FAILURE_KILLED)
		return;
	number_add(facts, "fatal_cqe_type",
		   fatal_header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M);
	number_add(facts, "fatal_vendor_error",
		   fatal_header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M);
}

static void
counters_add(const struct mana_facts *facts, const struct mana_counters *counters,
	     uint64_t errors)
{
	number_add(facts, "packets", counters->packets);
	number_add(facts, "bytes", counters->bytes);
	number_add(facts, "errors", errors);
	number_add(facts, "mr_misses", counters->mr_misses);
	number_add(facts, "mr_failures", counters->mr_failures);
}

static void
rings_add(const struct mana_facts *facts, const struct mana_wq *wq,
	  const struct mana_cq *cq)
{
	number_add(facts, "wq_id", wq->id);
	number_add(facts, "wq_bu", wq->mask_bu + 1);
	number_add(facts, "wq_pi", wq->pi);
	number_add(facts, "wq_ci", wq->ci);
	number_add(facts, "cq_id", cq->id);
	number_add(facts, "cq_ci", cq->ci);
	number_add(facts, "cq_rung", cq->rung);
	number_add(facts, "cq_closed", mana_cq_is_closed(cq));
}

/* Some facts are sums over the hardware queues that it polls. */
void
mana_facts_rxq(const struct mana_facts *facts, const struct mana_priv *priv,
	       const struct mana_eth_rxq *ctl)
{
	const struct mana_counters counters = mana_stats_rxq(priv, ctl);
	const struct mana_rx_set *set = priv->rx_set;
	uint32_t nb = 0, posted = 0, max_posted = 0, bytes = 0;
	uint8_t failure = MANA_FAILURE_NONE;
	uint32_t header = 0;

	for (uint32_t i = 0; set != NULL && i < set->nb; i++) {
		const struct mana_rxq *rxq = &set->hwqs[i].rxq;

		if (set->hwqs[i].owner != ctl->owner)
			continue;
		nb++;
		posted += mana_rxq_look_posted(rxq);
		max_posted += rxq->limit;
		bytes = rxq->scatter.bytes;
		if (mana_rxq_failure(rxq) == MANA_FAILURE_NONE)
			continue;
		failure = mana_rxq_failure(rxq);
		header = rxq->bad_cqes.fatal_header;
	}
	queue_add(facts, priv, true, ctl->owner, failure, header);
	number_add(facts, "hw_rxq", nb);
	number_add(facts, "nb_desc", ctl->nb_desc);
	number_add(facts, "nb_cqe", ctl->nb_cqe);
	number_add(facts, "nb_posted", posted);
	number_add(facts, "max_posted", max_posted);
	number_add(facts, "buffer_bytes", bytes);
	number_add(facts, "free_thresh", ctl->free_thresh);
	text_add(facts, "mempool", ctl->mempool);
	number_add(facts, "socket", ctl->socket_id);
	hex_add(facts, "offloads", ctl->offloads);
	counters_add(facts, &counters, mana_rxq_stats_errors(&counters.rx));
}

void
mana_facts_txq(const struct mana_facts *facts, const struct mana_priv *priv,
	       const struct mana_eth_txq *ctl)
{
	const struct mana_counters counters = mana_stats_txq(ctl);
	const struct mana_txq *txq = &ctl->txq;

	queue_add(facts, priv, false, txq->queue_id, mana_txq_failure(txq),
		  txq->bad_cqes.fatal_header);
	number_add(facts, "nb_desc", ctl->nb_desc);
	number_add(facts, "nb_cqe", ctl->nb_cqe);
	number_add(facts, "nb_posted", mana_txq_look_posted(txq));
	number_add(facts, "max_posted", txq->limit);
	number_add(facts, "max_segs", txq->max_sge);
	text_add(facts, "oob", txq->is_long ? "long" : "short");
	number_add(facts, "free_thresh", ctl->free_thresh);
	number_add(facts, "socket", ctl->socket_id);
	hex_add(facts, "offloads", ctl->offloads);
	counters_add(facts, &counters, mana_txq_stats_errors(&counters.tx));
	rings_add(facts, &txq->sq, &txq->cq);
}

void
mana_facts_hwq(const struct mana_facts *facts, const struct mana_rx_hwq *hwq)
{
	number_add(facts, "queue", hwq->owner);
	text_add(facts, "failure", mana_queue_failure_name(mana_rxq_failure(&hwq->rxq)));
	number_add(facts, "nb_desc", hwq->nb_desc);
	number_add(facts, "nb_posted", mana_rxq_look_posted(&hwq->rxq));
	rings_add(facts, &hwq->rxq.rq, &hwq->rxq.cq);
}

/* ---- Memory regions, events --------------------------------------------------- */

void
mana_facts_region(const struct mana_facts *facts, const struct mana_mr_region *region)
{
	static const char *const kinds[] = {
		[MANA_MR_POOL] = "mempool",
		[MANA_MR_EAL] = "eal",
		[MANA_MR_USER] = "dma_map",
		[MANA_MR_FOREIGN] = "foreign",
	};

	hex_add(facts, "address", region->base);
	number_add(facts, "bytes", region->end - region->base);
	hex_add(facts, "key", region->lkey);
	text_add(facts, "kind", kinds[region->kind]);
	text_add(facts, "mempool", region->mempool);
}

void
mana_facts_event(const struct mana_facts *facts, const struct mana_event *event)
{
	const struct mana_event_kind_names *names = &mana_event_names[event->kind];

	number_add(facts, "time_ns", event->wall_ns);
	number_add(facts, "monotonic_ns", event->mono_ns);
	text_add(facts, "event", names->name);
	for (unsigned int i = 0; i < RTE_DIM(event->arg); i++)
		if (names->arg[i] != NULL)
			number_add(facts, names->arg[i], event->arg[i]);
	number_add(facts, "error", -event->error);
}
