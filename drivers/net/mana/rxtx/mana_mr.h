/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * From an address to a memory key, for bursts: a cache in each queue, read without a
 * lock. The control path does everything else about memory regions.
 */

#ifndef MANA_MR_H
#define MANA_MR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "mana_compat.h"

struct rte_mbuf;
struct rte_mempool;

/* A registered region, or the part of it that a queue may rely on. */
struct mana_mr_range {
	uintptr_t base;
	uint64_t len_bytes; /* 0: an empty slot, hits nothing */
	uint32_t lkey;
};

/*
 * The 2 MiB page of an address selects the slot, so a queue that alternates between
 * some regions finds each at once. A region larger than a page has a slot for each
 * page that is used.
 */
#define MANA_MR_CACHE_N 16
#define MANA_MR_CACHE_SHIFT 21

struct mana_mr_cache {
	/* Incremented before a region is deregistered: the cache is then emptied. */
	const MANA_ATOMIC(uint32_t) *generation;
	uint32_t generation_seen;
	uint32_t nb_failures; /* misses that found no region */
	void *ctx; /* for mana_mr_miss(): the port */
	uint64_t nb_misses; /* calls of mana_mr_miss() */
	struct mana_mr_range slot[MANA_MR_CACHE_N];
};

/**
 * Find, or register, the region that holds all of [addr, addr + len_bytes). A burst
 * calls this when the queue's cache has no such region: only here a burst may lock and
 * enter the kernel.
 *
 * @param m
 *   The segment of the address; NULL for memory of the driver.
 * @param[out] range
 *   The region, valid until the generation changes. Unchanged on failure.
 * @return
 *   0, or a negative errno when the memory cannot be registered.
 */
int mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
		 uintptr_t addr, uint32_t len_bytes,
		 struct mana_mr_range *range);

/*
 * The key of all memory of a pool, valid until the generation changes. Like
 * mana_mr_miss() this may lock and enter the kernel. False: the pool's memory is not in
 * one region of its own, or its packets are elsewhere.
 */
bool mana_mr_pool_key(struct mana_mr_cache *cache, struct rte_mempool *mp,
		      uint32_t *lkey);

/* Control path: empties the cache. ctx is for mana_mr_miss(). */
static inline void
mana_mr_cache_init(struct mana_mr_cache *cache,
		   const MANA_ATOMIC(uint32_t) *generation, void *ctx)
{
	memset(cache, 0, sizeof(*cache));
	cache->generation = generation;
	cache->generation_seen = mana_atomic_load(generation);
	cache->ctx = ctx;
}

/*
 * Whether a region was deregistered since the last burst. One check per burst is
 * enough: memory is not freed while a burst holds buffers of it.
 */
static inline bool
mana_mr_cache_is_stale(const struct mana_mr_cache *cache)
{
	return mana_atomic_load(cache->generation) != cache->generation_seen;
}

/* Empties a stale cache. */
static inline void
mana_mr_cache_sync(struct mana_mr_cache *cache)
{
	uint32_t now = mana_atomic_load(cache->generation);

	if (likely(now == cache->generation_seen))
		return;
	memset(cache->slot, 0, sizeof(cache->slot));
	cache->generation_seen = now;
}

static inline bool
mana_mr_range_holds(const struct mana_mr_range *range, uintptr_t addr,
		    uint32_t len_bytes)
{
	return len_bytes <= range->len_bytes &&
	       (uint64_t)(addr - range->base) <= range->len_bytes - len_bytes &&
	       range->len_bytes != 0;
}

/* The slow path of mana_mr_lkey(). */
static __rte_noinline __rte_unused bool
mana_mr_lkey_slow(struct mana_mr_cache *cache, const struct rte_mbuf *m,
		  uintptr_t addr, uint32_t len_bytes, uint32_t *lkey)
{
	struct mana_mr_range range = {0};

	cache->nb_misses++;
	if (mana_mr_miss(cache, m, addr, len_bytes, &range) != 0 ||
	    !mana_mr_range_holds(&range, addr, len_bytes)) {
		cache->nb_failures++;
		return false;
	}
	cache->slot[addr >> MANA_MR_CACHE_SHIFT & (MANA_MR_CACHE_N - 1)] = range;
	*lkey = range.lkey;
	return true;
}

/* The key of [addr, addr + len_bytes). False: it cannot be registered. */
static inline bool
mana_mr_lkey(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint32_t len_bytes, uint32_t *lkey)
{
	const struct mana_mr_range *range;

	range = &cache->slot[addr >> MANA_MR_CACHE_SHIFT &
			     (MANA_MR_CACHE_N - 1)];
	if (unlikely(!mana_mr_range_holds(range, addr, len_bytes)))
		return mana_mr_lkey_slow(cache, m, addr, len_bytes, lkey);
	*lkey = range->lkey;
	return true;
}

#endif /* MANA_MR_H */
