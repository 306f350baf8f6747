/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * tx_pkt_prepare, the table of checksum requests, and requests beside it.
 */

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "mana_tx_request.h"

/*
 * The index is five bits of ol_flags: L4 type 2, IP checksum 1, IPv4 1,
 * IPv6 1. An entry is the low byte of the OOB, or REFUSED: SCTP, both IP
 * versions at once, a checksum without the version it needs.
 */
#define F_L4 (RTE_MBUF_F_TX_L4_MASK >> MANA_TX_CSUM_INDEX_S)
#define F_TCP (RTE_MBUF_F_TX_TCP_CKSUM >> MANA_TX_CSUM_INDEX_S)
#define F_UDP (RTE_MBUF_F_TX_UDP_CKSUM >> MANA_TX_CSUM_INDEX_S)
#define F_SCTP (RTE_MBUF_F_TX_SCTP_CKSUM >> MANA_TX_CSUM_INDEX_S)
#define F_IP (RTE_MBUF_F_TX_IP_CKSUM >> MANA_TX_CSUM_INDEX_S)
#define F_V4 (RTE_MBUF_F_TX_IPV4 >> MANA_TX_CSUM_INDEX_S)
#define F_V6 (RTE_MBUF_F_TX_IPV6 >> MANA_TX_CSUM_INDEX_S)

static_assert((F_L4 | F_IP | F_V4 | F_V6) == MANA_TX_CSUM_INDEX_M,
	      "checksum request: five adjacent bits");

#define IS_REFUSED(i) \
	(((i) & F_L4) == F_SCTP || \
	 (((i) & F_V4) && ((i) & F_V6)) || \
	 (((i) & F_IP) && !((i) & F_V4)) || \
	 (((i) & F_L4) && !((i) & (F_V4 | F_V6))))

#define OOB_BITS(i) \
	((((i) & F_V4) ? 1u << MANA_TX_OOB_IPV4_S : 0) | \
	 (((i) & F_V6) ? 1u << MANA_TX_OOB_IPV6_S : 0) | \
	 (((i) & F_IP) ? 1u << MANA_TX_OOB_IP_CSUM_S : 0) | \
	 (((i) & F_L4) == F_TCP ? 1u << MANA_TX_OOB_TCP_CSUM_S : 0) | \
	 (((i) & F_L4) == F_UDP ? 1u << MANA_TX_OOB_UDP_CSUM_S : 0))

#define ENTRY(i) (IS_REFUSED(i) ? MANA_TX_CSUM_REFUSED : OOB_BITS(i))
#define ENTRY4(i) ENTRY(i), ENTRY((i) + 1), ENTRY((i) + 2), ENTRY((i) + 3)

const uint8_t mana_tx_csum_bits[MANA_TX_CSUM_INDEX_M + 1] = {
	ENTRY4(0), ENTRY4(4), ENTRY4(8), ENTRY4(12),
	ENTRY4(16), ENTRY4(20), ENTRY4(24), ENTRY4(28),
};

#define IS_USUAL(i) \
	(!IS_REFUSED(i) && ((i) & F_V4) && \
	 (((i) & F_L4) == F_TCP || ((i) & F_L4) == F_UDP))
#define USUAL_L4_BYTES(i) \
	(((i) & F_L4) == F_TCP ? sizeof(struct rte_tcp_hdr) : \
				 sizeof(struct rte_udp_hdr))
#define USUAL(i) { \
	.oob = OOB_BITS(i) | \
	       MANA_SHIFT_VAL64(MANA_TX_USUAL_L4, MANA_TX_OOB_TRANS_OFF_S), \
	.hdr_bytes = IS_USUAL(i) ? MANA_TX_USUAL_L4 + USUAL_L4_BYTES(i) : \
				   UINT32_MAX, \
	.proto = RTE_BE16(((i) & F_L4) == F_TCP ? IPPROTO_TCP : IPPROTO_UDP), \
	.field = ((i) & F_L4) == F_TCP ? \
			 offsetof(struct rte_tcp_hdr, cksum) : \
			 offsetof(struct rte_udp_hdr, dgram_cksum), \
	.ip_keep = (i) & F_IP ? 0 : UINT16_MAX, \
}
#define USUAL4(i) USUAL(i), USUAL((i) + 1), USUAL((i) + 2), USUAL((i) + 3)

const struct mana_tx_usual mana_tx_usual[MANA_TX_CSUM_INDEX_M + 1] = {
	USUAL4(0), USUAL4(4), USUAL4(8), USUAL4(12),
	USUAL4(16), USUAL4(20), USUAL4(24), USUAL4(28),
};

/* Headers of other lengths, with all else as usual. */
static inline bool
csum_longer(struct rte_mbuf *m, uint64_t *oob)
{
	const struct mana_tx_usual *usual = mana_tx_usual_of(mana_tx_flags(m));
	uint32_t l2_len = m->l2_len, l3_len = m->l3_len;
	int64_t more_bytes = (int64_t)l2_len + l3_len - MANA_TX_USUAL_L4;

	if (mana_tx_asks_more(mana_tx_flags(m)) || l2_len < MANA_TX_USUAL_L3 ||
	    l3_len < sizeof(struct rte_ipv4_hdr) ||
	    m->data_len < usual->hdr_bytes + more_bytes)
		return false;
	*oob |= usual->oob + MANA_SHIFT_VAL64(more_bytes,
					      MANA_TX_OOB_TRANS_OFF_S);
	mana_tx_usual_fix(rte_pktmbuf_mtod_offset(m, uint8_t *, l2_len), l3_len,
			  usual);
	return true;
}

/* On its own: what comes before has no registers to save. */
static __rte_noinline bool
csum_any(struct rte_mbuf *m, uint64_t *oob)
{
	struct mana_tx_ask ask = mana_tx_ask_of(m);
	struct mana_tx_csum csum;

	if ((ask.ol_flags & MANA_TX_OL_ODD & ~MANA_TX_OL_CSUM) != 0 ||
	    mana_tx_csum_check(&ask, &csum) != 0 ||
	    m->data_len < csum.hdr_bytes)
		return false;
	mana_tx_hdr_fix(rte_pktmbuf_mtod(m, uint8_t *), &ask, true);
	*oob |= csum.oob;
	return true;
}

__rte_noinline bool
mana_tx_csum_unusual(struct rte_mbuf *m, uint64_t *oob)
{
	return csum_longer(m, oob) || csum_any(m, oob);
}

/* The outer flags are those of a plain packet, at another place. */
#define OUTER_S 4
static_assert(RTE_MBUF_F_TX_OUTER_IP_CKSUM >> OUTER_S ==
	      RTE_MBUF_F_TX_IP_CKSUM &&
	      RTE_MBUF_F_TX_OUTER_IPV4 >> OUTER_S == RTE_MBUF_F_TX_IPV4 &&
	      RTE_MBUF_F_TX_OUTER_IPV6 >> OUTER_S == RTE_MBUF_F_TX_IPV6,
	      "outer flags");
static_assert(RTE_MBUF_OUTL2_LEN_BITS <= RTE_MBUF_L2_LEN_BITS &&
	      RTE_MBUF_OUTL3_LEN_BITS <= RTE_MBUF_L3_LEN_BITS, "trans_off");

/*
 * The outer headers of a tunnel are to the device those of a plain packet. It
 * computes one set of checksums: so none inside at the same time.
 */
static int
mana_tx_outer_check(const struct rte_mbuf *m, struct mana_tx_request *req)
{
	if ((m->ol_flags & (MANA_TX_OL_CSUM | RTE_MBUF_F_TX_TCP_SEG)) != 0)
		return -ENOTSUP;
	req->ask.ol_flags = m->ol_flags >> OUTER_S &
			    (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 |
			     RTE_MBUF_F_TX_IPV6);
	if (m->ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM)
		req->ask.ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
	req->ask.l2_len = m->outer_l2_len;
	req->ask.l3_len = m->outer_l3_len;
	return 0;
}

__rte_noinline int
mana_tx_request_rare(const struct rte_mbuf *m, struct mana_tx_request *req)
{
	if (m->ol_flags & MANA_TX_OL_OUTER_CSUM)
		return mana_tx_outer_check(m, req);
	return mana_tx_tso_check(m, req);
}

static int
mana_tx_prepare_one(struct rte_mbuf *m)
{
	struct mana_tx_request req;
	int ret;

	ret = mana_tx_request_check(m, m->pkt_len, &req);
	if (ret != 0)
		return ret;
	if (req.csum.hdr_bytes != 0 && m->data_len >= req.csum.hdr_bytes &&
	    mana_tx_hdr_is_private(m))
		mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), &req, true);
	return 0;
}

uint16_t
mana_tx_pkt_prepare(void *queue __rte_unused, struct rte_mbuf **pkts,
		    uint16_t nb_pkts)
{
	uint16_t i;
	int ret;

	for (i = 0; i < nb_pkts; i++) {
		ret = mana_tx_prepare_one(pkts[i]);
		if (ret != 0) {
			rte_errno = -ret;
			break;
		}
	}
	return i;
}
