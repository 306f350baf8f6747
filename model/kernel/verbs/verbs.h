/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The verbs of mana_ib and the verbs core: checks, references, and commands to
 * the card. They are independent of the user space interface.
 *
 * The verbs_* functions with a context take the machine's lock themselves and
 * return 0 or a negative errno; after a failure nothing has changed. The
 * *_teardown functions destroy an object in any state, with the lock held: also
 * one that is unfinished, or that a killed process has partly torn down.
 */

#ifndef MODEL_VERBS_H
#define MODEL_VERBS_H

#include <stdbool.h>

#include "kernel_state.h"

int verbs_get_context(uint32_t context);
/* Create an event file; returns its descriptor in this process. */
int verbs_alloc_async(uint32_t context);
int verbs_create_comp_channel(uint32_t context);

/* Errors of object_check(). */
int verbs_check_handle(uint32_t context, enum object_kind kind,
		       uint32_t handle);

int verbs_alloc_pd(uint32_t context, uint32_t *handle);
int verbs_dealloc_pd(uint32_t context, uint32_t handle);

struct verbs_mr {
	uint64_t start, length, iova;
	uint32_t pd;
	uint32_t access; /* IB_UVERBS_ACCESS_* */
};
int verbs_reg_mr(uint32_t context, const struct verbs_mr *mr,
		 uint32_t *handle, uint32_t *key);
int verbs_dereg_mr(uint32_t context, uint32_t handle);

struct verbs_cq {
	uint64_t user_handle;
	uint64_t buf_addr;
	uint32_t nb_cqe;
	uint32_t comp_vector;
	int channel_fd; /* -1: none */
	bool has_rnic_flag; /* MANA_IB_CREATE_RNIC_CQ */
};
int verbs_create_cq(uint32_t context, const struct verbs_cq *cq,
		    uint32_t *handle);
/* *nb_events: completion events that the program has read. */
int verbs_destroy_cq(uint32_t context, uint32_t handle, uint32_t *nb_events);

struct verbs_wq {
	uint32_t pd, cq;
	uint32_t type;
	uint64_t buf_addr;
	uint32_t buf_bytes;
};
int verbs_create_wq(uint32_t context, const struct verbs_wq *wq,
		    uint32_t *handle);
int verbs_destroy_wq(uint32_t context, uint32_t handle);

/* wq[]: 1 << log_size handles. */
int verbs_create_ind(uint32_t context, const uint32_t *wq, uint32_t log_size,
		     uint32_t *handle);
int verbs_destroy_ind(uint32_t context, uint32_t handle);

struct verbs_qp {
	uint32_t pd, send_cq, recv_cq;
	uint32_t max_send_wr, max_send_sge;
	uint64_t buf_addr;
	uint32_t buf_bytes;
	uint32_t port; /* from 1, as in user space */
};
struct verbs_qp_result {
	uint32_t handle;
	uint32_t sq_id, cq_id, tx_vp_offset;
};
int verbs_create_qp(uint32_t context, const struct verbs_qp *qp,
		    struct verbs_qp_result *result);

struct verbs_rss {
	uint32_t pd, ind;
	uint32_t hash_function;
	uint32_t key_bytes;
	uint8_t key[CARD_RSS_KEY_BYTES];
	uint32_t port; /* from 1 */
};
struct verbs_rss_result {
	uint32_t handle;
	uint32_t nb_entries;
	struct {
		uint32_t cq_id, wq_id;
	} entry[CARD_RSS_TABLE_SIZE];
};
int verbs_create_rss(uint32_t context, const struct verbs_rss *rss,
		     struct verbs_rss_result *result);
int verbs_destroy_qp(uint32_t context, uint32_t handle);

void verbs_pd_teardown(uint32_t handle);
void verbs_mr_teardown(uint32_t handle);
void verbs_cq_teardown(uint32_t handle);
void verbs_wq_teardown(uint32_t handle);
void verbs_ind_teardown(uint32_t handle);
void verbs_qp_teardown(uint32_t handle);

/*
 * Create the device CQ of a CQ object for a QP object, and enter it into the
 * function's table. With the lock held. After a failure the CQ's region is
 * consumed if the device has taken it.
 */
int verbs_cq_bind(uint32_t cq, uint32_t qp, uint32_t pdn);
/* Destroy the device CQ if this QP created it; its table entry stays. */
void verbs_cq_unbind(uint32_t cq, uint32_t qp);
void verbs_rss_teardown(uint32_t qp_handle);

/* mana_ib_cq_handler() and ib_uverbs_comp_handler(); lock held. */
void verbs_cq_event(uint32_t fn, uint32_t cq_id);
/* repair.c: the lock's holder was killed: repair the card, then the kernel's objects. */
void verbs_repair(void);
/* For kernel_reclaim_dead(), which see. The caller holds the machine's lock. */
void verbs_reclaim_dead(void);

/*
 * Doorbell pages of plain memory (--mode step). In other modes these do nothing. With the
 * machine's lock held; 0 or -errno.
 */
int plain_queues_refuse_channel(void);
/* Before queues are created: the register may hold an id of theirs, from an earlier queue. */
int plain_queues_prepare(const struct kernel_context *ctx, bool is_sq);

#endif /* MODEL_VERBS_H */
