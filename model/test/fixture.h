/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fixture (fx) of a card without a kernel: a machine of one function with two
 * ports on a wire, driven by card_*() calls from this process, with a minimal
 * driver's state.
 */

#ifndef MODEL_TEST_FIXTURE_H
#define MODEL_TEST_FIXTURE_H

#include <stdbool.h>
#include <string.h>

#include "card_state.h"
#include "card.h"
#include "violation_log.h"
#include "segment.h"
#include "test.h"

#define FX_PORTS	 2
#define FX_BUF_BYTES	 (1u << 20)
#define FX_RX_BUF_BYTES 2048u

struct fx_ring {
	uint8_t *mem;
	uint32_t bytes;
	uint32_t id;
	uint32_t pos; /* work queue: producer, bytes; CQ: head, CQEs */
};

struct fx_port {
	uint32_t pdn, page, vp_offset;
	struct fx_ring sq, scq, rq, rcq;
	uint32_t key; /* of buf */
	uint8_t *buf; /* Tx data from 0, Rx buffers from the middle */
	uint32_t rx_slot; /* next Rx buffer */
};

struct fixture {
	struct model_config config; /* change before fx_start() */
	char dir[64];
	uint32_t sq_bytes, rq_bytes, cq_bytes;
	bool is_shared; /* share rings and buffers with child processes */
	struct fx_port port[FX_PORTS];
};

extern uint32_t fx_nb_events; /* completion events */
extern uint32_t fx_event_cq;
extern uint32_t fx_nb_kicks;
/* If set, counts events of child processes, too. */
extern uint32_t *fx_shared_events;

/* The two ports of the machine that runs. */
extern struct fx_port *a, *b;

/* Set *fx to defaults, without starting the machine. */
void fx_defaults(struct fixture *fx);
void fx_start(struct fixture *fx);
void fx_stop(struct fixture *fx);
/* Replace all queues by new ones, in any state of the old ones. */
void fx_renew(void);

/* Create a work queue and its CQ in rings whose memory and sizes are set. */
void fx_queue(struct fx_port *p, uint32_t port, struct fx_ring *wq,
	      struct fx_ring *cq, bool is_sq);

/*
 * Install the handlers that turn faults of guarded copies into errors.
 * fx_start() does so, but cmocka sets its own handlers between a set-up and its
 * test.
 */
void fx_catch_faults(void);

/*
 * cmocka's set-up of a fixture with defaults in *state, and tear-down of any one that
 * runs.
 */
int fx_setup(void **state);
int fx_teardown(void **state);
#define FX_TEST(name) TEST_WITH(name, fx_setup, fx_teardown)

/* Steering of a port: RSS over these RQs; the last one is the default. */
void fx_steer(uint32_t port, bool rss, const uint32_t *rqs, uint32_t nb_rqs);

/* Tx: a WQE under construction, as words of the hardware layout. */
struct fx_wqe {
	uint32_t header[2];
	uint32_t oob[6];
	uint32_t nb_sge;
	struct hw_sge sge[40];
};

/* One SGE of nb_bytes at buf + off, short OOB, no offload. */
struct fx_wqe fx_tx_wqe(const struct fx_port *p, uint32_t off,
			uint32_t nb_bytes);
/* Change it to the long OOB. */
void fx_tx_long(const struct fx_port *p, struct fx_wqe *wqe);
void fx_tx_add_sge(const struct fx_port *p, struct fx_wqe *wqe, uint32_t off,
		   uint32_t nb_bytes);

/* A change of a WQE's member, or of a byte of its frame. FX_END ends a list. */
enum fx_op {
	FX_END,
	FX_SET,
	FX_OR,
	FX_AND,
	FX_XOR,
	FX_ADD,
	FX_BYTE
};
struct fx_edit {
	enum fx_op op;
	uint16_t at;
	uint32_t value;
};
#define FX_EDIT(op, member, value)                                          \
	{                                                                   \
		FX_##op, offsetof(struct fx_wqe, member), (uint32_t)(value) \
	}
#define FX_FRAME(at, value)        \
	{                          \
		FX_BYTE, at, value \
	}
/* Of a member of 64 bits the low half is changed. */
void fx_edit(struct fx_wqe *wqe, uint8_t *frame, const struct fx_edit *edits);

/* Write it to the ring (num_sge and OOB code are in header[1]). */
void fx_post(struct fx_ring *ring, const struct fx_wqe *wqe);
void fx_ring_sq(struct fx_port *p);
void fx_ring_rq(struct fx_port *p);
void fx_ring_cq(struct fx_port *p, struct fx_ring *cq, bool arm);
void fx_doorbell(struct fx_port *p, uint32_t offset, uint64_t value,
		 uint32_t nb_bytes);

struct card_port_counters fx_counters(uint32_t port);

/* Advance the virtual clock, and run the timers that are due, as the launcher does. */
void fx_advance(uint64_t ns);
/* Set the virtual clock, and run all timers that are due then. */
void fx_run_until(uint64_t ns);

/* Post n Rx buffers of FX_RX_BUF_BYTES and ring. */
void fx_fill_rq(struct fx_port *p, uint32_t n);
uint8_t *fx_rx_buf(struct fx_port *p, uint32_t slot);

/*
 * Post one WQE, ring the doorbell, and return the type of the CQE (-1: none).
 */
int fx_send(struct fx_port *p, const struct fx_wqe *wqe);

/* Consume the next CQE by its owner bits; NULL: none. */
const uint8_t *fx_cqe(struct fx_ring *cq);

/*
 * An Ethernet/IPv4/TCP or UDP frame with correct checksums; returns its size.
 */
uint32_t fx_frame(uint8_t *frame, uint8_t proto, uint32_t payload);
uint32_t fx_frame6(uint8_t *frame, uint8_t proto, uint32_t payload);

/*
 * fx_offload.c: a correct frame with checksum requests at the start of buf, or
 * an LSO of this payload in segments of 1000 bytes.
 */
struct fx_wqe fx_csum_wqe(const struct fx_port *p, uint8_t proto, bool v6);
struct fx_wqe fx_lso_wqe(const struct fx_port *p, bool v6, uint32_t payload);
/* The same with a VLAN tag, written into the frame and its offsets. */
void fx_add_tag(const struct fx_port *p, struct fx_wqe *wqe, uint16_t tci);
/* The long form, with a VLAN tag that the device inserts. */
void fx_insert_tag(const struct fx_port *p, struct fx_wqe *wqe, uint16_t tci);

/* Assert n violations of this name and none of any other. */
#define assert_violation(name, n) \
	fx_assert_violation(VIOLATION_##name, n, __FILE__, __LINE__)
void fx_assert_violation(enum violation violation, uint64_t n,
			 const char *file, int line);
#define assert_no_violation() \
	fx_assert_violation(NB_VIOLATIONS, 0, __FILE__, __LINE__)

#endif /* MODEL_TEST_FIXTURE_H */
