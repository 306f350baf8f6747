/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command line of mana-model.
 */

#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

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

enum options_action {
	OPTIONS_RUN,
	OPTIONS_CTL_REPORT,
	OPTIONS_LIST_VIOLATIONS,
	OPTIONS_HELP,
	OPTIONS_WRONG, /* a message was printed */
};

struct options {
	enum options_action action;
	struct model_config config;
	const char *report; /* file, or NULL */
	bool is_quiet;
	const char *faults[FAULT_MAX_RULES];
	uint32_t nb_faults;
	char **program; /* and its arguments, NULL at the end */
};

/* Ports of the whole machine. */
uint32_t options_nb_ports(const struct model_config *config);

/* Fill options from the command line; strings point into argv. */
void options_parse(int argc, char **argv, struct options *options);
void options_help(void);

/* A line on stderr in the launcher's name. */
void options_complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif /* MODEL_OPTIONS_H */
