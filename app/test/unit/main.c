/* SPDX-License-Identifier: BSD-3-Clause */

/* Runs a program's tests, or those that match its first argument, with EAL. */

#include "fixture.h"

int
main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return test_run("unit", fx_group_setup, NULL);
}
