/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages that are plain memory. A register contains the value that was
 * stored last. For work queues that value is enough: it is the tail of the
 * queue. The CQ register is not read: the CQs of a page share it, so a CQ's
 * last value may be overwritten.
 */

#include "card_state.h"

static const uint32_t plain_offsets[CARD_NB_PLAIN] = {
	[CARD_PLAIN_SQ] = HW_DB_SQ,
	[CARD_PLAIN_RQ] = HW_DB_RQ,
};

static uint64_t
plain_read(const struct card_page *page, enum card_plain which)
{
	const uint64_t *registers = page->registers;

	return __atomic_load_n(registers + plain_offsets[which] / 8,
			       __ATOMIC_ACQUIRE);
}

static uint64_t *
plain_seen(const struct card_page *page, enum card_plain which)
{
	return &card_function(page->fn)->plain_seen[page->page][which];
}

/* Returns 1 if the value is new and the page is this process's. */
static uint32_t
plain_take(const struct card_page *page, enum card_plain which, uint64_t value)
{
	uint64_t *seen = plain_seen(page, which);

	if (value == *seen)
		return 0;
	*seen = value;
	if (value == 0)
		return 0; /* cleared for a new queue */
	card_doorbell(page->fn, page->page, plain_offsets[which], value,
		      sizeof(value));
	return page->is_own;
}

static uint32_t
plain_take_rqs(const struct card_page *pages, uint32_t nb, bool with_others)
{
	uint32_t i, nb_taken = 0;

	for (i = 0; i < nb; i++)
		if (pages[i].is_own || with_others)
			nb_taken += plain_take(&pages[i], CARD_PLAIN_RQ,
					       plain_read(&pages[i],
							  CARD_PLAIN_RQ));
	return nb_taken;
}

uint32_t
card_pages_run(const struct card_page *pages, uint32_t nb)
{
	uint32_t i, nb_taken = 0;
	uint64_t sent;

	for (i = 0; i < nb; i++) {
		sent = plain_read(&pages[i], CARD_PLAIN_SQ);
		if (!pages[i].is_own ||
		    sent == *plain_seen(&pages[i], CARD_PLAIN_SQ))
			continue;
		/*
		 * The SQ register was read first, so the RQ registers include
		 * all buffers that were posted before these packets.
		 */
		nb_taken += plain_take_rqs(pages, nb, true);
		nb_taken += plain_take(&pages[i], CARD_PLAIN_SQ, sent);
	}
	return nb_taken + plain_take_rqs(pages, nb, false);
}

bool
card_page_is_short_rung(const struct card_page *page)
{
	const uint32_t *registers = page->registers;

	return __atomic_load_n(registers + HW_DB_SHORT_SQ / 4,
			       __ATOMIC_RELAXED) != 0 ||
	       __atomic_load_n(registers + HW_DB_SHORT_RQ / 4,
			       __ATOMIC_RELAXED) != 0;
}

void
card_page_cleared(uint32_t fn, uint32_t page, bool is_sq)
{
	struct card_function *f = card_function(fn);

	f->plain_seen[page][is_sq ? CARD_PLAIN_SQ : CARD_PLAIN_RQ] = 0;
}

bool
card_page_has_queue(uint32_t fn, uint32_t page, bool is_sq)
{
	const struct card_function *f = card_function(fn);
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (f->wqs[i].is_alive && f->wqs[i].is_sq == is_sq &&
		    f->wqs[i].page == page)
			return true;
	return false;
}
