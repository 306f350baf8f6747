/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts: contents, wraps of the rings, full rings, empty pools. */

#include <string.h>

#include <rte_cycles.h>

#include "bench.h"

#define RING 256

static const struct bench_config plain;

/* Lengths at the borders of the basic unit, of headers, of a page's part. */
static void
test_lengths(void **state)
{
	static const uint16_t lengths[] = { 42, 43, 59, 60, 61, 63, 64, 65, 95, 96, 97,
					    127, 128, 129, 511, 512, 513, 1023, 1024,
					    1025, 1513, 1514 };
	struct bench *bench = *state;
	uint8_t bytes[1514];

	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		struct rte_mbuf *m = bench_frame(bench->pool, lengths[i], i);

		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_frame_bytes(bytes, lengths[i], i);
		bench_check_bytes(m, bytes, lengths[i]);
		assert_int_equal(m->port, bench->port[1]);
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
	}
}

/* Many laps of all rings, in bursts of changing size; order and bytes hold. */
static void
test_order_over_many_laps(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64, .nb_txd = 64 };
	struct rte_mbuf *pkts[BENCH_BURST];
	uint32_t seed = 0, seen = 0;
	uint8_t bytes[1600];

	bench_start(bench, &config);
	while (seed < 20000) {
		unsigned int nb = 1 + seed % RTE_DIM(pkts);

		for (unsigned int i = 0; i < nb; i++, seed++)
			pkts[i] = bench_frame(bench->pool, 60 + seed % 200, seed);
		bench_send(bench->port[0], 0, pkts, nb);
		assert_int_equal(bench_receive(bench->port[1], 0, pkts, nb), nb);
		for (unsigned int i = 0; i < nb; i++, seen++) {
			bench_frame_bytes(bytes, 60 + seen % 200, seen);
			bench_check_bytes(pkts[i], bytes, 60 + seen % 200);
		}
		rte_pktmbuf_free_bulk(pkts, nb);
	}
	assert_int_equal(bench_wire(bench, 1).rx_no_wqe, 0);
}

static void
test_burst_of_none(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m = bench_frame(bench->pool, 64, 0);

	bench_start(bench, &plain);
	assert_int_equal(rte_eth_tx_burst(bench->port[0], 0, &m, 0), 0);
	assert_int_equal(rte_eth_rx_burst(bench->port[0], 0, &m, 0), 0);
	assert_int_equal(bench_wire(bench, 0).tx_packets, 0);
	bench_send(bench->port[0], 0, &m, 1);
}

/* One call with more than a ring holds: a prefix is taken, the rest is ours. */
static void
test_burst_larger_than_ring(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_txd = 64 };
	struct rte_mbuf *pkts[300];
	uint16_t nb;

	bench_start(bench, &config);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, 64, i);
	nb = rte_eth_tx_burst(bench->port[0], 0, pkts, RTE_DIM(pkts));
	assert_true(nb > 0 && nb <= RTE_DIM(pkts));
	bench_settle(bench);
	assert_int_equal(bench_wire(bench, 0).tx_packets, nb);
	for (unsigned int i = nb; i < RTE_DIM(pkts); i++) {
		rte_mbuf_sanity_check(pkts[i], 1);
		rte_pktmbuf_free(pkts[i]);
	}
}

/*
 * As much as the ring takes, again and again: a device that works on its own
 * finds it full, and no completion is lost over that.
 */
static void
test_full_ring_goes_on(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_txd = 64 };
	unsigned int nb_sent = 0;

	bench_start(bench, &config);
	while (nb_sent < 20000) {
		struct rte_mbuf *pkts[100];

		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = bench_frame(bench->pool, 64, nb_sent++);
		bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, rte_eth_rx_burst(bench->port[1], 0, pkts,
							     RTE_DIM(pkts)));
	}
	bench_drain(bench);
	assert_int_equal(bench_wire(bench, 0).tx_packets, nb_sent);
	assert_int_equal(bench_wire(bench, 1).rx_packets + bench_wire(bench, 1).rx_no_wqe,
			 nb_sent);
}

/* A receiver that does not look loses what is more than its ring, no packet else. */
static void
test_rx_ring_overrun(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[RING];
	unsigned int nb_sent = 0, room;

	bench_start(bench, &plain);
	for (int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 64; i++)
			pkts[i] = bench_frame(bench->pool, 64, nb_sent++);
		bench_send(bench->port[0], 0, pkts, 64);
	}
	bench_settle(bench);
	/* one entry may be kept free: the CQ is no larger, and a fence needs one */
	room = bench_wire(bench, 1).rx_packets;
	assert_in_range(room, RING - 1, RING);
	assert_int_equal(bench_wire(bench, 1).rx_no_wqe, nb_sent - room);
	assert_int_equal(bench_receive(bench->port[1], 0, pkts, room), room);
	rte_pktmbuf_free_bulk(pkts, room);
	bench_pass_one(bench);
}

/*
 * The pool runs dry: packets stay or are dropped, and when mbufs come back the
 * ring is as large as before.
 */
static void
test_empty_pool_then_refill(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[300], *pkts[64];
	struct rte_eth_stats stats;
	unsigned int nb_held = 0;

	config.rx_pool = bench_pool(bench, 255, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);	/* 64 of it in each port's ring */
	while (rte_mempool_avail_count(config.rx_pool) > 0)
		held[nb_held++] = rte_pktmbuf_alloc(config.rx_pool);
	for (int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < 32; i++)
			pkts[i] = bench_frame(bench->pool, 64, i);
		bench_send(bench->port[0], 0, pkts, 32);
		bench_settle(bench);
		nb_held += rte_eth_rx_burst(bench->port[1], 0, held + nb_held, 64);
		nb_held += rte_eth_rx_burst(bench->port[1], 0, held + nb_held, 64);
	}
	/* all that the ring had is here now, and the rest was lost on the wire */
	assert_int_equal(nb_held, 255 - 64);
	assert_int_equal(bench_wire(bench, 1).rx_packets, 64);
	assert_int_equal(bench_wire(bench, 1).rx_no_wqe, 64);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_true(stats.rx_nombuf > 0);

	/* mbufs are back: an idle poll refills */
	rte_pktmbuf_free_bulk(held, nb_held);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rte_eth_rx_burst(bench->port[1], 0, held, 64), 0);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, 64, i);
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	assert_int_equal(bench_receive(bench->port[1], 0, held, 64), 64);
	rte_pktmbuf_free_bulk(held, 64);
	assert_int_equal(bench_wire(bench, 1).rx_no_wqe, 64);
}

/* One mbuf at a time is enough to go on, however small the pool's rest. */
static void
test_starved_pool(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[128], *m;
	unsigned int nb_held = 0;

	config.rx_pool = bench_pool(bench, 128 + 3, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);	/* both rings: three are left */
	for (unsigned int i = 0; i < 1000; i++) {
		m = bench_frame(bench->pool, 64, i);
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		/* keep 60 of 64 away from the ring */
		if (nb_held < 60)
			held[nb_held++] = m;
		else
			rte_pktmbuf_free(m);
	}
	rte_pktmbuf_free_bulk(held, nb_held);
}

static void
test_tx_done_cleanup(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[BENCH_BURST];
	unsigned int avail = rte_mempool_avail_count(bench->pool), waited = 0;
	struct bench_config config = { 0 };

	config.rx_pool = bench_pool(bench, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, 64, i);
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	while (rte_mempool_avail_count(bench->pool) < avail && waited++ < 1000) {
		int ret = rte_eth_tx_done_cleanup(bench->port[0], 0, 0);

		if (ret == -ENOTSUP) {
			/* nothing promised; the next burst or stop frees them */
			return;
		}
		assert_true(ret >= 0);
		rte_delay_us_block(1000);
	}
	assert_int_equal(rte_mempool_avail_count(bench->pool), avail);
}

/* Both directions at once, on more queues than one, over and over. */
static void
test_both_directions(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .nb_txq = 4,
				       .rss_hf = BENCH_RSS };
	unsigned int nb_sent = 0, nb_got = 0;

	bench_start(bench, &config);
	for (int round = 0; round < 300; round++) {
		for (unsigned int from = 0; from < BENCH_NB_PORTS; from++) {
			struct rte_mbuf *pkts[4];

			for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
				pkts[i] = bench_frame(bench->pool, 64, nb_sent++);
			bench_send(bench->port[from], round % 4, pkts, RTE_DIM(pkts));
		}
		for (unsigned int to = 0; to < BENCH_NB_PORTS; to++) {
			for (uint16_t q = 0; q < 4; q++) {
				struct rte_mbuf *pkts[BENCH_BURST];
				uint16_t nb = rte_eth_rx_burst(bench->port[to], q, pkts,
							       RTE_DIM(pkts));

				rte_pktmbuf_free_bulk(pkts, nb);
				nb_got += nb;
			}
		}
	}
	bench_drain(bench);
	assert_int_equal(bench_wire(bench, 0).tx_packets + bench_wire(bench, 1).tx_packets,
			 nb_sent);
	assert_int_equal(bench_wire(bench, 0).rx_packets + bench_wire(bench, 0).rx_no_wqe +
			 bench_wire(bench, 1).rx_packets + bench_wire(bench, 1).rx_no_wqe,
			 nb_sent);
	assert_true(nb_got <= nb_sent);
}

/* Packets that lie in the rings when a port stops are given back. */
static void
test_stop_with_full_rings(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[128];

	bench->ignore_counters = true; /* the wire delivered, the driver did not */
	for (int round = 0; round < 3; round++) {
		bench_start(bench, &plain);
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = bench_frame(bench->pool, 64, i);
		bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
		bench_stop(bench);
		assert_int_equal(rte_mempool_avail_count(bench->pool), BENCH_NB_MBUFS);
	}
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_lengths),
		BENCH_TEST(test_order_over_many_laps),
		BENCH_TEST(test_burst_of_none),
		BENCH_TEST(test_burst_larger_than_ring),
		BENCH_TEST(test_full_ring_goes_on),
		BENCH_TEST(test_rx_ring_overrun),
		BENCH_TEST(test_empty_pool_then_refill),
		BENCH_TEST(test_starved_pool),
		BENCH_TEST(test_tx_done_cleanup),
		BENCH_TEST(test_both_directions),
		BENCH_TEST(test_stop_with_full_rings),
	};

	return BENCH_RUN("rxtx", tests);
}
