/* SPDX-License-Identifier: BSD-3-Clause */

/* One direction of a wire: loss, corruption, reordering, delay. */

#include <string.h>

#include "clock.h"
#include "trace.h"
#include "wire.h"

/* Preamble, FCS and inter-frame gap (IEEE 802.3). */
#define WIRE_OVERHEAD_BYTES 24u
/* A reordered frame waits at most this long for one to overtake it. */
#define WIRE_HOLD_NS 1000000u
#define PS_PER_S     UINT64_C(1000000000000)

static uint32_t
way_number(const struct wire *wire, enum wire_way way)
{
	return (uint32_t)(wire - segment_wires()->wires) * NB_WIRE_WAYS + way;
}

static void
way_activate(struct wire *wire, enum wire_way way)
{
	struct wires *wires = segment_wires();

	if (wire->way[way].is_active)
		return;
	wire->way[way].is_active = true;
	wires->active[wires->nb_active++] = way_number(wire, way);
}

/* When the frame's last bit arrives: after earlier frames, and the delay. */
static uint64_t
way_release_ns(struct wire *wire, struct wire_direction *direction,
	       uint32_t nb_bytes)
{
	const struct wire_settings *settings = &wire->settings;
	const uint64_t now_ns = clock_now();
	uint64_t at_ps = now_ns * 1000, at_ns;

	if (settings->bits_per_s != 0) {
		if (at_ps < direction->free_at_ps)
			at_ps = direction->free_at_ps;
		at_ps += (nb_bytes + WIRE_OVERHEAD_BYTES) * 8 *
			 (PS_PER_S / 1000) / (settings->bits_per_s / 1000);
		direction->free_at_ps = at_ps;
	}
	at_ns = (at_ps + 999) / 1000 + settings->delay_ns;
	if (at_ns < direction->last_at_ns)
		at_ns = direction->last_at_ns;
	direction->last_at_ns = at_ns;
	return at_ns;
}

/* Trace what happened to a frame. */
static void
way_trace(const struct wire *wire, enum wire_way way, const char *what)
{
	trace_event("kind=wire port=%u way=%s what=%s",
		    trace_port(wire->fn, wire->port),
		    way == WIRE_OUT ? "out" : "in", what);
}

/* Queue the frame for its time on the wire, or pass it at once. */
static void
way_send(struct wire *wire, enum wire_way way, const uint8_t *frame,
	 uint32_t nb_bytes)
{
	struct wire_direction *direction = &wire->way[way];
	const uint64_t limit = wire->settings.queue_frames;
	uint64_t at_ns;

	if (limit != 0 && direction->queue.nb_frames >= limit) {
		direction->counters.overflow++;
		way_trace(wire, way, "overflow");
		return;
	}
	at_ns = way_release_ns(wire, direction, nb_bytes);
	if (direction->queue.nb_frames == 0 && at_ns <= clock_now()) {
		wire_released(wire, way, frame, nb_bytes);
		return;
	}
	if (!frames_put(&direction->queue, at_ns, frame, nb_bytes)) {
		direction->counters.overflow++;
		way_trace(wire, way, "overflow");
		return;
	}
	way_activate(wire, way);
	clock_due(at_ns);
}

static bool
way_hold(struct wire *wire, enum wire_way way, const uint8_t *frame,
	 uint32_t nb_bytes)
{
	struct wire_direction *direction = &wire->way[way];
	const uint64_t until_ns = clock_now() + WIRE_HOLD_NS;

	if (direction->held.nb_frames != 0 ||
	    !prng_chance(&direction->prng, wire->settings.reorder) ||
	    !frames_put(&direction->held, until_ns, frame, nb_bytes))
		return false;
	direction->counters.reordered++;
	way_trace(wire, way, "reordered");
	way_activate(wire, way);
	clock_due(until_ns);
	return true;
}

static void
way_release_held(struct wire *wire, enum wire_way way)
{
	uint8_t *frame = segment_wires()->frame[way];
	struct frame_info info;
	uint32_t n = frames_take(&wire->way[way].held, frame,
				 sizeof(segment_wires()->frame[way]), &info);

	if (n != 0)
		way_send(wire, way, frame, n);
}

/* Flip one bit; the FCS counts as correct. */
static const uint8_t *
way_corrupt(enum wire_way way, struct prng *prng, const uint8_t *frame,
	    uint32_t nb_bytes)
{
	uint8_t *copy = segment_wires()->frame[way];
	const uint32_t bit = prng_below(prng, nb_bytes * 8);

	memmove(copy, frame, nb_bytes);
	copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
	return copy;
}

void
wire_way_pass(struct wire *wire, enum wire_way way, const uint8_t *frame,
	      uint32_t nb_bytes)
{
	struct wire_direction *direction = &wire->way[way];
	const struct wire_settings *settings = &wire->settings;
	struct wire_counters *counters = &direction->counters;

	counters->frames++;
	if (nb_bytes > sizeof(segment_wires()->frame[way]))
		return;
	if (prng_chance(&direction->prng, settings->loss)) {
		counters->lost++;
		way_trace(wire, way, "lost");
		return;
	}
	if (prng_chance(&direction->prng, settings->corrupt)) {
		counters->corrupted++;
		way_trace(wire, way, "corrupted");
		frame = way_corrupt(way, &direction->prng, frame, nb_bytes);
	}
	if (way_hold(wire, way, frame, nb_bytes))
		return;
	if (prng_chance(&direction->prng, settings->duplicate)) {
		counters->duplicated++;
		way_trace(wire, way, "duplicated");
		way_send(wire, way, frame, nb_bytes);
	}
	way_send(wire, way, frame, nb_bytes);
	way_release_held(wire, way);
}

/* The next waiting frame: the earliest, among equals the one put in first. */
static bool
timers_next(struct wire **wire, enum wire_way *way, bool *is_held,
	    struct frame_info *next)
{
	struct wires *wires = segment_wires();
	struct frame_info info;
	bool has_any = false;

	for (uint32_t i = 0; i < wires->nb_active; i++) {
		const uint32_t number = wires->active[i];
		struct wire *w = &wires->wires[number / NB_WIRE_WAYS];
		struct wire_direction *d = &w->way[number % NB_WIRE_WAYS];

		for (int held = 0; held < 2; held++) {
			if (!frames_peek(held ? &d->held : &d->queue, &info) ||
			    (has_any && (info.at_ns > next->at_ns ||
					 (info.at_ns == next->at_ns &&
					  info.order > next->order))))
				continue;
			has_any = true;
			*next = info;
			*wire = w;
			*way = number % NB_WIRE_WAYS;
			*is_held = held;
		}
	}
	return has_any;
}

static void
timers_forget_idle(void)
{
	struct wires *wires = segment_wires();
	uint32_t nb = 0;

	for (uint32_t i = 0; i < wires->nb_active; i++) {
		const uint32_t number = wires->active[i];
		struct wire_direction *d = &wires->wires[number / NB_WIRE_WAYS]
						    .way[number % NB_WIRE_WAYS];

		d->is_active = d->queue.nb_frames + d->held.nb_frames != 0;
		if (d->is_active)
			wires->active[nb++] = number;
	}
	wires->nb_active = nb;
}

void
wire_way_timers(uint64_t now_ns)
{
	enum wire_way way = WIRE_OUT;
	struct wire *wire = NULL;
	struct frame_info info;
	bool is_held = false;

	while (timers_next(&wire, &way, &is_held, &info)) {
		uint8_t *frame = segment_wires()->frame[way];
		uint32_t n;

		if (info.at_ns > now_ns) {
			clock_due(info.at_ns);
			break;
		}
		if (is_held) {
			way_release_held(wire, way);
			continue;
		}
		n = frames_take(&wire->way[way].queue, frame,
				sizeof(segment_wires()->frame[way]), &info);
		wire_released(wire, way, frame, n);
	}
	timers_forget_idle();
}
