/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Emulated files in a program: uverbs contexts and event files. The results
 * are those of the kernel: -errno on failure.
 */

#ifndef MODEL_FILES_H
#define MODEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* open() of the node of a function. */
int files_open(int node, int flags);

/* The context of a descriptor, also of a passed one; -1: none. */
int files_context(int fd);

/*
 * Whether fd is a context's file that this process inherited or was passed
 * without attaching. Does not attach; async-signal-safe.
 */
bool files_is_anothers_context(int fd);

/* ioctl(fd, RDMA_VERBS_IOCTL, arg) on a context. */
int files_ioctl(int context, int fd, void *arg);

/* mmap() of a context: its doorbell page. */
int files_mmap(int context, int fd, void **addr, size_t length, int flags,
	       off_t offset);
/* munmap(). False: the range has no emulated page, and nothing was done. */
bool files_munmap(void *addr, size_t length);
/* A mapping has replaced an emulated page (MAP_FIXED). Keeps errno. */
void files_replaced(void);

/* close() of an emulated descriptor. */
int files_close(int fd);
/* Call before fd is closed in another way (dup2, close_range). */
void files_forget(int fd);

/* newfd has become a duplicate of fd. */
void files_duplicated(int fd, int newfd);

#endif /* MODEL_FILES_H */
