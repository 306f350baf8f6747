/* SPDX-License-Identifier: BSD-3-Clause */

/* Methods of objects: translate attributes to verbs and back. */

#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "kernel_version.h"
#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

#define CQ_FLAGS                                 \
	(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | \
	 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
#define WQ_FLAGS                                                          \
	(IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING |                             \
	 IB_UVERBS_WQ_FLAGS_SCATTER_FCS | IB_UVERBS_WQ_FLAGS_DELAY_DROP | \
	 IB_UVERBS_WQ_FLAGS_PCI_WRITE_END_PADDING)
#define ANY_ID UINT32_MAX /* for numbers without meaning for raw objects */

/*
 * Three forms of driver data: 8 bytes in and none out; from Linux 6.11 on with
 * optional flags; in the newest kernel checked by uverbs_driver_in().
 */
static int
create_cq_data(struct uverbs_call *call, struct mana_abi_create_cq *uhw)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, UVERBS_ATTR_UHW_IN);
	size_t known = kernel_version()->create_cq_bytes;

	memset(uhw, 0, sizeof(*uhw));
	if (!kernel_version()->checks_driver_data && attr != NULL &&
	    attr->len >= MANA_ABI_CREATE_CQ_MIN && attr->len < known)
		known = attr->len;
	return uverbs_driver_in(call, uhw, known, MANA_ABI_CREATE_CQ_MIN);
}

static int
cq_create(struct uverbs_call *call)
{
	struct mana_abi_create_cq_resp resp = { .cqid = ANY_ID };
	struct mana_abi_create_cq uhw;
	const struct ib_uverbs_attr *channel;
	struct verbs_cq cq;
	uint32_t handle, unused;
	int rc;

	rc = create_cq_data(call, &uhw);
	if (rc < 0)
		return rc;
	memset(&cq, 0, sizeof(cq));
	cq.has_rnic_flag = (uhw.flags & MANA_ABI_CQ_RNIC) != 0;
	cq.buf_addr = uhw.buf_addr;
	cq.nb_cqe = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_CQE);
	cq.user_handle = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	cq.comp_vector = uverbs_number(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR);
	/* mana_ib ignores them (core/uverbs_std_types_cq.c). */
	if (uverbs_number(call, UVERBS_ATTR_CREATE_CQ_FLAGS) &
	    ~(uint64_t)CQ_FLAGS)
		return -EINVAL;
	channel = uverbs_attr(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	cq.channel_fd = channel == NULL ? -1 : (int)channel->data_s64;
	if (channel != NULL && cq.channel_fd < 0)
		return -EBADF;

	uverbs_begin(call, "create_cq", " cqe=%u vector=%u channel=%u",
		     cq.nb_cqe, cq.comp_vector,
		     verbs_channel_number(call->context, cq.channel_fd));
	rc = verbs_create_cq(call->context, &cq, &handle);
	if (rc < 0)
		return rc;
	uverbs_result(call, " cq=%u", uverbs_object(call, CQ, handle));
	/* The driver does not set the size, so the core answers 0. */
	rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 0);
	if (rc == 0 && kernel_version()->has_create_cq_answer)
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
	uint32_t cq = uverbs_handle(call, UVERBS_ATTR_DESTROY_CQ_HANDLE);
	struct ib_uverbs_destroy_cq_resp resp = { 0 };
	uint32_t nb_events;
	int rc;

	uverbs_begin(call, "destroy_cq", " cq=%u", uverbs_object(call, CQ, cq));
	rc = verbs_destroy_cq(call->context, cq, &nb_events);
	if (rc < 0)
		return rc;
	uverbs_result(call, " events=%u", nb_events);
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

	/* core/uverbs_std_types_wq.c */
	if (uverbs_number(call, UVERBS_ATTR_CREATE_WQ_FLAGS) &
	    ~(uint64_t)WQ_FLAGS)
		return -EINVAL;
	if (uverbs_number(call, UVERBS_ATTR_CREATE_WQ_TYPE) != IB_UVERBS_WQT_RQ)
		return -EINVAL;
	rc = uverbs_driver_in(call, &uhw, sizeof(uhw), sizeof(uhw));
	if (rc < 0)
		return rc;

	wq.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_WQ_PD_HANDLE);
	wq.cq = uverbs_handle(call, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE);
	wq.type = uverbs_number(call, UVERBS_ATTR_CREATE_WQ_TYPE);
	wq.buf_addr = uhw.wq_buf_addr;
	wq.buf_bytes = uhw.wq_buf_size;
	uverbs_begin(call, "create_wq",
		     " pd=%u cq=%u type=%u max_wr=%u max_sge=%u bytes=%u",
		     uverbs_object(call, PD, wq.pd),
		     uverbs_object(call, CQ, wq.cq), wq.type,
		     (uint32_t)uverbs_number(call, UVERBS_ATTR_CREATE_WQ_MAX_WR),
		     (uint32_t)uverbs_number(call,
					     UVERBS_ATTR_CREATE_WQ_MAX_SGE),
		     wq.buf_bytes);
	rc = verbs_create_wq(call->context, &wq, &handle);
	if (rc < 0)
		return rc;
	uverbs_result(call, " wq=%u", uverbs_object(call, WQ, handle));

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

/* Objects whose destruction has no results. */
static const struct {
	enum object_kind kind;
	const char *call, *name;
	int (*destroy)(uint32_t context, uint32_t handle);
} plain_objects[] = {
	[UVERBS_OBJECT_PD] = { OBJECT_PD, "dealloc_pd", "pd", verbs_dealloc_pd },
	[UVERBS_OBJECT_MR] = { OBJECT_MR, "dereg_mr", "mr", verbs_dereg_mr },
	[UVERBS_OBJECT_WQ] = { OBJECT_WQ, "destroy_wq", "wq", verbs_destroy_wq },
	[UVERBS_OBJECT_QP] = { OBJECT_QP, "destroy_qp", "qp", verbs_destroy_qp },
	[UVERBS_OBJECT_RWQ_IND_TBL] = { OBJECT_IND, "destroy_ind", "ind", verbs_destroy_ind },
};

/* The method's first attribute is the handle; the second, if there is one, the answer. */
static int
destroy(struct uverbs_call *call)
{
	const struct uverbs_method *method = call->method;
	const uint32_t handle = uverbs_handle(call, method->spec[0].id);
	int rc;

	uverbs_begin(call, plain_objects[method->object].call, " %s=%u",
		     plain_objects[method->object].name,
		     verbs_number(call->context, plain_objects[method->object].kind, handle));
	rc = plain_objects[method->object].destroy(call->context, handle);
	return rc < 0 || method->spec[1].type != UVERBS_OUT ? rc :
		       uverbs_out_u32(call, method->spec[1].id, 0);
}

static int
async_alloc(struct uverbs_call *call)
{
	int fd;

	uverbs_begin(call, "alloc_async", "%s", "");
	fd = verbs_alloc_async(call->context);
	if (fd < 0)
		return fd;
	uverbs_set(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, fd);
	return 0;
}

const struct uverbs_method uverbs_object_methods[] = {
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, true, cq_create, {
		SPEC_NEW(UVERBS_ATTR_CREATE_CQ_HANDLE),
		SPEC_IN(UVERBS_ATTR_CREATE_CQ_CQE, 4, 4),
		SPEC_IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 8),
		SPEC_FD_OPT(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL),
		SPEC_IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 4),
		SPEC_IN_OPT(UVERBS_ATTR_CREATE_CQ_FLAGS, 4, 8),
		SPEC_OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
		SPEC_FD_OPT(UVERBS_ATTR_CREATE_CQ_EVENT_FD),
		SPEC_UHW } },
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, true, cq_destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_CQ_HANDLE),
		SPEC_OUT(UVERBS_ATTR_DESTROY_CQ_RESP, 8) }, true },
	{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, true, wq_create, {
		SPEC_NEW(UVERBS_ATTR_CREATE_WQ_HANDLE),
		SPEC_HANDLE(UVERBS_ATTR_CREATE_WQ_PD_HANDLE),
		SPEC_HANDLE(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE),
		SPEC_IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 8, 8),
		SPEC_IN(UVERBS_ATTR_CREATE_WQ_TYPE, 8, 8),
		SPEC_FD_OPT(UVERBS_ATTR_CREATE_WQ_EVENT_FD),
		SPEC_IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, 4, 4),
		SPEC_IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, 4, 4),
		SPEC_IN(UVERBS_ATTR_CREATE_WQ_FLAGS, 4, 8),
		SPEC_OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4),
		SPEC_OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4),
		SPEC_OUT_OPT(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, 4),
		SPEC_UHW } },
	{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, true, destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_WQ_HANDLE),
		SPEC_OUT(UVERBS_ATTR_DESTROY_WQ_RESP, 4) }, true },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, true,
	  uverbs_create_qp, {
		SPEC_NEW(UVERBS_ATTR_CREATE_QP_HANDLE),
		SPEC_HANDLE_OPT(UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		SPEC_HANDLE_OPT(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		SPEC_HANDLE_OPT(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		SPEC_HANDLE_OPT(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		SPEC_HANDLE_OPT(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE),
		SPEC_IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 8),
		SPEC_IN(UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap),
			sizeof(struct ib_uverbs_qp_cap)),
		SPEC_IN(UVERBS_ATTR_CREATE_QP_TYPE, 4, 8),
		SPEC_IN_OPT(UVERBS_ATTR_CREATE_QP_FLAGS, 4, 8),
		SPEC_IN_OPT(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4, 4),
		SPEC_FD_OPT(UVERBS_ATTR_CREATE_QP_EVENT_FD),
		SPEC_OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP,
		    sizeof(struct ib_uverbs_qp_cap)),
		SPEC_OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4),
		SPEC_UHW } },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, true, destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_QP_HANDLE),
		SPEC_OUT(UVERBS_ATTR_DESTROY_QP_RESP, 4) }, true },
	{ UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, true, destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_PD_HANDLE) }, true },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, true, destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_MR_HANDLE) }, true },
	{ UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, true, destroy, {
		SPEC_HANDLE(UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE) }, true },
	{ UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, true,
	  async_alloc, {
		{ UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, UVERBS_NEW_FD,
		  true, 0, 0 } } },
	{ .run = NULL },
};

/* include/uapi/rdma/ib_user_ioctl_cmds.h of Linux 7.2. */
#define METHOD_REG_MR 5
enum {
	REG_MR_HANDLE,
	REG_MR_PD_HANDLE,
	REG_MR_DMA_HANDLE,
	REG_MR_IOVA,
	REG_MR_ADDR,
	REG_MR_LENGTH,
	REG_MR_ACCESS_FLAGS,
	REG_MR_FD,
	REG_MR_FD_OFFSET,
	REG_MR_RESP_LKEY,
	REG_MR_RESP_RKEY,
};

static int
reg_mr(struct uverbs_call *call)
{
	bool has_fd = uverbs_attr(call, REG_MR_FD) != NULL;
	uint32_t handle, key;
	struct verbs_mr mr;
	int rc;

	/* Either an address, or a file and an offset. */
	if (has_fd != (uverbs_attr(call, REG_MR_FD_OFFSET) != NULL) ||
	    has_fd == (uverbs_attr(call, REG_MR_ADDR) != NULL))
		return -EINVAL;
	/* A limit of the model: no DMA buffers, no DMA handles. */
	if (has_fd || uverbs_attr(call, REG_MR_DMA_HANDLE) != NULL)
		return -EOPNOTSUPP;

	memset(&mr, 0, sizeof(mr));
	mr.start = uverbs_number(call, REG_MR_ADDR);
	mr.length = uverbs_number(call, REG_MR_LENGTH);
	mr.iova = uverbs_number(call, REG_MR_IOVA);
	mr.access = uverbs_number(call, REG_MR_ACCESS_FLAGS);
	mr.pd = uverbs_handle(call, REG_MR_PD_HANDLE);
	uverbs_begin(call, "reg_mr", " pd=%u bytes=%llu access=0x%x",
		     uverbs_object(call, PD, mr.pd),
		     (unsigned long long)mr.length, mr.access);
	rc = verbs_reg_mr(call->context, &mr, &handle, &key);
	if (rc < 0)
		return rc;
	uverbs_result(call, " mr=%u key=0x%x", uverbs_object(call, MR, handle),
		      key);
	rc = uverbs_out_u32(call, REG_MR_RESP_LKEY, key);
	if (rc == 0)
		rc = uverbs_out_u32(call, REG_MR_RESP_RKEY, key);
	if (rc < 0)
		verbs_dereg_mr(call->context, handle);
	else
		uverbs_set(call, REG_MR_HANDLE, handle);
	return rc;
}

const struct uverbs_method uverbs_newer_methods[] = {
	{ UVERBS_OBJECT_MR, METHOD_REG_MR, true, reg_mr, {
		SPEC_NEW(REG_MR_HANDLE),
		SPEC_HANDLE(REG_MR_PD_HANDLE),
		SPEC_HANDLE_OPT(REG_MR_DMA_HANDLE),
		SPEC_IN(REG_MR_IOVA, 8, 8),
		SPEC_IN_OPT(REG_MR_ADDR, 8, 8),
		SPEC_IN(REG_MR_LENGTH, 8, 8),
		SPEC_IN(REG_MR_ACCESS_FLAGS, 4, 8),
		SPEC_FD_OPT(REG_MR_FD),
		SPEC_IN_OPT(REG_MR_FD_OFFSET, 8, 8),
		SPEC_OUT(REG_MR_RESP_LKEY, 4),
		SPEC_OUT(REG_MR_RESP_RKEY, 4),
		SPEC_UHW } },
	{ .run = NULL },
};
