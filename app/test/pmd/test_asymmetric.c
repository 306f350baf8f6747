/* SPDX-License-Identifier: BSD-3-Clause */

/* Ports with queues in one direction only, and uneven descriptor numbers. */

#include "fixture.h"

#define NB_FRAMES 200

static void
bring_up(struct fixture *fx, unsigned int index, uint16_t nb_rxq, uint16_t nb_txq,
	 uint16_t nb_desc)
{
	struct rte_eth_conf conf = { 0 };
	uint16_t port = fx->port[index];

	assert_int_equal(rte_eth_dev_configure(port, nb_rxq, nb_txq, &conf), 0);
	for (uint16_t q = 0; q < nb_txq; q++)
		fx_tx_setup(port, q, nb_desc, NULL);
	for (uint16_t q = 0; q < nb_rxq; q++)
		fx_rx_setup(port, q, nb_desc, NULL, fx->pool);
	assert_int_equal(fx_dev_start(fx, index), 0);
}

static void
one_way(struct fixture *fx)
{
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 60 + i, i);
		uint8_t bytes[60 + NB_FRAMES];

		fx_frame_bytes(bytes, 60 + i, i);
		fx_send(fx->port[0], 0, &m, 1);
		fx_expect_bytes(fx->port[1], 0, bytes, 60 + i);
	}
}

FX_TEST(test_one_port_sends_other_receives)
{
	for (unsigned int i = 0; i < 3; i++) {
		bring_up(fx, 0, 0, 1, 64);
		bring_up(fx, 1, 1, 0, 64);
		one_way(fx);
		fx_stop(fx);
	}
}

FX_TEST(test_uneven_numbers_of_descriptors)
{
	static const uint16_t numbers[] = { 64, 65, 100, 127, 128, 129, 200, 255, 256 };

	for (unsigned int i = 0; i < RTE_DIM(numbers); i++) {
		bring_up(fx, 0, 1, 1, numbers[i]);
		bring_up(fx, 1, 1, 1, numbers[i]);
		assert_int_equal(fx_rxq_info(fx->port[1], 0).nb_desc, numbers[i]);
		one_way(fx);
		fx_stop(fx);
	}
}
