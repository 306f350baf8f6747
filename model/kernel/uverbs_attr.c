/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "segment.h"
#include "traits.h"
#include "uverbs.h"

/* Inputs of up to this many bytes lie in the attribute itself. */
#define INLINE_BYTES sizeof(uint64_t)

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
	if (attr->len <= INLINE_BYTES) {
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
uverbs_driver_in(struct uverbs_call *call, void *buf, size_t size, size_t min)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, UVERBS_ATTR_UHW_IN);

	memset(buf, 0, size);
	if (attr == NULL)
		return -EINVAL;
	if (kernel_traits()->checks_driver_data)
		return uverbs_in(call, UVERBS_ATTR_UHW_IN, buf, size, min);
	/* ib_copy_from_udata() of what is known. */
	if (attr->len < size)
		return -EINVAL;
	if (attr->len > INLINE_BYTES)
		return mem_read(model_self, attr->data, buf, size);
	memcpy(buf, &attr->data, size);
	return 0;
}

uint64_t
uverbs_number(struct uverbs_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);
	uint64_t value = 0;

	if (attr != NULL && attr->len <= INLINE_BYTES)
		memcpy(&value, &attr->data, attr->len);
	return value;
}

uint32_t
uverbs_handle(struct uverbs_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);

	/* Handles are 32 bits: others cannot exist. */
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
