/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the queues of both directions share: failures, counters, the lock of queries, and
 * the marks by which the control path waits for bursts.
 */

#ifndef MANA_QUEUE_H
#define MANA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "mana_compat.h"
#include "mana_gdma.h"
#include "mana_hw.h"
#include "mana_process.h"

/* Why a queue has failed. Only new rings help. */
enum mana_queue_failure {
	MANA_FAILURE_NONE = 0,
	MANA_FAILURE_OVERRUN, /* CQEs were overwritten before they were read */
	MANA_FAILURE_UNKNOWN_CQE, /* Rx: unknown types; buffer order is unsure */
	MANA_FAILURE_DISABLED, /* Tx: the device disabled it (GDMA_ERR) */
	MANA_FAILURE_KILLED, /* a process died in a burst of it */
};

/* ---- Unexpected completions -------------------------------------------------- */

/*
 * A burst copies the first unexpected completion of an ethdev queue; the control path
 * logs it, because a burst makes no system call. Counters tell the kinds.
 */
struct mana_bad_cqes {
	MANA_ATOMIC(uint32_t) has_first; /* first is written before */
	uint32_t fatal_header; /* of the completion that made the queue fail last */
	struct gdma_cqe first;
};

/* Record an unexpected CQE, in the ring or a copy. is_fatal: the queue fails of it. */
__rte_cold __rte_noinline
void mana_bad_cqe_note(struct mana_bad_cqes *bad, const struct gdma_cqe *cqe, bool is_fatal);

/* ---- Counters ------------------------------------------------------------------ */

/* Counters of rare events of a hardware Rx queue. Packets and bytes are in the queue. */
struct mana_hwq_stats {
	/* Dropped packets: each has used one WQE. */
	uint64_t truncated; /* longer than the buffer, as the device reports */
	uint64_t oversize; /* length in the CQE beyond the buffer */
	uint64_t stopped; /* came while the queue was stopped: freed */
	uint64_t reconfig; /* waiting when the rings were replaced: freed */
	uint64_t unscattered; /* only the first buffer was written */
	/* CQEs without a packet. */
	uint64_t zero_len;
	uint64_t fence;
	uint64_t cqe_unknown;
	uint64_t cqe_foreign; /* of another work queue */
	uint64_t cqe_spurious; /* nothing was posted */
	uint64_t cqe_overrun; /* the queue has failed */
	uint64_t failed; /* times that the queue has failed: see failure */
	/* Refill. */
	uint64_t ring_empty; /* times the device was found without a buffer */
	uint64_t nombuf; /* refills that found the pool empty */
	uint64_t mr_failed; /* buffers in no memory region */
	uint64_t rq_doorbells;
	uint64_t cq_doorbells;
};

/* Counters of rare events of a Tx queue. Packets, bytes, doorbells are in the queue. */
struct mana_txq_stats {
	/* Error completions by type, MANA_CQE_TX_ERR_FIRST on. */
	uint64_t cqe_error[MANA_NB_CQE_TX_ERR];
	uint64_t cqe_unknown; /* another type: released, counted as error */
	/* CQEs that released nothing. */
	uint64_t cqe_foreign;
	uint64_t cqe_spurious; /* nothing was outstanding */
	uint64_t cqe_overrun; /* the queue is lost */
	uint64_t failed; /* times that the queue has failed: see failure */
	uint64_t cqe_position; /* unexpected WQE offset: the check has failed */
	/* Packets taken, freed and not sent. */
	uint64_t drop_offload; /* a request that the device cannot meet */
	uint64_t drop_malformed; /* contradictory lengths or segments */
	uint64_t drop_nomem; /* a copy was needed, no mbuf for it */
	uint64_t drop_mr; /* in no memory region */
	/* Posted, and without completion when the queue stopped: sent or not. */
	uint64_t unfinished;
	uint64_t stalled; /* times without progress, by the interrupt thread */
	/* Sent after a copy. */
	uint64_t linearized; /* the packet: it has too many segments */
	uint64_t bounced; /* the header: it must not be written, or is in pieces */
	uint64_t cq_doorbells;
};

/* Counters of a queue: an array of uint64_t, see mana_stats.c. */
struct mana_counters {
	uint64_t packets;
	uint64_t bytes;
	uint64_t errors; /* for ethdev's own statistics */
	uint64_t cqe_errors; /* of a Tx queue: errors that the device reported */
	uint64_t drops; /* of a Tx queue: packets that were never posted */
	uint64_t sq_doorbells; /* of a Tx queue */
	uint64_t mr_misses;
	uint64_t mr_failures;
	union {
		struct mana_txq_stats tx; /* the larger one: an initializer zeroes it */
		struct mana_hwq_stats rx;
	};
};

/* What was reported of a queue: see mana_dump.c. */
struct mana_reported {
	bool has_first;
	bool has_missed;
	uint64_t failed;
};

/* ---- The lock of queries --------------------------------------------------------- */

/*
 * A spinlock. Its word names the process (mana_process_id, upper half) and the thread that
 * hold it; 0: free.
 */
static inline uint64_t
mana_query_id(void)
{
	return (uint64_t)mana_atomic_load(&mana_process_id) << 32 | (uint32_t)rte_gettid();
}

static inline bool
mana_query_trylock(MANA_ATOMIC(uint64_t) *lock)
{
	const bool is_taken = mana_atomic_take(lock, mana_query_id());

	if (is_taken)
		mana_lock_order_enter(MANA_LOCK_INNER, false);
	return is_taken;
}

static inline void
mana_query_lock(MANA_ATOMIC(uint64_t) *lock)
{
	mana_lock_order_enter(MANA_LOCK_INNER, true);
	while (!mana_query_trylock(lock))
		rte_pause();
}

static inline void
mana_query_unlock(MANA_ATOMIC(uint64_t) *lock)
{
	mana_lock_order_leave(MANA_LOCK_INNER);
	mana_atomic_release(lock, 0);
}

/*
 * Unlocks what is paused, and returns whether it was not. is_paused was read with the
 * lock held: the control path waits for its holder.
 */
static inline bool
mana_query_admit(MANA_ATOMIC(uint64_t) *lock, bool is_paused)
{
	if (unlikely(is_paused))
		mana_query_unlock(lock);
	return !is_paused;
}

/* ---- Bursts ------------------------------------------------------------- */

/* Function type of ethdev's rx_pkt_burst and tx_pkt_burst. */
typedef uint16_t (*mana_burst_t)(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);

/*
 * Each access to a queue from the datapath is between these two: see
 * mana_pause.c. Two plain stores; the compiler must not move them. The value tells on
 * whose stack the burst runs.
 */
static inline void
mana_burst_enter(MANA_ATOMIC(uintptr_t) *is_busy)
{
#if defined(RTE_ARCH_X86_64) && !defined(__SANITIZE_THREAD__)
	/* One instruction: a compiler copies the register first. */
	__asm__ volatile("mov %%rsp, %0" : "=m"(*(volatile uintptr_t *)is_busy));
#else
	mana_atomic_store(is_busy, (uintptr_t)__builtin_frame_address(0));
#endif
	rte_compiler_barrier();
}

static inline void
mana_burst_leave(MANA_ATOMIC(uintptr_t) *is_busy)
{
	rte_compiler_barrier();
	MANA_ORDER_BEFORE(is_busy);
	mana_atomic_store(is_busy, 0);
}

#endif /* MANA_QUEUE_H */
