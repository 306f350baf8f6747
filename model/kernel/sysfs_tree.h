/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Folders, files and links below sys/ of the run folder. Lock held;
 * async-signal-safe, by plain system calls.
 */

#ifndef MODEL_SYSFS_TREE_H
#define MODEL_SYSFS_TREE_H

#include <stddef.h>

#include "rdma_device.h"

/* A tree that is being written; the first error sticks. */
struct tree {
	int root; /* descriptor of sys/ */
	int error;
	char at[256]; /* where it stuck */
};

void tree_open(struct tree *tree);
void tree_close(struct tree *tree);

/* A folder, with those above it; one that is there stays. */
void tree_dirs(struct tree *tree, const char *path);
/* The file dir/name. */
void tree_bytes(struct tree *tree, const char *dir, const char *name,
		const void *bytes, size_t nb_bytes);
void tree_text(struct tree *tree, const char *dir, const char *name,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The link dir/name to a path below the root. */
void tree_link(struct tree *tree, const char *dir, const char *name,
	       const char *target);

/* sysfs_rdma.c: an RDMA device of the function whose folder this is. */
void sysfs_put_rdma(struct tree *tree, const struct rdma_device *device,
		    const char *pci_dir);

#endif /* MODEL_SYSFS_TREE_H */
