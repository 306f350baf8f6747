/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>

#include "adapter.h"
#include "card.h"
#include "clock.h"
#include "inject.h"
#include "pci_commands.h"
#include "pci_device.h"
#include "pci_status.h"
#include "script.h"
#include "segment.h"

#define MAX_MBPS       INT32_MAX
#define MAX_TIMEOUT_MS HWC_DATA_VALUE_M

/* fn=N is the last argument. The lock is held afterwards if the result is 0. */
static int
take_function(struct command_args *args, uint32_t *fn)
{
	int ret = command_function(args, fn);

	if (ret == 0)
		ret = command_end(args);
	if (ret == 0)
		segment_lock();
	return ret;
}

/* The same, for an event of the hardware channel. */
static int
take_channel(struct command_args *args, uint32_t *fn)
{
	const int ret = take_function(args, fn);

	if (ret != 0 || pci_status(*fn)->is_channel_open)
		return ret;
	segment_unlock();
	return command_fail(args, -ENOTCONN, "function %u has no hardware "
			    "channel: start the guest and its driver mana",
			    *fn);
}

static int
send_event(struct command_args *args, enum eqe_type type, uint32_t detail)
{
	uint32_t fn;
	const int ret = take_channel(args, &fn);

	if (ret < 0)
		return ret;
	adapter_hwc_event(fn, type, detail);
	segment_unlock();
	return 0;
}

static int
run_link(struct command_args *args)
{
	bool up, is_new = false;
	uint32_t fn, port, p;
	int ret = command_port(args, &fn, &port);

	if (ret == 0)
		ret = command_either(args, "up", "down", &up);
	if (ret < 0)
		return ret;
	segment_lock();
	/* The event is for all ports: mana_en.c mana_link_state_handle(). */
	for (p = 0; p < segment_config()->nb_ports[fn]; p++)
		is_new |= card_link_set(fn, p, up);
	/* ASSUMED: the value is the port. */
	if (is_new)
		adapter_hwc_event(fn, EQE_HWC_RECONFIG_DATA,
				  port | (up ? HWC_RECONFIG_LINK_CONNECT :
					       HWC_RECONFIG_LINK_DISCONNECT)
						 << HWC_DATA_TYPE_S);
	segment_unlock();
	return 0;
}

static int
run_speed(struct command_args *args)
{
	uint64_t mbps = 0;
	uint32_t fn, port;
	int ret = command_port(args, &fn, &port);

	if (ret == 0)
		ret = command_number(args, "mbps", 1, MAX_MBPS, &mbps);
	if (ret == 0)
		return command_fail(args, -EINVAL, "give mbps=N");
	if (ret > 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	adapter(fn)->speed_mbps[port] = (uint32_t)mbps;
	segment_unlock();
	return 0;
}

/* Stall or resume the queues of all ports. */
static int
set_stalled(uint32_t fn, bool is_stalled)
{
	struct inject_rule rule = { .kind = INJECT_STALL, .fn = fn,
				    .queue = INJECT_ANY_QUEUE };
	int ret = 0;

	for (rule.port = 0; rule.port < segment_config()->nb_ports[fn];
	     rule.port++) {
		for (int i = 0; i < 2; i++) {
			rule.is_tx = i == 0;
			/* Rules are few: keep none of an earlier stop. */
			card_resume(fn, rule.port, rule.queue, rule.is_tx);
			if (is_stalled && ret == 0)
				ret = inject_add(&rule);
		}
	}
	return ret;
}

/* With the lock held, which it releases. */
static int
set_silent(struct command_args *args, uint32_t fn, bool is_silent)
{
	const int ret = set_stalled(fn, is_silent);

	if (ret == 0)
		pci_stop_answering(fn, is_silent);
	else
		set_stalled(fn, false);
	segment_unlock();
	return ret == 0 ? 0 :
	       command_fail(args, ret, "there are %d rules already: inject off "
			    "removes them", INJECT_MAX_RULES);
}

static int
run_stop_answering(struct command_args *args)
{
	uint32_t fn;
	const int ret = take_function(args, &fn);

	return ret < 0 ? ret : set_silent(args, fn, true);
}

static int
run_answer(struct command_args *args)
{
	uint32_t fn;
	const int ret = take_function(args, &fn);

	return ret < 0 ? ret : set_silent(args, fn, false);
}

/* With the lock held. */
static int
run_later(const char *command, uint32_t fn, const char *more, uint64_t delay_ns)
{
	struct script_entry entry = { .trigger = SCRIPT_TIME,
				      .at = clock_now() + delay_ns };

	snprintf(entry.text, sizeof(entry.text), "%s fn=%u%s", command, fn, more);
	return script_insert(&entry);
}

/*
 * An adapter that requests a reset does not answer: Linux gdma_main.c
 * mana_serv_reset() waits for no answer. It opens the channel again
 * MANA_SERVICE_PERIOD, 10 s, after it has closed it. ASSUMED: meanwhile the
 * function is disabled as by the host. It must not write to memory that a driver
 * has freed without an answer, and must complete what a driver waits for.
 */
#define RESET_OUTAGE_NS 10000000000u

static int
run_reset(struct command_args *args)
{
	uint64_t outage_ns = RESET_OUTAGE_NS;
	uint32_t fn;
	int ret = command_time(args, "outage", &outage_ns);

	if (ret >= 0)
		ret = take_channel(args, &fn);
	if (ret < 0)
		return ret;
	ret = run_later("answer", fn, "", outage_ns);
	if (ret >= 0)
		ret = run_later("vf", fn, " enable", outage_ns);
	if (ret >= 0) {
		adapter_hwc_event(fn, EQE_HWC_RESET_REQUEST, 0);
		pci_stop_answering(fn, true);
		card_function_disable(fn, true);
	}
	segment_unlock();
	return ret >= 0 ? 0 :
			  command_fail(args, -ENOSPC, "too many waiting commands: "
				       "omit some");
}

static int
run_fatal(struct command_args *args)
{
	return send_event(args, EQE_HWC_FPGA_RECONFIG, 0);
}

/* Linux hw_channel.h union hwc_init_soc_service_type. */
static int
run_rdma(struct command_args *args)
{
	const bool suspend = command_word(args, "suspend");
	const bool resume = command_word(args, "resume");

	if (suspend == resume)
		return command_fail(args, -EINVAL, "give suspend or resume");
	return send_event(args, EQE_HWC_SOC_SERVICE,
			  (suspend ? SERVICE_RDMA_SUSPEND : SERVICE_RDMA_RESUME)
				  << SERVICE_TYPE_S);
}

static int
run_timeout(struct command_args *args)
{
	uint64_t ms = 0;
	const int ret = command_number(args, "ms", 1, MAX_TIMEOUT_MS, &ms);

	if (ret == 0)
		return command_fail(args, -EINVAL, "give ms=N");
	return ret < 0 ? ret :
			 send_event(args, EQE_HWC_RECONFIG_DATA,
				    (uint32_t)ms | HWC_RECONFIG_TIMEOUT_MS
							   << HWC_DATA_TYPE_S);
}

static const struct command commands[] = {
	{ "link", "port=N up|down", "set the link of all ports of the port's "
	  "function, and send one event (133, types 2 and 3)", run_link },
	{ "speed", "port=N mbps=N",
	  "set the link speed that the adapter reports (200000)", run_speed },
	{ "reset", "fn=N [outage=TIME]", "the adapter asks the driver to reset it "
	  "(event 135), and then does not answer for 10s or TIME", run_reset },
	{ "fatal", "fn=N", "the adapter will be reconfigured (event 132): the "
	  "driver must find it anew", run_fatal },
	{ "rdma", "fn=N suspend|resume",
	  "the adapter suspends its RNIC function, or resumes it (event 134)",
	  run_rdma },
	{ "timeout", "fn=N ms=N", "the adapter sets the time that the driver waits "
	  "for answers (event 133, type 1)", run_timeout },
	{ "stop-answering", "fn=N", "no request is answered, and all queues are "
	  "stalled, until answer", run_stop_answering },
	{ "answer", "fn=N", "end stop-answering: answer waiting requests, and "
	  "resume all queues", run_answer },
	{ "fail", "request=NAME [nth=N] [later] [status=N] | "
	  "rule=REQUEST:N[+][:STATUS] | off",
	  "the N-th request of this kind from now on fails (default 1) with a "
	  "hardware status (default 1); later: the later ones, too; off: none "
	  "fails", command_run_fail },
	{ NULL, NULL, NULL, NULL },
};

static const struct command *const tables[] = {
	commands,
	NULL,
};

#define IN_GUEST "the guest has its own kernel: "
static const struct command_absent absent[] = {
	{ "netdev", IN_GUEST "use ip link set dev NAME up|down in it" },
	{ "mtu", IN_GUEST "use ip link set dev NAME mtu N in it; --max-mtu is the "
		 "largest" },
	{ "netns", IN_GUEST "use ip link set dev NAME netns NAME in it" },
	{ "slow", IN_GUEST "its calls cannot be slowed" },
	{ "uevent", IN_GUEST "write to the file uevent of the device in it" },
	{ "remove", IN_GUEST "write 1 to the file remove of the device in it" },
	{ "return", IN_GUEST "write 1 to /sys/bus/pci/rescan in it" },
	{ "service", "use reset (event 135) or fatal (event 132)" },
	{ NULL, NULL },
};

const struct command_kind pci_commands = {
	.machine = "a machine of --pci",
	.tables = tables,
	.absent = absent,
};
