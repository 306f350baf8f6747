/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of a port's memory regions, for mana_mr.c and telemetry.
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

/* How the driver learns that memory is unmapped. */
enum mana_mr_kind {
	MANA_MR_ANY, /* of a filter in mana_mr.c */
	MANA_MR_POOL, /* by the mempool's event */
	MANA_MR_EAL, /* by EAL's memory event */
	MANA_MR_USER, /* the application calls rte_dev_dma_unmap() */
	MANA_MR_FOREIGN, /* not at all: DPDK does not manage it */
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
	bool is_tracking_pools;
	bool is_unknown_noted; /* that memory is registered which DPDK does not know */
	uint64_t next_log; /* timer cycles: one message a second from bursts */
};

/* Whether EAL never gives this memory back. msl may be NULL. */
bool mana_mr_is_permanent(const struct rte_memseg_list *msl);

#endif /* MANA_MR_TABLE_H */
