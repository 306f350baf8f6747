/* SPDX-License-Identifier: BSD-3-Clause */

#include "card_state.h"
#include "clock.h"
#include "nic.h"
#include "synthetic.h"
#include "platform.h"
#include "wire.h"

#define PS_PER_S UINT64_C(1000000000000)
/* Limit of frames sent in a row, which lets other threads take the lock. */
#define BURST 256u
/* Limit for frames that need no WQE, which would be sent without end. */
#define FULL_BURST 65536u
/* Queue of frames from a file; the launcher is woken when it is half empty. */
#define FED_BYTES (1u << 20)

static struct card_port *
port_of(const struct wire *wire)
{
	return &segment_card()->functions[wire->fn].ports[wire->port];
}

static bool
is_done(const struct generator *gen)
{
	return !gen->is_on ||
	       (gen->settings.count != 0 && gen->nb >= gen->settings.count);
}

/* Build the next frame in the wires' buffer; 0: none now. */
static uint32_t
make_next(struct wire *wire, uint32_t *stream, bool *is_malformed)
{
	uint8_t *buf = segment_wires()->made;
	struct frame_info info;

	*is_malformed = false;
	if (wire->generator.is_fed)
		return frames_copy(&wire->source, buf,
				   sizeof(segment_wires()->made), &info);
	return generator_frame(wire, buf, stream, is_malformed);
}

static void
has_been_made(struct wire *wire, uint32_t stream, uint32_t nb_bytes,
	      bool is_malformed)
{
	struct generator *gen = &wire->generator;

	gen->nb++;
	gen->sent++;
	gen->bytes += nb_bytes;
	if (gen->is_fed) {
		const bool was_half = wire->source.nb_bytes > FED_BYTES / 2;

		frames_drop(&wire->source);
		if (was_half && wire->source.nb_bytes <= FED_BYTES / 2)
			platform->wake_owner();
	} else if (is_malformed) {
		gen->malformed++;
	} else {
		segment_wires()->streams.streams[stream].sent++;
	}
}

/* Of the device that receives for the port, behind nb_waiting frames. */
static bool
has_room(const struct wire *wire, const uint8_t *frame, uint32_t nb_bytes,
	 uint32_t nb_waiting)
{
	return port_of(wire)->is_synthetic ?
		       synthetic_has_room(wire->fn, wire->port, nb_waiting) :
		       nic_rx_has_room(wire->fn, wire->port, frame, nb_bytes,
				       nb_waiting);
}

/* False: no frame sent. needs_room: send only if the port has room. */
static bool
send_next(struct wire *wire, bool needs_room, uint32_t *nb_bytes)
{
	struct generator *gen = &wire->generator;
	const struct prng before = gen->prng;
	const struct wire_direction *in = &wire->way[WIRE_IN];
	const uint8_t *frame = segment_wires()->made;
	bool is_malformed;
	uint32_t stream = 0;

	*nb_bytes = make_next(wire, &stream, &is_malformed);
	if (*nb_bytes == 0)
		return false;
	if (needs_room &&
	    !has_room(wire, frame, *nb_bytes,
		      in->queue.nb_frames + in->held.nb_frames)) {
		gen->prng = before; /* retry the same frame later */
		return false;
	}
	has_been_made(wire, stream, *nb_bytes, is_malformed);
	wire_arrive(wire, frame, *nb_bytes);
	return true;
}

static void
send_full(struct wire *wire)
{
	uint32_t nb_bytes, n = 0;

	while (n < FULL_BURST && !is_done(&wire->generator) &&
	       send_next(wire, true, &nb_bytes))
		n++;
}

static uint64_t
interval_ps(const struct generator *gen, uint32_t nb_bytes)
{
	const uint64_t units =
		gen->settings.rate_kind == GENERATOR_BITS ? nb_bytes * 8 : 1;

	/* A rate is at most 10^12: no interval is 0. */
	return (uint64_t)((unsigned __int128)units * PS_PER_S /
			  gen->settings.rate);
}

static void
send_due(struct wire *wire, uint64_t now_ns)
{
	struct generator *gen = &wire->generator;
	uint32_t nb_bytes;

	for (uint32_t n = 0; n < BURST && !is_done(gen) &&
			     gen->next_ps <= now_ns * 1000; n++) {
		/* The first frame waits until a driver has posted a WQE. */
		if (!send_next(wire, gen->nb == 0, &nb_bytes))
			/* Wait for a WQE, or a frame from the launcher. */
			return;
		gen->next_ps += interval_ps(gen, nb_bytes);
	}
	if (!is_done(gen))
		clock_due((gen->next_ps + 999) / 1000);
}

static bool
is_receiving(const struct wire *wire)
{
	return port_of(wire)->rx_enabled || port_of(wire)->is_synthetic;
}

static void
work(struct wire *wire, uint64_t now_ns)
{
	struct wires *wires = segment_wires();
	const bool was_busy = wires->is_busy;

	if (is_done(&wire->generator) || !is_receiving(wire))
		return;
	wires->is_busy = true;
	if (wire->generator.settings.rate_kind == GENERATOR_FULL)
		send_full(wire);
	else
		send_due(wire, now_ns);
	wires->is_busy = was_busy;
}

void
generator_timers(uint64_t now_ns)
{
	struct wires *wires = segment_wires();

	for (uint32_t i = 0; i < wires->nb_generators; i++)
		work(&wires->wires[wires->generators[i]], now_ns);
}

void
generator_port_ready(struct wire *wire)
{
	struct generator *gen = &wire->generator;
	const uint64_t now_ns = clock_now();

	if (is_done(gen) || !is_receiving(wire))
		return;
	if (gen->settings.rate_kind != GENERATOR_FULL) {
		if (gen->next_ps < now_ns * 1000)
			gen->next_ps = now_ns * 1000;
		clock_due((gen->next_ps + 999) / 1000);
	} else if (segment_config()->mode != MODEL_MODE_THREAD) {
		work(wire, now_ns);
		nic_coalesce_flush();
	} else {
		segment_wires()->is_generator_ready = true;
	}
}

bool
generator_run(void)
{
	struct wires *wires = segment_wires();
	bool has_worked = false;

	if (!wires->is_generator_ready)
		return false;
	wires->is_generator_ready = false;
	for (uint32_t i = 0; i < wires->nb_generators; i++) {
		struct wire *wire = &wires->wires[wires->generators[i]];
		const uint64_t before = wire->generator.sent;

		if (wire->generator.settings.rate_kind == GENERATOR_FULL)
			work(wire, clock_now());
		has_worked |= wire->generator.sent != before;
	}
	return has_worked;
}

static void
list(const struct wire *wire)
{
	struct wires *wires = segment_wires();
	const uint32_t number = (uint32_t)(wire - wires->wires);

	for (uint32_t i = 0; i < wires->nb_generators; i++)
		if (wires->generators[i] == number)
			return;
	wires->generators[wires->nb_generators++] = number;
}

bool
generator_start(struct wire *wire, const struct generator_settings *settings)
{
	struct wires *wires = segment_wires();
	const uint32_t number = (uint32_t)(wire - wires->wires);
	struct generator *gen = &wire->generator;

	if (!gen->is_fed) {
		if (settings->first_stream > SINK_NB_STREAMS ||
		    settings->nb_flows > SINK_NB_STREAMS -
						 settings->first_stream)
			return false;
		for (uint32_t i = 0; i < settings->nb_flows; i++)
			sink_add_stream(settings->first_stream + i, number);
		if (wires->next_stream <
		    settings->first_stream + settings->nb_flows)
			wires->next_stream = settings->first_stream +
					     settings->nb_flows;
	}
	gen->settings = *settings;
	gen->nb = 0;
	gen->next_ps = 0;
	gen->is_on = true;
	prng_seed(&gen->prng, segment_config()->seed,
		  NB_WIRE_WAYS * MODEL_MAX_PORTS + number);
	list(wire);
	port_of(wire)->has_generator = true;
	generator_port_ready(wire);
	return true;
}

void
generator_stop(struct wire *wire)
{
	wire->generator.is_on = false;
}

bool
generator_feed(struct wire *wire, const void *frame, uint32_t nb_bytes)
{
	const bool was_empty = wire->source.nb_frames == 0;
	struct wires *wires = segment_wires();
	bool is_in;

	if (wire->source.nb_bytes + nb_bytes > FED_BYTES)
		return false;
	wires->is_busy = true;
	is_in = frames_put(&wire->source, 0, frame, nb_bytes);
	wires->is_busy = false;
	if (is_in && was_empty)
		clock_due(clock_now());
	return is_in;
}
