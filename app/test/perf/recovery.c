/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The outage that the driver adds to that of the device: two ports with 16 Rx and 16 Tx
 * queues each forward frames, and the adapter is reset, with the device back at once.
 * Prints how long the driver took to rebuild each port, and its goal; then how long the Rx
 * queues of a port were replaced for each other reason. See devtools/wait-time.sh.
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

#define NB_MBUFS    32767 /* more than those of all rings, twice those of the Rx rings */

struct forwarder {
	const struct fixture *fx;
	struct rte_mempool *pool;
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
		m = rte_pktmbuf_alloc(forwarder->pool);
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

static void
change_key(uint16_t port, uint64_t nth)
{
	uint8_t key[40] = { nth };
	struct rte_eth_rss_conf conf = { .rss_hf = FX_RSS, .rss_key = key,
					 .rss_key_len = sizeof(key) };

	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
}

/* Each entry to another queue. */
static void
change_table(uint16_t port, uint64_t nth)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = (i + nth) % NB_QUEUES;
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE), 0);
}

/* To more hardware queues, and back. */
static void
change_period(uint16_t port, uint64_t nth)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = (nth & 1) != 0 ? i / 2 % NB_QUEUES : i % NB_QUEUES;
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE), 0);
}

static void
fail_queue(uint16_t port, uint64_t nth)
{
	const uint64_t nb = fx_xstat(port, "queue_repairs"), end = fx_deadline();

	fx_command("bogus port=1 rx what=type type=20");
	while (fx_xstat(port, "queue_repairs") == nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
}

static const struct {
	const char *name;
	void (*change)(uint16_t port, uint64_t nth);
} changes[] = {
	{ "a key change", change_key },
	{ "a table of the same period", change_table },
	{ "a table of another period", change_period },
	{ "a failed queue", fail_queue },
};

static void
print_outages(uint16_t port)
{
	for (unsigned int i = 0; i < RTE_DIM(changes); i++) {
		const uint64_t nb = fx_xstat(port, "rx_outages");
		const uint64_t ns = fx_xstat(port, "rx_outage_ns");

		for (uint64_t nth = 1; nth <= NB_RESETS; nth++)
			changes[i].change(port, nth);
		printf("outage: %s: %.2f ms on average, %u of %u times\n", changes[i].name,
		       (fx_xstat(port, "rx_outage_ns") - ns) / NS_PER_MS / NB_RESETS,
		       (unsigned int)(fx_xstat(port, "rx_outages") - nb), NB_RESETS);
	}
}

FX_TEST(recovery_time)
{
	struct forwarder forwarder = { .fx = fx };
	struct fx_config config = {
		.nb_rxq = NB_QUEUES, .nb_txq = NB_QUEUES, .rss_hf = FX_RSS,
	};
	pthread_t thread;

	config.rx_pool = fx_pool(fx, NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
	forwarder.pool = config.rx_pool;
	fx->ignore_counters = true;
	fx_expect_error("");
	fx_start(fx, &config);
	assert_int_equal(pthread_create(&thread, NULL, forward, &forwarder), 0);
	for (uint64_t i = 1; i <= NB_RESETS; i++) {
		fx_command("reset fn=0 outage=0s");
		for (unsigned int side = 0; side < FX_NB_PORTS; side++)
			await_recovery(fx->port[side], i);
	}
	for (unsigned int side = 0; side < FX_NB_PORTS; side++)
		print_port(fx->port[side]);
	print_outages(fx->port[0]);
	__atomic_store_n(&forwarder.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fx_drain(fx);
}

int
main(void)
{
	return FX_RUN("recovery");
}
