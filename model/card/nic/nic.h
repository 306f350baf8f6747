/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs and frames at an Ethernet port. The caller holds the machine's lock. */

#ifndef MODEL_NIC_H
#define MODEL_NIC_H

#include "card_state.h"
#include "replay.h"
#include "trace_layout.h"
#include "trace_wire.h"

#define NIC_ETH_BYTES  14u
#define NIC_VLAN_BYTES 4u

enum nic_l3 {
	NIC_L3_NONE,
	NIC_L3_IPV4,
	NIC_L3_IPV6
};

#define NIC_ETHERTYPE_IPV4 0x0800
#define NIC_ETHERTYPE_ARP  0x0806
#define NIC_ETHERTYPE_VLAN 0x8100
#define NIC_ETHERTYPE_IPV6 0x86dd
#define NIC_ETHERTYPE_QINQ 0x88a8

/* IP protocol numbers. */
#define NIC_PROTO_TCP 6
#define NIC_PROTO_UDP 17

/* Result of the device's parser. Offsets are from the start of the frame. */
struct nic_parsed {
	uint32_t nb_tags; /* VLAN tags in the frame */
	uint16_t ethertype; /* after the tags */
	enum nic_l3 l3;
	uint32_t l3_off;
	bool is_fragment;
	bool has_ext; /* IPv6: extension headers */
	uint8_t proto; /* protocol directly after the IP header */
	uint32_t l4_off;
	uint32_t l4_bytes; /* L4 header and payload, per the IP header */
	bool l4_fits; /* the frame contains l4_bytes, at least the L4 header */
};

/* The configured value of a quirk (quirks.h). 0 is the default. */
static inline uint32_t
nic_quirk(enum quirk quirk)
{
	return segment_config()->quirks[quirk];
}

/* nic_parse.c. nb_bytes >= 14. The parser skips up to max_tags VLAN tags. */
void nic_parse(const uint8_t *frame, uint32_t nb_bytes, uint32_t max_tags,
	       struct nic_parsed *parsed);
bool nic_is_ipv6_ext(uint8_t proto);

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

/* nic_csum.c: one's complement sums; store a folded sum without swapping. */
uint64_t nic_csum_add(uint64_t sum, const void *bytes, uint32_t nb_bytes);
uint16_t nic_csum_fold(uint64_t sum);
/* Whether two sums are equal: 0 has two representations. */
bool nic_csum_same(uint16_t a, uint16_t b);
/* Pseudo-header sum. The L4 length is in host order. */
uint64_t nic_csum_pseudo(const uint8_t *frame, const struct nic_parsed *parsed,
			 uint32_t l4_bytes);
/* Whether the IPv4 header checksum / L4 checksum is valid. */
bool nic_csum_ipv4_ok(const uint8_t *frame, const struct nic_parsed *parsed);
bool nic_csum_l4_ok(const uint8_t *frame, const struct nic_parsed *parsed);

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
 * nic.c: write a CQE of a work queue, given without its trailer, and raise its
 * event. The consumer index advances by wqe_bytes.
 */
void nic_complete(struct card_function *f, struct wq *wq,
		  uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes);

/*
 * The same for an existing CQ, without fault injection (inject.h). held: the
 * queue's first held CQE, if this is the CQE; it is freed. Else NULL.
 */
void nic_post(struct card_function *f, struct wq *wq,
	      const struct inject_cqe *cqe, uint32_t wqe_bytes,
	      const struct inject_held *held);
/* Hold the CQE instead of writing it: store its link at *at. */
void nic_hold(struct card_function *f, struct wq *wq, uint32_t *at,
	      uint32_t link, uint32_t wqe_bytes);

/* Count a packet in the open CQE of an RQ, and consume its WQE. */
void nic_take_wqe(struct card_function *f, struct wq *rq, uint32_t wqe_bytes);

/* Trace a fetched WQE. */
static inline void
nic_trace_wqe(const struct card_function *f, const struct wq *wq,
	      const uint8_t *raw, uint32_t nb_bytes)
{
	if (trace_is_on(TRACE_wqe))
		trace_wqe(wq, trace_port(wq->fn, wq->port), &f->mem, raw,
			  nb_bytes);
}

/*
 * nic_tx.c: process posted WQEs, until an error stops the queue, or until *budget
 * is 0: then true if WQEs remain. Reduces *budget by 1 for each WQE, and for each
 * segment of an LSO.
 */
bool nic_tx_run(struct card_function *f, struct wq *sq, uint32_t *budget);
#define NIC_TX_NO_LIMIT UINT32_MAX

/* The Tx WQE being processed. */
struct nic_tx {
	struct card_function *f;
	struct card_port *port;
	struct wq *sq;
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

/* nic_tx_frame.c: a WQE of one frame; returns its CQE type. */
int nic_tx_packet(struct nic_tx *tx);
/* The correct trans_off of a frame. */
uint32_t nic_tx_trans_off(const struct nic_tx *tx,
			  const struct nic_parsed *parsed);

/* nic_lso.c: a WQE with client_oob_in_sgl; returns its CQE type. */
int nic_lso(struct nic_tx *tx);

/* A received frame. After removal of its VLAN tag it is in two pieces. */
struct nic_rx_frame {
	const uint8_t *piece[2];
	uint32_t piece_bytes[2];
	uint32_t nb_bytes; /* of both */
	uint32_t wire_bytes;
	uint32_t flags;
	uint32_t hash;
};

/* nic_classify.c: parse, strip, hash; returns the id of the RQ. */
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
