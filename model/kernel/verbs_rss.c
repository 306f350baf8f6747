/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw packet queue pairs for receiving (Linux mana ib/qp.c, RSS part). */

#include <errno.h>
#include <string.h>

#include "context.h"
#include "fault.h"
#include "object.h"
#include "verbs.h"

#define HASH_TOEPLITZ 1 /* MANA_IB_RX_HASH_FUNC_TOEPLITZ */

/* One device RQ with its CQ for a WQ of the table. */
static int
create_rq(const struct object_qp *qp, struct object *wq,
	  const struct kernel_context *ctx)
{
	struct object *cq = object_at(wq->wq.cq);
	uint32_t pdn = object_at(qp->pd)->pd.pdn;
	int rc;

	if (wq->wq.ring.consumed)
		return -EPROTO;
	rc = verbs_cq_bind(cq, wq->wq.cq, ctx->fn, pdn, ctx->page);
	if (rc < 0)
		return rc;
	rc = device_rq_create(ctx->fn, qp->port, pdn, ctx->page,
			      &wq->wq.ring.memory, cq->cq.id, &wq->wq.id);
	if (rc < 0) {
		wq->wq.id = DEVICE_NO_QUEUE;
		verbs_cq_unbind(cq, ctx->fn);
		return rc;
	}
	wq->wq.ring.consumed = true;
	return 0;
}

/* Whatever of the table's queues exists; safe on a half-built one. */
static void
destroy_rqs(const struct object_ind *ind, uint32_t nb, uint32_t fn)
{
	uint32_t i;

	for (i = 0; i < nb; i++) {
		struct object *wq = object_at(ind->wq[i]);

		if (wq->wq.id == DEVICE_NO_QUEUE)
			continue;
		device_rq_destroy(fn, wq->wq.id);
		wq->wq.id = DEVICE_NO_QUEUE;
		verbs_cq_unbind(object_at(wq->wq.cq), fn);
	}
}

/* mana_ib_cfg_vport_steering() */
static int
enable_rx(const struct object_qp *qp, const struct verbs_rss *rss,
	  uint32_t fn)
{
	const struct object_ind *ind = &object_at(qp->ind)->ind;
	uint32_t i, nb = 1u << ind->log_size;
	struct device_steering steering;

	memset(&steering, 0, sizeof(steering));
	steering.rss_enable = nb > 1;
	steering.coalescing_enable = true;
	steering.default_rq = object_at(ind->wq[nb - 1])->wq.id;
	for (i = 0; i < DEVICE_RSS_TABLE_SIZE; i++)
		steering.table[i] = object_at(ind->wq[i % nb])->wq.id;
	/* A key of no length means the kernel's own random one: zeros here. */
	memcpy(steering.key, rss->key, rss->key_bytes);
	return device_vport_enable_rx(fn, qp->port, &steering);
}

static int
create_queues(struct object_qp *qp, const struct verbs_rss *rss,
	      const struct kernel_context *ctx, struct verbs_rss_result *result)
{
	const struct object_ind *ind = &object_at(qp->ind)->ind;
	uint32_t i, nb = 1u << ind->log_size;
	int rc = 0;

	for (i = 0; i < nb && rc == 0; i++) {
		struct object *wq = object_at(ind->wq[i]);

		rc = create_rq(qp, wq, ctx);
		result->entry[i].wq_id = wq->wq.id;
		result->entry[i].cq_id = object_at(wq->wq.cq)->cq.id;
	}
	if (rc == 0)
		rc = enable_rx(qp, rss, ctx->fn);
	if (rc < 0)
		destroy_rqs(ind, i, ctx->fn);
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

	rc = object_new(context, &result->handle);
	if (rc < 0)
		return rc;
	object = object_at(result->handle);
	object->qp.pd = rss->pd;
	object->qp.port = rss->port - 1;
	object->qp.cq = KERNEL_NONE;
	object->qp.recv_cq = KERNEL_NONE;
	object->qp.ind = rss->ind;

	rc = create_queues(&object->qp, rss, ctx, result);
	if (rc < 0) {
		object_free(result->handle);
		return rc;
	}
	object_get(rss->pd);
	object_get(rss->ind);
	object_at(rss->pd)->pd.rss_qp = result->handle;
	object_activate(result->handle, OBJECT_QP);
	return 0;
}

/* In the order of mana_ib_create_qp_rss(). */
static int
check_rss(uint32_t context, const struct verbs_rss *rss)
{
	const struct kernel_context *ctx = context_at(context);
	struct object *pd, *ind;
	int rc;

	rc = fault_check(FAULT_create_qp);
	if (rc < 0)
		return rc;
	if (ctx == NULL)
		return -EIO;
	pd = object_find(context, OBJECT_PD, rss->pd);
	ind = object_find(context, OBJECT_IND, rss->ind);
	if (pd == NULL || ind == NULL)
		return -ENOENT;
	if (segment_kernel()->no_net_raw)
		return -EPERM;
	if (1u << ind->ind.log_size > DEVICE_RSS_TABLE_SIZE ||
	    rss->hash_function != HASH_TOEPLITZ ||
	    rss->key_bytes > DEVICE_RSS_KEY_BYTES)
		return -EINVAL;
	if (rss->port == 0 || rss->port > segment_config()->nb_ports[ctx->fn])
		return -EINVAL;
	/* A Tx QP of the same PD must have configured the vPort. */
	if (pd->pd.vport_use_count == 0 ||
	    pd->pd.vport_port != rss->port - 1)
		return -EINVAL;
	if (pd->pd.rss_qp != KERNEL_NONE)
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
	uint32_t fn = context_at(object->context)->fn;

	/* Rx is disabled first: mana_ib_destroy_qp_rss(). */
	device_vport_disable_rx(fn, qp->port);
	destroy_rqs(ind, 1u << ind->log_size, fn);
	object_at(qp->pd)->pd.rss_qp = KERNEL_NONE;
	object_put(qp->pd);
	object_put(qp->ind);
	object_free(handle);
}
