/* SPDX-License-Identifier: BSD-3-Clause */

/* Tx queue start, stop and setup on a running port. */

#include "fixture.h"

static const struct fx_config three = { .nb_txq = 3, .nb_txd = 64 };

static void
send_one(struct fixture *fx, uint16_t queue)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 100, queue);
	uint8_t bytes[100];

	fx_frame_bytes(bytes, sizeof(bytes), queue);
	fx_send(fx->port[0], queue, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
}

static void
check_state(uint16_t port, uint16_t queue, uint8_t state)
{
	assert_int_equal(fx_txq_info(port, queue).queue_state, state);
}

static void
accepts_no_packet(struct fixture *fx, uint16_t queue)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 100, 1);

	check_state(fx->port[0], queue, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_tx_burst(fx->port[0], queue, &m, 1), 0);
	rte_pktmbuf_free(m);
}

/* Stops each queue alone, then all; the others continue. */
FX_TEST(test_stop_and_start)
{
	struct fx_holdings running;

	fx_start(fx, &three);
	fx_holdings_get(&running);
	for (uint16_t q = 0; q < 3; q++) {
		assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], q), 0);
		accepts_no_packet(fx, q);
		for (uint16_t other = 0; other < 3; other++)
			if (other != q)
				send_one(fx, other);
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], q), 0);
		fx_check_holdings(&running, "after stop and start");
		send_one(fx, q);
	}
	/* Rx needs no Tx queue */
	for (uint16_t q = 0; q < 3; q++)
		assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], q), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, i);

		fx_send(fx->port[1], 0, &m, 1);
		rte_pktmbuf_free(fx_receive_one(fx->port[0], 0));
	}
	for (uint16_t q = 0; q < 3; q++) {
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], q), 0);
		send_one(fx, q);
	}
	fx_check_holdings(&running, "after stop and start of all");
	/* a port restart starts a stopped queue */
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
	fx_stop(fx);
	fx_restart(fx);
	send_one(fx, 1);
}

/* A stop sends the posted packets and returns their mbufs. */
FX_TEST(test_stop_with_packets_posted)
{
	struct rte_mbuf *pkts[FX_BURST];
	unsigned int nb_posted;

	fx_start(fx, &three);
	nb_posted = rte_mempool_in_use_count(fx->pool);
	fx_send_burst(fx, 2, 200, FX_BURST);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 2), 0);
	assert_int_equal(fx_receive(fx->port[1], 0, pkts, FX_BURST), FX_BURST);
	assert_int_equal(fx_wire(fx, 0).tx_packets, FX_BURST);
	rte_pktmbuf_free_bulk(pkts, FX_BURST);
	/* all mbufs but those of the Rx rings, minus up to a burst */
	assert_int_equal(rte_mempool_in_use_count(fx->pool), nb_posted - FX_BURST);
}

static void
setup_deferred(struct fixture *fx, uint16_t queue)
{
	struct rte_eth_txconf conf = { .tx_deferred_start = 1 };

	fx_tx_setup(fx->port[0], queue, 64, &conf);
}

FX_TEST(test_deferred_start)
{
	assert_int_equal(fx_configure(fx, fx->port[1], &three), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &three), 0);
	setup_deferred(fx, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fx_dev_start(fx, 0), 0);
		accepts_no_packet(fx, 1);
		send_one(fx, 0);
		send_one(fx, 2);
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 1), 0);
		send_one(fx, 1);
		/* deferred again at the next start */
		assert_int_equal(fx_dev_stop(fx, 0), 0);
	}
	/* all of them */
	setup_deferred(fx, 0);
	setup_deferred(fx, 2);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (uint16_t q = 0; q < 3; q++) {
		accepts_no_packet(fx, q);
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], q), 0);
		send_one(fx, q);
	}
}

FX_TEST(test_set_up_at_run_time)
{
	const struct rte_eth_txconf with_offloads = {
		.offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};

	fx_start(fx, &three);
	send_one(fx, 1);
	assert_int_equal(rte_eth_tx_queue_setup(fx->port[0], 1, 128, SOCKET_ID_ANY, NULL),
			 -EBUSY);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
	for (uint16_t nb_desc = 64; nb_desc <= 256; nb_desc += 64) {
		fx_tx_setup(fx->port[0], 1, nb_desc, &with_offloads);
		accepts_no_packet(fx, 1);
		send_one(fx, 0);
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 1), 0);
		assert_int_equal(fx_txq_info(fx->port[0], 1).nb_desc, nb_desc);
		send_one(fx, 1);
		assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
	}
}

/* The kernel call fails: the queue stays stopped, the others continue. */
FX_TEST(test_failed_start)
{
	fx_start(fx, &three);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
	fx_expect_error("Tx queue");
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EIO), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 1), -EIO);
	fx_model.fault_disarm();
	accepts_no_packet(fx, 1);
	send_one(fx, 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 1), 0);
	send_one(fx, 1);
}

/*
 * The last Tx queue holds the vPort, and Rx needs it: its stop creates a spare
 * queue. If that fails, the queue keeps running.
 */
FX_TEST(test_failed_stop_of_last_queue)
{
	static const char *const calls[] = { "create_cq", "create_qp" };
	struct fx_holdings running;

	fx_start(fx, &three);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
	fx_holdings_get(&running);
	fx_expect_error("internal Tx queue");
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		assert_int_equal(fx_model.fault_arm(calls[i], 1, ENOMEM), 0);
		assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 2), -ENOMEM);
		fx_model.fault_disarm();
		fx_check_holdings(&running, "after the refused stop");
		check_state(fx->port[0], 2, RTE_ETH_QUEUE_STATE_STARTED);
		send_one(fx, 2);
	}
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 2), 0);
	accepts_no_packet(fx, 2);
}

/* Without traffic the port keeps its vPort. */
FX_TEST(test_netdev_is_kept_down)
{
	uint16_t port = fx->port[0];
	struct rte_eth_txconf deferred = { .tx_deferred_start = 1 };
	struct rte_eth_conf conf = { 0 };

	assert_int_equal(fx_configure(fx, fx->port[1], &three), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(rte_eth_dev_configure(port, 0, 1, &conf), 0);
	for (unsigned int i = 0; i < 2; i++) {
		fx_tx_setup(port, 0, 64, i == 0 ? &deferred : NULL);
		assert_int_equal(fx_dev_start(fx, 0), 0);
		if (i != 0)
			assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
		assert_int_equal(fx_model.netdev_set("mana0p0", true), -EBUSY);
		assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
		send_one(fx, 0);
		assert_int_equal(fx_dev_stop(fx, 0), 0);
	}
	/* until the port stops */
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
}
