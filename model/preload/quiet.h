/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Short critical sections inside one process that no signal handler of the
 * same thread can enter, and system calls below the C library's wrappers,
 * some of which this library replaces.
 */

#ifndef MODEL_QUIET_H
#define MODEL_QUIET_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUIET_BIT(signo) (UINT64_C(1) << ((signo) - 1))

/* Signals raised by the instruction itself: blocked, they would kill. */
#define QUIET_NEVER_BLOCKED                                                    \
	(QUIET_BIT(SIGSEGV) | QUIET_BIT(SIGBUS) | QUIET_BIT(SIGILL) |          \
	 QUIET_BIT(SIGFPE) | QUIET_BIT(SIGTRAP))

/* The kernel's mask of this thread: 64 bits, as the system call has it. */
static inline void
quiet_mask(int how, const uint64_t *set, uint64_t *old)
{
	int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, how, set, old, sizeof(*set));
	errno = saved_errno;
}

static inline uint64_t
quiet_enter(void)
{
	uint64_t all = ~QUIET_NEVER_BLOCKED, old = 0;

	quiet_mask(SIG_BLOCK, &all, &old);
	return old;
}

static inline void
quiet_leave(uint64_t old)
{
	quiet_mask(SIG_SETMASK, &old, NULL);
}

struct quiet_lock {
	int held;
};

/* For callers that have entered, or whose signals are blocked anyway. */
static inline void
quiet_lock(struct quiet_lock *lock)
{
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
}

static inline void
quiet_unlock(struct quiet_lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif /* MODEL_QUIET_H */
