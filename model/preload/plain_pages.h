/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages as plain memory (--mode step, polled): a mapping of the start
 * of the context's file, to which the program stores, and another one through
 * which the device looks at it. The device works in the process that opened
 * the context, whoever else has the page mapped; but what is posted there for
 * receiving is taken by any process that is about to send.
 */

#ifndef MODEL_PLAIN_PAGES_H
#define MODEL_PLAIN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * mmap() of a context's file by the program. *addr is a hint or NULL and
 * receives the address. 0 or -errno. In polled mode the thread runs when this
 * returns.
 */
int plain_pages_map(void **addr, uint32_t context, int fd, size_t length,
		    int flags);

/*
 * Take what is new and do the work: the number of new register values. One
 * caller at a time; is_patient: wait for the machine's lock, and do not leave
 * it to others.
 */
uint32_t plain_pages_run(bool is_patient);

/* The device's view of a page, or NULL. One caller at a time. */
const volatile void *plain_pages_registers(uint32_t fn, uint32_t page);

#endif /* MODEL_PLAIN_PAGES_H */
