/* SPDX-License-Identifier: BSD-3-Clause */

/* Violations of doorbells, rings, CQs and scatter-gather lists. */

#include <sys/mman.h>

#include "violation_cases.h"

static void
v_doorbell_bad_offset(void)
{
	fx_doorbell(a, 0xff8, 0, 8);
}

static void
v_doorbell_bad_width(void)
{
	fx_doorbell(a, 0x000, a->sq.id, 4);
}

static void
v_doorbell_reserved_bits(void)
{
	fx_doorbell(a, 0x000, a->sq.id | 1u << 30, 8);
}

static void
v_doorbell_unknown_queue(void)
{
	fx_doorbell(a, 0x000, 5000, 8);
}

static void
v_doorbell_foreign_queue(void)
{
	struct fx_wqe wqe = fx_tx_wqe(b, 0, 60);

	fx_post(&b->sq, &wqe);
	fx_doorbell(a, 0x000, (uint64_t)b->sq.pos << 32 | b->sq.id, 8);
	assert_null(fx_cqe(&b->scq));
}

static void
v_doorbell_misaligned(void)
{
	fx_doorbell(a, 0x000, 16ull << 32 | a->sq.id, 8);
}

static void
v_doorbell_beyond_ring(void)
{
	fx_doorbell(a, 0x000, 8224ull << 32 | a->sq.id, 8);
}

static void
v_doorbell_backwards(void)
{
	fx_fill_rq(fx, a, 4);
	fx_doorbell(a, 0x400, 96ull << 32 | a->rq.id, 8);
}

static void
v_rq_doorbell_wqe_cnt(void)
{
	fx_doorbell(a, 0x400, a->rq.id | 1u << 24, 8);
}

static void
v_cq_doorbell_range(void)
{
	fx_doorbell(a, 0x800, (uint64_t)(9 * 256) << 32 | a->scq.id, 8);
}

static void
v_cq_doorbell_ahead(void)
{
	fx_doorbell(a, 0x800, 258ull << 32 | a->scq.id, 8);
}

static void
v_cq_doorbell_backwards(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	assert_int_equal(fx_send(fx, a, &wqe), TX_OK);
	/* One behind without arm, as rdma-core; then with arm; then again. */
	fx_doorbell(a, 0x800, 256ull << 32 | a->scq.id, 8);
	fx_ring_cq(fx, a, &a->scq, true);
	fx_ring_cq(fx, a, &a->scq, true);
	fx_doorbell(a, 0x800, 256ull << 32 | a->scq.id, 8);
}

static void
v_cq_overflow(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 257; i++) {
		fx_post(&a->sq, &wqe);
		fx_ring_sq(fx, a);
	}
	fx_ring_cq(fx, a, &a->scq, true);
}

static void
v_cq_no_doorbell_8_laps(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 8 * 256 + 1; i++)
		assert_int_equal(fx_send(fx, a, &wqe), TX_OK);
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
	assert_int_equal(fx_send(fx, a, &wqe), -1);
	assert_int_equal(fx_send(fx, a, &wqe), -1);
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
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &memory, &cq.id),
			 0);
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
	fx_ring_sq(fx, a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_wqe_no_sge(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.nb_sge = 0;
	wqe.header[1] = 0x200;
	send_expect(&wqe, TX_DEAD);
}

static void
v_wqe_too_large(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	for (i = 0; i < 31; i++)
		fx_tx_add_sge(a, &wqe, 100, 10);
	send_expect(&wqe, TX_DEAD);
}

static void
v_wqe_beyond_tail(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_add_sge(a, &wqe, 100, 10);
	fx_post(&a->sq, &wqe);
	a->sq.pos -= 32;
	fx_ring_sq(fx, a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_wqe_oob_size(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.header[1] = 0x401;
	send_expect(&wqe, TX_DEAD);
}

static void
v_wqe_reserved_bits(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.header[1] |= 1u << 13;
	send_expect(&wqe, TX_OK);
}

static void
v_wqe_lso_fields(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.header[1] |= 1000u << 16;
	send_expect(&wqe, TX_OK);
}

static void
v_sge_zero_size(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_add_sge(a, &wqe, 100, 0);
	wqe.sge[1].key = 0;
	send_expect(&wqe, TX_OK);
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
v_sge_out_of_range(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, FX_BUF_BYTES - 59, 60);

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
	fx_ring_rq(fx, b);
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

const struct violation_case ring_cases[] = {
	VIOLATION_CASE(doorbell_bad_offset, NONE),
	VIOLATION_CASE(doorbell_bad_width, NONE),
	VIOLATION_CASE(doorbell_reserved_bits, SQ),
	VIOLATION_CASE(doorbell_unknown_queue, SQ),
	VIOLATION_CASE(doorbell_foreign_queue, SQ),
	VIOLATION_CASE(doorbell_misaligned, SQ),
	VIOLATION_CASE(doorbell_beyond_ring, SQ),
	VIOLATION_CASE(doorbell_backwards, RQ),
	VIOLATION_CASE(rq_doorbell_wqe_cnt, RQ),
	VIOLATION_CASE(cq_doorbell_range, CQ),
	VIOLATION_CASE(cq_doorbell_ahead, CQ),
	VIOLATION_CASE(cq_doorbell_backwards, CQ),
	VIOLATION_CASE(cq_overflow, CQ),
	VIOLATION_CASE(cq_no_doorbell_8_laps, CQ),
	VIOLATION_CASE(cq_memory_not_zero, CQ),
	VIOLATION_CASE(cq_memory_fault, CQ),
	VIOLATION_CASE(cq_too_small, RQ),
	VIOLATION_CASE(wqe_memory_fault, SQ),
	VIOLATION_CASE(wqe_no_sge, SQ),
	VIOLATION_CASE(wqe_too_large, SQ),
	VIOLATION_CASE(wqe_beyond_tail, SQ),
	VIOLATION_CASE(wqe_oob_size, SQ),
	VIOLATION_CASE(wqe_reserved_bits, SQ),
	VIOLATION_CASE(wqe_lso_fields, SQ),
	VIOLATION_CASE(sge_zero_size, SQ),
	VIOLATION_CASE(sge_key_unknown, SQ),
	VIOLATION_CASE(sge_key_foreign_pd, SQ),
	VIOLATION_CASE(sge_out_of_range, SQ),
	VIOLATION_CASE(sge_no_write_access, RQ),
	VIOLATION_CASE(sge_memory_fault, SQ),
};
const uint32_t nb_ring_cases = sizeof(ring_cases) / sizeof(ring_cases[0]);
