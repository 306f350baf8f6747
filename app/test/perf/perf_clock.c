/* SPDX-License-Identifier: BSD-3-Clause */

/* Length of a core cycle in TSC ticks. */

#include <math.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "perf_clock.h"

#define NB_TRIES 20
#define NB_STEPS 100000
/* Limits for any core that runs DPDK. */
#define MIN_MHZ 200
#define MAX_MHZ 8000

#define TEN(text) text text text text text text text text text text

/*
 * Dependent steps that no core shortens. Additions are unsuitable: Intel's
 * cores since Golden Cove fold chains of them when they rename registers.
 */
#ifdef RTE_ARCH_X86_64
/* 64 bits: Intel since Nehalem, AMD since Zen (Agner Fog's tables). */
#define STEP_CYCLES 3
#define STEP_NAME "multiplication"

static void
chain_run(void)
{
	uint64_t x = 3;

	for (unsigned int i = 0; i < NB_STEPS / 10; i++)
		__asm__ volatile(TEN("imul %0, %0\n") : "+r"(x) : : "cc");
}
#else
/* L1 loads: Arm's Cortex-A72 and all Neoverse (optimisation guides). */
#define STEP_CYCLES 4
#define STEP_NAME "load"

static void
chain_run(void)
{
	void *x = &x;

	for (unsigned int i = 0; i < NB_STEPS / 10; i++)
		__asm__ volatile(TEN("ldr %0, [%0]\n") : "+r"(x) : : "memory");
}
#endif

int
perf_clock_set(struct perf_clock *clock, double ticks, uint64_t tsc_hz,
	       char *text, size_t size)
{
	const double mhz = tsc_hz / ticks / 1e6;

	if (!isfinite(mhz) || mhz < MIN_MHZ || mhz > MAX_MHZ) {
		snprintf(text, size,
			 "a cycle of %.3f TSC ticks would be a core of %.0f MHz, not %d to %d: cycles cannot be measured; use --instructions",
			 ticks, mhz, MIN_MHZ, MAX_MHZ);
		return -1;
	}
	clock->ticks_per_cycle = ticks;
	clock->core_mhz = mhz;
	snprintf(text, size,
		 "a cycle is %.3f TSC ticks, the core runs at %.0f MHz (a " STEP_NAME
		 " takes %d cycles)", ticks, mhz, STEP_CYCLES);
	return 0;
}

int
perf_clock_calibrate(struct perf_clock *clock, char *text, size_t size)
{
	double best = INFINITY;

	for (unsigned int k = 0; k < NB_TRIES; k++) {
		const uint64_t begin = rte_rdtsc_precise();

		chain_run();
		best = fmin(best, (double)(rte_rdtsc_precise() - begin));
	}
	return perf_clock_set(clock, best / NB_STEPS / STEP_CYCLES,
			      rte_get_tsc_hz(), text, size);
}
