/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>

#include "mem.h"
#include "queue.h"
#include "trace_layout.h"

bool
ring_is_valid(uint64_t addr, uint64_t size_bytes)
{
	return size_bytes >= HW_RING_MIN_BYTES && size_bytes <= 1u << 30 &&
	       (size_bytes & (size_bytes - 1)) == 0 &&
	       addr % HW_RING_ALIGN_BYTES == 0;
}

int
ring_read_wrapped(const struct ring *ring, uint32_t pos, void *buf,
		  uint32_t nb_bytes)
{
	uint32_t at = pos & (ring->size_bytes - 1);
	uint32_t first = ring->size_bytes - at;

	if (mem_read(ring->process, ring->addr + at, buf, first) < 0)
		return -EFAULT;
	return mem_read(ring->process, ring->addr, (uint8_t *)buf + first,
			nb_bytes - first);
}

void
wq_violation(const struct wq *wq, enum violation violation, const void *bytes,
	     size_t nb_bytes)
{
	const bool is_fault = violation == VIOLATION_wqe_memory_fault ||
			      violation == VIOLATION_sge_memory_fault;
	struct violation_place place = {
		.fn = wq->fn,
		.kind = wq->is_sq ? VIOLATION_QUEUE_SQ : VIOLATION_QUEUE_RQ,
		.queue = wq->id,
		.index = wq->ci / HW_BU_BYTES,
	};

	if (is_fault && mem_is_ending(wq->ring.process)) {
		violation_detail("%s", "");
		return;
	}
	if (violation == VIOLATION_wqe_memory_fault)
		violation_detail("got no read access to a ring of %u bytes at 0x%" PRIx64
				 ", want it mapped while the queue exists",
				 wq->ring.size_bytes, wq->ring.addr);
	violation_record(violation, &place, bytes, nb_bytes);
}

void
cq_violation(const struct cq *cq, enum violation violation, const void *bytes,
	     size_t nb_bytes)
{
	struct violation_place place = {
		.fn = cq->fn,
		.kind = VIOLATION_QUEUE_CQ,
		.queue = cq->id,
		.index = cq->pi,
	};

	if (violation == VIOLATION_cq_memory_fault &&
	    mem_is_ending(cq->ring.process))
		return;
	if (violation == VIOLATION_cq_memory_fault)
		violation_detail("got no write access to a ring of %u bytes at 0x%" PRIx64
				 ", want it mapped while the queue exists",
				 cq->ring.size_bytes, cq->ring.addr);
	violation_record(violation, &place, bytes, nb_bytes);
}

void
sge_detail(const struct mem_table *table, uint32_t pdn,
	   const struct hw_sge *sge, enum mem_fault fault)
{
	const struct mem_region *r = mem_region_find(table, sge->key);

	switch (fault) {
	case MEM_KEY_UNKNOWN:
		violation_detail("got key 0x%x, want that of a region that exists",
				 sge->key);
		break;
	case MEM_KEY_FOREIGN_PD:
		violation_detail(
			"got key 0x%x of PD %u, want one of PD %u, the queue's",
			sge->key, r->pdn, pdn);
		break;
	case MEM_OUT_OF_RANGE:
		violation_detail("got %u bytes at 0x%" PRIx64
				 ", want a part of the %" PRIu64
				 " bytes at 0x%" PRIx64 " of key 0x%x",
				 sge->size_bytes, sge->addr, r->size_bytes,
				 r->iova, sge->key);
		break;
	case MEM_NO_WRITE_ACCESS:
		violation_detail("got key 0x%x, registered for reading, want local write "
				 "access",
				 sge->key);
		break;
	default:
		violation_detail("got %u bytes at 0x%" PRIx64
				 " of key 0x%x that cannot be "
				 "accessed, want memory mapped while it is registered",
				 sge->size_bytes, sge->addr, sge->key);
	}
}

void
cq_reset(struct cq *cq)
{
	cq->nb_cqes = cq->ring.size_bytes / HW_CQE_BYTES;
	cq->log_n = (uint32_t)__builtin_ctz(cq->nb_cqes);
	cq->pi = cq->nb_cqes;
	cq->rung_pi = cq->pi;
	cq->rung_idx = cq->pi;
	cq->rung_at = cq->pi;
	cq->is_armed = true;
	cq->is_stopped = false;
	if (mem_is_zero(cq->ring.process, cq->ring.addr, cq->ring.size_bytes) != 0)
		return;
	violation_detail("got other bytes in the %u bytes at 0x%" PRIx64
			 ", want zeros",
			 cq->ring.size_bytes, cq->ring.addr);
	cq_violation(cq, VIOLATION_cq_memory_not_zero, NULL, 0);
}

/* Linux mana_en.c mana_cq_handler: ring within 8 laps of the ring. */
static void
cq_check_laps(struct cq *cq, bool strict)
{
	if (cq->pi - cq->rung_pi < HW_OWNER_LAPS * cq->nb_cqes)
		return;
	violation_detail("got %u CQEs since the last doorbell, want a doorbell within %u "
			 "(8 laps of %u)",
			 cq->pi - cq->rung_pi, HW_OWNER_LAPS * cq->nb_cqes,
			 cq->nb_cqes);
	cq_violation(cq, VIOLATION_cq_no_doorbell_8_laps, NULL, 0);
	cq->rung_pi = cq->pi; /* record it once per missed doorbell */
	cq->is_stopped = strict;
}

bool
cq_post(struct cq *cq, uint8_t cqe[HW_CQE_BYTES], uint32_t trailer, bool strict)
{
	const uint32_t owner = cq->pi >> cq->log_n & HW_CQE_OWNER_M;
	const uint32_t at = (cq->pi & (cq->nb_cqes - 1)) * HW_CQE_BYTES;
	bool event;

	cq_check_laps(cq, strict);
	if (cq->is_stopped)
		return false;
	hw_put_le32(cqe + HW_CQE_TRAILER_OFF, trailer ^ owner << HW_CQE_OWNER_S);
	/* Before the CQE, so that its line exists when the program sees it. */
	if (trace_is_on(TRACE_cqe))
		trace_cqe(cq, cqe);
	if (mem_write_last_word(cq->ring.process, cq->ring.addr + at, cqe,
				HW_CQE_BYTES) < 0) {
		cq_violation(cq, VIOLATION_cq_memory_fault, cqe, HW_CQE_BYTES);
		cq->is_stopped = true;
		return false;
	}
	cq->pi++;
	event = cq->is_armed;
	cq->is_armed = false; /* one shot */
	return event;
}

void
cq_flooded(struct cq *cq)
{
	cq->is_flooded = true;
	cq->flood_pi = cq->pi;
	cq->rung_pi++; /* not counted in the 8 laps */
}

bool
cq_is_written(const struct cq *cq)
{
	const uint32_t at = (cq->pi & (cq->nb_cqes - 1)) * HW_CQE_BYTES;
	uint8_t trailer[sizeof(uint32_t)];

	return mem_read(cq->ring.process,
			cq->ring.addr + at + HW_CQE_TRAILER_OFF, trailer,
			sizeof(trailer)) == 0 &&
	       hw_le32(trailer) >> HW_CQE_OWNER_S ==
		       (cq->pi >> cq->log_n & HW_CQE_OWNER_M);
}

/*
 * The free-running index of a doorbell, from its distance behind the device's:
 * up to a ring in either direction. False beyond that: overflow.
 */
static bool
cq_doorbell_at(const struct cq *cq, uint32_t behind, bool arm, uint32_t *at)
{
	const uint32_t laps = HW_OWNER_LAPS * cq->nb_cqes;
	const bool is_behind = behind <= cq->nb_cqes + !arm;

	*at = is_behind ? cq->pi - behind : cq->pi + (laps - behind);
	return is_behind || laps - behind <= cq->nb_cqes;
}

/* Repeating the index is allowed: Linux arms a CQ that it found empty. */
static void
cq_check_backwards(struct cq *cq, uint32_t tail, bool arm)
{
	const uint32_t laps = HW_OWNER_LAPS * cq->nb_cqes;
	uint32_t at;

	if (!cq_doorbell_at(cq, (cq->pi - tail) & (laps - 1), arm, &at))
		return;
	if ((int32_t)(at - cq->rung_at) < 0) {
		violation_detail("got index %u, want %u or later (modulo %u)",
				 tail, cq->rung_at & (laps - 1), laps);
		cq_violation(cq, VIOLATION_cq_doorbell_backwards, &tail,
			     sizeof(tail));
	}
	cq->rung_at = at;
}

/*
 * OpenVMM emu/queues.rs CqEq::doorbell, with two changes that rdma-core's
 * driver needs (providers/mana/doorbells.h gdma_ring_cq_doorbell()). To arm
 * again without polling, it uses an index ahead of the device's. Without arm,
 * its index is one behind what it has polled, so that it is N + 1 behind with a
 * full CQ.
 */
bool
cq_doorbell(struct cq *cq, uint32_t tail, bool arm, bool must_advance)
{
	const uint32_t laps = HW_OWNER_LAPS * cq->nb_cqes;
	const uint32_t advance = (tail - cq->rung_idx) & (laps - 1);
	uint32_t behind;

	cq_check_backwards(cq, tail, arm);
	if (must_advance && (advance == 0 || advance > laps / 2))
		return false;
	if (tail >= laps) {
		violation_detail("got index %u, want %u (modulo 8 laps of %u CQEs)",
				 tail, tail & (laps - 1), cq->nb_cqes);
		cq_violation(cq, VIOLATION_cq_doorbell_range, &tail,
			     sizeof(tail));
	}
	cq->rung_pi = cq->pi;
	cq->rung_idx = tail & (laps - 1);
	behind = (cq->pi - tail) & (laps - 1);
	if (cq->is_flooded && (int32_t)(cq->pi - behind - cq->flood_pi) >= 0)
		cq->is_flooded = false; /* the driver has polled the injected CQEs */

	if (behind <= cq->nb_cqes + !arm) {
		cq->is_armed = arm && behind == 0;
		return arm && behind != 0;
	}
	if (laps - behind <= cq->nb_cqes) {
		if (!arm) {
			violation_detail("got index %u, want %u or earlier, up to which "
					 "the device has written",
					 tail, cq->pi & (laps - 1));
			cq_violation(cq, VIOLATION_cq_doorbell_ahead, &tail,
				     sizeof(tail));
		}
		cq->is_armed = arm;
		return false;
	}
	if (!cq->is_flooded) {
		violation_detail("got index %u, %u CQEs behind the device's %u, want at most "
				 "the ring's %u",
				 tail, behind, cq->pi & (laps - 1), cq->nb_cqes);
		cq_violation(cq, VIOLATION_cq_overflow, &tail, sizeof(tail));
	}
	return false;
}

void
wq_reset(struct wq *wq)
{
	wq->pi = 0;
	wq->ci = 0;
	wq->nb_wqes = 0;
	wq->bytes_without_cqe = 0;
	wq->is_disabled = false;
	wq->rx.nb_packets = 0;
	wq->held_first = wq->held_last = 0;
	wq->nb_spurious = 0;
	wq->saw_bogus_cqe = false;
}

/* OpenVMM emu/queues.rs Wq::doorbell. */
bool
wq_doorbell(struct wq *wq, uint32_t tail)
{
	const uint32_t posted = tail - wq->ci;

	if (tail == wq->pi)
		return false; /* no new WQE: harmless */
	if (tail % HW_BU_BYTES != 0) {
		violation_detail("got tail %u, want a multiple of 32: it counts bytes, not "
				 "units of 32 or WQEs",
				 tail);
		wq_violation(wq, VIOLATION_doorbell_misaligned, &tail,
			     sizeof(tail));
		return false;
	}
	if ((int32_t)(tail - wq->pi) < 0) {
		violation_detail("got tail %u, want %u or later (modulo 2^32)",
				 tail, wq->pi);
		wq_violation(wq, VIOLATION_doorbell_backwards, &tail,
			     sizeof(tail));
		return false;
	}
	if (posted > wq->ring.size_bytes) {
		if (wq->saw_bogus_cqe)
			return false;
		violation_detail("got tail %u, %u bytes ahead of the oldest WQE at %u, want at "
				 "most the ring's %u",
				 tail, posted, wq->ci, wq->ring.size_bytes);
		wq_violation(wq, VIOLATION_doorbell_beyond_ring, &tail,
			     sizeof(tail));
		return false;
	}
	wq->pi = tail;
	return true;
}

uint32_t
wq_count(const struct wq *wq, uint32_t from, uint32_t to)
{
	uint8_t header[HW_WQE_HEADER_BYTES];
	struct hw_wqe wqe;
	uint32_t n = 0;

	while ((int32_t)(to - from) > 0) {
		if (ring_read(&wq->ring, from, header, sizeof(header)) < 0)
			break;
		wqe = hw_wqe_read(header);
		from += hw_wqe_bytes(&wqe);
		n++;
	}
	return n;
}

void
wq_check_outstanding(struct wq *wq, const struct cq *cq, uint32_t old_pi)
{
	/* A WQE has at least one BU. */
	if (wq->ring.size_bytes / HW_BU_BYTES <= cq->nb_cqes)
		return;
	if (!wq->is_sq) {
		wq->nb_wqes += wq_count(wq, old_pi, wq->pi);
	} else {
		/* Common case: too few are posted to count them one by one. */
		if (wq_posted_bytes(wq) / HW_BU_BYTES <= cq->nb_cqes)
			return;
		/* A program that changes posted WQEs makes the count wrong. */
		if (wq->nb_wqes == 0 ||
		    wq->counted_to - wq->ci > wq_posted_bytes(wq)) {
			wq->nb_wqes = 0;
			wq->counted_to = wq->ci;
		}
		wq->nb_wqes += wq_count(wq, wq->counted_to, wq->pi);
		wq->counted_to = wq->pi;
	}
	if (wq->nb_wqes > cq->nb_cqes) {
		violation_detail("got %u WQEs without a CQE, want at most %u, the entries of "
				 "CQ %u",
				 wq->nb_wqes, cq->nb_cqes, cq->id);
		wq_violation(wq, VIOLATION_cq_too_small, NULL, 0);
	}
}
