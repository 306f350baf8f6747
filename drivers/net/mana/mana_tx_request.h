/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a packet asks for, whatever it is: checksums, those of a tunnel's outer
 * headers, TCP segmentation. For tx_pkt_prepare and the general way, and for
 * segmentation in a run of chains; the fastest knows plain checksums only.
 */

#ifndef MANA_TX_REQUEST_H
#define MANA_TX_REQUEST_H

#include "mana_tx.h"

/* A request that the device can meet. */
struct mana_tx_request {
	/* The checksums: of a tunnel, those outside; of TSO, all there are. */
	struct mana_tx_ask ask;
	struct mana_tx_csum csum;
	uint32_t bytes; /* of the frame */
	/*
	 * Payload bytes of a segment; then csum.hdr_bytes are all headers. 0:
	 * one frame, also when TSO was asked for what fits one segment.
	 */
	uint32_t mss_bytes;
};

/**
 * The rest of mana_tx_request_check(), of what asks for TSO or for checksums
 * of a tunnel's outer headers: fill in the other requests that it comes to.
 *
 * @return
 *   0; -ENOTSUP; -EINVAL.
 */
int mana_tx_request_rare(const struct rte_mbuf *m, struct mana_tx_request *req);

/* Translate RTE_MBUF_F_TX_TCP_SEG: as mana_tx_request_rare(). */
int mana_tx_tso_check(const struct rte_mbuf *m, struct mana_tx_request *req);

/* mana_tx_request_fix() of a packet that asks for TSO. */
bool mana_tx_tso_fix(uint8_t *frame, const struct mana_tx_request *req,
		     bool may_write);

/**
 * Translate a packet's requests. Nothing is written.
 *
 * @param bytes
 *   Length of the frame.
 * @return
 *   0; -ENOTSUP when the device cannot do that; -EINVAL when lengths or flags
 *   contradict each other.
 */
static inline int
mana_tx_request_check(const struct rte_mbuf *m, uint32_t bytes,
		      struct mana_tx_request *req)
{
	int ret;

	if (unlikely((m->ol_flags & MANA_TX_OL_REFUSED) != 0))
		return -ENOTSUP;
	if (unlikely(bytes < MANA_TX_MIN_BYTES))
		return -EINVAL;
	req->bytes = bytes;
	req->mss_bytes = 0;
	req->csum.oob = 0;
	req->csum.hdr_bytes = 0;
	if ((m->ol_flags & (MANA_TX_OL_CSUM | MANA_TX_OL_OUTER_CSUM |
			    RTE_MBUF_F_TX_TCP_SEG)) == 0)
		return 0;
	req->ask = mana_tx_ask_of(m);
	if (m->ol_flags & (RTE_MBUF_F_TX_TCP_SEG | MANA_TX_OL_OUTER_CSUM)) {
		ret = mana_tx_request_rare(m, req);
		if (ret != 0)
			return ret;
	}
	ret = mana_tx_csum_check(&req->ask, &req->csum);
	if (unlikely(ret != 0))
		return ret;
	if (req->mss_bytes != 0)
		req->csum.hdr_bytes += m->l4_len - sizeof(struct rte_tcp_hdr);
	return likely(bytes >= req->csum.hdr_bytes) ? 0 : -EINVAL;
}

/**
 * Bring the header's fields to what the device starts from. Doing it twice
 * gives the same.
 *
 * @param frame
 *   The first csum.hdr_bytes of the frame, in one piece; there are some.
 * @return
 *   Whether the fields are right now.
 */
static inline bool
mana_tx_request_fix(uint8_t *frame, const struct mana_tx_request *req,
		    bool may_write)
{
	if (unlikely((req->ask.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0))
		return mana_tx_tso_fix(frame, req, may_write);
	return mana_tx_hdr_fix(frame, &req->ask, may_write);
}

/* What segmentation adds to the first word of the WQE. */
static inline uint64_t
mana_tx_lso_header(uint32_t hdr_bytes, uint32_t mss_bytes)
{
	return MANA_SHIFT_VAL64(hdr_bytes, GDMA_WQE_LAST_VBYTES_S) |
	       UINT64_C(1) << GDMA_WQE_OOB_IN_SGL_S |
	       MANA_SHIFT_VAL64(mss_bytes, GDMA_WQE_CLIENT_UNIT_S);
}

/* Bits to add to the first word of the WQE. */
static inline uint64_t
mana_tx_request_header(const struct mana_tx_request *req)
{
	if (likely(req->mss_bytes == 0))
		return 0;
	return mana_tx_lso_header(req->csum.hdr_bytes, req->mss_bytes);
}

#endif /* MANA_TX_REQUEST_H */
