/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests to a running machine. They need no help of its launcher: all state
 * is in the segment.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "ctl.h"
#include "mem.h"
#include "options.h"
#include "report.h"
#include "rundir.h"
#include "segment.h"

static void
leave(void)
{
	segment_lock();
	segment_process_release(model_self);
	segment_unlock();
	segment_detach();
}

int
ctl_report(const char *name)
{
	char path[MODEL_MAX_PATH];
	char *text;
	int ret = rundir_path(name, path, sizeof(path));

	if (ret == 0)
		ret = segment_attach(path);
	if (ret == 0 && !segment_process_alive(SEGMENT_LAUNCHER)) {
		leave();
		ret = -ENOENT;
	}
	if (ret != 0) {
		options_complain("no machine named %s is running (%s: %s)",
				 name, path, strerror(-ret));
		return OPTIONS_EXIT_OWN_ERROR;
	}
	mem_own_through_kernel = true;
	text = report_text();
	leave();
	if (text == NULL || puts(text) < 0 || fflush(stdout) != 0) {
		options_complain("cannot print the report: %s",
				 text == NULL ? "no memory" : strerror(errno));
		free(text);
		return OPTIONS_EXIT_OWN_ERROR;
	}
	free(text);
	return 0;
}
