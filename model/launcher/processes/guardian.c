/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "child.h"
#include "guardian.h"
#include "options.h"
#include "rundir.h"
#include "segment.h"
#include "tree.h"

#define NAME "mana-guardian" /* name in ps */
#define GRACE_MS 1000 /* between SIGTERM and SIGKILL */
#define MAX_MS 10000 /* a process may hang in a system call */
#define NAP_MS 20

struct guardian {
	const struct guardian_plan *plan;
	int channel;
	int children; /* signalfd of SIGCHLD */
	pid_t program; /* 0: not started, or ended */
};

/* Whether a process is the guardian of any machine. */
static bool
is_guardian(pid_t pid)
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
	return strcmp(name, NAME "\n") == 0;
}

/* SIGTERM for a descendant. A nested machine's guardian ends its own ones. */
static bool
terminate(pid_t pid, pid_t tid, void *arg)
{
	(void)arg;
	if (is_guardian(pid))
		return false;
	if (tid == pid) {
		kill(pid, SIGTERM);
		kill(pid, SIGCONT); /* a stopped process would not end */
	}
	return true;
}

struct killing {
	bool is_at_once;
	uint32_t nb_waited; /* children that will end */
	uint32_t nb_left; /* those that the caller may not signal */
};

/* SIGKILL for a child; its children become the caller's. */
static bool
kill_child(pid_t pid, pid_t tid, void *arg)
{
	struct killing *killing = arg;

	if (tid != pid)
		return false;
	if (kill(pid, killing->is_at_once && !is_guardian(pid) ? SIGKILL : 0) != 0)
		killing->nb_left++;
	else
		killing->nb_waited++;
	return false;
}

/* Whether the main thread of a process lives and does not block this signal. */
static bool
main_takes(pid_t pid, int signo)
{
	char path[64], line[128], state = 'Z';
	uint64_t blocked = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		(void)sscanf(line, "State: %c", &state);
		(void)sscanf(line, "SigBlk: %" SCNx64, &blocked);
	}
	fclose(file);
	return state != 'Z' && (blocked & UINT64_C(1) << (signo - 1)) == 0;
}

/*
 * Linux gives a signal of a process to its main thread, if that does not block
 * it, and wakes it. But another thread that returns from a handler meanwhile, as
 * each doorbell does, takes it first: a system call of the main thread that the
 * signal shall end goes on. So this sends it to the main thread itself.
 */
static void
signal_process(pid_t pid, int signo)
{
	if (!main_takes(pid, signo) || syscall(SYS_tgkill, pid, pid, signo) != 0)
		kill(pid, signo);
}

struct sending {
	pid_t group;
	int signo;
	bool is_sent;
};

static bool
signal_member(pid_t pid, pid_t tid, void *arg)
{
	struct sending *sending = arg;

	if (tid == pid && getpgid(pid) == sending->group) {
		signal_process(pid, sending->signo);
		sending->is_sent = true;
	}
	return true;
}

/* Signals the program's group, like a terminal, or a program that has left it. */
static void
signal_program(pid_t program, int signo)
{
	struct sending sending = { .group = program, .signo = signo };

	tree_walk(signal_member, &sending);
	if (!sending.is_sent)
		signal_process(program, signo);
}

static void
answer(const struct guardian *g, pid_t pid, int error, int status)
{
	const struct guardian_answer text = { pid, error, status };

	send(g->channel, &text, sizeof(text), MSG_NOSIGNAL);
}

/* Reap ended children, which include orphans of the program. True: others are left. */
static bool
reap(struct guardian *g)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != g->program)
			continue;
		if (!WIFSTOPPED(status))
			g->program = 0;
		answer(g, pid, 0, status);
	}
	return pid == 0;
}

/*
 * End all children and theirs: at first with SIGTERM, if is_orderly, and with SIGKILL
 * a second later. A process that the guardian may not signal is left alone.
 */
static void
end_children(struct guardian *g, bool is_orderly)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };
	const uint64_t start_ms = relay_now_ms();
	uint64_t ms = 0;

	if (is_orderly)
		tree_walk(terminate, NULL);
	while (reap(g) && ms < MAX_MS) {
		struct killing killing = { 0 };

		killing.is_at_once = !is_orderly || ms >= GRACE_MS;
		tree_walk(kill_child, &killing);
		if (killing.nb_waited == 0 && killing.nb_left != 0)
			return;
		nanosleep(&nap, NULL);
		ms = relay_now_ms() - start_ms;
	}
}

void
guardian_replace(void)
{
	struct guardian none = { .channel = -1 };

	end_children(&none, false);
}

static void __attribute__((noreturn))
run_program(const struct guardian *g, pid_t guardian)
{
	setpgid(0, 0);
	child_give_terminal(g->plan->terminal, getpgrp());
	/* If the guardian is killed, the program ends, too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guardian)
		_exit(OPTIONS_EXIT_OWN_ERROR);
	sigprocmask(SIG_SETMASK, g->plan->mask, NULL);
	execvp(g->plan->argv[0], g->plan->argv);
	answer(g, getpid(), errno, 0);
	_exit(OPTIONS_EXIT_OWN_ERROR);
}

/* Else a reader of the launcher's output waits for the guardian. */
static void
close_standard_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
}

static void
start_program(struct guardian *g)
{
	const pid_t self = getpid();

	g->program = fork();
	if (g->program == 0)
		run_program(g, self);
	if (g->program < 0) {
		answer(g, self, errno, 0);
		g->program = 0;
	} else {
		setpgid(g->program, g->program);
	}
	close_standard_files();
}

static void
serve(struct guardian *g, int request)
{
	switch (request) {
	case GUARDIAN_START:
		start_program(g);
		break;
	case GUARDIAN_END:
		end_children(g, true);
		answer(g, 0, 0, 0);
		break;
	case GUARDIAN_DISMISS:
		_exit(0);
	default:
		if (g->program != 0)
			signal_program(g->program, request);
	}
}

/*
 * Cut off the block that a killed process was writing to a capture. A process of its
 * own does so: if the file system is full, its access to the segment kills it.
 */
static void
finish_captures(const struct guardian_plan *plan)
{
	const pid_t pid = fork();

	if (pid == 0) {
		if (segment_attach(plan->run_dir) == 0)
			capture_finish();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void __attribute__((noreturn))
guard(struct guardian *g)
{
	struct pollfd fds[] = {
		{ .fd = g->channel, .events = POLLIN },
		{ .fd = g->children, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	int request;

	for (;;) {
		poll(fds, 2, -1);
		while (read(g->children, &info, sizeof(info)) == sizeof(info))
			;
		reap(g);
		if (fds[0].revents == 0)
			continue;
		if (recv(g->channel, &request, sizeof(request), 0) !=
		    (ssize_t)sizeof(request))
			break;
		serve(g, request);
	}
	/* The launcher was killed. */
	end_children(g, false);
	if (!g->plan->is_joined) {
		finish_captures(g->plan);
		rundir_remove(g->plan->run_dir);
	}
	_exit(0);
}

/* The new process, before it serves requests. */
static void __attribute__((noreturn))
become_guardian(const struct guardian_plan *plan, int channel)
{
	struct guardian g = { .plan = plan, .channel = channel };
	sigset_t set;

	/*
	 * No signal of the terminal or of the launcher's group ends the guardian. It
	 * stays in the session: the shell's job control needs it there.
	 */
	setpgid(0, 0);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_NAME, NAME);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	g.children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (plan->argv == NULL)
		close_standard_files();
	guard(&g);
}

pid_t
guardian_start(const struct guardian_plan *plan, int *channel)
{
	int fds[2], error;
	pid_t pid;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	error = errno;
	if (pid == 0) {
		close(fds[0]);
		become_guardian(plan, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -error;
	}
	*channel = fds[0];
	return pid;
}
