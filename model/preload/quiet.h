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

/*
 * The locks of this process, in the order in which they nest. fork() copies
 * one thread only: a lock that another one holds at that moment would never be
 * free in the child, and what it protects could be half written there.
 */
enum quiet_name {
	/* Free in a child, which begins anew with what they protect. */
	QUIET_STEP,   /* step mode: one thread at a time plays the device */
	QUIET_THREAD, /* the device's is started */
	/*
	 * fork() waits for these. Nobody allocates while he holds one, or takes
	 * one while he holds an allocator's lock.
	 */
	QUIET_PLAIN,   /* views of doorbell pages of plain memory */
	QUIET_PAGES,   /* doorbell pages that trap */
	QUIET_WATCHES, /* event files in epoll sets */
	QUIET_ACTIONS, /* of signals that are taken over */
	QUIET_DECODE,
	NB_QUIET,
};

extern int quiet_held[NB_QUIET];

/* For callers that have entered, or whose signals are blocked anyway. */
static inline void
quiet_lock(enum quiet_name name)
{
	while (__atomic_exchange_n(&quiet_held[name], 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
}

static inline void
quiet_unlock(enum quiet_name name)
{
	__atomic_store_n(&quiet_held[name], 0, __ATOMIC_RELEASE);
}

#endif /* MODEL_QUIET_H */
