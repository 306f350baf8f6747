/* SPDX-License-Identifier: BSD-3-Clause */

/* Device arguments: which ports they choose, what is said of bad ones. */

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define NETDEV "mana0p0"

static const struct bench_config plain;

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
	assert_int_equal(bench_model.netdev_set(name, up), 0);
}

/* ---- Which ports --------------------------------------------------------- */

static void
test_one_port_by_any_name(void **state)
{
	static const struct {
		const char *args;
		unsigned int port;
	} good[] = {
		{ "mac=00:0d:3a:00:00:01", 0 }, { "mac=00:0D:3A:00:00:02", 1 },
		{ "netdev=mana0p0", 0 }, { "netdev=mana0p1", 1 },
		{ "port=1", 0 }, { "port=2", 1 }, { "port=002,netdev_down=0", 1 },
	};
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_hold(&before);
	bench->ignore_counters = true;
	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		assert_int_equal(bench_probe(bench, good[i].args), 0);
		assert_true(rte_eth_dev_is_valid_port(bench->port[good[i].port]));
		assert_int_equal(bench->port[!good[i].port], RTE_MAX_ETHPORTS);
		bench_remove(bench);
		bench_check_held(&before, good[i].args);
	}
}

static void
test_both_ports_by_any_name(void **state)
{
	static const char *const good[] = {
		"", "mac=00:0d:3a:00:00:02,mac=00:0d:3a:00:00:01",
		"netdev=mana0p1,netdev=mana0p0", "port=2,port=1",
	};
	struct bench *bench = *state;

	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		bench->ignore_counters = true;
		assert_int_equal(bench_probe(bench, good[i]), 0);
		assert_true(rte_eth_dev_is_valid_port(bench->port[0]));
		assert_true(rte_eth_dev_is_valid_port(bench->port[1]));
		bench_start(bench, &plain);
		bench_pass_one(bench);
		bench_stop(bench);
		bench_remove(bench);
	}
}

/* A port asked for that is not there: nothing is probed, the others are told. */
static void
test_no_such_port(void **state)
{
	static const struct {
		const char *args;
		const char *said;
	} bad[] = {
		{ "mac=00:0d:3a:00:00:99", "mac=00:0D:3A:00:00:99 is none of its ports" },
		{ "mac=00:0d:3a:00:00:01,mac=02:00:00:00:00:00",
		  "mac=02:00:00:00:00:00 is none of its ports" },
		{ "netdev=mana0p2", "netdev=mana0p2 is none of its ports" },
		{ "netdev=mana0p0,netdev=lo", "netdev=lo is none of its ports" },
		{ "netdev=mana0p", "netdev=mana0p is none of its ports" },
		{ "port=3", "port=3 is none of its ports" },
		{ "port=1,port=255", "port=255 is none of its ports" },
	};
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_hold(&before);
	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		unsigned int nb_listed = bench_nb_logged(RTE_LOG_ERR, "netdev mana0p1, down");

		assert_int_not_equal(bench_probe(bench, bad[i].args), 0);
		assert_int_equal(bench_nb_logged(RTE_LOG_ERR, bad[i].said), 1);
		assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "netdev mana0p1, down"),
				 nb_listed + 1);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		bench_check_held(&before, bad[i].args);
	}
}

/* Each message names the argument and what would be right. */
static void
test_bad_values(void **state)
{
	static const struct {
		const char *args;
		const char *said;
	} bad[] = {
		{ "mac=1", "mac=1: not a MAC address; give six pairs" },
		{ "mac=01:00:5e:00:00:01", "a multicast one" },
		{ "netdev=", "netdev=: not the name of an interface" },
		{ "netdev=a-name-of-16-chr", "netdev=a-name-of-16-chr: not the name" },
		{ "netdev=a/b", "no slash" },
		{ "port=0", "port=0: not the number of a port" },
		{ "port=256", "port=256: not the number of a port" },
		{ "port=-1", "port=-1: not the number of a port" },
		{ "port=1x", "port=1x: not the number of a port" },
		{ "port=1,port=01", "port=01 is given twice" },
		{ "netdev=mana0p0,netdev=mana0p0", "netdev=mana0p0 is given twice" },
		{ "netdev=mana0p0,port=1", "port=1: ports are named by netdev= already" },
		{ "port=1,mac=00:0d:3a:00:00:01", "ports are named by port= already" },
		{ "netdev_down=2", "netdev_down=2: give 0 or 1" },
		{ "netdev_down=yes", "netdev_down=yes: give 0 or 1" },
		{ "netdev_down=1,netdev_down=0", "netdev_down=0 is given twice" },
		{ "promisc=accept", "promisc=accept: the one value is reject" },
		{ "promisc=reject,promisc=reject", "promisc=reject is given twice" },
		{ "colour=blue", "unknown device argument 'colour'; known: mac=" },
		{ "port=1,Port=2", "unknown device argument 'Port'" },
	};
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_hold(&before);
	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		assert_int_not_equal(bench_probe(bench, bad[i].args), 0);
		if (bench_nb_logged(RTE_LOG_ERR, bad[i].said) != 1)
			fail_msg("%s: no word of '%s'", bad[i].args, bad[i].said);
		bench_check_held(&before, bad[i].args);
	}
}

/* ---- netdev_down=1 --------------------------------------------------------- */

static void
test_netdev_is_taken_and_given_back(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	set_up(NETDEV, true);
	assert_int_equal(bench_probe(bench, "netdev_down=1"), 0);
	assert_false(is_up(NETDEV));
	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_stop(bench);
	assert_false(is_up(NETDEV));
	bench_remove(bench);
	assert_true(is_up(NETDEV));
	/* the other one was down, and stays so */
	assert_false(is_up("mana0p1"));
	set_up(NETDEV, false);
}

/* Without the argument nobody touches it. */
static void
test_netdev_is_left_alone(void **state)
{
	static const char *const args[] = { "", "netdev_down=0" };
	struct bench *bench = *state;

	bench->ignore_counters = true;
	set_up(NETDEV, true);
	bench_expect_error("ip link set");
	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_equal(bench_probe(bench, args[i]), 0);
		assert_true(is_up(NETDEV));
		assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
		assert_true(bench_dev_start(bench, 0) < 0);
		bench_remove(bench);
		assert_true(is_up(NETDEV));
	}
	set_up(NETDEV, false);
}

/* Somebody (a network manager) takes it up again while the port is stopped. */
static void
test_netdev_is_taken_again_at_start(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	assert_int_equal(bench_probe(bench, "netdev_down=1"), 0);
	set_up(NETDEV, true);
	bench_start(bench, &plain);
	assert_false(is_up(NETDEV));
	bench_pass_one(bench);
	bench_stop(bench);
	bench_remove(bench);
	assert_true(is_up(NETDEV));
	set_up(NETDEV, false);
}

static void
test_netdev_is_given_back_after_failures(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	bench->ignore_counters = true;
	bench_hold(&before);
	set_up(NETDEV, true);
	set_up("mana0p1", true);
	/* the probe fails at the second port */
	bench_expect_error("");
	assert_int_equal(bench_model.fault_arm("create_cq", 2, ENOMEM), 0);
	assert_int_not_equal(bench_probe(bench, "netdev_down=1"), 0);
	assert_int_equal(bench_model.fault_hits(), 1);
	bench_model.fault_disarm();
	assert_true(is_up(NETDEV));
	assert_true(is_up("mana0p1"));
	bench_check_held(&before, "after the refused probe");
	/* the start fails */
	assert_int_equal(bench_probe(bench, "netdev_down=1"), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(bench_model.fault_arm("create_qp", 1, ENOMEM), 0);
	assert_true(bench_dev_start(bench, 0) < 0);
	bench_model.fault_disarm();
	bench_remove(bench);
	assert_true(is_up(NETDEV));
	assert_true(is_up("mana0p1"));
	set_up(NETDEV, false);
	set_up("mana0p1", false);
}

/* Without CAP_NET_ADMIN: said so, and nothing is probed. */
static void
test_netdev_without_permission(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_hold(&before);
	set_up(NETDEV, true);
	bench_expect_error("");
	assert_int_equal(bench_model.fault_arm("ifflags", 1, EPERM), 0);
	assert_int_not_equal(bench_probe(bench, "netdev_down=1"), 0);
	assert_int_equal(bench_model.fault_hits(), 1);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "CAP_NET_ADMIN"), 1);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "ip link set dev " NETDEV " down"), 1);
	bench_model.fault_disarm();
	assert_true(is_up(NETDEV));
	bench_check_held(&before, "after the refused probe");
	set_up(NETDEV, false);
	/* down already: no permission is needed */
	assert_int_equal(bench_model.fault_arm("ifflags", 1, EPERM), 0);
	assert_int_equal(bench_probe(bench, "netdev_down=1"), 0);
	bench_model.fault_disarm();
	bench_remove(bench);
	assert_false(is_up(NETDEV));
}

/* The kernel refuses to take it up at the end: said, and nothing else breaks. */
static void
test_netdev_that_stays_down(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	set_up(NETDEV, true);
	assert_int_equal(bench_probe(bench, "port=1,netdev_down=1"), 0);
	bench_expect_error("stays down");
	assert_int_equal(bench_model.fault_arm("ifflags", 1, ENOMEM), 0);
	bench_remove(bench);
	assert_int_equal(bench_model.fault_hits(), 1);
	bench_model.fault_disarm();
	assert_int_equal(bench_nb_logged(RTE_LOG_WARNING,
					 "ip link set dev " NETDEV " up"), 1);
	assert_false(is_up(NETDEV));
}

/* ---- promisc=reject ----------------------------------------------------------- */

static void
test_promisc_is_rejected(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(bench_probe(bench, "promisc=reject"), 0);
	bench_expect_error("promisc=reject: ");
	assert_int_equal(rte_eth_promiscuous_enable(bench->port[0]), -ENOTSUP);
	assert_int_equal(rte_eth_promiscuous_get(bench->port[0]), 0);
	assert_int_equal(rte_eth_allmulticast_enable(bench->port[0]), -ENOTSUP);
	assert_int_equal(rte_eth_allmulticast_get(bench->port[0]), 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "leave the argument out"), 2);
	/* nothing else is in its way */
	assert_int_equal(rte_eth_promiscuous_disable(bench->port[0]), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

/* ---- Network namespaces ------------------------------------------------------ */

#define ELSEWHERE "in another network namespace"

/* The other port is used; the one whose netdev is away is left out, and said so. */
static void
test_netdev_in_another_namespace(void **state)
{
	static const char *const args[] = { "port=1", "netdev=mana0p0",
					    "mac=00:0d:3a:00:00:01", "port=2,port=1" };
	struct bench *bench = *state;

	bench->ignore_counters = true;
	bench_expect_error("");
	bench_tell("netns port=1 away");
	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench->port[0], RTE_MAX_ETHPORTS);
	assert_true(rte_eth_dev_is_valid_port(bench->port[1]));
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "port 1: its netdev is " ELSEWHERE), 1);
	bench_remove(bench);
	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_not_equal(bench_probe(bench, args[i]), 0);
		assert_int_equal(bench_nb_logged(RTE_LOG_ERR,
						 "port 1: its netdev is " ELSEWHERE),
				 2 + i);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
	}
	/* the last one, too: the folder net/ is empty then */
	bench_tell("netns port=2 away");
	assert_int_not_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "port 2: its netdev is " ELSEWHERE), 1);
	bench_tell("netns port=1 home");
	bench_tell("netns port=2 home");
	assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

/* /sys is the host's: the port can be used, and its netdev cannot be asked. */
static void
test_netdev_seen_in_sysfs_only(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	bench_tell("netns port=1 away sysfs");
	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_NOTICE, NETDEV " is " ELSEWHERE), 1);
	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_stop(bench);
	/* somebody there takes it up */
	bench_tell("netdev port=1 up");
	bench_expect_error(NETDEV " is " ELSEWHERE);
	assert_true(bench_dev_start(bench, 0) < 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "ip link set dev " NETDEV " down"), 1);
	bench_tell("netdev port=1 down");
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_stop(bench, 0), 0);
	bench_remove(bench);
	/* to take it down is not in our hands */
	bench_expect_error("");
	assert_int_not_equal(bench_probe(bench, "netdev_down=1"), 0);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR,
					 NETDEV " is not in this program's network namespace"),
			 1);
	bench_tell("netns port=1 home");
}

/* It goes there while the program has the port. */
static void
test_netdev_moves_away(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &plain);
	bench_tell("netns port=1 away");
	bench_pass_one(bench);
	bench_stop(bench);
	bench_tell("netdev port=1 up");
	bench_expect_error(NETDEV " is " ELSEWHERE);
	assert_true(bench_dev_start(bench, 0) < 0);
	bench_tell("netns port=1 home");
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

/* The kernel says ENODEV or EBUSY: another program, as the netdev is down. */
static void
test_port_of_another_program(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	bench_expect_error("another DPDK program has it");
	bench_tell("fail call=create_qp later errno=EBUSY");
	assert_true(bench_dev_start(bench, 0) < 0);
	bench_tell("fail call=create_qp later errno=ENODEV");
	assert_true(bench_dev_start(bench, 0) < 0);
	bench_tell("fail off");
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "the port of netdev " NETDEV " is in use"),
			 2);
	assert_int_equal(bench_dev_start(bench, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST_BARE(test_one_port_by_any_name),
		BENCH_TEST_BARE(test_both_ports_by_any_name),
		BENCH_TEST_BARE(test_no_such_port),
		BENCH_TEST_BARE(test_bad_values),
		BENCH_TEST_BARE(test_netdev_is_taken_and_given_back),
		BENCH_TEST_BARE(test_netdev_is_left_alone),
		BENCH_TEST_BARE(test_netdev_is_taken_again_at_start),
		BENCH_TEST_BARE(test_netdev_is_given_back_after_failures),
		BENCH_TEST_BARE(test_netdev_without_permission),
		BENCH_TEST_BARE(test_netdev_that_stays_down),
		BENCH_TEST_BARE(test_promisc_is_rejected),
		BENCH_TEST_BARE(test_netdev_in_another_namespace),
		BENCH_TEST_BARE(test_netdev_seen_in_sysfs_only),
		BENCH_TEST_BARE(test_netdev_moves_away),
		BENCH_TEST_BARE(test_port_of_another_program),
	};

	return BENCH_RUN("args", tests);
}
