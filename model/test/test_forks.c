/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fork() while another thread of the program is inside the model: its child is
 * free to use the machine. Run under mana-model, in any mode.
 */

#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "verbs_rig.h"

#define PAGE_BYTES 4096
#define NB_CHILDREN 100
#define CHILD_MS 10000 /* it needs some milliseconds */

static bool is_mapping;

/*
 * Not libibverbs, which has locks of its own that do not survive fork(). Any
 * page that is mapped is one more for the model to know.
 */
static void *
map_all_the_time(void *arg)
{
	const struct vrig *rig = arg;
	void *page;

	while (__atomic_load_n(&is_mapping, __ATOMIC_RELAXED)) {
		page = mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED,
			    rig->ctx->cmd_fd, 0);
		if (page == MAP_FAILED || munmap(page, PAGE_BYTES) != 0)
			return arg;
	}
	return NULL;
}

/* Its wait status. One that hangs would do so for ever, and busily. */
static int
end_of(pid_t pid)
{
	int status, i;

	for (i = 0; i < CHILD_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

static void
child_opens_whatever_other_threads_did(void **state)
{
	struct vrig *rig = *state, own = { 0 };
	int i, status = 0;
	pthread_t thread;
	void *failed;
	pid_t pid;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	is_mapping = true;
	assert_int_equal(pthread_create(&thread, NULL, map_all_the_time, rig),
			 0);
	for (i = 0; i < NB_CHILDREN && status == 0; i++) {
		pid = fork();
		if (pid == 0)
			_exit(vrig_open(&own, 0, 2) != 0 ||
			      vrig_close(&own) != 0);
		status = pid < 0 ? -1 : end_of(pid);
	}
	__atomic_store_n(&is_mapping, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(status, 0);
}

/* By write() to a context; 0 or the errno. */
static int
write_alloc_pd(int fd)
{
	uint32_t answer = 0;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd cmd;
	} pd = { { IB_USER_VERBS_CMD_ALLOC_PD, 4, 1 }, { (uintptr_t)&answer } };

	return write(fd, &pd, sizeof(pd)) < 0 ? errno : 0;
}

/* Linux ib_safe_file_access(): the one who opened it, and no other. */
static void
child_writes_no_commands(void **state)
{
	struct vrig *rig = *state;
	int fd, errors[2];
	pid_t pid;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	fd = rig->ctx->cmd_fd;
	pid = fork();
	if (pid == 0) {
		errors[0] = write_alloc_pd(fd);
		/* By then the model knows the descriptor. */
		if (mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED)
			_exit(2);
		errors[1] = write_alloc_pd(fd);
		_exit(errors[0] != EACCES || errors[1] != EACCES);
	}
	assert_int_equal(end_of(pid), 0);
	assert_int_equal(write_alloc_pd(fd), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			child_opens_whatever_other_threads_did, vrig_setup,
			vrig_teardown),
		cmocka_unit_test_setup_teardown(child_writes_no_commands,
						vrig_setup, vrig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
