/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel_version.h"
#include "options.h"
#include "options_parse.h"
#include "synthetic.h"
#include "trace.h"
#include "violation_log.h"

static_assert(NB_TRACE_CLASSES == 6, "--trace-classes");
static_assert(OPT_WIRE - OPT_CAPTURE < 64, "bits of struct options.given");

/* The option being parsed, and its value. */
static const char *prefix = "--", *option_name, *option_value;

void
options_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mana-model: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void
options_fail(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	options_error("%s", text);
	exit(OPTIONS_EXIT_OWN_ERROR);
}

void
options_refuse(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	options_fail("%s%s: '%s' is refused: %s", prefix, option_name, option_value,
		     text);
}

const char *
options_remedy(int error)
{
	switch (error) {
	case EMFILE:
		return "; allow more descriptors (ulimit -n)";
	case EFBIG:
		return "; allow larger files (ulimit -f)";
	case ENOMEM:
		return "; allow more memory (ulimit -v)";
	case ENOSPC:
	case EDQUOT:
		return "; free some space there, or set MANA_MODEL_RUNDIR to a "
		       "folder that has some";
	default:
		return "";
	}
}

uint32_t
options_nb_ports(const struct model_config *config)
{
	uint32_t nb = 0;

	for (uint32_t fn = 0; fn < config->nb_functions; fn++)
		nb += config->nb_ports[fn];
	return nb;
}

void
options_add_command(struct options *options, const char *format, ...)
{
	struct options_command *commands =
		reallocarray(options->commands, options->nb_commands + 1,
			     sizeof(*commands));
	struct options_command *command;
	va_list args;
	int n;

	if (commands == NULL)
		options_refuse("no memory");
	options->commands = commands;
	command = &commands[options->nb_commands++];
	command->option = option_name;
	command->value = option_value;
	va_start(args, format);
	n = vsnprintf(command->line, sizeof(command->line), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(command->line))
		options_refuse("it is too long");
}

void
options_release(struct options *options)
{
	free(options->commands);
	options->commands = NULL;
	options->nb_commands = 0;
}

uint64_t
options_number(const char *value, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 ||
	    n < min || n > max)
		options_refuse("give a number from %llu to %llu",
			       (unsigned long long)min, (unsigned long long)max);
	return n;
}

/* Index of a word in "a|b|c", or -1. */
static int
find(const char *choices, const char *word, size_t length)
{
	for (int n = 0;; n++) {
		size_t here = strcspn(choices, "|");

		if (here == length && strncmp(choices, word, length) == 0)
			return n;
		if (choices[here] == '\0')
			return -1;
		choices += here + 1;
	}
}

static int
choice_of(const char *choices, const char *word, size_t length)
{
	const int n = find(choices, word, length);
	char text[160];
	size_t at = 0;

	if (n >= 0)
		return n;
	for (; *choices != '\0' && at + 2 < sizeof(text); choices++) {
		text[at++] = *choices == '|' ? ',' : *choices;
		if (*choices == '|')
			text[at++] = ' ';
	}
	options_refuse("give one of %.*s", (int)at, text);
}

static int
choice(const char *value, const char *choices)
{
	return choice_of(choices, value, strlen(value));
}

/* Words separated by commas: a bit for each. */
static uint32_t
choices_of(const char *value, const char *choices)
{
	uint32_t bits = 0;

	for (;; value++) {
		const size_t length = strcspn(value, ",");

		bits |= 1u << choice_of(choices, value, length);
		value += length;
		if (*value == '\0')
			return bits;
	}
}

/* One number for all functions or one each; finish() checks the count. */
static void
parse_ports(struct model_config *config, const char *value)
{
	char copy[256], *next = copy, *item;
	uint32_t nb = 0;

	memset(config->nb_ports, 0, sizeof(config->nb_ports));
	if ((size_t)snprintf(copy, sizeof(copy), "%s", value) >= sizeof(copy))
		options_refuse("the list is too long");
	while ((item = strsep(&next, ",")) != NULL) {
		if (nb == MODEL_MAX_FUNCTIONS)
			options_refuse("at most %d functions",
				       MODEL_MAX_FUNCTIONS);
		config->nb_ports[nb++] = (uint32_t)options_number(
			item, 1, MODEL_MAX_PORTS_PER_FUNCTION);
	}
}

static void
parse_mac_base(uint8_t mac[6], const char *value)
{
	static const uint8_t none[6];
	int nb_read = 0;

	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &nb_read) != 6 ||
	    value[nb_read] != '\0' || strlen(value) != 17)
		options_refuse("give six bytes as 00:0d:3a:00:00:01");
	if ((mac[0] & 1) != 0 || memcmp(mac, none, sizeof(none)) == 0)
		options_refuse("give a unicast address: the first byte is even "
			       "and not all bytes are 0");
}

static const char *
parse_file(const char *value)
{
	if (value[0] == '\0')
		options_refuse("give a file name");
	return value;
}

/* Make the path absolute, since programs may change their folder. */
static void
make_absolute(const char *value, char *path, size_t room)
{
	char folder[PATH_MAX] = "";

	if (value[0] != '/' && getcwd(folder, sizeof(folder)) == NULL)
		options_refuse("the current folder has no path: give an "
			       "absolute one");
	if (value[0] == '\0' ||
	    (size_t)snprintf(path, room, "%s%s%s", folder,
			     folder[0] != '\0' ? "/" : "", value) >= room)
		options_refuse("give a file name of less than %zu bytes", room);
}

/* The value is a folder if it exists as one, or ends in "/". */
static void
parse_capture(struct model_config *config, const char *value)
{
	const size_t length = strlen(value);
	struct stat st;

	if (length != 0 && value[length - 1] == '/' &&
	    mkdir(value, 0777) != 0 && errno != EEXIST)
		options_refuse("cannot make the folder: %s", strerror(errno));
	config->capture = stat(value, &st) == 0 && S_ISDIR(st.st_mode) ?
				  MODEL_CAPTURE_FOLDER : MODEL_CAPTURE_FILE;
	make_absolute(value, config->capture_path, sizeof(config->capture_path));
}

static void
parse_name(struct model_config *config, const char *value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(value);

	if (length == 0 || length >= sizeof(config->name) || value[0] == '.' ||
	    strspn(value, allowed) != length)
		options_refuse("give 1 to %d letters, digits, '.', '_' or '-', "
			       "not starting with '.'", MODEL_MAX_NAME - 1);
	strcpy(config->name, value);
}

static const struct {
	const char *name, *values;
} quirks[NB_QUIRKS] = {
#define QUIRK(id, name, values, help) { name, values },
	MODEL_QUIRKS(QUIRK)
#undef QUIRK
};

/* The quirk of NAME=VALUE, and the index of its value; -1 if there is none. */
static int
find_quirk(const char *text, int *value)
{
	const size_t length = strcspn(text, "=");
	const char *chosen = text + length;

	*value = -1;
	for (int i = 0; i < NB_QUIRKS; i++) {
		if (strlen(quirks[i].name) != length ||
		    strncmp(quirks[i].name, text, length) != 0)
			continue;
		if (*chosen == '=')
			*value = find(quirks[i].values, chosen + 1,
				      strlen(chosen + 1));
		return i;
	}
	return -1;
}

bool
options_knows_quirk(const char *text)
{
	int value;

	return find_quirk(text, &value) >= 0 && value >= 0;
}

static void
parse_quirk(struct model_config *config, const char *text)
{
	int value;
	const int i = find_quirk(text, &value);

	if (i < 0)
		options_refuse("there is no such NAME=VALUE; see mana-model --help");
	if (value < 0)
		options_refuse("give %s=%s", quirks[i].name, quirks[i].values);
	config->quirks[i] = (uint8_t)value;
}

bool
options_quirk(const struct model_config *config, uint32_t n, const char **name,
	      const char **value, int *length)
{
	if (n >= NB_QUIRKS)
		return false;
	*name = quirks[n].name;
	*value = quirks[n].values;
	for (uint8_t i = 0; i < config->quirks[n]; i++)
		*value = strchr(*value, '|') + 1;
	*length = (int)strcspn(*value, "|");
	return true;
}

static void __attribute__((noreturn))
list_violations(void)
{
	for (int v = 0; v < NB_VIOLATIONS; v++)
		printf("%-24s %s\n", violation_name((enum violation)v),
		       violation_meaning((enum violation)v));
	exit(0);
}

static void
set_defaults(struct options *options)
{
	static const uint8_t mac_base[6] = { 0x00, 0x0d, 0x3a, 0, 0, 1 };
	struct model_config *config = &options->config;

	memset(options, 0, sizeof(*options));
	snprintf(config->name, sizeof(config->name), "%d", (int)getpid());
	config->nb_functions = 1;
	config->nb_ports[0] = OPTIONS_DEFAULT_PORTS;
	memcpy(config->mac_base, mac_base, sizeof(mac_base));
	config->max_mtu = OPTIONS_DEFAULT_MTU;
	config->vp_offset_base = OPTIONS_DEFAULT_VP_OFFSET;
	config->seed = OPTIONS_DEFAULT_SEED;
	options->poll_ms = OPTIONS_DEFAULT_POLL_MS;
	config->pci_device = MODEL_PCI_VF;
}

/*
 * A PCI machine imitates no kernel. The launcher runs the card, in real time, so
 * that the virtual machine continues behind a doorbell at once.
 */
static void
finish_pci(struct options *options)
{
	static const int refused[] = { OPT_KERNEL, OPT_NETVSC, OPT_NUMA_NODE,
				       OPT_POLL_MS, OPT_PRIVILEGES };
	const uint64_t mode = UINT64_C(1) << (OPT_MODE - OPT_CAPTURE);

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if ((options->given >> (refused[i] - OPT_CAPTURE) & 1) != 0)
			options_fail("--%s is for the imitated kernel, which a "
				     "machine with --pci does not have: omit it",
				     options_name(refused[i]));
	if ((options->given & mode) != 0 &&
	    options->config.mode != MODEL_MODE_THREAD)
		options_fail("--mode: a machine with --pci works in mode thread: "
			     "omit --mode");
	if (options->config.pci_device != MODEL_PCI_VF)
		options_fail("--device-id: a machine with --pci has virtual "
			     "functions only: give ba");
	options->config.mode = MODEL_MODE_THREAD;
	options->config.is_pci = true;
}

/* Checks that need more than one option. */
static void
finish(struct options *options)
{
	struct model_config *config = &options->config;
	const struct kernel_version *kernel = kernel_version_of(config->kernel);
	uint32_t nb = 0, nb_ports, last_mac;

	if (options->pci_dir != NULL)
		finish_pci(options);
	while (nb < MODEL_MAX_FUNCTIONS && config->nb_ports[nb] != 0)
		nb++;
	if (nb == 1)
		for (; nb < config->nb_functions; nb++)
			config->nb_ports[nb] = config->nb_ports[0];
	if (nb != config->nb_functions)
		options_fail("--ports: %u numbers for %u functions: give one number for "
		     "all functions or one for each (--functions)", nb,
		     config->nb_functions);
	if (kernel->raw_needs_rnic && !config->rnic)
		options_error("note: Linux %s creates no RDMA device on an "
			      "adapter without an RNIC: add --rnic",
			      kernel->version);
	if (config->pci_device == MODEL_PCI_PF2 && !kernel->takes_pf2)
		options_fail("--device-id c1: mana of Linux %s does not support it; "
		     "omit --kernel", kernel->version);
	/* Without a doorbell virtual time does not advance: see model.rst. */
	if (!options->has_coalesce_ns)
		config->coalesce_ns = config_is_virtual_time(config) ?
					      0 : OPTIONS_DEFAULT_COALESCE_NS;
	if ((options->given >> (OPT_POLL_MS - OPT_CAPTURE) & 1) != 0 &&
	    config->mode != MODEL_MODE_SYNC)
		options_fail("--poll-ms is for mode sync, in which the launcher "
			     "advances virtual time: omit it");
	nb_ports = options_nb_ports(config);
	if (config->netvsc == MODEL_NETVSC_UIO && nb_ports > SYNTHETIC_MAX_PORTS)
		options_fail("--netvsc=uio: VMBus has devices for %u ports, not for "
			     "%u: give fewer with --ports", SYNTHETIC_MAX_PORTS,
			     nb_ports);
	if (config->netvsc == MODEL_NETVSC_UIO && config->mode == MODEL_MODE_STEP)
		options_fail("--netvsc=uio: the model serves channels at stores, "
			     "which --mode step does not see: give another mode");
	last_mac = ((uint32_t)config->mac_base[3] << 16 |
		    (uint32_t)config->mac_base[4] << 8 | config->mac_base[5]) +
		   nb_ports - 1;
	if (last_mac > 0xffffff)
		options_fail("--mac-base: the addresses of %u ports would leave the "
		     "vendor part: give a lower address", nb_ports);
	options_finish_wires(options);
}

/* Options whose value goes to one field, by key. */
static const struct field_option {
	size_t at, nb_bytes; /* in struct options; no bytes: no such option */
	const char *choices; /* the value is the index of its word */
	uint64_t min, max; /* else a number; 0: a flag, which has no value */
} field_options[OPT_WIRE - OPT_CAPTURE + 1] = {
#define FIELD(key, field, ...)                                          \
	[(key) - OPT_CAPTURE] = { offsetof(struct options, field),      \
				  sizeof(((struct options *)0)->field), \
				  __VA_ARGS__ }
	FIELD(OPT_COALESCE, config.coalesce),
	FIELD(OPT_CQ_DOORBELL, config.cq_doorbell_strict, "lax|strict"),
	FIELD(OPT_FATAL, config.fatal_violations),
	FIELD(OPT_FUNCTIONS, config.nb_functions, NULL, 1, MODEL_MAX_FUNCTIONS),
	FIELD(OPT_KERNEL, config.kernel, "7.3|7.2|6.12|6.2"), /* enum model_kernel */
	FIELD(OPT_MAX_MTU, config.max_mtu, NULL, OPTIONS_MIN_MTU, OPTIONS_MAX_MTU),
	FIELD(OPT_MODE, config.mode, "sync|thread|step"), /* enum model_mode */
	FIELD(OPT_POLL_MS, poll_ms, NULL, 0, OPTIONS_MAX_POLL_MS),
	FIELD(OPT_PRIVILEGES, config.own_privileges, "all|process"),
	FIELD(OPT_QUIET, is_quiet),
	FIELD(OPT_RNIC, config.rnic),
	FIELD(OPT_SEED, config.seed, NULL, 0, UINT64_MAX),
	FIELD(OPT_SINK, config.sink),
	FIELD(OPT_VP_OFFSET, config.vp_offset_base, NULL, 0, OPTIONS_MAX_VP_OFFSET),
#undef FIELD
};

static bool
take_field(int key, const char *value, struct options *options)
{
	const struct field_option *option = &field_options[key - OPT_CAPTURE];
	uint64_t number = 1;

	if (option->nb_bytes == 0)
		return false;
	if (option->choices != NULL)
		number = (uint64_t)choice(value, option->choices);
	else if (option->max != 0)
		number = options_number(value, option->min, option->max);
	/* x86 and Arm: the low bytes are the first ones. */
	memcpy((char *)options + option->at, &number, option->nb_bytes);
	return true;
}

static error_t
take_option(int key, const char *value, struct options *options)
{
	struct model_config *config = &options->config;

	switch (key) {
	case OPT_CAPTURE:
		parse_capture(config, value);
		break;
	case OPT_CARD:
		options_parse_card(options, value);
		break;
	case OPT_CHECK:
		options->checks |= value == NULL ?
			OPTIONS_ALL_CHECKS : choices_of(value, OPTIONS_CHECKS);
		break;
	case OPT_COALESCE_NS:
		config->coalesce = true;
		options->has_coalesce_ns = true;
		config->coalesce_ns =
			(uint32_t)options_number(value, 0, 1000000000);
		break;
	case OPT_DEVICE_ID: {
		static const uint16_t ids[] = { MODEL_PCI_VF, MODEL_PCI_PF,
						MODEL_PCI_PF2 };

		config->pci_device = ids[choice(value, "ba|b9|c1")];
		break;
	}
	case OPT_ENFORCE: /* MODEL_ENFORCE_* in this order */
		config->enforce |= choices_of(value, "sa|etype|vlan|dmac");
		break;
	case OPT_FAULT:
		options_add_command(options, "fail rule=%s", value);
		break;
	case OPT_JOIN:
		options->action = OPTIONS_JOIN;
		parse_name(config, value);
		break;
	case OPT_LINK:
		options_parse_link(options, value);
		break;
	case OPT_LIST:
		list_violations();
	case OPT_MAC_BASE:
		parse_mac_base(config->mac_base, value);
		break;
	case OPT_NAME:
		parse_name(config, value);
		break;
	case OPT_NETVSC: /* enum model_netvsc, without its first value */
		config->netvsc = value == NULL ?
					 MODEL_NETVSC_HV :
					 (enum model_netvsc)(1 + choice(value, "hv|uio"));
		break;
	case OPT_NUMA_NODE:
		config->numa_node =
			strcmp(value, "none") == 0 ? -1 :
			(int32_t)options_number(value, 0, OPTIONS_MAX_NUMA_NODE);
		break;
	case OPT_PCI:
		if (value[0] == '\0')
			options_refuse("give a folder");
		options->pci_dir = value;
		break;
	case OPT_PORTS:
		parse_ports(config, value);
		break;
	case OPT_QUIRK:
		parse_quirk(config, value);
		break;
	case OPT_REPORT:
		options->report = parse_file(value);
		break;
	case OPT_SCENARIO:
		if (options->scenario != NULL)
			options_refuse("give one scenario only");
		options->scenario = parse_file(value);
		break;
	case OPT_TRACE:
		if (strcmp(value, "-") == 0)
			strcpy(config->trace, value);
		else
			make_absolute(value, config->trace,
				      sizeof(config->trace));
		break;
	case OPT_TRACE_CLASSES:
		config->trace_classes = choices_of(
			value, "verbs|doorbell|wqe|cqe|event|request");
		break;
	case OPT_WIRE:
		options_parse_wire(options, value);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t
take_value(int key, const char *value, struct options *options)
{
	return take_field(key, value, options) ?
		       0 : take_option(key, value, options);
}

void
options_take(struct options *options, int key, const char *name,
	     const char *value)
{
	const char *const old_name = option_name, *const old_value = option_value;

	option_name = name;
	option_value = value;
	(void)take_value(key, value, options);
	option_name = old_name;
	option_value = old_value;
}

/* The driver that follows --netvsc as a word of its own: argp takes it behind "=" only. */
static char *
next_driver(struct argp_state *state)
{
	char *const next = state->argv[state->next];

	if (next == NULL || (strcmp(next, "hv") != 0 && strcmp(next, "uio") != 0))
		return NULL;
	state->next++;
	return next;
}

static error_t
parse(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	/* The first word that is no option, and all further ones. */
	case ARGP_KEY_ARGS:
		options->program = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (options->pci_dir != NULL)
			return 0;
		options_fail("no program to run: mana-model [options] -- program "
		     "arguments...; see mana-model --help");
	case ARGP_KEY_END:
		if (options->action == OPTIONS_RUN)
			finish(options);
		else if (options->nb_options > 1)
			options_fail("--join: the machine exists already: give no "
			     "other option");
		return 0;
	default:
		if (key < OPT_CAPTURE || key > OPT_WIRE)
			return ARGP_ERR_UNKNOWN;
		if (key == OPT_NETVSC && value == NULL)
			value = next_driver(state);
		options->nb_options++;
		options->given |= UINT64_C(1) << (key - OPT_CAPTURE);
		option_name = options_name(key);
		option_value = value;
		return take_value(key, value, options);
	}
}

/* mana-model ctl NAME report, or a command */
static void
parse_ctl(int argc, char **argv, struct options *options)
{
	if (argc < 4)
		options_fail("ctl takes a machine and a request: mana-model ctl NAME "
		     "report, or a command of those that mana-model --help lists");
	prefix = "";
	option_name = "ctl";
	option_value = argv[2];
	parse_name(&options->config, argv[2]);
	options->action = OPTIONS_CTL;
	options->program = argv + 3;
}

void
options_parse(int argc, char **argv, struct options *options)
{
	set_defaults(options);
	if (argc > 1 && strcmp(argv[1], "ctl") == 0) {
		parse_ctl(argc, argv, options);
		return;
	}
	argv[0] = program_invocation_short_name;
	/* Column of explanations, for the longest option. */
	setenv("ARGP_HELP_FMT", "opt-doc-col=36", 0);
	argp_err_exit_status = OPTIONS_EXIT_OWN_ERROR;
	argp_parse(options_argp(parse), argc, argv, ARGP_IN_ORDER, NULL, options);
	unsetenv("ARGP_HELP_FMT");
}

int
file_check(const char *what, const char *path)
{
	struct statfs fs;
	struct stat st;

	/* Only named FIFOs block: a shell's <(...) pipes have open ends. */
	if (path == NULL || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode) ||
	    statfs(path, &fs) != 0 || fs.f_type == PIPEFS_MAGIC)
		return 0;
	options_error("%s: %s is a FIFO, whose other end may never be opened: "
		      "give a file, or <(command), >(command) of a shell",
		      what, path);
	return -1;
}
