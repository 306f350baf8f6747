/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hardware channel of a function: an SQ for requests, an RQ for answers,
 * and their CQ and EQ, of one page each.
 */

#ifndef MODEL_HWC_H
#define MODEL_HWC_H

#include "eq.h"
#include "messages.h"
#include "queue.h"

/* Ids that no other queue of the function has, and its doorbell page. */
#define HWC_CQ_ID 1u
#define HWC_RQ_ID 2u
#define HWC_SQ_ID 3u
#define HWC_PAGE  0u

/* An answer that rules have changed or hold: inject.h. */
struct hwc_answer {
	uint64_t due_ns;
	bool is_unsolicited; /* not while a request waits */
	uint32_t nb_bytes; /* 0: it is lost */
	uint32_t told_bytes; /* what the CQE says */
	_Alignas(8) uint8_t bytes[HWC_MAX_MESSAGE_BYTES];
};
#define HWC_MAX_HELD 16

struct hwc {
	bool is_open;
	/* It does not answer; requests wait. */
	bool is_silent;
	/*
	 * Since it was opened, an answer failed to come, was wrong or too many: the
	 * guest may leave objects, and lack buffers for answers.
	 */
	bool was_silent;
	uint32_t nb_held;
	struct hwc_answer held[HWC_MAX_HELD];
	uint32_t pdn, key; /* of guest physical memory */
	struct eq *eq;
	struct cq cq;
	struct wq sq, rq;
};

/* Guest physical addresses of the queues' pages, and the EQ's MSI-X vector. */
struct hwc_setup {
	uint64_t eq, cq, rq, sq;
	uint32_t vector;
};

/* False: refused, with a violation. */
bool hwc_open(uint32_t fn, const struct hwc_setup *setup);
void hwc_close(uint32_t fn);
/* A store to the doorbell page HWC_PAGE, except to the EQ's register. */
void hwc_doorbell(uint32_t fn, uint32_t offset, uint64_t value);
/*
 * Write a held answer that is due, or answer the request that waits longest. True if
 * there was one.
 */
bool hwc_run(uint32_t fn);

/* Apply the rules of the function's answers to one; hold others for it. */
void hwc_inject(uint32_t fn, struct hwc_answer *answer);
/* Write the answer at due_ns. It is lost if HWC_MAX_HELD wait already. */
void hwc_hold(struct hwc *hwc, const struct hwc_answer *answer);
/* Take the next answer that can be written now. False: there is none. */
bool hwc_take_held(struct hwc *hwc, struct hwc_answer *answer);

#endif /* MODEL_HWC_H */
