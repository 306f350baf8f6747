/* SPDX-License-Identifier: BSD-3-Clause */

/* The programs of the machine: who is registered, and who of them lives. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "segment_head.h"

#define SEGMENT_PF_EXITING 0x4u /* Linux sched.h */

struct segment_stat {
	char state;
	unsigned int flags;
	long nb_threads;
	unsigned long long start_time;
};

/*
 * /proc/<pid>/stat (proc(5): fields 3, 9, 20, 22). False when there is none.
 */
static bool
segment_proc_stat(int32_t pid, struct segment_stat *stat)
{
	char path[32], buf[512], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = segment_sys_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = syscall(SYS_read, fd, buf, sizeof(buf) - 1);
	segment_sys_close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	p = strrchr(buf, ')'); /* the name may hold anything */
	if (p == NULL)
		return false;
	return sscanf(p + 1,
		      " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d "
		      "%*d %*d %*d %ld %*d %llu",
		      &stat->state, &stat->flags, &stat->nb_threads,
		      &stat->start_time) == 4;
}

/* 1: registered already. */
static int
register_in_free_slot(void)
{
	int32_t pid = (int32_t)syscall(SYS_getpid);
	uint32_t slot, free_slot = 0;
	struct segment_stat stat;
	int rc;

	if (!segment_proc_stat(pid, &stat))
		return -ESRCH;
	segment_lock();
	for (slot = MODEL_MAX_PROCESSES - 1; slot >= SEGMENT_LAUNCHER; slot--) {
		const struct model_process *p = &model->processes[slot];

		if (p->pid == 0)
			free_slot = slot;
		else if (p->pid == pid && p->start_time == stat.start_time)
			break;
	}
	rc = slot >= SEGMENT_LAUNCHER ? 1 : 0;
	if (rc == 0)
		slot = free_slot;
	if (slot == 0) {
		rc = -EAGAIN; /* MODEL_MAX_PROCESSES are running */
	} else {
		model->processes[slot].pid = pid;
		model->processes[slot].start_time = stat.start_time;
		model_self = slot;
	}
	segment_unlock();
	return rc;
}

int
segment_register_self(void)
{
	int rc = register_in_free_slot();

	/* The dead, of many short programs, are seen to now and then only. */
	if (rc == -EAGAIN) {
		segment_is_full();
		rc = register_in_free_slot();
	}
	return rc;
}

struct model_process *
segment_process(uint32_t slot)
{
	return slot < MODEL_MAX_PROCESSES ? &model->processes[slot] : NULL;
}

/* The program of this slot, if it still is the one that registered. */
static bool
segment_process_stat(uint32_t slot, struct segment_stat *stat)
{
	const struct model_process *p = segment_process(slot);

	return p != NULL && p->pid != 0 && segment_proc_stat(p->pid, stat) &&
	       stat->start_time == p->start_time && stat->state != 'X';
}

bool
segment_process_alive(uint32_t slot)
{
	struct segment_stat stat;

	/* The leader is a zombie too when only it has ended. */
	return segment_process_stat(slot, &stat) &&
	       (stat.state != 'Z' || stat.nb_threads > 1);
}

bool
segment_process_has_memory(uint32_t slot)
{
	struct segment_stat stat;

	/*
	 * Other threads that are left do not help: process_vm_readv(2) asks the
	 * leader. When a program is killed, it often ends first.
	 */
	return segment_process_stat(slot, &stat) &&
	       (stat.flags & SEGMENT_PF_EXITING) == 0;
}

void
segment_process_release(uint32_t slot)
{
	struct model_process *p = segment_process(slot);

	if (p != NULL)
		memset(p, 0, sizeof(*p));
}
