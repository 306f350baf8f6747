/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The interface to the kernel: libibverbs and libmana.
 *
 * Every function returns 0 or a negative errno, and belongs to the control path of
 * the primary process. A destroy accepts NULL and asks the kernel twice before it
 * gives up. Nothing here allocates DPDK memory except the rings, which libmana asks
 * for through the allocators of the context.
 */

#ifndef MANA_VERBS_H
#define MANA_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

/* Length of the RSS hash key: rdma-core refuses any other (providers/mana). */
#define MANA_RSS_KEY_BYTES 40

/* What the kernel reports of an RDMA device. Limits are UINT32_MAX where unknown. */
struct mana_verbs_caps {
	uint32_t vendor_part_id; /* 0 on older kernels, else the GDMA type */
	uint32_t raw_packet_caps;
	uint32_t nb_ports;
	uint32_t max_qp;
	uint32_t max_qp_wr; /* WQEs of a queue */
	uint32_t max_cqe;
	uint32_t max_sge; /* smaller one of send and receive */
	uint32_t nb_comp_vectors; /* at least 1 */
};

/* A Tx or Rx queue with its CQ, as the device knows them. */
struct mana_verbs_queue {
	void *ring;
	uint32_t ring_bytes; /* power of two */
	uint32_t id; /* of an Rx queue and its CQ: once the RSS QP exists */
	uint32_t vp_offset; /* tx vPort offset that every WQE carries; Tx only */
	void *cq_ring;
	uint32_t cq_id;
};

/* The rings of a context. */
struct mana_verbs_rings {
	int socket_id; /* of the rings that are created next; or SOCKET_ID_ANY */
	struct mana_verbs_ring *first;
};

/* rdma-core's version by the name of the provider's file, or "unknown". */
void mana_verbs_provider_version(char *text, size_t size);

/* 0 or a negative errno of a destroy. */
#define MANA_VERBS_DESTROY(verb, object) \
	((object) == NULL || verb(object) == 0 ? 0 : -abs(verb(object)))
#define mana_verbs_pd_destroy(pd) MANA_VERBS_DESTROY(ibv_dealloc_pd, pd)
#define mana_verbs_cq_destroy(cq) MANA_VERBS_DESTROY(ibv_destroy_cq, cq)
#define mana_verbs_wq_destroy(wq) MANA_VERBS_DESTROY(ibv_destroy_wq, wq)
#define mana_verbs_qp_destroy(qp) MANA_VERBS_DESTROY(ibv_destroy_qp, qp)
#define mana_verbs_ind_destroy(ind) \
	MANA_VERBS_DESTROY(ibv_destroy_rwq_ind_table, ind)

/* The RDMA devices of the machine, for ibv_free_device_list(); maybe none. */
int mana_verbs_list_get(struct ibv_device ***list, int *nb_devices);
/* -EACCES, -EPERM: the program may not open the node. */
int mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx);
int mana_verbs_close(struct ibv_context *ctx);
int mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps);

/* The descriptor of asynchronous events; reading it no longer blocks. */
int mana_verbs_events_open(struct ibv_context *ctx, int *fd);
/*
 * The next event and its name for messages; -EAGAIN: none. *is_fatal is set when the
 * device was removed, which is the last event. One thread at a time.
 */
int mana_verbs_event_get(struct ibv_context *ctx, bool *is_fatal,
			 const char **name);

/* The driver allocates all rings from now on. rings must outlive ctx. */
int mana_verbs_rings_from(struct ibv_context *ctx,
			  struct mana_verbs_rings *rings);
/*
 * After the close: frees the rings of objects that the kernel did not destroy, because
 * an older kernel refuses it when the device is removed.
 */
void mana_verbs_rings_release(struct mana_verbs_rings *rings);

/*
 * The protection domain of a port and the parent domain that names it. After a failure
 * the caller destroys what is not NULL.
 */
int mana_verbs_pd_create(struct ibv_context *ctx, uint32_t port,
			 struct ibv_pd **pd, struct ibv_pd **parent);

/* The device may read, and write if asked, [addr, addr + len). */
int mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len,
			 bool is_writable, struct ibv_mr **mr, uint32_t *lkey);
int mana_verbs_mr_destroy(struct ibv_mr *mr);

/*
 * The channel's descriptor becomes readable at an event of its CQs, or in error when the
 * device is removed. After a failure the caller destroys a channel that is not NULL.
 */
int mana_verbs_channel_create(struct ibv_context *ctx,
			      struct ibv_comp_channel **channel);
/* After its CQs; NULL allowed. The descriptor is closed in any case. */
void mana_verbs_channel_destroy(struct ibv_comp_channel *channel);
/*
 * Takes all events, without waiting, or many if they do not end; returns their number.
 * The CQs must exist.
 */
int mana_verbs_channel_drain(struct ibv_comp_channel *channel);

/* nb_cqe: a power of two >= 64; channel may be NULL. */
int mana_verbs_cq_create(struct ibv_context *ctx, uint32_t nb_cqe,
			 struct ibv_comp_channel *channel, uint32_t vector,
			 struct ibv_cq **cq);

/* A Tx queue; the first one of a parent domain takes the vPort. */
int mana_verbs_sq_create(struct ibv_pd *parent, struct ibv_cq *cq,
			 uint32_t nb_wqe, uint32_t nb_sge, struct ibv_qp **qp);
/* -EINVAL if a ring is not in memory of the driver, that of the CQ for nb_cqe CQEs. */
int mana_verbs_sq_get(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t nb_cqe,
		      struct mana_verbs_queue *queue);

int mana_verbs_wq_create(struct ibv_pd *parent, struct ibv_cq *cq,
			 uint32_t nb_wqe, uint32_t nb_sge, struct ibv_wq **wq);
int mana_verbs_rq_get(struct ibv_wq *wq, struct ibv_cq *cq, uint32_t nb_cqe,
		      struct mana_verbs_queue *queue);

/* nb_wq: a power of two; all different. */
int mana_verbs_ind_create(struct ibv_context *ctx, struct ibv_wq **wqs,
			  uint32_t nb_wq, struct ibv_rwq_ind_table **ind);

/* Reception starts: the Tx queue that took the vPort must exist. */
int mana_verbs_rss_create(struct ibv_pd *parent, struct ibv_rwq_ind_table *ind,
			  const uint8_t key[MANA_RSS_KEY_BYTES],
			  struct ibv_qp **qp);

#endif /* MANA_VERBS_H */
