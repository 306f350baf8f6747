/* SPDX-License-Identifier: BSD-3-Clause */

/* How a context ends: with its file, or before it with its device. */

#include "context.h"
#include "event_file.h"
#include "host.h"
#include "leaks.h"
#include "object.h"
#include "verbs.h"

/* Objects that need others go first, as uverbs_destroy_ufile_hw() has it. */
static const struct {
	enum object_kind kind;
	void (*destroy)(uint32_t handle);
	/* When the device goes; NULL: the object does not know of it. */
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

	if (object->making == OBJECT_CHANNEL || object->making == OBJECT_ASYNC) {
		event_file_destroy(handle);
		return;
	}
	for (i = 0; order[i].kind != object->making; i++)
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
			/* Files may still be closed by their program. */
			if (order[i].destroy != event_file_orphan)
				leak_count(&object_at(handle)->is_counted,
					   order[i].kind);
			object_destroy(handle++, order[i].destroy);
		}
	}
}

/*
 * The page for stores that come after the doorbell page: one for all mappings
 * of a file (core/uverbs_main.c rdma_umap_fault(), disassociate_page).
 */
static void
make_dummy_page(struct kernel_context *ctx)
{
	char path[CONTEXT_PATH_BYTES];
	int fd;

	context_path(ctx->serial, path);
	fd = host_open(path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Taken now: a store must not meet a full file system. */
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
		/* First: who looks at the context has asked this. */
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
		device_doorbell_page_destroy(ctx->fn, ctx->page);
	ctx->has_ucontext = 0;
}
