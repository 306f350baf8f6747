/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "launcher.h"
#include "options.h"
#include "rundir.h"

#define LIBRARY "libmana-model.so"
#define ASAN_LIBRARY "libasan.so"

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
 * A program or library built with AddressSanitizer needs its run-time as first library.
 * The launcher has it loaded if it was built alike, as the model's library is; gcc links
 * programs to it. "" without it; name has room for the name.
 */
static const char *
sanitizer_runtime(const char *program, char *name, size_t name_bytes)
{
	const void *init = dlsym(RTLD_DEFAULT, "__asan_init");
	Dl_info info;

	if (init != NULL && dladdr(init, &info) != 0 &&
	    strstr(info.dli_fname, ASAN_LIBRARY) != NULL)
		return info.dli_fname;
	return loadable_needs(program, ASAN_LIBRARY, name, name_bytes) ? name :
									 "";
}

/* Libraries in LD_PRELOAD stay in front: they may need to be first, too. */
static int
set_preload(const char *run_dir, const char *program)
{
	const char *before = getenv("LD_PRELOAD");
	char library[PATH_MAX], name[64], *text = NULL;
	const char *runtime = sanitizer_runtime(program, name, sizeof(name));
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
	if (strstr(before, ASAN_LIBRARY) != NULL)
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

/* EAL keeps its lock, shared files and sockets there, not with those of the host. */
static int
set_runtime_folder(const char *run_dir)
{
	char path[MODEL_MAX_PATH];

	if (rundir_runtime(run_dir, path, sizeof(path)) == NULL)
		return 0;
	return setenv("RUNTIME_DIRECTORY", path, 0) != 0 ? -errno : 0;
}

static int
set_environment(const char *run_dir, const char *program, bool has_kernel)
{
	int ret;

	if (setenv("MANA_MODEL_DIR", run_dir, 1) != 0)
		return -errno;
	if (!has_kernel)
		return 0;
	ret = set_preload(run_dir, program);
	return ret == 0 ? set_runtime_folder(run_dir) : ret;
}

void
child_give_terminal(int terminal, pid_t group)
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

int
child_open(struct child *child, const struct guardian_plan *plan,
	   bool has_kernel)
{
	struct guardian_plan own = *plan;
	int ret = 0;

	memset(child, 0, sizeof(*child));
	child->terminal = -1;
	if (plan->argv != NULL) {
		child->program = plan->argv[0];
		ret = set_environment(plan->run_dir, plan->argv[0], has_kernel);
		child->terminal = own_terminal();
	}
	own.terminal = child->terminal;
	if (ret == 0)
		ret = guardian_start(&own, &child->channel);
	child->guardian = ret > 0 ? ret : 0;
	return ret > 0 ? 0 : ret;
}

static void
request(const struct child *child, int what)
{
	if (child->guardian == 0)
		return;
	send(child->channel, &what, sizeof(what), MSG_NOSIGNAL);
}

/* Like a shell: stop and continue with the program. */
static void
stop_along(const struct child *child, pid_t program)
{
	if (child->terminal < 0)
		return;
	child_give_terminal(child->terminal, getpgrp());
	raise(SIGSTOP);
	if (tcgetpgrp(child->terminal) == getpgrp())
		child_give_terminal(child->terminal, program);
	child_signal(child, SIGCONT);
}

static void
note(struct child *child, const struct guardian_answer *answer)
{
	if (answer->error != 0) {
		child->exec_error = answer->error;
		options_error("cannot run %s: %s", child->program,
			      strerror(answer->error));
	} else if (WIFSTOPPED(answer->status)) {
		stop_along(child, answer->pid);
		return;
	} else {
		child->status = answer->status;
	}
	child->has_ended = true;
	child_give_terminal(child->terminal, getpgrp());
}

/* The guardian was killed; the kernel has killed the program with it. */
static void
lose_guardian(struct child *child)
{
	guardian_replace();
	if (!child->has_ended)
		note(child, &(struct guardian_answer){ .status = SIGKILL });
	close(child->channel);
	child->channel = -1;
	child->guardian = 0;
}

/* False: none, or the guardian was killed. */
static bool
receive(struct child *child, struct guardian_answer *answer, int flags)
{
	ssize_t n;

	if (child->guardian == 0)
		return false;
	n = recv(child->channel, answer, sizeof(*answer), flags);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		lose_guardian(child);
	return n == (ssize_t)sizeof(*answer);
}

void
child_receive(struct child *child)
{
	struct guardian_answer answer;

	while (receive(child, &answer, MSG_DONTWAIT))
		note(child, &answer);
}

void
child_signal(const struct child *child, int signo)
{
	if (!child->has_ended)
		request(child, signo);
}

void
child_start(struct child *child, bool has_kernel)
{
	const char *why_not =
		has_kernel ? loadable_why_not(child->program) : NULL;

	if (why_not != NULL)
		options_error("%s cannot use the modelled machine: %s",
			      child->program, why_not);
	request(child, GUARDIAN_START);
}

void
child_end(struct child *child)
{
	struct guardian_answer answer;

	request(child, GUARDIAN_END);
	while (receive(child, &answer, 0) && answer.pid != 0)
		note(child, &answer);
}

void
child_close(struct child *child)
{
	if (child->guardian == 0)
		return;
	request(child, GUARDIAN_DISMISS);
	waitpid(child->guardian, NULL, 0);
	close(child->channel);
	child->guardian = 0;
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
	static const int wanted[] = { SIGINT,  SIGTERM, SIGHUP,
				      SIGQUIT, SIGUSR1, SIGUSR2 };
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

void
relay_signals(struct relay *relay, const struct child *child)
{
	struct signalfd_siginfo info;

	while (read(relay->fd, &info, sizeof(info)) == sizeof(info))
		pass_on(relay, child, &info);
}
