/* SPDX-License-Identifier: BSD-3-Clause */

/* The names of ports, and the arguments that select ports. */

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_dev.h>

#include "fixture.h"

#define MAC(n) "00:0d:3a:00:00:0" #n

static void
check_name(uint16_t port, const char *wanted)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t found;

	assert_int_equal(rte_eth_dev_get_name_by_port(port, name), 0);
	assert_string_equal(name, wanted);
	assert_int_equal(rte_eth_dev_get_port_by_name(wanted, &found), 0);
	assert_int_equal(found, port);
}

/* Suricata names a mempool so. */
static void
check_pool_name(struct fixture *fx, unsigned int index)
{
	char name[64], pool_name[128];
	struct rte_mempool *pool;

	assert_int_equal(rte_eth_dev_get_name_by_port(fx->port[index], name), 0);
	snprintf(pool_name, sizeof(pool_name), "mempool_%s", name);
	pool = rte_pktmbuf_pool_create(pool_name, 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	assert_non_null(pool);
	rte_mempool_free(pool);
}

FX_TEST_BARE(test_both)
{
	assert_int_equal(fx_probe(fx, ""), 0);
	check_name(fx->port[0], FX_PCI "_p1");
	check_name(fx->port[1], FX_PCI "_p2");
	check_pool_name(fx, 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "all 2 ports are used"), 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "(netdevs mana0p0 mana0p1)"), 1);
	fx_reprobe(fx, "mac=" MAC(1) ",mac=" MAC(2));
	check_name(fx->port[1], FX_PCI "_p2");
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "all 2 ports are used"), 1);
}

FX_TEST_BARE(test_one)
{
	static const char *const args[] = { "mac=" MAC(2), "port=2", "netdev=mana0p1" };

	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_equal(fx_probe(fx, args[i]), 0);
		assert_int_equal(fx->port[0], RTE_MAX_ETHPORTS);
		check_name(fx->port[1], FX_PCI);
		check_pool_name(fx, 1);
		fx_remove(fx);
	}
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "ports are used"), 0);
}

/* A port keeps its name; a later one gets what is free. */
FX_TEST_BARE(test_one_by_one)
{
	assert_int_equal(fx_probe(fx, "mac=" MAC(1)), 0);
	check_name(fx->port[0], FX_PCI);
	assert_int_equal(fx_probe(fx, "mac=" MAC(2)), 0);
	check_name(fx->port[0], FX_PCI);
	check_name(fx->port[1], FX_PCI "_p2");
	/* both ports, of which one exists */
	assert_int_equal(rte_eth_dev_close(fx->port[1]), 0);
	assert_int_equal(fx_probe(fx, ""), 0);
	check_name(fx->port[0], FX_PCI);
	check_name(fx->port[1], FX_PCI "_p2");
	/* EAL reports no error when the device is attached already */
	fx_expect_error("");
	assert_int_equal(fx_probe(fx, "mac=" MAC(1)), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "are probed already"), 1);
	fx_expect_error(NULL);
	/* the name is free again */
	assert_int_equal(rte_eth_dev_close(fx->port[0]), 0);
	assert_int_equal(fx_probe(fx, "mac=" MAC(1)), 0);
	check_name(fx->port[0], FX_PCI);
	check_name(fx->port[1], FX_PCI "_p2");
	fx_remove(fx);
	/* detached and attached */
	assert_int_equal(fx_probe(fx, "mac=" MAC(2)), 0);
	check_name(fx->port[1], FX_PCI);
}

/* grout looks for a port that fits, probes the device, and looks again. */
FX_TEST_BARE(test_search_by_address)
{
	for (uint8_t n = 1; n <= FX_NB_PORTS; n++) {
		struct rte_dev_iterator iterator;
		uint16_t port, nb = 0, found = RTE_MAX_ETHPORTS;
		struct rte_ether_addr mac;
		char args[64];

		snprintf(args, sizeof(args), "%s,mac=00:0d:3a:00:00:%02x", FX_PCI, n);
		RTE_ETH_FOREACH_MATCHING_DEV(port, args, &iterator)
			nb++;
		assert_int_equal(nb, 0);
		assert_int_equal(rte_dev_probe(args), 0);
		fx->is_probed = true;
		RTE_ETH_FOREACH_MATCHING_DEV(port, args, &iterator) {
			found = port;
			nb++;
		}
		assert_int_equal(nb, 1);
		assert_int_equal(rte_eth_macaddr_get(found, &mac), 0);
		assert_int_equal(mac.addr_bytes[RTE_ETHER_ADDR_LEN - 1], n);
		check_name(found, n == 1 ? FX_PCI : FX_PCI "_p2");
	}
}

/* A recovery changes no name. */
FX_TEST_BARE(test_recovery)
{
	assert_int_equal(fx_probe(fx, "mac=" MAC(2)), 0);
	fx_command("fatal fn=0");
	fx_command("return fn=0");
	for (uint64_t end = fx_deadline(); fx_xstat(fx->port[1], "recoveries") == 0;)
		assert_true(rte_get_timer_cycles() < end);
	check_name(fx->port[1], FX_PCI);
}

static bool
has_only(void)
{
	uint16_t port;

	return rte_eth_dev_get_port_by_name(FX_PCI, &port) == 0;
}

/* The port recovers below net_failsafe, and keeps its name. */
FX_TEST_BARE(test_failsafe)
{
	struct rte_eth_dev_owner owner;
	uint16_t port, below;

	assert_int_equal(rte_eal_hotplug_add("vdev", "net_failsafe0",
			 "hotplug_poll=10,mac=" MAC(2) ",dev(" FX_PCI ",mac=" MAC(2) ")"),
			 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(FX_PCI, &below), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_failsafe0", &port), 0);
	/* It notices removals when it is configured. */
	assert_int_equal(fx_configure(fx, port, &(struct fx_config){ 0 }), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	for (unsigned int turn = 1; turn <= 2; turn++) {
		uint64_t end = fx_deadline();

		fx_command("remove fn=0");
		fx_command("return fn=0");
		while (fx_xstat(below, "recoveries") != turn)
			assert_true(rte_get_timer_cycles() < end);
		check_name(below, FX_PCI);
	}
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_owner_get(below, &owner), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_failsafe0"), 0);
	/* net_failsafe does not; ethdev from 24.11 on keeps its memory while there is one. */
	assert_int_equal(rte_eth_dev_owner_delete(owner.id), 0);
	assert_false(has_only());
}

/* The form with layers, in which the address is an argument of the class. */
FX_TEST_BARE(test_layers)
{
	uint16_t port;

	assert_int_equal(rte_dev_probe("bus=pci,addr=" FX_PCI "/class=eth,mac=" MAC(2)), 0);
	fx->is_probed = true;
	fx->port[0] = RTE_MAX_ETHPORTS;
	assert_int_equal(rte_eth_dev_count_avail(), 1);
	assert_int_equal(rte_eth_dev_get_port_by_name(FX_PCI, &fx->port[1]), 0);
	check_name(fx->port[1], FX_PCI);
	fx_remove(fx);
	fx_expect_error("");
	assert_true(rte_dev_probe("bus=pci,addr=" FX_PCI "/class=eth,mac=" MAC(9)) < 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "no usable port matches mac=" MAC(9)), 1);
	assert_true(rte_dev_probe("bus=pci,addr=" FX_PCI "/class=eth,representor=0") < 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "unknown device argument 'representor'"),
			 1);
	fx_expect_error(NULL);
	assert_int_equal(rte_eth_dev_get_port_by_name(FX_PCI, &port), -ENODEV);
}
