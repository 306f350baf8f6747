/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion bits to mbuf fields, computed by the compiler.
 */

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#include "mana_rx.h"

#define TABLE4(entry, i) entry(i), entry((i) + 1), entry((i) + 2), entry((i) + 3)
#define TABLE16(entry, i) \
	TABLE4(entry, i), TABLE4(entry, (i) + 4), \
	TABLE4(entry, (i) + 8), TABLE4(entry, (i) + 12)
#define TABLE64(entry, i) \
	TABLE16(entry, i), TABLE16(entry, (i) + 16), \
	TABLE16(entry, (i) + 32), TABLE16(entry, (i) + 48)
#define TABLE512(entry) \
	TABLE64(entry, 0), TABLE64(entry, 64), TABLE64(entry, 128), \
	TABLE64(entry, 192), TABLE64(entry, 256), TABLE64(entry, 320), \
	TABLE64(entry, 384), TABLE64(entry, 448)

#define CSUM(bits) \
	(uint16_t)(MANA_RX_VERDICT(bits, MANA_RX_CSUM_IP_OK, MANA_RX_CSUM_IP_BAD, \
			   RTE_MBUF_F_RX_IP_CKSUM_GOOD, \
			   RTE_MBUF_F_RX_IP_CKSUM_BAD) | \
		   MANA_RX_VERDICT(bits, MANA_RX_CSUM_TCP_OK | MANA_RX_CSUM_UDP_OK, \
			   MANA_RX_CSUM_TCP_BAD | MANA_RX_CSUM_UDP_BAD, \
			   RTE_MBUF_F_RX_L4_CKSUM_GOOD, \
			   RTE_MBUF_F_RX_L4_CKSUM_BAD))

const uint16_t mana_rx_csum_flags[MANA_RX_CQE_CSUM_M + 1] = {
	TABLE64(CSUM, 0)
};

static_assert(MANA_RX_CSUM_FLAGS >> 16 == 0, "checksum flags fit the table");

/*
 * The hash type is a bit mask. Without a hash nothing is known of the packet,
 * not even that it is IP.
 */
#define HASH_V4 (MANA_HASH_IPV4 | MANA_HASH_TCP_IPV4 | MANA_HASH_UDP_IPV4)
#define HASH_V6 (MANA_RX_CQE_HASH_TYPE_M & ~HASH_V4)
#define HASH_TCP (MANA_HASH_TCP_IPV4 | MANA_HASH_TCP_IPV6 | MANA_HASH_TCP_IPV6_EX)
#define HASH_UDP (MANA_HASH_UDP_IPV4 | MANA_HASH_UDP_IPV6 | MANA_HASH_UDP_IPV6_EX)

#define PTYPE(type) \
	((type) == 0 ? RTE_PTYPE_UNKNOWN : \
	 RTE_PTYPE_L2_ETHER | \
	 MANA_RX_VERDICT(type, HASH_V4, HASH_V6, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, \
		 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) | \
	 MANA_RX_VERDICT(type, HASH_TCP, HASH_UDP, RTE_PTYPE_L4_TCP, RTE_PTYPE_L4_UDP))

#define HASH(type) { PTYPE(type), (type) == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH }

const struct mana_rx_hash mana_rx_hash[MANA_RX_CQE_HASH_TYPE_M + 1] = {
	TABLE512(HASH)
};
