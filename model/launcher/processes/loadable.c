/* SPDX-License-Identifier: BSD-3-Clause */

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "launcher.h"

/* Find the program's file, as execvp() does. */
static bool
find(const char *program, char path[PATH_MAX])
{
	const char *next = getenv("PATH");

	if (strchr(program, '/') != NULL)
		return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX;
	while (next != NULL) {
		const char *end = strchrnul(next, ':');
		int length = snprintf(path, PATH_MAX, "%.*s%s%s",
				      (int)(end - next), next,
				      end != next ? "/" : "", program);

		if (length < PATH_MAX && access(path, X_OK) == 0)
			return true;
		next = *end != '\0' ? end + 1 : NULL;
	}
	return false;
}

/* Whether the file has PT_INTERP, the name of a dynamic linker (elf(5)). */
static bool
has_linker(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr segment;

	for (uint16_t i = 0; i < elf->e_phnum; i++) {
		off_t at = (off_t)(elf->e_phoff + (uint64_t)i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) !=
		    (ssize_t)sizeof(segment))
			return true; /* unknown */
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* ld.so(8) as a program: it loads the library into the program that it runs. */
static bool
is_linker(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, "ld", 2) == 0 &&
	       strstr(slash != NULL ? slash : path, ".so") != NULL;
}

/* ld.so(8), secure-execution mode: the model's library is not loaded. */
static bool
gains_privileges(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return false;
	return ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) ||
	       ((st.st_mode & S_ISGID) != 0 && st.st_gid != getgid()) ||
	       (getuid() != 0 &&
		getxattr(path, "security.capability", NULL, 0) > 0);
}

const char *
loadable_why_not(const char *program)
{
	const char *why = NULL;
	char path[PATH_MAX];
	Elf64_Ehdr elf;
	int fd;

	if (!find(program, path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (gains_privileges(fd, path))
		why = "it gains privileges when it starts (set-user-ID, "
		      "set-group-ID or file capabilities): start a copy of it, "
		      "as a user who has them";
	else if (pread(fd, &elf, sizeof(elf), 0) == (ssize_t)sizeof(elf) &&
		 memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0) {
		if (elf.e_ident[EI_CLASS] != ELFCLASS64)
			why = "it is no 64-bit program";
		else if (!has_linker(fd, &elf) && !is_linker(path))
			why = "it is statically linked: link it dynamically";
	}
	close(fd);
	return why;
}
