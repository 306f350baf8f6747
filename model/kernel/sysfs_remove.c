/* SPDX-License-Identifier: BSD-3-Clause */

/* Devices leave sysfs. Names are not needed: links are known by their ends. */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "kernel_state.h"
#include "sysfs.h"

#define MAX_DEPTH 8

/* linux/dirent.h struct linux_dirent64 */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t nb_bytes;
	uint8_t type;
	char name[];
};

/*
 * Call visit for the entries of an open folder, which may remove them, until
 * none of them is removed any more.
 */
static void
for_each(int dir, bool (*visit)(int dir, const char *name, uint8_t type,
				const void *arg), const void *arg)
{
	char buf[1024];
	bool has_removed;
	long len, at;

	do {
		has_removed = false;
		syscall(SYS_lseek, dir, 0L, SEEK_SET);
		while ((len = syscall(SYS_getdents64, dir, buf,
				      sizeof(buf))) > 0) {
			const struct entry *e;

			for (at = 0; at < len; at += e->nb_bytes) {
				e = (const void *)(buf + at);
				if (strcmp(e->name, ".") != 0 &&
				    strcmp(e->name, "..") != 0)
					has_removed |= visit(dir, e->name,
							     e->type, arg);
			}
		}
	} while (has_removed);
}

static bool
remove_entry(int dir, const char *name, uint8_t type, const void *arg)
{
	const int *depth = arg;
	int deeper = *depth + 1;
	int fd;

	if (type != DT_DIR)
		return host_unlinkat(dir, name, 0) == 0;
	if (deeper > MAX_DEPTH)
		return false;
	fd = host_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			 O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	for_each(fd, remove_entry, &deeper);
	host_close(fd);
	return host_unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* A link into a folder of the function, the end of which is given. */
static bool
remove_link(int dir, const char *name, uint8_t type, const void *arg)
{
	char target[256];
	int len;

	if (type != DT_LNK)
		return false;
	len = host_readlinkat(dir, name, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	return strstr(target, arg) != NULL &&
	       host_unlinkat(dir, name, 0) == 0;
}

static void
remove_links(int root, const char *folder, const char *target)
{
	int fd = host_openat(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			     0);

	if (fd < 0)
		return;
	for_each(fd, remove_link, target);
	host_close(fd);
}

static void
remove_tree(int root, const char *path)
{
	const int depth = 0;

	remove_entry(root, path, DT_DIR, &depth);
}

/* The devices of a class below a function, and the links to them. */
static void
remove_class(int root, const char *pci_dir, const char *class)
{
	char folder[32], devices[SYSFS_PCI_DIR_BYTES + 24];

	snprintf(folder, sizeof(folder), "class/%s", class);
	snprintf(devices, sizeof(devices), "%s/%s/", pci_dir, class);
	remove_links(root, folder, devices);
	devices[strlen(devices) - 1] = '\0';
	remove_tree(root, devices);
}

/* sys/ of the run folder, or negative. */
static int
open_root(void)
{
	char path[MODEL_MAX_PATH + 8];

	snprintf(path, sizeof(path), "%s/sys", segment_run_dir());
	return host_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/*
 * The folder net/ of the function stays, though it may be empty: it is of no
 * namespace (Linux drivers/base/core.c class_dir_create_and_add()).
 */
void
sysfs_remove_netdev(const struct kernel_netdev *netdev)
{
	char pci_dir[SYSFS_PCI_DIR_BYTES];
	char path[SYSFS_PCI_DIR_BYTES + 24];
	int root = open_root();

	if (root < 0)
		return;
	sysfs_pci_dir(netdev->fn, pci_dir);
	snprintf(path, sizeof(path), "class/net/%s", netdev->name);
	host_unlinkat(root, path, 0);
	snprintf(path, sizeof(path), "%s/net/%s", pci_dir, netdev->name);
	remove_tree(root, path);
	host_close(root);
}

void
sysfs_remove(uint32_t fn, uint32_t parts)
{
	char pci_dir[SYSFS_PCI_DIR_BYTES];
	int root = open_root();

	if (root < 0)
		return;
	sysfs_pci_dir(fn, pci_dir);
	if (parts & (SYSFS_UVERBS | SYSFS_RDMA))
		remove_class(root, pci_dir, "infiniband_verbs");
	if (parts & SYSFS_RDMA)
		remove_class(root, pci_dir, "infiniband");
	if (parts & SYSFS_NET)
		remove_class(root, pci_dir, "net");
	if (parts & SYSFS_PCI) {
		remove_links(root, "bus/pci/devices", pci_dir);
		remove_links(root, "bus/pci/drivers/mana", pci_dir);
		remove_tree(root, pci_dir);
	}
	host_close(root);
}
