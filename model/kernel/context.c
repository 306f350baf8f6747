/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "context.h"
#include "event_file.h"
#include "fault.h"
#include "host.h"
#include "object.h"
#include "vport.h"
#include "verbs.h"

#define PATH_BYTES (MODEL_MAX_PATH + 64)

static void
context_path(uint64_t serial, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/fd/ctx-%" PRIu64, segment_run_dir(),
		 serial);
}

int
kernel_init(void)
{
	struct kernel *kernel = segment_kernel();
	char path[PATH_BYTES];
	dev_t dev;
	ino_t ino;
	int fd, rc;

	snprintf(path, sizeof(path), "%s/fd", segment_run_dir());
	fd = host_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	rc = host_identity(fd, &dev, &ino);
	host_close(fd);
	if (rc < 0)
		return rc;

	segment_lock();
	kernel->fd_dev = dev;
	kernel->nb_objects = 1; /* handle 0 is never used */
	vport_init();
	segment_unlock();
	return 0;
}

struct kernel_context *
context_at(uint32_t context)
{
	struct kernel *kernel = segment_kernel();

	if (context >= KERNEL_MAX_CONTEXTS || !kernel->context[context].used)
		return NULL;
	return &kernel->context[context];
}

/* Make the context's file and open it; its flock() says that it is in use. */
static int
open_file(struct kernel_context *ctx, int open_flags)
{
	char path[PATH_BYTES];
	dev_t dev = 0;
	ino_t ino = 0;
	int fd, rc;

	context_path(ctx->serial, path);
	/* Readable in any case: the doorbell mapping needs it. */
	fd = host_open(path, O_RDWR | O_CREAT | O_EXCL |
		       (open_flags & (O_CLOEXEC | O_NONBLOCK)), 0600);
	if (fd < 0)
		return fd;
	rc = host_flock(fd, LOCK_SH | LOCK_NB);
	if (rc == 0)
		rc = host_identity(fd, &dev, &ino);
	if (rc < 0) {
		host_unlink(path);
		host_close(fd);
		return rc;
	}
	ctx->dev = dev;
	ctx->ino = ino;
	return fd;
}

int
kernel_context_open(uint32_t fn, int open_flags)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_context *ctx;
	uint32_t i;
	int rc;

	if (fn >= segment_config()->nb_functions)
		return -ENODEV;

	segment_lock();
	rc = fault_check(FAULT_open);
	if (rc < 0)
		goto out;

	context_reap();
	rc = -ENOMEM;
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (!kernel->context[i].used)
			break;
	if (i == KERNEL_MAX_CONTEXTS)
		goto out;

	ctx = &kernel->context[i];
	memset(ctx, 0, sizeof(*ctx));
	ctx->fn = fn;
	ctx->process = model_self;
	ctx->serial = ++kernel->serial;
	rc = open_file(ctx, open_flags);
	if (rc >= 0)
		__atomic_store_n(&ctx->used, 1, __ATOMIC_RELEASE);
out:
	segment_unlock();
	return rc;
}

int
kernel_context_of(dev_t st_dev, ino_t st_ino)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t i;

	if (st_dev != kernel->fd_dev)
		return -1;
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++) {
		const struct kernel_context *ctx = &kernel->context[i];

		if (__atomic_load_n(&ctx->used, __ATOMIC_ACQUIRE) &&
		    ctx->ino == st_ino)
			return i;
	}
	return -1;
}

int
kernel_context_doorbell(uint32_t context, uint32_t *fn, uint32_t *page)
{
	const struct kernel_context *ctx = context_at(context);

	if (ctx == NULL)
		return -EIO;
	if (!__atomic_load_n(&ctx->has_ucontext, __ATOMIC_ACQUIRE))
		return -EINVAL;
	*fn = ctx->fn;
	*page = ctx->page;
	return 0;
}

int
kernel_context_fn(uint32_t context)
{
	const struct kernel_context *ctx = context_at(context);

	return ctx == NULL ? -EIO : (int)ctx->fn;
}

int
context_enable(uint32_t context)
{
	struct kernel_context *ctx = context_at(context);
	int rc;

	if (ctx->has_ucontext)
		return -EINVAL;
	rc = device_doorbell_page_create(ctx->fn, &ctx->page);
	if (rc < 0)
		return rc;
	__atomic_store_n(&ctx->has_ucontext, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Objects that need others go first, as uverbs_destroy_ufile_hw() has it. */
static void
destroy_objects(uint32_t context)
{
	static const struct {
		enum object_kind kind;
		void (*destroy)(uint32_t handle);
	} order[] = {
		{ OBJECT_UNFINISHED, object_free },
		{ OBJECT_QP, verbs_qp_teardown },
		{ OBJECT_IND, verbs_ind_teardown },
		{ OBJECT_WQ, verbs_wq_teardown },
		{ OBJECT_CQ, verbs_cq_teardown },
		{ OBJECT_MR, verbs_mr_teardown },
		{ OBJECT_PD, verbs_pd_teardown },
		{ OBJECT_CHANNEL, event_file_orphan },
		{ OBJECT_ASYNC, event_file_orphan },
	};
	uint32_t i, handle;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		handle = 0;
		while ((handle = object_next(context, order[i].kind, handle)) !=
		       KERNEL_NONE) {
			/* Files may still be closed by their program. */
			if (order[i].destroy != event_file_orphan)
				object_count(order[i].kind,
					     &segment_kernel()->leaks);
			order[i].destroy(handle++);
		}
	}
}

static void
context_destroy(uint32_t context)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_context *ctx = &kernel->context[context];
	char path[PATH_BYTES];

	destroy_objects(context);
	if (!ctx->fd_closed)
		kernel->leaks.fd++;
	if (ctx->has_ucontext)
		device_doorbell_page_destroy(ctx->fn, ctx->page);
	context_path(ctx->serial, path);
	host_unlink(path);
	__atomic_store_n(&ctx->used, 0, __ATOMIC_RELEASE);
}

/* True while a descriptor or mapping of the context's file exists anywhere. */
static bool
is_held(const struct kernel_context *ctx)
{
	char path[PATH_BYTES];
	int fd, rc;

	context_path(ctx->serial, path);
	fd = host_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd != -ENOENT;
	rc = host_flock(fd, LOCK_EX | LOCK_NB);
	host_close(fd);
	return rc < 0;
}

void
context_reap(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used && !is_held(&kernel->context[i]))
			context_destroy(i);
}

void
kernel_context_released(uint32_t context, bool is_close)
{
	struct kernel_context *ctx;

	segment_lock();
	ctx = context_at(context);
	if (ctx != NULL) {
		ctx->fd_closed |= is_close;
		if (!is_held(ctx))
			context_destroy(context);
	}
	segment_unlock();
}

void
kernel_process_replaced(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	segment_lock();
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used &&
		    kernel->context[i].process == model_self)
			context_destroy(i);
	segment_unlock();
}
