/* SPDX-License-Identifier: BSD-3-Clause */

/* The wires between ports. With the machine's lock held. */

#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <stdint.h>

/* Lay the wires as configured: fills peer_fn, peer_port, to_tap. */
void wire_init(void);

/* A frame leaves a port. */
void wire_send(uint32_t fn, uint32_t port, const uint8_t *frame,
	       uint32_t nb_bytes);

/* The launcher takes the oldest frame for a TAP: device_tap_next(). */
uint32_t wire_tap_next(uint32_t *fn, uint32_t *port, void *buf,
		       uint32_t buf_bytes);

#endif /* MODEL_WIRE_H */
