/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive work queues and tables of them. */

#include <errno.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "context.h"
#include "fault.h"
#include "object.h"
#include "pin.h"
#include "verbs.h"

#define WQ_TYPE_RQ 0 /* IB_WQT_RQ */

/* The handle, before the ring is pinned. */
static int
begin_wq(uint32_t context, const struct verbs_wq *wq, uint32_t *handle)
{
	int rc = fault_check(FAULT_create_wq);

	if (rc == 0 && (object_find(context, OBJECT_PD, wq->pd) == NULL ||
			object_find(context, OBJECT_CQ, wq->cq) == NULL))
		rc = -ENOENT;
	if (rc == 0 && wq->type != WQ_TYPE_RQ)
		rc = -EINVAL;
	if (rc == 0)
		rc = object_new(context, OBJECT_WQ, handle);
	if (rc < 0)
		return rc;
	object_refer(&object_at(*handle)->wq.pd, wq->pd);
	object_refer(&object_at(*handle)->wq.cq, wq->cq);
	return 0;
}

int
verbs_create_wq(uint32_t context, const struct verbs_wq *wq, uint32_t *handle)
{
	struct object_ring *ring;
	int rc;

	segment_lock();
	rc = begin_wq(context, wq, handle);
	segment_unlock();
	if (rc < 0)
		return rc;

	ring = &object_at(*handle)->wq.ring;
	rc = pin_ring(wq->buf_addr, wq->buf_bytes, ring);

	segment_lock();
	if (rc == 0 && context_live(context) == NULL)
		rc = -EIO;
	if (rc == 0)
		rc = device_wq_ring_fill(&ring->memory);
	if (rc == 0)
		object_activate(*handle);
	else
		context_abandon(*handle);
	segment_unlock();
	return rc;
}

void
verbs_wq_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);

	pin_ring_release(&object->wq.ring);
	object_unrefer(&object->wq.pd);
	object_unrefer(&object->wq.cq);
	object_end(handle);
}

int
verbs_destroy_wq(uint32_t context, uint32_t handle)
{
	struct object *object;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_destroy_wq);
	object = object_find_any(context, OBJECT_WQ, handle);
	if (rc == 0 && object == NULL)
		rc = -ENOENT;
	if (rc == 0 && object->nb_users > 0)
		rc = -EBUSY;
	if (rc == 0)
		object_destroy(handle, verbs_wq_teardown);
	segment_unlock();
	return rc;
}

static int
create_ind(uint32_t context, const uint32_t *wq, uint32_t log_size,
	   uint32_t *handle)
{
	struct object *object;
	uint32_t i;
	int rc;

	for (i = 0; i < 1u << log_size; i++)
		if (object_find(context, OBJECT_WQ, wq[i]) == NULL)
			return -ENOENT;
	rc = object_new(context, OBJECT_IND, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	object->ind.log_size = log_size;
	for (i = 0; i < 1u << log_size; i++)
		object_refer(&object->ind.wq[i], wq[i]);
	object_activate(*handle);
	return 0;
}

int
verbs_create_ind(uint32_t context, const uint32_t *wq, uint32_t log_size,
		 uint32_t *handle)
{
	int rc;

	segment_lock();
	rc = fault_check(FAULT_create_ind);
	/* Linux takes up to 2^13, but more than 64 never make a QP. */
	if (rc == 0 && log_size > KERNEL_MAX_IND_LOG)
		rc = -EINVAL;
	if (rc == 0)
		rc = create_ind(context, wq, log_size, handle);
	segment_unlock();
	return rc;
}

void
verbs_ind_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);
	uint32_t i;

	for (i = 0; i < 1u << object->ind.log_size; i++)
		object_unrefer(&object->ind.wq[i]);
	object_end(handle);
}

int
verbs_destroy_ind(uint32_t context, uint32_t handle)
{
	struct object *object;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_destroy_ind);
	object = object_find_any(context, OBJECT_IND, handle);
	if (rc == 0 && object == NULL)
		rc = -ENOENT;
	if (rc == 0 && object->nb_users > 0)
		rc = -EBUSY;
	if (rc == 0)
		object_destroy(handle, verbs_ind_teardown);
	segment_unlock();
	return rc;
}
