/* SPDX-License-Identifier: BSD-3-Clause */

/* TCP packets with TSO request, and the frames expected by the device. */

#ifndef FIXTURE_TSO_H
#define FIXTURE_TSO_H

#include "fixture.h"

struct fx_tso {
	bool ipv6;
	uint16_t l2_len, l3_len, l4_len;
	uint16_t segsz;
};

/* The WQE that fx_tso_expect() has fetched. */
extern struct fx_tx_wqe fx_tso_wqe;

static inline uint32_t
fx_tso_header(const struct fx_tso *s)
{
	return s->l2_len + s->l3_len + s->l4_len;
}

/* A frame with real lengths and garbage in its checksum fields. */
void fx_tso_frame(const struct fx_tso *s, uint8_t *frame, uint32_t len);
/* Sets the length field of the IP header. */
void fx_tso_set_length(const struct fx_tso *s, uint8_t *frame, uint16_t len);
/* Sets offload flags and header lengths of the mbuf. */
void fx_tso_request(const struct fx_tso *s, struct rte_mbuf *m);
/* A whole frame in one segment. */
struct rte_mbuf *fx_tso_mbuf(struct fx_tx *fx, const struct fx_tso *s,
			     uint32_t len);
/*
 * Expects that the next WQE sends this frame. A payload above one segment size
 * is segmented, and its header has its own SGE.
 */
void fx_tso_expect(struct fx_tx *fx, const struct fx_tso *s, uint32_t len,
		   uint32_t nb_sge);

#endif /* FIXTURE_TSO_H */
