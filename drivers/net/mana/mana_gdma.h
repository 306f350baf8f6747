/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How a ring moves: work queues and completion queues as free-running
 * indices over ring memory, and doorbells. Knows no packet.
 *
 * Indices are 32 bits, run free and wrap at 2^32, a multiple of every ring
 * size; the mask is applied at the access. So full and empty differ by
 * arithmetic. All functions belong to the thread that owns the queue.
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

/* A send or receive queue. pi and ci count BUs and start at 0. */
struct mana_wq {
	uint64_t *ring;
	volatile void *db; /* the register of this kind of queue */
	uint32_t mask_bu; /* ring size in BU, less one */
	uint32_t id;
	uint32_t pi; /* first BU not yet written */
	uint32_t ci; /* first BU that the device may still read */
};

/* A completion queue, used by one work queue. */
struct mana_cq {
	struct gdma_cqe *ring;
	volatile void *db;
	uint32_t mask; /* number of CQEs, less one */
	uint32_t lap_shift; /* brings the lap of an index to the owner bits */
	uint32_t trailer; /* that of our CQEs, without the owner bits */
	uint32_t ci; /* next CQE to read; starts at the number of CQEs: lap 1 */
	uint32_t rung; /* ci of the last doorbell */
	uint32_t id;
};

/* Trailer bits that decide whether a CQE is valid and ours. */
#define MANA_CQ_TRAILER_M \
	((uint32_t)GDMA_CQE_OWNER_M << GDMA_CQE_OWNER_S | \
	 UINT32_C(1) << GDMA_CQE_IS_SQ_S | GDMA_CQE_WQ_M)
#define MANA_CQ_OWNER_M ((uint32_t)GDMA_CQE_OWNER_M << GDMA_CQE_OWNER_S)
/* Outside of the mask above: with this bit nothing ever matches. */
#define MANA_CQ_CLOSED (UINT32_C(1) << 25)

static inline bool
mana_ring_size_is_valid(const void *ring, uint64_t size_bytes)
{
	return ring != NULL && ((uintptr_t)ring & (GDMA_RING_MIN_BYTES - 1)) == 0 &&
	       size_bytes >= GDMA_RING_MIN_BYTES &&
	       (size_bytes & (size_bytes - 1)) == 0 &&
	       size_bytes <= UINT32_C(1) << 28;
}

/**
 * Lay an empty work queue over ring memory. The identifier is unknown until
 * the device object exists: mana_wq_open().
 *
 * @param db_offset
 *   GDMA_DB_SQ_OFFSET or GDMA_DB_RQ_OFFSET.
 * @return
 *   0, or -EINVAL when the ring is not page aligned, not a power of two or
 *   smaller than 4096 bytes; nothing has changed then.
 */
static inline int
mana_wq_init(struct mana_wq *wq, void *ring, uint32_t size_bytes,
	     volatile void *db_page, uint32_t db_offset)
{
	if (!mana_ring_size_is_valid(ring, size_bytes) || db_page == NULL)
		return -EINVAL;
	wq->ring = ring;
	wq->db = (volatile uint8_t *)db_page + db_offset;
	wq->mask_bu = size_bytes / GDMA_BU_BYTES - 1;
	wq->id = 0;
	wq->pi = 0;
	wq->ci = 0;
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
mana_wq_used_bu(const struct mana_wq *wq)
{
	return wq->pi - wq->ci;
}

static inline uint32_t
mana_wq_free_bu(const struct mana_wq *wq)
{
	return wq->mask_bu + 1 - mana_wq_used_bu(wq);
}

/* Size of a WQE whose SGL starts at sgl_bytes. */
static inline uint32_t
mana_wqe_bu(uint32_t sgl_bytes, uint32_t nb_sge)
{
	return (sgl_bytes + nb_sge * GDMA_SGE_BYTES + GDMA_BU_BYTES - 1) >>
	       GDMA_BU_SHIFT;
}

/*
 * Push what sits in the write-combining buffer out to the device. sfence does
 * it on x86; on arm64 it takes a dsb (rdma-core util/udma_barrier.h,
 * mmio_flush_writes), rte_wmb() being a dmb only.
 */
static __rte_always_inline void
mana_wc_flush(void)
{
#ifdef RTE_ARCH_ARM64
	asm volatile("dsb st" ::: "memory");
#else
	rte_wmb();
#endif
}

/**
 * Store to a doorbell register. The page is mapped write-combining, so the
 * stores to the ring are not ordered before this one by themselves, not even
 * on x86 (rte_io_wmb() would not do), and this one may linger in the buffer
 * (rdma-core providers/mana/doorbells.h). There is no other store fence in
 * the driver.
 *
 * On arm64 rte_wmb() is a dmb oshst, as in libmana (util/udma_barrier.h,
 * udma_to_device_barrier) and before each of Linux's register stores
 * (arch/arm64/include/asm/io.h, __io_bw).
 */
static inline void
mana_db_ring(volatile void *db, uint64_t value)
{
	rte_wmb();
	rte_write64_relaxed(rte_cpu_to_le_64(value), db);
	mana_wc_flush();
}

/* Everything up to pi becomes the device's. */
static inline void
mana_wq_ring(const struct mana_wq *wq)
{
	mana_db_ring(wq->db,
		     MANA_SHIFT_VAL64(wq->pi << GDMA_BU_SHIFT, GDMA_DB_TAIL_S) |
		     wq->id);
}

/**
 * Lay an empty completion queue over ring memory, which must be all zeros:
 * these are the owner bits of the lap before the first.
 *
 * @param is_sq
 *   Whether a send queue completes here.
 * @return
 *   0, or -EINVAL as mana_wq_init().
 */
static inline int
mana_cq_init(struct mana_cq *cq, void *ring, uint32_t nb_cqe, bool is_sq,
	     volatile void *db_page)
{
	if (!mana_ring_size_is_valid(ring, (uint64_t)nb_cqe * GDMA_CQE_BYTES) ||
	    db_page == NULL)
		return -EINVAL;
	cq->ring = ring;
	cq->db = (volatile uint8_t *)db_page + GDMA_DB_CQ_OFFSET;
	cq->mask = nb_cqe - 1;
	cq->lap_shift = GDMA_CQE_OWNER_S - rte_bsf32(nb_cqe);
	cq->trailer = MANA_SHIFT_VAL32(is_sq, GDMA_CQE_IS_SQ_S) |
		      MANA_CQ_CLOSED;
	cq->ci = nb_cqe;
	cq->rung = nb_cqe;
	cq->id = 0;
	return 0;
}

/* The identifiers are known now: accept the CQEs of this work queue. */
static inline void
mana_cq_open(struct mana_cq *cq, uint32_t id, uint32_t wq_id)
{
	cq->id = id & GDMA_DB_ID_M;
	cq->trailer &= UINT32_C(1) << GDMA_CQE_IS_SQ_S;
	cq->trailer |= wq_id & GDMA_CQE_WQ_M;
}

/* Accept nothing any more. Costs the poll nothing. */
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

/* The owner bits, in place, that the device writes in the lap of idx. */
static inline uint32_t
mana_cq_owner(const struct mana_cq *cq, uint32_t idx)
{
	return (idx << cq->lap_shift) & MANA_CQ_OWNER_M;
}

/*
 * One load of a word that the device writes; words are little endian. Rings
 * are ordinary memory: no accessor of registers, which arm64 gives no offset.
 */
static inline uint32_t
mana_cqe_load(const uint32_t *word)
{
	return rte_le_to_cpu_32(*(const volatile uint32_t *)word);
}

/*
 * The word that tells whose a CQE is. Loaded once: a second look might see
 * what has arrived in between.
 */
static inline uint32_t
mana_cq_trailer(const struct mana_cq *cq, uint32_t idx)
{
	return mana_cqe_load(&mana_cq_cqe(cq, idx)->trailer);
}

/*
 * The hot question: is the CQE at idx written, and by our work queue? When
 * so, its data may be read: the load of the owner bits comes first.
 */
static inline bool
mana_cq_is_ours(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	if ((trailer & MANA_CQ_TRAILER_M) !=
	    (cq->trailer | mana_cq_owner(cq, idx)))
		return false;
	rte_io_rmb();
	return true;
}

/*
 * The next question, when it is not: is it still that of the lap before? Not
 * asked of a queue that is closed.
 */
static inline bool
mana_cq_is_empty(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	return ((trailer + (UINT32_C(1) << GDMA_CQE_OWNER_S)) ^
		(idx << cq->lap_shift)) < UINT32_C(1) << GDMA_CQE_OWNER_S;
}

enum mana_cqe_state {
	MANA_CQE_EMPTY, /* not yet written, or the queue is closed */
	MANA_CQE_FOREIGN, /* valid, but of another work queue: skip and count */
	MANA_CQE_OVERRUN, /* the device overtook us: the queue is lost */
};

/* Why not? Asked of the same word when mana_cq_is_ours() said no. */
static inline enum mana_cqe_state
mana_cq_state(const struct mana_cq *cq, uint32_t idx, uint32_t trailer)
{
	uint32_t owner = trailer & MANA_CQ_OWNER_M;

	if (likely(owner == mana_cq_owner(cq, idx - mana_cq_size(cq))) ||
	    mana_cq_is_closed(cq))
		return MANA_CQE_EMPTY;
	return owner == mana_cq_owner(cq, idx) ? MANA_CQE_FOREIGN :
						 MANA_CQE_OVERRUN;
}

/*
 * CQEs that may be read until a whole lap has passed since the last doorbell:
 * the bound of a walk that has no other. mana_cq_update() keeps it above half a
 * ring.
 */
static inline uint32_t
mana_cq_credit(const struct mana_cq *cq)
{
	uint32_t nb_read = cq->ci - cq->rung;

	return mana_cq_size(cq) - RTE_MIN(nb_read, mana_cq_size(cq));
}

/*
 * Tell the device how far we have read: up to idx. Behind the doorbell it may
 * overwrite these CQEs, and only stores are fenced, which an earlier load may
 * still pass on arm64. But what was loaded of a CQE has been stored to an mbuf
 * or to the queue, or has decided a branch, before: no store behind these,
 * fenced or on the branch, is seen earlier (Arm ARM, B2.3: data and control
 * dependencies).
 */
static inline void
mana_cq_ring_at(struct mana_cq *cq, uint32_t idx, bool arm)
{
	uint32_t tail = idx & (mana_cq_size(cq) * 8 - 1);

	cq->rung = cq->ci;
	mana_db_ring(cq->db, MANA_SHIFT_VAL64(arm, GDMA_DB_CQ_ARM_S) |
			     MANA_SHIFT_VAL64(tail, GDMA_DB_TAIL_S) | cq->id);
}

/**
 * Tell the device how far we have read.
 *
 * Without arm one CQE less, as rdma-core does (providers/mana/doorbells.h): a
 * device that takes no index twice then takes the arm that may follow before
 * another CQE has come.
 *
 * @param arm
 *   Ask for one event at the next CQE (or at once, when there is one).
 */
static inline void
mana_cq_ring(struct mana_cq *cq, bool arm)
{
	mana_cq_ring_at(cq, arm ? cq->ci : cq->ci - 1, arm);
}

/* Ask for an event now, CQE or not: the device sees one that is not read. */
static inline void
mana_cq_ring_event(struct mana_cq *cq)
{
	mana_cq_ring_at(cq, cq->ci - 1, true);
}

/*
 * The owner bits count 8 laps, and the device learns our position only here
 * (Linux mana_en.c mana_cq_handler): ring about once a lap, unarmed. Half a lap
 * is the mark: who asks this after at most half a lap of small bursts rings in
 * each lap, and with bursts as large as the ring in each second one. Returns
 * whether it has rung.
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
