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

#endif /* MODEL_UVERBS_METHODS_H */
