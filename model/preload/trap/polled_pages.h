/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages as plain memory (--mode step, polled): the program stores to a
 * mapping of the start of the context's file, and the device reads it through a
 * second mapping. The device works in the process that opened the context, even
 * if other processes have the page mapped. But every process reads the RQ
 * registers of all pages before it sends.
 */

#ifndef MODEL_POLLED_PAGES_H
#define MODEL_POLLED_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * mmap() of a context's file. *addr is a hint or NULL and receives the address.
 * 0 or -errno. In polled mode this starts the device thread.
 */
int polled_pages_map(void **addr, uint32_t context, int fd, size_t length,
		     int flags);

/*
 * Read the registers and process the queues; returns the number of new register
 * values. One caller at a time. is_patient: wait for the machine's lock; else
 * return if other threads have it or want it.
 */
uint32_t polled_pages_run(bool is_patient);

/* The device's mapping of a page, or NULL. One caller at a time. */
const volatile void *polled_pages_registers(uint32_t fn, uint32_t page);

#endif /* MODEL_POLLED_PAGES_H */
