/* SPDX-License-Identifier: BSD-3-Clause */

/* Configuring, starting and stopping ports, in good orders and bad ones. */

#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "bench.h"

/* rdma-core 44 refuses larger rings (MAX_SEND_BUFFERS_PER_QUEUE). */
#define MAX_DESCRIPTORS 256

static const struct bench_config plain;

static void
test_start_stop_again_and_again(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < 20; i++) {
		bench_start(bench, &plain);
		bench_pass_one(bench);
		bench_stop(bench);
	}
}

static void
test_restart_without_configure(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings stopped;

	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_stop(bench);
	bench_hold(&stopped);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(bench_dev_start(bench, 0), 0);
		assert_int_equal(bench_dev_start(bench, 1), 0);
		bench_pass_one(bench);
		bench_stop(bench);
		bench_check_held(&stopped, "after a restart");
	}
}

static void
test_stop_twice_and_start_twice(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &plain);
	assert_int_equal(rte_eth_dev_start(bench->port[0]), 0);
	bench_pass_one(bench);
	bench_stop(bench);
	assert_int_equal(rte_eth_dev_stop(bench->port[0]), 0);
}

static void
test_other_numbers_of_queues(void **state)
{
	static const uint16_t numbers[][2] = { { 1, 1 }, { 4, 2 }, { 1, 8 }, { 16, 3 },
					       { 3, 5 }, { 13, 1 }, { 2, 1 }, { 1, 1 } };
	struct bench *bench = *state;

	for (unsigned int i = 0; i < RTE_DIM(numbers); i++) {
		struct bench_config config = {
			.nb_rxq = numbers[i][0],
			.nb_txq = numbers[i][1],
			.nb_rxd = 64,
		};

		bench_start(bench, &config);
		/* without RSS everything goes to queue 0 */
		bench_pass_one(bench);
		bench_stop(bench);
	}
}

static void
test_queues_set_up_again(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings once;

	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	bench_hold(&once);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 0, 256,
							SOCKET_ID_ANY, NULL), 0);
		assert_int_equal(rte_eth_rx_queue_setup(bench->port[0], 0, 256,
							SOCKET_ID_ANY, NULL,
							bench->pool), 0);
		bench_check_held(&once, "after another setup");
	}
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_start_without_queues(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_conf conf = { 0 };
	struct bench_holdings before;

	assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), 0);
	bench_hold(&before);
	bench_expect_error("queue");
	assert_true(rte_eth_dev_start(bench->port[0]) < 0);
	bench_check_held(&before, "after the refused start");

	/* with a Tx queue alone it is no better */
	assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 0, 256, SOCKET_ID_ANY,
						NULL), 0);
	assert_true(rte_eth_dev_start(bench->port[0]) < 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_wrong_numbers_of_queues(void **state)
{
	static const uint16_t wrong[][2] = { { 65, 1 }, { 128, 1 }, { 1, 1025 } };
	struct bench *bench = *state;
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4 } },
	};

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_true(rte_eth_dev_configure(bench->port[0], wrong[i][0],
						  wrong[i][1], &conf) < 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_descriptors(void **state)
{
	/* any number will do: the driver rounds what the device wants rounded */
	static const uint16_t good[] = { 64, 65, 100, 128, 129, 191, 255, 256 };
	struct bench *bench = *state;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = { 0 };
	uint16_t nb_rxd = 1024, nb_txd = 4096;

	assert_int_equal(rte_eth_dev_info_get(bench->port[0], &info), 0);
	assert_int_equal(info.rx_desc_lim.nb_max, MAX_DESCRIPTORS);
	assert_int_equal(info.tx_desc_lim.nb_max, MAX_DESCRIPTORS);

	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		struct bench_config config = { .nb_rxd = good[i], .nb_txd = good[i] };
		unsigned int nb_ring = RTE_MIN(good[i], MAX_DESCRIPTORS - 1);

		bench_start(bench, &config);
		/* a ring is as large as asked for, but for a CQE that is kept free */
		assert_int_equal(rte_mempool_in_use_count(bench->pool), 2 * nb_ring);
		for (unsigned int n = 0; n < 300; n++)
			bench_pass_one(bench);
		bench_stop(bench);
	}
	assert_int_equal(rte_eth_dev_adjust_nb_rx_tx_desc(bench->port[0], &nb_rxd,
							  &nb_txd), 0);
	assert_int_equal(nb_rxd, MAX_DESCRIPTORS);
	assert_int_equal(nb_txd, MAX_DESCRIPTORS);

	assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), 0);
	bench_expect_error("");
	assert_true(rte_eth_rx_queue_setup(bench->port[0], 0, 512, SOCKET_ID_ANY, NULL,
					   bench->pool) < 0);
	assert_true(rte_eth_tx_queue_setup(bench->port[0], 0, 512, SOCKET_ID_ANY,
					   NULL) < 0);
}

static void
test_wrong_offloads(void **state)
{
	static const uint64_t rx[] = { RTE_ETH_RX_OFFLOAD_TCP_LRO,
				       RTE_ETH_RX_OFFLOAD_QINQ_STRIP,
				       RTE_ETH_RX_OFFLOAD_TIMESTAMP };
	static const uint64_t tx[] = { RTE_ETH_TX_OFFLOAD_SCTP_CKSUM,
				       RTE_ETH_TX_OFFLOAD_QINQ_INSERT,
				       RTE_ETH_TX_OFFLOAD_MACSEC_INSERT };
	struct bench *bench = *state;

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(rx); i++) {
		struct bench_config config = { .rx_offloads = rx[i] };

		assert_true(bench_configure(bench, bench->port[0], &config) < 0);
	}
	for (unsigned int i = 0; i < RTE_DIM(tx); i++) {
		struct bench_config config = { .tx_offloads = tx[i] };

		assert_true(bench_configure(bench, bench->port[0], &config) < 0);
	}
}

/* Modes that the device has not are refused, not ignored. */
static void
test_wrong_modes(void **state)
{
	static const struct rte_eth_conf wrong[] = {
		{ .rxmode = { .mq_mode = RTE_ETH_MQ_RX_DCB } },
		{ .rxmode = { .mq_mode = RTE_ETH_MQ_RX_VMDQ_ONLY } },
		{ .txmode = { .mq_mode = RTE_ETH_MQ_TX_DCB } },
		{ .txmode = { .mq_mode = RTE_ETH_MQ_TX_VMDQ_ONLY } },
		{ .link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10G },
	};
	const struct rte_eth_conf loopback = { .lpbk_mode = 1 };
	struct bench *bench = *state;

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &wrong[i]),
				 -ENOTSUP);
	/* a mode of another driver's own, which most pass over */
	assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &loopback), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_pool_too_small_for_mtu(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .mtu = 1500 };

	config.rx_pool = bench_pool(bench, 511, 512 + RTE_PKTMBUF_HEADROOM);
	bench_expect_error("");
	/* refused by queue setup or at start: never frames that are cut */
	if (bench_configure(bench, bench->port[0], &config) == 0)
		assert_true(bench_dev_start(bench, 0) < 0);
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), 511);
}

/*
 * Between stop and the new queues a program may have freed the old pools: the MTU
 * is not held against them. Start looks at what there is then.
 */
static void
test_mtu_before_new_queues(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .mtu = 400 };

	config.rx_pool = bench_pool(bench, 511, 512 + RTE_PKTMBUF_HEADROOM);
	bench_start(bench, &config);
	bench_expect_error("data_room_size");
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1500), -EINVAL);
	bench_stop(bench);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1500), 0);
	bench_expect_error("data_room_size");
	assert_int_equal(bench_dev_start(bench, 0), -EINVAL);
	config.rx_pool = NULL;
	config.mtu = 1500;
	bench_start(bench, &config);
	bench_pass_one(bench);
}

static void
test_too_few_mbufs_at_start(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 256 };
	struct bench_holdings before;

	config.rx_pool = bench_pool(bench, 127, RTE_MBUF_DEFAULT_BUF_SIZE);
	assert_int_equal(bench_configure(bench, bench->port[0], &config), 0);
	bench_hold(&before);
	bench_expect_error("mbuf");
	assert_int_equal(bench_dev_start(bench, 0), -ENOMEM);
	bench_check_held(&before, "after the refused start");
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), 127);

	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_remove_while_started(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_remove(bench);
	bench->is_started[0] = bench->is_started[1] = false;
	assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

static void
test_close_one_port(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m = bench_frame(bench->pool, 100, 1);

	bench->ignore_counters = true;
	bench_start(bench, &plain);
	bench_pass_one(bench);
	assert_int_equal(bench_dev_stop(bench, 0), 0);
	assert_int_equal(rte_eth_dev_close(bench->port[0]), 0);
	bench->port[0] = RTE_MAX_ETHPORTS;
	/* the other one works on; its frames meet nobody */
	bench_send(bench->port[1], 0, &m, 1);
	bench_settle(bench);
	assert_int_equal(bench_wire(bench, 1).tx_packets, 2);
}

static void
test_devargs(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_hold(&before);
	bench->ignore_counters = true;
	assert_int_equal(bench_probe(bench, "mac=00:0d:3a:00:00:02"), 0);
	assert_int_equal(bench->port[0], RTE_MAX_ETHPORTS);
	assert_true(rte_eth_dev_is_valid_port(bench->port[1]));
	bench_remove(bench);
	bench_check_held(&before, "after removal");

	bench_expect_error("");
	assert_true(bench_probe(bench, "mac=00:0d:3a:00:00:99") != 0);
	assert_true(bench_probe(bench, "mac=00:0d:3a:00:00:01,mac=02:00:00:00:00:00") != 0);
	assert_true(bench_probe(bench, "mac=1") != 0);
	assert_true(bench_probe(bench, "nonsense=1") != 0);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	bench_check_held(&before, "after refused probes");
}

static void
test_port_busy_when_netdev_up(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	bench_hold(&before);
	assert_int_equal(bench_model.netdev_set("mana0p0", true), 0);
	bench_expect_error("ip link set");
	assert_true(bench_dev_start(bench, 0) < 0);
	assert_true(bench_nb_logged(RTE_LOG_ERR, "ip link set") > 0);
	bench_check_held(&before, "after the refused start");
	assert_int_equal(bench_model.netdev_set("mana0p0", false), 0);
	bench_start(bench, &plain);
	/* now it is the kernel that is refused */
	assert_int_equal(bench_model.netdev_set("mana0p0", true), -EBUSY);
	bench_pass_one(bench);
}

static void
test_no_privileges(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	bench_hold(&before);
	assert_int_equal(bench_model.privileges(false, true), 0);
	bench_expect_error("");
	assert_true(bench_dev_start(bench, 0) < 0);
	assert_true(bench_nb_logged(RTE_LOG_ERR, "CAP_NET_RAW") > 0);
	bench_check_held(&before, "after the refused start");
	assert_int_equal(bench_model.privileges(true, true), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_start_stop_again_and_again),
		BENCH_TEST(test_restart_without_configure),
		BENCH_TEST(test_stop_twice_and_start_twice),
		BENCH_TEST(test_other_numbers_of_queues),
		BENCH_TEST(test_queues_set_up_again),
		BENCH_TEST(test_start_without_queues),
		BENCH_TEST(test_wrong_numbers_of_queues),
		BENCH_TEST(test_descriptors),
		BENCH_TEST(test_wrong_offloads),
		BENCH_TEST(test_pool_too_small_for_mtu),
		BENCH_TEST(test_mtu_before_new_queues),
		BENCH_TEST(test_too_few_mbufs_at_start),
		BENCH_TEST(test_wrong_modes),
		BENCH_TEST(test_remove_while_started),
		BENCH_TEST(test_close_one_port),
		BENCH_TEST_BARE(test_devargs),
		BENCH_TEST(test_port_busy_when_netdev_up),
		BENCH_TEST(test_no_privileges),
	};

	return BENCH_RUN("control", tests);
}
