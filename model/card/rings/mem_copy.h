/* SPDX-License-Identifier: BSD-3-Clause */

/* Copies that return an error on a fault: see mem.h. */

#ifndef MODEL_MEM_COPY_H
#define MODEL_MEM_COPY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define MEM_COPY_GUARDED 1
#else
#define MEM_COPY_GUARDED 0
#endif

/* For guarded copies only. */
/* 0, or -1 if an access faulted and the handler redirected it to the exit. */
int mem_copy_raw(void *dst, const void *src, size_t nb_bytes);
/* The same in 32-bit words, in order; nb_bytes is a multiple of 4. */
int mem_copy_words_raw(void *dst, const void *src, size_t nb_words);

#endif /* MODEL_MEM_COPY_H */
