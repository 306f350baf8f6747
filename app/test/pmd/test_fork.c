/* SPDX-License-Identifier: BSD-3-Clause */

/* A child that the program forks: it has no port, and the parent's go on. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "fixture.h"

#define NB_CHILDREN 2000
#define CHILD_S 20

static const struct fx_config config = { .nb_rxq = 2, .nb_txq = 2, .rss_hf = FX_RSS };

/* Whether a child that calls check() ends with its result 0. */
static void
check_child(int (*check)(struct fixture *fx), struct fixture *fx)
{
	uint64_t end = rte_get_timer_cycles() + CHILD_S * rte_get_timer_hz();
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check(fx));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (rte_get_timer_cycles() > end) {
			kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			fail_msg("the child hangs");
		}
		rte_delay_us_sleep(100);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Each operation returns an error. The number of the first one that does not. */
static int
child_without_ports(struct fixture *fx)
{
	struct rte_mbuf *m = NULL, *pkts[FX_BURST];
	uint16_t port = fx->port[0];
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(port, &stats) != -ENODEV)
		return 1;
	if (rte_eth_dev_info_get(port, &info) != -ENODEV)
		return 2;
	if (rte_eth_rx_burst(port, 0, pkts, FX_BURST) != 0)
		return 3;
	if (rte_eth_tx_burst(port, 0, &m, 1) != 0)
		return 4;
	/* Of a port without queues ethdev says an error, from 25.11.3 on 0. */
	if (rte_eth_rx_queue_count(port, 0) > 0)
		return 5;
	if (rte_eth_dev_stop(port) != -ENODEV)
		return 6;
	if (rte_eth_dev_close(port) != -ENODEV)
		return 7;
	if (rte_eth_rx_descriptor_status(port, 0, 0) >= 0)
		return 8;
	if (rte_eth_tx_descriptor_status(port, 0, 0) >= 0)
		return 9;
#ifdef MANA_TEST_TX_QUEUE_COUNT
	if (rte_eth_tx_queue_count(port, 0) > 0)
		return 10;
#endif
	return rte_eth_dev_count_avail() != 0 ? 11 : 0;
}

static struct {
	pthread_t thread;
	uint16_t port;
	unsigned int is_over;
} reader;

/* Holds the driver's locks most of the time. */
static void *
read_statistics(void *arg)
{
	struct rte_eth_stats stats;

	while (__atomic_load_n(&reader.is_over, __ATOMIC_RELAXED) == 0) {
		(void)rte_eth_stats_get(reader.port, &stats);
		(void)rte_eth_rx_queue_count(reader.port, 0);
	}
	return arg;
}

FX_TEST(test_child_of_running_ports)
{
	fx_start(fx, &config);
	reader.port = fx->port[0];
	reader.is_over = 0;
	assert_int_equal(pthread_create(&reader.thread, NULL, read_statistics, NULL), 0);
	for (unsigned int i = 0; i < NB_CHILDREN / fx_part(); i++)
		check_child(child_without_ports, fx);
	__atomic_store_n(&reader.is_over, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(reader.thread, NULL), 0);
	fx_pass_one(fx);
	fx_stop(fx);
}

/* ethdev remembers that the application has been told of the removal. */
FX_TEST(test_child_of_removed_ports)
{
	const uint64_t end = fx_deadline();

	fx_expect_error("");
	fx_reprobe(fx, "recovery_timeout=0");
	fx_start(fx, &config);
	fx_command("remove fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (rte_eth_dev_is_removed(fx->port[i]) == 0) {
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(1000);
		}
	check_child(child_without_ports, fx);
	fx_stop(fx);
	fx_remove(fx);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
	fx->ignore_counters = true;
}

/* A program that becomes a daemon before it probes the device. */
static int
child_with_ports(struct fixture *fx)
{
	if (fx_probe(fx, "") != 0)
		return 1;
	fx_start(fx, &config);
	fx_pass_one(fx);
	fx_stop(fx);
	fx_remove(fx);
	return 0;
}

FX_TEST(test_fork_before_the_probe)
{
	fx_remove(fx);
	check_child(child_with_ports, fx);
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &config);
	fx_pass_one(fx);
	fx_stop(fx);
	fx->ignore_counters = true; /* the wire has seen the child's packets, too */
}
