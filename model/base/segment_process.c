/* SPDX-License-Identifier: BSD-3-Clause */

/* The process table: registered processes, and whether they are alive. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "platform.h"
#include "segment_head.h"

#define SEGMENT_PF_EXITING 0x4u /* Linux sched.h */

struct segment_stat {
	char state;
	unsigned int flags;
	long nb_threads;
	unsigned long long start_time;
};

/* /proc/<pid>/stat (proc(5): fields 3, 9, 20, 22). False: no such process. */
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
	p = strrchr(buf, ')'); /* the name may contain ')' */
	if (p == NULL)
		return false;
	return sscanf(p + 1,
		      " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d "
		      "%*d %*d %*d %ld %*d %llu",
		      &stat->state, &stat->flags, &stat->nb_threads,
		      &stat->start_time) == 4;
}

/* On a PCI machine, the slots behind the launcher's are address spaces. */
static bool
slot_is_for_processes(uint32_t slot)
{
	return !segment_config()->is_pci || slot == SEGMENT_LAUNCHER ||
	       slot > SEGMENT_LAUNCHER + MODEL_MAX_FUNCTIONS;
}

/* 0, 1 if registered already, or a negative errno. */
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

		if (p->pid == 0 && slot_is_for_processes(slot))
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

	/* Slots of dead processes are freed only at times: free them now. */
	if (rc == -EAGAIN) {
		platform->free_slots();
		rc = register_in_free_slot();
	}
	return rc;
}

struct model_process *
segment_process(uint32_t slot)
{
	return slot < MODEL_MAX_PROCESSES ? &model->processes[slot] : NULL;
}

/* False unless the process that registered in this slot still exists. */
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

	/* The leader is a zombie even if other threads of it still run. */
	return segment_process_stat(slot, &stat) &&
	       (stat.state != 'Z' || stat.nb_threads > 1);
}

bool
segment_process_has_memory(uint32_t slot)
{
	struct segment_stat stat;

	/*
	 * process_vm_readv(2) uses the leader's memory, so remaining threads do
	 * not help. In a killed program the leader often ends first.
	 */
	return segment_process_stat(slot, &stat) &&
	       (stat.flags & SEGMENT_PF_EXITING) == 0;
}

/* 0 or -EFAULT. */
static int
copy(long call, uint32_t slot, uint64_t addr, void *buf, size_t nb_bytes)
{
	const struct model_process *p = segment_process(slot);
	struct iovec local = { .iov_base = buf, .iov_len = nb_bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr,
				.iov_len = nb_bytes };
	int saved = errno;
	long n;

	if (p == NULL || p->pid == 0)
		return -EFAULT;
	n = syscall(call, p->pid, &local, 1ul, &remote, 1ul, 0ul);
	errno = saved;
	return n == (long)nb_bytes ? 0 : -EFAULT;
}

int
segment_process_read(uint32_t slot, uint64_t addr, void *buf, size_t nb_bytes)
{
	return copy(SYS_process_vm_readv, slot, addr, buf, nb_bytes);
}

int
segment_process_write(uint32_t slot, uint64_t addr, const void *buf,
		      size_t nb_bytes)
{
	return copy(SYS_process_vm_writev, slot, addr, (void *)(uintptr_t)buf,
		    nb_bytes);
}

void
segment_process_release(uint32_t slot)
{
	struct model_process *p = segment_process(slot);

	if (p != NULL)
		memset(p, 0, sizeof(*p));
}
