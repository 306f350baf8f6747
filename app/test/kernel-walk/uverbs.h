/* SPDX-License-Identifier: BSD-3-Clause */

/* Requests of the uverbs interface. All functions return 0 or a positive errno. */

#ifndef KERNEL_WALK_UVERBS_H
#define KERNEL_WALK_UVERBS_H

#include "uverbs_calls.h"
#include "walk.h"

#define NO_HANDLE 0x7777 /* used by no object */

/* A command of the old write interface, through ioctl (INVOKE_WRITE). */
#define EXTENDED 0x80000000u /* in the number of a command */
struct uverbs_command {
	uint32_t number; /* IB_USER_VERBS_CMD_*, with EXTENDED _EX_CMD_* */
	/* The first 8 bytes of a command that is not extended are not used. */
	void *in;
	uint16_t in_bytes;
	void *out;
	uint16_t out_bytes;
};
int uverbs_command(int fd, struct uverbs_command *command);
struct uverbs_command uverbs_make(uint32_t number, void *in, uint16_t in_bytes,
				  void *out, uint16_t out_bytes);

/* The node of walk_device. */
int uverbs_open(void);
/* The same with a context. */
int uverbs_open_context(void);
int uverbs_get_context(int fd, uint32_t *nb_comp_vectors, uint64_t *support);

/* Add an attribute unless its bit is in omit. */
void uverbs_add(struct call *call, uint32_t omit, uint16_t id, uint16_t len,
		uint64_t data);
/* The value that a kernel wrote to an attribute: handle or descriptor. */
uint32_t uverbs_value(const struct call *call, uint16_t id);

/* ---- PD, memory region ---- */

int uverbs_alloc_pd(int fd, uint32_t *pd);
struct uverbs_mr {
	uint64_t start, length, hca_va;
	uint32_t pd, access;
	/* answer */
	uint32_t handle, lkey, rkey;
};
int uverbs_reg_mr(int fd, struct uverbs_mr *mr);
/* A page that can be registered. */
struct uverbs_mr uverbs_good_mr(uint32_t pd);

/* ---- queues ---- */

/* *channel: the new descriptor. */
int uverbs_create_channel(int fd, int32_t *channel);

struct uverbs_cq {
	uint32_t cqe, vector;
	uint64_t user_handle;
	int32_t channel; /* descriptor; -1: none */
	uint32_t flags; /* UINT32_MAX: none */
	uint64_t buffer;
	uint64_t uhw_flags; /* behind the buffer's address */
	uint16_t uhw_in_bytes, uhw_out_bytes;
	uint32_t omit; /* bits of attributes */
	/* answer */
	uint32_t handle, cqe_answer, uhw_out[2];
};
#define UVERBS_CQ                                                            \
	{                                                                    \
		.cqe = 64, .user_handle = 0x1234, .channel = -1,             \
		.flags = UINT32_MAX, .buffer = WALK_RAM, .uhw_in_bytes = 16, \
		.uhw_out_bytes = 8                                           \
	}
int uverbs_create_cq(int fd, struct uverbs_cq *cq);

struct uverbs_wq {
	uint32_t pd, cq;
	uint64_t type;
	uint32_t max_wr, max_sge;
	uint32_t flags; /* UINT32_MAX: none */
	uint64_t user_handle, buffer;
	uint32_t buffer_bytes, reserved;
	uint16_t uhw_in_bytes;
	uint32_t omit;
	/* answer */
	uint32_t handle, max_wr_answer, max_sge_answer, number;
};
int uverbs_create_wq(int fd, struct uverbs_wq *wq);

struct uverbs_table {
	uint32_t comp_mask, log_size;
	uint32_t wq[64];
	uint32_t nb_wqs; /* present in the request */
	uint32_t padding; /* behind them */
	/* answer */
	uint32_t handle, number, response_length, comp_mask_answer;
};
int uverbs_create_table(int fd, struct uverbs_table *table);

/* struct mana_ib_create_qp, mana_ib_create_qp_rss of Linux mana-abi.h. */
struct mana_raw {
	uint64_t buffer;
	uint32_t buffer_bytes, port;
};
struct mana_rss {
	uint64_t fields;
	uint8_t function, reserved[7];
	uint32_t key_bytes;
	uint8_t key[40];
	uint32_t port;
};
struct uverbs_qp {
	uint32_t pd, send_cq, recv_cq, table;
	uint64_t type, user_handle;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	uint32_t max_inline;
	uint32_t flags; /* UINT32_MAX: none */
	bool is_rss;
	struct mana_raw raw;
	struct mana_rss rss;
	uint16_t uhw_in_bytes, uhw_out_bytes;
	uint32_t omit;
	/* answer */
	uint32_t handle, number, cap[5];
	uint32_t uhw_out[130];
};
int uverbs_create_qp(int fd, struct uverbs_qp *qp);

/* ---- destruction ---- */

/* Object: UVERBS_OBJECT_*. Answers of destroy methods are stored if any. */
int uverbs_destroy(int fd, uint16_t object, uint32_t handle);
/* The same, with a line for the result. */
void uverbs_try_destroy(int fd, uint16_t object, uint32_t handle,
			const char *what);
extern uint32_t uverbs_destroy_answer[2];

#endif /* KERNEL_WALK_UVERBS_H */
