/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device is lost at every kernel call, doorbell and packet of a scenario from probe
 * to close, and returns. After each loss both ports pass traffic, or the probe has
 * failed and a second one succeeds; nothing is left.
 */

#include <stdio.h>

#include <rte_cycles.h>

#include "fixture.h"

/* More events of a kind than a scenario has. */
#define MAX_POINTS 2000
#define NB_FRAMES 8

static const struct fx_config config = {
	.nb_rxq = 2, .nb_txq = 2, .nb_rxd = 64, .nb_txd = 64, .rss_hf = FX_RSS,
	.intr = { .rmv = 1 },
};

static void
send_some(const struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		for (unsigned int n = 0; n < NB_FRAMES; n++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, n);

			if (rte_eth_tx_burst(fx->port[i], n % 2, &m, 1) == 0)
				rte_pktmbuf_free(m);
			(void)fx_receive_all(fx->port[i ^ 1], n % 2);
		}
	}
}

/* Any operation may fail, because the device is lost. */
static void
operate(struct fixture *fx, uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key),
					.rss_hf = FX_RSS };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = 1 - i % 2;
	(void)rte_eth_dev_rss_hash_update(port, &rss);
	send_some(fx);
	(void)rte_eth_dev_rss_reta_update(port, &reta, 64);
	(void)rte_eth_dev_rx_queue_stop(port, 1);
	(void)rte_eth_dev_tx_queue_stop(port, 0);
	send_some(fx);
	(void)rte_eth_dev_rx_queue_start(port, 1);
	(void)rte_eth_dev_tx_queue_start(port, 0);
	send_some(fx);
}

/* Whether the device is lost; it returns then. */
static bool
let_return(void)
{
	char message[256];

	return fx_model.command("return fn=0", message, sizeof(message)) == 0;
}

static void
wait_ready(const struct fixture *fx)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		while (fx_xstat(fx->port[i], "recoveries") < fx_xstat(fx->port[i], "resets")) {
			if (rte_get_timer_cycles() > end)
				fail_msg("port %u does not recover", fx->port[i]);
			rte_delay_us_sleep(200);
		}
	}
}

/* A loss that the interrupt thread does not know yet. */
static void
wait_noticed(const struct fixture *fx)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (fx_xstat(fx->port[i], "resets") == 0) {
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(200);
		}
}

/* The ports work. */
static void
check_traffic(struct fixture *fx)
{
	static const struct fx_config simple;

	fx_start(fx, &simple);
	fx_drain(fx);
	fx_pass_one(fx);
	fx_stop(fx);
}

/* Starts both ports and uses them; any operation may fail. */
static void
run_ports(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		if (fx_configure(fx, fx->port[i], &config) == 0)
			(void)fx_dev_start(fx, i);
	if (fx->is_started[0] && fx->is_started[1])
		operate(fx, fx->port[0]);
}

/* The scenario. Returns whether the device was lost in it. */
static bool
scenario(struct fixture *fx)
{
	bool is_lost = false;

	if (fx_probe(fx, "") != 0) {
		assert_true(let_return());
		assert_int_equal(fx_probe(fx, ""), 0);
		is_lost = true;
	}
	for (unsigned int round = 0; round < 2; round++) {
		run_ports(fx);
		if (!is_lost && let_return()) {
			is_lost = true;
			wait_noticed(fx);
			wait_ready(fx);
			/* As before the loss, if both ports were started. */
			if (fx->is_started[0] && fx->is_started[1])
				send_some(fx);
		}
		fx_stop(fx);
	}
	/* Else a loss may still come: while the ports close. */
	if (is_lost)
		check_traffic(fx);
	fx_remove(fx);
	return is_lost;
}

static unsigned int
walk(struct fixture *fx, const char *event, const char *loss)
{
	struct fx_holdings before;
	unsigned int n = 0;
	bool is_lost;

	fx_holdings_get(&before);
	do {
		char line[64];

		assert_true(++n < MAX_POINTS);
		snprintf(line, sizeof(line), "at %s%u %s", event, n, loss);
		fx_command(line);
		is_lost = scenario(fx);
		is_lost |= let_return();
		fx_check_holdings(&before, line);
		assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
	} while (is_lost);
	/* The last loss is still to come: in the next scenario. */
	assert_true(scenario(fx) || let_return());
	printf("sweep: %s at %sN: %u faults, 0 leaks\n", loss, event, n - 1);
	return n - 1;
}

static void
walk_all(struct fixture *fx, const char *loss)
{
	static const char *const events[] = { "call=any:", "doorbell=", "packet=" };

	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int i = 0; i < RTE_DIM(events); i++)
		assert_true(walk(fx, events[i], loss) > 10);
}

FX_TEST_BARE(test_fatal_anywhere)
{
	walk_all(fx, "fatal fn=0");
}

FX_TEST_BARE(test_removal_anywhere)
{
	walk_all(fx, "remove fn=0");
}
