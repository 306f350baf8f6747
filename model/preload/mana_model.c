/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "card.h"
#include "command.h"
#include "fault.h"
#include "kernel.h"
#include "mana_model.h"
#include "plain_pages.h"
#include "preload.h"
#include "segment.h"
#include "violation_log.h"

/* Hits are counted from the last mana_model_fault_arm(). */
static uint64_t hits_at_arming;

static void
copy_objects(struct mana_model_objects *to, const struct kernel_leaks *from)
{
	to->pd = from->pd;
	to->mr = from->mr;
	to->cq = from->cq;
	to->wq = from->wq;
	to->qp = from->qp;
	to->ind = from->ind;
	to->fd = from->fd;
}

int
mana_model_objects(struct mana_model_objects *objects)
{
	struct kernel_leaks now;

	if (!attach_machine())
		return -ENODEV;
	kernel_objects(&now);
	copy_objects(objects, &now);
	return 0;
}

int
mana_model_leaks(struct mana_model_objects *leaks)
{
	struct kernel_leaks now;

	if (!attach_machine())
		return -ENODEV;
	kernel_reclaim_dead();
	kernel_leaks(&now);
	copy_objects(leaks, &now);
	return 0;
}

static int
arm(const char *call, unsigned int nth, const char *and_later, int err)
{
	char rule[64], message[128];
	int rc;

	if (!attach_machine())
		return -ENODEV;
	if (nth == 0 || err <= 0)
		return -EINVAL;
	snprintf(rule, sizeof(rule), "%s:%u%s:%d", call, nth, and_later, err);
	segment_lock();
	fault_plan_clear();
	hits_at_arming = segment_fault_plan()->nb_fired;
	rc = fault_plan_add(rule, message, sizeof(message));
	segment_unlock();
	return rc;
}

int
mana_model_fault_arm(const char *call, unsigned int nth, int err)
{
	return arm(call, nth, "", err);
}

int
mana_model_fault_arm_from(const char *call, unsigned int nth, int err)
{
	return arm(call, nth, "+", err);
}

void
mana_model_fault_disarm(void)
{
	if (!attach_machine())
		return;
	segment_lock();
	fault_plan_clear();
	segment_unlock();
}

unsigned int
mana_model_fault_hits(void)
{
	return attach_machine() ?
		segment_fault_plan()->nb_fired - hits_at_arming : 0;
}

uint64_t
mana_model_kernel_calls(void)
{
	return attach_machine() ? segment_fault_plan()->nb_calls[FAULT_any] : 0;
}

static bool
has_port(uint32_t fn, uint32_t port)
{
	return fn < segment_config()->nb_functions &&
		port < segment_config()->nb_ports[fn];
}

int
mana_model_port(uint32_t fn, uint32_t port, struct mana_model_port *to)
{
	struct card_port_counters from;
	uint32_t i;

	if (!attach_machine() || !has_port(fn, port))
		return -ENODEV;
	segment_lock();
	card_port_counters(fn, port, &from);
	segment_unlock();
	memset(to, 0, sizeof(*to));
	to->rx_packets = from.rx_packets;
	to->rx_bytes = from.rx_bytes;
	to->rx_no_wqe = from.rx_no_wqe;
	to->rx_truncated = from.rx_truncated;
	to->tx_packets = from.tx_packets;
	to->tx_bytes = from.tx_bytes;
	for (i = 0; i < CARD_NB_TX_ERRORS; i++)
		to->tx_errors += from.tx_errors[i];
	return 0;
}

uint64_t
mana_model_violations(const char *name)
{
	const struct violation_log *log;
	uint64_t count = 0;
	uint32_t i;

	if (!attach_machine())
		return 0;
	segment_lock();
	log = segment_violation_log();
	if (name == NULL)
		count = log->nb_violations;
	for (i = 0; name != NULL && i < log->nb_rows; i++)
		if (strcmp(violation_name(log->rows[i].violation),
			   name) == 0)
			count += log->rows[i].count;
	segment_unlock();
	return count;
}

int
mana_model_netdev_set(const char *name, bool up)
{
	struct kernel_netdev netdev;
	int rc;

	if (!attach_machine())
		return -ENODEV;
	rc = kernel_netdev_by_name(name, &netdev);
	return rc < 0 ? rc : kernel_netdev_set_up(netdev.ifindex, up);
}

int
mana_model_command(const char *line, char *message, size_t message_bytes)
{
	if (!attach_machine()) {
		snprintf(message, message_bytes, "this program does not run on "
			 "a modelled machine");
		return -ENODEV;
	}
	return command_run(line, message, message_bytes);
}

int
mana_model_queue(uint32_t fn, uint32_t port, bool is_tx, uint32_t n,
		 struct mana_model_queue *queue)
{
	struct card_location location;
	int rc;

	if (!attach_machine())
		return -ENODEV;
	segment_lock();
	rc = card_queue_location(fn, port, is_tx, n, &location);
	segment_unlock();
	if (rc < 0)
		return rc;
	*queue = (struct mana_model_queue){
		.ring = (void *)(uintptr_t)location.addr,
		.ring_bytes = location.size_bytes,
		.id = location.id,
		.cq_ring = (void *)(uintptr_t)location.cq_addr,
		.nb_cqes = location.nb_cqes,
		.cq_id = location.cq_id,
		.vp_offset = location.vp_offset,
	};
	if (!config_has_plain_doorbells(segment_config()))
		return 0;
	return plain_pages_registers(fn, location.page, &queue->doorbells);
}

int
mana_model_region(uint32_t fn, uint32_t key, uint64_t *addr,
		  uint64_t *size_bytes)
{
	int rc;

	if (!attach_machine())
		return -ENODEV;
	segment_lock();
	rc = card_region_location(fn, key, addr, size_bytes);
	segment_unlock();
	return rc;
}

uint64_t
mana_model_traps(void)
{
	return attach_machine() ? segment_violation_log()->nb_traps : 0;
}

int
mana_model_privileges(bool net_raw, bool ipc_lock)
{
	if (!attach_machine())
		return -ENODEV;
	kernel_set_privileges(net_raw, ipc_lock);
	return 0;
}
