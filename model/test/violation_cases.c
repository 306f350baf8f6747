/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each violation of the card, and what causes it: a WQE that differs from a good one,
 * a store to a doorbell page, or the code of a function.
 */

#include <sys/mman.h>

#include "violation_cases.h"

#define OOB_IS_IPV4  (1u << 2)
#define OOB_IS_IPV6  (1u << 3)
#define OOB_TCP_CSUM (1u << 5)
#define OOB_UDP_CSUM (1u << 6)

static void
v_doorbell_foreign_queue(void)
{
	struct fx_wqe wqe = fx_tx_wqe(b, 0, 60);

	fx_post(&b->sq, &wqe);
	fx_doorbell(a, 0x000, (uint64_t)b->sq.pos << 32 | b->sq.id, 8);
	assert_null(fx_cqe(&b->scq));
}

static void
v_doorbell_backwards(void)
{
	fx_fill_rq(a, 4);
	fx_doorbell(a, 0x400, 96ull << 32 | a->rq.id, 8);
}

static void
v_cq_doorbell_backwards(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	assert_int_equal(fx_send(a, &wqe), TX_OK);
	/* One behind without arm, as rdma-core; then with arm; then again. */
	fx_doorbell(a, 0x800, 256ull << 32 | a->scq.id, 8);
	fx_ring_cq(a, &a->scq, true);
	fx_ring_cq(a, &a->scq, true);
	fx_doorbell(a, 0x800, 256ull << 32 | a->scq.id, 8);
}

static void
v_cq_overflow(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 257; i++) {
		fx_post(&a->sq, &wqe);
		fx_ring_sq(a);
	}
	fx_ring_cq(a, &a->scq, true);
}

static void
v_cq_no_doorbell_8_laps(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 8 * 256 + 1; i++)
		assert_int_equal(fx_send(a, &wqe), TX_OK);
}

static void
v_cq_memory_not_zero(void)
{
	struct card_memory memory = { model_self, (uintptr_t)a->scq.mem,
				      a->scq.bytes };
	uint32_t id;

	a->scq.mem[8191] = 1;
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &memory, &id), 0);
}

static void
v_cq_memory_fault(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	mprotect(a->scq.mem, a->scq.bytes, PROT_READ);
	assert_int_equal(fx_send(a, &wqe), -1);
	assert_int_equal(fx_send(a, &wqe), -1);
}

static void
v_cq_too_small(void)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };
	struct card_memory memory;
	struct fx_ring rq = { .bytes = 16384 }, cq = { .bytes = 4096 };
	uint32_t i;

	rq.mem = a->buf + 65536 - (uintptr_t)a->buf % 4096;
	cq.mem = rq.mem + 65536;
	memory = (struct card_memory){ model_self, (uintptr_t)cq.mem, cq.bytes };
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &memory, &cq.id), 0);
	memory = (struct card_memory){ model_self, (uintptr_t)rq.mem, rq.bytes };
	assert_int_equal(card_rq_create(0, 0, a->pdn, a->page, &memory, cq.id,
					&rq.id),
			 0);
	/* 64 WQEs of two BUs are correct, one more is not. */
	fx_tx_add_sge(a, &wqe, 0, 64);
	fx_tx_add_sge(a, &wqe, 0, 64);
	for (i = 0; i < 65; i++) {
		assert_no_violation();
		fx_post(&rq, &wqe);
		fx_doorbell(a, 0x400, (uint64_t)rq.pos << 32 | rq.id, 8);
	}
}

static void
v_wqe_memory_fault(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_post(&a->sq, &wqe);
	mprotect(a->sq.mem, a->sq.bytes, PROT_NONE);
	fx_ring_sq(a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_wqe_beyond_tail(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_add_sge(a, &wqe, 100, 10);
	fx_post(&a->sq, &wqe);
	a->sq.pos -= 32;
	fx_ring_sq(a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_sge_key_unknown(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	/* An old key: its region was destroyed and created again. */
	struct card_memory memory = { model_self, (uintptr_t)a->buf, 4096 };

	card_mkey_destroy(0, a->key);
	assert_int_equal(card_mkey_create(0, a->pdn, &memory, memory.addr, 0,
					  &a->key),
			 0);
	assert_int_not_equal(a->key, wqe.sge[0].key);
	send_expect(&wqe, TX_DEAD);
}

static void
v_sge_key_foreign_pd(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.sge[0].addr = (uintptr_t)b->buf;
	wqe.sge[0].key = b->key;
	send_expect(&wqe, TX_DEAD);
}

static void
v_sge_no_write_access(void)
{
	struct card_memory memory = { model_self, (uintptr_t)b->buf, 4096 };
	struct fx_wqe tx = fx_tx_wqe(a, 0, 60),
		      rx = { { 0, 0x200 }, { 0 }, 0, { { 0 } } };

	assert_int_equal(card_mkey_create(0, b->pdn, &memory, memory.addr, 0,
					  &b->key),
			 0);
	fx_tx_add_sge(b, &rx, 0, 2048);
	fx_post(&b->rq, &rx);
	fx_ring_rq(b);
	send_expect(&tx, TX_OK);
	assert_null(fx_cqe(&b->rcq));
}

static void
v_sge_memory_fault(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	mprotect(a->buf, 4096, PROT_NONE);
	send_expect(&wqe, TX_DEAD);
}

static void
v_oob_csum_seed(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_TCP);

	fx_fill_rq(b, 1);
	a->buf[50] ^= 1;
	send_expect(&wqe, TX_OK);
	/* A wrong seed gives a wrong checksum. */
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4),
			 HW_RX_F_IP_OK | HW_RX_F_TCP_FAIL);
}

static void
v_sq_quarter_without_cqe(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	wqe.oob[0] |= 1u << 7;
	for (i = 0; i < 65; i++)
		fx_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << 7);
	send_expect(&wqe, TX_OK);
}

static void
v_doorbell_reserved_bits_32(void)
{
	/* The 32-bit form: bit 28, and bit 31 of a work queue. */
	fx_doorbell(a, 0x010, 1u << 31 | a->sq.id << 16, 4);
}

static void
v_wqe_memory_half_fault(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	/* The second half of a WQE is on an unmapped page. */
	while (a->sq.pos < 4096 - 32)
		assert_int_equal(fx_send(a, &wqe), TX_OK);
	fx_tx_add_sge(a, &wqe, 60, 1);
	fx_post(&a->sq, &wqe);
	mprotect(a->sq.mem + 4096, 4096, PROT_NONE);
	fx_ring_sq(a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_long_form_of_short(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	/*
	 * The size of the long form with contents of the short one: recorded,
	 * and sent.
	 */
	fx_insert_tag(a, &wqe, 5);
	wqe.oob[0] &= ~1u;
	fx_fill_rq(b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4) & HW_RX_F_VLAN, 0);
}

static void
v_ipv4_csum_seed(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	a->buf[24] = 1; /* the IPv4 checksum */
	wqe.oob[0] &= ~OOB_UDP_CSUM;
	fx_fill_rq(b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4) & HW_RX_F_IP_FAIL,
			 HW_RX_F_IP_FAIL);
}

static void
v_rx_beyond_tail(void)
{
	struct fx_wqe wqe = rx_wqe();

	fx_tx_add_sge(b, &wqe, 8192, 2048);
	fx_post(&b->rq, &wqe);
	b->rq.pos -= 32;
	receive_expect(false);
}

static void
v_rx_memory_fault(void)
{
	struct fx_wqe wqe = rx_wqe();

	fx_post(&b->rq, &wqe);
	mprotect(b->rq.mem, b->rq.bytes, PROT_NONE);
	receive_expect(false);
}

static void
v_rx_memory_half_fault(void)
{
	struct fx_wqe wqe = rx_wqe();
	uint32_t i;

	for (i = 0; i < 4096 / 32 - 1; i++)
		fx_post(&b->rq, &wqe);
	for (i = 0; i < 4096 / 32 - 1; i++)
		receive_expect(true);
	fx_tx_add_sge(b, &wqe, 8192, 2048);
	fx_post(&b->rq, &wqe);
	mprotect(b->rq.mem + 4096, 4096, PROT_NONE);
	receive_expect(false);
}

/* A function causes the violation, of which another row may show another cause. */
#define BY(name, kind, function)                                   \
	{                                                          \
		VIOLATION_##name, VIOLATION_QUEUE_##kind, function \
	}
/* A store to this register: the id of a queue, and bits above it. */
#define STORE(name, kind, reg_, queue_, bits_, nb_bytes_)                       \
	{                                                                       \
		VIOLATION_##name, VIOLATION_QUEUE_##kind, NULL,                 \
			.reg = reg_, .queue = offsetof(struct fx_port, queue_), \
			.bits = bits_, .nb_bytes = nb_bytes_                    \
	}
/* A WQE of a queue, and the type of its CQE. */
#define WQE_OF(name, kind, base_, cqe_, ...)                    \
	{                                                       \
		VIOLATION_##name, VIOLATION_QUEUE_##kind, NULL, \
			.base = base_, .cqe = cqe_, .edits = {  \
				__VA_ARGS__                     \
			}                                       \
	}
#define WQE(name, base, cqe, ...) WQE_OF(name, SQ, base, cqe, __VA_ARGS__)
#define RX_WQE(name, is_received, ...) \
	WQE_OF(name, RQ, RX, is_received, __VA_ARGS__)
#define E(op, member, value) FX_EDIT(op, member, value)
#define TAIL(units)	     ((uint64_t)(units) << 32)

const struct violation_case violation_cases[] = {
	STORE(doorbell_bad_offset, NONE, 0xff8, sq, 0, 8),
	STORE(doorbell_bad_width, NONE, 0x000, sq, 0, 4),
	STORE(doorbell_reserved_bits, SQ, 0x000, sq, 1u << 30, 8),
	BY(doorbell_reserved_bits, SQ, v_doorbell_reserved_bits_32),
	STORE(doorbell_unknown_queue, SQ, 0x000, sq, 5000, 8),
	BY(doorbell_foreign_queue, SQ, v_doorbell_foreign_queue),
	STORE(doorbell_misaligned, SQ, 0x000, sq, TAIL(16), 8),
	STORE(doorbell_beyond_ring, SQ, 0x000, sq, TAIL(8224), 8),
	BY(doorbell_backwards, RQ, v_doorbell_backwards),
	STORE(rq_doorbell_wqe_cnt, RQ, 0x400, rq, 1u << 24, 8),
	STORE(cq_doorbell_range, CQ, 0x800, scq, TAIL(9 * 256), 8),
	STORE(cq_doorbell_ahead, CQ, 0x800, scq, TAIL(258), 8),
	BY(cq_doorbell_backwards, CQ, v_cq_doorbell_backwards),
	BY(cq_overflow, CQ, v_cq_overflow),
	BY(cq_no_doorbell_8_laps, CQ, v_cq_no_doorbell_8_laps),
	BY(cq_memory_not_zero, CQ, v_cq_memory_not_zero),
	BY(cq_memory_fault, CQ, v_cq_memory_fault),
	BY(cq_too_small, RQ, v_cq_too_small),
	BY(wqe_memory_fault, SQ, v_wqe_memory_fault),
	BY(wqe_memory_fault, SQ, v_wqe_memory_half_fault),
	BY(wqe_memory_fault, RQ, v_rx_memory_fault),
	BY(wqe_memory_fault, RQ, v_rx_memory_half_fault),
	WQE(wqe_no_sge, FRAME, TX_DEAD, E(SET, nb_sge, 0),
	    E(SET, header[1], 0x200)),
	RX_WQE(wqe_no_sge, false, E(SET, nb_sge, 0), E(SET, header[1], 0x200)),
	WQE(wqe_too_large, FRAME, TX_DEAD, E(SET, nb_sge, 32),
	    E(SET, header[1], 0x220)),
	RX_WQE(wqe_too_large, false, E(SET, nb_sge, 16), E(SET, header[1], 0x210)),
	BY(wqe_beyond_tail, SQ, v_wqe_beyond_tail),
	BY(wqe_beyond_tail, RQ, v_rx_beyond_tail),
	WQE(wqe_oob_size, FRAME, TX_DEAD, E(SET, header[1], 0x401)),
	RX_WQE(wqe_oob_size, false, E(SET, header[1], 0x601)),
	RX_WQE(wqe_oob_size, false, E(SET, header[1], 0xffffffff)),
	WQE(wqe_reserved_bits, FRAME, TX_OK, E(OR, header[1], 1u << 13)),
	RX_WQE(wqe_reserved_bits, true, E(SET, header[0], 1)),
	WQE(wqe_lso_fields, FRAME, TX_OK, E(OR, header[1], 1000u << 16)),
	RX_WQE(wqe_lso_fields, true, E(SET, header[0], 54u << 24)),
	WQE(sge_zero_size, FRAME, TX_OK, E(SET, nb_sge, 2),
	    E(SET, header[1], 0x202)),
	BY(sge_key_unknown, SQ, v_sge_key_unknown),
	BY(sge_key_foreign_pd, SQ, v_sge_key_foreign_pd),
	WQE(sge_out_of_range, FRAME, TX_DEAD,
	    E(ADD, sge[0].addr, FX_BUF_BYTES - 59)),
	BY(sge_no_write_access, RQ, v_sge_no_write_access),
	BY(sge_memory_fault, SQ, v_sge_memory_fault),

	WQE(oob_reserved_bits, LONG, TX_OK, E(SET, oob[4], 1)),
	/* pkt_fmt is long, but the OOB is short */
	WQE(oob_pkt_fmt, FRAME, TX_OOB, E(OR, oob[0], 1)),
	BY(oob_pkt_fmt, SQ, v_long_form_of_short),
	WQE(oob_vcq_num, FRAME, TX_OOB, E(ADD, oob[0], 1u << 8)),
	WQE(oob_vsq_frame, FRAME, TX_OOB, E(XOR, oob[1], 1u << 10)),
	WQE(oob_vp_offset, FRAME, TX_VP, E(ADD, oob[1], 1u << 24)),
	WQE(oob_vp_offset_differs, LONG, TX_VP, E(ADD, oob[1], 1u << 24)),
	WQE(oob_encap, LONG, TX_OOB, E(OR, oob[2], 1)),
	WQE(oob_l3_mismatch, UDP, TX_OOB,
	    E(XOR, oob[0], OOB_IS_IPV4 | OOB_IS_IPV6)),
	WQE(oob_l3_mismatch, UDP, TX_OOB,
	    E(OR, oob[0], OOB_IS_IPV4 | OOB_IS_IPV6)),
	WQE(oob_l3_mismatch, UDP, TX_OOB,
	    E(AND, oob[0], ~(OOB_IS_IPV4 | OOB_IS_IPV6))),
	WQE(oob_l3_mismatch, LSO, TX_OOB,
	    E(XOR, oob[0], OOB_IS_IPV4 | OOB_IS_IPV6)),
	WQE(oob_l4_mismatch, UDP, TX_OOB,
	    E(XOR, oob[0], OOB_TCP_CSUM | OOB_UDP_CSUM)),
	WQE(oob_l4_mismatch, UDP, TX_OOB,
	    E(OR, oob[0], OOB_TCP_CSUM | OOB_UDP_CSUM)),
	/* a fragment; another protocol */
	WQE(oob_l4_mismatch, TCP, TX_OOB, FX_FRAME(20, 0x20)),
	WQE(oob_l4_mismatch, LSO, TX_OOB, FX_FRAME(23, NIC_PROTO_UDP)),
	WQE(oob_trans_off, TCP, TX_OOB, E(ADD, oob[1], 4)),
	WQE(oob_trans_off, LSO, TX_OOB, E(ADD, oob[1], 2)),
	BY(oob_csum_seed, SQ, v_oob_csum_seed),
	BY(oob_csum_seed, SQ, v_ipv4_csum_seed),
	WQE(oob_csum_seed, UDP, TX_OK, FX_FRAME(40, 0)),
	WQE(tx_runt, FRAME, HW_CQE_TX_HDR_PROCESSING_ERROR,
	    E(SET, sge[0].size_bytes, 13)),
	WQE(lso_no_payload_sge, LSO, TX_DEAD, E(SET, nb_sge, 1),
	    E(ADD, header[1], -1)),
	WQE(lso_header_size, LSO, TX_DEAD, E(SET, sge[0].size_bytes, 257),
	    E(SET, header[0], 1u << 24)),
	WQE(lso_mss, LSO, TX_DEAD, E(AND, header[1], 0xffff)),
	WQE(lso_too_long, LSO, TX_DEAD, E(SET, sge[1].size_bytes, 512u << 10)),
	WQE(lso_segments, LSO, TX_DEAD, E(AND, header[1], 0xffff),
	    E(OR, header[1], 1u << 16), E(SET, sge[1].size_bytes, 65536)),
	WQE(lso_oob, LSO, TX_OOB, E(AND, oob[0], ~OOB_TCP_CSUM)),
	/* one byte of payload in the header's SGE */
	WQE(lso_header, LSO, TX_OOB, E(SET, header[0], 55u << 24),
	    E(ADD, sge[0].size_bytes, 1), E(ADD, sge[1].addr, 1),
	    E(ADD, sge[1].size_bytes, -1)),
	/* an IPv4 header of 16 bytes; 10 bytes of header */
	WQE(lso_header, LSO, TX_OOB, FX_FRAME(14, 0x44)),
	WQE(lso_header, LSO, TX_OOB, E(SET, header[0], 10u << 24),
	    E(SET, sge[0].size_bytes, 10)),
	WQE(lso_length_not_zero, LSO, TX_OK, FX_FRAME(17, 40)),
	WQE(lso_small, LSO, TX_OK, E(SET, sge[1].size_bytes, 1000)),
	WQE(sq_last_wqe_suppressed, FRAME, -1, E(OR, oob[0], 1u << 7)),
	BY(sq_quarter_without_cqe, SQ, v_sq_quarter_without_cqe),
};
const uint32_t nb_violation_cases = sizeof(violation_cases) /
				    sizeof(violation_cases[0]);
