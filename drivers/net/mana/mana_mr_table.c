/* SPDX-License-Identifier: BSD-3-Clause */

/* The regions of a port: an array sorted by address. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_mr_table.h"

/* Number of regions that start at or below addr. */
static uint32_t
upper_bound(const struct mana_mr_table *table, uintptr_t addr)
{
	uint32_t low = 0;
	uint32_t high = table->nb_regions;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (table->regions[mid].base <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * A pool's region (of this pool, unless it is NULL) before others: the device
 * holds packets of a pool for long, and its own region lasts as long.
 */
static const struct mana_mr_region *
find(const struct mana_mr_table *table, uintptr_t addr, size_t len,
     const struct rte_mempool *pool)
{
	const struct mana_mr_region *other = NULL;
	uint32_t i = upper_bound(table, addr);

	while (i-- > 0 && table->regions[i].max_end > addr) {
		const struct mana_mr_region *region = &table->regions[i];

		if (addr >= region->end || len > region->end - addr)
			continue;
		if (pool == NULL ? region->pool != NULL : region->pool == pool)
			return region;
		if (other == NULL)
			other = region;
	}
	return pool == NULL ? other : NULL;
}

static void
update_max_end(struct mana_mr_table *table, uint32_t from)
{
	uintptr_t max_end = from > 0 ? table->regions[from - 1].max_end : 0;
	uint32_t i;

	for (i = from; i < table->nb_regions; i++) {
		max_end = RTE_MAX(max_end, table->regions[i].end);
		table->regions[i].max_end = max_end;
	}
}

static int
reserve(struct mana_mr_table *table)
{
	uint32_t nb = RTE_MAX(table->nb_allocated * 2, 64u);
	struct mana_mr_region *regions;

	if (table->nb_regions < table->nb_allocated)
		return 0;
	regions = realloc(table->regions, nb * sizeof(*regions));
	if (regions == NULL)
		return -ENOMEM;
	table->regions = regions;
	table->nb_allocated = nb;
	return 0;
}

int
mana_mr_table_add(struct mana_mr_table *table, struct mana_mr_region *region)
{
	size_t len = region->end - region->base;
	uint32_t i;
	int ret;

	ret = reserve(table);
	if (ret != 0)
		return ret;
	ret = mana_verbs_mr_create(table->priv->pd, region->base, len, true,
				   &region->mr, &region->lkey);
	/* Somebody's constant data: the device shall only read it. */
	if (ret == -EFAULT && region->kind == MANA_MR_FOREIGN)
		ret = mana_verbs_mr_create(table->priv->pd, region->base, len,
					   false, &region->mr, &region->lkey);
	if (ret != 0)
		return ret;
	i = upper_bound(table, region->base);
	memmove(&table->regions[i + 1], &table->regions[i],
		(table->nb_regions - i) * sizeof(*region));
	table->regions[i] = *region;
	table->nb_regions++;
	table->priv->counters.mr_registrations++;
	update_max_end(table, i);
	MANA_PORT_LOG(DEBUG, table->priv->data->name,
		      "registered %zu bytes at 0x%" PRIxPTR ", key %#x", len,
		      region->base, region->lkey);
	return 0;
}

uint32_t
mana_mr_table_remove(struct mana_mr_table *table, mana_mr_match_t match,
		     const void *arg)
{
	uint32_t removed = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < table->nb_regions; i++) {
		struct mana_mr_region *region = &table->regions[i];

		if (!match(region, arg)) {
			table->regions[i - removed] = *region;
			continue;
		}
		/* Queues must not use a key that is gone: tell them before. */
		if (removed++ == 0)
			mana_atomic_add(&table->priv->mr_generation, 1);
		ret = mana_verbs_mr_destroy(region->mr);
		if (ret != 0 && !mana_is_gone(table->priv))
			MANA_PORT_LOG(WARNING, table->priv->data->name,
				      "cannot deregister key %#x: %s",
				      region->lkey, strerror(-ret));
	}
	table->nb_regions -= removed;
	table->priv->counters.mr_deregistrations += removed;
	if (removed != 0)
		update_max_end(table, 0);
	return removed;
}

bool
mana_mr_table_lookup(const struct mana_mr_table *table, uintptr_t addr,
		     size_t len, struct mana_mr_range *range)
{
	const struct mana_mr_region *region = find(table, addr, len, NULL);

	if (region == NULL)
		return false;
	if (range != NULL)
		*range = (struct mana_mr_range){
			.base = region->base,
			.len_bytes = region->end - region->base,
			.lkey = region->lkey,
		};
	return true;
}

const struct mana_mr_region *
mana_mr_table_find_pool(const struct mana_mr_table *table, uintptr_t addr,
			size_t len, const struct rte_mempool *pool)
{
	return find(table, addr, len, pool);
}
