/* SPDX-License-Identifier: BSD-3-Clause */

#include "nic.h"

void
nic_complete(struct card_function *f, struct wq *wq, uint8_t cqe[HW_CQE_BYTES])
{
	struct cq *cq = &f->cqs[wq->cq];

	if (!cq->is_alive)
		return;
	ledger_trace("cqe fn %u cq %u pi %u %s %u type %u", cq->fn, cq->id,
		     cq->pi, wq->is_sq ? "sq" : "rq", wq->id,
		     cqe[0] & HW_CQE_TYPE_M);
	if (cq_post(cq, cqe, wq->id, wq->is_sq,
		    segment_config()->cq_doorbell_strict))
		kernel_completion_event(cq->fn, cq->id);
}
