/* SPDX-License-Identifier: BSD-3-Clause */

/* create_qp for Tx, and the ownership of a vPort. */

#include "error_cases.h"

#define NETDEV "mana0p0"

/* Create a QP with wrong attributes on a domain; its CQ is temporary. */
static int
qp_with(struct fixture *fx, struct ibv_pd *pd,
	void (*spoil)(struct fixture *fx, struct ibv_qp_init_attr *attr))
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr attr;
	int error;

	assert_non_null(cq);
	attr = fx_qp_attr(cq);
	if (spoil != NULL)
		spoil(fx, &attr);
	error = ERRNO_OF(ibv_create_qp(pd, &attr), ibv_destroy_qp);
	fx_set_allocators(fx->ctx);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
qp_on_port(struct fixture *fx, uintptr_t port)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = fx->pd,
		.pd_context = (void *)port,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(fx->ctx, &attr);
	int error;

	assert_non_null(parent);
	error = qp_with(fx, parent, NULL);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	return error;
}

static int
qp_without_parent(struct fixture *fx)
{
	return qp_with(fx, fx->pd, NULL);
}

static int
qp_on_port_0(struct fixture *fx)
{
	return qp_on_port(fx, 0);
}

static int
qp_on_port_3(struct fixture *fx)
{
	return qp_on_port(fx, 3);
}

static int
qp_on_second_port(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	return qp_on_port(fx, 2);
}

/* By ioctl, because libmana has its own limits. */
static int
qp_by_ioctl(struct fixture *fx, uint32_t nb_wr, uint32_t nb_sge, uint32_t port,
	   uint32_t ring_bytes)
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	uint32_t cap[5] = { nb_wr, 0, nb_sge, 0, 0 }, out_cap[5], number;
	struct {
		uint64_t addr;
		uint32_t bytes, port;
	} uhw = { (uintptr_t)fx->buf, ring_bytes, port };
	uint32_t answer[4], reported;
	struct call call, destroy;
	int error;

	assert_non_null(cq);
	call = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	add(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, fx->pd->handle);
	add(&call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, cq->handle);
	add(&call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, cq->handle);
	add(&call, UVERBS_ATTR_CREATE_QP_TYPE, 8, IBV_QPT_RAW_PACKET);
	add(&call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(out_cap),
	    (uintptr_t)out_cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, (uintptr_t)&number);
	add(&call, UVERBS_ATTR_UHW_IN, sizeof(uhw), (uintptr_t)&uhw);
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
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
qp_of_too_many_wrs(struct fixture *fx)
{
	static const uint32_t most[NB_AGES] = { 2048, 2048, 256 };

	assert_int_equal(qp_by_ioctl(fx, most[error_age], 30, 1, 4096), 0);
	return qp_by_ioctl(fx, most[error_age] + 1, 30, 1, 4096);
}

static int
qp_of_31_segments(struct fixture *fx)
{
	return qp_by_ioctl(fx, 64, 31, 1, 4096);
}

static int
qp_ring_of_half_a_page(struct fixture *fx)
{
	return qp_by_ioctl(fx, 64, 30, 1, 2048);
}

static int
qp_ring_of_three_pages(struct fixture *fx)
{
	return qp_by_ioctl(fx, 64, 30, 1, 12288);
}

static int
qp_ring_of_0_bytes(struct fixture *fx)
{
	return qp_by_ioctl(fx, 64, 30, 1, 0);
}

static int
qp_without_privilege(struct fixture *fx)
{
	MODEL_CALL(mana_model_privileges)(false, true);
	return qp_with(fx, fx->parent, NULL);
}

static void
other_type(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)fx;
	attr->qp_type = IBV_QPT_UC;
}

static int
qp_of_other_type(struct fixture *fx)
{
	int error = qp_with(fx, fx->parent, other_type);

	/* libmana has another errno from version 57 on. */
	return error == EOPNOTSUPP ? EINVAL : error;
}

static void
not_aligned(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(fx, fx->buf + 64);
}

static void
not_mapped(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(fx, ELSEWHERE);
}

static void
no_ring(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(fx, NULL);
}

static void
no_memory(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_limit_memory(fx);
}

static void
card_refuses(struct fixture *fx, struct ibv_qp_init_attr *attr)
{
	(void)fx;
	(void)attr;
	errors_fail("create_qp", EPROTO);
}

#define QP(name, spoil)                                     \
	static int                                          \
	name(struct fixture *fx)                            \
	{                                                   \
		return qp_with(fx, fx->parent, spoil);      \
	}
QP(qp_not_aligned, not_aligned)
QP(qp_not_mapped, not_mapped)
QP(qp_without_ring, no_ring)
QP(qp_beyond_memlock, no_memory)
QP(qp_refused_by_card, card_refuses)
QP(qp_that_is_good, NULL)

static int
port_of_the_netdev(struct fixture *fx)
{
	int error;

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NETDEV, true), 0);
	error = qp_that_is_good(fx);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NETDEV, false), 0);
	assert_int_equal(qp_that_is_good(fx), 0);
	return error;
}

static int
port_of_another_domain(struct fixture *fx)
{
	struct fixture other = { 0 };
	int error;

	assert_int_equal(fx_up(&other, 0, 1, 1, 0), 0);
	error = qp_that_is_good(fx);
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(qp_that_is_good(fx), 0);
	return error;
}

static int
netdev_of_a_port_in_use(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	return -MODEL_CALL(mana_model_netdev_set)(NETDEV, true);
}

static int
cq_of_another_qp(struct fixture *fx)
{
	struct ibv_qp_init_attr attr;

	assert_int_equal(fx_add_tx(fx), 0);
	attr = fx_qp_attr(fx->tx[0].cq);
	return ERRNO_OF(ibv_create_qp(fx->parent, &attr), ibv_destroy_qp);
}

/*
 * A CQ size that is no power of two: create_cq accepts it, but the card refuses
 * it.
 */
static int
cq_of_100_entries(struct fixture *fx)
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 100, NULL, NULL, 0);
	struct ibv_qp_init_attr attr;
	int error;

	assert_non_null(cq);
	attr = fx_qp_attr(cq);
	error = ERRNO_OF(ibv_create_qp(fx->parent, &attr), ibv_destroy_qp);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
cq_number_in_table(struct fixture *fx)
{
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	fx->tx[0].qp = NULL;
	error = fx_add_tx(fx);
	/* A new attempt succeeds after the old CQ is destroyed. */
	assert_int_equal(ibv_destroy_cq(fx->tx[0].cq), 0);
	fx->tx[0].cq = NULL;
	assert_int_equal(fx_add_tx(fx), 0);
	return error;
}

const struct error_case errors_qp[] = {
	{ "4.6 create_qp: nothing wrong", qp_that_is_good, SAME(0) },
	{ "4.6 create_qp: no parent domain", qp_without_parent,
	  SAME(EINVAL) },
	{ "4.6 create_qp: type", qp_of_other_type, SAME(EINVAL) },
	{ "4.6 create_qp: CAP_NET_RAW", qp_without_privilege, SAME(EPERM) },
	{ "4.6 create_qp: max_send_wr", qp_of_too_many_wrs, SAME(EINVAL) },
	{ "4.6 create_qp: max_send_sge", qp_of_31_segments, SAME(EINVAL) },
	{ "4.6 create_qp: port 0", qp_on_port_0, SAME(EINVAL) },
	{ "4.6 create_qp: port 3 of 2", qp_on_port_3, SAME(EINVAL) },
	{ "4.6 create_qp: domain of another port", qp_on_second_port,
	  { EINVAL, EPROTO, EPROTO } },
	{ "4.6 create_qp: netdev is up", port_of_the_netdev,
	  { EBUSY, ENODEV, ENODEV } },
	{ "4.6 create_qp: another domain has the vPort",
	  port_of_another_domain, { EBUSY, ENODEV, ENODEV } },
	{ "9 netdev up: a domain has the vPort", netdev_of_a_port_in_use,
	  SAME(EBUSY) },
	{ "4.6 create_qp: ring not aligned", qp_not_aligned, SAME(EINVAL) },
	{ "4.6 create_qp: ring not mapped", qp_not_mapped, SAME(EFAULT) },
	{ "4.6 create_qp: allocator fails", qp_without_ring, SAME(ENOMEM) },
	{ "4.6 create_qp: RLIMIT_MEMLOCK", qp_beyond_memlock, SAME(ENOMEM) },
	{ "4.6 create_qp: command fails", qp_refused_by_card, SAME(EPROTO) },
	{ "4.6 create_qp: ring of half a page", qp_ring_of_half_a_page,
	  SAME(EPROTO) },
	{ "4.6 create_qp: ring of three pages", qp_ring_of_three_pages,
	  SAME(EPROTO) },
	{ "4.6 create_qp: no ring", qp_ring_of_0_bytes, SAME(EINVAL) },
	{ "4.6 create_qp: CQ of another QP", cq_of_another_qp,
	  SAME(EPROTO) },
	{ "1.1 create_qp: CQ of 100 entries", cq_of_100_entries, SAME(EPROTO) },
	{ "2 create_qp: CQ number still in the table", cq_number_in_table,
	  { EINVAL, EINVAL, 0 } },
	{ NULL, NULL, SAME(0) },
};
