/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The outage that the driver adds to that of the device: two ports with 16 Rx and 16 Tx
 * queues each forward frames, and the adapter is reset, with the device back at once.
 * Prints how long the driver took to rebuild each port, and its goal; see
 * devtools/wait-time.sh.
 */

#include <pthread.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "fixture.h"

#define NB_QUEUES   16
#define NB_RESETS   10
#define FRAME_BYTES 100
#define GOAL_MS     50.0
#define NS_PER_MS   1e6

#define NB_MBUFS    16383 /* more than twice those of all Rx rings */

struct forwarder {
	const struct fixture *fx;
	bool is_over;
};

static void *
forward(void *arg)
{
	struct forwarder *forwarder = arg;
	const struct fixture *fx = forwarder->fx;
	struct rte_mbuf *m;

	for (uint32_t i = 0; !__atomic_load_n(&forwarder->is_over, __ATOMIC_ACQUIRE); i++) {
		uint16_t queue = i % NB_QUEUES, port = fx->port[i / NB_QUEUES % FX_NB_PORTS];

		(void)fx_receive_all(port, queue);
		m = rte_pktmbuf_alloc(fx->pool);
		if (m == NULL || rte_pktmbuf_append(m, FRAME_BYTES) == NULL ||
		    rte_eth_tx_burst(port, queue, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
	return NULL;
}

static void
await_recovery(uint16_t port, uint64_t nth)
{
	uint64_t end = fx_deadline();

	while (fx_xstat(port, "recoveries") < nth) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
}

static void
print_port(uint16_t port)
{
	double all_ms = fx_xstat(port, "recovery_rebuild_ns") / NS_PER_MS / NB_RESETS;

	printf("recovery: port %u, %u Rx and %u Tx queues: rebuilt in %.1f ms on average, %.1f at most; goal %.0f: %s\n",
	       port, NB_QUEUES, NB_QUEUES, all_ms,
	       fx_xstat(port, "recovery_rebuild_max_ns") / NS_PER_MS, GOAL_MS,
	       all_ms < GOAL_MS ? "reached" : "missed");
}

FX_TEST(recovery_time)
{
	struct forwarder forwarder = { .fx = fx };
	struct fx_config config = {
		.nb_rxq = NB_QUEUES, .nb_txq = NB_QUEUES, .rss_hf = FX_RSS,
	};
	pthread_t thread;

	config.rx_pool = fx_pool(fx, NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx->ignore_counters = true;
	fx_expect_error("");
	fx_start(fx, &config);
	assert_int_equal(pthread_create(&thread, NULL, forward, &forwarder), 0);
	for (uint64_t i = 1; i <= NB_RESETS; i++) {
		fx_command("reset fn=0 outage=0s");
		for (unsigned int side = 0; side < FX_NB_PORTS; side++)
			await_recovery(fx->port[side], i);
	}
	__atomic_store_n(&forwarder.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (unsigned int side = 0; side < FX_NB_PORTS; side++)
		print_port(fx->port[side]);
	fx_drain(fx);
}

int
main(void)
{
	return FX_RUN("recovery");
}
