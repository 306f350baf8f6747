/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "context.h"
#include "fault.h"
#include "function.h"
#include "host.h"
#include "hw.h"
#include "machine.h"
#include "object.h"
#include "verbs.h"
#include "verbs_trace.h"

#define PATH_BYTES (MODEL_MAX_PATH + 64)

/* Path of a context's file in the run folder. */
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
	function_init();
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

struct kernel_context *
context_live(uint32_t context)
{
	struct kernel_context *ctx = context_at(context);

	return ctx == NULL || ctx->is_dead ? NULL : ctx;
}

/* Create the context's file and open it; its flock() marks it as in use. */
static int
open_file(struct kernel_context *ctx, int open_flags)
{
	char path[PATH_BYTES];
	dev_t dev = 0;
	ino_t ino = 0;
	int fd, rc;

	context_path(ctx->serial, path);
	/* Always readable: the doorbell mapping needs it. */
	fd = host_open(path, O_RDWR | O_CREAT | O_EXCL |
		       (open_flags & (O_CLOEXEC | O_NONBLOCK)), 0600);
	if (fd < 0)
		return fd;
	rc = host_flock(fd, LOCK_SH | LOCK_NB);
	/* Now: on a full file system a later store would get SIGBUS. */
	if (rc == 0 && config_has_plain_doorbells(segment_config()))
		rc = host_result(syscall(SYS_fallocate, fd, 0, 0l,
					 (long)HW_DB_PAGE_BYTES));
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
kernel_context_open(uint32_t number, int open_flags)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_context *ctx;
	struct verbs_call call;
	uint32_t i;
	int fn, rc;

	verbs_begin(&call, KERNEL_NONE, "open", " uverbs=%u", number);
	segment_lock();
	rc = fault_check(FAULT_open);
	if (rc < 0)
		goto out;
	fn = rc = kernel_uverbs_find(number);
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
	ctx->number = number;
	ctx->is_rnic = function_at(fn)->rnic_number == number;
	ctx->process = model_self;
	ctx->serial = ++kernel->serial;
	ctx->trace_number = ++kernel->nb_contexts[fn];
	rc = open_file(ctx, open_flags);
	if (rc >= 0)
		__atomic_store_n(&ctx->used, 1, __ATOMIC_RELEASE);
	verbs_add_result(&call, " function=%d context=%u", fn,
			 ctx->trace_number);
out:
	segment_unlock();
	verbs_end(&call, rc);
	machine_slow();
	machine_tick();
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

	if (ctx == NULL || __atomic_load_n(&ctx->is_dead, __ATOMIC_ACQUIRE))
		return -EIO;
	if (!__atomic_load_n(&ctx->has_ucontext, __ATOMIC_ACQUIRE))
		return -EINVAL;
	*fn = ctx->fn;
	*page = ctx->page;
	return 0;
}

int
kernel_context_number(uint32_t context)
{
	const struct kernel_context *ctx = context_at(context);

	return ctx == NULL ? -EIO : (int)ctx->number;
}

bool
kernel_context_is_dead(uint32_t context)
{
	return __atomic_load_n(&segment_kernel()->context[context].is_dead,
			       __ATOMIC_ACQUIRE);
}

bool
kernel_context_has_dummy_page(uint32_t context)
{
	return segment_kernel()->context[context].has_dummy_page;
}

bool
kernel_context_is_own(uint32_t context)
{
	const struct kernel_context *ctx = context_at(context);

	return ctx != NULL && ctx->process == model_self;
}

uint64_t
kernel_context_page_serial(uint32_t context)
{
	const struct kernel_context *ctx = context_live(context);

	return ctx == NULL || !ctx->has_ucontext ? 0 : ctx->serial;
}

int
kernel_context_page_open(uint32_t context)
{
	char path[PATH_BYTES];

	context_path(context_at(context)->serial, path);
	return host_open(path, O_RDONLY | O_CLOEXEC, 0);
}

int
context_page_clear(const struct kernel_context *ctx, bool is_sq)
{
	const long offset = is_sq ? HW_DB_SQ : HW_DB_RQ;
	const uint64_t zero = 0;
	char path[PATH_BYTES];
	int fd, rc;

	context_path(ctx->serial, path);
	fd = host_open(path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	rc = host_result(syscall(SYS_pwrite64, fd, &zero, sizeof(zero),
				 offset));
	host_close(fd);
	return rc < 0 ? rc : 0;
}

int
context_enable(uint32_t context)
{
	struct kernel_context *ctx = context_live(context);
	int rc;

	if (ctx == NULL)
		return -EIO;
	if (ctx->has_ucontext)
		return -EINVAL;
	rc = card_doorbell_page_create(ctx->fn, &ctx->page);
	if (rc < 0)
		return rc;
	__atomic_store_n(&ctx->has_ucontext, 1, __ATOMIC_RELEASE);
	return 0;
}

static void
context_destroy(uint32_t context)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_context *ctx = &kernel->context[context];
	char path[PATH_BYTES];

	context_destroy_objects(context);
	if (!ctx->fd_closed)
		leak_count(&ctx->is_counted, OBJECT_CHANNEL);
	if (ctx->has_ucontext)
		card_doorbell_page_destroy(ctx->fn, ctx->page);
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

	if (is_close)
		verbs_show(context, "close");
	segment_lock();
	ctx = context_at(context);
	if (ctx != NULL) {
		ctx->fd_closed |= is_close && ctx->process == model_self;
		if (!is_held(ctx))
			context_destroy(context);
	}
	segment_unlock();
}

void
kernel_process_replaced(void)
{
	nl_event_forget_process();
	struct kernel *kernel = segment_kernel();
	uint32_t i;

	segment_lock();
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used &&
		    kernel->context[i].process == model_self)
			context_destroy(i);
	segment_unlock();
}

/* Objects that refer to others come first, as in uverbs_destroy_ufile_hw(). */
static const struct {
	enum object_kind kind;
	void (*destroy)(uint32_t handle);
	/* On removal of the device; NULL: the object is not affected. */
	void (*disassociate)(uint32_t handle);
} order[] = {
	{ OBJECT_UNFINISHED, context_abandon, NULL },
	{ OBJECT_QP, verbs_qp_teardown, verbs_qp_teardown },
	{ OBJECT_IND, verbs_ind_teardown, verbs_ind_teardown },
	{ OBJECT_WQ, verbs_wq_teardown, verbs_wq_teardown },
	{ OBJECT_CQ, verbs_cq_teardown, verbs_cq_teardown },
	{ OBJECT_MR, verbs_mr_teardown, verbs_mr_teardown },
	{ OBJECT_PD, verbs_pd_teardown, verbs_pd_teardown },
	{ OBJECT_CHANNEL, event_file_orphan, event_file_end },
	{ OBJECT_ASYNC, event_file_orphan, event_file_end },
};
#define NB_KINDS (sizeof(order) / sizeof(order[0]))

void
context_abandon(uint32_t handle)
{
	const struct object *object = object_at(handle);
	uint32_t i;

	if (object->final_kind == OBJECT_CHANNEL ||
	    object->final_kind == OBJECT_ASYNC) {
		event_file_destroy(handle);
		return;
	}
	for (i = 0; order[i].kind != object->final_kind; i++)
		;
	order[i].destroy(handle);
}

void
context_destroy_objects(uint32_t context)
{
	uint32_t i, handle;

	for (i = 0; i < NB_KINDS; i++) {
		handle = 0;
		while ((handle = object_next(context, order[i].kind, handle)) !=
		       KERNEL_NONE) {
			/* The program may still close event files. */
			if (order[i].destroy != event_file_orphan)
				leak_count(&object_at(handle)->is_counted,
					   order[i].kind);
			object_destroy(handle++, order[i].destroy);
		}
	}
}

/*
 * A page that absorbs doorbell stores after removal of the device, for all
 * mappings of a file (core/uverbs_main.c rdma_umap_fault(), disassociate_page).
 */
static void
make_dummy_page(struct kernel_context *ctx)
{
	char path[PATH_BYTES];
	int fd;

	context_path(ctx->serial, path);
	fd = host_open(path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Now: on a full file system a later store would get SIGBUS. */
	ctx->has_dummy_page = syscall(SYS_fallocate, fd, 0, 0L,
				      (long)KERNEL_PAGE_BYTES) == 0;
	host_close(fd);
}

void
context_disassociate(uint32_t context)
{
	struct kernel_context *ctx = context_at(context);
	uint32_t i, handle;

	if (!ctx->is_dead) {
		make_dummy_page(ctx);
		/* Before is_dead, because readers test this counter first. */
		__atomic_add_fetch(&segment_kernel()->nb_dead, 1,
				   __ATOMIC_RELEASE);
		__atomic_store_n(&ctx->is_dead, 1, __ATOMIC_RELEASE);
	}
	for (i = 0; i < NB_KINDS; i++) {
		if (order[i].disassociate == NULL)
			continue;
		handle = 0;
		while ((handle = object_next(context, order[i].kind, handle)) !=
		       KERNEL_NONE) {
			if (!object_at(handle)->is_gone)
				order[i].disassociate(handle);
			handle++;
		}
	}
	if (ctx->has_ucontext)
		card_doorbell_page_destroy(ctx->fn, ctx->page);
	ctx->has_ucontext = 0;
}
