/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages as plain memory (--mode step): the program stores to a mapping of
 * the start of the context's file, and the device reads it through a second mapping.
 * The device works in the process that opened the context, even if other processes
 * have the page mapped. But every process reads the RQ registers of all pages before
 * it sends.
 */

#ifndef MODEL_PLAIN_PAGES_H
#define MODEL_PLAIN_PAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * mmap() of a context's file. *addr is a hint or NULL and receives the address.
 * 0 or -errno.
 */
int plain_pages_map(void **addr, uint32_t context, int fd, size_t length, int flags);

/*
 * Call these with all signals blocked.
 *
 * Read the registers and process the queues. Returns the number of new register
 * values, or a negative errno if a page cannot be mapped: nothing was done then.
 */
int plain_pages_run(void);

/* The device's mapping of a page, or NULL. */
const volatile void *plain_pages_registers(uint32_t fn, uint32_t page);

#endif /* MODEL_PLAIN_PAGES_H */
