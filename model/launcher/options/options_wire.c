/* SPDX-License-Identifier: BSD-3-Clause */

/* Options for the wires of the ports. */

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_parse.h"

enum wire_args { ARGS_NONE, ARGS_MAY, ARGS_MUST };

static const struct wire_kind {
	const char *name;
	enum model_wire kind;
	bool is_for_all; /* also valid without N= */
	enum wire_args args;
} kinds[] = {
	{"pair", MODEL_WIRE_PAIR, true, ARGS_MUST},
	{"loop", MODEL_WIRE_LOOP, true, ARGS_NONE},
	{"tap", MODEL_WIRE_TAP, true, ARGS_NONE},
	{"none", MODEL_WIRE_NONE, true, ARGS_NONE},
	{"gen", MODEL_WIRE_GEN, false, ARGS_MAY},
	{"sink", MODEL_WIRE_GEN, true, ARGS_NONE},
	{"pcap", MODEL_WIRE_PCAP, false, ARGS_MUST},
	{NULL},
};

static const struct wire_kind *
find_kind(const char *name, size_t length)
{
	const struct wire_kind *k = kinds;

	while (k->name != NULL && (strlen(k->name) != length ||
				   strncmp(k->name, name, length) != 0))
		k++;
	return k->name != NULL ? k : NULL;
}

static void __attribute__((noreturn))
refuse_kind(void)
{
	char list[96] = "";
	size_t at = 0;

	for (const struct wire_kind *k = kinds; k->name != NULL; k++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       k == kinds ? "" : ", ", k->name);
	options_refuse("give one of %s, or N=KIND for port N; see mana-model "
		       "--help", list);
}

/* Set the wire of port n, from 0; a second one is an error. */
static void
set_wire(struct options *options, uint32_t n, enum model_wire kind,
	 uint32_t peer)
{
	struct model_port_wire *wire = &options->config.wires[n];

	if (wire->kind != MODEL_WIRE_DEFAULT &&
	    (wire->kind != kind || wire->peer != peer))
		options_refuse("port %u has another wire already", n + 1);
	wire->kind = (uint8_t)kind;
	wire->peer = (uint16_t)peer;
}

static void
set_pair(struct options *options, uint32_t n, const char *args)
{
	char *end;
	unsigned long peer = strtoul(args, &end, 10);

	if (*end != '\0' || peer < 1 || peer > MODEL_MAX_PORTS)
		options_refuse("pair:N takes the number of the other port");
	if (--peer == n)
		options_refuse("a port cannot be its own pair: use loop");
	set_wire(options, n, MODEL_WIRE_PAIR, (uint32_t)peer);
	set_wire(options, (uint32_t)peer, MODEL_WIRE_PAIR, n);
}

/* Commas in an option become blanks in the command. */
static void
add_wire_command(struct options *options, const char *verb, unsigned long n,
		 const char *args)
{
	char words[COMMAND_MAX_LINE];

	if (strlen(args) >= sizeof(words))
		options_refuse("it is too long");
	strcpy(words, args);
	for (char *p = words; (p = strchr(p, ',')) != NULL; p++)
		*p = ' ';
	options_add_command(options, "%s port=%lu %s", verb, n, words);
}

/* N=KIND[:ARGS] */
static void
set_port_wire(struct options *options, const char *value)
{
	const struct wire_kind *kind;
	const char *name, *args;
	uint32_t n;
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (*end != '=' || number < 1 || number > MODEL_MAX_PORTS)
		refuse_kind();
	n = (uint32_t)number - 1;
	name = end + 1;
	args = strchrnul(name, ':');
	kind = find_kind(name, (size_t)(args - name));
	if (kind == NULL)
		refuse_kind();
	args += *args == ':';
	if (kind->args == ARGS_NONE && args[0] != '\0')
		options_refuse("%s takes no ':'", kind->name);
	if (kind->args == ARGS_MUST && args[0] == '\0')
		options_refuse("%s needs more: see mana-model --help",
			       kind->name);
	options->wire_args[n] = args;
	if (strcmp(kind->name, "gen") == 0)
		add_wire_command(options, "gen", number, args);
	if (kind->kind == MODEL_WIRE_PAIR)
		set_pair(options, n, args);
	else
		set_wire(options, n, kind->kind, 0);
}

void
options_parse_wire(struct options *options, const char *value)
{
	const struct wire_kind *kind = find_kind(value, strlen(value));

	if (isdigit((unsigned char)value[0]))
		set_port_wire(options, value);
	else if (kind == NULL || !kind->is_for_all)
		refuse_kind();
	else
		options->config.wire = kind->kind;
}

void
options_parse_link(struct options *options, const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)value[0]) || *end != ':' || end[1] == '\0' ||
	    n < 1 || n > MODEL_MAX_PORTS)
		options_refuse("give a port and what happens on its wire, as "
			       "1:delay=20us,loss=1%%");
	add_wire_command(options, "wire", n, end + 1);
}

void
options_finish_wires(const struct options *options)
{
	const uint32_t nb_ports = options_nb_ports(&options->config);

	for (uint32_t n = nb_ports; n < MODEL_MAX_PORTS; n++)
		if (options->config.wires[n].kind != MODEL_WIRE_DEFAULT)
			options_fail("--wire: there is no port %u: the machine "
				     "has %u (--functions, --ports)", n + 1,
				     nb_ports);
}
