/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * From an address to a memory key. The regions of a port stand in one table, sorted by
 * address, in memory that processes share. Only the primary process changes it
 * (mana_mr.c of the control path). The bursts of all processes read it without a lock. A
 * change is written beside what they read, and becomes the table when a counter moves on;
 * the counter tells a reader that the table has changed meanwhile.
 */

#ifndef MANA_MR_H
#define MANA_MR_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_atomic.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "mana_compat.h"
#include "mana_process.h"

struct rte_mbuf;
struct rte_mempool;

/* A registered region, or none. */
struct mana_mr_range {
	uintptr_t base;
	uintptr_t end; /* first byte behind it; 0: none, holds nothing */
	uint32_t lkey;
};

/* A region. Readers load each member once, because the table may change meanwhile. */
struct mana_mr_entry {
	struct mana_mr_range range;
	uintptr_t max_end; /* largest end up to here: regions may overlap */
};

#define MANA_MR_NB_VERSIONS 2
#define MANA_MR_MIN_ENTRIES 8 /* a search looks at so many at least */

/*
 * Two versions of the regions, sorted by address, for each kind of process: what the primary
 * process has, and what all processes have. The first entry of each list is empty and never
 * changes: every search ends at an entry. Entries behind the regions, up to the least number,
 * have the highest base.
 */
struct mana_mr_array {
	uint32_t capacity; /* of each list */
	uint32_t nb[MANA_MR_NB_VERSIONS][MANA_NB_PROCESS_KINDS]; /* 0, or the minimum or more */
	struct mana_mr_array *outgrown; /* an array that readers may still have */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_mr_entry entries[];
};

struct mana_mr_table {
	/* Count changes; bit 0: the version to read. They differ: a queue may change processes. */
	alignas(RTE_CACHE_LINE_SIZE) MANA_ATOMIC(uint32_t) seq[MANA_NB_PROCESS_KINDS];
	struct mana_mr_array *array;
	alignas(RTE_CACHE_LINE_SIZE) void *port; /* for mana_mr_miss() */
};

/* The list of a version and kind of process. */
static inline struct mana_mr_entry *
mana_mr_list(struct mana_mr_array *array, uint32_t seq, uint32_t kind)
{
	return &array->entries[(size_t)((seq & 1) * MANA_NB_PROCESS_KINDS + kind) *
			       array->capacity];
}

#define mana_mr_load(ptr) __atomic_load_n(ptr, __ATOMIC_RELAXED)
#define mana_mr_store(ptr, val) __atomic_store_n(ptr, val, __ATOMIC_RELAXED)

/* What a queue of a secondary process asks the primary process, which owns the last two. */
struct mana_mr_ask {
	uintptr_t addr;
	uint64_t len_bytes;
	const struct rte_mempool *pool; /* of the buffer, or NULL; any value */
	uint64_t time; /* in timer cycles */
	MANA_ATOMIC(uint32_t) nr; /* of the last request; written last */
	MANA_ATOMIC(uint32_t) nr_answered;
	int32_t error; /* of that one; 0: the table has the memory */
};

/* The table when seq was read. */
struct mana_mr_view {
	const struct mana_mr_table *table;
	const struct mana_mr_entry *entries; /* of this process's kind */
	const struct mana_mr_entry *second; /* where mana_mr_search() looks first */
	size_t half_bytes; /* of the entries that are left then */
	uint32_t seq;
};

/* What a queue knows of the table. */
struct mana_mr_cache {
	struct mana_mr_view view; /* since the last mana_mr_sync() */
	struct mana_mr_range last; /* that mana_mr_lkey() found */
	uint64_t nb_failures; /* look-ups that ended with an error */
	uint64_t nb_misses; /* calls of mana_mr_miss() */
	struct mana_mr_ask ask;
};

/* A seq that the table does not have soon: the next check finds the view stale. */
#define MANA_MR_SEQ_NONE UINT32_MAX

/* Control path: nothing is known. */
void mana_mr_cache_init(struct mana_mr_cache *cache, const struct mana_mr_table *table);

/*
 * Whether the table has changed since mana_mr_sync(), or was another process's. One check
 * per burst is enough: memory is not freed while a burst holds buffers of it.
 */
static inline bool
mana_mr_is_stale(const struct mana_mr_view *view)
{
	return mana_atomic_load(&view->table->seq[mana_process_kind]) != view->seq;
}

/* Follow a change of the table. Ranges that were found before are not valid any more. */
void mana_mr_sync(struct mana_mr_cache *cache);

/* Whether a range holds all of [addr, addr + len_bytes), memory of at least one byte. */
static inline bool
mana_mr_range_holds(const struct mana_mr_range *range, uintptr_t addr, uint64_t len_bytes)
{
	return addr >= range->base && addr + len_bytes <= range->end;
}

/* The half of a search's entries in which addr is; step entries in each. */
static inline const struct mana_mr_entry *
mana_mr_step(const struct mana_mr_entry *at, size_t step, uintptr_t addr)
{
	return mana_mr_load(&at[step].range.base) <= addr ? at + step : at;
}

/*
 * The last entry that starts at or below addr. No branch depends on the address, so that
 * the searches of several packets overlap.
 */
static inline const struct mana_mr_entry *
mana_mr_search(const struct mana_mr_view *view, uintptr_t addr)
{
	const struct mana_mr_entry *at = view->second;

	at = mana_mr_load(&at->range.base) <= addr ? at : view->entries;
	for (size_t half = view->half_bytes; half > 4 * sizeof(*at); half /= 2) {
		const struct mana_mr_entry *next = (const void *)((const char *)at + half);

		at = mana_mr_load(&next->range.base) <= addr ? next : at;
	}
	at = mana_mr_step(at, 4, addr);
	at = mana_mr_step(at, 2, addr);
	return mana_mr_step(at, 1, addr);
}
static_assert(MANA_MR_MIN_ENTRIES == 2 * 4, "the last steps of a search");

/*
 * The key of [addr, addr + len_bytes), which is valid if mana_mr_is_stale() is false behind
 * a read barrier. False: as for mana_mr_find().
 */
static inline bool
mana_mr_peek(const struct mana_mr_view *view, uintptr_t addr, uint64_t len_bytes, uint32_t *lkey)
{
	const struct mana_mr_entry *entry = mana_mr_search(view, addr);

	*lkey = mana_mr_load(&entry->range.lkey);
	return addr + len_bytes <= mana_mr_load(&entry->range.end);
}

static inline struct mana_mr_range
mana_mr_range_load(const struct mana_mr_entry *entry)
{
	return (struct mana_mr_range){
		.base = mana_mr_load(&entry->range.base),
		.end = mana_mr_load(&entry->range.end),
		.lkey = mana_mr_load(&entry->range.lkey),
	};
}

/*
 * Find the region that holds all of [addr, addr + len_bytes), at least one byte. False: it
 * is not known, or regions overlap there: ask mana_mr_lookup().
 */
static inline bool
mana_mr_find(const struct mana_mr_cache *cache, uintptr_t addr, uint64_t len_bytes,
	     struct mana_mr_range *range)
{
	struct mana_mr_range at = mana_mr_range_load(mana_mr_search(&cache->view, addr));

	rte_smp_rmb();
	if (unlikely(addr + len_bytes > at.end || mana_mr_is_stale(&cache->view)))
		return false;
	*range = at;
	return true;
}

/*
 * Find, or register, the region that holds all of [addr, addr + len_bytes), where
 * mana_mr_find() has found none. Only here a burst may enter the kernel. m: the mbuf of the
 * address; NULL for memory of the driver. range is valid until the table changes, and
 * unchanged on failure. Returns 0; -EAGAIN: not known yet, the burst ends here and the next
 * one tries it again; or another negative errno: the memory cannot be registered.
 */
int mana_mr_lookup(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
		   uint64_t len_bytes, struct mana_mr_range *range);

/*
 * The control path's part of it: register memory that the table does not have, or, in a
 * secondary process, ask the primary process for it. Returns as mana_mr_lookup().
 */
int mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
		 uint64_t len_bytes);

/* The key of [addr, addr + len_bytes). Returns as mana_mr_lookup(). */
static inline int
mana_mr_lkey(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
	     uint64_t len_bytes, uint32_t *lkey)
{
	struct mana_mr_range range;
	int ret = 0;

	if (likely(mana_mr_range_holds(&cache->last, addr, len_bytes))) {
		*lkey = cache->last.lkey;
		return 0;
	}
	if (unlikely(!mana_mr_find(cache, addr, len_bytes, &range)))
		ret = mana_mr_lookup(cache, m, addr, len_bytes, &range);
	if (unlikely(ret != 0))
		return ret;
	*lkey = range.lkey;
	cache->last = range;
	return 0;
}

#endif /* MANA_MR_H */
