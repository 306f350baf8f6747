/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/magic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "file_check.h"
#include "options.h"

int
file_check(const char *what, const char *path)
{
	struct statfs fs;
	struct stat st;

	/* A shell's <(...) and >(...) are pipes with both ends open already. */
	if (path == NULL || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode) ||
	    statfs(path, &fs) != 0 || fs.f_type == PIPEFS_MAGIC)
		return 0;
	options_complain("%s: %s is a FIFO, whose other end may never come: "
			 "give a file, or <(command), >(command) of a shell",
			 what, path);
	return -1;
}
