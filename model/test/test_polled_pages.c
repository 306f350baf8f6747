/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Polling of doorbell pages of plain memory, with stubs below. A page that
 * the program maps while the device starts to poll is either polled in the same
 * pass, or its mapping waits for the end of the pass: so a buffer posted there
 * is visible to packets that are sent later.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "preload.h"
#include "doorbell.h"
#include "kernel.h"
#include "violation_log.h"
#include "polled_pages.h"
#include "segment.h"

#define PAGE_BYTES 4096u
#define FIRST 1u  /* contexts, and their pages */
#define SECOND 2u
/* Time limit of a mapping that must not wait. */
#define MAPPING_US 50000

/* All zero: not the mode in which mapping starts the thread. */
static uint64_t head[(SEGMENT_CONFIG_AT + sizeof(struct model_config)) / 8 + 1];
struct model_segment *model = (struct model_segment *)head;
uint32_t model_self;

static pthread_mutex_t machine = PTHREAD_MUTEX_INITIALIZER;
static int file;
static bool maps_before_run, maps_in_run;
static pthread_t mapper;
static bool has_mapped, had_mapped_in_run;
static uint32_t nb_polled;

void
segment_lock_masked(void)
{
	pthread_mutex_lock(&machine);
}

bool
segment_trylock_last(void)
{
	return pthread_mutex_trylock(&machine) == 0;
}

void
segment_unlock_masked(void)
{
	pthread_mutex_unlock(&machine);
}

void
doorbell_process_init(void)
{
}

int
device_thread_start(void)
{
	return 0;
}

int
kernel_context_doorbell(uint32_t context, uint32_t *fn, uint32_t *page)
{
	*fn = 0;
	*page = context;
	return 0;
}

int
kernel_context_page_open(uint32_t context, uint64_t *serial)
{
	*serial = context;
	return dup(file);
}

/* The context of another process; 0: none. */
static uint32_t others_context;
static int others_error; /* error of opening it */
static uint32_t nb_others_polled;

int
kernel_context_other_page_open(uint32_t context, uint64_t *serial)
{
	*serial = context;
	if (context == others_context && others_error != 0)
		return others_error;
	return context == others_context ? dup(file) : -ENOENT;
}

static uint64_t nb_pages_made;

uint64_t
kernel_context_nb_pages(void)
{
	return nb_pages_made;
}

bool
kernel_context_is(uint32_t context, uint64_t serial)
{
	return context == serial;
}

void
model_log(const char *format, ...)
{
	(void)format;
}

bool
card_page_is_short_rung(const struct card_page *page)
{
	(void)page;
	return false;
}

static void
map(uint32_t context)
{
	void *addr = NULL;

	if (polled_pages_map(&addr, context, file, PAGE_BYTES, MAP_SHARED) == 0)
		__atomic_store_n(&has_mapped, true, __ATOMIC_RELEASE);
}

static void *
map_second(void *arg)
{
	map(SECOND);
	return arg;
}

bool
card_pages_rung(const struct card_page *pages, uint32_t nb)
{
	(void)pages;
	if (nb != 0 && maps_before_run) {
		maps_before_run = false;
		map(SECOND);
	}
	return nb != 0;
}

uint32_t
card_pages_run(const struct card_page *pages, uint32_t nb,
	       const struct card_page *others, uint32_t nb_others)
{
	(void)pages;
	nb_polled = nb;
	nb_others_polled = nb_others;
	if (nb_others > 0)
		assert_int_equal(others[0].page, others_context);
	if (maps_in_run) {
		maps_in_run = false;
		pthread_create(&mapper, NULL, map_second, NULL);
		usleep(MAPPING_US);
		had_mapped_in_run =
			__atomic_load_n(&has_mapped, __ATOMIC_ACQUIRE);
	}
	return 1;
}

/* Each test runs in its own process, because views stay. */
static void
poll_first(void)
{
	file = memfd_create("page", MFD_CLOEXEC);
	assert_return_code(ftruncate(file, PAGE_BYTES), errno);
	map(FIRST);
	assert_true(has_mapped);
	has_mapped = false;
	polled_pages_run(false);
	assert_int_equal(nb_polled, 1);
}

static void
page_mapped_before_run_is_polled(void **state)
{
	(void)state;
	poll_first();
	maps_before_run = true;
	assert_int_equal(polled_pages_run(false), 1);
	assert_true(has_mapped);
	assert_int_equal(nb_polled, 2);
}

static void
page_mapping_waits_for_end_of_run(void **state)
{
	(void)state;
	poll_first();
	maps_in_run = true;
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_polled, 1);
	assert_int_equal(pthread_join(mapper, NULL), 0);
	assert_true(has_mapped);
	assert_false(had_mapped_in_run);
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_polled, 2);
}

/*
 * A page of another process is polled, although this process does not map it.
 */
static void
page_of_other_process_is_polled(void **state)
{
	(void)state;
	poll_first();
	assert_int_equal(nb_others_polled, 0);
	others_context = SECOND;
	nb_pages_made++;
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_polled, 1);
	assert_int_equal(nb_others_polled, 1);
	nb_pages_made++;
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_others_polled, 1);
}

/* No further page is created, which would cause another attempt. */
static void
page_that_failed_to_open_is_retried(void **state)
{
	(void)state;
	poll_first();
	others_context = SECOND;
	others_error = -EMFILE;
	nb_pages_made++;
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_others_polled, 0);
	others_error = 0;
	assert_int_equal(polled_pages_run(false), 1);
	assert_int_equal(nb_others_polled, 1);
}

/* Each test needs a process of its own: its name is the argument. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_mapped_before_run_is_polled),
		cmocka_unit_test(page_mapping_waits_for_end_of_run),
		cmocka_unit_test(page_of_other_process_is_polled),
		cmocka_unit_test(page_that_failed_to_open_is_retried),
	};

	if (argc != 2)
		return 2;
	cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
