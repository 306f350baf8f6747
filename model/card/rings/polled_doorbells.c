/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages that are plain memory. A register contains the value that was
 * stored last. For work queues that value is enough: it is the tail of the
 * queue. The CQ register is not read: the CQs of a page share it, so a CQ's
 * last value may be overwritten.
 */

#include "card_state.h"

static const uint32_t polled_offsets[CARD_NB_POLLED] = {
	[CARD_POLLED_SQ] = HW_DB_SQ,
	[CARD_POLLED_RQ] = HW_DB_RQ,
};

static uint64_t
polled_read(const struct card_page *page, enum card_polled which)
{
	const uint64_t *registers = page->registers;

	return __atomic_load_n(registers + polled_offsets[which] / 8,
			       __ATOMIC_ACQUIRE);
}

static uint64_t *
polled_seen(const struct card_page *page, enum card_polled which)
{
	return &card_function(page->fn)->polled_seen[page->page][which];
}

static bool
polled_is_new(const struct card_page *page, enum card_polled which)
{
	return polled_read(page, which) != *polled_seen(page, which);
}

static uint32_t
polled_take(const struct card_page *page, enum card_polled which, uint64_t value)
{
	uint64_t *seen = polled_seen(page, which);

	if (value == *seen)
		return 0;
	*seen = value;
	if (value == 0)
		return 0; /* cleared for a new queue */
	card_doorbell(page->fn, page->page, polled_offsets[which], value,
		      sizeof(value));
	return 1;
}

static uint32_t
polled_take_rqs(const struct card_page *pages, uint32_t nb)
{
	uint32_t i, nb_taken = 0;

	for (i = 0; i < nb; i++)
		nb_taken += polled_take(&pages[i], CARD_POLLED_RQ,
					polled_read(&pages[i], CARD_POLLED_RQ));
	return nb_taken;
}

bool
card_pages_rung(const struct card_page *pages, uint32_t nb)
{
	uint32_t i;

	for (i = 0; i < nb; i++)
		if (polled_is_new(&pages[i], CARD_POLLED_SQ) ||
		    polled_is_new(&pages[i], CARD_POLLED_RQ))
			return true;
	return false;
}

uint32_t
card_pages_run(const struct card_page *pages, uint32_t nb,
	       const struct card_page *others, uint32_t nb_others)
{
	uint32_t i, nb_taken = 0;
	uint64_t sent;

	for (i = 0; i < nb; i++) {
		sent = polled_read(&pages[i], CARD_POLLED_SQ);
		if (sent == *polled_seen(&pages[i], CARD_POLLED_SQ))
			continue;
		/*
		 * The SQ register was read first, so the RQ registers include
		 * all buffers that were posted before these packets.
		 */
		nb_taken += polled_take_rqs(pages, nb);
		polled_take_rqs(others, nb_others);
		nb_taken += polled_take(&pages[i], CARD_POLLED_SQ, sent);
	}
	return nb_taken + polled_take_rqs(pages, nb);
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

	f->polled_seen[page][is_sq ? CARD_POLLED_SQ : CARD_POLLED_RQ] = 0;
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
