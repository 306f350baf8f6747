/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The part of /sys by which programs find the modelled devices.
 */

#ifndef MODEL_SYSFS_H
#define MODEL_SYSFS_H

#include <stdint.h>

#include "kernel.h"

/* Launcher, once: the whole tree. 0 or -errno, where names what failed. */
int sysfs_create(char *where, unsigned int where_bytes);

/* What a function has there, beginning with what the others are below. */
#define SYSFS_PCI    (1u << 0)
#define SYSFS_NET    (1u << 1)
#define SYSFS_RDMA   (1u << 2) /* the RDMA device and its uverbs */
#define SYSFS_UVERBS (1u << 3) /* to be removed before the rest of it */
#define SYSFS_ALL    (SYSFS_PCI | SYSFS_NET | SYSFS_RDMA)

/*
 * Parts of a function come with their present names and numbers, or go with
 * whatever is left of them. Lock held; async-signal-safe.
 */
void sysfs_put(uint32_t fn, uint32_t parts);
void sysfs_remove(uint32_t fn, uint32_t parts);

/* The netdev alone, which has moved to the namespace of /sys or from it. */
void sysfs_put_netdev(const struct kernel_netdev *netdev);
void sysfs_remove_netdev(const struct kernel_netdev *netdev);

/* Folder of a function below sys/. */
#define SYSFS_PCI_CLASS 0x020000 /* Ethernet */
#define SYSFS_MODALIAS_BYTES 64
/* "pci:v...": of all functions. */
void sysfs_pci_modalias(char modalias[SYSFS_MODALIAS_BYTES]);

#define SYSFS_PCI_DIR_BYTES 64
void sysfs_pci_dir(uint32_t fn, char dir[SYSFS_PCI_DIR_BYTES]);

#endif /* MODEL_SYSFS_H */
