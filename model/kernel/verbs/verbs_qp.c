/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw packet queue pairs for Tx (Linux mana ib/qp.c, raw part). */

#include <errno.h>

#include "context.h"
#include "fault.h"
#include "kernel_version.h"
#include "object.h"
#include "privileges.h"
#include "verbs.h"
#include "vport.h"

/* Create the device queues; the PD has the vPort. */
static int
create_queues(uint32_t handle)
{
	struct object *object = object_at(handle);
	const struct kernel_context *ctx = context_live(object->context);
	struct object_qp *qp = &object->qp;
	uint32_t pdn = object_at(qp->pd)->pd.pdn;
	int rc;

	if (ctx == NULL)
		return -EIO;
	rc = plain_queues_prepare(ctx, true);
	if (rc == 0)
		rc = verbs_cq_bind(qp->cq, handle, pdn);
	if (rc < 0)
		return rc;
	return card_sq_create(ctx->fn, qp->port, pdn, ctx->page,
			      &qp->ring.memory, object_at(qp->cq)->cq.id,
			      &qp->sq_id);
}

static int
create_qp(struct verbs_qp_result *result)
{
	const struct object_qp *qp = &object_at(result->handle)->qp;
	int rc;

	rc = create_queues(result->handle);
	if (rc < 0)
		return rc;
	object_activate(result->handle);

	result->sq_id = qp->sq_id;
	result->cq_id = object_at(qp->cq)->cq.id;
	result->tx_vp_offset = object_at(qp->pd)->pd.tx_vp_offset;
	return 0;
}

/* In the order of mana_ib_create_qp_raw(). */
static int
check_qp(uint32_t context, const struct verbs_qp *qp)
{
	const struct kernel_context *ctx = context_live(context);
	const struct kernel_limits *limits;
	int rc;

	rc = fault_check(FAULT_create_qp);
	if (rc < 0)
		return rc;
	if (ctx == NULL)
		return -EIO;
	limits = kernel_version_limits(ctx->is_rnic);
	rc = object_check(context, OBJECT_PD, qp->pd);
	if (rc == 0)
		rc = object_check(context, OBJECT_CQ, qp->send_cq);
	if (rc == 0)
		rc = object_check(context, OBJECT_CQ, qp->recv_cq);
	if (rc < 0)
		return rc;
	if (!privileges_net_raw())
		return -EPERM;
	if (qp->max_send_wr > limits->max_qp_wr ||
	    qp->max_send_sge > KERNEL_MAX_SEND_SGE)
		return -EINVAL;
	if (qp->port == 0 || qp->port > segment_config()->nb_ports[ctx->fn])
		return -EINVAL;
	return 0;
}

/* Create the object and take the vPort before the ring is pinned. */
static int
begin_qp(uint32_t context, const struct verbs_qp *qp, uint32_t *handle)
{
	const struct kernel_context *ctx = context_at(context);
	struct object *object;
	int rc;

	rc = check_qp(context, qp);
	if (rc == 0)
		rc = object_new(context, OBJECT_QP, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	object->qp.port = qp->port - 1;
	object_refer(&object->qp.pd, qp->pd);
	object_refer(&object->qp.cq, qp->send_cq);
	object_refer(&object->qp.recv_cq, qp->recv_cq);
	rc = vport_get(qp->pd, ctx->fn, qp->port - 1, ctx->page);
	if (rc == 0) {
		object->qp.has_vport = true;
		return 0;
	}
	context_abandon(*handle);
	return kernel_version()->vport_error != 0 ?
		       kernel_version()->vport_error : rc;
}

int
verbs_create_qp(uint32_t context, const struct verbs_qp *qp,
		struct verbs_qp_result *result)
{
	int rc;

	segment_lock();
	rc = begin_qp(context, qp, &result->handle);
	segment_unlock();
	if (rc < 0)
		return rc;

	rc = pin_ring(qp->buf_addr, qp->buf_bytes,
		      &object_at(result->handle)->qp.ring);

	segment_lock();
	if (rc == 0)
		rc = create_qp(result);
	if (rc < 0)
		context_abandon(result->handle);
	segment_unlock();
	return rc;
}

static void
raw_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);
	struct object_qp *qp = &object->qp;
	const struct kernel_context *ctx = context_at(object->context);

	if (qp->sq_id != CARD_NO_QUEUE) {
		card_sq_destroy(ctx->fn, qp->sq_id);
		qp->sq_id = CARD_NO_QUEUE;
	}
	verbs_cq_unbind(qp->cq, handle);
	if (qp->has_vport)
		vport_put(qp->pd);
	qp->has_vport = false;
	pin_ring_release(&qp->ring);
	object_unrefer(&qp->pd);
	object_unrefer(&qp->cq);
	object_unrefer(&qp->recv_cq);
	object_end(handle);
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
	return object_remove(context, OBJECT_QP, handle, FAULT_destroy_qp,
			     verbs_qp_teardown);
}
