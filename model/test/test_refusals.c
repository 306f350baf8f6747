/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What each verb refuses, and with which error: libmana's own checks and
 * those of the modelled kernel. Run under mana-model with two functions of
 * two ports.
 */

#include <sys/mman.h>
#include <sys/resource.h>

#include "verbs_rig.h"

#define ELSEWHERE ((void *)0x10000) /* nothing is mapped there */

static void
create_cq_checks(void **state)
{
	struct vrig *rig = *state;
	struct ibv_cq *cq;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_fails(ibv_create_cq(rig->ctx, 64, NULL, NULL, 64), EINVAL);
	assert_fails(ibv_create_cq(rig->ctx, 0, NULL, NULL, 0), EINVAL);
	assert_fails(ibv_create_cq(rig->ctx, 512, NULL, NULL, 0), EINVAL);
	cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 63);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void *ring_of_test;

static void *
fixed_alloc(size_t size, void *data)
{
	(void)size;
	(void)data;
	return ring_of_test;
}

static void
fixed_free(void *ring, void *data)
{
	(void)ring;
	(void)data;
}

static void
rings_must_be_aligned_and_mapped(void **state)
{
	struct manadv_ctx_allocators allocators = { fixed_alloc, fixed_free,
						    NULL };
	struct vrig *rig = *state;
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = 64,
					 .max_sge = 1 };
	struct ibv_qp_init_attr qp_attr;
	struct ibv_cq *cq;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);
	manadv_set_context_attr(rig->ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				&allocators);
	attr.pd = rig->parent;
	attr.cq = cq;
	qp_attr = vrig_qp_attr(cq);

	ring_of_test = rig->buf + 64;
	assert_fails(ibv_create_cq(rig->ctx, 64, NULL, NULL, 0), EINVAL);
	assert_fails(ibv_create_wq(rig->ctx, &attr), EINVAL);
	assert_fails(ibv_create_qp(rig->parent, &qp_attr), EINVAL);
	ring_of_test = ELSEWHERE;
	assert_fails(ibv_create_cq(rig->ctx, 64, NULL, NULL, 0), EFAULT);
	assert_fails(ibv_create_wq(rig->ctx, &attr), EFAULT);
	assert_fails(ibv_create_qp(rig->parent, &qp_attr), EFAULT);

	vrig_set_allocators(rig->ctx);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
reg_mr_checks(void **state)
{
	struct vrig *rig = *state;
	char *read_only;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_fails(ibv_reg_mr(rig->pd, ELSEWHERE, 4096,
				IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_fails(ibv_reg_mr(rig->pd, rig->buf, 0, IBV_ACCESS_LOCAL_WRITE),
		     EINVAL);
	assert_fails(ibv_reg_mr(rig->pd, (void *)~4095ul, 8192,
				IBV_ACCESS_LOCAL_WRITE), EINVAL);
	assert_fails(ibv_reg_mr(rig->pd, rig->buf, 4096,
				IBV_ACCESS_REMOTE_WRITE), EINVAL);
	assert_fails(ibv_reg_mr(rig->pd, rig->buf, 4096, IBV_ACCESS_HUGETLB),
		     EINVAL);

	read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	assert_fails(ibv_reg_mr(rig->pd, read_only, 4096,
				IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_int_equal(ibv_dereg_mr(rig->mr), 0);
	rig->mr = ibv_reg_mr(rig->pd, read_only, 4096, 0);
	assert_non_null(rig->mr);
	munmap(read_only, 4096);
}

static void
memlock_limits_registration(void **state)
{
	struct rlimit limit = { 65536, 65536 }, before;
	struct vrig *rig = *state;
	void *buf;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	buf = aligned_alloc(4096, 1 << 20);
	memset(buf, 0, 1 << 20);
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	if (before.rlim_max >= limit.rlim_max)
		limit.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	MODEL_CALL(mana_model_privileges)(true, false);
	assert_fails(ibv_reg_mr(rig->pd, buf, 1 << 20, IBV_ACCESS_LOCAL_WRITE),
		     ENOMEM);
	MODEL_CALL(mana_model_privileges)(true, true);
	assert_int_equal(ibv_dereg_mr(rig->mr), 0);
	rig->mr = ibv_reg_mr(rig->pd, buf, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(rig->mr);
	setrlimit(RLIMIT_MEMLOCK, &before);
	free(buf);
}

static void
create_qp_checks(void **state)
{
	struct vrig *rig = *state, bad_port = { 0 };
	struct ibv_qp_init_attr attr;
	struct ibv_cq *cq;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);

	MODEL_CALL(mana_model_privileges)(false, true);
	attr = vrig_qp_attr(cq);
	assert_fails(ibv_create_qp(rig->parent, &attr), EPERM);
	MODEL_CALL(mana_model_privileges)(true, true);

	/* One more than the card takes; libmana's own limit is 512 bytes. */
	attr = vrig_qp_attr(cq);
	attr.cap.max_send_sge = 31;
	assert_fails(ibv_create_qp(rig->parent, &attr), EINVAL);
	/* Rings below a page are refused by the hardware. */
	attr = vrig_qp_attr(cq);
	attr.cap.max_send_wr = 0;
	assert_null(ibv_create_qp(rig->parent, &attr));
	assert_int_equal(ibv_destroy_cq(cq), 0);

	assert_int_equal(vrig_open(&bad_port, 0, 3), 0);
	assert_int_equal(vrig_add_tx(&bad_port), EINVAL);
	assert_int_equal(vrig_close(&bad_port), 0);
}

static void
completion_queue_is_bound_once(void **state)
{
	struct vrig *rig = *state;
	struct ibv_qp_init_attr attr;

	assert_int_equal(vrig_up(rig, 0, 1, 2, 0), 0);
	attr = vrig_qp_attr(rig->tx[0].cq);
	assert_fails(ibv_create_qp(rig->parent, &attr), EPROTO);
	/* Not even when its QP is gone. */
	assert_int_equal(ibv_destroy_qp(rig->tx[0].qp), 0);
	rig->tx[0].qp = NULL;
	assert_fails(ibv_create_qp(rig->parent, &attr), EPROTO);
}

static void
id_of_a_completion_queue_lives_until_destroy(void **state)
{
	struct vrig *rig = *state;

	assert_int_equal(vrig_up(rig, 0, 1, 1, 0), 0);
	assert_int_equal(ibv_destroy_qp(rig->tx[0].qp), 0);
	rig->tx[0].qp = NULL;
	/* The device hands the id out again, the kernel still has it. */
	assert_int_equal(vrig_add_tx(rig), EINVAL);
	assert_int_equal(ibv_destroy_cq(rig->tx[0].cq), 0);
	rig->tx[0].cq = NULL;
	assert_int_equal(vrig_add_tx(rig), 0);
}

static void
vport_has_one_owner(void **state)
{
	struct vrig *rig = *state, second = { 0 }, third = { 0 };

	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	assert_int_equal(vrig_open(&second, 0, 1), 0);
	assert_int_equal(vrig_add_tx(&second), EBUSY);
	assert_int_equal(vrig_close(&second), 0);
	/* Another function's port 1 is another one. */
	assert_int_equal(vrig_up(&third, 1, 1, 1, 1), 0);
	assert_int_equal(vrig_close(&third), 0);

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true),
			 -EBUSY);
	assert_int_equal(vrig_close(rig), 0);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true), 0);
	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_int_equal(vrig_add_tx(rig), EBUSY);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", false),
			 0);
	assert_int_equal(vrig_add_tx(rig), 0);
}

static void
domain_stays_with_its_port(void **state)
{
	struct ibv_parent_domain_init_attr parent_attr = {
		.pd_context = (void *)(uintptr_t)2,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	struct vrig *rig = *state;
	struct ibv_qp_init_attr attr;
	struct ibv_pd *other;
	struct ibv_cq *cq;

	assert_int_equal(vrig_up(rig, 0, 1, 1, 0), 0);
	parent_attr.pd = rig->pd;
	other = ibv_alloc_parent_domain(rig->ctx, &parent_attr);
	assert_non_null(other);
	cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	attr = vrig_qp_attr(cq);
	assert_fails(ibv_create_qp(other, &attr), EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void
rss_needs_a_send_queue_and_is_alone(void **state)
{
	struct vrig *rig = *state;
	struct ibv_qp_init_attr_ex attr;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_int_equal(vrig_add_rx(rig), 0);
	assert_int_equal(vrig_start_rx(rig), EINVAL);
	assert_int_equal(ibv_destroy_rwq_ind_table(rig->ind), 0);
	assert_int_equal(vrig_add_tx(rig), 0);
	assert_int_equal(vrig_start_rx(rig), 0);
	attr = vrig_rss_attr(rig);
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EBUSY);
	/* And its queues cannot be used a second time. */
	assert_int_equal(ibv_destroy_qp(rig->rss), 0);
	rig->rss = NULL;
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EPROTO);
}

static void
rss_checks(void **state)
{
	struct vrig *rig = *state;
	struct ibv_qp_init_attr_ex attr;

	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	assert_int_equal(ibv_destroy_qp(rig->rss), 0);
	rig->rss = NULL;

	MODEL_CALL(mana_model_privileges)(false, true);
	attr = vrig_rss_attr(rig);
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EPERM);
	MODEL_CALL(mana_model_privileges)(true, true);
	attr.rx_hash_conf.rx_hash_function = 2;
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EINVAL);
	attr = vrig_rss_attr(rig);
	attr.rx_hash_conf.rx_hash_key_len = 39;
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EINVAL);
}

static void
work_queue_is_once_in_a_table(void **state)
{
	struct vrig *rig = *state;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_int_equal(vrig_add_tx(rig), 0);
	assert_int_equal(vrig_add_rx(rig), 0);
	rig->rx[1] = rig->rx[0];
	rig->nb_rx = 2;
	assert_int_equal(vrig_start_rx(rig), EPROTO);
	rig->nb_rx = 1;
}

static void
table_of_more_than_64_makes_no_qp(void **state)
{
	struct ibv_wq *wqs[128];
	struct ibv_rwq_ind_table_init_attr ind_attr = {
		.log_ind_tbl_size = 7, .ind_tbl = wqs };
	struct ibv_qp_init_attr_ex attr;
	struct vrig *rig = *state;
	uint32_t i;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_int_equal(vrig_add_tx(rig), 0);
	assert_int_equal(vrig_add_rx(rig), 0);
	for (i = 0; i < 128; i++)
		wqs[i] = rig->rx[0].wq;
	rig->ind = ibv_create_rwq_ind_table(rig->ctx, &ind_attr);
	assert_non_null(rig->ind);
	attr = vrig_rss_attr(rig);
	assert_fails(ibv_create_qp_ex(rig->ctx, &attr), EINVAL);
}

int
main(void)
{
#define T(test) \
	cmocka_unit_test_setup_teardown(test, vrig_setup, vrig_teardown)
	const struct CMUnitTest tests[] = {
		T(create_cq_checks),
		T(rings_must_be_aligned_and_mapped),
		T(reg_mr_checks),
		T(memlock_limits_registration),
		T(create_qp_checks),
		T(completion_queue_is_bound_once),
		T(id_of_a_completion_queue_lives_until_destroy),
		T(vport_has_one_owner),
		T(domain_stays_with_its_port),
		T(rss_needs_a_send_queue_and_is_alone),
		T(rss_checks),
		T(work_queue_is_once_in_a_table),
		T(table_of_more_than_64_makes_no_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
