/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames with correct checksums, unless the specification says otherwise. */

#include <string.h>

#include "first_contact.h"

#define ETHERTYPE_IPV4	  0x0800
#define ETHERTYPE_IPV6	  0x86dd
#define ETHERTYPE_VLAN	  0x8100
#define IPV4_BYTES	  20u
#define IPV6_BYTES	  40u
#define IPV4_CSUM_OFF	  10u
#define TCP_BYTES	  20u
#define UDP_BYTES	  8u
#define ICMP_BYTES	  8u
#define TCP_CSUM_OFF	  16u
#define UDP_CSUM_OFF	  6u
#define EXT_BYTES	  8u
#define IPV6_DEST_OPTIONS 60
#define IPV6_FRAGMENT	  44
#define SRC_PORT	  20000
#define DST_PORT	  30000
#define TTL		  64

uint16_t
fc_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

void
fc_put_be16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static uint64_t
sum_add(uint64_t sum, const uint8_t *at, uint32_t nb_bytes)
{
	for (; nb_bytes > 1; at += 2, nb_bytes -= 2)
		sum += fc_be16(at);
	return nb_bytes > 0 ? sum + (uint32_t)(at[0] << 8) : sum;
}

static uint16_t
sum_fold(uint64_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The pseudo header of RFC 768 and RFC 8200. */
static uint64_t
sum_pseudo(const uint8_t *ip, bool v6, uint8_t proto, uint32_t l4_bytes)
{
	return sum_add(proto + l4_bytes, ip + (v6 ? 8 : 12), v6 ? 32 : 8);
}

void
fc_tag_write(uint32_t tag, uint8_t bytes[FC_TAG_BYTES])
{
	memcpy(bytes, "MFC1", 4);
	memcpy(bytes + 4, &tag, sizeof(tag));
}

bool
fc_tag_is_any(const uint8_t *data, uint32_t nb_bytes)
{
	return memmem(data, nb_bytes, "MFC1", 4) != NULL;
}

static uint32_t
l4_header_bytes(uint8_t proto)
{
	return proto == FC_PROTO_TCP ? TCP_BYTES :
	       proto == FC_PROTO_UDP ? UDP_BYTES :
				       ICMP_BYTES;
}

uint32_t
fc_csum_off(const struct fc_frame *frame)
{
	return frame->l4_off +
	       (frame->proto == FC_PROTO_TCP ? TCP_CSUM_OFF : UDP_CSUM_OFF);
}

static uint8_t *
build_ethernet(const struct fc *fc, const struct fc_frame_spec *spec, uint8_t *at)
{
	memcpy(at, fc->dst_mac, FC_MAC_BYTES);
	memcpy(at + FC_MAC_BYTES, fc->tx->mac, FC_MAC_BYTES);
	at += 2 * FC_MAC_BYTES;
	for (uint32_t i = 0; i < spec->nb_tags; i++, at += FC_VLAN_BYTES) {
		fc_put_be16(at, ETHERTYPE_VLAN);
		fc_put_be16(at + 2, spec->tci);
	}
	fc_put_be16(at, spec->v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
	return at + 2;
}

static uint8_t *
build_ipv4(const struct fc *fc, const struct fc_frame_spec *spec, uint8_t proto,
	   uint32_t l4_bytes, uint8_t *ip)
{
	const uint32_t nb_bytes = IPV4_BYTES + spec->option_bytes;

	memset(ip, 0, IPV4_BYTES);
	ip[0] = (uint8_t)(0x40 | nb_bytes / 4);
	fc_put_be16(ip + 2, nb_bytes + l4_bytes);
	fc_put_be16(ip + 4, fc->next_tag);
	if (spec->is_fragment)
		ip[6] = 0x20; /* more fragments */
	ip[8] = TTL;
	ip[9] = proto;
	memcpy(ip + 12, fc->ip4[0], 4);
	memcpy(ip + 16, fc->ip4[1], 4);
	memset(ip + IPV4_BYTES, 1, spec->option_bytes); /* no operation */
	fc_put_be16(ip + IPV4_CSUM_OFF, ~sum_fold(sum_add(0, ip, nb_bytes)));
	return ip + nb_bytes;
}

static uint8_t *
build_ipv6(const struct fc *fc, const struct fc_frame_spec *spec, uint8_t proto,
	   uint32_t l4_bytes, uint8_t *ip)
{
	const bool has_ext = spec->has_ext || spec->is_fragment;
	uint8_t *ext = ip + IPV6_BYTES;

	memset(ip, 0, IPV6_BYTES + EXT_BYTES);
	ip[0] = 0x60;
	fc_put_be16(ip + 4, l4_bytes + (has_ext ? EXT_BYTES : 0));
	ip[6] = !has_ext	  ? proto :
		spec->is_fragment ? IPV6_FRAGMENT :
				    IPV6_DEST_OPTIONS;
	ip[7] = TTL;
	memcpy(ip + 8, fc->ip6[0], 16);
	memcpy(ip + 24, fc->ip6[1], 16);
	if (!has_ext)
		return ext;
	ext[0] = proto;
	ext[2] = spec->is_fragment ? 0 : 1; /* PadN */
	ext[3] = spec->is_fragment ? 1 : 4; /* more fragments; 4 zeros */
	return ext + EXT_BYTES;
}

/* A header and its payload; the checksum field is still 0. */
static void
build_l4(const struct fc_frame_spec *spec, uint8_t proto, uint32_t l4_bytes,
	 uint32_t tag, uint8_t *l4)
{
	const uint32_t header = l4_header_bytes(proto);
	uint8_t bytes[FC_TAG_BYTES];

	memset(l4, 0, header);
	fc_put_be16(l4, SRC_PORT + spec->flow);
	fc_put_be16(l4 + 2, DST_PORT);
	if (proto == FC_PROTO_TCP) {
		fc_put_be16(l4 + 6, tag); /* sequence number */
		l4[12] = TCP_BYTES / 4 << 4;
		l4[13] = 0x10; /* ACK */
		l4[14] = 0x20;
	} else if (proto == FC_PROTO_UDP) {
		fc_put_be16(l4 + 4, l4_bytes);
	} else {
		memset(l4, 0, header); /* echo reply */
	}
	fc_tag_write(tag, bytes);
	for (uint32_t at = header; at < l4_bytes; at++)
		l4[at] = bytes[(at - header) % FC_TAG_BYTES];
}

static void
write_l4_csum(const struct fc_frame_spec *spec, const struct fc_frame *frame,
	      uint32_t l4_bytes)
{
	uint8_t *ip = frame->data + frame->l3_off;
	uint8_t *l4 = frame->data + frame->l4_off;
	uint64_t sum = sum_add(0, l4, l4_bytes);
	uint8_t *field = frame->data + fc_csum_off(frame);

	if (frame->proto != FC_PROTO_TCP && frame->proto != FC_PROTO_UDP) {
		if (frame->v6)
			sum += sum_pseudo(ip, true, frame->proto, l4_bytes);
		fc_put_be16(l4 + 2, ~sum_fold(sum));
		return;
	}
	sum += sum_pseudo(ip, frame->v6, frame->proto, l4_bytes);
	sum = (uint16_t)~sum_fold(sum);
	if (frame->proto == FC_PROTO_UDP && sum == 0)
		sum = 0xffff;
	if (spec->bad_l4) /* neither 0 nor 0xffff */
		sum = sum == 0x1234 ? 0x4321 : 0x1234;
	fc_put_be16(field, spec->no_udp_csum ? 0 : (uint32_t)sum);
}

void
fc_frame_build(struct fc *fc, const struct fc_frame_spec *spec,
	       struct fc_frame *frame)
{
	const uint8_t proto = spec->proto != 0 ? spec->proto : FC_PROTO_UDP;
	const uint32_t l4_bytes = l4_header_bytes(proto) + spec->payload_bytes;
	uint8_t *at;

	frame->off = FC_TX_OFF + fc->next_slot * FC_TX_SLOT_BYTES;
	fc->next_slot = (fc->next_slot + 1) % FC_NB_TX_SLOTS;
	frame->data = fc->memory + frame->off;
	frame->tag = fc->next_tag++;
	frame->v6 = spec->v6;
	frame->proto = proto;
	frame->l4_header_bytes = l4_header_bytes(proto);
	at = build_ethernet(fc, spec, frame->data);
	frame->l3_off = (uint32_t)(at - frame->data);
	at = spec->v6 ? build_ipv6(fc, spec, proto, l4_bytes, at) :
			build_ipv4(fc, spec, proto, l4_bytes, at);
	frame->l4_off = (uint32_t)(at - frame->data);
	frame->nb_bytes = frame->l4_off + l4_bytes;
	build_l4(spec, proto, l4_bytes, frame->tag, at);
	write_l4_csum(spec, frame, l4_bytes);
}

#define VXLAN_PORT	4789
#define VXLAN_BYTES	8u
#define VXLAN_VNI_VALID 0x08

void
fc_frame_vxlan(struct fc *fc, struct fc_frame *inner, struct fc_frame *outer)
{
	static const struct fc_frame_spec tcp = { .proto = FC_PROTO_TCP,
						  .payload_bytes = 64 };
	struct fc_frame_spec spec = { .no_udp_csum = true };
	uint8_t *vxlan;

	fc_frame_build(fc, &tcp, inner);
	spec.payload_bytes = VXLAN_BYTES + inner->nb_bytes;
	fc_frame_build(fc, &spec, outer);
	fc_put_be16(outer->data + outer->l4_off + 2, VXLAN_PORT);
	vxlan = outer->data + outer->l4_off + outer->l4_header_bytes;
	memset(vxlan, 0, VXLAN_BYTES);
	vxlan[0] = VXLAN_VNI_VALID;
	memcpy(vxlan + VXLAN_BYTES, inner->data, inner->nb_bytes);
}

void
fc_frame_seed(struct fc_frame *frame, bool is_lso)
{
	uint8_t *ip = frame->data + frame->l3_off;
	const uint32_t l4_bytes = frame->nb_bytes - frame->l4_off;

	fc_put_be16(frame->data + fc_csum_off(frame),
		    sum_fold(sum_pseudo(ip, frame->v6, frame->proto,
					is_lso ? 0 : l4_bytes)));
	if (!frame->v6)
		fc_put_be16(ip + IPV4_CSUM_OFF, 0);
	if (is_lso)
		fc_put_be16(ip + (frame->v6 ? 4 : 2), 0);
}

bool
fc_l4_csum_ok(const uint8_t *frame, uint32_t l3_off, uint32_t l4_off,
	      uint32_t nb_bytes, bool v6, uint8_t proto)
{
	const uint32_t l4_bytes = nb_bytes - l4_off;
	uint64_t sum = sum_pseudo(frame + l3_off, v6, proto, l4_bytes);

	return sum_fold(sum_add(sum, frame + l4_off, l4_bytes)) == 0xffff;
}

bool
fc_ip_csum_ok(const uint8_t *ip, uint32_t nb_bytes)
{
	return sum_fold(sum_add(0, ip, nb_bytes)) == 0xffff;
}
