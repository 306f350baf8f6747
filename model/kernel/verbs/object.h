/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of kernel objects: handles, lifetimes, references, counts.
 *
 * A handle is an index into the table. As in ib_uverbs, it is valid only
 * together with the object's context and kind. Call these with the machine's
 * lock held unless stated otherwise.
 */

#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "fault.h"
#include "kernel_state.h"

struct object *object_at(uint32_t handle);

/*
 * Allocate a handle for a new object of a context, without references. 0,
 * -ENOMEM, or -EIO if the device was removed. Its creator stores references and
 * then calls object_activate(), from which on object_find() and counts include
 * it; if the creator dies before, context_abandon() tears it down.
 */
int object_new(uint32_t context, enum object_kind kind, uint32_t *handle);
void object_activate(uint32_t handle);
/* Free the object; a new object may have its handle at once. */
void object_free(uint32_t handle);
/* Last step of a teardown: free it, or keep its handle after device removal. */
void object_end(uint32_t handle);
/* Destroy an object, or free the handle that removal of its device left. */
void object_destroy(uint32_t handle, void (*teardown)(uint32_t handle));

/*
 * A program's call to destroy an object; takes the lock itself. 0; the errors of
 * object_check(); -EBUSY: another refers to it; or an injected fault's error.
 */
int object_remove(uint32_t context, enum object_kind kind, uint32_t handle,
		  enum fault_call call, void (*teardown)(uint32_t handle));

/* The object with a handle, context and kind, or NULL (ENOENT). */
struct object *object_find(uint32_t context, enum object_kind kind,
			   uint32_t handle);
/* The same, including objects whose device was removed, for destroy calls. */
struct object *object_find_any(uint32_t context, enum object_kind kind,
			       uint32_t handle);

/*
 * core/rdma_core.c lookup_get_idr_uobject(): 0; -ENOENT: no such handle;
 * -EINVAL: it is of another kind.
 */
int object_check(uint32_t context, enum object_kind kind, uint32_t handle);

/* Set and count a reference; clear it. KERNEL_NONE: no reference. */
void object_refer(uint32_t *name, uint32_t handle);
void object_unrefer(uint32_t *name);

/* Add one of this kind. */
void object_count(enum object_kind kind, struct kernel_leaks *counts);

/* First object of a context and kind with a handle >= from, or KERNEL_NONE. */
uint32_t object_next(uint32_t context, enum object_kind kind, uint32_t from);

/*
 * Counts of leaks: objects that programs did not destroy. Each is counted once,
 * even if the counting process is killed. Call these with the machine's lock
 * held.
 *
 * Count a leak of this kind and set *is_counted, unless it is set already.
 * is_counted is a field of struct kernel for this purpose only.
 */
void leak_count(bool *is_counted, enum object_kind kind);

/* Finish a count that a killed process has started. */
void leak_repair(void);

/*
 * Pinning of user memory, like ib_umem_get(): the pages must exist, be
 * writable, and fit below RLIMIT_MEMLOCK.
 *
 * Check and populate memory of the calling process, and charge its pages: their
 * count is added to the process and stored in *charged (0 after a failure), a
 * field of the object. Takes the lock itself, because populating may take long.
 * 0; -EINVAL (no length, or past the end of the address space), -EFAULT,
 * -ENOMEM (memlock limit).
 */
int pin_memory(uint64_t addr, uint64_t size, bool writable, uint64_t *charged);

/* Undo the charge. With the lock held. */
void pin_release(uint32_t process, uint64_t *charged);

/*
 * Pin a queue's ring in memory of this process and fill in *ring, an all-zero
 * field of the object. -EINVAL if it is not page-aligned, else as pin_memory().
 * The caller must release the ring after a failure, too.
 */
int pin_ring(uint64_t addr, uint64_t size, struct object_ring *ring);
void pin_ring_release(struct object_ring *ring); /* lock held */

/*
 * Event files: completion channels and the asynchronous one.
 *
 * Each is a FIFO in the run folder. The program opens it for reading and
 * writing, so that the real kernel implements read(), poll() and epoll. The
 * process that runs the kernel code writes records by path. Call these with the
 * machine's lock held.
 */
/* Create an event file. Its descriptor in this process, or -errno. */
int event_file_create(uint32_t context, enum object_kind kind,
		      uint32_t *handle);
/* The event file of a descriptor of this process, or KERNEL_NONE. */
uint32_t event_file_of(enum object_kind kind, uint32_t context, int fd);
/* Remove the FIFO and the object. */
void event_file_destroy(uint32_t handle);
/* Do so if the program has closed it and no CQ uses it. */
void event_file_end_unused(uint32_t handle);
/* Removal of the device: end a channel, or post DEVICE_FATAL as last record. */
void event_file_end(uint32_t handle);
/* The context is destroyed: keep the file until the program ends it or dies. */
void event_file_orphan(uint32_t handle);

/* Write a record. False: lost, since the program left 64 KiB unread. */
bool event_file_post(uint32_t handle, const void *record, size_t nb_bytes);
/* Remove the unread 8-byte records with this value. Returns their number. */
uint32_t event_file_retract(uint32_t handle, uint64_t value);

#endif /* MODEL_OBJECT_H */
