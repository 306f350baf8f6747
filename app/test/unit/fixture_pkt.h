/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets with a checksum or TSO request, and the frames expected by the device. */

#ifndef FIXTURE_PKT_H
#define FIXTURE_PKT_H

#include "fixture.h"

struct fx_pkt {
	bool ipv6;
	uint8_t l4; /* 6, 17 or 0 */
	bool ip_csum;
	uint16_t l2_len, l3_len, l4_len;
	uint16_t segsz; /* 0: no TSO */
	uint8_t seed; /* of the bytes that are no field */
};

/* TCP with TSO request, which is one for the checksums, too. */
#define FX_TSO4(l2_len, l3_len, l4_len, segsz) \
	{ false, 6, true, l2_len, l3_len, l4_len, segsz }
#define FX_TSO6(l2_len, l3_len, l4_len, segsz) \
	{ true, 6, false, l2_len, l3_len, l4_len, segsz }

/* The WQE that fx_pkt_expect() has fetched. */
extern struct fx_tx_wqe fx_wqe;

static inline uint32_t
fx_pkt_header(const struct fx_pkt *s)
{
	return s->l2_len + s->l3_len + s->l4_len;
}

/* A frame with real lengths and garbage in its checksum fields. */
void fx_pkt_frame(const struct fx_pkt *s, uint8_t *frame, uint32_t len);
/* Sets the length field of the IP header. */
void fx_pkt_set_length(const struct fx_pkt *s, uint8_t *frame, uint16_t len);
/* Sets the fields of a frame that the driver must set. */
void fx_pkt_set_fields(const struct fx_pkt *s, uint8_t *frame, uint32_t len);
/* Sets offload flags and header lengths of the mbuf. */
void fx_pkt_request(const struct fx_pkt *s, struct rte_mbuf *m);
/* A frame in segments as fx_pieces() makes them. */
struct rte_mbuf *fx_pkt_pieces(struct rte_mempool *mp, const struct fx_pkt *s, uint32_t len,
			       uint32_t first, uint32_t piece);
/* A whole frame in one segment. */
struct rte_mbuf *fx_pkt_mbuf(struct fx_tx *fx, const struct fx_pkt *s, uint32_t len);
/*
 * Expects that the next WQE sends this frame. A payload above one segment size
 * is segmented, and its header has its own SGE.
 */
void fx_pkt_expect(struct fx_tx *fx, const struct fx_pkt *s, uint32_t len, uint32_t nb_sge);

#endif /* FIXTURE_PKT_H */
