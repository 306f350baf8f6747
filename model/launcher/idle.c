/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "clock.h"
#include "launcher.h"
#include "segment.h"
#include "tree.h"
#include "violation_log.h"

/* A program without a doorbell yet is still starting: it computes more. */
#define START_FACTOR 10

struct tree {
	uint64_t cpu_ns; /* of all processes */
	uint32_t nb_threads; /* that live, with the guardian's */
	bool has_running;
};

/* CPU time of a process, over all threads, in ns. */
static uint64_t
cpu_time(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A letter, see proc(5). X: it has ended. */
static char
thread_state(pid_t pid, pid_t tid)
{
	char path[64], text[512], *end;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid,
		 (int)tid);
	file = fopen(path, "re");
	if (file == NULL)
		return 'X';
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : 'X';
}

static bool
scan_thread(pid_t pid, pid_t tid, void *arg)
{
	const char state = thread_state(pid, tid);
	struct tree *tree = arg;

	/* R: running or runnable; D: waits for a disk. */
	tree->has_running |= state == 'R' || state == 'D';
	/* Z: its parent does not know yet that it has ended. */
	tree->nb_threads += state != 'X' && state != 'Z';
	if (tid == pid)
		tree->cpu_ns += cpu_time(pid);
	return true;
}

static bool
has_rung(void)
{
	const struct violation_log *log = segment_violation_log();
	uint64_t n = 0;

	for (int i = 0; i < NB_DOORBELL_COUNTS; i++)
		n += log->doorbells[i];
	return n != 0;
}

static struct tree
scan(void)
{
	struct tree tree = { 0 };

	tree_walk(scan_thread, &tree);
	return tree;
}

bool
idle_programs_wait(uint32_t poll_ms)
{
	const uint64_t poll_ns = poll_ms * UINT64_C(1000000);
	static uint64_t seen_events, seen_cpu_ns;
	const uint64_t nb_events = segment_clock()->nb_events;
	const struct tree tree = scan();
	struct tree again;

	/* The sum falls when a process ends. */
	if (nb_events != seen_events || tree.cpu_ns < seen_cpu_ns) {
		seen_events = nb_events;
		seen_cpu_ns = tree.cpu_ns;
	}
	if (tree.has_running)
		return poll_ns != 0 && tree.cpu_ns - seen_cpu_ns >=
					       (has_rung() ? poll_ns : START_FACTOR * poll_ns);
	/* A process that was read as waiting may have been woken by one that was read later. */
	again = scan();
	/*
	 * Without a program the launcher is about to hear of its end: Linux shows the
	 * guardian as waiting, too, while it runs in waitpid(2).
	 */
	return !again.has_running && again.cpu_ns == tree.cpu_ns && again.nb_threads > 1;
}
