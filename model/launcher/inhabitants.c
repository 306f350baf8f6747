/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "guardian.h"
#include "inhabitants.h"
#include "proc.h"

/* One that hangs in a system call is not waited for without end. */
#define ROUNDS 500
#define ROUND_MS 20
#define MAX_ENVIRONMENT_BYTES (1u << 20)

/* The whole of /proc/<pid>/environ, with a zero byte before and behind. */
static size_t
read_environment(pid_t pid, char *buf, size_t buf_bytes)
{
	char path[64];
	size_t nb_bytes = 1;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	buf[0] = '\0';
	while (nb_bytes + 1 < buf_bytes &&
	       (n = read(fd, buf + nb_bytes, buf_bytes - nb_bytes - 1)) > 0)
		nb_bytes += (size_t)n;
	close(fd);
	buf[nb_bytes++] = '\0';
	return nb_bytes;
}

static bool
was_started_on(pid_t pid, const char *run_dir, char *buf)
{
	char wanted[MODEL_MAX_PATH + 32];
	size_t nb_bytes = read_environment(pid, buf, MAX_ENVIRONMENT_BYTES);
	int length;

	/* With the zero bytes around it, so that nothing else matches. */
	length = snprintf(wanted, sizeof(wanted), "%cMANA_MODEL_DIR=%s", '\0',
			  run_dir) + 1;
	return memmem(buf, nb_bytes, wanted, (size_t)length) != NULL;
}

/* The same program, that is, in whatever part. */
static bool
is_mana_model(pid_t pid)
{
	struct stat other, own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &other) == 0 && stat("/proc/self/exe", &own) == 0 &&
	       other.st_dev == own.st_dev && other.st_ino == own.st_ino;
}

/* Of a machine on this machine: it ends that when its launcher is killed. */
static bool
is_guardian(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(name, sizeof(name), file) == NULL)
		name[0] = '\0';
	fclose(file);
	return strcmp(name, GUARDIAN_NAME "\n") == 0 && is_mana_model(pid);
}

/* A program may have written over its environment, to show a title in ps. */
static bool
has_mapped(pid_t pid, const char *run_dir)
{
	char path[64], wanted[MODEL_MAX_PATH + 8];
	char *line = NULL;
	size_t line_bytes = 0;
	bool has = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return false;
	snprintf(wanted, sizeof(wanted), " %s/", run_dir);
	while (!has && getline(&line, &line_bytes, maps) > 0)
		has = strstr(line, wanted) != NULL;
	free(line);
	fclose(maps);
	/* A launcher that has joined, and ctl, see the end themselves. */
	return has && !is_mana_model(pid);
}

/* What those have started who run on it does, too, in whatever environment. */
static void
mark_descendants(struct proc *list, size_t nb)
{
	bool was_any;

	do {
		was_any = false;
		for (size_t i = 0; i < nb; i++) {
			size_t k = 0;

			while (!list[i].is_marked && k < nb &&
			       (!list[k].is_marked ||
				list[k].pid != list[i].parent))
				k++;
			if (list[i].is_marked || k == nb)
				continue;
			list[i].is_marked = true;
			was_any = true;
		}
	} while (was_any);
}

/* One round: a process that is about to fork may escape it. */
static bool
kill_all(const char *run_dir)
{
	char *buf = malloc(MAX_ENVIRONMENT_BYTES);
	bool was_any = false;
	size_t nb;
	struct proc *list = proc_list(&nb);

	for (size_t i = 0; buf != NULL && i < nb; i++) {
		list[i].is_marked =
			list[i].pid != getpid() &&
			(was_started_on(list[i].pid, run_dir, buf) ||
			 has_mapped(list[i].pid, run_dir)) &&
			!is_guardian(list[i].pid);
		was_any |= list[i].is_marked;
	}
	free(buf);
	if (was_any)
		mark_descendants(list, nb);
	for (size_t i = 0; i < nb; i++)
		if (list[i].is_marked && !is_guardian(list[i].pid))
			kill(list[i].pid, SIGKILL);
	free(list);
	return was_any;
}

void
inhabitants_end(const char *run_dir)
{
	const struct timespec nap = { .tv_nsec = ROUND_MS * 1000000L };

	for (int i = 0; i < ROUNDS && kill_all(run_dir); i++)
		nanosleep(&nap, NULL);
}
