/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Address to memory key: what the burst functions need. A cache in each
 * queue, read without lock; everything else about memory regions is control
 * path.
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
 * Slots are chosen by the 2 MiB page of the address, so that a queue that
 * alternates between some regions finds each of them at the first look; a
 * region larger than a page is entered once for each page that is used.
 */
#define MANA_MR_CACHE_N 16
#define MANA_MR_CACHE_SHIFT 21

struct mana_mr_cache {
	/*
	 * Bumped by the control path before a region is deregistered. The
	 * cache is emptied when it differs from what was last seen.
	 */
	const MANA_ATOMIC(uint32_t) *generation;
	uint32_t generation_seen;
	uint32_t nb_failures; /* misses that found no region */
	void *ctx; /* for mana_mr_miss(): the port */
	uint64_t nb_misses; /* calls of mana_mr_miss() */
	struct mana_mr_range slot[MANA_MR_CACHE_N];
};

/**
 * Find, or register, the region that holds an address. Called from a burst
 * when the queue's cache has no answer: the one place where a burst may lock
 * and enter the kernel.
 *
 * @param m
 *   The segment that the address belongs to; NULL for memory of the driver's
 *   own.
 * @param addr, len_bytes
 *   What must lie in the region, wholly.
 * @param[out] range
 *   The region, valid until the generation is bumped. Unchanged on failure.
 * @return
 *   0; a negative errno when there is none and none can be made.
 */
int mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
		 uintptr_t addr, uint32_t len_bytes,
		 struct mana_mr_range *range);

/**
 * The key of all memory of a pool. Like mana_mr_miss() this may lock and enter
 * the kernel.
 *
 * @param[out] lkey
 *   Valid until the generation is bumped; that happens before the pool goes.
 * @return
 *   False when the pool's memory is not, or will not stay, in one region of
 *   its own, or its packets are elsewhere.
 */
bool mana_mr_pool_key(struct mana_mr_cache *cache, struct rte_mempool *mp,
		      uint32_t *lkey);

/* Control path: an empty cache. ctx is handed to mana_mr_miss(). */
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
 * Has a region gone since the last burst? To ask once a burst is enough:
 * memory of which a burst holds buffers is not freed under it.
 */
static inline bool
mana_mr_cache_is_stale(const struct mana_mr_cache *cache)
{
	return mana_atomic_load(cache->generation) != cache->generation_seen;
}

/* Forget everything if it has. */
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

/* The slow half of mana_mr_lkey(). */
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

/**
 * The key of a piece of memory.
 *
 * @return
 *   False when it is in no region; nothing has changed then.
 */
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
