/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where the card asks whether a fault is to be injected. Ask
 * inject_is_armed() first: it costs a load of a line that is in use anyway.
 */

#ifndef MODEL_INJECT_CARD_H
#define MODEL_INJECT_CARD_H

#include "card.h"

static inline bool
inject_is_armed(void)
{
	return __builtin_expect(segment_device()->is_armed, false);
}

/* A queue that stands still fetches nothing. */
bool inject_is_stalled(struct card_function *f, const struct wq *wq);

/* The CQE type that a good Tx WQE is to have: HW_CQE_TX_OKAY to send it. */
int inject_tx(struct card_function *f, struct wq *sq, uint32_t *vendor_err);
/* Everything posted has been sent: a CQE without a WQE can be told as such. */
void inject_tx_drained(struct card_function *f, struct wq *sq);

/* What is to happen to a packet that has a WQE. */
struct inject_rx {
	bool is_struck; /* its CQE is its own */
	bool is_truncated;
	bool keeps_wqe; /* its CQE does not use up its WQE */
	uint32_t nb_bytes; /* at most, of a truncated one */
};
struct inject_rx inject_rx(struct card_function *f, struct wq *rq);

/* Instead of nic_post(), for a CQE of a live CQ. */
void inject_complete(struct card_function *f, struct wq *wq,
		     const uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes);

/* Let go what is due; says when the next is. */
void inject_timers(uint64_t now_ns);
/* The queue is destroyed: nobody waits for what it holds. */
void inject_forget(struct card_function *f, struct wq *wq);

/* Whether a queue holds this one: by its link. */
bool inject_holds(const struct wq *wq, uint32_t link);
/* List again what is held: who held the lock was killed. */
void inject_recover(void);

/* inject_bogus.c: what a bogus rule makes of a CQE. */
void inject_bogus(struct card_function *f, const struct wq *wq,
		  const struct inject_rule *rule, struct inject_cqe *cqe);

#endif /* MODEL_INJECT_CARD_H */
