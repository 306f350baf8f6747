/* SPDX-License-Identifier: BSD-3-Clause */

#include "completion.h"
#include "inject_card.h"
#include "platform.h"

/*
 * Set is_active before and clear it after a write; the rest of the record is
 * valid in between. It is read only after the writing thread has died, so
 * compiler ordering is enough. A fence would wait until each CQE has reached
 * the other core.
 */
static void
nic_posting(struct card_posting *posting, bool is_active)
{
	__atomic_store_n(&posting->is_active, is_active, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Side effects of an injected CQE. Idempotent. */
static void
nic_note_injected(struct wq *wq, struct cq *cq, const struct card_posting *posting)
{
	if (posting->is_extra || posting->is_bogus)
		wq->saw_bogus_cqe = true;
	if (!posting->is_extra || cq->is_stopped)
		return;
	if (posting->is_wrong_owner)
		cq->pi = posting->cq_pi; /* the next CQE overwrites it */
	else
		cq_flooded(cq);
}

static void
nic_posting_record(struct card_posting *posting, const struct card_function *f,
		   const struct wq *wq, uint32_t wqe_bytes)
{
	posting->fn = wq->fn;
	posting->wq = (uint32_t)(wq - f->wqs);
	posting->wq_ci = wq->ci + wqe_bytes;
	posting->nb_open = wq->rx.is_closing ? 0 : wq->rx.nb_packets;
	posting->held_first = wq->held_first;
	posting->held = 0;
}

/*
 * lie: xored into the trailer, wrong bits of it. what: NULL for an ordinary
 * CQE. held: the held CQE that is written, or NULL.
 */
static inline void
nic_write(struct card_function *f, struct wq *wq, uint8_t cqe[HW_CQE_BYTES],
	  uint32_t wqe_bytes, uint32_t lie, const struct inject_cqe *what,
	  const struct inject_held *held)
{
	const uint32_t trailer = (wq->id & HW_CQE_WQ_NUM_M) |
				 (uint32_t)wq->is_sq << HW_CQE_IS_SQ_S;
	struct card_posting *posting = &segment_card()->posting;
	struct cq *cq = &f->cqs[wq->cq];
	bool event;

	nic_posting_record(posting, f, wq, wqe_bytes);
	posting->cq_pi = cq->pi;
	posting->was_armed = cq->is_armed;
	posting->has_cqe = true;
	posting->is_posted = false;
	posting->is_extra = what != NULL && what->is_extra;
	posting->is_bogus = what != NULL && what->is_bogus;
	posting->is_wrong_owner = what != NULL && what->is_wrong_owner;
	if (held != NULL)
		posting->held_first = held->next;
	nic_posting(posting, true);
	event = cq_post(cq, cqe, trailer ^ lie,
			segment_config()->cq_doorbell_strict);
	wq->ci += wqe_bytes;
	wq->rx.nb_packets = posting->nb_open;
	wq->held_first = posting->held_first;
	if (event)
		platform->complete(cq->fn, cq->id);
	if (what != NULL) {
		posting->is_posted = true;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		nic_note_injected(wq, cq, posting);
	}
	nic_posting(posting, false);
}

void
nic_hold(struct card_function *f, struct wq *wq, uint32_t *at, uint32_t link,
	 uint32_t wqe_bytes)
{
	struct card_posting *posting = &segment_card()->posting;

	nic_posting_record(posting, f, wq, wqe_bytes);
	posting->has_cqe = false;
	posting->held = link;
	nic_posting(posting, true);
	*at = link;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	wq->ci = posting->wq_ci;
	wq->rx.nb_packets = posting->nb_open;
	nic_posting(posting, false);
}

void
nic_take_wqe(struct card_function *f, struct wq *rq, uint32_t wqe_bytes)
{
	struct card_posting *posting = &segment_card()->posting;

	nic_posting_record(posting, f, rq, wqe_bytes);
	posting->nb_open = rq->rx.nb_packets + 1;
	posting->has_cqe = false;
	nic_posting(posting, true);
	rq->ci = posting->wq_ci;
	rq->rx.nb_packets = posting->nb_open;
	nic_posting(posting, false);
}

void
nic_complete(struct card_function *f, struct wq *wq, uint8_t cqe[HW_CQE_BYTES],
	     uint32_t wqe_bytes)
{
	if (!f->cqs[wq->cq].is_alive)
		wq->ci += wqe_bytes;
	else if (inject_is_armed())
		inject_complete(f, wq, cqe, wqe_bytes);
	else
		nic_write(f, wq, cqe, wqe_bytes, 0, NULL, NULL);
}

/* Gives owner bits of neither this lap nor the previous one. */
#define NIC_WRONG_OWNER (4u << HW_CQE_OWNER_S)

void
nic_post(struct card_function *f, struct wq *wq, const struct inject_cqe *what,
	 uint32_t wqe_bytes, const struct inject_held *held)
{
	uint8_t cqe[HW_CQE_BYTES];
	uint32_t lie = 0;

	if (!f->cqs[wq->cq].is_alive) {
		if (held != NULL)
			wq->held_first = held->next;
		wq->ci += wqe_bytes;
		return;
	}
	memcpy(cqe, what->cqe, HW_CQE_BYTES);
	if (what->is_wrong_queue)
		lie ^= 1;
	if (what->is_wrong_sq)
		lie ^= 1u << HW_CQE_IS_SQ_S;
	if (what->is_wrong_owner)
		lie ^= NIC_WRONG_OWNER;
	nic_write(f, wq, cqe, wqe_bytes, lie, what, held);
}

/* Whether the CQE is in its queue. Once true, it stays true. */
static bool
nic_was_posted(struct card_posting *posting, struct cq *cq)
{
	if (posting->is_posted)
		return true;
	if (cq->pi == posting->cq_pi && cq_is_written(cq))
		cq->pi++;
	posting->is_posted = cq->pi != posting->cq_pi;
	return posting->is_posted;
}

/* Idempotent. */
static void
nic_finish_posting(struct card_posting *posting)
{
	struct card_function *f = card_function(posting->fn);
	struct wq *wq;
	struct cq *cq;

	if (f == NULL || posting->wq >= CARD_NB_WQS)
		return;
	wq = &f->wqs[posting->wq];
	cq = &f->cqs[wq->cq];
	if (!wq->is_alive || !cq->is_alive)
		return;
	/* Drop the packet, or write a held CQE later. */
	if (posting->has_cqe ? !nic_was_posted(posting, cq) :
			       posting->held != 0 &&
				       !inject_holds(wq, posting->held))
		return;
	wq->ci = posting->wq_ci;
	wq->rx.nb_packets = posting->nb_open;
	if (!posting->has_cqe)
		return;
	wq->held_first = posting->held_first;
	nic_note_injected(wq, cq, posting);
	if (!posting->was_armed)
		return;
	/* This may repeat the event: an event without a CQE does no harm. */
	cq->is_armed = false;
	platform->complete(cq->fn, cq->id);
}

void
nic_recover(void)
{
	struct card_posting *posting = &segment_card()->posting;

	if (posting->is_active)
		nic_finish_posting(posting);
	nic_posting(posting, false);
}
