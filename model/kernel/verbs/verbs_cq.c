/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues and their events. */

#include <errno.h>

#include "context.h"
#include "fault.h"
#include "kernel_version.h"
#include "object.h"
#include "trace.h"
#include "verbs.h"

/* Whether the CQ's ring goes to the RNIC at once: mana_ib_create_cq(). */
static bool
is_of_rnic(uint32_t context, const struct verbs_cq *cq)
{
	switch (kernel_version()->cq_kind) {
	case KERNEL_CQ_BY_FLAG:
		return cq->has_rnic_flag;
	case KERNEL_CQ_BY_DEVICE:
		return context_at(context)->is_rnic;
	case KERNEL_CQ_ALL_RAW:
	default:
		return false;
	}
}

static int
check_cq(uint32_t context, const struct verbs_cq *cq, uint32_t *channel)
{
	const struct kernel_version *version = kernel_version();

	*channel = KERNEL_NONE;
	if (context_at(context) == NULL)
		return -EIO;
	if (cq->comp_vector >= version->nb_comp_vectors)
		return -EINVAL;
	if (cq->channel_fd >= 0) {
		*channel = event_file_of(OBJECT_CHANNEL, context,
					 cq->channel_fd);
		if (*channel == KERNEL_NONE)
			return -EBADF;
	}
	/* The core refuses 0; the driver refuses more than its queue limit. */
	if (cq->nb_cqe == 0 || cq->nb_cqe > UINT32_MAX / KERNEL_CQE_BYTES ||
	    (!is_of_rnic(context, cq) && cq->nb_cqe > version->raw.max_qp_wr))
		return -EINVAL;
	return 0;
}

/* Create the object before its ring is pinned. */
static int
begin_cq(uint32_t context, const struct verbs_cq *cq, uint32_t *handle)
{
	struct object *object;
	uint32_t channel = KERNEL_NONE;
	int rc;

	rc = fault_check(FAULT_create_cq);
	if (rc == 0)
		rc = check_cq(context, cq, &channel);
	if (rc == 0)
		rc = object_new(context, OBJECT_CQ, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	object->cq.user_handle = cq->user_handle;
	object->cq.nb_cqe = cq->nb_cqe;
	object->cq.comp_vector = cq->comp_vector;
	/* A raw QP cannot use the ring any more. */
	object->cq.ring.consumed = is_of_rnic(context, cq);
	object_refer(&object->cq.channel, channel);
	return 0;
}

int
verbs_create_cq(uint32_t context, const struct verbs_cq *cq, uint32_t *handle)
{
	int rc;

	segment_lock();
	rc = begin_cq(context, cq, handle);
	segment_unlock();
	if (rc < 0)
		return rc;

	/* mana_ib_create_cq(): the size is not rounded up. */
	rc = pin_ring(cq->buf_addr, (uint64_t)cq->nb_cqe * KERNEL_CQE_BYTES,
		      &object_at(*handle)->cq.ring);

	segment_lock();
	if (rc == 0 && context_live(context) == NULL)
		rc = -EIO;
	if (rc == 0)
		object_activate(*handle);
	else
		context_abandon(*handle);
	segment_unlock();
	return rc;
}

/*
 * Create a device CQ. If its id is still in the kernel's table for a CQ that
 * another program is about to destroy, use another id.
 */
static int
create_device_cq(const struct object *object, uint32_t fn, uint32_t pdn,
		 uint32_t page, uint32_t *id)
{
	uint32_t first, other;
	int rc;

	rc = card_cq_create(fn, pdn, page, &object->cq.ring.memory, id);
	if (rc < 0 || *id >= KERNEL_MAX_CQ_ID)
		return rc;
	other = segment_kernel()->cq_table[fn][*id];
	if (other == 0 || object_at(other)->context == object->context)
		return 0;
	first = *id;
	rc = create_device_cq(object, fn, pdn, page, id);
	card_cq_destroy(fn, first);
	return rc;
}

int
verbs_cq_bind(uint32_t handle, uint32_t qp, uint32_t pdn)
{
	struct kernel *kernel = segment_kernel();
	struct object *object = object_at(handle);
	const struct kernel_context *ctx = context_at(object->context);
	const uint32_t fn = ctx->fn;
	struct object_cq *cq = &object->cq;
	uint32_t id;
	int rc;

	/* The hardware refuses a region that is consumed already. */
	if (cq->ring.consumed)
		return -EPROTO;
	rc = create_device_cq(object, fn, pdn, ctx->page, &id);
	if (rc < 0)
		return rc;
	cq->ring.consumed = true;

	/* mana_ib_install_cq_cb() */
	if (kernel_version()->has_cq_table) {
		if (id >= KERNEL_MAX_CQ_ID || kernel->cq_table[fn][id] != 0) {
			card_cq_destroy(fn, id);
			return -EINVAL;
		}
		kernel->cq_table[fn][id] = handle;
	}
	cq->qp = qp;
	cq->id = id;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cq->alive = true;
	return 0;
}

static void
unbind(struct object *object)
{
	struct object_cq *cq = &object->cq;

	if (!cq->alive)
		return;
	card_cq_destroy(context_at(object->context)->fn, cq->id);
	cq->alive = false;
}

void
verbs_cq_unbind(uint32_t handle, uint32_t qp)
{
	if (handle != KERNEL_NONE && object_at(handle)->cq.qp == qp)
		unbind(object_at(handle));
}

/* Drop unread events, uncounted: uverbs_main.c ib_uverbs_release_ucq(). */
static void
retract_events(struct object_cq *cq)
{
	if (cq->channel != KERNEL_NONE)
		cq->nb_events -= event_file_retract(cq->channel,
						    cq->user_handle);
}

void
verbs_cq_teardown(uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object = object_at(handle);
	struct object_cq *cq = &object->cq;
	uint32_t channel = cq->channel;
	uint32_t fn = context_at(object->context)->fn;

	retract_events(cq);
	unbind(object);
	if (cq->id != CARD_NO_QUEUE && kernel_version()->has_cq_table)
		kernel->cq_table[fn][cq->id] = 0;
	pin_ring_release(&cq->ring);
	object_unrefer(&cq->channel);
	object_end(handle);
	/* The last CQ destroys the channel if no descriptor of it is open. */
	if (channel != KERNEL_NONE)
		event_file_end_unused(channel);
}

int
verbs_destroy_cq(uint32_t context, uint32_t handle, uint32_t *nb_events)
{
	struct object *object;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_destroy_cq);
	object = object_find_any(context, OBJECT_CQ, handle);
	if (rc == 0 && object == NULL)
		rc = -ENOENT;
	if (rc == 0 && object->nb_users > 0)
		rc = -EBUSY;
	if (rc == 0) {
		retract_events(&object->cq);
		*nb_events = object->cq.nb_events;
		object_destroy(handle, verbs_cq_teardown);
	}
	segment_unlock();
	return rc;
}

void
verbs_cq_event(uint32_t fn, uint32_t cq_id)
{
	struct kernel *kernel = segment_kernel();
	uint32_t handle;
	struct object_cq *cq;

	if (cq_id >= KERNEL_MAX_CQ_ID || kernel->cq_table[fn][cq_id] == 0)
		return;
	handle = kernel->cq_table[fn][cq_id];
	cq = &object_at(handle)->cq;
	trace_event("kind=completion fn=%u cq=%u channel=%u", fn, cq_id,
		    cq->channel == KERNEL_NONE ?
			    0 : object_at(cq->channel)->number);
	if (cq->channel == KERNEL_NONE)
		return;
	if (event_file_post(cq->channel, &cq->user_handle,
			    sizeof(cq->user_handle)))
		cq->nb_events++;
}
