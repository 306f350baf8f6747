/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The layouts of WQEs and CQEs as the trace names their fields, with the names
 * of Linux gdma.h and mana.h. Each table ends with an entry without a name. The
 * fields of a table cover all bits, but for those that the hardware leaves
 * unused beyond the last word.
 */

#ifndef MODEL_TRACE_LAYOUT_H
#define MODEL_TRACE_LAYOUT_H

#include "trace.h"

extern const struct trace_field trace_wqe_header[]; /* words 0, 1 */
extern const struct trace_field trace_oob_short[]; /* words 0, 1 of the OOB */
extern const struct trace_field trace_oob_long[]; /* words 2 to 5 */
extern const struct trace_field trace_cqe_header[]; /* but for cqe_type */
extern const struct trace_field trace_cqe_type[]; /* that one */
extern const struct trace_field trace_cqe_tx[];
extern const struct trace_field trace_cqe_rx[];
extern const struct trace_field trace_cqe_trailer[];

/*
 * What lies between header and trailer. The type decides; of an unknown one the
 * trailer, which may lie when a fault is injected.
 */
const struct trace_field *trace_cqe_fields(const uint8_t *cqe);

/* Name of a CQE type, or NULL. */
const char *trace_cqe_type_name(uint32_t type);

#endif /* MODEL_TRACE_LAYOUT_H */
