/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages as plain memory (--mode step): the program stores to a mapping of the start
 * of the context's file, and reads the registers as the adapter through a second mapping.
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

/* The adapter's mapping of a page. 0 or -errno. */
int plain_pages_registers(uint32_t fn, uint32_t page, const volatile void **registers);

#endif /* MODEL_PLAIN_PAGES_H */
