/* SPDX-License-Identifier: BSD-3-Clause */

/* Errors of CQs, WQs and indirection tables: create and destroy. */

#include <fcntl.h>
#include <sys/mman.h>

#include "error_cases.h"

static int
cq_of(struct fixture *fx, int nb, int vector)
{
	return ERRNO_OF(ibv_create_cq(fx->ctx, nb, NULL, NULL, vector),
			ibv_destroy_cq);
}

static int
cq_without_entries(struct fixture *fx)
{
	return cq_of(fx, 0, 0);
}

static int
cq_of_too_high_vector(struct fixture *fx)
{
	assert_int_equal(cq_of(fx, 64, fx->ctx->num_comp_vectors - 1), 0);
	return cq_of(fx, 64, fx->ctx->num_comp_vectors);
}

/* Without libmana, which has its own limit up to version 48. */
static int
cq_by_ioctl(struct fixture *fx, uint32_t nb, uint32_t uhw_bytes)
{
	const size_t bytes = (size_t)nb * 64 + 4096;
	uint64_t uhw[4] = { 0 };
	struct call call, destroy;
	uint32_t cqe, events[2];
	void *ring;
	int error;

	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	uhw[0] = (uintptr_t)ring;
	uhw[2] = uhw_bytes > 16; /* a non-zero byte in an unknown field */
	call = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	add(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_CQE, 4, nb);
	add(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)&cqe);
	if (uhw_bytes > 0)
		add(&call, UVERBS_ATTR_UHW_IN, uhw_bytes,
		    uhw_bytes <= 8 ? uhw[0] : (uintptr_t)uhw);
	error = run(fx->ctx->cmd_fd, &call);
	if (error == 0) {
		destroy = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
		add(&destroy, UVERBS_ATTR_DESTROY_CQ_HANDLE, 0,
		    call.attr[0].data);
		add(&destroy, UVERBS_ATTR_DESTROY_CQ_RESP, 8,
		    (uintptr_t)events);
		assert_int_equal(run(fx->ctx->cmd_fd, &destroy), 0);
	}
	munmap(ring, bytes);
	return error;
}

static int
cq_larger_than_a_queue(struct fixture *fx)
{
	static const uint32_t most[NB_AGES] = { 2048, 2048, 256 };

	assert_int_equal(cq_by_ioctl(fx, most[error_age], 8), 0);
	return cq_by_ioctl(fx, most[error_age] + 1, 8);
}

#define CQ_DATA(name, nb_bytes)                         \
	static int                                      \
	name(struct fixture *fx)                        \
	{                                               \
		return cq_by_ioctl(fx, 64, nb_bytes);    \
	}
CQ_DATA(cq_without_data, 0)
CQ_DATA(cq_of_half_an_address, 4)
CQ_DATA(cq_of_8_bytes, 8)
CQ_DATA(cq_of_16_bytes, 16)
CQ_DATA(cq_of_more_bytes, 24)

static int
cq_without_allocators(struct fixture *fx)
{
	struct manadv_ctx_allocators none = { 0 };

	assert_int_equal(manadv_set_context_attr(fx->ctx,
		MANADV_CTX_ATTR_BUF_ALLOCATORS, &none), 0);
	return cq_of(fx, 64, 0);
}

static int
cq_at(struct fixture *fx, void *where)
{
	errors_ring_at(fx, where);
	return cq_of(fx, 64, 0);
}

static int
cq_not_aligned(struct fixture *fx)
{
	return cq_at(fx, fx->buf + 64);
}

static int
cq_not_mapped(struct fixture *fx)
{
	return cq_at(fx, ELSEWHERE);
}

static int
cq_without_ring(struct fixture *fx)
{
	return cq_at(fx, NULL);
}

static int
cq_beyond_memlock(struct fixture *fx)
{
	errors_limit_memory(fx);
	return cq_of(fx, 64, 0);
}

static int
cq_refused_by_card(struct fixture *fx)
{
	errors_fail("create_cq", EPROTO);
	return cq_of(fx, 64, 0);
}

/* A descriptor that is no channel of this context. */
static int
cq_of_no_channel(struct fixture *fx)
{
	struct ibv_comp_channel channel = {
		.context = fx->ctx,
		.fd = open("/dev/null", O_RDWR),
	};
	int error = ERRNO_OF(ibv_create_cq(fx->ctx, 64, NULL, &channel, 0),
			     ibv_destroy_cq);

	close(channel.fd);
	return error;
}

static int
channel_refused(struct fixture *fx)
{
	errors_fail("alloc_channel", ENOMEM);
	return ERRNO_OF(ibv_create_comp_channel(fx->ctx),
			ibv_destroy_comp_channel);
}

/* Create a WQ with a CQ and these attributes. */
static int
wq_of(struct fixture *fx, enum ibv_wq_type type, uint32_t nb, uint32_t nb_sge,
      void (*spoil)(struct fixture *fx))
{
	struct ibv_wq_init_attr attr = {
		.wq_type = type,
		.max_wr = nb,
		.max_sge = nb_sge,
		.pd = fx->parent,
		.cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0),
	};
	int error;

	assert_non_null(attr.cq);
	if (spoil != NULL)
		spoil(fx);
	error = ERRNO_OF(ibv_create_wq(fx->ctx, &attr), ibv_destroy_wq);
	MODEL_CALL(mana_model_fault_disarm)();
	fx_set_allocators(fx->ctx);
	assert_int_equal(ibv_destroy_cq(attr.cq), 0);
	return error;
}

static void
spoil_alignment(struct fixture *fx)
{
	errors_ring_at(fx, fx->buf + 64);
}

static void
spoil_mapping(struct fixture *fx)
{
	errors_ring_at(fx, ELSEWHERE);
}

static void
spoil_ring(struct fixture *fx)
{
	errors_ring_at(fx, NULL);
}

static void
spoil_card(struct fixture *fx)
{
	(void)fx;
	errors_fail("create_wq", EPROTO);
}

static void
spoil_allocators(struct fixture *fx)
{
	struct manadv_ctx_allocators none = { 0 };

	manadv_set_context_attr(fx->ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				&none);
}

#define WQ(name, type, nb, nb_sge, spoil)                           \
	static int                                                  \
	name(struct fixture *fx)                                    \
	{                                                           \
		return wq_of(fx, type, nb, nb_sge, spoil);          \
	}
WQ(wq_that_sends, (enum ibv_wq_type)7, 64, 1, NULL)
WQ(wq_of_many_segments, IBV_WQT_RQ, 64, 15, NULL)
WQ(wq_of_too_many_segments, IBV_WQT_RQ, 64, 16, NULL)
WQ(wq_too_large_for_libmana_44, IBV_WQT_RQ, 257, 1, NULL)
WQ(wq_not_aligned, IBV_WQT_RQ, 64, 1, spoil_alignment)
WQ(wq_not_mapped, IBV_WQT_RQ, 64, 1, spoil_mapping)
WQ(wq_without_ring, IBV_WQT_RQ, 64, 1, spoil_ring)
WQ(wq_refused_by_card, IBV_WQT_RQ, 64, 1, spoil_card)
WQ(wq_beyond_memlock, IBV_WQT_RQ, 64, 1, errors_limit_memory)
WQ(wq_without_allocators, IBV_WQT_RQ, 64, 1, spoil_allocators)

const struct error_case errors_cq_wq[] = {
	{ "4.4 create_cq: no entries", cq_without_entries, SAME(EINVAL) },
	{ "4.4 create_cq: more than max_qp_wr", cq_larger_than_a_queue,
	  SAME(EINVAL) },
	{ "4.4 create_cq: comp_vector", cq_of_too_high_vector, SAME(EINVAL) },
	{ "4.4 create_cq: ring not aligned", cq_not_aligned, SAME(EINVAL) },
	{ "4.4 create_cq: ring not mapped", cq_not_mapped, SAME(EFAULT) },
	{ "1 create_cq: allocator fails", cq_without_ring, SAME(ENOMEM) },
	{ "4.4 create_cq: RLIMIT_MEMLOCK", cq_beyond_memlock, SAME(ENOMEM) },
	{ "4.4 create_cq: region refused", cq_refused_by_card, SAME(EPROTO) },
	{ "4.4 create_cq: channel is no channel", cq_of_no_channel,
	  SAME(EBADF) },
	{ "7.1 create_cq: no driver data", cq_without_data, SAME(EINVAL) },
	{ "7.1 create_cq: 4 bytes", cq_of_half_an_address, SAME(EINVAL) },
	{ "7.1 create_cq: 8 bytes", cq_of_8_bytes, SAME(0) },
	{ "7.1 create_cq: 16 bytes", cq_of_16_bytes, SAME(0) },
	{ "7.1 create_cq: unknown data behind it", cq_of_more_bytes,
	  { EOPNOTSUPP, 0, 0 } },
	{ "4.9 create_comp_channel: no memory", channel_refused,
	  SAME(ENOMEM) },
	{ "4.5 create_wq: type", wq_that_sends, SAME(EINVAL) },
	{ "4.5 create_wq: 15 SGEs", wq_of_many_segments, SAME(0) },
	{ "4.5 create_wq: ring not aligned", wq_not_aligned, SAME(EINVAL) },
	{ "4.5 create_wq: ring not mapped", wq_not_mapped, SAME(EFAULT) },
	{ "4.5 create_wq: allocator fails", wq_without_ring, SAME(ENOMEM) },
	{ "4.5 create_wq: region refused", wq_refused_by_card, SAME(EPROTO) },
	{ "4.5 create_wq: RLIMIT_MEMLOCK", wq_beyond_memlock, SAME(ENOMEM) },
	{ "4.5 create_wq: no allocators", wq_without_allocators,
	  SAME(EINVAL) },
	{ NULL, NULL, SAME(0) },
};

const struct error_case errors_old_libmana[] = {
	{ "4.4 create_cq: no allocators", cq_without_allocators,
	  SAME(EINVAL) },
	{ "4.5 create_wq: 16 SGEs", wq_of_too_many_segments, SAME(EINVAL) },
	{ "4.5 create_wq: 257 entries", wq_too_large_for_libmana_44,
	  SAME(EINVAL) },
	{ NULL, NULL, SAME(0) },
};
