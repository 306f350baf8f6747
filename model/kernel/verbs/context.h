/* SPDX-License-Identifier: BSD-3-Clause */

/* Contexts: open uverbs files. Call these with the machine's lock held. */

#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include "kernel_state.h"

/* The context while its file is open, or NULL. */
struct kernel_context *context_at(uint32_t context);

/* The same, or NULL if its device was removed. */
struct kernel_context *context_live(uint32_t context);

/*
 * The device of a context is removed: tear down objects, keep their handles,
 * and report it on event files (core/rdma_core.c uverbs_destroy_ufile_hw() with
 * RDMA_REMOVE_DRIVER_REMOVE). Idempotent: a process may be killed in here.
 */
void context_disassociate(uint32_t context);

/* Tear down an unfinished object with all that it refers to. */
void context_abandon(uint32_t handle);

/* Destroy all objects; those that the program did not destroy are leaks. */
void context_destroy_objects(uint32_t context);

/* Allocate the doorbell page (mana_ib_alloc_ucontext): GET_CONTEXT. */
int context_enable(uint32_t context);

/*
 * Doorbell pages of plain memory: the page is the start of the context's file.
 * Set the register of work queues to 0.
 */
int context_page_clear(const struct kernel_context *ctx, bool is_sq);

/* Destroy the contexts whose file no process holds. */
void context_reap(void);

#endif /* MODEL_CONTEXT_H */
