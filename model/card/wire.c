/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>

#include "card.h"
#include "clock.h"
#include "nic.h"
#include "trace.h"
#include "trace_wire.h"
#include "wire.h"

static_assert(sizeof(struct wires) <= SEGMENT_WIRES_BYTES, "struct wires");

/* For one slow reader; the pool is for all. */
#define OUTLET_BYTES (4u << 20)

struct wire *
wire_of(uint32_t fn, uint32_t port_idx)
{
	const struct card_port *port = card_port(fn, port_idx);

	return port != NULL ? &segment_wires()->wires[port->wire] : NULL;
}

/*
 * The other end: as told, or the neighbour, unless that one has another wire;
 * without one, itself.
 */
static uint32_t
wire_peer(uint32_t n)
{
	const struct model_port_wire *told = segment_config()->wires;
	const struct wires *wires = segment_wires();
	const uint32_t peer = told[n].kind == MODEL_WIRE_PAIR ? told[n].peer :
								n ^ 1;

	if (peer >= wires->nb_wires ||
	    wires->wires[peer].kind != MODEL_WIRE_PAIR)
		return n;
	if (told[peer].kind == MODEL_WIRE_PAIR && told[peer].peer != n)
		return n;
	return told[n].kind == told[peer].kind ? peer : n;
}

/* Whether the frames that leave need no more than a port at the far end. */
static void
wire_set_plain(struct wire *wire)
{
	const struct wire *peer = &segment_wires()->wires[wire->peer];
	struct card_port *port =
		&segment_device()->functions[wire->fn].ports[wire->port];

	port->has_plain_wire =
		(wire->kind == MODEL_WIRE_PAIR || wire->kind == MODEL_WIRE_LOOP) &&
		!wire->is_impaired && !peer->is_impaired &&
		!segment_config()->sink &&
		segment_config()->capture == MODEL_CAPTURE_NONE;
	port->peer_fn = peer->fn;
	port->peer_port = peer->port;
}

static void
wire_make(uint32_t n, uint32_t fn, uint32_t port)
{
	const struct model_config *config = segment_config();
	struct wire *wire = &segment_wires()->wires[n];

	wire->kind = config->wires[n].kind;
	if (wire->kind == MODEL_WIRE_DEFAULT)
		wire->kind = config->wire;
	if (wire->kind == MODEL_WIRE_DEFAULT)
		wire->kind = MODEL_WIRE_PAIR;
	wire->fn = fn;
	wire->port = port;
	segment_device()->functions[fn].ports[port].wire = n;
	for (uint32_t way = 0; way < NB_WIRE_WAYS; way++)
		prng_seed(&wire->way[way].prng, config->seed,
			  n * NB_WIRE_WAYS + way);
}

void
wire_init(void)
{
	const struct device *card = segment_device();
	struct wires *wires = segment_wires();

	for (uint32_t fn = 0; fn < card->nb_functions; fn++)
		for (uint32_t p = 0; p < card->functions[fn].nb_ports; p++)
			wire_make(wires->nb_wires++, fn, p);
	for (uint32_t n = 0; n < wires->nb_wires; n++) {
		struct wire *wire = &wires->wires[n];

		wire->peer = wire->kind == MODEL_WIRE_PAIR ? wire_peer(n) : n;
	}
	for (uint32_t n = 0; n < wires->nb_wires; n++)
		wire_set_plain(&wires->wires[n]);
}

void
wire_set(struct wire *wire, const struct wire_settings *settings)
{
	static const struct wire_settings nothing;

	wire->settings = *settings;
	wire->is_impaired = memcmp(settings, &nothing, sizeof(nothing)) != 0;
	/* What is on its way stays ahead of what follows. */
	for (uint32_t way = 0; way < NB_WIRE_WAYS; way++)
		if (wire->way[way].is_active)
			wire->is_impaired = true;
	wire_set_plain(wire);
	wire_set_plain(&segment_wires()->wires[wire->peer]);
}

static void
wire_outlet_put(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	struct wires *wires = segment_wires();

	if (wire->outlet.nb_bytes + nb_bytes > OUTLET_BYTES ||
	    !frames_put(&wire->outlet, clock_now(), frame, nb_bytes)) {
		wire->outlet_lost++;
		return;
	}
	/* Once awake the launcher takes all there are. */
	if (wires->nb_outlet_frames++ == 0)
		kernel_kick_launcher();
}

uint32_t
wire_outlet_next(uint32_t *number, void *buf, uint32_t buf_bytes,
		 uint64_t *at_ns)
{
	struct wires *wires = segment_wires();
	struct frame_info info;
	uint32_t n = 0;

	if (wires->nb_outlet_frames == 0)
		return 0;
	wires->is_busy = true;
	for (uint32_t i = 0; i < wires->nb_wires && n == 0; i++) {
		*number = wires->next_outlet;
		wires->next_outlet = (*number + 1) % wires->nb_wires;
		n = frames_take(&wires->wires[*number].outlet, buf, buf_bytes,
				&info);
	}
	if (n != 0) {
		wires->nb_outlet_frames--;
		*at_ns = info.at_ns;
	}
	wires->is_busy = false;
	return n;
}

static void
wire_deliver(const struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	if (segment_config()->capture != MODEL_CAPTURE_NONE)
		capture_frame(wire, false, frame, nb_bytes);
	nic_rx(wire->fn, wire->port, frame, nb_bytes);
}

/* Whether frames are checked that leave the wire at its far end. */
static bool
wire_is_checked(const struct wire *wire)
{
	return wire->kind == MODEL_WIRE_GEN || segment_config()->sink;
}

static void
wire_far_end(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	if (wire_is_checked(wire))
		sink_receive(&wire->sink, frame, nb_bytes);
	switch (wire->kind) {
	case MODEL_WIRE_DEFAULT:
	case MODEL_WIRE_PAIR:
		if (wire->peer != (uint32_t)(wire - segment_wires()->wires)) {
			wire_arrive(&segment_wires()->wires[wire->peer], frame,
				    nb_bytes);
			break;
		}
		/* fallthrough */
	case MODEL_WIRE_LOOP: /* one wire: it is passed once */
		wire_deliver(wire, frame, nb_bytes);
		break;
	case MODEL_WIRE_NONE:
		wire->vanished++;
		break;
	case MODEL_WIRE_GEN: /* was checked */
		break;
	case MODEL_WIRE_TAP:
	case MODEL_WIRE_PCAP:
	case MODEL_WIRE_LINK:
		wire_outlet_put(wire, frame, nb_bytes);
		break;
	}
}

void
wire_released(struct wire *wire, enum wire_way way, const uint8_t *frame,
	      uint32_t nb_bytes)
{
	if (way == WIRE_OUT)
		wire_far_end(wire, frame, nb_bytes);
	else
		wire_deliver(wire, frame, nb_bytes);
}

/* Without impairments a frame goes straight on. */
static void
wire_pass(struct wire *wire, enum wire_way way, const uint8_t *frame,
	  uint32_t nb_bytes)
{
	if (wire->is_impaired) {
		wire_way_pass(wire, way, frame, nb_bytes);
		return;
	}
	wire->way[way].counters.frames++;
	wire_released(wire, way, frame, nb_bytes);
}

void
wire_arrive(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	struct wires *wires = segment_wires();
	const bool was_busy = wires->is_busy;

	wires->is_busy = true;
	wire_pass(wire, WIRE_IN, frame, nb_bytes);
	wires->is_busy = was_busy;
}

void
wire_send(uint32_t fn, uint32_t port_idx, const uint8_t *frame, uint32_t nb_bytes)
{
	struct device *card = segment_device();
	struct card_port *port = &card->functions[fn].ports[port_idx];
	struct wires *wires;

	if (trace_is_on(TRACE_wire))
		trace_frame(fn, port_idx, true, frame, nb_bytes);
	if (port->is_link_down) {
		port->counters.tx_link_down++;
		return;
	}
	if (port->has_plain_wire) {
		nic_rx(port->peer_fn, port->peer_port, frame, nb_bytes);
		return;
	}
	wires = segment_wires();
	if (segment_config()->capture != MODEL_CAPTURE_NONE)
		capture_frame(&wires->wires[port->wire], true, frame, nb_bytes);
	wires->is_busy = true;
	wire_pass(&wires->wires[port->wire], WIRE_OUT, frame, nb_bytes);
	wires->is_busy = false;
}

void
wire_timers(uint64_t now_ns)
{
	struct wires *wires = segment_wires();

	wires->is_busy = true;
	wire_way_timers(now_ns);
	generator_timers(now_ns);
	wires->is_busy = false;
}

bool
wire_rx_ready(uint32_t fn, uint32_t port_idx)
{
	const struct card_port *port = card_port(fn, port_idx);

	if (!port->has_generator)
		return false;
	generator_port_ready(&segment_wires()->wires[port->wire]);
	return segment_wires()->is_generator_ready;
}

/*
 * Queues may be in any state: all that wait are lost. It is what a wire may do,
 * and nothing is delivered twice.
 */
void
wire_recover(void)
{
	struct wires *wires = segment_wires();

	if (!wires->is_busy)
		return;
	for (uint32_t n = 0; n < wires->nb_wires; n++) {
		struct wire *wire = &wires->wires[n];
		struct frame_queue *queues[] = {
			&wire->outlet,		   &wire->source,
			&wire->way[WIRE_OUT].queue, &wire->way[WIRE_OUT].held,
			&wire->way[WIRE_IN].queue,  &wire->way[WIRE_IN].held,
		};

		for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
			wires->swept += queues[i]->nb_frames;
			memset(queues[i], 0, sizeof(*queues[i]));
		}
		wire->way[WIRE_OUT].is_active = false;
		wire->way[WIRE_IN].is_active = false;
	}
	wires->nb_active = 0;
	wires->nb_outlet_frames = 0;
	wires->pool.first_free = 0;
	wires->pool.nb_touched = 0;
	wires->is_busy = false;
}
