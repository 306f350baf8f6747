/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MANA_TEST_LCORES_H
#define MANA_TEST_LCORES_H

#include <stdio.h>

/*
 * EAL's argument for lcore 0 on any processor of this program. By default, and with
 * "-l 0", EAL binds the main threads of all programs to the same processor: tests that
 * run side by side would share it.
 */
static inline char *
lcores_anywhere(void)
{
	static char argument[1024] = "--lcores=0@0";
	char line[960], cpus[960];
	FILE *file = fopen("/proc/self/status", "r");

	if (file == NULL)
		return argument;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "Cpus_allowed_list: %959s", cpus) == 1)
			snprintf(argument, sizeof(argument), "--lcores=0@(%s)", cpus);
	fclose(file);
	return argument;
}

#endif /* MANA_TEST_LCORES_H */
