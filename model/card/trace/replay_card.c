/* SPDX-License-Identifier: BSD-3-Clause */

#include "engine.h"
#include "nic.h"
#include "trace_wire.h"

/* IEEE 802 local experimental ethertype, which stacks ignore. */
#define PATTERN_ETHERTYPE 0x88b5

static struct wq *
wq_of(const struct replay_queue *queue)
{
	return &card_function(queue->fn)->wqs[queue->wq];
}

/* The recorded queue of a queue of the program; NULL: none. */
static struct replay_queue *
queue_of(const struct wq *wq)
{
	return wq->replay == 0 ? NULL : replay_queue(wq->replay - 1);
}

static uint32_t
wqe_bytes_at(const struct wq *wq, uint32_t pos)
{
	uint8_t header[HW_WQE_HEADER_BYTES];
	struct hw_wqe wqe;

	if (ring_read(&wq->ring, pos, header, sizeof(header)) < 0)
		return HW_BU_BYTES;
	wqe = hw_wqe_read(header);
	return hw_wqe_bytes(&wqe);
}

static void
fetch(struct wq *wq)
{
	const uint32_t nb_bytes = wqe_bytes_at(wq, wq->ci);

	if (nb_bytes <= wq_posted_bytes(wq))
		wq->ci += nb_bytes;
	if (wq->nb_wqes > 0)
		wq->nb_wqes--;
}

/* Byte i of a packet: Ethernet header, then the low byte of i. */
static uint8_t
pattern(const struct card_port *port, uint32_t i)
{
	static const uint8_t from[] = { 0x02, 0, 0, 0, 0, 1,
					PATTERN_ETHERTYPE >> 8,
					PATTERN_ETHERTYPE & 0xff };

	if (i < 6)
		return port->mac[i];
	return i < NIC_ETH_BYTES ? from[i - 6] : (uint8_t)i;
}

/* Fill an SGE; returns the length of the packet so far. */
static uint32_t
fill_sge(const struct wq *rq, const struct hw_sge *sge, uint32_t done,
	 uint32_t nb_bytes)
{
	const struct card_function *f = card_function(rq->fn);
	uint32_t n = nb_bytes - done, i;
	struct mem_place place;
	uint8_t *data = segment_card()->frame;

	if (n > sge->size_bytes)
		n = sge->size_bytes;
	if (n == 0 || n > CARD_FRAME_BYTES)
		return done;
	for (i = 0; i < n; i++)
		data[i] = pattern(&f->ports[rq->port], done + i);
	if (mem_region_check(&f->mem, sge->key, rq->pdn, sge->addr,
			     sge->size_bytes, MEM_ACCESS_WRITE,
			     &place) != MEM_OK ||
	    mem_write(place.process, place.addr, data, n) < 0)
		wq_violation(rq, VIOLATION_sge_memory_fault, sge, sizeof(*sge));
	return done + n;
}

/* Write a packet of this length to the next WQE without one. */
static void
fill(const struct wq *rq, struct replay_queue *queue, uint32_t nb_bytes)
{
	uint8_t raw[HW_RQ_WQE_MAX_BYTES] = { 0 };
	struct hw_wqe wqe;
	uint32_t done = 0, at, i;

	if (queue->filled_pos == rq->ci ||
	    ring_read(&rq->ring, queue->filled_pos, raw, sizeof(raw)) < 0)
		return;
	wqe = hw_wqe_read(raw);
	at = hw_wqe_sgl_offset(&wqe);
	for (i = 0; i < wqe.nb_sge && at + HW_SGE_BYTES <= sizeof(raw); i++) {
		const struct hw_sge sge = hw_sge_read(raw + at);

		done = fill_sge(rq, &sge, done, nb_bytes);
		at += HW_SGE_BYTES;
	}
	queue->filled_pos += hw_wqe_bytes(&wqe);
}

/* Write the packets of an Rx CQE. */
static void
fill_all(const struct wq *rq, struct replay_queue *queue, const uint8_t *cqe)
{
	const uint32_t type = cqe[0] & HW_CQE_TYPE_M;
	uint32_t nb = 1, i;

	if (type == HW_CQE_RX_COALESCED_4)
		nb = HW_RX_CQE_NB_PPI;
	else if (type == HW_CQE_RX_COALESCED_8)
		nb = HW_RX_CQE_8_NB_PKTS;
	else if (type != HW_CQE_RX_OKAY && type != HW_CQE_RX_TRUNCATED)
		return;
	for (i = 0; i < nb; i++) {
		const bool is_8 = type == HW_CQE_RX_COALESCED_8;
		const uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF +
				     (is_8 ? i / 2 : i) * HW_RX_CQE_PPI_BYTES;
		const uint32_t off = !is_8	? HW_RX_PPI_LEN_OFF :
				     i % 2 == 0 ? HW_RX_PPI_8_LEN_0_OFF :
						  HW_RX_PPI_8_LEN_1_OFF;
		const uint32_t nb_bytes = ppi[off] | ppi[off + 1] << 8;

		if (nb_bytes == 0)
			break;
		fill(rq, queue, nb_bytes);
	}
}

static void
write_cqe(struct wq *wq, struct replay_queue *queue,
	  const struct replay_step *step)
{
	uint8_t cqe[HW_CQE_BYTES];

	memcpy(cqe, step->cqe, HW_CQE_BYTES);
	if (!wq->is_sq)
		fill_all(wq, queue, cqe);
	nic_complete(card_function(wq->fn), wq, cqe, 0);
}

/* Do one recorded step; false: the driver must do more before it. */
static bool
do_step(const struct replay_step *step)
{
	struct replay_queue *queue = replay_queue(step->queue);

	if (queue->is_gone) {
		if (step->kind == REPLAY_CQE)
			recording->nb_skipped_cqes++;
		return true;
	}
	if (!queue->is_bound)
		return false;
	switch ((enum replay_kind)step->kind) {
	case REPLAY_POST:
		return queue->nb_posted >= step->nb_posted;
	case REPLAY_FETCH:
		fetch(wq_of(queue));
		break;
	case REPLAY_CQE:
		write_cqe(wq_of(queue), queue, step);
		break;
	}
	return true;
}

static void
go_on(void)
{
	while (recording->next_step < recording->nb_steps &&
	       do_step(replay_step(recording->next_step)))
		recording->next_step++;
}

void
replay_queue_created(struct wq *wq)
{
	const uint32_t port = trace_port(wq->fn, wq->port);
	uint32_t i;

	for (i = 0; i < recording->nb_queues; i++) {
		struct replay_queue *queue = replay_queue(i);

		if (queue->is_bound || queue->fn != wq->fn ||
		    queue->port != port || queue->is_sq != wq->is_sq)
			continue;
		queue->is_bound = true;
		queue->wq = (uint32_t)(wq - card_function(wq->fn)->wqs);
		wq->replay = i + 1;
		return;
	}
}

void
replay_queue_destroyed(struct wq *wq)
{
	struct replay_queue *queue = queue_of(wq);

	if (queue == NULL)
		return;
	queue->is_gone = true;
	go_on();
}

void
replay_posted(struct wq *wq, uint32_t old_pi)
{
	struct replay_queue *queue = queue_of(wq);

	if (queue == NULL)
		return;
	queue->nb_posted += wq_count(wq, old_pi, wq->pi);
	go_on();
}
