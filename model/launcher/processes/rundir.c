/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "options.h"
#include "rundir.h"

/*
 * The machine is alive while its launcher has a lock on this file. The file has
 * contents only once it is locked.
 */
#define OWNER_FILE "owner"
/* Maximum time between creating and locking the folder. */
#define BIRTH_SECONDS 10
/*
 * rdma-core util/sysfs.h IBV_SYSFS_PATH_MAX (256): with a longer path,
 * libibverbs finds no devices and gives no reason.
 */
#define MAX_PATH_BYTES (256 - sizeof("/sys/class/infiniband_verbs/uverbs15"))
/*
 * EAL has a socket RUNTIME_DIRECTORY/dpdk/PREFIX/mp_socket_PID_TIME: a socket's path has
 * 107 bytes, and the part behind the folder up to 55.
 */
#define RUNTIME_MAX_BYTES 52
/* Folders open at once during removal: descriptors may be scarce. */
#define MAX_FOLDERS 1
/* Waits for a guardian, of 20 ms each: longer than it takes to end processes. */
#define MAX_NAPS 600

/* Absolute, because programs may change their folder before they use it. */
static const char *
base_folder(void)
{
	static char absolute[PATH_MAX];
	const char *dir = getenv("MANA_MODEL_RUNDIR");

	if (dir != NULL && dir[0] != '\0')
		return dir[0] != '/' && realpath(dir, absolute) != NULL ?
			       absolute : dir;
	return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void
prefix_of_user(char *prefix, size_t nb_bytes)
{
	snprintf(prefix, nb_bytes, "mana-model-%u-", (unsigned int)getuid());
}

int
rundir_path(const char *name, char *path, size_t path_bytes)
{
	char prefix[32];

	prefix_of_user(prefix, sizeof(prefix));
	if ((size_t)snprintf(path, path_bytes, "%s/%s%s", base_folder(), prefix,
			     name) >= path_bytes)
		return -ENAMETOOLONG;
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void
rundir_remove(const char *path)
{
	nftw(path, remove_one, MAX_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/*
 * True if no launcher holds the folder's lock or is about to take it. The caller
 * then holds it by *owner_fd (-1: there is no file), so that no other launcher
 * removes the folder meanwhile and creates a new one of this name.
 */
static bool
is_stale(const char *path, int *owner_fd)
{
	char owner[MODEL_MAX_PATH + 16];
	struct stat st;
	bool is_free;
	int fd;

	*owner_fd = -1;
	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != getuid())
		return false;
	is_free = st.st_mtime < time(NULL) - BIRTH_SECONDS;
	snprintf(owner, sizeof(owner), "%s/" OWNER_FILE, path);
	fd = open(owner, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* Running out of descriptors does not mean that it is stale. */
	if (fd < 0)
		return is_free && errno == ENOENT;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		is_free = false;
	else if (fstat(fd, &st) != 0 || st.st_nlink == 0)
		is_free = false; /* the previous holder has removed it */
	else if (st.st_size != 0)
		is_free = true;
	if (is_free)
		*owner_fd = fd;
	else
		close(fd);
	return is_free;
}

/* Remove the folders of killed launchers. */
static void
sweep(void)
{
	char prefix[32], path[MODEL_MAX_PATH];
	DIR *dir = opendir(base_folder());
	const struct dirent *entry;
	int owner_fd;

	if (dir == NULL)
		return;
	prefix_of_user(prefix, sizeof(prefix));
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", base_folder(),
				     entry->d_name) >= sizeof(path))
			continue;
		if (!is_stale(path, &owner_fd))
			continue;
		rundir_remove(path);
		if (owner_fd >= 0)
			close(owner_fd);
	}
	closedir(dir);
}

static int
take_ownership(const char *path)
{
	char owner[MODEL_MAX_PATH + 16], text[16];
	int fd, length;

	snprintf(owner, sizeof(owner), "%s/" OWNER_FILE, path);
	fd = open(owner, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* Another launcher that checks it holds the lock for a moment only. */
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		return -1;
	length = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	/* Keep it open: the kernel releases the lock when the process ends. */
	return write(fd, text, (size_t)length) == length ? 0 : -1;
}

const char *
rundir_runtime(const char *run_dir, char *path, size_t path_bytes)
{
	const int length = snprintf(path, path_bytes, "%s/run", run_dir);

	return length <= RUNTIME_MAX_BYTES && (size_t)length < path_bytes ? path : NULL;
}

static int
fill(const char *path, int *kick_fd)
{
	char name[MODEL_MAX_PATH + 16];

	if (take_ownership(path) != 0)
		return -1;
	snprintf(name, sizeof(name), "%s/fd", path);
	if (mkdir(name, 0700) != 0)
		return -1;
	snprintf(name, sizeof(name), "%s/sys", path);
	if (mkdir(name, 0700) != 0)
		return -1;
	if (rundir_runtime(path, name, sizeof(name)) != NULL && mkdir(name, 0700) != 0)
		return -1;
	snprintf(name, sizeof(name), "%s/kick", path);
	if (mkfifo(name, 0600) != 0)
		return -1;
	/* Open both ends, so that it never reports end of file. */
	*kick_fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return *kick_fd < 0 ? -1 : 0;
}

/* Remove what fill() created, without a descriptor: none may be left. */
static void
empty(const char *path)
{
	static const char *const made[] = { "kick", "run", "sys", "fd", OWNER_FILE };
	char name[MODEL_MAX_PATH + 16];

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, made[i]);
		remove(name);
	}
	rmdir(path);
}

/* Whether the launcher was killed; its guardian will remove the folder. */
static bool
is_dying(const char *path)
{
	char owner[MODEL_MAX_PATH + 16];
	int pid = 0;
	FILE *file;

	snprintf(owner, sizeof(owner), "%s/" OWNER_FILE, path);
	file = fopen(owner, "re");
	if (file == NULL)
		return errno == ENOENT;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static int
make_folder(const char *path)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	int ret = 0;

	for (int i = 0; i < MAX_NAPS; i++) {
		sweep();
		ret = mkdir(path, 0700) == 0 ? 0 : -errno;
		if (ret != -EEXIST || !is_dying(path))
			break;
		nanosleep(&nap, NULL);
	}
	return ret;
}

int
rundir_create(const char *name, char *path, size_t path_bytes, int *kick_fd)
{
	int ret;

	if (rundir_path(name, path, path_bytes) != 0 ||
	    strlen(path) > MAX_PATH_BYTES) {
		options_error("the path of the run folder is too long: set "
			      "MANA_MODEL_RUNDIR to a shorter one");
		return -1;
	}
	ret = make_folder(path);
	if (ret != 0) {
		if (ret == -EEXIST)
			options_error("a machine named %s is running (%s): "
				      "choose another --name",
				      name, path);
		else
			options_error("cannot make the run folder %s: %s; set "
				      "MANA_MODEL_RUNDIR to a writable folder",
				      path, strerror(-ret));
		return -1;
	}
	if (fill(path, kick_fd) != 0) {
		options_error("cannot fill the run folder %s: %s%s", path,
			      strerror(errno), options_remedy(errno));
		empty(path);
		return -1;
	}
	return 0;
}
