/* SPDX-License-Identifier: BSD-3-Clause */

/* Generators and sinks on the card without a kernel. */

#include "clock.h"
#include "nic.h"
#include "fixture.h"
#include "signature.h"
#include "wire.h"

static struct fixture fixture;
static uint32_t slot; /* next Rx buffer of port 0 */

static struct generator_settings
defaults(void)
{
	return (struct generator_settings){
		.min_bytes = 64,
		.max_bytes = 64,
		.nb_flows = 1,
		.malformed_kinds = GENERATOR_ALL_KINDS,
	};
}

/* A generator at port 0, a sink at port 1. */
static void
start(enum model_mode mode)
{
	fx_defaults(&fixture);
	fixture.config.mode = mode;
	fixture.config.seed = 42;
	fixture.config.wires[0].kind = MODEL_WIRE_GEN;
	fixture.config.wires[1].kind = MODEL_WIRE_GEN;
	fx_start(&fixture);
	slot = 0;
}

/* Receive on port 0: returns the length of the frame in the buffer; 0: none. */
static uint32_t
take(const uint8_t **frame)
{
	struct fx_port *p = a;
	const uint8_t *cqe = fx_cqe(&p->rcq);

	if (cqe == NULL)
		return 0;
	*frame = fx_rx_buf(p, slot++);
	fx_ring_cq(p, &p->rcq, false);
	return hw_le32(cqe + 8) & 0xffff;
}

/* Send from port 1 to the sink. */
static void
give(const uint8_t *frame, uint32_t nb_bytes)
{
	wire_send(0, 1, frame, nb_bytes);
}

static void
assert_sink(uint64_t received, uint64_t duplicated, uint64_t reordered,
	    uint64_t corrupted, uint64_t foreign)
{
	const struct sink_counters *c = &wire_of(0, 1)->sink;

	assert_int_equal(c->received, received);
	assert_int_equal(c->duplicated, duplicated);
	assert_int_equal(c->reordered, reordered);
	assert_int_equal(c->corrupted, corrupted);
	assert_int_equal(c->foreign, foreign);
}

static const struct stream *
stream(uint32_t number)
{
	return &segment_wires()->streams.streams[number];
}

/* Exactly one frame per Rx WQE. */
TEST(test_full_rate)
{
	struct generator_settings settings = defaults();
	const uint8_t *frame = NULL;
	uint32_t n, nb = 0;

	for (enum model_mode mode = MODEL_MODE_SYNC; mode <= MODEL_MODE_THREAD;
	     mode++) {
		start(mode);
		settings.count = 25;
		settings.nb_flows = 3;
		assert_true(generator_start(wire_of(0, 0), &settings));
		assert_int_equal(take(&frame), 0);
		for (nb = 0; nb < 40; nb += n) {
			fx_fill_rq(a, 10);
			card_run(model_self);
			for (n = 0; take(&frame) == 64; n++) {
				assert_int_equal(hw_be16(frame + 10),
						 (nb + n) % 3);
				give(frame, 64);
			}
			if (n < 10)
				break;
		}
		assert_int_equal(nb + n, 25);
		assert_int_equal(wire_of(0, 0)->generator.sent, 25);
		assert_sink(25, 0, 0, 0, 0);
		assert_int_equal(stream(0)->received, 9);
		assert_int_equal(stream(2)->received, 8);
		assert_int_equal(stream_lost(stream(0)), 0);
		assert_no_violation();
		fx_stop(&fixture);
	}
}

/*
 * A driver with a full ring rings no doorbell: the end of the obstacle restarts
 * the generator.
 */
TEST(test_function_disabled)
{
	struct generator_settings settings = defaults();
	const uint8_t *frame;
	uint32_t n;

	for (enum model_mode mode = MODEL_MODE_SYNC; mode <= MODEL_MODE_THREAD;
	     mode++) {
		start(mode);
		card_function_disable(0, true);
		assert_true(generator_start(wire_of(0, 0), &settings));
		fx_fill_rq(a, 10);
		card_run(model_self);
		assert_int_equal(take(&frame), 0);
		fx_nb_kicks = 0;
		card_function_disable(0, false);
		assert_int_equal(fx_nb_kicks > 0, mode == MODEL_MODE_THREAD);
		card_run(model_self);
		for (n = 0; take(&frame) == 64; n++)
			;
		assert_int_equal(n, 10);
		assert_no_violation();
		fx_stop(&fixture);
	}
}

TEST_WITH(test_rates, NULL, fx_teardown)
{
	struct generator_settings settings = defaults();
	uint64_t now;

	start(MODEL_MODE_SYNC);
	fx_fill_rq(a, 100);
	fx_run_until(1000000);
	settings.rate_kind = GENERATOR_FRAMES;
	settings.rate = 1000000;
	assert_true(generator_start(wire_of(0, 0), &settings));
	now = clock_now();
	fx_run_until(now + 10000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 11); /* 1 at once */
	fx_run_until(now + 10999);
	assert_int_equal(wire_of(0, 0)->generator.sent, 11);
	fx_run_until(now + 11000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 12);
	generator_stop(wire_of(0, 0));
	fx_run_until(now + 50000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 12);
	/* 64 bytes at 512 Mbit/s: one each microsecond. */
	settings.rate_kind = GENERATOR_BITS;
	settings.rate = 512000000;
	settings.first_stream = 1;
	assert_true(generator_start(wire_of(0, 0), &settings));
	fx_run_until(clock_now() + 20000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 12 + 21);
	/* Without WQEs frames are dropped, as on a real wire. */
	fx_run_until(clock_now() + 200000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 12 + 221);
}

/* A process is killed between the take of the clock and its timers. */
TEST_WITH(test_rate_after_kill, NULL, fx_teardown)
{
	struct generator_settings settings = defaults();
	uint64_t now;

	start(MODEL_MODE_SYNC);
	fx_fill_rq(a, 100);
	settings.rate_kind = GENERATOR_FRAMES;
	settings.rate = 1000000;
	assert_true(generator_start(wire_of(0, 0), &settings));
	now = clock_now();
	fx_run_until(now + 10000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 11);
	segment_clock()->virtual_ns = now + 20000;
	(void)clock_take();
	card_recover();
	fx_run_until(now + 20000);
	assert_int_equal(wire_of(0, 0)->generator.sent, 21);
}

/* All kinds of frames that the sink distinguishes. */
TEST_WITH(test_sink, NULL, fx_teardown)
{
	struct generator_settings settings = defaults();
	uint8_t copy[20][128];
	const uint8_t *frame = NULL;

	start(MODEL_MODE_SYNC);
	settings.count = 20;
	settings.min_bytes = settings.max_bytes = 100;
	generator_start(wire_of(0, 0), &settings);
	fx_fill_rq(a, 20);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(take(&frame), 100);
		memcpy(copy[i], frame, 100);
	}
	give(copy[0], 100);
	give(copy[1], 100);
	give(copy[1], 100);
	assert_sink(2, 1, 0, 0, 0);
	give(copy[4], 100);
	give(copy[3], 100);
	assert_sink(4, 1, 1, 0, 0);
	/* The sink ignores changed headers; 2 is late. */
	memset(copy[2], 0x5a, 12);
	copy[2][22]--;
	copy[2][24] ^= 1;
	give(copy[2], 100);
	assert_sink(5, 1, 2, 0, 0);
	/* A bit of the pattern: the frame is corrupt, but not lost. */
	copy[5][99] ^= 0x80;
	give(copy[5], 100);
	assert_sink(5, 1, 2, 1, 0);
	/* A bit of the sequence number: the stream is unknown. */
	copy[6][42 + 7] ^= 1;
	give(copy[6], 100);
	assert_sink(5, 1, 2, 2, 0);
	give(copy[7], 99);
	assert_sink(5, 1, 2, 3, 0);
	/* Longer than sent, or with a tag. */
	memset(copy[8] + 100, 0, 20);
	give(copy[8], 120);
	memmove(copy[9] + 16, copy[9] + 12, 88);
	give(copy[9], 104);
	assert_sink(7, 1, 2, 3, 0);
	memset(copy[10] + 14, 0, 86);
	give(copy[10], 100);
	assert_sink(7, 1, 2, 3, 1);
	for (uint32_t i = 11; i < 19; i++)
		give(copy[i], 100);
	/* 6, 10 and 19 were never seen. */
	assert_int_equal(stream_lost(stream(0)), 3);
	assert_int_equal(stream(0)->sent, 20);
	assert_int_equal(stream(0)->corrupted, 2);
	assert_int_equal(stream(0)->duplicated, 1);
	assert_int_equal(stream(0)->reordered, 2);
}

/* Each bit of the payload is checked. */
TEST(test_each_bit)
{
	uint8_t payload[SIGNATURE_BYTES + 45], frame[200] = { 0 };
	struct signature s = { .stream = 77, .sequence = 0xfffffff0 }, got;

	for (uint32_t nb = SIGNATURE_BYTES; nb <= sizeof(payload); nb++) {
		signature_write(&s, frame + 42, nb);
		assert_int_equal(signature_read(frame, 42 + nb, &got),
				 SIGNATURE_GOOD);
		assert_int_equal(got.stream, 77);
		assert_int_equal(got.sequence, 0xfffffff0);
		for (uint32_t bit = 0; bit < nb * 8; bit++) {
			frame[42 + bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_not_equal(signature_read(frame, 42 + nb, &got),
					     SIGNATURE_GOOD);
			frame[42 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/*
 * Sequence numbers wrap at 32 bits, the count does not; the window is finite.
 */
TEST_WITH(test_long_stream, NULL, fx_teardown)
{
	const uint64_t first = UINT64_C(0x1fffff000);
	struct stream *s;
	uint8_t frame[100] = { 0 };

	start(MODEL_MODE_SYNC);
	sink_add_stream(5, 0);
	s = &segment_wires()->streams.streams[5];
	s->next = s->received = s->sent = first;
	for (uint32_t i = 0; i < 3 * SINK_WINDOW; i++) {
		if (i % 10 == 9)
			continue;
		signature_write(&(struct signature){ 5, (uint32_t)first + i },
				frame + 42, 50);
		give(frame, 92);
	}
	s->sent += 3 * SINK_WINDOW;
	assert_int_equal(stream_lost(s), 3 * SINK_WINDOW / 10);
	assert_int_equal(s->duplicated + s->reordered, 0);
	/* A late frame, and its duplicate. */
	for (uint32_t i = 0; i < 2; i++) {
		signature_write(&(struct signature){
					5, (uint32_t)first + 3 * SINK_WINDOW - 9 },
				frame + 42, 50);
		give(frame, 92);
	}
	assert_int_equal(s->reordered, 1);
	assert_int_equal(s->duplicated, 1);
	assert_int_equal(stream_lost(s), 3 * SINK_WINDOW / 10 - 1);
}

/* All frames are valid: headers, lengths, checksums. */
TEST_WITH(test_frames, NULL, fx_teardown)
{
	struct generator_settings settings = defaults();
	uint32_t nb_v6 = 0, nb_tcp = 0, nb_tags = 0, n;
	const uint8_t *frame = NULL;
	struct nic_parsed parsed;

	start(MODEL_MODE_SYNC);
	settings.min_bytes = 60;
	settings.max_bytes = 1514;
	settings.nb_flows = 4;
	settings.ip = GENERATOR_IP_MIX;
	settings.l4 = GENERATOR_L4_MIX;
	settings.vlan = PRNG_ALWAYS / 2;
	generator_start(wire_of(0, 0), &settings);
	for (uint32_t i = 0; i < 3000; i++) {
		uint8_t *buf = segment_wires()->made;
		uint32_t number;
		bool is_malformed;

		n = generator_frame(wire_of(0, 0), buf, &number, &is_malformed);
		wire_of(0, 0)->generator.nb++;
		frame = buf;
		assert_false(is_malformed);
		nic_parse(frame, n, 1, &parsed);
		assert_true(parsed.l4_fits);
		assert_int_equal(parsed.l4_off + parsed.l4_bytes, n);
		assert_true(parsed.l3 == NIC_L3_IPV6 ||
			    nic_csum_ipv4_ok(frame, &parsed));
		assert_true(nic_csum_l4_ok(frame, &parsed));
		assert_true(n >= 60 && n <= 1518);
		nb_v6 += parsed.l3 == NIC_L3_IPV6;
		nb_tcp += parsed.proto == NIC_PROTO_TCP;
		nb_tags += parsed.nb_tags;
	}
	assert_int_equal(nb_v6, 1500);
	assert_int_equal(nb_tcp, 1500);
	assert_uint_in_range(nb_tags, 1400, 1600);
}

/* Each kind of malformed frame is malformed, and the device handles it. */
TEST_WITH(test_malformed, NULL, fx_teardown)
{
	struct generator_settings settings = defaults();
	uint64_t nb_bad = 0, nb_runts = 0;
	struct nic_parsed parsed;
	bool is_malformed;
	uint32_t number, n;

	start(MODEL_MODE_SYNC);
	settings.malformed = PRNG_ALWAYS;
	for (uint32_t kind = 0; kind < GENERATOR_NB_KINDS; kind++) {
		settings.malformed_kinds = 1u << kind;
		generator_start(wire_of(0, 0), &settings);
		for (uint32_t i = 0; i < 500; i++) {
			uint8_t *frame = segment_wires()->made;
			struct signature s;

			n = generator_frame(wire_of(0, 0), frame, &number,
					    &is_malformed);
			assert_true(is_malformed);
			assert_true(n >= NIC_ETH_BYTES && n <= 64);
			assert_int_equal(signature_read(frame, n, &s),
					 SIGNATURE_NONE);
			nic_parse(frame, n, 1, &parsed);
			nb_runts += n < GENERATOR_MIN_BYTES;
			nb_bad += parsed.l3 == NIC_L3_NONE ||
				  !parsed.l4_fits ||
				  !nic_csum_ipv4_ok(frame, &parsed) ||
				  !nic_csum_l4_ok(frame, &parsed);
		}
	}
	/* A random length may be correct. */
	assert_uint_in_range(nb_bad, 2990, 3000);
	assert_uint_in_range(nb_runts, 900, 1000);
	settings.malformed = PRNG_ALWAYS / 2;
	settings.malformed_kinds = GENERATOR_ALL_KINDS;
	settings.count = 60;
	generator_start(wire_of(0, 0), &settings);
	fx_fill_rq(a, 60);
	assert_int_equal(wire_of(0, 0)->generator.sent, 60);
	assert_int_equal(stream(0)->sent, 60 - wire_of(0, 0)->generator.malformed);
	assert_no_violation();
}

/* Same seed, same frames. */
TEST(test_seed)
{
	struct generator_settings settings = defaults();
	static uint8_t seen[3][200][1600];

	memset(seen, 0, sizeof(seen));
	for (uint32_t round = 0; round < 3; round++) {
		fx_defaults(&fixture);
		fixture.config.seed = round / 2;
		fixture.config.wires[0].kind = MODEL_WIRE_GEN;
		fx_start(&fixture);
		settings.size_kind = GENERATOR_RANDOM;
		settings.max_bytes = 1514;
		settings.malformed = settings.vlan = PRNG_ALWAYS / 4;
		generator_start(wire_of(0, 0), &settings);
		for (uint32_t i = 0; i < 200; i++) {
			uint32_t number;
			bool is_malformed;

			generator_frame(wire_of(0, 0), seen[round][i], &number,
					&is_malformed);
		}
		fx_stop(&fixture);
	}
	assert_memory_equal(seen[0], seen[1], sizeof(seen[0]));
	assert_memory_not_equal(seen[0], seen[2], sizeof(seen[0]));
}

/* Full rate over a slow wire: no frame is generated without a WQE for it. */
TEST_WITH(test_slow_wire, NULL, fx_teardown)
{
	const struct wire_settings slow = { .bits_per_s = 1000000000,
					    .delay_ns = 50000 };
	struct generator_settings settings = defaults();

	start(MODEL_MODE_SYNC);
	wire_set(wire_of(0, 0), &slow);
	generator_start(wire_of(0, 0), &settings);
	fx_fill_rq(a, 50);
	for (uint32_t i = 0; i < 50; i++) {
		const uint8_t *frame = NULL;

		fx_run_until(clock_now() + 60000);
		while (take(&frame) != 0) {
			give(frame, 64);
			fx_fill_rq(a, 1);
		}
		assert_int_equal(fx_counters(0).rx_no_wqe, 0);
	}
	assert_true(wire_of(0, 1)->sink.received > 100);
	assert_sink(wire_of(0, 1)->sink.received, 0, 0, 0, 0);
	assert_no_violation();
}
