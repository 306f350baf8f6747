/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues that start, stop and are set up while the port runs. */

#include "bench.h"

static const struct bench_config three = { .nb_txq = 3, .nb_txd = 64 };

static void
send_one(struct bench *bench, uint16_t queue)
{
	struct rte_mbuf *m = bench_frame(bench->pool, 100, queue);
	uint8_t bytes[100];

	bench_frame_bytes(bytes, sizeof(bytes), queue);
	bench_send(bench->port[0], queue, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
}

static void
check_state(uint16_t port, uint16_t queue, uint8_t state)
{
	struct rte_eth_txq_info info;

	assert_int_equal(rte_eth_tx_queue_info_get(port, queue, &info), 0);
	assert_int_equal(info.queue_state, state);
}

static void
takes_nothing(struct bench *bench, uint16_t queue)
{
	struct rte_mbuf *m = bench_frame(bench->pool, 100, 1);

	check_state(bench->port[0], queue, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_tx_burst(bench->port[0], queue, &m, 1), 0);
	rte_pktmbuf_free(m);
}

/* Each of them alone, then all; what is left goes on meanwhile. */
static void
test_stop_and_start(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings running;

	bench_start(bench, &three);
	bench_hold(&running);
	for (uint16_t q = 0; q < 3; q++) {
		assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], q), 0);
		takes_nothing(bench, q);
		for (uint16_t other = 0; other < 3; other++)
			if (other != q)
				send_one(bench, other);
		assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], q), 0);
		bench_check_held(&running, "after stop and start");
		send_one(bench, q);
	}
	/* reception needs none of them */
	for (uint16_t q = 0; q < 3; q++)
		assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], q), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, i);

		bench_send(bench->port[1], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[0], 0, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < 3; q++) {
		assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], q), 0);
		send_one(bench, q);
	}
	bench_check_held(&running, "after stop and start of all");
}

/* What a queue was given before it stops is on the wire, and its mbufs are back. */
static void
test_stop_with_packets_under_way(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[BENCH_BURST];

	bench_start(bench, &three);
	for (unsigned int i = 0; i < BENCH_BURST; i++)
		pkts[i] = bench_frame(bench->pool, 200, i);
	bench_send(bench->port[0], 2, pkts, BENCH_BURST);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 2), 0);
	assert_int_equal(bench_receive(bench->port[1], 0, pkts, BENCH_BURST), BENCH_BURST);
	assert_int_equal(bench_wire(bench, 0).tx_packets, BENCH_BURST);
	rte_pktmbuf_free_bulk(pkts, BENCH_BURST);
	/* all but the receive rings' are in the pool, and so are those not yet posted again */
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 2 * 255 - BENCH_BURST);
}

static void
setup_deferred(struct bench *bench, uint16_t queue)
{
	struct rte_eth_txconf conf = { .tx_deferred_start = 1 };

	assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], queue, 64, SOCKET_ID_ANY,
						&conf), 0);
}

static void
test_deferred_start(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench_configure(bench, bench->port[1], &three), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &three), 0);
	setup_deferred(bench, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(bench_dev_start(bench, 0), 0);
		takes_nothing(bench, 1);
		send_one(bench, 0);
		send_one(bench, 2);
		assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 1), 0);
		send_one(bench, 1);
		/* deferred again at the next start */
		assert_int_equal(bench_dev_stop(bench, 0), 0);
	}
	/* all of them */
	setup_deferred(bench, 0);
	setup_deferred(bench, 2);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	for (uint16_t q = 0; q < 3; q++) {
		takes_nothing(bench, q);
		assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], q), 0);
		send_one(bench, q);
	}
}

static void
test_set_up_at_run_time(void **state)
{
	const struct rte_eth_txconf with_offloads = {
		.offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	struct bench *bench = *state;

	bench_start(bench, &three);
	send_one(bench, 1);
	assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 1, 128, SOCKET_ID_ANY, NULL),
			 -EBUSY);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 1), 0);
	for (uint16_t nb_desc = 64; nb_desc <= 256; nb_desc += 64) {
		struct rte_eth_txq_info info;

		assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 1, nb_desc,
							SOCKET_ID_ANY, &with_offloads), 0);
		takes_nothing(bench, 1);
		send_one(bench, 0);
		assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 1), 0);
		assert_int_equal(rte_eth_tx_queue_info_get(bench->port[0], 1, &info), 0);
		assert_int_equal(info.nb_desc, nb_desc);
		send_one(bench, 1);
		assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 1), 0);
	}
}

static void
test_wrong_states(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	assert_int_equal(bench_configure(bench, bench->port[0], &three), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 0), -EINVAL);
	bench_start(bench, &three);
	assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 3), -EINVAL);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 3), -EINVAL);
	/* twice is once */
	assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 0), 0);
	/* the port stops and starts with a stopped queue, which then runs */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	send_one(bench, 0);
}

/* The kernel refuses: the queue stays stopped, the others go on. */
static void
test_start_that_fails(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &three);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 1), 0);
	bench_expect_error("send queue");
	assert_int_equal(bench_model.fault_arm("create_qp", 1, EIO), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 1), -EIO);
	bench_model.fault_disarm();
	takes_nothing(bench, 1);
	send_one(bench, 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(bench->port[0], 1), 0);
	send_one(bench, 1);
}

/*
 * The vPort, and reception, goes with its last send queue, unless there is
 * another that ethdev does not know. It cannot be made: the queue runs on.
 */
static void
test_last_stop_that_fails(void **state)
{
	static const char *const calls[] = { "create_cq", "create_qp" };
	struct bench *bench = *state;
	struct bench_holdings running;

	bench_start(bench, &three);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 1), 0);
	bench_hold(&running);
	bench_expect_error("internal send queue");
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		assert_int_equal(bench_model.fault_arm(calls[i], 1, ENOMEM), 0);
		assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 2), -ENOMEM);
		bench_model.fault_disarm();
		bench_check_held(&running, "after the refused stop");
		check_state(bench->port[0], 2, RTE_ETH_QUEUE_STATE_STARTED);
		send_one(bench, 2);
	}
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 2), 0);
	takes_nothing(bench, 2);
}

/* Who receives nothing, and sends nothing for now, holds the port all the same. */
static void
test_netdev_is_kept_down(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];
	struct rte_eth_txconf deferred = { .tx_deferred_start = 1 };
	struct rte_eth_conf conf = { 0 };

	assert_int_equal(bench_configure(bench, bench->port[1], &three), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(rte_eth_dev_configure(port, 0, 1, &conf), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY,
							i == 0 ? &deferred : NULL), 0);
		assert_int_equal(bench_dev_start(bench, 0), 0);
		if (i != 0)
			assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
		assert_int_equal(bench_model.netdev_set("mana0p0", true), -EBUSY);
		assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
		send_one(bench, 0);
		assert_int_equal(bench_dev_stop(bench, 0), 0);
	}
	/* and no longer than it runs */
	assert_int_equal(bench_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(bench_model.netdev_set("mana0p0", false), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_stop_and_start),
		BENCH_TEST(test_stop_with_packets_under_way),
		BENCH_TEST(test_deferred_start),
		BENCH_TEST(test_set_up_at_run_time),
		BENCH_TEST(test_wrong_states),
		BENCH_TEST(test_start_that_fails),
		BENCH_TEST(test_last_stop_that_fails),
		BENCH_TEST(test_netdev_is_kept_down),
	};

	return BENCH_RUN("txq", tests);
}
