/* SPDX-License-Identifier: BSD-3-Clause */

/* Backends: far ends of wires outside the machine, run by the launcher. */

#ifndef MODEL_BACKEND_H
#define MODEL_BACKEND_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct backend;

/* Operations of a kind of backend; NULL: none. */
struct backend_ops {
	/* 0, or -1 after logging an error. close() accepts partly opened. */
	int (*open)(struct backend *backend, const char *args);
	/*
	 * Receive a frame from outside, when its descriptor is readable; returns the
	 * frame's length; 0: none now.
	 */
	uint32_t (*receive)(struct backend *backend, void *buf,
			    uint32_t buf_bytes);
	/* Send a frame. False: it is lost. at_ns is the machine's time. */
	bool (*transmit)(struct backend *backend, const void *frame,
			 uint32_t nb_bytes, uint64_t at_ns);
	/* Called regularly, and before the launcher waits. */
	void (*tick)(struct backend *backend);
	void (*close)(struct backend *backend);
};

extern const struct backend_ops backend_tap, backend_pcap;

struct backend {
	const struct backend_ops *ops;
	uint32_t number; /* the port's number in the machine, from 0 */
	uint32_t fn, port;
	int fd; /* to poll; -1: none */
	void *state; /* private to the kind */
};

/* Open the options' backends. 0, or -1 after logging an error: all closed. */
int backends_open(const struct options *options);
void backends_close(void);

/* Fill in pollfds, unless NULL; returns their number. */
uint32_t backends_pollfds(struct pollfd *fds);
/* Move frames: in from backends that poll() reported, out from ports. */
void backends_receive(const struct pollfd *fds);
void backends_transmit(void);
void backends_tick(void);

#endif /* MODEL_BACKEND_H */
