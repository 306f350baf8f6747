/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An adapter that fills only the first buffer of an Rx WQE: it truncates longer
 * packets, or reports success.
 */

#include "fixture.h"

#define ROOM 1024u /* bytes in the first of two buffers */
#define LONG_BYTES 1500u
#define NB_PACKETS 20
#define ERROR_TEXT "does not scatter packets over several buffers"

static uint64_t
nb_dropped(const struct fixture *fx)
{
	return fx_stats(fx->port[1]).ierrors;
}

static void
send_one(struct fixture *fx, uint32_t len_bytes, uint32_t seed)
{
	struct rte_mbuf *m = fx_frame(fx->pool, len_bytes, seed);

	fx_send(fx->port[0], 0, &m, 1);
	fx_settle(fx);
}

/* Packets that fit the first buffer arrive, longer ones do not. */
static void
check_packets(struct fixture *fx)
{
	uint64_t before = nb_dropped(fx);
	uint8_t bytes[ROOM];

	for (uint32_t i = 0; i < NB_PACKETS; i++) {
		/* a byte too long, and many */
		send_one(fx, i % 4 == 3 ? ROOM + 1 : LONG_BYTES, i);
		send_one(fx, ROOM, i);
		fx_frame_bytes(bytes, ROOM, i);
		fx_expect_bytes(fx->port[1], 0, bytes, ROOM);
	}
	assert_int_equal(nb_dropped(fx) - before, NB_PACKETS);
}

/* Each start checks again; each queue setup reports it once. */
FX_TEST(test_drops_and_says_why)
{
	struct fx_config config = { .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER };

	config.rx_pool = fx_pool(fx, 2000, RTE_PKTMBUF_HEADROOM + ROOM);
	fx->ignore_counters = true;
	fx_expect_error(ERROR_TEXT);
	for (unsigned int i = 0; i < 2; i++) {
		fx_start(fx, &config);
		check_packets(fx);
		fx_stop(fx);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, ERROR_TEXT), i + 1);
	}
	assert_int_equal(fx_stats(fx->port[1]).ipackets, 2 * NB_PACKETS);
	/* the remedy of the message */
	fx_start(fx, &(struct fx_config){ 0 });
	fx_pass_one(fx);
	send_one(fx, LONG_BYTES, 0);
	fx_drain(fx);
	assert_int_equal(nb_dropped(fx), 2 * NB_PACKETS);
}
