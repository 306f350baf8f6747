/* SPDX-License-Identifier: BSD-3-Clause */

/* Completions of work queues. The caller holds the machine's lock. */

#ifndef MODEL_COMPLETION_H
#define MODEL_COMPLETION_H

#include "card_state.h"

/*
 * Write a CQE of a work queue, given without its trailer, and raise its
 * event. The consumer index advances by wqe_bytes.
 */
void nic_complete(struct card_function *f, struct wq *wq,
		  uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes);

/*
 * Write a CQE of an existing CQ, without fault injection (inject.h). held: the
 * queue's first held CQE, if this is the CQE; it is freed. Else NULL.
 */
void nic_post(struct card_function *f, struct wq *wq,
	      const struct inject_cqe *cqe, uint32_t wqe_bytes,
	      const struct inject_held *held);
/* Hold the CQE instead of writing it: store its link at *at. */
void nic_hold(struct card_function *f, struct wq *wq, uint32_t *at,
	      uint32_t link, uint32_t wqe_bytes);

/* Count a packet in the open CQE of an RQ, and consume its WQE. */
void nic_take_wqe(struct card_function *f, struct wq *rq, uint32_t wqe_bytes);

/* Complete the completion that the lock's dead holder was posting. */
void nic_recover(void);

#endif /* MODEL_COMPLETION_H */
