/* SPDX-License-Identifier: BSD-3-Clause */

/* The link: what the kernel says of it, and that it is told. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "bench.h"

#define NB_FLOOD 2000 /* messages, more than a socket takes */

static const struct bench_config plain;
static const struct bench_config told = { .intr = { .lsc = 1 } };

static unsigned int nb_told_of[RTE_MAX_ETHPORTS];

static int
on_change(uint16_t port, enum rte_eth_event_type type __rte_unused,
	  void *arg __rte_unused, void *ret_param __rte_unused)
{
	__atomic_add_fetch(&nb_told_of[port], 1, __ATOMIC_RELEASE);
	return 0;
}

static unsigned int
nb_told(uint16_t port)
{
	return __atomic_load_n(&nb_told_of[port], __ATOMIC_ACQUIRE);
}

static int
link_setup(void **state)
{
	int ret = bench_setup(state);
	struct bench *bench = *state;

	memset(nb_told_of, 0, sizeof(nb_told_of));
	for (unsigned int i = 0; ret == 0 && i < BENCH_NB_PORTS; i++)
		ret = rte_eth_dev_callback_register(bench->port[i],
			RTE_ETH_EVENT_INTR_LSC, on_change, NULL);
	return ret;
}

static int
link_teardown(void **state)
{
	struct bench *bench = *state;

	bench_tell("link port=1 up");
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		(void)rte_eth_dev_callback_unregister(bench->port[i],
			RTE_ETH_EVENT_INTR_LSC, on_change, NULL);
	return bench_teardown(state);
}

#define LINK_TEST(fn) cmocka_unit_test_setup_teardown(fn, link_setup, link_teardown)

static struct rte_eth_link
link_of(uint16_t port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	return link;
}

/* Linux up to 6.12 tells neither the speed nor the carrier. */
static bool
is_telling(uint16_t port)
{
	return link_of(port).link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
}

static void
wait_told(uint16_t port, unsigned int nb)
{
	uint64_t end = bench_deadline();

	while (nb_told(port) < nb) {
		if (rte_get_timer_cycles() > end)
			fail_msg("port %u is told %u times, not %u", port,
				 nb_told(port), nb);
		rte_delay_us_sleep(1000);
	}
}

static void
check_status(uint16_t port, uint16_t status)
{
	struct rte_eth_link link = link_of(port);

	assert_int_equal(link.link_status, status);
	/* and the other way to ask says the same */
	assert_int_equal(rte_eth_link_get(port, &link), 0);
	assert_int_equal(link.link_status, status);
}

static void
test_told_of_each_change(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &told);
	if (!is_telling(bench->port[0]))
		return;
	for (unsigned int n = 0; n < 10; n++) {
		bool is_up = n % 2 != 0;

		for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
			check_status(bench->port[i], is_up ? RTE_ETH_LINK_DOWN :
							     RTE_ETH_LINK_UP);
		/* of one port: the card tells it of all ports of a function */
		bench_tell(is_up ? "link port=1 up" : "link port=1 down");
		for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
			wait_told(bench->port[i], n + 1);
			check_status(bench->port[i], is_up ? RTE_ETH_LINK_UP :
							     RTE_ETH_LINK_DOWN);
		}
	}
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(nb_told(bench->port[i]), 10);
	bench_pass_one(bench);
}

/* Who does not want to be told can ask. */
static void
test_asked(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &plain);
	if (!is_telling(bench->port[0]))
		return;
	bench_tell("link port=1 down");
	check_status(bench->port[0], RTE_ETH_LINK_DOWN);
	bench_tell("link port=1 up");
	check_status(bench->port[0], RTE_ETH_LINK_UP);
	assert_int_equal(nb_told(bench->port[0]), 0);
}

/* A kernel that does not tell the carrier of such a netdev: it is up. */
static void
test_kernel_without_carrier(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &told);
	if (is_telling(bench->port[0]))
		return;
	bench_tell("link port=1 down");
	bench_tell("mtu port=1 mtu=1400");
	check_status(bench->port[0], RTE_ETH_LINK_UP);
	bench_tell("mtu port=1 mtu=1500");
	bench_tell("link port=1 up");
	assert_int_equal(nb_told(bench->port[0]), 0);
	assert_int_equal(link_of(bench->port[0]).link_speed,
			 RTE_ETH_SPEED_NUM_UNKNOWN);
}

static void
test_speed(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_start(bench, &plain);
	if (!is_telling(port))
		return;
	assert_int_equal(link_of(port).link_speed, 200000);
	bench_tell("speed port=1 mbps=40000");
	assert_int_equal(link_of(port).link_speed, 40000);
	bench_tell("speed port=1 unknown");
	assert_int_equal(link_of(port).link_speed, RTE_ETH_SPEED_NUM_UNKNOWN);
	assert_int_equal(link_of(port).link_status, RTE_ETH_LINK_UP);
	bench_tell("speed port=1 mbps=200000");
}

/* Other changes, of this and other netdevs, are no change of the link. */
static void
test_other_changes(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &told);
	for (int i = 0; i < 20; i++) {
		bench_tell(i % 2 ? "mtu port=1 mtu=1500" : "mtu port=1 mtu=1400");
		bench_tell(i % 2 ? "mtu port=2 mtu=1500" : "mtu port=2 mtu=1400");
	}
	bench_tell("link port=1 down");
	if (is_telling(bench->port[0]))
		wait_told(bench->port[0], 1);
	assert_true(nb_told(bench->port[0]) <= 1);
}

/* More than the kernel keeps for the socket: what is lost is asked for. */
static void
test_flood(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &told);
	if (!is_telling(bench->port[0]))
		return;
	for (int i = 0; i < NB_FLOOD; i++)
		bench_tell(i % 2 ? "mtu port=2 mtu=1500" : "mtu port=2 mtu=1400");
	bench_tell("link port=1 down");
	for (int i = 0; i < NB_FLOOD; i++)
		bench_tell(i % 2 ? "mtu port=2 mtu=1500" : "mtu port=2 mtu=1400");
	wait_told(bench->port[0], 1);
	check_status(bench->port[0], RTE_ETH_LINK_DOWN);
}

/* While it is stopped nothing is told; the next start knows what is so. */
static void
test_stop_and_start(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;
	bool has_carrier;

	bench_start(bench, &told);
	has_carrier = is_telling(bench->port[0]);
	bench_stop(bench);
	bench_hold(&before);
	check_status(bench->port[0], RTE_ETH_LINK_DOWN);
	for (int i = 0; i < 10; i++) {
		bool is_up = i % 2 != 0;

		bench_tell(is_up ? "link port=1 up" : "link port=1 down");
		for (unsigned int p = 0; p < BENCH_NB_PORTS; p++)
			assert_int_equal(bench_dev_start(bench, p), 0);
		check_status(bench->port[0], is_up || !has_carrier ?
						     RTE_ETH_LINK_UP :
						     RTE_ETH_LINK_DOWN);
		bench_stop(bench);
		bench_check_held(&before, "after a stop");
	}
	assert_int_equal(nb_told(bench->port[0]), 0);
}

static void
test_set_link(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_expect_error("the link belongs to the host");
	assert_int_equal(rte_eth_dev_set_link_up(port), -ENOTSUP);
	bench_start(bench, &told);
	/* it is up, as is asked for */
	assert_int_equal(rte_eth_dev_set_link_up(port), 0);
	assert_int_equal(rte_eth_dev_set_link_down(port), -ENOTSUP);
	check_status(port, RTE_ETH_LINK_UP);
	if (is_telling(port)) {
		bench_tell("link port=1 down");
		wait_told(port, 1);
		assert_int_equal(rte_eth_dev_set_link_up(port), -ENOTSUP);
	}
}

static void
test_removal_takes_the_link(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	bench_start(bench, &told);
	bench_tell("fatal fn=0");
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		wait_told(bench->port[i], 1);
		check_status(bench->port[i], RTE_ETH_LINK_DOWN);
	}
	bench_stop(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(nb_told(bench->port[i]), 1);
	bench_remove(bench);
	bench_tell("return fn=0");
	assert_int_equal(bench_probe(bench, ""), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(test_told_of_each_change),
		LINK_TEST(test_asked),
		LINK_TEST(test_kernel_without_carrier),
		LINK_TEST(test_speed),
		LINK_TEST(test_other_changes),
		LINK_TEST(test_flood),
		LINK_TEST(test_stop_and_start),
		LINK_TEST(test_set_link),
		LINK_TEST(test_removal_takes_the_link),
	};

	return BENCH_RUN("link", tests);
}
