/* SPDX-License-Identifier: BSD-3-Clause */

#include "adapter.h"
#include "card.h"
#include "pci_device.h"
#include "request.h"

/* WQE of the SQ: header, long OOB, one SGE; of the RQ: short OOB. */
#define SQ_WQE_BYTES 64u
#define RQ_WQE_BYTES 32u

static struct ring
page_ring(uint32_t fn, uint64_t gpa)
{
	return (struct ring){
		.process = PCI_SPACE(fn),
		.size_bytes = HW_RING_MIN_BYTES,
		.addr = gpa,
	};
}

/* A PD, and a key of the guest's physical memory for the channel's SGEs. */
static bool
make_keys(uint32_t fn, struct hwc *hwc)
{
	const struct card_memory memory = {
		.process = PCI_SPACE(fn),
		.size = REGION_GUEST_BYTES,
	};

	if (card_pd_create(fn, &hwc->pdn) < 0)
		return false;
	if (card_mkey_create(fn, hwc->pdn, &memory, 0, CARD_ACCESS_WRITE,
			     &hwc->key) == 0)
		return true;
	card_pd_destroy(fn, hwc->pdn);
	return false;
}

static void
start_queues(uint32_t fn, struct hwc *hwc, const struct hwc_setup *setup)
{
	hwc->eq->pdn = hwc->pdn;
	hwc->eq->page = HWC_PAGE;
	hwc->eq->vector = setup->vector;
	hwc->eq->ring = page_ring(fn, setup->eq);
	eq_start(hwc->eq);
	hwc->cq = (struct cq){ .fn = fn,
			       .id = HWC_CQ_ID,
			       .ring = page_ring(fn, setup->cq) };
	cq_reset(&hwc->cq);
	hwc->rq = (struct wq){ .fn = fn,
			       .id = HWC_RQ_ID,
			       .pdn = hwc->pdn,
			       .ring = page_ring(fn, setup->rq) };
	hwc->sq = (struct wq){ .fn = fn,
			       .id = HWC_SQ_ID,
			       .pdn = hwc->pdn,
			       .is_sq = true,
			       .ring = page_ring(fn, setup->sq) };
	wq_reset(&hwc->rq);
	wq_reset(&hwc->sq);
}

/* Linux hw_channel.c mana_hwc_init_event_handler(). */
static void
announce(uint32_t fn, const struct hwc *hwc)
{
	const struct {
		enum hwc_init_data type;
		uint32_t value;
	} data[] = {
		{ HWC_INIT_CQ_ID, HWC_CQ_ID },
		{ HWC_INIT_RQ_ID, HWC_RQ_ID },
		{ HWC_INIT_SQ_ID, HWC_SQ_ID },
		{ HWC_INIT_QUEUE_DEPTH,
		  segment_config()->quirks[QUIRK_HWC_DEPTH_16] != 0 ? 16 : 1 },
		{ HWC_INIT_MAX_REQUEST, HWC_MAX_MESSAGE_BYTES },
		{ HWC_INIT_MAX_RESPONSE, HWC_MAX_MESSAGE_BYTES },
		{ HWC_INIT_MAX_NUM_CQS, CARD_FIRST_CQ_ID + CARD_NB_CQS },
		{ HWC_INIT_PD_ID, hwc->pdn },
		{ HWC_INIT_GPA_MKEY, hwc->key },
		{ HWC_INIT_PF_DEST_RQ_ID, HWC_RQ_ID },
		{ HWC_INIT_PF_DEST_CQ_ID, HWC_CQ_ID },
	};
	uint32_t i;

	adapter_hwc_event(fn, EQE_HWC_INIT_EQ_ID_DB,
			  hwc->eq->id | HWC_PAGE << 16);
	for (i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		adapter_hwc_event(fn, EQE_HWC_INIT_DATA,
				  data[i].value | data[i].type
							  << HWC_DATA_TYPE_S);
	adapter_hwc_event(fn, EQE_HWC_INIT_DONE, 0);
}

bool
hwc_open(uint32_t fn, const struct hwc_setup *setup)
{
	struct adapter *a = adapter(fn);
	struct hwc *hwc = &a->hwc;

	hwc->eq = adapter_new_eq(a);
	if (hwc->eq == NULL || !make_keys(fn, hwc))
		return false;
	start_queues(fn, hwc, setup);
	hwc->is_open = true;
	hwc->was_silent = hwc->is_silent;
	adapter_count(fn);
	a->was_reset = false;
	announce(fn, hwc);
	return true;
}

void
hwc_close(uint32_t fn)
{
	struct hwc *hwc = &adapter(fn)->hwc;

	hwc->is_open = false;
	hwc->eq->is_alive = false;
	card_mkey_destroy(fn, hwc->key);
	card_pd_destroy(fn, hwc->pdn);
}

/* The memory of an SGE of the channel; false, and a violation. */
static bool
place_of(const struct wq *wq, const struct hw_sge *sge, uint32_t access,
	 struct mem_place *place)
{
	static const enum violation names[] = {
		[MEM_KEY_UNKNOWN] = VIOLATION_sge_key_unknown,
		[MEM_KEY_FOREIGN_PD] = VIOLATION_sge_key_foreign_pd,
		[MEM_OUT_OF_RANGE] = VIOLATION_sge_out_of_range,
		[MEM_NO_WRITE_ACCESS] = VIOLATION_sge_no_write_access,
	};
	const enum mem_fault fault =
		mem_region_check(&card_function(wq->fn)->mem, sge->key, wq->pdn,
				 sge->addr, sge->size_bytes, access, place);

	if (fault != MEM_OK) {
		sge_detail(&card_function(wq->fn)->mem, wq->pdn, sge, fault);
		wq_violation(wq, names[fault], sge, sizeof(*sge));
	}
	return fault == MEM_OK;
}

/* Say what is wrong with a WQE, which differs from those of other queues. */
static void
detail_wqe(const struct wq *wq, enum violation violation,
	   const struct hw_wqe *wqe, uint32_t nb_bytes)
{
	if (violation == VIOLATION_wqe_oob_size)
		violation_detail("got inline_oob_size_div4 %u, want %u",
				 wqe->oob_div4,
				 wq->is_sq ? HW_OOB_DIV4_LONG :
					     HW_OOB_DIV4_SHORT);
	else if (violation == VIOLATION_hwc_wqe)
		violation_detail("got num_sge %u, want 1", wqe->nb_sge);
	else
		violation_detail("got %u bytes, want at most %u, up to the tail of the "
				 "doorbell",
				 nb_bytes, wq_posted_bytes(wq));
}

/* Fetch the next WQE of the channel. False, and a violation. */
static bool
fetch(struct wq *wq, uint8_t raw[SQ_WQE_BYTES], struct hw_sge *sge)
{
	const uint32_t oob_div4 = wq->is_sq ? HW_OOB_DIV4_LONG :
					      HW_OOB_DIV4_SHORT;
	const uint32_t nb_bytes = wq->is_sq ? SQ_WQE_BYTES : RQ_WQE_BYTES;
	enum violation violation = NB_VIOLATIONS;
	struct hw_wqe wqe;

	if (ring_read(&wq->ring, wq->ci, raw, nb_bytes) < 0) {
		wq_violation(wq, VIOLATION_wqe_memory_fault, NULL, 0);
		return false;
	}
	wqe = hw_wqe_read(raw);
	if (wqe.oob_div4 != oob_div4)
		violation = VIOLATION_wqe_oob_size;
	else if (wqe.nb_sge != 1)
		violation = VIOLATION_hwc_wqe;
	else if (nb_bytes > wq_posted_bytes(wq))
		violation = VIOLATION_wqe_beyond_tail;
	if (violation != NB_VIOLATIONS) {
		detail_wqe(wq, violation, &wqe, nb_bytes);
		wq_violation(wq, violation, raw, nb_bytes);
		return false;
	}
	*sge = hw_sge_read(raw + hw_wqe_sgl_offset(&wqe));
	return true;
}

/* Copy a request once. Its size, or 0 and a violation. */
static uint32_t
fetch_request(struct hwc *hwc, uint8_t message[HWC_MAX_MESSAGE_BYTES])
{
	struct wq *sq = &hwc->sq;
	uint8_t raw[SQ_WQE_BYTES];
	struct mem_place place;
	struct hw_sge sge;
	const uint8_t *oob = raw + HW_WQE_HEADER_BYTES;

	if (!fetch(sq, raw, &sge))
		return 0;
	if ((hw_le32(oob + HWC_TX_OOB_SCQ_OFF) & HWC_TX_OOB_ID_M) != HWC_CQ_ID ||
	    (hw_le32(oob + HWC_TX_OOB_SQ_OFF) & HWC_TX_OOB_ID_M) != HWC_SQ_ID ||
	    sge.size_bytes < sizeof(struct request_header) ||
	    sge.size_bytes > HWC_MAX_MESSAGE_BYTES) {
		violation_detail(
			"got CQ %u, SQ %u, %u bytes, want CQ %u, SQ %u, %zu to %u bytes",
			hw_le32(oob + HWC_TX_OOB_SCQ_OFF) & HWC_TX_OOB_ID_M,
			hw_le32(oob + HWC_TX_OOB_SQ_OFF) & HWC_TX_OOB_ID_M,
			sge.size_bytes, HWC_CQ_ID, HWC_SQ_ID,
			sizeof(struct request_header), HWC_MAX_MESSAGE_BYTES);
		wq_violation(sq, VIOLATION_hwc_wqe, raw, sizeof(raw));
		return 0;
	}
	if (!place_of(sq, &sge, MEM_ACCESS_READ, &place))
		return 0;
	if (mem_read(place.process, place.addr, message, sge.size_bytes) < 0) {
		sge_detail(&card_function(sq->fn)->mem, sq->pdn, &sge, MEM_OK);
		wq_violation(sq, VIOLATION_sge_memory_fault, raw, sizeof(raw));
		return 0;
	}
	return sge.size_bytes;
}

/* Write an answer to the next buffer of the RQ. False, and a violation. */
static bool
deliver(struct hwc *hwc, const uint8_t *answer, uint32_t nb_bytes)
{
	struct wq *rq = &hwc->rq;
	uint8_t raw[SQ_WQE_BYTES];
	struct mem_place place;
	struct hw_sge sge;

	if (wq_posted_bytes(rq) == 0) {
		violation_detail(
			"got no WQE for an answer of %u bytes, want one for each request",
			nb_bytes);
		wq_violation(rq, VIOLATION_hwc_no_rx_wqe, NULL, 0);
		return false;
	}
	if (!fetch(rq, raw, &sge))
		return false;
	if (sge.size_bytes < nb_bytes) {
		violation_detail("got a buffer of %u bytes, want %u for the answer",
				 sge.size_bytes, nb_bytes);
		wq_violation(rq, VIOLATION_hwc_wqe, raw, RQ_WQE_BYTES);
		return false;
	}
	if (!place_of(rq, &sge, MEM_ACCESS_WRITE, &place))
		return false;
	if (mem_write(place.process, place.addr, answer, nb_bytes) < 0) {
		sge_detail(&card_function(rq->fn)->mem, rq->pdn, &sge, MEM_OK);
		wq_violation(rq, VIOLATION_sge_memory_fault, raw, RQ_WQE_BYTES);
		return false;
	}
	return true;
}

/* Complete the WQE at the consumer position; true if an event is due. */
static bool
complete(struct hwc *hwc, struct wq *wq, uint32_t message_bytes)
{
	uint8_t cqe[HW_CQE_BYTES] = { 0 };
	const uint32_t trailer = wq->id | (uint32_t)wq->is_sq << HW_CQE_IS_SQ_S;

	hw_put_le32(cqe, HWC_CQE_SOM_EOM);
	hw_put_le32(cqe + HWC_CQE_WQE_OFF_OFF, wq->ci);
	hw_put_le32(cqe + HWC_CQE_SIZE_OFF, message_bytes);
	wq->ci += wq->is_sq ? SQ_WQE_BYTES : RQ_WQE_BYTES;
	return cq_post(&hwc->cq, cqe, trailer, true);
}

static void
answer_one(uint32_t fn, struct hwc *hwc)
{
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];
	static _Alignas(8) uint8_t answer[HWC_MAX_MESSAGE_BYTES];
	const uint32_t nb_bytes = fetch_request(hwc, message);
	uint32_t answer_bytes;
	bool event;

	if (nb_bytes == 0) {
		hwc->sq.is_disabled = true; /* as a Tx queue: nic_tx.c */
		return;
	}
	answer_bytes = request_answer(fn, message, nb_bytes, answer);
	/* Both CQEs precede their event, so that one event is enough. */
	event = complete(hwc, &hwc->sq, 0);
	if (deliver(hwc, answer, answer_bytes))
		event = complete(hwc, &hwc->rq, answer_bytes) || event;
	if (event)
		eq_post(hwc->eq, EQE_COMPLETION, HWC_CQ_ID);
}

bool
hwc_run(uint32_t fn)
{
	struct hwc *hwc = &adapter(fn)->hwc;

	if (!hwc->is_open || hwc->is_silent || hwc->sq.is_disabled ||
	    wq_posted_bytes(&hwc->sq) == 0)
		return false;
	/*
	 * A guest posts a buffer again when it has its answer. One that gave up a request
	 * has sent more of them than it has buffers: they wait.
	 */
	if (hwc->was_silent && wq_posted_bytes(&hwc->rq) == 0)
		return false;
	answer_one(fn, hwc);
	return true;
}

static void
ring_cq(struct hwc *hwc, const struct hw_doorbell *db)
{
	if (cq_doorbell(&hwc->cq, db->tail, db->arm, false))
		eq_post(hwc->eq, EQE_COMPLETION, HWC_CQ_ID);
}

void
hwc_doorbell(uint32_t fn, uint32_t offset, uint64_t value)
{
	struct hwc *hwc = &adapter(fn)->hwc;
	const struct hw_doorbell db = hw_doorbell_read(value, offset == HW_DB_CQ);
	const uint32_t ids[] = { HWC_SQ_ID, HWC_RQ_ID, HWC_CQ_ID };
	const uint32_t reg = offset / (HW_DB_RQ - HW_DB_SQ);
	const bool is_rq = offset == HW_DB_RQ;

	if (!hwc->is_open || db.id != ids[reg]) {
		violation_detail("got id %u, want %u of an open hardware channel",
				 db.id, ids[reg]);
		adapter_violation(fn, VIOLATION_doorbell_unknown_queue, offset,
				  &value, sizeof(value));
		return;
	}
	if (db.wqe_cnt != 0 &&
	    (!is_rq ||
	     segment_config()->quirks[QUIRK_RQ_WQE_CNT_IGNORED] == 0)) {
		violation_detail("got 0x%x in bits 24 to 31, want 0", db.wqe_cnt);
		adapter_violation(fn,
				  is_rq ? VIOLATION_rq_doorbell_wqe_cnt :
					  VIOLATION_doorbell_reserved_bits,
				  offset, &value, sizeof(value));
	}
	if (offset == HW_DB_CQ)
		ring_cq(hwc, &db);
	else if (wq_doorbell(offset == HW_DB_SQ ? &hwc->sq : &hwc->rq, db.tail))
		hwc_run(fn);
}
