/* SPDX-License-Identifier: BSD-3-Clause */

/* A kernel without completion events: Rx interrupts are rejected. */

#include <errno.h>

#include "fixture.h"

static const struct fx_config defaults;
static const struct fx_config woken = { .intr = { .rxq = 1 } };

FX_TEST(test_refused)
{
	fx_expect_error("");
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(fx_configure(fx, fx->port[1], &woken),
				 -ENOTSUP);
		assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "Linux 6.8"), i);
	}
	/* Everything else works. */
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, fx->port[1], &woken), -ENOTSUP);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}
