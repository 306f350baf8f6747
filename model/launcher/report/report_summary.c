/* SPDX-License-Identifier: BSD-3-Clause */

/* The summary of the report. */

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "report.h"

const char *const report_rx_drops[] = {
	"no_wqe", "truncated", "no_steering", "filtered", "errors", NULL,
};

uint64_t
report_number(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
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
	static const struct {
		const char *part, *title;
	} parts[] = {
		{ "out", "out " },
		{ "in", "in " },
		{ "generator", "generated " },
		{ "sink", "sink " },
	};
	bool has_any = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		has_any = print_counts(json_object_get(wire, parts[i].part),
				       parts[i].title, has_any, stream);
	has_any = print_counts(wire, "", has_any, stream);
	if (has_any)
		fputc('\n', stream);
}

/* Of a port that has a synthetic device which was used. */
static void
summarise_synthetic(const json_t *synthetic, FILE *stream)
{
	if (report_number(synthetic, "tx_packets") +
		    report_number(synthetic, "rx_packets") +
		    report_number(synthetic, "rx_closed") +
		    report_number(synthetic, "to_vf") == 0)
		return;
	fprintf(stream,
		"    synthetic: sent %" PRIu64 " (%" PRIu64
		" errors), received %" PRIu64 " (%" PRIu64
		" dropped), path %s, switched to VF %" PRIu64
		" times, to synthetic %" PRIu64 " times\n",
		report_number(synthetic, "tx_packets"),
		report_number(synthetic, "tx_errors"),
		report_number(synthetic, "rx_packets"),
		report_number(synthetic, "rx_closed") +
			report_number(synthetic, "rx_no_buffer"),
		json_string_value(json_object_get(synthetic, "path")),
		report_number(synthetic, "to_vf"),
		report_number(synthetic, "to_synthetic"));
}

static void
summarise_ports(const json_t *report, FILE *stream)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, port) {
		const json_t *rx = json_object_get(port, "rx");
		const json_t *tx = json_object_get(port, "tx");
		uint64_t dropped = 0;

		for (size_t d = 0; report_rx_drops[d] != NULL; d++)
			dropped += report_number(rx, report_rx_drops[d]);
		fprintf(stream,
			"  %s port %" PRIu64 " %s: sent %" PRIu64
			" (%" PRIu64 " errors), received %" PRIu64
			" (%" PRIu64 " dropped)\n",
			json_string_value(json_object_get(port, "pci")),
			report_number(port, "port"),
			json_string_value(json_object_get(port, "mac")),
			report_number(tx, "packets"), sum(json_object_get(tx, "errors")),
			report_number(rx, "packets"), dropped);
		summarise_synthetic(json_object_get(port, "synthetic"), stream);
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
			report_number(function, "interrupts"), report_number(function, "resets"),
			report_number(function, "cut_off"), report_number(function, "dma_faults"));
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
		report_number(report, "seed"));
	summarise_ports(report, stream);
	if (is_pci)
		summarise_functions(json_object_get(report, "functions"),
				    stream);
	fprintf(stream,
		"  doorbells: sq %" PRIu64 ", rq %" PRIu64 ", cq %" PRIu64
		", cq armed %" PRIu64 "\n",
		report_number(bells, "sq"), report_number(bells, "rq"), report_number(bells, "cq"),
		report_number(bells, "cq_arm"));
	fprintf(stream, "  violations:%s\n",
		json_array_size(rows) == 0 ? " none" : "");
	json_array_foreach(rows, i, row)
	{
		const char *detail =
			json_string_value(json_object_get(row, "detail"));

		fprintf(stream,
			"    %s: %" PRIu64 " times, %s %s queue %" PRIu64
			", first at %" PRIu64 "%s%s\n",
			json_string_value(json_object_get(row, "name")),
			report_number(row, "count"),
			json_string_value(json_object_get(row, "pci")),
			json_string_value(json_object_get(row, "kind")),
			report_number(row, "queue"), report_number(row, "index"),
			detail[0] != '\0' ? ": " : "", detail);
	}
	fprintf(stream, is_pci ? "  left on the card:" :
				 "  left behind by programs:");
	summarise_kinds(json_object_get(report, "leaks"),
			is_pci ? "nothing" : "none", stream);
	json_decref(report);
}
