/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of kernel objects: handles, lifetimes, references, counts.
 *
 * A handle is an index into the table; it names an object only together with
 * the context that made it and the kind that is asked for, as in ib_uverbs.
 * With the machine's lock held.
 */

#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "kernel_state.h"

struct object *object_at(uint32_t handle);

/*
 * A handle for a new object of a context, zeroed: 0 or -ENOMEM. It is an
 * object, found, counted and torn down, once it has its kind; a process that
 * dies before leaves nothing half-made to be torn down.
 */
int object_new(uint32_t context, uint32_t *handle);
void object_activate(uint32_t handle, enum object_kind kind);
/* Gone; its handle may be given to a new object at once. */
void object_free(uint32_t handle);

/* The object behind a handle of this context and kind, or NULL (ENOENT). */
struct object *object_find(uint32_t context, enum object_kind kind,
			   uint32_t handle);

/* One more, one less object that refers to this one; KERNEL_NONE is none. */
void object_get(uint32_t handle);
void object_put(uint32_t handle);

/* One more of this kind. */
void object_count(enum object_kind kind, struct kernel_leaks *counts);

/*
 * First live object of a context and kind with a handle >= from, or
 * KERNEL_NONE.
 */
uint32_t object_next(uint32_t context, enum object_kind kind, uint32_t from);

#endif /* MODEL_OBJECT_H */
