/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * /sys as programs of the machine see it: what belongs to modelled devices
 * lies in the run folder, all else is the real one. Only absolute paths that
 * begin with /sys/ are looked at; all is cheap for others.
 */

#ifndef MODEL_SYSFS_PATH_H
#define MODEL_SYSFS_PATH_H

#include <stdbool.h>

#include "config.h"

#define SYSFS_PATH_BYTES (MODEL_MAX_PATH + 256)

/* Where path really is: path itself, or in buf. */
const char *sysfs_path(const char *path, char buf[SYSFS_PATH_BYTES]);
/*
 * The same for a folder that is to be listed, or gone to: one that has devices
 * of both machines is made of links to them, as they are now.
 */
const char *sysfs_folder(const char *path, char buf[SYSFS_PATH_BYTES]);

/*
 * Before path is opened: SYSFS_GO_ON with *path changed where needed, or the
 * result, a descriptor or -errno.
 */
#define SYSFS_GO_ON (-4095)
int sysfs_open(const char **path, int flags, char buf[SYSFS_PATH_BYTES]);

/* A path in the run folder as programs call it: the other way round. */
bool sysfs_name(char *path);

#endif /* MODEL_SYSFS_PATH_H */
