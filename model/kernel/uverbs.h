/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decoding of uverbs ioctls: one call, its attributes, its methods.
 *
 * The header and the attributes are copied from user space once; what they
 * point to is copied once, when a method asks for it.
 */

#ifndef MODEL_UVERBS_H
#define MODEL_UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "verbs_trace.h"

/* As many as a page holds: core/uverbs_ioctl.c refuses longer calls. */
#define UVERBS_MAX_ATTRS 254

struct uverbs_call {
	uint32_t context;
	uint64_t user; /* address of the header in the program */
	bool is_by_write; /* write(): the sizes of a command are checked */
	uint32_t nb_attrs;
	struct ib_uverbs_attr attr[UVERBS_MAX_ATTRS];
	bool changed[UVERBS_MAX_ATTRS]; /* to be written back */
	struct verbs_call shown;
};

enum uverbs_attr_type {
	UVERBS_IN,	   /* data of min..max bytes; longer only with zeros */
	UVERBS_OUT,	   /* at least min bytes of room */
	UVERBS_HANDLE,	   /* of an existing object */
	UVERBS_NEW_HANDLE, /* receives that of the new object */
	UVERBS_FD,
	UVERBS_NEW_FD,
};

struct uverbs_attr_spec {
	uint16_t id;
	uint8_t type;
	bool is_mandatory;
	uint16_t min_bytes;
	uint16_t max_bytes; /* of UVERBS_IN; 0: no limit */
};

#define UVERBS_MAX_SPECS 16

struct uverbs_method {
	uint16_t object, method;
	bool needs_ucontext; /* GET_CONTEXT must have been done */
	int (*run)(struct uverbs_call *call);
	struct uverbs_attr_spec spec[UVERBS_MAX_SPECS]; /* ends with all zero */
};

/* Methods of the device object: uverbs_device.c; of the others. */
extern const struct uverbs_method uverbs_device_methods[];
extern const uint32_t uverbs_nb_device_methods;
extern const struct uverbs_method uverbs_object_methods[];
extern const uint32_t uverbs_nb_object_methods;
/* Those that only the newest kernels have: uverbs_mr.c. */
extern const struct uverbs_method uverbs_newer_methods[];
extern const uint32_t uverbs_nb_newer_methods;

/*
 * What a method tells of its call, before it does it, and of its result; see
 * verbs_trace.h. A call that comes not so far is told by its numbers.
 */
#define uverbs_begin(call, name, ...) \
	verbs_begin(&(call)->shown, (call)->context, name, __VA_ARGS__)
#define uverbs_result(call, ...) verbs_add_result(&(call)->shown, __VA_ARGS__)
#define uverbs_object(call, kind, handle) \
	verbs_number((call)->context, OBJECT_##kind, handle)

/* Run a method on the attributes of a call, which are taken to be right. */
int uverbs_run(struct uverbs_call *call, uint16_t object, uint16_t method);

/* An attribute that the program gave, or NULL. */
struct ib_uverbs_attr *uverbs_attr(struct uverbs_call *call, uint16_t id);
/*
 * Copy an input; what the program did not give is zero. -EINVAL when it is
 * shorter than min, -EOPNOTSUPP when it has something but zeros behind size,
 * -ENOENT when it is not there.
 */
int uverbs_in(struct uverbs_call *call, uint16_t id, void *buf, size_t size,
	      size_t min);
/*
 * What the driver gets (UHW_IN), as this age of kernel checks it: at least
 * min bytes, or all of size.
 */
int uverbs_driver_in(struct uverbs_call *call, void *buf, size_t size,
		     size_t min);
/* A number of up to 8 bytes, or 0 when it is not there. */
uint64_t uverbs_number(struct uverbs_call *call, uint16_t id);
/* A handle, or 0, which never is one. */
uint32_t uverbs_handle(struct uverbs_call *call, uint16_t id);
/* Copy an output, cut to the room there is; 0 when it is not wanted. */
int uverbs_out(struct uverbs_call *call, uint16_t id, const void *buf,
	       size_t size);
int uverbs_out_u32(struct uverbs_call *call, uint16_t id, uint32_t value);
/* New handle or descriptor. */
void uverbs_set(struct uverbs_call *call, uint16_t id, uint64_t value);

#endif /* MODEL_UVERBS_H */
