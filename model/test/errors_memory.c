/* SPDX-License-Identifier: BSD-3-Clause */

/* open_device, alloc_pd, reg_mr and dereg_mr. */

#include <stdlib.h>
#include <sys/mman.h>

#include "error_cases.h"

#define PAGE 4096
#define MANY 2000 /* more than the card has domains */

/* Open a second context of the device. */
static int
open_again(struct fixture *fx)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	int error;

	assert_non_null(list);
	errno = 0;
	ctx = ibv_open_device(list[fx->device]);
	error = ctx == NULL ? errno : 0;
	if (ctx != NULL)
		assert_int_equal(ibv_close_device(ctx), 0);
	ibv_free_device_list(list);
	return error;
}

#define OPEN_FAILS(name, call, error)        \
	static int                           \
	name(struct fixture *fx)             \
	{                                    \
		errors_fail(call, error);    \
		return open_again(fx);       \
	}
OPEN_FAILS(open_without_memory, "get_context", ENOMEM)
OPEN_FAILS(open_without_mapping, "mmap", EINVAL)
OPEN_FAILS(open_when_gone, "get_context", EIO)

/* Open contexts until the function has no doorbell page left. */
static int
open_without_doorbell_page(struct fixture *fx)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	static struct ibv_context *all[MANY];
	uint32_t nb = 0;
	int error;

	errno = 0;
	while (nb < MANY &&
	       (all[nb] = ibv_open_device(list[fx->device])) != NULL)
		nb++;
	error = errno;
	assert_in_range(nb, 100, MANY - 1);
	assert_int_equal(ibv_close_device(all[--nb]), 0);
	assert_int_equal(open_again(fx), 0);
	while (nb > 0)
		assert_int_equal(ibv_close_device(all[--nb]), 0);
	ibv_free_device_list(list);
	return error;
}

static int
pd_that_is_one_too_many(struct fixture *fx)
{
	static struct ibv_pd *pds[MANY];
	uint32_t nb = 0;
	int error;

	errno = 0;
	while (nb < MANY && (pds[nb] = ibv_alloc_pd(fx->ctx)) != NULL)
		nb++;
	error = errno;
	assert_in_range(nb, 100, MANY - 1);
	while (nb > 0)
		assert_int_equal(ibv_dealloc_pd(pds[--nb]), 0);
	return error;
}

static int
pd_refused_by_card(struct fixture *fx)
{
	errors_fail("alloc_pd", EPROTO);
	return ERRNO_OF(ibv_alloc_pd(fx->ctx), ibv_dealloc_pd);
}

static int
pd_while_channel_fails(struct fixture *fx)
{
	errors_fail("alloc_pd", ETIMEDOUT);
	return ERRNO_OF(ibv_alloc_pd(fx->ctx), ibv_dealloc_pd);
}

static int
parent_with_other_bits(struct fixture *fx)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = fx->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
	};
	int error = ERRNO_OF(ibv_alloc_parent_domain(fx->ctx, &attr),
			     ibv_dealloc_pd);

	/* libmana has another errno from version 57 on. */
	return error == EOPNOTSUPP ? EINVAL : error;
}

static int
reg(struct fixture *fx, void *addr, size_t len, int access)
{
	return ERRNO_OF(ibv_reg_mr(fx->pd, addr, len, access), ibv_dereg_mr);
}

#define REG(name, addr, len, access)                        \
	static int                                          \
	name(struct fixture *fx)                            \
	{                                                   \
		return reg(fx, addr, len, access);          \
	}
#define LOCAL IBV_ACCESS_LOCAL_WRITE
REG(mr_of_remote_rights, fx->buf, PAGE, LOCAL | IBV_ACCESS_REMOTE_WRITE |
    IBV_ACCESS_REMOTE_READ)
REG(mr_of_atomics, fx->buf, PAGE, LOCAL | IBV_ACCESS_REMOTE_ATOMIC)
REG(mr_of_windows, fx->buf, PAGE, LOCAL | IBV_ACCESS_MW_BIND)
REG(mr_from_zero, fx->buf, PAGE, LOCAL | IBV_ACCESS_ZERO_BASED)
REG(mr_on_demand, fx->buf, PAGE, LOCAL | IBV_ACCESS_ON_DEMAND)
REG(mr_of_huge_pages, fx->buf, PAGE, LOCAL | IBV_ACCESS_HUGETLB)
REG(mr_relaxed, fx->buf, PAGE, LOCAL | IBV_ACCESS_RELAXED_ORDERING)
REG(mr_remote_not_local, fx->buf, PAGE, IBV_ACCESS_REMOTE_WRITE)
REG(mr_of_nothing, fx->buf, 0, LOCAL)
REG(mr_around_the_end, (void *)~4095ul, 2 * PAGE, LOCAL)
REG(mr_elsewhere, ELSEWHERE, PAGE, LOCAL)
REG(mr_half_elsewhere, fx->buf, (size_t)1 << 40, LOCAL)

static int
mr_at_other_offset(struct fixture *fx)
{
	return ERRNO_OF(ibv_reg_mr_iova(fx->pd, fx->buf, PAGE,
					(uintptr_t)fx->buf + 64, LOCAL),
			ibv_dereg_mr);
}

static int
mr_read_only(struct fixture *fx)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	int error = reg(fx, page, PAGE, LOCAL);

	assert_int_equal(reg(fx, page, PAGE, 0), 0);
	munmap(page, PAGE);
	return error;
}

static int
mr_beyond_memlock(struct fixture *fx)
{
	errors_limit_memory(fx);
	return reg(fx, fx->buf, 4 * PAGE, LOCAL);
}

static int
mr_that_is_one_too_many(struct fixture *fx)
{
	const uint32_t at_most = 1 << 20;
	struct ibv_device_attr attr;
	struct ibv_mr **mrs = calloc(at_most, sizeof(*mrs));
	uint32_t nb = 0;
	int error;

	errno = 0;
	while (nb < at_most &&
	       (mrs[nb] = ibv_reg_mr(fx->pd, fx->buf, 64, LOCAL)) != NULL)
		nb++;
	error = errno;
	/* The limit of query_device includes the fixture's domain. */
	assert_int_equal(ibv_query_device(fx->ctx, &attr), 0);
	if (error_age != AGE_6_2)
		assert_int_equal(nb + 1, attr.max_mr);
	while (nb > 0)
		assert_int_equal(ibv_dereg_mr(mrs[--nb]), 0);
	free(mrs);
	return error;
}

static int
mr_refused(struct fixture *fx, int error)
{
	errors_fail("reg_mr", error);
	return reg(fx, fx->buf, PAGE, LOCAL);
}

static int
mr_refused_by_card(struct fixture *fx)
{
	return mr_refused(fx, EPROTO);
}

static int
mr_without_space(struct fixture *fx)
{
	return mr_refused(fx, ENOSPC);
}

static int
mr_not_deregistered(struct fixture *fx)
{
	int error;

	errors_fail("dereg_mr", EPROTO);
	error = ibv_dereg_mr(fx->mr);
	assert_int_equal(ibv_dereg_mr(fx->mr), 0); /* it still exists */
	fx->mr = NULL;
	return error;
}

const struct error_case errors_memory[] = {
	{ "4.1 open: no doorbell page left", open_without_doorbell_page,
	  SAME(EPROTO) },
	{ "4.1 open: no memory", open_without_memory, SAME(ENOMEM) },
	{ "4.1 open: doorbell mapping fails", open_without_mapping,
	  SAME(ENOENT) },
	{ "4.1 open: device gone", open_when_gone, SAME(EIO) },
	{ "4.2 alloc_pd: none left", pd_that_is_one_too_many, SAME(EPROTO) },
	{ "4.2 alloc_pd: command fails", pd_refused_by_card, SAME(EPROTO) },
	{ "4 alloc_pd: control channel dead", pd_while_channel_fails,
	  SAME(ETIMEDOUT) },
	{ "2 parent domain: other mask bits", parent_with_other_bits,
	  SAME(EINVAL) },
	{ "4.3 reg_mr: remote read and write", mr_of_remote_rights, SAME(0) },
	{ "4.3 reg_mr: atomics", mr_of_atomics, { 0, EINVAL, EINVAL } },
	{ "4.3 reg_mr: memory windows", mr_of_windows, { 0, EINVAL, EINVAL } },
	{ "4.3 reg_mr: zero based", mr_from_zero, { 0, EINVAL, EINVAL } },
	{ "4.3 reg_mr: on demand", mr_on_demand, SAME(EOPNOTSUPP) },
	{ "4.3 reg_mr: huge pages", mr_of_huge_pages, SAME(EINVAL) },
	{ "4.3 reg_mr: optional rights dropped", mr_relaxed, SAME(0) },
	{ "4.3 reg_mr: remote without local write", mr_remote_not_local,
	  SAME(EINVAL) },
	{ "4.3 reg_mr: other page offset", mr_at_other_offset, SAME(EINVAL) },
	{ "4.3 reg_mr: no length", mr_of_nothing, SAME(EINVAL) },
	{ "4.3 reg_mr: past the end of addresses", mr_around_the_end,
	  SAME(EINVAL) },
	{ "4.3 reg_mr: not mapped", mr_elsewhere, SAME(EFAULT) },
	{ "4.3 reg_mr: not all mapped", mr_half_elsewhere, SAME(EFAULT) },
	{ "4.3 reg_mr: read-only memory", mr_read_only, SAME(EFAULT) },
	{ "4.3 reg_mr: RLIMIT_MEMLOCK", mr_beyond_memlock, SAME(ENOMEM) },
	{ "4.3 reg_mr: table full", mr_that_is_one_too_many, SAME(EPROTO) },
	{ "4.3 reg_mr: command fails", mr_refused_by_card, SAME(EPROTO) },
	{ "4.3 reg_mr: no space", mr_without_space, SAME(ENOSPC) },
	{ "4.3 dereg_mr: command fails", mr_not_deregistered, SAME(EPROTO) },
	{ NULL, NULL, SAME(0) },
};
