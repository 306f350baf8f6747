/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Up to four packets with equal flags, or up to eight, in one Rx CQE. It stays
 * open until the burst that opened it, or the configured time, ends.
 */

#include "clock.h"
#include "nic.h"

/* In real time device threads watch the clock; this timer is for dead ones. */
#define SAFETY_NS 1000000u

void
nic_coalesce_flush_queue(struct card_function *f, struct wq *rq)
{
	struct rx_open *open = &rq->rx;

	if (open->nb_packets == 0)
		return;
	open->is_closing = true;
	nic_rx_write_cqe(f, rq,
			 open->nb_packets == 1 ? HW_CQE_RX_OKAY :
			 nic_quirk(QUIRK_RX_COALESCED_8) ?
						 HW_CQE_RX_COALESCED_8 :
						 HW_CQE_RX_COALESCED_4,
			 open, 0);
	open->nb_packets = 0; /* also if it was held instead of written */
	open->is_closing = false;
}

static uint64_t
nic_coalesce_due_ns(const struct rx_open *open)
{
	return open->opened_ns + segment_config()->coalesce_ns;
}

/* CQEs that are still open after this are listed again. */
static void
nic_coalesce_flush_until(uint64_t now_ns)
{
	struct card *card = segment_card();
	uint64_t first_ns = CLOCK_NEVER;
	uint32_t i, nb_left = 0;

	for (i = 0; i < card->nb_open; i++) {
		const struct card_wq_ref ref = card->open[i];
		struct card_function *f = &card->functions[ref.fn];
		struct wq *rq = &f->wqs[ref.wq];
		uint64_t due_ns = nic_coalesce_due_ns(&rq->rx);

		if (due_ns <= now_ns)
			nic_coalesce_flush_queue(f, rq);
		rq->rx.is_listed = rq->rx.nb_packets != 0;
		if (!rq->rx.is_listed)
			continue;
		card->open[nb_left++] = ref;
		if (due_ns < first_ns)
			first_ns = due_ns;
	}
	card->nb_open = nb_left;
	card->coalesce_due_ns = first_ns;
}

void
nic_coalesce_flush(void)
{
	if (segment_card()->nb_open != 0)
		nic_coalesce_flush_until(segment_config()->coalesce_ns == 0 ?
						 CLOCK_NEVER :
						 clock_now());
}

/* Timers are one-shot: start the next one. */
static void
nic_coalesce_announce(uint64_t due_ns)
{
	clock_due(config_is_virtual_time(segment_config()) ? due_ns :
							     due_ns + SAFETY_NS);
}

void
nic_coalesce_timer(uint64_t now_ns)
{
	const struct card *card = segment_card();

	nic_coalesce_flush_until(now_ns);
	if (card->nb_open != 0)
		nic_coalesce_announce(card->coalesce_due_ns);
}

static void
nic_coalesce_list(struct card_function *f, struct wq *rq)
{
	struct card *card = segment_card();

	if (card->nb_open == CARD_MAX_OPEN)
		nic_coalesce_flush_until(CLOCK_NEVER);
	card->open[card->nb_open++] = (struct card_wq_ref){
		.fn = rq->fn,
		.wq = (uint32_t)(rq - f->wqs),
	};
	rq->rx.is_listed = true;
}

void
nic_coalesce_recover(void)
{
	struct card *card = segment_card();
	uint32_t fn, i;

	card->nb_open = 0;
	for (fn = 0; fn < card->nb_functions; fn++) {
		struct card_function *f = card_function(fn);

		for (i = CARD_MAX_QUEUES; i < CARD_NB_WQS; i++) {
			struct wq *rq = &f->wqs[i];

			rq->rx.is_closing = false;
			rq->rx.is_listed = false;
			if (rq->is_alive && rq->rx.nb_packets != 0)
				nic_coalesce_list(f, rq);
		}
	}
	/* Write the CQEs that stay open until the end of a burst. */
	nic_coalesce_flush_until(0);
	if (card->nb_open != 0 && segment_config()->coalesce_ns != 0)
		nic_coalesce_announce(card->coalesce_due_ns);
}

static void
nic_coalesce_open(struct card_function *f, struct wq *rq, uint64_t now_ns,
		  uint32_t flags)
{
	struct card *card = segment_card();
	struct rx_open *open = &rq->rx;
	uint64_t due_ns;

	if (!open->is_listed)
		nic_coalesce_list(f, rq);
	open->flags = flags;
	open->wqe_offset = rq->ci;
	open->opened_ns = now_ns;
	if (segment_config()->coalesce_ns == 0)
		return;
	due_ns = nic_coalesce_due_ns(open);
	if (card->nb_open == 1 || due_ns < card->coalesce_due_ns)
		card->coalesce_due_ns = due_ns;
	nic_coalesce_announce(due_ns);
}

/* The flags word is common to all packets of a CQE. */
void
nic_coalesce_add(struct card_function *f, struct wq *rq,
		 const struct nic_rx_frame *rx, uint32_t wqe_bytes)
{
	const bool is_timed = segment_config()->coalesce_ns != 0;
	const uint64_t now_ns = is_timed ? clock_now() : 0;
	struct rx_open *open = &rq->rx;

	if (open->nb_packets > 0 &&
	    (open->flags != rx->flags ||
	     (is_timed && nic_coalesce_due_ns(open) <= now_ns)))
		nic_coalesce_flush_queue(f, rq);
	if (open->nb_packets == 0)
		nic_coalesce_open(f, rq, now_ns, rx->flags);
	open->len_bytes[open->nb_packets] = rx->nb_bytes;
	open->hash[open->nb_packets] = rx->hash;
	nic_take_wqe(f, rq, wqe_bytes);
	if (open->nb_packets == (nic_quirk(QUIRK_RX_COALESCED_8) ?
					 HW_RX_CQE_8_NB_PKTS :
					 HW_RX_CQE_NB_PPI))
		nic_coalesce_flush_queue(f, rq);
}
