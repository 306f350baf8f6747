/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device, played by the test on the rings of one queue: it reads doorbells
 * and WQEs, checks them, and writes CQEs. The program ends at the first error.
 */

#ifndef HAND_H
#define HAND_H

#include <stdbool.h>
#include <stdint.h>

/* The model's layouts, not the driver's. */
#include "../../../model/base/hw.h"
#include "mana_model.h"

#define HAND_MAX_SEGS 4
#define HAND_MAX_WQES 2048 /* outstanding at most; a power of two */

/* Rx CQE flags: TCP over IPv4, good checksums, hashed. */
#define HAND_RX_FLAGS                                          \
	(HW_HASH_TCP_IPV4 << HW_RX_F_HASH_TYPE_S |             \
	 HW_RX_F_IP_OK | HW_RX_F_TCP_OK)

/* A posted WQE. */
struct hand_wqe {
	uint32_t pos_bytes;
	uint32_t nb_bytes;
	uint64_t addr; /* of the first SGE */
	bool wants_cqe;
};

struct hand {
	struct mana_model_queue at;
	uint32_t fn;
	bool is_tx;
	const char *who; /* for messages */
	bool no_offsets; /* Tx CQEs have a WQE offset of 0 */
	uint32_t nb_sge; /* Rx: buffers of a WQE */
	uint32_t rx_flags; /* of Rx CQEs */
	uint32_t tail_bytes; /* of the WQEs checked */
	uint32_t rung_bytes; /* tail of the last doorbell */
	uint32_t cq_pi; /* next CQE; starts at the ring's size */
	uint32_t nb_cqes_written;
	uint32_t nb_rung, nb_cq_rung; /* doorbells seen */
	uint32_t first, last; /* of wqes[], free running */
	uint32_t asked_bytes; /* end of the last Tx WQE that requests a CQE */
	struct hand_wqe wqes[HAND_MAX_WQES];
	/* The last region looked up. */
	uint32_t key;
	uint64_t key_addr, key_bytes;
};

/*
 * An expected Rx packet. Each buffer but the first begins with 4 bytes: the hash plus
 * the number of the buffer, from 1.
 */
struct hand_rx_packet {
	uint64_t addr; /* of the first buffer */
	uint32_t hash;
};

/* An expected Tx packet. */
struct hand_tx_packet {
	uint32_t nb_segs;
	uint64_t addr[HAND_MAX_SEGS];
	uint32_t len_bytes[HAND_MAX_SEGS];
	bool has_csum; /* IP and TCP */
	bool is_ipv6;
	bool has_tag; /* to insert */
	uint16_t tci;
	uint16_t trans_off;
	uint16_t pseudo_sum; /* expected in the TCP header */
	const void *tcp_csum;
	uint8_t lso_hdr_bytes; /* TSO: all headers, the first segment */
	uint16_t lso_segsz_bytes; /* payload per segment; 0: no TSO */
	const void *ip_len; /* where the IP length must be 0 */
};

__attribute__((noreturn, format(printf, 1, 2))) void hand_fail(const char *format, ...);

/*
 * The doorbell registers of a port. All queues of a kind share one, so the
 * harness reads it before another queue rings.
 */
struct hand_registers {
	uint64_t rq, sq, cq;
};

/* Called once, before any queue exists. */
void hand_begin(void);

/*
 * Finds the nth queue of the first port of function fn. Nothing is completed
 * yet; the ring shows posted Rx WQEs, with nb_sge buffers each.
 */
void hand_start(struct hand *hand, const char *who, uint32_t fn, bool is_tx,
		uint32_t nth, uint32_t nb_sge);
/* For a queue unknown to the model, with one buffer a WQE; key covers all memory. */
void hand_start_at(struct hand *hand, const char *who, bool is_tx,
		   const struct mana_model_queue *at, uint32_t key);

/* Reads the port's registers. Inline, as it is part of the measured code. */
static inline __attribute__((always_inline)) struct hand_registers
hand_registers(const struct hand *hand)
{
	const volatile uint64_t *page = hand->at.doorbells;

	return (struct hand_registers){
		.rq = page[HW_DB_RQ / sizeof(*page)],
		.sq = page[HW_DB_SQ / sizeof(*page)],
		.cq = page[HW_DB_CQ / sizeof(*page)],
	};
}

/* Records new doorbells of this queue and of its CQ. */
void hand_ring(struct hand *hand, const struct hand_registers *before,
	       const struct hand_registers *now);

static inline uint32_t
hand_nb_posted(const struct hand *hand)
{
	return hand->last - hand->first;
}

/* Takes the announced Rx WQEs; each has buffers for a frame of len_bytes. */
void hand_take_rx(struct hand *hand, uint32_t len_bytes);
/*
 * Takes Tx WQEs: exactly these packets, in bursts of this size. WQEs may
 * suppress CQEs, except the last of a burst and one in each quarter of the
 * ring.
 */
void hand_take_tx(struct hand *hand, const struct hand_tx_packet *packets,
		  uint32_t nb, uint16_t burst);

/* Receives nb packets into the oldest buffers; coalesced: a multiple of 4. */
void hand_receive(struct hand *hand, struct hand_rx_packet *packets, uint32_t nb,
		  uint32_t len_bytes, bool coalesced);
/*
 * Writes the CQE of the next WQE that requests one, with the owner bits of the
 * previous lap: storing *value to *word makes it valid. It completes
 * nb_completed WQEs. Returns false if no WQE requests one.
 */
bool hand_stage_tx(struct hand *hand, uint32_t **word, uint32_t *value,
		   uint32_t *nb_completed);

/* Evicts the lines of the last nb CQEs. */
void hand_flush_cqes(const struct hand *hand, uint32_t nb);

#endif /* HAND_H */
