/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All layouts against constant bytes: each field bit by bit, and whole
 * completions of the card. The bits are from Linux gdma.h and mana.h,
 * independent of hw.h.
 */

#include "nic.h"
#include "wire.h"
#include "fixture.h"

/* One field: its first bit in the bytes, its width, and how hw.h reads it. */
struct field {
	const char *name;
	uint32_t first_bit, nb_bits;
	uint64_t (*read)(const uint8_t *bytes);
};
#define READ_AS(name, expression)              \
	static uint64_t name(const uint8_t *p) \
	{                                      \
		return expression;             \
	}
#define READ(field, expression) READ_AS(field, (expression).field)

READ(last_vbytes, hw_wqe_read(p))
READ(nb_sge, hw_wqe_read(p))
READ(oob_div4, hw_wqe_read(p))
READ(oob_in_sgl, hw_wqe_read(p))
READ(client_data_unit, hw_wqe_read(p))

/* Words 0 and 1; bits 12 and 13, 30 and 31 of word 1 are RNIC's. */
static const struct field header_fields[] = {
	{ "last_vbytes", 24, 8, last_vbytes },
	{ "num_sge", 32, 8, nb_sge },
	{ "inline_oob_size_div4", 40, 3, oob_div4 },
	{ "client_oob_in_sgl", 43, 1, oob_in_sgl },
	{ "client_data_unit", 48, 14, client_data_unit },
};

READ(addr, hw_sge_read(p))
READ(key, hw_sge_read(p))
READ(size_bytes, hw_sge_read(p))

static const struct field sge_fields[] = {
	{ "address", 0, 64, addr },
	{ "mem_key", 64, 32, key },
	{ "size", 96, 32, size_bytes },
};

READ(pkt_fmt, hw_tx_oob_read(p, true))
READ(is_ipv4, hw_tx_oob_read(p, true))
READ(is_ipv6, hw_tx_oob_read(p, true))
READ(ip_csum, hw_tx_oob_read(p, true))
READ(tcp_csum, hw_tx_oob_read(p, true))
READ(udp_csum, hw_tx_oob_read(p, true))
READ(suppress, hw_tx_oob_read(p, true))
READ(vcq_num, hw_tx_oob_read(p, true))
READ(trans_off, hw_tx_oob_read(p, true))
READ(vsq_frame, hw_tx_oob_read(p, true))
READ(short_vp, hw_tx_oob_read(p, true))
READ(is_encap, hw_tx_oob_read(p, true))
READ(inject_vlan, hw_tx_oob_read(p, true))
READ(long_vp, hw_tx_oob_read(p, true))
READ_AS(vlan_id, hw_tx_oob_read(p, true).tci & 0xfff)
READ_AS(dei, hw_tx_oob_read(p, true).tci >> 12 & 1)
READ_AS(pcp, hw_tx_oob_read(p, true).tci >> 13)

static const struct field oob_fields[] = {
	{ "pkt_fmt", 0, 2, pkt_fmt },
	{ "is_outer_ipv4", 2, 1, is_ipv4 },
	{ "is_outer_ipv6", 3, 1, is_ipv6 },
	{ "comp_iphdr_csum", 4, 1, ip_csum },
	{ "comp_tcp_csum", 5, 1, tcp_csum },
	{ "comp_udp_csum", 6, 1, udp_csum },
	{ "suppress_txcqe_gen", 7, 1, suppress },
	{ "vcq_num", 8, 24, vcq_num },
	{ "trans_off", 32, 10, trans_off },
	{ "vsq_frame", 42, 14, vsq_frame },
	{ "short_vp_offset", 56, 8, short_vp },
	{ "is_encap", 64, 1, is_encap },
	{ "inject_vlan_pri_tag", 67, 1, inject_vlan },
	{ "pcp", 80, 3, pcp },
	{ "dei", 83, 1, dei },
	{ "vlan_id", 84, 12, vlan_id },
	{ "long_vp_offset", 112, 12, long_vp },
};

READ_AS(wq_id, hw_doorbell_read(hw_le64(p), false).id)
READ_AS(wqe_cnt, hw_doorbell_read(hw_le64(p), false).wqe_cnt)
READ_AS(wq_tail, hw_doorbell_read(hw_le64(p), false).tail)
READ_AS(wq_arm, hw_doorbell_read(hw_le64(p), false).arm)
READ_AS(cq_id, hw_doorbell_read(hw_le64(p), true).id)
READ_AS(cq_tail, hw_doorbell_read(hw_le64(p), true).tail)
READ_AS(cq_arm, hw_doorbell_read(hw_le64(p), true).arm)

static const struct field wq_doorbell_fields[] = {
	{ "id", 0, 24, wq_id },
	{ "wqe_cnt", 24, 8, wqe_cnt },
	{ "tail", 32, 32, wq_tail },
	{ "arm", 0, 0, wq_arm }, /* it has none */
};
static const struct field cq_doorbell_fields[] = {
	{ "id", 0, 24, cq_id },
	{ "tail", 32, 31, cq_tail },
	{ "arm", 63, 1, cq_arm },
};

READ_AS(short_tail, hw_doorbell_read_short(hw_le32(p), false).tail)
READ_AS(short_id, hw_doorbell_read_short(hw_le32(p), false).id)
READ_AS(short_arm, hw_doorbell_read_short(hw_le32(p), true).arm)

static const struct field short_doorbell_fields[] = {
	{ "tail increment", 0, 16, short_tail },
	{ "id", 16, 12, short_id },
	{ "arm", 31, 1, short_arm },
};

/*
 * Each bit of the bytes changes the correct bit of its field, and no other
 * field.
 */
static void
check_fields(const struct field *fields, uint32_t nb_fields, uint32_t nb_bytes)
{
	uint8_t bytes[32];
	uint32_t bit, i;

	for (bit = 0; bit < 8 * nb_bytes; bit++) {
		memset(bytes, 0, sizeof(bytes));
		bytes[bit / 8] = (uint8_t)(1u << bit % 8);
		for (i = 0; i < nb_fields; i++) {
			const struct field *f = &fields[i];
			uint64_t want = 0;

			if (bit >= f->first_bit && bit < f->first_bit + f->nb_bits)
				want = UINT64_C(1) << (bit - f->first_bit);
			if (f->read(bytes) != want)
				fail_msg("%s, bit %u", f->name, bit);
		}
	}
}
#define CHECK_FIELDS(fields, nb_bytes) \
	check_fields(fields, sizeof(fields) / sizeof((fields)[0]), nb_bytes)

TEST(test_each_bit)
{
	CHECK_FIELDS(header_fields, 8);
	CHECK_FIELDS(sge_fields, 16);
	CHECK_FIELDS(oob_fields, 24);
	CHECK_FIELDS(wq_doorbell_fields, 8);
	CHECK_FIELDS(cq_doorbell_fields, 8);
	CHECK_FIELDS(short_doorbell_fields, 4);
}

/* LSO TCP/IPv4: header 66, MSS 1448, payload of 1000 and 7000. */
TEST(test_lso_wqe)
{
	static const uint8_t bytes[] = {
		0x00, 0x00, 0x00, 0x42, 0x03, 0x0a, 0xa8, 0x05, 0x34, 0x41,
		0x00, 0x00, 0x22, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00,
		0x00, 0x7f, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x42, 0x00,
		0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00,
		0x08, 0x00, 0x00, 0x00, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x30,
		0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00,
		0x58, 0x1b, 0x00, 0x00,
	};
	struct hw_wqe wqe = hw_wqe_read(bytes);
	struct hw_tx_oob oob = hw_tx_oob_read(bytes + 8, false);
	struct hw_sge sge = hw_sge_read(bytes + hw_wqe_sgl_offset(&wqe) + 32);

	assert_int_equal(wqe.last_vbytes, 66);
	assert_int_equal(wqe.nb_sge, 3);
	assert_int_equal(wqe.client_data_unit, 1448);
	assert_false(wqe.has_reserved_bits);
	assert_true(wqe.oob_in_sgl);
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 16);
	assert_int_equal(hw_wqe_bytes(&wqe), sizeof(bytes));
	assert_true(oob.is_ipv4 && oob.ip_csum && oob.tcp_csum);
	assert_int_equal(oob.vcq_num, 0x41);
	assert_int_equal(oob.trans_off, 34);
	assert_true(sge.addr == 0x7f0000003000);
	assert_int_equal(sge.key, 9);
	assert_int_equal(sge.size_bytes, 7000);
}

/* round_up(8 + OOB + 16 x SGEs, 32) for each possible number of SGEs. */
TEST(test_wqe_sizes)
{
	struct hw_wqe wqe = { .oob_div4 = 2 };
	uint32_t n;

	for (n = 1; n <= 31; n++) {
		wqe.nb_sge = (uint8_t)n;
		wqe.oob_div4 = 2;
		assert_int_equal(hw_wqe_bytes(&wqe),
				 (16 + 16 * n + 31) / 32 * 32);
		wqe.oob_div4 = 6;
		assert_int_equal(hw_wqe_bytes(&wqe),
				 (32 + 16 * n + 31) / 32 * 32);
	}
	/* Codes unused by Ethernet: OpenVMM rounds to an SGE. */
	wqe.oob_div4 = 0;
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 16);
	wqe.oob_div4 = 3;
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 32);
	wqe.oob_div4 = 7;
	assert_int_equal(hw_wqe_sgl_offset(&wqe), 48);
}

/* A fixture whose queues have the ids of the examples: SQ 0x30, RQ 0x31. */
static struct fixture fx;

/* The verification key of Microsoft's RSS specification. */
static const uint8_t rss_key[CARD_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static int
start(void **state)
{
	struct card_steering steering = { .rss_enable = true,
					    .coalescing_enable = true };
	uint32_t i;

	fx_defaults(&fx);
	fx.config.coalesce = true;
	fx_start(&fx);
	fx_fill_rq(b, 8);
	steering.default_rq = b->rq.id;
	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++)
		steering.table[i] = b->rq.id;
	memcpy(steering.key, rss_key, sizeof(rss_key));
	assert_int_equal(card_vport_enable_rx(0, 1, &steering), 0);
	card_rq(card_function(0), b->rq.id)->id = 0x31;
	return 0;
}

/* The frame of the verification suite: 66.9.149.187:2794, 161.142.100.80:1766. */
static uint32_t
put_frame(uint8_t *frame, uint8_t proto, uint32_t payload)
{
	static const uint8_t addresses[] = { 66, 9, 149, 187, 161, 142, 100, 80 };
	uint32_t i, sum, n = fx_frame(frame, proto, payload);
	uint8_t *field = frame + (proto == NIC_PROTO_TCP ? 50 : 40);

	memcpy(frame + 26, addresses, sizeof(addresses));
	memcpy(frame + 34, "\x0a\xea\x06\xe6", 4);
	memset(frame + 24, 0, 2);
	for (sum = 0, i = 14; i < 34; i += 2)
		sum += hw_be16(frame + i);
	sum = (sum & 0xffff) + (sum >> 16);
	hw_put_be16(frame + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	memset(field, 0, 2);
	frame[n] = 0;
	for (sum = proto + n - 34, i = 26; i < n; i += 2)
		sum += hw_be16(frame + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	hw_put_be16(field, (uint16_t)~sum);
	return n;
}

/* Send so that the completions are from SQ 0x30. */
static void
send_as_0x30(void)
{
	struct card_function *f = card_function(0);
	struct wq *sq = card_sq(f, a->sq.id);
	uint32_t budget = NIC_TX_NO_LIMIT;

	sq->id = 0x30;
	sq->pi = a->sq.pos;
	segment_lock();
	nic_tx_run(f, sq, &budget, wire_send);
	nic_coalesce_flush();
	segment_unlock();
	sq->id = a->sq.id;
}

TEST_WITH(test_tx_cqes, start, fx_teardown)
{
	static const uint8_t first[64] = { 0x60, [60] = 0x30, [63] = 0x21 };
	/* 2 BUs on: bits 5 to 31 of the third word. */
	static const uint8_t second[64] = {
		0x60, [8] = 0x40, [60] = 0x30, [63] = 0x21
	};
	/* GDMA_ERR, vendor error 0x206, 1 BU after that. */
	static const uint8_t third[64] = {
		0x6a, 0x06, 0x02, [8] = 0x60, [60] = 0x30, [63] = 0x21
	};
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[1] = a->vp_offset << 24; /* vsq_frame of 0x30 */
	fx_tx_add_sge(a, &wqe, 100, 1);
	fx_post(&a->sq, &wqe);
	wqe.nb_sge = 1;
	wqe.header[1] = 0x201;
	fx_post(&a->sq, &wqe);
	wqe.sge[0].key = 0;
	fx_post(&a->sq, &wqe);
	send_as_0x30();
	assert_memory_equal(fx_cqe(&a->scq), first, 64);
	assert_memory_equal(fx_cqe(&a->scq), second, 64);
	assert_memory_equal(fx_cqe(&a->scq), third, 64);
	assert_null(fx_cqe(&a->scq));
}

/* 14 + 20 + 20 + 6 bytes of TCP/IPv4, all good. */
TEST_WITH(test_rx_cqe, start, fx_teardown)
{
	static const uint8_t want[64] = {
		0x41, 0x00, 0x00, 0x00, 0x00,	     0x00,	  0x02, 0x0a,
		0x3c, 0x00, 0x00, 0x00, 0x00,	     0x00,	  0x00, 0x00,
		0x78, 0xc1, 0xcc, 0x51, [60] = 0x31, [63] = 0x20,
	};
	struct fx_wqe wqe = fx_tx_wqe(a, 0,
				      put_frame(a->buf, NIC_PROTO_TCP, 6));

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_memory_equal(fx_cqe(&b->rcq), want, 64);
	assert_no_violation();
}

/* Two packets of UDP/IPv4 in VLAN 100, of 60 and of 300 bytes. */
TEST_WITH(test_rx_coalesced_cqe, start, fx_teardown)
{
	static const uint8_t want[64] = {
		0x42, 0x00, 0x00, 0x00, 0x64,	     0x10,	  0x04,
		0x22, 0x3c, 0x00, 0x00, 0x00,	     0x00,	  0x00,
		0x00, 0x00, 0x78, 0xc1, 0xcc,	     0x51,	  0x2c,
		0x01, 0x00, 0x00, 0x00, 0x00,	     0x00,	  0x00,
		0x78, 0xc1, 0xcc, 0x51, [56] = 0x20, [60] = 0x31, [63] = 0x20,
	};
	static const uint8_t truncated[64] = {
		0x44, 0x00, 0x00,	 0x00,	      0x00,	   0x00,
		0x04, 0x22, 0xb8,	 0x0b,	      0x00,	   0x00,
		0x00, 0x00, 0x00,	 0x00,	      0x78,	   0xc1,
		0xcc, 0x51, [56] = 0x60, [60] = 0x31, [63] = 0x20,
	};
	static const uint8_t fence[64] = { 0x43, [60] = 0x31, [63] = 0x20 };
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t n;

	/* A packet ahead, so that rx_wqe_offset is not 0. */
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(fx_cqe(&b->rcq)[0], 0x41);
	for (n = 0; n < 2; n++) {
		wqe = fx_tx_wqe(a, n * 512,
				put_frame(a->buf + n * 512, NIC_PROTO_UDP,
					  n == 0 ? 18 : 258));
		fx_insert_tag(a, &wqe, 0x6064);
		fx_post(&a->sq, &wqe);
	}
	fx_ring_sq(a);
	assert_memory_equal(fx_cqe(&b->rcq), want, 64);
	/* 3000 bytes in 2048. */
	wqe = fx_tx_wqe(a, 0, put_frame(a->buf, NIC_PROTO_UDP, 2958));
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_memory_equal(fx_cqe(&b->rcq), truncated, 64);
	assert_int_equal(card_rq_fence(0, b->rq.id), 0);
	assert_memory_equal(fx_cqe(&b->rcq), fence, 64);
	assert_null(fx_cqe(&b->rcq));
	assert_no_violation();
}

/* The owner bits of byte 63, lap after lap. */
TEST_WITH(test_owner_bits, start, fx_teardown)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 256; i < 10 * 256; i++) {
		const uint8_t *cqe = a->scq.mem + i % 256 * 64;

		assert_int_equal(cqe[63] >> 5, (i / 256 - 1) & 7);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		assert_int_equal(cqe[63] >> 5, (i / 256) & 7);
		assert_int_equal(cqe[63] & 0x1f, 1);
		if (i % 256 == 0)
			fx_ring_cq(a, &a->scq, false);
	}
	assert_no_violation();
}
