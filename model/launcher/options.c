/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options_parse.h"
#include "replay.h"
#include "replay_read.h"
#include "traits.h"

#define MAX_OPTIONS 128

static const struct options_row *const tables[] = {
	options_machine,
	options_wire,
	options_device,
	options_quirks,
	options_output,
};
#define NB_TABLES (sizeof(tables) / sizeof(tables[0]))

/* For getopt_long(); val is the index, beyond those of characters. */
#define FIRST_VAL 256
static struct option long_options[MAX_OPTIONS + 1];
static const struct options_row *rows[MAX_OPTIONS];

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
		return "; make room there, or set MANA_MODEL_RUNDIR to a folder "
		       "that has some";
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
	config->core = MODEL_ANY_CORE;
	config->pci_device = MODEL_PCI_VF;
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
	if (kernel_traits_of(config->kernel)->raw_needs_rnic && !config->rnic)
		options_complain("note: Linux %s makes no RDMA device on an "
				 "adapter without an RNIC: add --rnic for one",
				 kernel_traits_of(config->kernel)->version);
	if (config->pci_device == MODEL_PCI_PF2 &&
	    !kernel_traits_of(config->kernel)->takes_pf2) {
		options_complain("--device-id c1: mana of Linux %s does not "
				 "know it; leave --kernel out",
				 kernel_traits_of(config->kernel)->version);
		return false;
	}
	if (options->replay != NULL && config->mode != MODEL_MODE_SYNC) {
		options_complain("--mode: a recording is replayed in the mode "
				 "sync only");
		return false;
	}
	/* Time that stands still while there is no doorbell: see model.rst. */
	if (!options->has_coalesce_ns)
		config->coalesce_ns = config_is_virtual_time(config) ?
					      0 :
					      OPTIONS_DEFAULT_COALESCE_NS;
	for (size_t i = 0; i < 6; i++)
		last_mac = last_mac << 8 | config->mac_base[i];
	last_mac += options_nb_ports(config) - 1;
	if (config->core != MODEL_ANY_CORE &&
	    config->mode != MODEL_MODE_POLLED) {
		options_complain("--core is for the thread of --mode polled: "
				 "give that too");
		return false;
	}
	if ((last_mac & 0xffffff) < options_nb_ports(config) - 1) {
		options_complain("--mac-base: the addresses of %u ports would "
				 "leave the vendor part: give a lower address",
				 options_nb_ports(config));
		return false;
	}
	return options_finish_wires(options);
}

/* mana-model ctl NAME report, or a command */
static enum options_action
parse_ctl(int argc, char **argv, struct options *options)
{
	const char *wrong;

	if (argc < 4) {
		options_complain("ctl takes a machine and a request: "
				 "mana-model ctl NAME report, or a command of "
				 "those that mana-model --help lists");
		return OPTIONS_WRONG;
	}
	wrong = options_parse_name(options, argv[2]);
	if (wrong != NULL) {
		options_complain("ctl: '%s' is no name of a machine: %s",
				 argv[2], wrong);
		return OPTIONS_WRONG;
	}
	options->program = argv + 3;
	return OPTIONS_CTL;
}

/*
 * mana-model replay [--verbs | --completions] FILE, then as for a run. The
 * machine is that of the recording, unless options say otherwise. The words
 * that were taken, or 0 after a complaint.
 */
static int
parse_replay(int argc, char **argv, struct options *options)
{
	int at = 2;

	options->config.replay = REPLAY_VERBS | REPLAY_COMPLETIONS;
	if (at < argc && strcmp(argv[at], "--verbs") == 0) {
		options->config.replay = REPLAY_VERBS;
		at++;
	} else if (at < argc && strcmp(argv[at], "--completions") == 0) {
		options->config.replay = REPLAY_COMPLETIONS;
		at++;
	}
	if (at >= argc || argv[at][0] == '-') {
		options_complain("replay takes a trace: mana-model replay "
				 "[--verbs|--completions] FILE [options] -- "
				 "program arguments...");
		return 0;
	}
	options->replay = argv[at];
	return replay_read_header(argv[at], &options->config) ? at : 0;
}

static void
make_long_options(void)
{
	int nb = 0;

	for (size_t i = 0; i < NB_TABLES; i++) {
		for (const struct options_row *r = tables[i]; r->name != NULL;
		     r++) {
			if (nb == MAX_OPTIONS ||
			    (r != tables[i] && strcmp(r[-1].name, r->name) == 0))
				continue;
			rows[nb] = r;
			long_options[nb].name = r->name;
			long_options[nb].has_arg = r->value != NULL;
			long_options[nb].val = FIRST_VAL + nb;
			nb++;
		}
	}
}

/* One option that getopt_long() gave back. */
static bool
take(struct options *options, int opt, char **argv)
{
	const char *wrong;

	if (opt >= FIRST_VAL) {
		wrong = rows[opt - FIRST_VAL]->parse(options, optarg);
		if (wrong == NULL)
			return true;
		options_complain("--%s: '%s' will not do: %s",
				 rows[opt - FIRST_VAL]->name, optarg, wrong);
		return false;
	}
	if (opt == ':')
		options_complain("%s needs a value; see mana-model --help",
				 argv[optind - 1]);
	else
		options_complain("there is no option '%s'; see mana-model "
				 "--help, and put -- before the program",
				 argv[optind - 1]);
	return false;
}

/* What the options leave to say. */
static enum options_action
check_rest(struct options *options, int nb_options)
{
	if (options->action == OPTIONS_JOIN && nb_options > 1) {
		options_complain("--join: the machine is there already, no other "
				 "option goes with it");
		return OPTIONS_WRONG;
	}
	if (options->action == OPTIONS_RUN && !finish(options))
		return OPTIONS_WRONG;
	if (options->program[0] == NULL) {
		options_complain("no program to run: mana-model [options] -- "
				 "program arguments...; see mana-model --help");
		return OPTIONS_WRONG;
	}
	return options->action;
}

void
options_parse(int argc, char **argv, struct options *options)
{
	int opt, nb_options = 0;

	set_defaults(options);
	if (argc > 1 && strcmp(argv[1], "ctl") == 0) {
		options->action = parse_ctl(argc, argv, options);
		return;
	}
	if (argc > 1 && strcmp(argv[1], "replay") == 0) {
		int taken = parse_replay(argc, argv, options);

		if (taken == 0) {
			options->action = OPTIONS_WRONG;
			return;
		}
		argc -= taken;
		argv += taken;
	}
	make_long_options();
	opterr = 0;
	/* '+': the first word that is no option is the program. */
	while ((opt = getopt_long(argc, argv, "+:", long_options, NULL)) != -1) {
		if (!take(options, opt, argv)) {
			options->action = OPTIONS_WRONG;
			return;
		}
		nb_options++;
	}
	options->program = argv + optind;
	if (options->action == OPTIONS_RUN || options->action == OPTIONS_JOIN)
		options->action = check_rest(options, nb_options);
}
