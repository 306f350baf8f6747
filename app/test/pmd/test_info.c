/* SPDX-License-Identifier: BSD-3-Clause */

/* Capabilities, link, MTU, queues and statistics of a port. */

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include <rte_ether.h>

#include "fixture.h"

static const struct fx_config defaults;

static void
test_dev_info(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_string_equal(info.driver_name, "net_mana");
	assert_int_equal(info.max_mac_addrs, 1);
	assert_int_equal(info.max_mtu, 1500); /* the model's default */
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
	/* the most segments of a WQE */
	assert_true(info.tx_desc_lim.nb_seg_max >= 30);
	assert_int_equal(info.rx_desc_lim.nb_seg_max, info.rx_seg_capa.max_nseg);
	assert_int_equal(info.rx_desc_lim.nb_mtu_seg_max,
			 info.rx_seg_capa.max_nseg);
}

static void
test_mac_address(void **state)
{
	struct fixture *fx = *state;
	struct rte_ether_addr mac, other = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } };
	const uint8_t wanted[] = { 0x00, 0x0d, 0x3a, 0x00, 0x00, 0x02 };

	assert_int_equal(rte_eth_macaddr_get(fx->port[1], &mac), 0);
	assert_memory_equal(mac.addr_bytes, wanted, sizeof(wanted));
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_default_mac_addr_set(fx->port[1], &other),
			 -ENOTSUP);
	assert_int_equal(rte_eth_dev_mac_addr_add(fx->port[1], &other, 0), -ENOTSUP);
	assert_int_equal(rte_eth_macaddr_get(fx->port[1], &mac), 0);
	assert_memory_equal(mac.addr_bytes, wanted, sizeof(wanted));
}

static void
test_link(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_link link;

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_link_get(fx->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
	fx_stop(fx);
	assert_int_equal(rte_eth_link_get_nowait(fx->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
}

/* Output of ethtool -i, and the file name of the loaded provider. */
static void
versions_get(char *text, size_t size)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_name = "mana0p0", .ifr_data = (void *)&info };
	char line[512], *provider = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCETHTOOL, &ifr), 0);
	close(fd);
	assert_non_null(maps);
	while (provider == NULL && fgets(line, sizeof(line), maps) != NULL)
		provider = strstr(line, "/libmana.so.1.0.");
	fclose(maps);
	assert_non_null(provider);
	provider[strcspn(provider, "\n")] = '\0';
	snprintf(text, size, "%s %s, libmana %s", info.driver, info.version,
		 provider + strlen("/libmana.so.1.0."));
}

static void
test_firmware_version(void **state)
{
	struct fixture *fx = *state;
	char wanted[128], got[128];
	int size;

	versions_get(wanted, sizeof(wanted));
	size = rte_eth_dev_fw_version_get(fx->port[0], NULL, 0);
	assert_int_equal(size, strlen(wanted) + 1);
	assert_int_equal(rte_eth_dev_fw_version_get(fx->port[0], got, size - 1), size);
	assert_int_equal(rte_eth_dev_fw_version_get(fx->port[0], got, size), 0);
	assert_string_equal(got, wanted);
	assert_memory_equal(got, "mana ", 5);
}

static void
test_promiscuous_notice(void **state)
{
	struct fixture *fx = *state;

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_promiscuous_enable(fx->port[0]), 0);
	assert_int_equal(rte_eth_promiscuous_disable(fx->port[0]), 0);
	assert_int_equal(rte_eth_allmulticast_enable(fx->port[0]), 0);
	assert_int_equal(rte_eth_allmulticast_disable(fx->port[0]), 0);
	/* logged once, not four times */
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "port1: the port has no"), 1);
}

static void
test_mtu(void **state)
{
	struct fixture *fx = *state;
	uint16_t mtu;

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1400), 0);
	assert_int_equal(rte_eth_dev_get_mtu(fx->port[0], &mtu), 0);
	assert_int_equal(mtu, 1400);
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1501), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 67), -EINVAL);
	assert_int_equal(rte_eth_dev_get_mtu(fx->port[0], &mtu), 0);
	assert_int_equal(mtu, 1400);
}

/* The largest frame arrives complete. */
static void
test_frame_of_full_mtu(void **state)
{
	struct fixture *fx = *state;
	struct rte_mbuf *m;

	fx_start(fx, &defaults);
	m = fx_frame(fx->pool, 1514, 5);
	fx_send(fx->port[0], 0, &m, 1);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	assert_int_equal(m->pkt_len, 1514);
	rte_pktmbuf_free(m);
}

static void
test_queue_info(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxd = 128, .nb_txd = 64 };
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;

	fx_start(fx, &config);
	assert_int_equal(rte_eth_rx_queue_info_get(fx->port[0], 0, &rxq), 0);
	assert_int_equal(rxq.nb_desc, 128);
	assert_ptr_equal(rxq.mp, fx->pool);
	assert_int_equal(rte_eth_tx_queue_info_get(fx->port[0], 0, &txq), 0);
	assert_int_equal(txq.nb_desc, 64);
	fx_expect_error("queue_id=1");
	assert_int_equal(rte_eth_rx_queue_info_get(fx->port[0], 1, &rxq), -EINVAL);
}

static void
test_stats(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[10];
	uint64_t bytes = 0;

	fx->ignore_counters = true; /* the test resets them */
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++) {
		pkts[i] = fx_frame(fx->pool, 60 + i * 100, i);
		bytes += 60 + i * 100;
	}
	fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
	assert_int_equal(fx_receive(fx->port[1], 0, pkts, RTE_DIM(pkts)),
			 RTE_DIM(pkts));
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));

	assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
	assert_int_equal(stats.opackets, RTE_DIM(pkts));
	assert_int_equal(stats.obytes, bytes);
	assert_int_equal(stats.q_opackets[0], RTE_DIM(pkts));
	assert_int_equal(stats.q_obytes[0], bytes);
	assert_int_equal(stats.ipackets, 0);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets, RTE_DIM(pkts));
	assert_int_equal(stats.ibytes, bytes);
	assert_int_equal(stats.q_ipackets[0], RTE_DIM(pkts));
	assert_int_equal(stats.ierrors + stats.rx_nombuf + stats.imissed, 0);
	assert_int_equal(fx_wire(fx, 1).rx_bytes, bytes);

	/* a stop keeps them, a reset clears them */
	fx_stop(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets, RTE_DIM(pkts));
	assert_int_equal(rte_eth_stats_reset(fx->port[1]), 0);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets + stats.ibytes + stats.q_ipackets[0], 0);
}

static void
test_stats_of_each_queue(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_txq = 4 };
	struct rte_eth_stats stats;

	fx_start(fx, &config);
	for (uint16_t q = 0; q < 4; q++) {
		for (unsigned int i = 0; i <= q; i++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, q);

			fx_send(fx->port[0], q, &m, 1);
		}
	}
	assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
	assert_int_equal(stats.opackets, 10);
	for (uint16_t q = 0; q < 4; q++)
		assert_int_equal(stats.q_opackets[q], q + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_dev_info),
		FX_TEST(test_mac_address),
		FX_TEST(test_link),
		FX_TEST(test_firmware_version),
		FX_TEST(test_promiscuous_notice),
		FX_TEST(test_mtu),
		FX_TEST(test_frame_of_full_mtu),
		FX_TEST(test_queue_info),
		FX_TEST(test_stats),
		FX_TEST(test_stats_of_each_queue),
	};

	return FX_RUN("info", tests);
}
