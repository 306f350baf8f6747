/* SPDX-License-Identifier: BSD-3-Clause */

/* The window of doorbell pages, the clock, and mutexes that survive their holder. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>

#include <rte_common.h>

#include "mana_process.h"

MANA_ATOMIC(uint32_t) mana_process_id = MANA_PROCESS_PRIMARY;
uint32_t mana_process_kind = MANA_KIND_PRIMARY;
uint8_t mana_db_window[RTE_MAX_ETHPORTS * MANA_DB_PAGE_MAX_BYTES]
	__rte_aligned(MANA_DB_PAGE_MAX_BYTES);

void *
mana_db_page(uint16_t port_id)
{
	return mana_db_window + (size_t)port_id * sysconf(_SC_PAGESIZE);
}

int
mana_db_map(uint16_t port_id, int fd)
{
	size_t page_bytes = sysconf(_SC_PAGESIZE);
	int ret;

	/* As libmana: written only, and exactly one page (Linux mana_ib_mmap). */
	if (mmap(mana_db_page(port_id), page_bytes, PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
		return 0;
	ret = -errno;
	/* Linux has unmapped the page before it asked the driver (mm/mmap.c). */
	mana_db_unmap(port_id);
	return ret;
}

void
mana_db_unmap(uint16_t port_id)
{
	(void)mmap(mana_db_page(port_id), sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

uint64_t
mana_now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- The order of locks ------------------------------------------------------- */

#ifdef MANA_LOCK_ORDER
/*
 * A bit for each rank of which this thread has a lock. Not in a block of its own for each
 * plug-in and thread, whose size the leak sanitizer guesses, and may guess wrong.
 */
static __thread __attribute__((tls_model("initial-exec"))) uint32_t held;

void
mana_lock_order_enter(enum mana_lock_rank rank, bool waits)
{
	if (waits && held >> rank != 0) {
		(void)fprintf(stderr, "MANA: order of locks: %d with those of mask 0x%x\n", rank,
			      held);
		abort();
	}
	if (!waits)
		held |= RTE_BIT32(rank);
}

void
mana_lock_order_leave(enum mana_lock_rank rank)
{
	held &= ~RTE_BIT32(rank);
}
#endif

/* ---- Mutexes ----------------------------------------------------------------- */

void
mana_mutex_init(struct mana_mutex *mutex, enum mana_lock_rank rank)
{
	pthread_mutexattr_t attr;

	mutex->rank = rank;
	/* A forked child has no lock. */
	mana_lock_order_leave(rank);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutex_init(&mutex->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void
mana_signals_block(sigset_t *before)
{
	static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < RTE_DIM(faults); i++)
		sigdelset(&set, faults[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, before);
}

void
mana_signals_restore(const sigset_t *before)
{
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/*
 * What a dead holder has left is as consistent as ever. Returns whether the caller holds
 * it, with signals blocked.
 */
static bool
mutex_take(struct mana_mutex *mutex, int (*lock)(pthread_mutex_t *mutex))
{
	sigset_t before;
	int ret;

	mana_signals_block(&before);
	ret = lock(&mutex->lock);
	if (ret == EOWNERDEAD)
		ret = pthread_mutex_consistent(&mutex->lock);
	if (ret == 0) {
		mutex->mask = before;
		mana_lock_order_enter(mutex->rank, false);
	} else {
		mana_signals_restore(&before);
	}
	return ret == 0;
}

void
mana_mutex_lock(struct mana_mutex *mutex)
{
	mana_lock_order_enter(mutex->rank, true);
	(void)mutex_take(mutex, pthread_mutex_lock);
}

bool
mana_mutex_trylock(struct mana_mutex *mutex)
{
	return mutex_take(mutex, pthread_mutex_trylock);
}

void
mana_mutex_unlock(struct mana_mutex *mutex)
{
	const sigset_t before = mutex->mask;

	mana_lock_order_leave(mutex->rank);
	pthread_mutex_unlock(&mutex->lock);
	mana_signals_restore(&before);
}
