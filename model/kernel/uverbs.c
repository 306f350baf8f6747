/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The envelope of an ioctl and the checks that come before a method, with
 * the error codes of Linux core/uverbs_ioctl.c.
 */

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "kernel.h"
#include "machine.h"
#include "mana_abi.h"
#include "mem.h"
#include "segment.h"
#include "traits.h"
#include "uverbs.h"

#define PAGE_BYTES 4096

static const struct uverbs_method *
find_method(uint16_t object, uint16_t method)
{
	uint32_t i;

	for (i = 0; i < uverbs_nb_device_methods; i++)
		if (uverbs_device_methods[i].object == object &&
		    uverbs_device_methods[i].method == method)
			return &uverbs_device_methods[i];
	for (i = 0; i < uverbs_nb_object_methods; i++)
		if (uverbs_object_methods[i].object == object &&
		    uverbs_object_methods[i].method == method)
			return &uverbs_object_methods[i];
	for (i = 0; i < uverbs_nb_newer_methods; i++)
		if (kernel_traits()->has_reg_mr_method &&
		    uverbs_newer_methods[i].object == object &&
		    uverbs_newer_methods[i].method == method)
			return &uverbs_newer_methods[i];
	return NULL;
}

static bool
is_end(const struct uverbs_attr_spec *spec)
{
	static const struct uverbs_attr_spec end;

	return memcmp(spec, &end, sizeof(end)) == 0;
}

static const struct uverbs_attr_spec *
find_spec(const struct uverbs_method *method, uint16_t id)
{
	uint32_t i;

	for (i = 0; i < UVERBS_MAX_SPECS && !is_end(&method->spec[i]); i++)
		if (method->spec[i].id == id)
			return &method->spec[i];
	return NULL;
}

/* uverbs_process_attr(): what can be said without the method. */
static int
check_attr(const struct uverbs_attr_spec *spec,
	   const struct ib_uverbs_attr *attr)
{
	if (attr->attr_data.reserved != 0)
		return -EINVAL;

	switch (spec->type) {
	case UVERBS_IN:
		if (attr->len < spec->min_bytes)
			return -EINVAL;
		if (spec->max_bytes != 0 && attr->len > spec->max_bytes)
			return -EINVAL;
		return 0;
	case UVERBS_OUT:
		return attr->len < spec->min_bytes ? -EINVAL : 0;
	case UVERBS_FD:
		if (attr->data_s64 < INT32_MIN || attr->data_s64 > INT32_MAX)
			return -EINVAL;
		return attr->len != 0 ? -EINVAL : 0;
	default:
		return attr->len != 0 ? -EINVAL : 0;
	}
}

static int
check_attrs(struct uverbs_call *call, const struct uverbs_method *method)
{
	uint32_t i, k;
	int rc;

	for (i = 0; i < call->nb_attrs; i++) {
		const struct ib_uverbs_attr *attr = &call->attr[i];
		const struct uverbs_attr_spec *spec =
			find_spec(method, attr->attr_id);

		if (spec == NULL) {
			if (attr->flags & UVERBS_ATTR_F_MANDATORY)
				return -EPROTONOSUPPORT;
			continue;
		}
		for (k = 0; k < i; k++)
			if (call->attr[k].attr_id == attr->attr_id)
				return -EINVAL;
		rc = check_attr(spec, attr);
		if (rc < 0)
			return rc;
	}
	for (i = 0; i < UVERBS_MAX_SPECS && !is_end(&method->spec[i]); i++)
		if (method->spec[i].is_mandatory &&
		    uverbs_attr(call, method->spec[i].id) == NULL)
			return -EINVAL;
	return 0;
}

/* Outputs marked by the method: flags, new handles and descriptors. */
static int
write_back(struct uverbs_call *call)
{
	uint32_t i;
	int rc;

	for (i = 0; i < call->nb_attrs; i++) {
		if (!call->changed[i])
			continue;
		rc = mem_write(model_self,
			       call->user + sizeof(struct ib_uverbs_ioctl_hdr) +
			       i * sizeof(call->attr[0]), &call->attr[i],
			       sizeof(call->attr[0]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
read_header(uint64_t user, struct ib_uverbs_ioctl_hdr *hdr)
{
	int rc;

	rc = mem_read(model_self, user, hdr, sizeof(*hdr));
	if (rc < 0)
		return rc;
	if (hdr->length > PAGE_BYTES ||
	    hdr->length != sizeof(*hdr) +
		    hdr->num_attrs * sizeof(struct ib_uverbs_attr))
		return -EINVAL;
	if (hdr->reserved1 != 0 || hdr->reserved2 != 0)
		return -EPROTONOSUPPORT;
	if (hdr->driver_id != MANA_ABI_DRIVER_ID)
		return -EINVAL;
	return 0;
}

/* What still works when the device is gone. */
static bool
is_destroy(const struct uverbs_method *method)
{
	switch (method->object) {
	case UVERBS_OBJECT_PD:
		return method->method == UVERBS_METHOD_PD_DESTROY;
	case UVERBS_OBJECT_CQ:
		return method->method == UVERBS_METHOD_CQ_DESTROY;
	case UVERBS_OBJECT_QP:
		return method->method == UVERBS_METHOD_QP_DESTROY;
	case UVERBS_OBJECT_WQ:
		return method->method == UVERBS_METHOD_WQ_DESTROY;
	case UVERBS_OBJECT_MR:
		return method->method == UVERBS_METHOD_MR_DESTROY;
	case UVERBS_OBJECT_RWQ_IND_TBL:
		return method->method == UVERBS_METHOD_RWQ_IND_TBL_DESTROY;
	default:
		return false;
	}
}

/*
 * All but destroying gives EIO after the device has gone, also when it goes
 * just now (core/uverbs_cmd.c ib_uverbs_get_ucontext_file(), core/rdma_core.c
 * rdma_lookup_get_uobject()).
 */
static int
run_method(const struct uverbs_method *method, struct uverbs_call *call)
{
	uint32_t fn, page;
	int rc = 0;

	if (is_destroy(method) && kernel_context_is_dead(call->context)) {
		rc = kernel_traits()->destroy_after_removal;
		return rc < 0 ? rc : method->run(call);
	}
	if (method->needs_ucontext)
		rc = kernel_context_doorbell(call->context, &fn, &page);
	if (rc == 0)
		rc = method->run(call);
	if (rc < 0 && !is_destroy(method) &&
	    kernel_context_is_dead(call->context))
		rc = -EIO;
	return rc;
}

int
uverbs_run(struct uverbs_call *call, uint16_t object, uint16_t method)
{
	return run_method(find_method(object, method), call);
}

static int
run_ioctl(uint32_t context, uint64_t user)
{
	const struct uverbs_method *method;
	struct ib_uverbs_ioctl_hdr hdr;
	struct uverbs_call call;
	int rc;

	call.context = context;
	call.user = user;
	call.is_by_write = false;
	call.shown.is_shown = false;
	rc = read_header(call.user, &hdr);
	if (rc < 0)
		return rc;
	method = find_method(hdr.object_id, hdr.method_id);
	if (method == NULL)
		return -EPROTONOSUPPORT;

	call.nb_attrs = hdr.num_attrs;
	memset(call.changed, 0, sizeof(call.changed));
	rc = mem_read(model_self, call.user + sizeof(hdr), call.attr,
		      call.nb_attrs * sizeof(call.attr[0]));
	if (rc == 0)
		rc = check_attrs(&call, method);
	if (rc == 0)
		rc = run_method(method, &call);
	if (rc == 0)
		rc = write_back(&call);
	if (!call.shown.is_shown)
		uverbs_begin(&call, "ioctl", " object=%u method=%u",
			     hdr.object_id, hdr.method_id);
	verbs_end(&call.shown, rc);
	return rc;
}

int
kernel_uverbs_ioctl(uint32_t context, void *arg)
{
	int rc;

	segment_lock();
	clock_event();
	segment_unlock();
	rc = run_ioctl(context, (uintptr_t)arg);
	machine_slow();
	machine_tick();
	return rc;
}
