/* SPDX-License-Identifier: BSD-3-Clause */

/* How the device behaves, and what goes wrong. */

#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "options_parse.h"

static const char *
parse_mode(struct options *options, const char *value)
{
	static const struct options_choice choices[] = {
		{"sync", MODEL_MODE_SYNC},
		{"thread", MODEL_MODE_THREAD},
		{"step", MODEL_MODE_STEP},
		{"polled", MODEL_MODE_POLLED},
		{NULL, 0},
	};
	uint32_t chosen = 0;
	const char *wrong = options_choice(value, choices, &chosen);

	options->config.mode = (enum model_mode)chosen;
	return wrong;
}

static const char *
parse_core(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = options_number(value, 0, CPU_SETSIZE - 1, &n);
	cpu_set_t cores;

	options->config.core = (uint32_t)n;
	if (wrong == NULL &&
	    sched_getaffinity(0, sizeof(cores), &cores) == 0 &&
	    !CPU_ISSET(n, &cores))
		wrong = options_explain("this program may not run there; "
					"taskset -cp $$ lists the cores");
	return wrong;
}

static const char *
parse_enforce(struct options *options, const char *value)
{
	static const struct options_choice choices[] = {
		{"sa", MODEL_ENFORCE_SA},
		{"etype", MODEL_ENFORCE_ETYPE},
		{"vlan", MODEL_ENFORCE_VLAN},
		{"dmac", MODEL_ENFORCE_DMAC},
		{NULL, 0},
	};
	char copy[64], *next = copy, *item;

	if (strlen(value) >= sizeof(copy))
		return options_explain("the list is too long");
	strcpy(copy, value);
	while ((item = strsep(&next, ",")) != NULL) {
		uint32_t chosen = 0;
		const char *wrong = options_choice(item, choices, &chosen);

		if (wrong != NULL)
			return wrong;
		options->config.enforce |= chosen;
	}
	return NULL;
}

static const char *
parse_cq_doorbell(struct options *options, const char *value)
{
	static const struct options_choice choices[] = {
		{"lax", false}, {"strict", true}, {NULL, 0}};
	uint32_t chosen = 0;
	const char *wrong = options_choice(value, choices, &chosen);

	options->config.cq_doorbell_strict = chosen != 0;
	return wrong;
}

/* Checked when the plan is made: that needs the machine. */
static const char *
parse_fault(struct options *options, const char *value)
{
	if (options->nb_faults == FAULT_MAX_RULES)
		return options_explain("at most %d of these", FAULT_MAX_RULES);
	options->faults[options->nb_faults++] = value;
	return NULL;
}

static const char *
parse_scenario(struct options *options, const char *value)
{
	if (value[0] == '\0')
		return options_explain("give a file name");
	if (options->scenario != NULL)
		return options_explain("one scenario is enough");
	options->scenario = value;
	return NULL;
}

static const char *
parse_seed(struct options *options, const char *value)
{
	return options_number(value, 0, UINT64_MAX, &options->config.seed);
}

static const char *
parse_coalesce(struct options *options, const char *value)
{
	(void)value;
	options->config.coalesce = true;
	return NULL;
}

static const char *
parse_coalesce_ns(struct options *options, const char *value)
{
	uint64_t ns = 0;
	const char *wrong = options_number(value, 0, 1000000000, &ns);

	options->config.coalesce = true;
	options->config.coalesce_ns = (uint32_t)ns;
	options->has_coalesce_ns = true;
	return wrong;
}

const struct options_row options_device[] = {
	{"mode", "sync", parse_mode,
	 "works inside the doorbell store (default)"},
	{"mode", "thread", parse_mode,
	 "works in a thread of its own in each program"},
	{"mode", "step", parse_mode,
	 "for measuring: the doorbell page is plain memory, and the device "
	 "works when the program calls mana_model_step()"},
	{"mode", "polled", parse_mode,
	 "for measuring: a thread polls the plain memory and works"},
	{"core", "N", parse_core,
	 "the core of that thread, from 0; without it, any"},
	{"coalesce", NULL, parse_coalesce,
	 "up to four received packets in one completion"},
	{"coalesce-ns", "N", parse_coalesce_ns,
	 "the same, and a packet waits up to N ns for others (2048 in thread and "
	 "polled mode); 0: no longer than the burst of work that it came with "
	 "(the other modes)"},
	{"enforce", "LIST", parse_enforce,
	 "drop as a cloud network does: sa (foreign source address), etype "
	 "(Ethertype), vlan, dmac (destination)"},
	{"cq-doorbell", "lax", parse_cq_doorbell,
	 "a CQ not rung in time is a violation (default)"},
	{"cq-doorbell", "strict", parse_cq_doorbell, "it also stops"},
	{"fault", "CALL:N[+][:ERRNO]", parse_fault,
	 "the N-th kernel call of that kind, with + the later ones too, fails; "
	 "ERRNO is ENOMEM when left out. May be repeated; the kinds of calls "
	 "are listed below"},
	{"scenario", "FILE", parse_scenario,
	 "commands of those below, one per line, with the time or event at which "
	 "each runs: at 1.5ms netdev port=1 down"},
	{"seed", "N", parse_seed, "seed of whatever is random (1)"},
	{NULL},
};
