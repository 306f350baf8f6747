/* SPDX-License-Identifier: BSD-3-Clause */

/* Indirection tables and create_qp for Rx. */

#include "error_cases.h"

/* Create all objects except for the RSS QP. */
static void
prepare(struct fixture *fx, uint32_t nb_rx)
{
	struct ibv_wq *wqs[FX_MAX_QUEUES];
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = wqs };
	uint32_t i;

	assert_int_equal(fx_add_tx(fx), 0);
	for (i = 0; i < nb_rx; i++) {
		assert_int_equal(fx_add_rx(fx), 0);
		wqs[i] = fx->rx[i].wq;
	}
	while (1u << attr.log_ind_tbl_size < nb_rx)
		attr.log_ind_tbl_size++;
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &attr);
	assert_non_null(fx->ind);
}

static int
rss_with(struct fixture *fx, void (*spoil)(struct fixture *fx,
					   struct ibv_qp_init_attr_ex *attr))
{
	struct ibv_qp_init_attr_ex attr;

	prepare(fx, 2);
	attr = fx_rss_attr(fx);
	if (spoil != NULL)
		spoil(fx, &attr);
	return ERRNO_OF(ibv_create_qp_ex(fx->ctx, &attr), ibv_destroy_qp);
}

static void
base_domain(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	attr->pd = fx->pd;
}

static void
short_key(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	attr->rx_hash_conf.rx_hash_key_len = 39;
}

static void
other_function(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	attr->rx_hash_conf.rx_hash_function = 2;
}

static void
no_privilege(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	(void)attr;
	MODEL_CALL(mana_model_privileges)(false, true);
}

static void
receive_entries(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	attr->cap.max_recv_wr = 1;
}

static void
receive_segments(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	attr->cap.max_recv_sge = 1;
}

static void
receive_cq(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	attr->recv_cq = fx->rx[0].cq;
}

static void
steering_refused(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	(void)attr;
	errors_fail("create_qp", EPROTO);
}

static void
table_gone(struct fixture *fx, struct ibv_qp_init_attr_ex *attr)
{
	(void)fx;
	attr->rwq_ind_tbl->ind_tbl_handle += 1000;
}

#define RSS(name, spoil)                        \
	static int                              \
	name(struct fixture *fx)                \
	{                                       \
		return rss_with(fx, spoil);     \
	}
RSS(rss_that_is_good, NULL)
RSS(rss_without_parent, base_domain)
RSS(rss_of_short_key, short_key)
RSS(rss_of_other_function, other_function)
RSS(rss_without_privilege, no_privilege)
RSS(rss_of_receive_entries, receive_entries)
RSS(rss_of_receive_segments, receive_segments)
RSS(rss_of_receive_cq, receive_cq)
RSS(rss_refused, steering_refused)

static int
rss_of_no_table(struct fixture *fx)
{
	int error = rss_with(fx, table_gone);

	fx->ind->ind_tbl_handle -= 1000;
	return error;
}

/* By ioctl: then the kernel checks the key's length. */
static int
rss_by_ioctl(struct fixture *fx, uint32_t key_bytes, uint32_t port,
	    uint16_t uhw_bytes)
{
	struct {
		uint64_t fields;
		uint8_t function, reserved[7];
		uint32_t key_bytes;
		uint8_t key[40];
		uint32_t port;
		uint64_t more;
	} uhw = { 0x3, 1, { 0 }, key_bytes, { 0x6d, 0x5a }, port, 1 };
	uint32_t cap[5] = { 0 }, out_cap[5], number, reported;
	static uint8_t answer[520];
	struct call call, destroy;
	int error;

	call = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	add(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, fx->pd->handle);
	add(&call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, 0,
	    fx->ind->ind_tbl_handle);
	add(&call, UVERBS_ATTR_CREATE_QP_TYPE, 8, IBV_QPT_RAW_PACKET);
	add(&call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(out_cap),
	    (uintptr_t)out_cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, (uintptr_t)&number);
	add(&call, UVERBS_ATTR_UHW_IN, uhw_bytes, (uintptr_t)&uhw);
	add(&call, UVERBS_ATTR_UHW_OUT, sizeof(answer), (uintptr_t)answer);
	error = run(fx->ctx->cmd_fd, &call);
	if (error == 0) {
		destroy = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
		add(&destroy, UVERBS_ATTR_DESTROY_QP_HANDLE, 0,
		    call.attr[0].data);
		add(&destroy, UVERBS_ATTR_DESTROY_QP_RESP, 4,
		    (uintptr_t)&reported);
		assert_int_equal(run(fx->ctx->cmd_fd, &destroy), 0);
	}
	return error;
}

#define BY_HAND(name, key_bytes, port, uhw_bytes)                       \
	static int                                                      \
	name(struct fixture *fx)                                        \
	{                                                               \
		prepare(fx, 1);                                         \
		return rss_by_ioctl(fx, key_bytes, port, uhw_bytes);     \
	}
BY_HAND(rss_without_key, 0, 1, 64)
BY_HAND(rss_of_half_a_key, 20, 1, 64)
BY_HAND(rss_of_long_key, 41, 1, 64)
BY_HAND(rss_of_port_0, 40, 0, 64)
BY_HAND(rss_of_port_3, 40, 3, 64)
BY_HAND(rss_of_less_data, 40, 1, 60)
BY_HAND(rss_of_more_data, 40, 1, 72)

static int
rss_before_sq(struct fixture *fx)
{
	assert_int_equal(fx_add_rx(fx), 0);
	return fx_start_rx(fx);
}

static int
second_rss_of_port(struct fixture *fx)
{
	struct fixture second;
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	second = *fx;
	second.ind = NULL;
	second.rss = NULL;
	second.nb_rx = 0;
	memset(second.rx, 0, sizeof(second.rx));
	assert_int_equal(fx_add_rx(&second), 0);
	error = fx_start_rx(&second);
	assert_int_equal(fx_stop_rx(&second), 0);
	return error;
}

static int
wq_twice_in_a_table(struct fixture *fx)
{
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	fx->rx[1] = fx->rx[0];
	fx->nb_rx = 2;
	error = fx_start_rx(fx);
	fx->nb_rx = 1;
	return error;
}

static int
wq_used_before(struct fixture *fx)
{
	assert_int_equal(rss_that_is_good(fx), 0);
	return rss_by_ioctl(fx, 40, 1, 64);
}

static int
cq_of_two_wqs(struct fixture *fx)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 64,
		.max_sge = 1,
		.pd = fx->parent,
	};
	struct ibv_wq *first, *wqs[2];
	struct ibv_rwq_ind_table_init_attr ind = { 1, wqs, 0 };
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	first = fx->rx[0].wq;
	attr.cq = fx->rx[0].cq;
	wqs[0] = first;
	wqs[1] = ibv_create_wq(fx->ctx, &attr);
	assert_non_null(wqs[1]);
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &ind);
	assert_non_null(fx->ind);
	error = rss_by_ioctl(fx, 40, 1, 64);
	assert_int_equal(ibv_destroy_rwq_ind_table(fx->ind), 0);
	fx->ind = NULL;
	assert_int_equal(ibv_destroy_wq(wqs[1]), 0);
	return error;
}

static int
table_of(struct fixture *fx, uint32_t log_size, bool makes_qp)
{
	static struct ibv_wq *wqs[1 << 14];
	struct ibv_rwq_ind_table_init_attr attr = { log_size, wqs, 0 };
	struct ibv_qp_init_attr_ex qp_attr;
	uint32_t i;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	for (i = 0; i < 1u << log_size; i++)
		wqs[i] = fx->rx[0].wq;
	if (!makes_qp)
		return ERRNO_OF(ibv_create_rwq_ind_table(fx->ctx, &attr),
				ibv_destroy_rwq_ind_table);
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &attr);
	assert_non_null(fx->ind);
	qp_attr = fx_rss_attr(fx);
	return ERRNO_OF(ibv_create_qp_ex(fx->ctx, &qp_attr), ibv_destroy_qp);
}

static int
rss_of_128(struct fixture *fx)
{
	return table_of(fx, 7, true);
}

static int
table_refused(struct fixture *fx)
{
	errors_fail("create_ind", ENOMEM);
	return table_of(fx, 0, false);
}

/* A table whose second WQ does not exist. */
static int
table_of_unknown_wq(struct fixture *fx)
{
	uint32_t in[4] = { 0, 1, 0, 0x7777 }, out[4];
	struct call call = command(0x80000037, in, 16, out, 16);

	assert_int_equal(fx_add_rx(fx), 0);
	in[2] = fx->rx[0].wq->handle;
	return run(fx->ctx->cmd_fd, &call);
}

static int
table_shorter_than_it_says(struct fixture *fx)
{
	uint32_t in[4] = { 0, 3, 0, 0 }, out[4];
	struct call call = command(0x80000037, in, 16, out, 16);

	assert_int_equal(fx_add_rx(fx), 0);
	in[2] = in[3] = fx->rx[0].wq->handle;
	return run(fx->ctx->cmd_fd, &call);
}

static int
table_of_other_mask(struct fixture *fx)
{
	uint32_t in[4] = { 1, 0, 0, 0 }, out[4];
	struct call call = command(0x80000037, in, 16, out, 16);

	assert_int_equal(fx_add_rx(fx), 0);
	in[2] = fx->rx[0].wq->handle;
	return run(fx->ctx->cmd_fd, &call);
}

const struct error_case errors_rss[] = {
	{ "4.7 RSS: nothing wrong", rss_that_is_good, SAME(0) },
	{ "4.7 RSS: no parent domain", rss_without_parent, SAME(EINVAL) },
	{ "4.7 RSS: key of 39 bytes, libmana", rss_of_short_key,
	  SAME(EINVAL) },
	{ "10 V7 RSS: no key", rss_without_key, SAME(0) },
	{ "10 V7 RSS: key of 20 bytes", rss_of_half_a_key, SAME(0) },
	{ "10 V7 RSS: key of 41 bytes", rss_of_long_key, SAME(EINVAL) },
	{ "4.7 RSS: table of 128", rss_of_128, SAME(EINVAL) },
	{ "4.7 RSS: hash function", rss_of_other_function, SAME(EINVAL) },
	{ "4.7 RSS: CAP_NET_RAW", rss_without_privilege, SAME(EPERM) },
	{ "4.7 RSS: max_recv_wr", rss_of_receive_entries, SAME(EINVAL) },
	{ "4.7 RSS: max_recv_sge", rss_of_receive_segments, SAME(EINVAL) },
	{ "4.7 RSS: receive CQ", rss_of_receive_cq, SAME(EINVAL) },
	{ "4.7 RSS: unknown table", rss_of_no_table, SAME(ENOENT) },
	{ "4.7 RSS: port 0", rss_of_port_0, SAME(EINVAL) },
	{ "4.7 RSS: port 3 of 2", rss_of_port_3, SAME(EINVAL) },
	{ "7.1 RSS: driver data of 60 bytes", rss_of_less_data,
	  SAME(EINVAL) },
	{ "7.1 RSS: unknown data behind it", rss_of_more_data,
	  { EOPNOTSUPP, 0, 0 } },
	{ "4.7 RSS: before an SQ", rss_before_sq,
	  { EINVAL, EPROTO, EPROTO } },
	{ "4.7 RSS: second one of a port", second_rss_of_port,
	  { EBUSY, 0, 0 } },
	{ "4.7 RSS: WQ twice in the table", wq_twice_in_a_table,
	  SAME(EPROTO) },
	{ "4.7 RSS: WQ used before", wq_used_before, SAME(EPROTO) },
	{ "2 RSS: CQ of two WQs", cq_of_two_wqs, SAME(EPROTO) },
	{ "4.7 RSS: steering refused", rss_refused, SAME(EPROTO) },
	{ "4 table: no memory", table_refused, SAME(ENOMEM) },
	{ "4 table: unknown WQ", table_of_unknown_wq, SAME(ENOENT) },
	{ "4 table: shorter than it says", table_shorter_than_it_says,
	  SAME(ENOSPC) },
	{ "4 table: comp_mask", table_of_other_mask, SAME(EOPNOTSUPP) },
	{ NULL, NULL, SAME(0) },
};
