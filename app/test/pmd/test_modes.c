/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Modes that are always in effect, the interface's MTU, and what the adapter cannot
 * do: refused, and nothing changed by it.
 */

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ether.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include "bench.h"

static const struct bench_config plain;

/* ---- Promiscuous and all-multicast ---------------------------------------- */

static void
test_accepted(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_start(bench, &plain);
	assert_int_equal(rte_eth_promiscuous_enable(port), 0);
	assert_int_equal(rte_eth_promiscuous_get(port), 1);
	assert_int_equal(rte_eth_allmulticast_enable(port), 0);
	assert_int_equal(rte_eth_allmulticast_get(port), 1);
	/* ethdev repeats them at each start: no second notice for that */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	bench_pass_one(bench);
	assert_int_equal(rte_eth_promiscuous_disable(port), 0);
	assert_int_equal(rte_eth_allmulticast_disable(port), 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_NOTICE, "port1: the port has no receive"), 1);
	assert_int_equal(bench_nb_logged(RTE_LOG_NOTICE, "port2: the port has no receive"), 0);
}

/* The device argument: enabling is refused, all else works as ever. */
static void
test_rejected(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench_probe(bench, "promisc=reject"), 0);
	bench_start(bench, &plain);
	for (unsigned int i = 0; i < 2; i++) {
		uint16_t port = bench->port[i];

		bench_expect_error("promisc=reject");
		assert_int_equal(rte_eth_promiscuous_enable(port), -ENOTSUP);
		assert_int_equal(rte_eth_promiscuous_get(port), 0);
		assert_int_equal(rte_eth_allmulticast_enable(port), -ENOTSUP);
		assert_int_equal(rte_eth_allmulticast_get(port), 0);
		bench_expect_error(NULL);
		assert_int_equal(rte_eth_promiscuous_disable(port), 0);
		assert_int_equal(rte_eth_allmulticast_disable(port), 0);
	}
	bench_pass_one(bench);
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	bench_pass_one(bench);
}

/* ---- The interface's MTU -------------------------------------------------- */

static int
netdev_mtu(const char *name, int set)
{
	struct ifreq ifr = { .ifr_mtu = set };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	strcpy(ifr.ifr_name, name);
	assert_int_equal(ioctl(fd, set != 0 ? SIOCSIFMTU : SIOCGIFMTU, &ifr), 0);
	close(fd);
	return ifr.ifr_mtu;
}

static void
test_netdev_mtu(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .mtu = 1400 };

	assert_int_equal(netdev_mtu("mana0p0", 1450), 1450);
	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	/* that of the configuration, from the start on */
	assert_int_equal(bench_configure(bench, bench->port[0], &config), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	/* set at run time, and while it is stopped */
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1300), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1300);
	assert_int_equal(bench_dev_stop(bench, 0), 0);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1350), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1350);
	/* what is refused leaves it */
	bench_expect_error("");
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 9000), -EINVAL);
	bench_expect_error(NULL);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1350);
	assert_int_equal(netdev_mtu("mana0p1", 0), 1500);
	/* at the close it has its own again */
	bench->ignore_counters = true;
	bench_remove(bench);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* What somebody else has set since is left. */
static void
test_netdev_mtu_of_others(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1300), 0);
	assert_int_equal(netdev_mtu("mana0p0", 1234), 1234);
	bench->ignore_counters = true;
	bench_remove(bench);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1234);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* Without CAP_NET_ADMIN: said once, and the port has its MTU all the same. */
static void
test_netdev_mtu_without_privilege(void **state)
{
	struct bench *bench = *state;
	uint16_t mtu;

	bench_start(bench, &plain);
	for (uint16_t i = 0; i < 3; i++) {
		/* the first request asks, the second one sets */
		assert_int_equal(bench_model.fault_arm("rtnetlink", 2, EPERM), 0);
		assert_int_equal(rte_eth_dev_set_mtu(bench->port[0], 1400 + i), 0);
		assert_int_equal(bench_model.fault_hits(), 1);
		assert_int_equal(rte_eth_dev_get_mtu(bench->port[0], &mtu), 0);
		assert_int_equal(mtu, 1400 + i);
		assert_int_equal(netdev_mtu("mana0p0", 0), 1500);
	}
	bench_model.fault_disarm();
	assert_int_equal(bench_nb_logged(RTE_LOG_NOTICE, "CAP_NET_ADMIN"), 1);
	bench_pass_one(bench);
}

/* ---- What the adapter cannot do -------------------------------------------- */

static void
check_flow_error(const struct rte_flow_error *error)
{
	assert_int_equal(error->type, RTE_FLOW_ERROR_TYPE_UNSPECIFIED);
	assert_non_null(strstr(error->message, "no flow steering"));
}

static void
test_no_flows(void **state)
{
	const struct rte_flow_item pattern[] = { { .type = RTE_FLOW_ITEM_TYPE_ETH },
						 { .type = RTE_FLOW_ITEM_TYPE_END } };
	const struct rte_flow_action actions[] = { { .type = RTE_FLOW_ACTION_TYPE_DROP },
						   { .type = RTE_FLOW_ACTION_TYPE_END } };
	const struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_error error = { 0 };
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_start(bench, &plain);
	assert_int_equal(rte_flow_validate(port, &attr, pattern, actions, &error), -ENOTSUP);
	check_flow_error(&error);
	assert_null(rte_flow_create(port, &attr, pattern, actions, &error));
	assert_int_equal(rte_errno, ENOTSUP);
	check_flow_error(&error);
	assert_int_equal(rte_flow_flush(port, &error), -ENOTSUP);
	assert_int_equal(rte_flow_isolate(port, 1, &error), -ENOTSUP);
	bench_pass_one(bench);
}

static void
test_no_addresses(void **state)
{
	struct rte_ether_addr other = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } }, mac;
	struct rte_ether_addr groups[] = { { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } } };
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_start(bench, &plain);
	bench_expect_error("");
	assert_int_equal(rte_eth_dev_mac_addr_add(port, &other, 0), -ENOTSUP);
	assert_int_equal(rte_eth_dev_mac_addr_remove(port, &other), -ENOTSUP);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(port, groups, 1), -ENOTSUP);
	/* ethdev itself: there is no room for any */
	assert_true(rte_eth_dev_uc_hash_table_set(port, &other, 1) < 0);
	assert_int_equal(rte_eth_dev_uc_all_hash_table_set(port, 1), -ENOTSUP);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(port, &other), -ENOTSUP);
	assert_true(bench_nb_logged(RTE_LOG_ERR, "the MAC address belongs to the vPort") > 0);
	/* its own is no other: ethdev sets it at each start */
	bench_expect_error(NULL);
	assert_int_equal(rte_eth_macaddr_get(port, &mac), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(port, &mac), 0);
	bench_pass_one(bench);
}

#define CANNOT(call) assert_int_equal(call, -ENOTSUP)

static void
test_no_hardware_for_it(void **state)
{
	struct rte_eth_udp_tunnel tunnel = { .udp_port = 4789,
					     .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN };
	struct rte_eth_fc_conf fc = { .mode = RTE_ETH_FC_FULL };
	struct rte_eth_pfc_conf pfc = { .fc = { .mode = RTE_ETH_FC_NONE } };
	struct rte_dev_eeprom_info eeprom = { .length = 1 };
	struct rte_dev_reg_info regs = { 0 };
	struct rte_eth_dcb_info dcb;
	struct bench *bench = *state;
	uint16_t port = bench->port[0];
	struct timespec time = { 0 };
	uint32_t caps = 0;
	uint64_t clock;

	bench_start(bench, &plain);
	bench_expect_error("");
	CANNOT(rte_eth_timesync_enable(port));
	CANNOT(rte_eth_timesync_disable(port));
	CANNOT(rte_eth_timesync_read_rx_timestamp(port, &time, 0));
	CANNOT(rte_eth_timesync_read_tx_timestamp(port, &time));
	CANNOT(rte_eth_timesync_adjust_time(port, 0));
	CANNOT(rte_eth_timesync_read_time(port, &time));
	CANNOT(rte_eth_timesync_write_time(port, &time));
	CANNOT(rte_eth_read_clock(port, &clock));
	CANNOT(rte_eth_dev_udp_tunnel_port_add(port, &tunnel));
	CANNOT(rte_eth_dev_udp_tunnel_port_delete(port, &tunnel));
	CANNOT(rte_eth_dev_flow_ctrl_get(port, &fc));
	CANNOT(rte_eth_dev_flow_ctrl_set(port, &fc));
	CANNOT(rte_eth_dev_priority_flow_ctrl_set(port, &pfc));
	CANNOT(rte_eth_set_queue_rate_limit(port, 0, 1));
	CANNOT(rte_eth_led_on(port));
	CANNOT(rte_eth_led_off(port));
	CANNOT(rte_eth_dev_get_eeprom_length(port));
	CANNOT(rte_eth_dev_get_eeprom(port, &eeprom));
	CANNOT(rte_eth_dev_get_reg_info(port, &regs));
	CANNOT(rte_eth_dev_get_dcb_info(port, &dcb));
	CANNOT(rte_eth_dev_set_link_down(port));
	CANNOT(rte_eth_fec_get(port, &caps));
	CANNOT(rte_eth_fec_set(port, 1));
	CANNOT(rte_eth_dev_vlan_filter(port, 1, 1) == -ENOSYS ? -ENOTSUP : 0);
	bench_expect_error(NULL);
	bench_pass_one(bench);
}

/* Offloads that are not there are refused at configure. */
static void
test_no_offloads(void **state)
{
	static const uint64_t rx[] = {
		RTE_ETH_RX_OFFLOAD_TIMESTAMP, RTE_ETH_RX_OFFLOAD_TCP_LRO,
		RTE_ETH_RX_OFFLOAD_VLAN_FILTER, RTE_ETH_RX_OFFLOAD_VLAN_EXTEND,
		RTE_ETH_RX_OFFLOAD_QINQ_STRIP, RTE_ETH_RX_OFFLOAD_KEEP_CRC,
		RTE_ETH_RX_OFFLOAD_SECURITY, RTE_ETH_RX_OFFLOAD_MACSEC_STRIP,
		RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM, RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM,
		RTE_ETH_RX_OFFLOAD_SCTP_CKSUM,
	};
	static const uint64_t tx[] = {
		RTE_ETH_TX_OFFLOAD_SCTP_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_TSO,
		RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO, RTE_ETH_TX_OFFLOAD_QINQ_INSERT,
		RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO, RTE_ETH_TX_OFFLOAD_MACSEC_INSERT,
		RTE_ETH_TX_OFFLOAD_SECURITY, RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP,
	};
	struct bench *bench = *state;
	struct rte_eth_conf conf;

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(rx); i++) {
		conf = (struct rte_eth_conf){ .rxmode = { .offloads = rx[i] } };
		assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), -EINVAL);
	}
	for (unsigned int i = 0; i < RTE_DIM(tx); i++) {
		conf = (struct rte_eth_conf){ .txmode = { .offloads = tx[i] } };
		assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), -EINVAL);
	}
	bench_expect_error(NULL);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_accepted),
		BENCH_TEST_BARE(test_rejected),
		BENCH_TEST_BARE(test_netdev_mtu),
		BENCH_TEST_BARE(test_netdev_mtu_of_others),
		BENCH_TEST(test_netdev_mtu_without_privilege),
		BENCH_TEST(test_no_flows),
		BENCH_TEST(test_no_addresses),
		BENCH_TEST(test_no_hardware_for_it),
		BENCH_TEST(test_no_offloads),
	};

	return BENCH_RUN("modes", tests);
}
