/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device's side of its rings: work queues that it reads, completion queues
 * that it writes, and the effect of doorbells on both.
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
#include "mem.h"
#include "violation_log.h"

struct ring {
	uint32_t process; /* address space */
	uint32_t size_bytes;
	uint64_t addr;
};

struct cq {
	bool is_alive;
	bool is_armed;
	bool is_stopped; /* overflowed, or its memory is unmapped */
	bool is_used; /* a work queue uses it */
	uint32_t id, fn, pdn, page;
	struct ring ring;
	uint32_t nb_cqes; /* N, a power of two */
	uint32_t log_n;
	uint32_t pi; /* next CQE to write; starts at N */
	uint32_t rung_pi; /* pi when the doorbell was last rung */
	uint32_t rung_idx; /* index of that doorbell, modulo 8 N */
	uint32_t rung_at; /* the same, free running */
	/* Injected CQEs exceed what the driver expects, up to this index. */
	bool is_flooded;
	uint32_t flood_pi;
};

/* Up to four packets, or eight, collected for a common CQE. */
struct rx_open {
	uint32_t nb_packets;
	uint32_t flags;
	uint32_t wqe_offset; /* of the first packet */
	uint64_t opened_ns;
	bool is_listed; /* in the card's list of open CQEs */
	bool is_closing; /* the next CQE to write is this one */
	uint32_t len_bytes[HW_RX_CQE_8_NB_PKTS];
	uint32_t hash[HW_RX_CQE_8_NB_PKTS];
};

struct wq {
	bool is_alive;
	bool is_sq;
	bool is_disabled; /* after a GDMA error; only re-creation helps */
	bool is_pending; /* in its process's pending list (device thread) */
	uint32_t id, fn, port, pdn, page;
	uint32_t cq; /* index of its CQ */
	uint32_t counter; /* index of its record at the port */
	struct ring ring;
	uint32_t pi; /* bytes: tail of the last accepted doorbell */
	uint32_t ci; /* bytes: next WQE to fetch */
	/*
	 * Posted WQEs not consumed; counted only if the CQ may be too small.
	 * SQ: those before counted_to; 0: none was counted.
	 */
	uint32_t nb_wqes;
	uint32_t counted_to;
	/* SQ: bytes of WQEs since the last one with a CQE. */
	uint32_t bytes_without_cqe;
	uint32_t next_pending;
	struct rx_open rx; /* RQ */
	/*
	 * Injected faults: held CQEs, number of extra CQEs to come, and whether
	 * the driver may have seen completions of WQEs that are not completed.
	 */
	uint32_t held_first, held_last;
	uint32_t nb_spurious;
	bool saw_bogus_cqe;
};

/* Whether the hardware accepts it: >= 4096 bytes, power of 2, 4096-aligned. */
bool ring_is_valid(uint64_t addr, uint64_t size_bytes);

/* Read at a free-running position, across the ring's end. 0 or -EFAULT. */
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

/* Say what is wrong with an SGE that mem_region_check() refused, or with its memory. */
void sge_detail(const struct mem_table *table, uint32_t pdn,
		const struct hw_sge *sge, enum mem_fault fault);
/* Record a violation of a queue, with its current index. */
void wq_violation(const struct wq *wq, enum violation violation,
		  const void *bytes, size_t nb_bytes);
void cq_violation(const struct cq *cq, enum violation violation,
		  const void *bytes, size_t nb_bytes);

/* A new CQ, empty and armed (OpenVMM emu/queues.rs CqEq::new). */
void cq_reset(struct cq *cq);

/*
 * Write one CQE. The trailer word is written last, with the owner bits of the
 * lap xored in. strict: a CQ without a doorbell for 8 laps stops. True if the CQ
 * was armed and the event is due.
 */
bool cq_post(struct cq *cq, uint8_t cqe[HW_CQE_BYTES], uint32_t trailer,
	     bool strict);
/* The last CQE was injected and overflows the CQ: not the driver's fault. */
void cq_flooded(struct cq *cq);

/*
 * The CQ doorbell, tail modulo 8 N. True if it arms the CQ at an index behind
 * the device's, so that the event is due at once. must_advance: ignore an index
 * that is not beyond the last one.
 */
bool cq_doorbell(struct cq *cq, uint32_t tail, bool arm, bool must_advance);

/* Whether the next CQE is visible to the program but not counted yet. */
bool cq_is_written(const struct cq *cq);

/* A new work queue: nothing posted. */
void wq_reset(struct wq *wq);

static inline uint32_t
wq_posted_bytes(const struct wq *wq)
{
	return wq->pi - wq->ci;
}

/* The doorbell, tail in bytes; false if it was refused or had no effect. */
bool wq_doorbell(struct wq *wq, uint32_t tail);

/* Whole WQEs between two positions, up to one with an invalid size. */
uint32_t wq_count(const struct wq *wq, uint32_t from, uint32_t to);

/*
 * Update nb_wqes after an accepted doorbell that moved pi from old_pi. Records
 * a violation if the CQ has fewer entries than there are WQEs.
 */
void wq_check_outstanding(struct wq *wq, const struct cq *cq, uint32_t old_pi);

#endif /* MODEL_QUEUE_H */
