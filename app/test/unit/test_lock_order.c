/* SPDX-License-Identifier: BSD-3-Clause */

/* A build with MANA_LOCK_ORDER ends a program that takes locks in a wrong order. */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/wait.h>

#include "mana_process.h"
#include "../../../model/test/test.h"

static struct mana_mutex port, peers, registry;
static int is_tried; /* the last one */

/* Returns the signal that ends a process which takes these, or 0. */
static int
end_of(struct mana_mutex *first, struct mana_mutex *second)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		/* What it writes would look like an error of this test. */
		close(STDERR_FILENO);
		mana_mutex_lock(first);
		if (!is_tried)
			mana_mutex_lock(second);
		else if (!mana_mutex_trylock(second))
			_exit(EXIT_FAILURE);
		mana_mutex_unlock(second);
		mana_mutex_unlock(first);
		/* None is held any more. */
		mana_mutex_lock(&port);
		_exit(EXIT_SUCCESS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == EXIT_SUCCESS);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(waits_in_order)
{
	assert_int_equal(end_of(&port, &peers), 0);
	assert_int_equal(end_of(&port, &registry), 0);
	assert_int_equal(end_of(&peers, &registry), 0);
	assert_int_equal(end_of(&registry, &peers), SIGABRT);
	assert_int_equal(end_of(&peers, &port), SIGABRT);
}

/* Of two locks of a rank, such as those of two ports, none is the outer one. */
TEST(one_of_a_rank)
{
	static struct mana_mutex other;

	mana_mutex_init(&other, MANA_LOCK_PORT);
	assert_int_equal(end_of(&port, &other), SIGABRT);
}

/* Who does not wait may try any. */
TEST(tries_any)
{
	is_tried = 1;
	assert_int_equal(end_of(&registry, &port), 0);
	is_tried = 0;
}

static void *
take_port(void *arg)
{
	mana_mutex_lock(&port);
	mana_mutex_unlock(&port);
	return arg;
}

/* The locks of another thread do not count. */
TEST(each_thread_has_its_own)
{
	pthread_t thread;

	mana_mutex_lock(&registry);
	assert_int_equal(pthread_create(&thread, NULL, take_port, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	mana_mutex_unlock(&registry);
}

int
main(void)
{
	mana_mutex_init(&port, MANA_LOCK_PORT);
	mana_mutex_init(&peers, MANA_LOCK_PEERS);
	mana_mutex_init(&registry, MANA_LOCK_REGISTRY);
	return test_run("lock_order", NULL, NULL);
}
