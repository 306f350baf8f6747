/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A card on a bench: a machine of one function with two ports on a wire, driven
 * by device_*() calls from this process, with a driver's bookkeeping written
 * out by hand.
 */

#ifndef MODEL_TEST_RIG_H
#define MODEL_TEST_RIG_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "card.h"
#include "device.h"
#include "ledger.h"
#include "segment.h"

#define RIG_PORTS	 2
#define RIG_BUF_BYTES	 (1u << 20)
#define RIG_RX_BUF_BYTES 2048u

struct rig_ring {
	uint8_t *mem;
	uint32_t bytes;
	uint32_t id;
	uint32_t pos; /* work queue: producer, bytes; CQ: head, CQEs */
};

struct rig_port {
	uint32_t pdn, page, vp_offset;
	struct rig_ring sq, scq, rq, rcq;
	uint32_t key; /* of buf */
	uint8_t *buf; /* Tx data from 0, Rx buffers from the middle */
	uint32_t rx_slot; /* next Rx buffer */
};

struct rig {
	struct model_config config; /* change before rig_start() */
	char dir[64];
	uint32_t sq_bytes, rq_bytes, cq_bytes;
	bool is_shared; /* rings and buffers, with children */
	uint32_t nb_rqs; /* RQs of port 1: only the first has its own struct */
	struct rig_port port[RIG_PORTS];
};

extern uint32_t rig_nb_events; /* kernel_completion_event() calls */
extern uint32_t rig_event_cq;
extern uint32_t rig_nb_kicks;
/* If set, counts the events of children, too. */
extern uint32_t *rig_shared_events;

/* Defaults into *rig, without starting. */
void rig_defaults(struct rig *rig);
void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);
/* New queues in place of the old ones, whatever had become of those. */
void rig_renew(struct rig *rig);

/*
 * Faults of guarded copies come back as errors. rig_start() does it; cmocka
 * sets its own handlers between a set-up and its test.
 */
void rig_catch_faults(void);

/* cmocka set-up and tear-down of a rig with defaults in *state. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* Steering of a port: RSS over these RQs, the last one being the default. */
void rig_steer(struct rig *rig, uint32_t port, bool rss, const uint32_t *rqs,
	       uint32_t nb_rqs);

/* Tx: a WQE in the making, in the words of the hardware. */
struct rig_wqe {
	uint32_t header[2];
	uint32_t oob[6];
	uint32_t nb_sge;
	struct hw_sge sge[40];
};

/* One SGE of nb_bytes at buf + off, short OOB, no offload. */
struct rig_wqe rig_tx_wqe(const struct rig_port *p, uint32_t off,
			  uint32_t nb_bytes);
/* Make it the long form. */
void rig_tx_long(const struct rig_port *p, struct rig_wqe *wqe);
void rig_tx_add_sge(const struct rig_port *p, struct rig_wqe *wqe, uint32_t off,
		    uint32_t nb_bytes);

/* Into the ring (num_sge and OOB code are taken from header[1]). */
void rig_post(struct rig_ring *ring, const struct rig_wqe *wqe);
void rig_ring_sq(struct rig *rig, struct rig_port *p);
void rig_ring_rq(struct rig *rig, struct rig_port *p);
void rig_ring_cq(struct rig *rig, struct rig_port *p, struct rig_ring *cq,
		 bool arm);
void rig_doorbell(struct rig_port *p, uint32_t offset, uint64_t value,
		  uint32_t nb_bytes);

/* Post n Rx buffers of RIG_RX_BUF_BYTES and ring. */
void rig_fill_rq(struct rig *rig, struct rig_port *p, uint32_t n);
uint8_t *rig_rx_buf(struct rig_port *p, uint32_t slot);

/* Post one WQE, ring, and return the type of the CQE that came (-1: none). */
int rig_send(struct rig *rig, struct rig_port *p, const struct rig_wqe *wqe);

/* Next CQE by the owner rule, or NULL; moves on. */
const uint8_t *rig_cqe(struct rig_ring *cq);

/* An Ethernet/IPv4/TCP or UDP frame with right checksums; returns its size. */
uint32_t rig_frame(uint8_t *frame, uint8_t proto, uint32_t payload);
uint32_t rig_frame6(uint8_t *frame, uint8_t proto, uint32_t payload);

/*
 * rig_offload.c: at the start of buf a frame with checksum requests, or an LSO
 * with this payload in segments of 1000, rightly prepared.
 */
struct rig_wqe rig_csum_wqe(const struct rig_port *p, uint8_t proto, bool v6);
struct rig_wqe rig_lso_wqe(const struct rig_port *p, bool v6, uint32_t payload);
/* The same with a VLAN tag, written into the frame and its offsets. */
void rig_add_tag(const struct rig_port *p, struct rig_wqe *wqe, uint16_t tci);
/* The long form, with a VLAN tag that the device inserts. */
void rig_insert_tag(const struct rig_port *p, struct rig_wqe *wqe, uint16_t tci);

/* Exactly these many violations of this name and none of any other. */
#define assert_violation(name, n) \
	rig_assert_violation(VIOLATION_##name, n, __FILE__, __LINE__)
void rig_assert_violation(enum violation violation, uint64_t n,
			  const char *file, int line);
#define assert_no_violation() \
	rig_assert_violation(NB_VIOLATIONS, 0, __FILE__, __LINE__)

#endif /* MODEL_TEST_RIG_H */
