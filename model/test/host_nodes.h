/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef HOST_NODES_H
#define HOST_NODES_H

#include <stdbool.h>

/* Whether the simulated host, which has an RDMA card, has the path. */
bool host_has(const char *path);

#endif /* HOST_NODES_H */
