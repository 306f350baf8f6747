/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counts calls of the C library's heap, of DPDK's heap and of the kernel. The
 * program defines the heap functions itself, for all libraries. A filter traps
 * system calls and then executes them; vDSO calls (the clock) do not count.
 */

#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

struct call_count {
	uint64_t nb_allocs; /* includes frees */
	uint64_t nb_syscalls;
	long syscall; /* the last number */
};

/*
 * Called once, in the thread that counts; permanent. clone() and the like are
 * not counted. Returns 0 or a negative errno.
 */
int calls_init(void);
/* Counts this thread's calls between the two. */
void calls_count_begin(void);
void calls_count_end(void);
/* Returns and resets the counts. */
struct call_count calls_take(void);

#endif /* CALLS_H */
