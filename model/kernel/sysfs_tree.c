/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "kernel_state.h"
#include "sysfs_tree.h"

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
tree_text(struct tree *tree, const char *dir, const char *name,
	  const char *format, ...)
{
	static char text[1024]; /* of whoever has the lock; stacks may be small */
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
	if (rc == -EEXIST) { /* of somebody who died at it */
		host_unlinkat(tree->root, path, 0);
		rc = host_symlinkat(text, tree->root, path);
	}
	if (rc < 0)
		fail(tree, path, rc);
}

void
tree_open(struct tree *tree)
{
	char path[MODEL_MAX_PATH + 8];

	tree->error = 0;
	tree->at[0] = '\0';
	snprintf(path, sizeof(path), "%s/sys", segment_run_dir());
	tree->root = host_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (tree->root < 0)
		fail(tree, path, tree->root);
}

void
tree_close(struct tree *tree)
{
	if (tree->root >= 0)
		host_close(tree->root);
}
