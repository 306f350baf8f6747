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
#include <rte_memory.h>

#include "mana_hw.h"
#include "mana_verbs.h"

/* An armed CQ has one event. Only a device that ignores this sends as many. */
#define MAX_EVENTS 256

/* Verbs that return a pointer leave the reason in errno; some do not. */
static int
last_error(void)
{
	return errno > 0 ? -errno : -EIO;
}

#define CREATE(object, verb) \
	(errno = 0, ((object) = (verb)) != NULL ? 0 : last_error())

/* Some kernels report no limit. */
static uint32_t
limit(int value)
{
	return value > 0 ? (uint32_t)value : UINT32_MAX;
}

int
mana_verbs_list_get(struct ibv_device ***list, int *nb_devices)
{
	*nb_devices = 0;
	return CREATE(*list, ibv_get_device_list(nb_devices));
}

int
mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	int ret = CREATE(*ctx, ibv_open_device(device));
	char path[PATH_MAX];
	int fd;

	if (ret == 0)
		return 0;
	/*
	 * When its node cannot be opened libibverbs looks in /dev/char, which
	 * containers do not have, and ends with ENOENT (rdma-core
	 * util/open_cdev.c). So ask the node itself; open() and not access(),
	 * which succeeds in spite of a container's device rules.
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
	return ibv_close_device(ctx) == 0 ? 0 : last_error();
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

static int
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ?
		       0 : last_error();
}

int
mana_verbs_events_open(struct ibv_context *ctx, int *fd)
{
	*fd = ctx->async_fd;
	return set_nonblocking(ctx->async_fd);
}

int
mana_verbs_event_get(struct ibv_context *ctx, bool *is_fatal, const char **name)
{
	struct ibv_async_event async;

	errno = 0;
	if (ibv_get_async_event(ctx, &async) != 0)
		return last_error();
	*is_fatal |= async.event_type == IBV_EVENT_DEVICE_FATAL;
	*name = ibv_event_type_str(async.event_type);
	/* A destroy waits until all events of its object are acknowledged. */
	ibv_ack_async_event(&async);
	return 0;
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
	int ret = CREATE(*pd, ibv_alloc_pd(ctx));

	attr.pd = *pd;
	return ret != 0 ? ret : CREATE(*parent, ibv_alloc_parent_domain(ctx, &attr));
}

int
mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len,
		     bool is_writable, struct ibv_mr **mr, uint32_t *lkey)
{
	int flags = is_writable ? IBV_ACCESS_LOCAL_WRITE : 0;
	int ret = CREATE(*mr, ibv_reg_mr(pd, (void *)addr, len, flags));

	if (ret == 0)
		*lkey = (*mr)->lkey;
	return ret;
}

int
mana_verbs_mr_destroy(struct ibv_mr *mr)
{
	return MANA_VERBS_DESTROY(ibv_dereg_mr, mr);
}

int
mana_verbs_channel_create(struct ibv_context *ctx,
			  struct ibv_comp_channel **channel)
{
	int ret = CREATE(*channel, ibv_create_comp_channel(ctx));

	return ret != 0 ? ret : set_nonblocking((*channel)->fd);
}

void
mana_verbs_channel_destroy(struct ibv_comp_channel *channel)
{
	/* Fails when the kernel has kept one of its CQs, and is not repeated. */
	if (channel != NULL && ibv_destroy_comp_channel(channel) != 0)
		(void)close(channel->fd);
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
			return errno == EAGAIN || errno == EINTR ? nb : last_error();
		/* At once: the CQ's destroy waits until all are. */
		ibv_ack_cq_events(cq, 1);
	}
	return nb;
}

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
	struct mana_verbs_ring *ring = malloc(sizeof(*ring));

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

/* libmana passes NULL for an RSS QP, which has no ring. */
static void
ring_free(void *memory, void *data)
{
	struct mana_verbs_rings *rings = data;
	struct mana_verbs_ring **link = &rings->first;
	struct mana_verbs_ring *ring;

	while (*link != NULL && (*link)->memory != memory)
		link = &(*link)->next;
	ring = *link;
	if (ring == NULL)
		return;
	*link = ring->next;
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

/* Whether the rings that libmana reports have the memory that the driver will use. */
static int
rings_check(const struct mana_verbs_queue *queue, uint32_t nb_cqe)
{
	return is_ring(queue->ring, queue->ring_bytes) &&
	       is_ring(queue->cq_ring, (size_t)nb_cqe * GDMA_CQE_BYTES) ? 0 : -EINVAL;
}

int
mana_verbs_rings_from(struct ibv_context *ctx, struct mana_verbs_rings *rings)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc,
		.free = ring_free,
		.data = rings,
	};

	/* The structure is copied into the context. */
	return -abs(manadv_set_context_attr(
		ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS, &allocators));
}

void
mana_verbs_rings_release(struct mana_verbs_rings *rings)
{
	while (rings->first != NULL)
		ring_free(rings->first->memory, rings);
}

/* ---- libmana ------------------------------------------------------------------ */

void
mana_verbs_provider_version(char *text, size_t size)
{
	/*
	 * No call returns it; the file is libmana.so.1.0.<version> (rdma-core
	 * providers/mana/CMakeLists.txt, rdma_shared_provider).
	 */
	static const char before[] = "/libmana.so.1.0.";
	const char *version = NULL;
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr((void *)(uintptr_t)manadv_init_obj, &info) != 0 &&
	    info.dli_fname != NULL && realpath(info.dli_fname, path) != NULL)
		version = strstr(path, before);
	snprintf(text, size, "%s",
		 version != NULL ? version + strlen(before) : "unknown");
}

/* ---- Queues --------------------------------------------------------------- */

int
mana_verbs_cq_create(struct ibv_context *ctx, uint32_t nb_cqe,
		     struct ibv_comp_channel *channel, uint32_t vector,
		     struct ibv_cq **cq)
{
	return CREATE(*cq, ibv_create_cq(ctx, nb_cqe, NULL, channel, vector));
}

int
mana_verbs_sq_create(struct ibv_pd *parent, struct ibv_cq *cq, uint32_t nb_wqe,
		     uint32_t nb_sge, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = nb_wqe, .max_send_sge = nb_sge },
		.qp_type = IBV_QPT_RAW_PACKET,
	};

	return CREATE(*qp, ibv_create_qp(parent, &attr));
}

int
mana_verbs_sq_get(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t nb_cqe,
		  struct mana_verbs_queue *queue)
{
	struct manadv_qp dv_qp = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.qp = { .in = qp, .out = &dv_qp },
		.cq = { .in = cq, .out = &dv_cq },
	};
	int ret = manadv_init_obj(&obj, MANADV_OBJ_QP | MANADV_OBJ_CQ);

	*queue = (struct mana_verbs_queue){
		.ring = dv_qp.sq_buf,
		.ring_bytes = dv_qp.sq_size,
		.id = dv_qp.sq_id,
		.vp_offset = dv_qp.tx_vp_offset,
		.cq_ring = dv_cq.buf,
		.cq_id = dv_cq.cq_id,
	};
	return ret != 0 ? -abs(ret) : rings_check(queue, nb_cqe);
}

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

	return CREATE(*wq, ibv_create_wq(parent->context, &attr));
}

int
mana_verbs_rq_get(struct ibv_wq *wq, struct ibv_cq *cq, uint32_t nb_cqe,
		  struct mana_verbs_queue *queue)
{
	struct manadv_rwq dv_rwq = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.cq = { .in = cq, .out = &dv_cq },
		.rwq = { .in = wq, .out = &dv_rwq },
	};
	int ret = manadv_init_obj(&obj, MANADV_OBJ_CQ | MANADV_OBJ_RWQ);

	*queue = (struct mana_verbs_queue){
		.ring = dv_rwq.buf,
		.ring_bytes = dv_rwq.size,
		.id = dv_rwq.wq_id,
		.cq_ring = dv_cq.buf,
		.cq_id = dv_cq.cq_id,
	};
	return ret != 0 ? -abs(ret) : rings_check(queue, nb_cqe);
}

int
mana_verbs_ind_create(struct ibv_context *ctx, struct ibv_wq **wqs,
		      uint32_t nb_wq, struct ibv_rwq_ind_table **ind)
{
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = rte_log2_u32(nb_wq),
		.ind_tbl = wqs,
	};

	return CREATE(*ind, ibv_create_rwq_ind_table(ctx, &attr));
}

int
mana_verbs_rss_create(struct ibv_pd *parent, struct ibv_rwq_ind_table *ind,
		      const uint8_t key[MANA_RSS_KEY_BYTES], struct ibv_qp **qp)
{
	/* Everything not named stays 0: the core refuses it with a table. */
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = parent,
		.rwq_ind_tbl = ind,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = MANA_RSS_KEY_BYTES,
			.rx_hash_key = (uint8_t *)(uintptr_t)key,
			/* The device always hashes these: mana_ib ignores the request. */
			.rx_hash_fields_mask =
				IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
				IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
				IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
				IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP,
		},
	};

	return CREATE(*qp, ibv_create_qp_ex(parent->context, &attr));
}
