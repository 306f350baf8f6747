/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Interposed functions, part 1: open, close, dup, ioctl, write, mmap. Each
 * calls the emulation for an emulated file, else the next definition.
 */

/* Both names of each function are defined here: headers must not alias them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doorbell.h"
#include "fault.h"
#include "fds.h"
#include "files.h"
#include "machine.h"
#include "netdev.h"
#include "nodes.h"
#include "pagemap.h"
#include "preload.h"
#include "sysfs_path.h"
#include "vmbus_files.h"

/* Convert the emulation's result to that of a C library function. */
static int
result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

/* ---- open ---- */

static int
open_node(int node, int flags)
{
	if (node == NODES_FOLDER)
		return result(-ENOENT); /* cannot be listed */
	return result(files_open(node, flags));
}

#define OPEN_MODE(mode, flags)                                          \
	mode_t mode = 0;                                                \
	if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) { \
		va_list args;                                           \
		va_start(args, flags);                                  \
		mode = va_arg(args, mode_t);                            \
		va_end(args);                                           \
	}

/* next: the arguments of the next definition, for files of the real kernel. */
#define DEFINE_OPEN_WITH(name, parameters, get_mode, next)              \
	MODEL_EXPORT int name parameters;                               \
	int name parameters                                             \
	{                                                               \
		char to[SYSFS_PATH_BYTES];                              \
		int node = nodes_find(path), rc;                        \
		get_mode                                                \
									\
		if (node != NODES_NONE)                                 \
			return open_node(node, flags);                  \
		if (vmbus_files_open(path, flags, &rc) ||               \
		    pagemap_open(path, flags, &rc))                     \
			return result(rc);                              \
		rc = sysfs_open(&path, flags, to);                      \
		if (rc != SYSFS_GO_ON)                                  \
			return result(rc);                              \
		rc = MODEL_REAL(name) next;                             \
		if (path == to)                                         \
			vmbus_files_opened(rc, to);                     \
		return rc;                                              \
	}

#define DEFINE_OPEN(name)                                               \
	DEFINE_OPEN_WITH(name, (const char *path, int flags, ...),      \
			 OPEN_MODE(mode, flags), (path, flags, mode))
#define DEFINE_OPENAT(name)                                             \
	DEFINE_OPEN_WITH(name, (int dir, const char *path, int flags, ...), \
			 OPEN_MODE(mode, flags), (dir, path, flags, mode))
/* The _FORTIFY_SOURCE variants without a mode. */
#define DEFINE_OPEN_2(name)                                             \
	DEFINE_OPEN_WITH(name, (const char *path, int flags), , (path, flags))
#define DEFINE_OPENAT_2(name)                                           \
	DEFINE_OPEN_WITH(name, (int dir, const char *path, int flags), , \
			 (dir, path, flags))

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

/* ---- close and duplicates ---- */

MODEL_EXPORT int
close(int fd)
{
	if (fds_kind(fd) != FD_NONE)
		return result(files_close(fd));
	return MODEL_REAL(close)(fd);
}

static void
forget_one(int fd, enum fd_kind kind, void *arg)
{
	(void)kind;
	(void)arg;
	files_forget(fd);
}

MODEL_EXPORT int
close_range(unsigned int first, unsigned int last, int flags)
{
	if ((flags & CLOSE_RANGE_CLOEXEC) == 0)
		fds_for_each(first, last, forget_one, NULL);
	return MODEL_REAL(close_range)(first, last, flags);
}

MODEL_EXPORT void
closefrom(int first)
{
	fds_for_each(first < 0 ? 0 : first, ~0u, forget_one, NULL);
	MODEL_REAL(closefrom)(first);
}

MODEL_EXPORT int
dup(int fd)
{
	int newfd = MODEL_REAL(dup)(fd);

	if (newfd >= 0)
		files_duplicated(fd, newfd);
	return newfd;
}

MODEL_EXPORT int
dup2(int fd, int newfd)
{
	int rc;

	if (fd != newfd && fcntl(fd, F_GETFD) >= 0)
		files_forget(newfd);
	rc = MODEL_REAL(dup2)(fd, newfd);
	if (rc >= 0 && fd != newfd)
		files_duplicated(fd, rc);
	return rc;
}

MODEL_EXPORT int
dup3(int fd, int newfd, int flags)
{
	int rc;

	if (fd != newfd && fcntl(fd, F_GETFD) >= 0)
		files_forget(newfd);
	rc = MODEL_REAL(dup3)(fd, newfd, flags);
	if (rc >= 0)
		files_duplicated(fd, rc);
	return rc;
}

/* fcntl() has no argument, an int or a pointer: all fit a pointer. */
#define DEFINE_FCNTL(name)                                              \
	MODEL_EXPORT int name(int fd, int cmd, ...);                    \
	int name(int fd, int cmd, ...)                                  \
	{                                                               \
		va_list args;                                           \
		void *arg;                                              \
		int rc;                                                 \
									\
		va_start(args, cmd);                                    \
		arg = va_arg(args, void *);                             \
		va_end(args);                                           \
		rc = MODEL_REAL(name)(fd, cmd, arg);                    \
		if (rc >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)) \
			files_duplicated(fd, rc);                       \
		return rc;                                              \
	}

DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

/* ---- ioctl ---- */

#define SOCKET_IOCTL_TYPE 0x89

MODEL_EXPORT int ioctl(int fd, unsigned long request, ...);
int
ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int rc;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);

	if (request == RDMA_VERBS_IOCTL) {
		rc = files_context(fd);
		if (rc >= 0)
			return result(files_ioctl(rc, fd, arg));
	} else if (_IOC_TYPE(request) == SOCKET_IOCTL_TYPE &&
		   request > SIOCRTMSG && attach_machine()) {
		rc = netdev_ioctl(request, arg);
		machine_slow();
		if (rc != NETDEV_NOT_OURS)
			return result(rc);
	}
	return MODEL_REAL(ioctl)(fd, request, arg);
}

/* ---- write ---- */

MODEL_EXPORT ssize_t
write(int fd, const void *buf, size_t nb_bytes)
{
	const enum fd_kind kind = fds_kind(fd);
	ssize_t rc;

	if (kind == FD_VMBUS)
		rc = vmbus_files_write(fd, buf, nb_bytes);
	else if ((kind == FD_CONTEXT && files_context(fd) >= 0) ||
		 (kind == FD_NONE && files_is_anothers_context(fd)))
		rc = -EOPNOTSUPP; /* verbs by write(); store no bytes to the doorbell page */
	else
		return MODEL_REAL(write)(fd, buf, nb_bytes);
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* ---- mmap ---- */

#define DEFINE_MMAP(name)                                               \
	MODEL_EXPORT void *name(void *addr, size_t length, int prot,    \
				int flags, int fd, off_t offset);       \
	void *name(void *addr, size_t length, int prot, int flags,      \
		   int fd, off_t offset)                                \
	{                                                               \
		bool is_replaced = (flags & MAP_FIXED) != 0 &&          \
				   doorbell_replace_begin(addr, length); \
		int context = -1;                                       \
		enum fd_kind kind = (flags & MAP_ANONYMOUS) == 0 ?      \
				    fds_kind(fd) : FD_NONE;             \
									\
		if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 &&          \
		    (kind == FD_CONTEXT ||                              \
		     length == (size_t)getpagesize()))                  \
			context = files_context(fd);                    \
		if (kind == FD_VMBUS) {                                 \
			if (result(vmbus_files_mmap(fd, &addr, length,  \
						    flags, offset)) < 0) \
				addr = MAP_FAILED;                      \
		} else if (context < 0)                                 \
			addr = MODEL_REAL(name)(addr, length, prot,     \
						flags, fd, offset);     \
		else if (result(files_mmap(context, fd, &addr, length,  \
					   flags, offset)) < 0)         \
			addr = MAP_FAILED;                              \
		if (is_replaced) {                                      \
			doorbell_replace_end();                         \
			files_replaced();                               \
		}                                                       \
		return addr;                                            \
	}

DEFINE_MMAP(mmap)
DEFINE_MMAP(mmap64)

MODEL_EXPORT int
munmap(void *addr, size_t length)
{
	vmbus_files_munmap(addr, length);
	if (files_munmap(addr, length))
		return 0;
	return MODEL_REAL(munmap)(addr, length);
}
