/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects that the walk needs for others; a failure is a line of its own. */

#ifndef KERNEL_WALK_OBJECTS_H
#define KERNEL_WALK_OBJECTS_H

#include "uverbs.h"

/* Rings: each object takes a place of its own by number. */
#define OBJECTS_CQ WALK_RAM /* 128 KiB each */
#define OBJECTS_SQ (WALK_RAM + (UINT64_C(8) << 20))
#define OBJECTS_RQ (WALK_RAM + (UINT64_C(12) << 20)) /* 8 KiB each */

uint32_t object_pd(int fd);
/* CQ number nth, with as many entries. */
uint32_t object_cq(int fd, uint32_t nb_entries, uint32_t nth);
/* WQ number nth of 8 KiB, on a CQ of its own. */
struct object_rq {
	uint32_t cq, wq;
};
struct object_rq object_rq(int fd, uint32_t pd, uint32_t nth);
void object_destroy_rq(int fd, const struct object_rq *rq);
uint32_t object_table(int fd, const struct object_rq *rqs, uint32_t log_size);
void object_destroy(int fd, uint16_t object, uint32_t handle);

/* Requests that succeed. */
struct uverbs_qp object_raw_qp(uint32_t pd, uint32_t cq, uint32_t port);
struct uverbs_qp object_rss_qp(uint32_t pd, uint32_t table, uint32_t port);
/* Create it, with a line for the answer, and destroy it. */
void object_try_qp(int fd, struct uverbs_qp *qp, const char *what);
void object_say_qp(int error, const char *what, const struct uverbs_qp *qp);

#endif /* KERNEL_WALK_OBJECTS_H */
