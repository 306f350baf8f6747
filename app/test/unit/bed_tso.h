/* SPDX-License-Identifier: BSD-3-Clause */

/* TCP packets that ask for segmentation, and what the device must find. */

#ifndef BED_TSO_H
#define BED_TSO_H

#include "bed.h"

struct bed_tso {
	bool ipv6;
	uint16_t l2_len, l3_len, l4_len;
	uint16_t segsz;
};

/* What bed_tso_expect() has fetched. */
extern struct bed_tx_wqe bed_tso_wqe;

static inline uint32_t
bed_tso_header(const struct bed_tso *s)
{
	return s->l2_len + s->l3_len + s->l4_len;
}

/* A frame with real lengths, whose checksum fields hold nonsense. */
void bed_tso_frame(const struct bed_tso *s, uint8_t *frame, uint32_t len);
/* The length field of its IP header. */
void bed_tso_set_length(const struct bed_tso *s, uint8_t *frame, uint16_t len);
/* Flags and lengths of the mbuf. */
void bed_tso_request(const struct bed_tso *s, struct rte_mbuf *m);
/* All of it in one segment. */
struct rte_mbuf *bed_tso_mbuf(struct bed_tx *bed, const struct bed_tso *s,
			      uint32_t len);
/*
 * The next WQE sends that frame: segmented when the payload is more than a
 * segment, and then with the header in an SGE of its own.
 */
void bed_tso_expect(struct bed_tx *bed, const struct bed_tso *s, uint32_t len,
		    uint32_t nb_sge);

#endif /* BED_TSO_H */
