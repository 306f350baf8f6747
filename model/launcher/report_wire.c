/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report_wire.h"
#include "wire.h"

static const char *const kinds[] = {
	[MODEL_WIRE_PAIR] = "pair", [MODEL_WIRE_LOOP] = "loop",
	[MODEL_WIRE_NONE] = "none", [MODEL_WIRE_TAP] = "tap",
	[MODEL_WIRE_PCAP] = "pcap", [MODEL_WIRE_LINK] = "link",
	[MODEL_WIRE_GEN] = "gen",
};

static void
add(json_t *object, const char *name, uint64_t n)
{
	json_object_set_new(object, name, json_integer((json_int_t)n));
}

static json_t *
direction(const struct wire_direction *d)
{
	const struct wire_counters *c = &d->counters;
	json_t *object = json_object();

	add(object, "lost", c->lost);
	add(object, "duplicated", c->duplicated);
	add(object, "reordered", c->reordered);
	add(object, "corrupted", c->corrupted);
	add(object, "overflow", c->overflow);
	add(object, "in_flight", d->queue.nb_frames + d->held.nb_frames);
	return object;
}

/* All streams of a generator together. */
static json_t *
generator(const struct wire *wire, uint32_t number)
{
	const struct sink_streams *all = &segment_wires()->streams;
	uint64_t received = 0, lost = 0;
	json_t *object = json_object();

	for (uint32_t i = 0; i < all->nb_listed; i++) {
		const struct stream *s = &all->streams[all->listed[i]];

		if (!s->is_ours || s->wire != number)
			continue;
		received += s->received;
		lost += stream_lost(s);
	}
	add(object, "sent", wire->generator.sent);
	add(object, "bytes", wire->generator.bytes);
	add(object, "malformed", wire->generator.malformed);
	add(object, "received", received);
	add(object, "lost", lost);
	return object;
}

static json_t *
sink(const struct sink_counters *c)
{
	json_t *object = json_object();

	add(object, "received", c->received);
	add(object, "duplicated", c->duplicated);
	add(object, "reordered", c->reordered);
	add(object, "corrupted", c->corrupted);
	add(object, "foreign", c->foreign);
	return object;
}

json_t *
report_swept(void)
{
	return json_integer((json_int_t)segment_wires()->swept);
}

json_t *
report_streams(void)
{
	const struct sink_streams *all = &segment_wires()->streams;
	json_t *list = json_array();

	for (uint32_t i = 0; i < all->nb_listed; i++) {
		const struct stream *s = &all->streams[all->listed[i]];
		json_t *object = json_object();

		add(object, "stream", all->listed[i]);
		json_object_set_new(object, "port", !s->is_ours ?
				    json_null() :
				    json_integer((json_int_t)s->wire + 1));
		add(object, "sent", s->sent);
		add(object, "received", s->received);
		add(object, "lost", stream_lost(s));
		add(object, "duplicated", s->duplicated);
		add(object, "reordered", s->reordered);
		add(object, "corrupted", s->corrupted);
		json_array_append_new(list, object);
	}
	return list;
}

json_t *
report_wire(uint32_t fn, uint32_t port)
{
	const struct wire *wire = wire_of(fn, port);
	const uint32_t number = (uint32_t)(wire - segment_wires()->wires);
	json_t *object = json_object();

	json_object_set_new(object, "kind", json_string(kinds[wire->kind]));
	if (wire->kind == MODEL_WIRE_PAIR)
		add(object, "peer", wire->peer + 1);
	json_object_set_new(object, "out", direction(&wire->way[WIRE_OUT]));
	json_object_set_new(object, "in", direction(&wire->way[WIRE_IN]));
	add(object, "outlet_lost", wire->outlet_lost);
	add(object, "vanished", wire->vanished);
	add(object, "capture_lost", segment_wires()->capture.nb_lost[number]);
	if (wire->generator.is_on || wire->generator.sent != 0)
		json_object_set_new(object, "generator",
				    generator(wire, number));
	if (wire->kind == MODEL_WIRE_GEN || segment_config()->sink)
		json_object_set_new(object, "sink", sink(&wire->sink));
	return object;
}

static bool
print_counts(const json_t *object, const char *title, bool has_any, FILE *stream)
{
	const char *name;
	json_t *n;

	json_object_foreach((json_t *)(uintptr_t)object, name, n) {
		if (!json_is_integer(n) || json_integer_value(n) == 0 ||
		    strcmp(name, "peer") == 0)
			continue;
		fprintf(stream, "%s %s%s %" JSON_INTEGER_FORMAT,
			has_any ? "," : "    wire:", title, name,
			json_integer_value(n));
		has_any = true;
	}
	return has_any;
}

void
report_wire_summary(const json_t *wire, FILE *stream)
{
	bool has_any = false;

	has_any = print_counts(json_object_get(wire, "out"), "out ", has_any,
			       stream);
	has_any = print_counts(json_object_get(wire, "in"), "in ", has_any,
			       stream);
	has_any = print_counts(json_object_get(wire, "generator"), "generated ",
			       has_any, stream);
	has_any = print_counts(json_object_get(wire, "sink"), "sink ", has_any,
			       stream);
	has_any = print_counts(wire, "", has_any, stream);
	if (has_any)
		fputc('\n', stream);
}
