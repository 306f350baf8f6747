/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fork() while another thread of the program is inside the model: its child is
 * free to use the machine. Run under mana-model, in any mode.
 */

#include <pthread.h>
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			child_opens_whatever_other_threads_did, vrig_setup,
			vrig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
