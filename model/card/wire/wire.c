/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>

#include "card_state.h"
#include "clock.h"
#include "nic.h"
#include "platform.h"
#include "synthetic.h"
#include "trace.h"
#include "wire.h"

static_assert(sizeof(struct wires) <= SEGMENT_WIRES_BYTES, "struct wires");

/* Limit for one slow backend; all share the pool. */
#define BACKEND_BYTES (4u << 20)

struct wire *
wire_of(uint32_t fn, uint32_t port_idx)
{
	const struct card_port *port = card_port(fn, port_idx);

	return port != NULL ? &segment_wires()->wires[port->wire] : NULL;
}

/*
 * The other end: the configured peer, else the neighbour, or the port itself if
 * the neighbour has another wire.
 */
static uint32_t
wire_peer(uint32_t n)
{
	const struct model_port_wire *config = segment_config()->wires;
	const struct wires *wires = segment_wires();
	const uint32_t peer = config[n].kind == MODEL_WIRE_PAIR ?
				      config[n].peer :
				      n ^ 1;

	if (peer >= wires->nb_wires ||
	    wires->wires[peer].kind != MODEL_WIRE_PAIR)
		return n;
	if (config[peer].kind == MODEL_WIRE_PAIR && config[peer].peer != n)
		return n;
	return config[n].kind == config[peer].kind ? peer : n;
}

/* Set whether frames reach the far end's port without processing. */
static void
wire_set_direct(struct wire *wire)
{
	const struct wire *peer = &segment_wires()->wires[wire->peer];
	struct card_port *port =
		&segment_card()->functions[wire->fn].ports[wire->port];

	port->has_direct_wire =
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
	segment_card()->functions[fn].ports[port].wire = n;
	for (uint32_t way = 0; way < NB_WIRE_WAYS; way++)
		prng_seed(&wire->way[way].prng, config->seed,
			  n * NB_WIRE_WAYS + way);
}

void
wire_init(void)
{
	const struct card *card = segment_card();
	struct wires *wires = segment_wires();

	for (uint32_t fn = 0; fn < card->nb_functions; fn++)
		for (uint32_t p = 0; p < card->functions[fn].nb_ports; p++)
			wire_make(wires->nb_wires++, fn, p);
	for (uint32_t n = 0; n < wires->nb_wires; n++) {
		struct wire *wire = &wires->wires[n];

		wire->peer = wire->kind == MODEL_WIRE_PAIR ? wire_peer(n) : n;
	}
	for (uint32_t n = 0; n < wires->nb_wires; n++)
		wire_set_direct(&wires->wires[n]);
}

void
wire_set(struct wire *wire, const struct wire_settings *settings)
{
	static const struct wire_settings nothing;

	wire->settings = *settings;
	wire->is_impaired = memcmp(settings, &nothing, sizeof(nothing)) != 0;
	/* Frames in flight stay ahead of new ones. */
	for (uint32_t way = 0; way < NB_WIRE_WAYS; way++)
		if (wire->way[way].is_active)
			wire->is_impaired = true;
	wire_set_direct(wire);
	wire_set_direct(&segment_wires()->wires[wire->peer]);
}

static void
wire_backend_put(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	struct wires *wires = segment_wires();

	if (wire->backend.nb_bytes + nb_bytes > BACKEND_BYTES ||
	    !frames_put(&wire->backend, clock_now(), frame, nb_bytes)) {
		wire->backend_lost++;
		return;
	}
	/* Wake the launcher for the first frame only: it then takes all. */
	if (wires->nb_backend_frames++ == 0)
		platform->wake_owner();
}

uint32_t
wire_backend_next(uint32_t *number, void *buf, uint32_t buf_bytes,
		  uint64_t *at_ns)
{
	struct wires *wires = segment_wires();
	struct frame_info info;
	uint32_t n = 0;

	if (wires->nb_backend_frames == 0)
		return 0;
	wires->is_busy = true;
	for (uint32_t i = 0; i < wires->nb_wires && n == 0; i++) {
		*number = wires->next_backend;
		wires->next_backend = (*number + 1) % wires->nb_wires;
		n = frames_take(&wires->wires[*number].backend, buf, buf_bytes,
				&info);
	}
	if (n != 0) {
		wires->nb_backend_frames--;
		*at_ns = info.at_ns;
	}
	wires->is_busy = false;
	return n;
}

/* To the device that receives for the port: its VF or the synthetic one. */
static void
wire_to_port(uint32_t fn, uint32_t port, const uint8_t *frame, uint32_t nb_bytes)
{
	if (segment_card()->functions[fn].ports[port].is_synthetic)
		synthetic_rx(fn, port, frame, nb_bytes);
	else
		nic_rx(fn, port, frame, nb_bytes);
}

static void
wire_deliver(const struct wire *wire, const uint8_t *frame, uint32_t nb_bytes)
{
	if (segment_config()->capture != MODEL_CAPTURE_NONE)
		capture_frame(wire, false, frame, nb_bytes);
	wire_to_port(wire->fn, wire->port, frame, nb_bytes);
}

/* Whether a sink checks frames at the far end of the wire. */
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
	case MODEL_WIRE_LOOP: /* a single wire: impairments apply once */
		wire_deliver(wire, frame, nb_bytes);
		break;
	case MODEL_WIRE_NONE:
		wire->vanished++;
		break;
	case MODEL_WIRE_GEN: /* the sink has checked it */
		break;
	case MODEL_WIRE_TAP:
	case MODEL_WIRE_PCAP:
		wire_backend_put(wire, frame, nb_bytes);
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

/* Without impairments a frame passes directly. */
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
	struct card *card = segment_card();
	struct card_port *port = &card->functions[fn].ports[port_idx];
	struct wires *wires;

	if (port->is_link_down) {
		port->counters.tx_link_down++;
		return;
	}
	if (port->has_direct_wire) {
		wire_to_port(port->peer_fn, port->peer_port, frame, nb_bytes);
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
 * The queues may be in any state, so drop all waiting frames. A wire may lose
 * frames, and none is delivered twice.
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
			&wire->backend,		   &wire->source,
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
	wires->nb_backend_frames = 0;
	wires->pool.first_free = 0;
	wires->pool.nb_touched = 0;
	wires->is_busy = false;
}
