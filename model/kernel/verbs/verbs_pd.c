/* SPDX-License-Identifier: BSD-3-Clause */

/* Contexts, event files, protection domains and memory regions. */

#include <errno.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "context.h"
#include "fault.h"
#include "kernel_version.h"
#include "object.h"
#include "verbs.h"
#include "vport.h"

/* IB_UVERBS_ACCESS_FLUSH_GLOBAL, _PERSISTENT: core/verbs.h of Linux 6.2 */
#define ACCESS_FLUSH (3u << 8)
#define NEEDS_LOCAL_WRITE \
	(IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

int
verbs_get_context(uint32_t context)
{
	int rc;

	segment_lock();
	rc = fault_check(FAULT_get_context);
	if (rc == 0)
		rc = context_enable(context);
	segment_unlock();
	return rc;
}

static int
create_event_file(uint32_t context, enum object_kind kind, enum fault_call call)
{
	uint32_t handle;
	int rc;

	segment_lock();
	rc = fault_check(call);
	if (rc == 0 && kind == OBJECT_CHANNEL)
		rc = plain_queues_refuse_channel();
	if (rc == 0)
		rc = event_file_create(context, kind, &handle);
	segment_unlock();
	return rc;
}

int
verbs_alloc_async(uint32_t context)
{
	return create_event_file(context, OBJECT_ASYNC, FAULT_alloc_async);
}

int
verbs_create_comp_channel(uint32_t context)
{
	return create_event_file(context, OBJECT_CHANNEL, FAULT_alloc_channel);
}

static int
alloc_pd(uint32_t context, uint32_t *handle)
{
	struct object *object;
	int rc;

	rc = object_new(context, OBJECT_PD, handle);
	if (rc < 0)
		return rc;
	object = object_at(*handle);
	rc = card_pd_create(context_at(context)->fn, &object->pd.pdn);
	if (rc < 0)
		context_abandon(*handle);
	else
		object_activate(*handle);
	return rc;
}

int
verbs_alloc_pd(uint32_t context, uint32_t *handle)
{
	int rc;

	segment_lock();
	rc = fault_check(FAULT_alloc_pd);
	if (rc == 0)
		rc = alloc_pd(context, handle);
	segment_unlock();
	return rc;
}

void
verbs_pd_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);

	vport_abandon(handle);
	card_pd_destroy(context_at(object->context)->fn, object->pd.pdn);
	object_end(handle);
}

int
verbs_dealloc_pd(uint32_t context, uint32_t handle)
{
	return object_remove(context, OBJECT_PD, handle, FAULT_dealloc_pd,
			     verbs_pd_teardown);
}

static int
check_mr(const struct verbs_mr *mr)
{
	uint32_t access = mr->access &
		~(uint32_t)IB_UVERBS_ACCESS_OPTIONAL_RANGE;

	if ((mr->start ^ mr->iova) % KERNEL_PAGE_BYTES != 0)
		return -EINVAL;
	/* core: these are capabilities that mana does not have. */
	if (access & (IB_UVERBS_ACCESS_ON_DEMAND | ACCESS_FLUSH))
		return -EOPNOTSUPP;
	if ((access & NEEDS_LOCAL_WRITE) != 0 &&
	    (access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	if (access & ~kernel_version()->mr_access) /* VALID_MR_FLAGS */
		return -EINVAL;
	return mr->length != 0 && mr->iova + mr->length - 1 < mr->iova ?
		       -EINVAL : 0;
}

/* Create the object before its memory is pinned. */
static int
begin_mr(uint32_t context, const struct verbs_mr *mr, uint32_t *handle)
{
	int rc = fault_check(FAULT_reg_mr);

	if (rc == 0)
		rc = object_check(context, OBJECT_PD, mr->pd);
	if (rc == 0)
		rc = check_mr(mr);
	if (rc == 0)
		rc = object_new(context, OBJECT_MR, handle);
	if (rc < 0)
		return rc;
	object_at(*handle)->mr.process = model_self;
	object_refer(&object_at(*handle)->mr.pd, mr->pd);
	return 0;
}

/* Create the region of pinned memory. */
static int
create_mr(uint32_t context, const struct verbs_mr *mr, uint32_t handle)
{
	struct card_memory memory = {
		.process = model_self,
		.addr = mr->start,
		.size = mr->length,
	};
	uint32_t access = CARD_ACCESS_READ;
	const struct kernel_context *ctx = context_live(context);
	int rc;

	if (ctx == NULL)
		return -EIO;
	if (mr->access & IB_UVERBS_ACCESS_LOCAL_WRITE)
		access |= CARD_ACCESS_WRITE;
	rc = card_mkey_create(ctx->fn, object_at(mr->pd)->pd.pdn, &memory,
			      mr->iova, access, &object_at(handle)->mr.key);
	if (rc == 0)
		object_activate(handle);
	return rc;
}

int
verbs_reg_mr(uint32_t context, const struct verbs_mr *mr, uint32_t *handle,
	     uint32_t *key)
{
	/* ib_umem_get(): remote rights let the card write, too. */
	bool writable = mr->access &
		(IB_UVERBS_ACCESS_LOCAL_WRITE | NEEDS_LOCAL_WRITE |
		 IB_UVERBS_ACCESS_MW_BIND);
	int rc;

	segment_lock();
	rc = begin_mr(context, mr, handle);
	segment_unlock();
	if (rc < 0)
		return rc;

	rc = pin_memory(mr->start, mr->length, writable,
			&object_at(*handle)->mr.nb_pinned);

	segment_lock();
	if (rc == 0)
		rc = create_mr(context, mr, *handle);
	if (rc == 0)
		*key = object_at(*handle)->mr.key;
	else
		context_abandon(*handle);
	segment_unlock();
	return rc;
}

void
verbs_mr_teardown(uint32_t handle)
{
	struct object *object = object_at(handle);

	card_mkey_destroy(context_at(object->context)->fn, object->mr.key);
	pin_release(object->mr.process, &object->mr.nb_pinned);
	object_unrefer(&object->mr.pd);
	object_end(handle);
}

int
verbs_dereg_mr(uint32_t context, uint32_t handle)
{
	return object_remove(context, OBJECT_MR, handle, FAULT_dereg_mr,
			     verbs_mr_teardown);
}
