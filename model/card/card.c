/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's control path: commands that create and destroy objects. */

#include <assert.h>
#include <errno.h>

#include "engine.h"
#include "inject_card.h"
#include "nic.h"
#include "synthetic.h"
#include "wire.h"

static_assert(sizeof(struct card) <= SEGMENT_CARD_BYTES, "struct card");
static_assert(CARD_ACCESS_READ == MEM_ACCESS_READ &&
		      CARD_ACCESS_WRITE == MEM_ACCESS_WRITE,
	      "access rights");
static_assert(CARD_NB_TX_ERRORS == HW_CQE_TX_GDMA_ERR - HW_CQE_TX_SA_DROP + 1,
	      "Tx errors");

/* Tx vPort offsets are not 0 and differ between ports. */
#define CARD_VP_OFFSET_STEP 3u

static void
card_mac(const uint8_t base[6], uint32_t n, uint8_t mac[6])
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 6; i++)
		value = value << 8 | base[i];
	value += n;
	for (i = 5; i >= 0; i--) {
		mac[i] = (uint8_t)value;
		value >>= 8;
	}
}

int
card_init(void)
{
	const struct model_config *config = segment_config();
	struct card *card = segment_card();
	uint32_t fn, p, n = 0;

	if (config->nb_functions > MODEL_MAX_FUNCTIONS ||
	    config->max_mtu > MODEL_MAX_MTU)
		return -EINVAL;
	card->nb_functions = config->nb_functions;
	for (fn = 0; fn < card->nb_functions; fn++) {
		struct card_function *f = &card->functions[fn];

		if (config->nb_ports[fn] > MODEL_MAX_PORTS_PER_FUNCTION)
			return -EINVAL;
		f->nb_ports = config->nb_ports[fn];
		for (p = 0; p < f->nb_ports; p++) {
			struct card_port *port = &f->ports[p];

			card_mac(config->mac_base, n++, port->mac);
			port->tx_vp_offset = config->vp_offset_base +
					     CARD_VP_OFFSET_STEP * p + fn;
			if (port->tx_vp_offset > HW_OOB_LONG_VP_M)
				return -EINVAL;
		}
	}
	wire_init();
	if (config->netvsc != MODEL_NETVSC_NONE)
		synthetic_init();
	return 0;
}

/* Take the lowest free number, from 1; -EPROTO if all are taken. */
static int
card_number_take(bool *taken, uint32_t nb, uint32_t *number)
{
	uint32_t i;

	for (i = 1; i < nb; i++) {
		if (!taken[i]) {
			taken[i] = true;
			*number = i;
			return 0;
		}
	}
	return -EPROTO;
}

int
card_pd_create(uint32_t fn, uint32_t *pdn)
{
	struct card_function *f = card_function(fn);

	return f == NULL ? -EPROTO :
			   card_number_take(f->pds, CARD_MAX_PDS, pdn);
}

void
card_pd_destroy(uint32_t fn, uint32_t pdn)
{
	struct card_function *f = card_function(fn);

	if (f == NULL || pdn >= CARD_MAX_PDS || !f->pds[pdn])
		return;
	mem_region_destroy_pd(&f->mem, pdn);
	f->pds[pdn] = false;
}

int
card_doorbell_page_create(uint32_t fn, uint32_t *page)
{
	struct card_function *f = card_function(fn);

	return f == NULL ? -EPROTO :
			   card_number_take(f->pages, CARD_MAX_PAGES, page);
}

static bool
card_pd_exists(const struct card_function *f, uint32_t pdn)
{
	return pdn < CARD_MAX_PDS && f->pds[pdn];
}

int
card_mkey_create(uint32_t fn, uint32_t pdn, const struct card_memory *memory,
		 uint64_t iova, uint32_t access, uint32_t *key)
{
	struct card_function *f = card_function(fn);
	struct mem_region region = {
		.pdn = pdn,
		.access = access,
		.process = memory->process,
		.iova = iova,
		.addr = memory->addr,
		.size_bytes = memory->size,
	};

	if (f == NULL || !card_pd_exists(f, pdn) || memory->size == 0 ||
	    memory->addr + memory->size < memory->addr ||
	    iova + memory->size < iova)
		return -EPROTO;
	return mem_region_create(&f->mem, &region, key) < 0 ? -EPROTO : 0;
}

void
card_mkey_destroy(uint32_t fn, uint32_t key)
{
	struct card_function *f = card_function(fn);

	if (f != NULL)
		mem_region_destroy(&f->mem, key);
}

#define CARD_SMALL_RING_BYTES 8192 /* --quirk ring-max=8k */

static bool
card_queue_is_valid(const struct card_function *f, uint32_t pdn,
		    uint32_t page, const struct card_memory *ring)
{
	return f != NULL && card_pd_exists(f, pdn) && page < CARD_MAX_PAGES &&
	       f->pages[page] && ring_is_valid(ring->addr, ring->size) &&
	       (nic_quirk(QUIRK_RING_MAX) == 0 || ring->size <= CARD_SMALL_RING_BYTES) &&
	       ring->process < MODEL_MAX_PROCESSES;
}

static struct ring
card_ring(const struct card_memory *memory)
{
	return (struct ring){
		.process = memory->process,
		.size_bytes = (uint32_t)memory->size,
		.addr = memory->addr,
	};
}

int
card_cq_create(uint32_t fn, uint32_t pdn, uint32_t page,
	       const struct card_memory *ring, uint32_t *cq_id)
{
	struct card_function *f = card_function(fn);
	struct cq *cq;
	uint32_t i;

	if (!card_queue_is_valid(f, pdn, page, ring))
		return -EPROTO;
	for (i = 0; i < CARD_NB_CQS && f->cqs[i].is_alive; i++)
		;
	if (i == CARD_NB_CQS)
		return -EPROTO;
	cq = &f->cqs[i];
	*cq = (struct cq){
		.id = CARD_FIRST_CQ_ID + i,
		.fn = fn,
		.pdn = pdn,
		.page = page,
		.ring = card_ring(ring),
	};
	cq_reset(cq);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cq->is_alive = true;
	*cq_id = cq->id;
	return 0;
}

void
card_cq_destroy(uint32_t fn, uint32_t cq_id)
{
	struct card_function *f = card_function(fn);
	struct cq *cq = f != NULL ? card_cq(f, cq_id) : NULL;

	if (cq != NULL)
		cq->is_alive = false;
}

/* The counter record of a queue: the existing one of its id, else a new one. */
static uint32_t
card_record(struct card_port *port, uint32_t id, bool is_sq)
{
	struct card_queue_counters *record;
	uint32_t i;

	for (i = 0; i < port->nb_records; i++) {
		record = &port->records[i];
		if (record->id == id && record->is_sq == is_sq)
			break;
	}
	if (i == port->nb_records) {
		if (i == CARD_PORT_QUEUES - 1)
			id = CARD_NO_QUEUE;
		if (i == CARD_PORT_QUEUES)
			return i - 1;
		record = &port->records[i];
		*record = (struct card_queue_counters){ .id = id,
							  .is_sq = is_sq };
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		port->nb_records++;
	}
	port->records[i].alive = true;
	return i;
}

int
card_wq_ring_fill(const struct card_memory *ring)
{
	return mem_fill(ring->process, ring->addr, 0xff, ring->size);
}

/* template contains kind, port, pdn and page. */
static int
card_wq_create(uint32_t fn, const struct wq *template,
	       const struct card_memory *ring, uint32_t cq_id, uint32_t *id)
{
	const uint32_t first = template->is_sq ? 0 : CARD_MAX_QUEUES;
	struct card_function *f = card_function(fn);
	struct cq *cq;
	struct wq *wq;
	uint32_t i;

	if (!card_queue_is_valid(f, template->pdn, template->page, ring) ||
	    template->port >= f->nb_ports)
		return -EPROTO;
	/* ASSUMED: Linux configures the vPort first, with PD and page. */
	if (!f->ports[template->port].tx_enabled)
		return -EPROTO;
	/* ASSUMED, since the kernel allows no other: a CQ serves one queue. */
	cq = card_cq(f, cq_id);
	if (cq == NULL || cq->is_used || cq->pdn != template->pdn)
		return -EPROTO;
	for (i = 0; i < CARD_MAX_QUEUES && f->wqs[first + i].is_alive; i++)
		;
	if (i == CARD_MAX_QUEUES)
		return -EPROTO;
	wq = &f->wqs[first + i];
	*wq = *template;
	wq->id = i + (template->is_sq ? CARD_FIRST_SQ_ID : CARD_FIRST_RQ_ID);
	wq->fn = fn;
	wq->cq = (uint32_t)(cq - f->cqs);
	wq->ring = card_ring(ring);
	wq_reset(wq);
	/* Only libmana knows the ring before the queue exists. */
	if (wq->is_sq && card_wq_ring_fill(ring) < 0)
		return -EPROTO;
	wq->counter = card_record(&f->ports[wq->port], wq->id, wq->is_sq);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	wq->is_alive = true;
	cq->is_used = true;
	*id = wq->id;
	trace_event("kind=queue_created fn=%u port=%u queue=%s id=%u bytes=%u "
		    "cq=%u cqes=%u", fn, trace_port(fn, wq->port),
		    wq->is_sq ? "sq" : "rq", wq->id, wq->ring.size_bytes,
		    cq->id, cq->nb_cqes);
	return 0;
}

static void
card_wq_destroy(struct card_function *f, struct wq *wq)
{
	if (wq->is_sq)
		engine_forget(wq);
	else
		nic_coalesce_flush_queue(f, wq);
	inject_forget(f, wq);
	trace_event("kind=queue_destroyed fn=%u port=%u queue=%s id=%u",
		    wq->fn, trace_port(wq->fn, wq->port),
		    wq->is_sq ? "sq" : "rq", wq->id);
	card_counters(f, wq)->alive = false;
	f->cqs[wq->cq].is_used = false;
	wq->is_alive = false;
}

int
card_sq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
	       const struct card_memory *ring, uint32_t cq_id,
	       uint32_t *sq_id)
{
	const struct wq template = {
		.is_sq = true,
		.port = port,
		.pdn = pdn,
		.page = page,
	};

	return card_wq_create(fn, &template, ring, cq_id, sq_id);
}

void
card_sq_destroy(uint32_t fn, uint32_t sq_id)
{
	struct card_function *f = card_function(fn);
	struct wq *sq = f != NULL ? card_sq(f, sq_id) : NULL;

	if (sq != NULL)
		card_wq_destroy(f, sq);
}

int
card_rq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
	       const struct card_memory *ring, uint32_t cq_id,
	       uint32_t *rq_id)
{
	const struct wq template = { .port = port, .pdn = pdn, .page = page };

	return card_wq_create(fn, &template, ring, cq_id, rq_id);
}

void
card_rq_destroy(uint32_t fn, uint32_t rq_id)
{
	struct card_function *f = card_function(fn);
	struct wq *rq = f != NULL ? card_rq(f, rq_id) : NULL;

	if (rq != NULL)
		card_wq_end(f, rq);
}

void
card_wq_end(struct card_function *f, struct wq *wq)
{
	struct card_port *port = &f->ports[wq->port];
	uint32_t i;

	/* A later RQ may get the id. */
	if (!wq->is_sq && port->default_rq == wq->id) {
		port->rx_enabled = false;
		port->default_rq = CARD_NO_QUEUE;
	}
	for (i = 0; !wq->is_sq && i < CARD_RSS_TABLE_SIZE; i++)
		if (port->table[i] == wq->id)
			port->table[i] = CARD_NO_QUEUE;
	card_wq_destroy(f, wq);
}

/* Queues of the page belong to no kernel object any more: destroy them. */
static void
card_page_end_queues(struct card_function *f, uint32_t page)
{
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (f->wqs[i].is_alive && f->wqs[i].page == page)
			card_wq_end(f, &f->wqs[i]);
	for (i = 0; i < CARD_NB_CQS; i++)
		if (f->cqs[i].page == page)
			f->cqs[i].is_alive = false;
}

void
card_doorbell_page_destroy(uint32_t fn, uint32_t page)
{
	struct card_function *f = card_function(fn);

	if (f == NULL || page >= CARD_MAX_PAGES || !f->pages[page])
		return;
	card_page_end_queues(f, page);
	f->pages[page] = false;
}
