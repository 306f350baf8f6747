/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counts calls of the C library's heap, of DPDK's heap and of the kernel. The
 * program defines the heap functions itself, for all libraries. A filter traps
 * system calls and then executes them; vDSO calls (the clock) do not count.
 */

#ifndef QUIET_H
#define QUIET_H

#include <stdint.h>

struct quiet_count {
	uint64_t nb_allocs; /* includes frees */
	uint64_t nb_syscalls;
	long syscall; /* the last number */
};

/*
 * Called once, in the thread that counts; permanent. clone() and the like are
 * not counted. Returns 0 or a negative errno.
 */
int quiet_init(void);
/* Counts this thread's calls between the two. */
void quiet_arm(void);
void quiet_disarm(void);
/* Returns and resets the counts. */
struct quiet_count quiet_take(void);

#endif /* QUIET_H */
