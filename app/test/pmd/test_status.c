/* SPDX-License-Identifier: BSD-3-Clause */

/* Where the queues stand: counts, descriptors, and how they are set up. */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_power_intrinsics.h>

#include "bench.h"

#define FRAME 100
#define NB_DESC 128

static const struct bench_config small = { .nb_rxd = NB_DESC, .nb_txd = NB_DESC };

static void
send_frames(const struct bench *bench, unsigned int nb)
{
	struct rte_mbuf *pkts[NB_DESC];

	assert_in_range(nb, 1, RTE_DIM(pkts));
	for (unsigned int i = 0; i < nb; i++)
		pkts[i] = bench_frame(bench->pool, FRAME, i);
	bench_send(bench->port[0], 0, pkts, nb);
}

static void
receive_frames(const struct bench *bench, uint16_t queue, unsigned int nb)
{
	struct rte_mbuf *pkts[NB_DESC];

	assert_int_equal(bench_receive(bench->port[1], queue, pkts, nb), nb);
	rte_pktmbuf_free_bulk(pkts, nb);
}

/* Waiting packets of all queues of port 1, once they are nb or time is up. */
static unsigned int
await_rx(const struct bench *bench, uint16_t nb_queues, unsigned int nb)
{
	uint64_t end = bench_deadline();
	unsigned int total;

	do {
		total = 0;
		for (uint16_t q = 0; q < nb_queues; q++) {
			int got = rte_eth_rx_queue_count(bench->port[1], q);

			assert_true(got >= 0);
			total += got;
		}
	} while (total != nb && rte_get_timer_cycles() < end);
	return total;
}

/* Each descriptor of the receive queue of port 1: nb wait, then nb_posted. */
static void
check_rx(const struct bench *bench, unsigned int nb, unsigned int nb_posted)
{
	for (unsigned int i = 0; i < NB_DESC; i++) {
		int wanted = i < nb ? RTE_ETH_RX_DESC_DONE :
			     i < nb_posted ? RTE_ETH_RX_DESC_AVAIL :
					     RTE_ETH_RX_DESC_UNAVAIL;

		assert_int_equal(rte_eth_rx_descriptor_status(bench->port[1], 0, i),
				 wanted);
	}
	assert_int_equal(rte_eth_rx_descriptor_status(bench->port[1], 0, NB_DESC),
			 -EINVAL);
	assert_int_equal(rte_eth_rx_descriptor_status(bench->port[1], 0, UINT16_MAX),
			 -EINVAL);
}

static void
test_rx_queue_count(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &small);
	for (unsigned int turn = 0; turn < 10; turn++) {
		assert_int_equal(await_rx(bench, 1, 0), 0);
		send_frames(bench, 50);
		assert_int_equal(await_rx(bench, 1, 50), 50);
		receive_frames(bench, 0, 1);
		assert_int_equal(await_rx(bench, 1, 49), 49);
		receive_frames(bench, 0, 49);
	}
}

/* Those that wait, those that the device has, those of neither. */
static void
test_rx_descriptor_status(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &small);
	check_rx(bench, 0, NB_DESC);
	send_frames(bench, 5);
	assert_int_equal(await_rx(bench, 1, 5), 5);
	check_rx(bench, 5, NB_DESC);
	receive_frames(bench, 0, 3);
	/* not refilled before 32 are missing */
	check_rx(bench, 2, NB_DESC - 3);
	receive_frames(bench, 0, 2);
	check_rx(bench, 0, NB_DESC - 5);
	send_frames(bench, 30);
	receive_frames(bench, 0, 30);
	check_rx(bench, 0, NB_DESC);
}

/* Queues that only the device has are polled with ethdev's, and counted. */
static void
test_rx_count_of_three_queues(void **state)
{
	struct bench *bench = *state;
	struct bench_config three = { .nb_rxq = 3, .rss_hf = BENCH_RSS };
	unsigned int nb[3], total = 0;

	bench_start(bench, &three);
	send_frames(bench, 100);
	assert_int_equal(await_rx(bench, 3, 100), 100);
	for (uint16_t q = 0; q < 3; q++) {
		nb[q] = rte_eth_rx_queue_count(bench->port[1], q);
		total += nb[q];
		if (nb[q] == 0)
			continue;
		assert_int_equal(rte_eth_rx_descriptor_status(bench->port[1], q,
							      nb[q] - 1),
				 RTE_ETH_RX_DESC_DONE);
		assert_int_equal(rte_eth_rx_descriptor_status(bench->port[1], q, nb[q]),
				 RTE_ETH_RX_DESC_AVAIL);
		receive_frames(bench, q, nb[q]);
		assert_int_equal(rte_eth_rx_queue_count(bench->port[1], q), 0);
	}
	assert_int_equal(total, 100);
}

/* The free ones come first, then nb_full that the device has. */
static void
check_tx(const struct bench *bench, unsigned int nb_full)
{
	for (unsigned int i = 0; i < NB_DESC; i++)
		assert_int_equal(rte_eth_tx_descriptor_status(bench->port[0], 0, i),
				 i < NB_DESC - nb_full ? RTE_ETH_TX_DESC_DONE :
							 RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_eth_tx_descriptor_status(bench->port[0], 0, NB_DESC),
			 -EINVAL);
}

static void
test_tx_descriptor_status(void **state)
{
	struct bench *bench = *state;
	uint64_t end;

	bench_start(bench, &small);
	check_tx(bench, 0);
	bench_tell("stall port=1 tx");
	send_frames(bench, 7);
	check_tx(bench, 7);
	send_frames(bench, NB_DESC - 7);
	check_tx(bench, NB_DESC);
	assert_int_equal(rte_eth_tx_done_cleanup(bench->port[0], 0, 0), 0);
	bench_tell("resume port=1 tx");
	bench_settle(bench);
	/* done, though nobody has freed them */
	for (end = bench_deadline();
	     rte_eth_tx_descriptor_status(bench->port[0], 0, NB_DESC - 1) !=
		     RTE_ETH_TX_DESC_DONE &&
	     rte_get_timer_cycles() < end; )
		;
	check_tx(bench, 0);
	assert_int_equal(rte_eth_tx_done_cleanup(bench->port[0], 0, 3), 3);
	assert_int_equal(rte_eth_tx_done_cleanup(bench->port[0], 0, 0), NB_DESC - 3);
	assert_int_equal(rte_eth_tx_done_cleanup(bench->port[0], 0, 0), 0);
	check_tx(bench, 0);
}

/* A queue that the device has disabled takes nothing. */
static void
test_tx_of_dead_queue(void **state)
{
	struct bench *bench = *state;
	uint64_t end = bench_deadline();

	bench_start(bench, &small);
	bench_tell("cqe port=1 tx type=42");
	bench->refused_bytes[0] = FRAME;
	send_frames(bench, 1);
	while (rte_eth_tx_done_cleanup(bench->port[0], 0, 0) == 0 &&
	       rte_get_timer_cycles() < end)
		;
	for (unsigned int i = 0; i < NB_DESC; i++)
		assert_int_equal(rte_eth_tx_descriptor_status(bench->port[0], 0, i),
				 RTE_ETH_TX_DESC_UNAVAIL);
}

/* ---- Waiting for a packet ------------------------------------------------ */

/* Whether a core would go to sleep now: what rte_power_monitor() does first. */
static bool
may_wait(const struct bench *bench)
{
	struct rte_power_monitor_cond pmc;

	memset(&pmc, 0xee, sizeof(pmc));
	assert_int_equal(rte_eth_get_monitor_addr(bench->port[1], 0, &pmc), 0);
	assert_int_equal(pmc.size, 4);
	assert_int_equal((uintptr_t)pmc.addr % pmc.size, 0);
	return pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque) == 0;
}

/* In each lap: empty, then written, and what was taken is not seen again. */
static void
test_monitor_in_every_lap(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_power_monitor_cond pmc;
	uint64_t end;

	bench_start(bench, &config);
	/* a CQ of 128: ten laps, and what the owner bits count are eight */
	for (unsigned int i = 0; i < 10 * 128; i++) {
		assert_true(may_wait(bench));
		assert_int_equal(rte_eth_get_monitor_addr(bench->port[1], 0, &pmc), 0);
		send_frames(bench, 1);
		for (end = bench_deadline();
		     pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque) == 0 &&
		     rte_get_timer_cycles() < end; )
			;
		assert_int_equal(pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque), -1);
		assert_false(may_wait(bench));
		receive_frames(bench, 0, 1);
	}
}

/* No sleep while packets wait, in the ring or in what was taken off it. */
static void
test_monitor_with_packets_left(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &small);
	for (unsigned int i = 0; i < 10; i++) {
		send_frames(bench, 4);
		assert_int_equal(await_rx(bench, 1, 4), 4);
		for (unsigned int k = 0; k < 4; k++) {
			assert_false(may_wait(bench));
			receive_frames(bench, 0, 1);
		}
		assert_true(may_wait(bench));
	}
}

/* A device without buffers writes no CQE: the core has to poll. */
static void
test_monitor_without_buffers(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[80];
	unsigned int nb = 0;
	uint16_t got;

	config.rx_pool = bench_pool(bench, 2 * 64, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);
	send_frames(bench, RTE_DIM(held));
	bench_settle(bench);
	await_rx(bench, 1, 64);
	while ((got = rte_eth_rx_burst(bench->port[1], 0, held + nb, 8)) != 0)
		nb += got;
	assert_int_equal(nb, 64);
	assert_false(may_wait(bench));
	rte_pktmbuf_free_bulk(held, nb);
	assert_int_equal(rte_eth_rx_burst(bench->port[1], 0, held, 8), 0);
	assert_true(may_wait(bench));
}

static void
test_monitor_refused(void **state)
{
	struct bench *bench = *state;
	struct bench_config three = { .nb_rxq = 3, .rss_hf = BENCH_RSS };
	struct rte_power_monitor_cond pmc;
	uint16_t port = bench->port[0];
	unsigned int nb_refused = 0;

	assert_int_equal(bench_configure(bench, port, &small), 0);
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, &pmc), -EINVAL);
	bench_start(bench, &small);
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, &pmc), 0);
	bench_expect_error("");
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, NULL), -EINVAL);
	assert_int_equal(rte_eth_get_monitor_addr(port, 1, &pmc), -EINVAL);
	bench_stop(bench);
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, &pmc), -EINVAL);
	/* of four queues of the device, one is polled with another */
	bench_start(bench, &three);
	for (uint16_t q = 0; q < 3; q++)
		if (rte_eth_get_monitor_addr(port, q, &pmc) == -ENOTSUP)
			nb_refused++;
	assert_int_equal(nb_refused, 1);
}

/* ---- How they are set up ----------------------------------------------------- */

static void
test_queue_info(void **state)
{
	struct bench *bench = *state;
	const uint64_t rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
				     RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
	struct rte_eth_conf conf = { .rxmode.offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM };
	struct rte_eth_rxconf rxconf = {
		.rx_free_thresh = 17,
		.offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	};
	struct rte_eth_txconf txconf = {
		.tx_free_thresh = 9,
		.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
		.tx_deferred_start = 1,
	};
	struct rte_eth_rxconf greedy = { .rx_free_thresh = NB_DESC - 1 };
	struct rte_eth_rxq_info rxq;
	struct rte_eth_txq_info txq;
	uint16_t port = bench->port[0];

	assert_int_equal(rte_eth_dev_configure(port, 3, 2, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, NB_DESC, SOCKET_ID_ANY, &rxconf,
						bench->pool), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL,
						bench->pool), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 2, NB_DESC, SOCKET_ID_ANY, &greedy,
						bench->pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, NB_DESC, SOCKET_ID_ANY, &txconf), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 1, 256, SOCKET_ID_ANY, NULL), 0);

	assert_int_equal(rte_eth_rx_queue_info_get(port, 0, &rxq), 0);
	assert_ptr_equal(rxq.mp, bench->pool);
	assert_int_equal(rxq.nb_desc, NB_DESC);
	assert_int_equal(rxq.rx_buf_size, 2048);
	assert_int_equal(rxq.conf.rx_free_thresh, 17);
	assert_int_equal(rxq.conf.rx_drop_en, 1);
	assert_int_equal(rxq.conf.rx_deferred_start, 0);
	assert_int_equal(rxq.conf.offloads, rx_offloads);
	assert_int_equal(rxq.scattered_rx, 0);
	assert_int_equal(rxq.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_rx_queue_info_get(port, 1, &rxq), 0);
	assert_int_equal(rxq.conf.rx_free_thresh, 64);
	assert_int_equal(rxq.conf.offloads, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
	/* What is in effect, half the ring, not what was asked for. */
	assert_int_equal(rte_eth_rx_queue_info_get(port, 2, &rxq), 0);
	assert_int_equal(rxq.conf.rx_free_thresh, NB_DESC / 2);

	assert_int_equal(rte_eth_tx_queue_info_get(port, 0, &txq), 0);
	assert_int_equal(txq.nb_desc, NB_DESC);
	assert_int_equal(txq.conf.tx_free_thresh, 9);
	assert_int_equal(txq.conf.tx_deferred_start, 1);
	assert_int_equal(txq.conf.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_int_equal(rte_eth_tx_queue_info_get(port, 1, &txq), 0);
	assert_int_equal(txq.conf.tx_deferred_start, 0);

	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(rte_eth_rx_queue_info_get(port, 0, &rxq), 0);
	assert_int_equal(rxq.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_tx_queue_info_get(port, 0, &txq), 0);
	assert_int_equal(txq.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_tx_queue_info_get(port, 1, &txq), 0);
	assert_int_equal(txq.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
}

/* The names of the burst functions follow the offloads; stopped: none. */
static void
test_burst_mode(void **state)
{
	struct bench *bench = *state;
	struct bench_config csum = {
		.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM,
		.tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	struct rte_eth_burst_mode mode, other;

	assert_int_equal(bench_configure(bench, bench->port[0], &small), 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[0], 0, &mode), -EINVAL);
	assert_int_equal(rte_eth_tx_burst_mode_get(bench->port[0], 0, &mode), -EINVAL);
	bench_start(bench, &small);
	assert_int_equal(rte_eth_tx_burst_mode_get(bench->port[0], 0, &mode), 0);
	assert_string_equal(mode.info, "Scalar");
	assert_int_equal(mode.flags, 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[0], 0, &mode), 0);
	assert_memory_equal(mode.info, "Scalar", strlen("Scalar"));
	bench_stop(bench);
	bench_start(bench, &csum);
	assert_int_equal(rte_eth_tx_burst_mode_get(bench->port[0], 0, &other), 0);
	assert_string_equal(other.info, "Scalar Checksum");
	assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[0], 0, &other), 0);
	assert_memory_equal(other.info, "Scalar", strlen("Scalar"));
	bench_expect_error("queue_id=1");
	assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[0], 1, &mode), -EINVAL);
}

/* The burst that runs is named, not that of the next start. */
static void
test_burst_mode_is_kept(void **state)
{
	struct bench *bench = *state;
	const uint16_t port = bench->port[0];
	struct rte_eth_burst_mode before, mode;

	bench_start(bench, &small);
	assert_int_equal(rte_eth_rx_burst_mode_get(port, 0, &before), 0);
	assert_int_equal(rte_eth_dev_set_ptypes(port, 0, NULL, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(port, 0, &mode), 0);
	assert_string_equal(mode.info, before.info);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_rx_queue_count),
		BENCH_TEST(test_rx_descriptor_status),
		BENCH_TEST(test_rx_count_of_three_queues),
		BENCH_TEST(test_tx_descriptor_status),
		BENCH_TEST(test_tx_of_dead_queue),
		BENCH_TEST(test_monitor_in_every_lap),
		BENCH_TEST(test_monitor_with_packets_left),
		BENCH_TEST(test_monitor_without_buffers),
		BENCH_TEST(test_monitor_refused),
		BENCH_TEST(test_queue_info),
		BENCH_TEST(test_burst_mode),
		BENCH_TEST(test_burst_mode_is_kept),
	};

	return BENCH_RUN("status", tests);
}
