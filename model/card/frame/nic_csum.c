/* SPDX-License-Identifier: BSD-3-Clause */

/* RFC 1071: the sum does not depend on byte order, except for its own. */

#include <endian.h>

#include "frame.h"
#include "hw.h"

#define TCP_CSUM_OFF 16
#define UDP_CSUM_OFF 6

/* Add with end-around carry. */
static inline uint64_t
nic_csum_carry(uint64_t a, uint64_t b)
{
	a += b;
	return a + (a < b);
}

uint64_t
nic_csum_add(uint64_t sum, const void *bytes, uint32_t nb_bytes)
{
	const uint8_t *p = bytes;
	uint64_t word, last = 0;
	uint32_t half;

	for (; nb_bytes >= sizeof(word); nb_bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = nic_csum_carry(sum, word);
		p += sizeof(word);
	}
	if (nb_bytes >= sizeof(half)) { /* an IPv4 header for instance */
		memcpy(&half, p, sizeof(half));
		sum = nic_csum_carry(sum, half);
		p += sizeof(half);
		nb_bytes -= (uint32_t)sizeof(half);
	}
	if (nb_bytes == 0)
		return sum;
	/* The rest, padded with zeros; only the last part has an odd length. */
	memcpy(&last, p, nb_bytes);
	return nic_csum_carry(sum, last);
}

uint16_t
nic_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

bool
nic_csum_same(uint16_t a, uint16_t b)
{
	return a == b || (a == 0 && b == 0xffff) || (a == 0xffff && b == 0);
}

uint64_t
nic_csum_pseudo(const uint8_t *frame, const struct nic_parsed *parsed,
		uint32_t l4_bytes)
{
	const uint8_t *ip = frame + parsed->l3_off;
	uint64_t sum;

	if (parsed->l3 == NIC_L3_IPV4)
		sum = nic_csum_add(0, ip + 12, 2 * 4);
	else
		sum = nic_csum_add(0, ip + 8, 2 * 16);
	sum = nic_csum_carry(sum, htobe32(l4_bytes));
	return nic_csum_carry(sum, htobe16(parsed->proto));
}

bool
nic_csum_ipv4_ok(const uint8_t *frame, const struct nic_parsed *parsed)
{
	uint64_t sum = nic_csum_add(0, frame + parsed->l3_off,
				    parsed->l4_off - parsed->l3_off);

	return nic_csum_fold(sum) == 0xffff;
}

bool
nic_csum_l4_ok(const uint8_t *frame, const struct nic_parsed *parsed)
{
	uint64_t sum = nic_csum_pseudo(frame, parsed, parsed->l4_bytes);

	sum = nic_csum_add(sum, frame + parsed->l4_off, parsed->l4_bytes);
	return nic_csum_fold(sum) == 0xffff;
}

void
nic_csum_write_ipv4(uint8_t *frame, const struct nic_parsed *parsed)
{
	uint8_t *ip = frame + parsed->l3_off;
	uint16_t sum = ~nic_csum_fold(
		nic_csum_add(0, ip, parsed->l4_off - parsed->l3_off));

	memcpy(ip + NIC_IPV4_CSUM_OFF, &sum, sizeof(sum));
}

uint32_t
nic_csum_l4_off(const struct nic_parsed *parsed)
{
	return parsed->l4_off +
	       (parsed->proto == NIC_PROTO_TCP ? TCP_CSUM_OFF : UDP_CSUM_OFF);
}

void
nic_csum_write_l4(uint8_t *frame, const struct nic_parsed *parsed, bool keeps_zero)
{
	uint16_t sum = ~nic_csum_fold(
		nic_csum_add(0, frame + parsed->l4_off, parsed->l4_bytes));

	if (sum == 0 && parsed->proto == NIC_PROTO_UDP && !keeps_zero)
		sum = 0xffff;
	memcpy(frame + nic_csum_l4_off(parsed), &sum, sizeof(sum));
}

void
nic_csum_fill_l4(uint8_t *frame, const struct nic_parsed *parsed)
{
	const uint16_t seed =
		nic_csum_fold(nic_csum_pseudo(frame, parsed, parsed->l4_bytes));

	memcpy(frame + nic_csum_l4_off(parsed), &seed, sizeof(seed));
	nic_csum_write_l4(frame, parsed, false);
}
