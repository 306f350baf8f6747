/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A thread reads ethdev's reports of a port, as telemetry does, while the
 * application reconfigures its queues. No freed memory is read (checked by the
 * thread sanitizer, devtools/run-tsan.sh), and no packet is counted twice or
 * omitted.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define NB_CHANGES 16
#define NB_FRAMES 24
#define FRAME 100
#define NB_XSTATS 1024

static struct {
	uint16_t port;
	atomic_bool is_over;
	atomic_uint nb_rounds;
	atomic_uint nb_decreases;
	uint64_t ipackets, opackets; /* the maximum seen */
} reader;

static void
increases(uint64_t *most, uint64_t now)
{
	if (now < *most)
		atomic_fetch_add(&reader.nb_decreases, 1);
	*most = now;
}

static void
read_stats(void)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(reader.port, &stats) != 0)
		return;
	increases(&reader.ipackets, stats.ipackets);
	increases(&reader.opackets, stats.opackets);
	(void)rte_eth_xstats_get(reader.port, xstats, NB_XSTATS);
}

/*
 * The dump shows rings while bursts change them: a deliberate race, which the
 * thread sanitizer would report.
 */
static void
read_dump(void)
{
#ifndef __SANITIZE_THREAD__
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file == NULL)
		return;
	(void)rte_eth_dev_priv_dump(reader.port, file);
	fclose(file);
	free(text);
#endif
}

static void *
read_on(void *arg)
{
	while (!atomic_load(&reader.is_over)) {
		struct rte_eth_rss_conf rss = { 0 };
		struct rte_eth_dev_info info;
		struct rte_eth_rxq_info rxq;
		struct rte_eth_txq_info txq;
		struct rte_eth_link link;

		read_stats();
		/* The test waits for the next round, in vain. */
		if (rte_eth_dev_info_get(reader.port, &info) != 0 ||
		    rte_eth_link_get_nowait(reader.port, &link) != 0)
			return arg;
		(void)rte_eth_dev_rss_hash_conf_get(reader.port, &rss);
		(void)rte_eth_rx_queue_info_get(reader.port, 0, &rxq);
		(void)rte_eth_tx_queue_info_get(reader.port, 0, &txq);
		read_dump();
		atomic_fetch_add(&reader.nb_rounds, 1);
	}
	return arg;
}

/* Waits until the reader has completed a whole round. */
static void
await_round(void)
{
	unsigned int nb = atomic_load(&reader.nb_rounds);

	while (atomic_load(&reader.nb_rounds) - nb < 2)
		sched_yield();
}

/* Frames to the port and back, on all started queues. */
static void
traffic(struct fixture *fx, uint16_t nb_queues)
{
	struct rte_mbuf *pkts[NB_FRAMES];
	uint32_t i;
	uint16_t q;

	for (i = 0; i < NB_FRAMES; i++)
		pkts[i] = fx_frame(fx->pool, FRAME, i);
	fx_send(fx->port[1], 0, pkts, NB_FRAMES);
	fx_settle(fx);
	for (q = 0; q < nb_queues; q++) {
		uint16_t nb = rte_eth_rx_burst(fx->port[0], q, pkts,
					       NB_FRAMES);

		rte_pktmbuf_free_bulk(pkts, nb);
	}
	pkts[0] = fx_frame(fx->pool, FRAME, 0);
	fx_send(fx->port[0], 0, pkts, 1);
}

static void
with_reader(struct fixture *fx, void (*change)(struct fixture *fx, unsigned int i))
{
	pthread_t thread;
	unsigned int i;

	/* During its setup a queue does not exist for ethdev. */
	fx_expect_error("has not been setup");
	memset(&reader, 0, sizeof(reader));
	reader.port = fx->port[0];
	assert_int_equal(pthread_create(&thread, NULL, read_on, NULL), 0);
	for (i = 0; i < NB_CHANGES; i++) {
		change(fx, i);
		await_round();
	}
	atomic_store(&reader.is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&reader.nb_decreases), 0);
	fx_drain(fx);
}

/* Three Rx queues have four hardware queues. */
static const struct fx_config three = {
	.nb_rxq = 3, .nb_txq = 2, .rss_hf = FX_RSS,
};

static void
change_state(struct fixture *fx, unsigned int i)
{
	uint16_t queue = i / 2 % 3;

	traffic(fx, 3);
	if (i % 2 == 0)
		assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[0], queue), 0);
	else
		assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[0], queue), 0);
}

FX_TEST(test_queue_states)
{
	fx_start(fx, &three);
	fx->ignore_counters = true; /* dropped packets of stopped queues */
	with_reader(fx, change_state);
}

static void
change_setup(struct fixture *fx, unsigned int i)
{
	uint16_t queue = i % 2;

	traffic(fx, 3);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], queue), 0);
	fx_tx_setup(fx->port[0], queue, 128, NULL);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], queue), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[0], queue), 0);
	fx_rx_setup(fx->port[0], queue, 128, NULL, fx->pool);
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[0], queue), 0);
}

FX_TEST(test_queue_setup)
{
	fx_start(fx, &three);
	fx->ignore_counters = true; /* dropped packets of stopped queues */
	with_reader(fx, change_setup);
}

static void
change_number(struct fixture *fx, unsigned int i)
{
	struct fx_config config = three;

	config.nb_rxq = 1 + i % 4;
	config.nb_txq = 1 + i / 2 % 4;
	traffic(fx, 1);
	fx_drain(fx);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

FX_TEST(test_number_of_queues)
{
	fx_start(fx, &three);
	with_reader(fx, change_number);
}

int
main(void)
{
	return FX_RUN("readers");
}
