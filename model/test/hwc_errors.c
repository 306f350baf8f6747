/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a driver does wrong on the hardware channel: each request with each wrong
 * size, version, device, handle and state; wrong WQEs, doorbells and accesses.
 * Each is refused with its violation; the channel stays open.
 */

#include <string.h>

#include "card.h"
#include "hwc_guest.h"
#include "hwc_objects.h"
#include "request.h"

#define BAD_HANDLE UINT64_C(0x123456789abc)

static struct guest_ring eq;
static struct hwc_device dev;
static struct hwc_port port;

static int
start_port(void **state)
{
	guest_start_channel(state);
	eq = device_port_start(&port, &dev);
	return 0;
}
#define PORT_TEST(name) TEST_WITH(name, start_port, guest_stop)

static void
check_alive(void)
{
	struct request_header plain = { 0 };

	assert_int_equal(CALL(plain, GDMA_LIST_DEVICES, list_devices_answer),
			 STATUS_OK);
	assert_no_violation();
}

/* The newest version up to 3, and the device, of the request's kind. */
static uint32_t
call(void *request, uint32_t nb_bytes, uint32_t code)
{
	const struct request_kind *kind = request_kind(code);
	/* An EQ is a queue of the device that dev_id names. */
	const enum device_type device = code == GDMA_CREATE_QUEUE ? DEVICE_MANA :
								    kind->device;

	return guest_call_device(request, nb_bytes, code, HWC_MAX_MESSAGE_BYTES,
				 device,
				 kind->max_version < 3 ? kind->max_version : 3);
}
#define REFUSED(req, code, violation) \
	REFUSAL(call(&(req), sizeof(req), code), violation)

/* A good request is refused if this member has this value. */
struct wrong {
	uint16_t offset, nb_bytes;
	uint64_t value;
	enum violation violation;
	int line;
};
#define W(type, member, value, violation)                                  \
	{                                                                  \
		offsetof(struct type, member),                             \
			sizeof(((struct type *)NULL)->member),             \
			(uint64_t)(value), VIOLATION_##violation, __LINE__ \
	}
static void
refuse_each(uint32_t code, const void *good, uint32_t nb_bytes,
	    const struct wrong *rows, uint32_t nb_rows)
{
	_Alignas(8) uint8_t message[1024];

	for (uint32_t i = 0; i < nb_rows; i++) {
		memcpy(message, good, nb_bytes);
		memcpy(message + rows[i].offset, &rows[i].value,
		       rows[i].nb_bytes);
		assert_int_equal(call(message, nb_bytes, code), STATUS_REFUSED);
		guest_assert_violation(rows[i].violation, 1, __FILE__,
				       rows[i].line);
	}
}
#define REFUSE_EACH(code, good, rows)                  \
	refuse_each(code, &(good), sizeof(good), rows, \
		    sizeof(rows) / sizeof((rows)[0]))

/* Zeros of this size. */
static void
refuse_zeros(const struct request_kind *kind, uint32_t nb_bytes,
	     uint16_t version, enum device_type device, enum violation violation)
{
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];

	memset(message, 0, sizeof(message));
	assert_int_equal(guest_call_device(message, nb_bytes, kind->code,
					   HWC_MAX_MESSAGE_BYTES, device, version),
			 STATUS_REFUSED);
	guest_assert_violation(violation, 1, __FILE__, __LINE__);
}

static void
check_kinds(const struct request_kind *kinds, uint32_t nb)
{
	for (const struct request_kind *k = kinds; k < kinds + nb; k++) {
		if (k->min_bytes > sizeof(struct request_header))
			refuse_zeros(k, k->min_bytes - 4, 1, k->device,
				     VIOLATION_request_size);
		if (k->max_bytes < HWC_MAX_MESSAGE_BYTES)
			refuse_zeros(k, k->max_bytes + 4, 1, k->device,
				     VIOLATION_request_size);
		if (k->max_version < UINT16_MAX)
			refuse_zeros(k, k->min_bytes, k->max_version + 1,
				     k->device, VIOLATION_request_version);
		if (k->device != DEVICE_NONE)
			refuse_zeros(k, k->min_bytes, 1, DEVICE_HWC,
				     VIOLATION_request_device);
	}
}

CHANNEL_TEST(test_every_kind)
{
	check_kinds(gdma_requests, nb_gdma_requests);
	check_kinds(mana_requests, nb_mana_requests);
	check_kinds(rnic_requests, nb_rnic_requests);
	check_alive();
}

CHANNEL_TEST(test_headers)
{
	const struct request_header good = {
		.req = { .msg_type = GDMA_LIST_DEVICES,
			 .msg_version = 1,
			 .msg_size = sizeof(good) },
		.resp = { .msg_type = GDMA_LIST_DEVICES,
			  .msg_version = 1,
			  .msg_size = 4096 },
	};
	static const struct wrong rows[] = {
		W(request_header, req.hdr_type, 1, request_header),
		W(request_header, resp.hdr_type, 1, request_header),
		W(request_header, req.msg_version, 0, request_header),
		W(request_header, resp.msg_version, 0, request_header),
		W(request_header, resp.msg_type, GDMA_CREATE_PD, request_header),
		W(request_header, resp.msg_size,
		  sizeof(struct answer_header) - 1, request_header),
		W(request_header, resp.msg_size, HWC_MAX_MESSAGE_BYTES + 1,
		  request_header),
		W(request_header, req.msg_size, sizeof(good) + 4, request_header),
	};
	_Alignas(8) uint8_t message[sizeof(good)];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(message, &good, sizeof(good));
		memcpy(message + rows[i].offset, &rows[i].value,
		       rows[i].nb_bytes);
		assert_true(guest_send(message, sizeof(good)));
		assert_int_equal(ANSWER_OF(answer_header)->status,
				 STATUS_REFUSED);
		guest_assert_violation(VIOLATION_request_header, 1, __FILE__,
				       rows[i].line);
	}
	check_alive();
}

PORT_TEST(test_handles)
{
	static const uint32_t one_handle[] = {
		GDMA_DESTROY_DMA_REGION, GDMA_DESTROY_PD,
		GDMA_DESTROY_MR,	 MANA_FENCE_RQ,
		MANA_QUERY_LINK_CONFIG,
	};
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

	for (size_t i = 0; i < sizeof(one_handle) / sizeof(one_handle[0]); i++)
		REFUSED(handle, one_handle[i], request_handle);
	REFUSED(test, GDMA_GENERATE_TEST_EQE, request_handle);
	REFUSED(disable, GDMA_DISABLE_QUEUE, request_handle);
	disable.queue_index = guest.eq.id; /* the channel's */
	REFUSED(disable, GDMA_DISABLE_QUEUE, request_handle);
	REFUSED(add, GDMA_DMA_REGION_ADD_PAGES, request_handle);
	REFUSED(tx, MANA_CONFIG_VPORT_TX, request_handle);
	REFUSED(wq, MANA_DESTROY_WQ_OBJ, request_handle);
	REFUSED(page, GDMA_DESTROY_RESOURCE_RANGE, request_handle);
	port_stop(&port);
	wq.wq_obj_handle = port.sq_handle; /* twice */
	REFUSED(wq, MANA_DESTROY_WQ_OBJ, request_handle);
	check_alive();
}

/* A PD and a page that no request has created, and the channel's PD. */
PORT_TEST(test_foreign_pd)
{
	const struct vport_tx_request good = { .vport = port.vport,
					       .pdid = dev.pdn,
					       .doorbell_pageid = dev.page };
	const struct wrong rows[] = {
		W(vport_tx_request, pdid, guest.pdn, request_handle),
		W(vport_tx_request, pdid, UINT32_MAX, request_handle),
		W(vport_tx_request, doorbell_pageid, UINT32_MAX, request_handle),
	};

	port_stop(&port);
	REFUSE_EACH(MANA_CONFIG_VPORT_TX, good, rows);
}

static void
register_device(uint32_t code, enum device_type device)
{
	struct request_header plain = { 0 };

	assert_int_equal(guest_call_device(&plain, sizeof(plain), code,
					   HWC_MAX_MESSAGE_BYTES, device, 1),
			 STATUS_REFUSED);
}

PORT_TEST(test_states)
{
	struct disable_queue_request disable = { .type = QUEUE_EQ,
						 .queue_index = eq.id };
	struct vport_tx_request tx = { .vport = port.vport,
				       .pdid = dev.pdn,
				       .doorbell_pageid = dev.page };
	struct handle_request region = { .handle = port.sq.region };
	struct destroy_wq_request wq = { .wq_type = QUEUE_RQ,
					 .wq_obj_handle = port.sq_handle };

	register_device(GDMA_REGISTER_DEVICE, DEVICE_MANA);
	assert_violation(request_state, 1); /* twice */
	register_device(GDMA_DEREGISTER_DEVICE, DEVICE_MANA);
	assert_violation(request_state, 1); /* it has queues */
	register_device(GDMA_REGISTER_DEVICE, DEVICE_HWC);
	assert_violation(request_device, 1);
	REFUSED(disable, GDMA_DISABLE_QUEUE, request_state); /* CQs use it */
	REFUSED(tx, MANA_CONFIG_VPORT_TX, request_state); /* it has queues */
	REFUSED(region, GDMA_DESTROY_DMA_REGION, request_state); /* of a queue */
	REFUSED(wq, MANA_DESTROY_WQ_OBJ, request_field); /* an SQ */
	check_alive();
}

PORT_TEST(test_create_wq)
{
	const uint64_t wq = guest_region(guest_alloc(8192), 8192);
	const uint64_t cq = guest_region(guest_alloc(4096), 4096);
	struct create_wq_request good = { .vport = port.vport,
					  .wq_type = QUEUE_SQ,
					  .wq_gdma_region = wq,
					  .cq_gdma_region = cq,
					  .wq_size = 8192,
					  .cq_size = 4096,
					  .cq_parent_qid = eq.id };
	const struct wrong rows[] = {
		W(create_wq_request, wq_type, QUEUE_CQ, request_field),
		/* not configured */
		W(create_wq_request, vport, port.vport + 1, request_state),
		/* larger than the region */
		W(create_wq_request, wq_size, 16384, request_field),
		W(create_wq_request, cq_size, 2048, request_field),
		W(create_wq_request, wq_size, 6144, request_field),
		W(create_wq_request, cq_gdma_region, wq, request_field),
		/* a queue has it */
		W(create_wq_request, wq_gdma_region, port.sq.region,
		  request_state),
		W(create_wq_request, cq_parent_qid, guest.eq.id, request_handle),
	};

	REFUSE_EACH(MANA_CREATE_WQ_OBJ, good, rows);
	OK(call(&good, sizeof(good), MANA_CREATE_WQ_OBJ));
	REFUSED(good, MANA_CREATE_WQ_OBJ, request_state);
	check_alive();
}

PORT_TEST(test_create_eq)
{
	const uint64_t gpa = guest_alloc(4096);
	struct create_queue_request good = {
		.type = QUEUE_EQ,
		.pdid = dev.pdn,
		.doorbell_id = dev.page,
		.gdma_region = guest_region(gpa, 4096),
		.queue_size = 4096,
	};
	const struct wrong rows[] = {
		W(create_queue_request, type, QUEUE_SQ, request_field),
		W(create_queue_request, pdid, dev.pdn + 1, request_field),
		W(create_queue_request, doorbell_id, dev.page + 1, request_field),
		W(create_queue_request, eq_pci_msix_index, 64, request_field),
		W(create_queue_request, log2_throttle_limit, 9, request_field),
		W(create_queue_request, queue_size, 5000, request_field),
	};

	REFUSE_EACH(GDMA_CREATE_QUEUE, good, rows);
	((uint8_t *)guest_at(gpa))[100] = 1;
	OK(call(&good, sizeof(good), GDMA_CREATE_QUEUE));
	assert_violation(eq_memory_not_zero, 1);
}

CHANNEL_TEST(test_regions)
{
	struct region_request {
		struct create_region_request req;
		uint64_t pages[2];
	} good = { .req = { .length = 8192,
			    .page_count = 2,
			    .page_addr_list_len = 2 },
		   .pages = { GUEST_PAGE, GUEST_PAGE } };
	static const struct wrong rows[] = {
		W(region_request, req.length, 0, request_field),
		W(region_request, req.length, 8193, request_field),
		W(region_request, req.offset_in_page, 1, request_field),
		W(region_request, req.offset_in_page, 4096, request_field),
		W(region_request, req.gdma_page_type, 1, request_field),
		W(region_request, req.gdma_page_type, 40, request_field),
		W(region_request, req.page_count, 3, request_field),
		W(region_request, pages[1], GUEST_PAGE + 8, request_field),
		/* but two pages follow */
		W(region_request, req.page_addr_list_len, 1, request_size),
		W(region_request, req.page_addr_list_len, UINT32_MAX,
		  request_size),
	};

	REFUSE_EACH(GDMA_CREATE_DMA_REGION, good, rows);
	check_alive();
}

PORT_TEST(test_keys)
{
	struct mr_request {
		struct create_mr_request req;
		uint64_t length;
	} mr = { 0 };
	struct handle_request pd = { 0 }, old = { 0 };
	struct hwc_user user;
	uint64_t handle, region = guest_region(guest_alloc(4096), 4096);
	const struct wrong rows[] = {
		/* used */
		W(mr_request, req.dma_region_handle, region, request_state),
		/* it wraps */
		W(mr_request, req.gva.virtual_address, UINT64_MAX - 4094,
		  request_field),
		/* the PD does not allow it */
		W(mr_request, req.mr_type, MR_GPA, request_field),
		/* device memory */
		W(mr_request, req.mr_type, 5, request_field),
	};

	user_open(&user);
	user_mr(&user, region, 0, &handle);
	pd.handle = user.pd_handle;
	REFUSED(pd, GDMA_DESTROY_PD, request_state); /* it has a key */
	mr.req.pd_handle = user.pd_handle;
	mr.req.mr_type = MR_GVA;
	mr.req.dma_region_handle = guest_region(guest_alloc(4096), 4096);
	REFUSE_EACH(GDMA_CREATE_MR, mr, rows);
	user_mr_destroy(handle);
	old.handle = handle;
	REFUSED(old, GDMA_DESTROY_MR, request_handle);
	/* The region ended with its key. */
	old.handle = region;
	REFUSED(old, GDMA_DESTROY_DMA_REGION, request_handle);
	user_close(&user);
	check_alive();
}

PORT_TEST(test_steering_errors)
{
	struct steering_request {
		struct vport_rx_request req;
		uint64_t table[64];
	} good = { .req = { .vport = port.vport,
			    .num_indir_entries = 64,
			    .indir_tab_offset = sizeof(good.req),
			    .rx_enable = TRI_TRUE,
			    .update_indir_tab = 1,
			    .default_rxobj = UINT64_MAX } };
	const struct wrong rows[] = {
		W(steering_request, req.num_indir_entries, 0, request_field),
		W(steering_request, req.num_indir_entries, 48, request_field),
		W(steering_request, req.num_indir_entries, 128, request_field),
		W(steering_request, req.indir_tab_offset, sizeof(good.req) + 8,
		  request_field),
		W(steering_request, req.indir_tab_offset, 8, request_field),
		W(steering_request, req.rx_enable, 2, request_field),
		W(steering_request, req.rx_enable, -2, request_field),
		W(steering_request, table[63], port.sq_handle, request_handle),
		W(steering_request, req.update_default_rxobj, 1, request_handle),
	};

	for (uint32_t i = 0; i < 64; i++)
		good.table[i] = port.rq_handle;
	REFUSE_EACH(MANA_CONFIG_VPORT_RX, good, rows);
	check_alive();
	port_stop(&port);
	REFUSAL(port_steer(&port, TRI_TRUE, TRI_FALSE, STEER_NOTHING),
		request_state); /* the RQ that is kept is gone */
}

PORT_TEST(test_eq_errors)
{
	const uint32_t n = eq.nb_bytes / EQE_BYTES;
	uint32_t i;

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

PORT_TEST(test_eq_memory)
{
	const struct eq *e;

	segment_lock();
	e = adapter_eq(adapter(0), eq.id);
	guest.is_dma_off = true;
	eq_post(&adapter(0)->eqs[e - adapter(0)->eqs], EQE_TEST, 0);
	guest.is_dma_off = false;
	segment_unlock();
	assert_violation(eq_memory_fault, 1);
}

GUEST_TEST(test_shm)
{
	static const uint32_t headers[] = {
		0, 3, 4, 7, 1 | 1 << 3, 1 | 1 << 7, 1 | 1 << 8, 1 | 1u << 31,
	};
	uint32_t shm[SHM_NB_DWORDS] = { 0 }, i;

	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		shm[7] = headers[i];
		assert_int_equal(guest_shm(shm) >> 8 & 0xff, 1);
		assert_violation(shm_message, 1);
	}
	shm[7] = 2; /* the fixture has reset the function */
	assert_int_equal(guest_shm(shm), 0x82);
	shm[7] = 4 | 1 << 3; /* OpenVMM reports a timeout */
	shm[6] = 1u << 24 | 3000;
	assert_int_equal(guest_shm(shm), 0x8c);
	guest_establish(0);
	assert_int_equal(guest_destroy(), 0x82);
	shm[7] = 2; /* twice */
	assert_int_equal(guest_shm(shm), 0x82);
	assert_no_violation();
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
CHANNEL_TEST(test_late_handler)
{
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

PORT_TEST(test_objects_left)
{
	assert_int_equal(guest_destroy(), 0x82);
	assert_violation(objects_left, 1);
	guest_establish(0);
	check_alive();
}

CHANNEL_TEST(test_bar0)
{
	static const struct {
		uint64_t at;
		uint32_t nb_bytes;
		bool is_write;
		enum violation violation;
	} rows[] = {
		{ 0x28, 4, false, VIOLATION_bar0_access },
		{ 0x8, 2, false, VIOLATION_bar0_access },
		{ 0x20, 8, false, VIOLATION_bar0_access },
		/* the shared memory by dwords only */
		{ 0x101c, 8, false, VIOLATION_bar0_access },
		{ 0x1002, 4, true, VIOLATION_bar0_access },
		{ 0x8, 8, true, VIOLATION_bar0_access },
		{ GUEST_DB_OFFSET, 8, false, VIOLATION_doorbell_read },
		{ GUEST_DB_OFFSET + 240 * 4096u, 8, true,
		  VIOLATION_doorbell_bad_offset },
		/* not allocated */
		{ GUEST_DB_OFFSET + 100 * 4096u, 8, true,
		  VIOLATION_doorbell_bad_offset },
		{ GUEST_DB_OFFSET + 0x820, 8, true,
		  VIOLATION_doorbell_bad_offset },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].is_write)
			guest_write(rows[i].at, 1, rows[i].nb_bytes);
		else
			assert_int_equal(guest_read(rows[i].at, rows[i].nb_bytes),
					 UINT64_MAX >>
						 (64 - 8 * rows[i].nb_bytes));
		guest_assert_violation(rows[i].violation, 1, __FILE__, __LINE__);
	}
	guest_ring(guest.db_page, HW_DB_SQ, guest.rq.id, 64, false);
	assert_violation(doorbell_unknown_queue, 1);
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id | 1u << 24, 0, false);
	assert_violation(rq_doorbell_wqe_cnt, 1);
	check_alive();
}

/* A WQE of the channel's SQ, then its doorbell. */
#define GOOD_HEADER (1 | 6 << 8) /* one SGE, a long OOB */
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
}

/* The channel stops after a bad WQE, and works when established again. */
CHANNEL_TEST(test_channel_wqes)
{
	const struct {
		uint32_t header;
		bool is_cq_wrong, is_key_wrong;
		uint64_t gpa; /* 0: the request's */
		uint32_t nb_bytes, wqe_bytes;
		enum violation violation;
	} rows[] = {
		{ 1 | 2 << 8, 0, 0, 0, 40, 64, VIOLATION_wqe_oob_size },
		{ 2 | 6 << 8, 0, 0, 0, 40, 64, VIOLATION_hwc_wqe },
		{ GOOD_HEADER, 1, 0, 0, 40, 64, VIOLATION_hwc_wqe },
		{ GOOD_HEADER, 0, 0, 0, 39, 64, VIOLATION_hwc_wqe },
		{ GOOD_HEADER, 0, 0, 0, 4097, 64, VIOLATION_hwc_wqe },
		{ GOOD_HEADER, 0, 0, 0, 40, 32, VIOLATION_wqe_beyond_tail },
		{ GOOD_HEADER, 0, 1, 0, 40, 64, VIOLATION_sge_key_unknown },
		{ GOOD_HEADER, 0, 0, UINT64_C(1) << 41, 40, 64,
		  VIOLATION_sge_out_of_range },
		{ GOOD_HEADER, 0, 0, GUEST_BYTES - 8, 40, 64,
		  VIOLATION_sge_memory_fault },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		post(rows[i].header,
		     rows[i].is_cq_wrong ? guest.rq.id : guest.cq.id,
		     rows[i].gpa != 0 ? rows[i].gpa : guest.request_gpa,
		     guest.key + rows[i].is_key_wrong, rows[i].nb_bytes,
		     rows[i].wqe_bytes);
		assert_null(guest_cqe(&guest.cq));
		guest_assert_violation(rows[i].violation, 1, __FILE__, __LINE__);
		guest_destroy();
		guest_free_all();
		guest_establish(0);
	}
	check_alive();
}

CHANNEL_TEST(test_no_rx_wqe)
{
	memcpy(guest_at(guest.request_gpa), &guest_plain_request,
	       sizeof(guest_plain_request));
	post(GOOD_HEADER, guest.cq.id, guest.request_gpa, guest.key,
	     sizeof(guest_plain_request), 64);
	assert_violation(hwc_no_rx_wqe, 1);
	assert_non_null(guest_cqe(&guest.cq)); /* of the SQ */
	assert_null(guest_cqe(&guest.cq));
}

/* Of a guest that gave up a request: its next one waits for a buffer. */
CHANNEL_TEST(test_no_rx_wqe_after_silence)
{
	uint8_t *wqe = guest_at(guest.rq.gpa + guest.rq.pos % 4096);

	guest_silence(true);
	guest_silence(false);
	memcpy(guest_at(guest.request_gpa), &guest_plain_request,
	       sizeof(guest_plain_request));
	post(GOOD_HEADER, guest.cq.id, guest.request_gpa, guest.key,
	     sizeof(guest_plain_request), 64);
	assert_null(guest_cqe(&guest.cq));
	memset(wqe, 0, 32);
	hw_put_le32(wqe + 4, 1 | 2 << 8);
	hw_put_le32(wqe + 16, (uint32_t)guest.answer_gpa);
	hw_put_le32(wqe + 20, (uint32_t)(guest.answer_gpa >> 32));
	hw_put_le32(wqe + 24, guest.key);
	hw_put_le32(wqe + 28, 4096);
	guest.rq.pos += 32;
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id, guest.rq.pos, false);
	assert_non_null(guest_cqe(&guest.cq));
	assert_non_null(guest_cqe(&guest.cq));
	assert_no_violation();
}
