/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The layouts of WQEs and CQEs in the trace, with field names of Linux gdma.h
 * and mana.h. Each table ends with an entry whose name is NULL. The fields of a
 * table cover all bits up to the last used word.
 */

#ifndef MODEL_TRACE_LAYOUT_H
#define MODEL_TRACE_LAYOUT_H

#include "hw.h"
#include "mem.h"
#include "queue.h"
#include "trace.h"

extern const struct trace_field trace_wqe_header[]; /* words 0, 1 */
extern const struct trace_field trace_oob_short[]; /* words 0, 1 of the OOB */
extern const struct trace_field trace_oob_long[]; /* words 2 to 5 */
extern const struct trace_field trace_cqe_header[]; /* without cqe_type */
extern const struct trace_field trace_cqe_type[]; /* cqe_type only */
extern const struct trace_field trace_cqe_tx[];
extern const struct trace_field trace_cqe_rx[];
extern const struct trace_field trace_cqe_trailer[];

/* Name of a CQE type, or NULL. */
const char *trace_cqe_type_name(uint32_t type);

/*
 * Trace lines about queues. Call these only if trace_is_on(), with the
 * machine's lock held.
 *
 * A fetched WQE. nb_bytes is less than its size if the header is invalid. port
 * is the port's number in the machine, from 1.
 */
void trace_wqe(const struct wq *wq, uint32_t port, const struct mem_table *keys,
	       const uint8_t *raw, uint32_t nb_bytes);

/* A CQE that is about to be written, with its trailer. */
void trace_cqe(const struct cq *cq, const uint8_t cqe[HW_CQE_BYTES]);

#endif /* MODEL_TRACE_LAYOUT_H */
