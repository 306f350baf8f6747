/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "processes.h"
#include "rundir.h"
#include "segment.h"

#define GRACE_MS 1000 /* between SIGTERM and SIGKILL */
#define MAX_KILL_MS 10000 /* a process may hang in a system call */
#define NAP_MS 20
#define ROOM_STEP 256
#define MAX_ENVIRONMENT_BYTES (1u << 20)

struct process {
	pid_t pid;
	pid_t parent; /* 0: unknown; the process may have ended */
	bool is_marked;
};

struct machine {
	const char *run_dir; /* NULL: none */
	const char *path; /* a folder that processes of the machine see, too */
	struct stat folder;
	char *environment; /* buffer for one environment */
	bool has_children; /* the caller has children to end, too */
};

/* From /proc/<pid>/stat. */
static pid_t
parent_of(const char *pid)
{
	char path[64], text[512], *p;
	int parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(text, sizeof(text), file) != NULL) {
		p = strrchr(text, ')'); /* the name may contain ')' */
		if (p != NULL && sscanf(p + 1, " %*c %d", &parent) != 1)
			parent = 0;
	}
	fclose(file);
	return (pid_t)parent;
}

/* Whether /proc has this pid namespace: else kill() cannot use its pids. */
static bool
has_own_proc(void)
{
	char text[16];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

	if (length < 0)
		return false;
	text[length] = '\0';
	return atoi(text) == (int)getpid();
}

/* All processes; the caller frees the list. */
static struct process *
list_processes(size_t *nb)
{
	DIR *dir = has_own_proc() ? opendir("/proc") : NULL;
	const struct dirent *entry;
	struct process *list = NULL, *more;

	*nb = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (*nb % ROOM_STEP == 0) {
			more = realloc(list, (*nb + ROOM_STEP) * sizeof(*list));
			if (more == NULL)
				break;
			list = more;
		}
		list[(*nb)++] = (struct process){
			.pid = (pid_t)atoi(entry->d_name),
			.parent = parent_of(entry->d_name),
		};
	}
	if (dir != NULL)
		closedir(dir);
	return list;
}

/* Whether it is a launcher, of any build, even if its file was replaced. */
static bool
is_launcher(pid_t pid)
{
	char path[64], file[PATH_MAX];
	const char *name;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, file, sizeof(file) - 1);
	if (length < 0)
		return false;
	file[length] = '\0';
	name = strrchr(file, '/');
	return name != NULL && (strcmp(name, "/mana-model") == 0 ||
				strcmp(name, "/mana-model (deleted)") == 0);
}

/* Read /proc/<pid>/environ, with a zero byte before and behind it. */
static size_t
read_environment(pid_t pid, char *buf)
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
	while (nb_bytes + 1 < MAX_ENVIRONMENT_BYTES &&
	       (n = read(fd, buf + nb_bytes,
			 MAX_ENVIRONMENT_BYTES - nb_bytes - 1)) > 0)
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

/* Compare folders: a container's machine may have the same path. */
static bool
sees_folder(pid_t pid, const struct machine *machine)
{
	char path[MODEL_MAX_PATH + 32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
		 machine->path);
	return stat(path, &st) == 0 && is_same(&st, &machine->folder);
}

static bool
was_started_on(pid_t pid, const struct machine *machine)
{
	char wanted[MODEL_MAX_PATH + 32];
	size_t nb_bytes = read_environment(pid, machine->environment);
	int length;

	/* Include the surrounding zero bytes, to match the whole variable. */
	length = snprintf(wanted, sizeof(wanted), "%cMANA_MODEL_DIR=%s", '\0',
			  machine->run_dir) + 1;
	return memmem(machine->environment, nb_bytes, wanted,
		      (size_t)length) != NULL &&
	       sees_folder(pid, machine);
}

/* Check the process table: a title set for ps overwrites the environment. */
static bool
is_registered(pid_t pid)
{
	for (uint32_t slot = 1; model != NULL && slot < MODEL_MAX_PROCESSES;
	     slot++)
		if (segment_process(slot)->pid == (int32_t)pid &&
		    segment_process_alive(slot))
			return !is_launcher(pid);
	return false;
}

static bool
is_of_machine(const struct process *process, const struct machine *machine)
{
	if (machine->has_children && process->parent == getpid())
		return true;
	return machine->run_dir != NULL &&
	       (was_started_on(process->pid, machine) ||
		is_registered(process->pid));
}

/*
 * Children of the machine's processes belong to it, with any environment. The
 * caller does not: a shell of a dead machine may have started it.
 */
static void
mark_descendants(struct process *list, size_t nb)
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

/* False: none to signal. Processes forked meanwhile wait for the next round. */
static bool
signal_all(const struct machine *machine, int signo)
{
	bool is_any = false;
	size_t nb;
	struct process *list = list_processes(&nb);

	for (size_t i = 0; i < nb; i++) {
		list[i].is_marked = list[i].pid != getpid() &&
				    is_of_machine(&list[i], machine) &&
				    !guardian_is(list[i].pid);
		is_any |= list[i].is_marked;
	}
	if (is_any && signo != 0)
		mark_descendants(list, nb);
	for (size_t i = 0; signo != 0 && i < nb; i++) {
		if (!list[i].is_marked || guardian_is(list[i].pid))
			continue;
		kill(list[i].pid, signo);
		if (signo == SIGTERM)
			/* A stopped process would not end. */
			kill(list[i].pid, SIGCONT);
	}
	free(list);
	return is_any;
}

/* True: all have ended in time. Sends signo once, or repeatedly. */
static bool
end_all(const struct machine *machine, struct child *child, int signo,
	int max_ms)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };
	bool is_any = signal_all(machine, signo);

	for (int ms = 0; ms < max_ms; ms += NAP_MS) {
		if (child != NULL && child_has_any(child))
			is_any = true;
		if (!is_any)
			return true;
		nanosleep(&nap, NULL);
		is_any = signal_all(machine, signo == SIGKILL ? signo : 0);
	}
	return false;
}

void
processes_end(const char *run_dir, struct child *child)
{
	struct machine machine = {
		.run_dir = run_dir,
		.path = run_dir,
		.environment = malloc(MAX_ENVIRONMENT_BYTES),
		.has_children = child != NULL,
	};
	bool has_mapped = false;

	if (run_dir != NULL && stat(run_dir, &machine.folder) != 0) {
		machine.path = "/"; /* the user has removed the folder */
		stat("/", &machine.folder);
	}
	if (run_dir != NULL && model == NULL)
		has_mapped = segment_map_only(run_dir) == 0;
	if (machine.environment != NULL &&
	    (child == NULL || !end_all(&machine, child, SIGTERM, GRACE_MS)))
		end_all(&machine, child, SIGKILL, MAX_KILL_MS);
	if (has_mapped)
		segment_detach();
	free(machine.environment);
}

#define NAME "mana-guardian" /* name in ps */

/*
 * Like fork(), but no SIGCHLD at its end, and wait() does not return it: the
 * launcher waits for its other children while the guardian lives.
 */
static pid_t
fork_apart(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

static void __attribute__((noreturn))
guard(int from_launcher, const char *run_dir)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t all;
	char byte;

	/* Protect the guardian from the terminal's and the group's signals. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, NAME);
	/* Else a reader of the launcher's output waits for the guardian. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	/* A byte dismisses the guardian; end of file: the launcher is dead. */
	if (read(from_launcher, &byte, 1) == 1)
		_exit(0);
	processes_end(run_dir, NULL);
	rundir_remove(run_dir);
	_exit(0);
}

int
guardian_start(struct guardian *guardian, const char *run_dir)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	pid = fork_apart();
	if (pid < 0) {
		int error = errno;

		close(fds[0]);
		close(fds[1]);
		return -error;
	}
	if (pid == 0) {
		close(fds[1]);
		guard(fds[0], run_dir);
	}
	close(fds[0]);
	guardian->pid = pid;
	guardian->pipe = fds[1];
	return 0;
}

void
guardian_dismiss(struct guardian *guardian)
{
	if (guardian->pid == 0)
		return;
	if (write(guardian->pipe, "d", 1) == 1)
		waitpid(guardian->pid, NULL, __WCLONE);
	close(guardian->pipe);
	guardian->pid = 0;
}

bool
guardian_is(pid_t pid)
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
	return strcmp(name, NAME "\n") == 0;
}
