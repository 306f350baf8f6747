/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

#define ROOM_STEP 256

/* From /proc/<pid>/stat. */
static pid_t
parent_of(const char *pid)
{
	char path[64], text[512], *p;
	int parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(text, sizeof(text), file) != NULL) {
		p = strrchr(text, ')'); /* the name may hold anything */
		if (p != NULL && sscanf(p + 1, " %*c %d", &parent) != 1)
			parent = 0;
	}
	fclose(file);
	return (pid_t)parent;
}

struct proc *
proc_list(size_t *nb)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct proc *list = NULL, *more;

	*nb = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (*nb % ROOM_STEP == 0) {
			more = realloc(list, (*nb + ROOM_STEP) * sizeof(*list));
			if (more == NULL)
				break;
			list = more;
		}
		list[(*nb)++] = (struct proc){
			.pid = (pid_t)atoi(entry->d_name),
			.parent = parent_of(entry->d_name),
		};
	}
	if (dir != NULL)
		closedir(dir);
	return list;
}
