/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card's state in the segment: functions, their queues, keys and ports.
 * Zero is the state before device_init(). Guarded by the machine's lock.
 */

#ifndef MODEL_CARD_H
#define MODEL_CARD_H

#include "device.h"
#include "mem.h"
#include "queue.h"
#include "segment.h"

#define CARD_MAX_PDS	 1024
#define CARD_MAX_PAGES	 1024
#define CARD_NB_WQS	 (2 * DEVICE_MAX_QUEUES) /* SQs, then RQs */
#define CARD_NB_CQS	 (2 * DEVICE_MAX_QUEUES)
#define CARD_PORT_QUEUES 256

/* Not all the same, and SQs on both sides of a multiple of 1024: vsq_frame. */
#define CARD_FIRST_CQ_ID 304u
#define CARD_FIRST_RQ_ID 560u
#define CARD_FIRST_SQ_ID 1008u

#define CARD_FRAME_BYTES (64u << 10)
/* Room before a frame, for a VLAN tag put in. */
#define CARD_HEADROOM_BYTES 64u
#define CARD_TAP_BYTES	    (4u << 20)

#define TOEPLITZ_INPUT_BYTES 36 /* two IPv6 addresses and two ports */

/* The part of the hash that each value of each half byte adds. */
struct toeplitz {
	uint32_t part[TOEPLITZ_INPUT_BYTES * 2][16];
};

struct card_port {
	uint8_t mac[6];
	uint32_t tx_vp_offset;
	uint32_t peer_fn, peer_port; /* where the wire ends */
	bool to_tap;

	bool tx_enabled;
	uint32_t tx_pdn, tx_page;

	bool rx_enabled;
	bool rss_enable;
	bool coalesce;
	uint32_t default_rq; /* RQ ids */
	uint32_t table[DEVICE_RSS_TABLE_SIZE];
	struct toeplitz toeplitz;

	struct device_port_counters counters;
	uint32_t nb_records;
	/* One per id and kind; the last one takes what finds no room. */
	struct device_queue_counters records[CARD_PORT_QUEUES];
};

struct card_function {
	uint32_t nb_ports;
	bool pds[CARD_MAX_PDS];
	bool pages[CARD_MAX_PAGES];
	struct mem_table mem;
	struct cq cqs[CARD_NB_CQS];
	struct wq wqs[CARD_NB_WQS];
	struct card_port ports[MODEL_MAX_PORTS_PER_FUNCTION];
};

/* Frames for the launcher: a ring of records, lost when it is full. */
struct card_tap_ring {
	uint32_t head, tail; /* bytes, free-running; tail is read next */
	uint64_t nb_lost;
	uint8_t bytes[CARD_TAP_BYTES];
};

/* RQs with an open CQE; each at most once, see rx.nb_packets. */
#define CARD_MAX_OPEN 64
struct card_wq_ref {
	uint32_t fn, wq;
};

/*
 * The CQE that is being written. Its writer may be killed when the program can
 * see it and the card has not counted it yet: the queue may be another's.
 */
struct card_posting {
	bool is_active;
	uint32_t fn, wq; /* whose CQE */
	uint32_t cq_pi; /* before */
	uint32_t wq_ci; /* after */
};

struct device {
	uint32_t nb_functions;
	struct card_posting posting;
	uint32_t nb_open;
	struct card_wq_ref open[CARD_MAX_OPEN];
	/* Per process: first and last SQ with work, as fn * NB_WQS + index + 1. */
	uint32_t pending_first[MODEL_MAX_PROCESSES];
	uint32_t pending_last[MODEL_MAX_PROCESSES];
	struct card_tap_ring tap;
	/* A frame being sent, and the segment that LSO cuts from it. */
	uint8_t frame[CARD_HEADROOM_BYTES + CARD_FRAME_BYTES];
	struct card_function functions[MODEL_MAX_FUNCTIONS];
};

static inline struct card_function *
card_function(uint32_t fn)
{
	struct device *card = segment_device();

	return fn < card->nb_functions ? &card->functions[fn] : NULL;
}

static inline struct card_port *
card_port(uint32_t fn, uint32_t port)
{
	struct card_function *f = card_function(fn);

	return f != NULL && port < f->nb_ports ? &f->ports[port] : NULL;
}

/* Live queues by id, or NULL. */
static inline struct cq *
card_cq(struct card_function *f, uint32_t id)
{
	const uint32_t i = id - CARD_FIRST_CQ_ID;

	return i < CARD_NB_CQS && f->cqs[i].is_alive ? &f->cqs[i] : NULL;
}

static inline struct wq *
card_sq(struct card_function *f, uint32_t id)
{
	const uint32_t i = id - CARD_FIRST_SQ_ID;

	return i < DEVICE_MAX_QUEUES && f->wqs[i].is_alive ? &f->wqs[i] : NULL;
}

static inline struct wq *
card_rq(struct card_function *f, uint32_t id)
{
	const uint32_t i = id - CARD_FIRST_RQ_ID;
	struct wq *rqs = &f->wqs[DEVICE_MAX_QUEUES];

	return i < DEVICE_MAX_QUEUES && rqs[i].is_alive ? &rqs[i] : NULL;
}

static inline struct device_queue_counters *
card_counters(struct card_function *f, const struct wq *wq)
{
	return &f->ports[wq->port].records[wq->counter];
}

#endif /* MODEL_CARD_H */
