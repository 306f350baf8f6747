/* SPDX-License-Identifier: BSD-3-Clause */

/* Devices, and what belongs to all queues of one. mana_verbs_queue.c: the queues. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "mana_verbs.h"

int
mana_verbs_last_error(void)
{
	return errno > 0 ? -errno : -EIO;
}

static uint32_t
positive(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

int
mana_verbs_list_get(struct ibv_device ***list, int *nb_devices)
{
	errno = 0;
	*nb_devices = 0;
	*list = ibv_get_device_list(nb_devices);
	return *list != NULL ? 0 : mana_verbs_last_error();
}

void
mana_verbs_list_put(struct ibv_device **list)
{
	if (list != NULL)
		ibv_free_device_list(list);
}

const char *
mana_verbs_device_name(const struct ibv_device *device)
{
	return device->name;
}

const char *
mana_verbs_device_path(const struct ibv_device *device)
{
	return device->ibdev_path;
}

int
mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	errno = 0;
	*ctx = ibv_open_device(device);
	return *ctx != NULL ? 0 : mana_verbs_last_error();
}

int
mana_verbs_close(struct ibv_context *ctx)
{
	if (ctx == NULL)
		return 0;
	errno = 0;
	return ibv_close_device(ctx) == 0 ? 0 : mana_verbs_last_error();
}

const char *
mana_verbs_context_name(const struct ibv_context *ctx)
{
	return ctx->device->name;
}

int
mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps)
{
	struct ibv_device_attr_ex attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = ibv_query_device_ex(ctx, NULL, &attr);
	if (ret != 0)
		return -abs(ret);
	*caps = (struct mana_verbs_caps){
		.vendor_part_id = attr.orig_attr.vendor_part_id,
		.raw_packet_caps = attr.raw_packet_caps,
		.nb_ports = attr.orig_attr.phys_port_cnt,
		.max_qp = positive(attr.orig_attr.max_qp),
		.max_qp_wr = positive(attr.orig_attr.max_qp_wr),
		.max_cqe = positive(attr.orig_attr.max_cqe),
		.max_sge = positive(attr.orig_attr.max_sge),
		.nb_comp_vectors = positive(ctx->num_comp_vectors),
	};
	return 0;
}

int
mana_verbs_port_check(struct ibv_context *ctx, uint32_t port)
{
	struct ibv_port_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = ibv_query_port(ctx, port, &attr);
	if (ret != 0)
		return -abs(ret);
	/*
	 * Its link layer tells nothing: mana_ib of Linux 6.2 has no
	 * get_link_layer(), and the core then takes a port for InfiniBand
	 * (core/verbs.c rdma_port_get_link_layer). What is not the Ethernet
	 * device was refused by its capabilities.
	 */
	return 0;
}

static int
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return mana_verbs_last_error();
	return 0;
}

int
mana_verbs_events_open(struct ibv_context *ctx, int *fd)
{
	*fd = ctx->async_fd;
	return set_nonblocking(ctx->async_fd);
}

int
mana_verbs_event_get(struct ibv_context *ctx, enum mana_verbs_event *event,
		     const char **name)
{
	struct ibv_async_event async;

	errno = 0;
	if (ibv_get_async_event(ctx, &async) != 0)
		return mana_verbs_last_error();
	*event = async.event_type == IBV_EVENT_DEVICE_FATAL ?
			 MANA_VERBS_EVENT_FATAL :
			 MANA_VERBS_EVENT_OTHER;
	*name = ibv_event_type_str(async.event_type);
	/* A destroy waits until all events of its object are acknowledged. */
	ibv_ack_async_event(&async);
	return 0;
}

int
mana_verbs_pd_create(struct ibv_context *ctx, uint32_t port, struct ibv_pd **pd,
		     struct ibv_pd **parent)
{
	struct ibv_parent_domain_init_attr attr;
	int ret;

	*parent = NULL;
	errno = 0;
	*pd = ibv_alloc_pd(ctx);
	if (*pd == NULL)
		return mana_verbs_last_error();

	/* providers/mana: the context of the parent domain is the port. */
	memset(&attr, 0, sizeof(attr));
	attr.pd = *pd;
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	attr.pd_context = (void *)(uintptr_t)port;
	*parent = ibv_alloc_parent_domain(ctx, &attr);
	if (*parent == NULL) {
		ret = mana_verbs_last_error();
		(void)ibv_dealloc_pd(*pd);
		*pd = NULL;
		return ret;
	}
	return 0;
}

int
mana_verbs_pd_destroy(struct ibv_pd *pd)
{
	if (pd == NULL || ibv_dealloc_pd(pd) == 0)
		return 0;
	return -abs(ibv_dealloc_pd(pd));
}

int
mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len,
		     bool is_writable, struct ibv_mr **mr, uint32_t *lkey)
{
	errno = 0;
	*mr = ibv_reg_mr(pd, (void *)addr, len,
			 is_writable ? IBV_ACCESS_LOCAL_WRITE : 0);
	if (*mr == NULL)
		return mana_verbs_last_error();
	*lkey = (*mr)->lkey;
	return 0;
}

int
mana_verbs_mr_destroy(struct ibv_mr *mr)
{
	if (mr == NULL || ibv_dereg_mr(mr) == 0)
		return 0;
	return -abs(ibv_dereg_mr(mr));
}

int
mana_verbs_channel_create(struct ibv_context *ctx,
			  struct ibv_comp_channel **channel)
{
	int ret;

	errno = 0;
	*channel = ibv_create_comp_channel(ctx);
	if (*channel == NULL)
		return mana_verbs_last_error();
	ret = set_nonblocking((*channel)->fd);
	if (ret != 0) {
		mana_verbs_channel_destroy(*channel);
		*channel = NULL;
	}
	return ret;
}

void
mana_verbs_channel_destroy(struct ibv_comp_channel *channel)
{
	/* Refused when the kernel has kept one of its CQs: nobody asks again. */
	if (channel != NULL && ibv_destroy_comp_channel(channel) != 0)
		(void)close(channel->fd);
}

int
mana_verbs_channel_fd(const struct ibv_comp_channel *channel)
{
	return channel->fd;
}

int
mana_verbs_channel_drain(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *cq_context;
	int nb = 0;

	errno = 0;
	while (ibv_get_cq_event(channel, &cq, &cq_context) == 0) {
		/* At once: the CQ's destroy waits until all are. */
		ibv_ack_cq_events(cq, 1);
		nb++;
		errno = 0;
	}
	return errno == EAGAIN || errno == EINTR ? nb : mana_verbs_last_error();
}
