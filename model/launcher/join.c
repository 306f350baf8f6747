/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "join.h"
#include "relay.h"
#include "rundir.h"
#include "segment.h"

#define GRACE_MS 1000 /* between asking to end and making it */
#define LEAVE_MS 200
#define POLL_MS	 5

/* Part of the machine; its launcher's pidfd, or -1 after a complaint. */
static int
enter(const char *name, char *run_dir, size_t run_dir_bytes)
{
	int ret = rundir_path(name, run_dir, run_dir_bytes);
	int fd = -1;

	if (ret == 0)
		ret = segment_attach(run_dir);
	if (ret >= 0) {
		fd = (int)syscall(SYS_pidfd_open,
				  segment_process(SEGMENT_LAUNCHER)->pid, 0);
		/* Now it is the one that made the machine, or never was. */
		ret = fd < 0 || !segment_process_alive(SEGMENT_LAUNCHER) ?
			      -ENOENT : 0;
	}
	if (ret != 0) {
		options_complain("--join: no machine named %s is running (%s: %s)",
				 name, run_dir, strerror(-ret));
		return -1;
	}
	return fd;
}

static void
leave(void)
{
	segment_lock();
	segment_process_release(model_self);
	segment_unlock();
	segment_detach();
}

/* By a signal, whoever sent it. */
static bool
was_ended(const struct child *child)
{
	return child->has_ended && child_exit_status(child) > 128;
}

static void
watch(struct relay *relay, struct child *child, int machine_fd,
      const char *name)
{
	struct pollfd fds[] = {
		{ .fd = relay->fd, .events = POLLIN },
		{ .fd = machine_fd, .events = POLLIN },
	};

	do {
		poll(fds, 2, -1);
		if (relay_signals(relay, child))
			child_reap(child);
	} while (!child->has_ended && fds[1].revents == 0);
	/*
	 * The end of the machine may have ended the program before this: its
	 * descriptors are closed before its process counts as gone.
	 */
	if (poll(&fds[1], 1, was_ended(child) ? LEAVE_MS : 0) > 0)
		options_complain("the machine %s was switched off", name);
}

int
join_run(const struct options *options)
{
	char run_dir[MODEL_MAX_PATH];
	struct child child = { 0 };
	struct relay relay = { 0 };
	const char *name = options->config.name;
	int ret, machine_fd = enter(name, run_dir, sizeof(run_dir));

	if (machine_fd < 0 || relay_open(&relay) != 0) {
		if (model != NULL)
			leave();
		return OPTIONS_EXIT_OWN_ERROR;
	}
	ret = child_start(&child, options->program, run_dir,
			  &relay.program_mask);
	if (ret != 0) {
		options_complain("cannot start %s: %s", options->program[0],
				 strerror(-ret));
		leave();
		return OPTIONS_EXIT_OWN_ERROR;
	}
	watch(&relay, &child, machine_fd, name);
	child_end_all(&child, 0);
	leave();
	close(machine_fd);
	return child_exit_status(&child);
}

/* Signal all other processes of the machine; false: there is none. */
static bool
signal_joined(int signo)
{
	bool any = false;

	for (uint32_t slot = 1; slot < MODEL_MAX_PROCESSES; slot++) {
		if (slot == model_self || !segment_process_alive(slot))
			continue;
		any = true;
		if (signo != 0)
			kill(segment_process(slot)->pid, signo);
	}
	return any;
}

void
join_end_all(void)
{
	/* First none: a ctl whose command is done is about to leave. */
	static const int signals[] = { 0, SIGTERM, SIGKILL };
	const struct timespec nap = { .tv_nsec = POLL_MS * 1000000L };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!signal_joined(signals[i]))
			return;
		const int grace_ms = signals[i] == 0 ? LEAVE_MS : GRACE_MS;

		for (int ms = 0; ms < grace_ms; ms += POLL_MS) {
			if (!signal_joined(0))
				return;
			nanosleep(&nap, NULL);
		}
	}
}
