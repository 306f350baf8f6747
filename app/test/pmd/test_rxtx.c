/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts: contents, ring wraps, full rings, empty pools. */

#include <rte_cycles.h>

#include "fixture.h"

#define RING 256

static const struct fx_config defaults;

/* Lengths at borders of BU, headers and page fractions. */
FX_TEST(test_lengths)
{
	static const uint16_t lengths[] = { 42, 43, 59, 60, 61, 63, 64, 65, 95, 96, 97,
					    127, 128, 129, 511, 512, 513, 1023, 1024,
					    1025, 1513, 1514 };
	uint8_t bytes[1514];

	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		struct rte_mbuf *m = fx_frame(fx->pool, lengths[i], i);

		fx_send(fx->port[0], 0, &m, 1);
		assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
		fx_frame_bytes(bytes, lengths[i], i);
		fx_check_bytes(m, bytes, lengths[i]);
		assert_int_equal(m->port, fx->port[1]);
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
	}
}

/* Many laps of all rings in bursts of varying size, in order. */
FX_TEST(test_order_over_many_laps)
{
	struct fx_config config = { .nb_rxd = 64, .nb_txd = 64 };
	struct rte_mbuf *pkts[FX_BURST];
	uint32_t seed = 0, seen = 0;
	uint8_t bytes[1600];

	fx_start(fx, &config);
	while (seed < 20000) {
		unsigned int nb = 1 + seed % RTE_DIM(pkts);

		for (unsigned int i = 0; i < nb; i++, seed++)
			pkts[i] = fx_frame(fx->pool, 60 + seed % 200, seed);
		fx_send(fx->port[0], 0, pkts, nb);
		assert_int_equal(fx_receive(fx->port[1], 0, pkts, nb), nb);
		for (unsigned int i = 0; i < nb; i++, seen++) {
			fx_frame_bytes(bytes, 60 + seen % 200, seen);
			fx_check_bytes(pkts[i], bytes, 60 + seen % 200);
		}
		rte_pktmbuf_free_bulk(pkts, nb);
	}
	assert_int_equal(fx_wire(fx, 1).rx_no_wqe, 0);
}

FX_TEST(test_burst_of_none)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 64, 0);

	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_tx_burst(fx->port[0], 0, &m, 0), 0);
	assert_int_equal(rte_eth_rx_burst(fx->port[0], 0, &m, 0), 0);
	assert_int_equal(fx_wire(fx, 0).tx_packets, 0);
	fx_send(fx->port[0], 0, &m, 1);
}

/* A burst above the ring size: a prefix is accepted. */
FX_TEST(test_burst_larger_than_ring)
{
	struct fx_config config = { .nb_txd = 64 };
	struct rte_mbuf *pkts[300];
	uint16_t nb;

	fx_start(fx, &config);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = fx_frame(fx->pool, 64, i);
	nb = rte_eth_tx_burst(fx->port[0], 0, pkts, RTE_DIM(pkts));
	assert_true(nb > 0 && nb <= RTE_DIM(pkts));
	fx_settle(fx);
	assert_int_equal(fx_wire(fx, 0).tx_packets, nb);
	for (unsigned int i = nb; i < RTE_DIM(pkts); i++) {
		rte_mbuf_sanity_check(pkts[i], 1);
		rte_pktmbuf_free(pkts[i]);
	}
}

/*
 * Repeatedly fills the ring: a device with its own thread completes it without
 * losing a completion.
 */
FX_TEST(test_full_tx_ring_drains)
{
	struct fx_config config = { .nb_txd = 64 };
	unsigned int nb_sent = 0;

	fx_start(fx, &config);
	while (nb_sent < 20000) {
		struct rte_mbuf *pkts[100];

		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = fx_frame(fx->pool, 64, nb_sent++);
		fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, rte_eth_rx_burst(fx->port[1], 0, pkts,
							     RTE_DIM(pkts)));
	}
	fx_drain(fx);
	assert_int_equal(fx_wire(fx, 0).tx_packets, nb_sent);
	assert_int_equal(fx_wire(fx, 1).rx_packets + fx_wire(fx, 1).rx_no_wqe,
			 nb_sent);
}

/* An unpolled ring overflows: only the excess packets are lost. */
FX_TEST(test_rx_ring_overrun)
{
	struct rte_mbuf *pkts[RING];
	unsigned int nb_sent = 0, room;

	fx_start(fx, &defaults);
	for (int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 64; i++)
			pkts[i] = fx_frame(fx->pool, 64, nb_sent++);
		fx_send(fx->port[0], 0, pkts, 64);
	}
	fx_settle(fx);
	/* the CQ may be no larger than the ring, and a fence needs one CQE */
	room = fx_wire(fx, 1).rx_packets;
	assert_uint_in_range(room, RING - 1, RING);
	assert_int_equal(fx_wire(fx, 1).rx_no_wqe, nb_sent - room);
	fx_expect_some(fx->port[1], 0, room);
	fx_pass_one(fx);
}

/*
 * The pool is empty: packets wait or are dropped; after mbufs return, the ring
 * is as large as before.
 */
FX_TEST(test_empty_pool_then_refill)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[300];
	unsigned int nb_held = 0;

	config.rx_pool = fx_pool(fx, 255, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);	/* 64 mbufs in each port's ring */
	while (rte_mempool_avail_count(config.rx_pool) > 0)
		held[nb_held++] = rte_pktmbuf_alloc(config.rx_pool);
	for (int round = 0; round < 4; round++) {
		fx_send_burst(fx, 0, 64, 32);
		fx_settle(fx);
		nb_held += rte_eth_rx_burst(fx->port[1], 0, held + nb_held, 64);
		nb_held += rte_eth_rx_burst(fx->port[1], 0, held + nb_held, 64);
	}
	/* all of the ring's packets were received, the rest dropped */
	assert_int_equal(nb_held, 255 - 64);
	assert_int_equal(fx_wire(fx, 1).rx_packets, 64);
	assert_int_equal(fx_wire(fx, 1).rx_no_wqe, 64);
	assert_true(fx_stats(fx->port[1]).rx_nombuf > 0);

	/* mbufs are back: an idle poll refills */
	rte_pktmbuf_free_bulk(held, nb_held);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rte_eth_rx_burst(fx->port[1], 0, held, 64), 0);
	fx_send_burst(fx, 0, 64, 64);
	fx_expect_some(fx->port[1], 0, 64);
	assert_int_equal(fx_wire(fx, 1).rx_no_wqe, 64);
}

/* One free mbuf at a time is enough. */
FX_TEST(test_one_free_mbuf_at_a_time)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[128], *m;
	unsigned int nb_held = 0;

	config.rx_pool = fx_pool(fx, 128 + 3, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);	/* both rings; three mbufs remain */
	for (unsigned int i = 0; i < 1000; i++) {
		m = fx_frame(fx->pool, 64, i);
		fx_send(fx->port[0], 0, &m, 1);
		assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
		/* keep 60 of 64 from the ring */
		if (nb_held < 60)
			held[nb_held++] = m;
		else
			rte_pktmbuf_free(m);
	}
	rte_pktmbuf_free_bulk(held, nb_held);
}

FX_TEST(test_tx_done_cleanup)
{
	unsigned int avail = rte_mempool_avail_count(fx->pool), waited = 0;
	struct fx_config config = { 0 };

	config.rx_pool = fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);
	fx_send_burst(fx, 0, 64, FX_BURST);
	while (rte_mempool_avail_count(fx->pool) < avail && waited++ < 1000) {
		int ret = rte_eth_tx_done_cleanup(fx->port[0], 0, 0);

		if (ret == -ENOTSUP) {
			/* unsupported: the next burst or stop frees them */
			return;
		}
		assert_true(ret >= 0);
		rte_delay_us_block(1000);
	}
	assert_int_equal(rte_mempool_avail_count(fx->pool), avail);
}

/* Both directions at once on several queues. */
FX_TEST(test_both_directions)
{
	struct fx_config config = { .nb_rxq = 4, .nb_txq = 4,
				       .rss_hf = FX_RSS };
	unsigned int nb_sent = 0, nb_got = 0;

	fx_start(fx, &config);
	for (int round = 0; round < 300; round++) {
		for (unsigned int from = 0; from < FX_NB_PORTS; from++) {
			struct rte_mbuf *pkts[4];

			for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
				pkts[i] = fx_frame(fx->pool, 64, nb_sent++);
			fx_send(fx->port[from], round % 4, pkts, RTE_DIM(pkts));
		}
		for (unsigned int to = 0; to < FX_NB_PORTS; to++) {
			for (uint16_t q = 0; q < 4; q++) {
				struct rte_mbuf *pkts[FX_BURST];
				uint16_t nb = rte_eth_rx_burst(fx->port[to], q, pkts,
							       RTE_DIM(pkts));

				rte_pktmbuf_free_bulk(pkts, nb);
				nb_got += nb;
			}
		}
	}
	fx_drain(fx);
	assert_int_equal(fx_wire(fx, 0).tx_packets + fx_wire(fx, 1).tx_packets,
			 nb_sent);
	assert_int_equal(fx_wire(fx, 0).rx_packets + fx_wire(fx, 0).rx_no_wqe +
			 fx_wire(fx, 1).rx_packets + fx_wire(fx, 1).rx_no_wqe,
			 nb_sent);
	assert_true(nb_got <= nb_sent);
}

/* A port stop frees packets in the rings. */
FX_TEST(test_stop_with_full_rings)
{
	fx->ignore_counters = true; /* the wire counts dropped packets */
	for (int round = 0; round < 3; round++) {
		fx_start(fx, &defaults);
		fx_send_burst(fx, 0, 64, 128);
		fx_stop(fx);
		assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
	}
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}
