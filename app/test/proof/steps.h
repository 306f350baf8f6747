/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs code of this thread step by step (trap flag of the processor); capstone
 * decodes each instruction before it runs. x86-64. A step takes 10 us, so it
 * may be limited to instructions that access given pages.
 */

#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum steps_kind {
	STEPS_OTHER,
	STEPS_SFENCE,
	STEPS_FULL_FENCE, /* mfence, lfence */
	STEPS_LOCKED, /* and xchg with memory */
	STEPS_DIVISION,
	STEPS_SYSCALL,
	STEPS_UNKNOWN, /* not decoded, or addresses unknown */
};

#define STEPS_MAX_ACCESSES 2

struct steps_insn {
	uintptr_t pc;
	enum steps_kind kind;
	const char *text; /* mnemonic */
	uint32_t nb_accesses;
	struct {
		uintptr_t addr;
		uint32_t bytes;
		bool loads, stores;
		bool is_stack; /* near the stack pointer */
	} access[STEPS_MAX_ACCESSES];
};

/* Called in a signal handler before each instruction. */
typedef void (*steps_watch_t)(const struct steps_insn *insn, void *arg);

/* Whole pages. */
struct steps_region {
	void *base;
	size_t bytes;
};
#define STEPS_MAX_REGIONS 2

/* Called once. Returns 0 or a negative errno. */
int steps_init(void);
/* Steps every instruction until steps_end(), */
void steps_begin(steps_watch_t watch, void *arg);
/* or those that access these regions; nb is at most STEPS_MAX_REGIONS. */
void steps_begin_at(const struct steps_region *regions, uint32_t nb,
		    steps_watch_t watch, void *arg);
void steps_end(void);
/* Number of steps so far. */
uint64_t steps_nb(void);

#endif /* STEPS_H */
