/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MANA_TEST_VERBS_GATE_H
#define MANA_TEST_VERBS_GATE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * A program with verbs_gate.c has its own functions of libibverbs that register and
 * deregister memory; it needs -rdynamic. They call the library's, and wait at a gate before
 * that, as if the kernel waited for the adapter.
 */

/* Calls of one kind wait here while the gate is shut. */
struct gate {
	atomic_bool is_shut;
	atomic_bool is_late; /* nobody opened it in time, so it has opened itself */
	sem_t arrived; /* calls that wait */
	sem_t opened;
};

extern struct gate reg_gate, dereg_gate;
extern atomic_uint nb_inside; /* calls that have come to a shut gate, and have not ended */
extern atomic_uint nb_pds_early; /* protection domains that ended meanwhile */

/* The gate is open, and no call waits. */
void gate_shut(struct gate *gate);

/* Waits until nb calls wait at the gate. False: they have not come. */
bool gate_await(struct gate *gate, unsigned int nb);

/* Lets calls pass that come from now on. */
void gate_unlock(struct gate *gate);

/* Opens the gate, and lets nb calls pass that wait. */
void gate_open(struct gate *gate, unsigned int nb);

#endif /* MANA_TEST_VERBS_GATE_H */
