/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel removes the device, and it returns: without recovery by the driver, which
 * test_recovery.c tests.
 */

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "fixture.h"

#define NB_FIRES 30

static const struct fx_config defaults;
/* Without Rx interrupts if the kernel delivers none. */
static struct fx_config rmv_config = { .nb_rxq = 2, .nb_txq = 2,
				    .intr = { .lsc = 1, .rxq = 1, .rmv = 1 } };

static const enum rte_eth_event_type removal = RTE_ETH_EVENT_INTR_RMV;

static void
wait_gone(const struct fixture *fx)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (rte_eth_dev_is_removed(fx->port[i]) == 0) {
			if (rte_get_timer_cycles() > end)
				fail_msg("port %u is still there", fx->port[i]);
			rte_delay_us_sleep(1000);
		}
}

/* Bursts do nothing, though the queues are full size. */
static void
check_bursts_idle(const struct fixture *fx)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 64, 1);
	struct rte_mbuf *pkts[FX_BURST];

	/* The port says so before its bursts end. */
	fx_alarms_await();
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		for (int n = 0; n < 300; n++) {
			assert_int_equal(rte_eth_rx_burst(fx->port[i], 0, pkts,
							  RTE_DIM(pkts)), 0);
			assert_int_equal(rte_eth_tx_burst(fx->port[i], 0, &m, 1), 0);
		}
	}
	rte_pktmbuf_free(m);
}

static void
check_refused(struct fixture *fx, unsigned int index)
{
	uint16_t port = fx->port[index];
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_dev_start(port), -EIO);
	assert_int_equal(fx_configure(fx, port, &defaults), -EIO);
	/* counters remain readable */
	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(fx_link(port).link_status, RTE_ETH_LINK_DOWN);
}

static void
return_and_restart(struct fixture *fx)
{
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, fx_devargs), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
	/* the wire counts both lives of the device */
	fx->ignore_counters = true;
}

static void
remove_and_return(struct fixture *fx, const char *command)
{
	fx_expect_error("");
	fx_listen(fx, &removal, 1);
	fx_start(fx, &rmv_config);
	fx_pass_one(fx);
	fx_command(command);
	fx_wait_event(fx, removal, 1);
	check_bursts_idle(fx);
	assert_int_equal(fx_stats(fx->port[0]).opackets, 1);
	assert_int_equal(fx_xstat(fx->port[0], "resets"), 1);
	fx_stop(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		check_refused(fx, i);
		assert_int_equal(fx_nb_events(fx->port[i]), 1);
	}
	fx_unlisten(fx, &removal, 1);
	fx_remove(fx);
	return_and_restart(fx);
}

FX_TEST(test_fatal)
{
	remove_and_return(fx, "fatal fn=0");
	/* each port and each rejected call logs the remedy */
	assert_true(fx_nb_logged(RTE_LOG_ERR, "probe it again") >= 4);
}

FX_TEST(test_hot_removal)
{
	remove_and_return(fx, "remove fn=0");
}

FX_TEST(test_queue_setup_refused)
{
	fx_expect_error("");
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	fx_command("fatal fn=0");
	wait_gone(fx);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[0], 0, 256, SOCKET_ID_ANY,
						NULL, fx->pool), -EIO);
	assert_int_equal(rte_eth_tx_queue_setup(fx->port[0], 0, 256, SOCKET_ID_ANY,
						NULL), -EIO);
	fx_remove(fx);
	return_and_restart(fx);
}

/* A reset of the adapter: it returns without a command; the probe waits. */
static void
service(struct fixture *fx, const char *command)
{
	uint64_t end;

	fx_listen(fx, &removal, 1);
	fx_start(fx, &rmv_config);
	fx_pass_one(fx);
	fx_command(command);
	fx_wait_event(fx, removal, 1);
	fx_stop(fx);
	fx_unlisten(fx, &removal, 1);
	fx_remove(fx);
	end = fx_deadline();
	while (fx_probe(fx, fx_devargs) != 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(10000);
	}
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
}

FX_TEST(test_service)
{
	fx_expect_error("");
	service(fx, "reset fn=0 outage=20ms");
	service(fx, "reset fn=0 outage=20ms pci");
	fx->ignore_counters = true;
}

/* Repeated removals leak no descriptor or object. */
FX_TEST(test_removal_many_times)
{
	struct fx_holdings before;

	fx_expect_error("");
	fx_holdings_get(&before);
	for (int i = 0; i < 10; i++) {
		fx_start(fx, &defaults);
		fx_pass_one(fx);
		fx_command(i % 2 == 0 ? "fatal fn=0" : "remove fn=0");
		wait_gone(fx);
		fx_stop(fx);
		fx_remove(fx);
		fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
	}
	fx_check_holdings(&before, "after removals");
	fx->ignore_counters = true;
}

/* Without callbacks bursts stop, too. */
FX_TEST(test_removal_without_callback)
{
	fx_expect_error("");
	fx_listen(fx, &removal, 1);
	fx_start(fx, &defaults);
	fx_command("remove fn=0");
	wait_gone(fx);
	check_bursts_idle(fx);
	/* memory events, which no callback can report now */
	fx_pool_free(fx, fx_pool(fx, 100, RTE_MBUF_DEFAULT_BUF_SIZE));
	fx_stop(fx);
	assert_int_equal(fx_nb_events(fx->port[0]), 0);
	fx_unlisten(fx, &removal, 1);
	fx_remove(fx);
	return_and_restart(fx);
}

FX_TEST(test_removal_of_stopped_port)
{
	fx_expect_error("");
	fx_listen(fx, &removal, 1);
	fx_start(fx, &rmv_config);
	fx_stop(fx);
	fx_command("remove fn=0");
	fx_wait_event(fx, removal, 1);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		check_refused(fx, i);
	fx_unlisten(fx, &removal, 1);
	fx_remove(fx);
	return_and_restart(fx);
}

FX_TEST(test_removal_of_unconfigured_port)
{
	fx_expect_error("");
	fx_command("fatal fn=0");
	wait_gone(fx);
	fx_remove(fx);
	return_and_restart(fx);
}

/* The application closes the port in its callback. */
FX_TEST(test_close_in_callback)
{
	fx_expect_error("");
	fx_listen(fx, &removal, 1);
	fx_close_in(fx, removal);
	fx_start(fx, &rmv_config);
	fx_pass_one(fx);
	fx_command("remove fn=0");
	fx_wait_event(fx, removal, 1);
	fx_check_closed(fx);
	fx_remove(fx);
	return_and_restart(fx);
	fx_unlisten(fx, &removal, 1); /* ethdev keeps the callbacks of a closed port */
}

/* As test_close_in_callback(), in the link event of removal and carrier. */
FX_TEST(test_close_in_link_callback)
{
	static const struct fx_config config = { .intr = { .lsc = 1, .rmv = 1 } };
	static const char *const causes[] = { "remove fn=0", "link port=1 down" };
	static const enum rte_eth_event_type change = RTE_ETH_EVENT_INTR_LSC;
	unsigned int nb_causes = RTE_DIM(causes);
	struct fx_holdings before;

	fx_expect_error("");
	fx_holdings_get(&before);
	for (unsigned int c = 0; c < nb_causes; c++) {
		struct rte_eth_link link;

		fx_start(fx, &config);
		fx_pass_one(fx);
		/* Linux up to 6.12 reports neither speed nor carrier. */
		assert_int_equal(rte_eth_link_get(fx->port[0], &link), 0);
		if (link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
			nb_causes = 1;
		fx_listen(fx, &change, 1);
		fx_close_in(fx, change);
		fx_command(causes[c]);
		fx_wait_event(fx, change, 1);
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			assert_int_equal(fx_nb_events(fx->port[i]), 1);
		fx_check_closed(fx);
		fx_remove(fx);
		fx_command(c == 0 ? "return fn=0" : "link port=1 up");
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
		/* ethdev keeps the callbacks of a closed port */
		fx_unlisten(fx, &change, 1);
	}
	fx_check_holdings(&before, "after closes in the interrupt thread");
	fx->ignore_counters = true;
}

/* The driver frees unsent packets at the stop. */
FX_TEST(test_removal_with_frames_outstanding)
{
	fx_expect_error("");
	fx_start(fx, &defaults);
	fx_command("stall port=1 tx");
	fx_send_burst(fx, 0, 100, 100);
	fx_command("remove fn=0");
	wait_gone(fx);
	check_bursts_idle(fx);
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
	fx_remove(fx);
	fx_command("inject off");
	return_and_restart(fx);
}

/* A removal at any point of a start, which fails without leaks. */
FX_TEST(test_removal_during_start)
{
	static const char *const calls[] = { "create_cq:1", "create_qp:1",
					     "create_wq:1", "create_qp:2" };

	fx_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		char line[64];

		assert_int_equal(fx_configure(fx, fx->port[0], &rmv_config), 0);
		snprintf(line, sizeof(line), "at call=%s fatal fn=0", calls[i]);
		fx_command(line);
		assert_int_equal(fx_dev_start(fx, 0), -EIO);
		wait_gone(fx);
		assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
		fx_remove(fx);
		fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
	}
	fx->ignore_counters = true;
}

/* A removal while a Tx queue starts, after its last failing verb. */
FX_TEST(test_removal_during_queue_start)
{
	fx_expect_error("");
	for (unsigned int i = 0; i < 10; i++) {
		uint16_t port = fx->port[0];

		fx_start(fx, &defaults);
		/* a spare queue keeps the vPort until this queue is back */
		assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
		fx_command("at call=destroy_qp:1 fatal fn=0");
		(void)rte_eth_dev_tx_queue_start(port, 0);
		wait_gone(fx);
		check_bursts_idle(fx);
		fx_stop(fx);
		fx_remove(fx);
		fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
	}
	fx->ignore_counters = true;
}

/* Frames circulate between the ports; each port has a polling thread. */
static void
remove_while_forwarding(struct fixture *fx, unsigned int round)
{
	struct fx_forwarder fwd[FX_NB_PORTS];
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, i);

		fx_send(fx->port[i], 0, &m, 1);
	}
	fx_forward_begin(fx, fwd, 1);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (fx_nb_forwarded(&fwd[i]) < 50 + round) {
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(10);
		}
	fx_command(round % 2 == 0 ? "fatal fn=0" : "remove fn=0");
	wait_gone(fx);
	fx_forward_end(fwd);
}

FX_TEST(test_removal_while_forwarding)
{
	fx_expect_error("");
	for (unsigned int round = 0; round < NB_FIRES; round++) {
		fx_start(fx, &defaults);
		remove_while_forwarding(fx, round);
		fx_stop(fx);
		assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
		fx_remove(fx);
		fx_command("return fn=0");
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
	}
	fx->ignore_counters = true;
}

int
main(int argc, char **argv)
{
	fx_devargs = "recovery_timeout=0";
	rmv_config.intr.rxq = argc < 2 || strcmp(argv[1], "no-rx-intr") != 0;
	return FX_RUN("removal");
}
