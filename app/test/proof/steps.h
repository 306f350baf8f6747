/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Code of this thread, run instruction by instruction (the processor's trap flag),
 * each decoded by capstone before it runs. x86-64. An instruction takes 10 us then:
 * where that is too much, only those that touch certain pages.
 */

#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum steps_kind {
	STEPS_PLAIN,
	STEPS_SFENCE,
	STEPS_FULL_FENCE, /* mfence, lfence */
	STEPS_LOCKED, /* and xchg with memory */
	STEPS_DIVISION,
	STEPS_SYSCALL,
	STEPS_UNKNOWN, /* not decoded, or its addresses are not understood */
};

#define STEPS_MAX_ACCESSES 2

struct steps_insn {
	uintptr_t pc;
	enum steps_kind kind;
	const char *text; /* its name */
	uint32_t nb_accesses;
	struct {
		uintptr_t addr;
		uint32_t bytes;
		bool loads, stores;
		bool is_stack; /* near the stack pointer */
	} access[STEPS_MAX_ACCESSES];
};

/* Called for each instruction that is about to run, in a signal handler. */
typedef void (*steps_watch_t)(const struct steps_insn *insn, void *arg);

/* Whole pages. */
struct steps_region {
	void *base;
	size_t bytes;
};
#define STEPS_MAX_REGIONS 2

/* Once. 0 or a negative errno. */
int steps_init(void);
/* From the return of the one to the call of the other: every instruction, */
void steps_begin(steps_watch_t watch, void *arg);
/* or those that load from or store to these; nb is STEPS_MAX_REGIONS at most. */
void steps_begin_at(const struct steps_region *regions, uint32_t nb,
		    steps_watch_t watch, void *arg);
void steps_end(void);
/* Instructions that were watched so far. */
uint64_t steps_nb(void);

#endif /* STEPS_H */
