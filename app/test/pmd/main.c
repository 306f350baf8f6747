/* SPDX-License-Identifier: BSD-3-Clause */

/* Runs a program's tests. Of programs that set something before, main() is their own. */

#include <errno.h>

#include "fixture.h"

int
main(void)
{
	return FX_RUN(program_invocation_short_name);
}
