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
 * A handle for a new object of a context, which names nothing: 0, -ENOMEM, or
 * -EIO when the device is gone. It is found and counted once it is activated;
 * before, it holds what it names already for whoever makes it, or ends it when
 * that one is dead: see context_abandon().
 */
int object_new(uint32_t context, enum object_kind kind, uint32_t *handle);
void object_activate(uint32_t handle);
/* Gone; its handle may be given to a new object at once. */
void object_free(uint32_t handle);
/*
 * The last act of a teardown: free, but while the device goes away the handle
 * stays the program's.
 */
void object_end(uint32_t handle);
/* Destroy by a teardown, or free what the end of the device has left. */
void object_destroy(uint32_t handle, void (*teardown)(uint32_t handle));

/* The object behind a handle of this context and kind, or NULL (ENOENT). */
struct object *object_find(uint32_t context, enum object_kind kind,
			   uint32_t handle);
/* The same to destroy it: also one that has lost its device. */
struct object *object_find_any(uint32_t context, enum object_kind kind,
			       uint32_t handle);

/* Refer to an object by this name, and no more; KERNEL_NONE is none. */
void object_refer(uint32_t *name, uint32_t handle);
void object_unrefer(uint32_t *name);

/* One more of this kind. */
void object_count(enum object_kind kind, struct kernel_leaks *counts);

/*
 * First live object of a context and kind with a handle >= from, or
 * KERNEL_NONE.
 */
uint32_t object_next(uint32_t context, enum object_kind kind, uint32_t from);

#endif /* MODEL_OBJECT_H */
