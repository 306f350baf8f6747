/* SPDX-License-Identifier: BSD-3-Clause */

#include "steps.h"
#include "watch.h"

bool watch_is_count;

#define TRAILER (HW_CQE_TRAILER_OFF / 4)

/* Code of this program, not of libraries. */
extern const char __executable_start[], etext[];

void
watch_init(struct watch *watch, const struct fx_cq *cq, uint8_t *db_page)
{
	assert_true(cq->nb_cqe <= WATCH_MAX_CQE);
	memset(watch, 0, sizeof(*watch));
	watch->cq = cq;
	watch->db_page = db_page;
	watch->seen_pi = cq->pi;
}

void
watch_device(struct watch *watch)
{
	for (; watch->seen_pi != watch->cq->pi; watch->seen_pi++) {
		uint32_t at = watch->seen_pi & (watch->cq->nb_cqe - 1);

		memset(&watch->slot[at], 0, sizeof(watch->slot[at]));
		watch->slot[at].is_written = true;
	}
}

static void __attribute__((format(printf, 3, 4)))
fault(struct watch *watch, const struct steps_insn *insn, const char *format, ...)
{
	va_list args;
	int len;

	if (watch->fault[0] != '\0')
		return;
	len = snprintf(watch->fault, sizeof(watch->fault), "%s at %#lx: ",
		       insn->text, insn->pc - (uintptr_t)__executable_start);
	va_start(args, format);
	vsnprintf(watch->fault + len, sizeof(watch->fault) - len, format, args);
	va_end(args);
}

/* A load of the owner bits voids all earlier loads of the CQE. */
static void
on_trailer_load(struct watch *watch, uint32_t at)
{
	/* The burst has moved to the next lap: this CQE is consumed. */
	if (watch->slot[at].is_taken)
		watch->slot[at].is_written = false;
	watch->slot[at].is_matched = watch->slot[at].is_written;
	memset(watch->slot[at].nb_loads, 0, sizeof(watch->slot[at].nb_loads));
}

static void
on_load(struct watch *watch, const struct steps_insn *insn, uint32_t word)
{
	uint32_t at = word / WATCH_NB_WORDS, i = word % WATCH_NB_WORDS;

	if (!watch->slot[at].is_matched)
		return; /* void: the burst must reload it */
	if (++watch->slot[at].nb_loads[i] > 1)
		fault(watch, insn, "word %u of CQE %u is loaded again", i, at);
}

static void
on_cqe(struct watch *watch, const struct steps_insn *insn, uint32_t offset,
       uint32_t bytes, bool is_store)
{
	const uint32_t first = offset / 4, last = (offset + bytes - 1) / 4;

	if (is_store) {
		fault(watch, insn, "a store to a CQE");
		return;
	}
	if (watch_is_count)
		return;
	watch->nb_loads += last - first + 1;
	if (first == last && first % WATCH_NB_WORDS == TRAILER)
		on_trailer_load(watch, first / WATCH_NB_WORDS);
	else
		for (uint32_t word = first; word <= last; word++)
			on_load(watch, insn, word);
}

static void
on_store(struct watch *watch, const struct steps_insn *insn, uintptr_t addr,
	 uint32_t bytes)
{
	if (addr - (uintptr_t)watch->db_page >= HW_DB_PAGE_BYTES) {
		if (watch->doorbell == WATCH_RUNG && watch->covers_all)
			fault(watch, insn, "no fence after a doorbell");
		watch->doorbell = WATCH_NO_FENCE;
		return;
	}
	if (bytes != 8)
		fault(watch, insn, "a doorbell of %u bytes", bytes);
	if (watch->doorbell != WATCH_FENCED && watch->covers_all)
		fault(watch, insn, "no fence before a doorbell");
	watch->doorbell = WATCH_RUNG;
	watch->nb_doorbells++;
}

static void
on_kind(struct watch *watch, const struct steps_insn *insn)
{
	static const char *const what[] = {
		[STEPS_FULL_FENCE] = "a full fence",
		[STEPS_LOCKED] = "locked",
		[STEPS_DIVISION] = "a division",
		[STEPS_SYSCALL] = "a system call",
	};

	if (insn->kind == STEPS_UNKNOWN)
		fault(watch, insn, "not understood");
	else if (insn->kind == STEPS_SFENCE)
		watch->doorbell = WATCH_FENCED;
	else if (insn->kind != STEPS_OTHER &&
		 insn->pc - (uintptr_t)__executable_start <
		 (uintptr_t)(etext - __executable_start))
		fault(watch, insn, "%s", what[insn->kind]);
}

static void
on_insn(const struct steps_insn *insn, void *arg)
{
	struct watch *watch = arg;
	const size_t ring_bytes = (size_t)watch->cq->nb_cqe * HW_CQE_BYTES;

	on_kind(watch, insn);
	for (uint32_t i = 0; i < insn->nb_accesses; i++) {
		uintptr_t addr = insn->access[i].addr;
		uint32_t bytes = insn->access[i].bytes;

		if (addr - (uintptr_t)watch->cq->ring < ring_bytes)
			on_cqe(watch, insn, addr - (uintptr_t)watch->cq->ring,
			       bytes, insn->access[i].stores);
		else if (insn->access[i].stores && !insn->access[i].is_stack)
			on_store(watch, insn, addr, bytes);
		else if (addr - (uintptr_t)watch->db_page < HW_DB_PAGE_BYTES)
			fault(watch, insn, "a doorbell is read");
	}
}

void
watch_begin(struct watch *watch)
{
	const struct steps_region regions[] = {
		{ watch->cq->ring, watch->cq->nb_cqe * HW_CQE_BYTES },
		{ watch->db_page, HW_DB_PAGE_BYTES },
	};

	for (uint32_t i = 0; i < watch->cq->nb_cqe; i++)
		watch->slot[i].is_matched = false;
	watch->doorbell = WATCH_NO_FENCE;
	if (watch->covers_all)
		steps_begin(on_insn, watch);
	else
		steps_begin_at(regions, RTE_DIM(regions), on_insn, watch);
}

void
watch_end(struct watch *watch)
{
	steps_end();
	if (watch->doorbell == WATCH_RUNG && watch->covers_all &&
	    watch->fault[0] == '\0')
		strcpy(watch->fault, "no fence after the last doorbell");
}

void
watch_taken(struct watch *watch, uint32_t ci, uint32_t end)
{
	for (; ci != end && watch->fault[0] == '\0'; ci++) {
		uint32_t at = ci & (watch->cq->nb_cqe - 1);

		if (!watch->slot[at].is_written || !watch->slot[at].is_matched)
			snprintf(watch->fault, sizeof(watch->fault),
				 "CQE %u consumed without checking its owner", at);
		watch->slot[at].is_taken = true;
	}
}
