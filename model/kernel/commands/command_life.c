/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for links, functions and the host. */

#include <errno.h>
#include <string.h>

#include "card.h"
#include "fault.h"
#include "function.h"
#include "kernel_commands.h"
#include "life.h"
#include "uevent.h"

/* The event is for all ports: mana_en.c mana_link_state_handle(). */
static int
run_link(struct command_args *args)
{
	bool up, is_new = false;
	struct kernel_netdev netdev;
	uint32_t fn, port, p;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	ret = command_either(args, "up", "down", &up);
	if (ret < 0)
		return ret;

	segment_lock();
	for (p = 0; p < segment_config()->nb_ports[fn]; p++)
		is_new |= card_link_set(fn, p, up);
	function_at(fn)->life.nb_link_changes += is_new;
	segment_unlock();
	if (!is_new)
		return 0; /* the card reports changes */
	for (p = 0; kernel_netdev_nth_anywhere(p, &netdev) == 0; p++)
		if (netdev.fn == fn)
			kernel_netdev_set_carrier(netdev.ifindex, up);
	for (p = 0; kernel_netdev_nth_anywhere(p, &netdev) == 0; p++)
		if (netdev.fn == fn)
			kernel_netdev_announce_carrier(netdev.ifindex);
	return 0;
}

/* fn=N is the only argument. */
static int
change(struct command_args *args, int (*change_it)(uint32_t fn),
       const char *refusal)
{
	uint32_t fn;
	int ret = command_function(args, &fn);

	if (ret == 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = change_it(fn);
	segment_unlock();
	return ret == 0 ? 0 :
	       command_fail(args, ret, "function %u %s", fn, refusal);
}

static int
run_fatal(struct command_args *args)
{
	return change(args, life_fatal,
		      "has no RDMA device now: let it return first");
}

static int
run_remove(struct command_args *args)
{
	return change(args, life_remove, "is removed: let it return first");
}

static int
run_return(struct command_args *args)
{
	return change(args, life_return, "is present: it can return only after "
		      "fatal, remove or reset");
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
	       command_fail(args, ret, "function %u is removed: let it return first", fn);
}

/* One word of a list, which ends with NULL; *which is unchanged without the key. */
static int
choose(struct command_args *args, const char *key, const char *const *words,
       const char *choices, uint32_t *which)
{
	const char *word = command_text(args, key);

	if (word == NULL)
		return 0;
	for (uint32_t i = 0; words[i] != NULL; i++)
		if (strcmp(word, words[i]) == 0) {
			*which = i;
			return 1;
		}
	return command_fail(args, -EINVAL, "%s=%s: give %s", key, word, choices);
}

static int
read_service(struct command_args *args, struct life_service *service)
{
	static const char *const kinds[] = { /* enum life_service_kind */
		"remove", "move", "revoke", "reset", "reconfigure", NULL };
	static const char *const orders[] = { /* enum life_order */
		"before", "after", "never", NULL };
	uint32_t kind = 0, withdraw = LIFE_BEFORE, report = LIFE_AFTER;
	int ret = choose(args, "kind", kinds, "remove, move, revoke, reset or "
			 "reconfigure", &kind);

	if (ret == 0)
		return command_fail(args, -EINVAL, "the kind is missing: give "
				    "kind=remove, move, revoke, reset or "
				    "reconfigure");
	if (ret > 0)
		ret = choose(args, "withdraw", orders, "before, after or never",
			     &withdraw);
	if (ret >= 0)
		ret = choose(args, "report", orders, "before, after or never",
			     &report);
	if (ret >= 0)
		ret = command_time(args, "gap", &service->gap_ns);
	if (ret >= 0)
		ret = command_time(args, "outage", &service->outage_ns);
	if (ret < 0)
		return ret;
	if (service->gap_ns > service->outage_ns / 2)
		return command_fail(args, -EINVAL, "the gap must be at most half "
				    "of the outage");
	service->kind = (enum life_service_kind)kind;
	service->withdraw = (enum life_order)withdraw;
	service->report = (enum life_order)report;
	return 0;
}

static int
run_service(struct command_args *args)
{
	struct life_service service = { .outage_ns = LIFE_OUTAGE_NS };
	uint32_t fn;
	int ret;

	if (command_word(args, "next"))
		return change(args, life_service_next, "has no service now");
	ret = command_function(args, &fn);
	if (ret == 0)
		ret = read_service(args, &service);
	if (ret == 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	ret = life_service(fn, &service);
	segment_unlock();
	return ret == 0 ? 0 :
	       command_fail(args, ret, "a part of function %u is missing, or a "
			    "service runs: let it return first", fn);
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
		uevent_pci(fn, action, "SYNTH_UUID=0\n");
	return ret;
}

const struct command commands_life[] = {
	{ "link", "port=N up|down", "set the link of all ports of the port's "
	  "function", run_link },
	{ "fatal", "fn=N", "DEVICE_FATAL: remove the RDMA device, until return",
	  run_fatal },
	{ "remove", "fn=N", "remove the PCI function, until return",
	  run_remove },
	{ "return", "fn=N", "end remove or fatal, with a new RDMA device", run_return },
	{ "reset", "fn=N [outage=TIME] [pci]", "reset the adapter: remove the "
	  "RDMA device for 10s or TIME; pci: the PCI function, too", run_reset },
	{ "service", "fn=N kind=remove|move|revoke|reset|reconfigure "
	  "[withdraw=before|after|never] [report=before|after|never] [gap=TIME] "
	  "[outage=TIME] | fn=N next", "service of Azure for 10s or TIME: the function goes and "
	  "returns (remove), to other hardware (move), never (revoke), by GDMA event "
	  "135 (reset) or 132 (reconfigure); the host tells net_netvsc before or after "
	  "loss and return, with this gap; next: do its next step now", run_service },
	{ "slow", "calls=NAME|any for=TIME | off", "kernel calls of this kind take "
	  "this time; off: no delay", run_slow },
	{ "uevent", "fn=N add|remove|change|bind|unbind",
	  "only send this uevent of the PCI function",
	  run_uevent },
	{ NULL, NULL, NULL, NULL },
};
