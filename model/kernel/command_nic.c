/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands on the card's queues and functions, as its host would give them. */

#include <errno.h>

#include "command.h"
#include "device.h"
#include "segment.h"

static int
run_fence(struct command_args *args)
{
	uint64_t queue = 0;
	uint32_t fn, port, rq_id;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	ret = command_number(args, "queue", 0, DEVICE_MAX_QUEUES - 1, &queue);
	if (ret == 0)
		return command_fail(args, -EINVAL, "which receive queue? Give "
				    "queue=N, from 0");
	if (ret > 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = device_port_rq(fn, port, (uint32_t)queue, &rq_id);
	if (ret == 0)
		ret = device_rq_fence(fn, rq_id);
	segment_unlock();
	return ret < 0 ? command_fail(args, -ENOENT, "the port has no receive "
				      "queue %u now: a program must be using it",
				      (unsigned int)queue) :
			 0;
}

static int
run_vf(struct command_args *args)
{
	uint32_t fn;
	int ret = command_function(args, &fn);
	bool disable, enable;

	if (ret < 0)
		return ret;
	disable = command_word(args, "disable");
	enable = command_word(args, "enable");
	if (disable == enable)
		return command_fail(args, -EINVAL, "say disable or enable");
	ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	device_function_disable(fn, disable);
	segment_unlock();
	return 0;
}

const struct command commands_nic[] = {
	{ "fence", "port=N queue=N",
	  "the card writes a fence completion to the port's receive queue, "
	  "counted from 0 in the order of their ids",
	  run_fence },
	{ "vf", "fn=N disable|enable",
	  "the card's host disables the function: what is sent ends in "
	  "TX_VF_DISABLED, nothing is received",
	  run_vf },
	{ NULL, NULL, NULL, NULL },
};
