/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Allocations of the driver, and of nobody else: its imports are replaced
 * where the dynamic linker has put them (System V ABI, JUMP_SLOT and GLOB_DAT).
 */

#ifndef IMPORTS_H
#define IMPORTS_H

/*
 * Replaces what the loaded library with this file name imports. Returns the
 * number of imports found, or a negative errno.
 */
int imports_hook(const char *library);

/* Make the nth coming allocation (1: the next) fail. */
void imports_arm(unsigned int nth);
void imports_disarm(void);
/* 1 when it has. */
unsigned int imports_hits(void);

#endif /* IMPORTS_H */
