/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each violation that the card records, caused by a driver's error: only this
 * one, once, with the correct queue, and the device's reaction.
 */

#include "violation_cases.h"

static struct fixture fx;

void
send_expect(const struct fx_wqe *wqe, int type)
{
	assert_int_equal(fx_send(a, wqe), type);
	if (type != TX_DEAD)
		return;
	/* The queue is stopped. */
	assert_int_equal(fx_send(a, wqe), -1);
}

struct fx_wqe
rx_wqe(void)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };

	fx_tx_add_sge(b, &wqe, 4096, 2048);
	return wqe;
}

void
receive_expect(bool is_received)
{
	struct fx_wqe tx = fx_tx_wqe(a, 0, 60);

	fx_ring_rq(b);
	send_expect(&tx, TX_OK);
	assert_int_equal(fx_cqe(&b->rcq) != NULL, is_received);
	assert_int_equal(fx_counters(1).rx_errors, !is_received);
}

/* Tested in test_launcher.py (preload library) and test_netdev.c (kernel). */
static const enum violation elsewhere[] = {
	VIOLATION_doorbell_read,
	VIOLATION_doorbell_undecoded,
	VIOLATION_netdev_change_under_raw_qps,
	/* test_hwc.c */
	VIOLATION_bar0_access,
	VIOLATION_shm_message,
	VIOLATION_shm_state,
	VIOLATION_objects_left,
	VIOLATION_hwc_wqe,
	VIOLATION_hwc_no_rx_wqe,
	VIOLATION_request_header,
	VIOLATION_request_unknown,
	VIOLATION_request_version,
	VIOLATION_request_size,
	VIOLATION_request_device,
	VIOLATION_request_handle,
	VIOLATION_request_state,
	VIOLATION_request_field,
	VIOLATION_eq_memory_not_zero,
	VIOLATION_eq_memory_fault,
	VIOLATION_eq_overflow,
	VIOLATION_eq_doorbell_index,
	/* test_synthetic_errors.c, test_synthetic.c */
	VIOLATION_vmbus_ring,
	VIOLATION_vmbus_trailer,
	VIOLATION_vmbus_type,
	VIOLATION_vmbus_ranges,
	VIOLATION_vmbus_memory,
	VIOLATION_nvs_order,
	VIOLATION_nvs_unknown,
	VIOLATION_nvs_buffer,
	VIOLATION_nvs_section,
	VIOLATION_nvs_ack,
	VIOLATION_nvs_no_vf,
	VIOLATION_rndis_state,
	VIOLATION_rndis_message,
	VIOLATION_rndis_packet,
	VIOLATION_rndis_object,
	VIOLATION_rndis_rss_entry,
};

static void
provoke(const struct violation_case *c)
{
	const struct fx_ring *queue = (const void *)((uint8_t *)a + c->queue);
	struct fx_wqe wqe;

	switch (c->base) {
	case NO_WQE:
		fx_doorbell(a, c->reg, queue->id + c->bits, c->nb_bytes);
		return;
	case UDP:
	case TCP:
		wqe = csum_wqe(c->base == UDP ? NIC_PROTO_UDP : NIC_PROTO_TCP);
		break;
	case LSO:
		wqe = lso_wqe();
		break;
	case RX:
		wqe = rx_wqe();
		fx_edit(&wqe, b->buf, c->edits);
		fx_post(&b->rq, &wqe);
		receive_expect(c->cqe);
		return;
	default:
		wqe = fx_tx_wqe(a, 0, 60);
		if (c->base == LONG)
			fx_tx_long(a, &wqe);
		break;
	}
	fx_edit(&wqe, a->buf, c->edits);
	send_expect(&wqe, c->cqe);
}

static void
test_case(void **state)
{
	const struct violation_case *c = *state;
	const struct violation_row *row;

	fx_defaults(&fx);
	fx_start(&fx);
	if (c->provoke != NULL)
		c->provoke();
	else
		provoke(c);
	fx_assert_violation(c->violation, 1, violation_name(c->violation), 0);
	row = &segment_violation_log()->rows[0];
	assert_int_equal(row->place.kind, c->kind);
	assert_int_equal(segment_violation_log()->nb_violations, 1);
	assert_memory_equal(row->detail, "got ", 4);
	assert_non_null(strstr(row->detail, ", want "));
	fx_stop(&fx);
}

/* A wrong trans_off with a UDP request is recorded, but has no effect. */
FX_TEST(test_udp_trans_off)
{
	struct fx_wqe wqe;

	fx_fill_rq(b, 1);
	wqe = csum_wqe(NIC_PROTO_UDP);
	wqe.oob[1] += 77;
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4),
			 HW_RX_F_IP_OK | HW_RX_F_UDP_OK);
	assert_violation(oob_trans_off, 1);
}

/* Stale values in fields that the device ignores. */
FX_TEST(test_tolerated)
{
	struct fx_wqe wqe, rx = { .header = { 0, 0x200 } };

	/* trans_off without a request. */
	wqe = fx_tx_wqe(a, 0, 60);
	wqe.oob[1] |= 0x155;
	send_expect(&wqe, TX_OK);
	/* The OOB of an Rx WQE. */
	rx.oob[0] = rx.oob[1] = 0xdeadbeef;
	fx_tx_add_sge(b, &rx, 4096, 2048);
	fx_post(&b->rq, &rx);
	fx_ring_rq(b);
	send_expect(&wqe, TX_OK);
	assert_non_null(fx_cqe(&b->rcq));
	/* UDP without trans_off, as Linux. */
	wqe = csum_wqe(NIC_PROTO_UDP);
	wqe.oob[1] &= ~0x3ffu;
	send_expect(&wqe, TX_OK);
	/* The long form with one of the offsets, Linux's or OpenVMM's. */
	wqe = fx_tx_wqe(a, 0, 60);
	fx_tx_long(a, &wqe);
	wqe.oob[3] = 0;
	send_expect(&wqe, TX_OK);
	fx_tx_long(a, &wqe);
	wqe.oob[1] &= 0xffffff;
	send_expect(&wqe, TX_OK);
	/* 31 SGEs in the short form. */
	wqe = fx_tx_wqe(a, 0, 60);
	while (wqe.nb_sge < 31)
		fx_tx_add_sge(a, &wqe, 60, 1);
	send_expect(&wqe, TX_OK);
	/* The same tail twice. */
	fx_ring_sq(a);
	/* A CQ doorbell without arm at head - 1, as rdma-core. */
	a->scq.pos--;
	fx_ring_cq(a, &a->scq, false);
	assert_no_violation();
}

TEST_WITH(test_strict_cq, NULL, fx_teardown)
{
	struct fx_wqe wqe;
	uint32_t i;

	fx_defaults(&fx);
	fx.config.cq_doorbell_strict = true;
	fx_start(&fx);
	wqe = fx_tx_wqe(a, 0, 60);
	for (i = 0; i < 8 * 256; i++)
		assert_int_equal(fx_send(a, &wqe), TX_OK);
	assert_no_violation();
	assert_int_equal(fx_send(a, &wqe), -1);
	assert_int_equal(fx_send(a, &wqe), -1);
	assert_violation(cq_no_doorbell_8_laps, 1);
}

/* Twice eight laps: recorded twice, and the CQ continues. */
FX_TEST(test_lenient_cq)
{
	struct fx_wqe wqe;
	uint32_t i;

	wqe = fx_tx_wqe(a, 0, 60);
	for (i = 0; i < 16 * 256 + 1; i++)
		assert_int_equal(fx_send(a, &wqe), TX_OK);
	assert_violation(cq_no_doorbell_8_laps, 2);
}

/* Each violation is tested here or in the list of the others. */
TEST(test_all_covered)
{
	uint32_t v, i, found;

	for (v = 0; v < NB_VIOLATIONS; v++) {
		for (found = 0, i = 0; i < nb_violation_cases; i++)
			found |= violation_cases[i].violation == v;
		for (i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
			found += elsewhere[i] == v;
		if (found != 1)
			print_error("%s has %u tests\n", violation_name(v),
				    found);
		assert_int_equal(found, 1);
		assert_true(strlen(violation_meaning(v)) > 0);
		assert_true(strlen(violation_source(v)) > 0);
	}
}

int
main(void)
{
	for (uint32_t i = 0; i < nb_violation_cases; i++)
		test_add((struct CMUnitTest){
			.name = violation_name(violation_cases[i].violation),
			.test_func = test_case,
			.initial_state = (void *)(uintptr_t)&violation_cases[i],
		});
	return test_run("violations", NULL, NULL);
}
