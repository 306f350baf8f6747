/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lines of the trace about doorbells and frames. The machine's lock is held.
 */

#ifndef MODEL_TRACE_WIRE_H
#define MODEL_TRACE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

/* A port as commands count them: those of the machine, from 1. */
uint32_t trace_port(uint32_t fn, uint32_t port);

/* A frame that leaves a port or arrives at one. Only when trace_is_on(). */
void trace_frame(uint32_t fn, uint32_t port, bool is_tx, const uint8_t *frame,
		 uint32_t nb_bytes);

#endif /* MODEL_TRACE_WIRE_H */
