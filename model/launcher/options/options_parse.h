/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parsing of option values. On a wrong value the functions print the reason and
 * exit; the launcher has created nothing yet.
 */

#ifndef MODEL_OPTIONS_PARSE_H
#define MODEL_OPTIONS_PARSE_H

#include <argp.h>
#include <stdint.h>

#include "options.h"

/* Keys of options, none of which has a letter. */
enum {
	OPT_CAPTURE = 0x100,
	OPT_CARD,
	OPT_CHECK,
	OPT_COALESCE,
	OPT_COALESCE_NS,
	OPT_CQ_DOORBELL,
	OPT_DEVICE_ID,
	OPT_ENFORCE,
	OPT_FATAL,
	OPT_FAULT,
	OPT_FUNCTIONS,
	OPT_JOIN,
	OPT_KERNEL,
	OPT_LINK,
	OPT_LIST,
	OPT_MAC_BASE,
	OPT_MAX_MTU,
	OPT_MODE,
	OPT_NAME,
	OPT_NETVSC,
	OPT_NUMA_NODE,
	OPT_PCI,
	OPT_POLL_MS,
	OPT_PORTS,
	OPT_PRIVILEGES,
	OPT_QUIET,
	OPT_QUIRK,
	OPT_REPORT,
	OPT_RNIC,
	OPT_SCENARIO,
	OPT_SEED,
	OPT_SINK,
	OPT_TRACE,
	OPT_TRACE_CLASSES,
	OPT_VP_OFFSET,
	OPT_WIRE,
};

/* options_help.c: all options with the texts of --help. */
const struct argp *options_argp(argp_parser_t parser);
const char *options_name(int key);

/* Refuse the value being parsed; the text says how to write it. */
void options_refuse(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* Refuse the command line as a whole. */
void options_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

uint64_t options_number(const char *value, uint64_t min, uint64_t max);

/* Add the option's command, which prepares the machine. */
void options_add_command(struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Take the value of an option from a file; name is for messages. */
void options_take(struct options *options, int key, const char *name,
		  const char *value);

/* Whether a quirk and its value, as NAME=VALUE, exist. */
bool options_knows_quirk(const char *text);

/* options_card.c: --card. */
void options_parse_card(struct options *options, const char *path);

/* options_wire.c: --wire and --link, and the check after all options. */
void options_parse_wire(struct options *options, const char *value);
void options_parse_link(struct options *options, const char *value);
void options_finish_wires(const struct options *options);

#endif /* MODEL_OPTIONS_PARSE_H */
