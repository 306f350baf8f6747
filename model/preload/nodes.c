/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attach.h"
#include "kernel.h"
#include "nodes.h"
#include "segment.h"

#define FOLDER "/dev/infiniband"
#define NODE_BYTES 40

int
nodes_find(const char *path)
{
	char node[NODE_BYTES], number[NODE_BYTES];
	uint32_t fn;

	if (path == NULL || strncmp(path, "/dev/", 5) != 0 ||
	    (path[5] != 'i' && path[5] != 'c'))
		return NODES_NONE;
	if (strncmp(path, FOLDER, strlen(FOLDER)) != 0 &&
	    strncmp(path, "/dev/char/231:", 14) != 0)
		return NODES_NONE;
	if (!attach_machine())
		return NODES_NONE;
	if (strcmp(path, FOLDER) == 0 || strcmp(path, FOLDER "/") == 0)
		return NODES_FOLDER;

	for (fn = 0; fn < segment_config()->nb_functions; fn++) {
		snprintf(node, sizeof(node), FOLDER "/uverbs%u", fn);
		snprintf(number, sizeof(number), "/dev/char/%u:%u",
			 KERNEL_UVERBS_MAJOR, KERNEL_UVERBS_MINOR_BASE + fn);
		if (strcmp(path, node) == 0 || strcmp(path, number) == 0)
			return fn;
	}
	return NODES_NONE;
}

uint64_t
nodes_rdev(uint32_t fn)
{
	return makedev(KERNEL_UVERBS_MAJOR, KERNEL_UVERBS_MINOR_BASE + fn);
}

uint32_t
nodes_mode(int node)
{
	return node == NODES_FOLDER ? S_IFDIR | 0755 : S_IFCHR | 0666;
}
