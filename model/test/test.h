/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests that register themselves: TEST(name) and the body. A program runs those of its
 * sources in their order there.
 */

#ifndef MODEL_TEST_TEST_H
#define MODEL_TEST_TEST_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TEST_MAX 256

/* Of the program: the linker takes one of each. */
__attribute__((weak)) struct CMUnitTest test_all[TEST_MAX];
__attribute__((weak)) size_t test_nb;

static inline void
test_add(struct CMUnitTest test)
{
	if (test_nb == TEST_MAX)
		abort();
	test_all[test_nb++] = test;
}

/*
 * Run all tests between the group's set-up and tear-down, which may be NULL. Returns the
 * number of failed tests.
 */
static inline int
test_run(const char *group, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests(group, test_all, test_nb, setup,
				       teardown);
}

/* A function as test, with cmocka's set-up and tear-down, or NULL. */
#define TEST_ADD(name, function, setup, teardown)                      \
	__attribute__((constructor)) static void register_##name(void) \
	{                                                              \
		test_add((struct CMUnitTest){                          \
			#name, function, setup, teardown, NULL });     \
	}
#define TEST_WITH(name, setup, teardown)                               \
	static void name(void **state);                                \
	TEST_ADD(name, name, setup, teardown)                          \
	static void name(void **state __attribute__((unused)))
#define TEST(name) TEST_WITH(name, NULL, NULL)

#endif /* MODEL_TEST_TEST_H */
