/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port under net_netvsc, as usual in Azure, where net_mana is the VF of a
 * synthetic port. The calls are those of DPDK's net_netvsc to its VF port, in
 * the same order (drivers/net/netvsc hn_vf.c, hn_ethdev.c and hn_rxtx.c of
 * 22.11 and later). Several call driver operations without ethdev's checks.
 */

#include <string.h>

#include <ethdev_driver.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>

#include "fixture.h"

#define NDIS_HASH_INDCNT 128 /* hn_var.h */
#define KEY_BYTES 40
#define NB_DESC 64

static struct {
	uint16_t port;
	struct rte_eth_dev *dev;
	struct rte_eth_dev_owner owner;
	unsigned int nb_removed;
} vf;

static int
on_removal(uint16_t port __rte_unused, enum rte_eth_event_type type __rte_unused,
	   void *arg __rte_unused, void *ret_param __rte_unused)
{
	vf.nb_removed++;
	return 0;
}

/* hn_vf_attach() and hn_vf_info_merge(). */
static void
vf_attach(struct fixture *fx)
{
	struct rte_eth_dev_owner owner = { 0 };
	struct rte_eth_dev_info info;

	memset(&vf, 0, sizeof(vf));
	vf.port = fx->port[1];
	vf.dev = &rte_eth_devices[vf.port];
	assert_int_equal(rte_eth_dev_owner_new(&vf.owner.id), 0);
	snprintf(vf.owner.name, sizeof(vf.owner.name), "netvsc");
	assert_int_equal(rte_eth_dev_owner_get(vf.port, &owner), 0);
	assert_int_equal(owner.id, RTE_ETH_DEV_NO_OWNER);
	assert_int_equal(rte_eth_dev_owner_set(vf.port, &vf.owner), 0);
	assert_int_equal(rte_eth_dev_callback_register(vf.port, RTE_ETH_EVENT_INTR_RMV,
						       on_removal, NULL), 0);
	assert_int_equal(rte_eth_dev_info_get(vf.port, &info), 0);
	assert_true(info.max_rx_queues > 0 && info.rx_desc_lim.nb_max > 0);
}

/* hn_vf_close(); the fixture closes the port. */
static void
vf_detach(void)
{
	assert_int_equal(rte_eth_dev_callback_unregister(vf.port, RTE_ETH_EVENT_INTR_RMV,
							 on_removal, NULL), 0);
	assert_int_equal(rte_eth_dev_owner_unset(vf.port, vf.owner.id), 0);
	assert_int_equal(vf.nb_removed, 0);
}

static struct rte_eth_conf
conf_of(uint64_t rss_hf)
{
	/* hn_vf_configure() */
	struct rte_eth_conf conf = { .intr_conf = { .lsc = 0, .rmv = 1 } };

	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.rx_adv_conf.rss_conf.rss_hf = rss_hf;
	/* hn_dev_configure() */
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	return conf;
}

static void
vf_configure(uint16_t nb_queues, uint64_t rss_hf)
{
	struct rte_eth_conf conf = conf_of(rss_hf);

	assert_int_equal(rte_eth_dev_configure(vf.port, nb_queues, nb_queues, &conf), 0);
}

/* hn_setup_vf_queues(): socket 0, not the device's. */
static void
vf_setup_queues(struct fixture *fx, uint16_t nb_queues)
{
	struct rte_eth_txconf txconf = { 0 };
	struct rte_eth_rxconf rxconf = { 0 };

	for (uint16_t q = 0; q < nb_queues; q++)
		assert_int_equal(rte_eth_tx_queue_setup(vf.port, q, NB_DESC, 0, &txconf), 0);
	for (uint16_t q = 0; q < nb_queues; q++)
		assert_int_equal(rte_eth_rx_queue_setup(vf.port, q, NB_DESC, 0, &rxconf,
							fx->pool), 0);
}

/* hn_vf_add(): the VF appears while the synthetic port runs. */
static void
vf_bring_up(struct fixture *fx, uint16_t nb_queues, uint64_t rss_hf)
{
	static const struct fx_config sender;

	vf_configure(nb_queues, rss_hf);
	vf_setup_queues(fx, nb_queues);
	assert_int_equal(rte_eth_dev_set_mtu(vf.port, 1500), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	if (!fx->is_started[0]) {
		assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
		assert_int_equal(fx_dev_start(fx, 0), 0);
	}
}

/* hn_vf_reta_hash_update(), hn_vf_rss_hash_update(): no ethdev checks. */
static int
vf_reta_update(const uint16_t *queues, uint16_t period)
{
	struct rte_eth_rss_reta_entry64 reta[NDIS_HASH_INDCNT / RTE_ETH_RETA_GROUP_SIZE];

	for (uint16_t i = 0; i < NDIS_HASH_INDCNT; i++)
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			queues[i % period];
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	return vf.dev->dev_ops->reta_update(vf.dev, reta, NDIS_HASH_INDCNT);
}

static int
vf_hash_update(uint8_t *key, uint64_t rss_hf)
{
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_hf = rss_hf,
					 .rss_key_len = key != NULL ? KEY_BYTES : 0 };

	return vf.dev->dev_ops->rss_hash_update(vf.dev, &conf);
}

/* hn_xmit_pkts() and hn_recv_vf(): each queue sends, all packets arrive. */
static void
check_traffic(struct fixture *fx, uint16_t nb_queues)
{
	unsigned int nb = 0, nb_received;
	uint16_t ended = 0;

	for (uint32_t seed = 0; seed < 50; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_settle(fx);
	for (uint16_t q = 0; q < nb_queues; q++) {
		struct rte_mbuf *pkts[FX_BURST];

		nb_received = rte_eth_rx_burst(vf.port, q, pkts, RTE_DIM(pkts));
		for (unsigned int i = 0; i < nb_received; i++)
			pkts[i]->port = 0;
		ended += vf.dev->tx_pkt_burst(vf.dev->data->tx_queues[q], pkts, nb_received);
		nb += nb_received;
		if (nb_received != 0)
			q--;
	}
	assert_int_equal(nb, 50);
	assert_int_equal(ended, nb);
	fx_drain(fx);
}

/* The host's table; netvsc sets it in the host before the VF. */
static void
test_table_of_ndis(void **state)
{
	static const uint16_t orders[][4] = { { 0, 1, 2, 3 }, { 3, 1, 2, 0 } };
	uint8_t key[KEY_BYTES];
	struct fixture *fx = *state;

	memset(key, 0x5a, sizeof(key));
	vf_attach(fx);
	vf_bring_up(fx, 4, FX_RSS);
	check_traffic(fx, 4);
	for (unsigned int i = 0; i < RTE_DIM(orders); i++) {
		assert_int_equal(vf_reta_update(orders[i], 4), 0);
		check_traffic(fx, 4);
		assert_int_equal(vf_hash_update(i == 0 ? key : NULL, FX_RSS), 0);
		check_traffic(fx, 4);
	}
	/* hn_dev_stop(), hn_dev_start() */
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(vf_reta_update(orders[0], 4), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_traffic(fx, 4);
	vf_detach();
}

/* 3 queues: netvsc's initial table is i % 3 over 128 entries. */
static void
test_table_of_three(void **state)
{
	static const uint16_t order[] = { 0, 1, 2 };
	struct fixture *fx = *state;

	vf_attach(fx);
	vf_bring_up(fx, 3, FX_RSS);
	assert_int_equal(vf_reta_update(order, 3), 0);
	check_traffic(fx, 3);
	vf_detach();
}

/* An unsupported table: error, and the old table stays in effect. */
static void
test_table_refused(void **state)
{
	static const uint16_t of_eight[] = { 0, 1, 2, 3, 1, 0, 3, 2 };
	static const uint16_t out_of_range[] = { 0, 1, 2, 4 };
	static const uint16_t order[] = { 0, 1, 2, 3 };
	struct fixture *fx = *state;

	vf_attach(fx);
	fx_expect_error("the port has no Rx queues");
	assert_int_equal(vf_reta_update(order, 4), -EINVAL);
	fx_expect_error("repeats its first 4 entries");
	vf_bring_up(fx, 4, FX_RSS);
	assert_int_equal(vf_reta_update(of_eight, 8), -ENOTSUP);
	check_traffic(fx, 4);
	fx_expect_error("is Rx queue 4, but the port has 4 Rx queues");
	assert_int_equal(vf_reta_update(out_of_range, 4), -EINVAL);
	fx_expect_error("hash types");
	assert_int_equal(vf_hash_update(NULL, RTE_ETH_RSS_L2_PAYLOAD), -EINVAL);
	fx_expect_error("rte_eth_dev_configure");
	assert_int_equal(vf_hash_update(NULL, 0), -ENOTSUP);
	check_traffic(fx, 4);
	vf_detach();
}

/* One queue receives all packets: updates are accepted without an outage. */
static void
test_one_queue(void **state)
{
	static const uint64_t at_first[] = { FX_RSS, 0 };
	static const uint16_t order[] = { 0 };
	uint8_t key[KEY_BYTES], got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };
	struct fixture *fx = *state;

	vf_attach(fx);
	for (unsigned int i = 0; i < RTE_DIM(at_first); i++) {
		memset(key, 0x33 + i, sizeof(key));
		vf_bring_up(fx, 1, at_first[i]);
		assert_int_equal(vf_reta_update(order, 1), 0);
		assert_int_equal(vf_hash_update(NULL, FX_RSS), 0);
		assert_int_equal(vf_hash_update(key, FX_RSS), 0);
		check_traffic(fx, 1);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(vf.port, &conf), 0);
		assert_memory_equal(got, key, sizeof(key));
		assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
		assert_int_equal(vf_hash_update(NULL, 0), 0);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(vf.port, &conf), 0);
		assert_int_equal(conf.rss_hf, 0);
		check_traffic(fx, 1);
		assert_int_equal(fx_xstat(vf.port, "rx_outages"), 0);
		assert_int_equal(fx_dev_stop(fx, 1), 0);
	}
	vf_detach();
}

/*
 * hn_dev_rx_queue_release(): netvsc releases queues of its synthetic port, even
 * if the VF was never configured.
 */
static void
test_release_by_netvsc(void **state)
{
	struct fixture *fx = *state;

	vf_attach(fx);
	vf.dev->dev_ops->rx_queue_release(vf.dev, 0);
	vf.dev->dev_ops->tx_queue_release(vf.dev, 0);
	vf_bring_up(fx, 4, FX_RSS);
	check_traffic(fx, 4);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	for (uint16_t q = 2; q < 4; q++)
		vf.dev->dev_ops->rx_queue_release(vf.dev, q);
	vf_bring_up(fx, 2, FX_RSS);
	check_traffic(fx, 2);
	vf_detach();
}

/* Modes and statistics that netvsc passes to the VF, in its order. */
static void
test_modes_and_statistics(void **state)
{
	struct rte_ether_addr group = { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } };
	struct rte_eth_xstat_name names[512];
	struct rte_eth_xstat xstats[512];
	struct rte_eth_stats stats;
	struct fixture *fx = *state;
	int nb;

	vf_attach(fx);
	vf_bring_up(fx, 2, FX_RSS);
	assert_int_equal(rte_eth_promiscuous_enable(vf.port), 0);
	assert_int_equal(rte_eth_promiscuous_disable(vf.port), 0);
	assert_int_equal(rte_eth_allmulticast_enable(vf.port), 0);
	assert_int_equal(rte_eth_allmulticast_disable(vf.port), 0);
	/* no filter: all multicast packets arrive */
	assert_int_equal(rte_eth_dev_set_mc_addr_list(vf.port, &group, 1), -ENOTSUP);
	check_traffic(fx, 2);
	assert_int_equal(rte_eth_stats_get(vf.port, &stats), 0);
	assert_int_equal(stats.ipackets, 50);
	assert_int_equal(stats.opackets, 50);
	nb = rte_eth_xstats_get_names(vf.port, NULL, 0);
	assert_in_range(nb, 1, RTE_DIM(names));
	assert_int_equal(rte_eth_xstats_get_names(vf.port, names, RTE_DIM(names)), nb);
	assert_int_equal(rte_eth_xstats_get(vf.port, xstats, RTE_DIM(xstats)), nb);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	/* hn_dev_mtu_set() on a stopped port */
	assert_int_equal(rte_eth_dev_set_mtu(vf.port, 1400), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_traffic(fx, 2);
	vf_detach();
}

static void
wait_for_count(const struct fixture *fx, const char *xstat, uint64_t nb)
{
	uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (fx_xstat(fx->port[i], xstat) < nb) {
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(100);
		}
}

/*
 * The host services the adapter: netvsc uses its synthetic device meanwhile. It sees no
 * removal, and its next order to use the VF finds it attached (hn_vf_add_unlocked()).
 */
static void
test_service(void **state)
{
	static const uint16_t order[] = { 1, 0 };
	struct fixture *fx = *state;

	vf_attach(fx);
	vf_bring_up(fx, 2, FX_RSS);
	check_traffic(fx, 2);
	fx_command("reset fn=0 outage=5ms");
	wait_for_count(fx, "recoveries", 1);
	check_traffic(fx, 2);
	assert_int_equal(vf_reta_update(order, 2), 0);
	check_traffic(fx, 2);
	vf_detach();
}

static bool is_removed;

/* hn_remove_delayed(), in an alarm that the removal event has set. */
static void
remove_delayed(void *arg)
{
	struct rte_device *device = vf.dev->device;

	assert_int_equal(rte_eth_dev_owner_unset(vf.port, vf.owner.id), 0);
	assert_int_equal(rte_eth_dev_callback_unregister(vf.port, RTE_ETH_EVENT_INTR_RMV,
							 on_removal, NULL), 0);
	assert_int_equal(rte_eth_dev_stop(vf.port), 0);
	assert_int_equal(rte_eth_dev_close(vf.port), 0);
	assert_int_equal(rte_dev_remove(device), 0);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
}

/* The device does not return in time: netvsc removes the VF, and attaches the next one. */
static void
test_removal(void **state)
{
	struct fixture *fx = *state;
	uint64_t end = fx_deadline();

	fx_expect_error("");
	fx_remove(fx);
	assert_int_equal(fx_probe(fx, "recovery_timeout=1"), 0);
	vf_attach(fx);
	vf_bring_up(fx, 2, FX_RSS);
	check_traffic(fx, 2);
	fx_command("remove fn=0");
	while (__atomic_load_n(&vf.nb_removed, __ATOMIC_ACQUIRE) == 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(rte_eal_alarm_set(1, remove_delayed, &is_removed), 0);
	while (!__atomic_load_n(&is_removed, __ATOMIC_ACQUIRE)) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	fx->is_probed = false;
	memset(fx->is_started, 0, sizeof(fx->is_started));
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
	/* The ports count from 0 again. */
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_model.port(0, i, &fx->wire_before[i]), 0);
	vf_attach(fx);
	vf_bring_up(fx, 2, FX_RSS);
	check_traffic(fx, 2);
	vf_detach();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_service),
		FX_TEST(test_removal),
		FX_TEST(test_table_of_ndis),
		FX_TEST(test_table_of_three),
		FX_TEST(test_table_refused),
		FX_TEST(test_one_queue),
		FX_TEST(test_release_by_netvsc),
		FX_TEST(test_modes_and_statistics),
	};

	return FX_RUN("netvsc", tests);
}
