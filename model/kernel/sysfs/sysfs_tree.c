/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "kernel_state.h"
#include "sysfs.h"
#include "violation_log.h"

/* sys/ of the run folder, or negative. */
static int
open_root(void)
{
	char path[MODEL_MAX_PATH + 8];

	snprintf(path, sizeof(path), "%s/sys", segment_run_dir());
	return host_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

static void
fail(struct tree *tree, const char *path, int error)
{
	if (tree->error != 0)
		return;
	tree->error = error;
	snprintf(tree->at, sizeof(tree->at), "%.*s", (int)sizeof(tree->at) - 1,
		 path);
}

void
tree_dirs(struct tree *tree, const char *path)
{
	char part[256];
	int rc;

	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		rc = host_mkdirat(tree->root, part, 0755);
		if (rc < 0 && rc != -EEXIST)
			fail(tree, part, rc);
	}
}

void
tree_bytes(struct tree *tree, const char *dir, const char *name,
	   const void *bytes, size_t nb_bytes)
{
	char path[256];
	ssize_t rc;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = host_openat(tree->root, path,
			 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	rc = fd < 0 ? fd : host_write(fd, bytes, nb_bytes);
	if (rc != (ssize_t)nb_bytes)
		fail(tree, path, rc < 0 ? (int)rc : -ENOSPC);
	if (fd >= 0)
		host_close(fd);
}

void
tree_sparse(struct tree *tree, const char *dir, const char *name,
	    size_t nb_bytes)
{
	char path[256];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = host_openat(tree->root, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
			 0600);
	rc = fd < 0 ? fd : host_result(syscall(SYS_ftruncate, fd, nb_bytes));
	if (rc < 0)
		fail(tree, path, rc);
	if (fd >= 0)
		host_close(fd);
}

void
tree_unlink(struct tree *tree, const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	host_unlinkat(tree->root, path, 0);
}

void
tree_text(struct tree *tree, const char *dir, const char *name,
	  const char *format, ...)
{
	/* Under the lock; not on the stack, which may be small. */
	static char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tree_bytes(tree, dir, name, text, strlen(text));
}

void
tree_link(struct tree *tree, const char *dir, const char *name, const char *target)
{
	char path[256], text[256];
	size_t at = 0;
	int rc;

	for (const char *p = dir; *p != '\0'; p++)
		if (p == dir || *p == '/')
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "../");
	snprintf(text + at, sizeof(text) - at, "%s", target);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	rc = host_symlinkat(text, tree->root, path);
	if (rc == -EEXIST) { /* a killed process left it */
		host_unlinkat(tree->root, path, 0);
		rc = host_symlinkat(text, tree->root, path);
	}
	if (rc < 0)
		fail(tree, path, rc);
}

void
tree_open(struct tree *tree)
{
	tree->error = 0;
	tree->at[0] = '\0';
	tree->root = open_root();
	if (tree->root < 0)
		fail(tree, "", tree->root);
}

void
tree_close(struct tree *tree)
{
	if (tree->root >= 0)
		host_close(tree->root);
}

void
tree_close_logged(struct tree *tree)
{
	tree_close(tree);
	if (tree->error < 0)
		model_log("cannot write sys/%s: %s", tree->at,
			  strerrordesc_np(-tree->error));
}

#define MAX_DEPTH 8

/* linux/dirent.h struct linux_dirent64 */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t nb_bytes;
	uint8_t type;
	char name[];
};

/* Visit the entries of an open folder until no visit removes one. */
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

/* Remove a link whose target is in the function's folder. */
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
	return strstr(target, arg) != NULL && host_unlinkat(dir, name, 0) == 0;
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

void
tree_remove(struct tree *tree, const char *path)
{
	remove_tree(tree->root, path);
}

/* Remove the devices of a class below a function, and the links to them. */
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

/*
 * The folder net/ of the function stays, even if empty: it belongs to no
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
