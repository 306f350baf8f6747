/* SPDX-License-Identifier: BSD-3-Clause */

/* Look-ups in the table of regions. Needs no EAL. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/mman.h>

#include "fixture.h"

static struct mana_mr_cache cache;

/* As the slow lane does: 0 if there is no key. */
static uint32_t
lkey_of(uint64_t addr, uint64_t len)
{
	uint32_t lkey = 0xdead;

	if (mana_mr_is_stale(&cache.view))
		mana_mr_sync(&cache);
	return mana_mr_lkey(&cache, NULL, addr, len, &lkey) == 0 ? lkey : 0;
}

/* As the fast lane does. */
static uint32_t
found(uint64_t addr, uint64_t len)
{
	struct mana_mr_range range;

	if (mana_mr_is_stale(&cache.view))
		mana_mr_sync(&cache);
	if (!mana_mr_find(&cache, addr, len, &range))
		return 0;
	assert_true(range.base <= addr && addr + len <= range.end);
	return range.lkey;
}

static int
setup(void **state)
{
	mana_process_kind = MANA_KIND_PRIMARY;
	fx_mr_clear();
	mana_mr_cache_init(&cache, &fx_mr_table);
	return 0;
}

#define MR_TEST(name) TEST_WITH(name, setup, NULL)

MR_TEST(one_miss_per_region)
{
	fx_mr_add((void *)0x10000000, 0x200000, 5);
	for (uint32_t i = 0; i < 100; i++)
		assert_eq(lkey_of(0x10000000 + i * 2048, 2048), 5);
	assert_eq(fx_mr_calls, 1);
	assert_eq(cache.nb_misses, 1);
	assert_eq(cache.nb_failures, 0);
}

/* The first and last byte are in the region, their neighbours are not. */
MR_TEST(region_borders)
{
	fx_mr_register((void *)0x10000000, 0x1000, 5);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t (*key)(uint64_t, uint64_t) = i == 0 ? found : lkey_of;

		assert_eq(key(0x10000000, 0x1000), 5);
		assert_eq(key(0x10000fff, 1), 5);
		assert_eq(key(0x10000fff, 2), 0);
		assert_eq(key(0x10001000, 1), 0);
		assert_eq(key(0x0fffffff, 1), 0);
		assert_eq(key(0x0fffffff, 2), 0);
		assert_eq(key(0x10000000, 0x1001), 0);
		assert_eq(key(0x10000000, UINT32_MAX), 0);
		assert_eq(key(0, 1), 0);
		assert_eq(key(1, 1), 0);
	}
	assert_eq(cache.nb_failures, cache.nb_misses);
}

MR_TEST(empty_table_misses)
{
	assert_eq(found(0x1000, 1), 0);
	assert_eq(lkey_of(0x1000, 1), 0);
	assert_eq(found(0, 1), 0);
}

/* Regions of 4 GiB and more. */
MR_TEST(large_regions)
{
	const uint64_t base = UINT64_C(0x100000000000);
	const uint64_t len = UINT64_C(64) << 30;

	fx_mr_add((void *)base, len, 9);
	for (uint64_t at = 0; at < len; at += len / 64)
		assert_eq(lkey_of(base + at, 65535), 9);
	assert_eq(lkey_of(base + len - 65535, 65535), 9);
	assert_eq(lkey_of(base + len - 65534, 65535), 0);
}

/* Any number of regions: a miss each, then none, whatever the order. */
MR_TEST(any_number_of_regions)
{
	for (uintptr_t nb = 1; nb <= 60; nb++) {
		setup(NULL);
		for (uintptr_t i = 0; i < nb; i++)
			fx_mr_add((void *)(0x40000000 + i * 0x3000), 0x1000, 100 + i);
		for (uintptr_t i = 0; i < nb; i++)
			assert_eq(lkey_of(0x40000800 + i * 7 % nb * 0x3000, 2048),
				  100 + i * 7 % nb);
		assert_uint_in_range(fx_mr_calls, 1, nb);
		for (uintptr_t i = 0; i < nb; i++)
			(void)lkey_of(0x40000800 + i * 0x3000, 2048);
		fx_mr_calls = 0;
		for (uintptr_t i = 0; i < 3 * nb; i++) {
			uintptr_t base = 0x40000000 + i * 11 % nb * 0x3000;

			assert_eq(found(base + 0x7ff, 2049), 100 + i * 11 % nb);
			assert_eq(lkey_of(base, 0x1000), 100 + i * 11 % nb);
			assert_eq(found(base + 0x1000, 1), 0);
		}
		assert_eq(fx_mr_calls, 0);
	}
}

/* Two regions in one page are distinguished. */
MR_TEST(regions_within_a_page)
{
	fx_mr_add((void *)0x40000000, 0x1000, 1);
	fx_mr_add((void *)0x40001000, 0x1000, 2);
	for (uint32_t i = 0; i < 10; i++) {
		assert_eq(lkey_of(0x40000800, 256), 1);
		assert_eq(lkey_of(0x40001800, 256), 2);
	}
	assert_eq(lkey_of(0x40000f80, 256), 0); /* spans both */
}

/* The inner region is found fast, the outer one behind it by the slow way only. */
MR_TEST(overlapping_regions)
{
	fx_mr_register((void *)0x40000000, 0x10000, 1);
	fx_mr_register((void *)0x40004000, 0x1000, 2);
	fx_mr_register((void *)0x40004000, 0x10, 3);
	assert_eq(found(0x40003000, 64), 1);
	assert_eq(found(0x40004000, 16), 3);
	assert_eq(found(0x40004000, 17), 0);
	assert_eq(lkey_of(0x40004000, 17), 2);
	assert_eq(lkey_of(0x40004ff0, 17), 1);
	assert_eq(lkey_of(0x40003fff, 2), 1);
	assert_eq(lkey_of(0x4000f000, 0x1000), 1);
	assert_eq(fx_mr_calls, 0);
	assert_eq(lkey_of(0x4000f000, 0x1001), 0);
	assert_eq(fx_mr_calls, 1);
}

/*
 * A secondary process does not take the primary's private memory for its own, nor does a
 * queue know it any more when a secondary process takes the queue.
 */
MR_TEST(private_memory)
{
	fx_mr_register((void *)0x40000000, 0x1000, 1);
	fx_mr_register_private((void *)0x50000000, 0x1000, 2);
	assert_eq(found(0x50000000, 64), 2);
	assert_eq(lkey_of(0x50000000, 64), 2);
	assert_false(mana_mr_is_stale(&cache.view));
	mana_process_kind = MANA_KIND_SECONDARY;
	assert_true(mana_mr_is_stale(&cache.view));
	assert_eq(found(0x40000000, 64), 1);
	assert_eq(found(0x50000000, 64), 0);
	fx_mr_deny = true;
	assert_eq(lkey_of(0x50000000, 64), 0);
	mana_process_kind = MANA_KIND_PRIMARY;
	assert_true(mana_mr_is_stale(&cache.view));
	assert_eq(lkey_of(0x50000000, 64), 2);
}

/* A region is replaced by another at the same address. */
MR_TEST(change_is_followed)
{
	fx_mr_add((void *)0x40000000, 0x1000, 1);
	assert_eq(lkey_of(0x40000000, 64), 1);
	assert_eq(lkey_of(0x40000000, 64), 1);
	assert_eq(fx_mr_calls, 1);
	fx_mr_clear();
	fx_mr_add((void *)0x40000000, 0x1000, 2);
	assert_eq(lkey_of(0x40000000, 64), 2);
	assert_eq(fx_mr_calls, 1);
}

/* A thread that has stopped in the middle of a change stops no burst. */
MR_TEST(writer_has_stopped)
{
	struct mana_mr_array *array = fx_mr_table.array;
	const uint32_t seq = fx_mr_table.seq[MANA_KIND_PRIMARY] + 2;
	struct mana_mr_entry *next = mana_mr_list(array, seq, MANA_KIND_PRIMARY);

	fx_mr_register((void *)0x40000000, 0x1000, 1);
	memset(&next[1], 0xa5, (array->capacity - 1) * sizeof(*next));
	array->nb[seq & 1][MANA_KIND_PRIMARY] = array->capacity;
	for (uint32_t i = 0; i < 2; i++) {
		assert_eq(found(0x40000000, 64), 1);
		assert_eq(lkey_of(0x40000000, 64), 1);
		mana_mr_sync(&cache);
	}
	assert_eq(fx_mr_calls, 0);
	assert_eq(cache.nb_failures, 0);
	fx_mr_publish();
	assert_eq(found(0x40000000, 64), 1);
	assert_eq(fx_mr_calls, 0);
}

static struct mana_mr_array *
empty_array(void)
{
	static alignas(RTE_CACHE_LINE_SIZE) uint8_t memory[sizeof(struct mana_mr_array) +
		2 * MANA_NB_PROCESS_KINDS * 16 * sizeof(struct mana_mr_entry)];
	struct mana_mr_array *array = (struct mana_mr_array *)memory;

	array->capacity = 16;
	return array;
}

/* A view of a new array before it is the table: nothing is found. */
MR_TEST(array_is_replaced)
{
	struct mana_mr_array *larger = empty_array(), *array;

	fx_mr_register((void *)0x40000000, 0x1000, 1);
	array = fx_mr_table.array;
	fx_mr_table.array = larger;
	mana_mr_sync(&cache);
	assert_eq(found(0x40000000, 64), 0);
	assert_eq(found(0, 1), 0);
	fx_mr_table.array = array;
	fx_mr_publish();
	assert_eq(found(0x40000000, 64), 1);
}

/* Each time the memory is registered, it is gone before the look-up: the burst ends. */
MR_TEST(region_never_stays)
{
	/* The test's mana_mr_miss() registers in another table. */
	struct mana_mr_table without = { .array = empty_array(), .port = fx_mr_table.port };
	struct mana_mr_range range = { .lkey = 7 };

	fx_mr_add((void *)0x40000000, 0x1000, 1);
	mana_mr_cache_init(&cache, &without);
	assert_eq(mana_mr_lookup(&cache, NULL, 0x40000000, 64, &range), -EAGAIN);
	assert_uint_in_range(fx_mr_calls, 2, 100);
	assert_eq(cache.nb_misses, fx_mr_calls);
	assert_eq(cache.nb_failures, 0);
	assert_eq(range.lkey, 7);
}

/* A table of one region, in a search's second step; later steps read another page. */
#define PAGED_AT 64
#define PAGED_NB (2 * PAGED_AT)
#define PAGED_FIRST (PAGED_AT + 2) /* entry of the second page */
static struct mana_mr_table paged = { .port = &fx_mr_calls };
static uint8_t *pages;
static size_t page_bytes;

static void
paged_set(uintptr_t base, uint32_t lkey)
{
	struct mana_mr_array *array = paged.array;

	array->nb[0][MANA_KIND_PRIMARY] = PAGED_NB;
	for (uint32_t i = 1; i < PAGED_NB; i++)
		array->entries[i].range.base = i < PAGED_AT ? i : UINTPTR_MAX;
	array->entries[PAGED_AT] = (struct mana_mr_entry){
		.range = { .base = base, .end = base + 0x1000, .lkey = lkey },
		.max_end = base + 0x1000,
	};
	paged.seq[MANA_KIND_PRIMARY] += 2;
}

/* As another thread, at the reader's first access to a page. */
static void
replace_region(int number)
{
	if (mprotect(pages, 2 * page_bytes, PROT_READ | PROT_WRITE) != 0)
		abort();
	paged_set(0x50000000, 2);
}

/*
 * A region replaces another one in the middle of a search: the memory of the old one does
 * not get its key, though it is between the old start and the new end.
 */
MR_TEST(change_within_a_search)
{
	const struct sigaction action = {
		.sa_handler = replace_region,
		.sa_flags = SA_RESETHAND,
	};
	enum { BY_FIND, BY_LOOKUP, BY_SYNC };
	struct mana_mr_range range = { .lkey = 7 };
	struct sigaction before;

	page_bytes = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	paged.array = (void *)(pages + page_bytes - sizeof(*paged.array) -
			       PAGED_FIRST * sizeof(paged.array->entries[0]));
	assert_ptr_equal(&paged.array->entries[PAGED_FIRST], pages + page_bytes);
	for (uint32_t way = BY_FIND; way <= BY_SYNC; way++) {
		paged_set(0x40000000, 1);
		mana_mr_cache_init(&cache, &paged);
		assert_eq(sigaction(SIGSEGV, &action, &before), 0);
		assert_eq(mprotect(way == BY_SYNC ? pages : pages + page_bytes, page_bytes,
				   PROT_NONE), 0);
		if (way == BY_FIND)
			assert_false(mana_mr_find(&cache, 0x40000000, 64, &range));
		else if (way == BY_LOOKUP)
			assert_eq(mana_mr_lookup(&cache, NULL, 0x40000000, 64, &range),
				  -ENOENT);
		else
			mana_mr_sync(&cache);
		assert_eq(sigaction(SIGSEGV, &before, NULL), 0);
		assert_eq(range.lkey, 7);
		assert_true(mana_mr_is_stale(&cache.view));
		assert_eq(found(0x40000000, 64), 0);
		assert_eq(found(0x50000000, 64), 2);
	}
	assert_eq(munmap(pages, 2 * page_bytes), 0);
}

MR_TEST(failure_is_not_remembered)
{
	fx_mr_add((void *)0x40000000, 0x1000, 1);
	fx_mr_deny = true;
	assert_eq(lkey_of(0x40000000, 64), 0);
	fx_mr_deny = false;
	assert_eq(lkey_of(0x40000000, 64), 1);
}

static bool has_ended;

/* Inserts and removes a region before the others, with the order of mana_mr.c. */
static void *
change_table(void *arg)
{
	struct mana_mr_table *table = arg;
	struct mana_mr_array *array = table->array;
	MANA_ATOMIC(uint32_t) *seq = &table->seq[MANA_KIND_PRIMARY];

	while (!mana_atomic_load(&has_ended)) {
		const uint32_t next = mana_atomic_load(seq) + 1;
		const struct mana_mr_entry *from = mana_mr_list(array, next - 1, MANA_KIND_PRIMARY);
		struct mana_mr_entry *to = mana_mr_list(array, next, MANA_KIND_PRIMARY);
		uint32_t nb = array->nb[(next - 1) & 1][MANA_KIND_PRIMARY];
		const bool is_there = nb == 10;

		rte_smp_wmb();
		from += is_there ? 2 : 1;
		to += is_there ? 1 : 2;
		if (!is_there) {
			mana_mr_store(&to[-1].range.base, 0x1000);
			mana_mr_store(&to[-1].range.end, 0x2000);
			mana_mr_store(&to[-1].max_end, 0x2000);
		}
		for (uint32_t i = 0; i < 8; i++) {
			mana_mr_store(&to[i].range.base, from[i].range.base);
			mana_mr_store(&to[i].range.end, from[i].range.end);
			mana_mr_store(&to[i].range.lkey, from[i].range.lkey);
			mana_mr_store(&to[i].max_end, from[i].max_end);
		}
		mana_mr_store(&array->nb[next & 1][MANA_KIND_PRIMARY], is_there ? 9 : 10);
		mana_atomic_release(seq, next);
		sched_yield();
	}
	return NULL;
}

/* Another thread moves the entries: a reader never gets the key of another region. */
MR_TEST(concurrent_changes)
{
	uint32_t nb_found = 0, lkey;
	pthread_t thread;

	for (uintptr_t i = 0; i < 8; i++)
		fx_mr_register((void *)(0x40000000 + i * 0x2000), 0x1000, 100 + i);
	mana_atomic_store(&has_ended, false);
	assert_eq(pthread_create(&thread, NULL, change_table, &fx_mr_table), 0);
	for (uint32_t i = 0; i < 300000; i++) {
		uintptr_t at = i % 8;
		int ret;

		lkey = found(0x40000000 + at * 0x2000, 0x1000);
		assert_true(lkey == 0 || lkey == 100 + at);
		ret = mana_mr_lkey(&cache, NULL, 0x40000000 + at * 0x2000, 64, &lkey);
		assert_true(ret == -EAGAIN || (ret == 0 && lkey == 100 + at));
		nb_found += ret == 0;
	}
	mana_atomic_store(&has_ended, true);
	assert_eq(pthread_join(thread, NULL), 0);
	assert_true(nb_found > 0);
	assert_eq(fx_mr_calls, 0);
}
