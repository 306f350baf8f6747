/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA nodes of the host are hidden from programs of the machine, which has its
 * own nodes.
 *
 * usage: mana-model --functions 2 -- this
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host_nodes.h"
#include "test.h"

TEST(nodes_of_the_host_are_hidden)
{
	static const char *const paths[] = {
		"/dev/infiniband/uverbs2", "/dev/infiniband/uverbs7",
		"/dev/infiniband/rdma_cm", "/dev/infiniband/umad0",
		"/dev/char/231:194", "/dev/char/231:199", "/dev/char/231:0",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct statx stx;
		struct stat st;

		assert_true(host_has(paths[i]));
		assert_int_equal(stat(paths[i], &st), -1);
		assert_int_equal(errno, ENOENT);
		assert_int_equal(lstat(paths[i], &st), -1);
		assert_int_equal(errno, ENOENT);
		assert_int_equal(statx(AT_FDCWD, paths[i], 0, STATX_TYPE, &stx), -1);
		assert_int_equal(errno, ENOENT);
		assert_int_equal(access(paths[i], F_OK), -1);
		assert_int_equal(errno, ENOENT);
		assert_int_equal(open(paths[i], O_RDWR | O_CLOEXEC), -1);
		assert_int_equal(errno, ENOENT);
	}
	/* The folder cannot be listed, as on a host without a card. */
	assert_null(opendir("/dev/infiniband"));
	assert_int_equal(errno, ENOENT);
}

TEST(nodes_of_the_machine_exist)
{
	struct stat st;
	int fd;

	assert_int_equal(stat("/dev/infiniband", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(stat("/dev/infiniband/uverbs1", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(st.st_rdev, makedev(231, 193));
	assert_int_equal(access("/dev/char/231:193", R_OK | W_OK), 0);
	fd = open("/dev/infiniband/uverbs1", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_rdev, makedev(231, 193));
	close(fd);
}
