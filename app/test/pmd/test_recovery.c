/* SPDX-License-Identifier: BSD-3-Clause */

/* The device is lost, returns, and the driver rebuilds the ports. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>

#include "fixture.h"

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
		struct rte_eth_stats before;

		assert_int_equal(rte_eth_stats_get(fx->port[i ^ 1], &before), 0);
		fx_send(fx->port[i], 0, &m, 1);
		fx_drain(fx);
		assert_int_equal(fx_stats(fx->port[i ^ 1]).ipackets, before.ipackets + 1);
	}
}

static const enum rte_eth_event_type types[] = {
	RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
	RTE_ETH_EVENT_RECOVERY_FAILED, RTE_ETH_EVENT_INTR_RMV,
};

static void
listen_all(const struct fixture *fx)
{
	fx_listen(fx, types, RTE_DIM(types));
}

static void
unlisten_all(const struct fixture *fx)
{
	fx_unlisten(fx, types, RTE_DIM(types));
}

static void
check_events(const struct fixture *fx, const enum rte_eth_event_type *expected,
	     unsigned int nb)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_events[fx->port[i]].nb, nb);
		for (unsigned int at = 0; at < nb; at++)
			assert_int_equal(fx_events[fx->port[i]].types[at], expected[at]);
	}
}

/* The device is lost and back, and the ports are rebuilt. */
static void
recover(struct fixture *fx, const char *command)
{
	unsigned int nth = 1 + fx_xstat(fx->port[0], "recoveries");

	fx_command(command);
	fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, nth);
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

FX_TEST(test_traffic_continues)
{
	struct rte_eth_stats before, stats;

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
	assert_int_equal(fx_link(fx->port[0]).link_status, RTE_ETH_LINK_UP);
	unlisten_all(fx);
}

FX_TEST(test_hot_removal_and_return)
{
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	recover(fx, "return fn=0");
	exchange(fx);
	check_recovered(fx);
	unlisten_all(fx);
}

/* RSS key and table, MTU, VLAN stripping, and stopped queues are as before. */
FX_TEST(test_settings_are_kept)
{
	struct fx_config config = { .nb_rxq = 4, .nb_txq = 3, .rss_hf = FX_RSS,
				    .mtu = 1400, .intr = { .rmv = 1 } };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX }, reta_now = reta;
	uint8_t key[40], key_now[40];
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key),
					.rss_hf = FX_RSS };
	struct rte_eth_txq_info txq;
	uint16_t port = fx->port[1];

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
	assert_int_equal(fx_mtu(port), 1400);
	assert_int_equal(fx_rxq_info(port, 1).queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(fx_rxq_info(port, 0).queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 2), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
	assert_int_equal(rte_eth_tx_queue_info_get(port, 2, &txq), 0);
	exchange(fx);
	unlisten_all(fx);
}

/* Posted packets are counted, and freed in the queue's next use. */
FX_TEST(test_frames_outstanding)
{
	unsigned int nb_held;

	listen_all(fx);
	fx_start(fx, &plain);
	nb_held = rte_mempool_in_use_count(fx->pool);
	fx_command("stall port=1 tx");
	fx_send_burst(fx, 0, 100, 100);
	fx_command("inject off");
	recover(fx, RESET);
	assert_int_equal(fx_xstat(fx->port[0], "tx_unfinished"), 100);
	/* Only the application's thread frees them. */
	assert_int_equal(rte_mempool_in_use_count(fx->pool), nb_held + 100);
	assert_int_equal(rte_eth_tx_done_cleanup(fx->port[0], 0, 40), 40);
	assert_int_equal(rte_mempool_in_use_count(fx->pool), nb_held + 100 - 40);
	assert_int_equal(rte_eth_tx_burst(fx->port[0], 0, NULL, 0), 0);
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
	uint16_t port = fx->port[0];

	assert_int_equal(rte_eth_dev_start(port), error);
	assert_int_equal(rte_eth_dev_set_mtu(port, 1400), error);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL, fx->pool),
			 error);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL), error);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), error);
	/* counters remain readable */
	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(fx_link(port).link_status, RTE_ETH_LINK_DOWN);
}

/* While the device is away: each operation answers, and a stopped port stays stopped. */
FX_TEST(test_operations_meanwhile)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 64, 1);

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
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

static unsigned int is_held; /* the interrupt thread, by hold() */

static void
hold(void *arg __rte_unused)
{
	__atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) != 0)
		rte_delay_us_sleep(100);
}

/* The kernel has removed the device, and its event was not handled yet. */
FX_TEST(test_operations_before_the_event)
{
	uint8_t key[40] = { 1 };
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key),
					.rss_hf = FX_RSS };
	const uint16_t port = fx->port[1];

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eal_alarm_set(1, hold, NULL), 0);
	while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) == 0)
		rte_delay_us_sleep(100);
	fx_command("fatal fn=0");
	assert_int_equal(fx_dev_start(fx, 0), -EBUSY);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 1), -EBUSY);
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), -EBUSY);
	__atomic_store_n(&is_held, 0, __ATOMIC_RELEASE);
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	recover(fx, "return fn=0");
	assert_int_equal(fx_dev_start(fx, 0), 0);
	exchange(fx);
	unlisten_all(fx);
}

static void
change_mtu(void *arg __rte_unused)
{
	fx_command("mtu port=1 mtu=1400");
	fx_command("mtu port=2 mtu=1400");
}

/*
 * A udev rule sets the MTU of each new netdev: the queues are created behind that. Under
 * them the model would report a violation, since Linux 7.3 crashes.
 */
FX_TEST(test_mtu_of_the_new_netdev)
{
	listen_all(fx);
	fx_start(fx, &plain);
	for (unsigned int i = 1; i <= 3; i++) {
		fx_command("fatal fn=0");
		fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, i);
		/* Behind a step that finds the device, before the next one. */
		assert_int_equal(rte_eal_alarm_set(1, hold, NULL), 0);
		while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) == 0)
			rte_delay_us_sleep(100);
		fx_command("return fn=0");
		rte_delay_us_sleep(30000);
		assert_int_equal(rte_eal_alarm_set(1, change_mtu, NULL), 0);
		__atomic_store_n(&is_held, 0, __ATOMIC_RELEASE);
		fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, i);
		exchange(fx);
	}
	unlisten_all(fx);
}

/* Stopped ports recover, and ports that were never configured. */
FX_TEST(test_stopped_and_unconfigured)
{
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

/* The driver owns such ports while they recover: that is no owner that replaces them. */
FX_TEST(test_failed_configuration)
{
	struct rte_eth_conf wrong = { .link_speeds = RTE_ETH_LINK_SPEED_FIXED,
				      .intr_conf = { .rmv = 1 } };

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_stop(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_configure(fx->port[i], 1, 1, &wrong), -ENOTSUP);
	fx_command("remove fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	/* Some steps without the PCI function. */
	rte_delay_us_sleep(50000);
	recover(fx, "return fn=0");
	fx_start(fx, &plain);
	exchange(fx);
	check_recovered(fx);
	unlisten_all(fx);
}

FX_TEST(test_time_is_over)
{
	static const enum rte_eth_event_type events[] = {
		RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_FAILED,
		RTE_ETH_EVENT_INTR_RMV,
	};

	fx_expect_error("");
	fx_reprobe(fx, "recovery_timeout=1");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("remove fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_INTR_RMV, 1);
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

static struct {
	struct fixture *fx;
	unsigned int index;
	int ret;
} resetter;

static void *
stop_and_reset(void *arg)
{
	int ret = fx_dev_stop(resetter.fx, resetter.index);

	if (ret == 0)
		ret = rte_eth_dev_reset(resetter.fx->port[resetter.index]);
	resetter.ret |= ret;
	return arg;
}

/* The application resets each port in a thread, and waits for it. */
static int
reset_in_callback(uint16_t port_id, enum rte_eth_event_type event __rte_unused, void *arg,
		  void *ret __rte_unused)
{
	struct fixture *fx = arg;
	pthread_t thread;

	resetter.fx = fx;
	resetter.index = port_id == fx->port[1];
	resetter.ret |= fx_model.netdev_set(resetter.index == 0 ? "mana0p0" : "mana0p1", false);
	resetter.ret |= pthread_create(&thread, NULL, stop_and_reset, NULL);
	resetter.ret |= pthread_join(thread, NULL);
	return 0;
}

/* A port that works again when the recovery's failure has been told is not reported as gone. */
FX_TEST(test_reset_after_the_failure)
{
	static const enum rte_eth_event_type events[] = {
		RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_FAILED,
		RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
	};

	fx_expect_error("");
	fx_reprobe(fx, "recovery_timeout=1");
	listen_all(fx);
	resetter.ret = 0;
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_callback_register(fx->port[i],
					RTE_ETH_EVENT_RECOVERY_FAILED, reset_in_callback, fx), 0);
	fx_start(fx, &plain);
	fx_command("fatal fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", true), 0);
	fx_command("return fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_FAILED, 1);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (rte_eth_dev_callback_unregister(fx->port[i], RTE_ETH_EVENT_RECOVERY_FAILED,
						       reset_in_callback, fx) == -EAGAIN)
			rte_delay_us_sleep(1000);
	assert_int_equal(resetter.ret, 0);
	fx_start(fx, &plain);
	exchange(fx);
	/* The events of another loss come behind those of this one. */
	recover(fx, RESET);
	check_events(fx, events, RTE_DIM(events));
	unlisten_all(fx);
}

/* A reset without a cause leaves a port that can be configured. */
FX_TEST(test_reset_by_the_application)
{
	fx_start(fx, &plain);
	exchange(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_reset(fx->port[i]), 0);
	fx_start(fx, &plain);
	exchange(fx);
}

FX_TEST(test_close_meanwhile)
{
	for (unsigned int round = 0; round < 10; round++) {
		listen_all(fx);
		fx_start(fx, &plain);
		fx_command("remove fn=0");
		if (round % 2 == 0)
			fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
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
FX_TEST(test_close_in_callback)
{
	struct fx_holdings before;

	fx_expect_error("");
	fx_holdings_get(&before);
	for (unsigned int t = 0; t < RTE_DIM(types); t++) {
		fx_reprobe(fx, "recovery_timeout=1");
		listen_all(fx);
		fx_start(fx, &plain);
		fx_close_in(fx, types[t]);
		fx_command(types[t] == RTE_ETH_EVENT_RECOVERY_SUCCESS ? RESET :
									"remove fn=0");
		fx_wait_event(fx, types[t], 1);
		fx_check_closed(fx);
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
FX_TEST(test_mapped_memory)
{
	const size_t bytes = 16 * 4096;
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
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 2);
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

/* A stopped queue is released while the device is away. */
FX_TEST(test_queue_released_meanwhile)
{
	uint16_t port = fx->port[0];

	fx_expect_error("the port recovers");
	listen_all(fx);
	fx_start(fx, &plain);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 1), 0);
	fx_command("remove fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	/* ethdev releases the queue first */
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL, fx->pool),
			 -EBUSY);
	assert_int_equal(rte_eth_tx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL), -EBUSY);
	recover(fx, "return fn=0");
	fx_rx_setup(port, 1, 256, NULL, fx->pool);
	fx_tx_setup(port, 1, 256, NULL);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 1), 0);
	exchange(fx);
	unlisten_all(fx);
}

/* The kernel's netdev owns the port when the device is back, and gives it back later. */
FX_TEST(test_netdev_is_up)
{
	const uint64_t end = fx_deadline();

	fx_expect_error("");
	listen_all(fx);
	fx_start(fx, &plain);
	fx_command("fatal fn=0");
	fx_wait_event(fx, RTE_ETH_EVENT_ERR_RECOVERING, 1);
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", true), 0);
	fx_command("return fn=0");
	while (fx_nb_logged(RTE_LOG_ERR, "netdev") == 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	/* 10, 20, 40, 80 ms later */
	rte_delay_us_sleep(150000);
	assert_uint_in_range(fx_nb_logged(RTE_LOG_ERR, "netdev"), 1, 20);
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", false), 0);
	fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
	exchange(fx);
	unlisten_all(fx);
}

/* Nothing accumulates. */
FX_TEST(test_many_times)
{
	struct fx_holdings before;

	listen_all(fx);
	fx_start(fx, &plain);
	exchange(fx);
	for (unsigned int i = 0; i < NB_RESETS; i++) {
		memset(fx_events, 0, sizeof(fx_events));
		fx_command(RESET);
		fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
		exchange(fx);
		if (i == 0)
			fx_holdings_get(&before);
	}
	assert_int_equal(fx_xstat(fx->port[0], "recoveries"), NB_RESETS);
	fx_check_holdings(&before, "after recoveries");
	unlisten_all(fx);
}

/* Sends frames on queue 2 until the threads have forwarded more. */
static void
circulate(const struct fixture *fx, const struct fx_forwarder *fwd)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		uint64_t before = fx_nb_forwarded(&fwd[i]);
		uint16_t sender = fx->port[i ^ 1];

		while (fx_nb_forwarded(&fwd[i]) < before + 50) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, i);

			if (rte_eth_tx_burst(sender, 2, &m, 1) == 0)
				rte_pktmbuf_free(m);
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(10);
		}
	}
}

FX_TEST(test_while_forwarding)
{
	struct fx_config config = plain;
	struct fx_forwarder fwd[FX_NB_PORTS];

	config.nb_txq = 3;
	listen_all(fx);
	fx_start(fx, &config);
	fx_forward_begin(fx, fwd, 2);
	for (unsigned int round = 0; round < NB_RESETS; round++) {
		struct rte_eth_stats before, now;

		circulate(fx, fwd);
		memset(fx_events, 0, sizeof(fx_events));
		assert_int_equal(rte_eth_stats_get(fx->port[0], &before), 0);
		fx_command(RESET);
		fx_wait_event(fx, RTE_ETH_EVENT_RECOVERY_SUCCESS, 1);
		assert_int_equal(rte_eth_stats_get(fx->port[0], &now), 0);
		assert_true(now.ipackets >= before.ipackets);
		assert_true(now.opackets >= before.opackets);
	}
	circulate(fx, fwd);
	fx_forward_end(fwd);
	fx_stop(fx);
	unlisten_all(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
	fx->ignore_counters = true;
}
