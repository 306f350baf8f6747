/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Methods and commands that stand in a table of another file.
 */

#ifndef MODEL_UVERBS_METHODS_H
#define MODEL_UVERBS_METHODS_H

#include "uverbs.h"

/* uverbs_query.c */
int uverbs_get_context(struct uverbs_call *call);
int uverbs_query_context(struct uverbs_call *call);
int uverbs_query_port(struct uverbs_call *call);
int uverbs_query_device(struct uverbs_call *call);
int uverbs_query_device_ex(struct uverbs_call *call);

/* uverbs_qp.c */
int uverbs_create_qp(struct uverbs_call *call);
int uverbs_destroy_qp(struct uverbs_call *call);

/* uverbs_legacy.c */
int uverbs_legacy_get_context(struct uverbs_call *call);
int uverbs_legacy_query_port(struct uverbs_call *call);
int uverbs_legacy_create_cq(struct uverbs_call *call);
int uverbs_legacy_create_qp(struct uverbs_call *call);
int uverbs_legacy_create_qp_ex(struct uverbs_call *call);
int uverbs_legacy_create_wq(struct uverbs_call *call);
/* Of any kind of object: by the number of the command. */
int uverbs_legacy_destroy(struct uverbs_call *call);

/* uverbs_device.c: the sizes of a command and its answer, without the driver's. */
struct uverbs_command_bytes {
	uint16_t in, out;
};
bool uverbs_command_bytes(uint32_t command, struct uverbs_command_bytes *bytes);

#endif /* MODEL_UVERBS_METHODS_H */
