/* SPDX-License-Identifier: BSD-3-Clause */

#include "nic.h"

/* Before and after the writing; the rest of the record is there in between. */
static void
nic_posting(bool is_active)
{
	__atomic_store_n(&segment_device()->posting.is_active, is_active,
			 __ATOMIC_SEQ_CST);
}

void
nic_complete(struct card_function *f, struct wq *wq, uint8_t cqe[HW_CQE_BYTES],
	     uint32_t wqe_bytes)
{
	struct card_posting *posting = &segment_device()->posting;
	struct cq *cq = &f->cqs[wq->cq];
	bool event;

	if (!cq->is_alive) {
		wq->ci += wqe_bytes;
		return;
	}
	ledger_trace("cqe fn %u cq %u pi %u %s %u type %u", cq->fn, cq->id,
		     cq->pi, wq->is_sq ? "sq" : "rq", wq->id,
		     cqe[0] & HW_CQE_TYPE_M);
	posting->fn = cq->fn;
	posting->wq = (uint32_t)(wq - f->wqs);
	posting->cq_pi = cq->pi;
	posting->wq_ci = wq->ci + wqe_bytes;
	nic_posting(true);
	event = cq_post(cq, cqe, wq->id, wq->is_sq,
			segment_config()->cq_doorbell_strict);
	wq->ci += wqe_bytes;
	nic_posting(false);
	if (event)
		kernel_completion_event(cq->fn, cq->id);
}

void
segment_holder_died(void)
{
	const struct card_posting *posting = &segment_device()->posting;
	struct card_function *f = card_function(posting->fn);
	bool event = false;
	struct wq *wq;
	struct cq *cq;

	if (!posting->is_active || f == NULL || posting->wq >= CARD_NB_WQS)
		return;
	nic_posting(false);
	wq = &f->wqs[posting->wq];
	cq = &f->cqs[wq->cq];
	if (!wq->is_alive || !cq->is_alive)
		return;
	if (cq->pi == posting->cq_pi && cq_is_written(cq)) {
		cq->pi++;
		event = cq->is_armed;
		cq->is_armed = false;
	}
	if (cq->pi == posting->cq_pi)
		return; /* as if the packet had not been */
	wq->ci = posting->wq_ci;
	wq->rx.nb_packets = 0;
	if (event)
		kernel_completion_event(cq->fn, cq->id);
}
