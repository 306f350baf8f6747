/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the card calls of its environment: of the imitated kernel
 * (kernel/platform.c), of a PCI function used by a real kernel, or of a test. Each
 * program that links the card defines the pointer to it. The launcher can change
 * it before card_init().
 *
 * An address space and an address identify guest memory. With the imitated kernel
 * an address space is a process, identified by its slot in the segment's process
 * table, and addresses are virtual. For a PCI function they are the addresses of
 * its DMA regions.
 */

#ifndef MODEL_PLATFORM_H
#define MODEL_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct platform {
	/*
	 * An armed CQ has a completion: write the EQE, send the MSI, under the
	 * machine's lock. This and all below must be async-signal-safe.
	 */
	void (*complete)(uint32_t fn, uint32_t cq_id);
	/* Copy guest memory. 0, or -EFAULT if a byte is inaccessible. */
	int (*read)(uint32_t space, uint64_t addr, void *buf, size_t nb_bytes);
	int (*write)(uint32_t space, uint64_t addr, const void *buf,
		     size_t nb_bytes);
	/* False: the space is being torn down; -EFAULT is no violation. */
	bool (*has_memory)(uint32_t space);
	/* Wake the thread that calls card_run() for an address space. */
	void (*wake)(uint32_t space);
	/* Wake the thread that calls card_timers() and moves frames. */
	void (*wake_owner)(void);
	/* What else is due at a time, under the machine's lock. NULL: nothing. */
	void (*timers)(uint64_t now_ns);
	/*
	 * The holder of the machine's lock was killed: repair the card
	 * (card_recover()), then the rest. The caller holds the lock.
	 */
	void (*recover)(void);
	/* The process table is full: free the slots of dead processes. */
	void (*free_slots)(void);
};

extern const struct platform *platform;

#endif /* MODEL_PLATFORM_H */
