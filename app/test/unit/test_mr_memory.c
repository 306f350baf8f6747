/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which memory EAL may return to the kernel. Runs without EAL, so that huge
 * page sizes can be simulated.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_eal_memconfig.h>

#include "mana.h"

/* Symbols that mana_mr.c references and this test does not call. */
int mana_logtype_driver;

int
mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len, bool is_writable,
		     struct ibv_mr **mr, uint32_t *lkey)
{
	RTE_SET_USED(pd);
	RTE_SET_USED(addr);
	RTE_SET_USED(len);
	RTE_SET_USED(is_writable);
	RTE_SET_USED(mr);
	RTE_SET_USED(lkey);
	return -1;
}

int
mana_verbs_mr_destroy(struct ibv_mr *mr)
{
	RTE_SET_USED(mr);
	return 0;
}

void
mana_diag_mr(const struct mana_priv *priv, uintptr_t addr, size_t len, int error)
{
	RTE_SET_USED(priv);
	RTE_SET_USED(addr);
	RTE_SET_USED(len);
	RTE_SET_USED(error);
}

/* Huge pages of any size, with the smallest of arm64. */
static void
test_freed_huge_pages_are_deregistered(void **state)
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
		cmocka_unit_test(test_freed_huge_pages_are_deregistered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
