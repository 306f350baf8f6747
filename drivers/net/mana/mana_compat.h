/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The one place that looks at the DPDK version. Everything newer than 22.11
 * that the driver uses is given here for older versions, under DPDK's own
 * name where there is no risk of a clash.
 */

#ifndef MANA_COMPAT_H
#define MANA_COMPAT_H

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>

#include <rte_version.h>
#include <rte_common.h>
#include <rte_bitops.h>

#ifndef RTE_SHIFT_VAL32 /* 24.03 */
#define RTE_SHIFT_VAL32(val, nr) ((uint32_t)(val) << (nr))
#endif
#ifndef RTE_SHIFT_VAL64 /* 24.03 */
#define RTE_SHIFT_VAL64(val, nr) ((uint64_t)(val) << (nr))
#endif

/* Counters shared by threads: <rte_stdatomic.h> came with 23.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#include <rte_stdatomic.h>
#define MANA_ATOMIC(type) RTE_ATOMIC(type)
#define mana_atomic_load(ptr) \
	rte_atomic_load_explicit(ptr, rte_memory_order_relaxed)
#define mana_atomic_store(ptr, val) \
	rte_atomic_store_explicit(ptr, val, rte_memory_order_relaxed)
#define mana_atomic_add(ptr, val) \
	rte_atomic_fetch_add_explicit(ptr, val, rte_memory_order_release)
#else
#define MANA_ATOMIC(type) type
#define mana_atomic_load(ptr) __atomic_load_n(ptr, __ATOMIC_RELAXED)
#define mana_atomic_store(ptr, val) __atomic_store_n(ptr, val, __ATOMIC_RELAXED)
#define mana_atomic_add(ptr, val) __atomic_fetch_add(ptr, val, __ATOMIC_RELEASE)
#endif

/* The rearm marker became a real member with 24.03: same bytes, same name. */
typedef uint64_t __rte_may_alias mana_alias64_t;
#define MANA_MBUF_REARM(m) ((mana_alias64_t *)(uintptr_t)&(m)->rearm_data)

/* Per-queue counters moved out of struct rte_eth_stats with 25.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define MANA_QSTATS_PARAM , struct eth_queue_stats *qstats
#define MANA_QSTATS(stats) qstats
#else
#define MANA_QSTATS_PARAM
#define MANA_QSTATS(stats) stats
#endif

/* dev_supported_ptypes_get tells the number of types since 24.03. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
#define MANA_PTYPES_PARAM , size_t *nb_ptypes
#define MANA_PTYPES_NB_SET(nb) (*nb_ptypes = (nb))
#else
#define MANA_PTYPES_PARAM
#define MANA_PTYPES_NB_SET(nb) ((void)(nb))
#endif

#endif /* MANA_COMPAT_H */
