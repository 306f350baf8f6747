/* SPDX-License-Identifier: BSD-3-Clause */

/* A device that rejects the short OOB with TX_INVALID_OOB. */

#include "fixture.h"

#define NB_TRIES 8 /* packets lost before the driver switches */
#define NB_PACKETS 50
#define WARNING_TEXT "using the long form of descriptors"

static const struct fx_config two_queues = { .nb_txq = 2 };

/* Sends single packets: the first nb_lost are lost, the others arrive. */
static void
pass_after(struct fixture *fx, unsigned int nb_lost)
{
	uint64_t before = fx_xstat(fx->port[0], "tx_cqe_invalid_oob");
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < NB_PACKETS; i++) {
		m = fx_frame(fx->pool, 100, i);
		fx_send(fx->port[0], 0, &m, 1);
		if (i < nb_lost) {
			/* the driver reaps its completion */
			for (unsigned int k = 0; k < 100000 &&
			     fx_xstat(fx->port[0], "tx_cqe_invalid_oob") - before <= i; k++)
				rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
			continue;
		}
		rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
	}
	assert_int_equal(fx_xstat(fx->port[0], "tx_cqe_invalid_oob") - before, nb_lost);
}

/* The driver switches to the long form, logs it once, and keeps it. */
FX_TEST_BARE(test_changes)
{
	fx->ignore_counters = true;
	fx_expect_error(WARNING_TEXT);
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &two_queues);
	pass_after(fx, NB_TRIES);
	assert_int_equal(fx_stats(fx->port[0]).oerrors, NB_TRIES);
	/* Restart of the queue and of the port. */
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 0), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, WARNING_TEXT), 1);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 0), 0);
	pass_after(fx, 0);
	fx_stop(fx);
	fx_start(fx, &two_queues);
	pass_after(fx, 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, WARNING_TEXT), 1);
}

/* tx_oob=long: no packet is lost. */
FX_TEST_BARE(test_long_from_the_start)
{
	assert_int_equal(fx_probe(fx, "tx_oob=long"), 0);
	fx_start(fx, &two_queues);
	pass_after(fx, 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, WARNING_TEXT), 0);
}

/* tx_oob=short: every packet is lost. */
FX_TEST_BARE(test_short_only)
{
	fx->ignore_counters = true;
	assert_int_equal(fx_probe(fx, "tx_oob=short"), 0);
	fx_start(fx, &two_queues);
	pass_after(fx, NB_PACKETS);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, WARNING_TEXT), 0);
}
