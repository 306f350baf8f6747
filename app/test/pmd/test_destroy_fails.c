/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * On a machine whose kernel does not destroy QPs, no other user gets the memory
 * that the device may still write.
 */

#include <errno.h>

#include "fixture.h"

#define NB_MBUFS 1023
#define NB_DESC 64

FX_TEST(test_failed_destroy_keeps_buffers)
{
	struct fx_config config = { .nb_rxd = NB_DESC };

	fx_expect_error("");
	fx->ignore_counters = true;
	/* not the fixture's: it checks that all mbufs return */
	config.rx_pool = rte_pktmbuf_pool_create("kept", NB_MBUFS, 0, 0,
						 RTE_MBUF_DEFAULT_BUF_SIZE,
						 SOCKET_ID_ANY);
	assert_non_null(config.rx_pool);
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_true(fx_nb_logged(RTE_LOG_WARNING, "does not destroy a RSS") > 0);
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);

	/* a start that fails before the swap does not free them either */
	assert_int_equal(fx_model.fault_arm("create_cq", 1, ENOMEM), 0);
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_model.fault_disarm();
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);
	fx_remove(fx);
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);
	rte_mempool_free(config.rx_pool);
}
