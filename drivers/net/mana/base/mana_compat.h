/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The only file that checks the DPDK version. It defines what the driver uses
 * and DPDK 22.11 lacks, under DPDK's own name if that cannot clash.
 */

#ifndef MANA_COMPAT_H
#define MANA_COMPAT_H

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>

#include <rte_version.h>
#include <rte_common.h>
#include <rte_bitops.h>

/* RTE_SHIFT_VAL64: added in 24.03, for literals only until 26.03. */
#define MANA_SHIFT_VAL64(val, nr) ((uint64_t)(val) << (nr))

/* For functions that read counters which other threads increment: intended race. */
#define MANA_NO_TSAN __attribute__((no_sanitize("thread")))

/* For symbols used in the driver only: accessed directly, not through the GOT. */
#define MANA_HIDDEN __attribute__((visibility("hidden")))

/* Counters shared by threads: <rte_stdatomic.h> was added in 23.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#include <rte_stdatomic.h>
#else
#define RTE_ATOMIC(type) type
#define rte_memory_order_relaxed __ATOMIC_RELAXED
#define rte_memory_order_acquire __ATOMIC_ACQUIRE
#define rte_memory_order_release __ATOMIC_RELEASE
#define rte_atomic_load_explicit __atomic_load_n
#define rte_atomic_store_explicit __atomic_store_n
#define rte_atomic_compare_exchange_strong_explicit(ptr, from, to, succ, fail) \
	__atomic_compare_exchange_n(ptr, from, to, false, succ, fail)
#endif
#define MANA_ATOMIC(type) RTE_ATOMIC(type)
#define mana_atomic_load(ptr) rte_atomic_load_explicit(ptr, rte_memory_order_relaxed)
#define mana_atomic_store(ptr, val) rte_atomic_store_explicit(ptr, val, rte_memory_order_relaxed)
#define mana_atomic_release(ptr, val) rte_atomic_store_explicit(ptr, val, rte_memory_order_release)
#define mana_atomic_acquire(ptr) rte_atomic_load_explicit(ptr, rte_memory_order_acquire)
/* Sets 64 bits that are 0; false: they are not. */
#define mana_atomic_take(ptr, val) \
	rte_atomic_compare_exchange_strong_explicit( \
		ptr, &(uint64_t){ 0 }, val, rte_memory_order_acquire, rte_memory_order_relaxed)

/*
 * The thread sanitizer knows neither membarrier(2) nor how EAL waits for the end of a
 * callback: what is before MANA_ORDER_BEFORE() in one thread happens before what is
 * behind a later MANA_ORDER_BEHIND() in another one.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define MANA_ORDER_BEFORE(ptr) __tsan_release((void *)(uintptr_t)(ptr))
#define MANA_ORDER_BEHIND(ptr) __tsan_acquire((void *)(uintptr_t)(ptr))
#else
#define MANA_ORDER_BEFORE(ptr) RTE_SET_USED(ptr)
#define MANA_ORDER_BEHIND(ptr) RTE_SET_USED(ptr)
#endif

/* rearm_data: a marker before 24.03, a member since; the bytes are the same. */
typedef uint64_t __rte_may_alias mana_alias64_t;
#define MANA_MBUF_REARM(m) ((mana_alias64_t *)(uintptr_t)&(m)->rearm_data)

/* Builds whose mempools count or check each get: renamed in 23.03. */
#if defined(RTE_LIBRTE_MEMPOOL_STATS) || defined(RTE_LIBRTE_MEMPOOL_DEBUG)
#define MANA_MEMPOOL_COUNTS
#endif

/* A 64-bit value in telemetry: renamed in 23.03. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define mana_tel_dict_u64 rte_tel_data_add_dict_uint
#else
#define mana_tel_dict_u64 rte_tel_data_add_dict_u64
#endif

/* 24.03: dev_supported_ptypes_get returns the number, ethdev has tx_queue_count. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
#define MANA_PTYPES_PARAMS struct rte_eth_dev *dev, size_t *nb_ptypes
#define MANA_PTYPES_NB_SET(nb) (*nb_ptypes = (nb))
#define MANA_TX_QUEUE_COUNT_SET(dev, fn) ((dev)->tx_queue_count = (fn))
#else
#define MANA_PTYPES_PARAMS struct rte_eth_dev *dev
#define MANA_PTYPES_NB_SET(nb) ((void)(nb))
#define MANA_TX_QUEUE_COUNT_SET(dev, fn) ((void)(dev), (void)(fn))
#endif

/*
 * 25.11: the counters of each queue have left struct rte_eth_stats, the return type of
 * rx_queue_count is signed, and ethdev's inline functions do not compare with NULL.
 */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define MANA_STATS_PARAMS struct rte_eth_stats *stats, struct eth_queue_stats *qstats
#define MANA_QSTATS(stats) qstats
typedef int mana_queue_count_t;
#define MANA_NO_QUEUE_COUNT rte_eth_queue_count_dummy
#define MANA_NO_DESCRIPTOR_STATUS rte_eth_descriptor_status_dummy
#else
#define MANA_STATS_PARAMS struct rte_eth_stats *stats
#define MANA_QSTATS(stats) stats
typedef uint32_t mana_queue_count_t;
#define MANA_NO_QUEUE_COUNT NULL
#define MANA_NO_DESCRIPTOR_STATUS NULL
#endif

/* The DPDK that this is compiled for. */
#define MANA_DPDK_YEAR RTE_VER_YEAR
#define MANA_DPDK_MONTH RTE_VER_MONTH
#define MANA_DPDK_MINOR RTE_VER_MINOR

#endif /* MANA_COMPAT_H */
