/* SPDX-License-Identifier: BSD-3-Clause */

/* Methods of the object kinds: from attributes to verbs and back. */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

#define ANY_ID UINT32_MAX /* numbers that mean nothing for raw objects */

static int
cq_create(struct uverbs_call *call)
{
	struct mana_abi_create_cq_resp resp = { .cqid = ANY_ID };
	struct mana_abi_create_cq uhw;
	const struct ib_uverbs_attr *channel;
	struct verbs_cq cq;
	uint32_t handle, unused;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw),
		       MANA_ABI_CREATE_CQ_MIN);
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;
	/* This is the Ethernet device; CQs of the RNIC are not for it. */
	if (uhw.flags & MANA_ABI_CQ_RNIC)
		return -EINVAL;

	memset(&cq, 0, sizeof(cq));
	cq.buf_addr = uhw.buf_addr;
	cq.nb_cqe = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_CQE);
	cq.user_handle = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	cq.comp_vector = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR);
	if (uverbs_number(call, UVERBS_ATTR_CREATE_CQ_FLAGS) != 0)
		return -EINVAL;
	channel = uverbs_attr(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	cq.channel_fd = channel == NULL ? -1 : (int)channel->data_s64;
	if (channel != NULL && cq.channel_fd < 0)
		return -EBADF;

	rc = verbs_create_cq(call->context, &cq, &handle);
	if (rc < 0)
		return rc;
	/* The driver does not set the size: the core's answer is 0. */
	rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 0);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	if (rc < 0)
		verbs_destroy_cq(call->context, handle, &unused);
	else
		uverbs_set(call, UVERBS_ATTR_CREATE_CQ_HANDLE, handle);
	return rc;
}

static int
cq_destroy(struct uverbs_call *call)
{
	struct ib_uverbs_destroy_cq_resp resp = { 0 };
	uint32_t nb_events;
	int rc;

	rc = verbs_destroy_cq(call->context,
			      uverbs_handle(call, UVERBS_ATTR_DESTROY_CQ_HANDLE),
			      &nb_events);
	if (rc < 0)
		return rc;
	resp.comp_events_reported = nb_events;
	return uverbs_out(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp,
			  sizeof(resp));
}

static int
wq_create(struct uverbs_call *call)
{
	struct mana_abi_create_wq uhw;
	struct verbs_wq wq;
	uint32_t handle;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw),
		       MANA_ABI_CREATE_WQ_MIN);
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;

	wq.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_WQ_PD_HANDLE);
	wq.cq = uverbs_handle(call, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE);
	wq.type = uverbs_number(call, UVERBS_ATTR_CREATE_WQ_TYPE);
	wq.buf_addr = uhw.wq_buf_addr;
	wq.buf_bytes = uhw.wq_buf_size;
	rc = verbs_create_wq(call->context, &wq, &handle);
	if (rc < 0)
		return rc;

	rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR,
			    uverbs_number(call, UVERBS_ATTR_CREATE_WQ_MAX_WR));
	if (rc == 0)
		rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE,
			uverbs_number(call, UVERBS_ATTR_CREATE_WQ_MAX_SGE));
	if (rc == 0)
		rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, 0);
	if (rc < 0)
		verbs_destroy_wq(call->context, handle);
	else
		uverbs_set(call, UVERBS_ATTR_CREATE_WQ_HANDLE, handle);
	return rc;
}

static int
wq_destroy(struct uverbs_call *call)
{
	int rc;

	rc = verbs_destroy_wq(call->context,
		uverbs_handle(call, UVERBS_ATTR_DESTROY_WQ_HANDLE));
	if (rc < 0)
		return rc;
	return uverbs_out_u32(call, UVERBS_ATTR_DESTROY_WQ_RESP, 0);
}

/* What both kinds of QP answer; the QP goes again when it cannot. */
static int
qp_answer(struct uverbs_call *call, uint32_t handle, const void *uhw,
	  size_t uhw_bytes)
{
	struct ib_uverbs_qp_cap cap;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap), 0);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap,
				sizeof(cap));
	if (rc == 0)
		rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 0);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_UHW_OUT, uhw, uhw_bytes);
	if (rc < 0)
		verbs_destroy_qp(call->context, handle);
	else
		uverbs_set(call, UVERBS_ATTR_CREATE_QP_HANDLE, handle);
	return rc;
}

static int
qp_create_rss(struct uverbs_call *call, const struct ib_uverbs_qp_cap *cap)
{
	struct mana_abi_create_rss_resp resp = { 0 };
	struct mana_abi_create_rss uhw;
	struct verbs_rss_result result;
	struct verbs_rss rss;
	uint32_t i;
	int rc;

	if (cap->max_recv_wr != 0 || cap->max_recv_sge != 0 ||
	    uverbs_attr(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) != NULL ||
	    uverbs_attr(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) != NULL)
		return -EINVAL;
	rc = uverbs_in(call, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw),
		       sizeof(uhw));
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;

	rss.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	rss.ind = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE);
	rss.hash_function = uhw.rx_hash_function;
	rss.key_bytes = uhw.rx_hash_key_len;
	memcpy(rss.key, uhw.rx_hash_key, sizeof(rss.key));
	rss.port = uhw.port;
	rc = verbs_create_rss(call->context, &rss, &result);
	if (rc < 0)
		return rc;

	resp.num_entries = result.nb_entries;
	for (i = 0; i < result.nb_entries; i++) {
		resp.entries[i].cqid = result.entry[i].cq_id;
		resp.entries[i].wqid = result.entry[i].wq_id;
	}
	return qp_answer(call, result.handle, &resp, sizeof(resp));
}

static int
qp_create(struct uverbs_call *call)
{
	struct mana_abi_create_qp_resp resp = { 0 };
	struct verbs_qp_result result;
	struct mana_abi_create_qp uhw;
	struct ib_uverbs_qp_cap cap;
	struct verbs_qp qp;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap),
		       sizeof(cap));
	if (rc < 0)
		return rc;
	/* The Ethernet device makes no other queue pairs. */
	if (uverbs_number(call, UVERBS_ATTR_CREATE_QP_TYPE) !=
	    IB_UVERBS_QPT_RAW_PACKET)
		return -EINVAL;
	if (uverbs_number(call, UVERBS_ATTR_CREATE_QP_FLAGS) != 0)
		return -EINVAL;
	if (uverbs_attr(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE) != NULL)
		return qp_create_rss(call, &cap);

	rc = uverbs_in(call, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw),
		       sizeof(uhw));
	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;
	qp.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	qp.send_cq = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	qp.recv_cq = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	qp.max_send_wr = cap.max_send_wr;
	qp.max_send_sge = cap.max_send_sge;
	qp.buf_addr = uhw.sq_buf_addr;
	qp.buf_bytes = uhw.sq_buf_size;
	qp.port = uhw.port;
	rc = verbs_create_qp(call->context, &qp, &result);
	if (rc < 0)
		return rc;

	resp.sqid = result.sq_id;
	resp.cqid = result.cq_id;
	resp.tx_vp_offset = result.tx_vp_offset;
	return qp_answer(call, result.handle, &resp, sizeof(resp));
}

static int
qp_destroy(struct uverbs_call *call)
{
	int rc;

	rc = verbs_destroy_qp(call->context,
		uverbs_handle(call, UVERBS_ATTR_DESTROY_QP_HANDLE));
	if (rc < 0)
		return rc;
	return uverbs_out_u32(call, UVERBS_ATTR_DESTROY_QP_RESP, 0);
}

static int
pd_destroy(struct uverbs_call *call)
{
	return verbs_dealloc_pd(call->context,
		uverbs_handle(call, UVERBS_ATTR_DESTROY_PD_HANDLE));
}

static int
mr_destroy(struct uverbs_call *call)
{
	return verbs_dereg_mr(call->context,
		uverbs_handle(call, UVERBS_ATTR_DESTROY_MR_HANDLE));
}

static int
ind_destroy(struct uverbs_call *call)
{
	return verbs_destroy_ind(call->context,
		uverbs_handle(call, UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE));
}

static int
async_alloc(struct uverbs_call *call)
{
	int fd;

	fd = verbs_alloc_async(call->context);
	if (fd < 0)
		return fd;
	uverbs_set(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, fd);
	return 0;
}

#define IN(id, bytes) { id, UVERBS_IN, true, bytes, bytes }
#define IN_OPT(id, min, max) { id, UVERBS_IN, false, min, max }
#define OUT(id, bytes) { id, UVERBS_OUT, true, bytes, 0 }
#define OUT_OPT(id, min) { id, UVERBS_OUT, false, min, 0 }
#define HANDLE(id) { id, UVERBS_HANDLE, true, 0, 0 }
#define HANDLE_OPT(id) { id, UVERBS_HANDLE, false, 0, 0 }
#define NEW(id) { id, UVERBS_NEW_HANDLE, true, 0, 0 }
#define FD_OPT(id) { id, UVERBS_FD, false, 0, 0 }
#define UHW IN_OPT(UVERBS_ATTR_UHW_IN, 0, 0), OUT_OPT(UVERBS_ATTR_UHW_OUT, 0)
/*
 * The attribute with id 0 and the type UVERBS_IN would look like the end of
 * the list; no method has one that is optional and without a size.
 */
const struct uverbs_method uverbs_object_methods[] = {
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, true, cq_create, {
		NEW(UVERBS_ATTR_CREATE_CQ_HANDLE),
		IN(UVERBS_ATTR_CREATE_CQ_CQE, 4),
		IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8),
		FD_OPT(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL),
		IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4),
		IN_OPT(UVERBS_ATTR_CREATE_CQ_FLAGS, 4, 8),
		OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
		FD_OPT(UVERBS_ATTR_CREATE_CQ_EVENT_FD),
		UHW } },
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, true, cq_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_CQ_HANDLE),
		OUT(UVERBS_ATTR_DESTROY_CQ_RESP, 8) } },
	{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, true, wq_create, {
		NEW(UVERBS_ATTR_CREATE_WQ_HANDLE),
		HANDLE(UVERBS_ATTR_CREATE_WQ_PD_HANDLE),
		HANDLE(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE),
		IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 8),
		{ UVERBS_ATTR_CREATE_WQ_TYPE, UVERBS_IN, true, 4, 8 },
		FD_OPT(UVERBS_ATTR_CREATE_WQ_EVENT_FD),
		IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, 4),
		IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, 4),
		IN_OPT(UVERBS_ATTR_CREATE_WQ_FLAGS, 4, 8),
		OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4),
		OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4),
		OUT_OPT(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, 4),
		UHW } },
	{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, true, wq_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_WQ_HANDLE),
		OUT(UVERBS_ATTR_DESTROY_WQ_RESP, 4) } },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, true, qp_create, {
		NEW(UVERBS_ATTR_CREATE_QP_HANDLE),
		HANDLE_OPT(UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		HANDLE_OPT(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		HANDLE_OPT(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		HANDLE_OPT(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		HANDLE_OPT(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE),
		IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8),
		IN(UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap)),
		{ UVERBS_ATTR_CREATE_QP_TYPE, UVERBS_IN, true, 4, 8 },
		IN_OPT(UVERBS_ATTR_CREATE_QP_FLAGS, 4, 8),
		IN_OPT(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4, 4),
		FD_OPT(UVERBS_ATTR_CREATE_QP_EVENT_FD),
		OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP,
		    sizeof(struct ib_uverbs_qp_cap)),
		OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4),
		UHW } },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, true, qp_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_QP_HANDLE),
		OUT(UVERBS_ATTR_DESTROY_QP_RESP, 4) } },
	{ UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, true, pd_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_PD_HANDLE) } },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, true, mr_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_MR_HANDLE) } },
	{ UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, true,
	  ind_destroy, {
		HANDLE(UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE) } },
	{ UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, false,
	  async_alloc, {
		{ UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, UVERBS_NEW_FD,
		  true, 0, 0 } } },
};
const uint32_t uverbs_nb_object_methods =
	sizeof(uverbs_object_methods) / sizeof(uverbs_object_methods[0]);
