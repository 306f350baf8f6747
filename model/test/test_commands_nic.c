/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for queues and functions. Run under mana-model with 2 x 2 ports. */

#include "../base/hw.h"
#include "verbs_fixture.h"

FX_TEST(fence_follows_packets)
{
	struct fixture *fx = *state, other = { 0 };
	uint32_t i;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 2), 0);
	/* Without RSS a packet may use either queue: fill both. */
	fx_fill(&other, &other.rx[0], 4);
	fx_fill(&other, &other.rx[1], 4);
	memset(fx->buf, 0xff, 60); /* not IP: the last of the table */
	for (i = 0; i < 2; i++)
		fx_send(fx, &fx->tx[0], 0, 60);
	for (i = 0; i < 2; i++)
		assert_non_null(fx_cqe(&other.rx[1]));
	assert_int_equal(fx_command("fence port=2 queue=1"), 0);
	fx_take(&other.rx[1], HW_CQE_RX_OBJECT_FENCE);
	/* No WQE was consumed: two more packets fit. */
	for (i = 0; i < 2; i++)
		fx_send(fx, &fx->tx[0], 0, 60);
	for (i = 0; i < 2; i++)
		fx_take(&other.rx[1], HW_CQE_RX_OKAY);
	assert_int_equal(fx_command("fence port=2 queue=0"), 0);
	fx_take(&other.rx[0], HW_CQE_RX_OBJECT_FENCE);
	assert_int_equal(fx_command("fence port=2 queue=2"), -ENOENT);
	assert_non_null(strstr(fx_message, "no Rx queue 2"));
	assert_int_equal(fx_command("fence port=2"), -EINVAL);
	assert_non_null(strstr(fx_message, "queue=N"));
	assert_int_equal(fx_command("fence queue=0"), -EINVAL);
	assert_int_equal(fx_command("fence port=2 queue=0 now"), -EINVAL);
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(fx_command("fence port=2 queue=0"), -ENOENT);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

FX_TEST(disabled_function_sends_nothing)
{
	struct fixture *fx = *state, other = { 0 };

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	fx_fill(&other, &other.rx[0], 4);
	assert_int_equal(fx_command("vf fn=0"), -EINVAL);
	assert_int_equal(fx_command("vf fn=0 disable enable"), -EINVAL);
	assert_int_equal(fx_command("vf fn=0 disable please"), -EINVAL);
	assert_int_equal(fx_command("vf fn=7 disable"), -EINVAL);
	assert_int_equal(fx_command("vf fn=1 disable"), 0);
	fx_send(fx, &fx->tx[0], 0, 60);
	fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	fx_take(&other.rx[0], HW_CQE_RX_OKAY);
	assert_int_equal(fx_command("vf fn=0 disable"), 0);
	fx_send(fx, &fx->tx[0], 0, 60);
	fx_take(&fx->tx[0], HW_CQE_TX_VF_DISABLED);
	assert_int_equal(fx_command("vf fn=0 enable"), 0);
	assert_int_equal(fx_command("vf fn=1 enable"), 0);
	fx_send(fx, &fx->tx[0], 0, 60);
	fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	fx_take(&other.rx[0], HW_CQE_RX_OKAY);
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}
