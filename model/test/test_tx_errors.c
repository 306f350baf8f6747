/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each error completion of the send side by what causes it, asked for or
 * suppressed, alone or among good ones.
 */

#include <stdio.h>

#include "nic.h"
#include "rig.h"

static struct rig rig;
static struct rig_port *const a = &rig.port[0];

static struct rig_wqe
good(void)
{
	rig_frame(a->buf, NIC_PROTO_UDP, 30);
	return rig_tx_wqe(a, 0, 72);
}

/* Frames at 1024, so that the good ones stay. */
static struct rig_wqe
elsewhere(uint32_t nb_bytes)
{
	rig_frame(a->buf + 1024, NIC_PROTO_UDP, 30);
	return rig_tx_wqe(a, 1024, nb_bytes);
}

static struct rig_wqe
foreign_source(void)
{
	struct rig_wqe wqe = elsewhere(72);

	a->buf[1024 + 11]++;
	return wqe;
}

static struct rig_wqe
over_mtu(void)
{
	return elsewhere(1515);
}

static struct rig_wqe
not_that_protocol(void)
{
	struct rig_wqe wqe = elsewhere(72);

	wqe.oob[0] |= 1u << 2 | 1u << 5; /* TCP, it is UDP */
	wqe.oob[1] |= 34;
	return wqe;
}

static struct rig_wqe
foreign_ethertype(void)
{
	struct rig_wqe wqe = elsewhere(72);

	hw_put_be16(a->buf + 1024 + 12, 0x88b5);
	return wqe;
}

static struct rig_wqe
broken_header(void)
{
	struct rig_wqe wqe = elsewhere(72);

	a->buf[1024 + 14] = 0x43; /* an IPv4 header of 12 bytes */
	wqe.oob[0] |= 1u << 2 | 1u << 4;
	return wqe;
}

static struct rig_wqe
function_disabled(void)
{
	device_function_disable(0, true);
	return elsewhere(72);
}

static struct rig_wqe
wrong_vp_offset(void)
{
	struct rig_wqe wqe = elsewhere(72);

	wqe.oob[1] += 1u << 24;
	return wqe;
}

static struct rig_wqe
vport_disabled(void)
{
	device_vport_disable_tx(0, 0);
	return elsewhere(72);
}

static struct rig_wqe
tagged(void)
{
	struct rig_wqe wqe = elsewhere(72);

	rig_insert_tag(a, &wqe, 5);
	return wqe;
}

static struct rig_wqe
unknown_key(void)
{
	struct rig_wqe wqe = elsewhere(72);

	wqe.sge[0].key ^= 0x5555;
	return wqe;
}

static const struct error_case {
	int type;
	uint32_t enforce, vendor_err;
	bool for_all; /* not for one packet only */
	struct rig_wqe (*cause)(void);
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
	rig_defaults(&rig);
	rig.config.max_mtu = 1500;
	rig.config.enforce = c->enforce;
	rig_start(&rig);
}

static uint64_t
nb_errors(int type)
{
	struct device_port_counters counters;

	device_port_counters(0, 0, &counters);
	return counters.tx_errors[type - HW_CQE_TX_SA_DROP];
}

static void
assert_cqe(const struct error_case *c, int type, uint32_t position)
{
	const uint8_t *cqe = rig_cqe(&a->scq);
	const uint32_t vendor_err = type == c->type ? c->vendor_err : 0;

	assert_non_null(cqe);
	assert_int_equal(hw_le32(cqe), vendor_err << 8 | 0x40u | (uint32_t)type);
	assert_int_equal(hw_le32(cqe + 8), position << 5);
	assert_int_equal(hw_le32(cqe + 60) & 0x1ffffff, 1u << 24 | a->sq.id);
}

/* Whether what follows the error is sent. */
static void
assert_aftermath(const struct error_case *c, uint32_t position)
{
	struct rig_wqe wqe = good();

	rig_post(&a->sq, &wqe);
	rig_ring_sq(&rig, a);
	if (c->type == HW_CQE_TX_GDMA_ERR)
		assert_null(rig_cqe(&a->scq)); /* disabled */
	else
		assert_cqe(c, c->for_all ? c->type : HW_CQE_TX_OKAY, position);
}

static void
test_cause(void **state)
{
	const struct error_case *c = *state;
	struct rig_wqe wqe;

	start(c);
	wqe = good();
	rig_post(&a->sq, &wqe);
	rig_ring_sq(&rig, a);
	assert_cqe(c, HW_CQE_TX_OKAY, 0);
	wqe = c->cause();
	rig_post(&a->sq, &wqe);
	rig_ring_sq(&rig, a);
	assert_cqe(c, c->type, 1);
	assert_int_equal(nb_errors(c->type), 1);
	assert_aftermath(c, a->sq.pos / HW_BU_BYTES);
	rig_stop(&rig);
	/* A policy that is not enforced is no cause. */
	if (c->enforce == 0)
		return;
	start(&(struct error_case){ 0 });
	wqe = c->cause();
	assert_int_equal(rig_send(&rig, a, &wqe), HW_CQE_TX_OKAY);
	assert_no_violation();
	rig_stop(&rig);
}

/* Four with completions suppressed, the third is bad: a CQE for that one. */
static void
test_suppressed(void **state)
{
	const struct error_case *c = *state;
	struct rig_wqe bad, fine;
	uint32_t position;

	if (c->for_all && c->type != HW_CQE_TX_GDMA_ERR)
		return; /* for the others see test_all_suppressed() */
	start(c);
	fine = good();
	bad = c->cause();
	bad.oob[0] |= 1u << 7;
	fine.oob[0] |= 1u << 7;
	rig_post(&a->sq, &fine);
	rig_post(&a->sq, &fine);
	rig_post(&a->sq, &bad);
	position = a->sq.pos / HW_BU_BYTES;
	fine.oob[0] &= ~(1u << 7);
	rig_post(&a->sq, &fine);
	rig_ring_sq(&rig, a);
	assert_cqe(c, c->type, 2);
	if (c->type != HW_CQE_TX_GDMA_ERR)
		assert_cqe(c, HW_CQE_TX_OKAY, position);
	assert_null(rig_cqe(&a->scq));
	assert_int_equal(nb_errors(c->type), 1);
	rig_stop(&rig);
}

/* Where all fail, each has its CQE, asked for or not. */
static void
test_all_suppressed(void **state)
{
	uint32_t i, n;

	(void)state;
	for (i = 0; i < NB_CASES; i++) {
		const struct error_case *c = &cases[i];
		struct rig_wqe wqe;

		if (!c->for_all || c->type == HW_CQE_TX_GDMA_ERR)
			continue;
		start(c);
		wqe = c->cause();
		wqe.oob[0] |= 1u << 7;
		for (n = 0; n < 3; n++)
			rig_post(&a->sq, &wqe);
		rig_ring_sq(&rig, a);
		for (n = 0; n < 3; n++)
			assert_cqe(c, c->type, n);
		assert_null(rig_cqe(&a->scq));
		assert_no_violation();
		rig_stop(&rig);
	}
}

/* Only making it anew brings a queue back that the device has disabled. */
static void
test_gdma_err_is_final(void **state)
{
	struct device_memory memory, cq_memory;
	struct rig_wqe wqe;

	(void)state;
	start(&cases[NB_CASES - 1]);
	wqe = unknown_key();
	assert_int_equal(rig_send(&rig, a, &wqe), HW_CQE_TX_GDMA_ERR);
	wqe = good();
	assert_int_equal(rig_send(&rig, a, &wqe), -1);
	/* Neither the key's coming back nor the vPort's does. */
	device_vport_disable_tx(0, 0);
	assert_int_equal(device_vport_enable_tx(0, 0, a->pdn, a->page,
						&a->vp_offset),
			 0);
	device_function_disable(0, true);
	device_function_disable(0, false);
	assert_int_equal(rig_send(&rig, a, &wqe), -1);
	assert_int_equal(nb_errors(HW_CQE_TX_GDMA_ERR), 1);

	device_sq_destroy(0, a->sq.id);
	device_cq_destroy(0, a->scq.id);
	memset(a->scq.mem, 0, a->scq.bytes);
	cq_memory = (struct device_memory){ model_self, (uintptr_t)a->scq.mem,
					    a->scq.bytes };
	memory = (struct device_memory){ model_self, (uintptr_t)a->sq.mem,
					 a->sq.bytes };
	assert_int_equal(device_cq_create(0, a->pdn, a->page, &cq_memory,
					  &a->scq.id),
			 0);
	assert_int_equal(device_sq_create(0, 0, a->pdn, a->page, &memory,
					  a->scq.id, &a->sq.id),
			 0);
	a->sq.pos = 0;
	a->scq.pos = a->scq.bytes / HW_CQE_BYTES;
	wqe = good();
	assert_int_equal(rig_send(&rig, a, &wqe), HW_CQE_TX_OKAY);
	rig_stop(&rig);
}

/* A disabled function does not receive. */
static void
test_disabled_function_is_deaf(void **state)
{
	struct device_port_counters counters;
	struct rig_wqe wqe;

	(void)state;
	start(&(struct error_case){ 0 });
	rig_fill_rq(&rig, a, 2);
	wqe = good();
	device_port_receive(0, 0, a->buf, 72);
	assert_non_null(rig_cqe(&a->rcq));
	device_function_disable(0, true);
	device_port_receive(0, 0, a->buf, 72);
	assert_null(rig_cqe(&a->rcq));
	device_port_counters(0, 0, &counters);
	assert_int_equal(counters.rx_no_steering, 1);
	device_function_disable(0, false);
	device_port_receive(0, 0, a->buf, 72);
	assert_non_null(rig_cqe(&a->rcq));
	assert_int_equal(wqe.nb_sge, 1);
	device_function_disable(9, true); /* no such function */
	assert_no_violation();
	rig_stop(&rig);
}

/* The vPort is another protection domain's: its SQ alone sends. */
static void
test_foreign_vport(void **state)
{
	struct rig_wqe wqe;
	uint32_t pdn, vp_offset;

	(void)state;
	start(&(struct error_case){ 0 });
	assert_int_equal(device_pd_create(0, &pdn), 0);
	assert_int_equal(device_vport_enable_tx(0, 0, pdn, a->page, &vp_offset),
			 0);
	wqe = good();
	assert_int_equal(rig_send(&rig, a, &wqe), HW_CQE_TX_VPORT_DISABLED);
	assert_no_violation();
	rig_stop(&rig);
}

/* An offset over 255: the long form alone can name it. */
static void
test_far_vport(void **state)
{
	struct rig_wqe wqe;

	(void)state;
	rig_defaults(&rig);
	rig.config.vp_offset_base = 300;
	rig_start(&rig);
	assert_int_equal(a->vp_offset, 300);
	wqe = good();
	wqe.oob[1] = (wqe.oob[1] & 0xffffff) | (300u & 0xff) << 24;
	assert_int_equal(rig_send(&rig, a, &wqe),
			 HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_int_equal(ledger_count(VIOLATION_oob_vp_offset), 1);
	rig_tx_long(a, &wqe);
	wqe.oob[1] &= 0xffffff;
	assert_int_equal(rig_send(&rig, a, &wqe), HW_CQE_TX_OKAY);
	wqe.oob[3] += 1u << 16;
	assert_int_equal(rig_send(&rig, a, &wqe),
			 HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_violation(oob_vp_offset, 2);
	rig_stop(&rig);
}

/* Each of the ten types has its case. */
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
		cmocka_unit_test(test_disabled_function_is_deaf),
		cmocka_unit_test(test_foreign_vport),
		cmocka_unit_test(test_far_vport),
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
