/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kernel.h"
#include "nodes.h"
#include "preload.h"

#define FOLDER "/dev/infiniband"
#define NODES FOLDER "/uverbs"
#define BY_NUMBER "/dev/char/231:"

static bool
starts_with(const char *path, const char *start)
{
	return strncmp(path, start, strlen(start)) == 0;
}

/* A number as the kernel writes it: no sign, leading zero or suffix. */
static bool
read_number(const char *text, uint32_t *number)
{
	char own[16];

	*number = (uint32_t)strtoul(text, NULL, 10);
	snprintf(own, sizeof(own), "%u", *number);
	return strcmp(text, own) == 0;
}

int
nodes_find(const char *path)
{
	uint32_t number;

	if (path == NULL || strncmp(path, "/dev/", 5) != 0 ||
	    (path[5] != 'i' && path[5] != 'c'))
		return NODES_NONE;
	if (!starts_with(path, FOLDER) && !starts_with(path, BY_NUMBER))
		return NODES_NONE;
	if (!attach_machine())
		return NODES_NONE;
	if (strcmp(path, FOLDER) == 0 || strcmp(path, FOLDER "/") == 0)
		return NODES_FOLDER;

	if (starts_with(path, NODES)) {
		if (!read_number(path + strlen(NODES), &number))
			return NODES_NONE;
	} else if (starts_with(path, BY_NUMBER)) {
		if (!read_number(path + strlen(BY_NUMBER), &number))
			return NODES_NONE;
		number -= KERNEL_UVERBS_MINOR_BASE;
	} else {
		return NODES_NONE;
	}
	return kernel_uverbs_find(number) < 0 ? NODES_NONE : (int)number;
}

bool
nodes_is_hidden(const char *path)
{
	if (path == NULL || (!starts_with(path, FOLDER "/") &&
			     !starts_with(path, BY_NUMBER)))
		return false;
	return nodes_find(path) == NODES_NONE && attach_machine();
}

uint64_t
nodes_rdev(uint32_t number)
{
	return makedev(KERNEL_UVERBS_MAJOR, KERNEL_UVERBS_MINOR_BASE + number);
}

uint32_t
nodes_mode(int node)
{
	return node == NODES_FOLDER ? S_IFDIR | 0755 : S_IFCHR | 0666;
}
