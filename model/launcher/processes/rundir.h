/* SPDX-License-Identifier: BSD-3-Clause */

/* The run folder of a machine: create, find, remove. */

#ifndef MODEL_RUNDIR_H
#define MODEL_RUNDIR_H

#include <stddef.h>

/* The path for a machine of this user and name. 0 or -errno. */
int rundir_path(const char *name, char *path, size_t path_bytes);

/*
 * Create the folder with fd/, sys/, run/ and the FIFO kick, after removing folders of
 * dead launchers. The lock that marks it as alive and the FIFO stay open for
 * the life of the process. 0, or -1 after logging an error.
 */
int rundir_create(const char *name, char *path, size_t path_bytes,
		  int *kick_fd);

/*
 * The folder below the run folder for what DPDK's programs keep in RUNTIME_DIRECTORY:
 * path, or NULL if it would be too long for their sockets, and is not created.
 */
const char *rundir_runtime(const char *run_dir, char *path, size_t path_bytes);

/* Remove the folder with its contents. */
void rundir_remove(const char *path);

#endif /* MODEL_RUNDIR_H */
