/* SPDX-License-Identifier: BSD-3-Clause */

/* Handles, references, and destroy commands. */

#include <fcntl.h>

#include "error_cases.h"

#define NO_HANDLE 0x7777

/* A destroy command for an unused handle. */
static int
destroy_unknown(struct fixture *fx, uint16_t object, uint16_t method,
		uint16_t handle_id, uint16_t answer_bytes)
{
	struct call call = new_call(object, method);
	uint64_t answer;

	add(&call, handle_id, 0, NO_HANDLE);
	if (answer_bytes != 0)
		add(&call, 1, answer_bytes, (uintptr_t)&answer);
	return run(fx->ctx->cmd_fd, &call);
}

#define UNKNOWN(name, object, bytes)                                     \
	static int                                                       \
	name(struct fixture *fx)                                         \
	{                                                                \
		return destroy_unknown(fx, UVERBS_OBJECT_##object,       \
			UVERBS_METHOD_##object##_DESTROY,                \
			UVERBS_ATTR_DESTROY_##object##_HANDLE, bytes);   \
	}
UNKNOWN(unknown_pd, PD, 0)
UNKNOWN(unknown_mr, MR, 0)
UNKNOWN(unknown_cq, CQ, 8)
UNKNOWN(unknown_wq, WQ, 4)
UNKNOWN(unknown_qp, QP, 4)
UNKNOWN(unknown_table, RWQ_IND_TBL, 0)

/* A handle is not valid in another context of the same program. */
static int
pd_of_another_context(struct fixture *fx)
{
	struct fixture other = { 0 };
	struct call call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	int error;

	assert_int_equal(fx_open(&other, 0, 2), 0);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, other.pd->handle);
	error = run(fx->ctx->cmd_fd, &call);
	assert_int_equal(fx_close(&other), 0);
	return error;
}

static int
cq_taken_for_a_pd(struct fixture *fx)
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	struct call call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	int error;

	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, cq->handle);
	error = run(fx->ctx->cmd_fd, &call);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
mr_of_unknown_pd(struct fixture *fx)
{
	uint64_t in[5] = { 0, (uintptr_t)fx->buf, 4096, (uintptr_t)fx->buf,
			   NO_HANDLE | (uint64_t)1 << 32 };
	uint32_t out[3];
	struct call call = command(9, in, 40, out, 12);

	return run(fx->ctx->cmd_fd, &call);
}

static int
pd_with_a_region(struct fixture *fx)
{
	struct call call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);

	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, fx->pd->handle);
	return run(fx->ctx->cmd_fd, &call);
}

static int
pd_with_a_queue_pair(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(ibv_dereg_mr(fx->mr), 0);
	fx->mr = NULL;
	return pd_with_a_region(fx);
}

static int
pd_with_a_wq(struct fixture *fx)
{
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(ibv_dereg_mr(fx->mr), 0);
	fx->mr = NULL;
	return pd_with_a_region(fx);
}

static int
cq_with_a_queue_pair(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	return ibv_destroy_cq(fx->tx[0].cq);
}

static int
cq_with_a_wq(struct fixture *fx)
{
	assert_int_equal(fx_add_rx(fx), 0);
	return ibv_destroy_cq(fx->rx[0].cq);
}

static int
wq_with_a_table(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	return ibv_destroy_wq(fx->rx[0].wq);
}

static int
table_with_a_queue_pair(struct fixture *fx)
{
	assert_int_equal(wq_with_a_table(fx), EBUSY);
	return ibv_destroy_rwq_ind_table(fx->ind);
}

static int
channel_with_a_cq(struct fixture *fx)
{
	fx->has_channels = true;
	assert_int_equal(fx_add_rx(fx), 0);
	return ibv_destroy_comp_channel(fx->rx[0].channel);
}

static int
channel_without_event(struct fixture *fx)
{
	struct ibv_cq *cq;
	void *context;
	int error;

	fx->has_channels = true;
	assert_int_equal(fx_add_rx(fx), 0);
	fcntl(fx->rx[0].channel->fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	error = ibv_get_cq_event(fx->rx[0].channel, &cq, &context);
	assert_int_equal(error, -1);
	return errno;
}

/* A failed destroy command leaves the object, and a second one succeeds. */
#define STAYS(name, kind, member, destroy)                           \
	static int                                                   \
	name(struct fixture *fx)                                     \
	{                                                            \
		int error;                                           \
								     \
		assert_int_equal(fx_add_tx(fx), 0);                  \
		assert_int_equal(fx_add_rx(fx), 0);                  \
		assert_int_equal(fx_start_rx(fx), 0);                \
		errors_fail(kind, EPROTO);                           \
		error = destroy(fx->member);                         \
		assert_int_equal(destroy(fx->member), 0);            \
		fx->member = NULL;                                   \
		return error;                                        \
	}
STAYS(rss_not_destroyed, "destroy_qp", rss, ibv_destroy_qp)
STAYS(qp_not_destroyed, "destroy_qp", tx[0].qp, ibv_destroy_qp)

static int
table_not_destroyed(struct fixture *fx)
{
	assert_int_equal(rss_not_destroyed(fx), EPROTO);
	errors_fail("destroy_ind", ETIMEDOUT);
	return ibv_destroy_rwq_ind_table(fx->ind);
}

static int
wq_not_destroyed(struct fixture *fx)
{
	assert_int_equal(fx_add_rx(fx), 0);
	errors_fail("destroy_wq", EPROTO);
	return ibv_destroy_wq(fx->rx[0].wq);
}

static int
cq_not_destroyed(struct fixture *fx)
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	int error;

	errors_fail("destroy_cq", EPROTO);
	error = ibv_destroy_cq(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
pd_not_destroyed(struct fixture *fx)
{
	struct ibv_pd *pd = ibv_alloc_pd(fx->ctx);
	int error;

	errors_fail("dealloc_pd", EPROTO);
	error = ibv_dealloc_pd(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	return error;
}

static int
port_that_does_not_exist(struct fixture *fx)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(fx->ctx, 0, &port), EINVAL);
	return ibv_query_port(fx->ctx, 3, &port);
}

static int
device_does_not_answer(struct fixture *fx)
{
	struct ibv_device_attr_ex attr;

	errors_fail("query_device", EIO);
	return ibv_query_device_ex(fx->ctx, NULL, &attr);
}

const struct error_case errors_objects[] = {
	{ "4 unknown PD", unknown_pd, SAME(ENOENT) },
	{ "4 unknown MR", unknown_mr, SAME(ENOENT) },
	{ "4 unknown CQ", unknown_cq, SAME(ENOENT) },
	{ "4 unknown WQ", unknown_wq, SAME(ENOENT) },
	{ "4 unknown QP", unknown_qp, SAME(ENOENT) },
	{ "4 unknown table", unknown_table, SAME(ENOENT) },
	{ "4 PD of another context", pd_of_another_context, SAME(ENOENT) },
	{ "4 CQ taken for a PD", cq_taken_for_a_pd, SAME(EINVAL) },
	{ "4 MR of an unknown PD", mr_of_unknown_pd, SAME(ENOENT) },
	{ "2.2 PD has an MR", pd_with_a_region, SAME(EBUSY) },
	{ "2.2 PD has a QP", pd_with_a_queue_pair, SAME(EBUSY) },
	{ "2.2 PD has a WQ", pd_with_a_wq, SAME(EBUSY) },
	{ "2.2 CQ has a QP", cq_with_a_queue_pair, SAME(EBUSY) },
	{ "2.2 CQ has a WQ", cq_with_a_wq, SAME(EBUSY) },
	{ "2.2 WQ is in a table", wq_with_a_table, SAME(EBUSY) },
	{ "2.2 table has a QP", table_with_a_queue_pair, SAME(EBUSY) },
	{ "2.2 channel has a CQ", channel_with_a_cq, SAME(EBUSY) },
	{ "4.9 channel without an event", channel_without_event,
	  SAME(EAGAIN) },
	{ "4.8 destroy_qp: RSS, command fails", rss_not_destroyed,
	  SAME(EPROTO) },
	{ "4.8 destroy_qp: command fails", qp_not_destroyed, SAME(EPROTO) },
	{ "4.8 destroy table: channel dead", table_not_destroyed,
	  SAME(ETIMEDOUT) },
	{ "4.8 destroy_wq: command fails", wq_not_destroyed, SAME(EPROTO) },
	{ "4.8 destroy_cq: command fails", cq_not_destroyed, SAME(EPROTO) },
	{ "4.8 dealloc_pd: command fails", pd_not_destroyed, SAME(EPROTO) },
	{ "3.2 query_port: port does not exist", port_that_does_not_exist,
	  SAME(EINVAL) },
	{ "3.1 query_device: device gone", device_does_not_answer,
	  SAME(EIO) },
	{ NULL, NULL, SAME(0) },
};
