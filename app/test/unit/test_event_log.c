/* SPDX-License-Identifier: BSD-3-Clause */

/* The event log of a port: order, overwriting, threads. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <rte_common.h>

#include "mana_event_log.h"

#define NB_THREADS 4
#define NB_EACH 5000

static struct mana_event events[MANA_EVENT_LOG_N];

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
}

static void
test_empty(void **state)
{
	struct mana_event_log log = { 0 };

	RTE_SET_USED(state);
	assert_int_equal(mana_event_log_copy(&log, events), 0);
}

static void
test_contents(void **state)
{
	struct mana_event_log log = { 0 };
	uint64_t wall = now_ns(CLOCK_REALTIME);
	uint64_t mono = now_ns(CLOCK_MONOTONIC);

	RTE_SET_USED(state);
	mana_event_add(&log, MANA_EVENT_CONFIGURE, 4, UINT32_MAX, 0);
	mana_event_add(&log, MANA_EVENT_START, 4, 2, -EBUSY);
	assert_int_equal(mana_event_log_copy(&log, events), 2);
	assert_int_equal(events[0].number, 1);
	assert_int_equal(events[0].kind, MANA_EVENT_CONFIGURE);
	assert_int_equal(events[0].arg[0], 4);
	assert_int_equal(events[0].arg[1], UINT32_MAX);
	assert_int_equal(events[0].error, 0);
	assert_int_equal(events[1].number, 2);
	assert_int_equal(events[1].kind, MANA_EVENT_START);
	assert_int_equal(events[1].error, -EBUSY);
	assert_true(events[0].mono_ns >= mono);
	assert_true(events[1].mono_ns >= events[0].mono_ns);
	assert_true(events[1].mono_ns <= now_ns(CLOCK_MONOTONIC));
	/* The wall clock may be set: allow a day. */
	assert_true(events[0].wall_ns + 86400000000000u > wall);
}

/* The log keeps the last events, oldest first. */
static void
test_wrap(void **state)
{
	static const uint32_t totals[] = {
		MANA_EVENT_LOG_N - 1, MANA_EVENT_LOG_N, MANA_EVENT_LOG_N + 1,
		3 * MANA_EVENT_LOG_N, 3 * MANA_EVENT_LOG_N + 17,
	};
	unsigned int t;
	uint32_t i;

	RTE_SET_USED(state);
	for (t = 0; t < RTE_DIM(totals); t++) {
		uint32_t nb = RTE_MIN(totals[t], (uint32_t)MANA_EVENT_LOG_N);
		struct mana_event_log log = { 0 };

		for (i = 0; i < totals[t]; i++)
			mana_event_add(&log, MANA_EVENT_MTU, i, ~i, -(int)i);
		assert_int_equal(mana_event_log_copy(&log, events), nb);
		for (i = 0; i < nb; i++) {
			uint32_t of = totals[t] - nb + i;

			assert_int_equal(events[i].number, of + 1);
			assert_int_equal(events[i].arg[0], of);
			assert_int_equal(events[i].arg[1], (uint32_t)~of);
			assert_int_equal(events[i].error, -(int)of);
		}
	}
}

static struct mana_event_log shared;

static void *
writer(void *arg)
{
	uint32_t of = (uintptr_t)arg;
	uint32_t i;

	for (i = 0; i < NB_EACH; i++)
		mana_event_add(&shared, MANA_EVENT_LINK, of, i, -(int)i);
	return NULL;
}

/* A reader never sees a torn or misordered event. */
static void
check_snapshot(void)
{
	uint32_t last[NB_THREADS] = { 0 };
	uint32_t nb = mana_event_log_copy(&shared, events);
	uint32_t i;

	for (i = 0; i < nb; i++) {
		uint32_t of = events[i].arg[0];

		assert_int_equal(events[i].number, events[0].number + i);
		assert_in_range(of, 0, NB_THREADS - 1);
		assert_int_equal(events[i].error, -(int)events[i].arg[1]);
		assert_true(events[i].arg[1] + 1 > last[of]);
		last[of] = events[i].arg[1] + 1;
	}
}

static void
test_threads(void **state)
{
	pthread_t threads[NB_THREADS];
	uintptr_t i;

	RTE_SET_USED(state);
	for (i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer,
						(void *)i), 0);
	for (i = 0; i < 200; i++)
		check_snapshot();
	for (i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	check_snapshot();
	assert_int_equal(shared.nb_added, NB_THREADS * NB_EACH);
}

/* Each kind has a unique name. */
static void
test_names(void **state)
{
	uint32_t i;
	uint32_t j;

	RTE_SET_USED(state);
	for (i = 0; i < MANA_NB_EVENT_KINDS; i++) {
		assert_non_null(mana_event_names[i].name);
		for (j = 0; j < i; j++)
			assert_string_not_equal(mana_event_names[i].name,
						mana_event_names[j].name);
	}
	assert_string_equal(mana_event_names[MANA_EVENT_RXQ_SETUP].name, "rxq_setup");
	assert_string_equal(mana_event_names[MANA_EVENT_RXQ_SETUP].arg[1], "nb_desc");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
