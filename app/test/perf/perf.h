/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a packet costs: one or two drivers of the same card in one process, their
 * rings filled and emptied by hand. See README.
 */

#ifndef PERF_H
#define PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "hand.h"

#define PERF_MAX_BATCH 128 /* packets between two checks */
#define PERF_MAX_SUTS 2
#define PERF_MAX_SEGS HAND_MAX_SEGS
#define PERF_MAX_POOLS 16 /* in addition to the one that is measured */
#define PERF_MAX_QUEUES 64
#define PERF_NB_MBUFS 20479 /* for all of these, 256 posted and some sent */
#define PERF_CACHE_MBUFS 512 /* holds several batches */

enum perf_kind {
	PERF_RX,
	PERF_TX,
	PERF_FWD,
	PERF_POLL, /* receive bursts that find nothing */
};

/* Where what the driver reads first lies when the clock starts. */
enum perf_place {
	PERF_HOT,
	PERF_OTHER_CORE, /* CQEs: written by another core */
	PERF_FLUSHED, /* CQEs: in memory */
	PERF_MBUFS_FLUSHED, /* and the headers of the mbufs */
};

/* A row of the table. Zero: the plain default. */
struct perf_row {
	const char *name;
	enum perf_kind kind;
	enum perf_place place;
	uint16_t burst;
	uint16_t ring; /* descriptors */
	uint16_t len_bytes;
	uint16_t nb_segs;
	uint16_t tso_segsz; /* of segmentation, the headers a segment; 0: none */
	uint16_t nb_queues; /* each call goes to the next one */
	bool is_scale; /* a burst for each queue in a batch, however many they are */
	uint16_t nb_more_pools; /* regions that the driver gets to know */
	uint16_t rx_thresh; /* rx_free_thresh; 0: the driver's */
	uint16_t simd_bits; /* at most; 0: as EAL has it. 64: none */
	bool offload; /* checksums and hash */
	bool ptypes; /* packet types, which testpmd turns off */
	bool no_offsets; /* in send CQEs */
	bool coalesced; /* four packets in a CQE */
	bool ours_only; /* the rival cannot do it */
};
extern const struct perf_row perf_rows[];
extern const unsigned int perf_nb_rows;

/* The CQE words that are turned visible before send bursts. */
struct perf_flips {
	uint32_t nb;
	uint32_t *word[PERF_MAX_BATCH * 2];
	uint32_t value[PERF_MAX_BATCH * 2];
	uint16_t end[PERF_MAX_BATCH]; /* of the flips of a call */
};

/* A receive and a send queue, and what is in a batch of theirs. */
struct perf_queue {
	void *rxq, *txq;
	struct hand rx, tx;
	struct rte_mbuf *pkts[PERF_MAX_BATCH];
	struct hand_rx_packet rx_expected[PERF_MAX_BATCH];
	struct hand_tx_packet tx_expected[PERF_MAX_BATCH];
	struct perf_flips flips;
};

/* A call of a burst function: the nth of its queue in this batch. */
struct perf_call {
	struct perf_queue *queue;
	uint32_t nth;
	struct hand_registers after; /* it, when calls are watched */
};

/* A driver that is measured ("system under test"). */
struct perf_sut {
	const char *name;
	const char *plugin; /* file */
	uint32_t fn; /* the model's */
	bool leaves_posted; /* receive buffers, when it stops */
	bool tells_ptypes; /* the rival of 22.11 lists some and tells none */
	uint16_t port;
	struct rte_mempool *pool;
	struct rte_mempool *more[PERF_MAX_POOLS];

	eth_rx_burst_t rx_burst;
	eth_tx_burst_t tx_burst;
	struct hand_registers seen; /* by the device */
	bool is_watched; /* the registers are read after each call */
	uint64_t heap_bytes; /* more than a port of one small queue, not started */
	uint16_t nb_queues;
	struct perf_queue queues[PERF_MAX_QUEUES];
	struct perf_call calls[PERF_MAX_BATCH]; /* to be timed */
};

/* The mbuf of a data buffer, by its address as it is in a WQE. */
static inline struct rte_mbuf *
perf_mbuf_at(const struct perf_sut *sut, uint64_t data_addr)
{
	return (struct rte_mbuf *)(uintptr_t)(data_addr - RTE_PKTMBUF_HEADROOM -
		rte_pktmbuf_priv_size(sut->pool) - sizeof(struct rte_mbuf));
}

/* perf_port.c: exits with a message when something fails. */
void perf_port_probe(struct perf_sut *sut);
uint16_t perf_port_max_ring(const struct perf_sut *sut);
void perf_port_start(struct perf_sut *sut, const struct perf_row *row, bool is_watched);
/* Checks that all mbufs are back. */
void perf_port_stop(struct perf_sut *sut);
void perf_port_close(struct perf_sut *sut);
/* Names of the paths in use, as burst_mode_get tells them. */
void perf_port_path(const struct perf_sut *sut, enum perf_kind kind, char *path,
		    size_t path_bytes);
/*
 * The same settings for testpmd: options of EAL, "--", its own; "types" at the end
 * where its command has to turn packet types on.
 */
void perf_port_testpmd(const struct perf_sut *sut, const struct perf_row *row,
		       char *words, size_t words_bytes);

/* perf_batch.c: packets of a batch, of all queues. */
uint32_t perf_batch(const struct perf_row *row);
/*
 * One batch, checked; TSC ticks that its bursts took. lcore: the one that writes
 * the CQEs of PERF_OTHER_CORE.
 */
uint64_t perf_run_batch(struct perf_sut *sut, const struct perf_row *row,
			unsigned int lcore);
/*
 * perf_queues.c: finds for each of the device's receive queues the one of the port, as
 * drivers make them in any order. Nothing was received before.
 */
void perf_match_queues(struct perf_sut *sut);
/*
 * One burst of every second queue: from then on not all of them refill in the same
 * round, which would ask more of the pool's cache than it has, and seldom happens.
 */
void perf_stagger(struct perf_sut *sut, const struct perf_row *row,
		  unsigned int lcore);
/* The device learns what the registers said after a call. */
void perf_ring(struct perf_sut *sut, struct perf_queue *queue,
	       const struct hand_registers *now);
/* Makes the driver know the regions of more pools. */
void perf_use_more_pools(struct perf_sut *sut, const struct perf_row *row);

/*
 * perf_timed.c: all that is measured, and nothing else. Each returns the number of
 * packets. Not inlined: callgrind counts from their entry to their exit.
 */
uint32_t perf_timed_rx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_poll(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_tx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);
uint32_t perf_timed_fwd(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst);

#endif /* PERF_H */
