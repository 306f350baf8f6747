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
#include "pci.h"
#include "report.h"
#include "script.h"
#include "segment.h"
#include "violation_log.h"

#define EXIT_BAD_REPORT 3 /* --fatal-violations, --check */
#define TICK_MS 100
#define CLOSE_MS 2000 /* for sockets of a program that has ended */

/* All resources of the launcher; zero: not acquired. */
struct launcher {
	struct options options;
	struct machine_setup setup;
	struct relay relay;
	struct pollfd *fds; /* own, backends', PCI functions' */
	struct pollfd *pci_fds; /* part of fds */
	uint32_t nb_fds;
	struct child child;
	/* The program was aborted for a violation found in the launcher. */
	bool was_aborted;
	uint64_t last_tick_ms;
};

enum { FD_SIGNALS, FD_CHILD, FD_KICK, NB_OWN_FDS };

static int
make_pollfds(struct launcher *l)
{
	const uint32_t nb_others = NB_OWN_FDS + backends_pollfds(NULL);

	l->nb_fds = nb_others + pci_pollfds(NULL);
	l->fds = calloc(l->nb_fds, sizeof(*l->fds));
	if (l->fds == NULL) {
		options_error("no memory");
		return -1;
	}
	l->pci_fds = l->fds + nb_others;
	l->fds[FD_SIGNALS].fd = l->relay.fd;
	l->fds[FD_SIGNALS].events = POLLIN;
	l->fds[FD_CHILD].fd = l->child.channel;
	l->fds[FD_CHILD].events = POLLIN;
	l->fds[FD_KICK].fd = l->setup.kick_fd;
	l->fds[FD_KICK].events = POLLIN;
	return 0;
}

static void
take_signals(struct launcher *l)
{
	relay_signals(&l->relay, &l->child);
	if (l->options.program == NULL && l->relay.is_ended)
		l->child.has_ended = true;
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
	if (l->options.program == NULL)
		l->child.has_ended = true;
	/* A virtual machine did nothing wrong itself: it ends in order. */
	child_signal(&l->child, l->options.config.is_pci ? SIGTERM : SIGABRT);
}

/* Run every 100 ms. */
static void
tick(struct launcher *l)
{
	uint64_t now = relay_now_ms();

	if (now - l->last_tick_ms < TICK_MS)
		return;
	l->last_tick_ms = now;
	if (!l->options.config.is_pci)
		kernel_reclaim_dead();
	check_fatal(l);
}

/* The time until the next timer. Virtual time stands while the launcher has news to take. */
static struct timespec
idle_time(const struct launcher *l)
{
	const uint64_t tick_ns = TICK_MS * UINT64_C(1000000);
	const bool programs_wait = clock_is_early() &&
				   idle_programs_wait(l->options.poll_ms) &&
				   poll(l->fds, NB_OWN_FDS, 0) == 0;
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
	bool has_more = false; /* work of PCI functions */

	while (!l->child.has_ended) {
		struct timespec idle = { 0 };
		int nb;

		if (!has_more)
			idle = idle_time(l);
		backends_pollfds(l->fds + NB_OWN_FDS);
		pci_pollfds(l->pci_fds);
		nb = ppoll(l->fds, l->nb_fds, &idle, NULL);
		if (nb > 0) {
			if (l->fds[FD_SIGNALS].revents != 0)
				take_signals(l);
			if (l->fds[FD_CHILD].revents != 0)
				child_receive(&l->child);
			if (l->fds[FD_KICK].revents != 0)
				drain_kicks(l);
			backends_receive(l->fds + NB_OWN_FDS);
		}
		has_more = pci_receive(nb > 0 ? l->pci_fds : NULL,
				       script_is_due());
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

/*
 * The clients of a PCI machine have ended with the program. The kernel may close
 * their sockets a little later: QEMU's io_uring holds them.
 */
static void
end_clients(struct launcher *l)
{
	const uint64_t end_ms = relay_now_ms() + CLOSE_MS;

	while (pci_has_clients() && relay_now_ms() < end_ms) {
		const nfds_t nb = pci_pollfds(l->pci_fds);

		if (poll(l->pci_fds, nb, TICK_MS) > 0)
			pci_receive(l->pci_fds, false);
	}
}

/* --check: the exit status after it; a program that did not run keeps its own. */
static int
check_report(const struct launcher *l, const char *text, int status)
{
	if (l->options.checks == 0 || l->child.exec_error != 0 ||
	    report_verdict(text, l->options.checks, stderr))
		return status;
	if (status != 0 && status != EXIT_BAD_REPORT)
		options_error("check: the program's exit status was %d", status);
	return EXIT_BAD_REPORT;
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
	if (!l->options.is_quiet)
		report_summary(text, stderr);
	*status = check_report(l, text, *status);
	if (l->options.report != NULL &&
	    report_write(text, l->options.report) != 0)
		*status = OPTIONS_EXIT_OWN_ERROR;
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

/* Start the program, if there is one. */
static void
start(struct launcher *l)
{
	const struct options *options = &l->options;

	if (options->program != NULL)
		child_start(&l->child, !options->config.is_pci);
	else if (!options->is_quiet)
		options_error("the functions are served on %s/function-0 "
			      "to function-%u",
			      options->pci_dir,
			      options->config.nb_functions - 1);
}

static int
run(struct launcher *l)
{
	int status;

	if (check_files(&l->options) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	if (relay_open(&l->relay) != 0 ||
	    machine_setup_make(&l->setup, &l->options, &l->child,
			       &l->relay.program_mask) != 0 ||
	    make_pollfds(l) != 0)
		return OPTIONS_EXIT_OWN_ERROR;
	machine_tick(); /* scenario lines that precede the program */
	start(l);
	watch(l);
	/*
	 * Keep the guardian to the end: a test runner may kill the launcher
	 * here.
	 */
	child_end(&l->child);
	if (!l->options.config.is_pci)
		join_revoke(l->setup.offer);
	if (!l->options.config.is_pci)
		kernel_reclaim_dead();
	else if (l->options.program != NULL)
		end_clients(l);
	backends_transmit(); /* the last frames */
	capture_finish();
	status = child_exit_status(&l->child);
	segment_lock();
	if (segment_violation_log()->is_fatal)
		status = EXIT_BAD_REPORT;
	segment_unlock();
	write_report(l, &status);
	return status;
}

/* Accepts a partly created one. */
static void
destroy(struct launcher *l)
{
	pci_close();
	backends_close();
	child_close(&l->child);
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
