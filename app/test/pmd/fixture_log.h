/* SPDX-License-Identifier: BSD-3-Clause */

/* Capture of all log lines; fixture.h declares the functions for tests. */

#ifndef FIXTURE_LOG_H
#define FIXTURE_LOG_H

int fx_log_open(void);
void fx_log_reset(void);
/* Fails the test on an unexpected error line. */
void fx_log_check(void);

#endif /* FIXTURE_LOG_H */
