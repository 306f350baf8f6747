/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include "object.h"

struct object *
object_at(uint32_t handle)
{
	return &segment_kernel()->object[handle];
}

void
object_count(enum object_kind kind, struct kernel_leaks *counts)
{
	switch (kind) {
	case OBJECT_PD:
		counts->pd++;
		break;
	case OBJECT_MR:
		counts->mr++;
		break;
	case OBJECT_CQ:
		counts->cq++;
		break;
	case OBJECT_WQ:
		counts->wq++;
		break;
	case OBJECT_IND:
		counts->ind++;
		break;
	case OBJECT_QP:
		counts->qp++;
		break;
	case OBJECT_CHANNEL:
	case OBJECT_ASYNC:
		counts->fd++;
		break;
	case OBJECT_FREE:
	case OBJECT_UNFINISHED:
	case OBJECT_NB_KINDS:
		break;
	}
}

int
object_new(uint32_t context, uint32_t *handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object;
	uint32_t idx = kernel->first_free;

	if (idx != 0)
		kernel->first_free = kernel->object[idx].next_free;
	else if (kernel->nb_objects < KERNEL_MAX_OBJECTS)
		idx = kernel->nb_objects++;
	else
		return -ENOMEM;

	object = &kernel->object[idx];
	memset(object, 0, sizeof(*object));
	object->kind = OBJECT_UNFINISHED;
	object->context = context;
	*handle = idx;
	return 0;
}

void
object_activate(uint32_t handle, enum object_kind kind)
{
	object_at(handle)->kind = kind;
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

struct object *
object_find(uint32_t context, enum object_kind kind, uint32_t handle)
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

void
object_get(uint32_t handle)
{
	if (handle != KERNEL_NONE)
		object_at(handle)->nb_users++;
}

void
object_put(uint32_t handle)
{
	if (handle != KERNEL_NONE)
		object_at(handle)->nb_users--;
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
