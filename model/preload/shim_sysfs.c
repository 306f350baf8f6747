/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Interposed functions, part 5: others with a path in /sys. fopen() and
 * opendir() of the C library do not call the interposed open(), nor fclose() close().
 */

/* Both names of each function are defined here: headers must not alias them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fds.h"
#include "preload.h"
#include "sysfs_path.h"
#include "vmbus_files.h"

/* Flags for a mode of fopen(): r, r+ and so on. */
static int
flags_of(const char *mode)
{
	return mode[0] == 'r' && strchr(mode, '+') == NULL ? O_RDONLY : O_RDWR;
}

static FILE *
stream_of(int fd, const char *mode)
{
	FILE *file;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, mode);
	if (file == NULL)
		close(fd);
	return file;
}

#define DEFINE_FOPEN(name)                                              \
	MODEL_EXPORT FILE *name(const char *path, const char *mode)     \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
		int fd = sysfs_open(&path, flags_of(mode), to);         \
		FILE *file;                                             \
									\
		if (fd != SYSFS_GO_ON)                                  \
			return stream_of(fd, mode);                     \
		file = MODEL_REAL(name)(path, mode);                    \
		if (file != NULL && path == to)                         \
			vmbus_files_opened(fileno(file), to);           \
		return file;                                            \
	}

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

/* The stream has written to an attribute by calls that are not interposed. */
MODEL_EXPORT int
fclose(FILE *file)
{
	const int fd = fileno(file);
	int rc = 0, ret;

	if (fds_kind(fd) == FD_VMBUS && fflush(file) == 0) {
		rc = vmbus_files_closing(fd);
		fds_set(fd, FD_NONE);
	}
	ret = MODEL_REAL(fclose)(file);
	if (rc < 0) {
		errno = -rc;
		return EOF;
	}
	return ret;
}

/* A function whose only difference is the path. translate: sysfs_path or sysfs_folder. */
#define DEFINE_WITH_PATH(type, name, parameters, translate, next)       \
	MODEL_EXPORT type name parameters                               \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
									\
		path = translate(path, to);                             \
		return MODEL_REAL(name) next;                           \
	}

#define DEFINE_SCANDIR(name, entry)                                     \
	DEFINE_WITH_PATH(int, name,                                     \
			 (const char *path, struct entry ***list,       \
			  int (*filter)(const struct entry *),          \
			  int (*compare)(const struct entry **,         \
					 const struct entry **)),       \
			 sysfs_folder, (path, list, filter, compare))

DEFINE_WITH_PATH(DIR *, opendir, (const char *path), sysfs_folder, (path))
DEFINE_SCANDIR(scandir, dirent)
DEFINE_SCANDIR(scandir64, dirent64)
DEFINE_WITH_PATH(int, chdir, (const char *path), sysfs_folder, (path))
DEFINE_WITH_PATH(ssize_t, readlink, (const char *path, char *buf, size_t len),
		 sysfs_path, (path, buf, len))
DEFINE_WITH_PATH(ssize_t, readlinkat,
		 (int dir, const char *path, char *buf, size_t len),
		 sysfs_path, (dir, path, buf, len))
DEFINE_WITH_PATH(int, eaccess, (const char *path, int mode), sysfs_path, (path, mode))
DEFINE_WITH_PATH(int, euidaccess, (const char *path, int mode), sysfs_path, (path, mode))

/* ls -l calls these. */
#define DEFINE_GETXATTR(name)                                           \
	DEFINE_WITH_PATH(ssize_t, name,                                 \
			 (const char *path, const char *attr, void *value, size_t size), \
			 sysfs_path, (path, attr, value, size))
#define DEFINE_LISTXATTR(name)                                          \
	DEFINE_WITH_PATH(ssize_t, name, (const char *path, char *list, size_t size), \
			 sysfs_path, (path, list, size))

DEFINE_GETXATTR(getxattr)
DEFINE_GETXATTR(lgetxattr)
DEFINE_LISTXATTR(listxattr)
DEFINE_LISTXATTR(llistxattr)

/* For a path in /sys the result is a path in /sys again. */
MODEL_EXPORT char *
realpath(const char *path, char *resolved)
{
	char to[SYSFS_PATH_BYTES];
	const char *real = sysfs_path(path, to);
	char *found = MODEL_REAL(realpath)(real, resolved);

	if (found != NULL && real != path)
		sysfs_name(found);
	return found;
}

MODEL_EXPORT char *
canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

MODEL_EXPORT char *__realpath_chk(const char *path, char *resolved,
				  size_t size);
char *
__realpath_chk(const char *path, char *resolved, size_t size)
{
	if (size < PATH_MAX)
		return MODEL_REAL(__realpath_chk)(path, resolved, size);
	return realpath(path, resolved);
}
