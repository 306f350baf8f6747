/* SPDX-License-Identifier: BSD-3-Clause */

/* --check: whether a report contains something that a good run does not have. */

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "report.h"

#define FOUND_BYTES 512

/* What one check has found: counts by name, as text. */
struct found {
	uint64_t count;
	size_t length;
	char text[FOUND_BYTES]; /* ", name 3, other 1"; the end may be missing */
};

/* Add a count, unless it is 0, and a text about it, unless it does not fit. */
static void __attribute__((format(printf, 3, 4)))
add(struct found *found, uint64_t count, const char *format, ...)
{
	const size_t room = sizeof(found->text) - found->length;
	char text[128];
	va_list args;
	int n;

	if (count == 0)
		return;
	found->count += count;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	n = snprintf(found->text + found->length, room, ", %s", text);
	if ((size_t)n < room)
		found->length += (size_t)n;
	else
		found->text[found->length] = '\0';
}

static void
add_count(struct found *found, const char *title, const char *name, uint64_t count)
{
	add(found, count, "%s%s %" PRIu64, title, name, count);
}

static void
add_named(struct found *found, const char *title, const json_t *object,
	  const char *const *names)
{
	for (; *names != NULL; names++)
		add_count(found, title, *names, report_number(object, *names));
}

static void
add_all(struct found *found, const char *title, const json_t *object)
{
	const char *name;
	json_t *n;

	json_object_foreach((json_t *)(uintptr_t)object, name, n)
		add_count(found, title, name, (uint64_t)json_integer_value(n));
}

/* The violations, those of one name together. */
static void
find_violations(const json_t *report, struct found *found)
{
	json_t *counts = json_object();
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "violations"), i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));

		json_object_set_new(counts, name, json_integer((json_int_t)(
			report_number(counts, name) + report_number(row, "count"))));
	}
	add_all(found, "", counts);
	json_decref(counts);
}

static void
find_left(const json_t *report, struct found *found)
{
	const json_t *function;
	size_t i;

	add_all(found, "", json_object_get(report, "leaks"));
	json_array_foreach(json_object_get(report, "functions"), i, function)
		add_count(found, "", "cut_off",
			  report_number(function, "cut_off"));
}

/* The counts of a part of each port, with the port's number in the title. */
static void
find_in_ports(const json_t *report, struct found *found, const char *part,
	      void (*find)(const json_t *part, const char *title,
			   struct found *found))
{
	const json_t *port;
	char title[32];
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, port) {
		snprintf(title, sizeof(title), "port %zu ", i + 1);
		find(json_object_get(port, part), title, found);
	}
}

static void
find_tx(const json_t *tx, const char *title, struct found *found)
{
	add_all(found, title, json_object_get(tx, "errors"));
}

static void
find_errors(const json_t *report, struct found *found)
{
	const json_t *function;
	size_t i;

	find_in_ports(report, found, "tx", find_tx);
	json_array_foreach(json_object_get(report, "functions"), i, function)
		add_count(found, "", "dma_faults",
			  report_number(function, "dma_faults"));
}

static void
find_rx(const json_t *rx, const char *title, struct found *found)
{
	add_named(found, title, rx, report_rx_drops);
}

static void
find_dropped(const json_t *report, struct found *found)
{
	find_in_ports(report, found, "rx", find_rx);
}

static void
find_wire(const json_t *wire, const char *title, struct found *found)
{
	static const char *const way[] = { "lost", "overflow", NULL };
	static const char *const whole[] = { "outlet_lost", NULL };
	static const char *const generated[] = { "lost", NULL };

	add_named(found, title, json_object_get(wire, "out"), way);
	add_named(found, title, json_object_get(wire, "in"), way);
	add_named(found, title, wire, whole);
	add_named(found, title, json_object_get(wire, "generator"), generated);
}

static void
find_lost(const json_t *report, struct found *found)
{
	find_in_ports(report, found, "wire", find_wire);
}

static void
find_sink(const json_t *wire, const char *title, struct found *found)
{
	static const char *const names[] = { "duplicated", "reordered",
					     "corrupted", NULL };

	add_named(found, title, json_object_get(wire, "sink"), names);
}

static void
find_changed(const json_t *report, struct found *found)
{
	find_in_ports(report, found, "wire", find_sink);
}

/* Lines that failed, were interrupted or have never run. */
static void
find_scenario(const json_t *report, struct found *found)
{
	const json_t *line;
	size_t i;

	json_array_foreach(json_object_get(report, "scenario"), i, line) {
		const char *result =
			json_string_value(json_object_get(line, "result"));

		add(found, strcmp(result, "ok") != 0, "line %" PRIu64 ": %s",
		    report_number(line, "line"), result);
	}
}

bool
report_verdict(const char *text, uint32_t checks, FILE *stream)
{
	/* In the order of OPTIONS_CHECKS. */
	static const struct {
		const char *title;
		void (*find)(const json_t *report, struct found *found);
	} all[] = {
		{ "violations", find_violations },
		{ "left", find_left },
		{ "errors", find_errors },
		{ "dropped", find_dropped },
		{ "lost", find_lost },
		{ "changed", find_changed },
		{ "scenario", find_scenario },
	};
	json_t *report = json_loads(text, 0, NULL);
	bool is_good = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct found found = { 0 };

		if ((checks >> i & 1) == 0)
			continue;
		all[i].find(report, &found);
		if (found.count == 0)
			continue;
		fprintf(stream, "mana-model: check %s: %" PRIu64 " (%s)\n",
			all[i].title, found.count, found.text + 2);
		is_good = false;
	}
	json_decref(report);
	return is_good;
}
