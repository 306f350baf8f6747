/* SPDX-License-Identifier: BSD-3-Clause */

/* Configure, start and stop, in valid and invalid order. */

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const struct fx_config defaults;

/*
 * rdma-core 44 to 48 refuse larger rings (MAX_SEND_BUFFERS_PER_QUEUE). The name of its file
 * tells the release: libmana.so.1.0.44.0.
 */
static uint16_t
max_descriptors(void)
{
	char path[PATH_MAX];
	void *library = dlopen("libmana.so.1", RTLD_LAZY | RTLD_NOLOAD);
	unsigned int release = 0;
	Dl_info info;

	/* The plug-in has loaded it. */
	assert_non_null(library);
	assert_true(dladdr(dlsym(library, "manadv_init_obj"), &info) != 0);
	dlclose(library);
	assert_non_null(realpath(info.dli_fname, path));
	assert_int_equal(sscanf(strstr(path, "libmana.so."), "libmana.so.%*u.%*u.%u", &release),
			 1);
	return release < 49 ? 256 : 2048;
}

FX_TEST(test_repeated_start_and_stop)
{
	for (int i = 0; i < 20; i++) {
		fx_start(fx, &defaults);
		fx_pass_one(fx);
		fx_stop(fx);
	}
}

FX_TEST(test_restart_without_configure)
{
	struct fx_holdings stopped;

	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
	fx_holdings_get(&stopped);
	for (int i = 0; i < 10; i++) {
		fx_restart(fx);
		fx_pass_one(fx);
		fx_stop(fx);
		fx_check_holdings(&stopped, "after a restart");
	}
}

FX_TEST(test_changed_numbers_of_queues)
{
	static const uint16_t numbers[][2] = { { 1, 1 }, { 4, 2 }, { 1, 8 }, { 16, 3 },
					       { 3, 5 }, { 13, 1 }, { 2, 1 }, { 1, 1 } };

	for (unsigned int i = 0; i < RTE_DIM(numbers); i++) {
		struct fx_config config = {
			.nb_rxq = numbers[i][0],
			.nb_txq = numbers[i][1],
			.nb_rxd = 64,
		};

		fx_start(fx, &config);
		/* without RSS all packets go to queue 0 */
		fx_pass_one(fx);
		fx_stop(fx);
	}
}

FX_TEST(test_queues_set_up_again)
{
	struct fx_holdings once;

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	fx_holdings_get(&once);
	for (int i = 0; i < 5; i++) {
		fx_tx_setup(fx->port[0], 0, 256, NULL);
		fx_rx_setup(fx->port[0], 0, 256, NULL, fx->pool);
		fx_check_holdings(&once, "after another setup");
	}
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

FX_TEST(test_start_with_a_tx_queue_alone)
{
	struct rte_eth_conf conf = { 0 };

	assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), 0);
	fx_tx_setup(fx->port[0], 0, 256, NULL);
	fx_expect_error("queue");
	assert_true(rte_eth_dev_start(fx->port[0]) < 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

FX_TEST(test_descriptors)
{
	/* any number works: the driver rounds it up */
	static const uint16_t good[] = { 64, 65, 100, 128, 129, 191, 255, 256 };
	struct rte_eth_dev_info info;
	uint16_t nb_rxd = 4096, nb_txd = 4096, nb_max = max_descriptors();

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_int_equal(info.rx_desc_lim.nb_max, nb_max);
	assert_int_equal(info.tx_desc_lim.nb_max, nb_max);

	for (unsigned int i = 0; i < RTE_DIM(good); i++) {
		struct fx_config config = { .nb_rxd = good[i], .nb_txd = good[i] };
		unsigned int nb_ring = RTE_MIN(good[i], nb_max - 1);

		fx_start(fx, &config);
		/* the ring has the requested size, minus a spare CQE */
		assert_int_equal(rte_mempool_in_use_count(fx->pool), 2 * nb_ring);
		for (unsigned int n = 0; n < 300; n++)
			fx_pass_one(fx);
		fx_stop(fx);
	}
	assert_int_equal(rte_eth_dev_adjust_nb_rx_tx_desc(fx->port[0], &nb_rxd,
							  &nb_txd), 0);
	assert_int_equal(nb_rxd, nb_max);
	assert_int_equal(nb_txd, nb_max);
}

/*
 * A program may free the old pools after a stop: setting the MTU does not check
 * them. The start checks the new ones.
 */
FX_TEST(test_mtu_before_new_queues)
{
	struct fx_config config = { .mtu = 400 };

	config.rx_pool = fx_pool(fx, 1023, 1024 + RTE_PKTMBUF_HEADROOM);
	fx_start(fx, &config);
	fx_expect_error("data_room_size");
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1500), -EINVAL);
	fx_stop(fx);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[0], 1500), 0);
	fx_expect_error("data_room_size");
	assert_int_equal(fx_dev_start(fx, 0), -EINVAL);
	config.rx_pool = NULL;
	config.mtu = 1500;
	fx_start(fx, &config);
	fx_pass_one(fx);
}

FX_TEST(test_remove_while_started)
{
	fx->ignore_counters = true;
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_remove(fx);
	fx->is_started[0] = fx->is_started[1] = false;
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

FX_TEST(test_close_one_port)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 100, 1);

	fx->ignore_counters = true;
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(rte_eth_dev_close(fx->port[0]), 0);
	fx->port[0] = RTE_MAX_ETHPORTS;
	/* the other port works; its frames have no receiver */
	fx_send(fx->port[1], 0, &m, 1);
	fx_settle(fx);
	assert_int_equal(fx_wire(fx, 1).tx_packets, 2);
}

FX_TEST(test_port_busy_when_netdev_up)
{
	struct fx_holdings before;

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	fx_holdings_get(&before);
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	fx_expect_error("ip link set");
	assert_true(fx_dev_start(fx, 0) < 0);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "ip link set") > 0);
	fx_check_holdings(&before, "after the refused start");
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
	fx_start(fx, &defaults);
	/* now the kernel rejects the netdev */
	assert_int_equal(fx_model.netdev_set("mana0p0", true), -EBUSY);
	fx_pass_one(fx);
}

FX_TEST(test_no_privileges)
{
	struct fx_holdings before;

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	fx_holdings_get(&before);
	assert_int_equal(fx_model.privileges(false, true), 0);
	fx_expect_error("");
	assert_true(fx_dev_start(fx, 0) < 0);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "CAP_NET_RAW") > 0);
	fx_check_holdings(&before, "after the refused start");
	assert_int_equal(fx_model.privileges(true, true), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}
