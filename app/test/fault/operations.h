/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations of the fault sweep: see test_fault.c. */

#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "fixture.h"

struct operation {
	const char *name;
	/* makes the initial state */
	void (*before)(struct fixture *fx);
	int (*run)(struct fixture *fx);
	/* undoes the operation, also a refused one */
	void (*undo)(struct fixture *fx);
	/*
	 * Succeeds, and frees what it can: the removal of the device frees what the kernel
	 * refused to destroy.
	 */
	bool is_teardown;
	/* Destroys objects first: a refused one leaves the port without them, or with others. */
	bool destroys_first;
	/* makes no calls in some build or state */
	bool may_be_empty;
	/* Repeats what fails for ever until a time limit, which takes long. */
	bool waits;
};

extern const struct operation operations[];
extern const unsigned int nb_operations;

/* The fault that is armed. */
extern bool is_for_ever;

/* Ports with several queues. */
extern const struct fx_config several;

void undo_probe(struct fixture *fx);
/* The driver has reported this. */
bool needs_restart(void);
/* The driver has reported this: they remain until it closes the device's context. */
bool kernel_keeps_objects(void);

#endif /* OPERATIONS_H */
