/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages in the address space of a program.
 *
 * A mapped doorbell page has no access rights, so each store to it faults. The
 * handler decodes the instruction, passes the store to the device, and lets the
 * program continue behind the instruction. So no store is lost or merged, with
 * any number of threads.
 */

#ifndef MODEL_DOORBELL_H
#define MODEL_DOORBELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/*
 * Install the fault handler. Call once per process, and again after fork() in a
 * child that uses the machine. Idempotent.
 */
void doorbell_process_init(void);

/*
 * Map the doorbell page of a context. *addr is a hint or NULL, or with MAP_FIXED in
 * flags the address, and receives the address. 0, -ENOMEM, or an error of
 * kernel_context_doorbell(). In thread mode this starts the process's device thread.
 */
int doorbell_map(void **addr, uint32_t context, size_t length, int flags);

/* A page without access rights is mapped at addr: the monitor page of VMBus. */
int doorbell_map_monitor(void *addr);

/*
 * Forget the doorbell pages in a range and unmap it. 0, or -ENOENT if it has
 * none: nothing was done. Costs one load without such pages.
 */
int doorbell_unmap(void *addr, size_t length);

/*
 * Forget the pages in a range that another mapping is about to replace; true: it had any,
 * and doorbell_replace_end() follows when it has replaced them. A store meanwhile is
 * executed again, until it reaches what is mapped then.
 */
bool doorbell_replace_begin(void *addr, size_t length);
void doorbell_replace_end(void);

enum doorbell_fault {
	DOORBELL_FAULT_FOREIGN, /* the program's own fault */
	DOORBELL_FAULT_DONE,	/* the doorbell rang: continue */
	DOORBELL_FAULT_KILL,	/* doorbell page, but no plain store */
};

/* For the handler of SIGSEGV. Async-signal-safe. */
enum doorbell_fault doorbell_trap(void *fault_addr, ucontext_t *uc);

#endif /* MODEL_DOORBELL_H */
