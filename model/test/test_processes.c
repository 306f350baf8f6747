/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lifetimes across processes: holders of a context, cleanup of dead programs,
 * passed descriptors. Run under mana-model.
 */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

extern char **environ;

static int
setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return 0;
}

static int
teardown(void **state)
{
	fx_close(*state);
	free(*state);
	assert_no_objects();
	return 0;
}

static void
wait_byte(int fd)
{
	char c;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		continue;
}

TEST_WITH(killed_program_frees_port_at_once, setup, teardown)
{
	struct mana_model_objects before, after;
	struct fixture *fx = *state;
	int ready[2];
	pid_t pid;
	int i;

	assert_int_equal(pipe(ready), 0);
	for (i = 0; i < 10; i++) {
		MODEL_CALL(mana_model_leaks)(&before);
		pid = fork();
		if (pid == 0) {
			CHILD_CHECK(fx_up(fx, 0, 1, 2, 2) == 0);
			fx_fill(fx, &fx->rx[0], 8);
			CHILD_CHECK(write(ready[1], "r", 1) == 1);
			for (;;)
				pause();
		}
		wait_byte(ready[0]);
		assert_int_equal(fx_objects().qp, 3);
		kill(pid, SIGKILL);
		fx_wait_for(pid, SIGKILL);

		assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
		assert_int_equal(fx_objects().qp, 2);
		MODEL_CALL(mana_model_leaks)(&after);
		assert_int_equal(after.qp - before.qp, 3);
		assert_int_equal(after.cq - before.cq, 4);
		assert_int_equal(after.wq - before.wq, 2);
		assert_int_equal(after.ind - before.ind, 1);
		assert_int_equal(after.mr - before.mr, 1);
		assert_int_equal(after.pd - before.pd, 1);
		assert_int_equal(after.fd - before.fd, 2);
		assert_int_equal(fx_close(fx), 0);
	}
	close(ready[0]);
	close(ready[1]);
}

TEST_WITH(killed_owner_frees_port_for_waiting_process, setup, teardown)
{
	struct fixture *fx = *state;
	int ready[2];
	pid_t pid;
	int i;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(fx_open(fx, 0, 1), 0);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			struct fixture own = { 0 };

			CHILD_CHECK(fx_up(&own, 0, 1, 1, 1) == 0);
			CHILD_CHECK(write(ready[1], "r", 1) == 1);
			for (;;)
				pause();
		}
		wait_byte(ready[0]);
		assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0",
								   true),
				 -EBUSY);
		kill(pid, SIGKILL);
		fx_wait_for(pid, SIGKILL);
		if (i % 2 == 0) {
			assert_int_equal(MODEL_CALL(mana_model_netdev_set)(
				"mana0p0", true), 0);
			assert_int_equal(MODEL_CALL(mana_model_netdev_set)(
				"mana0p0", false), 0);
		}
		assert_int_equal(fx_add_tx(fx), 0);
		assert_int_equal(fx_stop_tx(fx), 0);
	}
	close(ready[0]);
	close(ready[1]);
}

/* Killed at any time during bring-up, traffic or tear-down. */
TEST_WITH(killed_at_random_leaks_nothing, setup, teardown)
{
	struct fixture *fx = *state;
	uint32_t i, k;
	pid_t pid;

	srand(1);
	for (i = 0; i < 200; i++) {
		pid = fork();
		if (pid == 0) {
			struct fixture own = { 0 };

			for (;;) {
				CHILD_CHECK(fx_up(&own, 0, 1, 2, 2) == 0);
				fx_fill(&own, &own.rx[0], 8);
				for (k = 0; k < 20; k++) {
					fx_send(&own, &own.tx[0], 0, 60);
					own.tx[0].cq_head++;
				}
				fx_ring_cq(&own, &own.tx[0], false);
				CHILD_CHECK(fx_close(&own) == 0);
			}
		}
		usleep(rand() % 6000);
		kill(pid, SIGKILL);
		fx_wait_for(pid, SIGKILL);
		if (i % 20 != 0)
			continue;
		assert_int_equal(fx_up(fx, 0, 1, 2, 2), 0);
		assert_int_equal(fx_close(fx), 0);
		assert_no_objects();
	}
}

static void *
sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* It receives frames while its threads end one after the other. */
TEST_WITH(killed_receiver_causes_no_violation, setup, teardown)
{
	uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	struct fixture *fx = *state;
	int i, k, status, ready[2];
	pthread_t thread;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	for (i = 0; i < 30; i++) {
		pid = fork();
		if (pid == 0) {
			struct fixture own = { 0 };

			for (k = 0; k < 40; k++)
				pthread_create(&thread, NULL, sleep_on, NULL);
			CHILD_CHECK(fx_up(&own, 0, 2, 1, 1) == 0);
			fx_fill(&own, &own.rx[0], 64);
			CHILD_CHECK(write(ready[1], "r", 1) == 1);
			sleep_on(NULL);
		}
		wait_byte(ready[0]);
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, WNOHANG) == 0) {
			fx_send(fx, &fx->tx[0], 0, 60);
			assert_non_null(fx_cqe(&fx->tx[0]));
			fx_ring_cq(fx, &fx->tx[0], false);
		}
		assert_int_equal(status, SIGKILL);
		assert_int_equal(MODEL_CALL(mana_model_violations)(NULL),
				 before);
	}
	close(ready[0]);
	close(ready[1]);
}

/* Its CQ id is still in the kernel's table, but free in the device. */
TEST_WITH(half_stopped_program_does_not_block_cq_id, setup, teardown)
{
	struct fixture *fx = *state, other = { 0 };
	pid_t pid;

	assert_int_equal(fx_up(fx, 0, 1, 2, 0), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[1].qp), 0);
	fx->tx[0].qp = fx->tx[1].qp = NULL;
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(fx_up(&other, 0, 2, 1, 1) == 0);
		CHILD_CHECK(other.tx[0].cq_id != fx->tx[0].cq_id);
		fx_check_sends(&other);
		CHILD_CHECK(fx_close(&other) == 0);
		_exit(0);
	}
	fx_wait_for(pid, 0);
}

TEST_WITH(exit_of_child_keeps_objects_of_parent, setup, teardown)
{
	char name[] = "true";
	char *const argv[] = { name, NULL };
	struct fixture *fx = *state;
	pid_t pid;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);

	/* A child that closes everything it inherited. */
	pid = fork();
	if (pid == 0) {
		close(fx->ctx->cmd_fd);
		close(fx->ctx->async_fd);
		closefrom(3);
		_exit(0);
	}
	fx_wait_for(pid, 0);
	fx_check_sends(fx);
	/* A child that exits, and one that executes a program. */
	pid = fork();
	if (pid == 0)
		_exit(0);
	fx_wait_for(pid, 0);
	fx_check_sends(fx);
	assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, argv, environ),
			 0);
	fx_wait_for(pid, 0);
	fx_check_sends(fx);
	/* A child that uses the devices itself. */
	assert_int_equal(system("ibv_devinfo > /dev/null"), 0);
	fx_check_sends(fx);
	assert_int_equal(fx_objects().qp, 2);
	assert_int_equal(fx_objects().fd, 2);
}

TEST_WITH(child_uses_other_port, setup, teardown)
{
	struct fixture *fx = *state, other = { 0 };
	pid_t pid;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	fx_fill(fx, &fx->rx[0], 4);
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(fx_up(&other, 0, 1, 1, 0) == EBUSY);
		CHILD_CHECK(fx_close(&other) == 0);
		CHILD_CHECK(fx_up(&other, 0, 2, 1, 1) == 0);
		fx_send(&other, &other.tx[0], 0, 60);
		CHILD_CHECK(fx_cqe(&other.tx[0]) != NULL);
		CHILD_CHECK(fx_close(&other) == 0);
		_exit(0);
	}
	/*
	 * Its frame arrives in this process, although the child runs the
	 * device.
	 */
	assert_non_null(fx_cqe(&fx->rx[0]));
	fx_wait_for(pid, 0);
	fx_check_sends(fx);
}

TEST_WITH(mapping_keeps_context_open, setup, teardown)
{
	struct fixture *fx = *state;
	volatile uint64_t *page;
	int fd;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fx->ctx->cmd_fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	fd = dup(fx->ctx->cmd_fd);
	/* Both mappings are the same doorbell page. */
	fx->doorbell = page;
	fx_check_sends(fx);

	assert_int_equal(fx_close(fx), 0);
	assert_int_equal(fx_objects().fd, 1);
	assert_int_equal(close(fd), 0);
	assert_int_equal(fx_objects().fd, 1);
	assert_int_equal(munmap((void *)(uintptr_t)page, 4096), 0);
	assert_no_objects();
}

/* A process that has only the passed descriptor. */
static void
secondary(int sock)
{
	volatile uint64_t *page;
	uint64_t value;
	int fd;

	fd = fx_receive_fd(sock);
	CHILD_CHECK(fd >= 0);
	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	CHILD_CHECK(page != MAP_FAILED);
	CHILD_CHECK(close(fd) == 0);
	CHILD_CHECK(write(sock, "m", 1) == 1);
	/* Ring with the primary's values, and confirm each. */
	while (read(sock, &value, sizeof(value)) == sizeof(value)) {
		page[HW_DB_SQ / 8] = value;
		CHILD_CHECK(write(sock, "d", 1) == 1);
	}
	_exit(0);
}

TEST_WITH(passed_descriptor_maps_same_page, setup, teardown)
{
	struct fixture *fx = *state;
	volatile uint64_t *own;
	uint64_t dummy_page[512];
	uint64_t value;
	int sock[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	pid = fork();
	if (pid == 0) {
		close(sock[0]);
		secondary(sock[1]);
	}
	close(sock[1]);
	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	fx_send_fd(sock[0], fx->ctx->cmd_fd);
	wait_byte(sock[0]);

	/* Post without a doorbell, which goes to ordinary memory instead. */
	own = fx->doorbell;
	fx->doorbell = dummy_page;
	fx_send(fx, &fx->tx[0], 0, 60);
	fx->doorbell = own;
	value = fx->tx[0].id |
		(uint64_t)(fx->tx[0].pi_bu * HW_BU_BYTES) << 32;
	assert_int_equal(write(sock[0], &value, sizeof(value)), sizeof(value));
	wait_byte(sock[0]);
	assert_non_null(fx_cqe(&fx->tx[0]));

	/* The context exists while the other process has it mapped. */
	assert_int_equal(fx_close(fx), 0);
	assert_int_equal(fx_objects().fd, 1);
	close(sock[0]);
	fx_wait_for(pid, 0);
	MODEL_CALL(mana_model_leaks)(&(struct mana_model_objects){ 0 });
	assert_no_objects();
}

TEST_WITH(port_of_killed_primary_is_busy_while_mapped, setup, teardown)
{
	struct mana_model_objects before, after;
	struct fixture *fx = *state;
	pid_t primary, other;
	int sock[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	other = fork();
	if (other == 0) {
		close(sock[0]);
		secondary(sock[1]);
	}
	close(sock[1]);
	MODEL_CALL(mana_model_leaks)(&before);
	primary = fork();
	if (primary == 0) {
		CHILD_CHECK(fx_up(fx, 0, 1, 1, 1) == 0);
		fx_send_fd(sock[0], fx->ctx->cmd_fd);
		wait_byte(sock[0]);
		kill(getpid(), SIGKILL);
	}
	fx_wait_for(primary, SIGKILL);
	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_tx(fx), EBUSY);
	fx_close(fx);
	close(sock[0]);
	fx_wait_for(other, 0);
	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	/* The other process has closed its descriptor, not the primary's. */
	MODEL_CALL(mana_model_leaks)(&after);
	assert_int_equal(after.fd - before.fd, 2);
}

TEST_WITH(many_programs_use_port_in_turn, setup, teardown)
{
	int i;

	/* More processes than the machine has room for at a time. */
	for (i = 0; i < 100; i++)
		assert_int_equal(system("ibv_devices > /dev/null"), 0);
}
