/* SPDX-License-Identifier: BSD-3-Clause */

/* Invalid completions, and queues that fail because of them. */

#include <stdio.h>

#include <rte_cycles.h>

#include "fixture.h"

#define FRAME 100

static const struct fx_config defaults;

static const struct {
	const char *command;
	const char *counter;
	bool is_instead; /* replaces the packet's CQE: the packet is lost */
} bogus_rx[] = {
	{ "bogus port=2 rx what=type type=20", "rx_cqe_unknown", true },
	{ "bogus port=2 rx what=type type=20 extra", "rx_cqe_unknown", false },
	{ "bogus port=2 rx what=zero instead", "rx_cqe_zero_length", true },
	{ "bogus port=2 rx what=zero", "rx_cqe_zero_length", false },
};

/*
 * Whether such a completion has used an Rx buffer is not known: the queue fails and
 * delivers no packet in the buffer of another one.
 */
FX_TEST(test_rx_unknown)
{
	struct rte_mbuf *m;

	fx->ignore_counters = true; /* the wire counts lost packets */
	fx_expect_error("Rx queue 0 has failed (unknown_cqe)");
	for (unsigned int k = 0; k < RTE_DIM(bogus_rx); k++) {
		uint64_t before = fx_xstat(fx->port[1], bogus_rx[k].counter);

		fx_start(fx, &defaults);
		fx_send_one(fx, 1);
		fx_expect_frames(fx, 1, 1);
		fx_command(bogus_rx[k].command);
		for (uint32_t i = 2; i < 8; i++)
			fx_send_one(fx, i);
		fx_settle(fx);
		/* The packet's own CQE may come before the extra one. */
		if (!bogus_rx[k].is_instead &&
		    rte_eth_rx_burst(fx->port[1], 0, &m, 1) == 1)
			rte_pktmbuf_free(m);
		for (unsigned int i = 0; i < 20; i++)
			assert_int_equal(rte_eth_rx_burst(fx->port[1], 0, &m, 1), 0);
		assert_int_equal(fx_xstat(fx->port[1], bogus_rx[k].counter),
				 before + 1);
		/* A restart recovers the queue. */
		fx_stop(fx);
		fx_restart(fx);
		fx_pass_one(fx);
		fx_stop(fx);
	}
}

/*
 * ---- Reports of failed queues
 * ------------------------------------------------
 */

static unsigned int nb_events;

static int
on_queue_state(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	if (port == *(uint16_t *)arg)
		__atomic_add_fetch(&nb_events, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static const struct {
	const char *command;
	unsigned int side; /* the port whose queue fails */
	const char *counter, *line, *details;
} failures[] = {
	{ "cqe port=1 tx type=42", 0, "tx_q0_failed",
	  "Tx queue 0 has failed (disabled): completion type 42 (TX_GDMA_ERR)",
	  "Tx queue 0: the first unexpected completion:" },
	{ "bogus port=2 rx what=wrong-owner", 1, "rx_q0_failed",
	  "Rx queue 0 has failed (overrun): completion type 1 (RX_OKAY), vendor error 0x0",
	  "Rx queue 0: the first unexpected completion:" },
};

/* A failed queue of a running port: one message, event and count. */
FX_TEST(test_failed_queue)
{
	struct rte_mbuf *m;

	fx->ignore_counters = true; /* the wire counts lost packets */
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(failures); i++) {
		uint16_t port = fx->port[failures[i].side];
		uint64_t end = fx_deadline();

		nb_events = 0;
		assert_int_equal(rte_eth_dev_callback_register(
			port, RTE_ETH_EVENT_QUEUE_STATE, on_queue_state, &port), 0);
		fx_expect_error(failures[i].line);
		fx_command(failures[i].command);
		fx_send_one(fx, 1);
		while (__atomic_load_n(&nb_events, __ATOMIC_SEQ_CST) == 0) {
			assert_true(rte_get_timer_cycles() < end);
			rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
			if (rte_eth_rx_burst(fx->port[1], 0, &m, 1) == 1)
				rte_pktmbuf_free(m);
		}
		assert_int_equal(fx_xstat(port, failures[i].counter), 1);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, failures[i].line), 1);
		assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, failures[i].details),
				 1);
		rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_QUEUE_STATE,
						on_queue_state, &port);
		fx_stop(fx);
		/* Logged once; a restart recovers the queue. */
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, failures[i].line), 1);
		fx_restart(fx);
		fx_pass_one(fx);
	}
}

/* A packet of this many bytes fails with the vendor error. */
static void
check_unreadable_packet(struct fixture *fx, uint16_t len_bytes, unsigned int error,
			bool is_access)
{
	struct rte_mbuf *m;
	char command[64], line[128];

	fx_start(fx, &defaults);
	m = fx_frame(fx->pool, len_bytes, 1);
	snprintf(line, sizeof(line), "no access to %u bytes at 0x%" PRIxPTR
		 " of a packet (mempool %s)", len_bytes, rte_pktmbuf_mtod(m, uintptr_t),
		 fx->pool->name);
	snprintf(command, sizeof(command), "bogus port=1 tx what=vendor error=%u instead",
		 error);
	fx_expect_error("");
	fx_command("cqe port=1 tx type=42");
	fx_command(command);
	fx_send(fx->port[0], 0, &m, 1);
	fx_settle(fx);
	rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	fx_stop(fx);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, line), is_access);
	snprintf(line, sizeof(line), "(TX_GDMA_ERR), vendor error 0x%x;", error);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, line), 1);
}

/*
 * The adapter cannot read a packet: the log has address and mempool. Errors 0x205 and
 * 0x209, of PCIe, are not the memory's.
 */
FX_TEST(test_unreadable_packet)
{
	fx->ignore_counters = true; /* the wire counts lost packets */
	check_unreadable_packet(fx, 200, 0x205, false);
	check_unreadable_packet(fx, 201, 0x206, true);
	check_unreadable_packet(fx, 202, 0x207, true);
	check_unreadable_packet(fx, 203, 0x208, true);
	check_unreadable_packet(fx, 204, 0x209, false);
}

/* The stop reports it, if the periodic check has not. */
FX_TEST(test_failed_at_stop)
{
	fx->ignore_counters = true; /* the wire counts lost packets */
	fx_start(fx, &defaults);
	fx_expect_error(failures[0].line);
	fx_command(failures[0].command);
	fx_send_one(fx, 1);
	fx_settle(fx);
	rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	fx_stop(fx);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, failures[0].line), 1);
}

int
main(void)
{
	/* failed queues stay as they are */
	fx_devargs = "recovery_timeout=0";
	return FX_RUN("completions");
}
