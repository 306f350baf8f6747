/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Modes that are always in effect, the netdev's MTU, and unsupported features,
 * whose rejection changes nothing.
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

static void
test_accepted(void **state)
{
	struct fixture *fx = *state;
	uint16_t port = fx->port[0];

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_promiscuous_enable(port), 0);
	assert_int_equal(rte_eth_promiscuous_get(port), 1);
	assert_int_equal(rte_eth_allmulticast_enable(port), 0);
	assert_int_equal(rte_eth_allmulticast_get(port), 1);
	/* ethdev repeats them at each start: no second notice */
	fx_stop(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	fx_pass_one(fx);
	assert_int_equal(rte_eth_promiscuous_disable(port), 0);
	assert_int_equal(rte_eth_allmulticast_disable(port), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "port1: the port has no Rx filter"), 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "port2: the port has no Rx filter"), 0);
}

/* promisc=reject: enabling fails, everything else works. */
static void
test_rejected(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_probe(fx, "promisc=reject"), 0);
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < 2; i++) {
		uint16_t port = fx->port[i];

		fx_expect_error("promisc=reject");
		assert_int_equal(rte_eth_promiscuous_enable(port), -ENOTSUP);
		assert_int_equal(rte_eth_promiscuous_get(port), 0);
		assert_int_equal(rte_eth_allmulticast_enable(port), -ENOTSUP);
		assert_int_equal(rte_eth_allmulticast_get(port), 0);
		fx_expect_error(NULL);
		assert_int_equal(rte_eth_promiscuous_disable(port), 0);
		assert_int_equal(rte_eth_allmulticast_disable(port), 0);
	}
	fx_pass_one(fx);
	fx_stop(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	fx_pass_one(fx);
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
static void
test_netdev_mtu_untouched(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1400 };
	uint16_t mtu;

	assert_int_equal(netdev_mtu("mana0p0", 1450), 1450);
	assert_int_equal(fx_probe(fx, "netdev_mtu=0"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1380), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1300), 0);
	assert_int_equal(rte_eth_dev_get_mtu(fx->port[0], &mtu), 0);
	assert_int_equal(mtu, 1300);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	fx->ignore_counters = true;
	fx_remove(fx);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/*
 * netdev_mtu=1: each start copies the MTU before it creates queues; the close
 * restores it.
 */
static void
test_netdev_mtu(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1400 };

	assert_int_equal(netdev_mtu("mana0p0", 1450), 1450);
	assert_int_equal(fx_probe(fx, "netdev_mtu=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	/* not while the port has raw queues */
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1300), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1350), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1350);
	/* a rejected MTU is not copied */
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 9000), -EINVAL);
	fx_expect_error(NULL);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1350);
	assert_int_equal(netdev_mtu("mana0p1", 0), 1500);
	/* the close restores the original MTU */
	fx->ignore_counters = true;
	fx_remove(fx);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1450);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* The kernel still holds the CQ id: creation of the spare queue is retried. */
static void
test_netdev_mtu_waits(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1400 };

	assert_int_equal(fx_probe(fx, "netdev_mtu=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EINVAL), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	fx->ignore_counters = true;
	fx_remove(fx);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1500);
}

/* An MTU that another program has set is kept. */
static void
test_netdev_mtu_of_others(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1300 };

	assert_int_equal(fx_probe(fx, "netdev_mtu=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 1234), 1234);
	fx->ignore_counters = true;
	fx_remove(fx);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1234);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* Another program has, or may have, raw queues of the port. */
static void
test_netdev_mtu_not_safe(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1400 };

	assert_int_equal(fx_probe(fx, "netdev_mtu=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EPROTO), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
	assert_int_equal(netdev_mtu("mana0p0", 0), 1500);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "netdev_mtu=1: netdev mana0p0 keeps its MTU 1500"), 1);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	fx_command("fail call=create_qp later errno=EBUSY");
	fx_expect_error("in use");
	assert_int_equal(fx_dev_start(fx, 0), -EBUSY);
	fx_expect_error(NULL);
	fx_command("fail off");
	assert_int_equal(netdev_mtu("mana0p0", 0), 1500);

	/* nor restored while another program may have some */
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EPROTO), 0);
	fx->ignore_counters = true;
	fx_remove(fx);
	fx_model.fault_disarm();
	assert_int_equal(netdev_mtu("mana0p0", 0), 1400);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "ip link set dev mana0p0 mtu 1500"), 1);
	assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
}

/* Without CAP_NET_ADMIN: logged once, and the port has its MTU. */
static void
test_netdev_mtu_without_privilege(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .mtu = 1400 };
	unsigned int nb_kept = 0;
	uint16_t mtu;

	assert_int_equal(fx_probe(fx, "netdev_mtu=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	/* one request of the start sets the MTU; two starts log it once */
	for (unsigned int i = 0; i < 12; i++) {
		assert_int_equal(fx_model.fault_arm("rtnetlink", 1 + i / 2, EPERM), 0);
		assert_int_equal(fx_dev_start(fx, 0), 0);
		fx_model.fault_disarm();
		assert_int_equal(rte_eth_dev_get_mtu(fx->port[0], &mtu), 0);
		assert_int_equal(mtu, 1400);
		nb_kept += netdev_mtu("mana0p0", 0) == 1500 &&
			   fx_nb_logged(RTE_LOG_NOTICE, "CAP_NET_ADMIN") == 1;
		assert_int_equal(fx_dev_stop(fx, 0), 0);
		assert_int_equal(netdev_mtu("mana0p0", 1500), 1500);
	}
	assert_true(nb_kept >= 2);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "CAP_NET_ADMIN"), 1);
	fx->ignore_counters = true;
}

/* ---- Unsupported features ------------------------------------------------ */

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
	struct fixture *fx = *state;
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

static void
test_no_addresses(void **state)
{
	struct rte_ether_addr other = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } }, mac;
	struct rte_ether_addr groups[] = { { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } } };
	struct fixture *fx = *state;
	uint16_t port = fx->port[0];

	fx_start(fx, &defaults);
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_mac_addr_add(port, &other, 0), -ENOTSUP);
	assert_int_equal(rte_eth_dev_mac_addr_remove(port, &other), -ENOTSUP);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(port, groups, 1), -ENOTSUP);
	/* ethdev rejects it: the table size is 0 */
	assert_true(rte_eth_dev_uc_hash_table_set(port, &other, 1) < 0);
	assert_int_equal(rte_eth_dev_uc_all_hash_table_set(port, 1), -ENOTSUP);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(port, &other), -ENOTSUP);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "the MAC address belongs to the vPort") > 0);
	/* its own address is accepted: ethdev sets it at each start */
	fx_expect_error(NULL);
	assert_int_equal(rte_eth_macaddr_get(port, &mac), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(port, &mac), 0);
	fx_pass_one(fx);
}

#define CANNOT(call) assert_int_equal(call, -ENOTSUP)

static void
test_unsupported_operations(void **state)
{
	struct rte_eth_udp_tunnel tunnel = { .udp_port = 4789,
					     .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN };
	struct rte_eth_fc_conf fc = { .mode = RTE_ETH_FC_FULL };
	struct rte_eth_pfc_conf pfc = { .fc = { .mode = RTE_ETH_FC_NONE } };
	struct rte_dev_eeprom_info eeprom = { .length = 1 };
	struct rte_dev_reg_info regs = { 0 };
	struct rte_eth_dcb_info dcb;
	struct fixture *fx = *state;
	uint16_t port = fx->port[0];
	struct timespec time = { 0 };
	uint32_t caps = 0;
	uint64_t clock;

	fx_start(fx, &defaults);
	fx_expect_error("");
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
	fx_expect_error(NULL);
	fx_pass_one(fx);
}

/* Configure rejects unsupported offloads. */
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
	struct fixture *fx = *state;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_accepted),
		FX_TEST_BARE(test_rejected),
		FX_TEST_BARE(test_netdev_mtu_untouched),
		FX_TEST_BARE(test_netdev_mtu),
		FX_TEST_BARE(test_netdev_mtu_waits),
		FX_TEST_BARE(test_netdev_mtu_of_others),
		FX_TEST_BARE(test_netdev_mtu_not_safe),
		FX_TEST_BARE(test_netdev_mtu_without_privilege),
		FX_TEST(test_no_flows),
		FX_TEST(test_no_addresses),
		FX_TEST(test_unsupported_operations),
		FX_TEST(test_no_offloads),
	};

	return FX_RUN("modes", tests);
}
