/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command line of mana-model.
 */

#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "config.h"
#include "fault.h"

/* As env(1) and timeout(1): the launcher's own failures. */
#define OPTIONS_EXIT_OWN_ERROR 125

/* Defaults and limits. */
#define OPTIONS_DEFAULT_PORTS 2
#define OPTIONS_DEFAULT_MTU 1500
#define OPTIONS_MIN_MTU 68 /* IPv4's least */
#define OPTIONS_MAX_MTU 9216
#define OPTIONS_DEFAULT_VP_OFFSET 5
#define OPTIONS_MAX_VP_OFFSET 4095 /* 12 bits in the long OOB: Linux mana.h */
#define OPTIONS_DEFAULT_SEED 1
/* Linux mana_ethtool.c MANA_RX_CQE_NSEC_DEF. */
#define OPTIONS_DEFAULT_COALESCE_NS 2048

enum options_action {
	OPTIONS_RUN,
	OPTIONS_CTL,
	OPTIONS_JOIN,
	OPTIONS_LIST_VIOLATIONS,
	OPTIONS_HELP,
	OPTIONS_WRONG, /* a message was printed */
};

/* A command that prepares the machine, and the option that stands for it. */
struct options_command {
	const char *option, *value;
	char line[COMMAND_MAX_LINE];
};

struct options {
	enum options_action action;
	struct model_config config;
	const char *report; /* file, or NULL */
	const char *replay; /* trace to be replayed, or NULL */
	bool is_quiet;
	bool has_coalesce_ns; /* it was given */
	const char *faults[FAULT_MAX_RULES];
	uint32_t nb_faults;
	struct options_command *commands;
	uint32_t nb_commands;
	const char *wire_args[MODEL_MAX_PORTS]; /* what follows KIND: */
	const char *scenario; /* file, or NULL */
	/* And its arguments, NULL at the end; for ctl the request, in words. */
	char **program;
};

/* Ports of the whole machine. */
uint32_t options_nb_ports(const struct model_config *config);

/*
 * The nth quirk and its value, which is length characters long; false past the
 * end.
 */
bool options_quirk(const struct model_config *config, uint32_t n,
		   const char **name, const char **value, int *length);

/*
 * Fill options, zeroed before, from the command line; strings point into argv.
 * options_release() frees what they hold, whatever the outcome.
 */
void options_parse(int argc, char **argv, struct options *options);
void options_release(struct options *options);
void options_help(void);

/* A line on stderr in the launcher's name. */
void options_complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* What helps against an errno, as "; do this", or "". Leaves errno alone. */
const char *options_remedy(int error);

#endif /* MODEL_OPTIONS_H */
