/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Files of VMBus in a program: /dev/uioN, rings of subchannels and the attributes of
 * drivers. The results are those of the kernel: -errno on failure.
 */

#ifndef MODEL_VMBUS_FILES_H
#define MODEL_VMBUS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* If the path is /dev/uioN: the file that stands for it. False: another path. */
bool vmbus_files_path(const char *path, char *real, size_t real_bytes);
/* If the path is /dev/uioN: open it. False: another path. */
bool vmbus_files_open(const char *path, int flags, int *fd);
/* Whether programs may open this path in the run folder for writing. */
bool vmbus_files_is_writable(const char *path);
/* A file in the run folder was opened, at this path. */
void vmbus_files_opened(int fd, const char *path);

/* mmap() of /dev/uioN or of a ring. */
int vmbus_files_mmap(int fd, void **addr, size_t length, int flags, off_t offset);
/* munmap(): end the session whose rings are in the range. */
void vmbus_files_munmap(const void *addr, size_t length);

ssize_t vmbus_files_write(int fd, const void *buf, size_t nb_bytes);
/*
 * Before the descriptor of an attribute is closed: the stream of a program writes by
 * calls that are not interposed, so what is in the file was written to it. 0, or why
 * the attribute refuses it.
 */
int vmbus_files_closing(int fd);

#endif /* MODEL_VMBUS_FILES_H */
