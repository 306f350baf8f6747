/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "outlet.h"
#include "segment.h"
#include "wire.h"

#define MAX_FRAME_BYTES 65536
/* Frames of one outlet in a row, so that the others have their turn. */
#define BURST 32

static struct outlet *outlets;
static uint32_t nb_outlets;
static uint8_t frame[MAX_FRAME_BYTES];

static const struct outlet_ops *
ops_of(enum model_wire kind)
{
	switch (kind) {
	case MODEL_WIRE_TAP:
		return &outlet_tap;
	case MODEL_WIRE_PCAP:
		return &outlet_pcap;
	case MODEL_WIRE_LINK:
		return &outlet_link;
	default:
		return NULL;
	}
}

static int
open_one(const struct wire *wire, uint32_t number, const char *args)
{
	struct outlet *outlet = &outlets[nb_outlets];

	outlet->ops = ops_of(wire->kind);
	if (outlet->ops == NULL)
		return 0;
	outlet->number = number;
	outlet->fn = wire->fn;
	outlet->port = wire->port;
	outlet->fd = -1;
	nb_outlets++;
	return outlet->ops->open(outlet, args);
}

int
outlets_open(const struct options *options)
{
	const struct wires *wires = segment_wires();

	outlets = calloc(wires->nb_wires, sizeof(*outlets));
	if (outlets == NULL) {
		options_complain("no memory for the ends of the wires");
		return -1;
	}
	for (uint32_t n = 0; n < wires->nb_wires; n++) {
		if (open_one(&wires->wires[n], n, options->wire_args[n]) != 0) {
			outlets_close();
			return -1;
		}
	}
	return 0;
}

void
outlets_close(void)
{
	for (uint32_t k = 0; k < nb_outlets; k++)
		outlets[k].ops->close(&outlets[k]);
	free(outlets);
	outlets = NULL;
	nb_outlets = 0;
}

uint32_t
outlets_pollfds(struct pollfd *fds)
{
	for (uint32_t k = 0; fds != NULL && k < nb_outlets; k++) {
		for (uint32_t i = 0; i < OUTLET_NB_FDS; i++)
			fds[k * OUTLET_NB_FDS + i] =
				(struct pollfd){ .fd = -1, .events = POLLIN };
		if (outlets[k].ops->pollfds != NULL)
			outlets[k].ops->pollfds(&outlets[k],
						fds + k * OUTLET_NB_FDS);
	}
	return nb_outlets * OUTLET_NB_FDS;
}

static void
receive_burst(struct outlet *outlet)
{
	for (int i = 0; i < BURST; i++) {
		uint32_t nb_bytes =
			outlet->ops->receive(outlet, frame, sizeof(frame));

		if (nb_bytes == 0)
			break;
		segment_lock();
		device_port_receive(outlet->fn, outlet->port, frame, nb_bytes);
		segment_unlock();
	}
}

void
outlets_receive(const struct pollfd *fds)
{
	for (uint32_t k = 0; k < nb_outlets; k++) {
		short events = 0;

		for (uint32_t i = 0; i < OUTLET_NB_FDS; i++)
			events |= fds[k * OUTLET_NB_FDS + i].revents;
		if (events != 0 && outlets[k].ops->receive != NULL)
			receive_burst(&outlets[k]);
	}
}

static struct outlet *
outlet_of(uint32_t number)
{
	for (uint32_t k = 0; k < nb_outlets; k++)
		if (outlets[k].number == number)
			return &outlets[k];
	return NULL;
}

void
outlets_transmit(void)
{
	for (;;) {
		struct outlet *outlet;
		uint32_t number, nb_bytes;
		uint64_t at_ns;

		segment_lock();
		nb_bytes = wire_outlet_next(&number, frame, sizeof(frame),
					    &at_ns);
		segment_unlock();
		if (nb_bytes == 0)
			return;
		outlet = outlet_of(number);
		if (outlet != NULL &&
		    outlet->ops->transmit(outlet, frame, nb_bytes, at_ns))
			continue;
		segment_lock();
		segment_wires()->wires[number].outlet_lost++;
		segment_unlock();
	}
}

void
outlets_tick(void)
{
	for (uint32_t k = 0; k < nb_outlets; k++)
		if (outlets[k].ops->tick != NULL)
			outlets[k].ops->tick(&outlets[k]);
}
