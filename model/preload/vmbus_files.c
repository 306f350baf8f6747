/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "doorbell.h"
#include "fds.h"
#include "host.h"
#include "kernel.h"
#include "preload.h"
#include "segment.h"
#include "synthetic.h"
#include "vmbus.h"
#include "vmbus_files.h"

#define NODES "/dev/uio"
#define PATH_BYTES (MODEL_MAX_PATH + VMBUS_PATH_BYTES + 2)

/* Addresses of the primary channels' rings in this process; 0: not mapped. */
static uintptr_t rings[SYNTHETIC_MAX_PORTS];

static void
absolute(char path[PATH_BYTES], const char *name)
{
	snprintf(path, PATH_BYTES, "%s/%s", segment_run_dir(), name);
}

bool
vmbus_files_path(const char *path, char *real, size_t real_bytes)
{
	char name[VMBUS_PATH_BYTES];
	unsigned long number;
	char *end;

	if (path == NULL || strncmp(path, NODES, strlen(NODES)) != 0)
		return false;
	number = strtoul(path + strlen(NODES), &end, 10);
	if (end == path + strlen(NODES) || *end != '\0' || !attach_machine() ||
	    vmbus_uio_path((uint32_t)number, name) < 0)
		return false;
	return snprintf(real, real_bytes, "%s/%s", segment_run_dir(), name) <
	       (int)real_bytes;
}

bool
vmbus_files_open(const char *path, int flags, int *fd)
{
	char real[PATH_BYTES];

	if (!vmbus_files_path(path, real, sizeof(real)))
		return false;
	*fd = host_open(real, flags & (O_ACCMODE | O_CLOEXEC | O_NONBLOCK), 0);
	if (*fd >= 0)
		fds_set(*fd, FD_VMBUS);
	return true;
}

/* What is at a path in the run folder. */
static void
parse(const char *path, struct vmbus_file *file)
{
	const char *run_dir = segment_run_dir();
	const size_t len = strlen(run_dir);

	memset(file, 0, sizeof(*file));
	if (strncmp(path, run_dir, len) == 0 && path[len] == '/')
		vmbus_file_parse(path + len + 1, file);
}

static void
parse_fd(int fd, struct vmbus_file *file)
{
	char link[32], path[PATH_BYTES];
	int rc;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	rc = host_readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
	path[rc < 0 ? 0 : rc] = '\0';
	parse(path, file);
}

bool
vmbus_files_is_writable(const char *path)
{
	struct vmbus_file file;

	if (segment_config()->netvsc == MODEL_NETVSC_NONE)
		return false;
	parse(path, &file);
	return file.kind == VMBUS_FILE_ATTRIBUTE || file.kind == VMBUS_FILE_RING;
}

void
vmbus_files_opened(int fd, const char *path)
{
	if (fd >= 0 && attach_is_attached() && vmbus_files_is_writable(path))
		fds_set(fd, FD_VMBUS);
}

/* Map the file of a map of /dev/uioN. */
static int
map_uio(const struct vmbus_file *file, void **addr, size_t length, int flags,
	uint32_t map)
{
	char name[VMBUS_PATH_BYTES], path[PATH_BYTES];
	const int prot = map == VMBUS_MAP_MONITOR ? PROT_NONE :
						    PROT_READ | PROT_WRITE;
	size_t nb_bytes;
	void *at;
	int fd, rc;

	rc = vmbus_map_path(file->number, map, name, &nb_bytes);
	if (rc < 0 || length > nb_bytes)
		return -EINVAL;
	absolute(path, name);
	fd = host_open(path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	at = (void *)syscall(SYS_mmap, *addr, length, prot, flags, fd, 0L);
	rc = at == MAP_FAILED ? -errno : 0;
	host_close(fd);
	if (rc == 0 && map == VMBUS_MAP_MONITOR) {
		rc = doorbell_map_monitor(at);
		if (rc < 0)
			syscall(SYS_munmap, at, length);
	}
	if (rc < 0)
		return rc;
	if (map == VMBUS_MAP_RINGS)
		rings[file->number] = (uintptr_t)at;
	vmbus_mapped(file->number, map, at);
	*addr = at;
	return 0;
}

int
vmbus_files_mmap(int fd, void **addr, size_t length, int flags, off_t offset)
{
	struct vmbus_file file;
	void *at;

	parse_fd(fd, &file);
	if (file.kind == VMBUS_FILE_UIO)
		return offset % VMBUS_PAGE_BYTES != 0 ?
			       -EINVAL :
			       map_uio(&file, addr, length, flags,
				       (uint32_t)(offset / VMBUS_PAGE_BYTES));
	at = (void *)syscall(SYS_mmap, *addr, length, PROT_READ | PROT_WRITE,
			     flags, fd, offset);
	if (at == MAP_FAILED)
		return -errno;
	if (file.kind == VMBUS_FILE_RING && offset == 0)
		vmbus_ring_mapped(file.number, file.channel, at);
	*addr = at;
	return 0;
}

void
vmbus_files_munmap(const void *addr, size_t length)
{
	for (uint32_t n = 0; n < SYNTHETIC_MAX_PORTS; n++) {
		if (rings[n] == 0 || rings[n] - (uintptr_t)addr >= length)
			continue;
		rings[n] = 0;
		vmbus_unmapped(n);
	}
}

ssize_t
vmbus_files_write(int fd, const void *buf, size_t nb_bytes)
{
	struct vmbus_file file;

	parse_fd(fd, &file);
	switch (file.kind) {
	case VMBUS_FILE_ATTRIBUTE:
		return vmbus_write(&file, buf, nb_bytes);
	case VMBUS_FILE_UIO: /* uio.c uio_write(): the mask of interrupts */
		return nb_bytes == sizeof(int32_t) ? (ssize_t)nb_bytes : -EINVAL;
	default:
		return -EINVAL;
	}
}

int
vmbus_files_closing(int fd)
{
	struct vmbus_file file;
	char link[32], text[64];
	ssize_t n;
	int own, rc = 0;

	parse_fd(fd, &file);
	if (file.kind != VMBUS_FILE_ATTRIBUTE)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	own = host_open(link, O_RDWR | O_CLOEXEC, 0);
	if (own < 0)
		return 0;
	n = host_read(own, text, sizeof(text));
	if (n > 0 && syscall(SYS_ftruncate, own, 0L) == 0)
		rc = vmbus_write(&file, text, (size_t)n);
	host_close(own);
	return rc < 0 ? rc : 0;
}
