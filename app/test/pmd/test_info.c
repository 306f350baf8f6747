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
#include <rte_log.h>

#include "fixture.h"

static const struct fx_config defaults;

FX_TEST(test_dev_info)
{
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

FX_TEST(test_mac_address)
{
	struct rte_ether_addr mac;
	const uint8_t wanted[] = { 0x00, 0x0d, 0x3a, 0x00, 0x00, 0x02 };

	assert_int_equal(rte_eth_macaddr_get(fx->port[1], &mac), 0);
	assert_memory_equal(mac.addr_bytes, wanted, sizeof(wanted));
}

FX_TEST(test_link)
{
	struct rte_eth_link link;

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_link_get(fx->port[0], &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
	fx_stop(fx);
	assert_int_equal(fx_link(fx->port[0]).link_status, RTE_ETH_LINK_DOWN);
}

/* Output of ethtool -i, and the file name of the loaded provider. */
static void
versions_get(char *text, size_t size)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_name = "mana0p0", .ifr_data = (void *)&info };
	char line[512], version[32], *provider = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCETHTOOL, &ifr), 0);
	close(fd);
	assert_non_null(maps);
	while (provider == NULL && fgets(line, sizeof(line), maps) != NULL)
		provider = strstr(line, "/libmana.so.");
	fclose(maps);
	assert_non_null(provider);
	assert_int_equal(sscanf(provider, "/libmana.so.%*u.%*u.%31s", version), 1);
	snprintf(text, size, "%s %s, libmana %s", info.driver, info.version, version);
}

FX_TEST(test_firmware_version)
{
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

FX_TEST(test_mtu)
{
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1400), 0);
	assert_int_equal(fx_mtu(fx->port[0]), 1400);
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1501), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 67), -EINVAL);
	assert_int_equal(fx_mtu(fx->port[0]), 1400);
}

/* The largest frame arrives complete. */
FX_TEST(test_frame_of_full_mtu)
{
	struct rte_mbuf *m;

	fx_start(fx, &defaults);
	m = fx_frame(fx->pool, 1514, 5);
	fx_send(fx->port[0], 0, &m, 1);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	assert_int_equal(m->pkt_len, 1514);
	rte_pktmbuf_free(m);
}

/* The counters of a queue; before 25.11 struct rte_eth_stats has them, too. */
static void
check_queue_counts(uint16_t port, bool is_rx, uint16_t queue, uint64_t packets,
		   uint64_t bytes)
{
	char name[RTE_ETH_XSTATS_NAME_SIZE];

	snprintf(name, sizeof(name), "%cx_q%u_packets", is_rx ? 'r' : 't', queue);
	assert_int_equal(fx_xstat(port, name), packets);
	snprintf(name, sizeof(name), "%cx_q%u_bytes", is_rx ? 'r' : 't', queue);
	assert_int_equal(fx_xstat(port, name), bytes);
#ifdef MANA_TEST_QUEUE_STATS
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(is_rx ? stats.q_ipackets[queue] : stats.q_opackets[queue], packets);
	assert_int_equal(is_rx ? stats.q_ibytes[queue] : stats.q_obytes[queue], bytes);
#endif
}

FX_TEST(test_stats)
{
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
	fx_expect_some(fx->port[1], 0, RTE_DIM(pkts));

	assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
	assert_int_equal(stats.opackets, RTE_DIM(pkts));
	assert_int_equal(stats.obytes, bytes);
	check_queue_counts(fx->port[0], false, 0, RTE_DIM(pkts), bytes);
	assert_int_equal(stats.ipackets, 0);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets, RTE_DIM(pkts));
	assert_int_equal(stats.ibytes, bytes);
	check_queue_counts(fx->port[1], true, 0, RTE_DIM(pkts), bytes);
	assert_int_equal(stats.ierrors + stats.rx_nombuf + stats.imissed, 0);
	assert_int_equal(fx_wire(fx, 1).rx_bytes, bytes);

	/* a stop keeps them, a reset clears them */
	fx_stop(fx);
	assert_int_equal(fx_stats(fx->port[1]).ipackets, RTE_DIM(pkts));
	assert_int_equal(rte_eth_stats_reset(fx->port[1]), 0);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets + stats.ibytes, 0);
	check_queue_counts(fx->port[1], true, 0, 0, 0);
}

FX_TEST(test_stats_of_each_queue)
{
	struct fx_config config = { .nb_txq = 4 };

	fx_start(fx, &config);
	for (uint16_t q = 0; q < 4; q++) {
		for (unsigned int i = 0; i <= q; i++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, q);

			fx_send(fx->port[0], q, &m, 1);
		}
	}
	assert_int_equal(fx_stats(fx->port[0]).opackets, 10);
	for (uint16_t q = 0; q < 4; q++)
		check_queue_counts(fx->port[0], false, q, q + 1, (q + 1) * 100);
}

/* At level info the log has each operation with its result. */
FX_TEST(test_operations_are_logged)
{
	static const struct fx_config config = { .nb_rxq = 2, .nb_txq = 2, .rss_hf = FX_RSS };
	static const char *const lines[] = {
		"p1: configuration with 2 Rx and 2 Tx queues: Success\n",
		"p1: setup of Rx queue 1 with 256 descriptors: Success\n",
		"p1: setup of Tx queue 0 with 256 descriptors: Success\n",
		"p1: start with 2 Rx and 2 Tx queues: Success\n",
		"p1: stop of Rx queue 1: Success\n",
		"p1: start of Rx queue 1: Success\n",
		"p1: stop of Tx queue 1: Success\n",
		"p1: start of Tx queue 1: Success\n",
		"p1: MTU 1400: Success\n",
		"p1: VLAN stripping of Rx queue 0 on: Success\n",
		"p1: VLAN stripping of Rx queue 1 off: Success\n",
		"p1: RETA update of 64 entries: Success\n",
		"p1: RSS update: Success\n",
		"p1: stop: Success\n",
		"p1: start with 2 Rx and 2 Tx queues: Cannot allocate memory\n",
		"p1: reset: Success\n",
		"p1: release of Rx queue 1\n",
		"p1: release of Tx queue 1\n",
		"p1: close\n",
		"p1: probe of port 1: Success\n",
	};
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS };
	uint16_t port = fx->port[0];

	assert_int_equal(rte_log_set_level_pattern("pmd.net.mana.driver", RTE_LOG_INFO), 0);
	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 1), 0);
	assert_int_equal(rte_eth_dev_set_mtu(port, 1400), 0);
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(port, 1, 0), 0);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, 64), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), 0);
	fx_stop(fx);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, ENOMEM), 0);
	fx_expect_error("out of memory");
	assert_int_equal(rte_eth_dev_start(port), -ENOMEM);
	fx_model.fault_disarm();
	assert_int_equal(rte_eth_dev_reset(port), 0);
	assert_int_equal(fx_configure(fx, port, &defaults), 0);
	fx->ignore_counters = true;
	fx_reprobe(fx, "");
	for (unsigned int i = 0; i < RTE_DIM(lines); i++)
		if (fx_nb_logged(RTE_LOG_INFO, lines[i]) == 0)
			fail_msg("not logged: %s", lines[i]);
	assert_int_equal(rte_log_set_level_pattern("pmd.net.mana.driver", RTE_LOG_NOTICE), 0);
}
