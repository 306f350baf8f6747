/* SPDX-License-Identifier: BSD-3-Clause */

/* Wires on the card without a kernel: impairments, on the machine's clock. */

#include "clock.h"
#include "nic.h"
#include "fixture.h"
#include "wire.h"

#define FRAME_BYTES 100u
#define CHANCE(percent) ((uint32_t)(PRNG_ALWAYS / 100 * (percent)))

static struct fixture fixture;
static uint32_t slot[FX_PORTS]; /* of the next Rx buffer */

/* Start two ports with wires of these kinds. */
static void
start(enum model_wire first, enum model_wire second)
{
	fx_defaults(&fixture);
	fixture.config.wires[0].kind = (uint8_t)first;
	fixture.config.wires[0].peer = 1;
	fixture.config.wires[1].kind = (uint8_t)second;
	fx_start(&fixture);
	memset(slot, 0, sizeof(slot));
}

/* A frame whose first bytes of payload are a number. */
static void
send_number(uint32_t port, uint32_t n)
{
	struct fx_port *p = &fixture.port[port];
	struct fx_wqe wqe = fx_tx_wqe(p, 0, FRAME_BYTES);

	memset(p->buf, 0, FRAME_BYTES);
	hw_put_le32(p->buf + NIC_ETH_BYTES, n);
	assert_int_equal(fx_send(p, &wqe), HW_CQE_TX_OKAY);
	fx_ring_cq(p, &p->scq, false);
}

/* Receive on a port: returns the number in the frame; -1: none. */
static int64_t
received_number(uint32_t port)
{
	struct fx_port *p = &fixture.port[port];
	const uint8_t *cqe = fx_cqe(&p->rcq);

	if (cqe == NULL)
		return -1;
	assert_int_equal(hw_le32(cqe + 8), FRAME_BYTES);
	return hw_le32(fx_rx_buf(p, slot[port]++) + NIC_ETH_BYTES);
}

TEST_WITH(test_kinds, NULL, fx_teardown)
{
	start(MODEL_WIRE_NONE, MODEL_WIRE_LOOP);
	fx_fill_rq(a, 4);
	fx_fill_rq(b, 4);
	send_number(0, 7);
	assert_int_equal(received_number(0), -1);
	assert_int_equal(received_number(1), -1);
	assert_int_equal(wire_of(0, 0)->vanished, 1);
	send_number(1, 8);
	assert_int_equal(received_number(0), -1);
	assert_int_equal(received_number(1), 8);
	fx_stop(&fixture);
	/* The neighbour has another wire: looped. */
	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_NONE);
	fx_fill_rq(a, 4);
	send_number(0, 9);
	assert_int_equal(received_number(0), 9);
	assert_no_violation();
}

TEST_WITH(test_delay, NULL, fx_teardown)
{
	const struct wire_settings late = { .delay_ns = 20000 };
	uint64_t now;

	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_DEFAULT);
	fx_fill_rq(b, 8);
	wire_set(wire_of(0, 0), &late);
	now = clock_now();
	send_number(0, 1);
	fx_run_until(now + 20000); /* the doorbell itself takes a microsecond */
	assert_int_equal(received_number(1), -1);
	fx_run_until(now + 21000);
	assert_int_equal(received_number(1), 1);
	/*
	 * In the other direction the frame passes this port's wire on its way
	 * in.
	 */
	fx_fill_rq(a, 8);
	send_number(1, 2);
	assert_int_equal(received_number(0), -1);
	fx_run_until(clock_now() + 21000);
	assert_int_equal(received_number(0), 2);
	/* A shorter delay overtakes nothing. */
	send_number(0, 3);
	wire_set(wire_of(0, 0), &(struct wire_settings){ 0 });
	send_number(0, 4);
	assert_int_equal(received_number(1), -1);
	fx_run_until(clock_now() + 21000);
	assert_int_equal(received_number(1), 3);
	assert_int_equal(received_number(1), 4);
}

/* 100 + 24 bytes take 992 ns at 1 Gbit/s. */
TEST_WITH(test_bandwidth, NULL, fx_teardown)
{
	const struct wire_settings slow = { .bits_per_s = 1000000000 };
	uint64_t first;

	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_DEFAULT);
	fx_fill_rq(b, 64);
	wire_set(wire_of(0, 0), &slow);
	segment_clock()->virtual_ns = first = 1000000;
	for (uint32_t i = 0; i < 10; i++) {
		wire_send(0, 0, a->buf, FRAME_BYTES);
		assert_int_equal(wire_of(0, 0)->way[WIRE_OUT].queue.nb_frames, i + 1);
	}
	for (uint32_t i = 0; i < 10; i++) {
		fx_run_until(first + (i + 1) * 992 - 1);
		assert_int_equal(received_number(1), -1);
		fx_run_until(first + (i + 1) * 992);
		assert_int_not_equal(received_number(1), -1);
	}
}

TEST_WITH(test_tail_drop, NULL, fx_teardown)
{
	const struct wire_settings slow = { .delay_ns = 1000000,
					    .queue_frames = 5 };

	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_DEFAULT);
	fx_fill_rq(b, 64);
	wire_set(wire_of(0, 0), &slow);
	for (uint32_t i = 0; i < 9; i++)
		send_number(0, i);
	assert_int_equal(wire_of(0, 0)->way[WIRE_OUT].counters.overflow, 4);
	fx_run_until(clock_now() + 1000000);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(received_number(1), i);
	assert_int_equal(received_number(1), -1);
}

/* A full pool: all lost frames are counted, and the memory is freed. */
TEST_WITH(test_full_pool, NULL, fx_teardown)
{
	static uint8_t frame[9000];
	const struct wire_settings late = { .delay_ns = 1000000 };
	struct wire_direction *out;
	uint64_t nb[2];

	start(MODEL_WIRE_NONE, MODEL_WIRE_DEFAULT);
	wire_set(wire_of(0, 0), &late);
	out = &wire_of(0, 0)->way[WIRE_OUT];
	for (int round = 0; round < 2; round++) {
		wire_of(0, 0)->vanished = 0;
		out->counters = (struct wire_counters){ 0 };
		for (uint32_t i = 0; i < 12000; i++)
			wire_send(0, 0, frame, 1 + i % sizeof(frame));
		assert_true(out->counters.overflow != 0);
		fx_run_until(clock_now() + 1000000);
		nb[round] = wire_of(0, 0)->vanished;
		assert_int_equal(nb[round] + out->counters.overflow, 12000);
	}
	assert_int_equal(nb[0], nb[1]);
}

TEST(test_loss_by_seed)
{
	const struct wire_settings lossy = { .loss = CHANCE(50) };
	int64_t seen[3][61];

	for (uint64_t round = 0; round < 3; round++) {
		fx_defaults(&fixture);
		fixture.config.seed = round / 2; /* 0, 0, 1 */
		fx_start(&fixture);
		memset(slot, 0, sizeof(slot));
		wire_set(wire_of(0, 0), &lossy);
		fx_fill_rq(b, 60);
		for (uint32_t i = 0; i < 60; i++)
			send_number(0, i);
		for (uint32_t i = 0; i < 61; i++)
			seen[round][i] = received_number(1);
		fx_stop(&fixture);
	}
	assert_int_not_equal(seen[0][0], -1);
	assert_int_equal(seen[0][60], -1);
	assert_memory_equal(seen[0], seen[1], sizeof(seen[0]));
	assert_memory_not_equal(seen[0], seen[2], sizeof(seen[0]));
}

/* Probabilities, over many frames. */
TEST_WITH(test_shares, NULL, fx_teardown)
{
	const struct wire_settings settings = { .loss = CHANCE(20),
						.duplicate = CHANCE(10),
						.corrupt = CHANCE(5) };
	const struct wire_counters *c;
	uint8_t frame[FRAME_BYTES] = { 0 };
	const uint64_t n = 100000;

	start(MODEL_WIRE_NONE, MODEL_WIRE_DEFAULT);
	wire_set(wire_of(0, 0), &settings);
	for (uint32_t i = 0; i < n; i++)
		wire_send(0, 0, frame, sizeof(frame));
	c = &wire_of(0, 0)->way[WIRE_OUT].counters;
	assert_int_equal(c->frames, n);
	assert_uint_in_range(c->lost, 19000, 21000);
	assert_uint_in_range(c->duplicated, 7200, 8800);
	assert_uint_in_range(c->corrupted, 3500, 4500);
	assert_int_equal(wire_of(0, 0)->vanished, n - c->lost + c->duplicated);
}

TEST_WITH(test_duplicate_reorder_corrupt, NULL, fx_teardown)
{
	struct wire_settings settings = { .duplicate = PRNG_ALWAYS };
	const uint8_t *bytes;
	uint32_t bits = 0;

	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_DEFAULT);
	fx_fill_rq(b, 64);
	wire_set(wire_of(0, 0), &settings);
	send_number(0, 1);
	assert_int_equal(received_number(1), 1);
	assert_int_equal(received_number(1), 1);
	assert_int_equal(received_number(1), -1);
	/* Each second frame is overtaken by the next one. */
	settings = (struct wire_settings){ .reorder = PRNG_ALWAYS };
	wire_set(wire_of(0, 0), &settings);
	for (uint32_t i = 2; i < 7; i++)
		send_number(0, i);
	assert_int_equal(received_number(1), 3);
	assert_int_equal(received_number(1), 2);
	assert_int_equal(received_number(1), 5);
	assert_int_equal(received_number(1), 4);
	assert_int_equal(received_number(1), -1);
	/* None follows. */
	fx_run_until(clock_now() + 2000000);
	assert_int_equal(received_number(1), 6);
	assert_int_equal(wire_of(0, 0)->way[WIRE_OUT].counters.reordered, 3);
	settings = (struct wire_settings){ .corrupt = PRNG_ALWAYS };
	wire_set(wire_of(0, 0), &settings);
	send_number(0, 0);
	assert_non_null(fx_cqe(&b->rcq));
	bytes = fx_rx_buf(b, 7);
	for (uint32_t i = 0; i < FRAME_BYTES; i++)
		bits += (uint32_t)__builtin_popcount(bytes[i] ^ a->buf[i]);
	assert_int_equal(bits, 1);
}

/* Frames for a slow backend are lost, without effect on other wires. */
TEST_WITH(test_full_backend, NULL, fx_teardown)
{
	static uint8_t frame[9000], buf[9000];
	uint32_t number, nb_first = 0, nb_second = 0, n;
	uint64_t at_ns;

	start(MODEL_WIRE_TAP, MODEL_WIRE_TAP);
	for (uint32_t i = 0; i < 1000; i++) {
		hw_put_le32(frame, i);
		wire_send(0, 0, frame, sizeof(frame));
		if (i % 10 == 0)
			wire_send(0, 1, frame, 100);
	}
	assert_true(wire_of(0, 0)->backend_lost > 0);
	assert_int_equal(wire_of(0, 1)->backend_lost, 0);
	while ((n = wire_backend_next(&number, buf, sizeof(buf), &at_ns)) != 0) {
		if (number == 0) {
			assert_int_equal(n, sizeof(frame));
			assert_int_equal(hw_le32(buf), nb_first++);
		} else {
			assert_int_equal(n, 100);
			assert_int_equal(hw_le32(buf), 10 * nb_second++);
		}
	}
	assert_int_equal(nb_first + wire_of(0, 0)->backend_lost, 1000);
	assert_int_equal(nb_second, 100);
}

/* A holder of the lock died while changing queues. */
TEST_WITH(test_recover, NULL, fx_teardown)
{
	const struct wire_settings late = { .delay_ns = 1000 };

	start(MODEL_WIRE_DEFAULT, MODEL_WIRE_TAP);
	wire_set(wire_of(0, 0), &late);
	for (uint32_t i = 0; i < 10; i++) {
		wire_send(0, 0, a->buf, FRAME_BYTES);
		wire_send(0, 1, b->buf, FRAME_BYTES);
	}
	wire_recover();
	assert_int_equal(segment_wires()->swept, 0);
	segment_wires()->is_busy = true;
	segment_wires()->pool.first_free = 12345; /* anything */
	card_recover();
	assert_int_equal(segment_wires()->swept, 20);
	fx_fill_rq(a, 4);
	send_number(0, 5); /* looped: its neighbour has a TAP */
	fx_run_until(clock_now() + 1000000);
	assert_int_equal(received_number(0), 5);
}
