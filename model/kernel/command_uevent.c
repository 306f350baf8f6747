/* SPDX-License-Identifier: BSD-3-Clause */

/* The command that writes to the uevent file of a device in sysfs. */

#include <errno.h>

#include "command.h"
#include "uevent.h"

static int
run_uevent(struct command_args *args)
{
	static const char *const actions[] = { "add", "remove", "change",
					       "bind", "unbind" };
	const char *action = NULL;
	uint32_t fn, i;
	int ret = command_function(args, &fn);

	if (ret < 0)
		return ret;
	for (i = 0; action == NULL && i < 5; i++)
		if (command_word(args, actions[i]))
			action = actions[i];
	if (action == NULL)
		return command_fail(args, -EINVAL, "say add, remove, change, "
				    "bind or unbind");
	ret = command_end(args);
	if (ret == 0)
		uevent_pci(fn, action, "SYNTH_UUID=0");
	return ret;
}

const struct command commands_uevent[] = {
	{ "uevent", "fn=N add|remove|change|bind|unbind",
	  "tell of the PCI function, and do nothing with it", run_uevent },
	{ NULL, NULL, NULL, NULL },
};
