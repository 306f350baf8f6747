/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port driven through the real libibverbs and libmana, without a driver:
 * the verbs sequence of a bring-up, rings and doorbells written by hand. For
 * programs that run under mana-model.
 */

#ifndef MODEL_TEST_VERBS_RIG_H
#define MODEL_TEST_VERBS_RIG_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <infiniband/manadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../mana_model.h"

/* A function of the model, looked up in the preloaded library. */
void *model_function(const char *name);
#define MODEL_CALL(name) ((__typeof__(&name))model_function(#name))

#define VRIG_MAX_QUEUES 16
#define VRIG_NB_CQE 64
#define VRIG_NB_WR 64
#define VRIG_BUF_BYTES 65536u
#define VRIG_RX_BUF_BYTES 2048u

struct vrig_queue {
	struct ibv_comp_channel *channel; /* Rx, if the rig has channels */
	struct ibv_cq *cq;
	struct ibv_qp *qp; /* Tx */
	struct ibv_wq *wq; /* Rx */
	uint8_t *ring, *cq_ring;
	uint32_t ring_bytes;
	uint32_t id, cq_id;
	uint32_t vp_offset;
	uint32_t pi_bu, cq_head, nb_cqe;
};

struct vrig {
	uint32_t device; /* in the list of libibverbs */
	uint32_t port;	 /* from 1 */
	bool has_channels;
	/* 0 when it opens: VRIG_NB_CQE, VRIG_NB_WR, VRIG_BUF_BYTES. */
	uint32_t nb_cqe, nb_wr;
	uint32_t buf_bytes; /* the second half for receiving */

	struct ibv_context *ctx;
	struct ibv_pd *pd, *parent;
	struct ibv_mr *mr;
	uint8_t *buf;
	volatile void *doorbell;

	uint32_t nb_tx, nb_rx;
	struct vrig_queue tx[VRIG_MAX_QUEUES], rx[VRIG_MAX_QUEUES];
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss;
};

/*
 * Steps of the bring-up: 0 or the errno of the verb that failed. Each leaves
 * what there is so far in the rig; vrig_close() takes down any half.
 */
int vrig_open(struct vrig *rig, uint32_t device, uint32_t port);
int vrig_add_tx(struct vrig *rig);
int vrig_add_rx(struct vrig *rig); /* CQ and WQ, no RSS yet */
int vrig_start_rx(struct vrig *rig);
/* All of it. */
int vrig_up(struct vrig *rig, uint32_t device, uint32_t port, uint32_t nb_tx,
	    uint32_t nb_rx);
/* In the right order; 0 or the first error, and then goes on. */
int vrig_stop_rx(struct vrig *rig);
int vrig_close(struct vrig *rig);

/* cmocka set-up and tear-down of an empty rig in *state. */
int vrig_setup(void **state);
int vrig_teardown(void **state);

/* Allocators as a driver gives them to libmana; counted. */
extern uint32_t vrig_nb_rings;
void vrig_set_allocators(struct ibv_context *ctx);

/* QP attributes as the bring-up uses them, to be spoilt by tests. */
struct ibv_qp_init_attr vrig_qp_attr(struct ibv_cq *cq);
struct ibv_qp_init_attr_ex vrig_rss_attr(struct vrig *rig);

/* Traffic: post a frame that lies at buf + off; post n Rx buffers. */
void vrig_send(struct vrig *rig, struct vrig_queue *q, uint32_t off,
	       uint32_t nb_bytes);
void vrig_fill(struct vrig *rig, struct vrig_queue *q, uint32_t n);
void vrig_ring_cq(struct vrig *rig, struct vrig_queue *q, bool arm);
/* The next CQE by the owner rule, or NULL; waits up to a second for it. */
const uint8_t *vrig_cqe(struct vrig_queue *q);
/* Several frames at once, and one doorbell. */
void vrig_post_send(struct vrig *rig, struct vrig_queue *q, uint32_t off,
		    uint32_t nb_bytes);
void vrig_ring_send(struct vrig *rig, struct vrig_queue *q);

/* errno of a verb that is to return NULL. */
#define assert_fails(call, error)              \
	do {                                   \
		errno = 0;                     \
		assert_null(call);             \
		assert_int_equal(errno, error); \
	} while (0)

struct mana_model_objects vrig_objects(void);
#define assert_no_objects()                                                  \
	do {                                                                 \
		struct mana_model_objects o_ = vrig_objects(), none_ = { 0 }; \
		assert_memory_equal(&o_, &none_, sizeof(o_));                \
	} while (0)

#endif /* MODEL_TEST_VERBS_RIG_H */
