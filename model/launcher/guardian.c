/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guardian.h"
#include "inhabitants.h"
#include "proc.h"
#include "rundir.h"

#define NAME "mana-guardian" /* in ps */

/*
 * As fork(), but its end sends no SIGCHLD, nor is it among the children that
 * wait() sees: the launcher waits for those until there is none, guarded.
 */
static pid_t
fork_apart(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

static void __attribute__((noreturn))
guard(int from_launcher, const char *run_dir)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t all;
	char byte;

	/* Neither a terminal's signals nor a killed group reach it. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, NAME);
	/* Whoever reads the launcher's output is not to wait for us. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	/* A byte dismisses us; the end of the file is the launcher's. */
	if (read(from_launcher, &byte, 1) == 1)
		_exit(0);
	inhabitants_end(run_dir, true);
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
	pid = fork_apart();
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
		waitpid(guardian->pid, NULL, __WCLONE);
	close(guardian->pipe);
	guardian->pid = 0;
}

bool
guardian_is(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(name, sizeof(name), file) == NULL)
		name[0] = '\0';
	fclose(file);
	return strcmp(name, NAME "\n") == 0 && proc_is_mana_model(pid);
}
