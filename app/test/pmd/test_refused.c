/* SPDX-License-Identifier: BSD-3-Clause */

/* On a machine whose card lets verbs have no vPort. */

#include <errno.h>

#include "bench.h"

static const struct bench_config plain;

/* Each attempt fails in the same way, and leaves nothing behind. */
static void
test_start_fails(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_expect_error("");
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(bench_configure(bench, bench->port[i], &plain), 0);
	assert_int_equal(bench_dev_start(bench, 0), -EPROTO);
	bench_hold(&before);
	for (unsigned int i = 0; i < 2 * BENCH_NB_PORTS; i++)
		assert_int_equal(bench_dev_start(bench, i % BENCH_NB_PORTS), -EPROTO);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	bench_check_held(&before, "after failed starts");
	assert_int_equal(bench_model.violations(NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_start_fails),
	};

	return BENCH_RUN("refused", tests);
}
