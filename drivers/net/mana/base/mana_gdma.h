/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rings: work queues and completion queues as free-running indices over ring
 * memory, and doorbells. This layer does not know packets.
 *
 * An index has 32 bits and wraps at 2^32, a multiple of every ring size. The
 * mask is applied at the access, so full and empty rings have different
 * indices. Only the thread that owns the queue may call these functions.
 */

#ifndef MANA_GDMA_H
#define MANA_GDMA_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_atomic.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_io.h>

#include "mana_compat.h"
#include "mana_hw.h"
#include "mana_process.h"

/* An SQ or RQ. pi and ci count BUs and start at 0. */
struct mana_wq {
	uint64_t *ring;
	uintptr_t db; /* mana_db_offset() of the doorbell of this kind of queue */
	uint32_t mask_bu; /* ring size in BU, less one */
	uint32_t id;
	uint32_t pi; /* first BU not yet written */
	uint32_t ci; /* first BU that the device may still read */
};

/* A completion queue, used by one work queue. */
struct mana_cq {
	struct gdma_cqe *ring;
	uintptr_t db; /* mana_db_offset() */
	uint32_t mask; /* number of CQEs, less one */
	uint32_t lap_shift; /* shifts the lap of an index to the owner bits */
	uint32_t trailer; /* of this queue's CQEs, without the owner bits */
	uint32_t ci; /* next CQE to read; starts in lap 1, at the number of CQEs */
	uint32_t rung; /* ci of the last doorbell */
	uint32_t id;
};

/* A work queue and its CQ, as kernel and device have made them. */
struct mana_queue_rings {
	void *ring;
	uint32_t ring_bytes; /* power of two */
	uint32_t id; /* of an Rx queue and its CQ: once the RSS QP exists */
	uint32_t vp_offset; /* tx vPort offset that every WQE carries; Tx only */
	void *cq_ring;
	uint32_t nb_cqe; /* power of two, at least 64 */
	uint32_t cq_id;
	volatile void *db_page;
};

#define MANA_CQ_OWNER_M ((uint32_t)GDMA_CQE_OWNER_M << GDMA_CQE_OWNER_S)
/* Trailer bits that decide whether a CQE is valid and of this work queue. */
#define MANA_CQ_TRAILER_M (MANA_CQ_OWNER_M | UINT32_C(1) << GDMA_CQE_IS_SQ_S | GDMA_CQE_WQ_M)
/* A bit outside of the mask above: with it, no CQE matches. */
#define MANA_CQ_CLOSED (UINT32_C(1) << 25)

static inline bool
mana_ring_size_is_valid(const void *ring, uint64_t size_bytes)
{
	return ring != NULL && ((uintptr_t)ring & (GDMA_RING_MIN_BYTES - 1)) == 0 &&
	       size_bytes >= GDMA_RING_MIN_BYTES && size_bytes <= UINT32_C(1) << 28 &&
	       (size_bytes & (size_bytes - 1)) == 0;
}

/*
 * Initialise an empty work queue on ring memory. mana_wq_open() sets the identifier,
 * which is unknown until the device object exists. db_offset: GDMA_DB_SQ_OFFSET or
 * GDMA_DB_RQ_OFFSET. Returns 0, or -EINVAL if the ring is not page aligned, not a power
 * of two or smaller than 4096 bytes; the work queue is unchanged then.
 */
static inline int
mana_wq_init(struct mana_wq *wq, void *ring, uint32_t size_bytes, volatile void *db_page,
	     uint32_t db_offset)
{
	if (!mana_ring_size_is_valid(ring, size_bytes) || db_page == NULL)
		return -EINVAL;
	*wq = (struct mana_wq){
		.ring = ring,
		.db = mana_db_offset(db_page) + db_offset,
		.mask_bu = size_bytes / GDMA_BU_BYTES - 1,
	};
	return 0;
}

static inline void
mana_wq_open(struct mana_wq *wq, uint32_t id)
{
	wq->id = id & GDMA_DB_ID_M;
}

static inline uint64_t *
mana_wq_bu(const struct mana_wq *wq, uint32_t idx)
{
	return wq->ring + (size_t)(idx & wq->mask_bu) * GDMA_BU_WORDS;
}

static inline uint32_t
mana_wq_free_bu(const struct mana_wq *wq)
{
	return wq->mask_bu + 1 - (wq->pi - wq->ci);
}

/* Size of a WQE whose SGL starts at sgl_bytes. */
static inline uint32_t
mana_wqe_bu(uint32_t sgl_bytes, uint32_t nb_sge)
{
	return (sgl_bytes + nb_sge * GDMA_SGE_BYTES + GDMA_BU_BYTES - 1) >> GDMA_BU_SHIFT;
}

/*
 * Store to a doorbell register. The page is mapped write-combining. Therefore
 * even x86 does not order earlier stores to the ring before this store
 * (rte_io_wmb() does not suffice), and this store may stay in the buffer
 * (rdma-core providers/mana/doorbells.h). The driver has no other store fence.
 *
 * On arm64 rte_wmb() is a dmb oshst, as in libmana (util/udma_barrier.h,
 * udma_to_device_barrier) and before each of Linux's register stores
 * (arch/arm64/include/asm/io.h, __io_bw). To flush the write-combining buffer takes
 * a dsb there (rdma-core util/udma_barrier.h, mmio_flush_writes).
 */
static inline void
mana_db_ring(uintptr_t db, uint64_t value)
{
	rte_wmb();
	rte_write64_relaxed(rte_cpu_to_le_64(value),
			    (volatile void *)((uintptr_t)mana_db_window + db));
#ifdef RTE_ARCH_ARM64
	asm volatile("dsb st" ::: "memory");
#else
	rte_wmb();
#endif
}

/* Pass everything up to a BU to the device. */
static inline void
mana_wq_ring_at(const struct mana_wq *wq, uint32_t bu)
{
	/* One shift: what passes the field's 32 bits is shifted out. */
	mana_db_ring(wq->db, MANA_SHIFT_VAL64(bu, GDMA_BU_SHIFT + GDMA_DB_TAIL_S) | wq->id);
}

/*
 * Initialise the empty CQ of an SQ (is_sq) or RQ on ring memory, which must be all zeros:
 * zeros are the owner bits of the lap before the first. Returns as mana_wq_init().
 */
static inline int
mana_cq_init(struct mana_cq *cq, void *ring, uint32_t nb_cqe, bool is_sq, volatile void *db_page)
{
	if (!mana_ring_size_is_valid(ring, (uint64_t)nb_cqe * GDMA_CQE_BYTES) || db_page == NULL)
		return -EINVAL;
	*cq = (struct mana_cq){
		.ring = ring,
		.db = mana_db_offset(db_page) + GDMA_DB_CQ_OFFSET,
		.mask = nb_cqe - 1,
		.lap_shift = GDMA_CQE_OWNER_S - rte_bsf32(nb_cqe),
		.trailer = (uint32_t)is_sq << GDMA_CQE_IS_SQ_S | MANA_CQ_CLOSED,
		.ci = nb_cqe,
		.rung = nb_cqe,
	};
	return 0;
}

/* Set the identifiers; from now on, accept the CQEs of this work queue. */
static inline void
mana_cq_open(struct mana_cq *cq, uint32_t id, uint32_t wq_id)
{
	cq->id = id & GDMA_DB_ID_M;
	cq->trailer &= UINT32_C(1) << GDMA_CQE_IS_SQ_S;
	cq->trailer |= wq_id & GDMA_CQE_WQ_M;
}

/* Accept no CQE from now on. The check costs a poll nothing. */
static inline void
mana_cq_close(struct mana_cq *cq)
{
	cq->trailer |= MANA_CQ_CLOSED;
}

static inline bool
mana_cq_is_closed(const struct mana_cq *cq)
{
	return (cq->trailer & MANA_CQ_CLOSED) != 0;
}

static inline uint32_t
mana_cq_size(const struct mana_cq *cq)
{
	return cq->mask + 1;
}

static inline const struct gdma_cqe *
mana_cq_cqe(const struct mana_cq *cq, uint32_t idx)
{
	return &cq->ring[idx & cq->mask];
}

/* The owner bits, shifted, that the device writes in the lap of idx. */
static inline uint32_t
mana_cq_owner(const struct mana_cq *cq, uint32_t idx)
{
	return (idx << cq->lap_shift) & MANA_CQ_OWNER_M;
}

/*
 * Load a word that the device writes, once. A ring is ordinary memory: a register accessor
 * (rte_read32()) would prevent addressing with an offset on arm64.
 */
static inline uint32_t
mana_cqe_load(const uint32_t *word)
{
	return rte_le_to_cpu_32(*(const volatile uint32_t *)word);
}

/* The word that says whether a CQE is valid and names its work queue. */
static inline uint32_t
mana_cq_trailer(const struct mana_cq *cq, uint32_t idx)
{
	return mana_cqe_load(&mana_cq_cqe(cq, idx)->trailer);
}

/* The trailer of this queue's CQEs in the lap of idx. No CQE of a closed queue has it. */
static inline uint32_t
mana_cq_trailer_wanted(const struct mana_cq *cq, uint32_t idx)
{
	return cq->trailer | mana_cq_owner(cq, idx);
}

static inline bool
mana_cq_trailer_is(uint32_t trailer, uint32_t want)
{
	return (trailer & MANA_CQ_TRAILER_M) == want;
}

/*
 * Is the CQE at idx valid, and of this work queue? If so, the caller may read
 * its data: the barrier orders the load of the owner bits before that.
 */
static inline bool
mana_cq_is_ours(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	if (!mana_cq_trailer_is(trailer, mana_cq_trailer_wanted(cq, idx)))
		return false;
	rte_io_rmb();
	return true;
}

/* Copy a CQE, which the device may change at any time: decisions are made on the copy. */
static inline void
mana_cqe_copy(struct gdma_cqe *copy, const struct gdma_cqe *cqe)
{
	/* Not memcpy(): as a function it may load a word twice. */
	typedef uint64_t word __attribute__((vector_size(16), may_alias, aligned(4)));
	const volatile word *from = (const volatile word *)cqe;
	word *to = (word *)copy;

	for (uint32_t i = 0; i < sizeof(*copy) / sizeof(*to); i++)
		to[i] = from[i];
	rte_compiler_barrier();
}

/* Copy the CQE at idx if it is ours. */
static inline bool
mana_cq_copy(const struct mana_cq *cq, uint32_t idx, struct gdma_cqe *copy)
{
	if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
		return false;
	mana_cqe_copy(copy, mana_cq_cqe(cq, idx));
	return true;
}

/* If mana_cq_is_ours() returned false: is it the previous lap's? The queue is not closed. */
static inline bool
mana_cq_is_empty(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	/* The owner bits of an empty CQE, less those of the lap of idx, are all set. */
	return trailer - mana_cq_owner(cq, idx) >= MANA_CQ_OWNER_M;
}

enum mana_cqe_state {
	MANA_CQE_EMPTY, /* not yet written, or the queue is closed */
	MANA_CQE_FOREIGN, /* valid, but of another work queue: skip and count */
	MANA_CQE_OVERRUN, /* the device overwrote unread CQEs: the queue fails */
};

/* Why mana_cq_is_ours() returned false, from the same trailer. */
static inline enum mana_cqe_state
mana_cq_state(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	uint32_t owner = trailer & MANA_CQ_OWNER_M;

	if (likely(owner == mana_cq_owner(cq, idx - mana_cq_size(cq))) || mana_cq_is_closed(cq))
		return MANA_CQE_EMPTY;
	return owner == mana_cq_owner(cq, idx) ? MANA_CQE_FOREIGN : MANA_CQE_OVERRUN;
}

/*
 * Report the position in the CQ to the device, which may then overwrite the CQEs
 * before it. The fence orders only stores, and on arm64 an earlier load may pass
 * it. This is safe: each word loaded from a CQE was stored to an mbuf or to the
 * queue, or decided a branch, before the doorbell, and such a load cannot be
 * delayed past it (Arm ARM, B2.3: data and control dependencies).
 *
 * Without arm, the driver reports one CQE less, as rdma-core does
 * (providers/mana/doorbells.h): a device that accepts no index twice accepts a following arm
 * even if no CQE was read in between. No existing driver rings a CQ backwards, so without
 * arm at least one CQE must have been read since the last doorbell. An arm may repeat the
 * index, and requests one event at the next CQE, or at once if there is one.
 */
static inline void
mana_cq_ring(struct mana_cq *cq, bool arm)
{
	uint32_t idx = arm ? cq->ci : cq->ci - 1;
	uint32_t tail = idx & (mana_cq_size(cq) * 8 - 1);

	cq->rung = cq->ci;
	mana_db_ring(cq->db, MANA_SHIFT_VAL64(arm, GDMA_DB_CQ_ARM_S) |
			     MANA_SHIFT_VAL64(tail, GDMA_DB_TAIL_S) | cq->id);
}

/*
 * Ring the CQ without arm if half a lap has been read since the last doorbell.
 * The owner bits count 8 laps, and only a doorbell gives the device the position
 * (Linux mana_en.c mana_cq_handler). If callers check this after at most half a
 * lap, each lap has a doorbell; with bursts as large as the ring, each second lap
 * has one. Returns true if it has rung. ASSUMED: cq-position
 */
static inline bool
mana_cq_update(struct mana_cq *cq)
{
	if (likely(cq->ci - cq->rung <= cq->mask >> 1))
		return false;
	mana_cq_ring(cq, false);
	return true;
}

#endif /* MANA_GDMA_H */
