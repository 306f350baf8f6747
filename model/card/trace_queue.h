/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lines of the trace about queues. Call only when trace_is_on(); the machine's
 * lock is held.
 */

#ifndef MODEL_TRACE_QUEUE_H
#define MODEL_TRACE_QUEUE_H

#include "hw.h"
#include "mem.h"
#include "queue.h"
#include "trace.h"

/*
 * A WQE that was fetched, nb_bytes of it: less than the header asks for when
 * the header makes no sense. port counts those of the machine from 1.
 */
void trace_wqe(const struct wq *wq, uint32_t port, const struct mem_table *keys,
	       const uint8_t *raw, uint32_t nb_bytes);

/* A CQE as it is about to be written, its trailer included. */
void trace_cqe(const struct cq *cq, const uint8_t cqe[HW_CQE_BYTES]);

#endif /* MODEL_TRACE_QUEUE_H */
