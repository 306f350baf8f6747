/* SPDX-License-Identifier: BSD-3-Clause */

#include "clock.h"
#include "engine.h"
#include "inject_card.h"
#include "nic.h"
#include "platform.h"
#include "synthetic.h"
#include "wire.h"

enum engine_register {
	ENGINE_SQ,
	ENGINE_RQ,
	ENGINE_CQ
};

static const struct {
	const char *name, *one;
	enum violation_queue kind;
	enum doorbell_count count; /* of doorbells that do not arm */
} engine_queues[] = {
	[ENGINE_SQ] = { "sq", "an SQ", VIOLATION_QUEUE_SQ, DOORBELL_COUNT_SQ },
	[ENGINE_RQ] = { "rq", "an RQ", VIOLATION_QUEUE_RQ, DOORBELL_COUNT_RQ },
	[ENGINE_CQ] = { "cq", "a CQ", VIOLATION_QUEUE_CQ, DOORBELL_COUNT_CQ },
};

/*
 * Frames of one card_run() of a PCI machine: one thread serves all functions and
 * the launcher, and a guest may post WQEs without end.
 */
#define PCI_TX_BUDGET 256u

/* A store to a doorbell page. */
struct engine_store {
	uint32_t fn, page;
	uint64_t value;
	uint32_t size_bytes;
	enum engine_register reg;
	bool is_short;
	struct hw_doorbell db;
};

/* Pending SQs per process, linked by fn * CARD_NB_WQS + index + 1 (0: end). */
static struct wq *
engine_pending_at(uint32_t link)
{
	struct card *card = segment_card();

	link--;
	return &card->functions[link / CARD_NB_WQS].wqs[link % CARD_NB_WQS];
}

static void
engine_note(struct wq *sq)
{
	struct card *card = segment_card();
	const uint32_t process = sq->ring.process;
	const uint32_t link = sq->fn * CARD_NB_WQS +
			      (uint32_t)(sq - card->functions[sq->fn].wqs) + 1;

	if (sq->is_pending)
		return;
	sq->is_pending = true;
	sq->next_pending = 0;
	if (card->pending_first[process] == 0)
		card->pending_first[process] = link;
	else
		engine_pending_at(card->pending_last[process])->next_pending =
			link;
	card->pending_last[process] = link;
}

/* Remove the oldest pending SQ; NULL if there is none. */
static struct wq *
engine_take(uint32_t process)
{
	struct card *card = segment_card();
	struct wq *sq;

	if (card->pending_first[process] == 0)
		return NULL;
	sq = engine_pending_at(card->pending_first[process]);
	card->pending_first[process] = sq->next_pending;
	if (sq->next_pending == 0)
		card->pending_last[process] = 0;
	sq->is_pending = false;
	sq->next_pending = 0;
	return sq;
}

void
engine_forget(struct wq *sq)
{
	struct card *card = segment_card();
	const uint32_t process = sq->ring.process;
	uint32_t link, last = 0;
	uint32_t *at;

	if (!sq->is_pending)
		return;
	at = &card->pending_first[process];
	for (link = *at; link != 0; link = *at) {
		struct wq *other = engine_pending_at(link);

		if (other == sq) {
			*at = sq->next_pending;
			if (*at == 0)
				card->pending_last[process] = last;
			break;
		}
		last = link;
		at = &other->next_pending;
	}
	sq->is_pending = false;
}

/* List each SQ with posted WQEs. An SQ without work there is harmless. */
static void
engine_list_pending(void)
{
	struct card *card = segment_card();
	uint32_t fn, i;

	memset(card->pending_first, 0, sizeof(card->pending_first));
	memset(card->pending_last, 0, sizeof(card->pending_last));
	for (fn = 0; fn < card->nb_functions; fn++) {
		for (i = 0; i < CARD_MAX_QUEUES; i++) {
			struct wq *sq = &card->functions[fn].wqs[i];

			sq->is_pending = false;
			if (sq->is_sq)
				sq->nb_wqes = 0; /* counted again */
			if (segment_config()->mode != MODEL_MODE_THREAD ||
			    !sq->is_alive || wq_posted_bytes(sq) == 0)
				continue;
			engine_note(sq);
			platform->wake(sq->ring.process);
		}
	}
}

/* Each step is idempotent: the process that does it may be killed, too. */
void
card_recover(void)
{
	wire_recover();
	synthetic_recover();
	nic_recover();
	inject_recover();
	nic_coalesce_recover();
	engine_list_pending();
	/* It may have taken the clock, and not have run its timers. */
	clock_due(clock_now());
}

static void
engine_violation(const struct engine_store *store, enum violation violation)
{
	struct violation_place place = {
		.fn = store->fn,
		.kind = engine_queues[store->reg].kind,
		.queue = store->db.id,
	};

	violation_record(violation, &place, &store->value, store->size_bytes);
}

/* Find the register; false, and a violation, if there is none at the offset. */
static bool
engine_decode(uint32_t offset, struct engine_store *store)
{
	static const struct {
		uint32_t offset, size_bytes;
		enum engine_register reg;
	} registers[] = {
		{ HW_DB_SQ, 8, ENGINE_SQ },
		{ HW_DB_RQ, 8, ENGINE_RQ },
		{ HW_DB_CQ, 8, ENGINE_CQ },
		{ HW_DB_SHORT_SQ, 4, ENGINE_SQ },
		{ HW_DB_SHORT_RQ, 4, ENGINE_RQ },
		{ HW_DB_SHORT_CQ, 4, ENGINE_CQ },
	};
	const uint32_t n = sizeof(registers) / sizeof(registers[0]);
	struct violation_place place = { .fn = store->fn, .index = offset };
	uint32_t i;

	for (i = 0; i < n && registers[i].offset != offset; i++)
		;
	if (i == n || registers[i].size_bytes != store->size_bytes) {
		if (i == n)
			violation_detail("got offset 0x%x, want 0 (SQ), 0x400 (RQ) or 0x800 "
					 "(CQ); 0x10 more for 4 bytes",
					 offset);
		else
			violation_detail("got %u bytes at offset 0x%x, want %u",
					 store->size_bytes, offset,
					 registers[i].size_bytes);
		violation_record(i == n ? VIOLATION_doorbell_bad_offset :
					  VIOLATION_doorbell_bad_width,
				 &place, &store->value,
				 store->size_bytes <= 8 ? store->size_bytes : 8);
		return false;
	}
	store->reg = registers[i].reg;
	store->is_short = store->size_bytes == 4;
	if (store->is_short)
		store->db = hw_doorbell_read_short((uint32_t)store->value,
						   store->reg == ENGINE_CQ);
	else
		store->db = hw_doorbell_read(store->value,
					     store->reg == ENGINE_CQ);
	return true;
}

/* Record reserved bits; the hardware ignores them. */
static void
engine_check_reserved(const struct engine_store *store)
{
	const bool is_rq = store->reg == ENGINE_RQ;

	if (store->db.wqe_cnt != 0 &&
	    (!is_rq || nic_quirk(QUIRK_RQ_WQE_CNT_IGNORED) == 0)) {
		violation_detail("got 0x%x in bits 24 to 31, want 0",
				 store->db.wqe_cnt);
		engine_violation(store, is_rq ? VIOLATION_rq_doorbell_wqe_cnt :
						VIOLATION_doorbell_reserved_bits);
	}
	if (store->db.reserved_bits) {
		violation_detail("got 0x%x, want 0 in bits 28 to %s",
				 (uint32_t)store->value,
				 store->reg == ENGINE_CQ ? "30" : "31");
		engine_violation(store, VIOLATION_doorbell_reserved_bits);
	}
}

/* The id may be that of another kind of queue. */
static void
detail_unknown_queue(const struct engine_store *store)
{
	struct card_function *f = card_function(store->fn);
	const uint32_t id = store->db.id;
	const char *other = card_sq(f, id) != NULL ? "; an SQ has this id" :
			    card_rq(f, id) != NULL ? "; an RQ has this id" :
			    card_cq(f, id) != NULL ? "; a CQ has this id" :
						     "";

	violation_detail("got id %u, want that of %s%s", id,
			 engine_queues[store->reg].one, other);
}

static bool
engine_check_owner(const struct engine_store *store, bool exists, uint32_t page)
{
	if (!exists) {
		detail_unknown_queue(store);
		engine_violation(store, VIOLATION_doorbell_unknown_queue);
		return false;
	}
	if (page != store->page) {
		violation_detail("got doorbell page %u, want page %u of the context that has "
				 "made the queue",
				 store->page, page);
		engine_violation(store, VIOLATION_doorbell_foreign_queue);
		return false;
	}
	return true;
}

void
engine_start(struct card_function *f, struct wq *sq)
{
	if (segment_config()->mode == MODEL_MODE_THREAD) {
		engine_note(sq);
		platform->wake(sq->ring.process);
	} else {
		uint32_t budget = NIC_TX_NO_LIMIT;

		nic_tx_run(f, sq, &budget, wire_send);
		nic_coalesce_flush();
	}
}

#define ANY_PORT UINT32_MAX

/* Process the WQEs that the SQs of a port have posted. */
static void
start_queues(uint32_t fn, uint32_t port)
{
	struct card_function *f = card_function(fn);
	uint32_t i;

	for (i = 0; i < CARD_MAX_QUEUES; i++) {
		struct wq *sq = &f->wqs[i];

		if (sq->is_alive && (port == ANY_PORT || sq->port == port) &&
		    wq_posted_bytes(sq) > 0)
			engine_start(f, sq);
	}
}

static void
start_all(void)
{
	for (uint32_t fn = 0; fn < segment_card()->nb_functions; fn++)
		start_queues(fn, ANY_PORT);
}

bool
card_go(void)
{
	struct card *card = segment_card();

	if (!card->watch.is_paused)
		return false;
	card->watch.is_paused = false;
	start_all();
	return card->watch.is_paused;
}

int
card_resume(uint32_t fn, uint32_t port, uint32_t queue, bool is_tx)
{
	const int ret = inject_end_stall(fn, port, queue, is_tx);

	if (ret == 0 && is_tx)
		start_queues(fn, port);
	return ret;
}

void
card_clear_faults(void)
{
	inject_drop();
	start_all();
}

static void
engine_ring_wq(const struct engine_store *store, struct card_function *f)
{
	struct wq *wq = store->reg == ENGINE_SQ ? card_sq(f, store->db.id) :
						  card_rq(f, store->db.id);
	uint32_t tail = store->db.tail, old_pi;

	if (!engine_check_owner(store, wq != NULL, wq != NULL ? wq->page : 0) ||
	    wq->is_disabled)
		return;
	old_pi = wq->pi;
	if (store->is_short)
		tail += old_pi;
	if (!wq_doorbell(wq, tail))
		return;
	wq_check_outstanding(wq, &f->cqs[wq->cq], old_pi);
	if (store->reg == ENGINE_SQ)
		engine_start(f, wq);
	else if (wire_rx_ready(store->fn, wq->port)) /* a generator waits for WQEs */
		platform->wake(wq->ring.process);
}

static void
engine_ring_cq(const struct engine_store *store, struct card_function *f)
{
	struct cq *cq = card_cq(f, store->db.id);
	uint32_t tail = store->db.tail;

	if (!engine_check_owner(store, cq != NULL, cq != NULL ? cq->page : 0))
		return;
	if (store->is_short)
		tail = (tail + cq->rung_idx) % (HW_OWNER_LAPS * cq->nb_cqes);
	if (cq_doorbell(cq, tail, store->db.arm,
			segment_config()->quirks[QUIRK_CQ_INDEX_MUST_ADVANCE] != 0))
		platform->complete(cq->fn, cq->id);
}

/* The number of new WQEs; 0 if the doorbell is refused. */
static uint32_t
engine_nb_wqes(const struct engine_store *store, struct card_function *f)
{
	const struct wq *wq =
		store->reg == ENGINE_SQ ? card_sq(f, store->db.id) :
		store->reg == ENGINE_RQ ? card_rq(f, store->db.id) :
					  NULL;
	uint32_t tail = store->db.tail;

	if (wq == NULL || wq->page != store->page || wq->is_disabled)
		return 0;
	if (store->is_short)
		tail += wq->pi;
	if (tail % HW_BU_BYTES != 0 || tail - wq->ci > wq->ring.size_bytes ||
	    (int32_t)(tail - wq->pi) < 0)
		return 0;
	return wq_count(wq, wq->pi, tail);
}

static void
engine_trace(const struct engine_store *store, struct card_function *f)
{
	trace_put(TRACE_doorbell,
		  "fn=%u page=%u reg=%s short=%d id=%u tail=%u wqe_cnt=%u "
		  "arm=%d wqes=%u",
		  store->fn, store->page, engine_queues[store->reg].name,
		  store->is_short, store->db.id, store->db.tail, store->db.wqe_cnt,
		  store->db.arm, engine_nb_wqes(store, f));
}

void
card_doorbell(uint32_t fn, uint32_t page, uint32_t offset, uint64_t value,
	      uint32_t size_bytes)
{
	struct card_function *f = card_function(fn);
	struct engine_store store = { .fn = fn,
				      .page = page,
				      .value = value,
				      .size_bytes = size_bytes };

	clock_event();
	if (f == NULL || !engine_decode(offset, &store))
		return;
	doorbell_count(segment_violation_log(), store.db.arm ? DOORBELL_COUNT_CQ_ARM :
							 engine_queues[store.reg].count);
	if (trace_is_on(TRACE_doorbell))
		engine_trace(&store, f);
	engine_check_reserved(&store);
	if (store.reg == ENGINE_CQ)
		engine_ring_cq(&store, f);
	else
		engine_ring_wq(&store, f);
}

bool
card_run(uint32_t process)
{
	uint32_t budget = segment_config()->is_pci ? PCI_TX_BUDGET :
						     NIC_TX_NO_LIMIT;
	struct card *card = segment_card();
	bool worked = generator_run();
	struct wq *sq;

	while (budget > 0 && (sq = engine_take(process)) != NULL) {
		if (nic_tx_run(&card->functions[sq->fn], sq, &budget,
			       wire_send))
			engine_note(sq); /* behind the others */
		worked = true;
	}
	nic_coalesce_flush();
	/* Keep the thread awake while a coalesced CQE is open. */
	return worked || card->nb_open != 0;
}

void
card_timers(uint64_t now_ns)
{
	inject_timers(now_ns);
	wire_timers(now_ns);
	nic_coalesce_flush();
	nic_coalesce_timer(now_ns);
}
