/* SPDX-License-Identifier: BSD-3-Clause */

/* Destruction of leaked objects, and counts of objects. */

#include <string.h>

#include "context.h"
#include "object.h"
#include "verbs.h"

/* Event files outlive their context until the program closes them. */
static void
reap_event_files(uint32_t process)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	for (i = 1; i < kernel->nb_objects; i++) {
		const struct object *object = &kernel->object[i];

		if ((object->kind == OBJECT_CHANNEL ||
		     object->kind == OBJECT_ASYNC) &&
		    object->context == KERNEL_NONE &&
		    object->file.process == process) {
			leak_count(&kernel->object[i].is_counted, OBJECT_CHANNEL);
			event_file_destroy(i);
		}
	}
}

/* The process that owns an object's memory or file, or KERNEL_NONE. */
static uint32_t
process_of(const struct object *object)
{
	switch (object->kind) {
	case OBJECT_MR:
		return object->mr.process;
	case OBJECT_CQ:
		return object->cq.ring.memory.process;
	case OBJECT_WQ:
		return object->wq.ring.memory.process;
	case OBJECT_QP:
		return object->qp.ring.memory.process;
	case OBJECT_CHANNEL:
	case OBJECT_ASYNC:
		return object->file.process;
	default:
		return KERNEL_NONE;
	}
}

/* A slot stays in use while an object refers to its process. */
static bool
is_referenced(uint32_t process)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t i;

	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used &&
		    kernel->context[i].process == process)
			return true;
	for (i = 1; i < kernel->nb_objects; i++)
		if (process_of(&kernel->object[i]) == process)
			return true;
	return false;
}

/* Tear down what dead programs were creating in contexts of others. */
static void
abandon_unfinished(void)
{
	uint32_t i;

	for (i = 1; i < segment_kernel()->nb_objects; i++) {
		const struct object *object = object_at(i);

		if (object->kind == OBJECT_UNFINISHED &&
		    !segment_process_alive(object->creator))
			context_abandon(i);
	}
}

static void
reap_process(uint32_t process)
{
	reap_event_files(process);
	if (is_referenced(process))
		return;
	segment_kernel()->nb_pinned[process] = 0;
	segment_process_release(process);
}

void
verbs_reclaim_dead(void)
{
	uint32_t slot;

	context_reap();
	abandon_unfinished();
	for (slot = 1; slot < MODEL_MAX_PROCESSES; slot++) {
		if (slot == SEGMENT_LAUNCHER ||
		    segment_process(slot)->pid == 0 ||
		    segment_process_alive(slot))
			continue;
		reap_process(slot);
	}
}

void
kernel_leaks(struct kernel_leaks *leaks)
{
	segment_lock();
	*leaks = segment_kernel()->leaks;
	segment_unlock();
}

void
kernel_objects(struct kernel_leaks *objects)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t i;

	segment_lock();
	memset(objects, 0, sizeof(*objects));
	for (i = 1; i < kernel->nb_objects; i++)
		object_count(kernel->object[i].kind, objects);
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		objects->fd += kernel->context[i].used;
	segment_unlock();
}

void
kernel_set_privileges(bool net_raw, bool ipc_lock)
{
	segment_lock();
	segment_kernel()->no_net_raw = !net_raw;
	segment_kernel()->no_ipc_lock = !ipc_lock;
	segment_unlock();
}

void
kernel_event_file_closed(dev_t dev, ino_t ino)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	segment_lock();
	for (i = 1; dev == kernel->fd_dev && i < kernel->nb_objects; i++) {
		struct object *object = &kernel->object[i];

		if ((object->kind != OBJECT_CHANNEL &&
		     object->kind != OBJECT_ASYNC) || object->file.ino != ino)
			continue;
		object->file.closed = true;
		event_file_end_unused(i);
		break;
	}
	segment_unlock();
}

/* Idempotent while flag_at is set. */
void
leak_repair(void)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_leak *leak = &kernel->leak;

	if (leak->flag_at == 0)
		return;
	kernel->leaks = leak->after;
	*((uint8_t *)kernel + leak->flag_at) = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak->flag_at = 0;
}

void
leak_count(bool *is_counted, enum object_kind kind)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_leak *leak = &kernel->leak;

	if (*is_counted)
		return;
	leak->after = kernel->leaks;
	object_count(kind, &leak->after);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak->flag_at = (uint32_t)((uint8_t *)is_counted - (uint8_t *)kernel);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak_repair();
}
