/* SPDX-License-Identifier: BSD-3-Clause */

/* The lock of the machine. */

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "segment_head.h"

static __thread uint64_t segment_saved_mask
	__attribute__((tls_model("initial-exec")));

/* This thread has the lock; rc is from pthread_mutex_[try]lock(). */
static void
segment_locked(int rc)
{
	/* kernel_reclaim_dead() destroys objects of the dead process. */
	if (rc == EOWNERDEAD) {
		pthread_mutex_consistent(&model->mutex);
		segment_holder_died();
	}
}

/*
 * The mutex is not fair: a thread that takes it in a loop would starve threads
 * that sleep on it, and would need a system call to wake them. So a thread that
 * wants the lock polls, and sets is_wanted until it has the lock. If it is
 * killed meanwhile, the only effect is one short pause of the polling thread.
 */
static int
segment_lock_wanted(void)
{
	int rc;

	while ((rc = pthread_mutex_trylock(&model->mutex)) == EBUSY) {
		__atomic_store_n(&model->is_wanted, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return rc;
}

#define SEGMENT_PAUSES 200u /* a few microseconds */

bool
segment_trylock_last(void)
{
	uint32_t i;
	int rc;

	if (__atomic_load_n(&model->is_wanted, __ATOMIC_RELAXED) != 0) {
		__atomic_store_n(&model->is_wanted, 0, __ATOMIC_RELAXED);
		for (i = 0; i < SEGMENT_PAUSES; i++)
			__builtin_ia32_pause();
	}
	rc = pthread_mutex_trylock(&model->mutex);
	if (rc == EBUSY)
		return false;
	segment_locked(rc);
	return true;
}

void
segment_lock_masked(void)
{
	segment_locked(model->config.mode == MODEL_MODE_POLLED ?
			       segment_lock_wanted() :
			       pthread_mutex_lock(&model->mutex));
}

void
segment_unlock_masked(void)
{
	pthread_mutex_unlock(&model->mutex);
}

#define SEGMENT_SIGNAL_BIT(sig) (1ull << ((sig)-1))

void
segment_lock(void)
{
	/* Signals raised by an instruction cannot be deferred. */
	uint64_t mask =
		~(SEGMENT_SIGNAL_BIT(SIGSEGV) | SEGMENT_SIGNAL_BIT(SIGBUS) |
		  SEGMENT_SIGNAL_BIT(SIGILL) | SEGMENT_SIGNAL_BIT(SIGFPE) |
		  SEGMENT_SIGNAL_BIT(SIGTRAP) | SEGMENT_SIGNAL_BIT(SIGSYS));
	uint64_t saved;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &saved, sizeof(mask));
	segment_lock_masked();
	segment_saved_mask = saved;
}

void
segment_unlock(void)
{
	uint64_t saved = segment_saved_mask;

	segment_unlock_masked();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
}
