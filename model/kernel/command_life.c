/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands on the life of links, functions and the host. */

#include <errno.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "fault.h"
#include "function.h"
#include "life.h"

/*
 * The event of the card is about the function: Linux mana_en.c
 * mana_link_state_handle() goes through all its ports.
 */
static int
run_link(struct command_args *args)
{
	bool up, down, is_new = false;
	struct kernel_netdev netdev;
	uint32_t fn, port, p;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	up = command_word(args, "up");
	down = command_word(args, "down");
	if (up == down)
		return command_fail(args, -EINVAL, "say up or down");
	ret = command_end(args);
	if (ret < 0)
		return ret;

	segment_lock();
	for (p = 0; p < segment_config()->nb_ports[fn]; p++)
		is_new |= device_link_set(fn, p, up);
	function_at(fn)->life.nb_link_changes += is_new;
	segment_unlock();
	for (p = 0; kernel_netdev_nth_anywhere(p, &netdev) == 0; p++)
		if (netdev.fn == fn)
			kernel_netdev_set_carrier(netdev.ifindex, up);
	return 0;
}

/* fn=N, and nothing else. */
static int
only_function(struct command_args *args, uint32_t *fn)
{
	int ret = command_function(args, fn);

	return ret < 0 ? ret : command_end(args);
}

static int
locked(int (*change)(uint32_t fn), uint32_t fn)
{
	int ret;

	segment_lock();
	ret = change(fn);
	segment_unlock();
	return ret;
}

static int
run_fatal(struct command_args *args)
{
	uint32_t fn;
	int ret = only_function(args, &fn);

	if (ret < 0)
		return ret;
	ret = locked(life_fatal, fn);
	return ret == 0 ? 0 :
	       command_fail(args, ret, "function %u has no RDMA device now: "
			    "let it return first", fn);
}

static int
run_remove(struct command_args *args)
{
	uint32_t fn;
	int ret = only_function(args, &fn);

	if (ret < 0)
		return ret;
	ret = locked(life_remove, fn);
	return ret == 0 ? 0 :
	       command_fail(args, ret, "function %u is not there: let it return "
			    "first", fn);
}

static int
run_return(struct command_args *args)
{
	uint32_t fn;
	int ret = only_function(args, &fn);

	if (ret < 0)
		return ret;
	ret = locked(life_return, fn);
	return ret == 0 ? 0 :
	       command_fail(args, ret, "function %u is there: it can return "
			    "after fatal, remove or reset", fn);
}

static int
run_reset(struct command_args *args)
{
	uint64_t outage_ns = LIFE_OUTAGE_NS;
	bool with_pci;
	uint32_t fn;
	int ret = command_function(args, &fn);

	if (ret == 0)
		ret = command_time(args, "outage", &outage_ns);
	if (ret < 0)
		return ret;
	with_pci = command_word(args, "pci");
	ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = life_reset(fn, outage_ns, with_pci);
	segment_unlock();
	return ret == 0 ? 0 :
	       command_fail(args, ret, "function %u is not there: let it return "
			    "first", fn);
}

static int
run_slow(struct command_args *args)
{
	enum fault_call call = FAULT_any;
	bool is_off = command_word(args, "off");
	const char *name = command_text(args, "calls");
	uint64_t ns = 0;
	int ret = 1;

	if (!is_off) {
		if (name == NULL || fault_call_read(name, &call) < 0)
			return command_fail(args, -EINVAL, "calls=%s: give any, "
					    "or one of the calls that "
					    "mana-model --help lists",
					    name != NULL ? name : "");
		ret = command_time(args, "for", &ns);
		if (ret == 0)
			return command_fail(args, -EINVAL, "give for=TIME");
	}
	if (ret > 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	if (is_off)
		memset(segment_fault_plan()->slow_ns, 0,
		       sizeof(segment_fault_plan()->slow_ns));
	else
		segment_fault_plan()->slow_ns[call] = ns;
	segment_unlock();
	return 0;
}

const struct command commands_life[] = {
	{ "link", "port=N up|down", "the link of the port's function: of all its "
	  "ports", run_link },
	{ "fatal", "fn=N", "DEVICE_FATAL: the RDMA device goes, until return",
	  run_fatal },
	{ "remove", "fn=N", "take the PCI function away, until return",
	  run_remove },
	{ "return", "fn=N", "it is back, with a new RDMA device", run_return },
	{ "reset", "fn=N [outage=TIME] [pci]", "a service of the card: away for "
	  "10s or TIME; pci: with its PCI function", run_reset },
	{ "slow", "calls=NAME|any for=TIME | off", "the kernel calls of this kind "
	  "take so long; off: none does any more", run_slow },
	{ NULL, NULL, NULL, NULL },
};
