/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Devices that go while somebody is at work on them: threads, other processes,
 * and who is killed over it. Run as test_lifecycle.c.
 */

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lifecycle_rig.h"

/* What a child reports when an assertion of its own fails. */
#define CHILD_CHECK(condition) \
	do {                           \
		if (!(condition))      \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

/* As a command may be refused when another was quicker. */
static void
try_command(const char *line)
{
	char message[256];

	MODEL_CALL(mana_model_command)(line, message, sizeof(message));
}

static int
teardown(void **state)
{
	struct function function;
	int rc = vrig_teardown(state);

	try_command("return fn=0");
	try_command("return fn=1");
	look_at(0, &function);
	assert_true(function.has_rdma);
	return rc;
}

static void
bring_up(struct vrig *rig, unsigned int fn, uint32_t nb_tx, uint32_t nb_rx)
{
	struct function function;

	look_at(fn, &function);
	assert_int_equal(vrig_up(rig, device_of(&function), 1, nb_tx, nb_rx), 0);
}

/* ---- threads ---- */

static volatile bool is_over;

/* Comes up as far as it gets, rings and goes down, over and over. */
static void *
use_ports(void *arg)
{
	uint32_t device = (uint32_t)(uintptr_t)arg;
	uint32_t k;

	while (!is_over) {
		struct vrig rig = { .has_channels = true };

		if (vrig_up(&rig, device, 1, 2, 2) == 0) {
			vrig_fill(&rig, &rig.rx[0], 8);
			for (k = 0; k < 20; k++)
				vrig_send(&rig, &rig.tx[0], 0, 60);
			vrig_ring_cq(&rig, &rig.tx[0], false);
		}
		vrig_close(&rig);
	}
	return NULL;
}

static void
threads_bear_it_at_any_moment(void **state)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	pthread_t threads[3];
	struct vrig *rig = *state;
	uintptr_t i;

	is_over = false;
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_ports,
						(void *)(i % 2)), 0);
	for (i = 0; i < 60; i++) {
		usleep(500);
		command(i % 2 == 0 ? "remove fn=0" : "fatal fn=0");
		usleep(i % 7 * 100);
		command("return fn=0");
		if (i % 10 == 0) {
			command("remove fn=1");
			command("return fn=1");
		}
	}
	is_over = true;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
	assert_no_objects();
	bring_up(rig, 0, 2, 2);
	check_sends(rig);
}

/* One ioctl that takes long, while the device goes. */
static void *
register_slowly(void *arg)
{
	struct vrig *rig = arg;
	uint32_t i;

	for (i = 0; i < 200 && !is_over; i++) {
		struct ibv_mr *mr = ibv_reg_mr(rig->pd, rig->buf,
					       VRIG_BUF_BYTES,
					       IBV_ACCESS_LOCAL_WRITE);

		if (mr == NULL)
			return (void *)(intptr_t)errno;
		ibv_dereg_mr(mr);
	}
	return NULL;
}

static void
a_call_on_its_way_gets_eio(void **state)
{
	struct vrig *rig = *state;
	pthread_t thread;
	void *error;
	int i;

	for (i = 0; i < 20; i++) {
		bring_up(rig, 0, 1, 0);
		is_over = false;
		assert_int_equal(pthread_create(&thread, NULL, register_slowly,
						rig), 0);
		usleep(200);
		command("fatal fn=0");
		pthread_join(thread, &error);
		/* Or it was through before. */
		if (error != NULL)
			assert_int_equal((intptr_t)error, EIO);
		assert_int_equal(vrig_close(rig), 0);
		command("return fn=0");
	}
}

/* ---- other processes ---- */

static void
wait_for(pid_t pid, int expected)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, expected);
}

static void
send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 'f';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	assert_int_equal(sendmsg(socket, &msg, 0), 1);
}

static int
receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	CHILD_CHECK(recvmsg(socket, &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* A secondary process of a driver: maps the page by a passed descriptor. */
static void
second_process(int socket)
{
	volatile uint64_t *page;
	char byte;
	int fd = receive_fd(socket);

	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	CHILD_CHECK(page != MAP_FAILED);
	CHILD_CHECK(write(socket, "m", 1) == 1);
	CHILD_CHECK(read(socket, &byte, 1) == 1); /* it is gone */
	page[0] = 0x123456789;
	page[100] = 7;
	CHILD_CHECK(page[0] == 0x123456789);
	CHILD_CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED);
	CHILD_CHECK(errno == EIO);
	CHILD_CHECK(write(socket, "s", 1) == 1);
	CHILD_CHECK(read(socket, &byte, 1) == 1);
	CHILD_CHECK(page[5] == 55); /* the other process's store */
	CHILD_CHECK(munmap((void *)(uintptr_t)page, 4096) == 0);
	_exit(0);
}

static void
another_process_may_have_the_page(void **state)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	volatile uint64_t *page;
	struct vrig *rig = *state;
	int sockets[2];
	char byte;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	pid = fork();
	if (pid == 0) {
		close(sockets[0]);
		second_process(sockets[1]);
	}
	close(sockets[1]);
	bring_up(rig, 0, 1, 1);
	page = rig->doorbell;
	send_fd(sockets[0], rig->ctx->cmd_fd);
	assert_int_equal(read(sockets[0], &byte, 1), 1);
	command("remove fn=0");
	assert_int_equal(write(sockets[0], "g", 1), 1);
	assert_int_equal(read(sockets[0], &byte, 1), 1);
	assert_int_equal(page[100], 7);
	page[5] = 55;
	assert_int_equal(write(sockets[0], "e", 1), 1);
	wait_for(pid, 0);
	close(sockets[0]);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
}

/* Its page is inherited; it uses it before and after. */
static void
a_forked_child_may_ring_on(void **state)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	struct vrig *rig = *state;
	volatile uint64_t *page;
	int to_child[2];
	pid_t pid;
	char byte;

	bring_up(rig, 0, 1, 1);
	page = rig->doorbell;
	assert_int_equal(pipe(to_child), 0);
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(read(to_child[0], &byte, 1) == 1);
		page[2] = 22;
		CHILD_CHECK(page[2] == 22);
		_exit(0);
	}
	command("fatal fn=0");
	assert_int_equal(write(to_child[1], "g", 1), 1);
	wait_for(pid, 0);
	assert_int_equal(page[2], 22);
	close(to_child[0]);
	close(to_child[1]);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
}

/* ---- killed over it ---- */

static void
who_is_killed_over_it_leaves_no_ruins(void **state)
{
	struct function function;
	struct vrig *rig = *state;
	unsigned int i;
	pid_t pid;

	srand(7);
	for (i = 0; i < 100; i++) {
		pid = fork();
		if (pid == 0) {
			struct vrig own = { 0 };

			for (;;) {
				try_command("remove fn=0");
				try_command("return fn=0");
				if (vrig_up(&own, 0, 1, 1, 1) == 0)
					vrig_fill(&own, &own.rx[0], 8);
				try_command("fatal fn=0");
				vrig_close(&own);
			}
		}
		usleep((unsigned int)rand() % 5000);
		kill(pid, SIGKILL);
		wait_for(pid, SIGKILL);
		vrig_objects(); /* somebody looks after the dead */
		look_at(0, &function); /* all ways to find it agree */
		try_command("return fn=0");
		look_at(0, &function);
		assert_true(function.has_pci && function.has_rdma &&
			    function.has_net);
	}
	bring_up(rig, 0, 2, 2);
	check_sends(rig);
	assert_int_equal(vrig_close(rig), 0);
	assert_no_objects();
}

/* ---- leaks ---- */

static unsigned int nb_files;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)type;
	(void)ftw;
	nb_files++;
	return 0;
}

static unsigned int
files_below(const char *path)
{
	nb_files = 0;
	nftw(path, count_file, 16, FTW_PHYS);
	return nb_files;
}

static void
a_hundred_removals_leak_nothing(void **state)
{
	const char *machine = getenv("MANA_MODEL_DIR");
	struct mana_model_objects before, after;
	unsigned int nb_machine, nb_fds, i;
	struct vrig *rig = *state;

	MODEL_CALL(mana_model_leaks)(&before);
	nb_machine = files_below(machine);
	nb_fds = files_below("/proc/self/fd");
	for (i = 0; i < 100; i++) {
		rig->has_channels = true;
		bring_up(rig, 0, 2, 4);
		vrig_fill(rig, &rig->rx[0], 8);
		command(i % 2 == 0 ? "remove fn=0" : "fatal fn=0");
		if (i % 3 == 0)
			assert_int_equal(vrig_close(rig), 0);
		command("return fn=0");
		assert_int_equal(vrig_close(rig), 0);
	}
	assert_no_objects();
	MODEL_CALL(mana_model_leaks)(&after);
	assert_memory_equal(&before, &after, sizeof(after));
	assert_int_equal(files_below(machine), nb_machine);
	assert_int_equal(files_below("/proc/self/fd"), nb_fds);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vrig_setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(threads_bear_it_at_any_moment),
		TEST(a_call_on_its_way_gets_eio),
		TEST(another_process_may_have_the_page),
		TEST(a_forked_child_may_ring_on),
		TEST(who_is_killed_over_it_leaves_no_ruins),
		TEST(a_hundred_removals_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
