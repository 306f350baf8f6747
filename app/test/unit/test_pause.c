/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Waiting until bursts are paused, while queues are polled continuously. A poll
 * of a paused list stores is_busy for a moment and does nothing else. The wait
 * checks each queue until it is idle once: 64 queues are seldom all idle at one
 * instant.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "mana_rx_set.h"

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

#define NB_QUEUES 8
#define LAST (NB_QUEUES - 1)

int mana_logtype_driver;

static struct mana_eth_rxq queues[NB_QUEUES];
static MANA_ATOMIC(uint32_t) nb_checks[NB_QUEUES]; /* while all are paused */

/*
 * The driver's list of queues. The last queue is in a burst at its first check;
 * the others are idle at their first check, and in a poll at each later check.
 */
struct mana_eth_rxq *
mana_rxq_next(const struct mana_priv *priv, uint32_t *at)
{
	uint32_t i = *at;

	RTE_SET_USED(priv);
	if (i == NB_QUEUES)
		return NULL;
	(*at)++;
	if (queues[LAST].list.is_paused != 0) {
		uint32_t nb = mana_atomic_load(&nb_checks[i]);

		if (nb == 0 ? i == LAST : i != LAST)
			mana_atomic_store(&queues[i].list.is_busy, 1);
		mana_atomic_store(&nb_checks[i], nb + 1);
	}
	return &queues[i];
}

/* No Tx queue. */
struct mana_eth_txq *
mana_txq_next(const struct mana_priv *priv, uint32_t *at)
{
	RTE_SET_USED(priv);
	RTE_SET_USED(at);
	return NULL;
}

bool
mana_peers_exist(void)
{
	return false;
}

void
mana_peers_reap(void)
{
}

/* Referenced by inline functions of headers in builds without optimization. */
int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint32_t len_bytes, struct mana_mr_range *range)
{
	RTE_SET_USED(cache);
	RTE_SET_USED(m);
	RTE_SET_USED(addr);
	RTE_SET_USED(len_bytes);
	RTE_SET_USED(range);
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
	return __real_syscall(number, what, flags, 0);
}

/* Bursts have no fences, so nothing can be paused any more. */
static void
test_refused_later(void **state)
{
	struct rte_eth_dev_data data = { .name = "test" };
	struct mana_priv priv = { .data = &data };

	(void)state;
	assert_true(mana_pause_begin());
	is_refused = true;
	assert_int_equal(mana_pause_check(), -EPERM);
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX, 2000), -ENOTSUP);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].list.is_paused, 0);
	/* Too late for fences. */
	assert_true(mana_pause_begin());
	is_refused = false;
	assert_int_equal(mana_pause_check(), 0);
}

/* All queues are idle at their next check. */
static void
no_other_bursts(void)
{
	for (uint32_t i = 0; i < NB_QUEUES; i++) {
		mana_atomic_store(&queues[i].list.is_busy, 0);
		mana_atomic_store(&nb_checks[i], i == LAST);
	}
}

/* A burst with fences that does not end. */
static void
test_fenced_burst_awaited(void **state)
{
	struct rte_eth_dev_data data = { .name = "test" };
	struct mana_priv priv = { .data = &data };
	static struct mana_rxq stand_in;

	(void)state;
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		mana_rx_list_init(&queues[i].list, &stand_in);
	mana_fenced_enter(&queues[0].list.is_fenced);
	no_other_bursts();
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX, 1), -EBUSY);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].list.is_paused, 0);
	no_other_bursts();
	/* The application's own burst, whose thread stops the port. */
	assert_int_equal(mana_pause(&priv, MANA_PAUSE_RX | MANA_PAUSE_OTHERS, 1), 0);
	mana_resume(&priv, MANA_PAUSE_RX);
	mana_fenced_leave(&queues[0].list.is_fenced);
}

/* Ends the last queue's burst some time after its first check. */
static void *
end_burst(void *arg)
{
	while (mana_atomic_load(&nb_checks[LAST]) == 0)
		usleep(1000);
	mana_atomic_store(&queues[LAST].list.is_busy, 0);
	return arg;
}

static void
test_each_waited_for_once(void **state)
{
	struct rte_eth_dev_data data = { .name = "test" };
	struct mana_priv priv = { .data = &data };
	static struct mana_rxq stand_in;
	pthread_t thread;
	int ret;

	(void)state;
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		mana_rx_list_init(&queues[i].list, &stand_in);
	assert_int_equal(pthread_create(&thread, NULL, end_burst, NULL), 0);
	ret = mana_pause(&priv, MANA_PAUSE_RX, 2000);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ret, 0);
	for (uint32_t i = 0; i < NB_QUEUES; i++) {
		assert_int_equal(mana_atomic_load(&nb_checks[i]), 1);
		assert_int_equal(queues[i].list.is_paused, 1);
	}
	mana_resume(&priv, MANA_PAUSE_RX);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		assert_int_equal(queues[i].list.is_paused, 0);
}

int
main(void)
{
	static char name[] = "pause", memory[] = "-m", megabytes[] = "16";
	static char no_huge[] = "--no-huge", no_pci[] = "--no-pci";
	static char no_shconf[] = "--no-shconf", no_telemetry[] = "--no-telemetry";
	char *argv[] = { name, memory, megabytes, no_huge, no_pci, no_shconf,
			 no_telemetry };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_waited_for_once),
		cmocka_unit_test(test_refused_later),
		cmocka_unit_test(test_fenced_burst_awaited),
	};

	/* The wait has a timeout; EAL calibrates the timer. */
	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return 1;
	return cmocka_run_group_tests_name("pause", tests, NULL, NULL);
}
