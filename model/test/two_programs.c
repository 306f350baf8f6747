/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two programs that share a Tx queue, like a DPDK primary and secondary: rings and
 * buffers are in shared memory at the same address, and one passes the command
 * descriptor, for the doorbell page, to the other.
 *
 * usage: two_programs owner SOCKET NB_FRAMES | guest SOCKET NB_FRAMES
 *
 * The owner creates the queue, waits for the end of a guest, sends its own frames
 * after the guest's, and exits. The guest sends NB_FRAMES one by one (0: no
 * limit), waiting for each completion.
 */

#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "verbs_fixture.h"

/* Unused in both, with the address sanitizer (above its shadow) and without. */
#define ARENA_ADDRESS 0x200000000000ul
#define ARENA_BYTES   (1u << 20)
#define BUF_BYTES     4096u
#define FRAME_BYTES   64u
#define PAGE	      4096u

/* At the start of the arena, followed by frames, then rings. */
struct shared {
	struct fx_queue queue;
	uint32_t lkey;
	uint32_t nb_taken; /* used bytes of the arena */
};

static struct shared *shared;

static void
give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void
map_arena(int fd)
{
	void *at = mmap((void *)ARENA_ADDRESS, ARENA_BYTES,
			PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	if (at != (void *)ARENA_ADDRESS)
		give_up("mmap");
	shared = at;
}

static void *
take(size_t size, void *data)
{
	const uint32_t at = shared->nb_taken;

	(void)data;
	shared->nb_taken += (uint32_t)((size + PAGE - 1) & ~(size_t)(PAGE - 1));
	return shared->nb_taken <= ARENA_BYTES ? (uint8_t *)shared + at : NULL;
}

static void
give(void *ring, void *data)
{
	(void)ring;
	(void)data;
}

static struct sockaddr_un
address(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	/* Leaves room for one more character. */
	snprintf(addr.sun_path, sizeof(addr.sun_path) - 1, "%s", path);
	return addr;
}

/* Pass descriptors to or from the other program. */
static int
pass(int sock, int fds[2], bool is_sender)
{
	char byte = 'f', control[CMSG_SPACE(2 * sizeof(int))] = "";
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	if (!is_sender) {
		if (recvmsg(sock, &msg, 0) != 1)
			return -1;
		cmsg = CMSG_FIRSTHDR(&msg);
		if (cmsg == NULL)
			return -1;
		memcpy(fds, CMSG_DATA(cmsg), 2 * sizeof(int));
		return 0;
	}
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, 2 * sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -1;
}

/* Send nb frames one by one; 0: no limit. */
static void
send_frames(struct fixture *fx, struct fx_queue *q, uint32_t nb)
{
	for (uint32_t i = 0; nb == 0 || i < nb; i++) {
		fx_send(fx, q, 0, FRAME_BYTES);
		if (fx_cqe(q) == NULL) {
			fprintf(stderr, "frame %u was not completed\n", i);
			exit(1);
		}
		if (q->cq_head % q->nb_cqe == 0)
			fx_ring_cq(fx, q, false);
	}
}

/* Determine the queue's state after a guest, which may have been killed. */
static void
take_over(struct fx_queue *q)
{
	const uint32_t nb_bu = q->pi_bu;

	while (q->cq_head - q->nb_cqe != nb_bu)
		if (fx_cqe(q) == NULL)
			break;
}

static int
owner(const char *path, uint32_t nb_frames)
{
	struct manadv_ctx_allocators allocators = { take, give, NULL };
	struct sockaddr_un addr = address(path);
	int fds[2], sock, guest;
	struct fixture fx = { 0 };
	struct ibv_mr *mr;
	uint8_t *own_buf;
	char byte;

	fds[1] = memfd_create("arena", MFD_CLOEXEC);
	if (fds[1] < 0 || ftruncate(fds[1], ARENA_BYTES) != 0)
		give_up("memfd_create");
	map_arena(fds[1]);
	shared->nb_taken = PAGE + BUF_BYTES;
	if (fx_open(&fx, 0, 1) != 0)
		give_up("fx_open");
	manadv_set_context_attr(fx.ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				&allocators);
	mr = ibv_reg_mr(fx.pd, (uint8_t *)shared + PAGE, BUF_BYTES,
			IBV_ACCESS_LOCAL_WRITE);
	if (mr == NULL || fx_add_tx(&fx) != 0)
		give_up("ibv_reg_mr or ibv_create_qp");
	shared->queue = fx.tx[0];
	shared->lkey = mr->lkey;
	memset((uint8_t *)shared + PAGE, 0x5a, BUF_BYTES);

	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The path appears when the socket takes connections. */
	strcat(addr.sun_path, "~");
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    listen(sock, 1) != 0 || rename(addr.sun_path, path) != 0)
		give_up(path);
	guest = accept(sock, NULL, NULL);
	fds[0] = fx.ctx->cmd_fd;
	if (guest < 0 || pass(guest, fds, true) != 0)
		give_up("sendmsg");
	while (read(guest, &byte, 1) > 0)
		;

	own_buf = fx.buf;
	fx.buf = (uint8_t *)shared + PAGE;
	take_over(&shared->queue);
	{
		struct ibv_mr *first = fx.mr;

		fx.mr = mr;
		send_frames(&fx, &shared->queue, nb_frames);
		fx.mr = first;
	}
	fx.buf = own_buf;
	if (ibv_dereg_mr(mr) != 0 || fx_close(&fx) != 0)
		give_up("closing");
	unlink(path);
	return 0;
}

static int
guest(const char *path, uint32_t nb_frames)
{
	struct sockaddr_un addr = address(path);
	struct fixture fx = { 0 };
	struct ibv_mr mr = { 0 };
	int fds[2], sock;

	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    pass(sock, fds, false) != 0)
		give_up(path);
	map_arena(fds[1]);
	fx.doorbell = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (fx.doorbell == MAP_FAILED)
		give_up("mmap of the doorbell page");
	/* The mapping does not need the descriptor. */
	close(fds[0]);
	mr.lkey = shared->lkey;
	fx.mr = &mr;
	fx.buf = (uint8_t *)shared + PAGE;
	send_frames(&fx, &shared->queue, nb_frames);
	munmap((void *)(uintptr_t)fx.doorbell, PAGE);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "owner") == 0)
		return owner(argv[2], (uint32_t)atoi(argv[3]));
	if (argc == 4 && strcmp(argv[1], "guest") == 0)
		return guest(argv[2], (uint32_t)atoi(argv[3]));
	fprintf(stderr, "usage: %s owner|guest SOCKET NB_FRAMES\n", argv[0]);
	return 2;
}
