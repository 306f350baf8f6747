/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port is stopped while its bursts and operations are at work: by another thread, and by
 * a signal handler that has interrupted them and does not return to them.
 */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include "fixture.h"

#define NB_ROUNDS 400
#define NB_QUEUES 2

static const struct fx_config config = { .nb_rxq = NB_QUEUES, .nb_txq = NB_QUEUES,
					 .rss_hf = FX_RSS, .intr = { .rxq = 1 } };

/* ---- By another thread ---------------------------------------------------------- */

static struct {
	/* ethdev changes its own table at the stop, not as one. */
	struct rte_eth_fp_ops ops;
	unsigned int is_over;
	unsigned int nb_rounds;
} poller;

static void *
poll_queues(void *arg)
{
	const struct rte_eth_fp_ops *ops = &poller.ops;
	struct rte_mbuf *pkts[FX_BURST];

	while (__atomic_load_n(&poller.is_over, __ATOMIC_RELAXED) == 0) {
		for (uint16_t q = 0; q < NB_QUEUES; q++) {
			uint16_t nb = ops->rx_pkt_burst(ops->rxq.data[q], pkts, FX_BURST);
			uint16_t sent = ops->tx_pkt_burst(ops->txq.data[q], pkts, nb);

			rte_pktmbuf_free_bulk(pkts + sent, nb - sent);
		}
		__atomic_add_fetch(&poller.nb_rounds, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/*
 * Another lcore still polls when the port stops, as in an application that does not wait
 * for its lcores. It ends before the start, whose change of ethdev's table is not atomic.
 */
FX_TEST(test_stop_while_polled)
{
	pthread_t thread;

	fx_start(fx, &config);
	for (unsigned int i = 0; i < NB_ROUNDS / fx_part(); i++) {
		poller.is_over = poller.nb_rounds = 0;
		poller.ops = rte_eth_fp_ops[fx->port[0]];
		assert_int_equal(pthread_create(&thread, NULL, poll_queues, NULL), 0);
		for (uint32_t seed = 0; seed < FX_BURST; seed++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

			fx_send(fx->port[1], 0, &m, 1);
		}
		/* A busy machine may start the thread late. */
		while (__atomic_load_n(&poller.nb_rounds, __ATOMIC_RELAXED) == 0)
			rte_pause();
		assert_int_equal(fx_dev_stop(fx, 0), 0);
		__atomic_store_n(&poller.is_over, 1, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(fx_dev_start(fx, 0), 0);
	}
	fx->ignore_counters = true;
}

/* ---- By a signal handler ---------------------------------------------------------- */

static struct {
	struct fixture *fx;
	sigjmp_buf back;
	pthread_t thread;
	int stop_error;
	unsigned int delay_us;
	unsigned int is_at_work;
} victim;

static void
on_signal(int number)
{
	victim.stop_error = fx_dev_stop(victim.fx, 0);
	siglongjmp(victim.back, 1);
}

static void *
send_signal(void *arg)
{
	while (__atomic_load_n(&victim.is_at_work, __ATOMIC_ACQUIRE) == 0)
		rte_pause();
	rte_delay_us_block(victim.delay_us);
	(void)pthread_kill(victim.thread, SIGUSR1);
	return arg;
}

static void
read_statistics(uint16_t port)
{
	struct rte_eth_stats stats;

	(void)rte_eth_stats_get(port, &stats);
}

static void
count_packets(uint16_t port)
{
	(void)rte_eth_rx_queue_count(port, 0);
}

static void
set_mtu(uint16_t port)
{
	(void)rte_eth_dev_set_mtu(port, 1400);
}

static void
receive(uint16_t port)
{
	struct rte_mbuf *pkts[FX_BURST];

	(void)rte_eth_rx_burst(port, 0, pkts, FX_BURST);
}

static void
clean_up(uint16_t port)
{
	(void)rte_eth_tx_done_cleanup(port, 0, 0);
}

static void
wait_for_packets(uint16_t port)
{
	(void)rte_eth_dev_rx_intr_enable(port, 0);
	(void)rte_eth_dev_rx_intr_disable(port, 0);
}

static void
read_xstats(uint16_t port)
{
	static struct rte_eth_xstat xstats[1024];

	(void)rte_eth_xstats_get(port, xstats, RTE_DIM(xstats));
}

static void
read_link(uint16_t port)
{
	struct rte_eth_link link;

	(void)rte_eth_link_get_nowait(port, &link);
}

static void
read_descriptors(uint16_t port)
{
	(void)rte_eth_rx_descriptor_status(port, 0, 3);
	(void)rte_eth_tx_descriptor_status(port, 0, 3);
}

static void
read_settings(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key) };
	struct rte_eth_dev_info info;
	struct rte_eth_rxq_info rxq;

	(void)rte_eth_dev_rss_reta_query(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
	(void)rte_eth_dev_rss_hash_conf_get(port, &rss);
	(void)rte_eth_dev_info_get(port, &info);
	(void)rte_eth_rx_queue_info_get(port, 0, &rxq);
}

static void
restart(uint16_t port)
{
	(void)rte_eth_dev_stop(port);
	(void)rte_eth_dev_start(port);
}

/* The operation is interrupted at random; each stop succeeds, and the port starts again. */
static void
stop_in_handler(struct fixture *fx, void (*operate)(uint16_t port))
{
	const struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fx_start(fx, &config);
	victim.fx = fx;
	victim.thread = pthread_self();
	for (unsigned int i = 0; i < NB_ROUNDS / fx_part(); i++) {
		victim.delay_us = 1 + i * 7 % 50;
		victim.is_at_work = 0;
		assert_int_equal(pthread_create(&thread, NULL, send_signal, NULL), 0);
		if (sigsetjmp(victim.back, 1) == 0) {
			__atomic_store_n(&victim.is_at_work, 1, __ATOMIC_RELEASE);
			for (;;)
				operate(fx->port[0]);
		}
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(victim.stop_error, 0);
		assert_int_equal(fx_dev_start(fx, 0), 0);
	}
	fx_pass_one(fx);
	fx_stop(fx);
}

FX_TEST(test_stop_in_statistics)
{
	stop_in_handler(fx, read_statistics);
}

FX_TEST(test_stop_in_queue_count)
{
	stop_in_handler(fx, count_packets);
}

FX_TEST(test_stop_in_mtu)
{
	stop_in_handler(fx, set_mtu);
}

FX_TEST(test_stop_in_start)
{
	stop_in_handler(fx, restart);
}

FX_TEST(test_stop_in_burst)
{
	stop_in_handler(fx, receive);
}

/* Operations that allocate nothing: a handler cannot stop a port inside of malloc(). */
FX_TEST(test_stop_in_others)
{
	static void (*const operations[])(uint16_t port) = {
		clean_up, wait_for_packets, read_xstats, read_link, read_descriptors,
		read_settings,
	};

	for (unsigned int i = 0; i < RTE_DIM(operations); i++)
		stop_in_handler(fx, operations[i]);
}
