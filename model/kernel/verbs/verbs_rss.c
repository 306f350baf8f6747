/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw packet queue pairs for Rx (Linux mana ib/qp.c, RSS part). */

#include <errno.h>
#include <string.h>

#include "context.h"
#include "fault.h"
#include "kernel_version.h"
#include "object.h"
#include "privileges.h"
#include "verbs.h"

#define HASH_TOEPLITZ 1 /* MANA_IB_RX_HASH_FUNC_TOEPLITZ */

/* Create the device RQ and CQ of a WQ of the table. */
static int
create_rq(uint32_t handle, struct object_wq *wq,
	  const struct kernel_context *ctx)
{
	const struct object_qp *qp = &object_at(handle)->qp;
	uint32_t pdn = object_at(qp->pd)->pd.pdn;
	int rc;

	/* Another QP may use the WQ: do not destroy its queues. */
	if (wq->ring.consumed)
		return -EPROTO;
	wq->qp = handle;
	rc = verbs_cq_bind(wq->cq, handle, pdn);
	if (rc == 0)
		rc = card_rq_create(ctx->fn, qp->port, pdn, ctx->page,
				    &wq->ring.memory,
				    object_at(wq->cq)->cq.id, &wq->id);
	if (rc == 0)
		wq->ring.consumed = true;
	return rc;
}

/* Destroy the table's queues of this QP, also after a partial creation. */
static void
destroy_rqs(uint32_t handle, const struct object_ind *ind,
	    const struct kernel_context *ctx)
{
	uint32_t i;

	for (i = 0; i < 1u << ind->log_size; i++) {
		struct object_wq *wq = &object_at(ind->wq[i])->wq;

		if (wq->qp != handle)
			continue;
		card_rq_destroy(ctx->fn, wq->id);
		wq->id = CARD_NO_QUEUE;
		verbs_cq_unbind(wq->cq, handle);
		wq->qp = KERNEL_NONE;
	}
}

/* mana_ib_cfg_vport_steering() */
static int
enable_rx(struct object_qp *qp, const struct verbs_rss *rss, uint32_t fn)
{
	const struct object_ind *ind = &object_at(qp->ind)->ind;
	uint32_t i, nb = 1u << ind->log_size;
	struct card_steering steering;
	int rc;

	memset(&steering, 0, sizeof(steering));
	steering.rss_enable = nb > 1;
	steering.coalescing_enable = true;
	steering.default_rq = object_at(ind->wq[nb - 1])->wq.id;
	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++)
		steering.table[i] = object_at(ind->wq[i % nb])->wq.id;
	/* A key of length 0 selects the kernel's random key: zeros here. */
	memcpy(steering.key, rss->key, rss->key_bytes);
	qp->has_rx = true;
	rc = card_vport_enable_rx(fn, qp->port, &steering);
	if (rc < 0)
		qp->has_rx = false;
	return rc;
}

static int
create_queues(const struct verbs_rss *rss, const struct kernel_context *ctx,
	      struct verbs_rss_result *result)
{
	struct object_qp *qp = &object_at(result->handle)->qp;
	const struct object_ind *ind = &object_at(qp->ind)->ind;
	uint32_t i, nb = 1u << ind->log_size;
	int rc = plain_queues_prepare(ctx, false);

	for (i = 0; i < nb && rc == 0; i++) {
		struct object_wq *wq = &object_at(ind->wq[i])->wq;

		rc = create_rq(result->handle, wq, ctx);
		if (rc < 0)
			break;
		result->entry[i].wq_id = wq->id;
		result->entry[i].cq_id = object_at(wq->cq)->cq.id;
	}
	if (rc == 0)
		rc = enable_rx(qp, rss, ctx->fn);
	result->nb_entries = nb;
	return rc;
}

static int
create_qp(uint32_t context, const struct verbs_rss *rss,
	  struct verbs_rss_result *result)
{
	const struct kernel_context *ctx = context_at(context);
	struct object *object;
	int rc;

	rc = object_new(context, OBJECT_QP, &result->handle);
	if (rc < 0)
		return rc;
	object = object_at(result->handle);
	object->qp.port = rss->port - 1;
	object_refer(&object->qp.pd, rss->pd);
	object_refer(&object->qp.ind, rss->ind);

	rc = create_queues(rss, ctx, result);
	if (rc < 0) {
		context_abandon(result->handle);
		return rc;
	}
	object_at(rss->pd)->pd.rss_qp = result->handle;
	object_activate(result->handle);
	return 0;
}

/* In the order of mana_ib_create_qp_rss(). */
static int
check_rss(uint32_t context, const struct verbs_rss *rss)
{
	const struct kernel_context *ctx = context_live(context);
	const struct kernel_version *version = kernel_version();
	struct object *pd, *ind;
	int rc;

	rc = fault_check(FAULT_create_qp);
	if (rc < 0)
		return rc;
	if (ctx == NULL)
		return -EIO;
	pd = object_find(context, OBJECT_PD, rss->pd);
	ind = object_find(context, OBJECT_IND, rss->ind);
	rc = object_check(context, OBJECT_PD, rss->pd);
	if (rc == 0)
		rc = object_check(context, OBJECT_IND, rss->ind);
	if (rc < 0)
		return rc;
	if (!privileges_net_raw())
		return -EPERM;
	if (1u << ind->ind.log_size > CARD_RSS_TABLE_SIZE ||
	    rss->hash_function != HASH_TOEPLITZ ||
	    rss->key_bytes > CARD_RSS_KEY_BYTES)
		return -EINVAL;
	if (rss->port == 0 || rss->port > segment_config()->nb_ports[ctx->fn])
		return -EINVAL;
	/* A Tx QP of the same PD must have configured the vPort. */
	if (version->rss_after_tx && (pd->pd.vport_use_count == 0 ||
				      pd->pd.vport_port != rss->port - 1))
		return -EINVAL;
	if (version->refuses_second_rss && pd->pd.rss_qp != KERNEL_NONE)
		return -EBUSY;
	return 0;
}

int
verbs_create_rss(uint32_t context, const struct verbs_rss *rss,
		 struct verbs_rss_result *result)
{
	int rc;

	memset(result, 0, sizeof(*result));
	segment_lock();
	rc = check_rss(context, rss);
	if (rc == 0)
		rc = create_qp(context, rss, result);
	segment_unlock();
	return rc;
}

void
verbs_rss_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);
	struct object_qp *qp = &object->qp;
	const struct object_ind *ind = &object_at(qp->ind)->ind;
	const struct kernel_context *ctx = context_at(object->context);

	/* Rx is disabled first: mana_ib_destroy_qp_rss(). */
	if (qp->has_rx)
		card_vport_disable_rx(ctx->fn, qp->port);
	qp->has_rx = false;
	destroy_rqs(handle, ind, ctx);
	if (qp->pd != KERNEL_NONE && object->kind == OBJECT_QP)
		object_at(qp->pd)->pd.rss_qp = KERNEL_NONE;
	object_unrefer(&qp->pd);
	object_unrefer(&qp->ind);
	object_end(handle);
}
