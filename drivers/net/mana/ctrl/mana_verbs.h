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

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "mana_gdma.h"

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

/* The rings of a context, all with one doorbell page. */
struct mana_verbs_rings {
	void *db_page; /* mana_db_page() */
	int socket_id; /* of the rings that are created next; or SOCKET_ID_ANY */
	LIST_HEAD(mana_verbs_ring_list, mana_verbs_ring) list;
};

/* rdma-core's version by the name of the provider's file, or "unknown". */
void mana_verbs_provider_version(char *text, size_t size);

/*
 * 0, or a negative errno: the object is NULL. Verbs that return a pointer leave the reason in
 * errno; some do not.
 */
#define MANA_VERBS_CREATE(object, verb) \
	(errno = 0, ((object) = (verb)) != NULL ? 0 : mana_verbs_error())
int mana_verbs_error(void);
/*
 * 0 or a negative errno of a destroy, which is tried twice: an object that remains for want
 * of memory takes the id of its CQ with it until the context is closed.
 */
#define MANA_VERBS_DESTROY(verb, object) \
	((object) == NULL || verb(object) == 0 ? 0 : -abs(verb(object)))

/* -EACCES, -EPERM: the program may not open the node. */
int mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx);
int mana_verbs_close(struct ibv_context *ctx);
int mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps);

/* Reading an event from this descriptor of a context or channel no longer blocks. */
int mana_verbs_nonblocking_set(int fd);

/* The driver allocates all rings from now on. rings must outlive ctx. */
int mana_verbs_rings_from(struct ibv_context *ctx, struct mana_verbs_rings *rings);
/* After the close: frees rings of objects that an older kernel keeps of a removed device. */
void mana_verbs_rings_release(struct mana_verbs_rings *rings);

/*
 * The protection domain of a port and the parent domain that names it. After a failure
 * the caller destroys what is not NULL.
 */
int mana_verbs_pd_create(struct ibv_context *ctx, uint32_t port, struct ibv_pd **pd,
			 struct ibv_pd **parent);

/* The device may read, and write if asked, [addr, addr + len). */
int mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len,
			 bool is_writable, struct ibv_mr **mr);

/*
 * Takes all events, without waiting, or many if they do not end; returns their number.
 * The CQs must exist.
 */
int mana_verbs_channel_drain(struct ibv_comp_channel *channel);

int mana_verbs_wq_create(struct ibv_pd *parent, struct ibv_cq *cq, uint32_t nb_wqe,
			 uint32_t nb_sge, struct ibv_wq **wq);

/*
 * The rings of a Tx queue (wq is NULL) or of an Rx queue (qp is NULL) and its CQ. -EINVAL if a
 * ring is not in memory of the driver, that of the CQ for nb_cqe CQEs.
 */
int mana_verbs_rings_get(const struct mana_verbs_rings *from, struct ibv_qp *qp, struct ibv_wq *wq,
			 struct ibv_cq *cq, uint32_t nb_cqe, struct mana_queue_rings *rings);

#endif /* MANA_VERBS_H */
