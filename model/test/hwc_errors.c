/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a driver does wrong on the hardware channel: each request with each wrong
 * size, version, device, handle and state; wrong WQEs, doorbells and accesses.
 * Each is refused with its violation; the channel stays open.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "card.h"
#include "hwc_guest.h"
#include "hwc_objects.h"
#include "request.h"
#include "test_hwc.h"

#define BAD_HANDLE UINT64_C(0x123456789abc)

static struct hwc_device dev;
static struct guest_ring eq;
static struct hwc_port port;

static int
start_port(void **state)
{
	guest_start_channel(state);
	eq = device_port_start(&port, &dev);
	return 0;
}

static void
check_alive(void)
{
	struct request_header plain = { 0 };

	assert_int_equal(CALL(plain, GDMA_LIST_DEVICES, list_devices_answer),
			 STATUS_OK);
	assert_no_violation();
}

/* A request of this kind with zeros, or as large as possible. */
static uint32_t
call_kind(const struct request_kind *kind, uint32_t nb_bytes, uint16_t version,
	  enum device_type device)
{
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];

	memset(message, 0, sizeof(message));
	return guest_call_device(message, nb_bytes, kind->code,
				 HWC_MAX_MESSAGE_BYTES, device, version);
}

static void
check_kind(const struct request_kind *kind)
{
	if (kind->min_bytes > sizeof(struct request_header)) {
		assert_int_equal(call_kind(kind, kind->min_bytes - 4, 1,
					   kind->device),
				 STATUS_REFUSED);
		assert_violation(request_size, 1);
	}
	if (kind->max_bytes < HWC_MAX_MESSAGE_BYTES) {
		assert_int_equal(call_kind(kind, kind->max_bytes + 4, 1,
					   kind->device),
				 STATUS_REFUSED);
		assert_violation(request_size, 1);
	}
	if (kind->max_version < UINT16_MAX) {
		assert_int_equal(call_kind(kind, kind->min_bytes,
					   kind->max_version + 1, kind->device),
				 STATUS_REFUSED);
		assert_violation(request_version, 1);
	}
	if (kind->device != DEVICE_NONE) {
		assert_int_equal(call_kind(kind, kind->min_bytes, 1, DEVICE_HWC),
				 STATUS_REFUSED);
		assert_violation(request_device, 1);
	}
}

static void
test_every_kind(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < nb_gdma_requests; i++)
		check_kind(&gdma_requests[i]);
	for (i = 0; i < nb_mana_requests; i++)
		check_kind(&mana_requests[i]);
	for (i = 0; i < nb_rnic_requests; i++)
		check_kind(&rnic_requests[i]);
	check_alive();
}

static void
check_header(const struct request_header *hdr, uint32_t nb_bytes)
{
	_Alignas(8) uint8_t message[64] = { 0 };

	memcpy(message, hdr, sizeof(*hdr));
	assert_true(guest_send(message, nb_bytes));
	assert_int_equal(ANSWER_OF(answer_header)->status, STATUS_REFUSED);
	assert_violation(request_header, 1);
}

static void
test_headers(void **state)
{
	const struct request_header good = {
		.req = { .msg_type = GDMA_LIST_DEVICES,
			 .msg_version = 1,
			 .msg_size = sizeof(good) },
		.resp = { .msg_type = GDMA_LIST_DEVICES,
			  .msg_version = 1,
			  .msg_size = 4096 },
	};
	struct request_header hdr;

	(void)state;
	hdr = good;
	hdr.req.hdr_type = 1;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.resp.hdr_type = 1;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.req.msg_version = 0;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.resp.msg_version = 0;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.resp.msg_type = GDMA_CREATE_PD;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.resp.msg_size = sizeof(struct answer_header) - 1;
	check_header(&hdr, sizeof(hdr));
	hdr = good;
	hdr.resp.msg_size = HWC_MAX_MESSAGE_BYTES + 1;
	check_header(&hdr, sizeof(hdr));
	check_header(&good, sizeof(good) + 4); /* msg_size differs */
	check_alive();
}

static void
test_handles(void **state)
{
	static const uint32_t one_handle[] = { GDMA_DESTROY_DMA_REGION,
					       GDMA_DESTROY_PD, GDMA_DESTROY_MR };
	static const uint32_t mana_handle[] = { MANA_FENCE_RQ,
						MANA_QUERY_LINK_CONFIG,
						MANA_DEREGISTER_HW_PORT,
						MANA_DEREGISTER_FILTER };
	struct handle_request handle = { .handle = BAD_HANDLE };
	struct test_eqe_request test = { .queue_index = eq.id + 1 };
	struct disable_queue_request disable = { .type = QUEUE_EQ,
						 .queue_index = eq.id + 1 };
	struct add_pages_request add = { .dma_region_handle = BAD_HANDLE };
	struct vport_tx_request tx = { .vport = BAD_HANDLE,
				       .pdid = dev.pdn,
				       .doorbell_pageid = dev.page };
	struct destroy_wq_request wq = { .wq_type = QUEUE_SQ,
					 .wq_obj_handle = BAD_HANDLE };
	struct destroy_range_request page = {
		.resource_type = RESOURCE_DOORBELL_PAGE,
		.num_resources = 1,
		.allocated_resources = dev.page, /* the device's own */
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(CALL(handle, one_handle[i], answer_header),
				 STATUS_REFUSED);
		assert_violation(request_handle, 1);
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(CALL_MANA(handle, mana_handle[i],
					   link_config_answer),
				 STATUS_REFUSED);
		assert_violation(request_handle, 1);
	}
	assert_int_equal(CALL(test, GDMA_GENERATE_TEST_EQE, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	assert_int_equal(CALL(disable, GDMA_DISABLE_QUEUE, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	disable.queue_index = guest.eq.id; /* the channel's */
	assert_int_equal(CALL(disable, GDMA_DISABLE_QUEUE, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	assert_int_equal(CALL(add, GDMA_DMA_REGION_ADD_PAGES, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	assert_int_equal(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	assert_int_equal(CALL_MANA(wq, MANA_DESTROY_WQ_OBJ, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	assert_int_equal(CALL(page, GDMA_DESTROY_RESOURCE_RANGE, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	check_alive();
}

/* A PD and a page that no request has created, and the channel's PD. */
static void
test_foreign_pd(void **state)
{
	struct vport_tx_request tx = { .vport = port.vport,
				       .pdid = guest.pdn,
				       .doorbell_pageid = dev.page };

	(void)state;
	port_stop(&port);
	assert_int_equal(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	tx.pdid = UINT32_MAX;
	assert_int_equal(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	tx.pdid = dev.pdn;
	tx.doorbell_pageid = UINT32_MAX;
	assert_int_equal(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
}

static void
test_states(void **state)
{
	struct request_header plain = { 0 };
	struct disable_queue_request disable = { .type = QUEUE_EQ,
						 .queue_index = eq.id };
	struct vport_tx_request tx = { .vport = port.vport,
				       .pdid = dev.pdn,
				       .doorbell_pageid = dev.page };
	struct handle_request region = { .handle = port.sq.region };
	struct destroy_wq_request wq = { .wq_type = QUEUE_RQ,
					 .wq_obj_handle = port.sq_handle };

	(void)state;
	assert_int_equal(guest_call_device(&plain, sizeof(plain),
					   GDMA_REGISTER_DEVICE,
					   sizeof(struct register_device_answer),
					   DEVICE_MANA, 1),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* twice */
	assert_int_equal(guest_call_device(&plain, sizeof(plain),
					   GDMA_DEREGISTER_DEVICE,
					   sizeof(struct answer_header),
					   DEVICE_MANA, 1),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* it has queues */
	assert_int_equal(guest_call_device(&plain, sizeof(plain),
					   GDMA_REGISTER_DEVICE,
					   sizeof(struct register_device_answer),
					   DEVICE_HWC, 1),
			 STATUS_REFUSED);
	assert_violation(request_device, 1);
	assert_int_equal(CALL(disable, GDMA_DISABLE_QUEUE, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* CQs use it */
	assert_int_equal(CALL_MANA(tx, MANA_CONFIG_VPORT_TX, vport_tx_answer),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* it has queues */
	assert_int_equal(CALL(region, GDMA_DESTROY_DMA_REGION, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* a queue has it */
	assert_int_equal(CALL_MANA(wq, MANA_DESTROY_WQ_OBJ, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_field, 1); /* an SQ */
	check_alive();
}

static uint32_t
call_create_wq(struct create_wq_request *req)
{
	return guest_call_device(req, sizeof(*req), MANA_CREATE_WQ_OBJ,
				 sizeof(struct create_wq_answer), DEVICE_MANA, 3);
}

static void
test_create_wq(void **state)
{
	const uint64_t wq = guest_region(guest_alloc(8192), 8192);
	const uint64_t cq = guest_region(guest_alloc(4096), 4096);
	const struct create_wq_request good = { .vport = port.vport,
						.wq_type = QUEUE_SQ,
						.wq_gdma_region = wq,
						.cq_gdma_region = cq,
						.wq_size = 8192,
						.cq_size = 4096,
						.cq_parent_qid = eq.id };
	struct create_wq_request req;

	(void)state;
	req = good;
	req.wq_type = QUEUE_CQ;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_field, 1);
	req = good;
	req.vport++;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_state, 1); /* not configured */
	req = good;
	req.wq_size = 16384; /* larger than the region */
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_field, 1);
	req = good;
	req.cq_size = 2048;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_field, 1);
	req = good;
	req.wq_size = 6144;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_field, 1);
	req = good;
	req.cq_gdma_region = wq;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_field, 1);
	req = good;
	req.wq_gdma_region = port.sq.region; /* a queue has it */
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_state, 1);
	req = good;
	req.cq_parent_qid = guest.eq.id;
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_handle, 1);
	req = good;
	assert_int_equal(call_create_wq(&req), STATUS_OK);
	assert_int_equal(call_create_wq(&req), STATUS_REFUSED);
	assert_violation(request_state, 1);
	check_alive();
}

static void
test_create_eq(void **state)
{
	const uint64_t gpa = guest_alloc(4096);
	const struct create_queue_request good = {
		.type = QUEUE_EQ,
		.pdid = dev.pdn,
		.doorbell_id = dev.page,
		.gdma_region = guest_region(gpa, 4096),
		.queue_size = 4096,
	};
	struct create_queue_request req;
	uint32_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		req = good;
		req.type = i == 0 ? QUEUE_SQ : req.type;
		req.pdid += i == 1;
		req.doorbell_id += i == 2;
		req.eq_pci_msix_index = i == 3 ? 64 : 0;
		req.log2_throttle_limit = i == 4 ? 9 : 0;
		req.queue_size = i == 5 ? 5000 : req.queue_size;
		assert_int_equal(
			guest_call_device(&req, sizeof(req), GDMA_CREATE_QUEUE,
					  sizeof(struct create_queue_answer),
					  DEVICE_MANA, 1),
			STATUS_REFUSED);
		assert_violation(request_field, 1);
	}
	((uint8_t *)guest_at(gpa))[100] = 1;
	req = good;
	assert_int_equal(guest_call_device(&req, sizeof(req), GDMA_CREATE_QUEUE,
					   sizeof(struct create_queue_answer),
					   DEVICE_MANA, 1),
			 STATUS_OK);
	assert_violation(eq_memory_not_zero, 1);
}

static void
test_regions(void **state)
{
	struct {
		struct create_region_request req;
		uint64_t pages[2];
	} region;
	const struct create_region_request good = { .length = 8192,
						    .page_count = 2,
						    .page_addr_list_len = 2 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++) {
		region.req = good;
		region.pages[0] = region.pages[1] = GUEST_PAGE;
		region.req.length = i == 0 ? 0 : i == 1 ? 8193 : 8192;
		region.req.offset_in_page = i == 2 ? 1 : i == 3 ? 4096 : 0;
		region.req.gdma_page_type = i == 4 ? 1 : i == 5 ? 40 : 0;
		region.req.page_count = i == 6 ? 3 : 2;
		region.pages[1] += i == 7 ? 8 : 0;
		assert_int_equal(guest_call(&region, sizeof(region),
					    GDMA_CREATE_DMA_REGION,
					    sizeof(struct create_region_answer)),
				 STATUS_REFUSED);
		assert_violation(request_field, 1);
	}
	region.req = good;
	region.req.page_addr_list_len = 1; /* but two pages follow */
	assert_int_equal(guest_call(&region, sizeof(region),
				    GDMA_CREATE_DMA_REGION,
				    sizeof(struct create_region_answer)),
			 STATUS_REFUSED);
	assert_violation(request_size, 1);
	region.req.page_addr_list_len = UINT32_MAX;
	assert_int_equal(guest_call(&region, sizeof(region),
				    GDMA_CREATE_DMA_REGION,
				    sizeof(struct create_region_answer)),
			 STATUS_REFUSED);
	assert_violation(request_size, 1);
	check_alive();
}

static void
test_keys(void **state)
{
	struct {
		struct create_mr_request req;
		uint64_t length;
	} mr = { 0 };
	struct handle_request pd = { 0 }, old = { 0 };
	struct hwc_user user;
	uint64_t handle, region = guest_region(guest_alloc(4096), 4096);

	(void)state;
	user_open(&user);
	user_mr(&user, region, 0, &handle);
	pd.handle = user.pd_handle;
	assert_int_equal(CALL(pd, GDMA_DESTROY_PD, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* it has a key */
	mr.req.pd_handle = user.pd_handle;
	mr.req.mr_type = MR_GVA;
	mr.req.dma_region_handle = region; /* used */
	assert_int_equal(guest_call_device(&mr, sizeof(mr), GDMA_CREATE_MR,
					   sizeof(struct create_mr_answer),
					   DEVICE_NONE, 2),
			 STATUS_REFUSED);
	assert_violation(request_state, 1);
	mr.req.dma_region_handle = guest_region(guest_alloc(4096), 4096);
	mr.req.gva.virtual_address = UINT64_MAX - 4094; /* wraps */
	assert_int_equal(guest_call_device(&mr, sizeof(mr), GDMA_CREATE_MR,
					   sizeof(struct create_mr_answer),
					   DEVICE_NONE, 2),
			 STATUS_REFUSED);
	assert_violation(request_field, 1);
	mr.req.mr_type = MR_GPA; /* the PD does not allow it */
	assert_int_equal(guest_call_device(&mr, sizeof(mr), GDMA_CREATE_MR,
					   sizeof(struct create_mr_answer),
					   DEVICE_NONE, 2),
			 STATUS_REFUSED);
	assert_violation(request_field, 1);
	mr.req.mr_type = 5; /* device memory */
	assert_int_equal(guest_call_device(&mr, sizeof(mr), GDMA_CREATE_MR,
					   sizeof(struct create_mr_answer),
					   DEVICE_NONE, 2),
			 STATUS_REFUSED);
	assert_violation(request_field, 1);
	user_mr_destroy(handle);
	old.handle = handle;
	assert_int_equal(CALL(old, GDMA_DESTROY_MR, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	/* The region ended with its key. */
	old.handle = region;
	assert_int_equal(CALL(old, GDMA_DESTROY_DMA_REGION, answer_header),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	user_close(&user);
	check_alive();
}

static void
test_steering_errors(void **state)
{
	struct {
		struct vport_rx_request req;
		uint64_t table[64];
	} rx = { .req = { .vport = port.vport,
			  .num_indir_entries = 64,
			  .indir_tab_offset = sizeof(rx.req),
			  .rx_enable = TRI_TRUE,
			  .update_indir_tab = 1 } };
	static const struct {
		uint16_t nb, offset;
		int32_t rx_enable;
	} bad[] = {
		{ 0, sizeof(rx.req), 1 },
		{ 48, sizeof(rx.req), 1 },
		{ 128, sizeof(rx.req), 1 },
		{ 64, sizeof(rx.req) + 8, 1 },
		{ 64, 8, 1 },
		{ 64, sizeof(rx.req), 2 },
		{ 64, sizeof(rx.req), -2 },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < 64; i++)
		rx.table[i] = port.rq_handle;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rx.req.num_indir_entries = bad[i].nb;
		rx.req.indir_tab_offset = bad[i].offset;
		rx.req.rx_enable = bad[i].rx_enable;
		assert_int_equal(guest_call_device(&rx, sizeof(rx),
						   MANA_CONFIG_VPORT_RX,
						   sizeof(struct vport_rx_answer),
						   DEVICE_MANA, 2),
				 STATUS_REFUSED);
		assert_violation(request_field, 1);
	}
	rx.req.num_indir_entries = 64;
	rx.req.indir_tab_offset = sizeof(rx.req);
	rx.req.rx_enable = TRI_TRUE;
	rx.table[63] = port.sq_handle;
	assert_int_equal(guest_call_device(&rx, sizeof(rx), MANA_CONFIG_VPORT_RX,
					   sizeof(struct vport_rx_answer),
					   DEVICE_MANA, 2),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	rx.table[63] = port.rq_handle;
	rx.req.update_default_rxobj = 1;
	rx.req.default_rxobj = UINT64_MAX;
	assert_int_equal(guest_call_device(&rx, sizeof(rx), MANA_CONFIG_VPORT_RX,
					   sizeof(struct vport_rx_answer),
					   DEVICE_MANA, 2),
			 STATUS_REFUSED);
	assert_violation(request_handle, 1);
	check_alive();
	port_stop(&port);
	assert_int_equal(port_steer(&port, TRI_TRUE, TRI_FALSE, STEER_NOTHING),
			 STATUS_REFUSED);
	assert_violation(request_state, 1); /* the RQ that is kept is gone */
}

static void
test_eq_errors(void **state)
{
	const uint32_t n = eq.nb_bytes / EQE_BYTES;
	uint32_t i;

	(void)state;
	guest_ring(dev.page, 0xff8, eq.id, eq.pos + 1, true);
	assert_violation(eq_doorbell_index, 1); /* ahead of the device */
	guest_ring(dev.page, 0xff8, eq.id, 8 * n, true);
	assert_violation(eq_doorbell_index, 1); /* beyond 8 laps */
	eq_test(&eq);
	guest_ring(dev.page, 0xff8, eq.id, eq.pos + 1, true);
	assert_no_violation();
	guest_ring(dev.page, 0xff8, eq.id, eq.pos, true);
	assert_violation(eq_doorbell_index, 1); /* behind the last one */
	guest_ring(dev.page, 0xff8, eq.id + 1, eq.pos, true);
	assert_violation(doorbell_unknown_queue, 1);
	guest_ring(guest.db_page, 0xff8, eq.id, eq.pos, true);
	assert_violation(doorbell_foreign_queue, 1);
	guest_ring(dev.page, 0xff8, eq.id | 1u << 24, eq.pos + 1, true);
	assert_violation(doorbell_reserved_bits, 1);
	for (i = 0; i < n; i++)
		eq_test(&eq);
	assert_no_violation();
	eq_test(&eq);
	assert_violation(eq_overflow, 1);
	eq_test(&eq);
	assert_no_violation(); /* recorded once; the EQ has stopped */
}

static void
test_eq_memory(void **state)
{
	const struct eq *e;

	(void)state;
	segment_lock();
	e = adapter_eq(adapter(0), eq.id);
	guest.is_dma_off = true;
	eq_post(&adapter(0)->eqs[e - adapter(0)->eqs], EQE_TEST, 0);
	guest.is_dma_off = false;
	segment_unlock();
	assert_violation(eq_memory_fault, 1);
}

static void
test_shm(void **state)
{
	static const uint32_t headers[] = {
		0, 3, 7, 1 | 1 << 3, 1 | 1 << 7, 1 | 1 << 8, 1 | 1u << 31,
	};
	uint32_t shm[SHM_NB_DWORDS] = { 0 }, i;

	(void)state;
	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		shm[7] = headers[i];
		assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
		assert_violation(shm_message, 1);
	}
	shm[7] = 2; /* the fixture has reset the function */
	assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
	assert_no_violation();
	guest_establish(0);
	assert_int_equal(guest_destroy(), 0x82);
	shm[7] = 2; /* twice */
	assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
	assert_violation(shm_state, 1);
	shm[7] = 1;
	shm[6] = 64u << 16; /* vector */
	assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
	assert_violation(shm_message, 1);
	shm[6] = 0x8000; /* a frame number above 2^40 bytes */
	assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
	assert_violation(shm_message, 1);
	guest_establish(0);
	assert_no_violation();
	shm[6] = 0;
	assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1); /* twice */
	assert_violation(shm_state, 1);
	check_alive();
}

/* A handler of the channel's events may still run when the channel is destroyed. */
static void
test_late_handler(void **state)
{
	(void)state;
	assert_int_equal(guest_destroy(), 0x82);
	guest_ring(guest.db_page, HW_DB_CQ, guest.cq.id, guest.cq.pos, true);
	guest_ring(guest.db_page, 0xff8, guest.eq.id, guest.eq.pos, true);
	assert_no_violation();
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id, guest.sq.pos, false);
	assert_violation(doorbell_unknown_queue, 1);
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id, guest.rq.pos, false);
	assert_violation(doorbell_unknown_queue, 1);
	guest_establish(0);
	check_alive();
}

static void
test_objects_left(void **state)
{
	(void)state;
	assert_int_equal(guest_destroy(), 0x82);
	assert_violation(objects_left, 1);
	guest_establish(0);
	check_alive();
}

static void
test_bar0(void **state)
{
	(void)state;
	assert_int_equal(guest_read(0, 4), UINT32_MAX);
	assert_violation(bar0_access, 1);
	assert_int_equal(guest_read(0x8, 2), UINT16_MAX);
	assert_violation(bar0_access, 1);
	assert_int_equal(guest_read(0x14, 4), UINT32_MAX);
	assert_violation(bar0_access, 1);
	guest_read(0x101c, 8); /* the shared memory by dwords only */
	assert_violation(bar0_access, 1);
	guest_write(0x1002, 1, 4);
	assert_violation(bar0_access, 1);
	guest_write(0x8, 1, 8);
	assert_violation(bar0_access, 1);
	assert_int_equal(guest_read(GUEST_DB_OFFSET, 8), UINT64_MAX);
	assert_violation(doorbell_read, 1);
	guest_write(GUEST_DB_OFFSET + 240 * 4096u, 1, 8);
	assert_violation(doorbell_bad_offset, 1);
	guest_write(GUEST_DB_OFFSET + 100 * 4096u, 1, 8); /* not allocated */
	assert_violation(doorbell_bad_offset, 1);
	guest_write(GUEST_DB_OFFSET + 0x820, 1, 8);
	assert_violation(doorbell_bad_offset, 1);
	guest_ring(guest.db_page, HW_DB_SQ, guest.rq.id, 64, false);
	assert_violation(doorbell_unknown_queue, 1);
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id | 1u << 24, 0, false);
	assert_violation(doorbell_reserved_bits, 1);
	check_alive();
}

/* A WQE of the channel's SQ, then its doorbell. */
static void
post(uint32_t header, uint32_t cq_id, uint64_t gpa, uint32_t key,
     uint32_t nb_bytes, uint32_t wqe_bytes)
{
	uint8_t *wqe = guest_at(guest.sq.gpa + guest.sq.pos % 4096);

	memset(wqe, 0, 64);
	hw_put_le32(wqe + 4, header);
	hw_put_le32(wqe + 8 + HWC_TX_OOB_SCQ_OFF, cq_id);
	hw_put_le32(wqe + 8 + HWC_TX_OOB_SQ_OFF, guest.sq.id);
	hw_put_le32(wqe + 32, (uint32_t)gpa);
	hw_put_le32(wqe + 36, (uint32_t)(gpa >> 32));
	hw_put_le32(wqe + 40, key);
	hw_put_le32(wqe + 44, nb_bytes);
	guest.sq.pos += wqe_bytes;
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id, guest.sq.pos, false);
	assert_null(guest_cqe(&guest.cq));
}

static void
renew(void)
{
	guest_destroy();
	guest_free_all();
	guest_establish(0);
}

/* The channel stops after a bad WQE, and works when established again. */
static void
test_channel_wqes(void **state)
{
	const uint32_t good = 1 | 6 << 8;

	(void)state;
	post(1 | 2 << 8, guest.cq.id, guest.request_gpa, guest.key, 40, 64);
	assert_violation(wqe_oob_size, 1);
	renew();
	post(2 | 6 << 8, guest.cq.id, guest.request_gpa, guest.key, 40, 64);
	assert_violation(hwc_wqe, 1);
	renew();
	post(good, guest.rq.id, guest.request_gpa, guest.key, 40, 64);
	assert_violation(hwc_wqe, 1);
	renew();
	post(good, guest.cq.id, guest.request_gpa, guest.key, 39, 64);
	assert_violation(hwc_wqe, 1);
	renew();
	post(good, guest.cq.id, guest.request_gpa, guest.key, 4097, 64);
	assert_violation(hwc_wqe, 1);
	renew();
	post(good, guest.cq.id, guest.request_gpa, guest.key, 40, 32);
	assert_violation(wqe_beyond_tail, 1);
	renew();
	post(good, guest.cq.id, guest.request_gpa, guest.key + 1, 40, 64);
	assert_violation(sge_key_unknown, 1);
	renew();
	post(good, guest.cq.id, UINT64_C(1) << 41, guest.key, 40, 64);
	assert_violation(sge_out_of_range, 1);
	renew();
	post(good, guest.cq.id, GUEST_BYTES - 8, guest.key, 40, 64);
	assert_violation(sge_memory_fault, 1);
	renew();
	check_alive();
}

static void
test_no_rx_wqe(void **state)
{
	uint8_t *wqe = guest_at(guest.sq.gpa);

	(void)state;
	memcpy(guest_at(guest.request_gpa), &guest_plain_request,
	       sizeof(guest_plain_request));
	hw_put_le32(wqe + 4, 1 | 6 << 8);
	hw_put_le32(wqe + 8 + HWC_TX_OOB_SCQ_OFF, guest.cq.id);
	hw_put_le32(wqe + 8 + HWC_TX_OOB_SQ_OFF, guest.sq.id);
	hw_put_le32(wqe + 32, (uint32_t)guest.request_gpa);
	hw_put_le32(wqe + 40, guest.key);
	hw_put_le32(wqe + 44, sizeof(guest_plain_request));
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id, 64, false);
	assert_violation(hwc_no_rx_wqe, 1);
	assert_non_null(guest_cqe(&guest.cq)); /* of the SQ */
	assert_null(guest_cqe(&guest.cq));
}

#define WITH_CHANNEL(test) \
	cmocka_unit_test_setup_teardown(test, guest_start_channel, guest_stop)
#define WITH_PORT(test) \
	cmocka_unit_test_setup_teardown(test, start_port, guest_stop)

int
hwc_error_tests(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHANNEL(test_every_kind),
		WITH_CHANNEL(test_headers),
		WITH_PORT(test_handles),
		WITH_PORT(test_foreign_pd),
		WITH_PORT(test_states),
		WITH_PORT(test_create_wq),
		WITH_PORT(test_create_eq),
		WITH_CHANNEL(test_regions),
		WITH_PORT(test_keys),
		WITH_PORT(test_steering_errors),
		WITH_PORT(test_eq_errors),
		WITH_PORT(test_eq_memory),
		cmocka_unit_test_setup_teardown(test_shm, guest_start, guest_stop),
		WITH_CHANNEL(test_late_handler),
		WITH_PORT(test_objects_left),
		WITH_CHANNEL(test_bar0),
		WITH_CHANNEL(test_channel_wqes),
		WITH_CHANNEL(test_no_rx_wqe),
	};

	return cmocka_run_group_tests_name("hwc errors", tests, NULL, NULL);
}
