/* SPDX-License-Identifier: BSD-3-Clause */

/* mana-model: create a machine, run a program, watch it, switch it off. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "capture.h"
#include "child.h"
#include "clock.h"
#include "kernel.h"
#include "launcher.h"
#include "machine.h"
#include "processes.h"
#include "replay.h"
#include "report.h"
#include "segment.h"
#include "violation_log.h"

#define EXIT_FATAL_VIOLATION 3
#define EXIT_DIFFERS 4 /* the replay had differences */
#define TICK_MS 100

/* All resources of the launcher; zero: not acquired. */
struct launcher {
	struct options options;
	struct machine_setup setup;
	struct relay relay;
	struct pollfd *fds;
	uint32_t nb_fds;
	struct child child;
	/* The program was aborted for a violation found in the launcher. */
	bool was_aborted;
	uint64_t last_tick_ms;
};

enum { FD_SIGNALS, FD_KICK, NB_OWN_FDS };

static int
make_pollfds(struct launcher *l)
{
	l->nb_fds = NB_OWN_FDS + backends_pollfds(NULL);
	l->fds = calloc(l->nb_fds, sizeof(*l->fds));
	if (l->fds == NULL) {
		options_error("no memory");
		return -1;
	}
	l->fds[FD_SIGNALS].fd = l->relay.fd;
	l->fds[FD_SIGNALS].events = POLLIN;
	l->fds[FD_KICK].fd = l->setup.kick_fd;
	l->fds[FD_KICK].events = POLLIN;
	return 0;
}

static void
take_signals(struct launcher *l)
{
	if (relay_signals(&l->relay, &l->child))
		l->last_tick_ms = 0; /* run it at once */
}

static void
drain_kicks(const struct launcher *l)
{
	char bytes[512];

	while (read(l->setup.kick_fd, bytes, sizeof(bytes)) == sizeof(bytes))
		;
}

/* Abort the program for a violation that the launcher has found. */
static void
check_fatal(struct launcher *l)
{
	bool is_fatal;

	if (l->was_aborted)
		return;
	segment_lock();
	is_fatal = segment_violation_log()->is_fatal;
	segment_unlock();
	if (!is_fatal)
		return;
	l->was_aborted = true;
	child_signal(&l->child, SIGABRT);
}

/* Run every 100 ms, and when a child has ended. */
static void
tick(struct launcher *l)
{
	uint64_t now = relay_now_ms();

	if (now - l->last_tick_ms < TICK_MS)
		return;
	l->last_tick_ms = now;
	child_reap(&l->child);
	kernel_reclaim_dead();
	check_fatal(l);
}

/* The time until the next timer. */
static struct timespec
idle_time(void)
{
	const uint64_t tick_ns = TICK_MS * UINT64_C(1000000);
	const bool programs_wait = clock_is_early() && idle_programs_wait();
	uint64_t ns;

	segment_lock();
	ns = clock_watch(programs_wait);
	segment_unlock();
	if (ns > tick_ns)
		ns = tick_ns;
	return (struct timespec){ .tv_nsec = (long)ns };
}

static void
watch(struct launcher *l)
{
	while (!l->child.has_ended) {
		struct timespec idle = idle_time();
		int nb;

		backends_pollfds(l->fds + NB_OWN_FDS);
		nb = ppoll(l->fds, l->nb_fds, &idle, NULL);
		if (nb > 0) {
			if (l->fds[FD_SIGNALS].revents != 0)
				take_signals(l);
			if (l->fds[FD_KICK].revents != 0)
				drain_kicks(l);
			backends_receive(l->fds + NB_OWN_FDS);
		}
		/*
		 * A doorbell or call that advances virtual time does what is
		 * due; the launcher does so only after advancing the clock.
		 */
		if (!segment_clock()->is_virtual || idle.tv_nsec == 0)
			machine_tick();
		backends_transmit();
		backends_tick();
		tick(l);
	}
}

/* Write the report. All processes of the machine have ended. */
static void
write_report(struct launcher *l, int *status)
{
	char *text = report_text();

	if (text == NULL) {
		options_error("no memory for the report");
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
check_files(const struct options *options)
{
	if (file_check("--report", options->report) != 0 ||
	    file_check("--trace", options->config.trace) != 0 ||
	    file_check("--scenario", options->scenario) != 0)
		return -1;
	/* Check this before the run, not after it. */
	return options->report == NULL ? 0 : report_check(options->report);
}

static int
run(struct launcher *l)
{
	int ret, status;

	if (check_files(&l->options) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	if (relay_open(&l->relay) != 0 ||
	    machine_setup_make(&l->setup, &l->options) != 0 ||
	    make_pollfds(l) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	machine_tick(); /* scenario lines that precede the program */
	ret = child_start(&l->child, l->options.program, l->setup.run_dir,
			  &l->relay.program_mask);
	if (ret != 0) {
		options_error("cannot start %s: %s", l->options.program[0],
			      strerror(-ret));
		return OPTIONS_EXIT_OWN_ERROR;
	}
	watch(l);
	/*
	 * Keep the guardian to the end: a test runner may kill the launcher
	 * here.
	 */
	processes_end(l->setup.run_dir, &l->child);
	kernel_reclaim_dead();
	backends_transmit(); /* the last frames */
	capture_finish();
	status = child_exit_status(&l->child);
	segment_lock();
	if (replay_finish() > 0)
		status = EXIT_DIFFERS;
	if (segment_violation_log()->is_fatal)
		status = EXIT_FATAL_VIOLATION;
	segment_unlock();
	write_report(l, &status);
	return status;
}

/* Accepts a partly created one. */
static void
destroy(struct launcher *l)
{
	backends_close();
	machine_setup_undo(&l->setup);
	free(l->fds);
}

static int
act(struct launcher *l)
{
	int status;

	if (l->options.action == OPTIONS_CTL)
		return ctl_run(l->options.config.name, l->options.program);
	if (l->options.action == OPTIONS_JOIN)
		return join_run(&l->options);
	status = run(l);
	destroy(l);
	return status;
}

/*
 * For tests: a killed test cannot end the launcher, so the kernel does it when
 * the parent ends. This setting is not for the program; remove it from the
 * environment. The guardian does the rest.
 */
static void
end_with_parent(void)
{
	const char *wanted = getenv("MANA_MODEL_END_WITH_PARENT");
	const pid_t parent = getppid();

	if (wanted != NULL && strcmp(wanted, "1") == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may have ended just before. */
		if (getppid() != parent)
			raise(SIGKILL);
	}
	unsetenv("MANA_MODEL_END_WITH_PARENT");
}

int
main(int argc, char **argv)
{
	struct launcher launcher;
	int status;

	memset(&launcher, 0, sizeof(launcher));
	end_with_parent();
	options_parse(argc, argv, &launcher.options);
	status = act(&launcher);
	options_release(&launcher.options);
	return status;
}
