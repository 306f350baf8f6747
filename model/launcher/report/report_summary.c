/* SPDX-License-Identifier: BSD-3-Clause */

/* The summary of the report. */

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "report.h"

static uint64_t
get(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
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

static void
summarise_wire(const json_t *wire, FILE *stream)
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

static void
summarise_ports(const json_t *report, FILE *stream)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, port) {
		const json_t *rx = json_object_get(port, "rx");
		const json_t *tx = json_object_get(port, "tx");
		uint64_t dropped = get(rx, "no_wqe") + get(rx, "truncated") +
				   get(rx, "no_steering") +
				   get(rx, "filtered") + get(rx, "errors");
		uint64_t errors = 0;
		const char *name;
		json_t *n;

		json_object_foreach(json_object_get(tx, "errors"), name, n)
			errors += (uint64_t)json_integer_value(n);
		fprintf(stream,
			"  %s port %" PRIu64 " %s: sent %" PRIu64
			" (%" PRIu64 " errors), received %" PRIu64
			" (%" PRIu64 " dropped)\n",
			json_string_value(json_object_get(port, "pci")),
			get(port, "port"),
			json_string_value(json_object_get(port, "mac")),
			get(tx, "packets"), errors, get(rx, "packets"),
			dropped);
		summarise_wire(json_object_get(port, "wire"), stream);
	}
}

static void
summarise_kinds(const json_t *object, const char *none, FILE *stream)
{
	const char *name;
	json_t *n;
	bool has_any = false;

	json_object_foreach((json_t *)(uintptr_t)object, name, n) {
		if (json_integer_value(n) == 0)
			continue;
		fprintf(stream, "%s%s %" JSON_INTEGER_FORMAT,
			has_any ? ", " : " ", name, json_integer_value(n));
		has_any = true;
	}
	fprintf(stream, "%s%s\n", has_any ? "" : " ", has_any ? "" : none);
}

static uint64_t
sum(const json_t *object)
{
	uint64_t n = 0;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
		n += (uint64_t)json_integer_value(value);
	return n;
}

/* A line for each function of a PCI machine. */
static void
summarise_functions(const json_t *functions, FILE *stream)
{
	const json_t *function;
	size_t i;

	json_array_foreach(functions, i, function) {
		const char *driver = json_string_value(
			json_object_get(function, "driver"));

		fprintf(stream, "  %s driver %s: requests %" PRIu64
			" (%" PRIu64 " refused), interrupts %" PRIu64
			", resets %" PRIu64 ", cut off %" PRIu64
			", DMA faults %" PRIu64 "\n",
			json_string_value(json_object_get(function, "pci")),
			driver != NULL ? driver : "none",
			sum(json_object_get(function, "requests")),
			sum(json_object_get(function, "refused")),
			get(function, "interrupts"), get(function, "resets"),
			get(function, "cut_off"), get(function, "dma_faults"));
	}
}

void
report_summary(const char *text, FILE *stream)
{
	json_t *report = json_loads(text, 0, NULL), *row;
	const json_t *rows = json_object_get(report, "violations");
	const json_t *bells = json_object_get(report, "doorbells");
	const bool is_pci = json_is_null(json_object_get(report, "kernel"));
	size_t i;

	if (report == NULL)
		return;
	fprintf(stream, "mana-model: machine %s, seed %" PRIu64 "\n",
		json_string_value(json_object_get(report, "name")),
		get(report, "seed"));
	summarise_ports(report, stream);
	if (is_pci)
		summarise_functions(json_object_get(report, "functions"),
				    stream);
	fprintf(stream,
		"  doorbells: sq %" PRIu64 ", rq %" PRIu64 ", cq %" PRIu64
		", cq armed %" PRIu64 "\n",
		get(bells, "sq"), get(bells, "rq"), get(bells, "cq"),
		get(bells, "cq_arm"));
	fprintf(stream, "  violations:%s\n",
		json_array_size(rows) == 0 ? " none" : "");
	json_array_foreach(rows, i, row)
		fprintf(stream, "    %s: %" PRIu64 " times, %s %s queue %" PRIu64
			", first at %" PRIu64 "\n",
			json_string_value(json_object_get(row, "name")),
			get(row, "count"),
			json_string_value(json_object_get(row, "pci")),
			json_string_value(json_object_get(row, "kind")),
			get(row, "queue"), get(row, "index"));
	fprintf(stream, is_pci ? "  left on the card:" :
				 "  left behind by programs:");
	summarise_kinds(json_object_get(report, "leaks"),
			is_pci ? "nothing" : "none", stream);
	json_decref(report);
}
