/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>

#include "kernel_commands.h"

static const struct command commands_fail[] = {
	{ "fail", "call=NAME [nth=N] [later] [errno=NAME] | rule=CALL:N[+][:ERRNO] | "
	  "off",
	  "the N-th kernel call of this kind from now on fails (default 1); later: "
	  "the later ones, too; off: none fails", command_run_fail },
	{ NULL, NULL, NULL, NULL },
};

static const struct command *const tables[] = {
	commands_life,
	commands_net,
	commands_fail,
	NULL,
};

static const struct command_absent absent[] = {
	{ "answer", "only a machine of --pci has it" },
	{ "rdma", "only a machine of --pci has it; use fatal and return" },
	{ "stop-answering", "only a machine of --pci has it; use stall" },
	{ "timeout", "only a machine of --pci has it" },
	{ NULL, NULL },
};

const struct command_kind kernel_commands = {
	.machine = "a machine with an imitated kernel",
	.tables = tables,
	.absent = absent,
};

const struct command_kind *command_kind = &kernel_commands;
