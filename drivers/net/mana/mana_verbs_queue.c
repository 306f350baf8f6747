/* SPDX-License-Identifier: BSD-3-Clause */

/* The objects of queues, and the memory of their rings. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/manadv.h>
#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "mana_verbs.h"

/* ---- Rings ----------------------------------------------------------------- */

/* Remembered apart from the ring, which is all pages. */
struct mana_verbs_ring {
	struct mana_verbs_ring *next;
	void *memory;
};

/*
 * Rings must start at a page boundary and be zero (owner bits of CQEs): the
 * kernel insists on offset 0 in its page (mana_ib_create_zero_offset_dma_region).
 */
static void *
ring_alloc(size_t size, void *data)
{
	size_t align = RTE_MAX((size_t)sysconf(_SC_PAGESIZE), (size_t)4096);
	struct mana_verbs_rings *rings = data;
	struct mana_verbs_ring *ring;

	ring = malloc(sizeof(*ring));
	if (ring == NULL)
		return NULL;
	ring->memory = rte_zmalloc_socket("mana_ring", size, align,
					  rings->socket_id);
	if (ring->memory == NULL)
		ring->memory = rte_zmalloc("mana_ring", size, align);
	if (ring->memory == NULL) {
		free(ring);
		errno = ENOMEM;
		return NULL;
	}
	ring->next = rings->first;
	rings->first = ring;
	return ring->memory;
}

/* libmana calls this with NULL for an RSS QP, which has no ring. */
static void
ring_free(void *memory, void *data)
{
	struct mana_verbs_rings *rings = data;
	struct mana_verbs_ring **link;

	for (link = &rings->first; *link != NULL; link = &(*link)->next) {
		struct mana_verbs_ring *ring = *link;

		if (ring->memory != memory)
			continue;
		*link = ring->next;
		rte_free(memory);
		free(ring);
		return;
	}
}

int
mana_verbs_rings_from(struct ibv_context *ctx, struct mana_verbs_rings *rings,
		      int socket_id)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc,
		.free = ring_free,
		.data = rings,
	};
	int ret;

	rings->socket_id = socket_id;
	/* The structure is copied into the context; the last call wins. */
	ret = manadv_set_context_attr(ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				      &allocators);
	return -abs(ret);
}

void
mana_verbs_rings_release(struct mana_verbs_rings *rings)
{
	while (rings->first != NULL)
		ring_free(rings->first->memory, rings);
}

/* ---- Objects --------------------------------------------------------------- */

int
mana_verbs_cq_create(struct ibv_context *ctx, uint32_t nb_cqe,
		     struct ibv_comp_channel *channel, uint32_t vector,
		     struct ibv_cq **cq)
{
	errno = 0;
	*cq = ibv_create_cq(ctx, nb_cqe, NULL, channel, vector);
	return *cq != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_cq_destroy(struct ibv_cq *cq)
{
	if (cq == NULL || ibv_destroy_cq(cq) == 0)
		return 0;
	return -abs(ibv_destroy_cq(cq));
}

int
mana_verbs_sq_create(struct ibv_pd *parent, struct ibv_cq *cq, uint32_t nb_wqe,
		     uint32_t nb_sge, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.cap.max_send_wr = nb_wqe;
	attr.cap.max_send_sge = nb_sge;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	errno = 0;
	*qp = ibv_create_qp(parent, &attr);
	return *qp != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_sq_get(struct ibv_qp *qp, struct ibv_cq *cq, struct mana_verbs_sq *sq)
{
	struct manadv_qp dv_qp = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.qp = { .in = qp, .out = &dv_qp },
		.cq = { .in = cq, .out = &dv_cq },
	};
	int ret;

	ret = manadv_init_obj(&obj, MANADV_OBJ_QP | MANADV_OBJ_CQ);
	if (ret != 0)
		return -abs(ret);
	*sq = (struct mana_verbs_sq){
		.sq_ring = dv_qp.sq_buf,
		.sq_bytes = dv_qp.sq_size,
		.sq_id = dv_qp.sq_id,
		.vp_offset = dv_qp.tx_vp_offset,
		.cq_ring = dv_cq.buf,
		.cq_id = dv_cq.cq_id,
		.doorbell_page = dv_qp.db_page,
	};
	return 0;
}

int
mana_verbs_wq_create(struct ibv_pd *parent, struct ibv_cq *cq, uint32_t nb_wqe,
		     uint32_t nb_sge, struct ibv_wq **wq)
{
	struct ibv_wq_init_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.wq_type = IBV_WQT_RQ;
	attr.max_wr = nb_wqe;
	attr.max_sge = nb_sge;
	attr.pd = parent;
	attr.cq = cq;
	errno = 0;
	*wq = ibv_create_wq(parent->context, &attr);
	return *wq != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_wq_destroy(struct ibv_wq *wq)
{
	if (wq == NULL || ibv_destroy_wq(wq) == 0)
		return 0;
	return -abs(ibv_destroy_wq(wq));
}

int
mana_verbs_rq_get(struct ibv_wq *wq, struct ibv_cq *cq, struct mana_verbs_rq *rq)
{
	struct manadv_rwq dv_rwq = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.cq = { .in = cq, .out = &dv_cq },
		.rwq = { .in = wq, .out = &dv_rwq },
	};
	int ret;

	ret = manadv_init_obj(&obj, MANADV_OBJ_CQ | MANADV_OBJ_RWQ);
	if (ret != 0)
		return -abs(ret);
	*rq = (struct mana_verbs_rq){
		.rq_ring = dv_rwq.buf,
		.rq_bytes = dv_rwq.size,
		.rq_id = dv_rwq.wq_id,
		.cq_ring = dv_cq.buf,
		.cq_id = dv_cq.cq_id,
		.doorbell_page = dv_rwq.db_page,
	};
	return 0;
}

int
mana_verbs_ind_create(struct ibv_context *ctx, struct ibv_wq **wqs,
		      uint32_t nb_wq, struct ibv_rwq_ind_table **ind)
{
	struct ibv_rwq_ind_table_init_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.log_ind_tbl_size = rte_log2_u32(nb_wq);
	attr.ind_tbl = wqs;
	errno = 0;
	*ind = ibv_create_rwq_ind_table(ctx, &attr);
	return *ind != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_ind_destroy(struct ibv_rwq_ind_table *ind)
{
	if (ind == NULL || ibv_destroy_rwq_ind_table(ind) == 0)
		return 0;
	return -abs(ibv_destroy_rwq_ind_table(ind));
}

int
mana_verbs_rss_create(struct ibv_pd *parent, struct ibv_rwq_ind_table *ind,
		      const uint8_t key[MANA_RSS_KEY_BYTES], struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex attr;

	/* Everything not named stays 0: the core refuses it with a table. */
	memset(&attr, 0, sizeof(attr));
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			 IBV_QP_INIT_ATTR_IND_TABLE;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	attr.pd = parent;
	attr.rwq_ind_tbl = ind;
	attr.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
	attr.rx_hash_conf.rx_hash_key_len = MANA_RSS_KEY_BYTES;
	attr.rx_hash_conf.rx_hash_key = (uint8_t *)(uintptr_t)key;
	/* The device hashes these whatever is asked (mana_ib ignores it). */
	attr.rx_hash_conf.rx_hash_fields_mask =
		IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
		IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
		IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
		IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
	errno = 0;
	*qp = ibv_create_qp_ex(parent->context, &attr);
	return *qp != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_qp_destroy(struct ibv_qp *qp)
{
	if (qp == NULL || ibv_destroy_qp(qp) == 0)
		return 0;
	return -abs(ibv_destroy_qp(qp));
}
