/* SPDX-License-Identifier: BSD-3-Clause */

/* Which calibrations mana-perf accepts; the cycle length is not checked. */

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "../../../model/test/test.h"
#include "perf_clock.h"

#define GHZ 1000000000

static char text[256];

TEST(plausible_results_are_accepted)
{
	struct perf_clock clock;

	/* TSC frequency; half; twice; arm64's counter */
	assert_int_equal(perf_clock_set(&clock, 1, 2 * (uint64_t)GHZ, text, sizeof(text)), 0);
	assert_true(fabs(clock.core_mhz - 2000) < 1);
	assert_int_equal(perf_clock_set(&clock, 2, 2 * (uint64_t)GHZ, text, sizeof(text)), 0);
	assert_true(fabs(clock.core_mhz - 1000) < 1);
	assert_int_equal(perf_clock_set(&clock, 0.5, 2 * (uint64_t)GHZ, text, sizeof(text)), 0);
	assert_true(fabs(clock.core_mhz - 4000) < 1);
	assert_int_equal(perf_clock_set(&clock, 0.01, 25000000, text, sizeof(text)), 0);
	assert_true(fabs(clock.ticks_per_cycle - 0.01) < 1e-9);
	assert_non_null(strstr(text, "2500 MHz"));
}

TEST(implausible_results_are_rejected)
{
	/* the first: additions on a core that folds them */
	static const double ticks[] = { 0.13, 0, -1, 1000, NAN, INFINITY };
	struct perf_clock clock = { .ticks_per_cycle = 7 };

	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		assert_int_equal(perf_clock_set(&clock, ticks[i], 2 * (uint64_t)GHZ, text,
						sizeof(text)), -1);
		assert_non_null(strstr(text, "use --instructions"));
		assert_true(clock.ticks_per_cycle == 7);
	}
}
