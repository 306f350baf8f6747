/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run folder of a machine: made, found and removed.
 */

#ifndef MODEL_RUNDIR_H
#define MODEL_RUNDIR_H

#include <stddef.h>
#include <sys/types.h>

/* Where a machine of this user and name is or would be. 0 or -errno. */
int rundir_path(const char *name, char *path, size_t path_bytes);

/*
 * Make the folder, with fd/, sys/ and the FIFO kick in it. Folders of dead
 * launchers are removed first. The lock that says "alive" and the FIFO stay
 * open for the life of the process. 0, or -1 after a complaint.
 */
int rundir_create(const char *name, char *path, size_t path_bytes,
		  int *kick_fd);

/* Remove it and all in it. */
void rundir_remove(const char *path);

/*
 * A socket outside of the folder, with this inode, is removed with it, even
 * when the launcher is killed.
 */
void rundir_leave(const char *path, const char *file, ino_t ino);

#endif /* MODEL_RUNDIR_H */
