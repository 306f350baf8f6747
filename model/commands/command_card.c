/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for the card's queues and functions. */

#include <errno.h>

#include "card.h"
#include "command.h"
#include "segment.h"

static int
run_fence(struct command_args *args)
{
	uint64_t queue = 0;
	uint32_t fn, port, rq_id;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	ret = command_number(args, "queue", 0, CARD_MAX_QUEUES - 1, &queue);
	if (ret == 0)
		return command_fail(args, -EINVAL, "the queue is missing: give "
				    "queue=N, from 0");
	if (ret > 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = card_port_rq(fn, port, (uint32_t)queue, &rq_id);
	if (ret == 0)
		ret = card_rq_fence(fn, rq_id);
	segment_unlock();
	return ret < 0 ? command_fail(args, -ENOENT, "the port has no Rx queue %u: "
				      "a program must create it",
				      (unsigned int)queue) :
			 0;
}

static int
run_vf(struct command_args *args)
{
	uint32_t fn;
	int ret = command_function(args, &fn);
	bool disable;

	if (ret < 0)
		return ret;
	ret = command_either(args, "disable", "enable", &disable);
	if (ret < 0)
		return ret;
	segment_lock();
	card_function_disable(fn, disable);
	segment_unlock();
	return 0;
}

const struct command commands_card[] = {
	{ "fence", "port=N queue=N",
	  "write a fence completion to the N-th Rx queue of the port, from 0 in "
	  "the order of their ids",
	  run_fence },
	{ "vf", "fn=N disable|enable",
	  "the host disables the function, or enables it: while disabled, Tx ends in "
	  "TX_VF_DISABLED and nothing is received",
	  run_vf },
	{ NULL, NULL, NULL, NULL },
};
