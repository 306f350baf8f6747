/* SPDX-License-Identifier: BSD-3-Clause */

/* The verbs of libibverbs and libmana, and the memory of rings. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/manadv.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "mana_verbs.h"

/* An armed CQ has one event. Only a device that ignores this sends as many. */
#define MAX_EVENTS 256

int
mana_verbs_error(void)
{
	return errno > 0 ? -errno : -EIO;
}

/* Some kernels report no limit. */
static uint32_t
limit(int value)
{
	return value > 0 ? (uint32_t)value : UINT32_MAX;
}

int
mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	int ret = MANA_VERBS_CREATE(*ctx, ibv_open_device(device));
	char path[PATH_MAX];
	int fd;

	if (ret == 0)
		return 0;
	/*
	 * When its node cannot be opened libibverbs looks in /dev/char, which containers do not
	 * have, and ends with ENOENT (rdma-core util/open_cdev.c). So this opens the node itself:
	 * access() succeeds in spite of a container's device rules.
	 */
	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else if (errno == EACCES || errno == EPERM)
		ret = -errno;
	return ret;
}

int
mana_verbs_close(struct ibv_context *ctx)
{
	if (ctx == NULL)
		return 0;
	errno = 0;
	return ibv_close_device(ctx) == 0 ? 0 : mana_verbs_error();
}

int
mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps)
{
	struct ibv_device_attr_ex attr = { .comp_mask = 0 };
	int ret = ibv_query_device_ex(ctx, NULL, &attr);

	if (ret != 0)
		return -abs(ret);
	*caps = (struct mana_verbs_caps){
		.vendor_part_id = attr.orig_attr.vendor_part_id,
		.raw_packet_caps = attr.raw_packet_caps,
		.nb_ports = attr.orig_attr.phys_port_cnt,
		.max_qp = limit(attr.orig_attr.max_qp),
		.max_qp_wr = limit(attr.orig_attr.max_qp_wr),
		.max_cqe = limit(attr.orig_attr.max_cqe),
		.max_sge = limit(attr.orig_attr.max_sge),
		.nb_comp_vectors = RTE_MAX(ctx->num_comp_vectors, 1),
	};
	return 0;
}

int
mana_verbs_nonblocking_set(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : mana_verbs_error();
}

int
mana_verbs_pd_create(struct ibv_context *ctx, uint32_t port, struct ibv_pd **pd,
		     struct ibv_pd **parent)
{
	/* providers/mana: the context of the parent domain is the port. */
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.pd_context = (void *)(uintptr_t)port,
	};
	int ret = MANA_VERBS_CREATE(*pd, ibv_alloc_pd(ctx));

	attr.pd = *pd;
	return ret != 0 ? ret : MANA_VERBS_CREATE(*parent, ibv_alloc_parent_domain(ctx, &attr));
}

int
mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len,
		     bool is_writable, struct ibv_mr **mr)
{
	int flags = is_writable ? IBV_ACCESS_LOCAL_WRITE : 0;

	return MANA_VERBS_CREATE(*mr, ibv_reg_mr(pd, (void *)addr, len, flags));
}

int
mana_verbs_channel_drain(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *cq_context;
	int nb;

	for (nb = 0; nb < MAX_EVENTS; nb++) {
		errno = 0;
		if (ibv_get_cq_event(channel, &cq, &cq_context) != 0)
			return errno == EAGAIN || errno == EINTR ? nb : mana_verbs_error();
		/* At once: the CQ's destroy waits until all are. */
		ibv_ack_cq_events(cq, 1);
	}
	return nb;
}

/* ---- Rings ----------------------------------------------------------------- */

/* Remembered apart from the ring, which is all pages. */
struct mana_verbs_ring {
	LIST_ENTRY(mana_verbs_ring) next;
	void *memory;
};

/* At a page boundary (Linux mana_ib_create_zero_offset_dma_region), and zero for owner bits. */
static void *
ring_alloc(size_t size, void *data)
{
	size_t align = RTE_MAX((size_t)sysconf(_SC_PAGESIZE), (size_t)4096);
	struct mana_verbs_rings *rings = data;
	struct mana_verbs_ring *ring = malloc(sizeof(*ring));

	if (ring == NULL)
		return NULL;
	ring->memory = rte_zmalloc_socket("mana_ring", size, align, rings->socket_id);
	if (ring->memory == NULL)
		ring->memory = rte_zmalloc("mana_ring", size, align);
	if (ring->memory == NULL) {
		free(ring);
		errno = ENOMEM;
		return NULL;
	}
	LIST_INSERT_HEAD(&rings->list, ring, next);
	return ring->memory;
}

/* libmana passes NULL for an RSS QP, which has no ring. */
static void
ring_free(void *memory, void *data)
{
	struct mana_verbs_rings *rings = data;
	struct mana_verbs_ring *ring = LIST_FIRST(&rings->list);

	while (ring != NULL && ring->memory != memory)
		ring = LIST_NEXT(ring, next);
	if (ring == NULL)
		return;
	LIST_REMOVE(ring, next);
	rte_free(memory);
	free(ring);
}

/* Whether a ring is one of ring_alloc(), and has so many bytes. */
static bool
is_ring(const void *ring, size_t bytes)
{
	size_t size;

	return ring != NULL && rte_malloc_validate(ring, &size) == 0 && bytes <= size;
}

int
mana_verbs_rings_from(struct ibv_context *ctx, struct mana_verbs_rings *rings)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc, .free = ring_free, .data = rings,
	};

	/* The structure is copied into the context. */
	return -abs(manadv_set_context_attr(ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS, &allocators));
}

void
mana_verbs_rings_release(struct mana_verbs_rings *rings)
{
	while (!LIST_EMPTY(&rings->list))
		ring_free(LIST_FIRST(&rings->list)->memory, rings);
}

/* ---- libmana ------------------------------------------------------------------ */

void
mana_verbs_provider_version(char *text, size_t size)
{
	/* Only the file's name has it: libmana.so.1.<ABI>.<version> of rdma-core. */
	static const char before[] = "/libmana.so.1.";
	const char *version = NULL;
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr((void *)(uintptr_t)manadv_init_obj, &info) != 0 &&
	    info.dli_fname != NULL && realpath(info.dli_fname, path) != NULL)
		version = strstr(path, before);
	if (version != NULL)
		version = strchr(version + strlen(before), '.');
	snprintf(text, size, "%s", version != NULL ? version + 1 : "unknown");
}

/* ---- Queues --------------------------------------------------------------- */

int
mana_verbs_wq_create(struct ibv_pd *parent, struct ibv_cq *cq, uint32_t nb_wqe,
		     uint32_t nb_sge, struct ibv_wq **wq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = nb_wqe,
		.max_sge = nb_sge,
		.pd = parent,
		.cq = cq,
	};

	return MANA_VERBS_CREATE(*wq, ibv_create_wq(parent->context, &attr));
}

int
mana_verbs_rings_get(const struct mana_verbs_rings *from, struct ibv_qp *qp, struct ibv_wq *wq,
		     struct ibv_cq *cq, uint32_t nb_cqe, struct mana_queue_rings *rings)
{
	struct manadv_qp dv_qp = { 0 };
	struct manadv_rwq dv_rwq = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.qp = { .in = qp, .out = &dv_qp },
		.cq = { .in = cq, .out = &dv_cq },
		.rwq = { .in = wq, .out = &dv_rwq },
	};
	const uint64_t type = qp != NULL ? MANADV_OBJ_QP : MANADV_OBJ_RWQ;
	int ret = manadv_init_obj(&obj, type | MANADV_OBJ_CQ);

	*rings = (struct mana_queue_rings){
		.ring = qp != NULL ? dv_qp.sq_buf : dv_rwq.buf,
		.ring_bytes = qp != NULL ? dv_qp.sq_size : dv_rwq.size,
		.id = qp != NULL ? dv_qp.sq_id : dv_rwq.wq_id,
		.vp_offset = dv_qp.tx_vp_offset,
		.cq_ring = dv_cq.buf,
		.nb_cqe = nb_cqe,
		.cq_id = dv_cq.cq_id,
		.db_page = from->db_page,
	};
	if (ret != 0)
		return -abs(ret);
	/* The memory that the driver will use, whatever libmana reports. */
	return is_ring(rings->ring, rings->ring_bytes) &&
	       is_ring(rings->cq_ring, (size_t)rings->nb_cqe * GDMA_CQE_BYTES) ? 0 : -EINVAL;
}
