/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Repair after a process was killed while it changed objects. References and
 * ids in objects are authoritative; reference counts, charges, vPorts, tables
 * and the card's objects are recomputed from them. An object under construction
 * stays unfinished; a partly torn-down one is torn down again with its context.
 */

#include <string.h>

#include "context.h"
#include "kernel_version.h"
#include "object.h"
#include "verbs.h"

static bool
exists(const struct object *object, enum object_kind final_kind)
{
	return object->kind != OBJECT_FREE &&
	       object->final_kind == final_kind && !object->is_gone;
}

static uint32_t
function_of(const struct object *object)
{
	return segment_kernel()->context[object->context].fn;
}

static void
recount_free(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	kernel->first_free = 0;
	for (i = kernel->nb_objects; i-- > 1;) {
		if (kernel->object[i].kind != OBJECT_FREE)
			continue;
		kernel->object[i].next_free = kernel->first_free;
		kernel->first_free = i;
	}
}

static void
count_user(uint32_t handle)
{
	if (handle != KERNEL_NONE)
		object_at(handle)->nb_users++;
}

static void
count_users_of(const struct object *object)
{
	uint32_t i;

	switch (object->final_kind) {
	case OBJECT_MR:
		count_user(object->mr.pd);
		break;
	case OBJECT_CQ:
		count_user(object->cq.channel);
		break;
	case OBJECT_WQ:
		count_user(object->wq.pd);
		count_user(object->wq.cq);
		break;
	case OBJECT_IND:
		for (i = 0; i < 1u << object->ind.log_size; i++)
			count_user(object->ind.wq[i]);
		break;
	case OBJECT_QP:
		count_user(object->qp.pd);
		count_user(object->qp.cq);
		count_user(object->qp.recv_cq);
		count_user(object->qp.ind);
		break;
	default:
		break;
	}
}

static void
count_pinned(const struct object *object)
{
	uint64_t *nb_pinned = segment_kernel()->nb_pinned;

	switch (object->final_kind) {
	case OBJECT_MR:
		nb_pinned[object->mr.process] += object->mr.nb_pinned;
		break;
	case OBJECT_CQ:
		nb_pinned[object->cq.ring.memory.process] +=
			object->cq.ring.nb_pinned;
		break;
	case OBJECT_WQ:
		nb_pinned[object->wq.ring.memory.process] +=
			object->wq.ring.nb_pinned;
		break;
	case OBJECT_QP:
		nb_pinned[object->qp.ring.memory.process] +=
			object->qp.ring.nb_pinned;
		break;
	default:
		break;
	}
}

static void
recount_references(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	memset(kernel->nb_pinned, 0, sizeof(kernel->nb_pinned));
	for (i = 1; i < kernel->nb_objects; i++)
		kernel->object[i].nb_users = 0;
	for (i = 1; i < kernel->nb_objects; i++) {
		const struct object *object = &kernel->object[i];

		if (object->kind == OBJECT_FREE)
			continue;
		count_users_of(object);
		count_pinned(object);
	}
}

/* Recount the raw QPs that use the PD's vPort, and find the PD's RSS QP. */
static void
recount_pd(uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object_pd *pd = &object_at(handle)->pd;
	uint32_t i;

	pd->vport_use_count = 0;
	pd->rss_qp = KERNEL_NONE;
	for (i = 1; i < kernel->nb_objects; i++) {
		const struct object *qp = &kernel->object[i];

		if (!exists(qp, OBJECT_QP) || qp->qp.pd != handle)
			continue;
		pd->vport_use_count += qp->qp.has_vport;
		if (qp->kind == OBJECT_QP && qp->qp.ind != KERNEL_NONE)
			pd->rss_qp = i;
	}
}

static void
restore_vport(uint32_t fn, uint32_t p)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_port *port = &kernel->port[fn][p];
	uint32_t i;

	port->owner_pd = port->is_up ? KERNEL_NETDEV_OWNER : KERNEL_NONE;
	for (i = 1; i < kernel->nb_objects && !port->is_up; i++) {
		struct object *pd = &kernel->object[i];

		if (!exists(pd, OBJECT_PD) || pd->pd.vport_use_count == 0 ||
		    pd->pd.vport_port != p || function_of(pd) != fn)
			continue;
		port->owner_pd = i;
		card_vport_enable_tx(fn, p, pd->pd.pdn,
				     kernel->context[pd->context].page,
				     &pd->pd.tx_vp_offset);
		return;
	}
	card_vport_disable_tx(fn, p);
}

static void
restore_vports(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i, fn, p;

	for (i = 1; i < kernel->nb_objects; i++)
		if (exists(&kernel->object[i], OBJECT_PD))
			recount_pd(i);
	for (fn = 0; fn < segment_config()->nb_functions; fn++)
		for (p = 0; p < segment_config()->nb_ports[fn]; p++)
			restore_vport(fn, p);
}

static void
restore_cq_table(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	memset(kernel->cq_table, 0,
	       segment_config()->nb_functions * sizeof(kernel->cq_table[0]));
	if (!kernel_version()->has_cq_table)
		return;
	for (i = 1; i < kernel->nb_objects; i++) {
		const struct object *cq = &kernel->object[i];

		if (exists(cq, OBJECT_CQ) && cq->cq.id < KERNEL_MAX_CQ_ID)
			kernel->cq_table[function_of(cq)][cq->cq.id] = i;
	}
}

/* Claim the card objects of an object; clear ids without a card object. */
static void
claim(struct object *object, uint32_t fn)
{
	if (exists(object, OBJECT_PD) &&
	    !card_claim(fn, CARD_PD, object->pd.pdn))
		object->pd.pdn = KERNEL_NONE;
	if (exists(object, OBJECT_MR) &&
	    !card_claim(fn, CARD_KEY, object->mr.key))
		object->mr.key = 0;
	if (exists(object, OBJECT_CQ) && object->cq.alive &&
	    !card_claim(fn, CARD_CQ, object->cq.id))
		object->cq.alive = false;
	if (exists(object, OBJECT_WQ) &&
	    !card_claim(fn, CARD_RQ, object->wq.id))
		object->wq.id = CARD_NO_QUEUE;
	if (exists(object, OBJECT_QP) &&
	    !card_claim(fn, CARD_SQ, object->qp.sq_id))
		object->qp.sq_id = CARD_NO_QUEUE;
}

static void
restore_card(uint32_t fn)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	card_claim_begin();
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++) {
		struct kernel_context *ctx = &kernel->context[i];

		if (ctx->used && ctx->fn == fn && ctx->has_ucontext &&
		    !card_claim(fn, CARD_PAGE, ctx->page))
			ctx->has_ucontext = 0;
	}
	for (i = 1; i < kernel->nb_objects; i++)
		if (kernel->object[i].kind != OBJECT_FREE &&
		    kernel->object[i].context != KERNEL_NONE &&
		    function_of(&kernel->object[i]) == fn)
			claim(&kernel->object[i], fn);
	card_claim_end(fn);
}

void
verbs_repair(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	card_recover();
	/* mana-model ctl: objects of a PCI machine are unknown here. */
	if (segment_config()->is_pci)
		return;
	leak_repair();
	recount_free();
	recount_references();
	restore_cq_table();
	for (i = 0; i < segment_config()->nb_functions; i++)
		restore_card(i);
	restore_vports();
	/* Entries of destroyed CQs. */
	for (i = 1; i < kernel->nb_objects; i++)
		if (kernel->object[i].kind == OBJECT_CHANNEL)
			event_file_end_unused(i);
}
