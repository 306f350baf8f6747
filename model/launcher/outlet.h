/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Outlets: far ends of wires that the launcher holds, outside of the machine.
 */

#ifndef MODEL_OUTLET_H
#define MODEL_OUTLET_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

#define OUTLET_NB_FDS 2

struct outlet;

/* What a kind of them does. NULL: nothing. */
struct outlet_ops {
	/* 0, or -1 after a complaint; close() takes a half-open one. */
	int (*open)(struct outlet *outlet, const char *args);
	/* What to wait for: file descriptors and events, -1 for none. */
	void (*pollfds)(const struct outlet *outlet, struct pollfd *fds);
	/* The length of the next frame from outside; 0: there is none now. */
	uint32_t (*receive)(struct outlet *outlet, void *buf,
			    uint32_t buf_bytes);
	/* False: it is lost. at_ns is the machine's time. */
	bool (*transmit)(struct outlet *outlet, const void *frame,
			 uint32_t nb_bytes, uint64_t at_ns);
	/* Now and then, and before it is waited. */
	void (*tick)(struct outlet *outlet);
	void (*close)(struct outlet *outlet);
};

extern const struct outlet_ops outlet_tap, outlet_link, outlet_pcap;

struct outlet {
	const struct outlet_ops *ops;
	uint32_t number; /* of the port in the machine, from 0 */
	uint32_t fn, port;
	int fd;
	void *state; /* more of it, of its kind's own making */
};

/* All that the options ask for. 0, or -1 after a complaint; none is left then. */
int outlets_open(const struct options *options);
void outlets_close(void);

/* Fill pollfds; their number. NULL only counts. */
uint32_t outlets_pollfds(struct pollfd *fds);
/* Move frames: in from those that poll() showed readable, out from ports. */
void outlets_receive(const struct pollfd *fds);
void outlets_transmit(void);
void outlets_tick(void);

#endif /* MODEL_OUTLET_H */
