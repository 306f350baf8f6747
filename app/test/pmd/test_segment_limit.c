/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every Tx queue fails with EINVAL until the test ends it: the driver must not
 * lower its segment limit.
 */

#include "fixture.h"

#define NB_SEGS 30

FX_TEST(test_einval_keeps_segment_limit)
{
	static const struct fx_config chains = {
		.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS, .nb_txd = 64,
	};
	uint8_t bytes[NB_SEGS * 40];
	struct rte_mbuf *m;

	fx_expect_error("Tx queue 0");
	assert_int_equal(fx_configure(fx, fx->port[0], &chains), 0);
	assert_true(fx_dev_start(fx, 0) < 0);
	fx_model.fault_disarm();
	fx_expect_error(NULL);
	assert_int_equal(fx_info(fx->port[0]).tx_desc_lim.nb_seg_max, NB_SEGS);
	fx_start(fx, &chains);
	fx_frame_bytes(bytes, sizeof(bytes), 1);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 40);
	assert_int_equal(m->nb_segs, NB_SEGS);
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	assert_int_equal(fx_xstat(fx->port[0], "tx_linearized"), 0);
}
