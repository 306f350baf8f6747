/* SPDX-License-Identifier: BSD-3-Clause */

/* Requests to a running machine, through the segment, not its launcher. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kernel.h"
#include "launcher.h"
#include "mem.h"
#include "pci_commands.h"
#include "report.h"
#include "rundir.h"
#include "script.h"
#include "segment.h"
#include "trace.h"

static int
print_report(void)
{
	char *text = report_text();
	int ret = 0;

	if (text == NULL || puts(text) < 0 || fflush(stdout) != 0) {
		options_error("cannot print the report: %s",
			      text == NULL ? "no memory" : strerror(errno));
		ret = OPTIONS_EXIT_OWN_ERROR;
	}
	free(text);
	return ret;
}

static int
run_command(char **words)
{
	char line[COMMAND_MAX_LINE] = "", message[256];
	size_t at = 0;
	int ret;

	for (; *words != NULL && at < sizeof(line); words++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s",
				       at == 0 ? "" : " ", *words);
	if (at >= sizeof(line)) {
		options_error("the request is longer than %d bytes",
			      COMMAND_MAX_LINE - 1);
		return OPTIONS_EXIT_OWN_ERROR;
	}
	if (segment_config()->is_pci) {
		/* Only the launcher reaches the virtual machine. */
		command_kind = &pci_commands;
		ret = script_submit(line, message, sizeof(message));
	} else {
		ret = command_run(line, message, sizeof(message));
	}
	if (ret < 0) {
		options_error("ctl: %s", message);
		return OPTIONS_EXIT_OWN_ERROR;
	}
	return 0;
}

int
ctl_run(const char *name, char **request)
{
	char path[MODEL_MAX_PATH];
	int ret = rundir_path(name, path, sizeof(path));

	if (ret == 0)
		ret = segment_attach(path);
	/* The machine is dead, or not set up yet. */
	if (ret == 0 && (!segment_process_alive(SEGMENT_LAUNCHER) ||
			 (!segment_config()->is_pci && !kernel_is_made()))) {
		segment_leave();
		ret = -ENOENT;
	}
	if (ret != 0) {
		options_error("no machine named %s is running (%s: %s)", name,
			      path, strerror(-ret));
		return OPTIONS_EXIT_OWN_ERROR;
	}
	mem_own_through_kernel = true;
	trace_open();
	ret = strcmp(request[0], "report") == 0 && request[1] == NULL ?
		      print_report() : run_command(request);
	segment_leave();
	return ret;
}
