/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port driven through the real libibverbs and libmana: the verbs of a
 * bring-up, and minimal code for rings and doorbells. For programs that run
 * under mana-model.
 */

#ifndef MODEL_TEST_VERBS_FIXTURE_H
#define MODEL_TEST_VERBS_FIXTURE_H

#include <errno.h>
#include <infiniband/manadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../mana_model.h"
#include "test.h"

/* A function of the model, looked up in the preloaded library. */
void *model_function(const char *name);
#define MODEL_CALL(name) ((__typeof__(&name))model_function(#name))

#define FX_MAX_QUEUES	64
#define FX_NB_CQE 64
#define FX_NB_WR 64
#define FX_BUF_BYTES 65536u
#define FX_RX_BUF_BYTES 2048u

struct fx_queue {
	struct ibv_comp_channel *channel; /* Rx, if the fixture has channels */
	struct ibv_cq *cq;
	struct ibv_qp *qp; /* Tx */
	struct ibv_wq *wq; /* Rx */
	uint8_t *ring, *cq_ring;
	uint32_t ring_bytes;
	uint32_t id, cq_id;
	uint32_t vp_offset;
	uint32_t pi_bu, cq_head, nb_cqe;
};

struct fixture {
	uint32_t device; /* index in the list of libibverbs */
	uint32_t port;	 /* from 1 */
	bool has_channels;
	/* 0 at fx_open(): FX_NB_CQE, FX_NB_WR, FX_BUF_BYTES. */
	uint32_t nb_cqe, nb_wr;
	uint32_t buf_bytes; /* the second half is for Rx */

	struct ibv_context *ctx;
	struct ibv_pd *pd, *parent;
	struct ibv_mr *mr;
	uint8_t *buf;
	volatile void *doorbell;

	uint32_t nb_tx, nb_rx;
	struct fx_queue tx[FX_MAX_QUEUES], rx[FX_MAX_QUEUES];
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss;
};

/*
 * Steps of the bring-up: 0 or the errno of the failed verb. After a failure,
 * fx_close() destroys the objects created so far.
 */
int fx_open(struct fixture *fx, uint32_t device, uint32_t port);
int fx_add_tx(struct fixture *fx);
int fx_add_rx(struct fixture *fx); /* CQ and WQ, no RSS yet */
int fx_start_rx(struct fixture *fx);
/* All steps. */
int fx_up(struct fixture *fx, uint32_t device, uint32_t port, uint32_t nb_tx,
	  uint32_t nb_rx);
/*
 * Destroy in the correct order. Continues after an error; 0 or the first error.
 */
int fx_stop_rx(struct fixture *fx);
int fx_stop_tx(struct fixture *fx);
int fx_close(struct fixture *fx);

/* cmocka set-up and tear-down of an empty fixture in *state. */
int fx_setup(void **state);
int fx_teardown(void **state);
#define FX_TEST(name) TEST_WITH(name, fx_setup, fx_teardown)

/* Rings of libmana's allocators, which are those of a driver. */
extern uint32_t fx_nb_rings;

/* QP attributes of the bring-up, which tests change. */
struct ibv_qp_init_attr fx_qp_attr(struct ibv_cq *cq);
struct ibv_qp_init_attr_ex fx_rss_attr(struct fixture *fx);

/* Traffic: post the frame at buf + off; post n Rx buffers. */
void fx_send(struct fixture *fx, struct fx_queue *q, uint32_t off,
	     uint32_t nb_bytes);
void fx_fill(struct fixture *fx, struct fx_queue *q, uint32_t n);
void fx_ring_cq(struct fixture *fx, struct fx_queue *q, bool arm);
bool fx_has_cqe(const struct fx_queue *q);
/* Consume the next CQE by its owner bits; waits up to a second; NULL: none. */
const uint8_t *fx_cqe(struct fx_queue *q);
/* The same: it must exist, be of this type, and name the queue. */
const uint8_t *fx_take(struct fx_queue *q, uint32_t type);
/* Send a frame to everybody and take its completion. */
void fx_check_sends(struct fixture *fx);
/* Post several frames with one doorbell. */
void fx_post_send(struct fixture *fx, struct fx_queue *q, uint32_t off,
		  uint32_t nb_bytes);
void fx_ring_send(struct fixture *fx, struct fx_queue *q);

/* Assert that a verb returns NULL with this errno. */
#define assert_fails(call, error)              \
	do {                                   \
		errno = 0;                     \
		assert_null(call);             \
		assert_int_equal(errno, error); \
	} while (0)

/*
 * Run a command of the machine: 0 or a negative errno, with a text in
 * fx_message; or assert that it succeeds.
 */
extern char fx_message[256];
int fx_command(const char *line);
void fx_do(const char *line);

/* ethtool on a netdev; data begins with the command. 0 or errno. */
int fx_ethtool(const char *netdev, void *data);

/* A child's assertion, which it reports by its exit status. */
#define CHILD_CHECK(condition)                     \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 200 + 1); \
	} while (0)
/* Assert that a child ends with this status of waitpid(). */
void fx_wait_for(pid_t pid, int status);
/* Pass a descriptor through a Unix socket; fx_receive_fd(): or -1. */
void fx_send_fd(int sock, int fd);
int fx_receive_fd(int sock);

/* A port's counters; port from 0. */
struct mana_model_port fx_counters(unsigned int fn, unsigned int port);
struct mana_model_objects fx_objects(void);
#define assert_no_objects()                                                  \
	do {                                                                 \
		struct mana_model_objects o_ = fx_objects(), none_ = { 0 };   \
		assert_memory_equal(&o_, &none_, sizeof(o_));                \
	} while (0)

#endif /* MODEL_TEST_VERBS_FIXTURE_H */
