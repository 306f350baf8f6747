/* SPDX-License-Identifier: BSD-3-Clause */

/* Decoding and checks of an ioctl, with the errors of core/uverbs_ioctl.c. */

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "kernel.h"
#include "kernel_version.h"
#include "machine.h"
#include "mana_abi.h"
#include "mem.h"
#include "segment.h"
#include "uverbs.h"

#define PAGE_BYTES 4096

static const struct uverbs_method *
find_method(uint16_t object, uint16_t method)
{
	const struct uverbs_method *const tables[] = {
		uverbs_device_methods, uverbs_object_methods,
		kernel_version()->has_reg_mr_method ? uverbs_newer_methods : NULL,
	};
	const struct uverbs_method *m;
	uint32_t i;

	for (i = 0; i < 3 && tables[i] != NULL; i++)
		for (m = tables[i]; m->run != NULL; m++)
			if (m->object == object && m->method == method)
				return m;
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

/* uverbs_process_attr(): checks that do not depend on the method. */
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

/* Copy outputs of the method to the program: flags, handles, descriptors. */
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

/*
 * After removal of the device all methods but destroy give EIO, also if it is
 * removed while the method runs (core/uverbs_cmd.c
 * ib_uverbs_get_ucontext_file(), core/rdma_core.c rdma_lookup_get_uobject()).
 */
static int
run_method(const struct uverbs_method *method, struct uverbs_call *call)
{
	uint32_t fn, page;
	int rc = 0;

	call->method = method;
	if (method->needs_ucontext)
		rc = kernel_context_doorbell(call->context, &fn, &page);
	/* Last, because the device may be removed at any moment. */
	if (method->is_destroy && kernel_context_is_dead(call->context))
		rc = kernel_version()->destroy_after_removal;
	if (rc == 0)
		rc = method->run(call);
	if (rc < 0 && !method->is_destroy &&
	    kernel_context_is_dead(call->context))
		rc = -EIO;
	return rc;
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

struct ib_uverbs_attr *
uverbs_attr(struct uverbs_call *call, uint16_t id)
{
	uint32_t i;

	for (i = 0; i < call->nb_attrs; i++)
		if (call->attr[i].attr_id == id)
			return &call->attr[i];
	return NULL;
}

int
uverbs_in(struct uverbs_call *call, uint16_t id, void *buf, size_t size,
	  size_t min)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);
	size_t len;
	int rc;

	memset(buf, 0, size);
	if (attr == NULL)
		return -ENOENT;
	if (attr->len < min)
		return -EINVAL;
	len = attr->len < size ? attr->len : size;
	if (attr->len <= UVERBS_INLINE_BYTES) {
		memcpy(buf, &attr->data, len);
		return 0;
	}
	if (attr->len > size) {
		rc = mem_is_zero(model_self, attr->data + size,
				 attr->len - size);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return -EOPNOTSUPP;
	}
	return mem_read(model_self, attr->data, buf, len);
}

int
uverbs_in_or_zero(struct uverbs_call *call, uint16_t id, void *buf, size_t size)
{
	int rc = uverbs_in(call, id, buf, size, 0);

	return rc == -ENOENT ? 0 : rc;
}

int
uverbs_driver_in(struct uverbs_call *call, void *buf, size_t size, size_t min)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, UVERBS_ATTR_UHW_IN);

	memset(buf, 0, size);
	if (attr == NULL)
		return -EINVAL;
	if (kernel_version()->checks_driver_data)
		return uverbs_in(call, UVERBS_ATTR_UHW_IN, buf, size, min);
	/* ib_copy_from_udata() of the known bytes. */
	if (attr->len < size)
		return -EINVAL;
	if (attr->len > UVERBS_INLINE_BYTES)
		return mem_read(model_self, attr->data, buf, size);
	memcpy(buf, &attr->data, size);
	return 0;
}

uint64_t
uverbs_number(struct uverbs_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);
	uint64_t value = 0;

	if (attr != NULL && attr->len <= UVERBS_INLINE_BYTES)
		memcpy(&value, &attr->data, attr->len);
	return value;
}

uint32_t
uverbs_handle(struct uverbs_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);

	/* Handles have 32 bits. */
	if (attr == NULL || attr->data > UINT32_MAX)
		return 0;
	return attr->data;
}

static void
mark(struct uverbs_call *call, struct ib_uverbs_attr *attr)
{
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	call->changed[attr - call->attr] = true;
}

int
uverbs_out(struct uverbs_call *call, uint16_t id, const void *buf, size_t size)
{
	struct ib_uverbs_attr *attr = uverbs_attr(call, id);
	int rc;

	if (attr == NULL)
		return 0;
	rc = mem_write(model_self, attr->data, buf,
		       attr->len < size ? attr->len : size);
	if (rc == 0)
		mark(call, attr);
	return rc;
}

int
uverbs_out_u32(struct uverbs_call *call, uint16_t id, uint32_t value)
{
	return uverbs_out(call, id, &value, sizeof(value));
}

void
uverbs_set(struct uverbs_call *call, uint16_t id, uint64_t value)
{
	struct ib_uverbs_attr *attr = uverbs_attr(call, id);

	if (attr == NULL)
		return;
	attr->data = value;
	mark(call, attr);
}
