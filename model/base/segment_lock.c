/* SPDX-License-Identifier: BSD-3-Clause */

/* The lock of the machine. */

#include <errno.h>
#include <signal.h>

#include "platform.h"
#include "segment_head.h"

static __thread uint64_t segment_saved_mask
	__attribute__((tls_model("initial-exec")));

/*
 * The first thread that asks gets a free mutex, and a thread that slept for it asks late.
 * While a generator is behind its rate, the launcher takes the lock again at once, and a
 * doorbell would wait for seconds. So a thread waits for its turn first, then for the mutex.
 */
void
segment_lock_masked(void)
{
	int rc;

	if (pthread_mutex_lock(&model->turn) == EOWNERDEAD)
		pthread_mutex_consistent(&model->turn);
	rc = pthread_mutex_lock(&model->mutex);
	pthread_mutex_unlock(&model->turn);
	/* kernel_reclaim_dead() destroys objects of the dead process. */
	if (rc == EOWNERDEAD) {
		pthread_mutex_consistent(&model->mutex);
		platform->recover();
	}
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
