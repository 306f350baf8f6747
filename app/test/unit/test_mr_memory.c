/* SPDX-License-Identifier: BSD-3-Clause */

/* Which memory EAL may give back. Without EAL: there are huge pages then. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_eal_memconfig.h>

#include "mana_diag.h"
#include "mana_mr_table.h"

/* What mana_mr.c needs and this test does not. */
int mana_logtype_driver;

int
mana_mr_table_add(struct mana_mr_table *table, struct mana_mr_region *region)
{
	RTE_SET_USED(table);
	RTE_SET_USED(region);
	return -1;
}

uint32_t
mana_mr_table_remove(struct mana_mr_table *table, mana_mr_match_t match, const void *arg)
{
	RTE_SET_USED(table);
	RTE_SET_USED(match);
	RTE_SET_USED(arg);
	return 0;
}

bool
mana_mr_table_lookup(const struct mana_mr_table *table, uintptr_t addr, size_t len,
		     struct mana_mr_range *range)
{
	RTE_SET_USED(table);
	RTE_SET_USED(addr);
	RTE_SET_USED(len);
	RTE_SET_USED(range);
	return false;
}

int
mana_mr_pool_register(struct mana_mr_table *table, struct rte_mempool *mp,
		      struct mana_mr_span *failed)
{
	RTE_SET_USED(table);
	RTE_SET_USED(mp);
	RTE_SET_USED(failed);
	return -1;
}

void
mana_mr_pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg)
{
	RTE_SET_USED(event);
	RTE_SET_USED(mp);
	RTE_SET_USED(arg);
}

void
mana_diag_mr(const char *name, uintptr_t addr, size_t len, int error)
{
	RTE_SET_USED(name);
	RTE_SET_USED(addr);
	RTE_SET_USED(len);
	RTE_SET_USED(error);
}

/* Huge pages of any size come and go, the smallest of arm64 too. */
static void
test_huge_pages_go(void **state)
{
	static const uint64_t sizes[] = { RTE_PGSIZE_64K, RTE_PGSIZE_2M, RTE_PGSIZE_1G };
	unsigned int i;

	RTE_SET_USED(state);
	assert_true(rte_eal_has_hugepages());
	for (i = 0; i < RTE_DIM(sizes); i++) {
		struct rte_memseg_list msl = { .page_sz = sizes[i] };

		assert_false(mana_mr_is_permanent(&msl));
		msl.external = 1;
		assert_false(mana_mr_is_permanent(&msl));
	}
	assert_false(mana_mr_is_permanent(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_huge_pages_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
