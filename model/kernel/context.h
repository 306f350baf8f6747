/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Contexts: open uverbs files. With the machine's lock held.
 */

#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include "kernel_state.h"

/* The context while its file is open, or NULL. */
struct kernel_context *context_at(uint32_t context);

/* Allocate the doorbell page (mana_ib_alloc_ucontext): GET_CONTEXT. */
int context_enable(uint32_t context);

/* Destroy the contexts whose file nobody holds. */
void context_reap(void);

#endif /* MODEL_CONTEXT_H */
