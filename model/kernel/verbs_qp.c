/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw packet queue pairs for sending (Linux mana ib/qp.c, raw part). */

#include <errno.h>

#include "context.h"
#include "fault.h"
#include "object.h"
#include "pin.h"
#include "verbs.h"
#include "vport.h"

/* The vPort is ours: make the device queues. */
static int
create_queues(struct object *object, uint32_t fn, uint32_t page)
{
	struct object_qp *qp = &object->qp;
	struct object *cq = object_at(qp->cq);
	uint32_t pdn = object_at(qp->pd)->pd.pdn;
	int rc;

	rc = verbs_cq_bind(cq, qp->cq, fn, pdn, page);
	if (rc < 0)
		return rc;
	rc = device_sq_create(fn, qp->port, pdn, page, &qp->ring.memory,
			      cq->cq.id, &qp->sq_id);
	if (rc < 0)
		verbs_cq_unbind(cq, fn);
	return rc;
}

static int
create_qp(uint32_t context, const struct verbs_qp *qp,
	  const struct object_ring *ring, struct verbs_qp_result *result)
{
	const struct kernel_context *ctx = context_at(context);
	struct object *object;
	int rc;

	if (object_find(context, OBJECT_PD, qp->pd) == NULL ||
	    object_find(context, OBJECT_CQ, qp->send_cq) == NULL ||
	    object_find(context, OBJECT_CQ, qp->recv_cq) == NULL)
		return -ENOENT;
	rc = object_new(context, &result->handle);
	if (rc < 0)
		return rc;
	object = object_at(result->handle);
	object->qp.ring = *ring;
	object->qp.pd = qp->pd;
	object->qp.port = qp->port - 1;
	object->qp.cq = qp->send_cq;
	object->qp.recv_cq = qp->recv_cq;
	object->qp.ind = KERNEL_NONE;

	rc = create_queues(object, ctx->fn, ctx->page);
	if (rc < 0) {
		object_free(result->handle);
		return rc;
	}
	object_get(qp->pd);
	object_get(qp->send_cq);
	object_get(qp->recv_cq);
	object_activate(result->handle, OBJECT_QP);

	result->sq_id = object->qp.sq_id;
	result->cq_id = object_at(qp->send_cq)->cq.id;
	result->tx_vp_offset = object_at(qp->pd)->pd.tx_vp_offset;
	return 0;
}

/* Up to the vPort, in the order of mana_ib_create_qp_raw(). */
static int
prepare_qp(uint32_t context, const struct verbs_qp *qp)
{
	const struct kernel_context *ctx = context_at(context);
	int rc;

	rc = fault_check(FAULT_create_qp);
	if (rc < 0)
		return rc;
	if (ctx == NULL)
		return -EIO;
	if (object_find(context, OBJECT_PD, qp->pd) == NULL ||
	    object_find(context, OBJECT_CQ, qp->send_cq) == NULL ||
	    object_find(context, OBJECT_CQ, qp->recv_cq) == NULL)
		return -ENOENT;
	if (segment_kernel()->no_net_raw)
		return -EPERM;
	if (qp->max_send_wr > KERNEL_MAX_QP_WR ||
	    qp->max_send_sge > KERNEL_MAX_SEND_SGE)
		return -EINVAL;
	if (qp->port == 0 || qp->port > segment_config()->nb_ports[ctx->fn])
		return -EINVAL;
	return vport_get(qp->pd, ctx->fn, qp->port - 1, ctx->page);
}

int
verbs_create_qp(uint32_t context, const struct verbs_qp *qp,
		struct verbs_qp_result *result)
{
	struct object_ring ring;
	int rc;

	segment_lock();
	rc = prepare_qp(context, qp);
	if (rc == 0)
		object_get(qp->pd); /* it stays while the lock is free */
	segment_unlock();
	if (rc < 0)
		return rc;

	rc = pin_ring(qp->buf_addr, qp->buf_bytes, &ring);

	segment_lock();
	object_put(qp->pd);
	if (rc == 0) {
		rc = create_qp(context, qp, &ring, result);
		if (rc < 0)
			pin_ring_release(&ring);
	}
	if (rc < 0)
		vport_put(qp->pd);
	segment_unlock();
	return rc;
}

static void
raw_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);
	struct object_qp *qp = &object->qp;
	uint32_t fn = context_at(object->context)->fn;

	device_sq_destroy(fn, qp->sq_id);
	verbs_cq_unbind(object_at(qp->cq), fn);
	vport_put(qp->pd);
	pin_ring_release(&qp->ring);
	object_put(qp->pd);
	object_put(qp->cq);
	object_put(qp->recv_cq);
	object_free(handle);
}

void
verbs_qp_teardown(uint32_t handle)
{
	if (object_at(handle)->qp.ind != KERNEL_NONE)
		verbs_rss_teardown(handle);
	else
		raw_teardown(handle);
}

int
verbs_destroy_qp(uint32_t context, uint32_t handle)
{
	int rc;

	segment_lock();
	rc = fault_check(FAULT_destroy_qp);
	if (rc == 0 && object_find(context, OBJECT_QP, handle) == NULL)
		rc = -ENOENT;
	if (rc == 0)
		verbs_qp_teardown(handle);
	segment_unlock();
	return rc;
}
