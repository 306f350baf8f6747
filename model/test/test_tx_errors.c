/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each Tx error completion by its cause, requested or suppressed, alone or
 * among good packets.
 */

#include <stdio.h>

#include "nic.h"
#include "fixture.h"

static struct fixture fx;
static struct fx_port *const a = &fx.port[0];

static struct fx_wqe
good(void)
{
	fx_frame(a->buf, NIC_PROTO_UDP, 30);
	return fx_tx_wqe(a, 0, 72);
}

/* Frames at 1024, so that the good ones stay valid. */
static struct fx_wqe
elsewhere(uint32_t nb_bytes)
{
	fx_frame(a->buf + 1024, NIC_PROTO_UDP, 30);
	return fx_tx_wqe(a, 1024, nb_bytes);
}

static struct fx_wqe
foreign_source(void)
{
	struct fx_wqe wqe = elsewhere(72);

	a->buf[1024 + 11]++;
	return wqe;
}

static struct fx_wqe
over_mtu(void)
{
	return elsewhere(1515);
}

static struct fx_wqe
not_that_protocol(void)
{
	struct fx_wqe wqe = elsewhere(72);

	wqe.oob[0] |= 1u << 2 | 1u << 5; /* TCP requested for UDP */
	wqe.oob[1] |= 34;
	return wqe;
}

static struct fx_wqe
foreign_ethertype(void)
{
	struct fx_wqe wqe = elsewhere(72);

	hw_put_be16(a->buf + 1024 + 12, 0x88b5);
	return wqe;
}

static struct fx_wqe
broken_header(void)
{
	struct fx_wqe wqe = elsewhere(72);

	a->buf[1024 + 14] = 0x43; /* an IPv4 header of 12 bytes */
	wqe.oob[0] |= 1u << 2 | 1u << 4;
	return wqe;
}

static struct fx_wqe
function_disabled(void)
{
	card_function_disable(0, true);
	return elsewhere(72);
}

static struct fx_wqe
wrong_vp_offset(void)
{
	struct fx_wqe wqe = elsewhere(72);

	wqe.oob[1] += 1u << 24;
	return wqe;
}

static struct fx_wqe
vport_disabled(void)
{
	card_vport_disable_tx(0, 0);
	return elsewhere(72);
}

static struct fx_wqe
tagged(void)
{
	struct fx_wqe wqe = elsewhere(72);

	fx_insert_tag(a, &wqe, 5);
	return wqe;
}

static struct fx_wqe
unknown_key(void)
{
	struct fx_wqe wqe = elsewhere(72);

	wqe.sge[0].key ^= 0x5555;
	return wqe;
}

static const struct error_case {
	int type;
	uint32_t enforce, vendor_err;
	bool for_all; /* for all packets, not just one */
	struct fx_wqe (*cause)(void);
} cases[] = {
	{ HW_CQE_TX_SA_DROP, MODEL_ENFORCE_SA, 0, false, foreign_source },
	{ HW_CQE_TX_MTU_DROP, 0, 0, false, over_mtu },
	{ HW_CQE_TX_INVALID_OOB, 0, 0, false, not_that_protocol },
	{ HW_CQE_TX_INVALID_ETH_TYPE, MODEL_ENFORCE_ETYPE, 0, false,
	  foreign_ethertype },
	{ HW_CQE_TX_HDR_PROCESSING_ERROR, 0, 0, false, broken_header },
	{ HW_CQE_TX_VF_DISABLED, 0, 0, true, function_disabled },
	{ HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE, 0, 0, false, wrong_vp_offset },
	{ HW_CQE_TX_VPORT_DISABLED, 0, 0, true, vport_disabled },
	{ HW_CQE_TX_VLAN_TAGGING_VIOLATION, MODEL_ENFORCE_VLAN, 0, false, tagged },
	{ HW_CQE_TX_GDMA_ERR, 0, 0x206, true, unknown_key },
};
#define NB_CASES (sizeof(cases) / sizeof(cases[0]))

static void
start(const struct error_case *c)
{
	fx_defaults(&fx);
	fx.config.max_mtu = 1500;
	fx.config.enforce = c->enforce;
	fx_start(&fx);
}

static uint64_t
nb_errors(int type)
{
	struct card_port_counters counters;

	card_port_counters(0, 0, &counters);
	return counters.tx_errors[type - HW_CQE_TX_SA_DROP];
}

static void
assert_cqe(const struct error_case *c, int type, uint32_t position)
{
	const uint8_t *cqe = fx_cqe(&a->scq);
	const uint32_t vendor_err = type == c->type ? c->vendor_err : 0;

	assert_non_null(cqe);
	assert_int_equal(hw_le32(cqe), vendor_err << 8 | 0x40u | (uint32_t)type);
	assert_int_equal(hw_le32(cqe + 8), position << 5);
	assert_int_equal(hw_le32(cqe + 60) & 0x1ffffff, 1u << 24 | a->sq.id);
}

/* Assert whether packets after the error are sent. */
static void
assert_error_cqe(const struct error_case *c, uint32_t position)
{
	struct fx_wqe wqe = good();

	fx_post(&a->sq, &wqe);
	fx_ring_sq(&fx, a);
	if (c->type == HW_CQE_TX_GDMA_ERR)
		assert_null(fx_cqe(&a->scq)); /* disabled */
	else
		assert_cqe(c, c->for_all ? c->type : HW_CQE_TX_OKAY, position);
}

static void
test_cause(void **state)
{
	const struct error_case *c = *state;
	struct fx_wqe wqe;

	start(c);
	wqe = good();
	fx_post(&a->sq, &wqe);
	fx_ring_sq(&fx, a);
	assert_cqe(c, HW_CQE_TX_OKAY, 0);
	wqe = c->cause();
	fx_post(&a->sq, &wqe);
	fx_ring_sq(&fx, a);
	assert_cqe(c, c->type, 1);
	assert_int_equal(nb_errors(c->type), 1);
	assert_error_cqe(c, a->sq.pos / HW_BU_BYTES);
	fx_stop(&fx);
	/* Without enforcement a policy causes no error. */
	if (c->enforce == 0)
		return;
	start(&(struct error_case){ 0 });
	wqe = c->cause();
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_OKAY);
	assert_no_violation();
	fx_stop(&fx);
}

/*
 * Of four WQEs with suppressed completions the third is bad: only that one has
 * a CQE.
 */
static void
test_suppressed(void **state)
{
	const struct error_case *c = *state;
	struct fx_wqe bad, fine;
	uint32_t position;

	if (c->for_all && c->type != HW_CQE_TX_GDMA_ERR)
		return; /* see test_all_suppressed() for the others */
	start(c);
	fine = good();
	bad = c->cause();
	bad.oob[0] |= 1u << 7;
	fine.oob[0] |= 1u << 7;
	fx_post(&a->sq, &fine);
	fx_post(&a->sq, &fine);
	fx_post(&a->sq, &bad);
	position = a->sq.pos / HW_BU_BYTES;
	fine.oob[0] &= ~(1u << 7);
	fx_post(&a->sq, &fine);
	fx_ring_sq(&fx, a);
	assert_cqe(c, c->type, 2);
	if (c->type != HW_CQE_TX_GDMA_ERR)
		assert_cqe(c, HW_CQE_TX_OKAY, position);
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(nb_errors(c->type), 1);
	fx_stop(&fx);
}

/* If all fail, each has a CQE, requested or not. */
static void
test_all_suppressed(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < NB_CASES; i++) {
		const struct error_case *c = &cases[i];
		struct fx_wqe wqe;

		if (!c->for_all || c->type == HW_CQE_TX_GDMA_ERR)
			continue;
		start(c);
		wqe = c->cause();
		wqe.oob[0] |= 1u << 7;
		for (n = 0; n < 3; n++)
			fx_post(&a->sq, &wqe);
		fx_ring_sq(&fx, a);
		for (n = 0; n < 3; n++)
			assert_cqe(c, c->type, n);
		assert_null(fx_cqe(&a->scq));
		assert_no_violation();
		fx_stop(&fx);
	}
}

/* A queue that the device has disabled must be created again. */
static void
test_gdma_err_is_final(void **state)
{
	struct card_memory memory, cq_memory;
	struct fx_wqe wqe;

	(void)state;
	start(&cases[NB_CASES - 1]);
	wqe = unknown_key();
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_GDMA_ERR);
	wqe = good();
	assert_int_equal(fx_send(&fx, a, &wqe), -1);
	/* Restoring the key or the vPort is not enough. */
	card_vport_disable_tx(0, 0);
	assert_int_equal(card_vport_enable_tx(0, 0, a->pdn, a->page,
					      &a->vp_offset),
			 0);
	card_function_disable(0, true);
	card_function_disable(0, false);
	assert_int_equal(fx_send(&fx, a, &wqe), -1);
	assert_int_equal(nb_errors(HW_CQE_TX_GDMA_ERR), 1);

	card_sq_destroy(0, a->sq.id);
	card_cq_destroy(0, a->scq.id);
	memset(a->scq.mem, 0, a->scq.bytes);
	cq_memory = (struct card_memory){ model_self, (uintptr_t)a->scq.mem,
					    a->scq.bytes };
	memory = (struct card_memory){ model_self, (uintptr_t)a->sq.mem,
					 a->sq.bytes };
	assert_int_equal(card_cq_create(0, a->pdn, a->page, &cq_memory,
					&a->scq.id),
			 0);
	assert_int_equal(card_sq_create(0, 0, a->pdn, a->page, &memory,
					a->scq.id, &a->sq.id),
			 0);
	a->sq.pos = 0;
	a->scq.pos = a->scq.bytes / HW_CQE_BYTES;
	wqe = good();
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_OKAY);
	fx_stop(&fx);
}

/* A disabled function does not receive. */
static void
test_disabled_function_receives_nothing(void **state)
{
	struct card_port_counters counters;
	struct fx_wqe wqe;

	(void)state;
	start(&(struct error_case){ 0 });
	fx_fill_rq(&fx, a, 2);
	wqe = good();
	card_port_receive(0, 0, a->buf, 72);
	assert_non_null(fx_cqe(&a->rcq));
	card_function_disable(0, true);
	card_port_receive(0, 0, a->buf, 72);
	assert_null(fx_cqe(&a->rcq));
	card_port_counters(0, 0, &counters);
	assert_int_equal(counters.rx_no_steering, 1);
	card_function_disable(0, false);
	card_port_receive(0, 0, a->buf, 72);
	assert_non_null(fx_cqe(&a->rcq));
	assert_int_equal(wqe.nb_sge, 1);
	card_function_disable(9, true); /* no such function */
	assert_no_violation();
	fx_stop(&fx);
}

/* The vPort belongs to another protection domain: only SQs of that one send. */
static void
test_vport_of_other_pd_is_refused(void **state)
{
	struct fx_wqe wqe;
	uint32_t pdn, vp_offset;

	(void)state;
	start(&(struct error_case){ 0 });
	assert_int_equal(card_pd_create(0, &pdn), 0);
	assert_int_equal(card_vport_enable_tx(0, 0, pdn, a->page, &vp_offset),
			 0);
	wqe = good();
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_VPORT_DISABLED);
	assert_no_violation();
	fx_stop(&fx);
}

/* An offset over 255 needs the long form. */
static void
test_vport_offset_above_255(void **state)
{
	struct fx_wqe wqe;

	(void)state;
	fx_defaults(&fx);
	fx.config.vp_offset_base = 300;
	fx_start(&fx);
	assert_int_equal(a->vp_offset, 300);
	wqe = good();
	wqe.oob[1] = (wqe.oob[1] & 0xffffff) | (300u & 0xff) << 24;
	assert_int_equal(fx_send(&fx, a, &wqe),
			 HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_int_equal(violation_count(VIOLATION_oob_vp_offset), 1);
	fx_tx_long(a, &wqe);
	wqe.oob[1] &= 0xffffff;
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_OKAY);
	wqe.oob[3] += 1u << 16;
	assert_int_equal(fx_send(&fx, a, &wqe),
			 HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_violation(oob_vp_offset, 2);
	fx_stop(&fx);
}

/* Each of the ten types has a case. */
static void
test_all_covered(void **state)
{
	uint32_t type, i, n;

	(void)state;
	for (type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++) {
		for (n = 0, i = 0; i < NB_CASES; i++)
			n += (uint32_t)cases[i].type == type;
		assert_int_equal(n, 1);
	}
}

int
main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(test_all_suppressed),
		cmocka_unit_test(test_gdma_err_is_final),
		cmocka_unit_test(test_disabled_function_receives_nothing),
		cmocka_unit_test(test_vport_of_other_pd_is_refused),
		cmocka_unit_test(test_vport_offset_above_255),
		cmocka_unit_test(test_all_covered),
	};
	static struct CMUnitTest
		tests[2 * NB_CASES + sizeof(others) / sizeof(others[0])];
	static char names[2 * NB_CASES][32];
	uint32_t i;

	for (i = 0; i < 2 * NB_CASES; i++) {
		snprintf(names[i], sizeof(names[i]), "%s_%d",
			 i % 2 == 0 ? "cause" : "suppressed", cases[i / 2].type);
		tests[i] = (struct CMUnitTest){
			.name = names[i],
			.test_func = i % 2 == 0 ? test_cause : test_suppressed,
			.initial_state = (void *)(uintptr_t)&cases[i / 2],
		};
	}
	memcpy(tests + i, others, sizeof(others));
	return cmocka_run_group_tests_name("tx errors", tests, NULL, NULL);
}
