/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "hw.h"
#include "nic.h"
#include "signature.h"

#define MAGIC	 0xd1a55eedu
#define SEQ_OFF	 4
#define STREAM_OFF 8
#define LEN_OFF	 10
#define HEAD_OFF 12
#define CHECK_OFF 14
/* The last offset: Ethernet, two tags, 60 bytes each of IP and TCP header. */
#define LAST_OFF (NIC_ETH_BYTES + 2 * NIC_VLAN_BYTES + 60 + 60)
/* Odd, so that multiplication is invertible. */
#define MIX	 UINT64_C(0x9e3779b97f4a7c15)

static void
put_be32(uint8_t *p, uint32_t value)
{
	hw_put_be16(p, (uint16_t)(value >> 16));
	hw_put_be16(p + 2, (uint16_t)value);
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)hw_be16(p) << 16 | hw_be16(p + 2);
}

/* Each step is invertible, so every single-bit error is detected. */
static uint64_t
mix(uint64_t state, const uint8_t *p, uint32_t nb_bytes)
{
	uint64_t word;

	for (; nb_bytes > 0; p += 8) {
		const uint32_t n = nb_bytes < 8 ? nb_bytes : 8;

		word = 0;
		memcpy(&word, p, n);
		state = (state ^ word) * MIX;
		state ^= state >> 32;
		nb_bytes -= n;
	}
	return state;
}

static uint64_t
head_check(const uint8_t *p)
{
	return mix(MAGIC, p, HEAD_OFF);
}

static uint32_t
content_check(const uint8_t *p, uint32_t pattern_bytes)
{
	return (uint32_t)mix(head_check(p), p + SIGNATURE_BYTES, pattern_bytes);
}

static void
write_pattern(uint8_t *p, uint32_t nb_bytes, uint64_t state)
{
	while (nb_bytes > 0) {
		const uint32_t n = nb_bytes < 8 ? nb_bytes : 8;

		state += MIX;
		memcpy(p, &state, n);
		p += n;
		nb_bytes -= n;
	}
}

void
signature_write(const struct signature *signature, uint8_t *payload,
		uint32_t nb_bytes)
{
	const uint32_t pattern_bytes = nb_bytes - SIGNATURE_BYTES;
	uint64_t head;

	put_be32(payload, MAGIC);
	put_be32(payload + SEQ_OFF, signature->sequence);
	hw_put_be16(payload + STREAM_OFF, signature->stream);
	hw_put_be16(payload + LEN_OFF, (uint16_t)pattern_bytes);
	head = head_check(payload);
	hw_put_be16(payload + HEAD_OFF, (uint16_t)head);
	write_pattern(payload + SIGNATURE_BYTES, pattern_bytes, head);
	put_be32(payload + CHECK_OFF, content_check(payload, pattern_bytes));
}

static enum signature_state
check(const uint8_t *p, uint32_t nb_bytes, struct signature *signature)
{
	const uint32_t pattern_bytes = hw_be16(p + LEN_OFF);

	if (hw_be16(p + HEAD_OFF) != (uint16_t)head_check(p))
		return SIGNATURE_BROKEN;
	signature->stream = hw_be16(p + STREAM_OFF);
	signature->sequence = be32(p + SEQ_OFF);
	if (SIGNATURE_BYTES + pattern_bytes > nb_bytes ||
	    be32(p + CHECK_OFF) != content_check(p, pattern_bytes))
		return SIGNATURE_CORRUPT;
	return SIGNATURE_GOOD;
}

/* Headers may have changed: search. Header lengths are even. */
enum signature_state
signature_read(const uint8_t *frame, uint32_t nb_bytes,
	       struct signature *signature)
{
	for (uint32_t off = NIC_ETH_BYTES;
	     off <= LAST_OFF && off + SIGNATURE_BYTES <= nb_bytes; off += 2)
		if (be32(frame + off) == MAGIC)
			return check(frame + off, nb_bytes - off, signature);
	return SIGNATURE_NONE;
}
