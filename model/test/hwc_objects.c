/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "hwc_objects.h"

#define RING_BYTES 4096u

void
device_register(struct hwc_device *dev, enum device_type type)
{
	struct request_header req = { 0 };

	OK(CALL_AS(req, GDMA_REGISTER_DEVICE, register_device_answer, type, 1));
	*dev = (struct hwc_device){
		.type = type,
		.pdn = ANSWER_OF(register_device_answer)->pdid,
		.page = ANSWER_OF(register_device_answer)->db_id,
		.key = ANSWER_OF(register_device_answer)->gpa_mkey,
	};
}

void
device_deregister(const struct hwc_device *dev)
{
	struct request_header req = { 0 };

	OK(CALL_AS(req, GDMA_DEREGISTER_DEVICE, answer_header, dev->type, 1));
}

struct guest_ring
eq_create(const struct hwc_device *dev, uint32_t vector)
{
	struct guest_ring eq = { .gpa = guest_alloc(RING_BYTES),
				 .nb_bytes = RING_BYTES,
				 .pos = RING_BYTES / EQE_BYTES };
	struct create_queue_request req = { .type = QUEUE_EQ,
					    .pdid = dev->pdn,
					    .doorbell_id = dev->page,
					    .queue_size = RING_BYTES,
					    .log2_throttle_limit = 4,
					    .eq_pci_msix_index = vector };

	req.gdma_region = guest_region(eq.gpa, RING_BYTES);
	OK(CALL_AS(req, GDMA_CREATE_QUEUE, create_queue_answer, dev->type, 1));
	eq.id = ANSWER_OF(create_queue_answer)->queue_index;
	return eq;
}

uint32_t
eq_test(const struct guest_ring *eq)
{
	struct test_eqe_request req = { .queue_index = eq->id };

	return CALL(req, GDMA_GENERATE_TEST_EQE, answer_header);
}

void
eq_destroy(const struct guest_ring *eq)
{
	struct disable_queue_request req = { .type = QUEUE_EQ,
					     .queue_index = eq->id };

	OK(CALL(req, GDMA_DISABLE_QUEUE, answer_header));
}

void
user_open(struct hwc_user *user)
{
	struct allocate_range_request page = {
		.resource_type = RESOURCE_DOORBELL_PAGE,
		.num_resources = 1,
		.alignment = 1,
	};
	struct create_pd_request pd = { 0 };

	OK(CALL(page, GDMA_ALLOCATE_RESOURCE_RANGE, allocate_range_answer));
	user->page = ANSWER_OF(allocate_range_answer)->allocated_resources;
	OK(CALL(pd, GDMA_CREATE_PD, create_pd_answer));
	user->pdn = ANSWER_OF(create_pd_answer)->pd_id;
	user->pd_handle = ANSWER_OF(create_pd_answer)->pd_handle;
}

void
user_close(const struct hwc_user *user)
{
	struct destroy_range_request page = {
		.resource_type = RESOURCE_DOORBELL_PAGE,
		.num_resources = 1,
		.allocated_resources = user->page,
	};
	struct handle_request pd = { .handle = user->pd_handle };

	OK(CALL(pd, GDMA_DESTROY_PD, answer_header));
	OK(CALL(page, GDMA_DESTROY_RESOURCE_RANGE, answer_header));
}

uint32_t
user_mr(const struct hwc_user *user, uint64_t region, uint64_t iova,
	uint64_t *mr_handle)
{
	struct {
		struct create_mr_request req;
		uint64_t length;
	} mr = { .req = { .pd_handle = user->pd_handle,
			  .mr_type = MR_GVA,
			  .dma_region_handle = region,
			  .gva = { .virtual_address = iova,
				   .access_flags = MR_ACCESS_LOCAL_WRITE } } };

	OK(CALL_AS(mr, GDMA_CREATE_MR, create_mr_answer, DEVICE_NONE, 2));
	*mr_handle = ANSWER_OF(create_mr_answer)->mr_handle;
	return ANSWER_OF(create_mr_answer)->lkey;
}

void
user_mr_destroy(uint64_t mr_handle)
{
	struct handle_request req = { .handle = mr_handle };

	OK(CALL(req, GDMA_DESTROY_MR, answer_header));
}

static uint64_t
vport_handle(uint32_t index)
{
	struct vport_config_request req = { .vport_index = index };

	OK(CALL_MANA(req, MANA_QUERY_VPORT_CONFIG, vport_config_answer));
	return ANSWER_OF(vport_config_answer)->vport;
}

static uint64_t
create_wq(const struct hwc_port *port, enum queue_type type,
	  struct guest_ring *wq, struct guest_ring *cq, uint32_t eq_id)
{
	struct create_wq_request req = { .vport = port->vport,
					 .wq_type = type,
					 .wq_size = RING_BYTES,
					 .cq_size = RING_BYTES,
					 .cq_parent_qid = eq_id };

	*wq = (struct guest_ring){ .gpa = guest_alloc(RING_BYTES),
				   .nb_bytes = RING_BYTES };
	*cq = (struct guest_ring){ .gpa = guest_alloc(RING_BYTES),
				   .nb_bytes = RING_BYTES,
				   .pos = RING_BYTES / HW_CQE_BYTES };
	req.wq_gdma_region = wq->region = guest_region(wq->gpa, RING_BYTES);
	req.cq_gdma_region = cq->region = guest_region(cq->gpa, RING_BYTES);
	OK(CALL_AS(req, MANA_CREATE_WQ_OBJ, create_wq_answer, DEVICE_MANA, 3));
	wq->id = ANSWER_OF(create_wq_answer)->wq_id;
	cq->id = ANSWER_OF(create_wq_answer)->cq_id;
	return ANSWER_OF(create_wq_answer)->wq_obj;
}

void
port_start(struct hwc_port *port, uint32_t index, uint32_t pdn, uint32_t page,
	   uint32_t eq_id)
{
	struct vport_tx_request tx = { .pdid = pdn, .doorbell_pageid = page };

	memset(port, 0, sizeof(*port));
	port->vport = tx.vport = vport_handle(index);
	port->pdn = pdn;
	port->page = page;
	OK(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer));
	assert_int_equal(ANSWER_OF(vport_tx_answer)->short_form_allowed, 1);
	port->vp_offset = ANSWER_OF(vport_tx_answer)->tx_vport_offset;
	port->sq_handle = create_wq(port, QUEUE_SQ, &port->sq, &port->scq, eq_id);
	port->rq_handle = create_wq(port, QUEUE_RQ, &port->rq, &port->rcq, eq_id);
	port->buf = guest_alloc(4096);
	OK(port_steer(port, TRI_TRUE, TRI_FALSE, STEER_ALL));
}

struct guest_ring
device_port_start(struct hwc_port *port, struct hwc_device *dev)
{
	struct guest_ring eq;

	device_register(dev, DEVICE_MANA);
	eq = eq_create(dev, 3);
	port_start(port, 0, dev->pdn, dev->page, eq.id);
	return eq;
}

static void
destroy_wq(enum queue_type type, uint64_t handle)
{
	struct destroy_wq_request req = { .wq_type = type,
					  .wq_obj_handle = handle };

	OK(CALL_MANA(req, MANA_DESTROY_WQ_OBJ, answer_header));
}

void
port_stop(const struct hwc_port *port)
{
	destroy_wq(QUEUE_SQ, port->sq_handle);
	destroy_wq(QUEUE_RQ, port->rq_handle);
}

uint32_t
port_steer(const struct hwc_port *port, enum tri_state rx, enum tri_state rss,
	   uint32_t updates)
{
	struct {
		struct vport_rx_request req;
		uint64_t table[64];
	} rx_request = { .req = {
				 .vport = port->vport,
				 .num_indir_entries = 64,
				 .indir_tab_offset =
					 sizeof(struct vport_rx_request),
				 .rx_enable = rx,
				 .rss_enable = rss,
				 .update_default_rxobj = (updates &
							  STEER_DEFAULT) != 0,
				 .update_hashkey = (updates & STEER_KEY) != 0,
				 .update_indir_tab = (updates & STEER_TABLE) != 0,
				 .default_rxobj = port->rq_handle,
			 } };
	uint32_t i;

	for (i = 0; i < 64; i++)
		rx_request.table[i] = port->rq_handle;
	for (i = 0; i < sizeof(rx_request.req.hashkey); i++)
		rx_request.req.hashkey[i] =
			(uint8_t)(i * 7 + updates);
	return CALL_AS(rx_request, MANA_CONFIG_VPORT_RX, vport_rx_answer,
		       DEVICE_MANA, 2);
}

static void
put_sge(uint8_t *sge, uint64_t addr, uint32_t key, uint32_t nb_bytes)
{
	hw_put_le32(sge, (uint32_t)addr);
	hw_put_le32(sge + 4, (uint32_t)(addr >> 32));
	hw_put_le32(sge + 8, key);
	hw_put_le32(sge + 12, nb_bytes);
}

void
port_post_rx(struct hwc_port *port, uint32_t key, uint32_t nb_bytes)
{
	uint8_t *wqe = guest_at(port->rq.gpa + port->rq.pos % RING_BYTES);

	memset(wqe, 0, 32);
	hw_put_le32(wqe + 4, 1 | HW_OOB_DIV4_SHORT << 8);
	put_sge(wqe + 16, port->buf, key, nb_bytes);
	port->rq.pos += 32;
	guest_ring(port->page, HW_DB_RQ, port->rq.id, port->rq.pos, false);
}

void
port_send_at(struct hwc_port *port, uint32_t key, uint64_t addr, uint32_t nb_bytes)
{
	uint8_t *wqe = guest_at(port->sq.gpa + port->sq.pos % RING_BYTES);

	memset(wqe, 0, 32);
	hw_put_le32(wqe + 4, 1 | HW_OOB_DIV4_SHORT << 8);
	hw_put_le32(wqe + 8, port->scq.id << HW_OOB_VCQ_NUM_S);
	hw_put_le32(wqe + 12, port->vp_offset << HW_OOB_SHORT_VP_S |
				      (port->sq.id >> HW_VSQ_FRAME_SHIFT)
					      << HW_OOB_VSQ_FRAME_S);
	put_sge(wqe + 16, addr, key, nb_bytes);
	port->sq.pos += 32;
	guest_ring(port->page, HW_DB_SQ, port->sq.id, port->sq.pos, false);
}

void
port_send(struct hwc_port *port, uint32_t key, uint32_t nb_bytes)
{
	uint8_t *frame = guest_at(port->buf);
	uint32_t i;

	for (i = 0; i < nb_bytes; i++)
		frame[i] = (uint8_t)(i * 3 + 1);
	port_send_at(port, key, port->buf, nb_bytes);
}
