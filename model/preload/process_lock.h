/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Short critical sections inside a process, protected against signal handlers
 * of the same thread. They use direct system calls, because this library
 * interposes some wrappers of the C library.
 */

#ifndef MODEL_PROCESS_LOCK_H
#define MODEL_PROCESS_LOCK_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNAL_BIT(signo) (UINT64_C(1) << ((signo) - 1))

/* Signals raised by an instruction: if blocked, they would kill the process. */
#define SIGNALS_NEVER_BLOCKED                                                    \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) |          \
	 SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP))

/* The kernel's signal mask of this thread: 64 bits, as in the system call. */
static inline void
signals_set_mask(int how, const uint64_t *set, uint64_t *old)
{
	int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, how, set, old, sizeof(*set));
	errno = saved_errno;
}

static inline uint64_t
signals_block_all(void)
{
	uint64_t all = ~SIGNALS_NEVER_BLOCKED, old = 0;

	signals_set_mask(SIG_BLOCK, &all, &old);
	return old;
}

static inline void
signals_restore_all(uint64_t old)
{
	signals_set_mask(SIG_SETMASK, &old, NULL);
}

/*
 * The locks of this process, in nesting order. fork() copies only the calling
 * thread: a lock held by another thread would stay locked in the child, and the
 * data that it protects may be inconsistent there.
 */
enum process_lock_name {
	/* A child resets these locks and the data that they protect. */
	PROCESS_LOCK_THREAD, /* start of the device thread */
	/*
	 * fork() waits for these. A thread must not allocate memory while it holds
	 * one, nor take one while it holds an allocator's lock.
	 */
	PROCESS_LOCK_PAGES,   /* doorbell pages: those that trap, views of others */
	PROCESS_LOCK_WATCHES, /* event files in epoll sets */
	PROCESS_LOCK_ACTIONS, /* actions of intercepted signals */
	PROCESS_LOCK_DECODE,
	NB_PROCESS_LOCKS,
};

extern int process_locks[NB_PROCESS_LOCKS];

/* For callers in a critical section, or with all signals blocked. */
static inline void
process_lock(enum process_lock_name name)
{
	while (__atomic_exchange_n(&process_locks[name], 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
}

static inline void
process_unlock(enum process_lock_name name)
{
	__atomic_store_n(&process_locks[name], 0, __ATOMIC_RELEASE);
}

#endif /* MODEL_PROCESS_LOCK_H */
