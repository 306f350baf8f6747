/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counts what a piece of code asks of the C library's and of DPDK's heap, and of
 * the kernel. The heap functions of the program are its own: those of all
 * libraries that it loads go there. System calls are trapped by a filter and then
 * made; the vDSO's (the clock) are none.
 */

#ifndef QUIET_H
#define QUIET_H

#include <stdint.h>

struct quiet_count {
	uint64_t nb_allocs; /* freeing is one, too */
	uint64_t nb_syscalls;
	long syscall; /* number of the last one */
};

/*
 * Once, in the thread that will count, for good. clone() and its like are not
 * counted. 0 or a negative errno.
 */
int quiet_init(void);
/* Between the two, what this thread does is counted. */
void quiet_arm(void);
void quiet_disarm(void);
/* Since the last call, which forgets it. */
struct quiet_count quiet_take(void);

#endif /* QUIET_H */
