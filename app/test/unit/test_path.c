/* SPDX-License-Identifier: BSD-3-Clause */

/* Which of several burst functions is taken: width, coverage, force. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "mana_path.h"

#define A 1u
#define B 2u
#define C 4u

static uint16_t
burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	(void)queue;
	(void)pkts;
	return nb_pkts;
}

/* The widest is too wide for any processor. */
static const struct mana_path paths[] = {
	{ .name = "S", .key = "s", .flags = A },
	{ .name = "V", .key = "v", .flags = A, .simd_bits = 128 },
	{ .name = "V B", .key = "v", .flags = A | B, .simd_bits = 128 },
	{ .name = "W", .key = "w", .flags = A | B, .simd_bits = 1024, .burst = burst },
	{ .name = "S B", .key = "s", .flags = A | B },
	{ .name = "S All", .key = "s", .flags = A | B | C },
};
#define TABLE paths, RTE_DIM(paths)

static void
check(uint32_t flags, const char *key, const char *name)
{
	assert_string_equal(mana_path_select(TABLE, flags, key)->name, name);
}

static void
test_free_choice(void **state)
{
	(void)state;
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	check(0, NULL, "S");
	check(A, NULL, "S");
	check(B, NULL, "S B");
	check(A | C, NULL, "S All");
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_128), 0);
	check(0, NULL, "V");
	check(A | B, NULL, "V B");
	check(C, NULL, "S All");
	/* Allowed, but the processor has none of it. */
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_MAX), 0);
	check(A, NULL, "V");
}

static void
test_forced(void **state)
{
	(void)state;
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_MAX), 0);
	check(0, "s", "S");
	check(B, "s", "S B");
	check(B, "v", "V B");
	/* Not covered: the scalar one that does. */
	check(C, "v", "S All");
	check(B, "w", "S B");
	/* No more after the probe has taken the key: never wider than EAL says. */
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	check(A, "v", "S");
	check(A | B, "v", "S B");
}

static void
test_keys(void **state)
{
	char text[16], small[4];

	(void)state;
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_MAX), 0);
	mana_path_keys(TABLE, text, sizeof(text));
	assert_string_equal(text, "s, v");
	mana_path_keys(TABLE, small, sizeof(small));
	assert_string_equal(small, "s, ");
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	mana_path_keys(TABLE, text, sizeof(text));
	assert_string_equal(text, "s");
	assert_ptr_equal(mana_path_of_key(TABLE, "v"), &paths[1]);
	assert_null(mana_path_of_key(TABLE, "V"));
	assert_null(mana_path_of_key(TABLE, ""));
	assert_ptr_equal(mana_path_find(TABLE, burst), &paths[3]);
}

/* Both tables: named once each, and a scalar path covers whatever is asked. */
static void
check_table(const struct mana_path *of, uint32_t nb)
{
	uint32_t all = 0;
	uint32_t i, j;

	for (i = 0; i < nb; i++) {
		const struct mana_path *path = &of[i];

		all |= path->flags;
		assert_ptr_equal(mana_path_find(of, nb, path->burst), path);
		assert_int_equal(path->simd_bits == 0,
				 strcmp(path->key, "scalar") == 0);
		if (path->simd_bits == 0)
			assert_memory_equal(path->name, "Scalar", 6);
		else
			assert_memory_equal(path->name, "Vector ", 7);
		for (j = 0; j < i; j++)
			assert_string_not_equal(of[j].name, path->name);
	}
	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_DISABLED), 0);
	for (i = 0; i <= all; i++) {
		const struct mana_path *path =
			mana_path_select(of, nb, i & all, NULL);

		assert_int_equal(i & all & ~path->flags, 0);
		assert_int_equal(path->simd_bits, 0);
	}
}

static void
test_tables(void **state)
{
	(void)state;
	check_table(mana_rx_paths, mana_rx_nb_paths);
	check_table(mana_tx_paths, mana_tx_nb_paths);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_choice),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
