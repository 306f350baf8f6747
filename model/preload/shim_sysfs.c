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

MODEL_EXPORT DIR *
opendir(const char *path)
{
	char to[SYSFS_PATH_BYTES];

	return MODEL_REAL(opendir)(sysfs_folder(path, to));
}

#define DEFINE_SCANDIR(name, entry)                                     \
	MODEL_EXPORT int name(const char *path, struct entry ***list,   \
			      int (*filter)(const struct entry *),      \
			      int (*compare)(const struct entry **,     \
					     const struct entry **))    \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
									\
		return MODEL_REAL(name)(sysfs_folder(path, to), list,   \
					filter, compare);               \
	}

DEFINE_SCANDIR(scandir, dirent)
DEFINE_SCANDIR(scandir64, dirent64)

MODEL_EXPORT int
chdir(const char *path)
{
	char to[SYSFS_PATH_BYTES];

	return MODEL_REAL(chdir)(sysfs_folder(path, to));
}

MODEL_EXPORT ssize_t
readlink(const char *path, char *buf, size_t len)
{
	char to[SYSFS_PATH_BYTES];

	return MODEL_REAL(readlink)(sysfs_path(path, to), buf, len);
}

MODEL_EXPORT ssize_t
readlinkat(int dir, const char *path, char *buf, size_t len)
{
	char to[SYSFS_PATH_BYTES];

	return MODEL_REAL(readlinkat)(dir, sysfs_path(path, to), buf, len);
}

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

#define DEFINE_ACCESS(name)                                             \
	MODEL_EXPORT int name(const char *path, int mode)               \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
									\
		return MODEL_REAL(name)(sysfs_path(path, to), mode);    \
	}

DEFINE_ACCESS(eaccess)
DEFINE_ACCESS(euidaccess)

/* ls -l calls these. */
#define DEFINE_GETXATTR(name)                                           \
	MODEL_EXPORT ssize_t name(const char *path, const char *attr,   \
				  void *value, size_t size)             \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
									\
		return MODEL_REAL(name)(sysfs_path(path, to), attr,     \
					value, size);                   \
	}

#define DEFINE_LISTXATTR(name)                                          \
	MODEL_EXPORT ssize_t name(const char *path, char *list,         \
				  size_t size)                          \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
									\
		return MODEL_REAL(name)(sysfs_path(path, to), list,     \
					size);                          \
	}

DEFINE_GETXATTR(getxattr)
DEFINE_GETXATTR(lgetxattr)
DEFINE_LISTXATTR(listxattr)
DEFINE_LISTXATTR(llistxattr)
