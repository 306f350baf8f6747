/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uverbs ioctls without a library that mana-kernel-walk does not make. Run under
 * mana-model.
 */

#include <fcntl.h>
#include <sys/mman.h>

#include "uverbs_calls.h"
#include "verbs_fixture.h"

#define UNKNOWN_ATTR 99

static int
open_context(void **state)
{
	struct call call = new_call(UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_GET_CONTEXT);
	static int fd;
	uint64_t support = 0;
	uint32_t vectors = 0;

	fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	add(&call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4,
	    (uintptr_t)&vectors);
	add(&call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8,
	    (uintptr_t)&support);
	assert_int_equal(run(fd, &call), 0);
	assert_int_equal(vectors, 64);
	assert_int_equal(support, 3);
	assert_true(call.attr[0].flags & UVERBS_ATTR_F_VALID_OUTPUT);
	*state = &fd;
	return 0;
}

static int
close_context(void **state)
{
	assert_int_equal(close(*(int *)*state), 0);
	assert_no_objects();
	return 0;
}

static uint32_t
alloc_pd(int fd)
{
	uint64_t in = 0;
	uint32_t handle = 0;
	struct call call = command(3, &in, 8, &handle, 4);

	assert_int_equal(run(fd, &call), 0);
	return handle;
}

TEST_WITH(doorbell_page_replaces_and_is_replaced, open_context, close_context)
{
	int fd = *(int *)*state;
	void *page;

	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	/* In its own place, in place of other memory, and other memory in its place. */
	for (uint32_t i = 0; i < 100; i++) {
		assert_ptr_equal(mmap(page, 4096, PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
				 page);
		assert_ptr_equal(mmap(page, 4096, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				 page);
		*(volatile uint64_t *)page = i;
	}
	assert_int_equal(munmap(page, 4096), 0);
}

TEST_WITH(unwritable_answer_undoes_command, open_context, close_context)
{
	int fd = *(int *)*state, next;
	uint64_t in = 0;
	struct call call = command(3, &in, 8, (void *)16, 4);

	assert_int_equal(run(fd, &call), EFAULT);
	assert_int_equal(fx_objects().pd, 0);
	call = command(9, (void *)16, 40, &in, 12);
	assert_int_equal(run(fd, &call), EFAULT);
	/* a completion channel: no descriptor is left */
	next = dup(fd);
	close(next);
	call = command(17, &in, 8, (void *)16, 4);
	assert_int_equal(run(fd, &call), EFAULT);
	assert_int_equal(dup(fd), next);
	close(next);
}

#define NOWHERE ((void *)16)

TEST_WITH(malformed_attributes_are_refused, open_context, close_context)
{
	int fd = *(int *)*state;
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t out[4];
	struct call good = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	const struct {
		uint16_t id, len;
		uint64_t data;
		int error;
	} rows[] = {
		{ UVERBS_ATTR_CREATE_CQ_CQE, 16, (uintptr_t)pages, EINVAL },
		{ UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, UINT64_C(1) << 40,
		  EINVAL },
		/* its end is not mapped */
		{ UVERBS_ATTR_UHW_IN, 64, (uintptr_t)pages + 4096 - 32, EFAULT },
		{ UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)NOWHERE, EFAULT },
	};
	struct call call;

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	add(&good, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add(&good, UVERBS_ATTR_CREATE_CQ_CQE, 4, 64);
	add(&good, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0);
	add(&good, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0);
	add(&good, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)out);
	add(&good, UVERBS_ATTR_UHW_IN, 8, (uintptr_t)pages);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_uverbs_attr *attr = NULL;

		call = good;
		for (uint16_t k = 0; k < call.hdr.num_attrs; k++)
			if (call.attr[k].attr_id == rows[i].id)
				attr = &call.attr[k];
		if (attr == NULL)
			attr = add(&call, rows[i].id, 0, 0);
		attr->len = rows[i].len;
		attr->data = rows[i].data;
		assert_int_equal(run(fd, &call), rows[i].error);
		assert_int_equal(fx_objects().cq, 0);
	}
	/* create_cq, which is a method */
	call = command(18, out, 32, out, 8);
	assert_int_equal(run(fd, &call), EOPNOTSUPP);
	munmap(pages, 4096);
}

/* include/uapi/rdma/ib_user_ioctl_cmds.h of Linux 6.17. */
#define METHOD_REG_MR 5
#define REG_MR_HANDLE 0
#define REG_MR_PD 1
#define REG_MR_IOVA 3
#define REG_MR_ADDR 4
#define REG_MR_LENGTH 5
#define REG_MR_ACCESS 6
#define REG_MR_FD 7
#define REG_MR_FD_OFFSET 8
#define REG_MR_LKEY 9
#define REG_MR_RKEY 10

TEST_WITH(reg_mr_method_registers_memory, open_context, close_context)
{
	uint32_t lkey = 0, rkey = 1, pd;
	int fd = *(int *)*state;
	struct call call, destroy;
	void *memory = aligned_alloc(4096, 8192);

	pd = alloc_pd(fd);
	memset(memory, 0, 8192);
	call = new_call(UVERBS_OBJECT_MR, METHOD_REG_MR);
	add(&call, REG_MR_HANDLE, 0, 0);
	add(&call, REG_MR_PD, 0, pd);
	add(&call, REG_MR_IOVA, 8, (uintptr_t)memory);
	add(&call, REG_MR_LENGTH, 8, 8192);
	add(&call, REG_MR_ACCESS, 4, IBV_ACCESS_LOCAL_WRITE);
	add(&call, REG_MR_LKEY, 4, (uintptr_t)&lkey);
	add(&call, REG_MR_RKEY, 4, (uintptr_t)&rkey);
	assert_int_equal(run(fd, &call), EINVAL); /* neither address nor file */
	add(&call, REG_MR_ADDR, 8, (uintptr_t)memory);
	assert_int_equal(run(fd, &call), 0);
	assert_int_not_equal(lkey, 0);
	assert_int_equal(lkey, rkey);
	assert_int_equal(fx_objects().mr, 1);
	destroy = new_call(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	add(&destroy, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, call.attr[0].data);
	assert_int_equal(run(fd, &destroy), 0);

	call.attr[4].data |= (uint64_t)IBV_ACCESS_RELAXED_ORDERING;
	assert_int_equal(run(fd, &call), 0);
	destroy.attr[0].data = call.attr[0].data;
	assert_int_equal(run(fd, &destroy), 0);
	call.attr[2].data += 64; /* another offset in its page */
	assert_int_equal(run(fd, &call), EINVAL);
	call.attr[2].data -= 64;
	call.attr[1].data = 0x7777;
	assert_int_equal(run(fd, &call), ENOENT);
	call.attr[1].data = pd;
	add(&call, REG_MR_FD_OFFSET, 8, 0);
	assert_int_equal(run(fd, &call), EINVAL);
	add(&call, REG_MR_FD, 0, 0);
	assert_int_equal(run(fd, &call), EINVAL); /* both */
	call.attr[7].attr_id = UNKNOWN_ATTR; /* no address, then */
	call.attr[7].flags = 0;
	assert_int_equal(run(fd, &call), EOPNOTSUPP);
	assert_int_equal(fx_objects().mr, 0);
	free(memory);
}
