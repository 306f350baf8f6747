/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cost of a packet: one or two drivers of the same card in one process, whose
 * rings the harness fills and empties. See README.
 */

#ifndef PERF_H
#define PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "hand.h"

#define PERF_MAX_BATCH 128 /* packets between two checks */
#define PERF_MAX_SUTS 3
#define PERF_MAX_SEGS HAND_MAX_SEGS
#define PERF_MAX_POOLS 16 /* beside the measured pool */
#define PERF_MAX_QUEUES 64
#define PERF_NB_MBUFS 20479 /* for all, 256 posted, some outstanding */
#define PERF_CACHE_MBUFS 512 /* holds several batches */

enum perf_kind {
	PERF_RX,
	PERF_TX,
	PERF_FWD,
	PERF_POLL, /* empty Rx bursts */
};

/* Location of the data that the driver reads first. */
enum perf_place {
	PERF_HOT,
	PERF_OTHER_CORE, /* CQEs and frames: written by another core */
	PERF_MBUFS_OTHER_CORE, /* also headers of mbufs and of sent frames */
	PERF_FLUSHED, /* CQEs, and frames with no_hash: in memory */
	PERF_MBUFS_FLUSHED, /* also headers of mbufs */
};

static inline bool
perf_needs_other_core(enum perf_place place)
{
	return place == PERF_OTHER_CORE || place == PERF_MBUFS_OTHER_CORE;
}

/* A row of the table; zeros are the defaults. */
struct perf_row {
	const char *name;
	enum perf_kind kind;
	enum perf_place place;
	uint16_t burst;
	uint16_t ring; /* descriptors */
	uint16_t len_bytes;
	uint16_t nb_segs; /* of a packet to send */
	uint16_t rx_segs; /* of a received packet, scattered; 0: one */
	uint16_t tso_segsz; /* TSO, headers in segment 0; 0: none */
	uint16_t nb_queues; /* each call takes the next queue */
	bool is_scale; /* one burst per queue and batch */
	bool has_lists; /* each queue polls a list of hardware queues, 64 in all */
	uint16_t nb_more_pools; /* further regions that the driver looks up */
	bool is_of_more_pools; /* each packet to send is from one of these, at random */
	uint16_t nb_regions; /* pieces of memory of the pool; 0: one, in EAL's order */
	uint16_t run; /* mbufs that follow each other in a piece; 0: random order */
	uint16_t rx_thresh; /* rx_free_thresh; 0: driver's default */
	uint16_t simd_bits; /* maximum; 0: EAL's default; 64: scalar */
	bool offload; /* checksums and hash */
	bool is_stripped; /* received frames had a VLAN tag, which the device stripped */
	/* For frames sent with checksums or TSO: */
	bool is_tagged; /* a VLAN tag in the frame */
	bool ipv6;
	bool is_mixed; /* every second packet is IPv6 */
	uint16_t options_bytes; /* of IPv4 */
	bool vlan_insert; /* Tx: the device inserts a tag */
	bool ptypes; /* packet types, disabled by testpmd */
	/* Rx CQEs of a device with one queue: the headers of a frame tell its type. */
	bool no_hash;
	bool no_offsets; /* in Tx CQEs */
	bool coalesced; /* four packets per CQE */
	bool is_secondary; /* the bursts run in a secondary process */
	bool no_rival; /* the rival does not support it */
	bool no_floor; /* the floor does not support it */
};
extern const struct perf_row perf_rows[];
extern const unsigned int perf_nb_rows;

#define PERF_RX_VLAN 5

/* CQE words that become valid before Tx bursts. */
struct perf_flips {
	uint32_t nb;
	uint32_t *word[PERF_MAX_BATCH * 2];
	uint32_t value[PERF_MAX_BATCH * 2];
	uint16_t end[PERF_MAX_BATCH]; /* of the flips of a call */
};

/* An Rx and a Tx queue, with the batch's packets. */
struct perf_queue {
	void *rxq, *txq;
	struct hand rx, tx;
	struct rte_mbuf *pkts[PERF_MAX_BATCH];
	struct hand_rx_packet rx_expected[PERF_MAX_BATCH];
	struct hand_tx_packet tx_expected[PERF_MAX_BATCH];
	struct perf_flips flips;
};

/* A burst: the nth of its queue in this batch. */
struct perf_call {
	struct perf_queue *queue;
	uint32_t nth;
	struct hand_registers after; /* after the call, if watched */
};

/* A measured driver (system under test). */
struct perf_sut {
	const char *name;
	const char *plugin; /* file; NULL: the floor */
	uint32_t fn; /* of the model */
	bool leaves_posted; /* Rx buffers, at its stop */
	bool tells_ptypes; /* the 22.11 rival lists some, sets none */
	uint16_t port;
	uint32_t seed; /* of random orders */
	struct rte_mempool *pool; /* of the row */
	struct rte_mempool *own_pool; /* of rows without a pool of their own */
	struct rte_mempool *more[PERF_MAX_POOLS];

	eth_rx_burst_t rx_burst;
	eth_tx_burst_t tx_burst;
	struct hand_registers seen; /* by the device */
	bool is_watched; /* registers are read after each call */
	uint64_t nb_misses; /* perf_port_misses() before the measured batches */
	uint64_t heap_bytes; /* beyond a stopped port with one small queue */
	uint16_t nb_queues;
	struct perf_queue queues[PERF_MAX_QUEUES];
	struct perf_call calls[PERF_MAX_BATCH]; /* to be timed */
};

/* The mbuf of a buffer address in a WQE. */
static inline struct rte_mbuf *
perf_mbuf_at(const struct perf_sut *sut, uint64_t data_addr)
{
	return (struct rte_mbuf *)(uintptr_t)(data_addr - RTE_PKTMBUF_HEADROOM -
		rte_pktmbuf_priv_size(sut->pool) - sizeof(struct rte_mbuf));
}

/* Pseudo-random numbers, the same in each run. */
static inline uint32_t
perf_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static inline bool
perf_is_secondary(void)
{
	return rte_eal_process_type() == RTE_PROC_SECONDARY;
}

/* perf_port.c: ends the program with a message on failure. */
void perf_port_probe(struct perf_sut *sut);
uint16_t perf_port_max_ring(const struct perf_sut *sut);
/* In a secondary process: uses the port that the primary process has started so. */
void perf_port_start(struct perf_sut *sut, const struct perf_row *row, bool is_watched);
/* Bursts' look-ups of memory that the table of regions lacks; 0 if not counted. */
uint64_t perf_port_misses(const struct perf_sut *sut);
/* Also checks that all mbufs are back. */
void perf_port_stop(struct perf_sut *sut);
void perf_port_close(struct perf_sut *sut);
/* Names of the burst paths, from burst_mode_get. */
void perf_port_path(const struct perf_sut *sut, enum perf_kind kind, char *path,
		    size_t path_bytes);
/*
 * The same settings for testpmd: EAL options, "--", its own options, and
 * "types" if packet types must be enabled by command.
 */
void perf_port_testpmd(const struct perf_sut *sut, const struct perf_row *row,
		       char *words, size_t words_bytes);

/*
 * perf_secondary.c: runs the program as a secondary process of this port, with these
 * options behind EAL's, until it ends.
 */
void perf_secondary_run(const char *program, const struct perf_sut *sut,
			const char *const options[]);

/*
 * perf_pools.c: a pool for a driver's mbufs, the pool of a row, and their check. A
 * secondary process finds those of the primary process.
 */
struct rte_mempool *perf_pool_create(const char *name, unsigned int nb_mbufs,
				     unsigned int nb_cache);
struct rte_mempool *perf_pool_of_row(const struct perf_sut *sut,
				     const struct perf_row *row);
/* Checks and frees all pools but the driver's own one. */
void perf_pools_free(struct perf_sut *sut, struct rte_mempool *pool_of_row);
uint32_t perf_pool_nb_away(const struct rte_mempool *pool);
void perf_pool_check(const struct perf_sut *sut, const struct rte_mempool *pool);

/* perf_floor.c: perf_port_*() for the floor. */
void perf_floor_probe(struct perf_sut *sut);
void perf_floor_start(struct perf_sut *sut, const struct perf_row *row, bool is_watched);
void perf_floor_stop(struct perf_sut *sut);

/* perf_batch.c: packets per batch, over all queues. */
uint32_t perf_batch(const struct perf_row *row);
/*
 * Runs and checks one batch. Returns TSC ticks of its bursts. lcore: the other
 * core of PERF_OTHER_CORE.
 */
uint64_t perf_run_batch(struct perf_sut *sut, const struct perf_row *row,
			unsigned int lcore);
/*
 * perf_queues.c: matches the device's Rx queues with those of the port, which
 * drivers create in any order. No packet was received before.
 */
void perf_match_queues(struct perf_sut *sut);
/*
 * One burst on every second queue, so that not all queues refill in the same
 * round: that rare case would exceed the pool's cache.
 */
void perf_stagger(struct perf_sut *sut, const struct perf_row *row,
		  unsigned int lcore);
/* Creates packets to send, and their expected WQEs, from index first on. */
void perf_make_packets(struct perf_sut *sut, struct perf_queue *queue,
		       const struct perf_row *row, uint32_t first, uint32_t nb);
/* Passes the registers after a call to the device. */
void perf_ring(struct perf_sut *sut, struct perf_queue *queue,
	       const struct hand_registers *now);
/* perf_pools.c: makes the driver look up the regions of further pools. */
void perf_use_more_pools(struct perf_sut *sut, const struct perf_row *row);

/*
 * perf_timed.c: exactly the measured code. Each function returns the number of
 * packets. Not inlined, because callgrind counts from entry to exit.
 */
uint32_t perf_timed_rx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_poll(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_tx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_fwd(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);

#endif /* PERF_H */
