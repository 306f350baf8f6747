/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fork() while another thread of the program is inside the model: the child
 * must be able to use the machine; and the files that it inherits. Run under
 * mana-model.
 */

#include <pthread.h>
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

/* 0 or errno. */
static int
write_to(int fd)
{
	return write(fd, "verbs", 5) < 0 ? errno : 0;
}

/*
 * Its file holds the doorbell page: neither the process that opened it nor a child
 * may store bytes there.
 */
FX_TEST(context_is_not_written)
{
	struct fixture *fx = *state;
	int fd, errors[2];
	pid_t pid;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	fd = fx->ctx->cmd_fd;
	pid = fork();
	if (pid == 0) {
		errors[0] = write_to(fd);
		/* Now the model knows the descriptor. */
		if (mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED)
			_exit(2);
		errors[1] = write_to(fd);
		_exit(errors[0] != EOPNOTSUPP || errors[1] != EOPNOTSUPP);
	}
	assert_int_equal(end_of(pid), 0);
	assert_int_equal(write_to(fd), EOPNOTSUPP);
}
