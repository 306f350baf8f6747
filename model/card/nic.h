/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What WQEs and frames mean on an Ethernet port. With the machine's lock held.
 */

#ifndef MODEL_NIC_H
#define MODEL_NIC_H

#include "card.h"
#include "replay.h"
#include "trace_queue.h"
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

/* What the device's parser sees in a frame. Offsets are from its start. */
struct nic_parsed {
	uint32_t nb_tags; /* VLAN tags in the frame */
	uint16_t ethertype; /* after the tags */
	enum nic_l3 l3;
	uint32_t l3_off;
	bool is_fragment;
	bool has_ext; /* IPv6: something between header and TCP or UDP */
	uint8_t proto; /* directly after the IP header */
	uint32_t l4_off;
	uint32_t l4_bytes; /* L4 header and payload, as the IP header says */
	bool l4_fits; /* and that much is there, header included */
};

/* Which answer to an open question: quirks.h. 0 is the default. */
static inline uint32_t
nic_quirk(enum quirk quirk)
{
	return segment_config()->quirks[quirk];
}

/* nic_parse.c. The frame is nb_bytes >= 14; max_tags tags are looked through. */
void nic_parse(const uint8_t *frame, uint32_t nb_bytes, uint32_t max_tags,
	       struct nic_parsed *parsed);
bool nic_is_ipv6_ext(uint8_t proto);

/*
 * nic_csum.c: one's complement sums in the order of the packet's bytes as the
 * host loads them, so that a folded sum is stored as it is.
 */
uint64_t nic_csum_add(uint64_t sum, const void *bytes, uint32_t nb_bytes);
uint16_t nic_csum_fold(uint64_t sum);
/* The same sum: there are two zeros. */
bool nic_csum_same(uint16_t a, uint16_t b);
/* Pseudo-header sum with this L4 length (host order). */
uint64_t nic_csum_pseudo(const uint8_t *frame, const struct nic_parsed *parsed,
			 uint32_t l4_bytes);
/* A valid IPv4 header checksum / L4 checksum, the field included. */
bool nic_csum_ipv4_ok(const uint8_t *frame, const struct nic_parsed *parsed);
bool nic_csum_l4_ok(const uint8_t *frame, const struct nic_parsed *parsed);

/* nic_hash.c: Toeplitz by half bytes. */
void nic_hash_prepare(struct toeplitz *toeplitz,
		      const uint8_t key[DEVICE_RSS_KEY_BYTES]);
uint32_t nic_hash(const struct toeplitz *toeplitz, const uint8_t *input,
		  uint32_t nb_bytes);
/* Hash of a parsed frame; 0 and type 0 when it has none. */
uint32_t nic_hash_frame(const struct toeplitz *toeplitz, const uint8_t *frame,
			uint32_t nb_bytes, const struct nic_parsed *parsed,
			uint32_t *type);

/*
 * nic.c: a CQE of a work queue (but for its trailer), and its event. With it
 * the consumer index goes on by wqe_bytes.
 */
void nic_complete(struct card_function *f, struct wq *wq,
		  uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes);

/*
 * The same, of a live CQ and without any further fault: see inject.h. held: the
 * first of the queue's held ones, which this is, and goes; or NULL.
 */
void nic_post(struct card_function *f, struct wq *wq,
	      const struct inject_cqe *cqe, uint32_t wqe_bytes,
	      const struct inject_held *held);
/* Not written yet, but held: link is put where at says. */
void nic_hold(struct card_function *f, struct wq *wq, uint32_t *at,
	      uint32_t link, uint32_t wqe_bytes);

/* One more packet is in the open CQE of an RQ, and its WQE is used up. */
void nic_take_wqe(struct card_function *f, struct wq *rq, uint32_t wqe_bytes);

/* A WQE was fetched. */
static inline void
nic_trace_wqe(const struct card_function *f, const struct wq *wq,
	      const uint8_t *raw, uint32_t nb_bytes)
{
	if (trace_is_on(TRACE_wqe))
		trace_wqe(wq, trace_port(wq->fn, wq->port), &f->mem, raw,
			  nb_bytes);
}

/* nic_tx.c: send everything that is posted, until an error stops the queue. */
void nic_tx_run(struct card_function *f, struct wq *sq);

/* A Tx WQE being worked on. */
struct nic_tx {
	struct card_function *f;
	struct card_port *port;
	struct wq *sq;
	struct hw_wqe wqe;
	struct hw_tx_oob oob;
	uint32_t wqe_bytes;
	uint64_t total_bytes; /* of all SGEs */
	const uint8_t *sgl; /* in raw */
	uint8_t raw[HW_SQ_WQE_MAX_BYTES];
	/* Where the next byte of the SGL comes from. */
	uint32_t sge;
	uint32_t sge_done_bytes;
	uint32_t vendor_err;
};

/*
 * Copy the next nb_bytes of the SGL. 0, or HW_CQE_TX_GDMA_ERR with vendor_err
 * set and the violation named.
 */
int nic_tx_gather(struct nic_tx *tx, uint8_t *to, uint32_t nb_bytes);
/* Policies and wire for one finished frame; returns its CQE type. */
int nic_tx_frame(struct nic_tx *tx, uint8_t *frame, uint32_t nb_bytes);
void nic_tx_violation(const struct nic_tx *tx, enum violation violation);
/* Frames may be as long as the MTU and what may stand before it. */
bool nic_tx_fits_mtu(uint64_t frame_bytes, uint32_t nb_tags);

/* nic_tx_frame.c: a WQE of one frame; returns its CQE type. */
int nic_tx_packet(struct nic_tx *tx);
/* What trans_off must be. */
uint32_t nic_tx_trans_off(const struct nic_tx *tx,
			  const struct nic_parsed *parsed);

/* nic_lso.c: a WQE with client_oob_in_sgl; returns its CQE type. */
int nic_lso(struct nic_tx *tx);

/* A received frame. Without its tag it is in two pieces. */
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

/*
 * nic_rx.c: a frame arrives at a port. The frame is in our memory and stays
 * unchanged.
 */
void nic_rx(uint32_t fn, uint32_t port, const uint8_t *frame, uint32_t nb_bytes);
/* A fence CQE after what has arrived. */
void nic_rx_fence(struct card_function *f, struct wq *rq);
/* A CQE with the packets of rx; the consumer goes on by wqe_bytes. */
void nic_rx_write_cqe(struct card_function *f, struct wq *rq,
		      enum hw_cqe_type type, const struct rx_open *rx,
		      uint32_t wqe_bytes);
/*
 * nic_room.c: whether it would find a WQE, when nb_waiting others are on their
 * way to the port.
 */
bool nic_rx_has_room(uint32_t fn, uint32_t port, const uint8_t *frame,
		     uint32_t nb_bytes, uint32_t nb_waiting);

/* nic_coalesce.c: one more packet for the open CQE of an RQ. */
void nic_coalesce_add(struct card_function *f, struct wq *rq,
		      const struct nic_rx_frame *rx, uint32_t wqe_bytes);
/* Write the open CQE of one RQ, if any. */
void nic_coalesce_flush_queue(struct card_function *f, struct wq *rq);
/* The burst of work has ended: write those that need not wait any more. */
void nic_coalesce_flush(void);
void nic_coalesce_timer(uint64_t now_ns);
/* List again what is open: who held the lock was killed. */
void nic_coalesce_recover(void);

#endif /* MODEL_NIC_H */
