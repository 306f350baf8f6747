/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * /sys for programs of the machine: files of modelled devices are in the run
 * folder, all others are the real ones. Nodes of RDMA devices that only the
 * host has do not exist. Only absolute paths that begin with /sys/ or with the
 * nodes' folders are translated; for others these functions are cheap.
 */

#ifndef MODEL_SYSFS_PATH_H
#define MODEL_SYSFS_PATH_H

#include <stdbool.h>

#include "config.h"

#define SYSFS_PATH_BYTES (MODEL_MAX_PATH + 256)

/* The real path: path itself, or a path in buf. */
const char *sysfs_path(const char *path, char buf[SYSFS_PATH_BYTES]);
/*
 * The same for a folder to list or to enter. For a folder with devices of both
 * machines, this creates a folder of links to the present ones.
 */
const char *sysfs_folder(const char *path, char buf[SYSFS_PATH_BYTES]);

/* Before open(): SYSFS_GO_ON, *path translated; or a descriptor or -errno. */
#define SYSFS_GO_ON (-4095)
int sysfs_open(const char **path, int flags, char buf[SYSFS_PATH_BYTES]);

/* Translate a path in the run folder back to the program's view. */
bool sysfs_name(char *path);

#endif /* MODEL_SYSFS_PATH_H */
