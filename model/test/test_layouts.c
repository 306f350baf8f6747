/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * hw.h against constant bytes from the public definitions (Linux gdma.h and
 * mana.h); hash, checksums and parser against published values.
 */

#include <stdlib.h>

#include "nic.h"
#include "fixture.h"

/* TCP/IPv4 with checksums: SQ 0x1042, CQ 0x55, vport offset 3, L4 at 34. */
TEST(test_short_wqe)
{
	static const uint8_t bytes[] = {
		0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00,
		0x34, 0x55, 0x00, 0x00, 0x22, 0x10, 0x00, 0x03,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0xdd, 0xcc, 0xbb, 0xaa, 0x42, 0x00, 0x00, 0x00,
	};
	struct hw_wqe wqe = hw_wqe_read(bytes);
	struct hw_tx_oob oob = hw_tx_oob_read(bytes + 8, false);
	struct hw_sge sge = hw_sge_read(bytes + hw_wqe_sgl_offset(&wqe));

	assert_int_equal(wqe.nb_sge, 1);
	assert_int_equal(wqe.oob_div4, 2);
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 16);
	assert_int_equal(hw_wqe_bytes(&wqe), 32);
	assert_false(wqe.oob_in_sgl);
	assert_false(wqe.has_reserved_bits);
	assert_int_equal(oob.pkt_fmt, 0);
	assert_true(oob.is_ipv4 && oob.ip_csum && oob.tcp_csum);
	assert_false(oob.is_ipv6 || oob.udp_csum || oob.suppress);
	assert_int_equal(oob.vcq_num, 0x55);
	assert_int_equal(oob.trans_off, 34);
	assert_int_equal(oob.vsq_frame, 0x1042 >> 10);
	assert_int_equal(oob.short_vp, 3);
	assert_true(sge.addr == 0x1122334455667788ull);
	assert_int_equal(sge.key, 0xaabbccdd);
	assert_int_equal(sge.size_bytes, 0x42);
}

/* UDP/IPv4, VLAN tci 0x6064, SQ 0x30, CQ 0x41, vport offset 5. */
TEST(test_long_wqe)
{
	static const uint8_t bytes[64] = {
		0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x00, 0x00,
		0x45, 0x41, 0x00, 0x00, 0x22, 0x00, 0x00, 0x05,
		0x08, 0x00, 0x43, 0x06, 0x00, 0x00, 0x05, 0x00,
	};
	struct hw_wqe wqe = hw_wqe_read(bytes);
	struct hw_tx_oob oob = hw_tx_oob_read(bytes + 8, true);

	assert_int_equal(wqe.oob_div4, 6);
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 32);
	assert_int_equal(hw_wqe_bytes(&wqe), 64);
	assert_int_equal(oob.pkt_fmt, 1);
	assert_true(oob.is_ipv4 && oob.udp_csum && oob.inject_vlan);
	assert_int_equal(oob.tci, 0x6064);
	assert_int_equal(oob.long_vp, 5);
	assert_int_equal(oob.short_vp, 5);
	assert_false(oob.has_stray_bits);
}

/* Each reserved bit of header and long OOB is detected, and no other bit. */
TEST(test_reserved_bits)
{
	const uint32_t header1 = 0xc000f000, w2 = 0x0000fff0, w3 = 0xf0000000;
	uint8_t bytes[64] = { 0 };
	uint32_t i;

	for (i = 0; i < 64; i++) {
		bool want = i < 24 || (i >= 32 && (header1 >> (i - 32) & 1));

		memset(bytes, 0, sizeof(bytes));
		bytes[i / 8] = (uint8_t)(1u << i % 8);
		assert_int_equal(hw_wqe_read(bytes).has_reserved_bits, want);
	}
	for (i = 64; i < 192; i++) {
		bool want = i >= 128 || (i < 96 && (w2 >> (i - 64) & 1)) ||
			    (i >= 96 && i < 128 && (w3 >> (i - 96) & 1));

		/* Inner fields without is_encap, tag without inject. */
		want |= i == 65 || i == 66 || (i >= 80 && i < 112);
		memset(bytes, 0, sizeof(bytes));
		bytes[i / 8] = (uint8_t)(1u << i % 8);
		assert_int_equal(hw_tx_oob_read(bytes, true).has_stray_bits,
				 want);
	}
}

/* test_golden.c has the fields. */
TEST(test_reserved_bits_of_doorbells)
{
	assert_false(hw_doorbell_read_short(0x84560123, true).reserved_bits);
	assert_true(hw_doorbell_read_short(0x10000000, true).reserved_bits);
	assert_true(hw_doorbell_read_short(0x80000000, false).reserved_bits);
}

/* The verification suite of Microsoft's RSS specification. */
TEST(test_toeplitz)
{
	static const uint8_t key[CARD_RSS_KEY_BYTES] = {
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
		0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
		0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
		0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	};
	static const struct {
		uint8_t input[36]; /* source, destination, ports */
		uint32_t addr_bytes, addresses, with_ports;
	} vectors[] = {
		{ { 66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6 },
		  8, 0x323e8fc2, 0x51ccc178 },
		{ { 199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83 },
		  8, 0xd718262a, 0xc626b0ea },
		{ { 24, 19, 198, 95, 12, 22, 207, 184, 0x32, 0x62, 0x94, 0x88 },
		  8, 0xd2d0a5de, 0x5c2b394a },
		{ { 38, 27, 205, 30, 209, 142, 163, 6, 0xbc, 0x64, 0x08, 0xa9 },
		  8, 0x82989176, 0xafc7327f },
		{ { 153, 39, 163, 191, 202, 188, 127, 2, 0xac, 0xdb, 0x05, 0x17 },
		  8, 0x5d1809c5, 0x10e828a2 },
		{ { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0,
		    0, 0, 0, 7, 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03,
		    0, 0, 0, 0, 0, 0, 0, 1, 0x0a, 0xea, 0x06, 0xe6 },
		  32, 0x2cc18cd5, 0x40207d3d },
		{ { 0x3f, 0xfe, 0x05, 0x01, 0x00, 0x08, 0, 0, 0x02, 0x60, 0x97,
		    0xff, 0xfe, 0x40, 0xef, 0xab, 0xff, 0x02, 0, 0, 0, 0, 0, 0,
		    0, 0, 0, 0, 0, 0, 0, 1, 0x37, 0x96, 0x12, 0x83 },
		  32, 0x0f0c461c, 0xdde51bbf },
		{ { 0x3f, 0xfe, 0x19, 0x00, 0x45, 0x45, 0x00, 0x03, 0x02, 0x00,
		    0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf, 0xfe, 0x80, 0, 0, 0, 0,
		    0, 0, 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf, 0xac,
		    0xdb, 0x94, 0x88 },
		  32, 0x4b61e985, 0x02d1feef },
	};
	static struct toeplitz toeplitz;
	uint32_t i;

	nic_hash_prepare(&toeplitz, key);
	for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const uint32_t n = vectors[i].addr_bytes;

		assert_int_equal(nic_hash(&toeplitz, vectors[i].input, n),
				 vectors[i].addresses);
		assert_int_equal(nic_hash(&toeplitz, vectors[i].input, n + 4),
				 vectors[i].with_ports);
	}
}

/* RFC 1071 section 3; each length and alignment against a simple loop. */
TEST(test_csum)
{
	static const uint8_t rfc[] = { 0x00, 0x01, 0xf2, 0x03,
				       0xf4, 0xf5, 0xf6, 0xf7 };
	uint8_t bytes[80], out[2];
	uint32_t off, n, i, sum;
	uint16_t folded;

	folded = nic_csum_fold(nic_csum_add(0, rfc, sizeof(rfc)));
	memcpy(out, &folded, 2);
	assert_int_equal(hw_be16(out), 0xddf2);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(255 - i * 3);
	for (off = 0; off < 8; off++) {
		for (n = 0; n + off <= sizeof(bytes); n++) {
			for (sum = 0, i = 0; i < n; i++)
				sum += i % 2 ? bytes[off + i] :
					       (uint32_t)bytes[off + i] << 8;
			while (sum >> 16)
				sum = (sum & 0xffff) + (sum >> 16);
			folded = nic_csum_fold(nic_csum_add(0, bytes + off, n));
			memcpy(out, &folded, 2);
			assert_int_equal(hw_be16(out), sum);
		}
	}
}

TEST(test_parse)
{
	uint8_t frame[256];
	struct nic_parsed parsed;
	uint32_t n = fx_frame(frame, NIC_PROTO_UDP, 22);

	nic_parse(frame, n, 0, &parsed);
	assert_int_equal(parsed.l3, NIC_L3_IPV4);
	assert_int_equal(parsed.l4_off, 34);
	assert_int_equal(parsed.l4_bytes, 30);
	assert_true(parsed.l4_fits);
	assert_true(nic_csum_ipv4_ok(frame, &parsed));
	assert_true(nic_csum_l4_ok(frame, &parsed));
	/* Truncate it at each length: the parser reads no byte beyond. */
	while (--n >= NIC_ETH_BYTES) {
		uint8_t *cut = malloc(n);

		memcpy(cut, frame, n);
		nic_parse(cut, n, 2, &parsed);
		assert_false(parsed.l4_fits);
		free(cut);
	}
	n = fx_frame6(frame, NIC_PROTO_TCP, 9);
	nic_parse(frame, n, 0, &parsed);
	assert_int_equal(parsed.l3, NIC_L3_IPV6);
	assert_int_equal(parsed.l4_off, 54);
	assert_true(nic_csum_l4_ok(frame, &parsed));
	frame[20] = 44;
	nic_parse(frame, n, 0, &parsed);
	assert_true(parsed.is_fragment && parsed.has_ext);
}
