/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command that makes kernel calls, or requests of a hardware channel, fail:
 * base/fault.h.
 */

#include <errno.h>

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

/* call=NAME [errno=NAME], or on a PCI machine request=NAME [status=N]. */
static int
read_call(struct command_args *args, enum fault_call *call, uint32_t *error)
{
	const bool is_pci = segment_config()->is_pci;
	const char *key = is_pci ? "request" : "call";
	const char *name = command_text(args, key), *text;

	if (name == NULL || fault_call_read(name, call) < 0)
		return command_fail(args, -EINVAL, "%s=%s: give one of the %ss "
				    "that mana-model --help lists", key,
				    name != NULL ? name : "", key);
	*error = fault_default_error();
	text = command_text(args, is_pci ? "status" : "errno");
	if (text == NULL || fault_error_read(text, error) == 0)
		return 0;
	return is_pci ? command_fail(args, -EINVAL, "status=%s: give a number "
				     "from 1 to 0xffffffff", text) :
			command_fail(args, -EINVAL, "errno=%s: give a name such "
				     "as ENOMEM or a number", text);
}

int
command_run_fail(struct command_args *args)
{
	enum fault_call call;
	const char *rule;
	uint64_t nth = 1;
	uint32_t error;
	bool later;
	int ret;

	if (command_word(args, "off"))
		return forget(args);
	rule = command_text(args, "rule");
	if (rule != NULL)
		return add_rule(args, rule);
	ret = read_call(args, &call, &error);
	if (ret == 0)
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
