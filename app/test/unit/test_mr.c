/* SPDX-License-Identifier: BSD-3-Clause */

/* The region cache of a queue. Needs no EAL. */

#include "fixture.h"

static uint32_t
lkey_of(struct mana_mr_cache *cache, uint64_t addr, uint32_t len)
{
	uint32_t lkey = 0xdead;

	return mana_mr_lkey(cache, NULL, addr, len, &lkey) ? lkey : 0;
}

static int
setup(void **state)
{
	static struct mana_mr_cache cache;

	fx_mr_clear();
	mana_mr_cache_init(&cache, &fx_mr_generation, &fx_mr_calls);
	*state = &cache;
	return 0;
}

static void
one_miss_per_region(void **state)
{
	struct mana_mr_cache *cache = *state;

	fx_mr_add((void *)0x10000000, 0x200000, 5);
	for (uint32_t i = 0; i < 100; i++)
		assert_eq(lkey_of(cache, 0x10000000 + i * 2048, 2048), 5);
	assert_eq(fx_mr_calls, 1);
	assert_eq(cache->nb_misses, 1);
	assert_eq(cache->nb_failures, 0);
}

/* The first and last byte are in the region, their neighbours are not. */
static void
region_borders(void **state)
{
	struct mana_mr_cache *cache = *state;

	fx_mr_add((void *)0x10000000, 0x1000, 5);
	assert_eq(lkey_of(cache, 0x10000000, 0x1000), 5);
	assert_eq(lkey_of(cache, 0x10000fff, 1), 5);
	assert_eq(lkey_of(cache, 0x10000fff, 2), 0);
	assert_eq(lkey_of(cache, 0x10001000, 1), 0);
	assert_eq(lkey_of(cache, 0x0fffffff, 1), 0);
	assert_eq(lkey_of(cache, 0x0fffffff, 2), 0);
	assert_eq(lkey_of(cache, 0x10000000, 0x1001), 0);
	assert_eq(lkey_of(cache, 0x10000000, UINT32_MAX), 0);
	assert_eq(lkey_of(cache, UINT64_MAX, 1), 0);
	assert_eq(lkey_of(cache, UINT64_MAX, 0x1000), 0);
	assert_eq(lkey_of(cache, 0, 1), 0);
	assert_eq(cache->nb_failures, cache->nb_misses - 1);
}

static void
empty_cache_misses(void **state)
{
	struct mana_mr_cache *cache = *state;

	assert_eq(lkey_of(cache, 0, 0), 0);
	assert_eq(lkey_of(cache, 0x1000, 0), 0);
}

/* Regions of 4 GiB and more. */
static void
large_regions(void **state)
{
	struct mana_mr_cache *cache = *state;
	const uint64_t base = UINT64_C(0x100000000000);
	const uint64_t len = UINT64_C(64) << 30;

	fx_mr_add((void *)base, len, 9);
	for (uint64_t at = 0; at < len; at += len / 64)
		assert_eq(lkey_of(cache, base + at, 65535), 9);
	assert_eq(lkey_of(cache, base + len - 65535, 65535), 9);
	assert_eq(lkey_of(cache, base + len - 65534, 65535), 0);
}

/* A dozen regions in turn: one miss each. */
static void
keeps_many_regions(void **state)
{
	struct mana_mr_cache *cache = *state;

	for (uintptr_t i = 0; i < MANA_MR_CACHE_N; i++)
		fx_mr_add((void *)(0x40000000 + (i << MANA_MR_CACHE_SHIFT)),
			  0x200000, 100 + i);
	for (uint32_t round = 0; round < 10; round++)
		for (uintptr_t i = 0; i < MANA_MR_CACHE_N; i++)
			assert_eq(lkey_of(cache, 0x40000000 + 4096 +
					  (i << MANA_MR_CACHE_SHIFT), 2048),
				  100 + i);
	assert_eq(fx_mr_calls, MANA_MR_CACHE_N);
}

/* Two regions in one page are distinguished. */
static void
regions_within_a_page(void **state)
{
	struct mana_mr_cache *cache = *state;

	fx_mr_add((void *)0x40000000, 0x1000, 1);
	fx_mr_add((void *)0x40001000, 0x1000, 2);
	for (uint32_t i = 0; i < 10; i++) {
		assert_eq(lkey_of(cache, 0x40000800, 256), 1);
		assert_eq(lkey_of(cache, 0x40001800, 256), 2);
	}
	assert_eq(lkey_of(cache, 0x40000f80, 256), 0); /* spans both */
}

static void
sync_empties_the_cache(void **state)
{
	struct mana_mr_cache *cache = *state;

	fx_mr_add((void *)0x40000000, 0x1000, 1);
	assert_eq(lkey_of(cache, 0x40000000, 64), 1);
	mana_mr_cache_sync(cache);
	assert_eq(lkey_of(cache, 0x40000000, 64), 1);
	assert_eq(fx_mr_calls, 1);
	/* The region is replaced by another at the same address. */
	fx_mr_clear();
	fx_mr_add((void *)0x40000000, 0x1000, 2);
	mana_mr_cache_sync(cache);
	assert_eq(lkey_of(cache, 0x40000000, 64), 2);
	assert_eq(fx_mr_calls, 1);
}

static void
failure_is_not_remembered(void **state)
{
	struct mana_mr_cache *cache = *state;

	fx_mr_add((void *)0x40000000, 0x1000, 1);
	fx_mr_deny = true;
	assert_eq(lkey_of(cache, 0x40000000, 64), 0);
	fx_mr_deny = false;
	assert_eq(lkey_of(cache, 0x40000000, 64), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_miss_per_region, setup),
		cmocka_unit_test_setup(region_borders, setup),
		cmocka_unit_test_setup(empty_cache_misses, setup),
		cmocka_unit_test_setup(large_regions, setup),
		cmocka_unit_test_setup(keeps_many_regions, setup),
		cmocka_unit_test_setup(regions_within_a_page, setup),
		cmocka_unit_test_setup(sync_empties_the_cache, setup),
		cmocka_unit_test_setup(failure_is_not_remembered, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
