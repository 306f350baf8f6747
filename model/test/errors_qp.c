/* SPDX-License-Identifier: BSD-3-Clause */

/* create_qp for sending, and the ownership of a vPort. */

#include "error_cases.h"

#define NETDEV "mana0p0"

/* A QP on a domain whose attributes are spoilt; its CQ is made and gone. */
static int
qp_with(struct vrig *rig, struct ibv_pd *pd,
	void (*spoil)(struct vrig *rig, struct ibv_qp_init_attr *attr))
{
	struct ibv_cq *cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr attr;
	int error;

	assert_non_null(cq);
	attr = vrig_qp_attr(cq);
	if (spoil != NULL)
		spoil(rig, &attr);
	error = ERRNO_OF(ibv_create_qp(pd, &attr), ibv_destroy_qp);
	vrig_set_allocators(rig->ctx);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
qp_on_port(struct vrig *rig, uintptr_t port)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = rig->pd,
		.pd_context = (void *)port,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(rig->ctx, &attr);
	int error;

	assert_non_null(parent);
	error = qp_with(rig, parent, NULL);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	return error;
}

static int
qp_without_parent(struct vrig *rig)
{
	return qp_with(rig, rig->pd, NULL);
}

static int
qp_on_port_0(struct vrig *rig)
{
	return qp_on_port(rig, 0);
}

static int
qp_on_port_3(struct vrig *rig)
{
	return qp_on_port(rig, 3);
}

static int
qp_on_second_port(struct vrig *rig)
{
	assert_int_equal(vrig_add_tx(rig), 0);
	return qp_on_port(rig, 2);
}

/* With the rest of the attributes by hand: libmana has limits of its own. */
static int
qp_by_hand(struct vrig *rig, uint32_t nb_wr, uint32_t nb_sge, uint32_t port,
	   uint32_t ring_bytes)
{
	struct ibv_cq *cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	uint32_t cap[5] = { nb_wr, 0, nb_sge, 0, 0 }, out_cap[5], number;
	struct {
		uint64_t addr;
		uint32_t bytes, port;
	} uhw = { (uintptr_t)rig->buf, ring_bytes, port };
	uint32_t answer[4], reported;
	struct call call, destroy;
	int error;

	assert_non_null(cq);
	call = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	add(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, rig->pd->handle);
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
	error = run(rig->ctx->cmd_fd, &call);
	if (error == 0) {
		destroy = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
		add(&destroy, UVERBS_ATTR_DESTROY_QP_HANDLE, 0,
		    call.attr[0].data);
		add(&destroy, UVERBS_ATTR_DESTROY_QP_RESP, 4,
		    (uintptr_t)&reported);
		assert_int_equal(run(rig->ctx->cmd_fd, &destroy), 0);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
qp_of_too_many_wrs(struct vrig *rig)
{
	static const uint32_t most[NB_AGES] = { 2048, 8192, 256 };

	assert_int_equal(qp_by_hand(rig, most[error_age], 30, 1, 4096), 0);
	return qp_by_hand(rig, most[error_age] + 1, 30, 1, 4096);
}

static int
qp_of_31_segments(struct vrig *rig)
{
	return qp_by_hand(rig, 64, 31, 1, 4096);
}

static int
qp_ring_of_half_a_page(struct vrig *rig)
{
	return qp_by_hand(rig, 64, 30, 1, 2048);
}

static int
qp_ring_of_three_pages(struct vrig *rig)
{
	return qp_by_hand(rig, 64, 30, 1, 12288);
}

static int
qp_ring_of_nothing(struct vrig *rig)
{
	return qp_by_hand(rig, 64, 30, 1, 0);
}

static int
qp_without_privilege(struct vrig *rig)
{
	MODEL_CALL(mana_model_privileges)(false, true);
	return qp_with(rig, rig->parent, NULL);
}

static void
other_type(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)rig;
	attr->qp_type = IBV_QPT_UC;
}

static int
qp_of_other_type(struct vrig *rig)
{
	int error = qp_with(rig, rig->parent, other_type);

	/* libmana from 57 on has another one. */
	return error == EOPNOTSUPP ? EINVAL : error;
}

static void
not_aligned(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(rig, rig->buf + 64);
}

static void
not_mapped(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(rig, ELSEWHERE);
}

static void
no_ring(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_ring_at(rig, NULL);
}

static void
no_memory(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)attr;
	errors_limit_memory(rig);
}

static void
card_refuses(struct vrig *rig, struct ibv_qp_init_attr *attr)
{
	(void)rig;
	(void)attr;
	errors_fail("create_qp", EPROTO);
}

#define QP(name, spoil)                                     \
	static int                                          \
	name(struct vrig *rig)                              \
	{                                                   \
		return qp_with(rig, rig->parent, spoil);    \
	}
QP(qp_not_aligned, not_aligned)
QP(qp_not_mapped, not_mapped)
QP(qp_without_ring, no_ring)
QP(qp_beyond_memlock, no_memory)
QP(qp_refused_by_card, card_refuses)
QP(qp_that_is_good, NULL)

static int
port_of_the_netdev(struct vrig *rig)
{
	int error;

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NETDEV, true), 0);
	error = qp_that_is_good(rig);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NETDEV, false), 0);
	assert_int_equal(qp_that_is_good(rig), 0);
	return error;
}

static int
port_of_another_domain(struct vrig *rig)
{
	struct vrig other = { 0 };
	int error;

	assert_int_equal(vrig_up(&other, 0, 1, 1, 0), 0);
	error = qp_that_is_good(rig);
	assert_int_equal(vrig_close(&other), 0);
	assert_int_equal(qp_that_is_good(rig), 0);
	return error;
}

static int
netdev_of_a_port_in_use(struct vrig *rig)
{
	assert_int_equal(vrig_add_tx(rig), 0);
	return -MODEL_CALL(mana_model_netdev_set)(NETDEV, true);
}

static int
cq_of_another_qp(struct vrig *rig)
{
	struct ibv_qp_init_attr attr;

	assert_int_equal(vrig_add_tx(rig), 0);
	attr = vrig_qp_attr(rig->tx[0].cq);
	return ERRNO_OF(ibv_create_qp(rig->parent, &attr), ibv_destroy_qp);
}

/* CQ entries that are no power of two: taken at first, refused by the card. */
static int
cq_of_odd_size(struct vrig *rig)
{
	struct ibv_cq *cq = ibv_create_cq(rig->ctx, 100, NULL, NULL, 0);
	struct ibv_qp_init_attr attr;
	int error;

	assert_non_null(cq);
	attr = vrig_qp_attr(cq);
	error = ERRNO_OF(ibv_create_qp(rig->parent, &attr), ibv_destroy_qp);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

static int
cq_number_in_table(struct vrig *rig)
{
	int error;

	assert_int_equal(vrig_add_tx(rig), 0);
	assert_int_equal(ibv_destroy_qp(rig->tx[0].qp), 0);
	rig->tx[0].qp = NULL;
	error = vrig_add_tx(rig);
	/* A fresh attempt after the old CQ has gone does. */
	assert_int_equal(ibv_destroy_cq(rig->tx[0].cq), 0);
	rig->tx[0].cq = NULL;
	assert_int_equal(vrig_add_tx(rig), 0);
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
	  { EINVAL, 0, 0 } },
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
	{ "4.6 create_qp: no ring", qp_ring_of_nothing, SAME(EINVAL) },
	{ "4.6 create_qp: CQ of another QP", cq_of_another_qp,
	  SAME(EPROTO) },
	{ "1.1 create_qp: CQ of 100 entries", cq_of_odd_size, SAME(EPROTO) },
	{ "2 create_qp: CQ number still in the table", cq_number_in_table,
	  { EINVAL, EINVAL, 0 } },
	{ NULL, NULL, SAME(0) },
};
