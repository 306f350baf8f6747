/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pinning of user memory, as ib_umem_get() does it: the pages must exist, be
 * writable, and fit below RLIMIT_MEMLOCK.
 */

#ifndef MODEL_PIN_H
#define MODEL_PIN_H

#include "kernel_state.h"

/*
 * Check and populate memory of the calling process and charge its pages, which
 * its object is told with it: *charged, which is 0 after a failure.
 * Takes the lock itself: populating may take long. 0; -EINVAL (no length, or
 * past the end of the address space), -EFAULT, -ENOMEM (memlock limit).
 */
int pin_memory(uint64_t addr, uint64_t size, bool writable,
	       uint64_t *charged);

/* Give back, and charge nothing any more; with the lock held. */
void pin_release(uint32_t process, uint64_t *charged);

/*
 * Pin a ring for a queue, a zero part of its object: it is filled (memory of
 * this process). -EINVAL when it is not aligned to a page, else as pin_memory();
 * it is to be released then, too.
 */
int pin_ring(uint64_t addr, uint64_t size, struct object_ring *ring);
void pin_ring_release(struct object_ring *ring); /* lock held */

#endif /* MODEL_PIN_H */
