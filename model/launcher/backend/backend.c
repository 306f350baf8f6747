/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "backend.h"
#include "card.h"
#include "segment.h"
#include "wire.h"

#define MAX_FRAME_BYTES 65536
/* Limit of frames of a backend in a row, for fairness. */
#define BURST 32

static struct backend *backends;
static uint32_t nb_backends;
static uint8_t frame[MAX_FRAME_BYTES];

static const struct backend_ops *
ops_of(enum model_wire kind)
{
	switch (kind) {
	case MODEL_WIRE_TAP:
		return &backend_tap;
	case MODEL_WIRE_PCAP:
		return &backend_pcap;
	default:
		return NULL;
	}
}

static int
open_one(const struct wire *wire, uint32_t number, const char *args)
{
	struct backend *backend = &backends[nb_backends];

	backend->ops = ops_of(wire->kind);
	if (backend->ops == NULL)
		return 0;
	backend->number = number;
	backend->fn = wire->fn;
	backend->port = wire->port;
	backend->fd = -1;
	nb_backends++;
	return backend->ops->open(backend, args);
}

int
backends_open(const struct options *options)
{
	const struct wires *wires = segment_wires();

	backends = calloc(wires->nb_wires, sizeof(*backends));
	if (backends == NULL) {
		options_error("no memory for the ends of the wires");
		return -1;
	}
	for (uint32_t n = 0; n < wires->nb_wires; n++) {
		if (open_one(&wires->wires[n], n, options->wire_args[n]) != 0) {
			backends_close();
			return -1;
		}
	}
	return 0;
}

void
backends_close(void)
{
	for (uint32_t k = 0; k < nb_backends; k++)
		backends[k].ops->close(&backends[k]);
	free(backends);
	backends = NULL;
	nb_backends = 0;
}

uint32_t
backends_pollfds(struct pollfd *fds)
{
	for (uint32_t k = 0; fds != NULL && k < nb_backends; k++)
		fds[k] = (struct pollfd){ .fd = backends[k].fd, .events = POLLIN };
	return nb_backends;
}

static void
receive_burst(struct backend *backend)
{
	for (int i = 0; i < BURST; i++) {
		uint32_t nb_bytes =
			backend->ops->receive(backend, frame, sizeof(frame));

		if (nb_bytes == 0)
			break;
		segment_lock();
		card_port_receive(backend->fn, backend->port, frame, nb_bytes);
		segment_unlock();
	}
}

void
backends_receive(const struct pollfd *fds)
{
	for (uint32_t k = 0; k < nb_backends; k++)
		if (fds[k].revents != 0)
			receive_burst(&backends[k]);
}

static struct backend *
backend_of(uint32_t number)
{
	for (uint32_t k = 0; k < nb_backends; k++)
		if (backends[k].number == number)
			return &backends[k];
	return NULL;
}

void
backends_transmit(void)
{
	for (;;) {
		struct backend *backend;
		uint32_t number, nb_bytes;
		uint64_t at_ns;

		segment_lock();
		nb_bytes = wire_backend_next(&number, frame, sizeof(frame),
					    &at_ns);
		segment_unlock();
		if (nb_bytes == 0)
			return;
		backend = backend_of(number);
		if (backend != NULL &&
		    backend->ops->transmit(backend, frame, nb_bytes, at_ns))
			continue;
		segment_lock();
		segment_wires()->wires[number].backend_lost++;
		segment_unlock();
	}
}

void
backends_tick(void)
{
	for (uint32_t k = 0; k < nb_backends; k++)
		if (backends[k].ops->tick != NULL)
			backends[k].ops->tick(&backends[k]);
}
