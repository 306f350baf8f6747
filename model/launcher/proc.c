/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool
is_of_own_namespace(void)
{
	char text[16];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

	if (length < 0)
		return false;
	text[length] = '\0';
	return atoi(text) == (int)getpid();
}

static bool
has_own_file(pid_t pid)
{
	struct stat other, own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &other) == 0 && stat("/proc/self/exe", &own) == 0 &&
	       other.st_dev == own.st_dev && other.st_ino == own.st_ino;
}

/* Another build, or one that was linked anew since it was started. */
static bool
has_file_of_that_name(pid_t pid)
{
	char path[64], file[PATH_MAX];
	const char *name;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, file, sizeof(file) - 1);
	if (length < 0)
		return false;
	file[length] = '\0';
	name = strrchr(file, '/');
	return name != NULL && (strcmp(name, "/mana-model") == 0 ||
				strcmp(name, "/mana-model (deleted)") == 0);
}

bool
proc_is_mana_model(pid_t pid)
{
	return has_own_file(pid) || has_file_of_that_name(pid);
}

struct proc *
proc_list(size_t *nb)
{
	DIR *dir = is_of_own_namespace() ? opendir("/proc") : NULL;
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
