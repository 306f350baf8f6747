/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * tx_pkt_prepare, and the table of checksum requests.
 */

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "mana_tx.h"

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

static int
mana_tx_prepare_one(struct rte_mbuf *m)
{
	struct mana_tx_csum csum;
	int ret;

	if ((m->ol_flags & MANA_TX_OL_REFUSED) != 0)
		return -ENOTSUP;
	if (m->pkt_len < MANA_TX_MIN_BYTES)
		return -EINVAL;
	ret = mana_tx_csum_check(m, &csum);
	if (ret != 0)
		return ret;
	if (m->pkt_len < csum.hdr_bytes)
		return -EINVAL;
	if (csum.hdr_bytes != 0 && m->data_len >= csum.hdr_bytes &&
	    mana_tx_hdr_is_private(m))
		mana_tx_hdr_fix(rte_pktmbuf_mtod(m, uint8_t *), m, true);
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
