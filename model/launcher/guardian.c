/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "guardian.h"
#include "rundir.h"

#define ROUNDS 20
#define ROUND_MS 20
#define MAX_ENVIRONMENT_BYTES (1u << 20)

/* The whole of /proc/<pid>/environ, with a zero byte before and behind. */
static size_t
read_environment(const char *pid, char *buf, size_t buf_bytes)
{
	char path[64];
	size_t nb_bytes = 1;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.16s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	buf[0] = '\0';
	while (nb_bytes + 1 < buf_bytes &&
	       (n = read(fd, buf + nb_bytes, buf_bytes - nb_bytes - 1)) > 0)
		nb_bytes += (size_t)n;
	close(fd);
	buf[nb_bytes++] = '\0';
	return nb_bytes;
}

/* Kill whoever was started on the machine: the environment tells. */
static bool
kill_inhabitants(const char *run_dir)
{
	char wanted[MODEL_MAX_PATH + 32];
	char *buf = malloc(MAX_ENVIRONMENT_BYTES);
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool was_any = false;
	int length;

	/* With the zero bytes around it, so that nothing else matches. */
	length = snprintf(wanted, sizeof(wanted), "%cMANA_MODEL_DIR=%s", '\0',
			  run_dir) + 1;
	while (buf != NULL && dir != NULL && (entry = readdir(dir)) != NULL) {
		size_t nb_bytes;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    atoi(entry->d_name) == getpid())
			continue;
		nb_bytes = read_environment(entry->d_name, buf,
					    MAX_ENVIRONMENT_BYTES);
		if (memmem(buf, nb_bytes, wanted, (size_t)length) == NULL)
			continue;
		was_any = true;
		kill((pid_t)atoi(entry->d_name), SIGKILL);
	}
	if (dir != NULL)
		closedir(dir);
	free(buf);
	return was_any;
}

static void __attribute__((noreturn))
guard(int from_launcher, const char *run_dir)
{
	const struct timespec nap = {.tv_nsec = ROUND_MS * 1000000L};
	int null = open("/dev/null", O_RDWR);
	sigset_t all;
	char byte;

	/* Neither a terminal's signals nor a killed group reach it. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "mana-guardian");
	/* Whoever reads the launcher's output is not to wait for us. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	/* A byte dismisses us; the end of the file is the launcher's. */
	if (read(from_launcher, &byte, 1) == 1)
		_exit(0);
	for (int i = 0; i < ROUNDS && kill_inhabitants(run_dir); i++)
		nanosleep(&nap, NULL);
	rundir_remove(run_dir);
	_exit(0);
}

int
guardian_start(struct guardian *guardian, const char *run_dir)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int error = errno;

		close(fds[0]);
		close(fds[1]);
		return -error;
	}
	if (pid == 0) {
		close(fds[1]);
		guard(fds[0], run_dir);
	}
	close(fds[0]);
	guardian->pid = pid;
	guardian->pipe = fds[1];
	return 0;
}

void
guardian_dismiss(struct guardian *guardian)
{
	if (guardian->pid == 0)
		return;
	if (write(guardian->pipe, "d", 1) == 1)
		waitpid(guardian->pid, NULL, 0);
	close(guardian->pipe);
	guardian->pid = 0;
}
