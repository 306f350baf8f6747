/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages in the address space of a program.
 *
 * A mapped doorbell page has no access right at all: each store to it faults,
 * is decoded at the instruction pointer and handed to the device, and the
 * program goes on behind the instruction. So no store is lost or merged,
 * from however many threads they come.
 */

#ifndef MODEL_DOORBELL_H
#define MODEL_DOORBELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/*
 * Once per process, and again after fork() in a child that uses the machine:
 * the handler of faults is in place on return. Idempotent.
 */
void doorbell_process_init(void);

/*
 * Map the doorbell page of a context. *addr is a hint or NULL and receives
 * the address. 0, -ENOMEM, or what kernel_context_doorbell() says. In
 * thread mode the process has its device thread when this returns.
 */
int doorbell_map(void **addr, uint32_t context, size_t length);

/*
 * Forget the doorbell pages inside a range and unmap the range: 0. -ENOENT,
 * at the cost of one load when the process has no doorbell page: there is
 * none of ours in it, nothing was done.
 */
int doorbell_unmap(void *addr, size_t length);

/* The same when something else is about to be mapped over the range. */
int doorbell_forget(void *addr, size_t length);

enum doorbell_fault {
	DOORBELL_FAULT_FOREIGN, /* not ours: a fault of the program */
	DOORBELL_FAULT_DONE,	/* a doorbell rang; go on */
	DOORBELL_FAULT_KILL,	/* ours but not a plain store */
};

/* From the handler of SIGSEGV. Async-signal-safe. */
enum doorbell_fault doorbell_trap(void *fault_addr, ucontext_t *uc);

#endif /* MODEL_DOORBELL_H */
