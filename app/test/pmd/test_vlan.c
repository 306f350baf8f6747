/* SPDX-License-Identifier: BSD-3-Clause */

/* VLAN stripping switched on and off, by port and by queue, with traffic. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>

#include "bench.h"

#define LEN 200u

static const struct bench_config keep = {
	.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};
static const struct bench_config strip = {
	.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};

/* Priority 5: it is lost on the way, the identifier is not. */
static struct rte_mbuf *
tagged(struct bench *bench, uint16_t id)
{
	struct rte_mbuf *m = bench_frame(bench->pool, LEN, id);

	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = id | 5 << 13;
	return m;
}

/* The frame with its tag in the mbuf, or in its place in the frame. */
static void
check_tag(const struct rte_mbuf *m, uint16_t id, bool is_stripped)
{
	uint8_t plain[LEN], bytes[LEN + RTE_VLAN_HLEN];

	bench_frame_bytes(plain, LEN, id);
	assert_true((m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0);
	assert_int_equal(m->vlan_tci, id);
	assert_int_equal((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0, is_stripped);
	if (is_stripped) {
		bench_check_bytes(m, plain, LEN);
		return;
	}
	memcpy(bytes, plain, 12);
	memcpy(bytes + 12, (const uint8_t[]){ 0x81, 0, id >> 8, id & 0xff }, 4);
	memcpy(bytes + 16, plain + 12, LEN - 12);
	bench_check_bytes(m, bytes, sizeof(bytes));
}

static void
pass_tagged(struct bench *bench, uint16_t queue, uint16_t id, bool is_stripped)
{
	struct rte_mbuf *m = tagged(bench, id);

	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], queue, &m, 1), 1);
	check_tag(m, id, is_stripped);
	rte_pktmbuf_free(m);
}

static bool
says_strip(uint16_t port, uint16_t queue)
{
	struct rte_eth_rxq_info info;

	assert_int_equal(rte_eth_rx_queue_info_get(port, queue, &info), 0);
	return (info.conf.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
}

static void
test_port_on_and_off_while_running(void **state)
{
	struct bench *bench = *state;
	uint16_t rx;

	bench->ignore_counters = true; /* tags that are put back are counted */
	bench_start(bench, &keep);
	rx = bench->port[1];
	for (uint16_t id = 1; id < 200; id++) {
		bool is_on = id % 3 == 0;

		assert_int_equal(rte_eth_dev_set_vlan_offload(rx,
			is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0), 0);
		assert_int_equal(rte_eth_dev_get_vlan_offload(rx),
				 is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0);
		assert_int_equal(says_strip(rx, 0), is_on);
		pass_tagged(bench, 0, id, is_on);
	}
}

/* What was chosen while it ran holds after a stop and a start, too. */
static void
test_choice_survives_restart(void **state)
{
	struct bench *bench = *state;
	uint16_t rx;

	bench->ignore_counters = true;
	bench_start(bench, &strip);
	rx = bench->port[1];
	pass_tagged(bench, 0, 5, true);
	assert_int_equal(rte_eth_dev_set_vlan_offload(rx, 0), 0);
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	pass_tagged(bench, 0, 6, false);
	/* and while it is stopped */
	assert_int_equal(bench_dev_stop(bench, 1), 0);
	assert_int_equal(rte_eth_dev_set_vlan_offload(rx, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	pass_tagged(bench, 0, 7, true);
}

/* Of some queues one strips: each frame is as its queue was told. */
static void
check_one_queue(struct bench *bench, uint16_t nb_rxq, uint16_t stripping)
{
	struct bench_config config = keep;
	unsigned int nb_of[4] = { 0 };

	config.nb_rxq = nb_rxq;
	config.rss_hf = BENCH_RSS;
	bench_start(bench, &config);
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(bench->port[1], stripping, 1), 0);
	for (uint16_t id = 1; id <= 100; id++) {
		struct rte_mbuf *m = tagged(bench, id);
		uint64_t end = bench_deadline();
		uint16_t q = 0;

		bench_send(bench->port[0], 0, &m, 1);
		while (rte_eth_rx_burst(bench->port[1], q, &m, 1) == 0) {
			q = (q + 1) % nb_rxq;
			assert_true(rte_get_timer_cycles() < end);
		}
		check_tag(m, id, q == stripping);
		nb_of[q]++;
		rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < nb_rxq; q++) {
		assert_true(nb_of[q] > 0);
		assert_int_equal(says_strip(bench->port[1], q), q == stripping);
	}
	/* the port's switch turns all of them */
	assert_int_equal(rte_eth_dev_set_vlan_offload(bench->port[1],
						      RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_true(says_strip(bench->port[1], q));
	bench_stop(bench);
}

static void
test_one_queue(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	check_one_queue(bench, 4, 2);
	/* three have a fourth one hidden behind the first */
	check_one_queue(bench, 3, 0);
}

/* Asked for at the setup of one queue, as an offload of that queue. */
static void
test_queue_offload_at_setup(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_rxconf conf = { .offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP };

	bench_start(bench, &keep);
	bench_stop(bench);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], 0, 256, SOCKET_ID_ANY,
						&conf, bench->pool), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	bench->nb_tags[0]++;
	pass_tagged(bench, 0, 9, true);
}

static void
test_refused(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_conf conf = { 0 };
	uint16_t port = bench->port[0];

	/* filter, extend and QinQ are no offloads of the device */
	assert_int_equal(bench_configure(bench, port, &keep), 0);
	bench_expect_error("thdev");
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_FILTER_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_EXTEND_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_set_vlan_offload(port, RTE_ETH_QINQ_STRIP_OFFLOAD),
			 -EINVAL);
	assert_int_equal(rte_eth_dev_get_vlan_offload(port), 0);
	bench_expect_error("VLAN-filtering disabled");
	assert_true(rte_eth_dev_vlan_filter(port, 5, 1) < 0);
	assert_int_equal(rte_eth_dev_set_vlan_ether_type(port, RTE_ETH_VLAN_TYPE_OUTER,
							 RTE_ETHER_TYPE_QINQ), -ENOTSUP);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(port, 5, 1), -ENOTSUP);
	bench_expect_error("queue_id=1");
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(port, 1, 1), -EINVAL);
	/* a queue that was not set up: said, and nothing changed */
	assert_int_equal(rte_eth_dev_configure(bench->port[1], 1, 1, &conf), 0);
	bench_expect_error("VLAN stripping of receive queue 0: set it up first");
	rte_eth_dev_set_vlan_strip_on_queue(bench->port[1], 0, 1);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "set it up first"), 1);
	/* the port's switch is for queues to come */
	assert_int_equal(rte_eth_dev_set_vlan_offload(bench->port[1],
						      RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], 0, 256, SOCKET_ID_ANY, NULL,
						bench->pool), 0);
	assert_true(says_strip(bench->port[1], 0));
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

/* Switched by another thread, time and again, amid bursts: each is whole. */
static void
test_switched_amid_bursts(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[BENCH_BURST];
	pthread_t thread;

	bench->ignore_counters = true;
	bench_start(bench, &keep);
	atomic_store(&is_toggling, true);
	assert_int_equal(pthread_create(&thread, NULL, toggle, &bench->port[1]), 0);
	for (unsigned int round = 0; round < 200; round++) {
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = tagged(bench, i + 1);
		bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
		assert_int_equal(bench_receive(bench->port[1], 0, pkts, RTE_DIM(pkts)),
				 RTE_DIM(pkts));
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			check_tag(pkts[i], i + 1,
				  (pkts[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0);
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
	}
	atomic_store(&is_toggling, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_port_on_and_off_while_running),
		BENCH_TEST(test_choice_survives_restart),
		BENCH_TEST(test_one_queue),
		BENCH_TEST(test_queue_offload_at_setup),
		BENCH_TEST(test_refused),
		BENCH_TEST(test_switched_amid_bursts),
	};

	return BENCH_RUN("vlan", tests);
}
