/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Between the files of memory regions: mana_mr.c (which memory, when),
 * mana_mr_pool.c (mempools) and mana_mr_table.c (the table).
 *
 * Lock order: EAL's memory lock, then the table's mutex. EAL announces freed
 * memory with its lock held for writing, so under the mutex nothing may take
 * that lock or allocate DPDK memory; the table lives in the C library's heap.
 */

#ifndef MANA_MR_TABLE_H
#define MANA_MR_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_memory.h>
#include <rte_mempool.h>

#include "mana_mr.h"
#include "mana_verbs.h"

struct mana_priv;

/* Who tells us that the memory goes away. */
enum mana_mr_kind {
	MANA_MR_POOL, /* the mempool's event */
	MANA_MR_EAL, /* the memory event */
	MANA_MR_USER, /* the application: rte_dev_dma_unmap() */
	MANA_MR_FOREIGN, /* nobody */
};

struct mana_mr_region {
	uintptr_t base;
	uintptr_t end; /* first byte behind it */
	uintptr_t max_end; /* largest end up to here: regions may overlap */
	uint32_t lkey;
	enum mana_mr_kind kind;
	const struct rte_mempool *pool;
	struct ibv_mr *mr;
};

struct mana_mr_table {
	struct mana_priv *priv;
	pthread_mutex_t lock;
	struct mana_mr_region *regions; /* sorted by base */
	uint32_t nb_regions;
	uint32_t nb_allocated;
	bool is_tracking_pools;
	uint64_t next_log; /* timer cycles: one message a second from bursts */
};

/* A piece of memory. */
struct mana_mr_span {
	uintptr_t base;
	uintptr_t end;
};

typedef bool (*mana_mr_match_t)(const struct mana_mr_region *region,
				const void *arg);

/* ---- mana_mr_table.c: the table's lock is held --------------------------- */

/* Registers the region, whose base, end, kind and pool are given. */
int mana_mr_table_add(struct mana_mr_table *table,
		      struct mana_mr_region *region);
/* Deregisters the regions that match; returns how many. */
uint32_t mana_mr_table_remove(struct mana_mr_table *table,
			      mana_mr_match_t match, const void *arg);
/* Whether a region holds all of it; range may be NULL. */
bool mana_mr_table_lookup(const struct mana_mr_table *table, uintptr_t addr,
			  size_t len, struct mana_mr_range *range);
/*
 * The region of the pool's own that holds all of it, or NULL. Any other one may
 * go before the pool does.
 */
const struct mana_mr_region *
mana_mr_table_find_pool(const struct mana_mr_table *table, uintptr_t addr,
			size_t len, const struct rte_mempool *pool);

/* ---- mana_mr.c ------------------------------------------------------------ */

/* Finds or makes the region of a buffer; m and range may be NULL. */
int mana_mr_ensure(struct mana_mr_table *table, const struct rte_mbuf *m,
		   uintptr_t addr, size_t len, struct mana_mr_range *range);
/* Whether EAL never gives this memory back. msl may be NULL. */
bool mana_mr_is_permanent(const struct rte_memseg_list *msl);

/* ---- mana_mr_pool.c -------------------------------------------------------- */

/*
 * Registers the pool's chunks. Gives no message; *failed is what could not be
 * registered.
 */
int mana_mr_pool_register(struct mana_mr_table *table, struct rte_mempool *mp,
			  struct mana_mr_span *failed);
/* A mempool appears or goes; arg is the table. */
void mana_mr_pool_event(enum rte_mempool_event event, struct rte_mempool *mp,
			void *arg);

#endif /* MANA_MR_TABLE_H */
