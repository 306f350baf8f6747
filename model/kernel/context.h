/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Contexts: open uverbs files. With the machine's lock held.
 */

#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include "kernel_state.h"

/* Its file in the run folder. */
#define CONTEXT_PATH_BYTES (MODEL_MAX_PATH + 64)
void context_path(uint64_t serial, char path[CONTEXT_PATH_BYTES]);

/* The context while its file is open, or NULL. */
struct kernel_context *context_at(uint32_t context);

/* The same, or NULL once its device is gone. */
struct kernel_context *context_live(uint32_t context);

/*
 * The device of a context is gone: its objects end, their handles stay, its
 * event files tell (core/rdma_core.c uverbs_destroy_ufile_hw() with
 * RDMA_REMOVE_DRIVER_REMOVE). Again after somebody died half-way.
 */
void context_disassociate(uint32_t context);

/* End an object that is not finished, with all that it names. */
void context_abandon(uint32_t handle);

/* Destroy whatever objects it has; what the program forgot is a leak. */
void context_destroy_objects(uint32_t context);

/* Allocate the doorbell page (mana_ib_alloc_ucontext): GET_CONTEXT. */
int context_enable(uint32_t context);
/* Take it back, of one that has nothing yet. */
void context_disable(uint32_t context);

/*
 * Doorbell pages of plain memory: the page is the start of the context's file.
 * Set the register of work queues to 0.
 */
int context_page_clear(const struct kernel_context *ctx, bool is_sq);

/* Destroy the contexts whose file nobody holds. */
void context_reap(void);

#endif /* MODEL_CONTEXT_H */
