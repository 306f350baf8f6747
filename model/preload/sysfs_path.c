/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "host.h"
#include "kernel.h"
#include "kernel_version.h"
#include "nodes.h"
#include "preload.h"
#include "segment.h"
#include "sysfs_path.h"
#include "vmbus_files.h"

/* Folders with devices of both machines. */
static const char *const shared[] = {
	"/sys/class/net", "/sys/class/infiniband", "/sys/class/infiniband_verbs",
	"/sys/bus/pci/devices", "/sys/bus/pci/drivers", "/sys/devices",
	"/sys/bus/vmbus/devices", "/sys/bus/vmbus/drivers", "/sys/class/uio",
};

static bool
exists(const char *path)
{
	struct statx stx;

	return syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
		       STATX_TYPE, &stx) == 0;
}

/* The shared folder that path is or is in; *rest is "" or "/...". */
static const char *
shared_folder(const char *path, const char **rest)
{
	size_t i, len;

	if (path == NULL || strncmp(path, "/sys/", 5) != 0)
		return NULL;
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		len = strlen(shared[i]);
		*rest = path + len;
		if (strncmp(path, shared[i], len) == 0 &&
		    (**rest == '\0' || **rest == '/'))
			return attach_machine() ? shared[i] : NULL;
	}
	return NULL;
}

/* "", "/", "//" */
static bool
is_only_slashes(const char *rest)
{
	return rest[strspn(rest, "/")] == '\0';
}

/* A path that exists on no host and cannot be created. */
static const char nowhere[] = "/proc/self/no-node-of-the-modelled-machine";

const char *
sysfs_path(const char *path, char buf[SYSFS_PATH_BYTES])
{
	const char *rest, *folder = shared_folder(path, &rest);
	char device[SYSFS_PATH_BYTES];
	size_t len;

	if (nodes_is_hidden(path))
		return nowhere;
	if (vmbus_files_path(path, buf, SYSFS_PATH_BYTES))
		return buf;
	if (folder == NULL)
		return path;
	if (is_only_slashes(rest)) {
		/* A host without such hardware does not have the folder. */
		if (exists(folder))
			return path;
	} else {
		rest += strspn(rest, "/");
		len = strcspn(rest, "/");
		if (snprintf(device, sizeof(device), "%s%s/%.*s",
			     segment_run_dir(), folder, (int)len, rest) >=
			    (int)sizeof(device) || !exists(device))
			return path;
	}
	if (snprintf(buf, SYSFS_PATH_BYTES, "%s%s", segment_run_dir(), path) >=
	    SYSFS_PATH_BYTES)
		return path;
	return buf;
}

/* ---- shared folders ---- */

/* Create a link in the folder for each entry of from. */
static void
link_all(int folder, const char *from)
{
	int fd = host_open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char target[SYSFS_PATH_BYTES];
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' ||
		    snprintf(target, sizeof(target), "%s/%s", from,
			     entry->d_name) >= (int)sizeof(target))
			continue;
		host_symlinkat(target, folder, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		host_close(fd);
}

/* Remove dangling links. */
static void
unlink_dead(const char *path)
{
	int fd = host_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    syscall(SYS_faccessat, fd, entry->d_name, F_OK) != 0)
			host_unlinkat(fd, entry->d_name, 0);
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		host_close(fd);
}

const char *
sysfs_folder(const char *path, char buf[SYSFS_PATH_BYTES])
{
	const char *rest, *folder = shared_folder(path, &rest);
	char ours[SYSFS_PATH_BYTES];
	int fd;

	/* The nodes' folder cannot be listed. */
	if (nodes_find(path) == NODES_FOLDER)
		return nowhere;
	/* /sys/devices has other files besides devices. */
	if (folder == NULL || !is_only_slashes(rest) ||
	    strcmp(folder, "/sys/devices") == 0 || !exists(folder))
		return sysfs_path(path, buf);

	snprintf(ours, sizeof(ours), "%s%s", segment_run_dir(), folder);
	snprintf(buf, SYSFS_PATH_BYTES, "%s/list", segment_run_dir());
	host_mkdirat(AT_FDCWD, buf, 0700);
	strcat(buf, "/");
	strcat(buf, strrchr(folder, '/') + 1);
	host_mkdirat(AT_FDCWD, buf, 0700);
	fd = host_open(buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return path;
	host_flock(fd, LOCK_EX);
	unlink_dead(buf);
	link_all(fd, ours);
	link_all(fd, folder);
	host_close(fd);
	return buf;
}

bool
sysfs_name(char *path)
{
	const char *run_dir;
	size_t len;

	if (!attach_is_attached())
		return false;
	run_dir = segment_run_dir();
	len = strlen(run_dir);
	if (strncmp(path, run_dir, len) != 0 ||
	    strncmp(path + len, "/sys/", 5) != 0)
		return false;
	memmove(path, path + len, strlen(path + len) + 1);
	return true;
}

/* ---- attributes ---- */

/* Find the netdev to which an attribute in the run folder belongs. */
static bool
netdev_of(const char *path, struct kernel_netdev *netdev)
{
	const char *end = strrchr(path, '/'), *start = end;
	char name[sizeof(netdev->name)];

	while (start > path && start[-1] != '/')
		start--;
	if ((size_t)(end - start) >= sizeof(name))
		return false;
	memcpy(name, start, end - start);
	name[end - start] = '\0';
	return kernel_netdev_by_name(name, netdev) == 0;
}

static bool
is_state(const char *end)
{
	return strcmp(end, "/carrier") == 0 || strcmp(end, "/dormant") == 0 ||
		strcmp(end, "/testing") == 0;
}

static bool
is_ours_and_empty(const char *path)
{
	char byte;
	int fd;
	bool is_empty;

	if (!attach_machine() ||
	    strncmp(path, segment_run_dir(), strlen(segment_run_dir())) != 0)
		return false;
	fd = host_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	is_empty = host_read(fd, &byte, 1) == 0;
	host_close(fd);
	return is_empty;
}

/*
 * Attributes that can be opened, but give EINVAL when read (Linux
 * net/core/net-sysfs.c carrier_show(), speed_show(), duplex_show() and others;
 * core/sysfs.c rate_show() of a port without speed).
 */
static bool
is_unreadable(const char *path)
{
	const char *end = strrchr(path, '/');
	struct kernel_netdev netdev;

	if (end != NULL && strcmp(end, "/rate") == 0)
		return is_ours_and_empty(path);
	if (end == NULL || (!is_state(end) && strcmp(end, "/speed") != 0 &&
			    strcmp(end, "/duplex") != 0))
		return false;
	if (!attach_machine() ||
	    strncmp(path, segment_run_dir(), strlen(segment_run_dir())) != 0 ||
	    !netdev_of(path, &netdev))
		return false;
	return !netdev.is_up ||
		(!is_state(end) && !kernel_version()->has_link_settings);
}

int
sysfs_open(const char **path, int flags, char buf[SYSFS_PATH_BYTES])
{
	const char *to = sysfs_folder(*path, buf);
	bool is_moved = to != *path;

	*path = to;
	if (to == NULL || to == nowhere)
		return SYSFS_GO_ON;
	/* Only attributes of VMBus can be written; use ip(8). */
	if (is_moved && (flags & O_ACCMODE) != O_RDONLY)
		return vmbus_files_is_writable(to) ? SYSFS_GO_ON : -EACCES;
	/* An epoll file opens, polls, has a status, and reads as EINVAL. */
	if (is_unreadable(to))
		return host_result(syscall(SYS_epoll_create1,
					   flags & O_CLOEXEC));
	return SYSFS_GO_ON;
}
