/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx work queues and indirection tables. */

#include <errno.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "context.h"
#include "fault.h"
#include "object.h"
#include "verbs.h"

#define WQ_TYPE_RQ 0 /* IB_WQT_RQ */

/* Create the object before its ring is pinned. */
static int
begin_wq(uint32_t context, const struct verbs_wq *wq, uint32_t *handle)
{
	int rc = fault_check(FAULT_create_wq);

	if (rc == 0)
		rc = object_check(context, OBJECT_PD, wq->pd);
	if (rc == 0)
		rc = object_check(context, OBJECT_CQ, wq->cq);
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
		rc = card_wq_ring_fill(&ring->memory);
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
	return object_remove(context, OBJECT_WQ, handle, FAULT_destroy_wq,
			     verbs_wq_teardown);
}

static int
create_ind(uint32_t context, const uint32_t *wq, uint32_t log_size,
	   uint32_t *handle)
{
	struct object *object;
	uint32_t i;
	int rc;

	for (i = 0; i < 1u << log_size; i++) {
		rc = object_check(context, OBJECT_WQ, wq[i]);
		if (rc < 0)
			return rc;
	}
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
	/* Linux accepts up to 2^13, but no QP has more than 64. */
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
	return object_remove(context, OBJECT_IND, handle, FAULT_destroy_ind,
			     verbs_ind_teardown);
}
