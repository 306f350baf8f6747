/* SPDX-License-Identifier: BSD-3-Clause */

/* Trace lines of frames. The caller holds the machine's lock. */

#ifndef MODEL_TRACE_FRAME_H
#define MODEL_TRACE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* The port's number in commands: over the whole machine, from 1. */
uint32_t trace_port(uint32_t fn, uint32_t port);

/* A frame that a port sends or receives. Call only if trace_is_on(). */
void trace_frame(uint32_t fn, uint32_t port, bool is_tx, const uint8_t *frame,
		 uint32_t nb_bytes);

#endif /* MODEL_TRACE_FRAME_H */
