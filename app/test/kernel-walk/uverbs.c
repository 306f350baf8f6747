/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "uverbs.h"

uint32_t uverbs_destroy_answer[2];

void
uverbs_add(struct call *call, uint32_t omit, uint16_t id, uint16_t len,
	   uint64_t data)
{
	if ((omit & (1u << (id & 31))) == 0)
		add(call, id, len, data);
}

uint32_t
uverbs_value(const struct call *call, uint16_t id)
{
	for (uint16_t i = 0; i < call->hdr.num_attrs; i++)
		if (call->attr[i].attr_id == id)
			return (uint32_t)call->attr[i].data;
	return 0;
}

int
uverbs_command(int fd, struct uverbs_command *c)
{
	struct call call = command(c->number, c->in, c->in_bytes, c->out,
				   c->out_bytes);

	return run(fd, &call);
}

struct uverbs_command
uverbs_make(uint32_t number, void *in, uint16_t in_bytes, void *out,
	    uint16_t out_bytes)
{
	return (struct uverbs_command){ .number = number,
					.in = in,
					.in_bytes = in_bytes,
					.out = out,
					.out_bytes = out_bytes };
}

int
uverbs_open(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", walk_device.uverbs);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "cannot open %s: %s\n", path, strerror(errno));
		exit(2);
	}
	return fd;
}

int
uverbs_get_context(int fd, uint32_t *nb_comp_vectors, uint64_t *support)
{
	struct call call = new_call(UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_GET_CONTEXT);

	add(&call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4,
	    (uintptr_t)nb_comp_vectors);
	add(&call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8, (uintptr_t)support);
	return run(fd, &call);
}

int
uverbs_open_context(void)
{
	uint32_t nb_comp_vectors;
	uint64_t support;
	int fd = uverbs_open();
	int error = uverbs_get_context(fd, &nb_comp_vectors, &support);

	if (error != 0) {
		fprintf(stderr, "no context: %s\n", strerror(error));
		exit(2);
	}
	return fd;
}

int
uverbs_alloc_pd(int fd, uint32_t *pd)
{
	uint64_t in = 0;
	struct uverbs_command c = uverbs_make(IB_USER_VERBS_CMD_ALLOC_PD, &in,
					      sizeof(in), pd, sizeof(*pd));

	return uverbs_command(fd, &c);
}

int
uverbs_reg_mr(int fd, struct uverbs_mr *mr)
{
	struct ib_uverbs_reg_mr in = {
		.start = mr->start,
		.length = mr->length,
		.hca_va = mr->hca_va,
		.pd_handle = mr->pd,
		.access_flags = mr->access,
	};
	struct ib_uverbs_reg_mr_resp out = { 0 };
	struct uverbs_command c = uverbs_make(IB_USER_VERBS_CMD_REG_MR, &in,
					      sizeof(in), &out, sizeof(out));
	int error = uverbs_command(fd, &c);

	mr->handle = out.mr_handle;
	mr->lkey = out.lkey;
	mr->rkey = out.rkey;
	return error;
}

struct uverbs_mr
uverbs_good_mr(uint32_t pd)
{
	return (struct uverbs_mr){ .start = WALK_RAM,
				   .length = 4096,
				   .hca_va = WALK_RAM,
				   .pd = pd,
				   .access = 1 };
}

int
uverbs_create_channel(int fd, int32_t *channel)
{
	uint64_t in = 0;
	struct uverbs_command c =
		uverbs_make(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in,
			    sizeof(in), channel, sizeof(*channel));

	return uverbs_command(fd, &c);
}

int
uverbs_create_cq(int fd, struct uverbs_cq *cq)
{
	struct call call = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uint64_t uhw_in[3] = { cq->buffer, cq->uhw_flags, 0 };
	int error;

	cq->cqe_answer = 0xdead;
	cq->uhw_out[0] = cq->uhw_out[1] = 0xdead;
	uverbs_add(&call, cq->omit, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	uverbs_add(&call, cq->omit, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4,
		   (uintptr_t)&cq->cqe_answer);
	uverbs_add(&call, cq->omit, UVERBS_ATTR_CREATE_CQ_CQE, 4, cq->cqe);
	uverbs_add(&call, cq->omit, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8,
		   cq->user_handle);
	if (cq->channel >= 0)
		add(&call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0,
		    (uint32_t)cq->channel);
	uverbs_add(&call, cq->omit, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4,
		   cq->vector);
	if (cq->flags != UINT32_MAX)
		add(&call, UVERBS_ATTR_CREATE_CQ_FLAGS, 4, cq->flags);
	if (cq->uhw_in_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_IN, cq->uhw_in_bytes,
		    call_input(uhw_in, cq->uhw_in_bytes));
	if (cq->uhw_out_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_OUT, cq->uhw_out_bytes,
		    (uintptr_t)cq->uhw_out);
	error = run(fd, &call);
	cq->handle = uverbs_value(&call, UVERBS_ATTR_CREATE_CQ_HANDLE);
	return error;
}

int
uverbs_create_wq(int fd, struct uverbs_wq *wq)
{
	struct call call = new_call(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	uint64_t uhw_in[3] = { wq->buffer,
			       wq->buffer_bytes | (uint64_t)wq->reserved << 32,
			       0 };
	int error;

	wq->max_wr_answer = wq->max_sge_answer = wq->number = 0xdead;
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_HANDLE, 0, 0);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 8,
		   wq->user_handle);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, 0, wq->pd);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, 0, wq->cq);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_TYPE, 8, wq->type);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_MAX_WR, 4, wq->max_wr);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_MAX_SGE, 4,
		   wq->max_sge);
	if (wq->flags != UINT32_MAX)
		add(&call, UVERBS_ATTR_CREATE_WQ_FLAGS, 4, wq->flags);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4,
		   (uintptr_t)&wq->max_wr_answer);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4,
		   (uintptr_t)&wq->max_sge_answer);
	uverbs_add(&call, wq->omit, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, 4,
		   (uintptr_t)&wq->number);
	if (wq->uhw_in_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_IN, wq->uhw_in_bytes,
		    call_input(uhw_in, wq->uhw_in_bytes));
	error = run(fd, &call);
	wq->handle = uverbs_value(&call, UVERBS_ATTR_CREATE_WQ_HANDLE);
	return error;
}

int
uverbs_create_table(int fd, struct uverbs_table *table)
{
	struct {
		uint32_t comp_mask, log_size, wq[64];
	} in = { .comp_mask = table->comp_mask, .log_size = table->log_size };
	struct ib_uverbs_ex_create_rwq_ind_table_resp out = { 0 };
	struct uverbs_command c =
		uverbs_make(EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL,
			    &in,
			    (uint16_t)((8 + 4 * table->nb_wqs + 7) / 8 * 8),
			    &out, sizeof(out));
	int error;

	memcpy(in.wq, table->wq, 4 * table->nb_wqs);
	in.wq[table->nb_wqs % 64] |= table->padding;
	error = uverbs_command(fd, &c);
	table->handle = out.ind_tbl_handle;
	table->number = out.ind_tbl_num;
	table->response_length = out.response_length;
	table->comp_mask_answer = out.comp_mask;
	return error;
}

int
uverbs_create_qp(int fd, struct uverbs_qp *qp)
{
	struct call call = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	const uint32_t cap[5] = { qp->max_send_wr, qp->max_recv_wr,
				  qp->max_send_sge, qp->max_recv_sge,
				  qp->max_inline };
	char uhw_in[128] = { 0 };
	int error;

	memset(qp->uhw_out, 0, sizeof(qp->uhw_out));
	memset(qp->cap, 0xff, sizeof(qp->cap));
	qp->number = 0xdead;
	if (qp->is_rss)
		memcpy(uhw_in, &qp->rss, sizeof(qp->rss));
	else
		memcpy(uhw_in, &qp->raw, sizeof(qp->raw));
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, qp->pd);
	if (qp->is_rss) {
		uverbs_add(&call, qp->omit,
			   UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, 0, qp->table);
	} else {
		uverbs_add(&call, qp->omit,
			   UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, qp->send_cq);
		uverbs_add(&call, qp->omit,
			   UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, qp->recv_cq);
	}
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_TYPE, 8, qp->type);
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8,
		   qp->user_handle);
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap),
		   (uintptr_t)cap);
	if (qp->flags != UINT32_MAX)
		add(&call, UVERBS_ATTR_CREATE_QP_FLAGS, 4, qp->flags);
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_RESP_CAP,
		   sizeof(qp->cap), (uintptr_t)qp->cap);
	uverbs_add(&call, qp->omit, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4,
		   (uintptr_t)&qp->number);
	if (qp->uhw_in_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_IN, qp->uhw_in_bytes,
		    call_input(uhw_in, qp->uhw_in_bytes));
	if (qp->uhw_out_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_OUT, qp->uhw_out_bytes,
		    (uintptr_t)qp->uhw_out);
	error = run(fd, &call);
	qp->handle = uverbs_value(&call, UVERBS_ATTR_CREATE_QP_HANDLE);
	return error;
}

int
uverbs_destroy(int fd, uint16_t object, uint32_t handle)
{
	/* Method, attribute of the handle and bytes of the answer. */
	static const struct {
		uint16_t method, attr, answer_bytes;
	} how[] = {
		[UVERBS_OBJECT_PD] = { UVERBS_METHOD_PD_DESTROY,
				       UVERBS_ATTR_DESTROY_PD_HANDLE, 0 },
		[UVERBS_OBJECT_MR] = { UVERBS_METHOD_MR_DESTROY,
				       UVERBS_ATTR_DESTROY_MR_HANDLE, 0 },
		[UVERBS_OBJECT_CQ] = { UVERBS_METHOD_CQ_DESTROY,
				       UVERBS_ATTR_DESTROY_CQ_HANDLE, 8 },
		[UVERBS_OBJECT_WQ] = { UVERBS_METHOD_WQ_DESTROY,
				       UVERBS_ATTR_DESTROY_WQ_HANDLE, 4 },
		[UVERBS_OBJECT_QP] = { UVERBS_METHOD_QP_DESTROY,
				       UVERBS_ATTR_DESTROY_QP_HANDLE, 4 },
		[UVERBS_OBJECT_RWQ_IND_TBL] = { UVERBS_METHOD_RWQ_IND_TBL_DESTROY,
						UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE,
						0 },
	};
	struct call call = new_call(object, how[object].method);

	add(&call, how[object].attr, 0, handle);
	uverbs_destroy_answer[0] = uverbs_destroy_answer[1] = 0xdead;
	if (how[object].answer_bytes != 0)
		add(&call, 1, how[object].answer_bytes,
		    (uintptr_t)uverbs_destroy_answer);
	return run(fd, &call);
}

void
uverbs_try_destroy(int fd, uint16_t object, uint32_t handle, const char *what)
{
	walk_result(uverbs_destroy(fd, object, handle), what);
}
