/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The commands of dpdk-telemetry.py. A thread of the telemetry library calls them
 * while the application runs. Long lists and the kernel's state are read from copies,
 * without the registry's lock.
 *
 * A reply has 16 KiB (DPDK's MAX_OUTPUT_LEN), and the library silently leaves out
 * what does not fit: long lists come in parts of PART_N entries.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_string_fns.h>
#include <rte_telemetry.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_log.h"

#define PART_N 64

/* ---- Replies ---------------------------------------------------------------- */

static __rte_format_printf(2, 3) int
reply_error(struct rte_tel_data *d, const char *format, ...)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return rte_tel_data_add_dict_string(d, "error", text);
}

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

/* An entry of a list, by its number: DPDK 22.11 has no dicts in arrays. */
static struct rte_tel_data *
entry_add(struct rte_tel_data *list, uint64_t number)
{
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, number);
	return list != NULL ? part_add(list, name, true) : NULL;
}

/* ---- Parameters --------------------------------------------------------------- */

/* The parameters of a command behind PORT, which are optional. */
enum takes { TAKES_NOTHING, TAKES_QUEUE, TAKES_NUMBER };

struct query {
	uint64_t port_id;
	bool is_rx;
	bool has_number; /* of a queue, region or event */
	uint64_t number;
};

/* Replies in the dict d. The registry's lock is held, and the function releases it. */
typedef void (*reply_t)(struct mana_priv *priv, const struct query *query,
			struct rte_tel_data *d);

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

/* The parameters behind PORT. */
static bool
rest_parse(const char *text, enum takes takes, struct query *query)
{
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

/* ---- /mana/port ------------------------------------------------- */

static void
port_reply(struct mana_priv *priv, const struct query *query, struct rte_tel_data *d)
{
	const struct mana_facts facts = { .dict = d };
	const struct mana_netdev netdev = priv->netdev;

	RTE_SET_USED(query);
	mana_facts_port(&facts, priv);
	mana_registry_unlock();
	mana_facts_netdev(&facts, &netdev);
}

/* ---- /mana/queue ---------------------------------------------------------------- */

static void
queue_list_add(struct rte_tel_data *d, const struct mana_priv *priv, bool is_rx)
{
	struct rte_tel_data *list = part_add(d, is_rx ? "rx" : "tx", false);

	for (uint32_t i = 0; list != NULL && i < MANA_MAX_QUEUES; i++)
		if (is_rx ? priv->rxqs[i] != NULL : priv->txqs[i] != NULL)
			rte_tel_data_add_array_int(list, i);
}

static void
queue_reply(struct mana_priv *priv, const struct query *query, struct rte_tel_data *d)
{
	const struct mana_facts facts = { .dict = d };
	const uint64_t number = query->number;

	if (!query->has_number) {
		queue_list_add(d, priv, true);
		queue_list_add(d, priv, false);
	} else if (number < MANA_MAX_QUEUES && query->is_rx &&
		   priv->rxqs[number] != NULL) {
		mana_facts_rxq(&facts, priv, priv->rxqs[number]);
	} else if (number < MANA_MAX_QUEUES && !query->is_rx &&
		   priv->txqs[number] != NULL) {
		mana_facts_txq(&facts, priv, priv->txqs[number]);
	} else {
		reply_error(d, "port %" PRIu64 " has no %s queue %" PRIu64
			    "; /mana/queue,%" PRIu64 " lists them",
			    query->port_id, query->is_rx ? "Rx" : "Tx", number,
			    query->port_id);
	}
	mana_registry_unlock();
}

/* ---- /mana/mr --------------------------------------------------------------------- */

/* The regions from the number given on. */
static void
mr_reply(struct mana_priv *priv, const struct query *query, struct rte_tel_data *d)
{
	struct mana_mr_table *table = &priv->mrs;
	struct mana_mr_region part[PART_N];
	struct rte_tel_data *list;
	uint32_t nb = 0, nb_all;
	uint64_t bytes = 0;

	pthread_mutex_lock(&table->lock);
	nb_all = table->nb_regions;
	for (uint32_t i = 0; i < nb_all; i++) {
		const struct mana_mr_region *region = &table->regions[i];

		bytes += region->end - region->base;
		if (i < query->number || nb == PART_N)
			continue;
		part[nb++] = *region;
	}
	pthread_mutex_unlock(&table->lock);
	mana_registry_unlock();
	rte_tel_data_add_dict_int(d, "port_id", query->port_id);
	mana_tel_dict_u64(d, "nb_regions", nb_all);
	mana_tel_dict_u64(d, "bytes", bytes);
	list = part_add(d, "regions", true);
	for (uint32_t i = 0; i < nb; i++) {
		struct mana_facts facts = { .dict = entry_add(list, query->number + i) };

		if (facts.dict != NULL)
			mana_facts_region(&facts, &part[i]);
	}
}

/* ---- /mana/events ------------------------------------------------------------------ */

/* The last events, or those that follow the number given, the first of them. */
static void
events_reply(struct mana_priv *priv, const struct query *query, struct rte_tel_data *d)
{
	struct mana_event events[MANA_EVENT_LOG_N];
	uint32_t nb = mana_event_log_copy(&priv->events, events);
	struct rte_tel_data *list;
	uint32_t first = 0;

	mana_registry_unlock();
	if (!query->has_number && nb > PART_N)
		first = nb - PART_N;
	while (first < nb && events[first].number <= query->number)
		first++;
	rte_tel_data_add_dict_int(d, "port_id", query->port_id);
	mana_tel_dict_u64(d, "newest", nb > 0 ? events[nb - 1].number : 0);
	list = part_add(d, "events", true);
	for (uint32_t i = first; i < RTE_MIN(nb, first + PART_N); i++) {
		struct mana_facts facts = { .dict = entry_add(list, events[i].number) };

		if (facts.dict != NULL)
			mana_facts_event(&facts, &events[i]);
	}
}

/* ---- Commands ------------------------------------------------------------ */

static int
tel_list(const char *cmd __rte_unused, const char *params __rte_unused,
	 struct rte_tel_data *d)
{
	struct mana_priv *priv;

	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	mana_registry_lock();
	for (priv = mana_registry_next(0); priv != NULL;
	     priv = mana_registry_next(priv->data->port_id + 1))
		rte_tel_data_add_array_int(d, priv->data->port_id);
	mana_registry_unlock();
	return 0;
}

static const struct command {
	const char *name;
	reply_t reply; /* NULL: tel_list() */
	enum takes takes;
	const char *help;
} commands[] = {
	{ "/mana/list", NULL, TAKES_NOTHING,
	  "Numbers of the MANA ports. Takes no parameters" },
	{ "/mana/port", port_reply, TAKES_NOTHING,
	  "A port, its limits and its netdev. Parameters: int port_id" },
	{ "/mana/queue", queue_reply, TAKES_QUEUE,
	  "Queues of a port, or one. Parameters: int port_id[,rx|tx,int queue]" },
	{ "/mana/mr", mr_reply, TAKES_NUMBER,
	  "Memory regions of a port, 64 at a time. Parameters: int port_id[,int first]" },
	{ "/mana/events", events_reply, TAKES_NUMBER,
	  "Last control events of a port, or the first 64 after one. Parameters: int port_id[,int after]" },
};

/* The commands about a port. */
static int
tel_port(const char *cmd, const char *params, struct rte_tel_data *d)
{
	static const char *const advice[] = {
		[TAKES_NOTHING] = "give the number of a port alone, as in 0",
		[TAKES_QUEUE] = "give a direction and the number of a queue, as in 0,rx,1",
		[TAKES_NUMBER] = "give a number after that of the port, as in 0,64",
	};
	const char *text = params != NULL ? params : "";
	const struct command *command = commands;
	struct query query = { .port_id = 0 };
	struct mana_priv *priv;

	rte_tel_data_start_dict(d);
	/* Much of a port means something only in the process that drives it. */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return reply_error(d, "this is a secondary process: ask the primary one");
	if (!number_parse(&text, &query.port_id) || (*text != '\0' && *text != ','))
		return reply_error(d, "give the number of a port; /mana/list has them");
	while (strcmp(command->name, cmd) != 0)
		command++;
	if (!rest_parse(text, command->takes, &query))
		return reply_error(d, "%s", advice[command->takes]);
	mana_registry_lock();
	priv = mana_registry_find(query.port_id);
	if (priv != NULL) {
		command->reply(priv, &query, d);
		return 0;
	}
	mana_registry_unlock();
	return reply_error(d, "%" PRIu64 " is no port of this driver; /mana/list has them",
			   query.port_id);
}

RTE_INIT(mana_telemetry_register)
{
	const struct command *command;

	for (command = commands; command < commands + RTE_DIM(commands); command++)
		if (rte_telemetry_register_cmd(command->name,
					       command->reply != NULL ? tel_port : tel_list,
					       command->help) != 0)
			MANA_INIT_LOG(WARNING,
				      "cannot register the telemetry command %s",
				      command->name);
}
