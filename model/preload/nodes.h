/* SPDX-License-Identifier: BSD-3-Clause */

/* The nodes /dev/infiniband/uverbs<N>, which exist in no file system. */

#ifndef MODEL_NODES_H
#define MODEL_NODES_H

#include <stdbool.h>
#include <stdint.h>

#define NODES_NONE -1
#define NODES_FOLDER -2 /* /dev/infiniband itself */

/*
 * N if the path is that of an existing /dev/infiniband/uverbs<N>, NODES_FOLDER,
 * or NODES_NONE. Attaches the process if the path looks like one; cheap if not.
 */
int nodes_find(const char *path);

/* Whether it is a node of an RDMA device that only the host may have. */
bool nodes_is_hidden(const char *path);

/* Identity of a node: number as of makedev(), and mode. */
uint64_t nodes_rdev(uint32_t number);
uint32_t nodes_mode(int node);

#endif /* MODEL_NODES_H */
