/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Telemetry of what there may be many of. A reply has 16 KiB (DPDK's
 * MAX_OUTPUT_LEN), and what does not fit is left out silently: long lists
 * come in parts of PART_N entries.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mana.h"
#include "mana_mr_table.h"
#include "mana_registry.h"
#include "mana_telemetry.h"

#define PART_N 64

/*
 * One of many entries, or NULL, under its number: DPDK 22.11 takes no dicts
 * in arrays.
 */
static void
add_part(struct rte_tel_data *d, uint64_t number, struct rte_tel_data *part)
{
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, number);
	if (part != NULL && rte_tel_data_add_dict_container(d, name, part, 0) != 0)
		rte_tel_data_free(part);
}

/* ---- /mana/mr ------------------------------------------------------------ */

struct region_copy {
	uintptr_t base;
	size_t bytes;
	uint32_t lkey;
	enum mana_mr_kind kind;
	char mempool[RTE_MEMPOOL_NAMESIZE];
};

struct regions_copy {
	uint32_t nb_all;
	uint64_t bytes_all;
	uint32_t nb; /* of part */
	struct region_copy part[PART_N];
};

static const char *
region_kind_name(enum mana_mr_kind kind)
{
	switch (kind) {
	case MANA_MR_POOL:
		return "mempool";
	case MANA_MR_EAL:
		return "eal";
	case MANA_MR_USER:
		return "dma_map";
	case MANA_MR_FOREIGN:
		return "foreign";
	}
	return "unknown";
}

static void
regions_copy(struct mana_mr_table *table, uint64_t from, struct regions_copy *copy)
{
	uint32_t i;

	memset(copy, 0, sizeof(*copy));
	pthread_mutex_lock(&table->lock);
	copy->nb_all = table->nb_regions;
	for (i = 0; i < table->nb_regions; i++) {
		const struct mana_mr_region *region = &table->regions[i];
		struct region_copy *to = &copy->part[copy->nb];

		copy->bytes_all += region->end - region->base;
		if (i < from || copy->nb == RTE_DIM(copy->part))
			continue;
		to->base = region->base;
		to->bytes = region->end - region->base;
		to->lkey = region->lkey;
		to->kind = region->kind;
		/* It goes from the table before it is freed. */
		if (region->pool != NULL)
			snprintf(to->mempool, sizeof(to->mempool), "%s",
				 region->pool->name);
		copy->nb++;
	}
	pthread_mutex_unlock(&table->lock);
}

static struct rte_tel_data *
region_format(const struct region_copy *region)
{
	struct rte_tel_data *d = rte_tel_data_alloc();

	if (d == NULL)
		return NULL;
	rte_tel_data_start_dict(d);
	mana_tel_add_hex(d, "address", region->base);
	mana_tel_dict_u64(d, "bytes", region->bytes);
	mana_tel_add_hex(d, "key", region->lkey);
	rte_tel_data_add_dict_string(d, "kind", region_kind_name(region->kind));
	rte_tel_data_add_dict_string(d, "mempool", region->mempool);
	return d;
}

static void
add_regions(struct rte_tel_data *d, uint64_t from, const struct regions_copy *copy)
{
	struct rte_tel_data *all = rte_tel_data_alloc();
	uint32_t i;

	if (all == NULL)
		return;
	rte_tel_data_start_dict(all);
	for (i = 0; i < copy->nb; i++)
		add_part(all, from + i, region_format(&copy->part[i]));
	if (rte_tel_data_add_dict_container(d, "regions", all, 0) != 0)
		rte_tel_data_free(all);
}

int
mana_tel_mr(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct regions_copy copy;
	struct mana_priv *priv;
	uint64_t from = 0;
	uint64_t port_id;

	RTE_SET_USED(cmd);
	if (mana_tel_port_take(&params, d, &port_id) != 0)
		return 0;
	if (params != NULL &&
	    (mana_tel_number_take(&params, &from) != 0 || params != NULL))
		return mana_tel_fail(
			d, "give the number of the first region, as in 0,64");
	mana_registry_lock();
	priv = mana_registry_find(port_id);
	if (priv != NULL)
		regions_copy(priv->mrs, from, &copy);
	mana_registry_unlock();
	if (priv == NULL)
		return mana_tel_fail_port(d, port_id);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "port_id", port_id);
	mana_tel_dict_u64(d, "nb_regions", copy.nb_all);
	mana_tel_dict_u64(d, "bytes", copy.bytes_all);
	add_regions(d, from, &copy);
	return 0;
}

/* ---- /mana/events -------------------------------------------------------- */

static struct rte_tel_data *
event_format(const struct mana_event *event)
{
	struct rte_tel_data *d = rte_tel_data_alloc();
	unsigned int i;

	if (d == NULL)
		return NULL;
	rte_tel_data_start_dict(d);
	mana_tel_dict_u64(d, "time_ns", event->wall_ns);
	mana_tel_dict_u64(d, "monotonic_ns", event->mono_ns);
	rte_tel_data_add_dict_string(d, "event", mana_event_name(event->kind));
	for (i = 0; i < RTE_DIM(event->arg); i++)
		if (mana_event_arg_name(event->kind, i) != NULL)
			mana_tel_dict_u64(d, mana_event_arg_name(event->kind, i),
					  event->arg[i]);
	rte_tel_data_add_dict_int(d, "error", -event->error);
	return d;
}

/* The events from this place of the array on, by their numbers. */
static void
add_events(struct rte_tel_data *d, const struct mana_event *events, uint32_t nb)
{
	struct rte_tel_data *all = rte_tel_data_alloc();
	uint32_t i;

	if (all == NULL)
		return;
	rte_tel_data_start_dict(all);
	for (i = 0; i < nb; i++)
		add_part(all, events[i].number, event_format(&events[i]));
	if (rte_tel_data_add_dict_container(d, "events", all, 0) != 0)
		rte_tel_data_free(all);
}

/* The last ones, or with a number those that follow it: the first of them. */
int
mana_tel_events(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct mana_event events[MANA_EVENT_LOG_N];
	struct mana_priv *priv;
	uint64_t after = 0;
	uint64_t port_id;
	uint32_t first = 0;
	uint32_t nb = 0;
	bool is_last;

	RTE_SET_USED(cmd);
	if (mana_tel_port_take(&params, d, &port_id) != 0)
		return 0;
	is_last = params == NULL;
	if (!is_last &&
	    (mana_tel_number_take(&params, &after) != 0 || params != NULL))
		return mana_tel_fail(d,
				     "give the number of an event, as in 0,64");
	mana_registry_lock();
	priv = mana_registry_find(port_id);
	if (priv != NULL)
		nb = mana_event_log_copy(&priv->events, events);
	mana_registry_unlock();
	if (priv == NULL)
		return mana_tel_fail_port(d, port_id);
	if (is_last && nb > PART_N)
		first = nb - PART_N;
	while (first < nb && events[first].number <= after)
		first++;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "port_id", port_id);
	mana_tel_dict_u64(d, "newest", nb > 0 ? events[nb - 1].number : 0);
	add_events(d, &events[first], RTE_MIN(nb - first, (uint32_t)PART_N));
	return 0;
}
