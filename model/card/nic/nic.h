/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs and frames at an Ethernet port. The caller holds the machine's lock. */

#ifndef MODEL_NIC_H
#define MODEL_NIC_H

#include "card_state.h"
#include "completion.h"
#include "frame.h"
#include "trace.h"
#include "trace_layout.h"

/* Count a frame by its destination address. */
static inline void
nic_count_cast(struct card_frames casts[CARD_NB_CASTS], const uint8_t *frame,
	       uint32_t nb_bytes)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct card_frames *frames =
		&casts[(frame[0] & 1) == 0		  ? CARD_UNICAST :
		       memcmp(frame, all, sizeof(all)) == 0 ? CARD_BROADCAST :
							    CARD_MULTICAST];

	frames->packets++;
	frames->bytes += nb_bytes;
}

/* nic_hash.c: Toeplitz by half bytes. */
void nic_hash_prepare(struct toeplitz *toeplitz,
		      const uint8_t key[CARD_RSS_KEY_BYTES]);
uint32_t nic_hash(const struct toeplitz *toeplitz, const uint8_t *input,
		  uint32_t nb_bytes);
/* Hash of a parsed frame; 0 with type 0 if it has none. */
uint32_t nic_hash_frame(const struct toeplitz *toeplitz, const uint8_t *frame,
			uint32_t nb_bytes, const struct nic_parsed *parsed,
			uint32_t *type);

/*
 * nic_wqe.c: read and check the WQE at the consumer position; raw has room for the
 * largest one of the queue. NB_VIOLATIONS, or what makes it invalid, which is recorded.
 */
enum violation nic_wqe_fetch(const struct card_function *f, const struct wq *wq,
			     struct hw_wqe *wqe, uint8_t *raw);

/*
 * nic_tx.c: process posted WQEs, until an error stops the queue, or until *budget
 * is 0: then true if WQEs remain. Reduces *budget by 1 for each WQE, and for each
 * segment of an LSO. Frames go to send.
 */
typedef void (*nic_send)(uint32_t fn, uint32_t port, const uint8_t *frame,
			 uint32_t nb_bytes);
bool nic_tx_run(struct card_function *f, struct wq *sq, uint32_t *budget,
		nic_send send);
#define NIC_TX_NO_LIMIT UINT32_MAX

/* The Tx WQE being processed. */
struct nic_tx {
	struct card_function *f;
	struct card_port *port;
	struct wq *sq;
	nic_send send;
	struct hw_wqe wqe;
	struct hw_tx_oob oob;
	uint32_t wqe_bytes;
	uint64_t total_bytes; /* sum of all SGEs */
	const uint8_t *sgl; /* in raw */
	uint8_t raw[HW_SQ_WQE_MAX_BYTES];
	/* Position of the next byte in the SGL. */
	uint32_t sge;
	uint32_t sge_done_bytes;
	uint32_t vendor_err;
	uint32_t nb_segments; /* of all LSOs */
};

/*
 * Copy the next nb_bytes of the SGL. 0, or HW_CQE_TX_GDMA_ERR with vendor_err
 * set and the violation recorded.
 */
int nic_tx_gather(struct nic_tx *tx, uint8_t *to, uint32_t nb_bytes);
/* Apply policies to a finished frame and send it; returns its CQE type. */
int nic_tx_frame(struct nic_tx *tx, uint8_t *frame, uint32_t nb_bytes);
void nic_tx_violation(const struct nic_tx *tx, enum violation violation);
/* Whether a frame fits into MTU, Ethernet header and VLAN tags. */
bool nic_tx_fits_mtu(uint64_t frame_bytes, uint32_t nb_tags);

/* nic_tx_frame.c: record that the OOB does not describe the frame; HW_CQE_TX_INVALID_OOB. */
int nic_tx_mismatch(const struct nic_tx *tx, enum violation violation,
		    const struct nic_parsed *parsed);
/* A WQE of one frame; returns its CQE type. */
int nic_tx_packet(struct nic_tx *tx);
/* The correct trans_off of a frame. */
uint32_t nic_tx_trans_off(const struct nic_tx *tx,
			  const struct nic_parsed *parsed);

/* nic_lso.c: a WQE with client_oob_in_sgl; returns its CQE type. */
int nic_lso(struct nic_tx *tx);

/* A received frame, without its VLAN tag. */
struct nic_rx_frame {
	const uint8_t *bytes; /* valid until the next frame */
	uint32_t nb_bytes;
	uint32_t wire_bytes; /* with the tag */
	uint32_t flags;
	uint32_t hash;
};

/* nic_classify.c: parse, strip, hash; returns the id of the RQ. Up to CARD_FRAME_BYTES. */
uint32_t nic_classify(const struct card_port *port, const uint8_t *frame,
		      uint32_t nb_bytes, struct nic_rx_frame *rx);

/* nic_rx.c: a frame arrives in this process's memory, and stays unchanged. */
void nic_rx(uint32_t fn, uint32_t port, const uint8_t *frame, uint32_t nb_bytes);
/* Write a fence CQE behind the CQEs of received packets. */
void nic_rx_fence(struct card_function *f, struct wq *rq);
/* Write a CQE with rx's packets; the consumer index advances by wqe_bytes. */
void nic_rx_write_cqe(struct card_function *f, struct wq *rq,
		      enum hw_cqe_type type, const struct rx_open *rx,
		      uint32_t wqe_bytes);
/* Whether a frame would find a WQE behind nb_waiting others in flight. */
bool nic_rx_has_room(uint32_t fn, uint32_t port, const uint8_t *frame,
		     uint32_t nb_bytes, uint32_t nb_waiting);

/* nic_coalesce.c: add a packet to the open CQE of an RQ. */
void nic_coalesce_add(struct card_function *f, struct wq *rq,
		      const struct nic_rx_frame *rx, uint32_t wqe_bytes);
/* Write the open CQE of one RQ, if any. */
void nic_coalesce_flush_queue(struct card_function *f, struct wq *rq);
/* The burst has ended: write the open CQEs that are due. */
void nic_coalesce_flush(void);
void nic_coalesce_timer(uint64_t now_ns);
/* Rebuild the list of open CQEs after the lock's holder was killed. */
void nic_coalesce_recover(void);

#endif /* MODEL_NIC_H */
