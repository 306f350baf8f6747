/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card's state in the segment: functions, their queues, keys and ports.
 * Zero is the state before card_init(). Guarded by the machine's lock.
 */

#ifndef MODEL_CARD_STATE_H
#define MODEL_CARD_STATE_H

#include "card.h"
#include "inject.h"
#include "mem.h"
#include "queue.h"
#include "segment.h"
#include "watch.h"

#define CARD_MAX_PDS	 1024
#define CARD_MAX_PAGES	 200 /* ASSUMED; fewer than the kernel's contexts */
#define CARD_NB_WQS	 (2 * CARD_MAX_QUEUES) /* SQs, then RQs */
#define CARD_NB_CQS	 (2 * CARD_MAX_QUEUES)
#define CARD_PORT_QUEUES 256

/*
 * The first ids differ by kind. SQ ids lie on both sides of a multiple of 1024,
 * which tests vsq_frame.
 */
#define CARD_FIRST_CQ_ID 304u
#define CARD_FIRST_RQ_ID 560u
#define CARD_FIRST_SQ_ID 1008u

#define CARD_FRAME_BYTES (64u << 10)
/* Room before a frame, to insert a VLAN tag. */
#define CARD_HEADROOM_BYTES 64u

#define TOEPLITZ_INPUT_BYTES 36 /* two IPv6 addresses and two ports */

/* Contribution of each value of each half byte of the input to the hash. */
struct toeplitz {
	uint32_t part[TOEPLITZ_INPUT_BYTES * 2][16];
};

struct card_port {
	uint8_t mac[6];
	uint32_t tx_vp_offset;
	uint32_t wire; /* index of the port's wire, wire.h */
	/* Sent frames go to the peer port directly, without wire processing. */
	bool has_direct_wire;
	uint32_t peer_fn, peer_port;
	bool is_link_down;
	/* Frames of the wire go to the synthetic device, see synthetic.h. */
	bool is_synthetic;
	bool has_generator; /* the wire's generator waits for WQEs of this port */

	bool tx_enabled;
	uint32_t tx_pdn, tx_page;

	bool rx_enabled;
	bool rss_enable;
	bool coalesce;
	uint32_t default_rq; /* RQ ids */
	uint32_t table[CARD_RSS_TABLE_SIZE];
	struct toeplitz toeplitz;

	struct card_port_counters counters;
	uint64_t injected[2][NB_INJECT_KINDS]; /* Rx, Tx */
	uint32_t nb_records;
	/* One per id and kind; the last sums up all queues without a record. */
	struct card_queue_counters records[CARD_PORT_QUEUES];
};

struct card_function {
	uint32_t nb_ports;
	bool is_disabled; /* by the host */
	bool pds[CARD_MAX_PDS];
	bool pages[CARD_MAX_PAGES];
	struct mem_table mem;
	struct cq cqs[CARD_NB_CQS];
	struct wq wqs[CARD_NB_WQS];
	struct card_port ports[MODEL_MAX_PORTS_PER_FUNCTION];
};

/* RQs with an open CQE, see rx.is_listed. */
#define CARD_MAX_OPEN 64
struct card_wq_ref {
	uint32_t fn, wq;
};

/*
 * The CQE that is being written. The writing process may be killed after the
 * program can see the CQE but before the card has counted it. The queue may
 * belong to another process, so the card finishes the count.
 */
struct card_posting {
	bool is_active;
	bool has_cqe; /* else a packet is added to the open CQE */
	bool was_armed; /* the CQ, before */
	uint32_t fn, wq; /* queue of the CQE */
	uint32_t cq_pi; /* before */
	uint32_t wq_ci; /* after */
	uint32_t nb_open; /* packets in the open CQE, after */
	uint32_t held_first; /* of the wq, after */
	uint32_t held; /* not 0: the CQE is held back, with this number */
	bool is_posted; /* written and counted, even if cq_pi is unchanged */
	bool is_extra, is_bogus, is_wrong_owner; /* see struct inject_cqe */
};

struct card {
	uint32_t nb_functions;
	bool is_armed; /* faults may be injected, see inject_card.h */
	bool is_watched; /* packets are counted, see watch.h */
	struct card_posting posting;
	uint32_t nb_open;
	struct card_wq_ref open[CARD_MAX_OPEN];
	uint64_t coalesce_due_ns; /* of the first open CQE */
	/* Per process: first and last pending SQ: fn * NB_WQS + index + 1. */
	uint32_t pending_first[MODEL_MAX_PROCESSES];
	uint32_t pending_last[MODEL_MAX_PROCESSES];
	/* A frame being sent, and the segment that LSO cuts from it. */
	_Alignas(64) uint8_t frame[CARD_HEADROOM_BYTES + CARD_FRAME_BYTES];
	struct inject inject;
	struct watch watch;
	struct card_function functions[MODEL_MAX_FUNCTIONS];
};

static inline struct card_function *
card_function(uint32_t fn)
{
	struct card *card = segment_card();

	return fn < card->nb_functions ? &card->functions[fn] : NULL;
}

static inline struct card_port *
card_port(uint32_t fn, uint32_t port)
{
	struct card_function *f = card_function(fn);

	return f != NULL && port < f->nb_ports ? &f->ports[port] : NULL;
}

/* Existing queues by id, or NULL. */
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

	return i < CARD_MAX_QUEUES && f->wqs[i].is_alive ? &f->wqs[i] : NULL;
}

static inline struct wq *
card_rq(struct card_function *f, uint32_t id)
{
	const uint32_t i = id - CARD_FIRST_RQ_ID;
	struct wq *rqs = &f->wqs[CARD_MAX_QUEUES];

	return i < CARD_MAX_QUEUES && rqs[i].is_alive ? &rqs[i] : NULL;
}

/* The configured value of a quirk (quirks.h). 0 is the default. */
static inline uint32_t
nic_quirk(enum quirk quirk)
{
	return segment_config()->quirks[quirk];
}

/* Destroy a queue whose owner no longer exists, and steering to it. */
void card_wq_end(struct card_function *f, struct wq *wq);

static inline struct card_queue_counters *
card_counters(struct card_function *f, const struct wq *wq)
{
	return &f->ports[wq->port].records[wq->counter];
}

#endif /* MODEL_CARD_STATE_H */
