/* SPDX-License-Identifier: BSD-3-Clause */

/* Several packets in one Rx CQE, how long it waits for them, and fences. */

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "nic.h"
#include "rig.h"

static void
test_flags(void **state)
{
	static struct rig rig;
	struct rig_port *a = &rig.port[0], *b = &rig.port[1];
	struct device_port_counters counters;
	uint32_t i, j;

	(void)state;
	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig_start(&rig);
	rig_fill_rq(&rig, b, 32);
	/* 6 UDP, 1 not IP, 1 UDP: CQEs of 4, 2, 1, 1. */
	for (i = 0; i < 8; i++) {
		uint32_t n = rig_frame(a->buf + i * 256, NIC_PROTO_UDP, i);
		struct rig_wqe wqe = rig_tx_wqe(a, i * 256, n);

		if (i == 6)
			a->buf[i * 256 + 12] = 0x99;
		rig_post(&a->sq, &wqe);
	}
	rig_ring_sq(&rig, a);
	for (i = 0; i < 4; i++) {
		static const uint32_t want[] = { 4, 2, 1, 1 };
		static const uint32_t first[] = { 0, 4, 6, 7 };
		const uint8_t *cqe = rig_cqe(&b->rcq);

		assert_non_null(cqe);
		assert_int_equal(cqe[0], want[i] > 1 ? 0x42 : 0x41);
		for (j = 0; j < 4; j++)
			assert_int_equal(hw_le32(cqe + 8 + 12 * j),
					 j < want[i] ? 42 + first[i] + j : 0);
		assert_int_equal(hw_le32(cqe + 56), first[i] * 32);
	}
	assert_null(rig_cqe(&b->rcq));
	device_port_counters(0, 1, &counters);
	assert_int_equal(counters.rx_packets, 8);
	assert_no_violation();
	rig_stop(&rig);
}

/* Send one frame with its own doorbell: one event of the clock. */
static void
send_one(struct rig *rig, uint8_t proto)
{
	struct rig_port *a = &rig->port[0];
	struct rig_wqe wqe = rig_tx_wqe(a, 0, rig_frame(a->buf, proto, 30));

	assert_int_equal(rig_send(rig, a, &wqe), HW_CQE_TX_OKAY);
}

static void
assert_coalesced(struct rig_port *b, uint32_t nb_packets)
{
	const uint8_t *cqe = rig_cqe(&b->rcq);
	uint32_t i, n = 0;

	assert_non_null(cqe);
	for (i = 0; i < 4; i++)
		n += hw_le32(cqe + 8 + 12 * i) != 0;
	assert_int_equal(n, nb_packets);
	assert_int_equal(cqe[0], nb_packets > 1 ? 0x42 : 0x41);
	assert_null(rig_cqe(&b->rcq));
}

/* What the launcher and kernel calls do. */
static void
tick(void)
{
	segment_lock();
	if (clock_is_due())
		device_timers(clock_take());
	segment_unlock();
}

/* Packets of several doorbells share a CQE for 2048 ns of virtual time. */
static void
test_time(void **state)
{
	static struct rig rig;
	struct rig_port *b = &rig.port[1];
	uint64_t opened_ns;
	uint32_t i;

	(void)state;
	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig.config.coalesce_ns = 2048;
	rig_start(&rig);
	rig_fill_rq(&rig, b, 32);
	rig_nb_kicks = 0;
	send_one(&rig, NIC_PROTO_UDP);
	opened_ns = clock_now();
	tick();
	assert_null(rig_cqe(&b->rcq));
	assert_int_equal(segment_clock()->due_ns, opened_ns + 2048);
	assert_int_equal(rig_nb_kicks, 1); /* the launcher looks at the clock */
	send_one(&rig, NIC_PROTO_UDP);
	send_one(&rig, NIC_PROTO_UDP);
	assert_null(rig_cqe(&b->rcq));
	/* 3000 ns after the first: its CQE is written, a new one is open. */
	send_one(&rig, NIC_PROTO_UDP);
	assert_coalesced(b, 3);
	/* Nothing more comes: the clock writes it. */
	segment_clock()->virtual_ns += 2047;
	tick();
	assert_null(rig_cqe(&b->rcq));
	segment_clock()->virtual_ns += 1;
	tick();
	assert_coalesced(b, 1);
	assert_false(clock_is_due());
	/* Four of them do not wait; nor does one when another kind comes. */
	segment_clock()->virtual_ns += 100000;
	tick();
	for (i = 0; i < 2; i++)
		send_one(&rig, NIC_PROTO_UDP);
	send_one(&rig, NIC_PROTO_TCP);
	assert_coalesced(b, 2);
	segment_clock()->virtual_ns += 1047;
	tick();
	assert_null(rig_cqe(&b->rcq));
	segment_clock()->virtual_ns += 2048;
	tick();
	assert_coalesced(b, 1);
	assert_no_violation();
	rig_stop(&rig);
}

/* A fence and the end of the queue do not leave a packet behind. */
static void
test_fence(void **state)
{
	static struct rig rig;
	struct rig_port *b = &rig.port[1];
	const uint8_t *cqe;
	uint32_t id;

	(void)state;
	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig.config.coalesce_ns = 1000000;
	rig_start(&rig);
	rig_fill_rq(&rig, b, 4);
	send_one(&rig, NIC_PROTO_UDP);
	send_one(&rig, NIC_PROTO_UDP);
	assert_int_equal(device_port_rq(0, 1, 0, &id), 0);
	assert_int_equal(id, b->rq.id);
	assert_int_equal(device_port_rq(0, 1, 1, &id), -ENOENT);
	assert_int_equal(device_rq_fence(0, id + 7), -EPROTO);
	assert_int_equal(device_rq_fence(0, id), 0);
	assert_int_equal(rig_cqe(&b->rcq)[0], 0x42);
	cqe = rig_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe), 0x43);
	assert_int_equal(hw_le32(cqe + 8), 0);
	assert_int_equal(hw_le32(cqe + 60), 1u << 29 | b->rq.id);
	assert_null(rig_cqe(&b->rcq));
	/* The timer that is left finds nothing. */
	segment_clock()->virtual_ns += 2000000;
	tick();
	assert_null(rig_cqe(&b->rcq));
	/* Two WQEs were used, the fence took none. */
	assert_int_equal(card_rq(card_function(0), id)->ci, 2 * HW_BU_BYTES);
	send_one(&rig, NIC_PROTO_UDP);
	device_rq_destroy(0, b->rq.id);
	assert_coalesced(b, 1);
	segment_clock()->virtual_ns += 2000000;
	tick();
	assert_null(rig_cqe(&b->rcq));
	assert_no_violation();
	rig_stop(&rig);
}

/* In real time the device thread stays awake until the CQE is written. */
static void
test_thread(void **state)
{
	static struct rig rig;
	struct rig_port *a = &rig.port[0], *b = &rig.port[1];
	struct rig_wqe wqe;
	bool has_worked = true;

	(void)state;
	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig.config.coalesce_ns = 2048;
	rig.config.mode = MODEL_MODE_THREAD;
	rig_start(&rig);
	rig_fill_rq(&rig, b, 4);
	wqe = rig_tx_wqe(a, 0, rig_frame(a->buf, NIC_PROTO_UDP, 30));
	assert_int_equal(rig_send(&rig, a, &wqe), -1);
	while (has_worked) {
		segment_lock();
		has_worked = device_run(model_self);
		segment_unlock();
	}
	assert_coalesced(b, 1);
	assert_false(device_is_due());
	/* And when it dies meanwhile, the clock knows. */
	assert_true(segment_clock()->due_ns != CLOCK_NEVER);
	assert_no_violation();
	rig_stop(&rig);
}

/* More queues wait than the card keeps in mind: then none waits. */
static void
test_many_queues(void **state)
{
	enum {
		NB = CARD_MAX_OPEN + 6
	};
	static struct rig rig;
	static struct rig_ring rq[NB], rcq[NB];
	struct rig_port *b = &rig.port[1];
	struct device_memory memory;
	uint32_t i, nb_seen = 0;
	uint8_t *mem = aligned_alloc(4096, NB * 8192);

	(void)state;
	assert_non_null(mem);
	memset(mem, 0, NB * 8192);
	rig_defaults(&rig);
	rig.config.coalesce = true;
	rig.config.coalesce_ns = 1000000;
	rig_start(&rig);
	for (i = 0; i < NB; i++) {
		const struct rig_ring own = b->rq;

		rcq[i] = (struct rig_ring){ .mem = mem + i * 8192,
					    .bytes = 4096,
					    .pos = 64 };
		rq[i] = (struct rig_ring){ .mem = mem + i * 8192 + 4096,
					   .bytes = 4096 };
		memory = (struct device_memory){ model_self,
						 (uintptr_t)rcq[i].mem, 4096 };
		assert_int_equal(device_cq_create(0, b->pdn, b->page, &memory,
						  &rcq[i].id),
				 0);
		memory.addr = (uintptr_t)rq[i].mem;
		assert_int_equal(device_rq_create(0, 1, b->pdn, b->page,
						  &memory, rcq[i].id, &rq[i].id),
				 0);
		b->rq = rq[i];
		rig_fill_rq(&rig, b, 8);
		rq[i] = b->rq;
		b->rq = own;
	}
	for (i = 0; i < NB; i++) {
		rig_steer(&rig, 1, false, &rq[i].id, 1);
		send_one(&rig, NIC_PROTO_UDP);
	}
	for (i = 0; i < NB; i++)
		nb_seen += rig_cqe(&rcq[i]) != NULL;
	assert_int_equal(nb_seen, CARD_MAX_OPEN);
	/* The others in their time, each once. */
	segment_clock()->virtual_ns += 1000000;
	tick();
	for (i = CARD_MAX_OPEN; i < NB; i++)
		assert_int_equal(rig_cqe(&rcq[i])[0], 0x41);
	for (i = 0; i < NB; i++)
		assert_null(rig_cqe(&rcq[i]));
	assert_int_equal(segment_device()->nb_open, 0);
	assert_no_violation();
	rig_stop(&rig);
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_many_queues),
	};

	return cmocka_run_group_tests_name("coalesce", tests, NULL, NULL);
}
