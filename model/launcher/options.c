/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

enum option_code {
	OPT_FUNCTIONS = 256,
	OPT_PORTS,
	OPT_MAC_BASE,
	OPT_MAX_MTU,
	OPT_WIRE,
	OPT_MODE,
	OPT_COALESCE,
	OPT_ENFORCE,
	OPT_CQ_DOORBELL,
	OPT_FATAL,
	OPT_REPORT,
	OPT_NAME,
	OPT_TRACE,
	OPT_VP_OFFSET,
	OPT_FAULT,
	OPT_SEED,
	OPT_QUIET,
	OPT_LIST,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"functions", required_argument, NULL, OPT_FUNCTIONS},
	{"ports", required_argument, NULL, OPT_PORTS},
	{"mac-base", required_argument, NULL, OPT_MAC_BASE},
	{"max-mtu", required_argument, NULL, OPT_MAX_MTU},
	{"wire", required_argument, NULL, OPT_WIRE},
	{"mode", required_argument, NULL, OPT_MODE},
	{"coalesce", no_argument, NULL, OPT_COALESCE},
	{"enforce", required_argument, NULL, OPT_ENFORCE},
	{"cq-doorbell", required_argument, NULL, OPT_CQ_DOORBELL},
	{"fatal-violations", no_argument, NULL, OPT_FATAL},
	{"report", required_argument, NULL, OPT_REPORT},
	{"name", required_argument, NULL, OPT_NAME},
	{"trace", required_argument, NULL, OPT_TRACE},
	{"vp-offset", required_argument, NULL, OPT_VP_OFFSET},
	{"fault", required_argument, NULL, OPT_FAULT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"list-violations", no_argument, NULL, OPT_LIST},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

/* What a parser of one value says about it; NULL: fine. */
typedef const char *(*option_parser)(struct options *options,
				     const char *value);

static char reason[160];

static const char *
explain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return reason;
}

static const char *
parse_number(const char *value, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 ||
	    n < min || n > max)
		return explain("give a number from %llu to %llu",
			       (unsigned long long)min,
			       (unsigned long long)max);
	*number = n;
	return NULL;
}

struct choice {
	const char *name;
	uint32_t value;
};

static const char *
parse_choice(const char *value, const struct choice *choices, uint32_t *chosen)
{
	size_t at;

	for (const struct choice *c = choices; c->name != NULL; c++) {
		if (strcmp(c->name, value) == 0) {
			*chosen = c->value;
			return NULL;
		}
	}
	at = (size_t)snprintf(reason, sizeof(reason), "give one of");
	for (const struct choice *c = choices; c->name != NULL; c++)
		at += (size_t)snprintf(reason + at, sizeof(reason) - at, "%s %s",
				       c == choices ? "" : ",", c->name);
	return reason;
}

static const char *
parse_functions(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = parse_number(value, 1, MODEL_MAX_FUNCTIONS, &n);

	options->config.nb_functions = (uint32_t)n;
	return wrong;
}

/* One number for all functions, or one each: settled by finish(). */
static const char *
parse_ports(struct options *options, const char *value)
{
	char copy[256], *next = copy, *item;
	uint32_t nb = 0;

	memset(options->config.nb_ports, 0, sizeof(options->config.nb_ports));
	if (strlen(value) >= sizeof(copy))
		return explain("the list is too long");
	strcpy(copy, value);
	while ((item = strsep(&next, ",")) != NULL) {
		uint64_t n = 0;
		const char *wrong = parse_number(
			item, 1, MODEL_MAX_PORTS_PER_FUNCTION, &n);

		if (wrong != NULL)
			return wrong;
		if (nb == MODEL_MAX_FUNCTIONS)
			return explain("at most %d functions",
				       MODEL_MAX_FUNCTIONS);
		options->config.nb_ports[nb++] = (uint32_t)n;
	}
	return NULL;
}

static const char *
parse_mac_base(struct options *options, const char *value)
{
	uint8_t *mac = options->config.mac_base;
	uint8_t any = 0;
	int nb_read = 0;

	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &nb_read) != 6 ||
	    value[nb_read] != '\0' || strlen(value) != 17)
		return explain("give six bytes as 00:0d:3a:00:00:01");
	for (size_t i = 0; i < 6; i++)
		any |= mac[i];
	if ((mac[0] & 1) != 0 || any == 0)
		return explain("give a unicast address: the first byte is even "
			       "and not all bytes are 0");
	return NULL;
}

static const char *
parse_max_mtu(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = parse_number(value, OPTIONS_MIN_MTU, OPTIONS_MAX_MTU, &n);

	options->config.max_mtu = (uint32_t)n;
	return wrong;
}

static const char *
parse_wire(struct options *options, const char *value)
{
	static const struct choice choices[] = {
		{"pair", MODEL_WIRE_PAIR},
		{"loop", MODEL_WIRE_LOOP},
		{"tap", MODEL_WIRE_TAP},
		{NULL, 0},
	};
	uint32_t chosen = 0;
	const char *wrong = parse_choice(value, choices, &chosen);

	options->config.wire = (enum model_wire)chosen;
	return wrong;
}

static const char *
parse_mode(struct options *options, const char *value)
{
	static const struct choice choices[] = {
		{"sync", MODEL_MODE_SYNC},
		{"thread", MODEL_MODE_THREAD},
		{NULL, 0},
	};
	uint32_t chosen = 0;
	const char *wrong = parse_choice(value, choices, &chosen);

	options->config.mode = (enum model_mode)chosen;
	return wrong;
}

static const char *
parse_enforce(struct options *options, const char *value)
{
	static const struct choice choices[] = {
		{"sa", MODEL_ENFORCE_SA},
		{"etype", MODEL_ENFORCE_ETYPE},
		{"vlan", MODEL_ENFORCE_VLAN},
		{"dmac", MODEL_ENFORCE_DMAC},
		{NULL, 0},
	};
	char copy[64], *next = copy, *item;

	if (strlen(value) >= sizeof(copy))
		return explain("the list is too long");
	strcpy(copy, value);
	while ((item = strsep(&next, ",")) != NULL) {
		uint32_t chosen = 0;
		const char *wrong = parse_choice(item, choices, &chosen);

		if (wrong != NULL)
			return wrong;
		options->config.enforce |= chosen;
	}
	return NULL;
}

static const char *
parse_cq_doorbell(struct options *options, const char *value)
{
	static const struct choice choices[] = {
		{"lax", false}, {"strict", true}, {NULL, 0}};
	uint32_t chosen = 0;
	const char *wrong = parse_choice(value, choices, &chosen);

	options->config.cq_doorbell_strict = chosen != 0;
	return wrong;
}

static const char *
parse_name(struct options *options, const char *value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(value);

	if (length == 0 || length >= sizeof(options->config.name) ||
	    value[0] == '.' || strspn(value, allowed) != length)
		return explain("give 1 to %d letters, digits, '.', '_' or '-', "
			       "not starting with '.'", MODEL_MAX_NAME - 1);
	strcpy(options->config.name, value);
	return NULL;
}

/* Programs may change their folder: they get an absolute path. */
static const char *
parse_trace(struct options *options, const char *value)
{
	char *path = options->config.trace;
	const size_t room = sizeof(options->config.trace);
	char folder[PATH_MAX] = "";

	if (value[0] != '/' && getcwd(folder, sizeof(folder)) == NULL)
		return explain("the current folder has no path: give an "
			       "absolute one");
	if (value[0] == '\0' ||
	    (size_t)snprintf(path, room, "%s%s%s", folder,
			     folder[0] != '\0' ? "/" : "", value) >= room)
		return explain("give a file name of less than %zu bytes", room);
	return NULL;
}

static const char *
parse_vp_offset(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = parse_number(value, 0, OPTIONS_MAX_VP_OFFSET, &n);

	options->config.vp_offset_base = (uint32_t)n;
	return wrong;
}

static const char *
parse_seed(struct options *options, const char *value)
{
	return parse_number(value, 0, UINT64_MAX, &options->config.seed);
}

/* Checked when the plan is made: that needs the machine. */
static const char *
parse_fault(struct options *options, const char *value)
{
	if (options->nb_faults == FAULT_MAX_RULES)
		return explain("at most %d of these", FAULT_MAX_RULES);
	options->faults[options->nb_faults++] = value;
	return NULL;
}

static const char *
parse_report(struct options *options, const char *value)
{
	if (value[0] == '\0')
		return explain("give a file name");
	options->report = value;
	return NULL;
}

static option_parser
parser_of(int opt)
{
	switch (opt) {
	case OPT_FUNCTIONS: return parse_functions;
	case OPT_PORTS: return parse_ports;
	case OPT_MAC_BASE: return parse_mac_base;
	case OPT_MAX_MTU: return parse_max_mtu;
	case OPT_WIRE: return parse_wire;
	case OPT_MODE: return parse_mode;
	case OPT_ENFORCE: return parse_enforce;
	case OPT_CQ_DOORBELL: return parse_cq_doorbell;
	case OPT_REPORT: return parse_report;
	case OPT_NAME: return parse_name;
	case OPT_TRACE: return parse_trace;
	case OPT_VP_OFFSET: return parse_vp_offset;
	case OPT_FAULT: return parse_fault;
	case OPT_SEED: return parse_seed;
	default: return NULL;
	}
}

void
options_complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mana-model: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

uint32_t
options_nb_ports(const struct model_config *config)
{
	uint32_t nb = 0;

	for (uint32_t fn = 0; fn < config->nb_functions; fn++)
		nb += config->nb_ports[fn];
	return nb;
}

static void
set_defaults(struct options *options)
{
	static const uint8_t mac_base[6] = {0x00, 0x0d, 0x3a, 0, 0, 1};
	struct model_config *config = &options->config;

	memset(options, 0, sizeof(*options));
	snprintf(config->name, sizeof(config->name), "%d", (int)getpid());
	config->nb_functions = 1;
	config->nb_ports[0] = OPTIONS_DEFAULT_PORTS;
	memcpy(config->mac_base, mac_base, sizeof(mac_base));
	config->max_mtu = OPTIONS_DEFAULT_MTU;
	config->vp_offset_base = OPTIONS_DEFAULT_VP_OFFSET;
	config->seed = OPTIONS_DEFAULT_SEED;
}

/* What only the whole line tells. False after a complaint. */
static bool
finish(struct options *options)
{
	struct model_config *config = &options->config;
	uint64_t last_mac = 0;
	uint32_t nb = 0;

	while (nb < MODEL_MAX_FUNCTIONS && config->nb_ports[nb] != 0)
		nb++;
	if (nb == 1)
		for (; nb < config->nb_functions; nb++)
			config->nb_ports[nb] = config->nb_ports[0];
	if (nb != config->nb_functions) {
		options_complain("--ports: %u numbers for %u functions: give "
				 "one number for all functions or one for each "
				 "(--functions)", nb, config->nb_functions);
		return false;
	}
	for (size_t i = 0; i < 6; i++)
		last_mac = last_mac << 8 | config->mac_base[i];
	last_mac += options_nb_ports(config) - 1;
	if ((last_mac & 0xffffff) < options_nb_ports(config) - 1) {
		options_complain("--mac-base: the addresses of %u ports would "
				 "leave the vendor part: give a lower address",
				 options_nb_ports(config));
		return false;
	}
	return true;
}

/* mana-model ctl NAME report */
static enum options_action
parse_ctl(int argc, char **argv, struct options *options)
{
	const char *wrong;

	if (argc != 4 || strcmp(argv[3], "report") != 0) {
		options_complain("ctl takes a machine and a request: "
				 "mana-model ctl NAME report");
		return OPTIONS_WRONG;
	}
	wrong = parse_name(options, argv[2]);
	if (wrong != NULL) {
		options_complain("ctl: '%s' is no name of a machine: %s",
				 argv[2], wrong);
		return OPTIONS_WRONG;
	}
	return OPTIONS_CTL_REPORT;
}

/* One option that getopt_long() gave back. */
static bool
take(struct options *options, int opt, int index, char **argv)
{
	option_parser parser = parser_of(opt);
	const char *wrong;

	if (parser != NULL) {
		wrong = parser(options, optarg);
		if (wrong == NULL)
			return true;
		options_complain("--%s: '%s' will not do: %s",
				 long_options[index].name, optarg, wrong);
		return false;
	}
	switch (opt) {
	case OPT_COALESCE:
		options->config.coalesce = true;
		return true;
	case OPT_FATAL:
		options->config.fatal_violations = true;
		return true;
	case OPT_QUIET:
		options->is_quiet = true;
		return true;
	case OPT_LIST:
		options->action = OPTIONS_LIST_VIOLATIONS;
		return true;
	case OPT_HELP:
		options->action = OPTIONS_HELP;
		return true;
	case ':':
		options_complain("%s needs a value; see mana-model --help",
				 argv[optind - 1]);
		return false;
	default:
		options_complain("there is no option '%s'; see mana-model "
				 "--help, and put -- before the program",
				 argv[optind - 1]);
		return false;
	}
}

void
options_parse(int argc, char **argv, struct options *options)
{
	int opt, index = 0;

	set_defaults(options);
	if (argc > 1 && strcmp(argv[1], "ctl") == 0) {
		options->action = parse_ctl(argc, argv, options);
		return;
	}
	opterr = 0;
	/* '+': the first word that is no option is the program. */
	while ((opt = getopt_long(argc, argv, "+:", long_options, &index)) != -1) {
		if (!take(options, opt, index, argv)) {
			options->action = OPTIONS_WRONG;
			return;
		}
	}
	if (options->action != OPTIONS_RUN)
		return;
	options->program = argv + optind;
	if (!finish(options)) {
		options->action = OPTIONS_WRONG;
	} else if (options->program[0] == NULL) {
		options_complain("no program to run: mana-model [options] -- "
				 "program arguments...; see mana-model --help");
		options->action = OPTIONS_WRONG;
	}
}
