/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Facts about ports and queues, names and values: for dpdk-telemetry.py, and the dump of a port.
 *
 * Programs read the names by telemetry, and doc/guides/nics/mana-reference.rst lists them: names
 * may be added, none may change. The form of the dump may.
 *
 * A thread of the telemetry library calls the commands while the application runs. Long lists and
 * the kernel's state are read from copies, without the registry's lock. A reply has 16 KiB
 * (DPDK's MAX_OUTPUT_LEN), and the library silently leaves out what does not fit: long lists come
 * in parts of PART_N entries.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_telemetry.h>

#include "mana_dump.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

/* Where facts are written. */
struct facts {
	FILE *file; /* each in a line; NULL: to the dict */
	struct rte_tel_data *dict;
};

/* What a command asks for. */
struct query {
	uint64_t port_id;
	bool is_rx;
	bool has_number; /* of a queue or region */
	uint64_t number;
};

static void
number_add(const struct facts *facts, const char *name, int64_t number)
{
	if (facts->file != NULL)
		fprintf(facts->file, "    %s %" PRId64 "\n", name, number);
	else if (number >= 0)
		mana_tel_dict_u64(facts->dict, name, number);
	else /* of DPDK 22.11: an int */
		rte_tel_data_add_dict_int(facts->dict, name, number);
}

/* text: NULL for none. */
static void
text_add(const struct facts *facts, const char *name, const char *text)
{
	if (text == NULL)
		text = "none";
	if (facts->file != NULL)
		fprintf(facts->file, "    %s %s\n", name, text);
	else
		rte_tel_data_add_dict_string(facts->dict, name, text);
}

static void
hex_add(const struct facts *facts, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	text_add(facts, name, text);
}

/* ---- Facts: the port ----------------------------------------------------- */

/* The registry is locked; unlocks it, to ask the kernel about the netdev. */
static void
port_facts(const struct facts *facts, struct mana_priv *priv,
	   const struct query *query __rte_unused)
{
	const struct mana_port_counters counters = mana_stats_port(priv);
	const struct mana_netdev netdev = priv->netdev;
	const struct rte_eth_dev_data *data = priv->data;
	const struct rte_eth_dev *dev = &rte_eth_devices[data->port_id];
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	char pci[PCI_PRI_STR_SIZE];
	struct mana_netdev_state state;
	int ret;

	rte_pci_device_name(&priv->recovery.addr, pci, sizeof(pci));
	rte_ether_format_addr(mac, sizeof(mac), &priv->netdev.mac);
	number_add(facts, "port_id", data->port_id);
	text_add(facts, "name", data->name);
	text_add(facts, "pci", pci);
	text_add(facts, "rdma_device", priv->ctx != NULL ? priv->ctx->device->name : NULL);
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
	number_add(facts, "max_tx_segs", priv->options.max_send_sge);
	number_add(facts, "rss", priv->has_rss);
	/* A stopped port has no burst function of the driver. */
	text_add(facts, "rx_path", mana_rx_burst_name(dev->rx_pkt_burst));
	text_add(facts, "tx_path", mana_tx_burst_name(dev->tx_pkt_burst));
	number_add(facts, "netdev_taken", priv->is_netdev_taken);
	number_add(facts, "mr_registrations", counters.mr_registrations);
	number_add(facts, "mr_deregistrations", counters.mr_deregistrations);
	number_add(facts, "resets", counters.resets);
	number_add(facts, "recoveries", counters.recoveries);
	mana_registry_unlock();
	ret = mana_netdev_state_get(&netdev, &state);
	text_add(facts, "netdev", state.name);
	number_add(facts, "netdev_ifindex", netdev.ifindex);
	/* absent: gone, or in another network namespace */
	text_add(facts, "netdev_state", ret == -ENODEV ? "absent" : ret != 0 ? "unknown" :
		 state.is_up ? "up" : "down");
}

/* ---- Facts: queues and memory regions --------------------------------------- */

/* The first facts of a queue. */
static void
queue_add(const struct facts *facts, const struct mana_priv *priv, bool is_rx,
	  uint16_t queue_id, uint8_t failure, uint32_t fatal_header)
{
	const struct rte_eth_dev_data *data = priv->data;
	uint8_t state = is_rx ? data->rx_queue_state[queue_id] : data->tx_queue_state[queue_id];

	number_add(facts, "port_id", data->port_id);
	text_add(facts, "direction", is_rx ? "rx" : "tx");
	number_add(facts, "queue", queue_id);
	text_add(facts, "state", state == RTE_ETH_QUEUE_STATE_STOPPED ? "stopped" : "started");
	text_add(facts, "failure", mana_queue_failure_name(failure));
	if (failure == MANA_FAILURE_NONE || failure == MANA_FAILURE_KILLED)
		return;
	number_add(facts, "fatal_cqe_type", fatal_header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M);
	number_add(facts, "fatal_vendor_error",
		   fatal_header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M);
}

static void
counters_add(const struct facts *facts, const struct mana_counters *counters)
{
	number_add(facts, "packets", counters->packets);
	number_add(facts, "bytes", counters->bytes);
	number_add(facts, "errors", counters->errors);
	number_add(facts, "mr_misses", counters->mr_misses);
	number_add(facts, "mr_failures", counters->mr_failures);
}

static void
rings_add(const struct facts *facts, const struct mana_wq *wq, const struct mana_cq *cq)
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
static void
rxq_facts(const struct facts *facts, const struct mana_priv *priv, const struct mana_rxq *rxq)
{
	const struct mana_counters counters = mana_stats_rxq(priv, rxq);
	const struct mana_hwq *hwq;
	uint32_t nb = 0, posted = 0, max_posted = 0, bytes = 0;
	uint8_t failure = MANA_FAILURE_NONE;

	MANA_FOREACH_HWQ_OF(priv->rx_set, rxq->queue_id, hwq) {
		nb++;
		posted += mana_hwq_posted_snapshot(hwq);
		max_posted += hwq->limit;
		bytes = hwq->scatter.bytes;
		failure = RTE_MAX(failure, mana_hwq_failure(hwq));
	}
	queue_add(facts, priv, true, rxq->queue_id, failure, rxq->bad_cqes.fatal_header);
	number_add(facts, "hw_rxq", nb);
	number_add(facts, "nb_desc", rxq->nb_desc);
	number_add(facts, "nb_cqe", mana_queue_nb_cqe(priv, rxq->nb_desc, 1));
	number_add(facts, "nb_posted", posted);
	number_add(facts, "max_posted", max_posted);
	number_add(facts, "buffer_bytes", bytes);
	number_add(facts, "free_thresh", rxq->free_thresh);
	text_add(facts, "mempool", rxq->mempool);
	number_add(facts, "socket", rxq->socket_id);
	hex_add(facts, "offloads", rxq->offloads);
	counters_add(facts, &counters);
}

static void
txq_facts(const struct facts *facts, const struct mana_priv *priv, const struct mana_txq *txq)
{
	const struct mana_counters counters = mana_stats_txq(txq);

	queue_add(facts, priv, false, txq->queue_id, mana_txq_failure(txq),
		  txq->bad_cqes.fatal_header);
	number_add(facts, "nb_desc", txq->nb_desc);
	number_add(facts, "nb_cqe", mana_queue_nb_cqe(priv, txq->nb_desc, 0));
	number_add(facts, "nb_posted", mana_txq_posted_snapshot(txq));
	number_add(facts, "max_posted", txq->limit);
	number_add(facts, "max_segs", txq->max_sge);
	text_add(facts, "oob", txq->is_long ? "long" : "short");
	number_add(facts, "free_thresh", txq->free_thresh);
	number_add(facts, "socket", txq->socket_id);
	hex_add(facts, "offloads", txq->offloads);
	counters_add(facts, &counters);
	rings_add(facts, &txq->sq, &txq->cq);
}

static void
hwq_facts(const struct facts *facts, const struct mana_hwq *hwq)
{
	number_add(facts, "queue", hwq->queue_id);
	text_add(facts, "failure", mana_queue_failure_name(mana_hwq_failure(hwq)));
	number_add(facts, "nb_desc", hwq->nb_desc);
	number_add(facts, "nb_posted", mana_hwq_posted_snapshot(hwq));
	rings_add(facts, &hwq->rq, &hwq->cq);
}

static void
region_facts(const struct facts *facts, const struct mana_mr_region *region)
{
	static const char *const kinds[] = {
		[MANA_MR_POOL] = "mempool",
		[MANA_MR_EAL] = "eal",
		[MANA_MR_USER] = "dma_map",
		[MANA_MR_UNKNOWN] = "unknown",
		[MANA_MR_STALE] = "stale",
	};

	hex_add(facts, "address", region->base);
	number_add(facts, "bytes", region->end - region->base);
	hex_add(facts, "key", region->lkey);
	text_add(facts, "kind", kinds[region->kind]);
	text_add(facts, "mempool", region->mempool);
}

/* ---- The dump of a port ---------------------------------------------------- */

static void
queues_write(const struct mana_priv *priv, const struct facts *facts)
{
	const struct mana_rx_set *set = priv->rx_set;

	for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++) {
		if (priv->rxqs[i] != NULL) {
			fprintf(facts->file, "  rx queue %u:\n", i);
			rxq_facts(facts, priv, priv->rxqs[i]);
		}
		if (set != NULL && i < set->nb) {
			fprintf(facts->file, "  hardware rx queue %u:\n", i);
			hwq_facts(facts, &set->hwqs[i]);
		}
		if (priv->txqs[i] != NULL) {
			fprintf(facts->file, "  tx queue %u:\n", i);
			txq_facts(facts, priv, priv->txqs[i]);
		}
	}
}

int
mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file)
{
	struct facts facts = { 0 };
	struct mana_priv *priv;
	struct mana_text text;

	if (!mana_text_begin(&text))
		return -ENOMEM;
	priv = mana_registry_hold(dev);
	if (priv == NULL)
		return mana_text_end(&text, file, -ENODEV);
	facts.file = text.file;
	queues_write(priv, &facts);
	fprintf(text.file, "  port:\n");
	port_facts(&facts, priv, NULL);
	return mana_text_end(&text, file, 0);
}

/* ---- Telemetry: replies ------------------------------------------------------ */

#define PART_N 64

/* An empty dict, or array of numbers, inside of d; NULL: no memory or no room. */
static struct rte_tel_data *
part_add(struct rte_tel_data *d, const char *name, bool is_dict)
{
	struct rte_tel_data *part = rte_tel_data_alloc();

	if (part == NULL)
		return NULL;
	if (is_dict)
		rte_tel_data_start_dict(part);
	else
		rte_tel_data_start_array(part, RTE_TEL_INT_VAL);
	if (rte_tel_data_add_dict_container(d, name, part, 0) == 0)
		return part;
	rte_tel_data_free(part);
	return NULL;
}

/* ---- Parameters --------------------------------------------------------------- */

/* The parameters of a command behind PORT, which are optional. */
enum takes { TAKES_NOTHING, TAKES_QUEUE, TAKES_NUMBER };

/* Parses a decimal number without sign, and moves *text behind it. */
static bool
number_parse(const char **text, uint64_t *value)
{
	bool is_digit = **text >= '0' && **text <= '9';
	char *end;

	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return is_digit && errno == 0;
}

static bool
query_parse(const char *text, enum takes takes, struct query *query)
{
	if (!number_parse(&text, &query->port_id))
		return false;
	query->has_number = *text != '\0';
	if (!query->has_number)
		return true;
	if (takes == TAKES_QUEUE) {
		query->is_rx = strncmp(text, ",rx", 3) == 0;
		if (!query->is_rx && strncmp(text, ",tx", 3) != 0)
			return false;
		text += 3;
	}
	return takes != TAKES_NOTHING && *text++ == ',' &&
	       number_parse(&text, &query->number) && *text == '\0';
}

/* ---- Commands about a port ---------------------------------------------------- */

static void
queue_list_add(struct rte_tel_data *d, const struct mana_priv *priv, bool is_rx)
{
	struct rte_tel_data *list = part_add(d, is_rx ? "rx" : "tx", false);

	for (uint32_t i = 0; list != NULL && i < MANA_MAX_QUEUES; i++)
		if (is_rx ? priv->rxqs[i] != NULL : priv->txqs[i] != NULL)
			rte_tel_data_add_array_int(list, i);
}

static void
queue_reply(const struct facts *facts, struct mana_priv *priv, const struct query *query)
{
	const uint64_t number = query->number;

	if (!query->has_number) {
		queue_list_add(facts->dict, priv, true);
		queue_list_add(facts->dict, priv, false);
	} else if (number < MANA_MAX_QUEUES && query->is_rx && priv->rxqs[number] != NULL) {
		rxq_facts(facts, priv, priv->rxqs[number]);
	} else if (number < MANA_MAX_QUEUES && !query->is_rx && priv->txqs[number] != NULL) {
		txq_facts(facts, priv, priv->txqs[number]);
	} else {
		rte_tel_data_add_dict_string(facts->dict, "error",
			"the port has no such queue; /mana/queue,PORT lists its queues");
	}
	mana_registry_unlock();
}

/* The regions from the number given on. */
static void
mr_reply(const struct facts *facts, struct mana_priv *priv, const struct query *query)
{
	const struct mana_mr_region *region;
	struct mana_mr_region part[PART_N];
	struct rte_tel_data *list;
	uint32_t nb = 0, nb_all = 0;
	uint64_t bytes = 0;

	mana_mutex_lock(&priv->mrs.lock);
	TAILQ_FOREACH(region, &priv->mrs.regions, next) {
		bytes += region->end - region->base;
		if (nb_all++ >= query->number && nb < PART_N)
			part[nb++] = *region;
	}
	mana_mutex_unlock(&priv->mrs.lock);
	mana_registry_unlock();
	number_add(facts, "port_id", query->port_id);
	number_add(facts, "nb_regions", nb_all);
	number_add(facts, "bytes", bytes);
	list = part_add(facts->dict, "regions", true);
	for (uint32_t i = 0; list != NULL && i < nb; i++) {
		struct facts entry = { 0 };
		char name[24];

		/* An entry by its number: DPDK 22.11 has no dicts in arrays. */
		snprintf(name, sizeof(name), "%" PRIu64, query->number + i);
		entry.dict = part_add(list, name, true);
		if (entry.dict != NULL)
			region_facts(&entry, &part[i]);
	}
}

/* ---- Commands ------------------------------------------------------------ */

static int
tel_list(const char *cmd __rte_unused, const char *params __rte_unused, struct rte_tel_data *d)
{
	const struct mana_priv *priv;
	uint32_t port_id = 0;

	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	mana_registry_lock();
	while ((priv = mana_registry_next(&port_id)) != NULL)
		rte_tel_data_add_array_int(d, priv->data->port_id);
	mana_registry_unlock();
	return 0;
}

static const struct command {
	const char *name;
	/* With the registry's lock, which it releases. NULL: tel_list() */
	void (*reply)(const struct facts *facts, struct mana_priv *priv,
		      const struct query *query);
	enum takes takes;
	const char *help;
} commands[] = {
	{ "/mana/list", NULL, TAKES_NOTHING,
	  "Numbers of the MANA ports. Takes no parameters" },
	{ "/mana/port", port_facts, TAKES_NOTHING,
	  "A port, its limits and its netdev. Parameters: int port_id (see /mana/list)" },
	{ "/mana/queue", queue_reply, TAKES_QUEUE,
	  "Queues of a port, or one. Parameters: int port_id (see /mana/list)[,rx|tx,int queue]" },
	{ "/mana/mr", mr_reply, TAKES_NUMBER,
	  "Memory regions of a port, 64 at a time. Parameters: int port_id (see /mana/list)[,int first]" },
};

/* The commands about a port. */
static int
tel_port(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const struct command *command = commands;
	const struct facts facts = { .dict = d };
	struct query query = { .port_id = 0 };
	struct mana_priv *priv;

	rte_tel_data_start_dict(d);
	/* Much of a port means something only in the process that drives it. */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rte_tel_data_add_dict_string(d, "error",
			"this is a secondary process: ask the primary one");
	while (strcmp(command->name, cmd) != 0)
		command++;
	if (params == NULL || !query_parse(params, command->takes, &query))
		return rte_tel_data_add_dict_string(d, "error", command->help);
	mana_registry_lock();
	priv = mana_registry_find(query.port_id);
	if (priv != NULL) {
		command->reply(&facts, priv, &query);
		return 0;
	}
	mana_registry_unlock();
	return rte_tel_data_add_dict_string(d, "error",
		"this is no port of the driver; /mana/list has its ports");
}

RTE_INIT(mana_telemetry_register)
{
	const struct command *command;

	for (command = commands; command < commands + RTE_DIM(commands); command++)
		if (rte_telemetry_register_cmd(command->name,
					       command->reply != NULL ? tel_port : tel_list,
					       command->help) != 0)
			MANA_INIT_LOG(WARNING, "cannot register the telemetry command %s",
				      command->name);
}
