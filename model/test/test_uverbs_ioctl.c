/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uverbs ioctls without a library: errors of header and attributes, and inputs
 * that no library would send. Run under mana-model.
 */

#include <fcntl.h>
#include <stdio.h>
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

static void
probe_is_answered_with_enospc(void **state)
{
	struct call call = command(1, NULL, 0, NULL, 0);
	uint64_t in = 0;
	uint16_t out;

	(void)state;
	assert_int_equal(run(*(int *)*state, &call), ENOSPC);
	call = command(3, &in, 8, &out, 4);
	call.attr[2].len = 4;
	call = command(9, &in, 8, &out, 12); /* reg_mr needs 40 */
	assert_int_equal(run(*(int *)*state, &call), ENOSPC);
	call = command(200, &in, 8, &out, 4);
	assert_int_equal(run(*(int *)*state, &call), EOPNOTSUPP);
}

static void
ioctl_header_is_checked(void **state)
{
	int fd = *(int *)*state;
	struct call call = command(1, NULL, 0, NULL, 0);

	call.hdr.length += 8;
	assert_int_equal(run(fd, &call), EINVAL);
	call = command(1, NULL, 0, NULL, 0);
	while (call.hdr.num_attrs < 260)
		add(&call, UNKNOWN_ATTR, 0, 0)->flags = 0;
	assert_int_equal(run(fd, &call), EINVAL); /* more than a page */
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.reserved1 = 1;
	assert_int_equal(run(fd, &call), EPROTONOSUPPORT);
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.reserved2 = 1;
	assert_int_equal(run(fd, &call), EPROTONOSUPPORT);
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.driver_id = 5;
	assert_int_equal(run(fd, &call), EINVAL);
	call = new_call(UVERBS_OBJECT_FLOW, 0);
	assert_int_equal(run(fd, &call), EPROTONOSUPPORT);
	call = new_call(UVERBS_OBJECT_CQ, 77);
	assert_int_equal(run(fd, &call), EPROTONOSUPPORT);
	assert_int_equal(ioctl(fd, RDMA_VERBS_IOCTL, 8), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ioctl(fd, RDMA_VERBS_IOCTL + 1, &call), -1);
	assert_int_equal(errno, ENOTTY);
}

static void
attributes_are_checked(void **state)
{
	int fd = *(int *)*state;
	uint32_t pd = alloc_pd(fd);
	struct call call;

	call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	assert_int_equal(run(fd, &call), EINVAL); /* no handle */
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, pd);
	add(&call, UNKNOWN_ATTR, 0, 0);
	assert_int_equal(run(fd, &call), EPROTONOSUPPORT);

	call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, pd);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, pd);
	assert_int_equal(run(fd, &call), EINVAL);
	call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 4, pd);
	assert_int_equal(run(fd, &call), EINVAL);
	call.attr[0].len = 0;
	call.attr[0].data = (uint64_t)1 << 32 | pd;
	assert_int_equal(run(fd, &call), ENOENT);
	call.attr[0].data = 0;
	assert_int_equal(run(fd, &call), ENOENT);
	call.attr[0].data = pd;
	/* An unknown optional attribute is ignored. */
	add(&call, UNKNOWN_ATTR, 0, 0)->flags = 0;
	assert_int_equal(run(fd, &call), 0);
	assert_int_equal(run(fd, &call), ENOENT);
}

static void
handle_of_other_kind_or_context_is_refused(void **state)
{
	int fd = *(int *)*state, *other;
	uint32_t pd = alloc_pd(fd);
	struct call call;
	int first = fd;

	call = new_call(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	add(&call, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, pd);
	assert_int_equal(run(fd, &call), EINVAL);

	open_context((void **)&other);
	call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, pd);
	assert_int_equal(run(*other, &call), ENOENT);
	close(*other);
	*(int *)*state = first;
	assert_int_equal(run(fd, &call), 0);
}

static void
commands_before_get_context_are_refused(void **state)
{
	uint64_t in = 0;
	uint32_t out;
	struct call call = command(3, &in, 8, &out, 4);
	int fd;

	(void)state;
	fd = open("/dev/infiniband/uverbs0", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(run(fd, &call), EINVAL);
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	close(fd);
}

static void
second_get_context_is_refused(void **state)
{
	struct call call = new_call(UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_GET_CONTEXT);

	assert_int_equal(run(*(int *)*state, &call), EINVAL);
}

static void
doorbell_mapping_is_checked(void **state)
{
	int fd = *(int *)*state;
	void *page;

	assert_ptr_equal(mmap(NULL, 8192, PROT_WRITE, MAP_SHARED, fd, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 4096),
			 MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE, fd, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EINVAL);
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

static void
unwritable_answer_undoes_command(void **state)
{
	int fd = *(int *)*state;
	uint64_t in = 0;
	struct call call = command(3, &in, 8, (void *)16, 4);

	assert_int_equal(run(fd, &call), EFAULT);
	assert_int_equal(fx_objects().pd, 0);
	call = command(9, (void *)16, 40, &in, 12);
	assert_int_equal(run(fd, &call), EFAULT);
}

static void
optional_attributes_of_newer_libraries_are_ignored(void **state)
{
	int fd = *(int *)*state;
	uint64_t uhw_in[2] = { 0, 0 }, more[3] = { 0, 0, 1 };
	uint32_t uhw_out[2], cqe, events[2];
	struct call call, destroy;
	void *ring = aligned_alloc(4096, 4096);

	memset(ring, 0, 4096);
	uhw_in[0] = more[0] = (uintptr_t)ring;
	call = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	add(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_CQE, 4, 64);
	add(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0x1234);
	add(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)&cqe);
	add(&call, UVERBS_ATTR_UHW_IN, 16, (uintptr_t)uhw_in);
	add(&call, UVERBS_ATTR_UHW_OUT, 8, (uintptr_t)uhw_out);
	assert_int_equal(run(fd, &call), 0);

	destroy = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	add(&destroy, UVERBS_ATTR_DESTROY_CQ_HANDLE, 0, call.attr[0].data);
	add(&destroy, UVERBS_ATTR_DESTROY_CQ_RESP, 8, (uintptr_t)events);
	assert_int_equal(run(fd, &destroy), 0);
	assert_int_equal(events[0], 0);

	/* Bytes beyond the known structure must be zero, ... */
	call.attr[5].data = (uintptr_t)more;
	call.attr[5].len = 24;
	assert_int_equal(run(fd, &call), EOPNOTSUPP);
	/*
	 * ... and the device, not a flag, decides whether the CQ is the RNIC's.
	 */
	uhw_in[1] = 1;
	call.attr[5].data = (uintptr_t)uhw_in;
	call.attr[5].len = 16;
	assert_int_equal(run(fd, &call), 0);
	destroy.attr[0].data = call.attr[0].data;
	assert_int_equal(run(fd, &destroy), 0);
	call.attr[5].len = 4;
	assert_int_equal(run(fd, &call), EINVAL);
	free(ring);
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

static void
reg_mr_method_registers_memory(void **state)
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

/* Valid calls, which the test then changes. */
static struct call
good_call(uint32_t which, uint64_t *data, uint32_t pd, void *ring)
{
	struct call call;

	switch (which) {
	case 0:
		return command(3, data, 8, data, 4);
	case 1:
		data[1] = (uintptr_t)ring;
		data[2] = 4096;
		data[3] = data[1];
		data[4] = pd | (uint64_t)1 << 32;
		return command(9, data, 40, data + 8, 12);
	case 2:
		call = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
		add(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
		add(&call, UVERBS_ATTR_CREATE_CQ_CQE, 4, 64);
		add(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0);
		add(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0);
		add(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)data);
		add(&call, UVERBS_ATTR_UHW_IN, 8, (uintptr_t)ring);
		return call;
	case 3:
		return command(17, data, 8, data, 4);
	default:
		call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
		add(&call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 1);
		add(&call, UVERBS_ATTR_QUERY_PORT_RESP, 48, (uintptr_t)data);
		return call;
	}
}

static void
spoil(struct call *call, uint64_t *data)
{
	struct ib_uverbs_attr *attr =
		&call->attr[rand() % call->hdr.num_attrs];

	switch (rand() % 6) {
	case 0:
		attr->len = rand() % 600;
		break;
	case 1:
		attr->data = rand() % 3 == 0 ? (uint64_t)rand() % 100 :
					       (uintptr_t)data;
		break;
	case 2:
		attr->attr_id = rand() % 20;
		break;
	case 3:
		attr->flags = rand();
		break;
	case 4:
		call->hdr.method_id = rand() % 8;
		break;
	default:
		break; /* unchanged */
	}
}

static bool
is_event_file(int fd)
{
	char link[64], path[256];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	return strstr(path, "/fd/event-") != NULL;
}

/* No input crashes the kernel or leaks objects. */
static void
random_input_leaks_nothing(void **state)
{
	void *ring = aligned_alloc(4096, 4096);
	int fd = *(int *)*state;
	uint32_t pd = alloc_pd(fd), round, i, nb_good = 0;
	static uint64_t data[256];

	memset(ring, 0, 4096);
	srand(1);
	for (round = 0; round < 20000; round++) {
		struct call call;

		for (i = 0; i < 256; i++)
			data[i] = rand() % 4 == 0 ? (uint64_t)rand() : 0;
		call = good_call(round % 5, data, pd, ring);
		for (i = rand() % 4; i > 0; i--)
			spoil(&call, data);
		nb_good += run(fd, &call) == 0;
		if (round % 100 != 99)
			continue;
		for (i = 3; i < 256; i++)
			if (is_event_file(i))
				close(i);
	}
	assert_in_range(nb_good, 1000, 15000);
	assert_int_equal(fx_objects().fd, 1);
	free(ring);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, open_context, \
						close_context)
	const struct CMUnitTest tests[] = {
		T(probe_is_answered_with_enospc),
		T(ioctl_header_is_checked),
		T(attributes_are_checked),
		T(handle_of_other_kind_or_context_is_refused),
		T(commands_before_get_context_are_refused),
		T(second_get_context_is_refused),
		T(doorbell_mapping_is_checked),
		T(unwritable_answer_undoes_command),
		T(optional_attributes_of_newer_libraries_are_ignored),
		T(reg_mr_method_registers_memory),
		T(random_input_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
