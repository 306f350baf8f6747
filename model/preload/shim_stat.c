/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Interposed functions, part 2: file status. Nodes of modelled devices are
 * character devices that exist in no file system. An open uverbs file appears
 * as a character device, too, although it is a regular file in the run folder.
 */

/* Both names of each function are defined here: headers must not alias them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fds.h"
#include "files.h"
#include "kernel.h"
#include "nodes.h"
#include "preload.h"
#include "sysfs_path.h"

/* struct stat and struct stat64 have the same members. */
#define FILL_NODE(buf, node)                                            \
	do {                                                            \
		memset(buf, 0, sizeof(*(buf)));                         \
		(buf)->st_mode = nodes_mode(node);                      \
		(buf)->st_nlink = 1;                                    \
		if ((node) >= 0) {                                      \
			(buf)->st_rdev = nodes_rdev(node);              \
			(buf)->st_ino = (buf)->st_rdev;                 \
		}                                                       \
	} while (0)

/* N of the uverbs<N> that a descriptor has open, or NODES_NONE. */
static int
node_of_fd(int fd)
{
	int context = -1;

	if (attach_is_attached())
		context = files_context(fd);
	if (context < 0)
		return NODES_NONE;
	context = kernel_context_number(context);
	return context < 0 ? NODES_NONE : context;
}

#define DEFINE_STAT(name, type)                                         \
	MODEL_EXPORT int name(const char *path, struct type *buf)       \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
		int node = nodes_find(path);                            \
									\
		if (node == NODES_NONE)                                 \
			return MODEL_REAL(name)(sysfs_path(path, to),   \
						buf);                   \
		FILL_NODE(buf, node);                                   \
		return 0;                                               \
	}

#define DEFINE_FSTAT(name, type)                                        \
	MODEL_EXPORT int name(int fd, struct type *buf)                 \
	{                                                               \
		int rc = MODEL_REAL(name)(fd, buf);                     \
		int node = rc < 0 ? NODES_NONE : node_of_fd(fd);        \
									\
		if (node != NODES_NONE)                                 \
			FILL_NODE(buf, node);                           \
		return rc;                                              \
	}

#define DEFINE_FSTATAT(name, type)                                      \
	MODEL_EXPORT int name(int dir, const char *path,                \
			      struct type *buf, int flags)              \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
		int node, rc;                                           \
									\
		path = sysfs_path(path, to);                            \
		node = nodes_find(path);                                \
		if (node != NODES_NONE) {                               \
			FILL_NODE(buf, node);                           \
			return 0;                                       \
		}                                                       \
		rc = MODEL_REAL(name)(dir, path, buf, flags);           \
		if (rc == 0 && path[0] == '\0') {                       \
			node = node_of_fd(dir);                         \
			if (node != NODES_NONE)                         \
				FILL_NODE(buf, node);                   \
		}                                                       \
		return rc;                                              \
	}

DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(lstat64, stat64)
DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)
DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

/*
 * The same for programs built with glibc before 2.33. The first argument is
 * a version of struct stat; there is only one on 64-bit machines.
 */
#define DEFINE_XSTAT(name, modern, type)                                \
	MODEL_EXPORT int name(int version, const char *path,            \
			      struct type *buf);                        \
	int name(int version, const char *path, struct type *buf)       \
	{                                                               \
		(void)version;                                          \
		return modern(path, buf);                               \
	}

#define DEFINE_FXSTAT(name, modern, type)                               \
	MODEL_EXPORT int name(int version, int fd, struct type *buf);   \
	int name(int version, int fd, struct type *buf)                 \
	{                                                               \
		(void)version;                                          \
		return modern(fd, buf);                                 \
	}

DEFINE_XSTAT(__xstat, stat, stat)
DEFINE_XSTAT(__xstat64, stat64, stat64)
DEFINE_XSTAT(__lxstat, lstat, stat)
DEFINE_XSTAT(__lxstat64, lstat64, stat64)
DEFINE_FXSTAT(__fxstat, fstat, stat)
DEFINE_FXSTAT(__fxstat64, fstat64, stat64)

/* Newer kernels accept NULL for "", but the declaration of statx() does not. */
static int
names_nothing(const char *path)
{
	return path == NULL || path[0] == '\0';
}

MODEL_EXPORT int
statx(int dir, const char *path, int flags, unsigned int mask,
      struct statx *buf)
{
	char to[SYSFS_PATH_BYTES];
	int node, rc;

	path = sysfs_path(path, to);
	node = nodes_find(path);
	if (node == NODES_NONE) {
		rc = MODEL_REAL(statx)(dir, path, flags, mask, buf);
		if (rc < 0 || !names_nothing(path))
			return rc;
		node = node_of_fd(dir);
		if (node == NODES_NONE)
			return rc;
	}
	memset(buf, 0, sizeof(*buf));
	buf->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
	buf->stx_mode = nodes_mode(node);
	buf->stx_nlink = 1;
	if (node >= 0) {
		buf->stx_rdev_major = major(nodes_rdev(node));
		buf->stx_rdev_minor = minor(nodes_rdev(node));
	}
	return 0;
}

MODEL_EXPORT int
access(const char *path, int mode)
{
	char to[SYSFS_PATH_BYTES];

	if (nodes_find(path) != NODES_NONE)
		return 0;
	return MODEL_REAL(access)(sysfs_path(path, to), mode);
}

MODEL_EXPORT int
faccessat(int dir, const char *path, int mode, int flags)
{
	char to[SYSFS_PATH_BYTES];

	if (nodes_find(path) != NODES_NONE)
		return 0;
	return MODEL_REAL(faccessat)(dir, sysfs_path(path, to), mode, flags);
}
