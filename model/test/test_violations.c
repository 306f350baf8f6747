/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each violation that the card records, caused by a driver's error: only this
 * one, once, with the correct queue, and the device's reaction.
 */

#include <stdio.h>

#include "violation_cases.h"

struct fixture *fx;
struct fx_port *a, *b;

void
case_use(struct fixture *fixture)
{
	fx = fixture;
	a = &fx->port[0];
	b = &fx->port[1];
}

void
send_expect(const struct fx_wqe *wqe, int type)
{
	assert_int_equal(fx_send(fx, a, wqe), type);
	if (type != TX_DEAD)
		return;
	/* The queue is stopped. */
	assert_int_equal(fx_send(fx, a, wqe), -1);
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
};

static void
test_case(void **state)
{
	const struct violation_case *c = *state;
	const struct violation_row *row;
	static struct fixture fixture;

	case_use(&fixture);
	fx_defaults(fx);
	fx_start(fx);
	c->provoke();
	fx_assert_violation(c->violation, 1, violation_name(c->violation), 0);
	row = &segment_violation_log()->rows[0];
	assert_int_equal(row->place.kind, c->kind);
	assert_int_equal(segment_violation_log()->nb_violations, 1);
	fx_stop(fx);
}

/* The same violations for Rx. */
static void
test_rx_wqes(void **state)
{
	static const struct {
		uint32_t header1, nb_sge;
		enum violation violation;
	} wqes[] = {
		{ 0x200, 0, VIOLATION_wqe_no_sge },
		{ 0x210, 16, VIOLATION_wqe_too_large },
		{ 0x601, 1, VIOLATION_wqe_oob_size },
		{ 0xffffffff, 1, VIOLATION_wqe_oob_size },
	};
	static struct fixture fixture;
	uint32_t i, j;

	(void)state;
	for (i = 0; i < sizeof(wqes) / sizeof(wqes[0]); i++) {
		struct fx_wqe rx = { .header = { 0, wqes[i].header1 } }, tx;
		struct card_port_counters counters;

		case_use(&fixture);
		fx_defaults(fx);
		fx_start(fx);
		for (j = 0; j < wqes[i].nb_sge; j++)
			fx_tx_add_sge(b, &rx, 0, 64);
		rx.header[1] = wqes[i].header1;
		fx_post(&b->rq, &rx);
		fx_ring_rq(fx, b);
		tx = fx_tx_wqe(a, 0, 60);
		send_expect(&tx, TX_OK);
		fx_assert_violation(wqes[i].violation, 1, "rx wqe", i);
		assert_null(fx_cqe(&b->rcq));
		card_port_counters(0, 1, &counters);
		assert_int_equal(counters.rx_errors, 1);
		fx_stop(fx);
	}
}

/* A wrong trans_off with a UDP request is recorded, but has no effect. */
static void
test_udp_trans_off(void **state)
{
	struct fx_wqe wqe;

	case_use(*state);
	fx_fill_rq(fx, b, 1);
	wqe = csum_wqe(NIC_PROTO_UDP);
	wqe.oob[1] += 77;
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4),
			 HW_RX_F_IP_OK | HW_RX_F_UDP_OK);
	assert_violation(oob_trans_off, 1);
}

/* Stale values in fields that the device ignores. */
static void
test_tolerated(void **state)
{
	struct fx_wqe wqe, rx = { .header = { 0, 0x200 } };

	case_use(*state);
	/* trans_off without a request. */
	wqe = fx_tx_wqe(a, 0, 60);
	wqe.oob[1] |= 0x155;
	send_expect(&wqe, TX_OK);
	/* The OOB of an Rx WQE. */
	rx.oob[0] = rx.oob[1] = 0xdeadbeef;
	fx_tx_add_sge(b, &rx, 4096, 2048);
	fx_post(&b->rq, &rx);
	fx_ring_rq(fx, b);
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
	fx_ring_sq(fx, a);
	/* A CQ doorbell without arm at head - 1, as rdma-core. */
	a->scq.pos--;
	fx_ring_cq(fx, a, &a->scq, false);
	assert_no_violation();
}

static void
test_strict_cq(void **state)
{
	static struct fixture fixture;
	struct fx_wqe wqe;
	uint32_t i;

	(void)state;
	case_use(&fixture);
	fx_defaults(fx);
	fx->config.cq_doorbell_strict = true;
	fx_start(fx);
	wqe = fx_tx_wqe(a, 0, 60);
	for (i = 0; i < 8 * 256; i++)
		assert_int_equal(fx_send(fx, a, &wqe), TX_OK);
	assert_no_violation();
	assert_int_equal(fx_send(fx, a, &wqe), -1);
	assert_int_equal(fx_send(fx, a, &wqe), -1);
	assert_violation(cq_no_doorbell_8_laps, 1);
	fx_stop(fx);
}

/* Twice eight laps: recorded twice, and the CQ continues. */
static void
test_lenient_cq(void **state)
{
	struct fx_wqe wqe;
	uint32_t i;

	case_use(*state);
	wqe = fx_tx_wqe(a, 0, 60);
	for (i = 0; i < 16 * 256 + 1; i++)
		assert_int_equal(fx_send(fx, a, &wqe), TX_OK);
	assert_violation(cq_no_doorbell_8_laps, 2);
}

/* Each violation is tested here or in the list of the others. */
static void
test_all_covered(void **state)
{
	uint32_t v, i, found;

	(void)state;
	for (v = 0; v < NB_VIOLATIONS; v++) {
		for (found = 0, i = 0; i < nb_ring_cases; i++)
			found += ring_cases[i].violation == v;
		for (i = 0; i < nb_tx_cases; i++)
			found += tx_cases[i].violation == v;
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

static uint32_t
add_cases(struct CMUnitTest *tests, const struct violation_case *cases,
	  uint32_t nb_cases)
{
	uint32_t i;

	for (i = 0; i < nb_cases; i++)
		tests[i] = (struct CMUnitTest){
			.name = violation_name(cases[i].violation),
			.test_func = test_case,
			.initial_state = (void *)(uintptr_t)&cases[i],
		};
	return nb_cases;
}

int
main(void)
{
	const struct CMUnitTest others[] = {
		cmocka_unit_test(test_rx_wqes),
		cmocka_unit_test_setup_teardown(test_tolerated, fx_setup,
						fx_teardown),
		cmocka_unit_test_setup_teardown(test_udp_trans_off, fx_setup,
						fx_teardown),
		cmocka_unit_test(test_strict_cq),
		cmocka_unit_test_setup_teardown(test_lenient_cq, fx_setup,
						fx_teardown),
		cmocka_unit_test(test_all_covered),
	};
	static struct CMUnitTest tests[NB_VIOLATIONS + 64];
	uint32_t n = 0;

	n += add_cases(tests + n, ring_cases, nb_ring_cases);
	n += add_cases(tests + n, tx_cases, nb_tx_cases);
	n += add_cases(tests + n, more_cases, nb_more_cases);
	memcpy(tests + n, others, sizeof(others));
	n += sizeof(others) / sizeof(others[0]);
	return _cmocka_run_group_tests("violations", tests, n, NULL, NULL);
}
