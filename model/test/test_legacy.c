/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Verbs as libibverbs sends them if the kernel refuses its first attempt: if it
 * refuses ioctl(), by write(); if it refuses all methods but INVOKE_WRITE, as a
 * command through that.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE [--rnic] -- this
 *        write|invoke
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "verbs_fixture.h"

#define FRAME 100

static bool by_write;
static unsigned int nb_refused;

static bool
is_command(const struct ib_uverbs_ioctl_hdr *header)
{
	return header->object_id == UVERBS_OBJECT_DEVICE &&
	       header->method_id == UVERBS_METHOD_INVOKE_WRITE;
}

/* Replaces the ioctl() that the libraries would find. */
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

FX_TEST(queries_succeed)
{
	struct fixture *fx = *state;
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_true(nb_refused > 0);
	assert_true(fx->ctx->async_fd > 2);
	assert_true(fx->ctx->num_comp_vectors >= 1);
	assert_int_equal(ibv_query_device(fx->ctx, &device), 0);
	assert_int_equal(device.phys_port_cnt, 2);
	assert_int_equal(ibv_query_port(fx->ctx, 2, &port), 0);
	assert_int_equal(ibv_query_port(fx->ctx, 3, &port), EINVAL);
}

/* Create and destroy all objects of a driver, twice. */
FX_TEST(objects_are_created_and_destroyed)
{
	struct fixture *fx = *state;

	for (int i = 0; i < 2; i++) {
		fx->has_channels = i == 1;
		assert_int_equal(fx_up(fx, 0, 1, 2, 2), 0);
		assert_int_equal(fx_objects().qp, 3);
		assert_int_equal(fx_objects().wq, 2);
		assert_int_equal(fx_objects().cq, 4);
		assert_int_equal(fx_objects().ind, 1);
		assert_int_equal(fx_objects().mr, 1);
		assert_int_equal(fx_close(fx), 0);
		assert_no_objects();
	}
}

/* The driver data of the answers is correct. */
FX_TEST(packets_pass)
{
	struct fixture *from = *state, to = { 0 };

	assert_int_equal(fx_up(from, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&to, 0, 2, 1, 1), 0);
	fx_fill(&to, &to.rx[0], 4);
	memset(from->buf, 0x5a, FRAME);
	from->buf[0] = 0;
	fx_send(from, &from->tx[0], 0, FRAME);
	assert_non_null(fx_cqe(&from->tx[0]));
	assert_non_null(fx_cqe(&to.rx[0]));
	assert_memory_equal(from->buf, to.buf + FX_BUF_BYTES / 2, FRAME);
	assert_int_equal(fx_close(&to), 0);
}

static int
raw_write(int fd, const void *buf, size_t nb_bytes)
{
	return write(fd, buf, nb_bytes) < 0 ? errno : 0;
}

/*
 * Linux core/uverbs_main.c ib_uverbs_write(), verify_hdr(), beyond the part "write
 * header" of mana-kernel-walk.
 */
FX_TEST(write_headers_are_checked)
{
	struct fixture *fx = *state;
	uint64_t answer[16];
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

	assert_int_equal(fx_open(fx, 0, 1), 0);
	fd = fx->ctx->cmd_fd;
	assert_int_equal(raw_write(fd, nowhere, 8), EFAULT);
	/* Without an answer no room is needed. */
	assert_int_equal(raw_write(fd, &query, sizeof(query)), 0);
	query.hdr.out_words = 16;
	query.ex.response = (uintptr_t)answer;
	assert_int_equal(raw_write(fd, &query, sizeof(query)), ENOSPC);
	/* The kernel first checks that the command is long enough. */
	query.ex.cmd_hdr_reserved = 1;
	query.hdr.in_words = 0;
	assert_int_equal(raw_write(fd, &query, sizeof(query) - 8), ENOSPC);
	query.ex.cmd_hdr_reserved = 0;
	query.hdr.in_words = 1;
	query.ex.provider_in_words = 1;
	assert_int_equal(raw_write(fd, &query, sizeof(query)), EINVAL);
}

/* The number that a new descriptor would get. */
static int
next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	assert_return_code(fd, errno);
	close(fd);
	return fd;
}

/* Allow only descriptors below this number. */
static void
limit_fds(rlim_t nb)
{
	struct rlimit limit;

	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	limit.rlim_cur = nb == 0 ? limit.rlim_max : nb;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
}

/* A context or a channel is created completely, or not at all. */
FX_TEST(failed_context_leaks_nothing)
{
	struct fixture *fx = *state;
	struct ib_uverbs_get_context_resp answer = { 0 };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context cmd;
	} get = { { IB_USER_VERBS_CMD_GET_CONTEXT, 4, 2 }, { 8 } };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_comp_channel cmd;
	} channel = { { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 4, 1 }, { 8 } };
	char path[64];
	int fd, async_fd, next;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	snprintf(path, sizeof(path), "/dev/infiniband/%.32s",
		 fx->ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_return_code(fd, errno);
	next = next_fd();
	assert_int_equal(raw_write(fd, &get, sizeof(get)), EFAULT);
	assert_int_equal(next_fd(), next);

	get.cmd.response = (uintptr_t)&answer;
	limit_fds((rlim_t)next + 1); /* one more holds the context meanwhile */
	assert_int_equal(raw_write(fd, &get, sizeof(get)), EMFILE);
	limit_fds(0);
	assert_int_equal(raw_write(fd, &channel, sizeof(channel)), EINVAL);
	assert_int_equal(raw_write(fd, &get, sizeof(get)), 0);
	async_fd = (int)answer.async_fd;
	assert_true(async_fd > 2);
	assert_int_equal(raw_write(fd, &get, sizeof(get)), EINVAL);

	next = next_fd();
	assert_int_equal(raw_write(fd, &channel, sizeof(channel)), EFAULT);
	assert_int_equal(next_fd(), next);
	close(async_fd);
	close(fd);
}

#define CQ_BYTES 4096u /* 64 CQEs */
#define LONG_BYTES 65536u

/* More than 16 bits of length: the driver reads only the known bytes. */
FX_TEST(long_driver_data_is_accepted)
{
	struct fixture *fx = *state;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_cq cmd; /* followed by driver data */
	} *cq;
	const size_t nb_bytes = sizeof(*cq) + LONG_BYTES + 8;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_destroy_cq cmd;
	} end = { { IB_USER_VERBS_CMD_DESTROY_CQ, 6, 2 }, { 0 } };
	uint32_t answer[4];
	void *ring;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	ring = mmap(NULL, CQ_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	cq = calloc(1, nb_bytes);
	assert_non_null(cq);
	cq->hdr.command = IB_USER_VERBS_CMD_CREATE_CQ;
	cq->hdr.out_words = 4;
	cq->cmd.response = (uintptr_t)answer;
	cq->cmd.cqe = 64;
	cq->cmd.comp_channel = -1;
	cq->cmd.driver_data[0] = (uintptr_t)ring;
	end.cmd.response = (uintptr_t)answer;
	for (size_t nb = nb_bytes - 8; nb <= nb_bytes; nb += 8) {
		cq->hdr.in_words = (uint16_t)(nb / 4);
		assert_int_equal(raw_write(fx->ctx->cmd_fd, cq, nb), 0);
		assert_int_equal(fx_objects().cq, 1);
		end.cmd.cq_handle = answer[0];
		assert_int_equal(raw_write(fx->ctx->cmd_fd, &end, sizeof(end)),
				 0);
	}
	free(cq);
	munmap(ring, CQ_BYTES);
}

/* Send an extended command of this size, without answer, by write(). */
static int
ex_write(struct fixture *fx, uint32_t command, size_t nb_bytes)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint8_t cmd[64];
	} ex = { { IB_USER_VERBS_CMD_FLAG_EXTENDED | command,
		   (uint16_t)(nb_bytes / 8), 0 }, { 0, 0, 0, 0 }, { 0 } };

	return raw_write(fx->ctx->cmd_fd, &ex,
			 sizeof(ex.hdr) + sizeof(ex.ex) + nb_bytes);
}

/* Commands in their first, shortest form, with unknown handles. */
FX_TEST(shortest_commands_are_parsed)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(ex_write(fx, IB_USER_VERBS_EX_CMD_CREATE_QP, 48),
			 ENOSPC);
	assert_int_equal(ex_write(fx, IB_USER_VERBS_EX_CMD_CREATE_QP, 56),
			 EINVAL);
	assert_int_equal(ex_write(fx, IB_USER_VERBS_EX_CMD_CREATE_WQ, 24),
			 ENOSPC);
	assert_int_equal(ex_write(fx, IB_USER_VERBS_EX_CMD_CREATE_WQ, 32),
			 EINVAL);
}

/* A QP by the plain command, which has no shared receive queue. */
FX_TEST(qp_with_srq_is_refused)
{
	struct fixture *fx = *state;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_qp cmd; /* followed by driver data */
	} *qp;
	struct {
		uint64_t ring;
		uint32_t ring_bytes, port;
	} driver;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_destroy_qp cmd;
	} end = { { IB_USER_VERBS_CMD_DESTROY_QP, 6, 1 }, { 0 } };
	const size_t nb_bytes = sizeof(*qp) + sizeof(driver);
	uint32_t answer[12];
	struct ibv_cq *cq;
	void *ring;
	int fd;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	fd = fx->ctx->cmd_fd;
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);
	ring = mmap(NULL, fx->tx[0].ring_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	qp = calloc(1, nb_bytes);
	assert_non_null(qp);
	qp->hdr.command = IB_USER_VERBS_CMD_CREATE_QP;
	qp->hdr.in_words = (uint16_t)(nb_bytes / 4);
	qp->hdr.out_words = 12;
	qp->cmd.response = end.cmd.response = (uintptr_t)answer;
	qp->cmd.pd_handle = fx->pd->handle;
	qp->cmd.send_cq_handle = qp->cmd.recv_cq_handle = cq->handle;
	qp->cmd.max_send_wr = FX_NB_WR;
	qp->cmd.max_send_sge = 1;
	qp->cmd.qp_type = IBV_QPT_RAW_PACKET;
	driver.ring = (uintptr_t)ring;
	driver.ring_bytes = fx->tx[0].ring_bytes;
	driver.port = 1;
	memcpy(qp->cmd.driver_data, &driver, sizeof(driver));
	qp->cmd.is_srq = 1;
	assert_int_equal(raw_write(fd, qp, nb_bytes), EINVAL);
	qp->cmd.is_srq = 0;
	assert_int_equal(raw_write(fd, qp, nb_bytes), 0);
	end.cmd.qp_handle = answer[0];
	assert_int_equal(raw_write(fd, &end, sizeof(end)), 0);
	free(qp);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	munmap(ring, fx->tx[0].ring_bytes);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	by_write = strcmp(argv[1], "write") == 0;
	return test_run("legacy", NULL, NULL);
}
