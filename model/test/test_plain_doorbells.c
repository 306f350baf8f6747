/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory: run under mana-model --mode step, with a function
 * of two ports on a wire.
 */

#include <sys/resource.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define FRAME_BYTES 64u

static int
teardown(void **state)
{
	assert_int_equal(MODEL_CALL(mana_model_traps)(), 0);
	return fx_teardown(state);
}

/* What the adapter sees in a register. */
static uint64_t
read_register(const struct mana_model_queue *queue, uint32_t offset)
{
	const volatile uint64_t *registers = queue->doorbells;

	return registers[offset / 8];
}

/* Addresses for a program that acts as the device itself. */
TEST_WITH(queue_addresses_are_those_of_program, fx_setup, teardown)
{
	struct fixture *fx = *state, other = { 0 };
	struct mana_model_queue tx, rx;
	uint64_t addr, size_bytes;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 1, false, 0, &rx), 0);
	assert_ptr_equal(tx.ring, fx->tx[0].ring);
	assert_int_equal(tx.ring_bytes, fx->tx[0].ring_bytes);
	assert_int_equal(tx.id, fx->tx[0].id);
	assert_ptr_equal(tx.cq_ring, fx->tx[0].cq_ring);
	assert_int_equal(tx.cq_id, fx->tx[0].cq_id);
	assert_int_equal(tx.vp_offset, fx->tx[0].vp_offset);
	assert_ptr_equal(rx.ring, other.rx[0].ring);
	assert_ptr_equal(rx.cq_ring, other.rx[0].cq_ring);
	assert_int_equal(rx.nb_cqes, FX_NB_CQE);
	assert_int_equal(rx.id, other.rx[0].id);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 1, &tx), -ENOENT);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 2, true, 0, &rx), -ENODEV);

	assert_int_equal(MODEL_CALL(mana_model_region)(0, fx->mr->lkey, &addr,
						       &size_bytes), 0);
	assert_int_equal(addr, (uintptr_t)fx->buf);
	assert_int_equal(size_bytes, FX_BUF_BYTES);
	assert_int_equal(MODEL_CALL(mana_model_region)(0, ~fx->mr->lkey, &addr,
						       &size_bytes), -ENOENT);
	/* The store is visible there, only there, and has no other effect. */
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	assert_int_equal(read_register(&tx, HW_DB_SQ),
			 tx.id | (uint64_t)HW_BU_BYTES << 32);
	assert_int_equal(read_register(&rx, HW_DB_SQ), 0);
	assert_false(fx_has_cqe(&fx->tx[0]));
	assert_int_equal(fx_counters(0, 0).tx_packets, 0);
	assert_int_equal(fx_close(&other), 0);
}

/* The first queue's register is 0, also if an earlier queue had its id. */
TEST_WITH(new_queue_has_no_doorbell, fx_setup, teardown)
{
	struct fixture *fx = *state;
	struct mana_model_queue tx, rx;
	uint32_t id;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	id = fx->tx[0].id;
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	fx_fill(fx, &fx->rx[0], 1);
	assert_int_equal(fx_stop_tx(fx), 0);
	fx_stop_rx(fx);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	assert_int_equal(fx->tx[0].id, id);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, false, 0, &rx), 0);
	assert_int_equal(read_register(&tx, HW_DB_SQ), 0);
	assert_int_equal(read_register(&rx, HW_DB_RQ), 0);
}

TEST_WITH(queues_share_page, fx_setup, teardown)
{
	struct fixture *fx = *state;
	struct mana_model_queue first, second;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &first), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 1, &second), 0);
	assert_ptr_equal(first.doorbells, second.doorbells);
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	fx_send(fx, &fx->tx[1], 0, FRAME_BYTES);
	assert_int_equal(read_register(&first, HW_DB_SQ),
			 fx->tx[1].id | (uint64_t)HW_BU_BYTES << 32);
}

/* A context in the place of an earlier one has a page of its own. */
TEST_WITH(later_context_has_own_page, fx_setup, teardown)
{
	struct fixture *fx = *state;
	struct mana_model_queue tx;

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
		assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
		assert_int_equal(read_register(&tx, HW_DB_SQ), 0);
		fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
		assert_int_equal(read_register(&tx, HW_DB_SQ),
				 tx.id | (uint64_t)HW_BU_BYTES << 32);
		assert_int_equal(fx_close(fx), 0);
	}
}

TEST_WITH(lack_of_descriptors_is_reported, fx_setup, teardown)
{
	struct fixture *fx = *state;
	struct mana_model_queue tx;
	struct rlimit limit, none;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
	assert_int_equal(read_register(&tx, HW_DB_SQ), 0);
}

TEST_WITH(arming_is_refused, fx_setup, teardown)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_fails(ibv_create_comp_channel(fx->ctx), EOPNOTSUPP);
}
