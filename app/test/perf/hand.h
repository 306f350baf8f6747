/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device, played by hand on the rings of one queue: it reads doorbells and
 * WQEs, checks them against what they should be, and writes CQEs. Whatever is
 * wrong ends the program with a message.
 */

#ifndef HAND_H
#define HAND_H

#include <stdbool.h>
#include <stdint.h>

/* The device's own notion of the layouts, not the driver's. */
#include "../../../model/base/hw.h"
#include "mana_model.h"

#define HAND_MAX_SEGS 4
#define HAND_MAX_WQES 2048 /* posted and not completed; a power of two */

/* Flags of the Rx CQEs: TCP over IPv4, both checksums good, hashed. */
#define HAND_RX_FLAGS                                          \
	(HW_HASH_TCP_IPV4 << HW_RX_F_HASH_TYPE_S |             \
	 HW_RX_F_IP_OK | HW_RX_F_TCP_OK)

/* A WQE that was posted. */
struct hand_wqe {
	uint32_t pos_bytes;
	uint32_t nb_bytes;
	uint64_t addr; /* of its first SGE */
	bool wants_cqe;
};

struct hand {
	struct mana_model_queue at;
	uint32_t fn;
	bool is_tx;
	const char *who; /* for messages */
	bool no_offsets; /* send CQEs say offset 0, whatever completed */
	uint32_t tail_bytes; /* of the WQEs that were looked at */
	uint32_t rung_bytes; /* tail, by the last doorbell */
	uint32_t cq_pi; /* next CQE; starts at the ring's size */
	uint32_t nb_cqes_written;
	uint32_t nb_rung, nb_cq_rung; /* doorbells that were seen */
	uint32_t first, last; /* of wqes[], free running */
	uint32_t asked_bytes; /* end of the last send WQE that asked for a CQE */
	struct hand_wqe wqes[HAND_MAX_WQES];
	/* The region that was asked for last. */
	uint32_t key;
	uint64_t key_addr, key_bytes;
};

/* What a received packet must be. */
struct hand_rx_packet {
	uint64_t addr;
	uint32_t hash;
};

/* What a sent packet must be in its WQE. */
struct hand_tx_packet {
	uint32_t nb_segs;
	uint64_t addr[HAND_MAX_SEGS];
	uint32_t len_bytes[HAND_MAX_SEGS];
	bool has_csum; /* of IPv4 and TCP */
	uint16_t trans_off;
	uint16_t pseudo_sum; /* that is to lie in the TCP header */
	const void *tcp_csum;
	uint8_t lso_hdr_bytes; /* of segmentation: all headers, the first segment */
	uint16_t lso_segsz_bytes; /* payload of a segment; 0: none is asked for */
	const void *ip_len; /* and where the length of IP is to be 0 */
};

__attribute__((noreturn, format(printf, 1, 2))) void hand_fail(const char *format, ...);

/*
 * The doorbell registers of a port: each is shared by all its queues of a kind, and
 * so is to be looked at before another queue rings.
 */
struct hand_registers {
	uint64_t rq, sq, cq;
};

/* Once, before any queue is made: the device is played by hand. */
void hand_begin(void);

/*
 * Finds the nth queue of the first port of function fn. Nothing was completed; what a
 * receive queue has posted is known from its ring.
 */
void hand_start(struct hand *hand, const char *who, uint32_t fn, bool is_tx,
		uint32_t nth);

/* What the registers of its port say now. Inline, as it is called in what is measured. */
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

/* Takes note of the doorbell of its kind, and of its CQ's, that are new. */
void hand_ring(struct hand *hand, const struct hand_registers *before,
	       const struct hand_registers *now);

static inline uint32_t
hand_nb_posted(const struct hand *hand)
{
	return hand->last - hand->first;
}

/*
 * Take the WQEs that the doorbell tells of: receive WQEs, each of one buffer of at
 * least len_bytes.
 */
void hand_take_rx(struct hand *hand, uint32_t len_bytes);
/*
 * Send WQEs: exactly those packets, of bursts of that many. A WQE may ask for no
 * CQE, but the last one of a burst does, and one in each quarter of the ring.
 */
void hand_take_tx(struct hand *hand, const struct hand_tx_packet *packets,
		  uint32_t nb, uint16_t burst);

/* Receive nb packets into the oldest buffers; coalesced: nb is a multiple of 4. */
void hand_receive(struct hand *hand, struct hand_rx_packet *packets, uint32_t nb,
		  uint32_t len_bytes, bool coalesced);
/*
 * Write the CQE of the next WQE that wants one, but with the owner bits of the lap
 * before: *word becomes *value to show it. It completes those before it, too:
 * nb_completed says how many. False when none wants one.
 */
bool hand_stage_tx(struct hand *hand, uint32_t **word, uint32_t *value,
		   uint32_t *nb_completed);

/* Evict the lines of the nb CQEs before the next one. */
void hand_flush_cqes(const struct hand *hand, uint32_t nb);

#endif /* HAND_H */
