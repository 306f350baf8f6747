/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Toeplitz hash as in Microsoft's RSS: for each set bit of the input, the 32
 * bits of the key that begin at the bit's position are added (xor).
 */

#include "nic.h"

/* 32 bits of the key from bit position bit on, the first bit on top. */
static uint32_t
nic_hash_window(const uint8_t key[DEVICE_RSS_KEY_BYTES], uint32_t bit)
{
	uint64_t bits = 0;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		uint32_t at = bit / 8 + i;

		bits = bits << 8 | (at < DEVICE_RSS_KEY_BYTES ? key[at] : 0);
	}
	return (uint32_t)(bits >> (8 - bit % 8));
}

void
nic_hash_prepare(struct toeplitz *toeplitz,
		 const uint8_t key[DEVICE_RSS_KEY_BYTES])
{
	uint32_t half, value, bit;

	for (half = 0; half < TOEPLITZ_INPUT_BYTES * 2; half++) {
		for (value = 0; value < 16; value++) {
			uint32_t part = 0;

			for (bit = 0; bit < 4; bit++)
				if ((value >> (3 - bit) & 1) != 0)
					part ^= nic_hash_window(key,
								half * 4 + bit);
			toeplitz->part[half][value] = part;
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

/*
 * ASSUMED, no source says: fragments and protocols other than TCP and UDP are
 * hashed by addresses, IPv6 with extension headers by those of the fixed
 * header, tunnels by their outer header.
 */
uint32_t
nic_hash_frame(const struct toeplitz *toeplitz, const uint8_t *frame,
	       const struct nic_parsed *parsed, uint32_t *type)
{
	const bool is_v4 = parsed->l3 == NIC_L3_IPV4;
	const uint32_t addr_bytes = is_v4 ? 2 * 4 : 2 * 16;
	uint8_t input[TOEPLITZ_INPUT_BYTES];
	uint32_t nb_bytes = addr_bytes;

	*type = 0;
	if (parsed->l3 == NIC_L3_NONE)
		return 0;
	memcpy(input, frame + parsed->l3_off + (is_v4 ? 12 : 8), addr_bytes);
	*type = is_v4 ? HW_HASH_IPV4 :
			(parsed->has_ext ? HW_HASH_IPV6_EXT : HW_HASH_IPV6);
	if (parsed->l4_fits && !parsed->is_fragment &&
	    (parsed->proto == NIC_PROTO_TCP || parsed->proto == NIC_PROTO_UDP)) {
		memcpy(input + addr_bytes, frame + parsed->l4_off, 4);
		nb_bytes += 4;
		if (parsed->proto == NIC_PROTO_TCP)
			*type = is_v4 ? HW_HASH_TCP_IPV4 : HW_HASH_TCP_IPV6;
		else
			*type = is_v4 ? HW_HASH_UDP_IPV4 : HW_HASH_UDP_IPV6;
	}
	return nic_hash(toeplitz, input, nb_bytes);
}
