/* SPDX-License-Identifier: BSD-3-Clause */

/* Destroy objects of the card that no kernel object refers to. */

#include <string.h>

#include "card_state.h"

/* Local to this process; used under the machine's lock. */
static struct {
	bool pds[CARD_MAX_PDS];
	bool pages[CARD_MAX_PAGES];
	bool keys[MEM_NB_REGIONS];
	bool cqs[CARD_NB_CQS];
	bool wqs[CARD_NB_WQS];
} claimed;

void
card_claim_begin(void)
{
	memset(&claimed, 0, sizeof(claimed));
}

static bool
claim_number(const bool *taken, bool *is_claimed, uint32_t nb, uint32_t number)
{
	if (number >= nb || !taken[number])
		return false;
	is_claimed[number] = true;
	return true;
}

bool
card_claim(uint32_t fn, enum card_object object, uint32_t id)
{
	struct card_function *f = card_function(fn);
	const struct cq *cq;
	const struct wq *wq;

	switch (object) {
	case CARD_PD:
		return claim_number(f->pds, claimed.pds, CARD_MAX_PDS, id);
	case CARD_PAGE:
		return claim_number(f->pages, claimed.pages, CARD_MAX_PAGES, id);
	case CARD_KEY:
		if (mem_region_find(&f->mem, id) == NULL)
			return false;
		claimed.keys[id & (MEM_NB_REGIONS - 1)] = true;
		return true;
	case CARD_CQ:
		cq = card_cq(f, id);
		if (cq != NULL)
			claimed.cqs[cq - f->cqs] = true;
		return cq != NULL;
	default:
		wq = object == CARD_SQ ? card_sq(f, id) : card_rq(f, id);
		if (wq != NULL)
			claimed.wqs[wq - f->wqs] = true;
		return wq != NULL;
	}
}

static void
end_queues(struct card_function *f)
{
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (f->wqs[i].is_alive && !claimed.wqs[i])
			card_wq_end(f, &f->wqs[i]);
	for (i = 0; i < CARD_NB_CQS; i++)
		if (!claimed.cqs[i])
			f->cqs[i].is_alive = false;
}

/* Restore which CQs are used, and which counter records queues have. */
static void
restore_uses(struct card_function *f)
{
	uint32_t i, p;

	for (i = 0; i < CARD_NB_CQS; i++)
		f->cqs[i].is_used = false;
	for (p = 0; p < f->nb_ports; p++)
		for (i = 0; i < f->ports[p].nb_records; i++)
			f->ports[p].records[i].alive = false;
	for (i = 0; i < CARD_NB_WQS; i++) {
		if (!f->wqs[i].is_alive)
			continue;
		f->cqs[f->wqs[i].cq].is_used = true;
		card_counters(f, &f->wqs[i])->alive = true;
	}
}

void
card_claim_end(uint32_t fn)
{
	struct card_function *f = card_function(fn);
	uint32_t i;

	end_queues(f);
	restore_uses(f);
	for (i = 0; i < MEM_NB_REGIONS && f->mem.regions[i].generation != 0; i++)
		if (!claimed.keys[i])
			f->mem.regions[i].key = 0;
	mem_region_recount(&f->mem);
	for (i = 1; i < CARD_MAX_PDS; i++)
		f->pds[i] = claimed.pds[i];
	for (i = 1; i < CARD_MAX_PAGES; i++)
		f->pages[i] = claimed.pages[i];
}
