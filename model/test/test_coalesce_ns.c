/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The coalesced completion of a single packet is written after the configured
 * time. Run under mana-model with --coalesce-ns.
 */

#include "../base/hw.h"
#include "verbs_fixture.h"

static void
single_packet_is_delivered(void **state)
{
	struct fixture *fx = *state, other = { 0 };
	const uint8_t *cqe;
	uint32_t i;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	fx_fill(&other, &other.rx[0], 8);
	memset(fx->buf, 0xff, 60);
	for (i = 0; i < 5; i++) {
		fx_send(fx, &fx->tx[0], 0, 60);
		cqe = fx_cqe(&other.rx[0]);
		assert_non_null(cqe);
		assert_int_equal(cqe[0], 0x41);
		assert_int_equal(hw_le32(cqe + 8), 60);
	}
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(single_packet_is_delivered,
						fx_setup, fx_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
