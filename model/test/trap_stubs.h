/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The trap of doorbell stores without a machine: what it calls is noted here.
 */

#ifndef TEST_TRAP_STUBS_H
#define TEST_TRAP_STUBS_H

#include <stdint.h>

#include "violations.h"

struct noted {
	uint32_t fn, page, offset, size_bytes;
	uint64_t value;
	uint64_t nb_doorbells;
	uint64_t nb_violations;
	enum violation violation;
};

extern volatile struct noted noted;	       /* the last, and counts of all */
extern void (*on_doorbell)(void); /* called inside the device, if set */

/*
 * First thing in main(): the trap works only on a modelled machine, which it
 * sees by the environment. Starts the program again where needed, and then
 * with SIGSEGV blocked.
 */
void trap_stubs_init(char **argv);

/* A new doorbell page. */
volatile char *trap_stubs_map(void);

#endif /* TEST_TRAP_STUBS_H */
