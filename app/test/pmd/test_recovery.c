/* SPDX-License-Identifier: BSD-3-Clause */

/* The device is lost, returns, and the driver rebuilds the ports. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ether.h>

#include "fixture.h"

#define NB_EVENTS 8
#define NB_RESETS 20
#define RESET "reset fn=0 outage=5ms"

static const struct fx_config plain = { .nb_rxq = 2, .nb_txq = 2, .rss_hf = FX_RSS,
					.intr = { .lsc = 1, .rmv = 1 } };

/* A frame each way, on whichever queue RSS chooses. */
static void
exchange(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, i);
		struct rte_eth_stats before, now;

		assert_int_equal(rte_eth_stats_get(fx->port[i ^ 1], &before), 0);
		fx_send(fx->port[i], 0, &m, 1);
		fx_drain(fx);
		assert_int_equal(rte_eth_stats_get(fx->port[i ^ 1], &now), 0);
		assert_int_equal(now.ipackets, before.ipackets + 1);
	}
}

/* Events from the interrupt thread, by port. */
static struct history {
	unsigned int nb;
	enum rte_eth_event_type events[NB_EVENTS];
	enum rte_eth_event_type close_in; /* RTE_ETH_EVENT_UNKNOWN: in none */
	int close_error;
} histories[RTE_MAX_ETHPORTS];

static const enum rte_eth_event_type types[] = {
	RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
	RTE_ETH_EVENT_RECOVERY_FAILED, RTE_ETH_EVENT_INTR_RMV,
};

static int
on_event(uint16_t port, enum rte_eth_event_type type, void *arg __rte_unused,
	 void *ret_param __rte_unused)
{
	struct history *history = &histories[port];
	unsigned int nb = history->nb;

	if (type == history->close_in) {
		(void)rte_eth_dev_stop(port);
		history->close_error = rte_eth_dev_close(port);
	}
	if (nb < NB_EVENTS)
		history->events[nb] = type;
	__atomic_store_n(&history->nb, nb + 1, __ATOMIC_RELEASE);
	return 0;
}

static void
listen_all(const struct fixture *fx)
{
	memset(histories, 0, sizeof(histories));
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		for (unsigned int t = 0; t < RTE_DIM(types); t++)
			assert_int_equal(rte_eth_dev_callback_register(fx->port[i],
						types[t], on_event, NULL), 0);
}

static void
unlisten_all(const struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		for (unsigned int t = 0; t < RTE_DIM(types); t++)
			while (rte_eth_dev_callback_unregister(fx->port[i], types[t],
						on_event, NULL) == -EAGAIN)
				rte_delay_us_sleep(1000);
}

static void
wait_event(const struct fixture *fx, enum rte_eth_event_type type, unsigned int nth)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		const struct history *history = &histories[fx->port[i]];
		unsigned int nb;

		do {
			unsigned int at = __atomic_load_n(&history->nb, __ATOMIC_ACQUIRE);

			nb = 0;
			while (at > 0)
				nb += history->events[--at] == type;
			if (nb < nth && rte_get_timer_cycles() > end)
				fail_msg("port %u: no event %d", fx->port[i], type);
			rte_delay_us_sleep(100);
		} while (nb < nth);
	}
}

static void
check_events(const struct fixture *fx, const enum rte_eth_event_type *expected,
	     unsigned int nb)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(histories[fx->port[i]].nb, nb);
		for (unsigned int at = 0; at < nb; at++)
			assert_int_equal(histories[fx->port[i]].events[at], expected[at]);
	}
}

/* The device is lost and back, and the ports are rebuilt. */
static void
recover(struct fixture *fx, const char *command)
{
	unsigned int nth = 1 + fx_xstat(fx->port[0], "recoveries");

	fx_command(command);
	wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, nth);
}

static void
check_recovered(const struct fixture *fx)
{
	static const enum rte_eth_event_type events[] = {
		RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
	};

	check_events(fx, events, RTE_DIM(events));
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_xstat(fx->port[i], "resets"), 1);
		assert_int_equal(fx_xstat(fx->port[i], "recoveries"), 1);
		assert_true(fx_xstat(fx->port[i], "recovery_ns") >=
			    fx_xstat(fx->port[i], "recovery_rebuild_ns"));
		assert_int_equal(rte_eth_dev_is_removed(fx->port[i]), 0);
	}
}

static void
test_traffic_continues(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_stats before, stats;
	struct rte_eth_link link;

	listen_all(fx);
	fx_start(fx, &plain);
	exchange(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[0], &before), 0);
	recover(fx, RESET);
	exchange(fx);
	check_recovered(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
	assert_int_equal(stats.opackets, before.opackets + 1);
	assert_int_equal(stats.ipackets, before.ipackets + 1);
	assert_int_equal(rte_eth_link_get_nowait(fx->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	unlisten_all(fx);
}

static void
test_hot_removal_and_return(void **state)
{
	struct fixture *fx = *state;

	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	recover(fx, "return fn=0");
	exchange(fx);
	check_recovered(fx);
	unlisten_all(fx);
}

/* RSS key and table, MTU, VLAN stripping, and stopped queues are as before. */
static void
test_settings_are_kept(void **state)
{
	struct fx_config config = { .nb_rxq = 4, .nb_txq = 3, .rss_hf = FX_RSS,
				    .mtu = 1400, .intr = { .rmv = 1 } };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX }, reta_now = reta;
	uint8_t key[40], key_now[40];
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key),
					.rss_hf = FX_RSS };
	struct fixture *fx = *state;
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;
	uint16_t port = fx->port[1], mtu;

	listen_all(fx);
	fx_start(fx, &config);
	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = i * 7 + 3;
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), 0);
	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = 3 - i % 4;
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, 64), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 2), 0);

	recover(fx, RESET);
	check_recovered(fx);
	rss.rss_key = key_now;
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &rss), 0);
	assert_memory_equal(key, key_now, sizeof(key));
	assert_int_equal(rte_eth_dev_rss_reta_query(port, &reta_now, 64), 0);
	assert_memory_equal(reta.reta, reta_now.reta, sizeof(reta.reta));
	assert_int_equal(rte_eth_dev_get_mtu(port, &mtu), 0);
	assert_int_equal(mtu, 1400);
	assert_int_equal(rte_eth_rx_queue_info_get(port, 1, &rxq), 0);
	assert_int_equal(rxq.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_rx_queue_info_get(port, 0, &rxq), 0);
	assert_int_equal(rxq.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 2), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
	assert_int_equal(rte_eth_tx_queue_info_get(port, 2, &txq), 0);
	exchange(fx);
	unlisten_all(fx);
}

/* Posted packets are freed and counted. */
static void
test_frames_outstanding(void **state)
{
	struct fixture *fx = *state;
	struct rte_mbuf *pkts[100];
	unsigned int nb_held;

	listen_all(fx);
	fx_start(fx, &plain);
	nb_held = rte_mempool_in_use_count(fx->pool);
	fx_command("stall port=1 tx");
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = fx_frame(fx->pool, 100, i);
	fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
	fx_command("inject off");
	recover(fx, RESET);
	assert_int_equal(fx_xstat(fx->port[0], "tx_unfinished"), RTE_DIM(pkts));
	assert_int_equal(rte_mempool_in_use_count(fx->pool), nb_held);
	exchange(fx);
	unlisten_all(fx);
	fx->ignore_counters = true; /* the wire has not seen these packets */
}

static void
check_refused(const struct fixture *fx, int error)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_stats stats;
	struct rte_eth_link link;
	uint16_t port = fx->port[0];

	assert_int_equal(rte_eth_dev_start(port), error);
	assert_int_equal(rte_eth_dev_set_mtu(port, 1400), error);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL, fx->pool),
			 error);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL), error);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), error);
	/* counters remain readable */
	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
}

/* While the device is away: each operation answers, and a stopped port stays stopped. */
static void
test_operations_meanwhile(void **state)
{
	struct fixture *fx = *state;
	struct rte_mbuf *m = fx_frame(fx->pool, 64, 1);

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	for (unsigned int n = 0; n < 300; n++)
		assert_int_equal(rte_eth_tx_burst(fx->port[0], 0, &m, 1), 0);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[0], 0), -EBUSY);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 0), -EBUSY);
	assert_int_equal(rte_eth_dev_is_removed(fx->port[0]), 0);
	fx_stop(fx);
	check_refused(fx, -EBUSY);
	assert_int_equal(rte_eth_dev_reset(fx->port[0]), -EBUSY);
	recover(fx, "return fn=0");
	fx_start(fx, &plain);
	exchange(fx);
	check_recovered(fx);
	unlisten_all(fx);
}

/* Stopped ports recover, and ports that were never configured. */
static void
test_stopped_and_unconfigured(void **state)
{
	struct fixture *fx = *state;

	listen_all(fx);
	recover(fx, RESET);
	fx_start(fx, &plain);
	exchange(fx);
	fx_stop(fx);
	recover(fx, RESET);
	fx_start(fx, &plain);
	exchange(fx);
	unlisten_all(fx);
}

static void
test_time_is_over(void **state)
{
	static const enum rte_eth_event_type events[] = {
		RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_FAILED,
		RTE_ETH_EVENT_INTR_RMV,
	};
	struct fixture *fx = *state;

	fx_expect_error("");
	fx_remove(fx);
	assert_int_equal(fx_probe(fx, "recovery_timeout=1"), 0);
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_INTR_RMV, 1);
	check_events(fx, events, RTE_DIM(events));
	assert_int_equal(rte_eth_dev_is_removed(fx->port[0]), 1);
	fx_stop(fx);
	check_refused(fx, -EIO);
	/* ethdev's error for any failure while the device is removed */
	assert_int_equal(rte_eth_dev_reset(fx->port[0]), -EIO);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "reset the port again") > 0);
	fx_command("return fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(rte_eth_dev_reset(fx->port[i]), 0);
		assert_int_equal(rte_eth_dev_is_removed(fx->port[i]), 0);
	}
	fx_start(fx, &plain);
	exchange(fx);
	unlisten_all(fx);
}

/* A reset without a cause leaves a port that can be configured. */
static void
test_reset_by_the_application(void **state)
{
	struct fixture *fx = *state;

	fx_start(fx, &plain);
	exchange(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_reset(fx->port[i]), 0);
	fx_start(fx, &plain);
	exchange(fx);
}

static void
test_close_meanwhile(void **state)
{
	struct fixture *fx = *state;

	for (unsigned int round = 0; round < 10; round++) {
		listen_all(fx);
		fx_start(fx, &plain);
		fx_command("remove fn=0");
		if (round % 2 == 0)
			wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
		rte_delay_us_sleep(round * 100);
		if (round % 3 == 0)
			fx_command("return fn=0");
		fx_stop(fx);
		unlisten_all(fx);
		fx_remove(fx);
		if (round % 3 != 0)
			fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, ""), 0);
	}
	fx->ignore_counters = true;
}

/* The application closes the port in the callback of each event. */
static void
test_close_in_callback(void **state)
{
	struct fixture *fx = *state;
	struct fx_holdings before;

	fx_expect_error("");
	fx_holdings_get(&before);
	for (unsigned int t = 0; t < RTE_DIM(types); t++) {
		fx_remove(fx);
		assert_int_equal(fx_probe(fx, "recovery_timeout=1"), 0);
		listen_all(fx);
		fx_start(fx, &plain);
		for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
			histories[fx->port[i]].close_in = types[t];
			histories[fx->port[i]].close_error = 1;
		}
		fx_command(types[t] == RTE_ETH_EVENT_RECOVERY_SUCCESS ? RESET :
									"remove fn=0");
		wait_event(fx, types[t], 1);
		for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
			assert_int_equal(histories[fx->port[i]].close_error, 0);
			assert_false(rte_eth_dev_is_valid_port(fx->port[i]));
			fx->is_started[i] = false;
		}
		fx_remove(fx);
		if (types[t] != RTE_ETH_EVENT_RECOVERY_SUCCESS)
			fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, ""), 0);
		unlisten_all(fx); /* ethdev keeps the callbacks of a closed port */
	}
	fx_check_holdings(&before, "after closes in callbacks");
	fx->ignore_counters = true;
}

/* Memory that the application has mapped has a key again. */
static void
test_mapped_memory(void **state)
{
	const size_t bytes = 16 * 4096;
	struct fixture *fx = *state;
	struct rte_eth_dev_info info;
	struct fx_holdings before, now;
	char *memory = aligned_alloc(4096, bytes);

	assert_non_null(memory);
	assert_int_equal(rte_extmem_register(memory, bytes, NULL, 0, 4096), 0);
	listen_all(fx);
	fx_start(fx, &plain);
	exchange(fx);
	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_int_equal(info.err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE);
	assert_int_equal(rte_dev_dma_map(info.device, memory, 0, bytes), 0);
	fx_holdings_get(&before);
	recover(fx, RESET);
	fx_holdings_get(&now);
	assert_int_equal(now.objects.mr, before.objects.mr);
	assert_int_equal(rte_dev_dma_unmap(info.device, memory, 0, bytes), 0);
	/* and what is mapped while the device is away */
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 2);
	assert_int_equal(rte_dev_dma_map(info.device, memory, 0, bytes), 0);
	recover(fx, "return fn=0");
	fx_holdings_get(&now);
	assert_int_equal(now.objects.mr, before.objects.mr);
	assert_int_equal(rte_dev_dma_unmap(info.device, memory, 0, bytes), 0);
	exchange(fx);
	unlisten_all(fx);
	assert_int_equal(rte_extmem_unregister(memory, bytes), 0);
	free(memory);
}

static enum rte_eth_err_handle_mode
handle_mode(const struct fixture *fx)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	return info.err_handle_mode;
}

/* Only its own thread may use this mempool: the driver does not recover. */
static void
check_pool_of_one_thread(struct fixture *fx, bool is_later)
{
	static const enum rte_eth_event_type events[] = { RTE_ETH_EVENT_INTR_RMV };
	struct rte_mempool *single = rte_pktmbuf_pool_create_by_ops("single", 1023, 0, 0,
			RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, "ring_sp_sc");
	struct fx_config config = plain;

	fx_expect_error("");
	assert_non_null(single);
	listen_all(fx);
	if (!is_later)
		config.rx_pool = single;
	fx_start(fx, &config);
	if (is_later) {
		assert_int_equal(handle_mode(fx), RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE);
		for (unsigned int side = 0; side < FX_NB_PORTS; side++) {
			uint16_t port = fx->port[side];

			assert_int_equal(rte_eth_dev_rx_queue_stop(port, 0), 0);
			assert_int_equal(rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY,
								NULL, single), 0);
			assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), 0);
		}
	}
	assert_int_equal(handle_mode(fx), RTE_ETH_ERROR_HANDLE_MODE_NONE);
	exchange(fx);
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_INTR_RMV, 1);
	check_events(fx, events, RTE_DIM(events));
	fx_stop(fx);
	fx_remove(fx);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
	unlisten_all(fx); /* ethdev keeps the callbacks of a closed port */
	rte_mempool_free(single);
	fx->ignore_counters = true;
}

static void
test_pool_of_one_thread(void **state)
{
	check_pool_of_one_thread(*state, false);
}

/* Of a queue that is set up while the port runs. */
static void
test_pool_of_one_thread_later(void **state)
{
	check_pool_of_one_thread(*state, true);
}

/* A stopped queue is released while the device is away. */
static void
test_queue_released_meanwhile(void **state)
{
	struct fixture *fx = *state;
	uint16_t port = fx->port[0];

	fx_expect_error("the port recovers");
	listen_all(fx);
	fx_start(fx, &plain);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 1), 0);
	fx_command("remove fn=0");
	wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	/* ethdev releases the queue first */
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL, fx->pool),
			 -EBUSY);
	assert_int_equal(rte_eth_tx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL), -EBUSY);
	recover(fx, "return fn=0");
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL, fx->pool),
			 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 1), 0);
	exchange(fx);
	unlisten_all(fx);
}

/* The kernel's netdev owns the port when the device is back, and gives it back later. */
static void
test_netdev_is_up(void **state)
{
	struct fixture *fx = *state;
	const uint64_t end = fx_deadline();

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("fatal fn=0");
	wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", true), 0);
	fx_command("return fn=0");
	while (fx_nb_logged(RTE_LOG_ERR, "netdev") == 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	/* 10, 20, 40, 80 ms later */
	rte_delay_us_sleep(150000);
	assert_in_range(fx_nb_logged(RTE_LOG_ERR, "netdev"), 1, 20);
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", false), 0);
	wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
	exchange(fx);
	unlisten_all(fx);
}

/* Nothing accumulates. */
static void
test_many_times(void **state)
{
	struct fixture *fx = *state;
	struct fx_holdings before;

	listen_all(fx);
	fx_start(fx, &plain);
	exchange(fx);
	for (unsigned int i = 0; i < NB_RESETS; i++) {
		memset(histories, 0, sizeof(histories));
		fx_command(RESET);
		wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
		exchange(fx);
		if (i == 0)
			fx_holdings_get(&before);
	}
	assert_int_equal(fx_xstat(fx->port[0], "recoveries"), NB_RESETS);
	fx_check_holdings(&before, "after recoveries");
	unlisten_all(fx);
}

/*
 * Forwards between the ports on queues 0 and 1, as a core that does not know of the
 * loss.
 */
struct forwarder {
	const struct fixture *fx;
	unsigned int from;
	uint64_t nb_forwarded;
	bool is_over;
};

static void *
forward(void *arg)
{
	struct forwarder *fwd = arg;
	uint16_t from = fwd->fx->port[fwd->from];
	uint16_t to = fwd->fx->port[fwd->from ^ 1];
	struct rte_mbuf *pkts[FX_BURST];
	uint16_t nb, nb_sent;

	while (!__atomic_load_n(&fwd->is_over, __ATOMIC_ACQUIRE)) {
		for (uint16_t queue = 0; queue < 2; queue++) {
			nb = rte_eth_rx_burst(from, queue, pkts, RTE_DIM(pkts));
			nb_sent = rte_eth_tx_burst(to, queue, pkts, nb);
			if (nb_sent < nb)
				rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
			__atomic_add_fetch(&fwd->nb_forwarded, nb_sent,
					   __ATOMIC_RELEASE);
			(void)rte_eth_tx_descriptor_status(to, queue, 7);
			(void)rte_eth_rx_queue_count(from, queue);
		}
	}
	return NULL;
}

/* Sends frames on queue 2 until the threads have forwarded more. */
static void
circulate(const struct fixture *fx, const struct forwarder *fwd)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		uint64_t before = __atomic_load_n(&fwd[i].nb_forwarded, __ATOMIC_ACQUIRE);
		uint16_t sender = fx->port[i ^ 1];

		while (__atomic_load_n(&fwd[i].nb_forwarded, __ATOMIC_ACQUIRE) <
		       before + 50) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, i);

			if (rte_eth_tx_burst(sender, 2, &m, 1) == 0)
				rte_pktmbuf_free(m);
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(10);
		}
	}
}

static void
test_while_forwarding(void **state)
{
	struct fx_config config = plain;
	struct forwarder fwd[FX_NB_PORTS];
	pthread_t thread[FX_NB_PORTS];
	struct fixture *fx = *state;

	config.nb_txq = 3;
	listen_all(fx);
	fx_start(fx, &config);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		fwd[i] = (struct forwarder){ .fx = fx, .from = i };
		assert_int_equal(pthread_create(&thread[i], NULL, forward, &fwd[i]), 0);
	}
	for (unsigned int round = 0; round < NB_RESETS; round++) {
		struct rte_eth_stats before, now;

		circulate(fx, fwd);
		memset(histories, 0, sizeof(histories));
		assert_int_equal(rte_eth_stats_get(fx->port[0], &before), 0);
		fx_command(RESET);
		wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
		assert_int_equal(rte_eth_stats_get(fx->port[0], &now), 0);
		assert_true(now.ipackets >= before.ipackets);
		assert_true(now.opackets >= before.opackets);
	}
	circulate(fx, fwd);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		__atomic_store_n(&fwd[i].is_over, true, __ATOMIC_RELEASE);
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	}
	fx_stop(fx);
	unlisten_all(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
	fx->ignore_counters = true;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_traffic_continues),
		FX_TEST(test_hot_removal_and_return),
		FX_TEST(test_settings_are_kept),
		FX_TEST(test_frames_outstanding),
		FX_TEST(test_operations_meanwhile),
		FX_TEST(test_stopped_and_unconfigured),
		FX_TEST(test_time_is_over),
		FX_TEST(test_reset_by_the_application),
		FX_TEST(test_close_meanwhile),
		FX_TEST(test_close_in_callback),
		FX_TEST(test_mapped_memory),
		FX_TEST(test_pool_of_one_thread),
		FX_TEST(test_pool_of_one_thread_later),
		FX_TEST(test_queue_released_meanwhile),
		FX_TEST(test_netdev_is_up),
		FX_TEST(test_many_times),
		FX_TEST(test_while_forwarding),
	};

	return FX_RUN("recovery", tests);
}
