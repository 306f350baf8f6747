/* SPDX-License-Identifier: BSD-3-Clause */

/* Injected faults of packets and completions, on the card without a kernel. */

#include <errno.h>

#include "clock.h"
#include "inject.h"
#include "nic.h"
#include "fixture.h"

#define FRAME_BYTES 80u

/* A rule for all packets of port 1's SQ or port 2's RQ. */
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

/* A rule for the first packet only. */
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

static uint64_t
injected(enum inject_kind kind, bool is_tx)
{
	return inject_count(0, is_tx ? 0 : 1, is_tx, kind);
}

/* Post n frames and ring once. */
static void
post(uint32_t n)
{
	const struct fx_wqe wqe = fx_tx_wqe(a, 0, FRAME_BYTES);

	fx_frame(a->buf, NIC_PROTO_UDP, FRAME_BYTES - 42);
	while (n-- > 0)
		fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
}

static void
no_more(void)
{
	assert_null(fx_cqe(&a->scq));
	assert_null(fx_cqe(&b->rcq));
}

static uint32_t
type_of(const uint8_t *cqe)
{
	return cqe != NULL ? cqe[0] & 0x3f : UINT32_MAX;
}

static void
assert_types(struct fx_ring *cq, const uint32_t *types, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(type_of(fx_cqe(cq)), types[i]);
	assert_null(fx_cqe(cq));
}
#define assert_cqes(cq, ...)                                            \
	assert_types(cq, (const uint32_t[]){ __VA_ARGS__ },             \
		     sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Each type; the packet is not sent, and the next one is. */
FX_TEST(test_tx_error)
{
	struct inject_rule rule = once(INJECT_CQE, true);

	fx_fill_rq(b, 16);
	rule.first = 2;
	for (rule.value = HW_CQE_TX_SA_DROP; rule.value < HW_CQE_TX_GDMA_ERR;
	     rule.value++) {
		add(&rule);
		post(3);
		assert_cqes(&a->scq, HW_CQE_TX_OKAY, rule.value, HW_CQE_TX_OKAY);
		assert_cqes(&b->rcq, HW_CQE_RX_OKAY, HW_CQE_RX_OKAY);
		assert_int_equal(fx_counters(0).tx_errors[rule.value - 33], 1);
		fx_fill_rq(b, 2);
	}
	assert_int_equal(fx_counters(0).tx_packets, 18);
	assert_int_equal(injected(INJECT_CQE, true), 9);
	assert_false(segment_card()->is_armed);
	assert_no_violation();
}

/* A WQE with a suppressed completion has one if it fails. */
FX_TEST(test_suppressed)
{
	struct inject_rule rule = once(INJECT_CQE, true);
	struct fx_wqe wqe = fx_tx_wqe(a, 0, FRAME_BYTES);

	fx_frame(a->buf, NIC_PROTO_UDP, FRAME_BYTES - 42);
	rule.value = HW_CQE_TX_VF_DISABLED;
	add(&rule);
	wqe.oob[0] |= 1u << HW_OOB_SUPPRESS_S;
	fx_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << HW_OOB_SUPPRESS_S);
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_cqes(&a->scq, HW_CQE_TX_VF_DISABLED, HW_CQE_TX_OKAY);
}

FX_TEST(test_truncate)
{
	struct inject_rule rule = once(INJECT_TRUNCATE, false);
	struct inject_rule full = once(INJECT_CQE, false);
	const uint8_t *cqe;

	memset(fx_rx_buf(b, 0), 0xaa, 4 * FX_RX_BUF_BYTES);
	fx_fill_rq(b, 3);
	rule.value = 20;
	full.value = HW_CQE_RX_TRUNCATED;
	full.first = 2;
	add(&rule);
	add(&full);
	post(3);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(type_of(cqe), HW_CQE_RX_TRUNCATED);
	assert_int_equal(hw_le32(cqe + 8), FRAME_BYTES);
	assert_int_equal(fx_rx_buf(b, 0)[20], 0xaa);
	assert_int_equal(fx_rx_buf(b, 0)[12], 0x08);
	assert_cqes(&b->rcq, HW_CQE_RX_TRUNCATED, HW_CQE_RX_OKAY);
	assert_int_equal(fx_rx_buf(b, 1)[FRAME_BYTES], 0xaa);
	assert_int_not_equal(fx_rx_buf(b, 1)[FRAME_BYTES - 2], 0xaa);
	assert_int_equal(fx_counters(1).rx_truncated, 2);
	assert_int_equal(fx_counters(1).rx_packets, 1);
	assert_int_equal(injected(INJECT_TRUNCATE, false), 1);
	assert_int_equal(injected(INJECT_CQE, false), 1);
	assert_no_violation();
}

/* Of every second packet from the third on, three completions are lost. */
FX_TEST(test_lose)
{
	struct inject_rule rule = always(INJECT_LOSE, false);
	uint32_t i;

	fx_fill_rq(b, 12);
	rule.first = 3;
	rule.every = 2;
	rule.count = 3;
	add(&rule);
	rule = once(INJECT_LOSE, true);
	rule.first = 5;
	add(&rule);
	post(12);
	for (i = 0; i < 11; i++)
		assert_int_equal(type_of(fx_cqe(&a->scq)), HW_CQE_TX_OKAY);
	for (i = 0; i < 9; i++)
		assert_int_equal(type_of(fx_cqe(&b->rcq)), HW_CQE_RX_OKAY);
	no_more();
	/* The packets were sent and received. */
	assert_int_equal(fx_counters(0).tx_packets, 12);
	assert_int_equal(fx_counters(1).rx_packets, 12);
	assert_int_equal(injected(INJECT_LOSE, false), 3);
	assert_int_equal(injected(INJECT_LOSE, true), 1);
	assert_false(segment_card()->is_armed);
	/* The WQEs are consumed. */
	post(1);
	assert_int_equal(fx_counters(1).rx_no_wqe, 1);
	assert_no_violation();
}

/* A driver that trusts a bogus completion posts more than there is room for. */
FX_TEST(test_posting_after_bogus_rx_cqe)
{
	static const enum inject_kind kinds[] = {
		INJECT_RANDOM,
		INJECT_REPLAYED,
		INJECT_TYPE,
	};
	const uint32_t nb_wqes = b->rq.bytes / HW_BU_BYTES;
	uint32_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct inject_rule rule = once(kinds[i], false);

		fx_renew();
		fx_fill_rq(b, nb_wqes);
		rule.value = HW_CQE_RX_COALESCED_4;
		add(&rule);
		post(1);
		/* "Four packets". */
		fx_fill_rq(b, 4);
		assert_no_violation();
	}
}

/* Later packets wait, too, and all completions come in order. */
FX_TEST(test_delay)
{
	struct inject_rule rule = once(INJECT_DELAY, true);
	const uint8_t *cqe;
	uint32_t i;

	fx_fill_rq(b, 8);
	rule.first = 2;
	rule.for_ns = 50000;
	add(&rule);
	post(4);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	fx_advance(40000);
	assert_null(fx_cqe(&a->scq));
	post(1);
	assert_null(fx_cqe(&a->scq));
	fx_advance(10000);
	for (i = 1; i < 5; i++) {
		cqe = fx_cqe(&a->scq);
		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(fx_counters(1).rx_packets, 5);
	assert_false(segment_card()->is_armed);
	assert_no_violation();
}

/* The Tx CQE comes after the Rx CQE of the same packet's neighbour. */
FX_TEST(test_reorder)
{
	struct inject_rule rule = once(INJECT_REORDER, true);

	fx_fill_rq(b, 1);
	rule.for_ns = 1000000;
	add(&rule);
	post(1); /* its own Rx CQE came before */
	assert_cqes(&b->rcq, HW_CQE_RX_OKAY);
	assert_null(fx_cqe(&a->scq));
	post(1); /* dropped: no WQE */
	assert_null(fx_cqe(&a->scq));
	fx_fill_rq(b, 1);
	post(1);
	assert_cqes(&b->rcq, HW_CQE_RX_OKAY);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY);
	/* No other queue completes: it is written after the timeout. */
	add(&rule);
	post(1);
	assert_null(fx_cqe(&a->scq));
	fx_advance(1000000);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

FX_TEST(test_stall_tx)
{
	struct inject_rule rule = always(INJECT_STALL, true);

	fx_fill_rq(b, 4);
	rule.queue = 1; /* no such queue */
	add(&rule);
	post(1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	rule.queue = 0;
	add(&rule);
	post(2);
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(fx_counters(0).tx_packets, 1);
	segment_lock();
	assert_int_equal(card_resume(0, 0, 0, true), 0);
	assert_int_equal(card_resume(0, 0, 0, true), -ENOENT);
	assert_int_equal(card_resume(0, 0, INJECT_ANY_QUEUE, true), 0);
	segment_unlock();
	assert_cqes(&a->scq, HW_CQE_TX_OKAY, HW_CQE_TX_OKAY);
	assert_int_equal(fx_counters(1).rx_packets, 3);
	assert_false(segment_card()->is_armed);
	assert_no_violation();
}

/* Packets fill buffers until there are none left. */
FX_TEST(test_stall_rx)
{
	struct inject_rule rule = always(INJECT_STALL, false);

	fx_fill_rq(b, 2);
	add(&rule);
	post(3);
	assert_null(fx_cqe(&b->rcq));
	assert_int_equal(fx_counters(1).rx_packets, 2);
	assert_int_equal(fx_counters(1).rx_no_wqe, 1);
	segment_lock();
	card_clear_faults();
	segment_unlock();
	assert_cqes(&b->rcq, HW_CQE_RX_OKAY, HW_CQE_RX_OKAY);
	assert_false(segment_card()->is_armed);
	assert_no_violation();
}

FX_TEST(test_bogus_rx)
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
	const uint8_t *first, *second;
	uint32_t i, trailer;

	fx_fill_rq(b, 16);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inject_rule rule = once(cases[i].kind, false);

		rule.value = cases[i].value;
		rule.is_extra = cases[i].is_extra;
		add(&rule);
		post(1);
		first = fx_cqe(&b->rcq);
		second = cases[i].is_extra ? fx_cqe(&b->rcq) : first;
		assert_non_null(second);
		assert_null(fx_cqe(&b->rcq));
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
	/* Each packet consumes one WQE. */
	assert_int_equal(fx_counters(1).rx_packets, i);
	assert_int_equal(hw_le32(second + 56), (i - 1) * 32);
	assert_no_violation();
}

/* It is in the next slot; the next completion overwrites it. */
FX_TEST(test_wrong_owner)
{
	struct inject_rule rule = once(INJECT_WRONG_OWNER, true);
	const uint8_t *next;

	rule.is_extra = true;
	add(&rule);
	post(1);
	assert_int_equal(type_of(fx_cqe(&a->scq)), HW_CQE_TX_OKAY);
	next = a->scq.mem + (a->scq.pos & (a->scq.bytes / 64 - 1)) * 64;
	assert_int_equal(next[63] >> 5, 1 ^ 4);
	post(1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	/* Instead of the packet's own: the reader cannot pass it. */
	rule.is_extra = false;
	add(&rule);
	post(2);
	next = a->scq.mem + (a->scq.pos & (a->scq.bytes / 64 - 1)) * 64;
	assert_int_equal(next[63] >> 5, 1 ^ 4);
	assert_int_equal(next[64 + 63] >> 5, 1);
	assert_no_violation();
}

/* After all posted WQEs have completed. */
FX_TEST(test_spurious)
{
	struct inject_rule rule = once(INJECT_SPURIOUS, true);
	const uint8_t *cqe;
	uint32_t i;

	rule.is_extra = true;
	add(&rule);
	post(3);
	for (i = 0; i < 4; i++) {
		cqe = fx_cqe(&a->scq);
		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(fx_cqe(&a->scq));
	assert_no_violation();
}

/* Old completions of the ring, selected by the seed. */
FX_TEST(test_replayed)
{
	struct inject_rule rule = once(INJECT_REPLAYED, true);
	const uint8_t *cqe;

	rule.is_extra = true;
	rule.first = 9;
	add(&rule);
	post(10);
	for (uint32_t i = 0; i < 11; i++) {
		uint32_t nth = i < 9 ? i : i - 1;

		cqe = fx_cqe(&a->scq);
		if (i == 9)
			assert_true(hw_le32(cqe + 8) >> 5 < 8);
		else
			assert_int_equal(hw_le32(cqe + 8) >> 5, nth);
	}
	assert_null(fx_cqe(&a->scq));
	assert_no_violation();
}

/* Random completions are equal if and only if the seed is. */
static void
random_cqe(uint64_t seed, uint8_t cqe[HW_CQE_BYTES])
{
	struct inject_rule rule = once(INJECT_RANDOM, true);
	struct fixture fx;

	fx_defaults(&fx);
	fx.config.seed = seed;
	fx_start(&fx);
	rule.is_extra = true;
	add(&rule);
	post(1);
	assert_non_null(fx_cqe(&a->scq));
	memcpy(cqe, fx_cqe(&a->scq), HW_CQE_BYTES);
	assert_no_violation();
	fx_stop(&fx);
}

TEST(test_random)
{
	uint8_t first[HW_CQE_BYTES], same[HW_CQE_BYTES], other[HW_CQE_BYTES];

	random_cqe(1, first);
	random_cqe(1, same);
	random_cqe(2, other);
	assert_memory_equal(first, same, HW_CQE_BYTES);
	assert_memory_not_equal(first, other, HW_CQE_TRAILER_OFF);
}

/* The driver rings the doorbell correctly: it causes no overflow. */
FX_TEST(test_overflow)
{
	struct inject_rule rule = once(INJECT_OVERFLOW, true);
	const uint32_t n = a->scq.bytes / HW_CQE_BYTES;
	const uint8_t *slot = a->scq.mem;

	add(&rule);
	post(1);
	/* At the reader's index is a CQE of the next lap. */
	assert_int_equal(slot[63] >> 5, 2);
	assert_int_equal(slot[64 * (n - 1) + 63] >> 5, 1);
	fx_ring_cq(a, &a->scq, true);
	assert_no_violation();
	/* After it, an overflow is the driver's fault again. */
	a->scq.pos = 2 * n + 1;
	fx_ring_cq(a, &a->scq, false);
	a->scq.pos = n;
	fx_ring_cq(a, &a->scq, true);
	assert_violation(cq_overflow, 1);
}

/* Coalesced packets: only the hit one has its own CQE. */
static void
coalesced(struct inject_rule *rule, uint32_t nb_cqes, uint32_t nb_packets)
{
	struct fixture fx;
	const uint8_t *cqe;
	uint32_t i;

	fx_defaults(&fx);
	fx.config.coalesce = true;
	fx_start(&fx);
	fx_fill_rq(b, 9);
	rule->first = 6;
	add(rule);
	post(9);
	while ((cqe = fx_cqe(&b->rcq)) != NULL) {
		nb_cqes--;
		for (i = 0; i < 4 && hw_le32(cqe + 8 + 12 * i) != 0; i++)
			nb_packets--;
	}
	assert_int_equal(nb_cqes, 0);
	assert_int_equal(nb_packets, 0);
	assert_int_equal(fx_counters(1).rx_packets, 9);
	assert_no_violation();
	fx_stop(&fx);
}

TEST(test_coalesced)
{
	struct inject_rule lose = once(INJECT_LOSE, false);
	struct inject_rule twice = once(INJECT_DUPLICATE, false);

	twice.is_extra = true;
	coalesced(&lose, 3, 8); /* 4, 1, 3 */
	coalesced(&twice, 5, 10); /* 4, 1, 1, 1, 3 */
}

/* Queues and ids are reused: completions of the old queue do not appear. */
FX_TEST(test_destroyed)
{
	struct inject_rule rule = once(INJECT_DELAY, true);
	struct card_memory memory = { .process = model_self,
					.addr = (uintptr_t)a->sq.mem,
					.size = a->sq.bytes };
	uint32_t id;

	rule.for_ns = 1000;
	add(&rule);
	post(3);
	segment_lock();
	card_sq_destroy(0, a->sq.id);
	assert_int_equal(card_sq_create(0, 0, a->pdn, a->page, &memory,
					a->scq.id, &id),
			 0);
	segment_unlock();
	assert_int_equal(id, a->sq.id);
	a->sq.pos = 0;
	fx_advance(1000);
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(segment_card()->inject.nb_queues, 0);
	post(1);
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

/* Too many rules, and too many held CQEs. */
FX_TEST(test_full)
{
	struct inject_rule rule = always(INJECT_STALL, false);
	struct inject *inject = &segment_card()->inject;
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES; i++)
		add(&rule);
	segment_lock();
	assert_int_equal(inject_add(&rule), -ENOSPC);
	card_clear_faults();
	segment_unlock();
	rule = always(INJECT_DELAY, true);
	rule.for_ns = 1000000000;
	add(&rule);
	inject->nb_fresh = INJECT_MAX_HELD - 2;
	post(4);
	for (i = 0; i < 3; i++) {
		const uint8_t *cqe = fx_cqe(&a->scq);

		assert_int_equal(type_of(cqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(cqe + 8) >> 5, i);
	}
	assert_null(fx_cqe(&a->scq));
	segment_lock();
	card_clear_faults();
	segment_unlock();
	assert_cqes(&a->scq, HW_CQE_TX_OKAY);
	assert_no_violation();
}

/* About half of a thousand, selected by the seed. */
FX_TEST(test_chance)
{
	struct inject_rule rule = always(INJECT_LOSE, true);
	uint32_t i, nb_came = 0;

	rule.chance = 50;
	add(&rule);
	for (i = 0; i < 1000; i++) {
		post(1);
		nb_came += fx_cqe(&a->scq) != NULL;
		fx_ring_cq(a, &a->scq, false);
	}
	assert_int_equal(injected(INJECT_LOSE, true), 1000 - nb_came);
	assert_uint_in_range(nb_came, 400, 600);
	assert_no_violation();
}

/* The card stops between two WQEs of one doorbell. */
FX_TEST(test_watch)
{
	segment_lock();
	watch_port(0, 0, 4);
	watch_all(7);
	segment_unlock();
	post(9);
	assert_cqes(&a->scq, 32, 32, 32, 32);
	post(1);
	assert_null(fx_cqe(&a->scq));
	segment_lock();
	assert_int_equal(watch_count(0, 0), 4);
	assert_true(card_go());
	assert_int_equal(watch_count_all(), 7);
	watch_nothing();
	assert_false(card_go());
	segment_unlock();
	assert_cqes(&a->scq, 32, 32, 32, 32, 32, 32);
	assert_int_equal(fx_counters(0).tx_packets, 10);
	assert_no_violation();
}

/* A correct driver has no violation for injected completions. */
FX_TEST(test_duplicates_cause_no_violation)
{
	const uint32_t n = a->scq.bytes / HW_CQE_BYTES;
	struct inject_rule rule = always(INJECT_DUPLICATE, true);
	uint32_t i, k;

	rule.is_extra = true;
	add(&rule);
	/* Almost 8 laps, without the duplicates. */
	for (i = 0; i < 8 * n - 1; i++) {
		post(1);
		for (k = 0; k < 2; k++)
			assert_non_null(fx_cqe(&a->scq));
	}
	assert_no_violation();
}
