/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --wire tap: a Linux TAP interface mtap<k> for each port of the machine.
 */

#ifndef MODEL_TAP_H
#define MODEL_TAP_H

#include <poll.h>
#include <stdint.h>

/* Make and bring up all. 0, or -1 after a complaint; none is left then. */
int tap_open(void);
void tap_close(void);

/* Fill pollfds for all interfaces; their number. NULL only counts. */
uint32_t tap_pollfds(struct pollfd *fds);
/* Move frames: in from those that poll() showed readable, out from ports. */
void tap_receive(const struct pollfd *fds);
void tap_transmit(void);

#endif /* MODEL_TAP_H */
