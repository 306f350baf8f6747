/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report_wire.h"
#include "wire.h"

static const char *const kinds[] = {
	[MODEL_WIRE_PAIR] = "pair", [MODEL_WIRE_LOOP] = "loop",
	[MODEL_WIRE_NONE] = "none", [MODEL_WIRE_TAP] = "tap",
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

json_t *
report_swept(void)
{
	return json_integer((json_int_t)segment_wires()->swept);
}

json_t *
report_wire(uint32_t fn, uint32_t port)
{
	const struct wire *wire = wire_of(fn, port);
	json_t *object = json_object();

	json_object_set_new(object, "kind", json_string(kinds[wire->kind]));
	if (wire->kind == MODEL_WIRE_PAIR)
		add(object, "peer", wire->peer + 1);
	json_object_set_new(object, "out", direction(&wire->way[WIRE_OUT]));
	json_object_set_new(object, "in", direction(&wire->way[WIRE_IN]));
	add(object, "outlet_lost", wire->outlet_lost);
	add(object, "vanished", wire->vanished);
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
	has_any = print_counts(wire, "", has_any, stream);
	if (has_any)
		fputc('\n', stream);
}
