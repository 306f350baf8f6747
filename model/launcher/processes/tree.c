/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tree.h"

#define MAX_DEPTH 64

static void walk(pid_t pid, int depth, tree_visit visit, void *arg);

/* proc(5): /proc/<pid>/task/<tid>/children */
static void
walk_children(pid_t pid, pid_t tid, int depth, tree_visit visit, void *arg)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)tid);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fscanf(file, "%d", &child) == 1)
		walk(child, depth + 1, visit, arg);
	fclose(file);
}

static void
walk(pid_t pid, int depth, tree_visit visit, void *arg)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = depth < MAX_DEPTH ? opendir(path) : NULL;
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		const pid_t tid = atoi(entry->d_name);

		if (tid > 0 && (depth == 0 || visit(pid, tid, arg)))
			walk_children(pid, tid, depth, visit, arg);
	}
	closedir(dir);
}

void
tree_walk(tree_visit visit, void *arg)
{
	walk(getpid(), 0, visit, arg);
}
