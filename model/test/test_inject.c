/* SPDX-License-Identifier: BSD-3-Clause */

/* Faults put into packets and completions, on the bench. */

#include <errno.h>

#include "clock.h"
#include "inject.h"
#include "nic.h"
#include "rig.h"

#define FRAME_BYTES 80u

/* Every packet of port 1's SQ or port 2's RQ, without end. */
static struct inject_rule
always(enum inject_kind kind, bool is_tx)
{
	return (struct inject_rule){ .kind = kind,
				     .is_tx = is_tx,
				     .port = is_tx ? 0 : 1,
				     .queue = INJECT_ANY_QUEUE,
				     .first = 1,
				     .every = 1,
				     .chance = 100 };
}

/* The first packet only. */
static struct inject_rule
once(enum inject_kind kind, bool is_tx)
{
	struct inject_rule rule = always(kind, is_tx);

	rule.count = 1;
	return rule;
}

static void
add(const struct inject_rule *rule)
{
	segment_lock();
	assert_int_equal(inject_add(rule), 0);
	segment_unlock();
}

static struct device_port_counters
counters(uint32_t port)
{
	struct device_port_counters c;

	device_port_counters(0, port, &c);
	return c;
}

static uint64_t
injected(enum inject_kind kind, bool is_tx)
{
	return inject_count(0, is_tx ? 0 : 1, is_tx, kind);
}

/* Post n frames and ring once. */
static void
post(struct rig *rig, uint32_t n)
{
	struct rig_port *a = &rig->port[0];
	const struct rig_wqe wqe = rig_tx_wqe(a, 0, FRAME_BYTES);

	rig_frame(a->buf, NIC_PROTO_UDP, FRAME_BYTES - 42);
	while (n-- > 0)
		rig_post(&a->sq, &wqe);
	rig_ring_sq(rig, a);
}

static void
no_more(struct rig *rig)
{
	assert_null(rig_cqe(&rig->port[0].scq));
	assert_null(rig_cqe(&rig->port[1].rcq));
}

static uint32_t
type_of(const uint8_t *cqe)
{
	return cqe != NULL ? cqe[0] & 0x3f : UINT32_MAX;
}

static void
assert_types(struct rig_ring *cq, const uint32_t *types, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(type_of(rig_cqe(cq)), types[i]);
	assert_null(rig_cqe(cq));
}
#define assert_cqes(cq, ...)                                            \
	assert_types(cq, (const uint32_t[]){ __VA_ARGS__ },             \
		     sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Each type; the packet is not sent, and the next one is. */
static void
test_tx_error(void **state)
{
	struct rig *rig = *state;
	struct inject_rule rule = once(INJECT_CQE, true);

	rig_fill_rq(rig, &rig->port[1], 16);
	rule.first = 2;
	for (rule.value = HW_CQE_TX_SA_DROP; rule.value < HW_CQE_TX_GDMA_ERR;
	     rule.value++) {
		add(&rule);
		post(rig, 3);
		assert_cqes(&rig->port[0].scq, HW_CQE_TX_OKAY, rule.value,
			    HW_CQE_TX_OKAY);
		assert_cqes(&rig->port[1].rcq, HW_CQE_RX_OKAY, HW_CQE_RX_OKAY);
		assert_int_equal(counters(0).tx_errors[rule.value - 33], 1);
		rig_fill_rq(rig, &rig->port[1], 2);
	}
	assert_int_equal(counters(0).tx_packets, 18);
	assert_int_equal(injected(INJECT_CQE, true), 9);
	assert_false(segment_device()->is_armed);
	assert_no_violation();
}

/* 42 stops the queue, and what was posted after it stays. */
static void
test_tx_gdma_error(void **state)
{
	struct rig *rig = *state;
	struct inject_rule rule = once(INJECT_CQE, true);

	rig_fill_rq(rig, &rig->port[1], 4);
	rule.value = HW_CQE_TX_GDMA_ERR;
	add(&rule);
	post(rig, 3);
	assert_cqes(&rig->port[0].scq, HW_CQE_TX_GDMA_ERR);
	post(rig, 1);
	no_more(rig);
	assert_int_equal(counters(0).tx_packets, 0);
	assert_int_equal(counters(0).tx_errors[9], 1);
	assert_no_violation();
}

/* A WQE whose completion is suppressed has one when it fails. */
static void
test_suppressed(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_CQE, true);
	struct rig_wqe wqe = rig_tx_wqe(a, 0, FRAME_BYTES);

	rig_frame(a->buf, NIC_PROTO_UDP, FRAME_BYTES - 42);
	rule.value = HW_CQE_TX_VF_DISABLED;
	add(&rule);
	wqe.oob[0] |= 1u << HW_OOB_SUPPRESS_S;
	rig_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << HW_OOB_SUPPRESS_S);
	rig_post(&a->sq, &wqe);
	rig_ring_sq(rig, a);
	assert_cqes(&a->scq, HW_CQE_TX_VF_DISABLED, HW_CQE_TX_OKAY);
}

static void
test_truncate(void **state)
{
	struct rig *rig = *state;
	struct rig_port *b = &rig->port[1];
	struct inject_rule rule = once(INJECT_TRUNCATE, false);
	struct inject_rule full = once(INJECT_CQE, false);
	const uint8_t *cqe;

	memset(rig_rx_buf(b, 0), 0xaa, 4 * RIG_RX_BUF_BYTES);
	rig_fill_rq(rig, b, 3);
	rule.value = 20;
	full.value = HW_CQE_RX_TRUNCATED;
	full.first = 2;
	add(&rule);
	add(&full);
	post(rig, 3);
	cqe = rig_cqe(&b->rcq);
	assert_int_equal(type_of(cqe), HW_CQE_RX_TRUNCATED);
	assert_int_equal(hw_le32(cqe + 8), FRAME_BYTES);
	assert_int_equal(rig_rx_buf(b, 0)[20], 0xaa);
	assert_int_equal(rig_rx_buf(b, 0)[12], 0x08);
	assert_cqes(&b->rcq, HW_CQE_RX_TRUNCATED, HW_CQE_RX_OKAY);
	assert_int_equal(rig_rx_buf(b, 1)[FRAME_BYTES], 0xaa);
	assert_int_not_equal(rig_rx_buf(b, 1)[FRAME_BYTES - 2], 0xaa);
	assert_int_equal(counters(1).rx_truncated, 2);
	assert_int_equal(counters(1).rx_packets, 1);
	assert_int_equal(injected(INJECT_TRUNCATE, false), 1);
	assert_int_equal(injected(INJECT_CQE, false), 1);
	assert_no_violation();
}

/* Of every second packet from the third on, three completions are lost. */
static void
test_lose(void **state)
{
	struct rig *rig = *state;
	struct inject_rule rule = always(INJECT_LOSE, false);
	uint32_t i;

	rig_fill_rq(rig, &rig->port[1], 12);
	rule.first = 3;
	rule.every = 2;
	rule.count = 3;
	add(&rule);
	rule = once(INJECT_LOSE, true);
	rule.first = 5;
	add(&rule);
	post(rig, 12);
	for (i = 0; i < 11; i++)
		assert_int_equal(type_of(rig_cqe(&rig->port[0].scq)),
				 HW_CQE_TX_OKAY);
	for (i = 0; i < 9; i++)
		assert_int_equal(type_of(rig_cqe(&rig->port[1].rcq)),
				 HW_CQE_RX_OKAY);
	no_more(rig);
	/* They were sent and received. */
	assert_int_equal(counters(0).tx_packets, 12);
	assert_int_equal(counters(1).rx_packets, 12);
	assert_int_equal(injected(INJECT_LOSE, false), 3);
	assert_int_equal(injected(INJECT_LOSE, true), 1);
	assert_false(segment_device()->is_armed);
	/* The WQEs are used up. */
	post(rig, 1);
	assert_int_equal(counters(1).rx_no_wqe, 1);
	assert_no_violation();
}

/* A driver that believes a bogus completion posts more than there is room for. */
static void
test_believer(void **state)
{
	static const enum inject_kind kinds[] = {
		INJECT_RANDOM,
		INJECT_REPLAYED,
		INJECT_TYPE,
	};
	struct rig *rig = *state;
	struct rig_port *b = &rig->port[1];
	const uint32_t nb_wqes = b->rq.bytes / HW_BU_BYTES;
	uint32_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct inject_rule rule = once(kinds[i], false);

		rig_renew(rig);
		rig_fill_rq(rig, b, nb_wqes);
		rule.value = HW_CQE_RX_COALESCED_4;
		add(&rule);
		post(rig, 1);
		/* "Four packets". */
		rig_fill_rq(rig, b, 4);
		assert_no_violation();
	}
}

static void
advance(uint64_t ns)
{
	segment_lock();
	segment_clock()->virtual_ns += ns;
	if (clock_is_due())
		device_timers(clock_take());
	segment_unlock();
}

/* The packets behind wait too, and all come in order. */
static void
test_delay(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_DELAY, true);
	const uint8_t *cqe;
	uint32_t i;

	rig_fill_rq(rig, &rig->port[1], 8);
	rule.first = 2;
	rule.for_ns = 50000;
	add(&rule);
	post(rig, 4);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	advance(40000);
	assert_null(rig_cqe(&a->scq));
	post(rig, 1);
	assert_null(rig_cqe(&a->scq));
	advance(10000);
	for (i = 1; i < 5; i++) {
		cqe = rig_cqe(&a->scq);
		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(rig_cqe(&a->scq));
	assert_int_equal(counters(1).rx_packets, 5);
	assert_false(segment_device()->is_armed);
	assert_no_violation();
}

/* The Tx CQE comes after the Rx CQE of the same packet's neighbour. */
static void
test_reorder(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_REORDER, true);

	rig_fill_rq(rig, &rig->port[1], 1);
	rule.for_ns = 1000000;
	add(&rule);
	post(rig, 1); /* its own Rx CQE was before */
	assert_cqes(&rig->port[1].rcq, HW_CQE_RX_OKAY);
	assert_null(rig_cqe(&a->scq));
	post(rig, 1); /* dropped, for want of a WQE */
	assert_null(rig_cqe(&a->scq));
	rig_fill_rq(rig, &rig->port[1], 1);
	post(rig, 1);
	assert_cqes(&rig->port[1].rcq, HW_CQE_RX_OKAY);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY);
	/* Nobody else completes: after a time it comes all the same. */
	add(&rule);
	post(rig, 1);
	assert_null(rig_cqe(&a->scq));
	advance(1000000);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

static void
test_stall_tx(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = always(INJECT_STALL, true);

	rig_fill_rq(rig, &rig->port[1], 4);
	rule.queue = 1; /* there is none */
	add(&rule);
	post(rig, 1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	rule.queue = 0;
	add(&rule);
	post(rig, 2);
	assert_null(rig_cqe(&a->scq));
	assert_int_equal(counters(0).tx_packets, 1);
	segment_lock();
	assert_int_equal(inject_resume(0, 0, 0, true), 0);
	assert_int_equal(inject_resume(0, 0, 0, true), -ENOENT);
	assert_int_equal(inject_resume(0, 0, INJECT_ANY_QUEUE, true), 0);
	segment_unlock();
	assert_cqes(&a->scq, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY);
	assert_int_equal(counters(1).rx_packets, 3);
	assert_false(segment_device()->is_armed);
	assert_no_violation();
}

/* Packets go on into buffers until there are no more. */
static void
test_stall_rx(void **state)
{
	struct rig *rig = *state;
	struct inject_rule rule = always(INJECT_STALL, false);

	rig_fill_rq(rig, &rig->port[1], 2);
	add(&rule);
	post(rig, 3);
	assert_null(rig_cqe(&rig->port[1].rcq));
	assert_int_equal(counters(1).rx_packets, 2);
	assert_int_equal(counters(1).rx_no_wqe, 1);
	segment_lock();
	inject_clear();
	segment_unlock();
	assert_cqes(&rig->port[1].rcq, HW_CQE_RX_OKAY, HW_CQE_RX_OKAY);
	assert_false(segment_device()->is_armed);
	assert_no_violation();
}

static void
test_bogus_rx(void **state)
{
	static const struct {
		enum inject_kind kind;
		uint32_t value;
		bool is_extra;
	} cases[] = {
		{ INJECT_LONG, 60000, false }, { INJECT_ZERO, 0, true },
		{ INJECT_TYPE, 63, false },    { INJECT_WRONG_QUEUE, 0, true },
		{ INJECT_WRONG_IS_SQ, 0, true }, { INJECT_DUPLICATE, 0, true },
		{ INJECT_VENDOR, 0x123456, false },
	};
	struct rig *rig = *state;
	struct rig_port *b = &rig->port[1];
	const uint8_t *first, *second;
	uint32_t i, trailer;

	rig_fill_rq(rig, b, 16);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inject_rule rule = once(cases[i].kind, false);

		rule.value = cases[i].value;
		rule.is_extra = cases[i].is_extra;
		add(&rule);
		post(rig, 1);
		first = rig_cqe(&b->rcq);
		second = cases[i].is_extra ? rig_cqe(&b->rcq) : first;
		assert_non_null(second);
		assert_null(rig_cqe(&b->rcq));
		trailer = hw_le32(second + 60) & 0x1ffffff;
		if (first != second) {
			assert_int_equal(type_of(first), HW_CQE_RX_OKAY);
			assert_int_equal(hw_le32(first + 8), FRAME_BYTES);
		}
		assert_int_equal(type_of(second),
				 cases[i].kind == INJECT_TYPE ? 63 : 1);
		assert_int_equal(hw_le32(second + 8),
				 cases[i].kind == INJECT_LONG ? 60000 :
				 cases[i].kind == INJECT_ZERO ? 0 :
								FRAME_BYTES);
		assert_int_equal(hw_le32(second) >> 8,
				 cases[i].kind == INJECT_VENDOR ? 0x123456 : 0);
		assert_int_equal(trailer == b->rq.id,
				 cases[i].kind != INJECT_WRONG_QUEUE &&
					 cases[i].kind != INJECT_WRONG_IS_SQ);
		assert_int_equal(injected(cases[i].kind, false), 1);
	}
	/* Each packet took one WQE. */
	assert_int_equal(counters(1).rx_packets, i);
	assert_int_equal(hw_le32(second + 56), (i - 1) * 32);
	assert_no_violation();
}

/* It lies in the next slot; what comes then takes its place. */
static void
test_wrong_owner(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_WRONG_OWNER, true);
	const uint8_t *next;

	rule.is_extra = true;
	add(&rule);
	post(rig, 1);
	assert_int_equal(type_of(rig_cqe(&a->scq)), HW_CQE_TX_OKAY);
	next = a->scq.mem + (a->scq.pos & (rig->cq_bytes / 64 - 1)) * 64;
	assert_int_equal(next[63] >> 5, 1 ^ 4);
	post(rig, 1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	/* In its place: the reader cannot go past it. */
	rule.is_extra = false;
	add(&rule);
	post(rig, 2);
	next = a->scq.mem + (a->scq.pos & (rig->cq_bytes / 64 - 1)) * 64;
	assert_int_equal(next[63] >> 5, 1 ^ 4);
	assert_int_equal(next[64 + 63] >> 5, 1);
	assert_no_violation();
}

/* After all that was posted has its own. */
static void
test_spurious(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_SPURIOUS, true);
	const uint8_t *cqe;
	uint32_t i;

	rule.is_extra = true;
	add(&rule);
	post(rig, 3);
	for (i = 0; i < 4; i++) {
		cqe = rig_cqe(&a->scq);
		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(rig_cqe(&a->scq));
	assert_no_violation();
}

/* Old ones come from the ring, and are drawn from the seed. */
static void
test_replayed(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_REPLAYED, true);
	const uint8_t *cqe;

	rule.is_extra = true;
	rule.first = 9;
	add(&rule);
	post(rig, 10);
	for (uint32_t i = 0; i < 11; i++) {
		uint32_t nth = i < 9 ? i : i - 1;

		cqe = rig_cqe(&a->scq);
		if (i == 9)
			assert_true(hw_le32(cqe + 8) >> 5 < 8);
		else
			assert_int_equal(hw_le32(cqe + 8) >> 5, nth);
	}
	assert_null(rig_cqe(&a->scq));
	assert_no_violation();
}

/* Random ones are the same again with the same seed, and only then. */
static void
random_cqe(uint64_t seed, uint8_t cqe[HW_CQE_BYTES])
{
	struct inject_rule rule = once(INJECT_RANDOM, true);
	struct rig rig;

	rig_defaults(&rig);
	rig.config.seed = seed;
	rig_start(&rig);
	rule.is_extra = true;
	add(&rule);
	post(&rig, 1);
	assert_non_null(rig_cqe(&rig.port[0].scq));
	memcpy(cqe, rig_cqe(&rig.port[0].scq), HW_CQE_BYTES);
	assert_no_violation();
	rig_stop(&rig);
}

static void
test_random(void **state)
{
	uint8_t a[HW_CQE_BYTES], b[HW_CQE_BYTES], c[HW_CQE_BYTES];

	(void)state;
	random_cqe(1, a);
	random_cqe(1, b);
	random_cqe(2, c);
	assert_memory_equal(a, b, HW_CQE_BYTES);
	assert_memory_not_equal(a, c, HW_CQE_TRAILER_OFF);
}

/* The driver rings what it has seen: no overflow of its own making. */
static void
test_overflow(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_OVERFLOW, true);
	const uint32_t n = rig->cq_bytes / HW_CQE_BYTES;
	const uint8_t *slot = a->scq.mem;

	add(&rule);
	post(rig, 1);
	/* At the reader's index there is the next lap already. */
	assert_int_equal(slot[63] >> 5, 2);
	assert_int_equal(slot[64 * (n - 1) + 63] >> 5, 1);
	rig_ring_cq(rig, a, &a->scq, true);
	assert_no_violation();
	/* Once it is past it, the rule is the driver's again. */
	a->scq.pos = 2 * n + 1;
	rig_ring_cq(rig, a, &a->scq, false);
	a->scq.pos = n;
	rig_ring_cq(rig, a, &a->scq, true);
	assert_violation(cq_overflow, 1);
}

/* Coalesced packets: only the struck one is alone. */
static void
coalesced(struct inject_rule *rule, uint32_t nb_cqes, uint32_t nb_packets)
{
	struct rig rig;
	struct rig_port *b = &rig.port[1];
	const uint8_t *cqe;
	uint32_t i;

	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig_start(&rig);
	rig_fill_rq(&rig, b, 9);
	rule->first = 6;
	add(rule);
	post(&rig, 9);
	while ((cqe = rig_cqe(&b->rcq)) != NULL) {
		nb_cqes--;
		for (i = 0; i < 4 && hw_le32(cqe + 8 + 12 * i) != 0; i++)
			nb_packets--;
	}
	assert_int_equal(nb_cqes, 0);
	assert_int_equal(nb_packets, 0);
	assert_int_equal(counters(1).rx_packets, 9);
	assert_no_violation();
	rig_stop(&rig);
}

static void
test_coalesced(void **state)
{
	struct inject_rule lose = once(INJECT_LOSE, false);
	struct inject_rule twice = once(INJECT_DUPLICATE, false);

	(void)state;
	twice.is_extra = true;
	coalesced(&lose, 3, 8); /* 4, 1, 3 */
	coalesced(&twice, 5, 10); /* 4, 1, 1, 1, 3 */
}

/* Queues and ids are used again: nothing of the old one comes. */
static void
test_destroyed(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = once(INJECT_DELAY, true);
	struct device_memory memory = { .process = model_self,
					.addr = (uintptr_t)a->sq.mem,
					.size = a->sq.bytes };
	uint32_t id;

	rule.for_ns = 1000;
	add(&rule);
	post(rig, 3);
	segment_lock();
	device_sq_destroy(0, a->sq.id);
	assert_int_equal(device_sq_create(0, 0, a->pdn, a->page, &memory,
					  a->scq.id, &id),
			 0);
	segment_unlock();
	assert_int_equal(id, a->sq.id);
	a->sq.pos = 0;
	advance(1000);
	assert_null(rig_cqe(&a->scq));
	assert_int_equal(segment_device()->inject.nb_queues, 0);
	post(rig, 1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

/* More rules than there is room for, and more CQEs than can be held. */
static void
test_full(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	struct inject_rule rule = always(INJECT_STALL, false);
	struct inject *inject = &segment_device()->inject;
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES; i++)
		add(&rule);
	segment_lock();
	assert_int_equal(inject_add(&rule), -ENOSPC);
	inject_clear();
	segment_unlock();
	rule = always(INJECT_DELAY, true);
	rule.for_ns = 1000000000;
	add(&rule);
	inject->nb_fresh = INJECT_MAX_HELD - 2;
	post(rig, 4);
	for (i = 0; i < 3; i++) {
		const uint8_t *cqe = rig_cqe(&a->scq);

		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(rig_cqe(&a->scq));
	segment_lock();
	inject_clear();
	segment_unlock();
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

/* Half of a thousand, as the seed wants it. */
static void
test_chance(void **state)
{
	struct rig *rig = *state;
	struct inject_rule rule = always(INJECT_LOSE, true);
	uint32_t i, nb_came = 0;

	rule.chance = 50;
	add(&rule);
	for (i = 0; i < 1000; i++) {
		post(rig, 1);
		nb_came += rig_cqe(&rig->port[0].scq) != NULL;
		rig_ring_cq(rig, &rig->port[0], &rig->port[0].scq, false);
	}
	assert_int_equal(injected(INJECT_LOSE, true), 1000 - nb_came);
	assert_in_range(nb_came, 400, 600);
	assert_no_violation();
}

/* The card stops between two WQEs of one doorbell. */
static void
test_watch(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];

	segment_lock();
	watch_port(0, 0, 4);
	watch_all(7);
	segment_unlock();
	post(rig, 9);
	assert_cqes(&a->scq, 32, 32, 32, 32);
	post(rig, 1);
	assert_null(rig_cqe(&a->scq));
	segment_lock();
	assert_int_equal(watch_count(0, 0), 4);
	assert_true(watch_go());
	assert_int_equal(watch_count_all(), 7);
	watch_nothing();
	assert_false(watch_go());
	segment_unlock();
	assert_cqes(&a->scq, 32, 32, 32, 32, 32, 32);
	assert_int_equal(counters(0).tx_packets, 10);
	assert_no_violation();
}

/* A driver that rings in time is not blamed for what it did not ask for. */
static void
test_no_blame(void **state)
{
	struct rig *rig = *state;
	struct rig_port *a = &rig->port[0];
	const uint32_t n = rig->cq_bytes / HW_CQE_BYTES;
	struct inject_rule rule = always(INJECT_DUPLICATE, true);
	uint32_t i, k;

	rule.is_extra = true;
	add(&rule);
	/* Just not 8 laps, without the duplicates. */
	for (i = 0; i < 8 * n - 1; i++) {
		post(rig, 1);
		for (k = 0; k < 2; k++)
			assert_non_null(rig_cqe(&a->scq));
	}
	assert_no_violation();
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_tx_error),
		TEST(test_tx_gdma_error),
		TEST(test_suppressed),
		TEST(test_truncate),
		TEST(test_lose),
		TEST(test_believer),
		TEST(test_delay),
		TEST(test_reorder),
		TEST(test_stall_tx),
		TEST(test_stall_rx),
		TEST(test_bogus_rx),
		TEST(test_wrong_owner),
		TEST(test_spurious),
		TEST(test_replayed),
		cmocka_unit_test(test_random),
		TEST(test_overflow),
		cmocka_unit_test(test_coalesced),
		TEST(test_destroyed),
		TEST(test_full),
		TEST(test_chance),
		TEST(test_watch),
		TEST(test_no_blame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
