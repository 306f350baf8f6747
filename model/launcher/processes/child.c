/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "launcher.h"
#include "options.h"

#define LIBRARY "libmana-model.so"

/* The library is in the launcher's folder. */
static int
library_path(char *path, size_t path_bytes)
{
	ssize_t length = readlink("/proc/self/exe", path, path_bytes - 1);
	char *slash;

	if (length < 0)
		return -errno;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL ||
	    (size_t)(slash - path) + 1 + sizeof(LIBRARY) > path_bytes)
		return -ENAMETOOLONG;
	strcpy(slash + 1, LIBRARY);
	if (access(path, R_OK) != 0) {
		options_error("%s is missing: build it with ninja", path);
		return -errno;
	}
	return 0;
}

/*
 * A library built with AddressSanitizer needs its run-time as first library;
 * the launcher, built alike, has it loaded. "" for other builds.
 */
static const char *
sanitizer_runtime(void)
{
	const void *init = dlsym(RTLD_DEFAULT, "__asan_init");
	Dl_info info;

	if (init == NULL || dladdr(init, &info) == 0 ||
	    strstr(info.dli_fname, "libasan.so") == NULL)
		return "";
	return info.dli_fname;
}

/* Libraries in LD_PRELOAD stay in front: they may need to be first, too. */
static int
set_preload(const char *run_dir)
{
	const char *before = getenv("LD_PRELOAD");
	const char *runtime = sanitizer_runtime();
	char library[PATH_MAX], *text = NULL;
	int ret = library_path(library, sizeof(library));

	if (ret != 0)
		return ret;
	if (strpbrk(library, " :") != NULL) {
		options_error("%s: the dynamic linker cannot preload from a "
			      "path with a blank or a colon",
			      library);
		return -EINVAL;
	}
	if (before == NULL)
		before = "";
	if (strstr(before, "libasan.so") != NULL)
		runtime = "";
	ret = -ENOMEM;
	if (asprintf(&text, "%s%s%s%s%s", runtime, runtime[0] != '\0' ? ":" : "",
		     before, before[0] != '\0' ? ":" : "", library) >= 0) {
		ret = setenv("LD_PRELOAD", text, 1) != 0 ? -errno : 0;
		free(text);
	}
	if (ret == 0 && asprintf(&text, "%s/sys", run_dir) >= 0) {
		setenv("SYSFS_PATH", text, 1);
		free(text);
	}
	if (ret == 0 && asprintf(&text, "%s/sys/bus/pci/devices", run_dir) >= 0) {
		setenv("SYSFS_PCI_DEVICES", text, 1);
		free(text);
	}
	return ret;
}

/* MANA_MODEL_DIR also marks the processes of the machine, see processes.c. */
static int
set_environment(const char *run_dir, bool has_kernel)
{
	if (setenv("MANA_MODEL_DIR", run_dir, 1) != 0)
		return -errno;
	return has_kernel ? set_preload(run_dir) : 0;
}

static void
give_terminal(int terminal, pid_t group)
{
	sigset_t ttou, before;

	if (terminal < 0)
		return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	tcsetpgrp(terminal, group);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The terminal, if the launcher is its foreground process. */
static int
own_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0 && tcgetpgrp(fd) != getpgrp()) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void __attribute__((noreturn))
run_program(const struct child *child, char **argv, const sigset_t *mask,
	    pid_t launcher, int error_fd)
{
	int error;

	setpgid(0, 0);
	give_terminal(child->terminal, getpgrp());
	/* If the launcher is killed, the program ends, too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(OPTIONS_EXIT_OWN_ERROR);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) != sizeof(error))
		_exit(OPTIONS_EXIT_OWN_ERROR);
	_exit(OPTIONS_EXIT_OWN_ERROR);
}

void
child_none(struct child *child)
{
	memset(child, 0, sizeof(*child));
	child->terminal = -1;
}

int
child_start(struct child *child, char **argv, const char *run_dir,
	    bool has_kernel, const sigset_t *mask)
{
	const char *why_not = has_kernel ? loadable_why_not(argv[0]) : NULL;
	pid_t launcher = getpid();
	int fds[2], ret;

	child_none(child);
	ret = set_environment(run_dir, has_kernel);
	if (ret != 0)
		return ret;
	if (why_not != NULL)
		options_error("%s cannot use the modelled machine: %s", argv[0],
			      why_not);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	child->terminal = own_terminal();
	fflush(NULL);
	child->pid = fork();
	if (child->pid == 0)
		run_program(child, argv, mask, launcher, fds[1]);
	ret = child->pid < 0 ? -errno : 0;
	close(fds[1]);
	if (ret == 0) {
		setpgid(child->pid, child->pid);
		if (read(fds[0], &child->exec_error,
			 sizeof(child->exec_error)) > 0)
			options_error("cannot run %s: %s", argv[0],
				      strerror(child->exec_error));
	}
	close(fds[0]);
	return ret;
}

/* Like a shell: stop and continue with the program. */
static void
stop_along(const struct child *child)
{
	if (child->terminal < 0)
		return;
	give_terminal(child->terminal, getpgrp());
	raise(SIGSTOP);
	if (tcgetpgrp(child->terminal) == getpgrp())
		give_terminal(child->terminal, child->pid);
	kill(-child->pid, SIGCONT);
}

void
child_reap(struct child *child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != child->pid)
			continue;
		if (WIFSTOPPED(status)) {
			stop_along(child);
			continue;
		}
		child->has_ended = true;
		child->status = status;
		give_terminal(child->terminal, getpgrp());
	}
}

void
child_signal(const struct child *child, int signo)
{
	if (child->pid <= 0 || child->has_ended)
		return;
	/* Signal the group, like a terminal, or a program that has left it. */
	if (kill(-child->pid, signo) != 0)
		kill(child->pid, signo);
}

bool
child_has_any(struct child *child)
{
	siginfo_t info;

	child_reap(child);
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	       errno != ECHILD;
}

int
child_exit_status(const struct child *child)
{
	if (child->exec_error != 0)
		return child->exec_error == ENOENT ? 127 : 126;
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

/* timeout(1) sends a signal twice: to the launcher and to its group. */
#define SAME_SIGNAL_MS 100

uint64_t
relay_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int
relay_open(struct relay *relay)
{
	static const int wanted[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
				     SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	relay->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* The reader of messages may be gone, or a file at its limit. */
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	if (relay->fd < 0 ||
	    sigprocmask(SIG_BLOCK, &set, &relay->program_mask) != 0) {
		options_error("cannot catch signals: %s", strerror(errno));
		return -1;
	}
	return 0;
}

static void
pass_on(struct relay *relay, const struct child *child,
	const struct signalfd_siginfo *info)
{
	const uint64_t now = relay_now_ms();

	if (info->ssi_signo == relay->last_signal &&
	    info->ssi_pid == relay->last_sender &&
	    now - relay->last_ms < SAME_SIGNAL_MS)
		return;
	relay->last_signal = info->ssi_signo;
	relay->last_sender = info->ssi_pid;
	relay->last_ms = now;
	if (info->ssi_signo != SIGUSR1 && info->ssi_signo != SIGUSR2)
		relay->is_ended = true;
	child_signal(child, (int)info->ssi_signo);
	/* Continue a stopped program, which would not end otherwise. */
	if (info->ssi_signo == SIGTERM || info->ssi_signo == SIGHUP)
		child_signal(child, SIGCONT);
}

bool
relay_signals(struct relay *relay, const struct child *child)
{
	struct signalfd_siginfo info;
	bool has_ended = false;

	while (read(relay->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			has_ended = true;
		else
			pass_on(relay, child, &info);
	}
	return has_ended;
}
