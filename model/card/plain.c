/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages that are plain memory. A register holds the last value that
 * was stored; those of work queues say how far a queue is posted, so that the
 * last value says all. The CQ register is not read: the CQs of a page share it,
 * and what one of them said may be gone.
 */

#include "card.h"

static const uint32_t plain_offsets[CARD_NB_PLAIN] = {
	[CARD_PLAIN_SQ] = HW_DB_SQ,
	[CARD_PLAIN_RQ] = HW_DB_RQ,
};

static uint64_t
plain_read(const struct device_page *page, enum card_plain which)
{
	const uint64_t *registers = page->registers;

	return __atomic_load_n(registers + plain_offsets[which] / 8,
			       __ATOMIC_ACQUIRE);
}

static uint64_t *
plain_seen(const struct device_page *page, enum card_plain which)
{
	return &card_function(page->fn)->plain_seen[page->page][which];
}

static bool
plain_is_new(const struct device_page *page, enum card_plain which)
{
	return plain_read(page, which) != *plain_seen(page, which);
}

static uint32_t
plain_take(const struct device_page *page, enum card_plain which, uint64_t value)
{
	uint64_t *seen = plain_seen(page, which);

	if (value == *seen)
		return 0;
	*seen = value;
	if (value == 0)
		return 0; /* cleared for a new queue */
	device_doorbell(page->fn, page->page, plain_offsets[which], value,
			sizeof(value));
	return 1;
}

static uint32_t
plain_take_rqs(const struct device_page *pages, uint32_t nb)
{
	uint32_t i, nb_taken = 0;

	for (i = 0; i < nb; i++)
		nb_taken += plain_take(&pages[i], CARD_PLAIN_RQ,
				       plain_read(&pages[i], CARD_PLAIN_RQ));
	return nb_taken;
}

bool
device_pages_rung(const struct device_page *pages, uint32_t nb)
{
	uint32_t i;

	for (i = 0; i < nb; i++)
		if (plain_is_new(&pages[i], CARD_PLAIN_SQ) ||
		    plain_is_new(&pages[i], CARD_PLAIN_RQ))
			return true;
	return false;
}

uint32_t
device_pages_run(const struct device_page *pages, uint32_t nb,
		 const struct device_page *others, uint32_t nb_others)
{
	uint32_t i, nb_taken = 0;
	uint64_t sent;

	for (i = 0; i < nb; i++) {
		sent = plain_read(&pages[i], CARD_PLAIN_SQ);
		if (sent == *plain_seen(&pages[i], CARD_PLAIN_SQ))
			continue;
		/*
		 * Buffers that were posted before the packets were sent; those
		 * that are sent by now may have buffers that are posted by now.
		 */
		nb_taken += plain_take_rqs(pages, nb);
		plain_take_rqs(others, nb_others);
		nb_taken += plain_take(&pages[i], CARD_PLAIN_SQ, sent);
	}
	return nb_taken + plain_take_rqs(pages, nb);
}

bool
device_page_is_short_rung(const struct device_page *page)
{
	const uint32_t *registers = page->registers;

	return __atomic_load_n(registers + HW_DB_SHORT_SQ / 4,
			       __ATOMIC_RELAXED) != 0 ||
	       __atomic_load_n(registers + HW_DB_SHORT_RQ / 4,
			       __ATOMIC_RELAXED) != 0;
}

void
device_page_cleared(uint32_t fn, uint32_t page, bool is_sq)
{
	struct card_function *f = card_function(fn);

	f->plain_seen[page][is_sq ? CARD_PLAIN_SQ : CARD_PLAIN_RQ] = 0;
}

bool
device_page_has_queue(uint32_t fn, uint32_t page, bool is_sq)
{
	const struct card_function *f = card_function(fn);
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (f->wqs[i].is_alive && f->wqs[i].is_sq == is_sq &&
		    f->wqs[i].page == page)
			return true;
	return false;
}
