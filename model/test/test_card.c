/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card without a kernel, with a correct driver. See test_golden.c for completions,
 * test_rx.c for scattered packets, test_arming.c for events.
 */

#include <errno.h>
#include <stdlib.h>

#include "nic.h"
#include "fixture.h"
#include "wire.h"

FX_TEST(test_identity)
{
	static const uint8_t mac[6] = { 0x00, 0x0d, 0x3a, 0, 0, 2 };
	uint8_t got[6];

	card_port_mac(0, 1, got);
	assert_memory_equal(got, mac, 6);
	assert_int_equal(a->sq.id, 1008);
	assert_int_equal(b->sq.id, 1009);
	assert_int_equal(a->rq.id, 560);
	assert_int_equal(a->vp_offset, 5);
	assert_int_equal(b->vp_offset, 8);
	assert_no_violation();
}

/* Ten laps of the rings, WQEs of changing size straddling the end. */
FX_TEST(test_wrap)
{
	uint32_t i, n, sent_pos = 0;
	const uint8_t *cqe;

	fx_fill_rq(b, 200);
	for (i = 0; i < 3000; i++) {
		struct fx_wqe wqe = fx_tx_wqe(a, i % 61, 64);

		a->buf[i % 61] = (uint8_t)i;
		for (n = 1; n < 1 + i % 30; n++)
			fx_tx_add_sge(a, &wqe, i % 61 + 64 * n, 1 + n);
		if (i % 3 == 0 && n < 30)
			fx_tx_long(a, &wqe);
		fx_post(&a->sq, &wqe);
		fx_ring_sq(a);
		cqe = fx_cqe(&a->scq);
		assert_non_null(cqe);
		assert_int_equal(cqe[0], 0x60);
		/* The position of the WQE in BUs. */
		assert_int_equal(hw_le32(cqe + 8) >> 5, sent_pos / 32);
		sent_pos = a->sq.pos;
		cqe = fx_cqe(&b->rcq);
		assert_non_null(cqe);
		assert_int_equal(hw_le32(cqe + 56), i * 32);
		assert_int_equal(fx_rx_buf(b, i)[0], (uint8_t)i);
		fx_fill_rq(b, 1);
		if (i % 100 == 0) {
			fx_ring_cq(a, &a->scq, false);
			fx_ring_cq(b, &b->rcq, false);
		}
	}
	assert_no_violation();
}

/* The last BU of the ring holds header and OOB, the SGL is at its start. */
FX_TEST(test_long_oob_at_end)
{
	struct fx_wqe wqe;

	fx_fill_rq(b, 255);
	while (a->sq.pos != a->sq.bytes - 32) {
		wqe = fx_tx_wqe(a, 0, 60);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	}
	wqe = fx_tx_wqe(a, 100, 60);
	fx_tx_long(a, &wqe);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(a->sq.pos, a->sq.bytes + 32);
	assert_no_violation();
}

FX_TEST(test_no_wqe)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	struct card_queue_counters queue;

	fx_fill_rq(b, 1);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(fx_counters(1).rx_no_wqe, 1);
	assert_non_null(fx_cqe(&b->rcq));
	assert_null(fx_cqe(&b->rcq));
	assert_true(card_port_queue(0, 1, 1, &queue));
	assert_int_equal(queue.id, b->rq.id);
	assert_false(queue.is_sq);
	assert_true(queue.alive);
	assert_int_equal(queue.packets, 1);
	assert_int_equal(queue.no_wqe, 1);
	assert_false(card_port_queue(0, 1, 2, &queue));
	card_vport_disable_rx(0, 1);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(fx_counters(1).rx_no_steering, 1);
	card_rq_destroy(0, b->rq.id);
	assert_true(card_port_queue(0, 1, 1, &queue));
	assert_false(queue.alive);
	assert_no_violation();
}

/* Flags of frames that are damaged, fragmented, or without a checksum. */
FX_TEST(test_rx_flags)
{
	static const struct {
		uint32_t off;
		uint8_t set[2];
		uint32_t flags;
	} cases[] = {
		{ 24, { 1, 2 }, HW_RX_F_IP_FAIL | HW_RX_F_UDP_OK },
		{ 50, { 1, 2 }, HW_RX_F_IP_OK | HW_RX_F_UDP_FAIL },
		{ 40, { 0, 0 }, HW_RX_F_IP_OK },
		{ 20, { 0x20, 0 }, HW_RX_F_IP_FAIL }, /* fragment */
		{ 12, { 0x88, 0xb5 }, 0 },
		{ 14, { 0x65, 0 }, 0 },
	};
	uint32_t i;

	fx_fill_rq(b, 8);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 22);
		struct fx_wqe wqe = fx_tx_wqe(a, 0, n);

		memcpy(a->buf + cases[i].off, cases[i].set, 2);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4), cases[i].flags);
	}
	assert_no_violation();
}

/* 32-bit doorbells contain increments. */
FX_TEST(test_short_doorbells)
{
	struct fx_wqe rx = { .header = { 0, 0x200 } };
	struct fx_wqe tx = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	fx_tx_add_sge(b, &rx, FX_BUF_BYTES / 2, 2048);
	for (i = 0; i < 700; i++) {
		fx_post(&b->rq, &rx);
		fx_doorbell(b, 0x410, b->rq.id << 16 | 32, 4);
		fx_post(&a->sq, &tx);
		fx_doorbell(a, 0x010, a->sq.id << 16 | 32, 4);
		assert_non_null(fx_cqe(&a->scq));
		assert_non_null(fx_cqe(&b->rcq));
		fx_doorbell(a, 0x810, a->scq.id << 16 | 1, 4);
		fx_doorbell(b, 0x810, 1u << 31 | b->rcq.id << 16 | 1, 4);
	}
	/* Each armed CQE of b gave an event, and the first two of all. */
	assert_int_equal(fx_nb_events, 701);
	assert_no_violation();
}

FX_TEST(test_rss)
{
	struct fx_ring rq[4], rcq[4];
	uint32_t ids[4], got[4] = { 0 }, i, q;

	for (q = 0; q < 4; q++) {
		rq[q] = b->rq;
		rcq[q] = b->rcq;
		rq[q].mem = aligned_alloc(4096, rq[q].bytes);
		rcq[q].mem = aligned_alloc(4096, rcq[q].bytes);
		memset(rcq[q].mem, 0, rcq[q].bytes);
		fx_queue(b, 1, &rq[q], &rcq[q], false);
		ids[q] = rq[q].id;
		b->rq = rq[q];
		fx_fill_rq(b, 200);
		rq[q].pos = b->rq.pos;
	}
	fx_steer(1, true, ids, 4);
	for (i = 0; i < 200; i++) {
		uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 20);
		struct fx_wqe wqe = fx_tx_wqe(a, 0, n);

		hw_put_be16(a->buf + 34, (uint16_t)(i * 257));
		hw_put_be16(a->buf + 40, 0);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		for (q = 0; q < 4; q++) {
			const uint8_t *cqe = fx_cqe(&rcq[q]);

			if (cqe == NULL)
				continue;
			got[q]++;
			assert_int_equal(hw_le32(cqe + 4) >> 16 & 0x1ff,
					 HW_HASH_UDP_IPV4);
			assert_int_equal(hw_le32(cqe + 16) % 4, q);
			break;
		}
		assert_true(q < 4);
	}
	for (q = 0; q < 4; q++)
		assert_true(got[q] > 20);
	/* ARP goes to the default queue, the last of the table. */
	a->buf[13] = 0x06;
	{
		struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	}
	assert_non_null(fx_cqe(&rcq[3]));
	for (q = 0; q < 4; q++) {
		free(rq[q].mem);
		free(rcq[q].mem);
	}
	b->rq.mem = NULL;
	assert_no_violation();
}

TEST_WITH(test_thread_mode, NULL, fx_teardown)
{
	static struct fixture fx;
	struct fx_wqe wa, wb;

	fx_defaults(&fx);
	fx.config.mode = MODEL_MODE_THREAD;
	fx_start(&fx);
	fx_fill_rq(b, 4);
	wa = fx_tx_wqe(a, 0, 60);
	wb = fx_tx_wqe(b, 0, 60);
	assert_int_equal(fx_send(a, &wa), -1);
	assert_int_equal(fx_send(b, &wb), -1);
	assert_int_equal(fx_send(a, &wa), -1);
	assert_int_equal(fx_nb_kicks, 3);
	segment_lock();
	assert_true(card_run(model_self));
	assert_false(card_run(model_self));
	segment_unlock();
	assert_non_null(fx_cqe(&a->scq));
	assert_non_null(fx_cqe(&a->scq));
	assert_non_null(fx_cqe(&b->scq));
	assert_non_null(fx_cqe(&b->rcq));
	/* Destroyed queues leave the pending list. */
	fx_send(a, &wa);
	fx_send(b, &wb);
	card_sq_destroy(0, b->sq.id);
	segment_lock();
	assert_true(card_run(model_self));
	segment_unlock();
	fx_send(a, &wa);
	card_sq_destroy(0, a->sq.id);
	segment_lock();
	assert_false(card_run(model_self));
	segment_unlock();
	assert_no_violation();
}

/* On a PCI machine a call ends after some frames; SQs take turns. */
TEST_WITH(test_bounded_run, NULL, fx_teardown)
{
	static struct fixture fx;
	struct fx_wqe lso, wqe;
	uint32_t i, nb_calls;

	fx_defaults(&fx);
	fx.config.mode = MODEL_MODE_THREAD;
	fx.config.is_pci = true;
	fx_start(&fx);
	/* 3 x 1500 segments of 1 byte; 100 frames of the other port. */
	lso = fx_lso_wqe(a, false, 1500);
	lso.header[1] = (lso.header[1] & 0xffff) | 1u << 16;
	for (i = 0; i < 3; i++)
		fx_post(&a->sq, &lso);
	fx_ring_sq(a);
	wqe = fx_tx_wqe(b, 0, 60);
	for (i = 0; i < 100; i++)
		fx_post(&b->sq, &wqe);
	fx_ring_sq(b);
	segment_lock();
	assert_true(card_run(model_self));
	assert_int_equal(fx_counters(0).tx_packets, 1500);
	assert_int_equal(fx_counters(1).tx_packets, 0);
	assert_true(card_run(model_self));
	assert_int_equal(fx_counters(1).tx_packets, 100);
	assert_true(fx_counters(0).tx_packets < 4500);
	for (nb_calls = 0; card_run(model_self); nb_calls++)
		assert_true(nb_calls < 4);
	segment_unlock();
	assert_int_equal(fx_counters(0).tx_packets, 4500);
	for (i = 0; i < 3; i++)
		assert_non_null(fx_cqe(&a->scq));
	assert_null(fx_cqe(&a->scq));
	assert_no_violation();
}

/*
 * Undo the counts of b's last packet, as if its writer had been killed
 * meanwhile.
 */
static void
forget_last_packet(struct card_function *f, struct wq *rq, bool was_written)
{
	struct cq *cq = &f->cqs[rq->cq];
	struct card_posting *posting = &segment_card()->posting;

	posting->fn = 0;
	posting->wq = (uint32_t)(rq - f->wqs);
	posting->wq_ci = rq->ci + (was_written ? 0 : HW_BU_BYTES);
	posting->cq_pi = cq->pi - was_written;
	posting->is_active = true;
	if (was_written) {
		cq->pi--;
		rq->ci -= HW_BU_BYTES;
	}
	segment_lock();
	card_recover();
	segment_unlock();
	assert_false(posting->is_active);
}

/* Queues of other programs stay correct when the lock's holder is killed. */
FX_TEST(test_lock_holder_is_killed)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	struct card_function *f = card_function(0);
	struct wq *rq = card_rq(f, b->rq.id);
	uint32_t i;

	fx_fill_rq(b, 8);
	for (i = 0; i < 6; i++) {
		memset(a->buf, (int)(i + 1), 60);
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		forget_last_packet(f, rq, i % 2 == 0);
		assert_non_null(fx_cqe(&b->rcq));
		assert_null(fx_cqe(&b->rcq));
		assert_memory_equal(fx_rx_buf(b, i), a->buf, 60);
		fx_ring_cq(b, &b->rcq, false);
	}
	assert_int_equal(rq->ci, 6 * HW_BU_BYTES);
	assert_no_violation();
}

/*
 * A program was killed after it created queues that no object refers to:
 * destroying its doorbell page destroys them.
 */
FX_TEST(test_page_destroy_destroys_queues)
{
	fx_fill_rq(b, 4);
	card_doorbell_page_destroy(0, b->page);
	assert_null(card_rq(card_function(0), b->rq.id));
	assert_null(card_sq(card_function(0), b->sq.id));
	assert_null(card_cq(card_function(0), b->rcq.id));
	assert_null(card_cq(card_function(0), b->scq.id));
	assert_non_null(card_sq(card_function(0), a->sq.id));
	assert_false(card_port(0, 1)->rx_enabled);
	assert_true(card_port(0, 0)->rx_enabled);
}

TEST_WITH(test_backends, NULL, fx_teardown)
{
	static struct fixture fx;
	uint32_t port, i;
	uint8_t buf[2048];
	uint64_t at_ns;

	fx_defaults(&fx);
	fx.config.wire = MODEL_WIRE_TAP;
	fx_start(&fx);
	for (i = 0; i < 10000; i++) {
		struct fx_wqe wqe = fx_tx_wqe(a, i % 100, 60 + i % 1400);

		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		wqe = fx_tx_wqe(b, 0, 61);
		assert_int_equal(fx_send(b, &wqe), HW_CQE_TX_OKAY);
		fx_ring_cq(a, &a->scq, false);
		fx_ring_cq(b, &b->scq, false);
		assert_int_equal(wire_backend_next(&port, buf, sizeof(buf), &at_ns),
				 60 + i % 1400);
		assert_int_equal(port, 0);
		assert_memory_equal(buf, a->buf + i % 100, 60 + i % 1400);
		assert_int_equal(wire_backend_next(&port, buf, sizeof(buf), &at_ns),
				 61);
		assert_int_equal(port, 1);
		assert_int_equal(wire_backend_next(&port, buf, sizeof(buf), &at_ns),
				 0);
	}
	assert_int_equal(fx_nb_kicks, 10000);
	fx_fill_rq(b, 1);
	card_port_receive(0, 1, a->buf, 100);
	assert_non_null(fx_cqe(&b->rcq));
	assert_no_violation();
}

/* Commands that the card refuses. */
FX_TEST(test_refusals)
{
	struct card_memory m = { model_self, (uintptr_t)a->sq.mem, 8192 };
	uint32_t id;

	m.size = 2048;
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &m, &id), -EPROTO);
	m.size = 12288;
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &m, &id), -EPROTO);
	m.size = 8192;
	m.addr += 64;
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &m, &id), -EPROTO);
	m.addr -= 64;
	assert_int_equal(card_cq_create(0, 77, a->page, &m, &id), -EPROTO);
	assert_int_equal(card_cq_create(0, a->pdn, 77, &m, &id), -EPROTO);
	assert_int_equal(card_cq_create(9, a->pdn, a->page, &m, &id), -EPROTO);
	/* A CQ serves one queue. */
	assert_int_equal(card_sq_create(0, 0, a->pdn, a->page, &m, a->scq.id,
					&id),
			 -EPROTO);
	assert_int_equal(card_sq_create(0, 0, a->pdn, a->page, &m, 4000, &id),
			 -EPROTO);
	assert_no_violation();
}
