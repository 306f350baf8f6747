/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * On a machine whose kernel destroys no QP: what the device may still write to
 * goes to nobody else.
 */

#include <errno.h>

#include "bench.h"

#define NB_MBUFS 1023
#define NB_DESC 64

static void
test_buffers_are_kept(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = NB_DESC };

	bench_expect_error("");
	bench->ignore_counters = true;
	/* not of the bench, which wants all mbufs back */
	config.rx_pool = rte_pktmbuf_pool_create("kept", NB_MBUFS, 0, 0,
						 RTE_MBUF_DEFAULT_BUF_SIZE,
						 SOCKET_ID_ANY);
	assert_non_null(config.rx_pool);
	assert_int_equal(bench_configure(bench, bench->port[0], &config), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_stop(bench, 0), 0);
	assert_true(bench_nb_logged(RTE_LOG_WARNING, "does not destroy a RSS") > 0);
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);

	/* neither by a start that fails before there are new ones */
	assert_int_equal(bench_model.fault_arm("create_cq", 1, ENOMEM), 0);
	assert_true(bench_dev_start(bench, 0) < 0);
	bench_model.fault_disarm();
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);
	bench_remove(bench);
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), NB_MBUFS - NB_DESC);
	rte_mempool_free(config.rx_pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_buffers_are_kept),
	};

	return BENCH_RUN("kept", tests);
}
