/* SPDX-License-Identifier: BSD-3-Clause */

/* A card that rejects vPorts for verbs. */

#include <errno.h>

#include "fixture.h"

static const struct fx_config defaults;

/* Each start fails in the same way without leaks. */
FX_TEST(test_start_without_vport_fails)
{
	struct fx_holdings before;

	fx_expect_error("");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &defaults), 0);
	assert_int_equal(fx_dev_start(fx, 0), -EPROTO);
	fx_holdings_get(&before);
	for (unsigned int i = 0; i < 2 * FX_NB_PORTS; i++)
		assert_int_equal(fx_dev_start(fx, i % FX_NB_PORTS), -EPROTO);
	assert_int_equal(rte_mempool_in_use_count(fx->pool), 0);
	fx_check_holdings(&before, "after failed starts");
	assert_int_equal(fx_model.violations(NULL), 0);
}
