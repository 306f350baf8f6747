/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Headers of a segment. ASSUMED, as all other adapters do: ids and sequence
 * numbers advance; only the last segment has PSH and FIN, only the first has CWR.
 */

#include "frame.h"
#include "hw.h"

#define IPV4_ID_OFF   4
#define TCP_SEQ_OFF   4
#define TCP_FLAGS_OFF 13
#define TCP_FIN	      0x01
#define TCP_PSH	      0x08
#define TCP_CWR	      0x80

/* One segment's IP header: length, id, checksum. */
static void
nic_segment_write_ip(uint8_t *frame, const struct nic_parsed *parsed,
		     uint32_t nb_bytes, uint32_t nth)
{
	uint8_t *ip = frame + parsed->l3_off;
	uint32_t ip_bytes = nb_bytes - parsed->l3_off;

	if (parsed->l3 == NIC_L3_IPV6) {
		hw_put_be16(ip + NIC_IPV6_LENGTH_OFF,
			    (uint16_t)(ip_bytes - NIC_IPV6_BYTES));
		return;
	}
	hw_put_be16(ip + NIC_IPV4_LENGTH_OFF, (uint16_t)ip_bytes);
	hw_put_be16(ip + IPV4_ID_OFF,
		    (uint16_t)(hw_be16(ip + IPV4_ID_OFF) + nth));
	nic_csum_write_ipv4(frame, parsed);
}

/* A segment's TCP header; its part of the payload, at offset, is in place. */
static void
nic_segment_write_tcp(uint8_t *frame, const struct nic_parsed *parsed,
		      uint32_t nb_bytes, uint32_t offset, bool is_last)
{
	uint8_t *tcp = frame + parsed->l4_off;
	uint32_t l4_bytes = nb_bytes - parsed->l4_off;
	uint32_t seq = (uint32_t)hw_be16(tcp + TCP_SEQ_OFF) << 16 |
		       hw_be16(tcp + TCP_SEQ_OFF + 2);
	uint8_t length[4] = { 0 };
	uint64_t sum;
	uint16_t folded;

	seq += offset;
	hw_put_be16(tcp + TCP_SEQ_OFF, (uint16_t)(seq >> 16));
	hw_put_be16(tcp + TCP_SEQ_OFF + 2, (uint16_t)seq);
	if (!is_last)
		tcp[TCP_FLAGS_OFF] &= (uint8_t) ~(TCP_PSH | TCP_FIN);
	if (offset > 0)
		tcp[TCP_FLAGS_OFF] &= (uint8_t)~TCP_CWR;
	/* Add the length; the seed lacks it: Linux mana_en.c never adds it. */
	hw_put_be16(length + 2, (uint16_t)l4_bytes);
	sum = nic_csum_add(0, length, sizeof(length));
	sum = nic_csum_add(sum, tcp, l4_bytes);
	folded = ~nic_csum_fold(sum);
	memcpy(frame + nic_csum_l4_off(parsed), &folded, sizeof(folded));
}

void
nic_segment_write(uint8_t *frame, const struct nic_parsed *parsed,
		  uint32_t nb_bytes, uint32_t nth, uint32_t offset, bool is_last)
{
	nic_segment_write_ip(frame, parsed, nb_bytes, nth);
	nic_segment_write_tcp(frame, parsed, nb_bytes, offset, is_last);
}
