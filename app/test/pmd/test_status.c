/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue state: counts, descriptors and configuration. */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_power_intrinsics.h>

#include "fixture.h"

#define FRAME 100
#define NB_DESC 128

static const struct fx_config small = { .nb_rxd = NB_DESC, .nb_txd = NB_DESC };

static void
send_frames(const struct fixture *fx, unsigned int nb)
{
	assert_uint_in_range(nb, 1, NB_DESC);
	fx_send_burst(fx, 0, FRAME, nb);
}

static void
receive_frames(const struct fixture *fx, uint16_t queue, unsigned int nb)
{
	fx_expect_some(fx->port[1], queue, nb);
}

/* Packets waiting in all queues of port 1; returns at nb or after a timeout. */
static unsigned int
await_rx(const struct fixture *fx, uint16_t nb_queues, unsigned int nb)
{
	uint64_t end = fx_deadline();
	unsigned int total;

	do {
		total = 0;
		for (uint16_t q = 0; q < nb_queues; q++) {
			int got = rte_eth_rx_queue_count(fx->port[1], q);

			assert_true(got >= 0);
			total += got;
		}
	} while (total != nb && rte_get_timer_cycles() < end);
	return total;
}

/* Each descriptor of port 1's Rx queue: nb done, then nb_posted. */
static void
check_rx(const struct fixture *fx, unsigned int nb, unsigned int nb_posted)
{
	for (unsigned int i = 0; i < NB_DESC; i++) {
		int wanted = i < nb ? RTE_ETH_RX_DESC_DONE :
			     i < nb_posted ? RTE_ETH_RX_DESC_AVAIL :
					     RTE_ETH_RX_DESC_UNAVAIL;

		assert_int_equal(rte_eth_rx_descriptor_status(fx->port[1], 0, i),
				 wanted);
	}
	assert_int_equal(rte_eth_rx_descriptor_status(fx->port[1], 0, NB_DESC),
			 -EINVAL);
	assert_int_equal(rte_eth_rx_descriptor_status(fx->port[1], 0, UINT16_MAX),
			 -EINVAL);
}

FX_TEST(test_rx_queue_count)
{
	fx_start(fx, &small);
	for (unsigned int turn = 0; turn < 10; turn++) {
		assert_int_equal(await_rx(fx, 1, 0), 0);
		send_frames(fx, 50);
		assert_int_equal(await_rx(fx, 1, 50), 50);
		receive_frames(fx, 0, 1);
		assert_int_equal(await_rx(fx, 1, 49), 49);
		receive_frames(fx, 0, 49);
	}
}

/* Done, posted and free descriptors. */
FX_TEST(test_rx_descriptor_status)
{
	fx_start(fx, &small);
	check_rx(fx, 0, NB_DESC);
	send_frames(fx, 5);
	assert_int_equal(await_rx(fx, 1, 5), 5);
	check_rx(fx, 5, NB_DESC);
	receive_frames(fx, 0, 3);
	/* no refill before 32 are missing */
	check_rx(fx, 2, NB_DESC - 3);
	receive_frames(fx, 0, 2);
	check_rx(fx, 0, NB_DESC - 5);
	send_frames(fx, 30);
	/* One burst receives all of them, and refills the ring at its end. */
	assert_int_equal(await_rx(fx, 1, 30), 30);
	receive_frames(fx, 0, 30);
	check_rx(fx, 0, NB_DESC);
}

/* An ethdev queue counts packets of all hardware queues it polls. */
FX_TEST(test_rx_count_of_three_queues)
{
	struct fx_config three = { .nb_rxq = 3, .rss_hf = FX_RSS };
	unsigned int nb[3], total = 0;

	fx_start(fx, &three);
	send_frames(fx, 100);
	assert_int_equal(await_rx(fx, 3, 100), 100);
	for (uint16_t q = 0; q < 3; q++) {
		nb[q] = rte_eth_rx_queue_count(fx->port[1], q);
		total += nb[q];
		if (nb[q] == 0)
			continue;
		assert_int_equal(rte_eth_rx_descriptor_status(fx->port[1], q,
							      nb[q] - 1),
				 RTE_ETH_RX_DESC_DONE);
		assert_int_equal(rte_eth_rx_descriptor_status(fx->port[1], q, nb[q]),
				 RTE_ETH_RX_DESC_AVAIL);
		receive_frames(fx, q, nb[q]);
		assert_int_equal(rte_eth_rx_queue_count(fx->port[1], q), 0);
	}
	assert_int_equal(total, 100);
}

/* Free descriptors first, then nb_full posted ones. */
static void
check_tx(const struct fixture *fx, unsigned int nb_full)
{
	for (unsigned int i = 0; i < NB_DESC; i++)
		assert_int_equal(rte_eth_tx_descriptor_status(fx->port[0], 0, i),
				 i < NB_DESC - nb_full ? RTE_ETH_TX_DESC_DONE :
							 RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_eth_tx_descriptor_status(fx->port[0], 0, NB_DESC),
			 -EINVAL);
}

FX_TEST(test_tx_descriptor_status)
{
	uint64_t end;

	fx_start(fx, &small);
	check_tx(fx, 0);
	fx_command("stall port=1 tx");
	send_frames(fx, 7);
	check_tx(fx, 7);
	send_frames(fx, NB_DESC - 7);
	check_tx(fx, NB_DESC);
	assert_int_equal(rte_eth_tx_done_cleanup(fx->port[0], 0, 0), 0);
	fx_command("resume port=1 tx");
	fx_settle(fx);
	/* done, but not freed */
	for (end = fx_deadline();
	     rte_eth_tx_descriptor_status(fx->port[0], 0, NB_DESC - 1) !=
		     RTE_ETH_TX_DESC_DONE &&
	     rte_get_timer_cycles() < end; )
		;
	check_tx(fx, 0);
	assert_int_equal(rte_eth_tx_done_cleanup(fx->port[0], 0, 3), 3);
	assert_int_equal(rte_eth_tx_done_cleanup(fx->port[0], 0, 0), NB_DESC - 3);
	assert_int_equal(rte_eth_tx_done_cleanup(fx->port[0], 0, 0), 0);
	check_tx(fx, 0);
}

#ifdef MANA_TEST_TX_QUEUE_COUNT
/* Needs rte_eth_tx_queue_count() of DPDK 24.03 and later. */
FX_TEST(test_tx_queue_count)
{
	uint64_t end;

	fx_start(fx, &small);
	assert_int_equal(rte_eth_tx_queue_count(fx->port[0], 0), 0);
	fx_command("stall port=1 tx");
	send_frames(fx, 7);
	assert_int_equal(rte_eth_tx_queue_count(fx->port[0], 0), 7);
	send_frames(fx, NB_DESC - 7);
	assert_int_equal(rte_eth_tx_queue_count(fx->port[0], 0), NB_DESC);
	fx_command("resume port=1 tx");
	fx_settle(fx);
	for (end = fx_deadline(); rte_eth_tx_queue_count(fx->port[0], 0) != 0 &&
	     rte_get_timer_cycles() < end; )
		;
	assert_int_equal(rte_eth_tx_queue_count(fx->port[0], 0), 0);
}
#endif

/* A disabled queue accepts no packet. */
FX_TEST(test_tx_of_failed_queue)
{
	uint64_t end = fx_deadline();

	fx_start(fx, &small);
	fx_expect_error("has failed (disabled)");
	fx_command("cqe port=1 tx type=42");
	fx->refused_bytes[0] = FRAME;
	send_frames(fx, 1);
	while (rte_eth_tx_done_cleanup(fx->port[0], 0, 0) == 0 &&
	       rte_get_timer_cycles() < end)
		;
	for (unsigned int i = 0; i < NB_DESC; i++)
		assert_int_equal(rte_eth_tx_descriptor_status(fx->port[0], 0, i),
				 RTE_ETH_TX_DESC_UNAVAIL);
}

/* ---- Power management monitor -------------------------------------------- */

/* Whether rte_power_monitor() would sleep. */
static bool
may_wait(const struct fixture *fx)
{
	struct rte_power_monitor_cond pmc;

	memset(&pmc, 0xee, sizeof(pmc));
	assert_int_equal(rte_eth_get_monitor_addr(fx->port[1], 0, &pmc), 0);
	assert_int_equal(pmc.size, 4);
	assert_int_equal((uintptr_t)pmc.addr % pmc.size, 0);
	return pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque) == 0;
}

/* In each lap: empty, then written; consumed CQEs do not count. */
FX_TEST(test_monitor_in_every_lap)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_power_monitor_cond pmc;
	uint64_t end;

	fx_start(fx, &config);
	/* a CQ of 128: ten laps, more than the eight of the owner bits */
	for (unsigned int i = 0; i < 10 * 128; i++) {
		assert_true(may_wait(fx));
		assert_int_equal(rte_eth_get_monitor_addr(fx->port[1], 0, &pmc), 0);
		send_frames(fx, 1);
		for (end = fx_deadline();
		     pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque) == 0 &&
		     rte_get_timer_cycles() < end; )
			;
		assert_int_equal(pmc.fn(*(volatile uint32_t *)pmc.addr, pmc.opaque), -1);
		assert_false(may_wait(fx));
		receive_frames(fx, 0, 1);
	}
}

/* No sleep while packets wait in the ring or in a partially consumed CQE. */
FX_TEST(test_monitor_with_packets_left)
{
	fx_start(fx, &small);
	for (unsigned int i = 0; i < 10; i++) {
		send_frames(fx, 4);
		assert_int_equal(await_rx(fx, 1, 4), 4);
		for (unsigned int k = 0; k < 4; k++) {
			assert_false(may_wait(fx));
			receive_frames(fx, 0, 1);
		}
		assert_true(may_wait(fx));
	}
}

/* A device without buffers writes no CQE: the core must poll. */
FX_TEST(test_monitor_without_buffers)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[80];
	unsigned int nb = 0;
	uint16_t got;

	config.rx_pool = fx_pool(fx, 2 * 64, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);
	send_frames(fx, RTE_DIM(held));
	fx_settle(fx);
	await_rx(fx, 1, 64);
	while ((got = rte_eth_rx_burst(fx->port[1], 0, held + nb, 8)) != 0)
		nb += got;
	assert_int_equal(nb, 64);
	assert_false(may_wait(fx));
	rte_pktmbuf_free_bulk(held, nb);
	assert_int_equal(rte_eth_rx_burst(fx->port[1], 0, held, 8), 0);
	assert_true(may_wait(fx));
}

FX_TEST(test_monitor_refused)
{
	struct fx_config three = { .nb_rxq = 3, .rss_hf = FX_RSS };
	struct rte_power_monitor_cond pmc;
	uint16_t port = fx->port[0];
	unsigned int nb_refused = 0;

	fx_start(fx, &small);
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, &pmc), 0);
	fx_expect_error("");
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, NULL), -EINVAL);
	assert_int_equal(rte_eth_get_monitor_addr(port, 1, &pmc), -EINVAL);
	/* a stopped queue without hardware queue */
	fx_expect_error(NULL);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 0), 0);
	assert_int_equal(rte_eth_get_monitor_addr(port, 0, &pmc), 0);
	assert_int_equal(pmc.fn(*(volatile uint64_t *)pmc.addr, pmc.opaque), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), 0);
	assert_int_not_equal(pmc.fn(*(volatile uint64_t *)pmc.addr, pmc.opaque), 0);
	fx_stop(fx);
	/* three queues on four hardware queues: one queue polls two */
	fx_start(fx, &three);
	for (uint16_t q = 0; q < 3; q++)
		if (rte_eth_get_monitor_addr(port, q, &pmc) == -ENOTSUP)
			nb_refused++;
	assert_int_equal(nb_refused, 1);
}

/* ---- Queue configuration ------------------------------------------------- */

FX_TEST(test_queue_info)
{
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
	uint16_t port = fx->port[0];

	assert_int_equal(rte_eth_dev_configure(port, 3, 2, &conf), 0);
	fx_rx_setup(port, 0, NB_DESC, &rxconf, fx->pool);
	fx_rx_setup(port, 1, 256, NULL, fx->pool);
	fx_rx_setup(port, 2, NB_DESC, &greedy, fx->pool);
	fx_tx_setup(port, 0, NB_DESC, &txconf);
	fx_tx_setup(port, 1, 256, NULL);

	assert_int_equal(rte_eth_rx_queue_info_get(port, 0, &rxq), 0);
	assert_ptr_equal(rxq.mp, fx->pool);
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
	/* The effective threshold, half the ring. */
	assert_int_equal(fx_rxq_info(port, 2).conf.rx_free_thresh, NB_DESC / 2);

	assert_int_equal(rte_eth_tx_queue_info_get(port, 0, &txq), 0);
	assert_int_equal(txq.nb_desc, NB_DESC);
	assert_int_equal(txq.conf.tx_free_thresh, 9);
	assert_int_equal(txq.conf.tx_deferred_start, 1);
	assert_int_equal(txq.conf.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_int_equal(fx_txq_info(port, 1).conf.tx_deferred_start, 0);

	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_rxq_info(port, 0).queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(fx_txq_info(port, 0).queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(fx_txq_info(port, 1).queue_state, RTE_ETH_QUEUE_STATE_STARTED);
}

/* The Tx burst mode depends on the offloads; a stopped port has none. */
FX_TEST(test_burst_mode)
{
	struct fx_config csum = {
		.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM,
		.tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	struct rte_eth_burst_mode mode, other;

	assert_int_equal(fx_configure(fx, fx->port[0], &small), 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(fx->port[0], 0, &mode), -EINVAL);
	assert_int_equal(rte_eth_tx_burst_mode_get(fx->port[0], 0, &mode), -EINVAL);
	fx_start(fx, &small);
	assert_int_equal(rte_eth_tx_burst_mode_get(fx->port[0], 0, &mode), 0);
	assert_memory_equal(mode.info, "Vector", 6);
	assert_int_equal(mode.flags, 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(fx->port[0], 0, &mode), 0);
	assert_true(strlen(mode.info) != 0);
	fx_stop(fx);
	fx_start(fx, &csum);
	assert_int_equal(rte_eth_tx_burst_mode_get(fx->port[0], 0, &other), 0);
	assert_memory_equal(other.info, "Vector", 6);
	assert_int_equal(rte_eth_rx_burst_mode_get(fx->port[0], 0, &other), 0);
	assert_string_equal(other.info, mode.info);
	fx_expect_error("queue_id=1");
	assert_int_equal(rte_eth_rx_burst_mode_get(fx->port[0], 1, &mode), -EINVAL);
}

/* The mode of the running burst, not of the next start. */
FX_TEST(test_burst_mode_is_kept)
{
	const uint16_t port = fx->port[0];
	struct rte_eth_burst_mode before, mode;

	fx_start(fx, &small);
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
	/* failed queues stay as they are */
	fx_devargs = "recovery_timeout=0";
	return FX_RUN("status");
}
