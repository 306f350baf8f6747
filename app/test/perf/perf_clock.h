/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PERF_CLOCK_H
#define PERF_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct perf_clock {
	double ticks_per_cycle; /* of the TSC */
	double core_mhz;
};

/*
 * Measures the current core. text: the result, or after -1 why it is
 * implausible.
 */
int perf_clock_calibrate(struct perf_clock *clock, char *text, size_t size);
/* The same with measured ticks. */
int perf_clock_set(struct perf_clock *clock, double ticks, uint64_t tsc_hz,
		   char *text, size_t size);

#endif /* PERF_CLOCK_H */
