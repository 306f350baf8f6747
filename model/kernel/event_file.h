/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Event files: completion channels and the asynchronous one.
 *
 * Each is a FIFO in the run folder which the program holds open for reading
 * and writing, so that read(), poll() and epoll are those of the real kernel.
 * Whoever runs kernel code, in any process, writes the records by path.
 * With the machine's lock held.
 */

#ifndef MODEL_EVENT_FILE_H
#define MODEL_EVENT_FILE_H

#include "kernel_state.h"

/* Make one and open it in this process: the descriptor, or -errno. */
int event_file_create(uint32_t context, enum object_kind kind,
		      uint32_t *handle);
/* The event file behind a descriptor of this process, or KERNEL_NONE. */
uint32_t event_file_of(enum object_kind kind, uint32_t context, int fd);
/* Remove the FIFO and the object. */
void event_file_destroy(uint32_t handle);
/* The same once the program has closed it and no CQ posts to it. */
void event_file_end_unused(uint32_t handle);
/*
 * Its device is gone: an asynchronous file has one last record, DEVICE_FATAL;
 * a completion channel is at its end.
 */
void event_file_end(uint32_t handle);
/* Its context is gone: destroyed when the program closes it, or dies. */
void event_file_orphan(uint32_t handle);

/* One record. False: lost, the program has stopped reading (64 KiB wait). */
bool event_file_post(uint32_t handle, const void *record, size_t nb_bytes);
/*
 * Take the unread 8-byte records with this value out of the file.
 * Returns how many there were.
 */
uint32_t event_file_retract(uint32_t handle, uint64_t value);

#endif /* MODEL_EVENT_FILE_H */
