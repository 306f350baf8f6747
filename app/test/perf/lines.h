/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which cache lines a piece of code reads and writes, without measuring time: all
 * memory but the stacks and this program's own is taken away, and given back page by
 * page, for one instruction each. x86-64 Linux.
 *
 * An access counts for the line of its first byte.
 */

#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_BYTES 64
#define LINES_MAX_ACCESSES (1u << 20)

struct lines_access {
	uintptr_t addr; /* of its first byte */
	uint32_t owner; /* as lines_begin() was told */
	bool is_write;
};

/*
 * Look for the memory that there is; again when some has come. Aborts the program
 * when it cannot.
 */
void lines_look(void);

/* No call of a library in between, nor of the kernel. One thread. */
void lines_begin(uint32_t owner);
void lines_end(void);

/* What was accessed since the start or since this was called with forget. */
const struct lines_access *lines_accesses(uint32_t *nb, bool forget);

/* Where the page of shared memory may be written that may be read at page, or 0. */
uintptr_t lines_writable_address(uintptr_t page);

#endif /* LINES_H */
