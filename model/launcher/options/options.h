/* SPDX-License-Identifier: BSD-3-Clause */

/* The command line of mana-model. */

#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "config.h"

/* Exit status of the launcher's own failures, as with env(1) and timeout(1). */
#define OPTIONS_EXIT_OWN_ERROR 125

/* Defaults and limits. */
#define OPTIONS_DEFAULT_PORTS 2
#define OPTIONS_DEFAULT_MTU 1500
#define OPTIONS_MIN_MTU 68 /* minimum of IPv4 */
#define OPTIONS_MAX_MTU 9216
#define OPTIONS_DEFAULT_VP_OFFSET 5
#define OPTIONS_MAX_VP_OFFSET 4095 /* 12 bits in the long OOB: Linux mana.h */
#define OPTIONS_MAX_NUMA_NODE 1023 /* Linux MAX_NUMNODES of the largest kernels */
#define OPTIONS_DEFAULT_SEED 1
#define OPTIONS_DEFAULT_POLL_MS 2
#define OPTIONS_MAX_POLL_MS 60000
/* Linux mana_ethtool.c MANA_RX_CQE_NSEC_DEF. */
#define OPTIONS_DEFAULT_COALESCE_NS 2048

/* What --check checks. */
#define OPTIONS_CHECKS "violations|left|errors|dropped|lost|changed|scenario"
#define OPTIONS_ALL_CHECKS 0x7f

enum options_action {
	OPTIONS_RUN,
	OPTIONS_CTL,
	OPTIONS_JOIN,
};

/* A command that prepares the machine, and its option. */
struct options_command {
	const char *option, *value;
	char line[COMMAND_MAX_LINE];
};

struct options {
	enum options_action action;
	struct model_config config;
	const char *report; /* file, or NULL */
	uint32_t checks; /* bits in the order of OPTIONS_CHECKS */
	bool is_quiet;
	bool has_coalesce_ns; /* the option was given */
	uint32_t poll_ms; /* see idle_programs_wait() */
	const char *pci_dir; /* folder of the functions' sockets, or NULL */
	uint32_t nb_options;
	uint64_t given; /* bit by key - OPT_CAPTURE */
	struct options_command *commands;
	uint32_t nb_commands;
	const char *wire_args[MODEL_MAX_PORTS]; /* text behind KIND: */
	const char *scenario; /* file, or NULL */
	/*
	 * The program and its arguments, or the words of ctl; ended by NULL. NULL:
	 * a PCI machine without a program.
	 */
	char **program;
};

/* Number of ports of the whole machine. */
uint32_t options_nb_ports(const struct model_config *config);

/* The nth quirk and its value of length characters; false past the end. */
bool options_quirk(const struct model_config *config, uint32_t n,
		   const char **name, const char **value, int *length);

/*
 * Fill options from the command line; strings point into argv. Exits if it is
 * wrong, or if it only requests a list. options_release() frees the options.
 */
void options_parse(int argc, char **argv, struct options *options);
void options_release(struct options *options);

/* Write an error line to stderr with the launcher's prefix. */
void options_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The remedy for an errno, as "; do this", or "". Preserves errno. */
const char *options_remedy(int error);

/*
 * Check files of the user before they are opened.
 *
 * 0, or -1 after logging an error if opening it would wait for the other end of a
 * FIFO. path may be NULL; what is the name of its option.
 */
int file_check(const char *what, const char *path);

#endif /* MODEL_OPTIONS_H */
