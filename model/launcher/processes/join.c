/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"
#include "processes.h"
#include "rundir.h"
#include "segment.h"

#define LEAVE_MS 200

/* Attach to the machine. Its launcher's pidfd, or -1 after logging an error. */
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
		/* The pidfd is the launcher's only if that still lives. */
		ret = fd < 0 || !segment_process_alive(SEGMENT_LAUNCHER) ?
			      -ENOENT : 0;
	}
	if (ret != 0) {
		options_error("--join: no machine named %s is running (%s: %s)",
			      name, run_dir, strerror(-ret));
		return -1;
	}
	if (segment_config()->is_pci) {
		options_error("--join: the functions of %s belong to virtual "
			      "machines (--pci): run the program in one", name);
		close(fd);
		return -1;
	}
	return fd;
}

/* Whether a signal has ended the program. */
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
	 * The machine's end may have ended the program. Its descriptors close
	 * before its pidfd reports the end, so wait a moment.
	 */
	if (poll(&fds[1], 1, was_ended(child) ? LEAVE_MS : 0) > 0)
		options_error("the machine %s was switched off", name);
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
			segment_leave();
		return OPTIONS_EXIT_OWN_ERROR;
	}
	ret = child_start(&child, options->program, run_dir, true,
			  &relay.program_mask);
	if (ret != 0) {
		options_error("cannot start %s: %s", options->program[0],
			      strerror(-ret));
		segment_leave();
		return OPTIONS_EXIT_OWN_ERROR;
	}
	watch(&relay, &child, machine_fd, name);
	processes_end(NULL, &child);
	segment_leave();
	close(machine_fd);
	return child_exit_status(&child);
}
