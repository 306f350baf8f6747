/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands that make kernel calls fail: base/fault.h. */

#include <errno.h>
#include <string.h>

#include "command.h"
#include "fault.h"
#include "segment.h"

static int
forget(struct command_args *args)
{
	int ret = command_end(args);

	if (ret < 0)
		return ret;
	segment_lock();
	fault_plan_clear();
	segment_unlock();
	return 0;
}

/* The form of --fault. */
static int
add_rule(struct command_args *args, const char *rule)
{
	char message[160];
	int ret = command_end(args);

	if (ret < 0)
		return ret;
	segment_lock();
	ret = fault_plan_add(rule, message, sizeof(message));
	segment_unlock();
	return ret == 0 ? 0 : command_fail(args, ret, "%s", message);
}

static int
run_fail(struct command_args *args)
{
	const char *name, *error_name;
	enum fault_call call = FAULT_any;
	int error = ENOMEM, ret;
	uint64_t nth = 1;
	bool later;

	if (command_word(args, "off"))
		return forget(args);
	name = command_text(args, "rule");
	if (name != NULL)
		return add_rule(args, name);
	name = command_text(args, "call");
	if (name == NULL || fault_call_read(name, &call) < 0)
		return command_fail(args, -EINVAL, "call=%s: give one of the "
				    "calls that mana-model --help lists",
				    name != NULL ? name : "");
	error_name = command_text(args, "errno");
	if (error_name != NULL && fault_errno_read(error_name, &error) < 0)
		return command_fail(args, -EINVAL, "errno=%s: give a name such "
				    "as ENOMEM or a number", error_name);
	ret = command_number(args, "nth", 1, UINT32_MAX, &nth);
	if (ret < 0)
		return ret;
	later = command_word(args, "later");
	ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = fault_add(call, nth, later, error);
	segment_unlock();
	return ret == 0 ? 0 :
			  command_fail(args, ret, "there are %d rules already: fail "
				       "off removes them",
				       FAULT_MAX_RULES);
}

const struct command commands_fault[] = {
	{ "fail", "call=NAME [nth=N] [later] [errno=NAME] | rule=CALL:N[+][:ERRNO] | "
	  "off",
	  "the N-th kernel call of this kind from now on fails (default 1); later: "
	  "the later ones, too; off: none fails", run_fail },
	{ NULL, NULL, NULL, NULL },
};
