/* SPDX-License-Identifier: BSD-3-Clause */

/* What a port says of itself: capabilities, link, MTU, queues, statistics. */

#include <errno.h>
#include <string.h>

#include <rte_ether.h>

#include "bench.h"

static const struct bench_config plain;

static void
test_dev_info(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(bench->port[0], &info), 0);
	assert_string_equal(info.driver_name, "net_mana");
	assert_int_equal(info.max_mac_addrs, 1);
	assert_int_equal(info.max_mtu, 1500); /* the model's, unless told otherwise */
	assert_true(info.min_mtu <= 68);
	assert_true(info.max_rx_pktlen >= 1514);
	assert_true(info.max_rx_queues >= 16 && info.max_rx_queues <= 64);
	assert_true(info.max_tx_queues >= 16);
	assert_int_equal(info.hash_key_size, 40);
	assert_true(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_true(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
	assert_true(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM);
	assert_true(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
	assert_true(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_CHECKSUM);
	/* no WQE has room for more segments */
	assert_true(info.tx_desc_lim.nb_seg_max >= 30);
}

static void
test_mac_address(void **state)
{
	struct bench *bench = *state;
	struct rte_ether_addr mac, other = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } };
	const uint8_t wanted[] = { 0x00, 0x0d, 0x3a, 0x00, 0x00, 0x02 };

	assert_int_equal(rte_eth_macaddr_get(bench->port[1], &mac), 0);
	assert_memory_equal(mac.addr_bytes, wanted, sizeof(wanted));
	bench_expect_error("");
	assert_int_equal(rte_eth_dev_default_mac_addr_set(bench->port[1], &other),
			 -ENOTSUP);
	assert_int_equal(rte_eth_dev_mac_addr_add(bench->port[1], &other, 0), -ENOTSUP);
	assert_int_equal(rte_eth_macaddr_get(bench->port[1], &mac), 0);
	assert_memory_equal(mac.addr_bytes, wanted, sizeof(wanted));
}

static void
test_link(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_link link;

	bench_start(bench, &plain);
	assert_int_equal(rte_eth_link_get(bench->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
	bench_stop(bench);
	assert_int_equal(rte_eth_link_get_nowait(bench->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
}

static void
test_promiscuous_notice(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &plain);
	assert_int_equal(rte_eth_promiscuous_enable(bench->port[0]), 0);
	assert_int_equal(rte_eth_promiscuous_disable(bench->port[0]), 0);
	assert_int_equal(rte_eth_allmulticast_enable(bench->port[0]), 0);
	assert_int_equal(rte_eth_allmulticast_disable(bench->port[0]), 0);
	/* said once, not four times */
	assert_int_equal(bench_nb_logged(RTE_LOG_NOTICE, "port1: the port has no"), 1);
}

static void
test_mtu(void **state)
{
	struct bench *bench = *state;
	uint16_t mtu;

	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1400), 0);
	assert_int_equal(rte_eth_dev_get_mtu(bench->port[0], &mtu), 0);
	assert_int_equal(mtu, 1400);
	bench_expect_error("");
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1501), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 67), -EINVAL);
	assert_int_equal(rte_eth_dev_get_mtu(bench->port[0], &mtu), 0);
	assert_int_equal(mtu, 1400);
}

/* The largest frame arrives whole. */
static void
test_frame_of_full_mtu(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m;

	bench_start(bench, &plain);
	m = bench_frame(bench->pool, 1514, 5);
	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	assert_int_equal(m->pkt_len, 1514);
	rte_pktmbuf_free(m);
}

static void
test_queue_info(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 128, .nb_txd = 64 };
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;

	bench_start(bench, &config);
	assert_int_equal(rte_eth_rx_queue_info_get(bench->port[0], 0, &rxq), 0);
	assert_int_equal(rxq.nb_desc, 128);
	assert_ptr_equal(rxq.mp, bench->pool);
	assert_int_equal(rte_eth_tx_queue_info_get(bench->port[0], 0, &txq), 0);
	assert_int_equal(txq.nb_desc, 64);
	bench_expect_error("queue_id=1");
	assert_int_equal(rte_eth_rx_queue_info_get(bench->port[0], 1, &rxq), -EINVAL);
}

static void
test_stats(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[10];
	uint64_t bytes = 0;

	bench->ignore_counters = true; /* they are reset below */
	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++) {
		pkts[i] = bench_frame(bench->pool, 60 + i * 100, i);
		bytes += 60 + i * 100;
	}
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	assert_int_equal(bench_receive(bench->port[1], 0, pkts, RTE_DIM(pkts)),
			 RTE_DIM(pkts));
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));

	assert_int_equal(rte_eth_stats_get(bench->port[0], &stats), 0);
	assert_int_equal(stats.opackets, RTE_DIM(pkts));
	assert_int_equal(stats.obytes, bytes);
	assert_int_equal(stats.q_opackets[0], RTE_DIM(pkts));
	assert_int_equal(stats.q_obytes[0], bytes);
	assert_int_equal(stats.ipackets, 0);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_int_equal(stats.ipackets, RTE_DIM(pkts));
	assert_int_equal(stats.ibytes, bytes);
	assert_int_equal(stats.q_ipackets[0], RTE_DIM(pkts));
	assert_int_equal(stats.ierrors + stats.rx_nombuf + stats.imissed, 0);
	assert_int_equal(bench_wire(bench, 1).rx_bytes, bytes);

	/* stopping keeps them, resetting clears them */
	bench_stop(bench);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_int_equal(stats.ipackets, RTE_DIM(pkts));
	assert_int_equal(rte_eth_stats_reset(bench->port[1]), 0);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_int_equal(stats.ipackets + stats.ibytes + stats.q_ipackets[0], 0);
}

static void
test_stats_of_each_queue(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_txq = 4 };
	struct rte_eth_stats stats;

	bench_start(bench, &config);
	for (uint16_t q = 0; q < 4; q++) {
		for (unsigned int i = 0; i <= q; i++) {
			struct rte_mbuf *m = bench_frame(bench->pool, 100, q);

			bench_send(bench->port[0], q, &m, 1);
		}
	}
	assert_int_equal(rte_eth_stats_get(bench->port[0], &stats), 0);
	assert_int_equal(stats.opackets, 10);
	for (uint16_t q = 0; q < 4; q++)
		assert_int_equal(stats.q_opackets[q], q + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_dev_info),
		BENCH_TEST(test_mac_address),
		BENCH_TEST(test_link),
		BENCH_TEST(test_promiscuous_notice),
		BENCH_TEST(test_mtu),
		BENCH_TEST(test_frame_of_full_mtu),
		BENCH_TEST(test_queue_info),
		BENCH_TEST(test_stats),
		BENCH_TEST(test_stats_of_each_queue),
	};

	return BENCH_RUN("info", tests);
}
