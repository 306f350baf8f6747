/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment.h"

#define SEGMENT_MAGIC	   0x6d616e612d31ull /* layout version in the last byte */
#define SEGMENT_HEAD_BYTES (1u << 16)
#define SEGMENT_BYTES                                        \
	((size_t)SEGMENT_HEAD_BYTES + SEGMENT_LEDGER_BYTES + \
	 SEGMENT_FAULT_BYTES + SEGMENT_DEVICE_BYTES + SEGMENT_KERNEL_BYTES)

struct model_segment {
	uint64_t magic; /* written last */
	pthread_mutex_t mutex;
	struct model_config config;
	struct model_process processes[MODEL_MAX_PROCESSES];
};
static_assert(sizeof(struct model_segment) <= SEGMENT_HEAD_BYTES,
	      "the head of the segment holds its struct");

struct model_segment *model;
uint32_t model_self;

static char segment_dir[MODEL_MAX_PATH];
static __thread uint64_t segment_saved_mask
	__attribute__((tls_model("initial-exec")));

/*
 * System calls are made directly: in a modelled program the functions of libc
 * may be the model's own surface.
 */
static int
segment_sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void
segment_sys_close(int fd)
{
	syscall(SYS_close, fd);
}

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

static int
segment_map(int fd)
{
	void *p = (void *)syscall(SYS_mmap, NULL, SEGMENT_BYTES,
				  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);

	if (p == MAP_FAILED)
		return -errno;
	/* A core file of a program need not hold the machine. */
	madvise(p, SEGMENT_BYTES, MADV_DONTDUMP);
	model = p;
	return 0;
}

/*
 * The file is sparse. What every machine needs is taken at once, so that a full
 * file system is an error here, and not a SIGBUS at the first access.
 */
static int
segment_make_room(int fd)
{
	const off_t needed = SEGMENT_HEAD_BYTES + SEGMENT_LEDGER_BYTES +
			     SEGMENT_FAULT_BYTES;

	if (syscall(SYS_ftruncate, fd, SEGMENT_BYTES) < 0)
		return -errno;
	if (syscall(SYS_fallocate, fd, 0, (off_t)0, needed) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return -errno;
	return 0; /* some file systems cannot tell */
}

static int
segment_open(const char *run_dir, int flags)
{
	char path[MODEL_MAX_PATH + 16];
	struct stat st;
	int fd, rc;

	if (model != NULL)
		return -EBUSY;
	if (strlen(run_dir) >= sizeof(segment_dir))
		return -ENAMETOOLONG;
	strcpy(segment_dir, run_dir);
	snprintf(path, sizeof(path), "%s/segment", run_dir);
	fd = segment_sys_open(path, flags);
	if (fd < 0)
		return -errno;
	if ((flags & O_CREAT) != 0)
		rc = segment_make_room(fd);
	else if (syscall(SYS_fstat, fd, &st) < 0)
		rc = -errno;
	else
		rc = (size_t)st.st_size == SEGMENT_BYTES ? 0 : -EINVAL;
	if (rc == 0)
		rc = segment_map(fd);
	segment_sys_close(fd);
	return rc;
}

int
segment_create(const char *run_dir, const struct model_config *config)
{
	pthread_mutexattr_t attr;
	int rc;

	rc = segment_open(run_dir, O_RDWR | O_CREAT | O_EXCL);
	if (rc < 0)
		return rc;
	model->config = *config;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	rc = -pthread_mutex_init(&model->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	if (rc == 0)
		rc = segment_register_self();
	if (rc < 0) {
		segment_detach();
		return rc;
	}
	__atomic_store_n(&model->magic, SEGMENT_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

int
segment_attach(const char *run_dir)
{
	int rc;

	rc = segment_open(run_dir, O_RDWR);
	if (rc < 0)
		return rc;
	rc = -EINVAL;
	if (__atomic_load_n(&model->magic, __ATOMIC_ACQUIRE) == SEGMENT_MAGIC)
		rc = segment_register_self();
	if (rc < 0)
		segment_detach();
	return rc;
}

void
segment_detach(void)
{
	if (model != NULL)
		syscall(SYS_munmap, model, SEGMENT_BYTES);
	model = NULL;
	model_self = 0;
}

int
segment_register_self(void)
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

const char *
segment_run_dir(void)
{
	return segment_dir;
}

void
segment_lock_masked(void)
{
	/* The dead process's own objects are left to whoever reclaims. */
	if (pthread_mutex_lock(&model->mutex) == EOWNERDEAD) {
		pthread_mutex_consistent(&model->mutex);
		segment_holder_died();
	}
}

void
segment_unlock_masked(void)
{
	pthread_mutex_unlock(&model->mutex);
}

#define SEGMENT_SIGNAL_BIT(sig) (1ull << ((sig)-1))

void
segment_lock(void)
{
	/* What an instruction itself raises cannot be put off. */
	uint64_t mask =
		~(SEGMENT_SIGNAL_BIT(SIGSEGV) | SEGMENT_SIGNAL_BIT(SIGBUS) |
		  SEGMENT_SIGNAL_BIT(SIGILL) | SEGMENT_SIGNAL_BIT(SIGFPE) |
		  SEGMENT_SIGNAL_BIT(SIGTRAP) | SEGMENT_SIGNAL_BIT(SIGSYS));
	uint64_t saved;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &saved, sizeof(mask));
	segment_lock_masked();
	segment_saved_mask = saved;
}

void
segment_unlock(void)
{
	uint64_t saved = segment_saved_mask;

	segment_unlock_masked();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
}

const struct model_config *
segment_config(void)
{
	return &model->config;
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

bool
segment_holds(const void *addr)
{
	return model != NULL &&
	       (uintptr_t)addr - (uintptr_t)model < SEGMENT_BYTES;
}

static void *
segment_at(size_t offset)
{
	return (uint8_t *)model + offset;
}

struct ledger *
segment_ledger(void)
{
	return segment_at(SEGMENT_HEAD_BYTES);
}

struct fault_plan *
segment_fault_plan(void)
{
	return segment_at(SEGMENT_HEAD_BYTES + SEGMENT_LEDGER_BYTES);
}

struct device *
segment_device(void)
{
	return segment_at(SEGMENT_HEAD_BYTES + SEGMENT_LEDGER_BYTES +
			  SEGMENT_FAULT_BYTES);
}

struct kernel *
segment_kernel(void)
{
	return segment_at((size_t)SEGMENT_HEAD_BYTES + SEGMENT_LEDGER_BYTES +
			  SEGMENT_FAULT_BYTES + SEGMENT_DEVICE_BYTES);
}
