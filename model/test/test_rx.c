/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive WQEs of several SGEs, good and bad, and what there is no room for. */

#include <sys/mman.h>

#include "nic.h"
#include "rig.h"

#define RX_OFF 65536u /* in b's buf */

static struct rig *rig;
static struct rig_port *a, *b;

static int
start(void **state)
{
	const int ret = rig_setup(state);
	uint32_t i;

	rig = *state;
	a = &rig->port[0];
	b = &rig->port[1];
	for (i = 0; i < 8192; i++)
		a->buf[i] = (uint8_t)(i * 13 + i / 256);
	memset(b->buf, 0xee, RIG_BUF_BYTES);
	return ret;
}

static struct device_port_counters
counters(void)
{
	struct device_port_counters c;

	device_port_counters(0, 1, &c);
	return c;
}

/* A WQE of SGEs of these sizes, a page apart; 0 ends. */
static struct rig_wqe
rx_wqe(const uint32_t *sizes)
{
	struct rig_wqe wqe = { .header = { 0, 0x200 } };

	for (; *sizes != 0; sizes++)
		rig_tx_add_sge(b, &wqe, RX_OFF + 4096 * wqe.nb_sge, *sizes);
	return wqe;
}

static void
post(const struct rig_wqe *wqe)
{
	rig_post(&b->rq, wqe);
	rig_ring_rq(rig, b);
}

/* nb_bytes from a to b; the Rx CQE or NULL. */
static const uint8_t *
pass(uint32_t nb_bytes)
{
	struct rig_wqe wqe = rig_tx_wqe(a, 0, nb_bytes);

	assert_int_equal(rig_send(rig, a, &wqe), HW_CQE_TX_OKAY);
	return rig_cqe(&b->rcq);
}

/* The first nb_bytes of the frame lie in the SGEs, and nothing beyond. */
static void
assert_scattered(const struct rig_wqe *wqe, uint32_t nb_bytes)
{
	uint32_t i, n, done = 0;

	for (i = 0; i < wqe->nb_sge; i++, done += n) {
		const uint8_t *sge = (const uint8_t *)(uintptr_t)wqe->sge[i].addr;

		n = wqe->sge[i].size_bytes;
		if (n > nb_bytes - done)
			n = nb_bytes - done;
		assert_memory_equal(sge, a->buf + done, n);
		assert_int_equal(sge[n], 0xee);
	}
	assert_int_equal(done, nb_bytes);
}

static void
test_every_number_of_sges(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 1; n <= 15; n++) {
		uint32_t sizes[16] = { 0 }, room = 0;
		struct rig_wqe wqe;
		const uint8_t *cqe;

		for (i = 0; i < n; i++)
			room += sizes[i] = 1 + (i * 37 + n) % 150;
		wqe = rx_wqe(sizes);
		if (room < 60)
			wqe.sge[n - 1].size_bytes += 60 - room;
		room = room < 60 ? 60 : room;
		/* Just full, then one byte less. */
		for (i = 0; i < 2 && room - i >= 60; i++) {
			memset(b->buf, 0xee, RIG_BUF_BYTES);
			post(&wqe);
			cqe = pass(room - i);
			assert_non_null(cqe);
			assert_int_equal(cqe[0], 0x41);
			assert_int_equal(hw_le32(cqe + 8), room - i);
			assert_scattered(&wqe, room - i);
		}
	}
	assert_no_violation();
}

/* All SGEs are filled; the length is the packet's; the next WQE is next. */
static void
test_truncated(void **state)
{
	static const uint32_t sizes[] = { 20, 1, 100, 7, 0 };
	const struct rig_wqe wqe = rx_wqe(sizes);
	const uint8_t *cqe;

	(void)state;
	post(&wqe);
	post(&wqe);
	cqe = pass(129);
	assert_int_equal(cqe[0], 0x44);
	assert_int_equal(hw_le32(cqe + 8), 129);
	assert_int_equal(hw_le32(cqe + 56), 0);
	assert_scattered(&wqe, 128);
	assert_int_equal(counters().rx_truncated, 1);
	assert_int_equal(counters().rx_packets, 0);
	cqe = pass(128);
	assert_int_equal(cqe[0], 0x41);
	assert_int_equal(hw_le32(cqe + 56), 96); /* 16 + 4 x 16, rounded */
	assert_no_violation();
}

/* An empty SGE is skipped, wherever it is, and named. */
static void
test_zero_size(void **state)
{
	static const uint32_t sizes[] = { 50, 50, 50, 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct rig_wqe wqe = rx_wqe(sizes);

		memset(b->buf, 0xee, RIG_BUF_BYTES);
		wqe.sge[i] = (struct hw_sge){ .addr = 1 };
		post(&wqe);
		assert_int_equal(pass(100)[0], 0x41);
		wqe.sge[i].addr = (uintptr_t)b->buf;
		assert_scattered(&wqe, 100);
		assert_violation(sge_zero_size, i + 1);
	}
}

/* A bad SGE in the middle: no CQE, the queue stops, also when not needed. */
static void
test_bad_sge(void **state)
{
	static const uint32_t sizes[] = { 80, 80, 80, 0 };
	static const enum violation names[] = {
		VIOLATION_sge_key_unknown,
		VIOLATION_sge_key_foreign_pd,
		VIOLATION_sge_out_of_range,
		VIOLATION_sge_memory_fault,
	};
	uint32_t kind, size;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		/* 60 bytes do not reach the second SGE, a fault must. */
		for (size = kind == 3 ? 150 : 60; size <= 150; size += 90) {
			struct rig_wqe wqe;
			static struct rig bench;

			rig_defaults(&bench);
			rig = &bench;
			a = &rig->port[0];
			b = &rig->port[1];
			rig_start(rig);
			wqe = rx_wqe(sizes);
			if (kind == 0)
				wqe.sge[1].key += 1u << 14;
			else if (kind == 1)
				wqe.sge[1].key = a->key;
			else if (kind == 2)
				wqe.sge[1].addr = (uintptr_t)b->buf +
						  RIG_BUF_BYTES - 79;
			else
				mprotect(b->buf + RX_OFF + 4096, 4096, PROT_READ);
			post(&wqe);
			rig_fill_rq(rig, b, 1);
			assert_null(pass(size));
			assert_null(pass(60));
			rig_assert_violation(names[kind], 1, "bad sge", kind);
			assert_int_equal(counters().rx_errors, 2);
			rig_stop(rig);
		}
	}
}

/* Ten times as many packets as WQEs: each is received or counted. */
static void
test_overload(void **state)
{
	uint32_t i, got = 0;

	(void)state;
	for (i = 0; i < 500; i++) {
		if (i % 10 == 0)
			rig_fill_rq(rig, b, 1);
		got += pass(60) != NULL;
		rig_ring_cq(rig, a, &a->scq, false);
		rig_ring_cq(rig, b, &b->rcq, false);
	}
	assert_int_equal(got, 50);
	assert_int_equal(counters().rx_packets, 50);
	assert_int_equal(counters().rx_no_wqe, 450);
	assert_no_violation();
}

/* WQEs that straddle the ring's end, whatever their size. */
static void
test_wrap(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < 500; i++) {
		uint32_t sizes[16] = { 0 };
		struct rig_wqe wqe;
		const uint8_t *cqe;

		for (n = 0; n < 1 + i % 15; n++)
			sizes[n] = 100;
		wqe = rx_wqe(sizes);
		post(&wqe);
		cqe = pass(100 * n - i % 30);
		assert_int_equal(cqe[0], 0x41);
		assert_memory_equal((void *)(uintptr_t)wqe.sge[n - 1].addr,
				    a->buf + 100 * (n - 1), 100 - i % 30);
		rig_ring_cq(rig, a, &a->scq, false);
		rig_ring_cq(rig, b, &b->rcq, false);
	}
	assert_no_violation();
}

/* The hash type of each kind of packet, with RSS. */
static void
test_hash_types(void **state)
{
	static const struct {
		bool v6;
		uint8_t proto;
		uint32_t type;
	} kinds[] = {
		{ false, NIC_PROTO_TCP, 0x002 },
		{ false, NIC_PROTO_UDP, 0x004 },
		{ false, 47, 0x001 },
		{ true, NIC_PROTO_TCP, 0x010 },
		{ true, NIC_PROTO_UDP, 0x020 },
		{ true, 58, 0x008 },
		{ true, 0, 0x040 },
		{ true, 44, 0x040 },
	};
	uint32_t i, n;

	(void)state;
	rig_steer(rig, 1, true, &b->rq.id, 1);
	rig_fill_rq(rig, b, 32);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const bool is_udp = kinds[i].proto == NIC_PROTO_UDP;
		const uint8_t l4 = is_udp ? NIC_PROTO_UDP : NIC_PROTO_TCP;
		const uint8_t *cqe;
		uint32_t hash;

		n = kinds[i].v6 ? rig_frame6(a->buf, l4, 30) :
				  rig_frame(a->buf, l4, 30);
		a->buf[kinds[i].v6 ? 20 : 23] = kinds[i].proto;
		cqe = pass(n);
		assert_int_equal(hw_le32(cqe + 4) >> 16 & 0x1ff, kinds[i].type);
		hash = hw_le32(cqe + 16);
		assert_int_not_equal(hash, 0);
		/* The ports count in the types of L4 alone. */
		a->buf[kinds[i].v6 ? 55 : 35]++;
		cqe = pass(n);
		assert_int_equal(hw_le32(cqe + 16) != hash,
				 (kinds[i].type & 0x1b6) != 0);
	}
	hw_put_be16(a->buf + 12, NIC_ETHERTYPE_ARP);
	assert_int_equal(hw_le32(pass(60) + 4), 0);
	assert_no_violation();
}

/* 802.1Q alone is stripped, and its id may be 0. */
static void
test_tags(void **state)
{
	const uint32_t good = HW_RX_F_IP_OK | HW_RX_F_TCP_OK;
	struct rig_wqe wqe = rig_csum_wqe(a, NIC_PROTO_TCP, false);
	const uint8_t *cqe;

	(void)state;
	rig_fill_rq(rig, b, 2);
	rig_add_tag(a, &wqe, 0xe000);
	assert_int_equal(rig_send(rig, a, &wqe), HW_CQE_TX_OKAY);
	cqe = rig_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4), HW_RX_F_VLAN | good);
	assert_int_equal(hw_le32(cqe + 8), 84);
	assert_int_equal(hw_be16(rig_rx_buf(b, 0) + 12), NIC_ETHERTYPE_IPV4);
	hw_put_be16(a->buf + 12, NIC_ETHERTYPE_QINQ);
	assert_int_equal(rig_send(rig, a, &wqe), HW_CQE_TX_OKAY);
	cqe = rig_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4), 0);
	assert_int_equal(hw_le32(cqe + 8), 88);
	assert_int_equal(hw_be16(rig_rx_buf(b, 1) + 12), NIC_ETHERTYPE_QINQ);
	assert_no_violation();
}

int
main(void)
{
#define BENCH(test) cmocka_unit_test_setup_teardown(test, start, rig_teardown)
	const struct CMUnitTest tests[] = {
		BENCH(test_every_number_of_sges),
		BENCH(test_truncated),
		BENCH(test_zero_size),
		cmocka_unit_test(test_bad_sge),
		BENCH(test_overload),
		BENCH(test_wrap),
		BENCH(test_hash_types),
		BENCH(test_tags),
	};

	return cmocka_run_group_tests_name("rx", tests, NULL, NULL);
}
