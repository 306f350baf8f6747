/* SPDX-License-Identifier: BSD-3-Clause */

/* The effect of each value of each quirk. */

#include "inject.h"
#include "nic.h"
#include "fixture.h"

static struct fixture fx;

static void
start(enum quirk quirk, uint32_t value)
{
	fx_defaults(&fx);
	fx.config.quirks[quirk] = (uint8_t)value;
	if (quirk == QUIRK_RING_MAX)
		fx.cq_bytes = 8192;
	fx.config.coalesce = quirk == QUIRK_RX_COALESCED_8;
	fx_start(&fx);
	fx_fill_rq(b, 8);
}

/* The next Rx CQE of port b, which must exist. */
static const uint8_t *
received(void)
{
	const uint8_t *cqe = fx_cqe(&b->rcq);

	assert_non_null(cqe);
	return cqe;
}

static uint32_t
rx_flags(void)
{
	return hw_le32(received() + 4);
}

/* Send the frame of n bytes in buf; returns its Rx CQE. */
static const uint8_t *
pass(uint32_t n)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, n);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	return received();
}

/*
 * The test of a quirk, called for each of its values. A quirk without a test is an
 * error of the compiler.
 */
#define QUIRK(id) static void quirk_##id(uint32_t value)

QUIRK(TX_WQE_OFFSET_ZERO)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_send(a, &wqe);
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_int_equal(hw_le32(fx_cqe(&a->scq) + 8), value == 0 ? 1u << 5 : 0);
}

/* The first of two WQEs suppresses its completion. */
QUIRK(TX_SUPPRESS_IGNORED)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[0] |= 1u << 7;
	fx_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << 7);
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_int_equal(hw_le32(fx_cqe(&a->scq) + 8), value == 0 ? 1u << 5 : 0);
	assert_int_equal(fx_cqe(&a->scq) != NULL, value != 0);
	assert_no_violation();
}

QUIRK(LONG_VP_OFFSET)
{
	/* Per value: only the short field filled, only the long one, both. */
	static const int want[3][3] = {
		{ HW_CQE_TX_OKAY, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY },
		{ HW_CQE_TX_OKAY, HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE,
		  HW_CQE_TX_OKAY },
		{ HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE, HW_CQE_TX_OKAY,
		  HW_CQE_TX_OKAY },
	};
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		fx_tx_long(a, &wqe);
		wqe.oob[1] = (a->sq.id >> 10) << 10;
		if (i != 1)
			wqe.oob[1] |= a->vp_offset << 24;
		if (i == 0)
			wqe.oob[3] = 0;
		assert_int_equal(fx_send(a, &wqe), want[value][i]);
	}
}

QUIRK(RX_SCATTER)
{
	struct fx_wqe tx = fx_tx_wqe(a, 0, 100), rx = { { 0, 0x200 } };

	/* Consume the buffers posted already. */
	while (b->rx_slot-- > 0)
		pass(60);
	fx_tx_add_sge(b, &rx, 4096, 64);
	fx_tx_add_sge(b, &rx, 8192, 64);
	fx_post(&b->rq, &rx);
	fx_ring_rq(b);
	memset(a->buf, 0x5a, 100);
	assert_int_equal(fx_send(a, &tx), HW_CQE_TX_OKAY);
	assert_int_equal(received()[0] & 0x3f,
			 value == RX_SCATTER_OFF ? HW_CQE_RX_TRUNCATED :
						   HW_CQE_RX_OKAY);
	assert_int_equal(b->buf[8192], value == RX_SCATTER_ON ? 0x5a : 0);
}

QUIRK(IPV6_IP_FLAG_CLEAR)
{
	const uint32_t n = fx_frame6(a->buf, NIC_PROTO_TCP, 9);

	assert_int_equal(hw_le32(pass(n) + 4),
			 HW_RX_F_TCP_OK | (value == 0 ? HW_RX_F_IP_OK : 0));
}

QUIRK(CQ_INDEX_MUST_ADVANCE)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_send(a, &wqe);
	fx_ring_cq(a, &a->scq, false);
	fx_nb_events = 0;
	/* Armed at the index of the unarmed doorbell before it. */
	fx_ring_cq(a, &a->scq, true);
	fx_send(a, &wqe);
	assert_int_equal(fx_nb_events, value == 0);
	fx_ring_cq(a, &a->scq, true);
	/* A step back does not advance either: it must not disarm. */
	a->scq.pos--;
	fx_ring_cq(a, &a->scq, false);
	a->scq.pos++;
	fx_send(a, &wqe);
	assert_int_equal(fx_nb_events, 1);
}

QUIRK(HASH_WITHOUT_RSS)
{
	const uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);
	const uint8_t *cqe = pass(n);

	assert_int_equal(hw_le32(cqe + 4) >> 16 & 0x1ff,
			 value == 0 ? 0 : HW_HASH_UDP_IPV4);
	assert_int_equal(hw_le32(cqe + 16) != 0, value);
}

QUIRK(TRANS_OFF_WITH_TAG)
{
	struct fx_wqe wqe = fx_csum_wqe(a, NIC_PROTO_TCP, false);

	fx_insert_tag(a, &wqe, 5);
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	wqe.oob[1] += 4;
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_INVALID_OOB : HW_CQE_TX_OKAY);
	wqe = fx_lso_wqe(a, false, 3000);
	fx_insert_tag(a, &wqe, 5);
	wqe.oob[1] += value == 0 ? 0 : 4;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	/* Without an inserted tag there is nothing to count. */
	wqe = fx_csum_wqe(a, NIC_PROTO_TCP, false);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
}

QUIRK(IP_TRANS_OFF_ZERO)
{
	struct fx_wqe wqe = fx_csum_wqe(a, NIC_PROTO_TCP, false);

	wqe.oob[0] &= ~(1u << 5); /* the TCP checksum */
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	wqe.oob[1] &= ~0x3ffu;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_no_violation();
}

/* An LSO with an SGE 0 of n bytes. */
static struct fx_wqe
big_header_lso(uint32_t n)
{
	struct fx_wqe wqe = fx_lso_wqe(a, true, 3000);
	uint32_t i;

	wqe.sge[0].size_bytes = n;
	wqe.header[0] = n << 24;
	for (i = 1; i < wqe.nb_sge; i++)
		wqe.sge[i].addr += n - 74;
	return wqe;
}

QUIRK(LSO_HEADER_MAX_255)
{
	struct fx_wqe wqe = big_header_lso(255);

	/*
	 * 255 and 256 bytes that are not only headers: refused for that reason.
	 */
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_INVALID_OOB);
	wqe = big_header_lso(256);
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_INVALID_OOB : HW_CQE_TX_GDMA_ERR);
	assert_int_equal(violation_count(VIOLATION_lso_header_size), 1);
}

QUIRK(LSO_MAX_64K)
{
	struct fx_wqe wqe = fx_lso_wqe(a, false, 65535 - 54);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	wqe = fx_lso_wqe(a, false, 65535 - 53);
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_GDMA_ERR);
}

QUIRK(UDP_ZERO_CSUM_SENT)
{
	struct fx_wqe wqe;
	uint32_t sum, n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	/* Adjust the payload so that the checksum becomes 0. */
	sum = hw_be16(a->buf + 40) + hw_be16(a->buf + 42);
	sum = (sum & 0xffff) + (sum >> 16);
	wqe = fx_csum_wqe(a, NIC_PROTO_UDP, false);
	hw_put_be16(a->buf + 42, (uint16_t)sum);
	assert_int_equal(wqe.sge[0].size_bytes, n);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(hw_be16(fx_rx_buf(b, 0) + 40), value == 0 ? 0xffff : 0);
}

QUIRK(UDP_TRANS_OFF_NEEDED)
{
	struct fx_wqe wqe = fx_csum_wqe(a, NIC_PROTO_UDP, false);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	wqe = fx_csum_wqe(a, NIC_PROTO_UDP, false);
	wqe.oob[1] &= ~0x3ffu;
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	assert_int_equal(violation_count(VIOLATION_oob_trans_off), value);
}

QUIRK(RX_WQE_OFFSET)
{
	const uint32_t wanted[] = { 32, 1, 0 };

	pass(60);
	assert_int_equal(hw_le32(pass(60) + 56), wanted[value]);
}

/* Seven packets of 42 bytes and more: 7, or 4 and 3. */
QUIRK(RX_COALESCED_8)
{
	const uint8_t *cqe;

	for (uint32_t i = 0; i < 7; i++) {
		uint32_t n = fx_frame(a->buf + i * 256, NIC_PROTO_UDP, i);
		struct fx_wqe wqe = fx_tx_wqe(a, i * 256, n);

		fx_post(&a->sq, &wqe);
	}
	fx_ring_sq(a);
	cqe = received();
	if (value == 0) {
		assert_int_equal(cqe[0], 0x42);
		assert_int_equal(hw_le32(cqe + 8 + 12), 43);
		assert_int_equal(received()[0], 0x42);
		return;
	}
	assert_int_equal(cqe[0], 0x47);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(hw_le32(cqe + 8 + 12 * i + 4),
				 (42 + 2 * i) | (i == 3 ? 0 : (43 + 2 * i) << 16));
	assert_null(fx_cqe(&b->rcq));
	assert_no_violation();
}

/* Assert the contents of a slot of port b, whose frames repeat one byte. */
static void
assert_buffer(uint32_t slot, uint8_t byte)
{
	assert_int_equal(fx_rx_buf(b, slot)[20], byte);
}

static void
pass_byte(uint8_t byte)
{
	memset(a->buf, byte & ~1, 60);
	pass(60);
}

QUIRK(RX_UNKNOWN_TYPE_KEEPS)
{
	struct inject_rule rule = { .kind = INJECT_TYPE,
				    .port = 1,
				    .queue = INJECT_ANY_QUEUE,
				    .value = 63,
				    .first = 1,
				    .every = 1,
				    .count = 1,
				    .chance = 100 };

	for (uint32_t i = 0; i < 8; i++)
		memset(fx_rx_buf(b, i), 0, 60);
	segment_lock();
	inject_add(&rule);
	segment_unlock();
	pass_byte(2);
	pass_byte(4);
	assert_buffer(0, value == 0 ? 2 : 4);
	assert_buffer(1, value == 0 ? 4 : 0);
	/*
	 * An extra completion has no WQE; one of known type consumes its WQE.
	 */
	rule.is_extra = true;
	rule.count = 2;
	rule.every = 2;
	segment_lock();
	inject_add(&rule);
	rule.is_extra = false;
	rule.first = 2;
	rule.value = HW_CQE_RX_OBJECT_FENCE;
	inject_add(&rule);
	segment_unlock();
	pass_byte(6);
	received();
	pass_byte(8);
	pass_byte(10);
	assert_buffer(value == 0 ? 2 : 1, 6);
	assert_buffer(value == 0 ? 3 : 2, 8);
	assert_buffer(value == 0 ? 4 : 3, 10);
	assert_no_violation();
}

QUIRK(RX_OUTER_FLAGS_SET)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	assert_int_equal(hw_le32(pass(n) + 4) & 3u << 13,
			 value == 0 ? 0 : 1u << 13);
	a->buf[24] ^= 1;
	assert_int_equal(hw_le32(pass(n) + 4) & 3u << 13,
			 value == 0 ? 0 : 1u << 14);
	a->buf[12] = 0x99;
	assert_int_equal(hw_le32(pass(n) + 4), 0);
}

QUIRK(SHORT_OOB_SGES_30)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	while (wqe.nb_sge < 30)
		fx_tx_add_sge(a, &wqe, 60, 1);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	fx_tx_add_sge(a, &wqe, 60, 1);
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_GDMA_ERR);
}

QUIRK(SHORT_VP_FORM_REFUSED)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	fx_tx_long(a, &wqe);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_no_violation();
}

QUIRK(LSO_INLINE_TAG_REFUSED)
{
	struct fx_wqe wqe = fx_lso_wqe(a, true, 3000);

	fx_add_tag(a, &wqe, 7);
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	wqe = fx_lso_wqe(a, true, 3000);
	fx_insert_tag(a, &wqe, 7);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_no_violation();
}

QUIRK(RUNTS)
{
	static const uint8_t zeros[17];
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 43);
	const uint8_t *cqe;

	memset(a->buf, 0x77, 100);
	memset(fx_rx_buf(b, 0), 0x33, 100);
	assert_int_equal(fx_send(a, &wqe),
			 value == RUNTS_REFUSED ? HW_CQE_TX_HDR_PROCESSING_ERROR :
						  HW_CQE_TX_OKAY);
	if (value == RUNTS_REFUSED) {
		assert_null(fx_cqe(&b->rcq));
		wqe = fx_tx_wqe(a, 0, 60);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		return;
	}
	cqe = received();
	assert_int_equal(hw_le32(cqe + 8), value == RUNTS_PADDED ? 60 : 43);
	assert_memory_equal(fx_rx_buf(b, 0), a->buf, 43);
	if (value == RUNTS_PADDED)
		assert_memory_equal(fx_rx_buf(b, 0) + 43, zeros, 17);
	else
		assert_int_equal(fx_rx_buf(b, 0)[43], 0x33);
}

QUIRK(LSO_IPV6_IP_CSUM_REFUSED)
{
	struct fx_wqe wqe = fx_lso_wqe(a, true, 3000);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	wqe.oob[0] |= 1u << 4;
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
}

QUIRK(LSO_LENGTH_ZERO)
{
	struct fx_wqe wqe = fx_lso_wqe(a, false, 3000);

	a->buf[16] = 1;
	assert_int_equal(fx_send(a, &wqe),
			 value == 0 ? HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
	assert_violation(lso_length_not_zero, 1);
}

/* Steer by hash and return the type of the frame of n bytes in buf. */
static uint32_t
hash_type(uint32_t n)
{
	fx_steer(1, true, &b->rq.id, 1);
	return hw_le32(pass(n) + 4) >> 16 & 0x1ff;
}

QUIRK(FRAGMENT_HASH_NONE)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	hw_put_be16(a->buf + 20, 0x2000);
	assert_int_equal(hash_type(n), value == 0 ? HW_HASH_IPV4 : 0);
	n = fx_frame6(a->buf, NIC_PROTO_UDP, 30);
	a->buf[20] = 44;
	assert_int_equal(hash_type(n), value == 0 ? HW_HASH_IPV6_EXT : 0);
	n = fx_frame(a->buf, NIC_PROTO_UDP, 30);
	assert_int_equal(hash_type(n), HW_HASH_UDP_IPV4);
}

QUIRK(OTHER_HASH_NONE)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	a->buf[23] = 132; /* SCTP */
	assert_int_equal(hash_type(n), value == 0 ? HW_HASH_IPV4 : 0);
	n = fx_frame6(a->buf, NIC_PROTO_UDP, 30);
	a->buf[20] = 58;
	assert_int_equal(hash_type(n), value == 0 ? HW_HASH_IPV6 : 0);
}

/* Hop-by-hop options (8 bytes), authentication (16), then L4 of this kind. */
static uint32_t
frame6_ext(uint8_t proto)
{
	uint32_t n = fx_frame6(a->buf, proto, 30);

	memmove(a->buf + 54 + 24, a->buf + 54, n - 54);
	memset(a->buf + 54, 0, 24);
	a->buf[20] = 0;
	a->buf[54] = 51;
	a->buf[62] = proto;
	a->buf[63] = 2;
	hw_put_be16(a->buf + 18, (uint16_t)(n - 54 + 24));
	return n + 24;
}

QUIRK(IPV6_EXT_HASH_PORTS)
{
	uint32_t n = frame6_ext(NIC_PROTO_TCP), first;

	assert_int_equal(hash_type(n),
			 value == 0 ? HW_HASH_IPV6_EXT : HW_HASH_TCP_IPV6_EXT);
	n = frame6_ext(NIC_PROTO_UDP);
	assert_int_equal(hash_type(n),
			 value == 0 ? HW_HASH_IPV6_EXT : HW_HASH_UDP_IPV6_EXT);
	first = hw_le32(pass(n) + 16);
	a->buf[78]++; /* the source port */
	assert_int_equal(hw_le32(pass(n) + 16) != first, value);
	/* Truncated or invalid headers: hashed by addresses. */
	assert_int_equal(hash_type(78 + 3), HW_HASH_IPV6_EXT);
	a->buf[63] = 255;
	assert_int_equal(hash_type(n), HW_HASH_IPV6_EXT);
	a->buf[54] = 44;
	assert_int_equal(hash_type(n), HW_HASH_IPV6_EXT);
}

QUIRK(RX_FRAGMENT_FLAGS_FAIL)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_TCP, 30);

	hw_put_be16(a->buf + 20, 0x2000);
	assert_int_equal(hw_le32(pass(n) + 4),
			 HW_RX_F_IP_FAIL | (value == 0 ? 0 : HW_RX_F_TCP_FAIL));
}

QUIRK(RX_UDP_ZERO_OK)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	hw_put_be16(a->buf + 40, 0);
	assert_int_equal(hw_le32(pass(n) + 4),
			 HW_RX_F_IP_OK | (value == 0 ? 0 : HW_RX_F_UDP_OK));
}

QUIRK(RX_IPV4_OPTIONS_NONE)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 30);

	assert_int_equal(hw_le32(pass(n) + 4), HW_RX_F_IP_OK | HW_RX_F_UDP_OK);
	/* Insert four bytes of no-operation options. */
	memmove(a->buf + 38, a->buf + 34, n - 34);
	memset(a->buf + 34, 1, 4);
	a->buf[14]++;
	hw_put_be16(a->buf + 16, (uint16_t)(n - 14 + 4));
	assert_int_equal(hw_le32(pass(n + 4) + 4),
			 value == 0 ? HW_RX_F_IP_FAIL | HW_RX_F_UDP_OK : 0);
}

/* Send a frame of n bytes with this L4 checksum; returns the received one. */
static uint32_t
csum_received(uint32_t n, uint32_t off, uint32_t sent, uint32_t flags)
{
	const uint8_t *cqe;

	hw_put_be16(a->buf + off, (uint16_t)sent);
	cqe = pass(n);
	assert_int_equal(hw_le32(cqe + 4) &
				 (HW_RX_F_TCP_OK | HW_RX_F_TCP_FAIL |
				  HW_RX_F_UDP_OK | HW_RX_F_UDP_FAIL),
			 flags);
	return hw_be16(fx_rx_buf(b, hw_le32(cqe + 56) / HW_BU_BYTES) + off);
}

/* The expected value after the card has verified the checksum. */
static uint32_t
altered(uint32_t value, uint32_t sent, uint32_t right)
{
	return value == RX_L4_CSUM_UNCHANGED ? sent :
	       value == RX_L4_CSUM_ZEROED    ? 0 :
					       right;
}

QUIRK(RX_L4_CSUM)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_TCP, 30);
	uint32_t right = hw_be16(a->buf + 50);

	assert_int_equal(csum_received(n, 50, right, HW_RX_F_TCP_OK),
			 altered(value, right, right));
	assert_int_equal(csum_received(n, 50, 7, HW_RX_F_TCP_FAIL),
			 altered(value, 7, right));
	n = fx_frame6(a->buf, NIC_PROTO_UDP, 30);
	right = hw_be16(a->buf + 60);
	assert_int_equal(csum_received(n, 60, right + 1, HW_RX_F_UDP_FAIL),
			 altered(value, right + 1, right));
	/* A checksum of 0 is written as 0xffff. */
	n = fx_frame(a->buf, NIC_PROTO_UDP, 30);
	right = hw_be16(a->buf + 40) + hw_be16(a->buf + 42);
	hw_put_be16(a->buf + 42, (uint16_t)((right & 0xffff) + (right >> 16)));
	assert_int_equal(csum_received(n, 40, 0xffff, HW_RX_F_UDP_OK),
			 altered(value, 0xffff, 0xffff));
	/* No checksum, or one over several fragments: not verified. */
	assert_int_equal(csum_received(n, 40, 0, 0), 0);
	n = fx_frame(a->buf, NIC_PROTO_TCP, 30);
	hw_put_be16(a->buf + 20, 0x2000);
	assert_int_equal(csum_received(n, 50, 7, 0), 7);
	/* The sender's frame, and bytes behind the field, are unchanged. */
	assert_int_equal(hw_be16(a->buf + 50), 7);
	assert_memory_equal(fx_rx_buf(b, 5) + 52, a->buf + 52, n - 52);
}

QUIRK(RX_SECOND_TAG_PARSED)
{
	struct fx_wqe wqe = fx_csum_wqe(a, NIC_PROTO_TCP, false);

	fx_add_tag(a, &wqe, 5);
	fx_add_tag(a, &wqe, 6);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	/* The outer tag is stripped, the inner one stays. */
	assert_int_equal(rx_flags(),
			 HW_RX_F_VLAN | 6 |
				 (value == 0 ? 0 :
					       HW_RX_F_IP_OK | HW_RX_F_TCP_OK));
	assert_int_equal(hw_le32(fx_rx_buf(b, 0) + 12), 0x05000081);
}

QUIRK(RX_EXACT_FIT_TRUNCATED)
{
	assert_int_equal(pass(FX_RX_BUF_BYTES - 1)[0] & 0x3f, HW_CQE_RX_OKAY);
	assert_int_equal(pass(FX_RX_BUF_BYTES)[0] & 0x3f,
			 value == 0 ? HW_CQE_RX_OKAY : HW_CQE_RX_TRUNCATED);
	assert_int_equal(pass(FX_RX_BUF_BYTES + 1)[0] & 0x3f,
			 HW_CQE_RX_TRUNCATED);
}

QUIRK(RING_MAX)
{
	struct card_memory ring = { .addr = 4096, .size = 32768 };
	uint32_t id;

	for (; ring.size >= 4096; ring.size /= 2)
		assert_int_equal(card_cq_create(0, a->pdn, a->page, &ring, &id),
				 value == 0 || ring.size <= 8192 ?
					 0 : -EPROTO);
}

QUIRK(RQ_WQE_CNT_IGNORED)
{
	segment_lock();
	card_doorbell(0, b->page, HW_DB_RQ,
		      (uint64_t)b->rq.pos << 32 | 3u << 24 | b->rq.id, 8);
	segment_unlock();
	if (value == 0)
		assert_violation(rq_doorbell_wqe_cnt, 1);
	else
		assert_no_violation();
}

/* Of a PCI function: see test_hwc.c. */
QUIRK(SHM_ANSWER_POLLED)
{
}

QUIRK(HWC_DEPTH_16)
{
}

/* A quirk of the kernel: see test_pf2.c. */
QUIRK(PF2_VERBS_REFUSED)
{
}

static void (*const quirk_tests[])(uint32_t value) = {
#define TEST_OF(id, name, values, help) quirk_##id,
	MODEL_QUIRKS(TEST_OF)
};

static const char *const quirk_values[] = {
#define VALUES(id, name, values, help) values,
	MODEL_QUIRKS(VALUES)
};

static void
test_quirk(void **state)
{
	const uint32_t quirk = (uint32_t)(uintptr_t)*state;
	const char *values = quirk_values[quirk];
	uint32_t value = 0;

	do {
		start((enum quirk)quirk, value);
		quirk_tests[quirk](value++);
		fx_stop(&fx);
		values = strchr(values, '|');
	} while (values++ != NULL);
	assert_true(value >= 2);
}

int
main(void)
{
#define ROW_OF(id, name, values, help) \
	{ name, test_quirk, NULL, NULL, (void *)(uintptr_t)QUIRK_##id },
	static const struct CMUnitTest tests[] = { MODEL_QUIRKS(ROW_OF) };

	return cmocka_run_group_tests_name("quirks", tests, NULL, NULL);
}
