/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Copies whose faults come back as a return value: see mem.h.
 */

#ifndef MODEL_MEM_COPY_H
#define MODEL_MEM_COPY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define MEM_COPY_GUARDED 1

/* 0, or -1 when an access faulted and the handler sent it to the exit. */
int mem_copy_raw(void *dst, const void *src, size_t nb_bytes);
int mem_store32_raw(void *dst, uint32_t value);
#else
#define MEM_COPY_GUARDED 0
#endif

#endif /* MODEL_MEM_COPY_H */
