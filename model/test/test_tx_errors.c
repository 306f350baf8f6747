/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each Tx error completion by its cause, requested or suppressed, alone or
 * among good packets.
 */

#include <stdio.h>

#include "nic.h"
#include "fixture.h"

static struct fixture fx;

static struct fx_wqe
good(void)
{
	fx_frame(a->buf, NIC_PROTO_UDP, 30);
	return fx_tx_wqe(a, 0, 72);
}

static void
disable_function(void)
{
	card_function_disable(0, true);
}

static void
disable_vport(void)
{
	card_vport_disable_tx(0, 0);
}

/* The device disables the queue itself. */
static void
disable_nothing(void)
{
}

static const struct error_case {
	int type;
	uint32_t enforce, vendor_err;
	/* For all packets, after this, not just one. */
	void (*disable)(void);
	uint32_t nb_bytes; /* 0: 72 */
	struct fx_edit edits[3];
	bool has_tag;
} cases[] = {
	{ HW_CQE_TX_SA_DROP, MODEL_ENFORCE_SA, .edits = { FX_FRAME(11, 0xff) } },
	{ HW_CQE_TX_MTU_DROP, .nb_bytes = 1515 },
	/* TCP requested for UDP */
	{ HW_CQE_TX_INVALID_OOB, .edits = { FX_EDIT(OR, oob[0], 1u << 2 | 1u << 5),
					    FX_EDIT(OR, oob[1], 34) } },
	{ HW_CQE_TX_INVALID_ETH_TYPE, MODEL_ENFORCE_ETYPE,
	  .edits = { FX_FRAME(12, 0x88), FX_FRAME(13, 0xb5) } },
	/* an IPv4 header of 12 bytes */
	{ HW_CQE_TX_HDR_PROCESSING_ERROR,
	  .edits = { FX_FRAME(14, 0x43), FX_EDIT(OR, oob[0], 1u << 2 | 1u << 4) } },
	{ HW_CQE_TX_VF_DISABLED, .disable = disable_function },
	{ HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE,
	  .edits = { FX_EDIT(ADD, oob[1], 1u << 24) } },
	{ HW_CQE_TX_VPORT_DISABLED, .disable = disable_vport },
	{ HW_CQE_TX_VLAN_TAGGING_VIOLATION, MODEL_ENFORCE_VLAN, .has_tag = true },
	{ HW_CQE_TX_GDMA_ERR, .vendor_err = 0x206, .disable = disable_nothing,
	  .edits = { FX_EDIT(XOR, sge[0].key, 0x5555) } },
};
#define NB_CASES (sizeof(cases) / sizeof(cases[0]))

/* The WQE of a case. Its frame is at 1024, so that the good ones stay valid. */
static struct fx_wqe
bad(const struct error_case *c)
{
	struct fx_wqe wqe;

	fx_frame(a->buf + 1024, NIC_PROTO_UDP, 30);
	wqe = fx_tx_wqe(a, 1024, c->nb_bytes == 0 ? 72 : c->nb_bytes);
	fx_edit(&wqe, a->buf + 1024, c->edits);
	if (c->has_tag)
		fx_insert_tag(a, &wqe, 5);
	if (c->disable != NULL)
		c->disable();
	return wqe;
}

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
	return fx_counters(0).tx_errors[type - HW_CQE_TX_SA_DROP];
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
	fx_ring_sq(a);
	if (c->type == HW_CQE_TX_GDMA_ERR)
		assert_null(fx_cqe(&a->scq)); /* disabled */
	else
		assert_cqe(c, c->disable != NULL ? c->type : HW_CQE_TX_OKAY,
			   position);
}

static void
test_cause(void **state)
{
	const struct error_case *c = *state;
	struct fx_wqe wqe;

	start(c);
	wqe = good();
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_cqe(c, HW_CQE_TX_OKAY, 0);
	wqe = bad(c);
	fx_post(&a->sq, &wqe);
	fx_ring_sq(a);
	assert_cqe(c, c->type, 1);
	assert_int_equal(nb_errors(c->type), 1);
	assert_error_cqe(c, a->sq.pos / HW_BU_BYTES);
	fx_stop(&fx);
	/* Without enforcement a policy causes no error. */
	if (c->enforce == 0)
		return;
	start(&(struct error_case){ 0 });
	wqe = bad(c);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
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
	struct fx_wqe wrong, fine;
	uint32_t position;

	if (c->disable != NULL && c->type != HW_CQE_TX_GDMA_ERR)
		return; /* see test_all_suppressed() for the others */
	start(c);
	fine = good();
	wrong = bad(c);
	wrong.oob[0] |= 1u << 7;
	fine.oob[0] |= 1u << 7;
	fx_post(&a->sq, &fine);
	fx_post(&a->sq, &fine);
	fx_post(&a->sq, &wrong);
	position = a->sq.pos / HW_BU_BYTES;
	fine.oob[0] &= ~(1u << 7);
	fx_post(&a->sq, &fine);
	fx_ring_sq(a);
	assert_cqe(c, c->type, 2);
	if (c->type != HW_CQE_TX_GDMA_ERR)
		assert_cqe(c, HW_CQE_TX_OKAY, position);
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(nb_errors(c->type), 1);
	fx_stop(&fx);
}

/* If all fail, each has a CQE, requested or not. */
TEST(test_all_suppressed)
{
	uint32_t i, n;

	for (i = 0; i < NB_CASES; i++) {
		const struct error_case *c = &cases[i];
		struct fx_wqe wqe;

		if (c->disable == NULL || c->type == HW_CQE_TX_GDMA_ERR)
			continue;
		start(c);
		wqe = bad(c);
		wqe.oob[0] |= 1u << 7;
		for (n = 0; n < 3; n++)
			fx_post(&a->sq, &wqe);
		fx_ring_sq(a);
		for (n = 0; n < 3; n++)
			assert_cqe(c, c->type, n);
		assert_null(fx_cqe(&a->scq));
		assert_no_violation();
		fx_stop(&fx);
	}
}

/* A queue that the device has disabled must be created again. */
TEST_WITH(test_gdma_err_is_final, NULL, fx_teardown)
{
	struct fx_wqe wqe;

	start(&cases[NB_CASES - 1]);
	wqe = bad(&cases[NB_CASES - 1]);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_GDMA_ERR);
	wqe = good();
	assert_int_equal(fx_send(a, &wqe), -1);
	/* Restoring the key or the vPort is not enough. */
	card_vport_disable_tx(0, 0);
	assert_int_equal(card_vport_enable_tx(0, 0, a->pdn, a->page,
					      &a->vp_offset),
			 0);
	card_function_disable(0, true);
	card_function_disable(0, false);
	assert_int_equal(fx_send(a, &wqe), -1);
	assert_int_equal(nb_errors(HW_CQE_TX_GDMA_ERR), 1);

	fx_renew();
	wqe = good();
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
}

/* A disabled function does not receive. */
TEST_WITH(test_disabled_function_receives_nothing, NULL, fx_teardown)
{
	struct fx_wqe wqe;

	start(&(struct error_case){ 0 });
	fx_fill_rq(a, 2);
	wqe = good();
	card_port_receive(0, 0, a->buf, 72);
	assert_non_null(fx_cqe(&a->rcq));
	card_function_disable(0, true);
	card_port_receive(0, 0, a->buf, 72);
	assert_null(fx_cqe(&a->rcq));
	assert_int_equal(fx_counters(0).rx_no_steering, 1);
	card_function_disable(0, false);
	card_port_receive(0, 0, a->buf, 72);
	assert_non_null(fx_cqe(&a->rcq));
	assert_int_equal(wqe.nb_sge, 1);
	card_function_disable(9, true); /* no such function */
	assert_no_violation();
}

/* The vPort belongs to another protection domain: only SQs of that one send. */
TEST_WITH(test_vport_of_other_pd_is_refused, NULL, fx_teardown)
{
	struct fx_wqe wqe;
	uint32_t pdn, vp_offset;

	start(&(struct error_case){ 0 });
	assert_int_equal(card_pd_create(0, &pdn), 0);
	assert_int_equal(card_vport_enable_tx(0, 0, pdn, a->page, &vp_offset),
			 0);
	wqe = good();
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_VPORT_DISABLED);
	assert_no_violation();
}

/* An offset over 255 needs the long form. */
TEST_WITH(test_vport_offset_above_255, NULL, fx_teardown)
{
	struct fx_wqe wqe;

	fx_defaults(&fx);
	fx.config.vp_offset_base = 300;
	fx_start(&fx);
	assert_int_equal(a->vp_offset, 300);
	wqe = good();
	wqe.oob[1] = (wqe.oob[1] & 0xffffff) | (300u & 0xff) << 24;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_int_equal(violation_count(VIOLATION_oob_vp_offset), 1);
	fx_tx_long(a, &wqe);
	wqe.oob[1] &= 0xffffff;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	wqe.oob[3] += 1u << 16;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
	assert_violation(oob_vp_offset, 2);
}

/* Each of the ten types has a case. */
TEST(test_all_covered)
{
	uint32_t type, i, n;

	for (type = HW_CQE_TX_SA_DROP; type <= HW_CQE_TX_GDMA_ERR; type++) {
		for (n = 0, i = 0; i < NB_CASES; i++)
			n += (uint32_t)cases[i].type == type;
		assert_int_equal(n, 1);
	}
}

int
main(void)
{
	static char names[2 * NB_CASES][32];

	for (uint32_t i = 0; i < 2 * NB_CASES; i++) {
		snprintf(names[i], sizeof(names[i]), "%s_%d",
			 i % 2 == 0 ? "cause" : "suppressed", cases[i / 2].type);
		test_add((struct CMUnitTest){
			.name = names[i],
			.test_func = i % 2 == 0 ? test_cause : test_suppressed,
			.initial_state = (void *)(uintptr_t)&cases[i / 2],
		});
	}
	return test_run("tx errors", NULL, NULL);
}
