/* SPDX-License-Identifier: BSD-3-Clause */

/* Several packets in one Rx CQE, its timer, and fences. */

#include <errno.h>

#include "clock.h"
#include "nic.h"
#include "fixture.h"

static void
start(enum model_mode mode, uint32_t coalesce_ns)
{
	static struct fixture fx;

	fx_defaults(&fx);
	fx.config.coalesce = true;
	fx.config.coalesce_ns = coalesce_ns;
	fx.config.mode = mode;
	fx_start(&fx);
}

TEST_WITH(test_flags, NULL, fx_teardown)
{
	uint32_t i, j;

	start(MODEL_MODE_SYNC, 0);
	fx_fill_rq(b, 32);
	/* 6 UDP, 1 not IP, 1 UDP: CQEs of 4, 2, 1, 1. */
	for (i = 0; i < 8; i++) {
		uint32_t n = fx_frame(a->buf + i * 256, NIC_PROTO_UDP, i);
		struct fx_wqe wqe = fx_tx_wqe(a, i * 256, n);

		if (i == 6)
			a->buf[i * 256 + 12] = 0x99;
		fx_post(&a->sq, &wqe);
	}
	fx_ring_sq(a);
	for (i = 0; i < 4; i++) {
		static const uint32_t want[] = { 4, 2, 1, 1 };
		static const uint32_t first[] = { 0, 4, 6, 7 };
		const uint8_t *cqe = fx_cqe(&b->rcq);

		assert_non_null(cqe);
		assert_int_equal(cqe[0], want[i] > 1 ? 0x42 : 0x41);
		for (j = 0; j < 4; j++)
			assert_int_equal(hw_le32(cqe + 8 + 12 * j),
					 j < want[i] ? 42 + first[i] + j : 0);
		assert_int_equal(hw_le32(cqe + 56), first[i] * 32);
	}
	assert_null(fx_cqe(&b->rcq));
	assert_int_equal(fx_counters(1).rx_packets, 8);
	assert_no_violation();
}

/* Send one frame with its own doorbell: one event of the clock. */
static void
send_one(uint8_t proto)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, fx_frame(a->buf, proto, 30));

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
}

static void
assert_coalesced(uint32_t nb_packets)
{
	const uint8_t *cqe = fx_cqe(&b->rcq);
	uint32_t i, n = 0;

	assert_non_null(cqe);
	for (i = 0; i < 4; i++)
		n += hw_le32(cqe + 8 + 12 * i) != 0;
	assert_int_equal(n, nb_packets);
	assert_int_equal(cqe[0], nb_packets > 1 ? 0x42 : 0x41);
	assert_null(fx_cqe(&b->rcq));
}

/* Packets of several doorbells share a CQE for 2048 ns of virtual time. */
TEST_WITH(test_time, NULL, fx_teardown)
{
	uint64_t opened_ns;
	uint32_t i;

	start(MODEL_MODE_SYNC, 2048);
	fx_fill_rq(b, 32);
	fx_nb_kicks = 0;
	send_one(NIC_PROTO_UDP);
	opened_ns = clock_now();
	fx_advance(0);
	assert_null(fx_cqe(&b->rcq));
	assert_int_equal(segment_clock()->due_ns, opened_ns + 2048);
	assert_int_equal(fx_nb_kicks, 1); /* the launcher was woken */
	send_one(NIC_PROTO_UDP);
	send_one(NIC_PROTO_UDP);
	assert_null(fx_cqe(&b->rcq));
	/* 3000 ns after the first: its CQE is written, a new one is open. */
	send_one(NIC_PROTO_UDP);
	assert_coalesced(3);
	/* Without further packets the timer writes it. */
	fx_advance(2047);
	assert_null(fx_cqe(&b->rcq));
	fx_advance(1);
	assert_coalesced(1);
	assert_false(clock_is_due());
	/*
	 * Four packets are written at once; so is an open CQE when another kind
	 * arrives.
	 */
	fx_advance(100000);
	for (i = 0; i < 2; i++)
		send_one(NIC_PROTO_UDP);
	send_one(NIC_PROTO_TCP);
	assert_coalesced(2);
	fx_advance(1047);
	assert_null(fx_cqe(&b->rcq));
	fx_advance(2048);
	assert_coalesced(1);
	assert_no_violation();
}

/* A fence and the end of the queue do not leave a packet behind. */
TEST_WITH(test_fence, NULL, fx_teardown)
{
	const uint8_t *cqe;
	uint32_t id;

	start(MODEL_MODE_SYNC, 1000000);
	fx_fill_rq(b, 4);
	send_one(NIC_PROTO_UDP);
	send_one(NIC_PROTO_UDP);
	assert_int_equal(card_port_rq(0, 1, 0, &id), 0);
	assert_int_equal(id, b->rq.id);
	assert_int_equal(card_port_rq(0, 1, 1, &id), -ENOENT);
	assert_int_equal(card_rq_fence(0, id + 7), -EPROTO);
	assert_int_equal(card_rq_fence(0, id), 0);
	assert_int_equal(fx_cqe(&b->rcq)[0], 0x42);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe), 0x43);
	assert_int_equal(hw_le32(cqe + 8), 0);
	assert_int_equal(hw_le32(cqe + 60), 1u << 29 | b->rq.id);
	assert_null(fx_cqe(&b->rcq));
	/* The remaining timer finds nothing. */
	fx_advance(2000000);
	assert_null(fx_cqe(&b->rcq));
	/* Two WQEs were consumed, and none by the fence. */
	assert_int_equal(card_rq(card_function(0), id)->ci, 2 * HW_BU_BYTES);
	send_one(NIC_PROTO_UDP);
	card_rq_destroy(0, b->rq.id);
	assert_coalesced(1);
	fx_advance(2000000);
	assert_null(fx_cqe(&b->rcq));
	assert_no_violation();
}

/* In real time the device thread stays awake until the CQE is written. */
TEST_WITH(test_thread, NULL, fx_teardown)
{
	struct fx_wqe wqe;
	bool has_worked = true;

	start(MODEL_MODE_THREAD, 2048);
	fx_fill_rq(b, 4);
	wqe = fx_tx_wqe(a, 0, fx_frame(a->buf, NIC_PROTO_UDP, 30));
	assert_int_equal(fx_send(a, &wqe), -1);
	while (has_worked) {
		segment_lock();
		has_worked = card_run(model_self);
		segment_unlock();
	}
	assert_coalesced(1);
	/* If it dies meanwhile, the timer remains. */
	assert_true(segment_clock()->due_ns != CLOCK_NEVER);
	assert_no_violation();
}

/* More open CQEs than the card can list: it then writes them at once. */
TEST_WITH(test_many_queues, NULL, fx_teardown)
{
	enum {
		NB = CARD_MAX_OPEN + 6
	};
	static struct fx_ring rq[NB], rcq[NB];
	static _Alignas(4096) uint8_t mem[NB * 8192];
	uint32_t i, nb_seen = 0;

	start(MODEL_MODE_SYNC, 1000000);
	for (i = 0; i < NB; i++) {
		const struct fx_ring own = b->rq;

		rcq[i] = (struct fx_ring){ .mem = mem + i * 8192, .bytes = 4096 };
		rq[i] = (struct fx_ring){ .mem = mem + i * 8192 + 4096,
					   .bytes = 4096 };
		fx_queue(b, 1, &rq[i], &rcq[i], false);
		b->rq = rq[i];
		fx_fill_rq(b, 8);
		rq[i] = b->rq;
		b->rq = own;
	}
	for (i = 0; i < NB; i++) {
		fx_steer(1, false, &rq[i].id, 1);
		send_one(NIC_PROTO_UDP);
	}
	for (i = 0; i < NB; i++)
		nb_seen += fx_cqe(&rcq[i]) != NULL;
	assert_int_equal(nb_seen, CARD_MAX_OPEN);
	/* The timer writes the others, each once. */
	fx_advance(1000000);
	for (i = CARD_MAX_OPEN; i < NB; i++)
		assert_int_equal(fx_cqe(&rcq[i])[0], 0x41);
	for (i = 0; i < NB; i++)
		assert_null(fx_cqe(&rcq[i]));
	assert_int_equal(segment_card()->nb_open, 0);
	assert_no_violation();
}
