/* SPDX-License-Identifier: BSD-3-Clause */

/* The trap of doorbell stores without a machine: stubs record its calls. */

#ifndef TEST_TRAP_STUBS_H
#define TEST_TRAP_STUBS_H

#include <stdint.h>

#include "violations.h"

struct noted {
	uint32_t fn, page, offset, size_bytes;
	uint64_t value;
	uint64_t nb_doorbells;
	uint64_t nb_signals; /* of the monitor page */
	uint64_t nb_violations;
	enum violation violation;
};

extern volatile struct noted noted;	       /* the last call, and counts */
extern void (*on_doorbell)(void); /* called inside the device, if set */

/*
 * Call first in main(). The trap works only on a modelled machine, which it
 * detects by the environment: if necessary this sets the environment and
 * executes the program again, with SIGSEGV blocked.
 */
void trap_stubs_init(char **argv);

/* Map a new doorbell page. */
volatile char *trap_stubs_map(void);

#endif /* TEST_TRAP_STUBS_H */
