/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uverbs ioctls that no library would send.
 */

#ifndef MODEL_TEST_UVERBS_CALLS_H
#define MODEL_TEST_UVERBS_CALLS_H

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#define DRIVER_ID 20
#define MAX_ATTRS 300

/*
 * struct ib_uverbs_ioctl_hdr without its flexible array, which clang refuses
 * inside a struct.
 */
struct header {
	uint16_t length, object_id, method_id, num_attrs;
	uint64_t reserved1;
	uint32_t driver_id, reserved2;
};

struct call {
	struct header hdr;
	struct ib_uverbs_attr attr[MAX_ATTRS];
};

static inline struct call
new_call(uint16_t object, uint16_t method)
{
	struct call call;

	memset(&call, 0, sizeof(call));
	call.hdr.object_id = object;
	call.hdr.method_id = method;
	call.hdr.driver_id = DRIVER_ID;
	call.hdr.length = sizeof(call.hdr);
	return call;
}

static inline struct ib_uverbs_attr *
add(struct call *call, uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs++];

	attr->attr_id = id;
	attr->len = len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
	call->hdr.length += sizeof(*attr);
	return attr;
}

/* 0 or errno. */
static inline int
run(int fd, struct call *call)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, &call->hdr) == 0 ? 0 : errno;
}

/* Input of up to 8 bytes is inline. */
static inline uint64_t
call_input(const void *in, uint16_t in_bytes)
{
	uint64_t value = 0;

	if (in_bytes > sizeof(value))
		return (uintptr_t)in;
	memcpy(&value, in, in_bytes);
	return value;
}

/* INVOKE_WRITE. */
static inline struct call
command(uint32_t number, const void *in, uint16_t in_bytes, void *out,
	uint16_t out_bytes)
{
	struct call call = new_call(UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_INVOKE_WRITE);

	add(&call, UVERBS_ATTR_WRITE_CMD, 8, number);
	if (in != NULL)
		add(&call, UVERBS_ATTR_CORE_IN, in_bytes,
		    call_input(in, in_bytes));
	if (out != NULL)
		add(&call, UVERBS_ATTR_CORE_OUT, out_bytes, (uintptr_t)out);
	return call;
}

#endif /* MODEL_TEST_UVERBS_CALLS_H */
