/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The measured rows. rdma-core creates rings above 256 descriptors from 49 on;
 * rows with larger rings are skipped before.
 */

#include <rte_vect.h>

#include "perf.h"

/* Defaults: burst of 32, ring of 256, 64 bytes, one segment. */
#define ROW(name_, kind_, ...) \
	{ .name = name_, .kind = kind_, .burst = 32, .ring = 256, \
	  .len_bytes = 64, .nb_segs = 1, .nb_queues = 1, __VA_ARGS__ }
#define BURST(n) .burst = n
#define OFFLOAD .offload = true
#define SCALAR .simd_bits = RTE_VECT_SIMD_DISABLED
#define SSE .simd_bits = RTE_VECT_SIMD_128
#define THRESH(n) .rx_thresh = n
#define REGIONS(n) .nb_regions = n, .no_floor = true
#define SECONDARY .is_secondary = true, .no_rival = true, .no_floor = true
#define COALESCED .coalesced = true, .no_rival = true
#define ONE_QUEUE OFFLOAD, .ptypes = true, .no_hash = true, .no_floor = true
/* Headers in one segment, payload in three; three frames. */
#define TSO OFFLOAD, .tso_segsz = 1448, .nb_segs = 4, .len_bytes = 54 + 3 * 1448, \
	.no_rival = true
/* A row per number of queues. */
#define Q(name_, kind_, nb_, ...) \
	ROW(name_, kind_, .nb_queues = nb_, .is_scale = true, ##__VA_ARGS__)
#define QUEUES(name_, kind_, ...) \
	Q(name_ "-q1", kind_, 1, ##__VA_ARGS__), \
	Q(name_ "-q2", kind_, 2, ##__VA_ARGS__), \
	Q(name_ "-q4", kind_, 4, ##__VA_ARGS__), \
	Q(name_ "-q8", kind_, 8, ##__VA_ARGS__), \
	Q(name_ "-q16", kind_, 16, ##__VA_ARGS__), \
	Q(name_ "-q32", kind_, 32, ##__VA_ARGS__), \
	Q(name_ "-q64", kind_, PERF_MAX_QUEUES, ##__VA_ARGS__)
/* "initialized field overwritten" is intended: defaults */
#pragma GCC diagnostic ignored "-Woverride-init"

const struct perf_row perf_rows[] = {
	ROW("rx-1", PERF_RX, OFFLOAD, BURST(1)),
	ROW("rx-4", PERF_RX, OFFLOAD, BURST(4)),
	ROW("rx-8", PERF_RX, OFFLOAD, BURST(8)),
	ROW("rx-32", PERF_RX, OFFLOAD),
	ROW("rx-64", PERF_RX, OFFLOAD, BURST(64)),
	ROW("rx-32-plain", PERF_RX),
	ROW("rx-32-ptypes", PERF_RX, OFFLOAD, .ptypes = true, .no_floor = true),
	ROW("rx-32-1500", PERF_RX, OFFLOAD, .len_bytes = 1500),
	ROW("rx-32-r128", PERF_RX, OFFLOAD, .ring = 128),
	ROW("rx-32-r512", PERF_RX, OFFLOAD, .ring = 512),
	ROW("rx-32-r1024", PERF_RX, OFFLOAD, .ring = 1024),
	ROW("rx-32-pools", PERF_RX, OFFLOAD, .nb_more_pools = PERF_MAX_POOLS),
	ROW("rx-32-regions-2", PERF_RX, OFFLOAD, REGIONS(2)),
	ROW("rx-32-regions-8", PERF_RX, OFFLOAD, REGIONS(8)),
	ROW("rx-32-regions-64", PERF_RX, OFFLOAD, REGIONS(64)),
	ROW("rx-32-secondary", PERF_RX, OFFLOAD, SECONDARY),
	ROW("rx-32-regions-8-secondary", PERF_RX, OFFLOAD, REGIONS(8), SECONDARY),
	ROW("rx-32-vlan", PERF_RX, OFFLOAD, .is_stripped = true, .no_rival = true,
	    .no_floor = true),
	ROW("rx-32-2seg", PERF_RX, OFFLOAD, .rx_segs = 2, .len_bytes = 3000,
	    .no_rival = true, .no_floor = true),
	ROW("rx-32-5seg", PERF_RX, OFFLOAD, .rx_segs = 5, .len_bytes = 9014,
	    .no_rival = true, .no_floor = true),
	ROW("rx-32-scalar", PERF_RX, OFFLOAD, SCALAR),
	ROW("rx-32-sse", PERF_RX, OFFLOAD, SSE),
	ROW("rx-4-thresh-8", PERF_RX, OFFLOAD, BURST(4), THRESH(8)),
	ROW("rx-4-thresh-16", PERF_RX, OFFLOAD, BURST(4), THRESH(16)),
	ROW("rx-4-thresh-32", PERF_RX, OFFLOAD, BURST(4), THRESH(32)),
	ROW("rx-32-thresh-8", PERF_RX, OFFLOAD, THRESH(8)),
	ROW("rx-32-thresh-32", PERF_RX, OFFLOAD, THRESH(32)),
	ROW("rx-1-coalesced", PERF_RX, OFFLOAD, COALESCED, BURST(1)),
	ROW("rx-4-coalesced", PERF_RX, OFFLOAD, COALESCED, BURST(4)),
	ROW("rx-8-coalesced", PERF_RX, OFFLOAD, COALESCED, BURST(8)),
	ROW("rx-32-coalesced", PERF_RX, OFFLOAD, COALESCED),
	ROW("rx-64-coalesced", PERF_RX, OFFLOAD, COALESCED, BURST(64)),
	ROW("rx-32-coalesced-scalar", PERF_RX, OFFLOAD, COALESCED, SCALAR),
	ROW("rx-32-coalesced-sse", PERF_RX, OFFLOAD, COALESCED, SSE),
	ROW("rx-32-other-core", PERF_RX, OFFLOAD, .place = PERF_OTHER_CORE),
	ROW("rx-32-coalesced-other-core", PERF_RX, OFFLOAD, COALESCED,
	    .place = PERF_OTHER_CORE),
	ROW("rx-32-mbufs-other-core", PERF_RX, OFFLOAD, .place = PERF_MBUFS_OTHER_CORE),
	ROW("rx-32-flushed", PERF_RX, OFFLOAD, .place = PERF_FLUSHED),
	ROW("rx-32-coalesced-flushed", PERF_RX, OFFLOAD, COALESCED,
	    .place = PERF_FLUSHED),
	ROW("rx-32-mbufs-flushed", PERF_RX, OFFLOAD, .place = PERF_MBUFS_FLUSHED),
	ROW("rx-32-1q", PERF_RX, ONE_QUEUE),
	ROW("rx-32-1q-other-core", PERF_RX, ONE_QUEUE, .place = PERF_OTHER_CORE),
	ROW("rx-32-1q-cold", PERF_RX, ONE_QUEUE, .place = PERF_FLUSHED),
	ROW("poll", PERF_POLL, OFFLOAD),
	/* 22, 21 and 21 hardware queues */
	ROW("poll-list-22", PERF_POLL, OFFLOAD, .nb_queues = 3, .ring = 64,
	    .has_lists = true, .no_rival = true, .no_floor = true),
	ROW("tx-1", PERF_TX, BURST(1)),
	ROW("tx-4", PERF_TX, BURST(4)),
	ROW("tx-8", PERF_TX, BURST(8)),
	ROW("tx-32", PERF_TX),
	ROW("tx-64", PERF_TX, BURST(64)),
	ROW("tx-32-1500", PERF_TX, .len_bytes = 1500),
	ROW("tx-32-r128", PERF_TX, .ring = 128),
	ROW("tx-32-r512", PERF_TX, .ring = 512),
	ROW("tx-32-r1024", PERF_TX, .ring = 1024),
	ROW("tx-32-pools", PERF_TX, .nb_more_pools = PERF_MAX_POOLS),
	ROW("tx-32-pools-mixed", PERF_TX, .nb_more_pools = PERF_MAX_POOLS,
	    .is_of_more_pools = true, .no_floor = true),
	ROW("tx-32-regions-2", PERF_TX, REGIONS(2)),
	ROW("tx-32-regions-8", PERF_TX, REGIONS(8)),
	ROW("tx-32-regions-8-runs", PERF_TX, REGIONS(8), .run = 8),
	ROW("tx-32-regions-64", PERF_TX, REGIONS(64)),
	ROW("tx-32-secondary", PERF_TX, SECONDARY),
	ROW("tx-32-regions-8-secondary", PERF_TX, REGIONS(8), SECONDARY),
	ROW("tx-1-no-offset", PERF_TX, .no_offsets = true, BURST(1)),
	ROW("tx-32-no-offset", PERF_TX, .no_offsets = true),
	ROW("tx-1-csum", PERF_TX, OFFLOAD, BURST(1)),
	ROW("tx-4-csum", PERF_TX, OFFLOAD, BURST(4)),
	ROW("tx-8-csum", PERF_TX, OFFLOAD, BURST(8)),
	ROW("tx-32-csum", PERF_TX, OFFLOAD),
	ROW("tx-64-csum", PERF_TX, OFFLOAD, BURST(64)),
	ROW("tx-32-csum-tag", PERF_TX, OFFLOAD, .is_tagged = true, .no_floor = true),
	ROW("tx-32-csum-options", PERF_TX, OFFLOAD, .options_bytes = 12,
	    .len_bytes = 80, .no_floor = true),
	ROW("tx-32-csum-ipv6", PERF_TX, OFFLOAD, .ipv6 = true, .len_bytes = 80,
	    .no_floor = true),
	ROW("tx-32-csum-mixed", PERF_TX, OFFLOAD, .is_mixed = true, .len_bytes = 80,
	    .no_floor = true),
	ROW("tx-32-vlan", PERF_TX, .vlan_insert = true, .no_rival = true,
	    .no_floor = true),
	ROW("tx-32-csum-vlan", PERF_TX, OFFLOAD, .vlan_insert = true, .no_rival = true,
	    .no_floor = true),
	ROW("tx-32-2seg", PERF_TX, .nb_segs = 2),
	ROW("tx-32-3seg", PERF_TX, .nb_segs = 3, .len_bytes = 66, .no_floor = true),
	ROW("tx-32-3seg-r64", PERF_TX, .nb_segs = 3, .len_bytes = 66, .ring = 64,
	    .no_floor = true),
	ROW("tx-32-4seg", PERF_TX, .nb_segs = 4),
	ROW("tx-32-2seg-r512", PERF_TX, .nb_segs = 2, .ring = 512),
	ROW("tx-32-4seg-r512", PERF_TX, .nb_segs = 4, .ring = 512),
	ROW("tx-32-2seg-csum", PERF_TX, OFFLOAD, .nb_segs = 2,
	    .len_bytes = 128), /* headers in the first */
	ROW("tx-32-2seg-csum-r512", PERF_TX, OFFLOAD, .nb_segs = 2, .ring = 512,
	    .len_bytes = 128),
	ROW("tx-32-tso", PERF_TX, TSO),
	ROW("tx-32-tso-ipv6", PERF_TX, TSO, .ipv6 = true,
	    .tso_segsz = 1428, .len_bytes = 74 + 3 * 1428, .no_floor = true),
	ROW("tx-32-tso-tag", PERF_TX, TSO, .is_tagged = true,
	    .len_bytes = 58 + 3 * 1448, .no_floor = true),
	ROW("tx-32-tso-vlan", PERF_TX, TSO, .vlan_insert = true, .no_floor = true),
	ROW("tx-32-tso-r512", PERF_TX, TSO, .ring = 512),
	ROW("tx-32-other-core", PERF_TX, .place = PERF_OTHER_CORE),
	ROW("tx-32-mbufs-other-core", PERF_TX, .place = PERF_MBUFS_OTHER_CORE),
	ROW("tx-32-csum-mbufs-other-core", PERF_TX, OFFLOAD,
	    .place = PERF_MBUFS_OTHER_CORE),
	ROW("tx-32-2seg-mbufs-other-core", PERF_TX, .nb_segs = 2,
	    .place = PERF_MBUFS_OTHER_CORE),
	ROW("tx-32-mbufs-flushed", PERF_TX, .place = PERF_MBUFS_FLUSHED),
	ROW("fwd-1", PERF_FWD, BURST(1)),
	ROW("fwd-4", PERF_FWD, BURST(4)),
	ROW("fwd-8", PERF_FWD, BURST(8)),
	ROW("fwd-32", PERF_FWD),
	ROW("fwd-32-r512", PERF_FWD, .ring = 512),
	ROW("fwd-64", PERF_FWD, BURST(64)),
	ROW("fwd-32-coalesced", PERF_FWD, COALESCED),
	QUEUES("rx-32", PERF_RX, OFFLOAD),
	QUEUES("tx-32", PERF_TX),
	QUEUES("fwd-32", PERF_FWD),
	Q("fwd-32-r128-q64", PERF_FWD, PERF_MAX_QUEUES, .ring = 128),
	Q("fwd-32-r64-q64", PERF_FWD, PERF_MAX_QUEUES, .ring = 64),
	ROW("fwd-32-other-core", PERF_FWD, .place = PERF_OTHER_CORE),
	ROW("fwd-32-mbufs-other-core", PERF_FWD, .place = PERF_MBUFS_OTHER_CORE),
};
const unsigned int perf_nb_rows = RTE_DIM(perf_rows);
