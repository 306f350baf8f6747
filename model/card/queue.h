/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device's side of its rings: work queues that it reads, completion
 * queues that it writes, and what a doorbell does to either.
 *
 * Indices run free. Work queue positions are bytes modulo 2^32, as in the
 * doorbell; CQ indices are CQEs and start at the ring size N, as in Linux
 * gdma_main.c, so that zeroed memory is "empty".
 */

#ifndef MODEL_QUEUE_H
#define MODEL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "hw.h"
#include "ledger.h"
#include "mem.h"

#define QUEUE_NONE UINT32_MAX

struct ring {
	uint32_t process; /* whose memory */
	uint32_t size_bytes;
	uint64_t addr;
};

struct cq {
	bool is_alive;
	bool is_armed;
	bool is_stopped; /* overran its doorbell, or its memory is gone */
	bool is_used; /* by a work queue: one at most */
	bool is_unheard; /* its doorbell cannot be seen, nor judged */
	uint32_t id, fn, pdn, page;
	struct ring ring;
	uint32_t nb_cqes; /* N, a power of two */
	uint32_t log_n;
	uint32_t pi; /* next CQE to write; starts at N */
	uint32_t rung_pi; /* pi when the doorbell was last rung */
	uint32_t rung_idx; /* index of that doorbell, modulo 8 N */
	/* More than the driver asked for was injected, up to this index. */
	bool is_flooded;
	uint32_t flood_pi;
};

/* Up to four packets that wait for a common CQE. */
struct rx_open {
	uint32_t nb_packets;
	uint32_t flags;
	uint32_t wqe_offset; /* of the first */
	uint64_t opened_ns;
	bool is_listed; /* in the card's list of open ones */
	bool is_closing; /* the CQE that is written next is this one */
	uint32_t len_bytes[HW_RX_CQE_NB_PPI];
	uint32_t hash[HW_RX_CQE_NB_PPI];
};

struct wq {
	bool is_alive;
	bool is_sq;
	bool is_disabled; /* after a GDMA error; only re-creation helps */
	bool is_pending; /* in its process's list of work (device thread) */
	uint32_t id, fn, port, pdn, page;
	uint32_t cq; /* index of its CQ */
	uint32_t counter; /* index of its record at the port */
	struct ring ring;
	uint32_t pi; /* bytes: tail of the last accepted doorbell */
	uint32_t ci; /* bytes: next WQE to fetch */
	/* Posted and not consumed, kept only where the CQ could be too small. */
	uint32_t nb_wqes;
	/* SQ: bytes of WQEs since the last one with a CQE. */
	uint32_t silent_bytes;
	uint32_t next_pending;
	uint32_t replay; /* queue of the recording + 1 */
	struct rx_open rx; /* RQ */
	/* Injected: CQEs that are held, extra ones to come, and whether the
	 * driver may have been told of WQEs that are not done. */
	uint32_t held_first, held_last;
	uint32_t nb_spurious;
	bool is_misled;
};

/* A ring the hardware takes: >= 4096, a power of two, 4096-aligned. */
bool ring_is_valid(uint64_t addr, uint64_t size_bytes);

/* nb_bytes at a free-running position, round the end. 0 or -EFAULT. */
int ring_read_wrapped(const struct ring *ring, uint32_t pos, void *buf,
		      uint32_t nb_bytes);

static inline int
ring_read(const struct ring *ring, uint32_t pos, void *buf, uint32_t nb_bytes)
{
	const uint32_t at = pos & (ring->size_bytes - 1);

	if (nb_bytes > ring->size_bytes - at)
		return ring_read_wrapped(ring, pos, buf, nb_bytes);
	return mem_read(ring->process, ring->addr + at, buf, nb_bytes);
}

/*
 * In polled mode the program's core wrote a WQE last, and read a CQE last: its
 * line is fetched some way ahead. The address may be another process's: a
 * prefetch never faults.
 */
#define RING_LINE_BYTES	    64u
#define RING_PREFETCH_BYTES (16 * RING_LINE_BYTES)

static inline const void *
ring_at(const struct ring *ring, uint32_t pos)
{
	return (const void *)(uintptr_t)(ring->addr +
					 (pos & (ring->size_bytes - 1)));
}

/* The WQEs that were posted from one position to another, or the first. */
static inline void
ring_prefetch(const struct ring *ring, uint32_t from, uint32_t to)
{
	if (to - from > RING_PREFETCH_BYTES)
		to = from + RING_PREFETCH_BYTES;
	for (; (int32_t)(to - from) > 0; from += RING_LINE_BYTES)
		__builtin_prefetch(ring_at(ring, from));
}

/* A line that is soon written as a whole. */
static inline void
ring_prefetch_write(const struct ring *ring, uint32_t pos)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0"
			 :
			 : "m"(*(const char *)ring_at(ring, pos)));
#else
	__builtin_prefetch(ring_at(ring, pos), 1);
#endif
}

/*
 * What the first SGE of the WQE at this position points to, if that is a WQE of
 * the usual form: short OOB, one BU. Nothing depends on what is read here.
 */
static inline void
wq_prefetch_data(const struct wq *wq, uint32_t pos)
{
	uint8_t addr[sizeof(uint64_t)];

	if (!mem_is_direct(wq->ring.process) ||
	    ring_read(&wq->ring,
		      pos + HW_WQE_HEADER_BYTES + HW_SHORT_OOB_BYTES +
			      HW_SGE_ADDR_OFF,
		      addr, sizeof(addr)) < 0)
		return;
	__builtin_prefetch((const void *)(uintptr_t)hw_le64(addr));
}

/* Violation at a queue, at its present index. */
void wq_violation(const struct wq *wq, enum violation violation,
		  const void *bytes, size_t nb_bytes);
void cq_violation(const struct cq *cq, enum violation violation,
		  const void *bytes, size_t nb_bytes);

/* A new CQ, empty and armed (OpenVMM emu/queues.rs CqEq::new). */
void cq_reset(struct cq *cq);

/*
 * Write one CQE, its last word last: the trailer, to which the owner bits of the
 * lap are added (xor). strict: a CQ not rung for 8 laps stops.
 * True when the CQ was armed and the event is now due.
 */
bool cq_post(struct cq *cq, uint8_t cqe[HW_CQE_BYTES], uint32_t trailer,
	     bool strict);
/* The last one was too many, and not by the driver's fault. */
void cq_flooded(struct cq *cq);

/*
 * The CQ doorbell, tail modulo 8 N. True when it was armed behind the device,
 * so that the event is due at once.
 * must_advance: an index that is not beyond the last one is not heard.
 */
bool cq_doorbell(struct cq *cq, uint32_t tail, bool arm, bool must_advance);

/* Whether the program can see a CQE that was not counted yet. */
bool cq_is_written(const struct cq *cq);

/* A new work queue: nothing posted. */
void wq_reset(struct wq *wq);

static inline uint32_t
wq_posted_bytes(const struct wq *wq)
{
	return wq->pi - wq->ci;
}

/* The tail in bytes; false when the doorbell was refused or did nothing. */
bool wq_doorbell(struct wq *wq, uint32_t tail);

/* Whole WQEs between two positions; stops where their sizes make no sense. */
uint32_t wq_count(const struct wq *wq, uint32_t from, uint32_t to);

/*
 * Keeps nb_wqes right after an accepted doorbell that moved pi from old_pi,
 * and names the breach when the CQ has not an entry for each WQE.
 */
void wq_check_outstanding(struct wq *wq, const struct cq *cq, uint32_t old_pi);

#endif /* MODEL_QUEUE_H */
