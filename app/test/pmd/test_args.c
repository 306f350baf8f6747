/* SPDX-License-Identifier: BSD-3-Clause */

/* Device arguments: selection of ports, and messages for invalid values. */

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

#define NETDEV "mana0p0"

static const struct fx_config defaults;

static bool
is_up(const char *name)
{
	struct ifreq ifr = { .ifr_flags = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(ifr.ifr_name, name);
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &ifr), 0);
	close(fd);
	return (ifr.ifr_flags & IFF_UP) != 0;
}

static void
set_up(const char *name, bool up)
{
	assert_int_equal(fx_model.netdev_set(name, up), 0);
}

/* ---- Selection of ports --------------------------------------------------- */

FX_TEST_BARE(test_one_port_by_any_name)
{
	static const struct {
		const char *args;
		unsigned int port;
	} good[] = {
		{ "mac=00:0d:3a:00:00:01", 0 }, { "mac=00:0D:3A:00:00:02", 1 },
		{ "netdev=mana0p0", 0 }, { "netdev=mana0p1", 1 },
		{ "port=1", 0 }, { "port=2", 1 }, { "port=002,netdev_down=0", 1 },
	};
	struct fx_holdings before;

	fx_holdings_get(&before);
	fx->ignore_counters = true;
	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		assert_int_equal(fx_probe(fx, good[i].args), 0);
		assert_true(rte_eth_dev_is_valid_port(fx->port[good[i].port]));
		assert_int_equal(fx->port[!good[i].port], RTE_MAX_ETHPORTS);
		fx_remove(fx);
		fx_check_holdings(&before, good[i].args);
	}
}

FX_TEST_BARE(test_both_ports_by_any_name)
{
	static const char *const good[] = {
		"", "mac=00:0d:3a:00:00:02,mac=00:0d:3a:00:00:01",
		"netdev=mana0p1,netdev=mana0p0", "port=2,port=1",
	};

	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		fx->ignore_counters = true;
		assert_int_equal(fx_probe(fx, good[i]), 0);
		assert_true(rte_eth_dev_is_valid_port(fx->port[0]));
		assert_true(rte_eth_dev_is_valid_port(fx->port[1]));
		fx_start(fx, &defaults);
		fx_pass_one(fx);
		fx_stop(fx);
		fx_remove(fx);
	}
}

/* No port matches: the probe fails, and the message lists the ports. */
FX_TEST_BARE(test_no_such_port)
{
	static const struct {
		const char *args;
		const char *said;
	} bad[] = {
		{ "mac=00:0d:3a:00:00:99", "no usable port matches mac=00:0d:3a:00:00:99; ports:" },
		{ "mac=00:0d:3a:00:00:01,mac=02:00:00:00:00:00",
		  "no usable port matches mac=02:00:00:00:00:00; ports:" },
		{ "netdev=mana0p0,netdev=lo", "no usable port matches netdev=lo; ports:" },
		{ "netdev=mana0p", "no usable port matches netdev=mana0p; ports:" },
		{ "port=1,port=255", "no usable port matches port=255; ports:" },
	};
	struct fx_holdings before;

	fx_holdings_get(&before);
	fx_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		unsigned int nb_listed = fx_nb_logged(RTE_LOG_ERR, "netdev mana0p1, down");

		assert_int_not_equal(fx_probe(fx, bad[i].args), 0);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, bad[i].said), 1);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "netdev mana0p1, down"),
				 nb_listed + 1);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		fx_check_holdings(&before, bad[i].args);
	}
}

/* A wrong value fails the probe, with a message (unit-devargs has the others). */
FX_TEST_BARE(test_bad_value)
{
	struct fx_holdings before;

	fx_holdings_get(&before);
	fx_expect_error("");
	assert_int_not_equal(fx_probe(fx, "port=1,Port=2"), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "unknown device argument 'Port'"), 1);
	fx_check_holdings(&before, "after a wrong argument");
}

/* An argument that was removed fails no probe: one warning names its replacement. */
FX_TEST_BARE(test_removed)
{
	fx_expect_error("promisc=reject has no effect");
	assert_int_equal(fx_probe(fx, "port=2,promisc=reject"), 0);
	assert_true(rte_eth_dev_is_valid_port(fx->port[1]));
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "are always on"), 1);
}

/* ---- netdev_down=1 --------------------------------------------------------- */

FX_TEST_BARE(test_netdev_is_set_down_and_restored)
{
	fx->ignore_counters = true;
	set_up(NETDEV, true);
	assert_int_equal(fx_probe(fx, "netdev_down=1"), 0);
	assert_false(is_up(NETDEV));
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
	assert_false(is_up(NETDEV));
	fx_remove(fx);
	assert_true(is_up(NETDEV));
	/* the other netdev was down and stays down */
	assert_false(is_up("mana0p1"));
	set_up(NETDEV, false);
}

/* Without the argument the driver leaves the netdev alone. */
FX_TEST_BARE(test_netdev_is_unchanged_by_default)
{
	static const char *const args[] = { "", "netdev_down=0" };

	fx->ignore_counters = true;
	set_up(NETDEV, true);
	fx_expect_error("ip link set");
	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_equal(fx_probe(fx, args[i]), 0);
		assert_true(is_up(NETDEV));
		assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
		assert_true(fx_dev_start(fx, 0) < 0);
		fx_remove(fx);
		assert_true(is_up(NETDEV));
	}
	set_up(NETDEV, false);
}

/* A network manager sets the netdev up while the port is stopped. */
FX_TEST_BARE(test_netdev_is_set_down_at_each_start)
{
	fx->ignore_counters = true;
	assert_int_equal(fx_probe(fx, "netdev_down=1"), 0);
	set_up(NETDEV, true);
	fx_start(fx, &defaults);
	assert_false(is_up(NETDEV));
	fx_pass_one(fx);
	fx_stop(fx);
	fx_remove(fx);
	assert_true(is_up(NETDEV));
	set_up(NETDEV, false);
}

FX_TEST_BARE(test_netdev_is_restored_after_failures)
{
	struct fx_holdings before;

	fx->ignore_counters = true;
	fx_holdings_get(&before);
	set_up(NETDEV, true);
	set_up("mana0p1", true);
	/* the probe fails at the second port */
	fx_expect_error("");
	assert_int_equal(fx_model.fault_arm("create_cq", 2, ENOMEM), 0);
	assert_int_not_equal(fx_probe(fx, "netdev_down=1"), 0);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
	assert_true(is_up(NETDEV));
	assert_true(is_up("mana0p1"));
	fx_check_holdings(&before, "after the refused probe");
	/* the start fails */
	assert_int_equal(fx_probe(fx, "netdev_down=1"), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, ENOMEM), 0);
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_model.fault_disarm();
	fx_remove(fx);
	assert_true(is_up(NETDEV));
	assert_true(is_up("mana0p1"));
	set_up(NETDEV, false);
	set_up("mana0p1", false);
}

/* Without CAP_NET_ADMIN the probe fails with a message. */
FX_TEST_BARE(test_netdev_without_permission)
{
	struct fx_holdings before;

	fx_holdings_get(&before);
	set_up(NETDEV, true);
	fx_expect_error("");
	assert_int_equal(fx_model.fault_arm("ifflags", 1, EPERM), 0);
	assert_int_not_equal(fx_probe(fx, "netdev_down=1"), 0);
	assert_int_equal(fx_model.fault_hits(), 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "CAP_NET_ADMIN"), 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "ip link set dev " NETDEV " down"), 1);
	fx_model.fault_disarm();
	assert_true(is_up(NETDEV));
	fx_check_holdings(&before, "after the refused probe");
	set_up(NETDEV, false);
	/* already down: needs no privilege */
	assert_int_equal(fx_model.fault_arm("ifflags", 1, EPERM), 0);
	assert_int_equal(fx_probe(fx, "netdev_down=1"), 0);
	fx_model.fault_disarm();
	fx_remove(fx);
	assert_false(is_up(NETDEV));
}

/* The kernel rejects setting the netdev up: logged, nothing else fails. */
FX_TEST_BARE(test_failed_netdev_restore_is_logged)
{
	fx->ignore_counters = true;
	set_up(NETDEV, true);
	assert_int_equal(fx_probe(fx, "port=1,netdev_down=1"), 0);
	fx_expect_error("cannot set netdev");
	assert_int_equal(fx_model.fault_arm("ifflags", 1, ENOMEM), 0);
	fx_remove(fx);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING,
				      "ip link set dev " NETDEV " up"), 1);
	assert_false(is_up(NETDEV));
}

/* ---- Network namespaces ------------------------------------------------------ */

#define ELSEWHERE "in another network namespace"

/* Skips, with a message, a port whose netdev is in another namespace. */
FX_TEST_BARE(test_netdev_in_another_namespace)
{
	static const char *const args[] = { "port=1", "netdev=mana0p0",
					    "mac=00:0d:3a:00:00:01", "port=2,port=1" };

	fx->ignore_counters = true;
	fx_expect_error("");
	fx_command("netns port=1 away");
	assert_int_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx->port[0], RTE_MAX_ETHPORTS);
	assert_true(rte_eth_dev_is_valid_port(fx->port[1]));
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR,
				      "port 1: cannot find its netdev: it is " ELSEWHERE), 1);
	fx_remove(fx);
	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_not_equal(fx_probe(fx, args[i]), 0);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR,
					      "port 1: cannot find its netdev: it is " ELSEWHERE),
				 2 + i);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
	}
	/* also the last one: the folder net/ is empty then */
	fx_command("netns port=2 away");
	assert_int_not_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR,
				      "port 2: cannot find its netdev: it is " ELSEWHERE), 1);
	fx_command("netns port=1 home");
	fx_command("netns port=2 home");
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

/* /sys of the host: the port works, but its netdev cannot be queried. */
FX_TEST_BARE(test_netdev_seen_in_sysfs_only)
{
	fx->ignore_counters = true;
	fx_command("netns port=1 away sysfs");
	assert_int_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, NETDEV " is " ELSEWHERE), 1);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
	/* the netdev is set up in its namespace */
	fx_command("netdev port=1 up");
	fx_expect_error(NETDEV " is " ELSEWHERE);
	assert_true(fx_dev_start(fx, 0) < 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "ip link set dev " NETDEV " down"), 1);
	fx_command("netdev port=1 down");
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	fx_remove(fx);
	/* the driver cannot set it down from here */
	fx_expect_error("");
	assert_int_not_equal(fx_probe(fx, "netdev_down=1"), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR,
				      NETDEV " down: it is not in this program's network namespace"),
			 1);
	fx_command("netns port=1 home");
}

/* The netdev moves while the port is in use. */
FX_TEST_BARE(test_netdev_leaves_namespace)
{
	fx->ignore_counters = true;
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &defaults);
	fx_command("netns port=1 away");
	fx_pass_one(fx);
	fx_stop(fx);
	fx_command("netdev port=1 up");
	fx_expect_error(NETDEV " is " ELSEWHERE);
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_command("netns port=1 home");
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

/* ENODEV or EBUSY while the netdev is down: another program has the port. */
FX_TEST_BARE(test_port_of_another_program)
{
	fx->ignore_counters = true;
	assert_int_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	fx_expect_error("another DPDK program has it");
	fx_command("fail call=create_qp later errno=EBUSY");
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_command("fail call=create_qp later errno=ENODEV");
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_command("fail off");
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "the port of netdev " NETDEV " is in use"),
			 2);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

/*
 * No permission for the device: libibverbs then tries /dev/char, which
 * containers lack, and returns ENOENT.
 */
FX_TEST_BARE(test_device_without_permission)
{
	static const char *const causes[] = {
		"fail call=open later errno=EACCES", "fail call=open later errno=EPERM",
	};

	fx->ignore_counters = true;
	for (unsigned int i = 0; i < RTE_DIM(causes); i++) {
		fx_command(causes[i]);
		fx_expect_error("");
		assert_true(fx_probe(fx, "") < 0);
		fx_expect_error(NULL);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR,
					      "(/dev/infiniband/uverbs"), i + 1);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "No such file"), 0);
		fx_command("fail off");
	}
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "cgroup"), 1);
	assert_int_equal(fx_probe(fx, ""), 0);
}

/* ---- rx_scrub=1 ------------------------------------------------------------ */

static void
mbuf_paint(struct rte_mempool *pool, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;

	memset(m->buf_addr, 0xa5, m->buf_len);
}

static void
mbuf_count_zero(struct rte_mempool *pool, void *nb, void *obj, unsigned int idx)
{
	const struct rte_mbuf *m = obj;
	const uint8_t *room = RTE_PTR_ADD(m->buf_addr, RTE_PKTMBUF_HEADROOM);
	const size_t bytes = m->buf_len - RTE_PKTMBUF_HEADROOM;

	*(unsigned int *)nb += room[0] == 0 && memcmp(room, room + 1, bytes - 1) == 0;
}

/* The adapter gets zeroed buffers only if the argument says so. */
FX_TEST_BARE(test_scrub)
{
	for (unsigned int scrub = 0; scrub < 2; scrub++) {
		unsigned int nb = 0;

		rte_mempool_obj_iter(fx->pool, mbuf_paint, NULL);
		assert_int_equal(fx_probe(fx, scrub != 0 ? "rx_scrub=1" : "rx_scrub=0"), 0);
		fx_start(fx, &defaults);
		rte_mempool_obj_iter(fx->pool, mbuf_count_zero, &nb);
		assert_int_equal(nb, scrub * (FX_NB_MBUFS - rte_mempool_avail_count(fx->pool)));
		assert_true(rte_mempool_avail_count(fx->pool) < FX_NB_MBUFS);
		fx_stop(fx);
		fx_remove(fx);
	}
}
