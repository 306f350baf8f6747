/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include "eq.h"
#include "inject_card.h"
#include "msix.h"
#include "random.h"
#include "trace.h"

/* An event to write. Its owner bits come last. */
struct event {
	uint32_t details[3];
	uint32_t type;
	bool is_wrong_owner;
	bool is_extra; /* with wrong owner bits: the next event overwrites it */
};

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
static void
put(struct eq *eq, const struct event *event)
{
	/* Wrong ones are neither of this lap nor of the last. */
	const uint32_t owner = (eq->pi / eq->nb_eqes +
				(event->is_wrong_owner ? 3 : 0)) & EQE_OWNER_M;
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
	for (uint32_t i = 0; i < 3; i++)
		hw_put_le32(eqe + 4 * i, event->details[i]);
	hw_put_le32(eqe + EQE_INFO_OFF, event->type | owner << EQE_OWNER_S);
	/* Before the EQE, so that its line exists when the guest sees it. */
	trace_event("kind=eqe fn=%u eq=%u index=%u type=%u detail=0x%x", eq->fn,
		    eq->id, eq->pi, event->type, event->details[0]);
	if (mem_write_last_word(eq->ring.process, eq->ring.addr + at, eqe,
				EQE_BYTES) < 0) {
		eq_violation(eq, VIOLATION_eq_memory_fault, eqe, EQE_BYTES);
		eq->is_stopped = true;
		return;
	}
	if (!event->is_wrong_owner || !event->is_extra)
		eq->pi++;
	if (!eq->is_armed)
		return;
	eq->is_armed = false; /* one shot */
	msix_raise(eq->fn, eq->vector);
}

/* Change an event as a bogus rule demands. */
static void
make_bogus(struct event *event, const struct inject_rule *rule)
{
	event->is_extra = rule->is_extra;
	switch (rule->kind) {
	case INJECT_TYPE:
		event->type = rule->value;
		break;
	case INJECT_WRONG_QUEUE: /* CQ 0 does not exist */
		event->type = EQE_COMPLETION;
		event->details[0] = 0;
		break;
	case INJECT_WRONG_OWNER:
		event->is_wrong_owner = true;
		break;
	case INJECT_RANDOM:
		random_fill(RANDOM_FAULT_BYTES, (uint8_t *)event->details,
			    sizeof(event->details));
		event->type = (uint8_t)event->details[2];
		break;
	case INJECT_FIELD: /* little-endian, like the hosts of the model */
		memcpy((uint8_t *)event->details + rule->at, &rule->value,
		       rule->nb_bytes);
		break;
	default: /* DUPLICATE: unchanged */
		break;
	}
}

/* Write an event which rules may hit. */
static void
put_injected(struct eq *eq, const struct event *event)
{
	struct event own = *event, extra[INJECT_MAX_HITS];
	uint32_t nb_extra = 0;
	struct inject_hits hits;
	bool is_lost = false;

	inject_find(INJECT_EVENTS, eq->fn, eq->id - EQ_FIRST_ID, &hits);
	for (uint32_t i = 0; i < hits.nb; i++) {
		const struct inject_rule *rule = &hits.rule[i];

		if (rule->kind == INJECT_LOSE) {
			is_lost = true;
		} else if (rule->is_extra) {
			extra[nb_extra] = *event;
			make_bogus(&extra[nb_extra++], rule);
		} else {
			make_bogus(&own, rule);
		}
	}
	if (!is_lost)
		put(eq, &own);
	for (uint32_t i = 0; i < nb_extra; i++)
		put(eq, &extra[i]);
}

void
eq_post(struct eq *eq, enum eqe_type type, uint32_t detail)
{
	const struct event event = { .details = { detail }, .type = type };

	if (inject_is_armed())
		put_injected(eq, &event);
	else
		put(eq, &event);
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
