/* SPDX-License-Identifier: BSD-3-Clause */

/* The part of /sys that describes the modelled devices. */

#ifndef MODEL_SYSFS_H
#define MODEL_SYSFS_H

#include <stddef.h>
#include <stdint.h>

#include "function.h"
#include "kernel.h"

/* The launcher creates the tree. 0, or -errno and the failed path in where. */
int sysfs_create(char *where, unsigned int where_bytes);

/* The parts of a function's sysfs. The first one contains the others. */
#define SYSFS_PCI    (1u << 0)
#define SYSFS_NET    (1u << 1)
#define SYSFS_RDMA   (1u << 2) /* the RDMA device and its uverbs */
#define SYSFS_UVERBS (1u << 3) /* removed before the rest of SYSFS_RDMA */
#define SYSFS_ALL    (SYSFS_PCI | SYSFS_NET | SYSFS_RDMA)

/*
 * Create parts of a function with their current names and numbers, or remove
 * them, complete or not. With the lock held; async-signal-safe.
 */
void sysfs_put(uint32_t fn, uint32_t parts);
void sysfs_remove(uint32_t fn, uint32_t parts);

/* Create or remove a netdev that enters or leaves the namespace of /sys. */
void sysfs_put_netdev(const struct kernel_netdev *netdev);
void sysfs_remove_netdev(const struct kernel_netdev *netdev);

/* The folder of a function below sys/. */
#define SYSFS_PCI_CLASS 0x020000 /* Ethernet */
#define SYSFS_MODALIAS_BYTES 64
/* "pci:v...", the same for all functions. */
void sysfs_pci_modalias(char modalias[SYSFS_MODALIAS_BYTES]);

#define SYSFS_PCI_DIR_BYTES 64
void sysfs_pci_dir(uint32_t fn, char dir[SYSFS_PCI_DIR_BYTES]);

/*
 * Create folders, files and links below sys/ of the run folder. With the lock
 * held; async-signal-safe, by direct system calls.
 *
 * A tree under construction; keeps the first error.
 */
struct tree {
	int root; /* descriptor of sys/ */
	int error;
	char at[256]; /* path of the error */
};

void tree_open(struct tree *tree);
void tree_close(struct tree *tree);
/* The same, and log an error. */
void tree_close_logged(struct tree *tree);

/* Create a folder and its parents, unless they exist. */
void tree_dirs(struct tree *tree, const char *path);
/* Write the file dir/name. */
void tree_bytes(struct tree *tree, const char *dir, const char *name,
		const void *bytes, size_t nb_bytes);
void tree_text(struct tree *tree, const char *dir, const char *name,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Create dir/name, a file of nb_bytes zeros that needs no memory yet. */
void tree_sparse(struct tree *tree, const char *dir, const char *name,
		 size_t nb_bytes);
/* Remove a folder with all in it, or the file or link dir/name. */
void tree_remove(struct tree *tree, const char *path);
void tree_unlink(struct tree *tree, const char *dir, const char *name);
/* Create the link dir/name to a path below the root. */
void tree_link(struct tree *tree, const char *dir, const char *name,
	       const char *target);

/* sysfs_rdma.c: write an RDMA device of the function with this folder. */
void sysfs_put_rdma(struct tree *tree, const struct rdma_device *device,
		    const char *pci_dir);

#endif /* MODEL_SYSFS_H */
