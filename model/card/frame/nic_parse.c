/* SPDX-License-Identifier: BSD-3-Clause */

#include "frame.h"
#include "hw.h"

#define IPV4_FRAGMENT_M 0x3fff /* more fragments, offset */

bool
nic_is_ipv6_ext(uint8_t proto)
{
	switch (proto) {
	case 0: /* hop-by-hop */
	case 43: /* routing */
	case 44: /* fragment */
	case 51: /* authentication */
	case 60: /* destination options */
	case 135: /* mobility */
		return true;
	default:
		return false;
	}
}

/* RFC 791. */
static void
nic_parse_ipv4(const uint8_t *ip, uint32_t nb_bytes, struct nic_parsed *parsed)
{
	uint32_t header_bytes = (ip[0] & 0xf) * 4u;
	uint32_t total_bytes;

	if (nb_bytes < NIC_IPV4_BYTES || ip[0] >> 4 != 4 ||
	    header_bytes < NIC_IPV4_BYTES || header_bytes > nb_bytes)
		return;
	total_bytes = hw_be16(ip + 2);
	parsed->l3 = NIC_L3_IPV4;
	parsed->is_fragment = (hw_be16(ip + 6) & IPV4_FRAGMENT_M) != 0;
	parsed->proto = ip[9];
	parsed->l4_off = parsed->l3_off + header_bytes;
	if (total_bytes >= header_bytes)
		parsed->l4_bytes = total_bytes - header_bytes;
	parsed->l4_fits = total_bytes >= header_bytes && total_bytes <= nb_bytes;
}

/* RFC 8200. Extension headers are detected, not parsed. */
static void
nic_parse_ipv6(const uint8_t *ip, uint32_t nb_bytes, struct nic_parsed *parsed)
{
	if (nb_bytes < NIC_IPV6_BYTES || ip[0] >> 4 != 6)
		return;
	parsed->l3 = NIC_L3_IPV6;
	parsed->proto = ip[6];
	parsed->has_ext = nic_is_ipv6_ext(ip[6]);
	parsed->is_fragment = ip[6] == 44;
	parsed->l4_off = parsed->l3_off + NIC_IPV6_BYTES;
	parsed->l4_bytes = hw_be16(ip + 4);
	parsed->l4_fits = NIC_IPV6_BYTES + parsed->l4_bytes <= nb_bytes;
}

void
nic_parse(const uint8_t *frame, uint32_t nb_bytes, uint32_t max_tags,
	  struct nic_parsed *parsed)
{
	uint32_t off = NIC_ETH_BYTES, min_bytes;

	memset(parsed, 0, sizeof(*parsed));
	parsed->ethertype = hw_be16(frame + 12);
	while (parsed->nb_tags < max_tags &&
	       (parsed->ethertype == NIC_ETHERTYPE_VLAN ||
		parsed->ethertype == NIC_ETHERTYPE_QINQ) &&
	       off + NIC_VLAN_BYTES <= nb_bytes) {
		parsed->ethertype = hw_be16(frame + off + 2);
		off += NIC_VLAN_BYTES;
		parsed->nb_tags++;
	}
	parsed->l3_off = off;
	if (off == nb_bytes)
		return;
	if (parsed->ethertype == NIC_ETHERTYPE_IPV4)
		nic_parse_ipv4(frame + off, nb_bytes - off, parsed);
	else if (parsed->ethertype == NIC_ETHERTYPE_IPV6)
		nic_parse_ipv6(frame + off, nb_bytes - off, parsed);

	min_bytes = parsed->proto == NIC_PROTO_TCP ? NIC_TCP_BYTES :
		    parsed->proto == NIC_PROTO_UDP ? NIC_UDP_BYTES :
						     0;
	if (parsed->l4_bytes < min_bytes)
		parsed->l4_fits = false;
}
