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

struct hwc {
	bool is_open;
	/* It does not answer; requests wait. */
	bool is_silent;
	/*
	 * Since it was opened, an answer failed to come: the guest may leave objects, and
	 * lack buffers for answers.
	 */
	bool was_silent;
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
/* Answer the request that waits longest. True if there was one. */
bool hwc_run(uint32_t fn);

#endif /* MODEL_HWC_H */
