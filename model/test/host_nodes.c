/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Simulates a host with an RDMA card: the answers of the C library about its
 * nodes. This library is preloaded behind the model, so that the model finds
 * these functions as the real ones.
 */

#undef _FILE_OFFSET_BITS /* open() and open64() are two functions here */

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host_nodes.h"

#pragma GCC visibility push(default)

bool
host_has(const char *path)
{
	static const char *const nodes[] = {
		"/dev/infiniband", "/dev/infiniband/rdma_cm", "/dev/infiniband/umad0",
		"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1",
		"/dev/infiniband/uverbs2", "/dev/infiniband/uverbs7",
		"/dev/char/231:194", "/dev/char/231:199", "/dev/char/231:0",
	};

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (strcmp(path, nodes[i]) == 0)
			return true;
	return false;
}

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* A file of any host that stands for the node. */
static const char *
stand_in(const char *path)
{
	if (!host_has(path))
		return path;
	return strcmp(path, "/dev/infiniband") == 0 ? "/dev" : "/dev/null";
}

#define DEFINE_OPEN(name)                                               \
	int name(const char *path, int flags, ...)                      \
	{                                                               \
		va_list args;                                           \
		mode_t mode;                                            \
									\
		va_start(args, flags);                                  \
		mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0; \
		va_end(args);                                           \
		return REAL(name)(stand_in(path), flags, mode);         \
	}
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_STAT(name, type)                                         \
	int name(const char *path, struct type *buf)                    \
	{                                                               \
		return REAL(name)(stand_in(path), buf);                 \
	}
DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(lstat64, stat64)

int
statx(int dir, const char *path, int flags, unsigned int mask, struct statx *buf)
{
	return REAL(statx)(dir, stand_in(path), flags, mask, buf);
}

int
access(const char *path, int mode)
{
	return REAL(access)(stand_in(path), mode);
}

DIR *
opendir(const char *path)
{
	return REAL(opendir)(stand_in(path));
}
