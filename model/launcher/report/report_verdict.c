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
	add_all(found, "", json_object_get(report, "leaks"));
}

/* Counts of each port: those of names, or all, of a part of it, or of a part of that. */
struct port_counts {
	const char *part, *inner; /* no part: the end */
	const char *const *names;
};

static const char *const losses[] = { "lost", "overflow", NULL };
static const char *const outlet_losses[] = { "outlet_lost", NULL };
static const char *const changes[] = { "duplicated", "reordered", "corrupted", NULL };

static const struct port_counts port_errors[] = {
	{ "tx", "errors", NULL },
	{ 0 },
};
static const struct port_counts port_drops[] = {
	{ "rx", NULL, report_rx_drops },
	{ 0 },
};
static const struct port_counts port_losses[] = {
	{ "wire", "out", losses },
	{ "wire", "in", losses },
	{ "wire", NULL, outlet_losses },
	{ "wire", "generator", losses },
	{ 0 },
};
static const struct port_counts port_changes[] = {
	{ "wire", "sink", changes },
	{ 0 },
};

static void
find_in_ports(const json_t *report, struct found *found,
	      const struct port_counts *all)
{
	const json_t *port;
	char title[32];
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, port) {
		snprintf(title, sizeof(title), "port %zu ", i + 1);
		for (const struct port_counts *c = all; c->part != NULL; c++) {
			const json_t *object = json_object_get(port, c->part);

			if (c->inner != NULL)
				object = json_object_get(object, c->inner);
			if (c->names != NULL)
				add_named(found, title, object, c->names);
			else
				add_all(found, title, object);
		}
	}
}

static void
find_in_functions(const json_t *report, struct found *found, const char *name)
{
	const json_t *function;
	size_t i;

	json_array_foreach(json_object_get(report, "functions"), i, function)
		add_count(found, "", name, report_number(function, name));
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
		const struct port_counts *of_ports;
		const char *of_functions; /* a count */
	} all[] = {
		{ "violations", find_violations, NULL, NULL },
		{ "left", find_left, NULL, "cut_off" },
		{ "errors", NULL, port_errors, "dma_faults" },
		{ "dropped", NULL, port_drops, NULL },
		{ "lost", NULL, port_losses, NULL },
		{ "changed", NULL, port_changes, NULL },
		{ "scenario", find_scenario, NULL, NULL },
	};
	json_t *report = json_loads(text, 0, NULL);
	bool is_good = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct found found = { 0 };

		if ((checks >> i & 1) == 0)
			continue;
		if (all[i].find != NULL)
			all[i].find(report, &found);
		if (all[i].of_ports != NULL)
			find_in_ports(report, &found, all[i].of_ports);
		if (all[i].of_functions != NULL)
			find_in_functions(report, &found, all[i].of_functions);
		if (found.count == 0)
			continue;
		fprintf(stream, "mana-model: check %s: %" PRIu64 " (%s)\n",
			all[i].title, found.count, found.text + 2);
		is_good = false;
	}
	json_decref(report);
	return is_good;
}
