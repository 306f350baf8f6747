/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Waiting until bursts are paused, while queues are polled continuously. A poll
 * of a paused queue stores is_busy for a moment and does nothing else. The wait
 * checks each queue until it is idle once: 64 queues are seldom all idle at one
 * instant.
 */

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "../../../model/test/test.h"
#include "mana_locks.h"
#include "mana_queues.h"

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

#define NB_QUEUES 8
#define LAST (NB_QUEUES - 1)

int mana_logtype_driver;

static struct mana_rxq queues[NB_QUEUES];
static void *list[NB_QUEUES];
static struct rte_eth_dev_data data = { .rx_queues = list, .nb_rx_queues = NB_QUEUES };
static struct mana_priv priv = { .data = &data };

static void
queues_init(void)
{
	static struct mana_hwq stand_in;

	for (uint32_t i = 0; i < NB_QUEUES; i++) {
		list[i] = &queues[i];
		mana_rxq_init(&queues[i], &stand_in);
	}
}

/*
 * While the queues are polled: the last one is in a burst when it is paused; while it is
 * awaited, the others, which were found idle, are in polls.
 */
static bool is_polled;
static MANA_ATOMIC(uint32_t) is_awaited;

/* Called at each barrier and in each wait. */
bool
mana_peers_exist(void)
{
	if (!is_polled || mana_atomic_load(&queues[LAST].is_busy) == 0)
		return false;
	for (uint32_t i = 0; i < LAST; i++)
		mana_atomic_store(&queues[i].is_busy, 1);
	mana_atomic_store(&is_awaited, 1);
	return false;
}

void
mana_peers_reap(void)
{
}

/* Referenced by inline functions of headers in builds without optimization. */
int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint64_t len_bytes)
{
	RTE_SET_USED(cache);
	RTE_SET_USED(m);
	RTE_SET_USED(addr);
	RTE_SET_USED(len_bytes);
	fail();
	return -1;
}

static bool is_refused; /* membarrier() */

long
__wrap_syscall(long number, ...)
{
	va_list args;
	long what, flags;

	va_start(args, number);
	what = va_arg(args, int);
	flags = va_arg(args, int);
	va_end(args);
	if (is_refused) {
		errno = EPERM;
		return -1;
	}
	if (is_polled && queues[LAST].is_paused != 0 && mana_atomic_load(&is_awaited) == 0)
		mana_atomic_store(&queues[LAST].is_busy, 1);
	return __real_syscall(number, what, flags, 0);
}

/* Ends the last queue's burst when it is awaited. */
static void *
end_burst(void *arg)
{
	while (mana_atomic_load(&is_awaited) == 0)
		usleep(1000);
	mana_atomic_store(&queues[LAST].is_busy, 0);
	return arg;
}

TEST(test_each_waited_for_once)
{
	pthread_t thread;
	int ret;

	queues_init();
	is_polled = true;
	assert_int_equal(pthread_create(&thread, NULL, end_burst, NULL), 0);
	ret = mana_pause(&priv, MANA_PAUSE_RX, 2000);
	assert_int_equal(pthread_join(thread, NULL), 0);
	is_polled = false;
	assert_int_equal(ret, 0);
	for (uint32_t i = 0; i < NB_QUEUES; i++) {
		assert_int_equal(mana_atomic_load(&queues[i].is_busy), i != LAST);
		assert_int_equal(queues[i].is_paused, 1);
	}
	mana_resume(&priv, MANA_PAUSE_RX);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].is_paused, 0);
}

/* Nothing can be paused, and nothing is. */
TEST(test_refused)
{
	queues_init();
	is_refused = true;
	assert_int_equal(mana_threads_barrier(), -ENOTSUP);
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX, 2000), -ENOTSUP);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].is_paused, 0);
	assert_int_equal(mana_pause_share(), -ENOTSUP);
	is_refused = false;
	assert_int_equal(mana_threads_barrier(), 0);
}

/* All queues are idle, but for a burst of queue 0. */
static void
one_burst(void)
{
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		mana_atomic_store(&queues[i].is_busy, i == 0);
}

/* A burst that does not end. */
TEST(test_burst_awaited)
{
	queues_init();
	one_burst();
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX, 1), -EBUSY);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].is_paused, 0);
	one_burst();
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX | MANA_PAUSE_FOR_STOP, 1), -EBUSY);
	/* A burst of this thread, which stops the port in a signal handler. */
	one_burst();
	mana_burst_enter(&queues[0].is_busy);
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX | MANA_PAUSE_FOR_STOP, 1), 0);
	mana_resume(&priv, MANA_PAUSE_RX);
	/* Its queue is not changed by anything else. */
	one_burst();
	mana_burst_enter(&queues[0].is_busy);
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX, 1), -EBUSY);
}

int
main(void)
{
	static char name[] = "pause", memory[] = "-m", megabytes[] = "16";
	static char no_huge[] = "--no-huge", no_pci[] = "--no-pci";
	static char no_shconf[] = "--no-shconf", no_telemetry[] = "--no-telemetry";
	char *argv[] = { name, memory, megabytes, no_huge, no_pci, no_shconf,
			 no_telemetry };

	/* The wait has a timeout; EAL calibrates the timer. */
	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return 1;
	return test_run("pause", NULL, NULL);
}
