/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include "eq.h"
#include "msix.h"
#include "trace.h"

static void
eq_violation(const struct eq *eq, enum violation violation, const void *bytes,
	     size_t nb_bytes)
{
	const struct violation_place place = {
		.fn = eq->fn,
		.kind = VIOLATION_QUEUE_EQ,
		.queue = eq->id,
		.index = eq->pi,
	};

	if (violation == VIOLATION_eq_memory_fault &&
	    mem_is_ending(eq->ring.process))
		return;
	if (violation == VIOLATION_eq_memory_fault)
		violation_detail("got no write access to a ring of %u bytes at 0x%" PRIx64
				 ", want it shared while the queue exists",
				 eq->ring.size_bytes, eq->ring.addr);
	violation_record(violation, &place, bytes, nb_bytes);
}

void
eq_start(struct eq *eq)
{
	eq->nb_eqes = eq->ring.size_bytes / EQE_BYTES;
	eq->pi = eq->nb_eqes;
	eq->ci = eq->pi;
	eq->is_armed = true;
	eq->is_stopped = false;
	eq->is_alive = true;
	/* Zeros are the owner bits of "not written". */
	if (mem_is_zero(eq->ring.process, eq->ring.addr, eq->ring.size_bytes) != 0)
		return;
	violation_detail("got other bytes in the %u bytes of the ring, want zeros",
			 eq->ring.size_bytes);
	eq_violation(eq, VIOLATION_eq_memory_not_zero, NULL, 0);
}

/* Linux gdma_main.c mana_gd_process_eq_events: owner bits of 8 laps. */
void
eq_post(struct eq *eq, enum eqe_type type, uint32_t detail)
{
	const uint32_t owner = (eq->pi / eq->nb_eqes) & EQE_OWNER_M;
	const uint32_t at = (eq->pi & (eq->nb_eqes - 1)) * EQE_BYTES;
	uint8_t eqe[EQE_BYTES] = { 0 };

	if (eq->is_stopped)
		return;
	if (eq->pi - eq->ci >= eq->nb_eqes) {
		violation_detail("got %u EQEs that no doorbell has acknowledged, want room for "
				 "one more in the ring's %u",
				 eq->pi - eq->ci, eq->nb_eqes);
		eq_violation(eq, VIOLATION_eq_overflow, NULL, 0);
		eq->is_stopped = true;
		return;
	}
	hw_put_le32(eqe, detail);
	hw_put_le32(eqe + EQE_INFO_OFF, type | owner << EQE_OWNER_S);
	/* Before the EQE, so that its line exists when the guest sees it. */
	trace_event("kind=eqe fn=%u eq=%u index=%u type=%u detail=0x%x", eq->fn,
		    eq->id, eq->pi, type, detail);
	if (mem_write_last_word(eq->ring.process, eq->ring.addr + at, eqe,
				EQE_BYTES) < 0) {
		eq_violation(eq, VIOLATION_eq_memory_fault, eqe, EQE_BYTES);
		eq->is_stopped = true;
		return;
	}
	eq->pi++;
	if (!eq->is_armed)
		return;
	eq->is_armed = false; /* one shot */
	msix_raise(eq->fn, eq->vector);
}

bool
eq_doorbell(struct eq *eq, uint32_t index, bool arm)
{
	const uint32_t laps = HW_OWNER_LAPS * eq->nb_eqes;
	const uint32_t unread = (eq->pi - index) & (laps - 1);

	/* Ahead of the device, or behind an earlier doorbell. */
	if (index >= laps || unread > eq->pi - eq->ci) {
		violation_detail("got %u, want %u to %u (modulo 8 laps of %u EQEs)",
				 index, eq->ci & (laps - 1),
				 eq->pi & (laps - 1), eq->nb_eqes);
		eq_violation(eq, VIOLATION_eq_doorbell_index, &index,
			     sizeof(index));
		return false;
	}
	eq->ci = eq->pi - unread;
	eq->is_armed = arm && unread == 0;
	if (arm && unread != 0)
		msix_raise(eq->fn, eq->vector);
	return true;
}
