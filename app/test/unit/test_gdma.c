/* SPDX-License-Identifier: BSD-3-Clause */

/* Ring arithmetic at every wrap. Needs no EAL. */

#include "fixture.h"

static const uint32_t starts[] = {
	0, 1, 127, 128, 0x7ffffff0, 0xffffff80, 0xfffffff0, 0xffffffff,
};

TEST(wq_checks_its_ring)
{
	uint8_t *ring = fx_ring_alloc(16384, 0);
	struct mana_wq wq = { .id = 77, .pi = 77, .ci = 77 };

	assert_eq(mana_wq_init(&wq, ring, 4096, ring, 0), 0);
	assert_eq(wq.mask_bu, 127);
	assert_eq(wq.id, 0);
	assert_eq(wq.pi, 0);
	assert_eq(wq.ci, 0);
	/* The largest ring. */
	assert_eq(mana_wq_init(&wq, ring, 1u << 28, ring, 0), 0);
	wq.id = 77;
	assert_int_equal(mana_wq_init(&wq, ring, 1u << 29, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 2048, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 4096 + 32, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 12288, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 0, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 1u << 31, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring + 64, 4096, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring + 1, 4096, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, NULL, 4096, ring, 0), -EINVAL);
	assert_int_equal(mana_wq_init(&wq, ring, 4096, NULL, 0), -EINVAL);
	assert_eq(wq.id, 77);
	free(ring);
}

TEST(cq_checks_its_ring)
{
	uint8_t *ring = fx_ring_alloc(16384, 0);
	struct mana_cq cq = { .id = 77 };

	assert_eq(mana_cq_init(&cq, ring, 64, true, ring), 0);
	assert_eq(cq.id, 0);
	assert_int_equal(mana_cq_init(&cq, ring, 32, true, ring), -EINVAL);
	assert_int_equal(mana_cq_init(&cq, ring, 96, true, ring), -EINVAL);
	assert_int_equal(mana_cq_init(&cq, ring, 0, true, ring), -EINVAL);
	assert_int_equal(mana_cq_init(&cq, ring, UINT32_MAX, true, ring),
			 -EINVAL);
	assert_int_equal(mana_cq_init(&cq, ring + 64, 64, true, ring), -EINVAL);
	assert_int_equal(mana_cq_init(&cq, NULL, 64, true, ring), -EINVAL);
	assert_int_equal(mana_cq_init(&cq, ring, 64, true, NULL), -EINVAL);
	free(ring);
}

/* Full, empty and the place of each BU, from any start, three laps. */
TEST(wq_counts_and_places)
{
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct mana_wq wq = {0};

	for (size_t s = 0; s < RTE_DIM(starts); s++) {
		assert_eq(mana_wq_init(&wq, ring, 4096, ring, 0), 0);
		wq.pi = wq.ci = starts[s];
		for (uint32_t i = 0; i < 3 * 128; i++) {
			assert_eq(wq.pi - wq.ci, 0);
			assert_eq(mana_wq_free_bu(&wq), 128);
			assert_ptr_equal(mana_wq_bu(&wq, wq.pi), ring +
				((uint64_t)(starts[s] + i) * 32 & 4095));
			wq.pi += 128;
			assert_eq(wq.pi - wq.ci, 128);
			assert_eq(mana_wq_free_bu(&wq), 0);
			wq.pi -= 127;
			assert_eq(mana_wq_free_bu(&wq), 127);
			wq.ci++;
		}
	}
	free(ring);
}

/* The SQ and RQ tail counts bytes, free running modulo 2^32. */
TEST(wq_doorbell_wraps_at_32_bits)
{
	uint8_t *ring = fx_ring_alloc(4096, 0);
	uint8_t *page = fx_ring_alloc(4096, 0);
	struct hw_doorbell db;
	struct mana_wq wq = {0};

	assert_eq(mana_wq_init(&wq, ring, 4096, page, GDMA_DB_SQ_OFFSET), 0);
	mana_wq_open(&wq, 0xffffff);
	for (size_t s = 0; s < RTE_DIM(starts); s++) {
		wq.pi = starts[s];
		mana_wq_ring_at(&wq, wq.pi);
		db = hw_doorbell_read(hw_le64(page + HW_DB_SQ), false);
		assert_eq(db.id, 0xffffff);
		assert_eq(db.wqe_cnt, 0);
		assert_eq(db.tail, (uint32_t)((uint64_t)starts[s] * 32));
	}
	free(ring);
	free(page);
}

static void
cq_open(struct mana_cq *cq, uint8_t *ring, uint32_t nb, bool is_sq,
	uint32_t start, struct fx_cq *device)
{
	static uint8_t page[4096];

	memset(ring, 0, nb * HW_CQE_BYTES);
	assert_eq(mana_cq_init(cq, ring, nb, is_sq, page), 0);
	mana_cq_open(cq, 5, 9);
	*device = (struct fx_cq){ .ring = ring, .nb_cqe = nb, .pi = nb };
	if (start == 0)
		return;
	cq->ci = cq->rung = device->pi = start & ~(nb - 1);
	for (uint32_t i = 0; i < nb; i++)
		hw_put_le32(ring + i * HW_CQE_BYTES + HW_CQE_TRAILER_OFF,
			    (device->pi / nb - 1) << HW_CQE_OWNER_S);
}

static enum mana_cqe_state
cq_state(const struct mana_cq *cq)
{
	return mana_cq_state(cq, cq->ci, mana_cq_trailer(cq, cq->ci));
}

static bool
cq_is_ours(const struct mana_cq *cq)
{
	return mana_cq_is_ours(cq, cq->ci, mana_cq_trailer(cq, cq->ci));
}

/* 20 laps from any start: each CQE is empty, then valid. */
TEST(cq_follows_the_owner_bits)
{
	const uint32_t data[15] = {0};
	uint8_t *ring = fx_ring_alloc(16384, 0);
	struct fx_cq device;
	struct mana_cq cq = {0};

	for (size_t s = 0; s < RTE_DIM(starts); s++) {
		cq_open(&cq, ring, 64, true, starts[s], &device);
		for (uint32_t i = 0; i < 20 * 64; i++) {
			assert_false(cq_is_ours(&cq));
			assert_int_equal(cq_state(&cq), MANA_CQE_EMPTY);
			fx_cqe_write(&device, data, 9 | 1u << HW_CQE_IS_SQ_S);
			assert_true(cq_is_ours(&cq));
			cq.ci++;
		}
	}
	free(ring);
}

/* Of the eight owner values one is empty, one valid, six an overrun. */
TEST(cq_distinguishes_overrun_from_empty)
{
	const uint32_t data[15] = {0};
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct fx_cq device;
	struct mana_cq cq = {0};
	uint32_t lap, owner;

	for (lap = 1; lap < 20; lap++) {
		for (owner = 0; owner < 8; owner++) {
			cq_open(&cq, ring, 64, false, lap * 64, &device);
			fx_cqe_write_owner(&device, data, 9, owner);
			assert_int_equal(cq_is_ours(&cq), owner == (lap & 7));
			assert_int_equal(mana_cq_is_empty(&cq, cq.ci,
							  owner << HW_CQE_OWNER_S),
					 owner == ((lap - 1) & 7));
			if (owner == ((lap - 1) & 7))
				assert_int_equal(cq_state(&cq), MANA_CQE_EMPTY);
			else if (owner != (lap & 7))
				assert_int_equal(cq_state(&cq),
						 MANA_CQE_OVERRUN);
		}
	}
	free(ring);
}

TEST(cq_matches_its_queue_only)
{
	const uint32_t data[15] = {0};
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct fx_cq device;
	struct mana_cq cq = {0};

	cq_open(&cq, ring, 64, false, 0, &device);
	fx_cqe_write(&device, data, 8); /* another queue */
	fx_cqe_write(&device, data, 9 | 1u << HW_CQE_IS_SQ_S); /* an SQ */
	fx_cqe_write(&device, data, 9 | 0xfu << 25); /* reserved: ignored */
	fx_cqe_write(&device, data, 0x800009);
	assert_int_equal(cq_state(&cq), MANA_CQE_FOREIGN);
	cq.ci++;
	assert_int_equal(cq_state(&cq), MANA_CQE_FOREIGN);
	cq.ci++;
	assert_true(cq_is_ours(&cq));
	cq.ci++;
	assert_int_equal(cq_state(&cq), MANA_CQE_FOREIGN);
	/* A closed CQ matches no CQE and reports none. */
	cq.ci--;
	mana_cq_close(&cq);
	assert_false(cq_is_ours(&cq));
	assert_int_equal(cq_state(&cq), MANA_CQE_EMPTY);
	free(ring);
}

/* A CQ without identifiers matches no CQE. */
TEST(cq_is_closed_until_opened)
{
	const uint32_t data[15] = {0};
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct fx_cq device = { .ring = ring, .nb_cqe = 64, .pi = 64 };
	struct mana_cq cq = {0};

	assert_eq(mana_cq_init(&cq, ring, 64, false, ring), 0);
	fx_cqe_write(&device, data, 0);
	assert_false(cq_is_ours(&cq));
	mana_cq_open(&cq, 3, 0);
	assert_true(cq_is_ours(&cq));
	free(ring);
}

/* All words of a CQE are copied, and nothing behind them. */
TEST(cq_copies_whole_cqes)
{
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct fx_cq device;
	struct mana_cq cq = {0};
	struct gdma_cqe copies[2];
	uint32_t data[15];

	for (uint32_t i = 0; i < RTE_DIM(data); i++)
		data[i] = 0x1000 + i;
	memset(copies, 0xee, sizeof(copies));
	cq_open(&cq, ring, 64, false, 0, &device);
	assert_false(mana_cq_copy(&cq, cq.ci, copies));
	assert_eq(copies[0].trailer, 0xeeeeeeee);
	fx_cqe_write(&device, data, 9);
	assert_true(mana_cq_copy(&cq, cq.ci, copies));
	assert_memory_equal(copies, ring, sizeof(copies[0]));
	for (uint32_t i = 0; i < RTE_DIM(data); i++)
		assert_eq(copies[1].data[i], 0xeeeeeeee);
	free(ring);
}

/* A poll rings when half of a lap is behind the last doorbell, not before. */
TEST(cq_rings_at_half_a_lap)
{
	static uint8_t page[4096];
	uint8_t *ring = fx_ring_alloc(4096, 0);
	struct mana_cq cq = {0};

	assert_eq(mana_cq_init(&cq, ring, 64, true, page), 0);
	cq.ci += 31;
	assert_false(mana_cq_update(&cq));
	cq.ci++;
	assert_true(mana_cq_update(&cq));
	assert_false(mana_cq_update(&cq));
	free(ring);
}

/* At most one lap of CQEs between two doorbells, for any poll size. */
TEST(cq_rings_once_a_lap)
{
	static uint8_t page[4096];
	uint8_t *ring = fx_ring_alloc(16384, 0);
	const uint32_t nb = 64;
	struct hw_doorbell db;
	struct mana_cq cq = {0};
	uint32_t bite, since, i;

	for (bite = 1; bite <= 2 * nb; bite++) {
		assert_eq(mana_cq_init(&cq, ring, nb, true, page), 0);
		mana_cq_open(&cq, 11, 12);
		cq.ci = cq.rung = 0xffffff00;
		since = 0;
		for (i = 0; i < 20 * nb; i++) {
			uint32_t n = RTE_MIN(bite, nb - since);

			assert_true(n > 0 && (bite > nb / 2 || n == bite));
			cq.ci += n;
			since += n;
			assert_true(since <= nb);
			memset(page, 0, sizeof(page));
			mana_cq_update(&cq);
			if (hw_le64(page + HW_DB_CQ) == 0)
				continue;
			db = hw_doorbell_read(hw_le64(page + HW_DB_CQ), true);
			assert_eq(db.id, 11);
			assert_eq(db.tail, (cq.ci - 1) & (8 * nb - 1));
			assert_false(db.arm);
			since = 0;
		}
	}
	free(ring);
}
