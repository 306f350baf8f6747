/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fork() while another thread of the program is inside the model: the child
 * must be able to use the machine. Run under mana-model.
 */

#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "verbs_fixture.h"

#define PAGE_BYTES 4096
#define NB_CHILDREN 100
#define CHILD_MS 10000 /* it needs a few milliseconds */

static bool is_mapping;

/*
 * Without libibverbs, whose own locks do not survive fork(). Each mapped page
 * is registered with the model.
 */
static void *
map_all_the_time(void *arg)
{
	const struct fixture *fx = arg;
	void *page;

	while (__atomic_load_n(&is_mapping, __ATOMIC_RELAXED)) {
		page = mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED,
			    fx->ctx->cmd_fd, 0);
		if (page == MAP_FAILED || munmap(page, PAGE_BYTES) != 0)
			return arg;
	}
	return NULL;
}

/* The wait status of the child, which is killed if it hangs. */
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

FX_TEST(child_opens_files_after_fork_during_locked_calls)
{
	struct fixture *fx = *state, own = { 0 };
	int i, status = 0;
	pthread_t thread;
	void *failed;
	pid_t pid;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	is_mapping = true;
	assert_int_equal(pthread_create(&thread, NULL, map_all_the_time, fx),
			 0);
	for (i = 0; i < NB_CHILDREN && status == 0; i++) {
		pid = fork();
		if (pid == 0)
			_exit(fx_open(&own, 0, 2) != 0 ||
			      fx_close(&own) != 0);
		status = pid < 0 ? -1 : end_of(pid);
	}
	__atomic_store_n(&is_mapping, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(status, 0);
}

/* alloc_pd by write() to a context. 0 or errno. */
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

/*
 * Linux ib_safe_file_access(): only the process that opened the file may write.
 */
FX_TEST(write_command_of_child_is_refused)
{
	struct fixture *fx = *state;
	int fd, errors[2];
	pid_t pid;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	fd = fx->ctx->cmd_fd;
	pid = fork();
	if (pid == 0) {
		errors[0] = write_alloc_pd(fd);
		/* Now the model knows the descriptor. */
		if (mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED)
			_exit(2);
		errors[1] = write_alloc_pd(fd);
		_exit(errors[0] != EACCES || errors[1] != EACCES);
	}
	assert_int_equal(end_of(pid), 0);
	assert_int_equal(write_alloc_pd(fd), 0);
}
