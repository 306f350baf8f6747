/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "relay.h"

/* timeout(1) sends a signal twice: to us, and to the group we are in. */
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
	/* A reader of our messages may have gone, a file may be at its limit. */
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	if (relay->fd < 0 ||
	    sigprocmask(SIG_BLOCK, &set, &relay->program_mask) != 0) {
		options_complain("cannot catch signals: %s", strerror(errno));
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
	child_signal(child, (int)info->ssi_signo);
	/* A stopped program would not end: as a shell's kill of a job. */
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
