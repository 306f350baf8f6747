/* SPDX-License-Identifier: BSD-3-Clause */

/* A device that rejects rings above 8 KiB with EPROTO. */

#include "fixture.h"

#define NB_PACKETS 1024
/*
 * Descriptors that fit. A CQE has 64 bytes, and an Rx CQ a spare one; a WQE
 * with two segments has 64 bytes.
 */
#define FITTING_RXD 64
#define FITTING_TXD 128

static const struct fx_config large = { .nb_txq = 2, .nb_rxd = 256, .nb_txd = 256 };

/* Passes packets on all queues of both ports. */
static void
pass_packets(struct fixture *fx)
{
	for (unsigned int i = 0; i < NB_PACKETS; i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, i);

		fx_send(fx->port[i % 2], i / 2 % 2, &m, 1);
		rte_pktmbuf_free(fx_receive_one(fx->port[1 - i % 2], 0));
	}
}

static void
check_sizes(uint16_t port, uint16_t asked_rxd, uint16_t asked_txd)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;

	assert_int_equal(rte_eth_rx_queue_info_get(port, 0, &rx), 0);
	assert_int_equal(rx.nb_desc, RTE_MIN(asked_rxd, FITTING_RXD));
	for (uint16_t q = 0; q < 2; q++) {
		assert_int_equal(rte_eth_tx_queue_info_get(port, q, &tx), 0);
		assert_int_equal(tx.nb_desc, RTE_MIN(asked_txd, FITTING_TXD));
	}
	assert_true(rte_eth_tx_descriptor_status(port, 0, tx.nb_desc - 1) >= 0);
	assert_true(rte_eth_tx_descriptor_status(port, 0, tx.nb_desc) < 0);
	assert_true(rte_eth_rx_descriptor_status(port, 0, rx.nb_desc) < 0);
}

/*
 * The driver halves sizes until the device accepts; each start tries the
 * configured sizes again.
 */
FX_TEST(test_sizes_are_halved)
{
	for (unsigned int turn = 1; turn <= 3; turn++) {
		fx_start(fx, &large);
		/* Two ports: 128 and 64. Four Tx queues: 128. And one again. */
		assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE,
					      "refused the Rx queues"), turn * 4);
		assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE,
					      "refused Tx queue"), turn * 5 - 1);
		check_sizes(fx->port[0], 256, 256);
		pass_packets(fx);
		/* One Tx queue alone. */
		assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
		assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 1), 0);
		check_sizes(fx->port[0], 256, 256);
		pass_packets(fx);
		fx_stop(fx);
	}
}

/* Setup of an Rx queue on a running port. */
FX_TEST(test_set_up_while_running)
{
	const uint16_t port = fx->port[0];

	fx_start(fx, &large);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 0), 0);
	fx_rx_setup(port, 0, 256, NULL, fx->pool);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), 0);
	assert_int_equal(fx_rxq_info(port, 0).nb_desc, FITTING_RXD);
	pass_packets(fx);
}

/*
 * The device rejects the new size of a stopped queue: the queue starts with a size that
 * fits, as at the start of the port, and the others keep receiving.
 */
FX_TEST(test_too_large_while_running)
{
	static const struct fx_config config = {
		.nb_rxq = 2, .nb_txq = 2, .nb_rxd = 64, .nb_txd = 64,
		.rss_hf = FX_RSS,
	};
	unsigned int nb_of[2] = { 0 };
	const uint16_t port = fx->port[1];

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	fx_rx_setup(port, 1, 256, NULL, fx->pool);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(fx_rxq_info(port, 1).nb_desc, FITTING_RXD);
	for (unsigned int i = 0; i < 64; i++)
		fx_send_one(fx, i);
	fx_settle(fx);
	for (uint16_t q = 0; q < 2; q++)
		nb_of[q] = fx_receive_all(port, q);
	assert_true(nb_of[0] > 0 && nb_of[1] > 0);
	assert_int_equal(nb_of[0] + nb_of[1], 64);
}

/* Accepted sizes are kept, also one that is no power of two. */
FX_TEST(test_sizes_that_fit)
{
	static const struct fx_config config = {
		.nb_txq = 2, .nb_rxd = 64, .nb_txd = 100,
	};

	fx_start(fx, &config);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "refused"), 0);
	check_sizes(fx->port[0], 64, 100);
	pass_packets(fx);
}

/* The device rejects every size: error, and the configured sizes remain. */
FX_TEST(test_refused_at_all)
{
	static const struct fx_config config = {
		.nb_txq = 2, .nb_rxd = 64, .nb_txd = 256,
		.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
	};
	struct fx_holdings before;

	fx_expect_error("the adapter refused it");
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	fx_holdings_get(&before);
	/* WQEs of 30 segments have 512 bytes. */
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_check_holdings(&before, "after the start that failed");
	assert_int_equal(fx_txq_info(fx->port[0], 0).nb_desc, 256);
	fx_remove(fx);
	/* The remedy of the message. */
	fx_expect_error(NULL);
	assert_int_equal(fx_probe(fx, "max_send_sge=3,max_desc=64"), 0);
}
