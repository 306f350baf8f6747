/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"
#include "rundir.h"
#include "segment.h"

/*
 * A FIFO in the run folder. The launcher of the machine has it open for writing while
 * the machine is on.
 */
#define ON_FIFO "on"
/* For joined launchers: longer than guardian_end_children() waits for SIGTERM. */
#define PATIENCE_MS 3000
#define MAX_MS (PATIENCE_MS + 1000)
#define NAP_MS 20

static int
open_fifo(const char *run_dir, bool is_new)
{
	char path[MODEL_MAX_PATH + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/" ON_FIFO, run_dir);
	if (is_new && mkfifo(path, 0600) != 0)
		return -errno;
	fd = open(path, (is_new ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int
join_offer(const char *run_dir)
{
	return open_fifo(run_dir, true);
}

/* Whether others use the machine; signo, unless 0, is sent to them. */
static bool
signal_others(int signo)
{
	bool is_any = false;

	for (uint32_t slot = SEGMENT_LAUNCHER + 1; slot < MODEL_MAX_PROCESSES;
	     slot++)
		if (segment_process_alive(slot)) {
			is_any = true;
			if (signo != 0)
				kill(segment_process(slot)->pid, signo);
		}
	return is_any;
}

void
join_revoke(int offer)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };

	close(offer);
	for (int ms = 0; ms < MAX_MS; ms += NAP_MS) {
		if (!signal_others(ms < PATIENCE_MS ? 0 : SIGKILL))
			break;
		nanosleep(&nap, NULL);
	}
}

/* Attach to the machine. Its FIFO, or -1 after logging an error. */
static int
enter(const char *name, char *run_dir, size_t run_dir_bytes)
{
	int ret = rundir_path(name, run_dir, run_dir_bytes);
	int fd = -1;

	if (ret == 0)
		ret = segment_attach(run_dir);
	if (ret >= 0) {
		fd = open_fifo(run_dir, false);
		/* The FIFO reports the end of a launcher that lived here. */
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

static void
watch(struct relay *relay, struct child *child, int machine_fd,
      const char *name)
{
	struct pollfd fds[] = {
		{ .fd = relay->fd, .events = POLLIN },
		{ .fd = child->channel, .events = POLLIN },
		{ .fd = machine_fd, .events = POLLIN },
	};

	do {
		poll(fds, 3, -1);
		relay_signals(relay, child);
		child_receive(child);
	} while (!child->has_ended && fds[2].revents == 0);
	if (fds[2].revents != 0)
		options_error("the machine %s was switched off", name);
}

int
join_run(const struct options *options)
{
	char run_dir[MODEL_MAX_PATH];
	struct child child = { 0 };
	struct relay relay = { 0 };
	struct guardian_plan plan;
	const char *name = options->config.name;
	int ret, machine_fd = enter(name, run_dir, sizeof(run_dir));

	if (machine_fd < 0 || relay_open(&relay) != 0) {
		if (model != NULL)
			segment_leave();
		return OPTIONS_EXIT_OWN_ERROR;
	}
	plan = (struct guardian_plan){
		.argv = options->program,
		.run_dir = run_dir,
		.is_joined = true,
		.mask = &relay.program_mask,
	};
	ret = child_open(&child, &plan, true);
	if (ret == 0) {
		child_start(&child, true);
		watch(&relay, &child, machine_fd, name);
	} else {
		options_error("cannot start %s: %s", options->program[0],
			      strerror(-ret));
	}
	child_end(&child);
	child_close(&child);
	segment_leave();
	close(machine_fd);
	return ret == 0 ? child_exit_status(&child) : OPTIONS_EXIT_OWN_ERROR;
}
