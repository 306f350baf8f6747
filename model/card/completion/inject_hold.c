/* SPDX-License-Identifier: BSD-3-Clause */

#include "clock.h"
#include "completion.h"
#include "inject_card.h"

static struct inject *
state(void)
{
	return &segment_card()->inject;
}

static struct inject_held *
held_at(uint32_t link)
{
	return &state()->held[link - 1];
}

/* The link of a free entry, or 0. */
static uint32_t
held_new(void)
{
	struct inject *inject = state();
	uint32_t link = inject->free;

	if (link != 0)
		inject->free = held_at(link)->next;
	else if (inject->nb_fresh < INJECT_MAX_HELD)
		link = ++inject->nb_fresh;
	return link;
}

static void
held_free(uint32_t link)
{
	struct inject *inject = state();

	held_at(link)->next = inject->free;
	inject->free = link;
}

/* Write the first held completion of a queue. */
static void
post_front(struct card_function *f, struct wq *wq)
{
	const uint32_t link = wq->held_first;
	struct inject_held *held = held_at(link);

	nic_post(f, wq, &held->cqe, 0, held);
	held_free(link);
}

static bool
list_queue(struct card_function *f, const struct wq *wq)
{
	struct inject *inject = state();

	if (inject->nb_queues == INJECT_MAX_HELD_QUEUES)
		return false;
	inject->queues[inject->nb_queues].fn = wq->fn;
	inject->queues[inject->nb_queues++].wq = (uint32_t)(wq - f->wqs);
	return true;
}

static void
unlist_queue(uint32_t i)
{
	struct inject *inject = state();

	/* A process killed in here leaves an entry twice, but loses none. */
	for (; i + 1 < inject->nb_queues; i++)
		inject->queues[i] = inject->queues[i + 1];
	inject->nb_queues--;
}

/* Append a completion to the held ones, consume its WQE. False: no room. */
static bool
hold(struct card_function *f, struct wq *wq, const struct inject_held *held,
     uint32_t wqe_bytes)
{
	uint32_t link = held_new();

	if (link == 0)
		return false;
	if (wq->held_first == 0 && !list_queue(f, wq)) {
		held_free(link);
		return false;
	}
	*held_at(link) = *held;
	nic_hold(f, wq,
		 wq->held_first == 0 ? &wq->held_first :
				       &held_at(wq->held_last)->next,
		 link, wqe_bytes);
	wq->held_last = link;
	return true;
}

/* Write a CQE, and release completions that wait for another queue. */
static void
post(struct card_function *f, struct wq *wq, const struct inject_cqe *cqe,
     uint32_t wqe_bytes)
{
	nic_post(f, wq, cqe, wqe_bytes, NULL);
	if (state()->nb_queues > 0)
		inject_release(clock_now(), wq->fn, (uint32_t)(wq - f->wqs));
}

void
inject_put(struct card_function *f, struct wq *wq, const struct inject_cqe *cqe,
	   uint32_t wqe_bytes, const struct inject_rule *rule)
{
	struct inject_held held = { .cqe = *cqe };

	if (rule != NULL) {
		held.due_ns = clock_now() + rule->for_ns;
		held.awaits_other = rule->kind == INJECT_REORDER;
	}
	if (wq->held_first == 0 && rule == NULL &&
	    (!inject_is_stalled(f, wq) || wq->is_sq)) {
		post(f, wq, cqe, wqe_bytes);
		return;
	}
	if (!hold(f, wq, &held, wqe_bytes)) {
		/* No room: write all held ones of this queue, in order. */
		while (wq->held_first != 0)
			post_front(f, wq);
		nic_post(f, wq, cqe, wqe_bytes, NULL);
		return;
	}
	if (rule != NULL)
		clock_due(held.due_ns);
}

static bool
is_free(struct card_function *f, const struct wq *wq, uint64_t now_ns,
	bool other_completed)
{
	const struct inject_held *held = held_at(wq->held_first);

	if (now_ns == CLOCK_NEVER)
		return true;
	if (!wq->is_sq && inject_is_stalled(f, wq))
		return false;
	return held->due_ns <= now_ns || (held->awaits_other && other_completed);
}

/* True if a CQE was written. */
static bool
release_queue(struct card_function *f, struct wq *wq, uint64_t now_ns,
	      bool other_completed)
{
	bool has_written = false;

	while (wq->held_first != 0 && is_free(f, wq, now_ns, other_completed)) {
		post_front(f, wq);
		has_written = true;
	}
	return has_written;
}

/* One pass over all queues; *fn, *wq_idx completed last. True: CQE written. */
static bool
release_pass(uint64_t now_ns, uint32_t *fn, uint32_t *wq_idx)
{
	const uint32_t by_fn = *fn, by_wq = *wq_idx;
	struct inject *inject = state();
	bool has_written = false;
	uint32_t i = 0;

	while (i < inject->nb_queues) {
		const uint32_t own_fn = inject->queues[i].fn;
		const uint32_t own_wq = inject->queues[i].wq;
		struct card_function *f = card_function(own_fn);
		struct wq *wq = &f->wqs[own_wq];

		if (release_queue(f, wq, now_ns,
				  own_fn == by_fn && own_wq != by_wq)) {
			has_written = true;
			*fn = own_fn;
			*wq_idx = own_wq;
		}
		if (wq->held_first == 0)
			unlist_queue(i);
		else
			i++;
	}
	return has_written;
}

void
inject_release(uint64_t now_ns, uint32_t fn, uint32_t wq)
{
	const struct inject *inject = state();
	uint32_t i;

	/* A completion of one queue may release those of another. */
	while (inject->nb_queues > 0 && release_pass(now_ns, &fn, &wq))
		;
	for (i = 0; i < inject->nb_queues; i++) {
		const struct wq *left = &card_function(inject->queues[i].fn)
						 ->wqs[inject->queues[i].wq];
		const uint64_t due_ns = held_at(left->held_first)->due_ns;

		if (due_ns > now_ns)
			clock_due(due_ns);
	}
}

void
inject_forget(struct card_function *f, struct wq *wq)
{
	struct inject *inject = state();
	uint32_t link, i;

	if (wq->held_first == 0)
		return;
	while ((link = wq->held_first) != 0) {
		wq->held_first = held_at(link)->next;
		held_free(link);
	}
	for (i = 0; i < inject->nb_queues; i++)
		if (card_function(inject->queues[i].fn) == f &&
		    &f->wqs[inject->queues[i].wq] == wq)
			unlist_queue(i);
}

bool
inject_holds(const struct wq *wq, uint32_t link)
{
	uint32_t held;

	for (held = wq->held_first; held != 0; held = held_at(held)->next)
		if (held == link)
			return true;
	return false;
}

/* List the queue and the entries that it holds. */
static void
recover_queue(struct card_function *f, struct wq *wq, bool *is_held)
{
	uint32_t link;

	wq->held_last = 0;
	if (!wq->is_alive || wq->held_first == 0)
		return;
	for (link = wq->held_first; link != 0; link = held_at(link)->next) {
		is_held[link] = true;
		wq->held_last = link;
	}
	list_queue(f, wq);
}

void
inject_recover(void)
{
	static bool is_held[INJECT_MAX_HELD + 1];
	struct card *card = segment_card();
	struct inject *inject = state();
	uint32_t fn, i;

	inject->rx.nb = 0;
	if (inject->nb_fresh == 0)
		return;
	memset(is_held, 0, sizeof(is_held));
	inject->nb_queues = 0;
	for (fn = 0; fn < card->nb_functions; fn++)
		for (i = 0; i < CARD_NB_WQS; i++)
			recover_queue(card_function(fn),
				      &card->functions[fn].wqs[i], is_held);
	inject->free = 0;
	for (i = inject->nb_fresh; i > 0; i--)
		if (!is_held[i])
			held_free(i);
}
