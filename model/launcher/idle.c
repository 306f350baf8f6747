/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <dirent.h>

#include "clock.h"
#include "launcher.h"
#include "segment.h"
#include "violation_log.h"

/* A program without a doorbell yet is still starting: it computes more. */
#define START_FACTOR 10
#define MAX_DEPTH 64

struct tree {
	uint64_t cpu_ns; /* of all processes */
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

/* R: running or runnable; D: waits for a disk (proc(5)). */
static bool
thread_is_running(pid_t pid, pid_t tid)
{
	char path[64], text[512], *end;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid,
		 (int)tid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && strchr("RD", end[2]) != NULL;
}

static void scan_process(pid_t pid, struct tree *tree, int depth);

static void
scan_children(pid_t pid, pid_t tid, struct tree *tree, int depth)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)tid);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fscanf(file, "%d", &child) == 1)
		scan_process(child, tree, depth + 1);
	fclose(file);
}

static void
scan_process(pid_t pid, struct tree *tree, int depth)
{
	const bool is_self = pid == getpid();
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = depth < MAX_DEPTH ? opendir(path) : NULL;
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (!is_self && thread_is_running(pid, tid))
			tree->has_running = true;
		scan_children(pid, tid, tree, depth);
	}
	closedir(dir);
	if (!is_self)
		tree->cpu_ns += cpu_time(pid);
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

bool
idle_programs_wait(uint32_t poll_ms)
{
	const uint64_t poll_ns = poll_ms * UINT64_C(1000000);
	static uint64_t seen_events, seen_cpu_ns;
	const uint64_t nb_events = segment_clock()->nb_events;
	struct tree tree = { 0 };

	scan_process(getpid(), &tree, 0);
	/* The sum falls when a process ends. */
	if (nb_events != seen_events || tree.cpu_ns < seen_cpu_ns) {
		seen_events = nb_events;
		seen_cpu_ns = tree.cpu_ns;
	}
	if (!tree.has_running)
		return true;
	return poll_ns != 0 && tree.cpu_ns - seen_cpu_ns >=
				       (has_rung() ? poll_ns : START_FACTOR * poll_ns);
}
