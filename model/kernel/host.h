/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * System calls to the real kernel.
 *
 * The preload library interposes open(), close(), fstat() and other functions
 * of libc, so the kernel side uses direct system calls instead. They are
 * async-signal-safe and return a negative errno.
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

/*
 * The result of a syscall(), as a negative errno. Preserves errno: a libc
 * function that succeeds must not change it, although its interposed version
 * makes other system calls.
 */
#define host_long(call)                                 \
	__extension__({                                 \
		int errno_ = errno;                     \
		long rc_ = (call);                      \
							\
		if (rc_ < 0) {                          \
			rc_ = -errno;                   \
			errno = errno_;                 \
		}                                       \
		rc_;                                    \
	})
#define host_result(call) ((int)host_long(call))

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

/* The same, relative to an open folder. */
static inline int
host_openat(int dir, const char *path, int flags, mode_t mode)
{
	return host_result(syscall(SYS_openat, dir, path, flags, mode));
}

static inline int
host_mkdirat(int dir, const char *path, mode_t mode)
{
	return host_result(syscall(SYS_mkdirat, dir, path, mode));
}

static inline int
host_symlinkat(const char *target, int dir, const char *path)
{
	return host_result(syscall(SYS_symlinkat, target, dir, path));
}

static inline int
host_readlinkat(int dir, const char *path, char *buf, size_t len)
{
	return host_result(syscall(SYS_readlinkat, dir, path, buf, len));
}

/* flags: AT_REMOVEDIR or 0. */
static inline int
host_unlinkat(int dir, const char *path, int flags)
{
	return host_result(syscall(SYS_unlinkat, dir, path, flags));
}

static inline int
host_mkfifo(const char *path, mode_t mode)
{
	return host_result(syscall(SYS_mknodat, AT_FDCWD, path, S_IFIFO | mode, 0));
}

static inline ssize_t
host_read(int fd, void *buf, size_t len)
{
	return host_long(syscall(SYS_read, fd, buf, len));
}

static inline ssize_t
host_write(int fd, const void *buf, size_t len)
{
	return host_long(syscall(SYS_write, fd, buf, len));
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
