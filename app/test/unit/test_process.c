/* SPDX-License-Identifier: BSD-3-Clause */

/* What a process has for itself: its window of doorbell pages, its marks. */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <sys/mman.h>

#include "fixture.h"

/* mmap(), with the 64-bit offsets of all builds. */
static bool fails;

void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
void *
__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (!fails)
		return __real_mmap64(addr, len, prot, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

static int
page_file(void)
{
	int fd = memfd_create("doorbells", 0);

	assert_true(fd >= 0);
	assert_eq(ftruncate(fd, sysconf(_SC_PAGESIZE)), 0);
	return fd;
}

/* What is in the first word of a file. */
static uint64_t
word_of(int fd)
{
	uint64_t word;

	assert_eq(pread(fd, &word, sizeof(word), 0), sizeof(word));
	return word;
}

/* Doorbells of a port go to its page, or nowhere; each port has a page of its own. */
static void
pages_of_ports(void **state)
{
	const int first = page_file(), second = page_file(), other = page_file();
	uintptr_t db;

	(void)state;
	/* Before there is a window. */
	mana_db_unmap(0);
	fails = true;
	assert_eq(-mana_db_map(0, first), ENOMEM);
	fails = false;
	assert_eq(mana_db_window, 0);

	assert_eq(mana_db_map(0, first), 0);
	assert_eq(mana_db_map(RTE_MAX_ETHPORTS - 1, other), 0);
	db = mana_db_offset(mana_db_page(0));
	mana_db_ring(db, 1);
	assert_eq(word_of(first), 1);
	assert_eq(word_of(other), 0);
	mana_db_ring(mana_db_offset(mana_db_page(RTE_MAX_ETHPORTS - 1)), 2);
	assert_eq(word_of(other), 2);
	/* Another device of the port, at the same offset. */
	assert_eq(mana_db_map(0, second), 0);
	mana_db_ring(db, 3);
	assert_eq(word_of(first), 1);
	assert_eq(word_of(second), 3);
	/* None, also after a mapping that fails: a burst may still ring. */
	mana_db_unmap(0);
	mana_db_ring(db, 4);
	assert_eq(mana_db_map(0, second), 0);
	assert_eq(-mana_db_map(0, -1), EBADF);
	mana_db_ring(db, 5);
	assert_eq(word_of(second), 3);
	close(first);
	close(second);
	close(other);
}

static MANA_ATOMIC(uint32_t) look;

static void *
unlock_later(void *arg)
{
	usleep(20000);
	mana_look_unlock(&look);
	return arg;
}

/* Another process holds the lock for a while. */
static void
lock_of_another_process(void **state)
{
	pthread_t thread;

	(void)state;
	mana_look_lock(&look);
	assert_eq(mana_atomic_load(&look), MANA_PROCESS_PRIMARY);
	assert_eq(pthread_create(&thread, NULL, unlock_later, NULL), 0);
	mana_process_id = 7;
	mana_look_lock(&look);
	assert_eq(mana_atomic_load(&look), 7);
	mana_look_unlock(&look);
	assert_eq(pthread_join(thread, NULL), 0);
	assert_eq(mana_atomic_load(&look), 0);
	mana_process_id = MANA_PROCESS_PRIMARY;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_ports),
		cmocka_unit_test(lock_of_another_process),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
