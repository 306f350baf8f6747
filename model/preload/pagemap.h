/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * /proc/self/pagemap on a machine with synthetic devices: the physical address of a
 * page is its virtual address, which is what the model takes for guest physical
 * addresses. So a program with IOVA as PA needs no right to read it.
 */

#ifndef MODEL_PAGEMAP_H
#define MODEL_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* If the path is that file: open it. False: another path, or no such device. */
bool pagemap_open(const char *path, int flags, int *fd);
/* read() of it. */
ssize_t pagemap_read(int fd, void *buf, size_t nb_bytes);

#endif /* MODEL_PAGEMAP_H */
