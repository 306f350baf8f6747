/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "doorbell.h"
#include "fault.h"
#include "fds.h"
#include "files.h"
#include "host.h"
#include "kernel.h"
#include "machine.h"
#include "nl_socket.h"
#include "plain_pages.h"
#include "preload.h"
#include "segment.h"
#include "verbs_trace.h"
#include "vmbus_files.h"

int
files_open(int node, int flags)
{
	int fd;

	fd = kernel_context_open(node, flags);
	if (fd >= 0)
		fds_set(fd, FD_CONTEXT);
	return fd;
}

int
files_context(int fd)
{
	enum fd_kind kind = fds_kind(fd);
	int context;
	dev_t dev;
	ino_t ino;

	if (kind != FD_NONE && kind != FD_CONTEXT)
		return -1;
	if (host_identity(fd, &dev, &ino) < 0 || !attach_is_candidate(dev) ||
	    !attach_machine())
		return -1;
	context = kernel_context_of(dev, ino);
	if (context >= 0 && kind == FD_NONE)
		fds_set(fd, FD_CONTEXT);
	return context;
}

bool
files_is_anothers_context(int fd)
{
	char link[32], path[MODEL_MAX_PATH + 64];
	dev_t dev;
	ino_t ino;
	int rc;

	if (fd < 0 || host_identity(fd, &dev, &ino) < 0 ||
	    !attach_is_candidate(dev))
		return false;
	/* Check the name, since the file system has many other files. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	rc = host_readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
	if (rc < 0)
		return false;
	path[rc] = '\0';
	return strstr(path, "/fd/ctx-") != NULL;
}

/* Keep the context while this call runs, even if another thread closes fd. */
static int
hold(int fd)
{
	return host_result(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0));
}

int
files_ioctl(int context, int fd, void *arg)
{
	int own = hold(fd), rc;

	if (own < 0)
		return own;
	rc = kernel_uverbs_ioctl(context, arg);
	host_close(own);
	return rc;
}

/* mana_ib_mmap() */
static int
check_mmap(int context, size_t length, int flags, off_t offset)
{
	int rc;

	segment_lock();
	rc = fault_check(FAULT_mmap);
	segment_unlock();
	machine_tick();
	if (rc < 0)
		return rc;
	/* ib_uverbs_mmap() checks the device before the driver's checks. */
	if (kernel_context_is_dead(context))
		return -EIO;
	if (offset != 0 || length != (size_t)sysconf(_SC_PAGESIZE) ||
	    (flags & MAP_TYPE) == MAP_PRIVATE)
		return -EINVAL;
	return 0;
}

static int
map_page(int context, int fd, void **addr, size_t length, int flags,
	 off_t offset)
{
	long rc;

	rc = check_mmap(context, length, flags, offset);
	if (rc < 0)
		return rc;
	if (config_has_plain_doorbells(segment_config()))
		return plain_pages_map(addr, context, fd, length, flags);
	rc = doorbell_map(addr, context, length, flags);
	if (rc < 0)
		return rc;
	/*
	 * The trap knows the page. Map the context's file there, which keeps
	 * the context alive like a real mapping.
	 */
	rc = syscall(SYS_mmap, *addr, length, PROT_NONE, MAP_SHARED | MAP_FIXED,
		     fd, 0L);
	if (rc == -1) {
		doorbell_unmap(*addr, length);
		return -ENOMEM;
	}
	return 0;
}

int
files_mmap(int context, int fd, void **addr, size_t length, int flags,
	   off_t offset)
{
	struct verbs_call call;
	int rc;

	verbs_begin(&call, (uint32_t)context, "mmap", "%s", "");
	rc = map_page(context, fd, addr, length, flags, offset);
	verbs_end(&call, rc);
	machine_slow();
	return rc;
}

bool
files_munmap(void *addr, size_t length)
{
	if (doorbell_unmap(addr, length) != 0)
		return false;
	kernel_reclaim_dead();
	return true;
}

void
files_replaced(void)
{
	int error = errno;

	kernel_reclaim_dead();
	errno = error;
}

struct same_file {
	int fd;
	dev_t dev;
	ino_t ino;
	unsigned int nb_others;
};

static void
count_same(int fd, enum fd_kind kind, void *arg)
{
	struct same_file *same = arg;
	dev_t dev;
	ino_t ino;

	if ((fds_is_event(kind) || kind == FD_CONTEXT) && fd != same->fd &&
	    host_identity(fd, &dev, &ino) == 0 && dev == same->dev &&
	    ino == same->ino)
		same->nb_others++;
}

/* A descriptor being closed, to report to the kernel side afterwards. */
struct closing {
	enum fd_kind kind;
	int context;
	struct same_file same;
};

static void
begin_close(int fd, struct closing *closing)
{
	closing->kind = fds_kind(fd);
	closing->context = -1;
	if (closing->kind == FD_VMBUS)
		vmbus_files_closing(fd);
	closing->same = (struct same_file){ .fd = fd };
	if ((fds_is_event(closing->kind) || closing->kind == FD_CONTEXT) &&
	    host_identity(fd, &closing->same.dev, &closing->same.ino) == 0)
		fds_for_each(0, ~0u, count_same, &closing->same);
	/* The file stays open while a duplicate is. */
	if (closing->kind == FD_CONTEXT && closing->same.nb_others == 0) {
		closing->context = files_context(fd);
		/* Report now, before others treat the context as leaked. */
		if (closing->context >= 0)
			kernel_context_released(closing->context, true);
	}
	fds_set(fd, FD_NONE);
}

static void
end_close(const struct closing *closing, int fd)
{
	switch (closing->kind) {
	case FD_CONTEXT:
		if (closing->context >= 0)
			kernel_context_released(closing->context, false);
		break;
	case FD_CHANNEL:
	case FD_ASYNC:
		if (closing->same.nb_others == 0)
			kernel_event_file_closed(closing->same.dev,
						 closing->same.ino);
		break;
	case FD_PAGEMAP:
	case FD_VMBUS:
		break;
	default:
		nl_socket_closed(fd);
		break;
	}
}

int
files_close(int fd)
{
	struct closing closing;
	int rc;

	begin_close(fd, &closing);
	rc = host_close(fd);
	end_close(&closing, fd);
	return rc;
}

void
files_forget(int fd)
{
	if (fds_kind(fd) != FD_NONE)
		files_close(fd);
}

void
files_duplicated(int fd, int newfd)
{
	enum fd_kind kind = fds_kind(fd);

	/* Netlink duplicates are not emulated: answers queue by descriptor. */
	if (kind == FD_CONTEXT || kind == FD_PAGEMAP || kind == FD_VMBUS ||
	    fds_is_event(kind))
		fds_set(newfd, kind);
}
