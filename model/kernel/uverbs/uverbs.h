/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decoding of uverbs ioctls: one call, its attributes, its methods.
 *
 * The header and the attributes are copied from user space once. Data that they
 * point to is copied once, when the method needs it.
 */

#ifndef MODEL_UVERBS_H
#define MODEL_UVERBS_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs_trace.h"

/* Data of up to this size is in the attribute itself. */
#define UVERBS_INLINE_BYTES sizeof(uint64_t)

/* Those that fit into a page: core/uverbs_ioctl.c refuses longer calls. */
#define UVERBS_MAX_ATTRS 254

struct uverbs_call {
	uint32_t context;
	const struct uverbs_method *method; /* that runs */
	uint64_t user; /* address of the header in the program */
	uint32_t nb_attrs;
	struct ib_uverbs_attr attr[UVERBS_MAX_ATTRS];
	bool changed[UVERBS_MAX_ATTRS]; /* to be copied back */
	struct verbs_call shown;
};

enum uverbs_attr_type {
	UVERBS_IN,	   /* data of min..max bytes; longer only if the rest is 0 */
	UVERBS_OUT,	   /* at least min bytes of room */
	UVERBS_HANDLE,	   /* of an existing object */
	UVERBS_NEW_HANDLE, /* receives the new object's handle */
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

/* Rows of a method. The list ends at an optional UVERBS_IN with id 0 and no size: none here. */
#define SPEC_IN(id, min, max) { id, UVERBS_IN, true, min, max }
#define SPEC_IN_OPT(id, min, max) { id, UVERBS_IN, false, min, max }
#define SPEC_OUT(id, min) { id, UVERBS_OUT, true, min, 0 }
#define SPEC_OUT_OPT(id, min) { id, UVERBS_OUT, false, min, 0 }
#define SPEC_HANDLE(id) { id, UVERBS_HANDLE, true, 0, 0 }
#define SPEC_HANDLE_OPT(id) { id, UVERBS_HANDLE, false, 0, 0 }
#define SPEC_NEW(id) { id, UVERBS_NEW_HANDLE, true, 0, 0 }
#define SPEC_FD_OPT(id) { id, UVERBS_FD, false, 0, 0 }
#define SPEC_UHW SPEC_IN_OPT(UVERBS_ATTR_UHW_IN, 0, 0), SPEC_OUT_OPT(UVERBS_ATTR_UHW_OUT, 0)

#define UVERBS_MAX_SPECS 16

struct uverbs_method {
	uint16_t object, method;
	bool needs_ucontext; /* GET_CONTEXT must have been done */
	int (*run)(struct uverbs_call *call);
	/* Ends with an all-zero entry. */
	struct uverbs_attr_spec spec[UVERBS_MAX_SPECS];
	bool is_destroy; /* still works after removal of the device */
};

/*
 * Methods of the device object (uverbs_device.c) and of the others. Each table
 * ends with an all-zero entry.
 */
extern const struct uverbs_method uverbs_device_methods[];
extern const struct uverbs_method uverbs_object_methods[];
/* Methods of the newest kernels only. */
extern const struct uverbs_method uverbs_newer_methods[];

/*
 * Trace a call before it runs, and its result; see verbs_trace.h. Calls that
 * fail earlier are traced by their numbers.
 */
#define uverbs_begin(call, name, ...) \
	verbs_begin(&(call)->shown, (call)->context, name, __VA_ARGS__)
#define uverbs_result(call, ...) verbs_add_result(&(call)->shown, __VA_ARGS__)
#define uverbs_object(call, kind, handle) \
	verbs_number((call)->context, OBJECT_##kind, handle)

/* An attribute of the call, or NULL if the program did not pass it. */
struct ib_uverbs_attr *uverbs_attr(struct uverbs_call *call, uint16_t id);
/*
 * Copy an input, the rest 0. -EINVAL: shorter than min; -EOPNOTSUPP: a byte
 * beyond size is not 0; -ENOENT: the attribute is missing.
 */
int uverbs_in(struct uverbs_call *call, uint16_t id, void *buf, size_t size,
	      size_t min);
/* The same of any length; 0 if the attribute is missing. */
int uverbs_in_or_zero(struct uverbs_call *call, uint16_t id, void *buf,
		      size_t size);
/* UHW_IN, the driver's input: min bytes or all, as this kernel checks it. */
int uverbs_driver_in(struct uverbs_call *call, void *buf, size_t size,
		     size_t min);
/* A number of up to 8 bytes, or 0 if the attribute is missing. */
uint64_t uverbs_number(struct uverbs_call *call, uint16_t id);
/* A handle, or 0, which is no valid handle. */
uint32_t uverbs_handle(struct uverbs_call *call, uint16_t id);
/* Copy an output, cut to the program's buffer. 0 also if there is none. */
int uverbs_out(struct uverbs_call *call, uint16_t id, const void *buf,
	       size_t size);
int uverbs_out_u32(struct uverbs_call *call, uint16_t id, uint32_t value);
/* Return a new handle or descriptor. */
void uverbs_set(struct uverbs_call *call, uint16_t id, uint64_t value);

/* Methods and commands for the tables of other files. uverbs_query.c: */
int uverbs_get_context(struct uverbs_call *call);
int uverbs_query_port(struct uverbs_call *call);
int uverbs_query_device(struct uverbs_call *call);
int uverbs_query_device_ex(struct uverbs_call *call);
/* The RDMA device of the call's context; -EIO if it was removed. */
struct rdma_device;
int uverbs_device_of(const struct uverbs_call *call, struct rdma_device *device);

/* uverbs_gid.c */
int uverbs_query_gid_table(struct uverbs_call *call);
int uverbs_query_gid_entry(struct uverbs_call *call);

/* uverbs_qp.c */
int uverbs_create_qp(struct uverbs_call *call);
/* Commands modify_qp, extended or not, and modify_wq. */
int uverbs_modify_qp(struct uverbs_call *call);
int uverbs_modify_wq(struct uverbs_call *call);

#endif /* MODEL_UVERBS_H */
