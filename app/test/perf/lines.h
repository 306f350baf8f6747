/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records which cache lines a piece of code reads and writes, without measuring
 * time: all memory except the stacks and this program's own is inaccessible,
 * and each page becomes accessible for one instruction at a time. x86-64 Linux.
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
	uintptr_t addr; /* of the first byte */
	uint32_t owner; /* from lines_begin() */
	bool is_write;
};

/*
 * Finds the mapped memory; call again after new mappings. Aborts the program on
 * error.
 */
void lines_look(void);

/* No library or system call in between. One thread. */
void lines_begin(uint32_t owner);
void lines_end(void);

/* Accesses since the start or the last call with forget. */
const struct lines_access *lines_accesses(uint32_t *nb, bool forget);

/* A writable address of this page of shared memory, or 0. */
uintptr_t lines_writable_address(uintptr_t page);

#endif /* LINES_H */
