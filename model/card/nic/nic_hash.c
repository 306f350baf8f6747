/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Toeplitz hash as in Microsoft's RSS: for each set bit of the input, the 32
 * bits of the key that begin at the bit's position are added (xor).
 */

#include "nic.h"

/* The 32 bits of the key from position bit on, most significant bit first. */
static uint32_t
nic_hash_window(const uint8_t key[CARD_RSS_KEY_BYTES], uint32_t bit)
{
	uint64_t bits = 0;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		uint32_t at = bit / 8 + i;

		bits = bits << 8 | (at < CARD_RSS_KEY_BYTES ? key[at] : 0);
	}
	return (uint32_t)(bits >> (8 - bit % 8));
}

void
nic_hash_prepare(struct toeplitz *toeplitz,
		 const uint8_t key[CARD_RSS_KEY_BYTES])
{
	uint32_t half, value, bit;

	for (half = 0; half < TOEPLITZ_INPUT_BYTES * 2; half++) {
		uint32_t *part = toeplitz->part[half];

		part[0] = 0;
		/* Combine each bit with all values of the lower bits. */
		for (bit = 0; bit < 4; bit++) {
			const uint32_t window =
				nic_hash_window(key, half * 4 + 3 - bit);

			for (value = 0; value < 1u << bit; value++)
				part[value | 1u << bit] = part[value] ^ window;
		}
	}
}

uint32_t
nic_hash(const struct toeplitz *toeplitz, const uint8_t *input, uint32_t nb_bytes)
{
	uint32_t hash = 0, i;

	for (i = 0; i < nb_bytes; i++) {
		hash ^= toeplitz->part[2 * i][input[i] >> 4];
		hash ^= toeplitz->part[2 * i + 1][input[i] & 0xf];
	}
	return hash;
}

#define IPV6_FRAGMENT  44
#define IPV6_AUTH      51
#define NB_PORTS_BYTES 4u

/*
 * TCP or UDP behind the extension headers of an unfragmented IPv6 packet: its
 * offset, with the ports in the frame, or 0.
 */
static uint32_t
nic_hash_find_l4(const uint8_t *frame, uint32_t nb_bytes,
		 const struct nic_parsed *parsed, uint8_t *proto)
{
	uint32_t off = parsed->l4_off;

	*proto = parsed->proto;
	while (nic_is_ipv6_ext(*proto) && *proto != IPV6_FRAGMENT &&
	       off + 2 <= nb_bytes) {
		const uint8_t *ext = frame + off;

		off += *proto == IPV6_AUTH ? (ext[1] + 2) * 4u :
					     (ext[1] + 1) * 8u;
		*proto = ext[0];
	}
	return (*proto == NIC_PROTO_TCP || *proto == NIC_PROTO_UDP) &&
			       off + NB_PORTS_BYTES <= nb_bytes ?
		       off :
		       0;
}

/* The hash type of a frame; *ports is the offset of the ports, or 0. */
static uint32_t
nic_hash_type(const uint8_t *frame, uint32_t nb_bytes,
	      const struct nic_parsed *parsed, uint32_t *ports)
{
	const bool is_v4 = parsed->l3 == NIC_L3_IPV4;
	uint8_t proto = parsed->proto;

	*ports = 0;
	if (parsed->l3 == NIC_L3_NONE ||
	    (parsed->is_fragment && nic_quirk(QUIRK_FRAGMENT_HASH_NONE)))
		return 0;
	if (parsed->has_ext) {
		if (nic_quirk(QUIRK_IPV6_EXT_HASH_PORTS))
			*ports = nic_hash_find_l4(frame, nb_bytes, parsed,
						  &proto);
		if (*ports == 0)
			return HW_HASH_IPV6_EXT;
		return proto == NIC_PROTO_TCP ? HW_HASH_TCP_IPV6_EXT :
						HW_HASH_UDP_IPV6_EXT;
	}
	if (proto != NIC_PROTO_TCP && proto != NIC_PROTO_UDP &&
	    !parsed->is_fragment && nic_quirk(QUIRK_OTHER_HASH_NONE))
		return 0;
	if (parsed->l4_fits && !parsed->is_fragment) {
		if (proto == NIC_PROTO_TCP || proto == NIC_PROTO_UDP)
			*ports = parsed->l4_off;
		if (proto == NIC_PROTO_TCP)
			return is_v4 ? HW_HASH_TCP_IPV4 : HW_HASH_TCP_IPV6;
		if (proto == NIC_PROTO_UDP)
			return is_v4 ? HW_HASH_UDP_IPV4 : HW_HASH_UDP_IPV6;
	}
	return is_v4 ? HW_HASH_IPV4 : HW_HASH_IPV6;
}

/*
 * ASSUMED, no source says: fragments and protocols other than TCP and UDP are
 * hashed by addresses, IPv6 with extension headers by those of the fixed
 * header, tunnels by their outer header.
 */
uint32_t
nic_hash_frame(const struct toeplitz *toeplitz, const uint8_t *frame,
	       uint32_t nb_bytes, const struct nic_parsed *parsed, uint32_t *type)
{
	const bool is_v4 = parsed->l3 == NIC_L3_IPV4;
	const uint32_t addr_bytes = is_v4 ? 2 * 4 : 2 * 16;
	uint8_t input[TOEPLITZ_INPUT_BYTES];
	uint32_t input_bytes = addr_bytes, ports;

	*type = nic_hash_type(frame, nb_bytes, parsed, &ports);
	if (*type == 0)
		return 0;
	memcpy(input, frame + parsed->l3_off + (is_v4 ? 12 : 8), addr_bytes);
	if (ports != 0) {
		memcpy(input + addr_bytes, frame + ports, NB_PORTS_BYTES);
		input_bytes += NB_PORTS_BYTES;
	}
	return nic_hash(toeplitz, input, input_bytes);
}
