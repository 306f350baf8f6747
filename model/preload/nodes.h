/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device nodes /dev/infiniband/uverbs<N>, which no file system has.
 */

#ifndef MODEL_NODES_H
#define MODEL_NODES_H

#include <stdint.h>

#define NODES_NONE -1
#define NODES_FOLDER -2 /* /dev/infiniband itself */

/*
 * N of the /dev/infiniband/uverbs<N> that is there and that a path names,
 * NODES_FOLDER, or NODES_NONE. Attaches the process when the path looks like
 * one; cheap when it does not.
 */
int nodes_find(const char *path);

/* Identity of a node: number as of makedev(), and mode. */
uint64_t nodes_rdev(uint32_t number);
uint32_t nodes_mode(int node);

#endif /* MODEL_NODES_H */
