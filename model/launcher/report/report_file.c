/* SPDX-License-Identifier: BSD-3-Clause */

/* Writing of the report's file. */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "report.h"

static int
write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left != 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

static int
write_in_place(const char *text, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_all(fd, text);
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

/* Write a new file with the same mode beside it, and rename it. */
static int
write_and_rename(const char *text, const char *path)
{
	mode_t mask = umask(0);
	mode_t mode = 0666 & ~mask;
	struct stat st;
	char *temp;
	int fd, ret;

	umask(mask);
	if (stat(path, &st) == 0)
		mode = st.st_mode & 07777;
	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(temp);
		return ret;
	}
	ret = write_all(fd, text);
	if (ret == 0 && fchmod(fd, mode) != 0)
		ret = -errno;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temp, path) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(temp);
	free(temp);
	return ret;
}

static int
log_failure(const char *path, int error)
{
	options_error("cannot write the report to %s: %s; give --report a "
		      "writable file",
		      path, strerror(error));
	return -1;
}

int
report_check(const char *path)
{
	char *copy;
	int error = 0;

	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0 ? 0 : log_failure(path, errno);
	copy = strdup(path);
	if (copy == NULL)
		return log_failure(path, ENOMEM);
	if (access(dirname(copy), W_OK | X_OK) != 0)
		error = errno;
	free(copy);
	return error == 0 ? 0 : log_failure(path, error);
}

int
report_write(const char *text, const char *path)
{
	struct stat st;
	int ret = -EINVAL;

	/* Write to links, terminals and pipes in place. */
	if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
		ret = write_and_rename(text, path);
	/*
	 * If the folder permits no new file, overwrite the old one. Not on a
	 * full disk, where that could lose the contents.
	 */
	if (ret == -EINVAL || ret == -EACCES || ret == -EPERM ||
	    ret == -ENAMETOOLONG)
		ret = write_in_place(text, path);
	return ret == 0 ? 0 : log_failure(path, -ret);
}
