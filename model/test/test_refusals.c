/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Errors of each verb: checks of libmana and of the modelled kernel. Run under
 * mana-model with two functions of two ports.
 */

#include <sys/mman.h>
#include <sys/resource.h>

#include "verbs_fixture.h"

#define ELSEWHERE ((void *)0x10000) /* unmapped */

static void
create_cq_arguments_are_checked(void **state)
{
	struct fixture *fx = *state;
	struct ibv_cq *cq;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_fails(ibv_create_cq(fx->ctx, 64, NULL, NULL, 64), EINVAL);
	assert_fails(ibv_create_cq(fx->ctx, 0, NULL, NULL, 0), EINVAL);
	assert_fails(ibv_create_cq(fx->ctx, 512, NULL, NULL, 0), EINVAL);
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 63);
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
	struct fixture *fx = *state;
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = 64,
					 .max_sge = 1 };
	struct ibv_qp_init_attr qp_attr;
	struct ibv_cq *cq;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);
	manadv_set_context_attr(fx->ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				&allocators);
	attr.pd = fx->parent;
	attr.cq = cq;
	qp_attr = fx_qp_attr(cq);

	ring_of_test = fx->buf + 64;
	assert_fails(ibv_create_cq(fx->ctx, 64, NULL, NULL, 0), EINVAL);
	assert_fails(ibv_create_wq(fx->ctx, &attr), EINVAL);
	assert_fails(ibv_create_qp(fx->parent, &qp_attr), EINVAL);
	ring_of_test = ELSEWHERE;
	assert_fails(ibv_create_cq(fx->ctx, 64, NULL, NULL, 0), EFAULT);
	assert_fails(ibv_create_wq(fx->ctx, &attr), EFAULT);
	assert_fails(ibv_create_qp(fx->parent, &qp_attr), EFAULT);

	fx_set_allocators(fx->ctx);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
reg_mr_arguments_are_checked(void **state)
{
	struct fixture *fx = *state;
	char *read_only;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_fails(ibv_reg_mr(fx->pd, ELSEWHERE, 4096,
				IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_fails(ibv_reg_mr(fx->pd, fx->buf, 0, IBV_ACCESS_LOCAL_WRITE),
		     EINVAL);
	assert_fails(ibv_reg_mr(fx->pd, (void *)~4095ul, 8192,
				IBV_ACCESS_LOCAL_WRITE), EINVAL);
	assert_fails(ibv_reg_mr(fx->pd, fx->buf, 4096,
				IBV_ACCESS_REMOTE_WRITE), EINVAL);
	assert_fails(ibv_reg_mr(fx->pd, fx->buf, 4096, IBV_ACCESS_HUGETLB),
		     EINVAL);

	read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	assert_fails(ibv_reg_mr(fx->pd, read_only, 4096,
				IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_int_equal(ibv_dereg_mr(fx->mr), 0);
	fx->mr = ibv_reg_mr(fx->pd, read_only, 4096, 0);
	assert_non_null(fx->mr);
	munmap(read_only, 4096);
}

static void
memlock_limits_registration(void **state)
{
	struct rlimit limit = { 65536, 65536 }, before;
	struct fixture *fx = *state;
	void *buf;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	buf = aligned_alloc(4096, 1 << 20);
	memset(buf, 0, 1 << 20);
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	if (before.rlim_max >= limit.rlim_max)
		limit.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	MODEL_CALL(mana_model_privileges)(true, false);
	assert_fails(ibv_reg_mr(fx->pd, buf, 1 << 20, IBV_ACCESS_LOCAL_WRITE),
		     ENOMEM);
	MODEL_CALL(mana_model_privileges)(true, true);
	assert_int_equal(ibv_dereg_mr(fx->mr), 0);
	fx->mr = ibv_reg_mr(fx->pd, buf, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(fx->mr);
	setrlimit(RLIMIT_MEMLOCK, &before);
	free(buf);
}

static void
create_qp_arguments_are_checked(void **state)
{
	struct fixture *fx = *state, bad_port = { 0 };
	struct ibv_qp_init_attr attr;
	struct ibv_cq *cq;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);

	MODEL_CALL(mana_model_privileges)(false, true);
	attr = fx_qp_attr(cq);
	assert_fails(ibv_create_qp(fx->parent, &attr), EPERM);
	MODEL_CALL(mana_model_privileges)(true, true);

	/* One more than the card supports; libmana's own limit is 512 bytes. */
	attr = fx_qp_attr(cq);
	attr.cap.max_send_sge = 31;
	assert_fails(ibv_create_qp(fx->parent, &attr), EINVAL);
	/* The hardware refuses rings smaller than a page. */
	attr = fx_qp_attr(cq);
	attr.cap.max_send_wr = 0;
	assert_null(ibv_create_qp(fx->parent, &attr));
	assert_int_equal(ibv_destroy_cq(cq), 0);

	assert_int_equal(fx_open(&bad_port, 0, 3), 0);
	assert_int_equal(fx_add_tx(&bad_port), EINVAL);
	assert_int_equal(fx_close(&bad_port), 0);
}

static void
cq_bound_twice_is_refused(void **state)
{
	struct fixture *fx = *state;
	struct ibv_qp_init_attr attr;

	assert_int_equal(fx_up(fx, 0, 1, 2, 0), 0);
	attr = fx_qp_attr(fx->tx[0].cq);
	assert_fails(ibv_create_qp(fx->parent, &attr), EPROTO);
	/* Not even after its QP is destroyed. */
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	fx->tx[0].qp = NULL;
	assert_fails(ibv_create_qp(fx->parent, &attr), EPROTO);
}

static void
cq_id_is_in_use_until_destroy(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	fx->tx[0].qp = NULL;
	/* The device reuses the id, which is still in the kernel's table. */
	assert_int_equal(fx_add_tx(fx), EINVAL);
	assert_int_equal(ibv_destroy_cq(fx->tx[0].cq), 0);
	fx->tx[0].cq = NULL;
	assert_int_equal(fx_add_tx(fx), 0);
}

static void
second_owner_of_vport_is_refused(void **state)
{
	struct fixture *fx = *state, second = { 0 }, third = { 0 };

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_open(&second, 0, 1), 0);
	assert_int_equal(fx_add_tx(&second), EBUSY);
	assert_int_equal(fx_close(&second), 0);
	/* Port 1 of another function is another port. */
	assert_int_equal(fx_up(&third, 1, 1, 1, 1), 0);
	assert_int_equal(fx_close(&third), 0);

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true),
			 -EBUSY);
	assert_int_equal(fx_close(fx), 0);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true), 0);
	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_tx(fx), EBUSY);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", false),
			 0);
	assert_int_equal(fx_add_tx(fx), 0);
}

static void
pd_of_other_port_is_refused(void **state)
{
	struct ibv_parent_domain_init_attr parent_attr = {
		.pd_context = (void *)(uintptr_t)2,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	struct fixture *fx = *state;
	struct ibv_qp_init_attr attr;
	struct ibv_pd *other;
	struct ibv_cq *cq;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	parent_attr.pd = fx->pd;
	other = ibv_alloc_parent_domain(fx->ctx, &parent_attr);
	assert_non_null(other);
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	attr = fx_qp_attr(cq);
	assert_fails(ibv_create_qp(other, &attr), EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void
rss_qp_without_sq_or_second_one_is_refused(void **state)
{
	struct fixture *fx = *state;
	struct ibv_qp_init_attr_ex attr;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), EINVAL);
	assert_int_equal(ibv_destroy_rwq_ind_table(fx->ind), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	attr = fx_rss_attr(fx);
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EBUSY);
	/* Its queues cannot be used again. */
	assert_int_equal(ibv_destroy_qp(fx->rss), 0);
	fx->rss = NULL;
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EPROTO);
}

static void
rss_qp_arguments_are_checked(void **state)
{
	struct fixture *fx = *state;
	struct ibv_qp_init_attr_ex attr;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(ibv_destroy_qp(fx->rss), 0);
	fx->rss = NULL;

	MODEL_CALL(mana_model_privileges)(false, true);
	attr = fx_rss_attr(fx);
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EPERM);
	MODEL_CALL(mana_model_privileges)(true, true);
	attr.rx_hash_conf.rx_hash_function = 2;
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EINVAL);
	attr = fx_rss_attr(fx);
	attr.rx_hash_conf.rx_hash_key_len = 39;
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EINVAL);
}

static void
wq_twice_in_table_is_refused(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	fx->rx[1] = fx->rx[0];
	fx->nb_rx = 2;
	assert_int_equal(fx_start_rx(fx), EPROTO);
	fx->nb_rx = 1;
}

static void
rss_qp_of_table_above_64_is_refused(void **state)
{
	struct ibv_wq *wqs[128];
	struct ibv_rwq_ind_table_init_attr ind_attr = {
		.log_ind_tbl_size = 7, .ind_tbl = wqs };
	struct ibv_qp_init_attr_ex attr;
	struct fixture *fx = *state;
	uint32_t i;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	for (i = 0; i < 128; i++)
		wqs[i] = fx->rx[0].wq;
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &ind_attr);
	assert_non_null(fx->ind);
	attr = fx_rss_attr(fx);
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr), EINVAL);
}

int
main(void)
{
#define T(test) \
	cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
	const struct CMUnitTest tests[] = {
		T(create_cq_arguments_are_checked),
		T(rings_must_be_aligned_and_mapped),
		T(reg_mr_arguments_are_checked),
		T(memlock_limits_registration),
		T(create_qp_arguments_are_checked),
		T(cq_bound_twice_is_refused),
		T(cq_id_is_in_use_until_destroy),
		T(second_owner_of_vport_is_refused),
		T(pd_of_other_port_is_refused),
		T(rss_qp_without_sq_or_second_one_is_refused),
		T(rss_qp_arguments_are_checked),
		T(wq_twice_in_table_is_refused),
		T(rss_qp_of_table_above_64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
