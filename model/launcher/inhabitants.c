/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* A line of /proc/<pid>/maps. */
struct mapping {
	unsigned long from, to;
	unsigned int major, minor;
	unsigned long ino;
};

struct machine {
	const char *run_dir;
	struct stat folder;
	bool has_folder;
	struct mapping segment; /* ino 0: not looked for, or none */
};

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
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool
shares(pid_t pid, const char *what)
{
	struct stat other, own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	if (stat(path, &other) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/%s", what);
	return stat(path, &own) == 0 && is_same(&other, &own);
}

/* In a container, another machine may have that path. */
static bool
sees_folder(pid_t pid, const struct machine *machine)
{
	char path[MODEL_MAX_PATH + 32];
	struct stat st;

	/* Removed by hand; it was at that path. */
	if (!machine->has_folder)
		return shares(pid, "ns/mnt") && shares(pid, "root");
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
		 machine->run_dir);
	return stat(path, &st) == 0 && is_same(&st, &machine->folder);
}

static bool
was_started_on(pid_t pid, const struct machine *machine, char *buf)
{
	char wanted[MODEL_MAX_PATH + 32];
	size_t nb_bytes = read_environment(pid, buf, MAX_ENVIRONMENT_BYTES);
	int length;

	/* With the zero bytes around it, so that nothing else matches. */
	length = snprintf(wanted, sizeof(wanted), "%cMANA_MODEL_DIR=%s", '\0',
			  machine->run_dir) + 1;
	return memmem(buf, nb_bytes, wanted, (size_t)length) != NULL &&
	       sees_folder(pid, machine);
}

/* Line by line of /proc/<pid>/maps; false at the end. */
static bool
next_mapping(FILE *maps, struct mapping *mapping)
{
	char *line = NULL;
	size_t line_bytes = 0;
	bool is_mapping = false;

	while (!is_mapping && getline(&line, &line_bytes, maps) > 0)
		is_mapping = sscanf(line, "%lx-%lx %*s %*x %x:%x %lu",
				    &mapping->from, &mapping->to,
				    &mapping->major, &mapping->minor,
				    &mapping->ino) == 5;
	free(line);
	return is_mapping;
}

/*
 * A program may have written over its environment, to show a title in ps. The
 * path of a file that it has mapped may be of another machine, in a container.
 */
static bool
has_mapped(pid_t pid, const struct machine *machine)
{
	const struct mapping *segment = &machine->segment;
	struct mapping mapping;
	char path[64];
	bool has = false;
	FILE *maps;

	if (segment->ino == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return false;
	while (!has && next_mapping(maps, &mapping))
		has = mapping.ino == segment->ino &&
		      mapping.major == segment->major &&
		      mapping.minor == segment->minor;
	fclose(maps);
	/* A launcher that has joined, and ctl, see the end themselves. */
	return has && !proc_is_mana_model(pid);
}

/*
 * As maps of other processes will tell of it: of some file systems (btrfs,
 * overlayfs) these name another device than stat().
 */
static void
learn_segment(struct machine *machine)
{
	struct mapping mapping;
	char path[MODEL_MAX_PATH + 16];
	void *page;
	FILE *maps;
	int fd;

	snprintf(path, sizeof(path), "%s/segment", machine->run_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && next_mapping(maps, &mapping))
		if ((uintptr_t)page >= mapping.from &&
		    (uintptr_t)page < mapping.to)
			machine->segment = mapping;
	if (maps != NULL)
		fclose(maps);
	munmap(page, 1);
}

/*
 * What those have started who run on it does, too, in whatever environment, but
 * for ourselves: a shell that is left of a dead machine may have started us.
 */
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
			if (list[i].is_marked || k == nb ||
			    list[i].pid == getpid())
				continue;
			list[i].is_marked = true;
			was_any = true;
		}
	} while (was_any);
}

static bool
runs_on(pid_t pid, const struct machine *machine, char *buf)
{
	return was_started_on(pid, machine, buf) || has_mapped(pid, machine);
}

/* One round: a process that is about to fork may escape it. */
static bool
kill_all(const struct machine *machine)
{
	char *buf = malloc(MAX_ENVIRONMENT_BYTES);
	bool was_any = false;
	size_t nb;
	struct proc *list = proc_list(&nb);

	for (size_t i = 0; buf != NULL && i < nb; i++) {
		list[i].is_marked = list[i].pid != getpid() &&
				    runs_on(list[i].pid, machine, buf) &&
				    !guardian_is(list[i].pid);
		was_any |= list[i].is_marked;
	}
	free(buf);
	if (was_any)
		mark_descendants(list, nb);
	for (size_t i = 0; i < nb; i++)
		if (list[i].is_marked && !guardian_is(list[i].pid))
			kill(list[i].pid, SIGKILL);
	free(list);
	return was_any;
}

void
inhabitants_end(const char *run_dir, bool was_killed)
{
	const struct timespec nap = { .tv_nsec = ROUND_MS * 1000000L };
	struct machine machine = { .run_dir = run_dir };

	machine.has_folder = stat(run_dir, &machine.folder) == 0;
	if (was_killed)
		learn_segment(&machine);
	for (int i = 0; i < ROUNDS && kill_all(&machine); i++)
		nanosleep(&nap, NULL);
}
