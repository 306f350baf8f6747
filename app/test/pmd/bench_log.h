/* SPDX-License-Identifier: BSD-3-Clause */

/* All log lines of EAL, libraries and driver pass here (bench.h has the rest). */

#ifndef BENCH_LOG_H
#define BENCH_LOG_H

int bench_log_open(void);
void bench_log_reset(void);
/* Fails the test if there was an error that it did not announce. */
void bench_log_check(void);

#endif /* BENCH_LOG_H */
