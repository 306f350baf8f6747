/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests to the RNIC: mana_ib needs it on some kernels. The objects exist, but
 * no RDMA packet is sent or received.
 */

#include <inttypes.h>

#include "card.h"
#include "pci_device.h"
#include "request.h"

#define RNIC_ADAPTER_ID 1u

/* As the imitated kernel's adapter: Linux ib/main.c divides the sizes. */
static uint32_t
get_caps(struct request *r)
{
	struct rnic_caps_answer *answer = (void *)r->answer;

	answer->max_sq_id = CARD_FIRST_SQ_ID + CARD_MAX_QUEUES;
	answer->max_rq_id = CARD_FIRST_RQ_ID + CARD_MAX_QUEUES;
	answer->max_cq_id = CARD_FIRST_CQ_ID + CARD_NB_CQS;
	answer->max_qp_count = CARD_MAX_QUEUES;
	answer->max_cq_count = CARD_NB_CQS;
	answer->max_mr_count = MEM_NB_REGIONS;
	answer->max_pd_count = CARD_MAX_PDS - 1;
	answer->max_inbound_read_limit = 32;
	answer->max_outbound_read_limit = 32;
	answer->max_requester_sq_size = CARD_RNIC_MAX_WQ_BYTES;
	answer->max_responder_sq_size = CARD_RNIC_MAX_WQ_BYTES;
	answer->max_requester_rq_size = CARD_RNIC_MAX_WQ_BYTES;
	answer->max_responder_rq_size = CARD_RNIC_MAX_WQ_BYTES;
	answer->max_send_sge_count = 30;
	answer->max_recv_sge_count = 15;
	return STATUS_OK;
}

static uint32_t
create_adapter(struct request *r)
{
	const struct rnic_adapter_request *req = (const void *)r->bytes;
	struct handle_answer *answer = (void *)r->answer;

	if (request_eq(r, req->notify_eq_id) == NULL)
		return STATUS_REFUSED;
	if (r->a->has_rnic_adapter)
		return request_refuse(r, VIOLATION_request_state,
				      "got a second adapter, want one");
	r->a->has_rnic_adapter = true;
	r->a->rnic_notify_eq = req->notify_eq_id;
	answer->handle = handle_make(HANDLE_RNIC_ADAPTER, RNIC_ADAPTER_ID);
	return STATUS_OK;
}

static bool
adapter_exists(const struct request *r, uint64_t handle)
{
	return r->a->has_rnic_adapter &&
	       handle == handle_make(HANDLE_RNIC_ADAPTER, RNIC_ADAPTER_ID);
}

/* Requests that only name an adapter. */
static uint32_t
with_adapter(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;

	return adapter_exists(r, req->handle) ?
		       STATUS_OK :
		       request_refuse_handle(r, "adapter", req->handle,
					     "that of MANA_IB_CREATE_ADAPTER");
}

static uint32_t
destroy_adapter(struct request *r)
{
	const uint32_t status = with_adapter(r);
	uint32_t i;

	if (status != STATUS_OK)
		return status;
	for (i = 0; i < RNIC_NB_QPS; i++)
		if (r->a->rnic_qps[i].is_alive)
			return request_refuse(
				r, VIOLATION_request_state,
				"got an adapter with QPs, want them destroyed first");
	r->a->has_rnic_adapter = false;
	return STATUS_OK;
}

/* Whether a request names its adapter, and an object that exists. */
static bool
names_object(const struct request *r, const char *name, bool exists)
{
	const struct rnic_object_request *req = (const void *)r->bytes;

	if (exists && adapter_exists(r, req->adapter))
		return true;
	request_refuse(r, VIOLATION_request_handle,
		       "got adapter 0x%" PRIx64 ", %s 0x%" PRIx64
		       ", want ones that exist",
		       (uint64_t)req->adapter, name, (uint64_t)req->handle);
	return false;
}

static uint32_t
create_cq(struct request *r)
{
	const struct rnic_cq_request *req = (const void *)r->bytes;
	const struct region *region = region_find(&r->a->regions,
						  req->gdma_region);
	struct rnic_cq_answer *answer = (void *)r->answer;
	uint32_t status, cq_id;

	if (!adapter_exists(r, req->adapter) || region == NULL ||
	    req->doorbell_page >= CARD_MAX_PAGES ||
	    !r->f->pages[req->doorbell_page] || region->nb_bytes > UINT32_MAX)
		return request_refuse(r, VIOLATION_request_handle,
				      "got adapter 0x%" PRIx64 ", region 0x%" PRIx64
				      ", doorbell page %u, want ones that exist",
				      (uint64_t)req->adapter,
				      (uint64_t)req->gdma_region,
				      req->doorbell_page);
	status = request_cq_create(r, r->a->devices[DEVICE_RNIC].pdn,
				   req->doorbell_page, req->gdma_region,
				   (uint32_t)region->nb_bytes, req->eq_id,
				   &cq_id);
	if (status != STATUS_OK)
		return status;
	r->a->cqs[cq_id - CARD_FIRST_CQ_ID].is_of_rnic = true;
	answer->cq_handle = handle_make(HANDLE_RNIC_CQ, cq_id);
	answer->cq_id = cq_id;
	return STATUS_OK;
}

/* The id of a CQ of the RNIC; UINT32_MAX if there is none. */
static uint32_t
cq_of(const struct request *r, uint64_t handle)
{
	const uint32_t id = handle_id(HANDLE_RNIC_CQ, handle);

	return card_cq(r->f, id) != NULL &&
			       r->a->cqs[id - CARD_FIRST_CQ_ID].is_of_rnic ?
		       id :
		       UINT32_MAX;
}

static uint32_t
destroy_cq(struct request *r)
{
	const struct rnic_object_request *req = (const void *)r->bytes;
	const uint32_t id = cq_of(r, req->handle);
	uint32_t i;

	if (!names_object(r, "CQ", id != UINT32_MAX))
		return STATUS_REFUSED;
	for (i = 0; i < RNIC_NB_QPS; i++) {
		const struct rnic_qp *qp = &r->a->rnic_qps[i];

		if (qp->is_alive && (qp->cq[0] == id || qp->cq[1] == id))
			return request_refuse(
				r, VIOLATION_request_state,
				"got CQ %u, which a QP uses, want that destroyed first",
				id);
	}
	request_cq_destroy(r, id);
	return STATUS_OK;
}

/* Whether the regions can become a QP's. */
static bool
regions_are_free(const struct request *r, const uint64_t *handles)
{
	uint32_t i;

	for (i = 0; i < RNIC_UD_QUEUES; i++) {
		const struct region *region = region_find(&r->a->regions,
							  handles[i]);

		if (region == NULL || region->is_used ||
		    !region_is_complete(region))
			return false;
	}
	return handles[0] != handles[1];
}

static uint32_t
create_qp(struct request *r)
{
	const struct rnic_ud_qp_request *req = (const void *)r->bytes;
	struct rnic_ud_qp_answer *answer = (void *)r->answer;
	const uint32_t pdn = request_pd_of(r, req->pd_handle);
	struct rnic_qp *qp;
	uint32_t i, n;

	if (!adapter_exists(r, req->adapter) || pdn == UINT32_MAX ||
	    cq_of(r, req->send_cq_handle) == UINT32_MAX ||
	    cq_of(r, req->recv_cq_handle) == UINT32_MAX ||
	    req->doorbell_page >= CARD_MAX_PAGES ||
	    !r->f->pages[req->doorbell_page] ||
	    !regions_are_free(r, req->dma_region))
		return request_refuse(
			r, VIOLATION_request_handle,
			"got adapter 0x%" PRIx64 ", PD 0x%" PRIx64
			", doorbell page %u, want ones that exist, two CQs, and regions that are free",
			(uint64_t)req->adapter, (uint64_t)req->pd_handle,
			req->doorbell_page);
	for (n = 0; n < RNIC_NB_QPS && r->a->rnic_qps[n].is_alive; n++)
		;
	if (n == RNIC_NB_QPS)
		return STATUS_REFUSED;
	qp = &r->a->rnic_qps[n];
	*qp = (struct rnic_qp){
		.is_alive = true,
		.page = req->doorbell_page,
		.pdn = pdn,
		.cq = { cq_of(r, req->send_cq_handle),
			cq_of(r, req->recv_cq_handle) },
	};
	for (i = 0; i < RNIC_UD_QUEUES; i++) {
		qp->region[i] = req->dma_region[i];
		request_region_use(r, req->dma_region[i]);
		answer->queue_ids[i] = RNIC_FIRST_QUEUE_ID +
				       n * RNIC_UD_QUEUES + i;
	}
	answer->qp_handle = handle_make(HANDLE_RNIC_QP, n);
	return STATUS_OK;
}

/* The QP of a request; NULL, and a violation, if there is none. */
static struct rnic_qp *
qp_of(const struct request *r)
{
	const struct rnic_object_request *req = (const void *)r->bytes;
	const uint32_t n = handle_id(HANDLE_RNIC_QP, req->handle);

	return names_object(r, "QP",
			    n < RNIC_NB_QPS && r->a->rnic_qps[n].is_alive) ?
		       &r->a->rnic_qps[n] :
		       NULL;
}

static uint32_t
destroy_qp(struct request *r)
{
	struct rnic_qp *qp = qp_of(r);
	uint32_t i;

	if (qp == NULL)
		return STATUS_REFUSED;
	for (i = 0; i < RNIC_UD_QUEUES; i++)
		region_destroy(&r->a->regions, qp->region[i]);
	qp->is_alive = false;
	return STATUS_OK;
}

static uint32_t
set_qp_state(struct request *r)
{
	return qp_of(r) != NULL ? STATUS_OK : STATUS_REFUSED;
}

const struct request_kind rnic_requests[] = {
	{ RNIC_GET_ADAPTER_CAP, 1, 4, DEVICE_RNIC, HEADER, HEADER,
	  ANSWER(rnic_caps_answer), get_caps },
	{ RNIC_CREATE_ADAPTER, 2, 1, DEVICE_RNIC, SIZE(rnic_adapter_request),
	  ANSWER(handle_answer), create_adapter },
	{ RNIC_DESTROY_ADAPTER, 1, 1, DEVICE_RNIC, SIZE(handle_request),
	  NO_ANSWER, destroy_adapter },
	{ RNIC_CONFIG_IP_ADDR, 1, 1, DEVICE_RNIC, RNIC_CONFIG_IP_BYTES,
	  RNIC_CONFIG_IP_BYTES, NO_ANSWER, with_adapter },
	{ RNIC_CONFIG_MAC_ADDR, 1, 1, DEVICE_RNIC, RNIC_CONFIG_MAC_BYTES,
	  RNIC_CONFIG_MAC_BYTES, NO_ANSWER, with_adapter },
	{ RNIC_CREATE_CQ, 1, 1, DEVICE_RNIC, SIZE(rnic_cq_request),
	  ANSWER(rnic_cq_answer), create_cq },
	{ RNIC_DESTROY_CQ, 1, 1, DEVICE_RNIC, SIZE(rnic_object_request),
	  NO_ANSWER, destroy_cq },
	{ RNIC_CREATE_UD_QP, 2, 1, DEVICE_RNIC, SIZE(rnic_ud_qp_request),
	  ANSWER(rnic_ud_qp_answer), create_qp },
	{ RNIC_DESTROY_UD_QP, 1, 1, DEVICE_RNIC, SIZE(rnic_object_request),
	  NO_ANSWER, destroy_qp },
	{ RNIC_CREATE_RC_QP, UINT16_MAX, 1, DEVICE_RNIC, UP_TO(request_header),
	  NO_ANSWER, request_unsupported },
	{ RNIC_SET_QP_STATE, UINT16_MAX, 1, DEVICE_RNIC,
	  UP_TO(rnic_object_request), NO_ANSWER, set_qp_state },
	/* No RDMA packets: the counters are 0. */
	{ RNIC_QUERY_VF_COUNTERS, 1, 1, DEVICE_RNIC, SIZE(handle_request),
	  ANSWER(rnic_vf_counters_answer), with_adapter },
	{ RNIC_QUERY_DEVICE_COUNTERS, UINT16_MAX, 1, DEVICE_RNIC,
	  UP_TO(request_header), NO_ANSWER, request_unsupported },
};
const uint32_t nb_rnic_requests = sizeof(rnic_requests) /
				  sizeof(rnic_requests[0]);
