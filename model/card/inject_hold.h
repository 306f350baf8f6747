/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions that are held: in order within a queue, whatever the others do.
 * With the machine's lock held.
 */

#ifndef MODEL_INJECT_HOLD_H
#define MODEL_INJECT_HOLD_H

#include "card.h"

/*
 * Write a CQE, or hold it: behind others of the queue that are held, while the
 * queue is stalled, or as the rule says (DELAY, REORDER; NULL: none). With it
 * the consumer index goes on by wqe_bytes.
 */
void inject_put(struct card_function *f, struct wq *wq,
		const struct inject_cqe *cqe, uint32_t wqe_bytes,
		const struct inject_rule *rule);

/*
 * Let go what is due at this time (CLOCK_NEVER: everything), and what waited
 * for this queue, wq of fn (UINT32_MAX: none), to complete.
 */
void inject_release(uint64_t now_ns, uint32_t fn, uint32_t wq);

#endif /* MODEL_INJECT_HOLD_H */
