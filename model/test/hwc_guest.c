/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "clock.h"
#include "dma.h"
#include "hwc_guest.h"
#include "mem.h"
#include "msix.h"
#include "segment.h"
#include "trace.h"

#define FN	     0u
#define SHM_AT	     0x1000u
#define SQ_WQE_BYTES 64u
#define RQ_WQE_BYTES 32u
#define MAX_ANSWER   HWC_MAX_MESSAGE_BYTES

struct guest guest;
struct model_config guest_config;
static char dir[64];
const struct platform *platform = &pci_platform;

int
dma_read(uint32_t fn, uint64_t addr, void *buf, size_t nb_bytes)
{
	(void)fn;
	guest.nb_reads++;
	if (guest.is_dma_off || addr > GUEST_BYTES ||
	    nb_bytes > GUEST_BYTES - addr)
		return -EFAULT;
	memcpy(buf, guest.memory + addr, nb_bytes);
	return 0;
}

int
dma_write(uint32_t fn, uint64_t addr, const void *buf, size_t nb_bytes)
{
	(void)fn;
	if (guest.is_dma_off || addr > GUEST_BYTES ||
	    nb_bytes > GUEST_BYTES - addr)
		return -EFAULT;
	memcpy(guest.memory + addr, buf, nb_bytes);
	return 0;
}

bool
dma_is_enabled(uint32_t fn)
{
	(void)fn;
	return true;
}

void
msix_raise(uint32_t fn, uint32_t vector)
{
	(void)fn;
	assert_true(vector < MSIX_NB_VECTORS);
	guest.nb_interrupts[vector]++;
}

static void __attribute__((constructor))
reset_config(void)
{
	guest_config = (struct model_config){
		.name = "test",
		.nb_functions = 1,
		.nb_ports = { GUEST_NB_PORTS },
		.mac_base = { 0x00, 0x0d, 0x3a, 0, 0, 1 },
		.max_mtu = 1500,
		.vp_offset_base = 5,
		.mode = MODEL_MODE_THREAD,
		.rnic = true,
		.is_pci = true,
	};
}

int
guest_start(void **state)
{
	memset(&guest, 0, sizeof(guest));
	guest.memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(guest.memory, MAP_FAILED);
	guest_free_all();
	mem_own_through_kernel = true;
	snprintf(dir, sizeof(dir), "/tmp/mana-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(segment_create(dir, &guest_config), 0);
	assert_int_equal(trace_create(), 0);
	clock_init(false);
	assert_int_equal(card_init(), 0);
	return 0;
}

int
guest_start_channel(void **state)
{
	guest_start(state);
	assert_int_equal(guest_establish(0) >> 8 & 0xff, 0);
	return 0;
}

int
guest_stop(void **state)
{
	char path[128];

	segment_lock();
	pci_device_reset(FN);
	segment_unlock();
	munmap(guest.memory, GUEST_BYTES);
	segment_leave();
	snprintf(path, sizeof(path), "%s/segment", dir);
	unlink(path);
	rmdir(dir);
	reset_config();
	return 0;
}

uint64_t
guest_alloc(uint32_t nb_bytes)
{
	const uint64_t gpa = guest.next_free;

	nb_bytes = (nb_bytes + GUEST_PAGE - 1) & ~(GUEST_PAGE - 1);
	assert_true(gpa + nb_bytes <= GUEST_BYTES);
	guest.next_free += nb_bytes;
	memset(guest.memory + gpa, 0, nb_bytes);
	return gpa;
}

void
guest_free_all(void)
{
	guest.next_free = GUEST_PAGE; /* address 0 is never used */
}

void *
guest_at(uint64_t gpa)
{
	return guest.memory + gpa;
}

uint64_t
guest_read(uint64_t offset, uint32_t nb_bytes)
{
	uint64_t value;

	segment_lock();
	value = pci_bar0_read(FN, offset, nb_bytes);
	segment_unlock();
	return value;
}

void
guest_write(uint64_t offset, uint64_t value, uint32_t nb_bytes)
{
	segment_lock();
	pci_bar0_write(FN, offset, value, nb_bytes);
	while (pci_device_run(FN))
		;
	segment_unlock();
}

void
guest_ring(uint32_t page, uint32_t reg, uint32_t id, uint32_t tail, bool arm)
{
	guest_write(GUEST_DB_OFFSET + page * HW_DB_PAGE_BYTES + reg,
		    id | (uint64_t)tail << 32 | (uint64_t)arm << 63, 8);
}

uint32_t
guest_shm(const uint32_t dwords[SHM_NB_DWORDS])
{
	uint32_t i;

	for (i = 0; i < SHM_NB_DWORDS; i++)
		guest_write(SHM_AT + 4 * i, dwords[i], 4);
	return (uint32_t)guest_read(SHM_AT + 4 * (SHM_NB_DWORDS - 1), 4);
}

/* Take the start-up events: ids, in the order of the specification. */
static void
read_start_up(void)
{
	uint32_t type, detail, n, value[HWC_INIT_PF_DEST_CQ_ID + 1];

	assert_true(guest_event(&guest.eq, &type, &detail));
	assert_int_equal(type, EQE_HWC_INIT_EQ_ID_DB);
	guest.eq.id = detail & 0xffff;
	guest.db_page = detail >> 16;
	for (n = HWC_INIT_CQ_ID; n <= HWC_INIT_PF_DEST_CQ_ID; n++) {
		assert_true(guest_event(&guest.eq, &type, &detail));
		assert_int_equal(type, EQE_HWC_INIT_DATA);
		assert_int_equal(detail >> 24, n);
		value[n] = detail & 0xffffff;
	}
	guest.cq.id = value[HWC_INIT_CQ_ID];
	guest.rq.id = value[HWC_INIT_RQ_ID];
	guest.sq.id = value[HWC_INIT_SQ_ID];
	guest.max_cqs = value[HWC_INIT_MAX_NUM_CQS];
	guest.pdn = value[HWC_INIT_PD_ID];
	guest.key = value[HWC_INIT_GPA_MKEY];
	assert_int_equal(value[HWC_INIT_QUEUE_DEPTH],
			 guest_config.quirks[QUIRK_HWC_DEPTH_16] ? 16 : 1);
	assert_int_equal(value[HWC_INIT_MAX_REQUEST], 4096);
	assert_int_equal(value[HWC_INIT_MAX_RESPONSE], 4096);
	assert_true(guest_event(&guest.eq, &type, &detail));
	assert_int_equal(type, EQE_HWC_INIT_DONE);
	assert_false(guest_event(&guest.eq, &type, &detail));
	guest_ring_eq(&guest.eq, guest.db_page, true);
}

static void
put_frame(uint8_t *shm, uint32_t n, uint64_t gpa)
{
	const uint64_t frame = gpa / GUEST_PAGE;

	memcpy(shm + 6 * n, &frame, 6);
}

uint32_t
guest_establish(uint32_t vector)
{
	struct guest_ring *const rings[] = { &guest.eq, &guest.cq, &guest.rq,
					     &guest.sq };
	uint32_t shm[SHM_NB_DWORDS] = { 0 }, header, i;

	for (i = 0; i < 4; i++) {
		*rings[i] = (struct guest_ring){ .gpa = guest_alloc(GUEST_PAGE),
						 .nb_bytes = GUEST_PAGE };
		put_frame((uint8_t *)shm, i, rings[i]->gpa);
	}
	guest.eq.pos = GUEST_PAGE / EQE_BYTES;
	guest.cq.pos = GUEST_PAGE / HW_CQE_BYTES;
	guest.request_gpa = guest_alloc(HWC_MAX_MESSAGE_BYTES);
	guest.answer_gpa = guest_alloc(HWC_MAX_MESSAGE_BYTES);
	shm[6] = vector << 16;
	shm[7] = 1;
	header = guest_shm(shm);
	if ((header >> 8 & 0xff) == 0)
		read_start_up();
	return header;
}

uint32_t
guest_destroy(void)
{
	const uint32_t shm[SHM_NB_DWORDS] = { [7] = 2 };

	return guest_shm(shm);
}

bool
guest_event(struct guest_ring *eq, uint32_t *type, uint32_t *detail)
{
	const uint32_t n = eq->nb_bytes / EQE_BYTES;
	const uint8_t *eqe = guest_at(eq->gpa + eq->pos % n * EQE_BYTES);
	const uint32_t info = hw_le32(eqe + EQE_INFO_OFF);

	if (info >> EQE_OWNER_S == ((eq->pos / n - 1) & EQE_OWNER_M))
		return false;
	assert_int_equal(info >> EQE_OWNER_S, eq->pos / n & EQE_OWNER_M);
	*type = info & 0xff;
	*detail = hw_le32(eqe);
	eq->pos++;
	return true;
}

void
guest_ring_eq(struct guest_ring *eq, uint32_t page, bool arm)
{
	guest_ring(page, 0xff8, eq->id,
		   eq->pos % (eq->nb_bytes / EQE_BYTES * 8), arm);
}

const uint8_t *
guest_cqe(struct guest_ring *cq)
{
	const uint32_t n = cq->nb_bytes / HW_CQE_BYTES;
	const uint8_t *cqe = guest_at(cq->gpa + cq->pos % n * HW_CQE_BYTES);
	const uint32_t owner = hw_le32(cqe + HW_CQE_TRAILER_OFF) >>
			       HW_CQE_OWNER_S;

	if (owner == ((cq->pos / n - 1) & HW_CQE_OWNER_M))
		return NULL;
	assert_int_equal(owner, cq->pos / n & HW_CQE_OWNER_M);
	cq->pos++;
	return cqe;
}

const uint8_t *
guest_cqe_of_type(struct guest_ring *cq, enum hw_cqe_type type)
{
	const uint8_t *cqe = guest_cqe(cq);

	assert_non_null(cqe);
	assert_int_equal(cqe[0] & HW_CQE_TYPE_M, type);
	return cqe;
}

/* Write a WQE of the channel at its position. */
static void
put_wqe(struct guest_ring *wq, uint32_t oob_div4, uint64_t gpa, uint32_t nb_bytes)
{
	uint8_t *wqe = guest_at(wq->gpa + wq->pos % wq->nb_bytes);
	const uint32_t at = 8 + 4 * oob_div4;

	memset(wqe, 0, at);
	hw_put_le32(wqe + 4, 1 | oob_div4 << 8);
	if (oob_div4 == 6) {
		hw_put_le32(wqe + 8 + HWC_TX_OOB_SCQ_OFF, guest.cq.id);
		hw_put_le32(wqe + 8 + HWC_TX_OOB_SQ_OFF, guest.sq.id);
	}
	hw_put_le32(wqe + at, (uint32_t)gpa);
	hw_put_le32(wqe + at + 4, (uint32_t)(gpa >> 32));
	hw_put_le32(wqe + at + 8, guest.key);
	hw_put_le32(wqe + at + 12, nb_bytes);
}

/* Take the completion of a WQE of the channel; false: there is none. */
static bool
take_cqe(const struct guest_ring *wq, bool is_sq, uint32_t *message_bytes)
{
	const uint8_t *cqe = guest_cqe(&guest.cq);
	uint32_t trailer;

	if (cqe == NULL)
		return false;
	trailer = hw_le32(cqe + HW_CQE_TRAILER_OFF);
	assert_int_equal(trailer & 0xffffff, wq->id);
	assert_int_equal(trailer >> HW_CQE_IS_SQ_S & 1, is_sq);
	*message_bytes = hw_le32(cqe + HWC_CQE_SIZE_OFF);
	return true;
}

/* The events of the channel's EQ up to now; returns completions of its CQ. */
static uint32_t
drain_events(void)
{
	uint32_t type, detail, nb = 0;

	while (guest_event(&guest.eq, &type, &detail))
		nb += type == EQE_COMPLETION && detail == guest.cq.id;
	guest_ring_eq(&guest.eq, guest.db_page, true);
	return nb;
}

static void
post(const void *request, uint32_t nb_bytes)
{
	memcpy(guest_at(guest.request_gpa), request, nb_bytes);
	put_wqe(&guest.rq, 2, guest.answer_gpa, MAX_ANSWER);
	guest.rq.pos += RQ_WQE_BYTES;
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id, guest.rq.pos, false);
	put_wqe(&guest.sq, 6, guest.request_gpa, nb_bytes);
	guest.sq.pos += SQ_WQE_BYTES;
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id, guest.sq.pos, false);
}

bool
guest_try(const void *request, uint32_t nb_bytes)
{
	const struct hwc *hwc = &adapter(FN)->hwc;
	const uint32_t before = hwc->rq.ci;

	post(request, nb_bytes);
	guest_ring(guest.db_page, HW_DB_CQ, guest.cq.id,
		   hwc->cq.pi % (hwc->cq.nb_cqes * 8), true);
	guest_ring(guest.db_page, 0xff8, guest.eq.id,
		   hwc->eq->pi % (hwc->eq->nb_eqes * 8), true);
	guest.answer_bytes = 64;
	memcpy(guest.answer, guest_at(guest.answer_gpa), guest.answer_bytes);
	return hwc->rq.ci != before;
}

const struct request_header guest_plain_request = {
	.req = { .msg_type = GDMA_LIST_DEVICES,
		 .msg_version = 1,
		 .msg_size = sizeof(guest_plain_request) },
	.resp = { .msg_type = GDMA_LIST_DEVICES,
		  .msg_version = 1,
		  .msg_size = HWC_MAX_MESSAGE_BYTES },
};

void
guest_silence(bool is_silent)
{
	segment_lock();
	pci_stop_answering(0, is_silent);
	segment_unlock();
}

bool
guest_send(const void *request, uint32_t nb_bytes)
{
	const uint32_t before = guest.nb_interrupts[0];
	uint32_t size;

	post(request, nb_bytes);
	if (!take_cqe(&guest.sq, true, &size))
		return false;
	assert_true(take_cqe(&guest.rq, false, &guest.answer_bytes));
	assert_int_equal(guest.nb_interrupts[0], before + 1);
	assert_int_equal(drain_events(), 1);
	guest_ring(guest.db_page, HW_DB_CQ, guest.cq.id,
		   guest.cq.pos % (guest.cq.nb_bytes / HW_CQE_BYTES * 8), true);
	assert_true(guest.answer_bytes <= MAX_ANSWER);
	memcpy(guest.answer, guest_at(guest.answer_gpa), guest.answer_bytes);
	return true;
}

uint32_t
guest_call_device(void *request, uint32_t nb_bytes, uint32_t code,
		  uint32_t answer_bytes, enum device_type device,
		  uint16_t version)
{
	struct request_header *hdr = request;
	const struct answer_header *answer = (const void *)guest.answer;
	const uint16_t answer_version = hdr->resp.msg_version;

	hdr->req = (struct message_header){ .msg_type = code,
					    .msg_version = version,
					    .hwc_msg_id = ++guest.msg_id,
					    .msg_size = nb_bytes };
	hdr->resp = (struct message_header){
		.msg_type = code,
		.msg_version = answer_version != 0 ? answer_version : 1,
		.msg_size = answer_bytes
	};
	hdr->dev_id = (struct device_id){
		.type = (uint16_t)device,
		.instance = device > DEVICE_HWC ? ADAPTER_DEVICE_INSTANCE : 0
	};
	hdr->activity_id = 0x1234u + guest.msg_id;
	assert_true(guest_send(request, nb_bytes));
	assert_int_equal(answer->response.msg_type, code);
	assert_int_equal(answer->response.hwc_msg_id, guest.msg_id);
	assert_int_equal(answer->response.msg_size, guest.answer_bytes);
	assert_true(answer->response.msg_version >= 1);
	assert_true(guest.answer_bytes <= answer_bytes);
	assert_memory_equal(&answer->dev_id, &hdr->dev_id, sizeof(hdr->dev_id));
	assert_int_equal(answer->activity_id, hdr->activity_id);
	return answer->status;
}

uint32_t
guest_call(void *request, uint32_t nb_bytes, uint32_t code, uint32_t answer_bytes)
{
	return guest_call_device(request, nb_bytes, code, answer_bytes,
				 DEVICE_NONE, 1);
}

uint64_t
guest_region(uint64_t gpa, uint32_t nb_bytes)
{
	const uint32_t nb_pages = nb_bytes / GUEST_PAGE;
	const uint32_t size = sizeof(struct create_region_request) +
			      nb_pages * sizeof(uint64_t);
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];
	struct create_region_request *req = (void *)message;
	uint64_t page;
	uint32_t i;

	memset(message, 0, sizeof(message));
	req->length = nb_bytes;
	req->page_count = nb_pages;
	req->page_addr_list_len = nb_pages;
	for (i = 0; i < nb_pages; i++) {
		page = gpa + i * GUEST_PAGE;
		memcpy(message + sizeof(*req) + i * sizeof(page), &page,
		       sizeof(page));
	}
	assert_int_equal(guest_call(message, size, GDMA_CREATE_DMA_REGION,
				    sizeof(struct create_region_answer)),
			 STATUS_OK);
	assert_int_not_equal(ANSWER_OF(create_region_answer)->dma_region_handle,
			     0);
	return ANSWER_OF(create_region_answer)->dma_region_handle;
}

void
guest_assert_violation(enum violation violation, uint64_t n, const char *file,
		       int line)
{
	struct violation_log *log = segment_violation_log();
	uint64_t found = 0;
	uint32_t i;

	for (i = 0; i < log->nb_rows; i++) {
		const struct violation_row *row = &log->rows[i];

		if (row->violation == violation) {
			/* Each says what was found, and what would be right. */
			if (strstr(row->detail, "got ") == NULL ||
			    strstr(row->detail, ", want ") == NULL)
				fail_msg("%s:%d: detail '%s'", file, line, row->detail);
			found += row->count;
			continue;
		}
		print_error("%s:%d: violation %s\n", file, line,
			    violation_name(row->violation));
		_fail(file, line);
	}
	log->nb_rows = 0;
	log->nb_violations = 0;
	if (found != n)
		print_error("%s:%d: %llu violations\n", file, line,
			    (unsigned long long)found);
	_assert_int_equal(found, n, file, line);
}
