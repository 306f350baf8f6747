/* SPDX-License-Identifier: BSD-3-Clause */

/* Headers and checksums of frames. */

#ifndef MODEL_FRAME_H
#define MODEL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define NIC_ETH_BYTES  14u
#define NIC_VLAN_BYTES 4u

enum nic_l3 {
	NIC_L3_NONE,
	NIC_L3_IPV4,
	NIC_L3_IPV6
};

#define NIC_ETHERTYPE_IPV4 0x0800
#define NIC_ETHERTYPE_ARP  0x0806
#define NIC_ETHERTYPE_VLAN 0x8100
#define NIC_ETHERTYPE_IPV6 0x86dd
#define NIC_ETHERTYPE_QINQ 0x88a8

/* IP protocol numbers. */
#define NIC_PROTO_TCP 6
#define NIC_PROTO_UDP 17

/* Headers without options, and offsets of their fields. */
#define NIC_IPV4_BYTES	    20u
#define NIC_IPV6_BYTES	    40u
#define NIC_TCP_BYTES	    20u
#define NIC_UDP_BYTES	    8u
#define NIC_IPV4_LENGTH_OFF 2
#define NIC_IPV4_CSUM_OFF   10
#define NIC_IPV6_LENGTH_OFF 4
#define NIC_TCP_DATA_OFF    12

/* Result of the device's parser. Offsets are from the start of the frame. */
struct nic_parsed {
	uint32_t nb_tags; /* VLAN tags in the frame */
	uint16_t ethertype; /* after the tags */
	enum nic_l3 l3;
	uint32_t l3_off;
	bool is_fragment;
	bool has_ext; /* IPv6: extension headers */
	uint8_t proto; /* protocol directly after the IP header */
	uint32_t l4_off;
	uint32_t l4_bytes; /* L4 header and payload, per the IP header */
	bool l4_fits; /* the frame contains l4_bytes, at least the L4 header */
};

/* nic_parse.c. nb_bytes >= 14. The parser skips up to max_tags VLAN tags. */
void nic_parse(const uint8_t *frame, uint32_t nb_bytes, uint32_t max_tags,
	       struct nic_parsed *parsed);
bool nic_is_ipv6_ext(uint8_t proto);

/* nic_csum.c: one's complement sums; store a folded sum without swapping. */
uint64_t nic_csum_add(uint64_t sum, const void *bytes, uint32_t nb_bytes);
uint16_t nic_csum_fold(uint64_t sum);
/* Whether two sums are equal: 0 has two representations. */
bool nic_csum_same(uint16_t a, uint16_t b);
/* Pseudo-header sum. The L4 length is in host order. */
uint64_t nic_csum_pseudo(const uint8_t *frame, const struct nic_parsed *parsed,
			 uint32_t l4_bytes);
/* Whether the IPv4 header checksum / L4 checksum is valid. */
bool nic_csum_ipv4_ok(const uint8_t *frame, const struct nic_parsed *parsed);
bool nic_csum_l4_ok(const uint8_t *frame, const struct nic_parsed *parsed);

/* Offset of the checksum of TCP, or else of UDP, in the frame. */
uint32_t nic_csum_l4_off(const struct nic_parsed *parsed);

/*
 * Write the checksum of an IPv4 header, whose field is 0, and of TCP or UDP, whose
 * field is the sum of the pseudo-header. A UDP sum of 0 is written as such if
 * keeps_zero, else as 0xffff: RFC 768: 0 means no checksum.
 */
void nic_csum_write_ipv4(uint8_t *frame, const struct nic_parsed *parsed);
void nic_csum_write_l4(uint8_t *frame, const struct nic_parsed *parsed,
		       bool keeps_zero);
/* The same, whatever the field of TCP or UDP is. */
void nic_csum_fill_l4(uint8_t *frame, const struct nic_parsed *parsed);

/*
 * nic_segment.c: write the headers of the nth segment of a TCP packet. The segment
 * has nb_bytes, a copy of the packet's headers first, and the payload from an
 * offset. The TCP checksum field is the sum of the pseudo-header without a length.
 */
void nic_segment_write(uint8_t *frame, const struct nic_parsed *parsed,
		       uint32_t nb_bytes, uint32_t nth, uint32_t offset,
		       bool is_last);

#endif /* MODEL_FRAME_H */
