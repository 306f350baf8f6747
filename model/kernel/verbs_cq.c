/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues and their events. */

#include <errno.h>

#include "context.h"
#include "event_file.h"
#include "fault.h"
#include "object.h"
#include "pin.h"
#include "verbs.h"

static int
check_cq(uint32_t context, const struct verbs_cq *cq, uint32_t *channel)
{
	*channel = KERNEL_NONE;
	if (cq->comp_vector >= KERNEL_NB_COMP_VECTORS)
		return -EINVAL;
	if (cq->channel_fd >= 0) {
		*channel = event_file_of(OBJECT_CHANNEL, context,
					 cq->channel_fd);
		if (*channel == KERNEL_NONE)
			return -EBADF;
	}
	/* The core refuses 0, the driver more than its queue limit. */
	if (cq->nb_cqe == 0 || cq->nb_cqe > KERNEL_MAX_QP_WR)
		return -EINVAL;
	return 0;
}

/* With the ring pinned and the channel held. */
static int
create_cq(uint32_t context, const struct verbs_cq *cq, uint32_t channel,
	  const struct object_ring *ring, uint32_t *handle)
{
	struct object *object;
	int rc;

	rc = object_new(context, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	object->cq.ring = *ring;
	object->cq.user_handle = cq->user_handle;
	object->cq.nb_cqe = cq->nb_cqe;
	object->cq.comp_vector = cq->comp_vector;
	object->cq.channel = channel;
	object->cq.id = DEVICE_NO_QUEUE;
	object_activate(*handle, OBJECT_CQ);
	return 0;
}

/* One CQ less; the channel goes with the last if nobody can read it. */
static void
put_channel(uint32_t channel)
{
	object_put(channel);
	if (channel != KERNEL_NONE && object_at(channel)->file.closed &&
	    object_at(channel)->nb_users == 0)
		event_file_destroy(channel);
}

int
verbs_create_cq(uint32_t context, const struct verbs_cq *cq, uint32_t *handle)
{
	uint32_t channel = KERNEL_NONE;
	struct object_ring ring;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_create_cq);
	if (rc == 0)
		rc = check_cq(context, cq, &channel);
	if (rc == 0)
		object_get(channel);
	segment_unlock();
	if (rc < 0)
		return rc;

	/* mana_ib_create_cq(): no rounding up of what was asked for. */
	rc = pin_ring(cq->buf_addr, (uint64_t)cq->nb_cqe * KERNEL_CQE_BYTES,
		      &ring);

	segment_lock();
	if (rc == 0) {
		rc = create_cq(context, cq, channel, &ring, handle);
		if (rc < 0)
			pin_ring_release(&ring);
	}
	if (rc < 0)
		put_channel(channel);
	segment_unlock();
	return rc;
}

/*
 * A device CQ. Its id may be one that another program, about to stop, has still
 * in the kernel's table: then it gets another one.
 */
static int
create_device_cq(const struct object *object, uint32_t fn, uint32_t pdn,
		 uint32_t page, uint32_t *id)
{
	uint32_t first, other;
	int rc;

	rc = device_cq_create(fn, pdn, page, &object->cq.ring.memory, id);
	if (rc < 0 || *id >= KERNEL_MAX_CQ_ID)
		return rc;
	other = segment_kernel()->cq_table[fn][*id];
	if (other == 0 || object_at(other)->context == object->context)
		return 0;
	first = *id;
	rc = create_device_cq(object, fn, pdn, page, id);
	device_cq_destroy(fn, first);
	return rc;
}

int
verbs_cq_bind(struct object *object, uint32_t handle, uint32_t fn,
	      uint32_t pdn, uint32_t page)
{
	struct kernel *kernel = segment_kernel();
	struct object_cq *cq = &object->cq;
	uint32_t id;
	int rc;

	/* The hardware refuses the invalid region of a CQ bound before. */
	if (cq->ring.consumed)
		return -EPROTO;
	rc = create_device_cq(object, fn, pdn, page, &id);
	if (rc < 0)
		return rc;
	cq->ring.consumed = true;

	/* mana_ib_install_cq_cb() */
	if (id >= KERNEL_MAX_CQ_ID || kernel->cq_table[fn][id] != 0) {
		device_cq_destroy(fn, id);
		return -EINVAL;
	}
	kernel->cq_table[fn][id] = handle;
	cq->id = id;
	cq->alive = true;
	return 0;
}

void
verbs_cq_unbind(struct object *object, uint32_t fn)
{
	struct object_cq *cq = &object->cq;

	if (!cq->alive)
		return;
	device_cq_destroy(fn, cq->id);
	cq->alive = false;
}

void
verbs_cq_teardown(uint32_t handle)
{
	struct kernel *kernel = segment_kernel();
	struct object *object = object_at(handle);
	struct object_cq *cq = &object->cq;
	uint32_t channel = cq->channel;
	uint32_t fn = context_at(object->context)->fn;

	verbs_cq_unbind(object, fn);
	if (cq->id != DEVICE_NO_QUEUE)
		kernel->cq_table[fn][cq->id] = 0;
	pin_ring_release(&cq->ring);
	object_free(handle);

	put_channel(channel);
}

int
verbs_destroy_cq(uint32_t context, uint32_t handle, uint32_t *nb_events)
{
	struct object *object;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_destroy_cq);
	object = object_find(context, OBJECT_CQ, handle);
	if (rc == 0 && object == NULL)
		rc = -ENOENT;
	if (rc == 0 && object->nb_users > 0)
		rc = -EBUSY;
	if (rc == 0) {
		*nb_events = object->cq.nb_events;
		if (object->cq.channel != KERNEL_NONE)
			*nb_events -= event_file_retract(object->cq.channel,
				object->cq.user_handle);
		verbs_cq_teardown(handle);
	}
	segment_unlock();
	return rc;
}

/* mana_ib_cq_handler() and ib_uverbs_comp_handler() */
void
kernel_completion_event(uint32_t fn, uint32_t cq_id)
{
	struct kernel *kernel = segment_kernel();
	uint32_t handle;
	struct object_cq *cq;

	if (cq_id >= KERNEL_MAX_CQ_ID || kernel->cq_table[fn][cq_id] == 0)
		return;
	handle = kernel->cq_table[fn][cq_id];
	cq = &object_at(handle)->cq;
	if (cq->channel == KERNEL_NONE)
		return;
	if (event_file_post(cq->channel, &cq->user_handle,
			    sizeof(cq->user_handle)))
		cq->nb_events++;
}
