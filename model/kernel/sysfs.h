/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The part of /sys by which programs find the modelled devices.
 */

#ifndef MODEL_SYSFS_H
#define MODEL_SYSFS_H

/* Write the tree below run_dir/sys. 0 or -errno, where names what failed. */
int sysfs_create(const char *run_dir, char *where, unsigned int where_bytes);

#endif /* MODEL_SYSFS_H */
