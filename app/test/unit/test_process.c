/* SPDX-License-Identifier: BSD-3-Clause */

/* What a process has for itself: its window of doorbell pages, its marks. */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>

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
TEST(pages_of_ports)
{
	const int first = page_file(), second = page_file(), other = page_file();
	uintptr_t db;

	/* Before there is a page. */
	mana_db_unmap(0);
	fails = true;
	assert_eq(-mana_db_map(0, first), ENOMEM);
	fails = false;
	mana_db_ring(mana_db_offset(mana_db_page(0)), 9);
	assert_eq(word_of(first), 0);

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

static MANA_ATOMIC(uint64_t) lock;

static void *
hold_for_a_while(void *arg)
{
	mana_query_lock(&lock);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	usleep(20000);
	mana_query_unlock(&lock);
	return arg;
}

/* Another process holds the lock for a while. */
TEST(lock_of_another_process)
{
	bool is_held = false;
	pthread_t thread;

	mana_query_lock(&lock);
	assert_eq(mana_atomic_load(&lock) >> 32, MANA_PROCESS_PRIMARY);
	assert_eq((uint32_t)mana_atomic_load(&lock), (uint32_t)rte_gettid());
	mana_query_unlock(&lock);
	assert_eq(pthread_create(&thread, NULL, hold_for_a_while, &is_held), 0);
	while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		usleep(100);
	mana_process_id = 7;
	mana_query_lock(&lock);
	assert_eq(mana_atomic_load(&lock) >> 32, 7);
	mana_query_unlock(&lock);
	assert_eq(pthread_join(thread, NULL), 0);
	assert_eq(mana_atomic_load(&lock), 0);
	mana_process_id = MANA_PROCESS_PRIMARY;
}

static struct mana_mutex mutex;

static void *
die_with_lock(void *arg)
{
	mana_mutex_lock(&mutex);
	return arg;
}

/* The holder of a mutex ends: the next one can give it back, with its own signals. */
TEST(mutex_of_a_dead_thread)
{
	pthread_t thread;
	sigset_t set;
	void *list;
	size_t len;

	/* QEMU's user mode has no lists of the mutexes that a thread holds. */
	if (syscall(SYS_get_robust_list, 0, &list, &len) != 0)
		skip();
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	mana_mutex_init(&mutex, MANA_LOCK_INNER);
	for (uint32_t is_try = 0; is_try < 2; is_try++) {
		assert_eq(pthread_create(&thread, NULL, die_with_lock, NULL), 0);
		assert_eq(pthread_join(thread, NULL), 0);
		assert_eq(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
		if (is_try)
			assert_true(mana_mutex_trylock(&mutex));
		else
			mana_mutex_lock(&mutex);
		assert_false(mana_mutex_trylock(&mutex));
		mana_mutex_unlock(&mutex);
		assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
		assert_true(sigismember(&set, SIGHUP));
		assert_false(sigismember(&set, SIGTERM));
		assert_true(mana_mutex_trylock(&mutex));
		mana_mutex_unlock(&mutex);
	}
	sigemptyset(&set);
	assert_eq(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
	assert_eq(pthread_mutex_destroy(&mutex.lock), 0);
}
