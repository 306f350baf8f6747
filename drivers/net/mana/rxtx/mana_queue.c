/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What queues of both directions seldom do: look-ups in the table of regions that need more
 * than one search, and the record of an unexpected completion.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "mana_mr.h"
#include "mana_queue.h"

/* The table changes in each of so many look-ups, then the burst ends. */
#define MAX_TRIES 8

/* A view that changes meanwhile is stale: what is found in it is not used. */
static void
view_sync(struct mana_mr_view *view)
{
	const uint32_t kind = mana_process_kind;
	struct mana_mr_array *array;
	uint32_t nb, power;

	view->seq = mana_atomic_acquire(&view->table->seq[kind]);
	array = __atomic_load_n(&view->table->array, __ATOMIC_ACQUIRE);
	nb = RTE_MAX(mana_mr_load(&array->nb[view->seq & 1][kind]), (uint32_t)MANA_MR_MIN_ENTRIES);
	/* A search halves a power of two of entries, so it begins with the last ones or not. */
	power = rte_align32prevpow2(nb);
	view->entries = mana_mr_list(array, view->seq, kind);
	view->second = view->entries + nb - power;
	view->half_bytes = power / 2 * sizeof(view->entries[0]);
}

void
mana_mr_sync(struct mana_mr_cache *cache)
{
	view_sync(&cache->view);
	cache->last = (struct mana_mr_range){ .base = 0 };
}

void
mana_mr_cache_init(struct mana_mr_cache *cache, const struct mana_mr_table *table)
{
	memset(cache, 0, sizeof(*cache));
	cache->view.table = table;
	mana_mr_sync(cache);
}

/* The region with the largest base that holds the memory, among overlapping ones. */
static bool
scan(const struct mana_mr_view *view, uintptr_t addr, uint64_t len_bytes,
     struct mana_mr_range *range)
{
	const struct mana_mr_entry *entry = mana_mr_search(view, addr);

	for (; mana_mr_load(&entry->max_end) > addr; entry--) {
		struct mana_mr_range at = mana_mr_range_load(entry);

		if (mana_mr_range_holds(&at, addr, len_bytes)) {
			*range = at;
			return true;
		}
	}
	return false;
}

/* The queue's view stays as it is: only mana_mr_sync() tells that ranges are not valid. */
__rte_cold __rte_noinline int
mana_mr_lookup(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
	       uint64_t len_bytes, struct mana_mr_range *range)
{
	struct mana_mr_view view = cache->view;
	struct mana_mr_range found;
	bool is_found;
	int ret;

	for (uint32_t i = 0; i < MAX_TRIES; i++) {
		if (mana_mr_is_stale(&view))
			view_sync(&view);
		is_found = scan(&view, addr, len_bytes, &found);
		rte_smp_rmb();
		if (mana_mr_is_stale(&view))
			continue;
		if (is_found) {
			*range = found;
			return 0;
		}
		cache->nb_misses++;
		ret = mana_mr_miss(cache, m, addr, len_bytes);
		if (ret != 0) {
			cache->nb_failures += ret != -EAGAIN;
			return ret;
		}
	}
	return -EAGAIN;
}

void
mana_bad_cqe_note(struct mana_bad_cqes *bad, const struct gdma_cqe *cqe, bool is_fatal)
{
	if (is_fatal)
		bad->fatal_header = mana_cqe_load(&cqe->tx.header);
	if (mana_atomic_load(&bad->has_first) != 0)
		return;
	mana_cqe_copy(&bad->first, cqe);
	mana_atomic_release(&bad->has_first, 1);
}
