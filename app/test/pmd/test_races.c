/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two threads forward, and others read reports, ethdev's and telemetry, while the control
 * path changes queues, the driver repairs a queue, and recovers from the loss of the device.
 * The threads make progress after each change, and no packet is counted twice. The thread
 * sanitizer checks their accesses (devtools/run-tsan.sh).
 *
 * Without the two threads queues are also stopped, set up, added and removed while others read
 * reports. No freed memory is read, and no packet is counted twice or omitted.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "fixture.h"

#define NB_THREADS 2
#define NB_ROUNDS 8
/* Without forwarding threads. */
#define NB_CHANGES 16
#define NB_FRAMES 24
#define NB_XSTATS 1024
#define FRAME 100
/* Polls without a packet after which a thread sends one. */
#define IDLE_POLLS 100
#define ENOUGH 100

static const struct fx_config config = {
	.nb_rxq = NB_THREADS, .nb_txq = NB_THREADS, .rss_hf = FX_RSS,
	.intr = { .lsc = 1, .rmv = 1 },
};
/* Three Rx queues have four hardware queues. */
static const struct fx_config three = {
	.nb_rxq = 3, .nb_txq = 2, .rss_hf = FX_RSS,
};

/* ---- Threads ------------------------------------------------------------------------ */

static struct {
	const struct fixture *fx;
	unsigned int nb_forwarders;
	atomic_bool is_over;
	atomic_uint nb_forwarded[NB_THREADS];
	atomic_uint nb_reads;
	atomic_uint nb_replies;
	atomic_uint nb_decreases;
	/* The maximum seen of each port. */
	uint64_t ipackets[FX_NB_PORTS], opackets[FX_NB_PORTS];
	pthread_t forwarders[NB_THREADS], reader, asker;
	bool is_running;
} threads;

/* What a port sends arrives at the other one, which gives it back here. */
static unsigned int
forward(unsigned int from, uint16_t queue)
{
	struct rte_mbuf *pkts[FX_BURST];
	uint16_t nb = rte_eth_rx_burst(threads.fx->port[from], queue, pkts, FX_BURST);
	uint16_t nb_sent = nb == 0 ? 0 : rte_eth_tx_burst(threads.fx->port[from ^ 1], queue,
							  pkts, nb);

	for (uint16_t i = nb_sent; i < nb; i++)
		rte_pktmbuf_free(pkts[i]);
	return nb_sent;
}

/* RSS chooses the queue that receives the frame. */
static void
send_one(unsigned int from, uint16_t queue, uint32_t seed)
{
	struct rte_mbuf *m = fx_frame(threads.fx->pool, FRAME, seed);

	if (rte_eth_tx_burst(threads.fx->port[from], queue, &m, 1) == 0)
		rte_pktmbuf_free(m);
}

static void *
forward_all(void *arg)
{
	unsigned int nb_idle[FX_NB_PORTS] = { 0 };
	const uint16_t queue = (uintptr_t)arg;
	unsigned int seed = queue;

	while (!atomic_load(&threads.is_over)) {
		for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
			unsigned int nb = forward(i, queue);

			atomic_fetch_add(&threads.nb_forwarded[queue], nb);
			nb_idle[i] = nb > 0 ? 0 : nb_idle[i] + 1;
			if (nb_idle[i] < IDLE_POLLS)
				continue;
			nb_idle[i] = 0;
			send_one(i ^ 1, queue, seed++);
		}
	}
	return NULL;
}

static void
increases(uint64_t *most, uint64_t now)
{
	if (now < *most)
		atomic_fetch_add(&threads.nb_decreases, 1);
	*most = now;
}

/*
 * The dump shows rings while bursts change them: a deliberate race, which the
 * thread sanitizer would report.
 */
static void
read_dump(uint16_t port __rte_unused)
{
#ifndef __SANITIZE_THREAD__
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file == NULL)
		return;
	(void)rte_eth_dev_priv_dump(port, file);
	fclose(file);
	free(text);
#endif
}

static bool
read_port(unsigned int i)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];
	const uint16_t port = threads.fx->port[i];
	struct rte_eth_rss_conf rss = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;
	struct rte_eth_stats stats;
	struct rte_eth_link link;

	if (rte_eth_stats_get(port, &stats) == 0) {
		increases(&threads.ipackets[i], stats.ipackets);
		increases(&threads.opackets[i], stats.opackets);
	}
	(void)rte_eth_xstats_get(port, xstats, NB_XSTATS);
	if (rte_eth_dev_info_get(port, &info) != 0 || rte_eth_link_get_nowait(port, &link) != 0)
		return false;
	(void)rte_eth_dev_rss_hash_conf_get(port, &rss);
	(void)rte_eth_rx_queue_info_get(port, 0, &rxq);
	(void)rte_eth_tx_queue_info_get(port, 0, &txq);
	read_dump(port);
	/* As bursts, these may not run during the setup of their queue. */
	if (threads.nb_forwarders > 0) {
		(void)rte_eth_rx_queue_count(port, 0);
		(void)rte_eth_tx_descriptor_status(port, 0, 0);
	}
	return true;
}

static void *
read_all(void *arg)
{
	while (!atomic_load(&threads.is_over)) {
		/* The test waits for further rounds, in vain. */
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			if (!read_port(i))
				return arg;
		atomic_fetch_add(&threads.nb_reads, 1);
	}
	return arg;
}

static void *
ask_all(void *arg)
{
	while (!atomic_load(&threads.is_over)) {
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			if (!fx_telemetry_ask_all(threads.fx->port[i]))
				return arg;
		atomic_fetch_add(&threads.nb_replies, 1);
	}
	return arg;
}

static void
start_threads(void)
{
	assert_int_equal(pthread_create(&threads.asker, NULL, ask_all, NULL), 0);
	for (uintptr_t i = 0; i < threads.nb_forwarders; i++)
		assert_int_equal(pthread_create(&threads.forwarders[i], NULL, forward_all,
						(void *)i), 0);
	assert_int_equal(pthread_create(&threads.reader, NULL, read_all, NULL), 0);
	threads.is_running = true;
}

/* Also after a failure, before the ports are stopped. */
static void
end_threads(void)
{
	if (!threads.is_running)
		return;
	threads.is_running = false;
	atomic_store(&threads.is_over, true);
	for (unsigned int i = 0; i < threads.nb_forwarders; i++)
		(void)pthread_join(threads.forwarders[i], NULL);
	(void)pthread_join(threads.reader, NULL);
	(void)pthread_join(threads.asker, NULL);
}

static void
wait_more(atomic_uint *count, unsigned int nb)
{
	const unsigned int before = atomic_load(count);
	const uint64_t end = rte_get_timer_cycles() + 60 * rte_get_timer_hz();

	while (atomic_load(count) - before < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
}

static void
wait_progress(void)
{
	for (unsigned int i = 0; i < threads.nb_forwarders; i++)
		wait_more(&threads.nb_forwarded[i], ENOUGH);
	wait_more(&threads.nb_reads, 2);
	wait_more(&threads.nb_replies, 1);
}

/* Executes change() again and again beside the threads. */
static void
run_beside(struct fixture *fx, unsigned int nb_forwarders, unsigned int nb_rounds,
	   void (*change)(struct fixture *fx, unsigned int round))
{
	memset(&threads, 0, sizeof(threads));
	threads.fx = fx;
	threads.nb_forwarders = nb_forwarders;
	start_threads();
	wait_progress();
	for (unsigned int round = 0; round < nb_rounds; round++) {
		change(fx, round);
		wait_progress();
	}
	end_threads();
	assert_int_equal(atomic_load(&threads.nb_decreases), 0);
}

/* Both ports run meanwhile. */
static void
run(struct fixture *fx, void (*change)(struct fixture *fx, unsigned int round))
{
	fx->ignore_counters = true;
	fx_start(fx, &config);
	run_beside(fx, NB_THREADS, NB_ROUNDS, change);
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
}

/* Without forwarding threads: change() sends and receives. */
static void
run_alone(struct fixture *fx, void (*change)(struct fixture *fx, unsigned int round))
{
	/* During its setup a queue does not exist for ethdev. */
	fx_expect_error("has not been setup");
	fx_start(fx, &three);
	run_beside(fx, 0, NB_CHANGES, change);
	fx_drain(fx);
}

/* ---- Changes --------------------------------------------------------------------------- */

static void
change_key(struct fixture *fx, unsigned int round)
{
	uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key),
					.rss_hf = FX_RSS };

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = i * 7 + round + 3;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[round % 2], &rss), 0);
}

static int
setup(void **state)
{
	/* The thread sanitizer does not know the locks of DPDK's ops. */
	if (rte_mbuf_set_user_mempool_ops(fx_pool_ops) != 0)
		return -1;
	return fx_setup(state);
}

static int
teardown(void **state)
{
	end_threads();
	return fx_teardown(state);
}

#define RACE_TEST(name) FX_TEST_OF(name, setup, teardown)

RACE_TEST(test_key)
{
	run(fx, change_key);
}

static void
change_table(struct fixture *fx, unsigned int round)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = (i + round) % NB_THREADS;
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[round / 2 % 2], &reta,
						     RTE_ETH_RETA_GROUP_SIZE), 0);
}

RACE_TEST(test_table)
{
	run(fx, change_table);
}

/* Threads poll stopped queues meanwhile; they may not send on stopped ones. */
static void
change_queue(struct fixture *fx, unsigned int round)
{
	const uint16_t port = fx->port[round % 2], queue = round / 2 % NB_THREADS;

	assert_int_equal(rte_eth_dev_rx_queue_stop(port, queue), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, queue), 0);
}

RACE_TEST(test_queue)
{
	run(fx, change_queue);
}

static void
wait_xstat(const struct fixture *fx, unsigned int index, const char *name, uint64_t nb)
{
	const uint64_t end = rte_get_timer_cycles() + 60 * rte_get_timer_hz();

	while (fx_xstat(fx->port[index], name) < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
}

static void
lose_device(struct fixture *fx, unsigned int round)
{
	fx_command("reset fn=0 outage=5ms");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_xstat(fx, i, "recoveries", round + 1);
}

RACE_TEST(test_recovery)
{
	fx_expect_error("");
	run(fx, lose_device);
}

static void
disable_queue(struct fixture *fx, unsigned int round)
{
	const uint64_t before = fx_xstat(fx->port[0], "queue_repairs");

	/* The driver waits longer before each repair. */
	if (round >= 3)
		return;
	fx_command("cqe port=1 tx type=42 queue=0");
	wait_xstat(fx, 0, "queue_repairs", before + 1);
}

RACE_TEST(test_repair)
{
	fx_expect_error("");
	run(fx, disable_queue);
}

/* ---- Changes of queues that no thread polls -------------------------------------------- */

/* Frames to the port and back, on all started queues. */
static void
traffic(struct fixture *fx, uint16_t nb_queues)
{
	struct rte_mbuf *m = fx_frame(fx->pool, FRAME, 0);

	fx_send_burst(fx, 0, FRAME, NB_FRAMES);
	fx_settle(fx);
	for (uint16_t q = 0; q < nb_queues; q++)
		(void)fx_receive_all(fx->port[1], q);
	fx_send(fx->port[1], 0, &m, 1);
}

static void
change_state(struct fixture *fx, unsigned int round)
{
	uint16_t queue = round / 2 % 3;

	traffic(fx, 3);
	assert_int_equal((round % 2 == 0 ? rte_eth_dev_rx_queue_stop :
					   rte_eth_dev_rx_queue_start)(fx->port[1], queue), 0);
}

RACE_TEST(test_queue_states)
{
	fx->ignore_counters = true; /* dropped packets of stopped queues */
	run_alone(fx, change_state);
}

static void
change_setup(struct fixture *fx, unsigned int round)
{
	uint16_t queue = round % 2;

	traffic(fx, 3);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[1], queue), 0);
	fx_tx_setup(fx->port[1], queue, 128, NULL);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[1], queue), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], queue), 0);
	fx_rx_setup(fx->port[1], queue, 128, NULL, fx->pool);
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], queue), 0);
}

RACE_TEST(test_queue_setup)
{
	fx->ignore_counters = true; /* dropped packets of stopped queues */
	run_alone(fx, change_setup);
}

static void
change_number(struct fixture *fx, unsigned int round)
{
	struct fx_config other = three;

	other.nb_rxq = 1 + round % 4;
	other.nb_txq = 1 + round / 2 % 4;
	traffic(fx, 1);
	fx_drain(fx);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &other), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
}

RACE_TEST(test_number_of_queues)
{
	run_alone(fx, change_number);
}

int
main(void)
{
	fx_has_telemetry = true;
	return FX_RUN("races");
}
