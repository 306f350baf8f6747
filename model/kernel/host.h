/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * System calls to the real machine.
 *
 * The preload library interposes open(), close(), fstat() and others, so the
 * kernel side must not reach them through libc: it would meet itself. These
 * are also async-signal-safe. They return a negative errno.
 */

#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

static inline int
host_result(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

static inline int
host_open(const char *path, int flags, mode_t mode)
{
	return host_result(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

static inline int
host_close(int fd)
{
	return host_result(syscall(SYS_close, fd));
}

static inline int
host_flock(int fd, int operation)
{
	return host_result(syscall(SYS_flock, fd, operation));
}

static inline int
host_unlink(const char *path)
{
	return host_result(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

static inline int
host_mkfifo(const char *path, mode_t mode)
{
	return host_result(syscall(SYS_mknodat, AT_FDCWD, path, S_IFIFO | mode, 0));
}

static inline ssize_t
host_read(int fd, void *buf, size_t len)
{
	long rc = syscall(SYS_read, fd, buf, len);

	return rc < 0 ? -errno : rc;
}

static inline ssize_t
host_write(int fd, const void *buf, size_t len)
{
	long rc = syscall(SYS_write, fd, buf, len);

	return rc < 0 ? -errno : rc;
}

/* Identity of an open file. */
static inline int
host_identity(int fd, dev_t *dev, ino_t *ino)
{
	struct statx stx;
	int rc;

	rc = host_result(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &stx));
	if (rc < 0)
		return rc;
	*dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	*ino = stx.stx_ino;
	return 0;
}

#endif /* MODEL_HOST_H */
