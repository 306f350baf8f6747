/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Modes that are always in effect, the netdev's MTU, flow rules and unsupported offloads.
 * pmd-states has the other unsupported operations.
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

#include "fixture.h"

static const struct fx_config defaults;

/* ---- Promiscuous and all-multicast ---------------------------------------- */

FX_TEST(test_accepted)
{
	uint16_t port = fx->port[0];

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_promiscuous_enable(port), 0);
	assert_int_equal(rte_eth_promiscuous_get(port), 1);
	assert_int_equal(rte_eth_allmulticast_enable(port), 0);
	assert_int_equal(rte_eth_allmulticast_get(port), 1);
	/* ethdev repeats them at each start: no second notice */
	fx_stop(fx);
	fx_restart(fx);
	fx_pass_one(fx);
	assert_int_equal(rte_eth_promiscuous_disable(port), 0);
	assert_int_equal(rte_eth_allmulticast_disable(port), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "p1: the port has no Rx filter"), 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "p2: the port has no Rx filter"), 0);
}

/* ---- The netdev's MTU ---------------------------------------------------- */

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

/* The port's MTU never changes that of the netdev. */
FX_TEST_BARE(test_netdev_mtu_untouched)
{
	struct fx_config config = { .mtu = 1400 };

	assert_int_equal(netdev_mtu("mana0p0", 1450), 1450);
	assert_int_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1380), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1300), 0);
	assert_int_equal(fx_mtu(fx->port[0]), 1300);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	fx->ignore_counters = true;
	fx_remove(fx);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* ---- Unsupported features ------------------------------------------------ */

static void
check_flow_error(const struct rte_flow_error *error)
{
	assert_int_equal(error->type, RTE_FLOW_ERROR_TYPE_UNSPECIFIED);
	assert_non_null(strstr(error->message, "no flow steering"));
}

FX_TEST(test_no_flows)
{
	const struct rte_flow_item pattern[] = { { .type = RTE_FLOW_ITEM_TYPE_ETH },
						 { .type = RTE_FLOW_ITEM_TYPE_END } };
	const struct rte_flow_action actions[] = { { .type = RTE_FLOW_ACTION_TYPE_DROP },
						   { .type = RTE_FLOW_ACTION_TYPE_END } };
	const struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_error error = { 0 };
	uint16_t port = fx->port[0];

	fx_start(fx, &defaults);
	assert_int_equal(rte_flow_validate(port, &attr, pattern, actions, &error), -ENOTSUP);
	check_flow_error(&error);
	assert_null(rte_flow_create(port, &attr, pattern, actions, &error));
	assert_int_equal(rte_errno, ENOTSUP);
	check_flow_error(&error);
	assert_int_equal(rte_flow_flush(port, &error), -ENOTSUP);
	assert_int_equal(rte_flow_isolate(port, 1, &error), -ENOTSUP);
	fx_pass_one(fx);
}

/* What arrives anyway is accepted, with the notice of promiscuous mode. */
FX_TEST(test_addresses_that_arrive)
{
	struct rte_ether_addr groups[] = { { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } },
					   { .addr_bytes = { 0x33, 0x33, 0, 0, 0, 1 } } };
	uint16_t port = fx->port[0];
	struct rte_ether_addr mac;

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_macaddr_get(port, &mac), 0);
	assert_int_equal(rte_eth_dev_mac_addr_add(port, &mac, 0), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(port, groups, 2), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(port, NULL, 0), 0);
	assert_int_equal(rte_eth_promiscuous_enable(port), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "the port has no Rx filter"), 1);
	fx_pass_one(fx);
}

/* Configure rejects unsupported offloads. */
FX_TEST(test_no_offloads)
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
	struct rte_eth_conf conf;

	fx_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(rx); i++) {
		conf = (struct rte_eth_conf){ .rxmode = { .offloads = rx[i] } };
		assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), -EINVAL);
	}
	for (unsigned int i = 0; i < RTE_DIM(tx); i++) {
		conf = (struct rte_eth_conf){ .txmode = { .offloads = tx[i] } };
		assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), -EINVAL);
	}
	fx_expect_error(NULL);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}
