/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An RSS rebuild and a stop that are aborted, because a burst does not end. An
 * interrupt that was enabled during the rebuild still causes a wake-up; one that was
 * disabled again does not.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_mempool.h>

#include "fixture.h"

#define LIMIT_MS 20000 /* limit of a sleep that must end */
#define NB_RXD 64
#define NB_MBUFS 255

/* ---- A mempool that can block its allocations ---------------------------- */

/* 0: open; 1: shut; 2: an allocation is blocked. */
static uint32_t gate;

static void
gate_pass(bool is_get)
{
	while (is_get && __atomic_load_n(&gate, __ATOMIC_ACQUIRE) != 0) {
		__atomic_store_n(&gate, 2, __ATOMIC_RELEASE);
		while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) == 2)
			rte_delay_us_sleep(100);
	}
}

/* ---- Two queues, one of which blocks ------------------------------------- */

/* The queue that receives this frame. */
static uint16_t
queue_of(struct fixture *fx, uint32_t seed)
{
	uint64_t end = fx_deadline();
	struct rte_mbuf *m;
	uint16_t q;

	fx_send_one(fx, seed);
	for (q = 0; rte_eth_rx_burst(fx->port[1], q, &m, 1) == 0; q = !q)
		assert_true(rte_get_timer_cycles() < end);
	rte_pktmbuf_free(m);
	return q;
}

static uint32_t
seed_of(struct fixture *fx, uint16_t queue)
{
	uint32_t seed = 0;

	while (queue_of(fx, seed) != queue)
		seed++;
	return seed;
}

static void
setup_queues(struct fixture *fx, uint16_t port, struct rte_mempool *gated)
{
	struct rte_eth_conf conf = {
		.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
		.rx_adv_conf.rss_conf.rss_hf = FX_RSS,
		.intr_conf.rxq = 1,
	};

	assert_int_equal(rte_eth_dev_configure(port, 2, 1, &conf), 0);
	fx_rx_setup(port, 0, NB_RXD, NULL, fx->pool);
	fx_rx_setup(port, 1, NB_RXD, NULL, gated);
	fx_tx_setup(port, 0, NB_RXD, NULL);
}

/* Polls queue 1 until the blocked burst has ended. */
static void *
poll_until_blocked(void *arg)
{
	const struct fixture *fx = arg;
	struct rte_mbuf *pkts[FX_BURST];
	uint16_t nb;

	do {
		nb = rte_eth_rx_burst(fx->port[1], 1, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, nb);
	} while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) != 0);
	return NULL;
}

/* Starts both ports; seeds: of a frame for each queue of port 1. Returns queue 1's pool. */
static struct rte_mempool *
start_ports(struct fixture *fx, uint32_t seeds[2])
{
	struct rte_mempool *gated;

	fx_expect_error("");
	fx_pool_hook = gate_pass;
	gated = rte_pktmbuf_pool_create_by_ops("gated", NB_MBUFS, 0, 0,
					       RTE_MBUF_DEFAULT_BUF_SIZE,
					       SOCKET_ID_ANY, fx_pool_ops);
	assert_non_null(gated);
	assert_int_equal(fx_configure(fx, fx->port[0],
				      &(struct fx_config){ 0 }), 0);
	setup_queues(fx, fx->port[1], gated);
	fx_restart(fx);
	for (uint16_t q = 0; q < 2; q++)
		seeds[q] = seed_of(fx, q);
	return gated;
}

/* Another thread polls queue 1; on return its burst is blocked. */
static pthread_t
block_burst(struct fixture *fx, uint32_t seed)
{
	pthread_t poller;
	uint64_t end;

	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&poller, NULL, poll_until_blocked, fx), 0);
	for (end = fx_deadline(); __atomic_load_n(&gate, __ATOMIC_ACQUIRE) != 2;
	     fx_send_one(fx, seed))
		assert_true(rte_get_timer_cycles() < end);
	return poller;
}

/* An RSS table update, which pauses all bursts. */
static void *
change_table(void *arg)
{
	const struct fixture *fx = arg;
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	assert_int_equal(rte_eth_dev_rss_reta_query(fx->port[1], &reta, 64), 0);
	for (unsigned int i = 0; i < 64; i++)
		reta.reta[i] ^= 1;
	return (void *)(intptr_t)rte_eth_dev_rss_reta_update(fx->port[1], &reta, 64);
}

/* Bursts are paused: the test must not poll. */
static void
await_paused(uint16_t port)
{
	uint64_t end = fx_deadline();
	FILE *null = fopen("/dev/null", "w");

	assert_non_null(null);
	while (rte_eth_rx_descriptor_dump(port, 0, 0, 1, null) != -EBUSY)
		assert_true(rte_get_timer_cycles() < end);
	fclose(null);
}

/*
 * Wake-ups by a frame after the rebuild was aborted. enabled: the interrupt of
 * queue 0 is enabled last.
 */
static int
nb_woken_after_abort(struct fixture *fx, bool enabled)
{
	struct rte_epoll_event event;
	uint16_t port = fx->port[1];
	uint32_t seeds[2];
	pthread_t poller, changer;
	struct rte_mempool *gated = start_ports(fx, seeds);
	void *changed;
	int nb;

	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD,
						   RTE_INTR_EVENT_ADD, NULL), 0);
	poller = block_burst(fx, seeds[1]);
	assert_int_equal(pthread_create(&changer, NULL, change_table, fx), 0);
	await_paused(port);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), 0);
	if (!enabled)
		assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), 0);
	assert_int_equal(pthread_join(changer, &changed), 0);
	assert_int_equal((int)(intptr_t)changed, -EBUSY);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "a burst does not end"), 1);
	fx_send_one(fx, seeds[0]);
	/* The device works within the sender's doorbell. */
	nb = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1,
			    enabled ? LIMIT_MS : 0);
	__atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(poller, NULL), 0);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), 0);
	rte_pktmbuf_free(fx_receive_one(port, 0));
	/* The interrupt works again; the CQ is still the same. */
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), 0);
	fx_send_one(fx, seeds[0]);
	assert_int_equal(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, LIMIT_MS), 1);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), 0);
	rte_pktmbuf_free(fx_receive_one(port, 0));
	/* Now the update succeeds. */
	assert_int_equal((intptr_t)change_table(fx), 0);
	fx_drain(fx);
	fx_stop(fx);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &(struct rte_eth_conf){ 0 }), 0);
	fx->ignore_counters = true;
	rte_mempool_free(gated);
	return nb;
}

FX_TEST(test_enabled_during_aborted_rebuild)
{
	assert_int_equal(nb_woken_after_abort(fx, true), 1);
}

FX_TEST(test_disabled_during_aborted_rebuild)
{
	assert_int_equal(nb_woken_after_abort(fx, false), 0);
}

/* The queues stay while the burst uses them; after it the stop succeeds. */
FX_TEST(test_stop_beside_blocked_burst)
{
	uint32_t seeds[2];
	struct rte_mempool *gated = start_ports(fx, seeds);
	pthread_t poller = block_burst(fx, seeds[1]);

	assert_int_equal(fx_dev_stop(fx, 1), -EBUSY);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "a burst does not end"), 1);
	__atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(poller, NULL), 0);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(rte_eth_dev_configure(fx->port[1], 1, 1,
					       &(struct rte_eth_conf){ 0 }), 0);
	fx->ignore_counters = true;
	rte_mempool_free(gated);
}
