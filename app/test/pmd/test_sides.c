/* SPDX-License-Identifier: BSD-3-Clause */

/* Ports with queues on one side only, and with odd numbers of descriptors. */

#include <string.h>

#include "bench.h"

#define NB_FRAMES 200

static void
bring_up(struct bench *bench, unsigned int index, uint16_t nb_rxq, uint16_t nb_txq,
	 uint16_t nb_desc)
{
	struct rte_eth_conf conf = { 0 };
	uint16_t port = bench->port[index];

	assert_int_equal(rte_eth_dev_configure(port, nb_rxq, nb_txq, &conf), 0);
	for (uint16_t q = 0; q < nb_txq; q++)
		assert_int_equal(rte_eth_tx_queue_setup(port, q, nb_desc, SOCKET_ID_ANY,
							NULL), 0);
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_int_equal(rte_eth_rx_queue_setup(port, q, nb_desc, SOCKET_ID_ANY,
							NULL, bench->pool), 0);
	assert_int_equal(bench_dev_start(bench, index), 0);
}

static void
one_way(struct bench *bench)
{
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 60 + i, i);
		uint8_t bytes[60 + NB_FRAMES];

		bench_frame_bytes(bytes, 60 + i, i);
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_check_bytes(m, bytes, 60 + i);
		rte_pktmbuf_free(m);
	}
}

static void
test_sender_and_receiver(void **state)
{
	struct bench *bench = *state;

	for (unsigned int i = 0; i < 3; i++) {
		bring_up(bench, 0, 0, 1, 64);
		bring_up(bench, 1, 1, 0, 64);
		one_way(bench);
		bench_stop(bench);
	}
}

static void
test_odd_numbers_of_descriptors(void **state)
{
	static const uint16_t numbers[] = { 64, 65, 100, 127, 128, 129, 200, 255, 256 };
	struct bench *bench = *state;

	for (unsigned int i = 0; i < RTE_DIM(numbers); i++) {
		struct rte_eth_rxq_info info;

		bring_up(bench, 0, 1, 1, numbers[i]);
		bring_up(bench, 1, 1, 1, numbers[i]);
		assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], 0, &info), 0);
		assert_int_equal(info.nb_desc, numbers[i]);
		one_way(bench);
		bench_stop(bench);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_sender_and_receiver),
		BENCH_TEST(test_odd_numbers_of_descriptors),
	};

	return BENCH_RUN("sides", tests);
}
