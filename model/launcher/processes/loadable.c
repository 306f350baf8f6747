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

/* Fill buf from the file; false: it is shorter. */
static bool
read_at(int fd, uint64_t at, void *buf, size_t nb_bytes)
{
	return pread(fd, buf, nb_bytes, (off_t)at) == (ssize_t)nb_bytes;
}

/*
 * The first segment of a type (elf(5)), of PT_LOAD that with an address. 1, 0: there is
 * none, or -1: the file cannot be read.
 */
static int
find_segment(int fd, const Elf64_Ehdr *elf, uint32_t type, uint64_t addr,
	     Elf64_Phdr *segment)
{
	for (uint16_t i = 0; i < elf->e_phnum; i++) {
		if (!read_at(fd, elf->e_phoff + (uint64_t)i * sizeof(*segment),
			     segment, sizeof(*segment)))
			return -1;
		if (segment->p_type == type &&
		    (type != PT_LOAD ||
		     addr - segment->p_vaddr < segment->p_filesz))
			return 1;
	}
	return 0;
}

/* Whether the file has the name of a dynamic linker. */
static bool
has_linker(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr segment;

	return find_segment(fd, elf, PT_INTERP, 0, &segment) != 0;
}

static bool
read_header(int fd, Elf64_Ehdr *elf)
{
	return read_at(fd, 0, elf, sizeof(*elf)) &&
	       memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0;
}

/* The names of libraries are in a string table, whose address is in an entry, too. */
static bool
needs(int fd, const Elf64_Ehdr *elf, const char *prefix, char *name,
      size_t name_bytes)
{
	Elf64_Phdr dynamic, strings;
	uint64_t table = 0;
	Elf64_Dyn entry;
	uint64_t i;

	if (find_segment(fd, elf, PT_DYNAMIC, 0, &dynamic) != 1)
		return false;
	for (i = 0; i < dynamic.p_filesz / sizeof(entry); i++)
		if (read_at(fd, dynamic.p_offset + i * sizeof(entry), &entry,
			    sizeof(entry)) &&
		    entry.d_tag == DT_STRTAB)
			table = entry.d_un.d_ptr;
	if (find_segment(fd, elf, PT_LOAD, table, &strings) != 1)
		return false;
	table += strings.p_offset - strings.p_vaddr;
	for (i = 0; i < dynamic.p_filesz / sizeof(entry); i++) {
		ssize_t n;

		if (!read_at(fd, dynamic.p_offset + i * sizeof(entry), &entry,
			     sizeof(entry)) ||
		    entry.d_tag != DT_NEEDED)
			continue;
		n = pread(fd, name, name_bytes - 1,
			  (off_t)(table + entry.d_un.d_val));
		name[n > 0 ? n : 0] = '\0';
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return true;
	}
	return false;
}

bool
loadable_needs(const char *program, const char *prefix, char *name,
	       size_t name_bytes)
{
	char path[PATH_MAX];
	Elf64_Ehdr elf;
	bool found;
	int fd;

	if (!find(program, path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	found = read_header(fd, &elf) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
		needs(fd, &elf, prefix, name, name_bytes);
	close(fd);
	return found;
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
	else if (read_header(fd, &elf)) {
		if (elf.e_ident[EI_CLASS] != ELFCLASS64)
			why = "it is no 64-bit program";
		else if (!has_linker(fd, &elf) && !is_linker(path))
			why = "it is statically linked: link it dynamically";
	}
	close(fd);
	return why;
}
