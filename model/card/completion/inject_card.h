/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's fault points. Test inject_is_armed() first: one cached load. */

#ifndef MODEL_INJECT_CARD_H
#define MODEL_INJECT_CARD_H

#include "card_state.h"

static inline bool
inject_is_armed(void)
{
	return __builtin_expect(segment_card()->is_armed, false);
}

/* Whether a queue is stalled, which then fetches no WQE. */
bool inject_is_stalled(struct card_function *f, const struct wq *wq);

/* The CQE type for a valid Tx WQE: HW_CQE_TX_OKAY to send its packet. */
int inject_tx(struct card_function *f, struct wq *sq, uint32_t *vendor_err);
/* All posted WQEs are completed: an extra CQE now belongs to no WQE. */
void inject_tx_drained(struct card_function *f, struct wq *sq);

/* Faults of a received packet that has a WQE. */
struct inject_rx {
	bool is_hit; /* it does not share its CQE */
	bool is_truncated;
	bool keeps_wqe; /* its CQE does not consume its WQE */
	uint32_t nb_bytes; /* limit for a truncated packet */
};
/* flush writes the open CQE of the queue, whose packets are not affected. */
struct inject_rx inject_rx(struct card_function *f, struct wq *rq,
			   void (*flush)(struct card_function *f, struct wq *rq));

/* Replaces nic_post() for a CQE of an existing CQ. */
void inject_complete(struct card_function *f, struct wq *wq,
		     const uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes);

/* Write held completions that are due, and start a timer for the next one. */
void inject_timers(uint64_t now_ns);
/* The queue is being destroyed: drop its held completions. */
void inject_forget(struct card_function *f, struct wq *wq);

/* Whether the queue holds the completion with this link. */
bool inject_holds(const struct wq *wq, uint32_t link);
/* Rebuild the lists of held completions after the lock's holder was killed. */
void inject_recover(void);

/* Change a CQE as a bogus rule demands. */
void inject_bogus(struct card_function *f, const struct wq *wq,
		  const struct inject_rule *rule, struct inject_cqe *cqe);

/*
 * Held completions. Those of a queue stay in order, independent of other
 * queues. Call these with the machine's lock held.
 *
 * Write a CQE, or hold it: behind other held ones of the queue, while the queue
 * is stalled, or because of a rule (DELAY, REORDER; NULL: none). The consumer
 * index advances by wqe_bytes.
 */
void inject_put(struct card_function *f, struct wq *wq,
		const struct inject_cqe *cqe, uint32_t wqe_bytes,
		const struct inject_rule *rule);

/*
 * Write the held completions that are due at now_ns (CLOCK_NEVER: all), and
 * those that wait for a completion of another queue than theirs, now that queue
 * wq of fn has written one (UINT32_MAX: none).
 */
void inject_release(uint64_t now_ns, uint32_t fn, uint32_t wq);

#endif /* MODEL_INJECT_CARD_H */
