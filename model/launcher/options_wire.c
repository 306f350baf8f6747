/* SPDX-License-Identifier: BSD-3-Clause */

/* What the ports are connected to. */

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
	bool is_for_all; /* without N=, too */
	enum wire_args args;
} kinds[] = {
	{"pair", MODEL_WIRE_PAIR, true, ARGS_MUST},
	{"loop", MODEL_WIRE_LOOP, true, ARGS_NONE},
	{"tap", MODEL_WIRE_TAP, true, ARGS_NONE},
	{"none", MODEL_WIRE_NONE, true, ARGS_NONE},
	{"gen", MODEL_WIRE_GEN, false, ARGS_MAY},
	{"sink", MODEL_WIRE_GEN, true, ARGS_NONE},
	{"pcap", MODEL_WIRE_PCAP, false, ARGS_MUST},
	{"link", MODEL_WIRE_LINK, false, ARGS_MUST},
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

static const char *
explain_kinds(void)
{
	char list[96] = "";
	size_t at = 0;

	for (const struct wire_kind *k = kinds; k->name != NULL; k++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       k == kinds ? "" : ", ", k->name);
	return options_explain("give one of %s, or N=KIND for port N; see "
			       "mana-model --help", list);
}

/* Port n, from 0, has this wire and no other. */
static const char *
set_wire(struct options *options, uint32_t n, enum model_wire kind,
	 uint32_t peer)
{
	struct model_port_wire *wire = &options->config.wires[n];

	if (wire->kind != MODEL_WIRE_DEFAULT &&
	    (wire->kind != kind || wire->peer != peer))
		return options_explain("port %u has another wire already",
				       n + 1);
	wire->kind = (uint8_t)kind;
	wire->peer = (uint16_t)peer;
	return NULL;
}

static const char *
parse_pair(struct options *options, uint32_t n, const char *args)
{
	uint64_t peer = 0;
	const char *wrong = options_number(args, 1, MODEL_MAX_PORTS, &peer);

	if (wrong != NULL)
		return options_explain("pair:N takes the number of the other "
				       "port");
	if (peer == n + 1)
		return options_explain("a port cannot be its own pair: use "
				       "loop");
	wrong = set_wire(options, n, MODEL_WIRE_PAIR, (uint32_t)peer - 1);
	return wrong != NULL ? wrong :
			       set_wire(options, (uint32_t)peer - 1,
					MODEL_WIRE_PAIR, n);
}

/* Commas of an option are blanks of a command. */
static const char *
add_wire_command(struct options *options, const char *option,
		 const char *value, const char *verb, unsigned long n,
		 const char *args)
{
	char words[COMMAND_MAX_LINE];

	if (strlen(args) >= sizeof(words))
		return options_explain("it is too long");
	strcpy(words, args);
	for (char *p = words; (p = strchr(p, ',')) != NULL; p++)
		*p = ' ';
	return options_add_command(options, option, value, "%s port=%lu %s",
				   verb, n, words);
}

/* N=KIND[:ARGS] */
static const char *
parse_port_wire(struct options *options, const char *value)
{
	const struct wire_kind *kind;
	const char *name, *args;
	unsigned long n;
	char *end;

	n = strtoul(value, &end, 10);
	if (*end != '=' || n < 1 || n > MODEL_MAX_PORTS)
		return explain_kinds();
	n--;
	name = end + 1;
	args = strchr(name, ':');
	kind = find_kind(name, args != NULL ? (size_t)(args - name) :
					      strlen(name));
	if (kind == NULL)
		return explain_kinds();
	args = args != NULL ? args + 1 : "";
	if (kind->args == ARGS_NONE && args[0] != '\0')
		return options_explain("%s takes no ':'", kind->name);
	if (kind->args == ARGS_MUST && args[0] == '\0')
		return options_explain("%s needs more: see mana-model --help",
				       kind->name);
	options->wire_args[n] = args;
	if (strcmp(kind->name, "gen") == 0) {
		const char *wrong = add_wire_command(options, "wire", value,
						     "gen", n + 1, args);

		if (wrong != NULL)
			return wrong;
	}
	if (kind->kind == MODEL_WIRE_PAIR)
		return parse_pair(options, (uint32_t)n, args);
	return set_wire(options, (uint32_t)n, kind->kind, 0);
}

static const char *
parse_wire(struct options *options, const char *value)
{
	const struct wire_kind *kind = find_kind(value, strlen(value));

	if (isdigit((unsigned char)value[0]))
		return parse_port_wire(options, value);
	if (kind == NULL || !kind->is_for_all)
		return explain_kinds();
	options->config.wire = kind->kind;
	return NULL;
}

static const char *
parse_link(struct options *options, const char *value)
{
	unsigned long n;
	char *end;

	n = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end != ':' || end[1] == '\0' ||
	    n < 1 || n > MODEL_MAX_PORTS)
		return options_explain("give a port and what happens on its "
				       "wire, as 1:delay=20us,loss=1%%");
	return add_wire_command(options, "link", value, "wire", n, end + 1);
}

static const char *
parse_sink(struct options *options, const char *value)
{
	(void)value;
	options->config.sink = true;
	return NULL;
}

bool
options_finish_wires(struct options *options)
{
	const uint32_t nb_ports = options_nb_ports(&options->config);

	for (uint32_t n = nb_ports; n < MODEL_MAX_PORTS; n++) {
		if (options->config.wires[n].kind == MODEL_WIRE_DEFAULT)
			continue;
		options_complain("--wire: there is no port %u: the machine has "
				 "%u (--functions, --ports)", n + 1, nb_ports);
		return false;
	}
	return true;
}

const struct options_row options_wire[] = {
	{"wire", "pair", parse_wire,
	 "ports 1-2, 3-4, ... are connected; an odd last one is looped (this "
	 "is the default)"},
	{"wire", "loop", parse_wire, "each port receives what it sends"},
	{"wire", "tap", parse_wire,
	 "port k is the Linux interface mtap<k>, from 0 (needs CAP_NET_ADMIN)"},
	{"wire", "none", parse_wire, "what ports send vanishes"},
	{"wire", "N=KIND[:..]", parse_wire,
	 "port N, from 1, has a wire of its own: loop, tap, none, or one of "
	 "these:"},
	{"wire", "N=pair:M", parse_wire, "ports N and M are connected"},
	{"wire", "N=gen[:k=v,..]", parse_wire,
	 "port N receives from a generator, as the command gen says it: "
	 "rate=full,size=imix,flows=100,count=1000000; what it sends is checked"},
	{"wire", "N=sink", parse_wire,
	 "what port N sends is checked: lost, duplicated, reordered, corrupted"},
	{"wire", "N=pcap:in=FILE,out=FILE", parse_wire,
	 "port N receives the frames of a file, and what it sends is written to "
	 "one; rate=full|1M|10Gbps and loop=K (0: for ever) are of in"},
	{"wire", "N=link:PATH", parse_wire,
	 "port N is joined to the port of another machine that has the same "
	 "PATH, a Unix socket"},
	{"sink", NULL, parse_sink, "what any port sends is checked so"},
	{"link", "N:k=v[,k=v..]", parse_link,
	 "what happens on the wire of port N, as the command wire says it: "
	 "bandwidth=10G,delay=20us,loss=1%,duplicate=1%,reorder=1%,"
	 "corrupt=1%,queue=1000"},
	{NULL},
};
