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
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "child.h"
#include "clock.h"
#include "config.h"
#include "ctl.h"
#include "file_check.h"
#include "idle.h"
#include "inhabitants.h"
#include "join.h"
#include "kernel.h"
#include "ledger.h"
#include "machine.h"
#include "making.h"
#include "options.h"
#include "outlet.h"
#include "relay.h"
#include "replay.h"
#include "report.h"
#include "segment.h"

#define EXIT_FATAL_VIOLATION 3
#define EXIT_DIFFERS 4 /* from what is replayed */
#define TICK_MS 100

/* Everything the launcher holds; zero is "not there". */
struct launcher {
	struct options options;
	struct making making;
	struct relay relay;
	struct pollfd *fds;
	uint32_t nb_fds;
	struct child child;
	bool was_aborted; /* the program, for a violation seen in here */
	uint64_t last_tick_ms;
};

enum { FD_SIGNALS, FD_KICK, NB_OWN_FDS };

static void
list_violations(void)
{
	for (int v = 0; v < NB_VIOLATIONS; v++)
		printf("%-24s %s\n", violation_name((enum violation)v),
		       violation_meaning((enum violation)v));
}

static int
make_pollfds(struct launcher *l)
{
	l->nb_fds = NB_OWN_FDS + outlets_pollfds(NULL);
	l->fds = calloc(l->nb_fds, sizeof(*l->fds));
	if (l->fds == NULL) {
		options_complain("no memory");
		return -1;
	}
	l->fds[FD_SIGNALS].fd = l->relay.fd;
	l->fds[FD_SIGNALS].events = POLLIN;
	l->fds[FD_KICK].fd = l->making.kick_fd;
	l->fds[FD_KICK].events = POLLIN;
	return 0;
}

static void
take_signals(struct launcher *l)
{
	if (relay_signals(&l->relay, &l->child))
		l->last_tick_ms = 0; /* now */
}

static void
drain_kicks(const struct launcher *l)
{
	char bytes[512];

	while (read(l->making.kick_fd, bytes, sizeof(bytes)) == sizeof(bytes))
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
	uint64_t now = relay_now_ms();

	if (now - l->last_tick_ms < TICK_MS)
		return;
	l->last_tick_ms = now;
	child_reap(&l->child);
	kernel_reclaim_dead();
	check_fatal(l);
}

/* How long nothing is due. */
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

		outlets_pollfds(l->fds + NB_OWN_FDS);
		nb = ppoll(l->fds, l->nb_fds, &idle, NULL);
		if (nb > 0) {
			if (l->fds[FD_SIGNALS].revents != 0)
				take_signals(l);
			if (l->fds[FD_KICK].revents != 0)
				drain_kicks(l);
			outlets_receive(l->fds + NB_OWN_FDS);
		}
		/*
		 * Whose doorbell or call has moved virtual time does what is
		 * due then, at that place; we do it where we have moved it.
		 */
		if (!segment_clock()->is_virtual || idle.tv_nsec == 0)
			machine_tick();
		outlets_transmit();
		outlets_tick();
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
check_files(const struct options *options)
{
	if (file_check("--report", options->report) != 0 ||
	    file_check("--trace", options->config.trace) != 0 ||
	    file_check("--scenario", options->scenario) != 0 ||
	    file_check("replay", options->replay) != 0)
		return -1;
	/* Before the work is done, not after. */
	return options->report == NULL ? 0 : report_check(options->report);
}

static int
run(struct launcher *l)
{
	int ret, status;

	if (check_files(&l->options) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	if (making_read(&l->making, &l->options) != 0 ||
	    relay_open(&l->relay) != 0 ||
	    making_machine(&l->making, &l->options) != 0 ||
	    make_pollfds(l) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	machine_tick(); /* what is to be before the program */
	ret = child_start(&l->child, l->options.program, l->making.run_dir,
			  &l->relay.program_mask);
	if (ret != 0) {
		options_complain("cannot start %s: %s",
				 l->options.program[0], strerror(-ret));
		return OPTIONS_EXIT_OWN_ERROR;
	}
	watch(l);
	/* On guard to the end: whoever ends a test kills us amid this. */
	child_end_all(&l->child, l->making.guardian.pid);
	join_end_all();
	inhabitants_end(l->making.run_dir, false); /* of launchers that were killed */
	kernel_reclaim_dead();
	outlets_transmit(); /* the last ones */
	capture_finish();
	status = child_exit_status(&l->child);
	segment_lock();
	if (replay_finish() > 0)
		status = EXIT_DIFFERS;
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
	outlets_close();
	making_undo(&l->making);
	free(l->fds);
}

static int
act(struct launcher *l)
{
	int status;

	switch (l->options.action) {
	case OPTIONS_HELP:
		options_help();
		return 0;
	case OPTIONS_LIST_VIOLATIONS:
		list_violations();
		return 0;
	case OPTIONS_CTL:
		return ctl_run(l->options.config.name, l->options.program);
	case OPTIONS_JOIN:
		return join_run(&l->options);
	case OPTIONS_WRONG:
		return OPTIONS_EXIT_OWN_ERROR;
	case OPTIONS_RUN:
		break;
	}
	status = run(l);
	destroy(l);
	return status;
}

/*
 * A test that is killed cannot end what it has started. Ours alone, not of the
 * program. The guardian does the rest.
 */
static void
end_with_parent(void)
{
	const char *wanted = getenv("MANA_MODEL_END_WITH_PARENT");
	const pid_t parent = getppid();

	if (wanted != NULL && strcmp(wanted, "1") == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* It may have ended just before that. */
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
