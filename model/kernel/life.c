/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Changes of a function step by step to a target, a set of SYSFS_* parts. Each
 * step is idempotent, because its process may be killed at any time.
 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "context.h"
#include "function.h"
#include "kernel_state.h"
#include "kernel_version.h"
#include "life.h"
#include "netdev.h"
#include "synthetic.h"
#include "sysfs.h"
#include "trace.h"
#include "uevent.h"
#include "verbs.h"
#include "vmbus.h"

#define NOTHING 0u
#define NO_RDMA (SYSFS_PCI | SYSFS_NET)
#define NB_RDMA 2 /* per function, at most */

static uint32_t
parts_of(const struct kernel_function *function)
{
	return (function->has_pci ? SYSFS_PCI : 0) |
	       (function->has_netdevs ? SYSFS_NET : 0) |
	       (function->has_rdma ? SYSFS_RDMA : 0);
}

/* The parts of a function at boot. */
static uint32_t
parts_at_boot(void)
{
	return NO_RDMA | (function_makes_rdma() ? SYSFS_RDMA : 0);
}

static uint32_t
rdma_devices(uint32_t fn, struct rdma_device device[NB_RDMA])
{
	uint32_t nb = 0;

	nb += rdma_device_get(fn, false, &device[nb]);
	nb += rdma_device_get(fn, true, &device[nb]);
	return nb;
}

#define PATH_BYTES (SYSFS_PCI_DIR_BYTES + 48)

/* ---- announcements: uevents, and RTM_NEWLINK or RTM_DELLINK ---- */

/* The event has DRIVER while a driver is bound (Linux drivers/base/core.c). */
static void
announce_pci(uint32_t fn, const char *action)
{
	uevent_pci(fn, action, strcmp(action, "bind") == 0 ? "DRIVER=mana\n" : "");
}

/*
 * Linux core/dev.c unregister_netdevice_many_notify(): RTM_DELLINK, then the
 * uevent; register_netdevice(): the uevent, then RTM_NEWLINK.
 */
static void
announce_netdevs(uint32_t fn, bool is_new)
{
	struct kernel_netdev netdev;
	uint32_t p;

	for (p = 0; p < segment_config()->nb_ports[fn]; p++) {
		netdev_get(fn, p, &netdev);
		if (netdev.ns != KERNEL_NETDEV_OWN_NS)
			continue;
		if (is_new)
			uevent_net(&netdev, "add");
		netdev_announce(&netdev, is_new ? RTM_NEWLINK : RTM_DELLINK,
				UINT32_MAX);
		if (!is_new)
			uevent_net(&netdev, "remove");
	}
}

/* core/uverbs_main.c uverbs_devnode(), drivers/base/core.c dev_uevent(). */
static void
announce_uverbs(const struct rdma_device *device, const char *action)
{
	const uint32_t n = device->number;
	char dir[SYSFS_PCI_DIR_BYTES], path[PATH_BYTES];

	sysfs_pci_dir(device->fn, dir);
	snprintf(path, sizeof(path), "/%s/infiniband_verbs/uverbs%u", dir, n);
	kernel_uevent(action, path, "infiniband_verbs",
		      "MAJOR=%d\nMINOR=%u\nDEVNAME=infiniband/uverbs%u\nDEVMODE=0666\n",
		      KERNEL_UVERBS_MAJOR, KERNEL_UVERBS_MINOR_BASE + n, n);
}

/* Linux core/device.c ib_device_uevent(). */
static void
announce_rdma(const struct rdma_device *device, const char *action)
{
	char dir[SYSFS_PCI_DIR_BYTES], path[PATH_BYTES];

	sysfs_pci_dir(device->fn, dir);
	snprintf(path, sizeof(path), "/%s/infiniband/%s", dir, device->name);
	kernel_uevent(action, path, "infiniband", "NAME=%s\n", device->name);
}

/*
 * mana_ib_remove(): the order of core/uverbs_main.c ib_uverbs_remove_one() and
 * core/device.c __ib_unregister_device(). Programs are notified after the
 * removal of the node.
 */
static void
remove_rdma(uint32_t fn)
{
	struct kernel *kernel = segment_kernel();
	struct rdma_device device[NB_RDMA];
	const uint32_t nb = rdma_devices(fn, device);
	uint32_t i;

	function_remove_rdma(fn);
	sysfs_remove(fn, SYSFS_UVERBS);
	for (i = 0; i < nb; i++)
		announce_uverbs(&device[i], "remove");
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used && kernel->context[i].fn == fn)
			context_disassociate(i);
	sysfs_remove(fn, SYSFS_RDMA);
	for (i = 0; i < nb; i++)
		announce_rdma(&device[i], "remove");
}

/* mana_remove(): removal of a netdev sets it down. */
static void
remove_netdevs(uint32_t fn)
{
	const bool was_there = function_at(fn)->has_netdevs;

	function_at(fn)->has_netdevs = false;
	function_init_ports(fn);
	sysfs_remove(fn, SYSFS_NET);
	if (was_there)
		announce_netdevs(fn, false);
}

static void
remove_parts(uint32_t fn, uint32_t parts)
{
	/* ASSUMED: the host tells net_netvsc before the function is gone. */
	if ((parts & SYSFS_PCI) && !function_at(fn)->plan.tells_vf)
		synthetic_vf(fn, false);
	if (parts & SYSFS_RDMA)
		remove_rdma(fn);
	if (parts & SYSFS_NET)
		remove_netdevs(fn);
	if (parts & SYSFS_PCI) {
		if (function_at(fn)->has_pci)
			announce_pci(fn, "unbind");
		sysfs_remove(fn, SYSFS_PCI);
		if (function_at(fn)->has_pci)
			announce_pci(fn, "remove");
		function_at(fn)->has_pci = false;
	}
}

/* The probes of mana and mana_ib. */
static void
add_parts(uint32_t fn, uint32_t parts)
{
	struct kernel_function *function = function_at(fn);
	struct rdma_device device[NB_RDMA];
	uint32_t i, nb;

	if (parts & SYSFS_PCI) {
		sysfs_put(fn, SYSFS_PCI);
		function->has_pci = true;
		announce_pci(fn, "add");
	}
	if (parts & SYSFS_NET) {
		function_add_netdevs(fn);
		sysfs_put(fn, SYSFS_NET);
		announce_netdevs(fn, true);
	}
	if (parts & SYSFS_RDMA) {
		function_add_rdma(fn);
		sysfs_put(fn, SYSFS_RDMA);
		nb = rdma_devices(fn, device);
		for (i = 0; i < nb; i++) {
			announce_uverbs(&device[i], "add");
			announce_rdma(&device[i], "add");
		}
	}
	if (parts & SYSFS_PCI) {
		announce_pci(fn, "bind");
		if (!function->plan.tells_vf)
			synthetic_vf(fn, true);
	}
}

static void
change(uint32_t fn, uint32_t target)
{
	struct kernel_function *function = function_at(fn);
	uint32_t parts = parts_of(function);

	trace_event("kind=function fn=%u pci=%d net=%d rdma=%d", fn,
		    (target & SYSFS_PCI) != 0, (target & SYSFS_NET) != 0,
		    (target & SYSFS_RDMA) != 0);
	function->target = target;
	function->is_changing = true;
	function->life.nb_fatal += (parts & ~target & SYSFS_RDMA) != 0;
	remove_parts(fn, parts & ~target);
	add_parts(fn, target & ~parts);
	function->is_changing = false;
}

/* ---- plans ---- */

static void
plan_due(const struct kernel_plan *plan)
{
	if (plan->next < plan->nb)
		clock_due(plan->at_ns[plan->next]);
}

static void
plan_add(struct kernel_plan *plan, enum kernel_step step, uint64_t at_ns)
{
	plan->step[plan->nb] = step;
	plan->at_ns[plan->nb++] = at_ns;
}

/* Another change of the function takes its place. */
static void
plan_end(uint32_t fn)
{
	struct kernel_plan *plan = &function_at(fn)->plan;

	if (plan->is_ignored)
		card_function_disable(fn, false);
	memset(plan, 0, sizeof(*plan));
}

/* Finish a change that a killed process has started. */
static void
repair(void)
{
	uint32_t fn;

	for (fn = 0; fn < segment_config()->nb_functions; fn++) {
		struct kernel_function *function = function_at(fn);

		if (!function->is_changing)
			continue;
		remove_parts(fn, SYSFS_ALL & ~function->target);
		add_parts(fn, function->target & ~parts_of(function));
		/* Remove parts that may be incomplete. */
		sysfs_remove(fn, SYSFS_ALL);
		sysfs_put(fn, function->target);
		function->is_changing = false;
		plan_due(&function->plan);
	}
}

int
life_fatal(uint32_t fn)
{
	if (!function_at(fn)->has_rdma)
		return -ENODEV;
	change(fn, NO_RDMA);
	return 0;
}

int
life_remove(uint32_t fn)
{
	struct kernel_function *function = function_at(fn);

	if (!function->has_pci)
		return -ENODEV;
	plan_end(fn);
	function->is_suspended = false;
	function->life.nb_removed++;
	change(fn, NOTHING);
	return 0;
}

static void
come_back(uint32_t fn)
{
	struct kernel_function *function = function_at(fn);

	function->is_suspended = false;
	function->life.nb_returned++;
	change(fn, parts_at_boot());
}

int
life_return(uint32_t fn)
{
	struct kernel_function *function = function_at(fn);

	if (parts_of(function) == parts_at_boot() &&
	    function->plan.next == function->plan.nb)
		return -EEXIST;
	plan_end(fn);
	come_back(fn);
	synthetic_vf(fn, true);
	return 0;
}

/*
 * Linux 7.2 gdma_main.c mana_serv_reset(): suspend (detach netdevs, remove the
 * RDMA device), pause, resume. mana_serv_fpga(): remove, pause, rescan.
 */
int
life_reset(uint32_t fn, uint64_t outage_ns, bool with_pci)
{
	struct kernel_function *function = function_at(fn);

	if (!function->has_pci)
		return -ENODEV;
	plan_end(fn);
	function->life.nb_reset++;
	plan_add(&function->plan, KERNEL_STEP_RETURN, clock_now() + outage_ns);
	function->is_suspended = !with_pci;
	change(fn, with_pci ? NOTHING : NO_RDMA);
	plan_due(&function->plan);
	return 0;
}

/*
 * The steps of a service, in their order. OpenVMM netvsp lib.rs reports the VF 1 s
 * before it offers the device, and withdraws it before it revokes the device. Linux
 * and DPDK handle any order. ASSUMED: when a real host does which.
 */
static void
plan_service(struct kernel_plan *plan, const struct life_service *service,
	     uint64_t now_ns)
{
	uint64_t lose_ns = now_ns, return_ns;

	if (service->withdraw == LIFE_BEFORE) {
		plan_add(plan, KERNEL_STEP_WITHDRAW, now_ns);
		lose_ns += service->gap_ns;
	}
	plan_add(plan, KERNEL_STEP_LOSE, lose_ns);
	if (service->withdraw == LIFE_AFTER)
		plan_add(plan, KERNEL_STEP_WITHDRAW, lose_ns + service->gap_ns);
	if (service->kind == LIFE_SERVICE_REVOKE)
		return;
	return_ns = lose_ns + service->outage_ns;
	if (service->kind == LIFE_SERVICE_MOVE)
		plan_add(plan, KERNEL_STEP_MOVE, return_ns - service->gap_ns);
	if (service->report == LIFE_BEFORE)
		plan_add(plan, KERNEL_STEP_REPORT, return_ns - service->gap_ns);
	plan_add(plan, KERNEL_STEP_RETURN, return_ns);
	if (service->report == LIFE_AFTER)
		plan_add(plan, KERNEL_STEP_REPORT, return_ns + service->gap_ns);
}

static void
lose(uint32_t fn)
{
	struct kernel_function *function = function_at(fn);

	if (function->plan.is_ignored) {
		card_function_disable(fn, true);
		return;
	}
	function->is_suspended = function->plan.left != NOTHING;
	change(fn, function->plan.left);
}

static void
do_step(uint32_t fn, enum kernel_step step)
{
	switch (step) {
	case KERNEL_STEP_WITHDRAW:
	case KERNEL_STEP_REPORT:
		synthetic_announce_vf(fn, step == KERNEL_STEP_REPORT);
		break;
	case KERNEL_STEP_LOSE:
		lose(fn);
		break;
	case KERNEL_STEP_MOVE:
		synthetic_move(fn);
		break;
	case KERNEL_STEP_RETURN:
		if (function_at(fn)->plan.is_ignored)
			card_function_disable(fn, false);
		else
			come_back(fn);
		function_at(fn)->plan.is_ignored = false;
		break;
	default:
		break;
	}
}

/* A step whose process is killed is finished by repair(). */
static void
do_due_steps(uint32_t fn, uint64_t now_ns)
{
	struct kernel_plan *plan = &function_at(fn)->plan;

	while (plan->next < plan->nb && plan->at_ns[plan->next] <= now_ns)
		do_step(fn, plan->step[plan->next++]);
	plan_due(plan);
}

int
life_service(uint32_t fn, const struct life_service *service)
{
	struct kernel_function *function = function_at(fn);
	struct kernel_plan *plan = &function->plan;
	const bool is_event = service->kind == LIFE_SERVICE_RESET ||
			      service->kind == LIFE_SERVICE_RECONFIGURE;

	if (parts_of(function) != parts_at_boot() || plan->next < plan->nb)
		return -ENODEV;
	plan_end(fn);
	function->life.nb_reset++;
	plan->tells_vf = true;
	plan->is_ignored = is_event && !kernel_version()->does_service;
	plan->left = service->kind == LIFE_SERVICE_RESET ? NO_RDMA : NOTHING;
	plan_service(plan, service, clock_now());
	do_due_steps(fn, clock_now());
	return 0;
}

int
life_service_next(uint32_t fn)
{
	struct kernel_plan *plan = &function_at(fn)->plan;
	const uint64_t now_ns = clock_now();
	uint64_t early_ns;

	if (plan->next == plan->nb)
		return -ENOENT;
	early_ns = plan->at_ns[plan->next] - now_ns;
	for (uint32_t i = plan->next; i < plan->nb; i++)
		plan->at_ns[i] -= early_ns;
	do_due_steps(fn, now_ns);
	return 0;
}

void
life_timers(uint64_t now_ns)
{
	uint32_t fn;

	for (fn = 0; fn < segment_config()->nb_functions; fn++)
		do_due_steps(fn, now_ns);
}

void
kernel_reclaim_dead(void)
{
	segment_lock();
	repair();
	vmbus_reclaim_dead();
	verbs_reclaim_dead();
	segment_unlock();
}
