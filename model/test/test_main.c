/* SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* program_invocation_short_name */
#include <errno.h>

#include "test.h"

int
main(void)
{
	return test_run(program_invocation_short_name, NULL, NULL);
}
