/* SPDX-License-Identifier: BSD-3-Clause */

/* The constants of the receive kernels in vectors. */

#include "mana_gdma.h"
#include "mana_rx.h"
#include "mana_rx_vec.h"

/* IP has only the first two of its four bits. */
#define IP(i) \
	MANA_RX_VERDICT(i, 1, 2, RTE_MBUF_F_RX_IP_CKSUM_GOOD >> 1, \
			RTE_MBUF_F_RX_IP_CKSUM_BAD >> 1)
#define L4(i) \
	MANA_RX_VERDICT(i, 5, 10, RTE_MBUF_F_RX_L4_CKSUM_GOOD >> 1, \
			RTE_MBUF_F_RX_L4_CKSUM_BAD >> 1)
#define OF_4(entry, i) \
	entry(i), entry((i) + 1), entry((i) + 2), entry((i) + 3)
#define OF_16(entry) { \
	OF_4(entry, 0), OF_4(entry, 4), OF_4(entry, 8), OF_4(entry, 12) }
#define SAME(x) { x, x, x, x }
#define Z MANA_VEC_0

static_assert(MANA_RX_CQE_CSUM_S == 25 && MANA_RX_CSUM_IP_OK == 1 &&
	      MANA_RX_CSUM_IP_BAD == 2 && MANA_RX_CSUM_TCP_OK == 1 << 2 &&
	      MANA_RX_CSUM_TCP_BAD == 2 << 2 && MANA_RX_CSUM_UDP_OK == 4 << 2 &&
	      MANA_RX_CSUM_UDP_BAD == 8 << 2, "checksum bits as in the tables");

static_assert((MANA_CQE_RX_OKAY & MANA_CQE_RX_COALESCED_4) == 0, "one bit tells");

const struct mana_rx_vec_const mana_rx_vec_const = {
	.ip = OF_16(IP),
	.l4 = OF_16(L4),
	.okay = { 0, Z, 8, 9, 8, 9, Z, Z, 8, 9, 4, 5, 12, 13, 14, 15 },
	.first = { Z, Z, Z, Z, 8, 9, Z, Z, 8, 9, Z, Z, 12, 13, 14, 15 },
	.mid = { Z, Z, Z, Z, 0, 1, Z, Z, 0, 1, Z, Z, 8, 9, 10, 11 },
	.last = { Z, Z, Z, Z, 8, 9, Z, Z, 8, 9, Z, Z, 0, 1, 2, 3 },
	.type_len = SAME(UINT32_C(0xffff0000) | MANA_CQE_TYPE_M),
	.hash_type = SAME(MANA_RX_CQE_HASH_TYPE_M << MANA_RX_CQE_HASH_TYPE_S),
	.hash_flag = SAME(RTE_MBUF_F_RX_RSS_HASH),
	.trailers = SAME(MANA_CQ_TRAILER_M),
	.tag = SAME(RTE_BIT32(MANA_RX_CQE_VLAN_S)),
	.coalesced = { MANA_CQE_RX_COALESCED_4, 0, 0, 0 },
	.tci = { Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 4, 5, Z, Z, Z, Z },
};
