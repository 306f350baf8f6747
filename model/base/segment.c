/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "segment_head.h"

#define SEGMENT_MAGIC	   0x6d616e612d31ull /* layout version in the last byte */

struct model_segment *model;
uint32_t model_self;

static char segment_dir[MODEL_MAX_PATH];

static int
segment_map(int fd)
{
	void *p = (void *)syscall(SYS_mmap, NULL, SEGMENT_BYTES,
				  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);

	if (p == MAP_FAILED)
		return -errno;
	/* Keep the machine out of core files of programs. */
	madvise(p, SEGMENT_BYTES, MADV_DONTDUMP);
	model = p;
	return 0;
}

/*
 * The file is sparse. Allocate the parts that every machine needs now, so that
 * a full file system gives an error here instead of SIGBUS at the first access.
 */
static int
segment_make_room(int fd)
{
	const off_t needed = SEGMENT_SCRIPT_AT;

	if (syscall(SYS_ftruncate, fd, SEGMENT_BYTES) < 0)
		return -errno;
	if (syscall(SYS_fallocate, fd, 0, (off_t)0, needed) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return -errno;
	return 0; /* the file system does not support it */
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
	rc = -pthread_mutex_init(&model->turn, &attr);
	if (rc == 0)
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
	int rc = segment_open(run_dir, O_RDWR);

	if (rc < 0)
		return rc;
	rc = __atomic_load_n(&model->magic, __ATOMIC_ACQUIRE) == SEGMENT_MAGIC ?
		     segment_register_self() : -EINVAL;
	if (rc < 0)
		segment_detach();
	return rc;
}

void
segment_leave(void)
{
	segment_lock();
	segment_process_release(model_self);
	segment_unlock();
	segment_detach();
}

void
segment_detach(void)
{
	if (model != NULL)
		syscall(SYS_munmap, model, SEGMENT_BYTES);
	model = NULL;
	model_self = 0;
}

const char *
segment_run_dir(void)
{
	return segment_dir;
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

struct violation_log *
segment_violation_log(void)
{
	return segment_at(SEGMENT_VIOLATIONS_AT);
}

struct fault_plan *
segment_fault_plan(void)
{
	return segment_at(SEGMENT_FAULT_AT);
}

struct machine_clock *
segment_clock(void)
{
	return segment_at(SEGMENT_CLOCK_AT);
}

struct random_state *
segment_random(void)
{
	return &model->random;
}

struct pci_status *
segment_pci(void)
{
	return segment_at(SEGMENT_PCI_AT);
}

struct script *
segment_script(void)
{
	return segment_at(SEGMENT_SCRIPT_AT);
}

struct kernel *
segment_kernel(void)
{
	return segment_at(SEGMENT_KERNEL_AT);
}

struct wires *
segment_wires(void)
{
	return segment_at(SEGMENT_WIRES_AT);
}

struct synthetic *
segment_synthetic(void)
{
	return segment_at(SEGMENT_SYNTHETIC_AT);
}
