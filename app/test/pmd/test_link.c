/* SPDX-License-Identifier: BSD-3-Clause */

/* Link status from the kernel, and link events. */

#include <errno.h>
#include <stdio.h>

#include <ethdev_driver.h>
#include <rte_cycles.h>

#include "fixture.h"

static const struct fx_config defaults;
static const struct fx_config lsc_config = { .intr = { .lsc = 1 } };

static unsigned int nb_events_of[RTE_MAX_ETHPORTS];

static int
on_change(uint16_t port, enum rte_eth_event_type type __rte_unused,
	  void *arg __rte_unused, void *ret_param __rte_unused)
{
	__atomic_add_fetch(&nb_events_of[port], 1, __ATOMIC_RELEASE);
	return 0;
}

static unsigned int
nb_events(uint16_t port)
{
	return __atomic_load_n(&nb_events_of[port], __ATOMIC_ACQUIRE);
}

static int
link_setup(void **state)
{
	int ret = fx_setup(state);
	struct fixture *fx = *state;

	memset(nb_events_of, 0, sizeof(nb_events_of));
	for (unsigned int i = 0; ret == 0 && i < FX_NB_PORTS; i++)
		ret = rte_eth_dev_callback_register(fx->port[i],
			RTE_ETH_EVENT_INTR_LSC, on_change, NULL);
	return ret;
}

static int
link_teardown(void **state)
{
	struct fixture *fx = *state;

	fx_command("link port=1 up");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		(void)rte_eth_dev_callback_unregister(fx->port[i],
			RTE_ETH_EVENT_INTR_LSC, on_change, NULL);
	return fx_teardown(state);
}

#define LINK_TEST(name) FX_TEST_OF(name, link_setup, link_teardown)

static struct rte_eth_link
link_of(uint16_t port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get(port, &link), 0);
	return link;
}

/* Linux up to 6.12 reports neither speed nor carrier. */
static bool
has_carrier_info(uint16_t port)
{
	return link_of(port).link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
}

static void
wait_events(uint16_t port, unsigned int nb)
{
	uint64_t end = fx_deadline();

	while (nb_events(port) < nb) {
		if (rte_get_timer_cycles() > end)
			fail_msg("port %u has %u events, expected %u", port,
				 nb_events(port), nb);
		rte_delay_us_sleep(1000);
	}
}

static void
check_status(uint16_t port, uint16_t status)
{
	struct rte_eth_link link = link_of(port);

	assert_int_equal(link.link_status, status);
	/* what that has found */
	assert_int_equal(fx_link(port).link_status, status);
}

LINK_TEST(test_event_of_each_change)
{
	fx_start(fx, &lsc_config);
	if (!has_carrier_info(fx->port[0]))
		return;
	for (unsigned int n = 0; n < 10; n++) {
		bool is_up = n % 2 != 0;

		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			check_status(fx->port[i], is_up ? RTE_ETH_LINK_DOWN :
							     RTE_ETH_LINK_UP);
		/* of one port: the card reports it for both */
		fx_command(is_up ? "link port=1 up" : "link port=1 down");
		for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
			wait_events(fx->port[i], n + 1);
			check_status(fx->port[i], is_up ? RTE_ETH_LINK_UP :
							     RTE_ETH_LINK_DOWN);
		}
	}
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(nb_events(fx->port[i]), 10);
	fx_pass_one(fx);
}

/* Without link events the application can query the link. */
LINK_TEST(test_query_without_events)
{
	fx_start(fx, &defaults);
	if (!has_carrier_info(fx->port[0]))
		return;
	fx_command("link port=1 down");
	check_status(fx->port[0], RTE_ETH_LINK_DOWN);
	fx_command("link port=1 up");
	check_status(fx->port[0], RTE_ETH_LINK_UP);
	assert_int_equal(nb_events(fx->port[0]), 0);
}

static uint32_t
speed_capa(uint16_t port)
{
	return fx_info(port).speed_capa;
}

/* Queries that need not be of this moment make no call of the kernel. */
LINK_TEST(test_query_without_wait)
{
	uint64_t end, nb_calls;
	struct rte_eth_link link;

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	nb_calls = fx_model.kernel_calls();
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(rte_eth_link_get_nowait(fx->port[0], &link), 0);
		(void)speed_capa(fx->port[0]);
	}
	assert_int_equal(fx_model.kernel_calls(), nb_calls);
	/* A running port finds a change by itself. */
	fx_start(fx, &defaults);
	if (!has_carrier_info(fx->port[0]))
		return;
	fx_command("link port=1 down");
	end = fx_deadline();
	do {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(10000);
		assert_int_equal(rte_eth_link_get_nowait(fx->port[0], &link), 0);
	} while (link.link_status == RTE_ETH_LINK_UP);
}

/* A kernel that does not report the carrier: the link is up. */
LINK_TEST(test_kernel_without_carrier)
{
	fx_start(fx, &lsc_config);
	if (has_carrier_info(fx->port[0]))
		return;
	fx_command("link port=1 down");
	fx_set_txqlen("mana0p0", 500);
	check_status(fx->port[0], RTE_ETH_LINK_UP);
	fx_set_txqlen("mana0p0", 1000);
	fx_command("link port=1 up");
	assert_int_equal(nb_events(fx->port[0]), 0);
	assert_int_equal(link_of(fx->port[0]).link_speed,
			 RTE_ETH_SPEED_NUM_UNKNOWN);
}

LINK_TEST(test_speed)
{
	uint16_t port = fx->port[0];

	fx_start(fx, &defaults);
	if (!has_carrier_info(port)) {
		assert_int_equal(speed_capa(port), 0);
		return;
	}
	assert_int_equal(link_of(port).link_speed, 200000);
	assert_int_equal(speed_capa(port), RTE_ETH_LINK_SPEED_200G);
	fx_command("speed port=1 mbps=40000");
	assert_int_equal(link_of(port).link_speed, 40000);
	assert_int_equal(speed_capa(port), RTE_ETH_LINK_SPEED_40G);
	/* a virtual machine with a lower limit, which ethdev has no flag for */
	fx_command("speed port=1 mbps=12500");
	assert_int_equal(link_of(port).link_speed, 12500);
	assert_int_equal(speed_capa(port), 0);
	fx_command("speed port=1 unknown");
	assert_int_equal(link_of(port).link_speed, RTE_ETH_SPEED_NUM_UNKNOWN);
	assert_int_equal(speed_capa(port), 0);
	assert_int_equal(link_of(port).link_status, RTE_ETH_LINK_UP);
	fx_command("speed port=1 mbps=200000");
}

/* Other changes of this and other netdevs are no link change. */
LINK_TEST(test_other_changes)
{
	fx_start(fx, &lsc_config);
	for (int i = 0; i < 20; i++) {
		fx_set_txqlen("mana0p0", i % 2 ? 1000 : 500);
		fx_set_txqlen("mana0p1", i % 2 ? 1000 : 500);
	}
	fx_command("link port=1 down");
	if (has_carrier_info(fx->port[0]))
		wait_events(fx->port[0], 1);
	assert_true(nb_events(fx->port[0]) <= 1);
}

/* A stopped port gets no events; the next start updates the link. */
LINK_TEST(test_stop_and_start)
{
	struct fx_holdings before;
	bool has_carrier;

	fx_start(fx, &lsc_config);
	has_carrier = has_carrier_info(fx->port[0]);
	fx_stop(fx);
	fx_holdings_get(&before);
	check_status(fx->port[0], RTE_ETH_LINK_DOWN);
	for (int i = 0; i < 10; i++) {
		bool is_up = i % 2 != 0;

		fx_command(is_up ? "link port=1 up" : "link port=1 down");
		fx_restart(fx);
		check_status(fx->port[0], is_up || !has_carrier ?
						     RTE_ETH_LINK_UP :
						     RTE_ETH_LINK_DOWN);
		fx_stop(fx);
		fx_check_holdings(&before, "after a stop");
	}
	assert_int_equal(nb_events(fx->port[0]), 0);
}

static eth_dev_start_t driver_start;

/* Other threads run before ethdev sets dev_started. */
static int
start_preempted(struct rte_eth_dev *dev)
{
	int ret = driver_start(dev);

	/* The driver queries the link once a second. */
	rte_delay_us_sleep(1500 * 1000);
	return ret;
}

/* The link of a port that has just been started does not go down. */
LINK_TEST(test_preempted_start)
{
	struct rte_eth_dev *dev = &rte_eth_devices[fx->port[0]];
	const struct eth_dev_ops *driver_ops = dev->dev_ops;
	struct eth_dev_ops ops = *driver_ops;

	driver_start = ops.dev_start;
	ops.dev_start = start_preempted;
	dev->dev_ops = &ops;
	fx_start(fx, &lsc_config);
	dev->dev_ops = driver_ops;
	/* With link events, ethdev does not query it at the start. */
	assert_int_equal(dev->data->dev_link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(nb_events(fx->port[0]), 0);
}

LINK_TEST(test_set_link)
{
	uint16_t port = fx->port[0];

	fx_expect_error("the host controls it");
	assert_int_equal(rte_eth_dev_set_link_up(port), -ENOTSUP);
	fx_start(fx, &lsc_config);
	/* the link is up already */
	assert_int_equal(rte_eth_dev_set_link_up(port), 0);
	assert_int_equal(rte_eth_dev_set_link_down(port), -EPERM);
	check_status(port, RTE_ETH_LINK_UP);
	if (has_carrier_info(port)) {
		fx_command("link port=1 down");
		wait_events(port, 1);
		assert_int_equal(rte_eth_dev_set_link_up(port), -ENOTSUP);
	}
}

LINK_TEST(test_link_is_down_after_removal)
{
	fx_expect_error("");
	fx_start(fx, &lsc_config);
	fx_command("fatal fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		wait_events(fx->port[i], 1);
		check_status(fx->port[i], RTE_ETH_LINK_DOWN);
	}
	fx_stop(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(nb_events(fx->port[i]), 1);
	fx_remove(fx);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
}

/* What secondary processes read of a stopped port. */
LINK_TEST(test_stopped_port)
{
	static const struct fx_config config;

	fx_start(fx, &config);
	assert_int_equal(rte_eth_devices[fx->port[0]].data->dev_link.link_status,
			 RTE_ETH_LINK_UP);
	fx_stop(fx);
	assert_int_equal(rte_eth_devices[fx->port[0]].data->dev_link.link_status,
			 RTE_ETH_LINK_DOWN);
}
