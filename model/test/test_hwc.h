/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_TEST_HWC_H
#define MODEL_TEST_HWC_H

/* hwc_errors.c: what a driver does wrong. The number of failed tests. */
int hwc_error_tests(void);

/* hwc_limits.c: much work at once. The same. */
int hwc_limit_tests(void);

#endif /* MODEL_TEST_HWC_H */
