/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include "context.h"
#include "object.h"
#include "verbs.h"

struct object *
object_at(uint32_t handle)
{
	return &segment_kernel()->object[handle];
}

void
object_count(enum object_kind kind, struct kernel_leaks *counts)
{
	uint64_t *const of_kind[OBJECT_NB_KINDS] = {
		[OBJECT_PD] = &counts->pd, [OBJECT_MR] = &counts->mr,
		[OBJECT_CQ] = &counts->cq, [OBJECT_WQ] = &counts->wq,
		[OBJECT_IND] = &counts->ind, [OBJECT_QP] = &counts->qp,
		[OBJECT_CHANNEL] = &counts->fd, [OBJECT_ASYNC] = &counts->fd,
	};

	if (of_kind[kind] != NULL)
		(*of_kind[kind])++;
}

/* Clear all references and ids: 0 would be a valid one. */
static void
clear_names(struct object *object)
{
	switch (object->final_kind) {
	case OBJECT_PD:
		object->pd.pdn = KERNEL_NONE;
		object->pd.rss_qp = KERNEL_NONE;
		break;
	case OBJECT_MR:
		object->mr.pd = KERNEL_NONE;
		break;
	case OBJECT_CQ:
		object->cq.channel = KERNEL_NONE;
		object->cq.id = CARD_NO_QUEUE;
		object->cq.qp = KERNEL_NONE;
		break;
	case OBJECT_WQ:
		object->wq.pd = KERNEL_NONE;
		object->wq.cq = KERNEL_NONE;
		object->wq.id = CARD_NO_QUEUE;
		object->wq.qp = KERNEL_NONE;
		break;
	case OBJECT_IND:
		memset(object->ind.wq, 0xff, sizeof(object->ind.wq));
		static_assert(KERNEL_NONE == UINT32_MAX, "memset");
		break;
	case OBJECT_QP:
		object->qp.pd = KERNEL_NONE;
		object->qp.cq = KERNEL_NONE;
		object->qp.recv_cq = KERNEL_NONE;
		object->qp.ind = KERNEL_NONE;
		object->qp.sq_id = CARD_NO_QUEUE;
		break;
	default:
		break;
	}
}

int
object_new(uint32_t context, enum object_kind kind, uint32_t *handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object;
	uint32_t idx = kernel->first_free;

	if (context_live(context) == NULL)
		return -EIO;
	if (idx != 0)
		kernel->first_free = kernel->object[idx].next_free;
	else if (kernel->nb_objects < KERNEL_MAX_OBJECTS)
		idx = kernel->nb_objects++;
	else
		return -ENOMEM;

	object = &kernel->object[idx];
	memset(object, 0, sizeof(*object));
	object->context = context;
	object->final_kind = kind;
	object->creator = model_self;
	clear_names(object);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	object->kind = OBJECT_UNFINISHED;
	*handle = idx;
	return 0;
}

void
object_activate(uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object = object_at(handle);
	const uint32_t fn = kernel->context[object->context].fn;

	object->number = ++kernel->nb_created[fn][object->final_kind];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	object->kind = object->final_kind;
}

void
object_free(uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object = &kernel->object[handle];

	object->kind = OBJECT_FREE;
	object->next_free = kernel->first_free;
	kernel->first_free = handle;
}

void
object_end(uint32_t handle)
{
	struct object *object = object_at(handle);

	if (object->kind == OBJECT_UNFINISHED || object->is_gone ||
	    context_live(object->context) != NULL)
		object_free(handle);
	else
		object->is_gone = true;
}

void
object_destroy(uint32_t handle, void (*teardown)(uint32_t handle))
{
	if (object_at(handle)->is_gone)
		object_free(handle);
	else
		teardown(handle);
}

int
object_remove(uint32_t context, enum object_kind kind, uint32_t handle,
	      enum fault_call call, void (*teardown)(uint32_t handle))
{
	struct object *object;
	int rc;

	segment_lock();
	rc = fault_check(call);
	object = object_find_any(context, kind, handle);
	if (rc == 0 && object == NULL)
		rc = object_check(context, kind, handle);
	if (rc == 0 && object->nb_users > 0)
		rc = -EBUSY;
	if (rc == 0)
		object_destroy(handle, teardown);
	segment_unlock();
	return rc;
}

struct object *
object_find_any(uint32_t context, enum object_kind kind, uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object;

	if (handle == 0 || handle >= kernel->nb_objects)
		return NULL;
	object = &kernel->object[handle];
	if (object->kind != kind || object->context != context)
		return NULL;
	return object;
}

struct object *
object_find(uint32_t context, enum object_kind kind, uint32_t handle)
{
	struct object *object = object_find_any(context, kind, handle);

	return object == NULL || object->is_gone ? NULL : object;
}

int
object_check(uint32_t context, enum object_kind kind, uint32_t handle)
{
	static const enum object_kind others[] = {
		OBJECT_PD, OBJECT_MR, OBJECT_CQ, OBJECT_WQ, OBJECT_IND,
		OBJECT_QP,
	};

	if (object_find(context, kind, handle) != NULL)
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (object_find_any(context, others[i], handle) != NULL)
			return others[i] == kind ? -ENOENT : -EINVAL;
	return -ENOENT;
}

int
verbs_check_handle(uint32_t context, enum object_kind kind, uint32_t handle)
{
	int rc;

	segment_lock();
	rc = object_check(context, kind, handle);
	segment_unlock();
	return rc;
}

void
object_refer(uint32_t *name, uint32_t handle)
{
	*name = handle;
	if (handle != KERNEL_NONE)
		object_at(handle)->nb_users++;
}

void
object_unrefer(uint32_t *name)
{
	if (*name != KERNEL_NONE)
		object_at(*name)->nb_users--;
	*name = KERNEL_NONE;
}

uint32_t
object_next(uint32_t context, enum object_kind kind, uint32_t from)
{
	struct kernel *kernel = segment_kernel();
	uint32_t idx;

	for (idx = from == 0 ? 1 : from; idx < kernel->nb_objects; idx++) {
		const struct object *object = &kernel->object[idx];

		if (object->kind == kind && object->context == context)
			return idx;
	}
	return KERNEL_NONE;
}
