/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands of the old write() interface that have a method now. libibverbs
 * sends them if the kernel refuses the method, or ioctl()
 * (libibverbs/cmd_fallback.c). Each is translated into a call of the method;
 * Linux has common code for both, too.
 */

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "kernel_version.h"
#include "mem.h"
#include "uverbs.h"
#include "verbs.h"

#define MAX_ATTRS 16 /* more than any of the methods has */

/* The limits have the same layout in a command, its answer and an attribute. */
static_assert(offsetof(struct ib_uverbs_create_qp, max_inline_data) -
		      offsetof(struct ib_uverbs_create_qp, max_send_wr) ==
	      offsetof(struct ib_uverbs_qp_cap, max_inline_data), "limits");
static_assert(offsetof(struct ib_uverbs_create_qp_resp, max_inline_data) -
		      offsetof(struct ib_uverbs_create_qp_resp, max_send_wr) ==
	      offsetof(struct ib_uverbs_qp_cap, max_inline_data), "limits");

/* The method's attributes, and the location of the answer. */
struct translation {
	struct uverbs_call *call;
	uint64_t answer;
	uint32_t answer_bytes;
	bool has_answer; /* false: an extended command without answer */
	uint32_t nb_attrs;
	struct ib_uverbs_attr attr[MAX_ATTRS];
};

static void
add(struct translation *t, uint16_t id, uint16_t len, uint64_t data)
{
	t->attr[t->nb_attrs++] = (struct ib_uverbs_attr){
		.attr_id = id,
		.len = len,
		.data = data,
	};
}

static void
add_handle(struct translation *t, uint16_t id, uint32_t handle)
{
	add(t, id, 0, handle);
}

static void
add_number(struct translation *t, uint16_t id, uint64_t value)
{
	add(t, id, sizeof(value), value);
}

/* Add an output attribute at an offset of the answer. */
static void
add_answer(struct translation *t, uint16_t id, size_t at, uint16_t len)
{
	if (t->has_answer)
		add(t, id, len, t->answer + at);
}

/* Driver data is the same in both forms. */
static void
add_driver_data(struct translation *t)
{
	static const uint16_t ids[] = { UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT };

	for (uint32_t i = 0; i < 2; i++) {
		const struct ib_uverbs_attr *attr = uverbs_attr(t->call, ids[i]);

		if (attr != NULL)
			add(t, ids[i], attr->len, attr->data);
	}
}

/*
 * Read the command, whose minimum size is checked already; later fields may be
 * missing. Fill the answer with zeros, which fails if it is not writable.
 */
static int
begin(struct translation *t, struct uverbs_call *call, void *cmd,
      size_t cmd_bytes, size_t answer_bytes)
{
	/* The longest answer. */
	static const struct ib_uverbs_ex_create_qp_resp zeros;
	const struct ib_uverbs_attr *out = uverbs_attr(call, UVERBS_ATTR_CORE_OUT);
	int rc;

	t->call = call;
	t->has_answer = out != NULL;
	t->answer = t->has_answer ? out->data : 0;
	t->answer_bytes = (uint32_t)answer_bytes;
	t->nb_attrs = 0;
	rc = uverbs_in_or_zero(call, UVERBS_ATTR_CORE_IN, cmd, cmd_bytes);
	return rc < 0 ? rc : uverbs_out(call, UVERBS_ATTR_CORE_OUT, &zeros,
					answer_bytes);
}

/* Run the method with its attributes, then restore the call's own. */
static int
run(struct translation *t, uint16_t object, uint16_t method)
{
	struct uverbs_call *call = t->call;
	struct ib_uverbs_attr of_command[UVERBS_MAX_ATTRS];
	const uint32_t nb_of_command = call->nb_attrs;
	int rc;

	memcpy(of_command, call->attr, sizeof(of_command));
	memcpy(call->attr, t->attr, sizeof(t->attr));
	call->nb_attrs = t->nb_attrs;
	rc = uverbs_run(call, object, method);
	memcpy(t->attr, call->attr, sizeof(t->attr));
	memcpy(call->attr, of_command, sizeof(of_command));
	call->nb_attrs = nb_of_command;
	memset(call->changed, 0, sizeof(call->changed));
	return rc;
}

/* Write a word of the answer, if the program has requested one. */
static int
put_word(const struct translation *t, size_t at, uint32_t word)
{
	return !t->has_answer ? 0 : mem_write(model_self, t->answer + at, &word,
					      sizeof(word));
}

/*
 * The same if it creates an object: its handle is the first attribute. length: offset of
 * response_length in the answer; 0: it has none.
 */
static int
run_new(struct translation *t, uint16_t object, uint16_t method, size_t handle, size_t length)
{
	int rc = run(t, object, method);

	if (rc == 0)
		rc = put_word(t, handle, (uint32_t)t->attr[0].data);
	return rc < 0 || length == 0 ? rc : put_word(t, length, t->answer_bytes);
}

/* ib_uverbs_get_context(): with the asynchronous event file. */
int
uverbs_legacy_get_context(struct uverbs_call *call)
{
	struct ib_uverbs_get_context_resp resp = { 0 };
	int rc;

	uverbs_begin(call, "get_context", "%s", "");
	/* First, so that a failure to answer leaves no context enabled. */
	rc = uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc == 0)
		rc = verbs_get_context_async(call->context);
	if (rc < 0)
		return rc;
	resp.async_fd = (uint32_t)rc;
	resp.num_comp_vectors = kernel_version()->nb_comp_vectors;
	return uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

int
uverbs_legacy_query_port(struct uverbs_call *call)
{
	struct ib_uverbs_query_port cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd), 0);

	if (rc < 0)
		return rc;
	add_number(&t, UVERBS_ATTR_QUERY_PORT_PORT_NUM, cmd.port_num);
	add_answer(&t, UVERBS_ATTR_QUERY_PORT_RESP, 0,
		   sizeof(struct ib_uverbs_query_port_resp));
	return run(&t, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
}

static void
add_cq(struct translation *t, uint32_t nb_cqe, uint64_t user_handle, uint32_t comp_vector,
       int32_t channel, size_t cqe_in_answer)
{
	add_handle(t, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	add_number(t, UVERBS_ATTR_CREATE_CQ_CQE, nb_cqe);
	add_number(t, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user_handle);
	add_number(t, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, comp_vector);
	if (channel >= 0)
		add_handle(t, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, (uint32_t)channel);
	add_answer(t, UVERBS_ATTR_CREATE_CQ_RESP_CQE, cqe_in_answer, sizeof(uint32_t));
	add_driver_data(t);
}

int
uverbs_legacy_create_cq(struct uverbs_call *call)
{
	struct ib_uverbs_create_cq cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_create_cq_resp));

	if (rc < 0)
		return rc;
	add_cq(&t, cmd.cqe, cmd.user_handle, cmd.comp_vector, cmd.comp_channel,
	       offsetof(struct ib_uverbs_create_cq_resp, cqe));
	return run_new(&t, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
		       offsetof(struct ib_uverbs_create_cq_resp, cq_handle), 0);
}

/* ib_uverbs_ex_create_cq() */
int
uverbs_legacy_create_cq_ex(struct uverbs_call *call)
{
	struct ib_uverbs_ex_create_cq cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_ex_create_cq_resp));

	if (rc < 0)
		return rc;
	if (cmd.comp_mask != 0 || cmd.reserved != 0)
		return -EINVAL;
	add_cq(&t, cmd.cqe, cmd.user_handle, cmd.comp_vector, cmd.comp_channel,
	       offsetof(struct ib_uverbs_ex_create_cq_resp, base.cqe));
	add_number(&t, UVERBS_ATTR_CREATE_CQ_FLAGS, cmd.flags);
	return run_new(&t, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
		       offsetof(struct ib_uverbs_ex_create_cq_resp, base.cq_handle),
		       offsetof(struct ib_uverbs_ex_create_cq_resp, response_length));
}

/* The common start of both forms of the answer. */
static void
add_qp_answer(struct translation *t)
{
	add_answer(t, UVERBS_ATTR_CREATE_QP_RESP_CAP,
		   offsetof(struct ib_uverbs_create_qp_resp, max_send_wr),
		   sizeof(struct ib_uverbs_qp_cap));
	add_answer(t, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM,
		   offsetof(struct ib_uverbs_create_qp_resp, qpn),
		   sizeof(uint32_t));
	add_driver_data(t);
}

/* The limits are in the command, at offset at. */
static void
add_qp_limits(struct translation *t, size_t at)
{
	const struct ib_uverbs_attr *in = uverbs_attr(t->call,
						      UVERBS_ATTR_CORE_IN);

	/* A command that is cut there has no limits. */
	if (in != NULL && in->len >= at + sizeof(struct ib_uverbs_qp_cap))
		add(t, UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap),
	    in->data + at);
}

int
uverbs_legacy_create_qp(struct uverbs_call *call)
{
	struct ib_uverbs_create_qp cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_create_qp_resp));

	if (rc < 0)
		return rc;
	/* The model has no shared receive queues. */
	if (cmd.is_srq)
		return -EINVAL;
	add_handle(&t, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	add_handle(&t, UVERBS_ATTR_CREATE_QP_PD_HANDLE, cmd.pd_handle);
	add_handle(&t, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cmd.send_cq_handle);
	add_handle(&t, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cmd.recv_cq_handle);
	add_number(&t, UVERBS_ATTR_CREATE_QP_TYPE, cmd.qp_type);
	add_qp_limits(&t, offsetof(struct ib_uverbs_create_qp, max_send_wr));
	add_qp_answer(&t);
	return run_new(&t, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE,
		       offsetof(struct ib_uverbs_create_qp_resp, qp_handle), 0);
}

int
uverbs_legacy_create_qp_ex(struct uverbs_call *call)
{
	struct ib_uverbs_ex_create_qp cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_ex_create_qp_resp));

	if (rc < 0)
		return rc;
	if ((cmd.comp_mask & ~(uint32_t)IB_UVERBS_CREATE_QP_MASK_IND_TABLE) != 0 ||
	    cmd.reserved != 0 || cmd.is_srq)
		return -EINVAL;
	add_handle(&t, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	add_handle(&t, UVERBS_ATTR_CREATE_QP_PD_HANDLE, cmd.pd_handle);
	if (cmd.comp_mask != 0) {
		add_handle(&t, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE,
			   cmd.rwq_ind_tbl_handle);
	} else {
		add_handle(&t, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
			   cmd.send_cq_handle);
		add_handle(&t, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE,
			   cmd.recv_cq_handle);
	}
	add_number(&t, UVERBS_ATTR_CREATE_QP_TYPE, cmd.qp_type);
	add_number(&t, UVERBS_ATTR_CREATE_QP_FLAGS, cmd.create_flags);
	add_qp_limits(&t, offsetof(struct ib_uverbs_ex_create_qp, max_send_wr));
	add_qp_answer(&t);
	return run_new(&t, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE,
		       offsetof(struct ib_uverbs_create_qp_resp, qp_handle),
		       offsetof(struct ib_uverbs_ex_create_qp_resp, response_length));
}

int
uverbs_legacy_create_wq(struct uverbs_call *call)
{
	struct ib_uverbs_ex_create_wq cmd;
	struct translation t;
	int rc = begin(&t, call, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_ex_create_wq_resp));

	if (rc < 0)
		return rc;
	if (cmd.comp_mask != 0)
		return -EOPNOTSUPP;
	add_handle(&t, UVERBS_ATTR_CREATE_WQ_HANDLE, 0);
	add_handle(&t, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, cmd.pd_handle);
	add_handle(&t, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, cmd.cq_handle);
	add_number(&t, UVERBS_ATTR_CREATE_WQ_TYPE, cmd.wq_type);
	add_number(&t, UVERBS_ATTR_CREATE_WQ_MAX_WR, cmd.max_wr);
	add_number(&t, UVERBS_ATTR_CREATE_WQ_MAX_SGE, cmd.max_sge);
	add_number(&t, UVERBS_ATTR_CREATE_WQ_FLAGS, cmd.create_flags);
	add_answer(&t, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR,
		   offsetof(struct ib_uverbs_ex_create_wq_resp, max_wr),
		   sizeof(uint32_t));
	add_answer(&t, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE,
		   offsetof(struct ib_uverbs_ex_create_wq_resp, max_sge),
		   sizeof(uint32_t));
	add_answer(&t, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM,
		   offsetof(struct ib_uverbs_ex_create_wq_resp, wqn),
		   sizeof(uint32_t));
	add_driver_data(&t);
	return run_new(&t, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE,
		       offsetof(struct ib_uverbs_ex_create_wq_resp, wq_handle),
		       offsetof(struct ib_uverbs_ex_create_wq_resp, response_length));
}

#define EX(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (cmd))

/* Commands that destroy objects: with a handle, some with an answer. */
static const struct destruction {
	uint32_t command;
	uint16_t object, method, handle, answer; /* answer: its output attribute */
	uint16_t cmd_bytes, answer_bytes;
	uint16_t handle_word; /* position in the command */
} destructions[] = {
	{ IB_USER_VERBS_CMD_DEALLOC_PD, UVERBS_OBJECT_PD,
	  UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, 4, 0, 0 },
	{ IB_USER_VERBS_CMD_DEREG_MR, UVERBS_OBJECT_MR,
	  UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, 4, 0, 0 },
	{ IB_USER_VERBS_CMD_DESTROY_CQ, UVERBS_OBJECT_CQ,
	  UVERBS_METHOD_CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_HANDLE,
	  UVERBS_ATTR_DESTROY_CQ_RESP, 16, 8, 2 },
	{ IB_USER_VERBS_CMD_DESTROY_QP, UVERBS_OBJECT_QP,
	  UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_HANDLE,
	  UVERBS_ATTR_DESTROY_QP_RESP, 16, 4, 2 },
	{ EX(IB_USER_VERBS_EX_CMD_DESTROY_WQ), UVERBS_OBJECT_WQ,
	  UVERBS_METHOD_WQ_DESTROY, UVERBS_ATTR_DESTROY_WQ_HANDLE,
	  UVERBS_ATTR_DESTROY_WQ_RESP, 8, 16, 1 },
	{ EX(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL),
	  UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY,
	  UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, 0, 8, 0, 1 },
};

int
uverbs_legacy_destroy(struct uverbs_call *call)
{
	const uint64_t command = uverbs_number(call, UVERBS_ATTR_WRITE_CMD);
	const struct destruction *what = destructions;
	struct translation t;
	size_t head_bytes = 0;
	uint32_t cmd[4];
	int rc;

	while (what->command != command)
		what++;
	rc = begin(&t, call, cmd, what->cmd_bytes, what->answer_bytes);
	if (rc < 0)
		return rc;
	/* comp_mask; in the answer response_length too */
	if ((command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
		if (cmd[0] != 0)
			return -EOPNOTSUPP;
		head_bytes = 2 * sizeof(uint32_t);
	}
	add_handle(&t, what->handle, cmd[what->handle_word]);
	if (what->answer_bytes > 0)
		add_answer(&t, what->answer, head_bytes,
			   (uint16_t)(what->answer_bytes - head_bytes));
	rc = run(&t, what->object, what->method);
	return rc < 0 || head_bytes == 0 || what->answer_bytes == 0 ? rc :
		       put_word(&t, sizeof(uint32_t), what->answer_bytes);
}
