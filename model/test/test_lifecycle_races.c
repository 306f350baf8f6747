/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Removal of devices in use by threads and other processes, and processes
 * killed meanwhile. Run like test_lifecycle.c.
 */

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lifecycle_fixture.h"

static int
teardown(void **state)
{
	struct function function;
	int rc = fx_teardown(state);

	/* Each may have returned already. */
	fx_command("return fn=0");
	fx_command("return fn=1");
	read_function(0, &function);
	assert_true(function.has_rdma);
	return rc;
}

static void
bring_up(struct fixture *fx, unsigned int fn, uint32_t nb_tx, uint32_t nb_rx)
{
	struct function function;

	read_function(fn, &function);
	assert_int_equal(fx_up(fx, device_of(&function), 1, nb_tx, nb_rx), 0);
}

/* ---- threads ---- */

static volatile bool is_over;

/*
 * Bring a port up as far as possible, ring, and close it, repeatedly. Return
 * the number of refused destructions: 0, also in the middle of a removal.
 */
static void *
use_ports(void *arg)
{
	uint32_t device = (uint32_t)(uintptr_t)arg;
	uintptr_t nb_refused = 0;
	uint32_t k;

	while (!is_over) {
		struct fixture fx = { .has_channels = true };

		if (fx_up(&fx, device, 1, 2, 2) == 0) {
			fx_fill(&fx, &fx.rx[0], 8);
			for (k = 0; k < 20; k++)
				fx_send(&fx, &fx.tx[0], 0, 60);
			fx_ring_cq(&fx, &fx.tx[0], false);
		}
		nb_refused += fx_close(&fx) != 0;
	}
	return (void *)nb_refused;
}

TEST_WITH(remove_during_verbs_leaks_nothing, fx_setup, teardown)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	pthread_t threads[3];
	struct fixture *fx = *state;
	void *nb_refused;
	uintptr_t i;

	is_over = false;
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_ports,
						(void *)(i % 2)), 0);
	for (i = 0; i < 60; i++) {
		usleep(500);
		fx_do(i % 2 == 0 ? "remove fn=0" : "fatal fn=0");
		usleep(i % 7 * 100);
		fx_do("return fn=0");
		if (i % 10 == 0) {
			fx_do("remove fn=1");
			fx_do("return fn=1");
		}
	}
	is_over = true;
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &nb_refused);
		assert_int_equal((uintptr_t)nb_refused, 0);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
	assert_no_objects();
	bring_up(fx, 0, 2, 2);
	fx_check_sends(fx);
}

/* A slow ioctl, while the device is removed. */
static void *
register_slowly(void *arg)
{
	struct fixture *fx = arg;
	uint32_t i;

	for (i = 0; i < 200 && !is_over; i++) {
		struct ibv_mr *mr = ibv_reg_mr(fx->pd, fx->buf,
					       FX_BUF_BYTES,
					       IBV_ACCESS_LOCAL_WRITE);

		if (mr == NULL)
			return (void *)(intptr_t)errno;
		ibv_dereg_mr(mr);
	}
	return NULL;
}

TEST_WITH(fatal_during_reg_mr_returns_eio, fx_setup, teardown)
{
	struct fixture *fx = *state;
	pthread_t thread;
	void *error;
	int i;

	for (i = 0; i < 20; i++) {
		bring_up(fx, 0, 1, 0);
		is_over = false;
		assert_int_equal(pthread_create(&thread, NULL, register_slowly,
						fx), 0);
		usleep(200);
		fx_do("fatal fn=0");
		pthread_join(thread, &error);
		/* Or it ended before. */
		if (error != NULL)
			assert_int_equal((intptr_t)error, EIO);
		assert_int_equal(fx_close(fx), 0);
		fx_do("return fn=0");
	}
}

/* ---- other processes ---- */

/* A secondary process of a driver: it maps the page by a passed descriptor. */
static void
second_process(int socket)
{
	volatile uint64_t *page;
	char byte;
	int fd = fx_receive_fd(socket);

	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	CHILD_CHECK(page != MAP_FAILED);
	CHILD_CHECK(write(socket, "m", 1) == 1);
	CHILD_CHECK(read(socket, &byte, 1) == 1); /* the device is removed */
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

TEST_WITH(other_process_writes_page_after_remove, fx_setup, teardown)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	volatile uint64_t *page;
	struct fixture *fx = *state;
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
	bring_up(fx, 0, 1, 1);
	page = fx->doorbell;
	fx_send_fd(sockets[0], fx->ctx->cmd_fd);
	assert_int_equal(read(sockets[0], &byte, 1), 1);
	fx_do("remove fn=0");
	assert_int_equal(write(sockets[0], "g", 1), 1);
	assert_int_equal(read(sockets[0], &byte, 1), 1);
	assert_int_equal(page[100], 7);
	page[5] = 55;
	assert_int_equal(write(sockets[0], "e", 1), 1);
	fx_wait_for(pid, 0);
	close(sockets[0]);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
}

/* A child uses the inherited page before and after the removal. */
TEST_WITH(forked_child_writes_page_after_fatal, fx_setup, teardown)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	struct fixture *fx = *state;
	volatile uint64_t *page;
	int to_child[2];
	pid_t pid;
	char byte;

	bring_up(fx, 0, 1, 1);
	page = fx->doorbell;
	assert_int_equal(pipe(to_child), 0);
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(read(to_child[0], &byte, 1) == 1);
		page[2] = 22;
		CHILD_CHECK(page[2] == 22);
		_exit(0);
	}
	fx_do("fatal fn=0");
	assert_int_equal(write(to_child[1], "g", 1), 1);
	fx_wait_for(pid, 0);
	assert_int_equal(page[2], 22);
	close(to_child[0]);
	close(to_child[1]);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
}

/* ---- killed processes ---- */

TEST_WITH(killed_process_leaves_no_objects, fx_setup, teardown)
{
	struct function function;
	struct fixture *fx = *state;
	unsigned int i;
	pid_t pid;

	srand(7);
	for (i = 0; i < 100; i++) {
		pid = fork();
		if (pid == 0) {
			struct fixture own = { 0 };

			/* Another one may have been faster. */
			for (;;) {
				fx_command("remove fn=0");
				fx_command("return fn=0");
				if (fx_up(&own, 0, 1, 1, 1) == 0)
					fx_fill(&own, &own.rx[0], 8);
				fx_command("fatal fn=0");
				fx_close(&own);
			}
		}
		usleep((unsigned int)rand() % 5000);
		kill(pid, SIGKILL);
		fx_wait_for(pid, SIGKILL);
		fx_objects(); /* reclaims objects of dead processes */
		read_function(0, &function); /* sysfs and libibverbs agree */
		fx_command("return fn=0");
		read_function(0, &function);
		assert_true(function.has_pci && function.has_rdma &&
			    function.has_net);
	}
	bring_up(fx, 0, 2, 2);
	fx_check_sends(fx);
	assert_int_equal(fx_close(fx), 0);
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

TEST_WITH(repeated_removals_leak_nothing, fx_setup, teardown)
{
	const char *machine = getenv("MANA_MODEL_DIR");
	struct mana_model_objects before, after;
	unsigned int nb_machine, nb_fds, i;
	struct fixture *fx = *state;

	MODEL_CALL(mana_model_leaks)(&before);
	nb_machine = files_below(machine);
	nb_fds = files_below("/proc/self/fd");
	for (i = 0; i < 100; i++) {
		fx->has_channels = true;
		bring_up(fx, 0, 2, 4);
		fx_fill(fx, &fx->rx[0], 8);
		fx_do(i % 2 == 0 ? "remove fn=0" : "fatal fn=0");
		if (i % 3 == 0)
			assert_int_equal(fx_close(fx), 0);
		fx_do("return fn=0");
		assert_int_equal(fx_close(fx), 0);
	}
	assert_no_objects();
	MODEL_CALL(mana_model_leaks)(&after);
	assert_memory_equal(&before, &after, sizeof(after));
	assert_int_equal(files_below(machine), nb_machine);
	assert_int_equal(files_below("/proc/self/fd"), nb_fds);
}
