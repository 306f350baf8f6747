/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_verbs.h>

#include "host.h"
#include "object.h"
#include "trace.h"

#define EVENT_DEVICE_FATAL 8 /* Linux ib_verbs.h IB_EVENT_DEVICE_FATAL */
#define PATH_BYTES (MODEL_MAX_PATH + 64)
/* Records per read: below a FIFO's capacity, and small on the stack. */
#define RETRACT_RECORDS 512

void (*kernel_event_file_opened)(int fd, bool is_async);

static void
file_path(uint64_t serial, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/fd/event-%" PRIu64, segment_run_dir(),
		 serial);
}

int
event_file_create(uint32_t context, enum object_kind kind, uint32_t *handle)
{
	struct kernel *kernel = segment_kernel();
	char path[PATH_BYTES];
	struct object *object;
	dev_t dev;
	ino_t ino;
	int fd, rc;

	rc = object_new(context, kind, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	object->file.serial = ++kernel->serial;
	object->file.process = model_self;

	file_path(object->file.serial, path);
	fd = host_mkfifo(path, 0600);
	if (fd == 0)
		fd = host_open(path, O_RDWR | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : host_identity(fd, &dev, &ino);
	if (rc < 0) {
		if (fd >= 0)
			host_close(fd);
		event_file_destroy(*handle);
		return rc;
	}
	object->file.dev = dev;
	object->file.ino = ino;
	object_activate(*handle);
	if (kernel_event_file_opened != NULL)
		kernel_event_file_opened(fd, kind == OBJECT_ASYNC);
	return fd;
}

static uint32_t
find_file(enum object_kind kind, int fd)
{
	struct kernel *kernel = segment_kernel();
	uint32_t idx;
	dev_t dev;
	ino_t ino;

	if (host_identity(fd, &dev, &ino) < 0 || dev != kernel->fd_dev)
		return KERNEL_NONE;
	for (idx = 1; idx < kernel->nb_objects; idx++)
		if (kernel->object[idx].kind == kind &&
		    kernel->object[idx].file.ino == ino)
			return idx;
	return KERNEL_NONE;
}

uint32_t
event_file_of(enum object_kind kind, uint32_t context, int fd)
{
	const uint32_t handle = find_file(kind, fd);

	return handle != KERNEL_NONE && object_at(handle)->context == context ?
		       handle : KERNEL_NONE;
}

void
event_file_destroy(uint32_t handle)
{
	char path[PATH_BYTES];

	file_path(object_at(handle)->file.serial, path);
	host_unlink(path);
	object_free(handle);
}

void
event_file_end_unused(uint32_t handle)
{
	const struct object *object = object_at(handle);

	/* Keep a channel without open descriptors while CQs use it. */
	if (object->file.closed && object->nb_users == 0)
		event_file_destroy(handle);
}

void
event_file_orphan(uint32_t handle)
{
	struct object *object = object_at(handle);

	if (object->file.closed)
		event_file_destroy(handle);
	else
		object->context = KERNEL_NONE;
}

/* core/uverbs_std_types_async_fd.c uverbs_async_event_destroy_uobj(). */
static void
post_fatal(uint32_t number, uint32_t handle)
{
	const struct ib_uverbs_async_event_desc record = {
		.event_type = EVENT_DEVICE_FATAL,
	};

	trace_event("kind=async async=%u type=%d", number, EVENT_DEVICE_FATAL);
	event_file_post(handle, &record, sizeof(record));
}

void
event_file_end(uint32_t handle)
{
	static const char end[KERNEL_CHANNEL_END_BYTES];
	struct object *object = object_at(handle);

	if (object->file.has_ended)
		return;
	/* Before the last record, whose reader tests is_dead. */
	__atomic_store_n(&object->file.is_dead, 1, __ATOMIC_RELEASE);
	if (object->kind == OBJECT_ASYNC)
		post_fatal(object->number, handle);
	else
		event_file_post(handle, end, sizeof(end));
	object->file.has_ended = true;
}

bool
kernel_has_dead(void)
{
	return __atomic_load_n(&segment_kernel()->nb_dead, __ATOMIC_ACQUIRE);
}

bool
kernel_channel_is_dead(int fd)
{
	const uint32_t handle = kernel_has_dead() ?
			find_file(OBJECT_CHANNEL, fd) : KERNEL_NONE;

	return handle != KERNEL_NONE &&
	       __atomic_load_n(&object_at(handle)->file.is_dead, __ATOMIC_ACQUIRE);
}

bool
event_file_post(uint32_t handle, const void *record, size_t nb_bytes)
{
	char path[PATH_BYTES];
	ssize_t nb_written;
	int fd;

	file_path(object_at(handle)->file.serial, path);
	fd = host_open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	nb_written = host_write(fd, record, nb_bytes);
	host_close(fd);
	return nb_written == (ssize_t)nb_bytes;
}

uint32_t
event_file_retract(uint32_t handle, uint64_t value)
{
	uint64_t record[RETRACT_RECORDS];
	uint32_t nb_retracted = 0, nb_left;
	char path[PATH_BYTES];
	int fd, nb_unread = 0;

	file_path(object_at(handle)->file.serial, path);
	fd = host_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	syscall(SYS_ioctl, fd, FIONREAD, &nb_unread);

	/* Read each record once, and write those that stay back to the end. */
	nb_left = nb_unread / sizeof(record[0]);
	while (nb_left > 0) {
		uint32_t i, nb_kept = 0, nb = nb_left;
		ssize_t len;

		if (nb > RETRACT_RECORDS)
			nb = RETRACT_RECORDS;
		len = host_read(fd, record, nb * sizeof(record[0]));
		if (len <= 0)
			break;
		nb = len / sizeof(record[0]);
		nb_left -= nb;
		for (i = 0; i < nb; i++) {
			if (record[i] == value)
				nb_retracted++;
			else
				record[nb_kept++] = record[i];
		}
		if (nb_kept > 0)
			host_write(fd, record, nb_kept * sizeof(record[0]));
	}
	host_close(fd);
	return nb_retracted;
}
