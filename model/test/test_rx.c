/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx WQEs with several SGEs, valid and invalid, and packets without room. */

#include <sys/mman.h>

#include "nic.h"
#include "fixture.h"

#define RX_OFF 65536u /* in b's buf */

static int
start(void **state)
{
	const int ret = fx_setup(state);
	uint32_t i;

	for (i = 0; i < 8192; i++)
		a->buf[i] = (uint8_t)(i * 13 + i / 256);
	memset(b->buf, 0xee, FX_BUF_BYTES);
	return ret;
}

/* A WQE with SGEs of these sizes, a page apart; 0 ends the list. */
static struct fx_wqe
rx_wqe(const uint32_t *sizes)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };

	for (; *sizes != 0; sizes++)
		fx_tx_add_sge(b, &wqe, RX_OFF + 4096 * wqe.nb_sge, *sizes);
	return wqe;
}

static void
post(const struct fx_wqe *wqe)
{
	fx_post(&b->rq, wqe);
	fx_ring_rq(b);
}

/* Send nb_bytes from a to b; returns the Rx CQE or NULL. */
static const uint8_t *
pass(uint32_t nb_bytes)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, nb_bytes);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	return fx_cqe(&b->rcq);
}

/* Assert that the SGEs contain the first nb_bytes of the frame, and no more. */
static void
assert_scattered(const struct fx_wqe *wqe, uint32_t nb_bytes)
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

TEST_WITH(test_every_number_of_sges, start, fx_teardown)
{
	uint32_t n, i;

	for (n = 1; n <= 15; n++) {
		uint32_t sizes[16] = { 0 }, room = 0;
		struct fx_wqe wqe;
		const uint8_t *cqe;

		for (i = 0; i < n; i++)
			room += sizes[i] = 1 + (i * 37 + n) % 150;
		wqe = rx_wqe(sizes);
		if (room < 60)
			wqe.sge[n - 1].size_bytes += 60 - room;
		room = room < 60 ? 60 : room;
		/* An exact fit, then one byte less. */
		for (i = 0; i < 2 && room - i >= 60; i++) {
			memset(b->buf, 0xee, FX_BUF_BYTES);
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

/*
 * All SGEs are filled, the CQE has the packet's length, and the next packet
 * gets the next WQE.
 */
TEST_WITH(test_truncated, start, fx_teardown)
{
	static const uint32_t sizes[] = { 20, 1, 100, 7, 0 };
	const struct fx_wqe wqe = rx_wqe(sizes);
	const uint8_t *cqe;

	post(&wqe);
	post(&wqe);
	cqe = pass(129);
	assert_int_equal(cqe[0], 0x44);
	assert_int_equal(hw_le32(cqe + 8), 129);
	assert_int_equal(hw_le32(cqe + 56), 0);
	assert_scattered(&wqe, 128);
	assert_int_equal(fx_counters(1).rx_truncated, 1);
	assert_int_equal(fx_counters(1).rx_packets, 0);
	cqe = pass(128);
	assert_int_equal(cqe[0], 0x41);
	assert_int_equal(hw_le32(cqe + 56), 96); /* 16 + 4 x 16, rounded */
	assert_no_violation();
}

/* An empty SGE is skipped at any position, with a violation. */
TEST_WITH(test_zero_size, start, fx_teardown)
{
	static const uint32_t sizes[] = { 50, 50, 50, 0 };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct fx_wqe wqe = rx_wqe(sizes);

		memset(b->buf, 0xee, FX_BUF_BYTES);
		wqe.sge[i] = (struct hw_sge){ .addr = 1 };
		post(&wqe);
		assert_int_equal(pass(100)[0], 0x41);
		wqe.sge[i].addr = (uintptr_t)b->buf;
		assert_scattered(&wqe, 100);
		assert_violation(sge_zero_size, i + 1);
	}
}

/*
 * A bad SGE in the middle: no CQE, and the queue stops, even if the packet does
 * not need the SGE.
 */
TEST(test_bad_sge)
{
	static const uint32_t sizes[] = { 80, 80, 80, 0 };
	static const enum violation names[] = {
		VIOLATION_sge_key_unknown,
		VIOLATION_sge_key_foreign_pd,
		VIOLATION_sge_out_of_range,
		VIOLATION_sge_memory_fault,
	};
	uint32_t kind, size;

	for (kind = 0; kind < 4; kind++) {
		/*
		 * 60 bytes do not need the second SGE; a memory fault needs
		 * more.
		 */
		for (size = kind == 3 ? 150 : 60; size <= 150; size += 90) {
			struct fx_wqe wqe;
			static struct fixture fixture;

			fx_defaults(&fixture);
			fx_start(&fixture);
			wqe = rx_wqe(sizes);
			if (kind == 0)
				wqe.sge[1].key += 1u << 14;
			else if (kind == 1)
				wqe.sge[1].key = a->key;
			else if (kind == 2)
				wqe.sge[1].addr = (uintptr_t)b->buf +
						  FX_BUF_BYTES - 79;
			else
				mprotect(b->buf + RX_OFF + 4096, 4096, PROT_READ);
			post(&wqe);
			fx_fill_rq(b, 1);
			assert_null(pass(size));
			assert_null(pass(60));
			fx_assert_violation(names[kind], 1, "bad sge", kind);
			assert_int_equal(fx_counters(1).rx_errors, 2);
			fx_stop(&fixture);
		}
	}
}

/* Ten times as many packets as WQEs: each is received or counted. */
TEST_WITH(test_overload, start, fx_teardown)
{
	uint32_t i, got = 0;

	for (i = 0; i < 500; i++) {
		if (i % 10 == 0)
			fx_fill_rq(b, 1);
		got += pass(60) != NULL;
		fx_ring_cq(a, &a->scq, false);
		fx_ring_cq(b, &b->rcq, false);
	}
	assert_int_equal(got, 50);
	assert_int_equal(fx_counters(1).rx_packets, 50);
	assert_int_equal(fx_counters(1).rx_no_wqe, 450);
	assert_no_violation();
}

/* WQEs of all sizes across the ring's end. */
TEST_WITH(test_wrap, start, fx_teardown)
{
	uint32_t i, n;

	for (i = 0; i < 500; i++) {
		uint32_t sizes[16] = { 0 };
		struct fx_wqe wqe;
		const uint8_t *cqe;

		for (n = 0; n < 1 + i % 15; n++)
			sizes[n] = 100;
		wqe = rx_wqe(sizes);
		post(&wqe);
		cqe = pass(100 * n - i % 30);
		assert_int_equal(cqe[0], 0x41);
		assert_memory_equal((void *)(uintptr_t)wqe.sge[n - 1].addr,
				    a->buf + 100 * (n - 1), 100 - i % 30);
		fx_ring_cq(a, &a->scq, false);
		fx_ring_cq(b, &b->rcq, false);
	}
	assert_no_violation();
}

/* The hash type of each kind of packet, with RSS. */
TEST_WITH(test_hash_types, start, fx_teardown)
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

	fx_steer(1, true, &b->rq.id, 1);
	fx_fill_rq(b, 32);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const bool is_udp = kinds[i].proto == NIC_PROTO_UDP;
		const uint8_t l4 = is_udp ? NIC_PROTO_UDP : NIC_PROTO_TCP;
		const uint8_t *cqe;
		uint32_t hash;

		n = kinds[i].v6 ? fx_frame6(a->buf, l4, 30) :
				  fx_frame(a->buf, l4, 30);
		a->buf[kinds[i].v6 ? 20 : 23] = kinds[i].proto;
		cqe = pass(n);
		assert_int_equal(hw_le32(cqe + 4) >> 16 & 0x1ff, kinds[i].type);
		hash = hw_le32(cqe + 16);
		assert_int_not_equal(hash, 0);
		/* Only L4 hash types depend on ports. */
		a->buf[kinds[i].v6 ? 55 : 35]++;
		cqe = pass(n);
		assert_int_equal(hw_le32(cqe + 16) != hash,
				 (kinds[i].type & 0x1b6) != 0);
	}
	hw_put_be16(a->buf + 12, NIC_ETHERTYPE_ARP);
	assert_int_equal(hw_le32(pass(60) + 4), 0);
	assert_no_violation();
}

/* Only 802.1Q tags are stripped; the id may be 0. */
TEST_WITH(test_tags, start, fx_teardown)
{
	const uint32_t good = HW_RX_F_IP_OK | HW_RX_F_TCP_OK;
	struct fx_wqe wqe = fx_csum_wqe(a, NIC_PROTO_TCP, false);
	const uint8_t *cqe;

	fx_fill_rq(b, 2);
	fx_add_tag(a, &wqe, 0xe000);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4), HW_RX_F_VLAN | good);
	assert_int_equal(hw_le32(cqe + 8), 84);
	assert_int_equal(hw_be16(fx_rx_buf(b, 0) + 12), NIC_ETHERTYPE_IPV4);
	hw_put_be16(a->buf + 12, NIC_ETHERTYPE_QINQ);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4), 0);
	assert_int_equal(hw_le32(cqe + 8), 88);
	assert_int_equal(hw_be16(fx_rx_buf(b, 1) + 12), NIC_ETHERTYPE_QINQ);
	assert_no_violation();
}
