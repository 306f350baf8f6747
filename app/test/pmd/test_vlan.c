/* SPDX-License-Identifier: BSD-3-Clause */

/* VLAN strip per port and per queue, switched under traffic. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>

#include "fixture.h"

#define LEN 200u

static const struct fx_config keep = {
	.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};
static const struct fx_config strip = {
	.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};

/* Priority 5 is lost on the way, the id is kept. */
static struct rte_mbuf *
tagged(struct fixture *fx, uint16_t id)
{
	struct rte_mbuf *m = fx_frame(fx->pool, LEN, id);

	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = id | 5 << 13;
	return m;
}

/* A frame with its tag in the mbuf or in the frame. */
static void
check_tag(const struct rte_mbuf *m, uint16_t id, bool is_stripped)
{
	uint8_t defaults[LEN], bytes[LEN + RTE_VLAN_HLEN];

	fx_frame_bytes(defaults, LEN, id);
	assert_true((m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0);
	assert_int_equal(m->vlan_tci, id);
	assert_int_equal((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0, is_stripped);
	if (is_stripped) {
		fx_check_bytes(m, defaults, LEN);
		return;
	}
	memcpy(bytes, defaults, 12);
	memcpy(bytes + 12, (const uint8_t[]){ 0x81, 0, id >> 8, id & 0xff }, 4);
	memcpy(bytes + 16, defaults + 12, LEN - 12);
	fx_check_bytes(m, bytes, sizeof(bytes));
}

static void
pass_tagged(struct fixture *fx, uint16_t queue, uint16_t id, bool is_stripped)
{
	struct rte_mbuf *m = tagged(fx, id);

	fx_send(fx->port[0], 0, &m, 1);
	assert_int_equal(fx_receive(fx->port[1], queue, &m, 1), 1);
	check_tag(m, id, is_stripped);
	rte_pktmbuf_free(m);
}

static bool
reports_strip(uint16_t port, uint16_t queue)
{
	return (fx_rxq_info(port, queue).conf.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
}

FX_TEST(test_port_on_and_off_while_running)
{
	uint16_t rx;

	fx->ignore_counters = true; /* reinserted tags are counted */
	fx_start(fx, &keep);
	rx = fx->port[1];
	for (uint16_t id = 1; id < 200; id++) {
		bool is_on = id % 3 == 0;

		assert_int_equal(rte_eth_dev_set_vlan_offload(rx,
			is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0), 0);
		assert_int_equal(rte_eth_dev_get_vlan_offload(rx),
				 is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0);
		assert_int_equal(reports_strip(rx, 0), is_on);
		pass_tagged(fx, 0, id, is_on);
	}
}

/* The setting survives a stop and start. */
FX_TEST(test_setting_survives_restart)
{
	uint16_t rx;

	fx->ignore_counters = true;
	fx_start(fx, &strip);
	rx = fx->port[1];
	pass_tagged(fx, 0, 5, true);
	assert_int_equal(rte_eth_dev_set_vlan_offload(rx, 0), 0);
	fx_stop(fx);
	fx_restart(fx);
	pass_tagged(fx, 0, 6, false);
	/* also a setting made while stopped */
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(rte_eth_dev_set_vlan_offload(rx, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	pass_tagged(fx, 0, 7, true);
}

/* One queue strips: each frame is as its queue is configured. */
static void
check_one_queue(struct fixture *fx, uint16_t nb_rxq, uint16_t stripping)
{
	struct fx_config config = keep;
	unsigned int nb_of[4] = { 0 };

	config.nb_rxq = nb_rxq;
	config.rss_hf = FX_RSS;
	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(fx->port[1], stripping, 1), 0);
	for (uint16_t id = 1; id <= 100; id++) {
		struct rte_mbuf *m = tagged(fx, id);
		uint64_t end = fx_deadline();
		uint16_t q = 0;

		fx_send(fx->port[0], 0, &m, 1);
		while (rte_eth_rx_burst(fx->port[1], q, &m, 1) == 0) {
			q = (q + 1) % nb_rxq;
			assert_true(rte_get_timer_cycles() < end);
		}
		check_tag(m, id, q == stripping);
		nb_of[q]++;
		rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < nb_rxq; q++) {
		assert_true(nb_of[q] > 0);
		assert_int_equal(reports_strip(fx->port[1], q), q == stripping);
	}
	/* the port setting changes all queues */
	assert_int_equal(rte_eth_dev_set_vlan_offload(fx->port[1],
						      RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_true(reports_strip(fx->port[1], q));
	fx_stop(fx);
}

FX_TEST(test_one_queue)
{
	fx->ignore_counters = true;
	check_one_queue(fx, 4, 2);
	/* three queues poll four hardware queues */
	check_one_queue(fx, 3, 0);
}

/* The offload of one queue at its setup. */
FX_TEST(test_queue_offload_at_setup)
{
	struct rte_eth_rxconf conf = { .offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP };

	fx_start(fx, &keep);
	fx_stop(fx);
	fx_rx_setup(fx->port[1], 0, 256, &conf, fx->pool);
	fx_restart(fx);
	fx->nb_tags[0]++;
	pass_tagged(fx, 0, 9, true);
}

FX_TEST(test_refused)
{
	struct rte_eth_conf conf = { 0 };
	uint16_t port = fx->port[0];

	/* filter, extend and QinQ are unsupported */
	assert_int_equal(fx_configure(fx, port, &keep), 0);
	fx_expect_error("thdev");
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_FILTER_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_EXTEND_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_QINQ_STRIP_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_get_vlan_offload(port), 0);
	fx_expect_error("VLAN-filtering disabled");
	assert_true(rte_eth_dev_vlan_filter(port, 5, 1) < 0);
	assert_int_equal(rte_eth_dev_set_vlan_ether_type(port, RTE_ETH_VLAN_TYPE_OUTER,
							 RTE_ETHER_TYPE_QINQ), -ENOTSUP);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(port, 5, 1), -ENOTSUP);
	fx_expect_error("queue_id=1");
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(port, 1, 1), -EINVAL);
	/* a queue that is not set up: error, no change */
	assert_int_equal(rte_eth_dev_configure(fx->port[1], 1, 1, &conf), 0);
	fx_expect_error("cannot set VLAN stripping of Rx queue 0: the queue is not set up");
	rte_eth_dev_set_vlan_strip_on_queue(fx->port[1], 0, 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "the queue is not set up"), 1);
	/* the port setting applies to later queue setups */
	assert_int_equal(rte_eth_dev_set_vlan_offload(fx->port[1],
						      RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	fx_rx_setup(fx->port[1], 0, 256, NULL, fx->pool);
	assert_true(reports_strip(fx->port[1], 0));
}

static atomic_bool is_toggling;

static void *
toggle(void *arg)
{
	uint16_t port = *(const uint16_t *)arg;

	for (unsigned int i = 0; atomic_load(&is_toggling); i++) {
		if (i % 2 == 0)
			rte_eth_dev_set_vlan_offload(port, i % 4 == 0 ?
						     RTE_ETH_VLAN_STRIP_OFFLOAD : 0);
		else
			rte_eth_dev_set_vlan_strip_on_queue(port, 0, i % 4 == 1);
	}
	return NULL;
}

/* A thread switches stripping during bursts: each packet is consistent. */
FX_TEST(test_switched_during_bursts)
{
	struct rte_mbuf *pkts[FX_BURST];
	pthread_t thread;

	fx->ignore_counters = true;
	fx_start(fx, &keep);
	atomic_store(&is_toggling, true);
	assert_int_equal(pthread_create(&thread, NULL, toggle, &fx->port[1]), 0);
	for (unsigned int round = 0; round < 200; round++) {
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = tagged(fx, i + 1);
		fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
		assert_int_equal(fx_receive(fx->port[1], 0, pkts, RTE_DIM(pkts)),
				 RTE_DIM(pkts));
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			check_tag(pkts[i], i + 1,
				  (pkts[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0);
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
	}
	atomic_store(&is_toggling, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
}
