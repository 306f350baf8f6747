/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All errors of all verbs: tables in errors_*.c, one test per row.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE --rnic -- this AGE
 * 	[newer]: the libraries are those of rdma-core 49 or later
 */

#include <stdio.h>
#include <sys/resource.h>

#include "error_cases.h"

uint32_t error_age;

static void *ring_place;
static struct rlimit usual_limit;

static void *
place_alloc(size_t size, void *data)
{
	(void)size;
	(void)data;
	return ring_place;
}

static void
place_free(void *ring, void *data)
{
	(void)ring;
	(void)data;
}

void
errors_ring_at(struct fixture *fx, void *where)
{
	struct manadv_ctx_allocators allocators = { place_alloc, place_free,
						    NULL };

	ring_place = where;
	assert_int_equal(manadv_set_context_attr(fx->ctx,
		MANADV_CTX_ATTR_BUF_ALLOCATORS, &allocators), 0);
}

void
errors_limit_memory(struct fixture *fx)
{
	struct rlimit limit = usual_limit;

	/* The fixture has pinned more than that already. */
	(void)fx;
	limit.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	MODEL_CALL(mana_model_privileges)(true, false);
}

void
errors_fail(const char *call, int error)
{
	assert_int_equal(MODEL_CALL(mana_model_fault_arm)(call, 1, error), 0);
}

static void
run_case(void **state)
{
	const struct error_case *row = *state;
	struct fixture fx = { 0 };
	int error;

	assert_int_equal(fx_open(&fx, 0, 1), 0);
	error = row->run(&fx);
	MODEL_CALL(mana_model_fault_disarm)();
	MODEL_CALL(mana_model_privileges)(true, true);
	setrlimit(RLIMIT_MEMLOCK, &usual_limit);
	if (fx.ctx != NULL)
		fx_set_allocators(fx.ctx);
	assert_int_equal(fx_close(&fx), 0);
	assert_int_equal(fx_nb_rings, 0);
	assert_no_objects();
	assert_int_equal(error, row->expected[error_age]);
}

int
main(int argc, char **argv)
{
	static const char *const ages[NB_AGES] = { "7.2", "6.12", "6.2" };
	const struct error_case *const tables[] = {
		errors_memory, errors_cq_wq, errors_qp, errors_rss,
		errors_objects, errors_old_libmana,
	};
	static struct CMUnitTest tests[256];
	const char *version = "";
	const struct error_case *row;
	size_t nb = 0;
	uint32_t i, nb_tables = sizeof(tables) / sizeof(tables[0]);

	/* 7.3 has the errors of 7.2. */
	if (argc > 1)
		version = strcmp(argv[1], "7.3") == 0 ? "7.2" : argv[1];
	while (argc > 1 && error_age < NB_AGES &&
	       strcmp(ages[error_age], version) != 0)
		error_age++;
	if (argc < 2 || error_age == NB_AGES)
		return 1;
	if (argc > 2 && strcmp(argv[2], "newer") == 0)
		nb_tables--;
	getrlimit(RLIMIT_MEMLOCK, &usual_limit);
	/*
	 * The fixture opens the first device, which has raw queue pairs in all
	 * versions.
	 */
	for (i = 0; i < nb_tables; i++)
		for (row = tables[i]; row->what != NULL; row++)
			tests[nb++] = (struct CMUnitTest){
				.name = row->what,
				.test_func = run_case,
				.initial_state = (void *)(uintptr_t)row,
			};
	return _cmocka_run_group_tests("errors", tests, nb, NULL, NULL);
}
