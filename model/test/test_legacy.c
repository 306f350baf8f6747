/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Verbs as libibverbs sends them when a kernel refuses what it tries first:
 * ioctl() as a whole, then by write(); or each method but INVOKE_WRITE, then
 * as a command through that.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE [--rnic] -- this
 *        write|invoke
 */

#include <dlfcn.h>
#include <net/if.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "verbs_rig.h"

#define FRAME 100

static bool by_write;
static unsigned int nb_refused;

static bool
is_command(const struct ib_uverbs_ioctl_hdr *header)
{
	return header->object_id == UVERBS_OBJECT_DEVICE &&
	       header->method_id == UVERBS_METHOD_INVOKE_WRITE;
}

/* In the place of the one that the libraries would find. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request,
						 ...);
int
ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int fd, unsigned long request, ...);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == RDMA_VERBS_IOCTL && (by_write || !is_command(arg))) {
		nb_refused++;
		errno = by_write ? ENOTTY : EPROTONOSUPPORT;
		return -1;
	}
	if (next == NULL)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}

static void
queries(void **state)
{
	struct vrig *rig = *state;
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_true(nb_refused > 0);
	assert_true(rig->ctx->async_fd > 2);
	assert_true(rig->ctx->num_comp_vectors >= 1);
	assert_int_equal(ibv_query_device(rig->ctx, &device), 0);
	assert_int_equal(device.phys_port_cnt, 2);
	assert_int_equal(ibv_query_port(rig->ctx, 2, &port), 0);
	assert_int_equal(ibv_query_port(rig->ctx, 3, &port), EINVAL);
}

/* All that a driver makes, twice; each kind of object is there, and goes. */
static void
objects_come_and_go(void **state)
{
	struct vrig *rig = *state;

	for (int i = 0; i < 2; i++) {
		rig->has_channels = i == 1;
		assert_int_equal(vrig_up(rig, 0, 1, 2, 2), 0);
		assert_int_equal(vrig_objects().qp, 3);
		assert_int_equal(vrig_objects().wq, 2);
		assert_int_equal(vrig_objects().cq, 4);
		assert_int_equal(vrig_objects().ind, 1);
		assert_int_equal(vrig_objects().mr, 1);
		assert_int_equal(vrig_close(rig), 0);
		assert_no_objects();
	}
}

/* What the driver part of the answers says is right. */
static void
packets_pass(void **state)
{
	struct vrig *from = *state, to = { 0 };
	const uint8_t *cqe;

	assert_int_equal(vrig_up(from, 0, 1, 1, 1), 0);
	assert_int_equal(vrig_up(&to, 0, 2, 1, 1), 0);
	vrig_fill(&to, &to.rx[0], 4);
	memset(from->buf, 0x5a, FRAME);
	from->buf[0] = 0;
	vrig_send(from, &from->tx[0], 0, FRAME);
	assert_non_null(vrig_cqe(&from->tx[0]));
	cqe = vrig_cqe(&to.rx[0]);
	assert_non_null(cqe);
	assert_memory_equal(from->buf, to.buf + VRIG_BUF_BYTES / 2, FRAME);
	assert_int_equal(vrig_close(&to), 0);
}

/* Refusals have the same errors as ever. */
static void
errors_are_the_same(void **state)
{
	struct vrig *rig = *state;
	struct ibv_qp_init_attr attr;
	struct ibv_cq *cq;

	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	assert_fails(ibv_create_cq(rig->ctx, 64, NULL, NULL, 1000), EINVAL);
	assert_fails(ibv_reg_mr(rig->pd, (void *)0x10000, 4096, 0), EFAULT);
	assert_int_equal(ibv_destroy_cq(rig->tx[0].cq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(rig->pd), EBUSY);
	cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);
	attr = vrig_qp_attr(cq);
	attr.cap.max_send_sge = 31;
	assert_fails(ibv_create_qp(rig->parent, &attr), EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int
raw_write(int fd, const void *buf, size_t nb_bytes)
{
	return write(fd, buf, nb_bytes) < 0 ? errno : 0;
}

/* Linux core/uverbs_main.c ib_uverbs_write(). */
static void
headers_are_checked(void **state)
{
	struct vrig *rig = *state;
	uint64_t answer[16];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd cmd;
	} pd = { { IB_USER_VERBS_CMD_ALLOC_PD, 4, 1 }, { (uintptr_t)answer } };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_query_device cmd;
	} query = {
		{ IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_QUERY_DEVICE,
		  1, 0 }, { 0, 0, 0, 0 }, { 0, 0 },
	};
	static const void *volatile nowhere = (void *)8;
	int fd;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	fd = rig->ctx->cmd_fd;
	assert_int_equal(raw_write(fd, &pd, 4), EINVAL);
	assert_int_equal(raw_write(fd, &pd, sizeof(pd) - 4), EINVAL);
	assert_int_equal(raw_write(fd, nowhere, 8), EFAULT);
	pd.hdr.out_words = 0;
	assert_int_equal(raw_write(fd, &pd, sizeof(pd)), ENOSPC);
	pd.hdr.out_words = 1;
	pd.cmd.response = 8;
	assert_int_equal(raw_write(fd, &pd, sizeof(pd)), EFAULT);
	pd.hdr.command = IB_USER_VERBS_CMD_CREATE_AH;
	assert_int_equal(raw_write(fd, &pd, sizeof(pd)), EOPNOTSUPP);

	assert_int_equal(raw_write(fd, &query, sizeof(query)), ENOSPC);
	query.hdr.out_words = 16;
	assert_int_equal(raw_write(fd, &query, sizeof(query)), EINVAL);
	query.ex.response = (uintptr_t)answer;
	query.ex.cmd_hdr_reserved = 1;
	assert_int_equal(raw_write(fd, &query, sizeof(query)), EINVAL);
	query.ex.cmd_hdr_reserved = 0;
	query.ex.provider_in_words = 1;
	assert_int_equal(raw_write(fd, &query, sizeof(query)), EINVAL);
	/* Nothing of all this has left anything. */
	assert_int_equal(vrig_objects().pd, 1);
}

int
main(int argc, char **argv)
{
#define T(test) \
	cmocka_unit_test_setup_teardown(test, vrig_setup, vrig_teardown)
	const struct CMUnitTest tests[] = {
		T(queries),
		T(objects_come_and_go),
		T(packets_pass),
		T(errors_are_the_same),
		T(headers_are_checked),
	};

	if (argc != 2)
		return 2;
	by_write = strcmp(argv[1], "write") == 0;
	return cmocka_run_group_tests_name("legacy", tests, NULL, NULL);
}
