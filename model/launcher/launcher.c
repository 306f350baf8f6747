/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * mana-model: makes a machine, runs a program on it, watches, switches off.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "config.h"
#include "ctl.h"
#include "device.h"
#include "fault.h"
#include "guardian.h"
#include "kernel.h"
#include "ledger.h"
#include "mem.h"
#include "options.h"
#include "report.h"
#include "rundir.h"
#include "segment.h"
#include "sysfs.h"
#include "tap.h"

#define EXIT_FATAL_VIOLATION 3
#define TICK_MS 100
/* timeout(1) sends a signal twice: to us, and to the group we are in. */
#define SAME_SIGNAL_MS 100

/* Everything the launcher holds; zero is "not there". */
struct launcher {
	struct options options;
	char run_dir[MODEL_MAX_PATH];
	bool has_run_dir;
	struct guardian guardian;
	int kick_fd, signal_fd;
	struct pollfd *fds;
	uint32_t nb_fds;
	sigset_t program_mask; /* as we were started */
	struct child child;
	bool was_aborted; /* the program, for a violation seen in here */
	uint32_t last_signal, last_sender;
	uint64_t last_signal_ms;
	uint64_t last_tick_ms;
};

enum { FD_SIGNALS, FD_KICK, NB_OWN_FDS };

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void
list_violations(void)
{
	for (int v = 0; v < NB_VIOLATIONS; v++)
		printf("%-24s %s\n", violation_name((enum violation)v),
		       violation_meaning((enum violation)v));
}

/*
 * From here on no signal ends the launcher by itself: all come through the
 * descriptor, so that the machine is always taken down in order.
 */
static int
catch_signals(struct launcher *l)
{
	static const int wanted[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
				     SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A reader of our messages may have gone. */
	sigaddset(&set, SIGPIPE);
	if (l->signal_fd < 0 ||
	    sigprocmask(SIG_BLOCK, &set, &l->program_mask) != 0) {
		options_complain("cannot catch signals: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* The guardian takes the machine down then. */
static void
on_bus_error(int signo)
{
	static const char text[] = "mana-model: " SEGMENT_FULL_MESSAGE "\n";

	(void)signo;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(OPTIONS_EXIT_OWN_ERROR);
	_exit(OPTIONS_EXIT_OWN_ERROR);
}

static int
plan_faults(const struct options *options)
{
	char message[256] = "";

	for (uint32_t i = 0; i < options->nb_faults; i++) {
		int ret;

		segment_lock();
		ret = fault_plan_add(options->faults[i], message,
				     sizeof(message));
		segment_unlock();
		if (ret != 0) {
			options_complain("--fault: '%s' will not do: %s",
					 options->faults[i], message);
			return -1;
		}
	}
	return 0;
}

static int
make_machine(struct launcher *l)
{
	const struct model_config *config = &l->options.config;
	char where[256];
	int ret;

	if (rundir_create(config->name, l->run_dir, sizeof(l->run_dir),
			  &l->kick_fd) != 0)
		return -1;
	l->has_run_dir = true;
	ret = guardian_start(&l->guardian, l->run_dir);
	if (ret != 0) {
		options_complain("cannot start the guardian of %s: %s",
				 l->run_dir, strerror(-ret));
		return -1;
	}
	mem_own_through_kernel = true;
	signal(SIGBUS, on_bus_error);
	ret = segment_create(l->run_dir, config);
	if (ret != 0) {
		options_complain("cannot make the machine's memory in %s: %s",
				 l->run_dir, strerror(-ret));
		return -1;
	}
	ledger_trace_open();
	if (config->trace[0] != '\0' && !ledger_trace_on)
		return -1; /* said why */
	segment_lock();
	ret = device_init();
	segment_unlock();
	if (ret == 0)
		ret = kernel_init();
	if (ret != 0) {
		options_complain("cannot make the device: %s", strerror(-ret));
		return -1;
	}
	if (plan_faults(&l->options) != 0)
		return -1;
	ret = sysfs_create(l->run_dir, where, sizeof(where));
	if (ret != 0) {
		options_complain("cannot write sys/%s in %s: %s", where,
				 l->run_dir, strerror(-ret));
		return -1;
	}
	return config->wire == MODEL_WIRE_TAP ? tap_open() : 0;
}

static int
make_pollfds(struct launcher *l)
{
	l->nb_fds = NB_OWN_FDS + tap_pollfds(NULL);
	l->fds = calloc(l->nb_fds, sizeof(*l->fds));
	if (l->fds == NULL) {
		options_complain("no memory");
		return -1;
	}
	l->fds[FD_SIGNALS].fd = l->signal_fd;
	l->fds[FD_SIGNALS].events = POLLIN;
	l->fds[FD_KICK].fd = l->kick_fd;
	l->fds[FD_KICK].events = POLLIN;
	tap_pollfds(l->fds + NB_OWN_FDS);
	return 0;
}

static void
take_signal(struct launcher *l, const struct signalfd_siginfo *info)
{
	uint64_t now = now_ms();

	if (info->ssi_signo == SIGCHLD) {
		l->last_tick_ms = 0; /* now */
		return;
	}
	if (info->ssi_signo == l->last_signal &&
	    info->ssi_pid == l->last_sender &&
	    now - l->last_signal_ms < SAME_SIGNAL_MS)
		return;
	l->last_signal = info->ssi_signo;
	l->last_sender = info->ssi_pid;
	l->last_signal_ms = now;
	child_signal(&l->child, (int)info->ssi_signo);
}

static void
read_signals(struct launcher *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
		take_signal(l, &info);
}

static void
drain_kicks(const struct launcher *l)
{
	char bytes[512];

	while (read(l->kick_fd, bytes, sizeof(bytes)) == sizeof(bytes))
		;
}

/* A violation that the launcher itself met has no program to abort. */
static void
check_fatal(struct launcher *l)
{
	bool is_fatal;

	if (l->was_aborted)
		return;
	segment_lock();
	is_fatal = segment_ledger()->is_fatal;
	segment_unlock();
	if (!is_fatal)
		return;
	l->was_aborted = true;
	child_signal(&l->child, SIGABRT);
}

/* Every 100 ms, and when a child has ended. */
static void
tick(struct launcher *l)
{
	uint64_t now = now_ms();

	if (now - l->last_tick_ms < TICK_MS)
		return;
	l->last_tick_ms = now;
	child_reap(&l->child);
	kernel_reclaim_dead();
	check_fatal(l);
}

static void
watch(struct launcher *l)
{
	while (!l->child.has_ended) {
		int nb = poll(l->fds, l->nb_fds, TICK_MS);

		if (nb > 0) {
			if (l->fds[FD_SIGNALS].revents != 0)
				read_signals(l);
			if (l->fds[FD_KICK].revents != 0)
				drain_kicks(l);
			tap_receive(l->fds + NB_OWN_FDS);
		}
		tap_transmit();
		tick(l);
	}
}

/* What the machine has to tell, once nobody runs on it any more. */
static void
tell(struct launcher *l, int *status)
{
	char *text = report_text();

	if (text == NULL) {
		options_complain("no memory for the report");
		*status = OPTIONS_EXIT_OWN_ERROR;
		return;
	}
	if (l->options.report != NULL &&
	    report_write(text, l->options.report) != 0)
		*status = OPTIONS_EXIT_OWN_ERROR;
	if (!l->options.is_quiet)
		report_summary(text, stderr);
	free(text);
}

static int
run(struct launcher *l)
{
	int ret, status;

	/* Before the work is done, not after. */
	if (l->options.report != NULL && report_check(l->options.report) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	if (catch_signals(l) != 0 || make_machine(l) != 0 ||
	    make_pollfds(l) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	ret = child_start(&l->child, l->options.program, l->run_dir,
			  &l->program_mask);
	if (ret != 0) {
		options_complain("cannot start %s: %s",
				 l->options.program[0], strerror(-ret));
		return OPTIONS_EXIT_OWN_ERROR;
	}
	watch(l);
	guardian_dismiss(&l->guardian); /* it is a child, too */
	child_end_all(&l->child);
	kernel_reclaim_dead();
	status = child_exit_status(&l->child);
	segment_lock();
	if (segment_ledger()->is_fatal)
		status = EXIT_FATAL_VIOLATION;
	segment_unlock();
	tell(l, &status);
	return status;
}

/* Takes a half-made one too. */
static void
destroy(struct launcher *l)
{
	tap_close();
	guardian_dismiss(&l->guardian);
	if (l->has_run_dir)
		rundir_remove(l->run_dir);
	free(l->fds);
}

int
main(int argc, char **argv)
{
	struct launcher launcher;
	int status;

	memset(&launcher, 0, sizeof(launcher));
	options_parse(argc, argv, &launcher.options);
	switch (launcher.options.action) {
	case OPTIONS_HELP:
		options_help();
		return 0;
	case OPTIONS_LIST_VIOLATIONS:
		list_violations();
		return 0;
	case OPTIONS_CTL_REPORT:
		return ctl_report(launcher.options.config.name);
	case OPTIONS_WRONG:
		return OPTIONS_EXIT_OWN_ERROR;
	case OPTIONS_RUN:
		break;
	}
	status = run(&launcher);
	destroy(&launcher);
	return status;
}
