/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Driver-specific parts of uverbs requests and answers, as of Linux 7.2
 * include/uapi/rdma/mana-abi.h (distributions do not install that header).
 */

#ifndef MODEL_MANA_ABI_H
#define MODEL_MANA_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MANA_ABI_UVERBS_VERSION 1
#define MANA_ABI_DRIVER_ID 20 /* RDMA_DRIVER_MANA */
#define MANA_ABI_CQ_RNIC 0x1  /* flags of create_cq */

struct mana_abi_create_cq {
	uint64_t buf_addr;
	/* From here on in newer libraries only. */
	uint16_t flags;
	uint16_t reserved0;
	uint32_t reserved1;
};
static_assert(sizeof(struct mana_abi_create_cq) == 16, "create_cq");
#define MANA_ABI_CREATE_CQ_MIN 8

struct mana_abi_create_cq_resp {
	uint32_t cqid;
	uint32_t reserved;
};

struct mana_abi_create_qp {
	uint64_t sq_buf_addr;
	uint32_t sq_buf_size;
	uint32_t port;
};
static_assert(sizeof(struct mana_abi_create_qp) == 16, "create_qp");

struct mana_abi_create_qp_resp {
	uint32_t sqid;
	uint32_t cqid;
	uint32_t tx_vp_offset;
	uint32_t reserved;
};
static_assert(sizeof(struct mana_abi_create_qp_resp) == 16, "create_qp");

struct mana_abi_create_wq {
	uint64_t wq_buf_addr;
	uint32_t wq_buf_size;
	uint32_t reserved;
};
static_assert(sizeof(struct mana_abi_create_wq) == 16, "create_wq");
#define MANA_ABI_CREATE_WQ_MIN offsetof(struct mana_abi_create_wq, reserved)

struct mana_abi_create_rss {
	uint64_t rx_hash_fields_mask;
	uint8_t rx_hash_function;
	uint8_t reserved[7];
	uint32_t rx_hash_key_len;
	uint8_t rx_hash_key[40];
	uint32_t port;
};
static_assert(sizeof(struct mana_abi_create_rss) == 64, "create_qp_rss");

struct mana_abi_create_rss_resp {
	uint64_t num_entries;
	struct {
		uint32_t cqid;
		uint32_t wqid;
	} entries[64];
};
static_assert(sizeof(struct mana_abi_create_rss_resp) == 520, "create_qp_rss");

#endif /* MODEL_MANA_ABI_H */
