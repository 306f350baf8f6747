/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packet types by the headers, as the hash type of a completion would tell
 * them. The device hashes nothing, and so tells nothing, when it receives into
 * one queue only: Linux mana_ib main.c, mana_ib_cfg_vport_steering().
 */

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "mana_rx.h"

static_assert(MANA_RX_PTYPE_BYTES == sizeof(struct rte_ether_hdr) +
					     sizeof(struct rte_vlan_hdr) +
					     sizeof(struct rte_ipv6_hdr),
	      "as far as a frame is looked into");

static uint32_t
l4_ptype(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return RTE_PTYPE_L4_TCP;
	case IPPROTO_UDP:
		return RTE_PTYPE_L4_UDP;
	default:
		return 0;
	}
}

static uint32_t
ipv4_ptype(const struct rte_ipv4_hdr *ip)
{
	uint32_t ptype = RTE_PTYPE_L3_IPV4_EXT_UNKNOWN;

	if ((ip->fragment_offset &
	     RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) == 0)
		ptype |= l4_ptype(ip->next_proto_id);
	return ptype;
}

uint32_t
mana_rx_ptype_by_headers(const void *frame, uint32_t len)
{
	const struct rte_ether_hdr *eth = frame;
	uint32_t at = sizeof(*eth), l2 = RTE_PTYPE_L2_ETHER;
	const struct rte_vlan_hdr *tag;
	rte_be16_t ether_type;

	if (len < at)
		return RTE_PTYPE_UNKNOWN;
	ether_type = eth->ether_type;
	if (ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN) &&
	    len >= at + sizeof(*tag)) {
		tag = RTE_PTR_ADD(frame, at);
		ether_type = tag->eth_proto;
		l2 = RTE_PTYPE_L2_ETHER_VLAN;
		at += sizeof(*tag);
	}
	if (ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	    len >= at + sizeof(struct rte_ipv4_hdr))
		return l2 | ipv4_ptype(RTE_PTR_ADD(frame, at));
	if (ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) &&
	    len >= at + sizeof(struct rte_ipv6_hdr)) {
		const struct rte_ipv6_hdr *ip = RTE_PTR_ADD(frame, at);

		return l2 | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | l4_ptype(ip->proto);
	}
	return RTE_PTYPE_UNKNOWN;
}
