/* SPDX-License-Identifier: BSD-3-Clause */

/* Interposed libc functions for the handling of SIGSEGV; logic: signals.h. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>

#include "events.h"
#include "preload.h"
#include "process_lock.h"
#include "signals.h"

/* sigset() and sigignore() are obsolete, but still exist. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Convert a set of the program, or NULL, for the kernel. */
static const sigset_t *
to_real(const sigset_t *set, sigset_t *room)
{
	if (set == NULL || !signals_active())
		return set;
	*room = *set;
	signals_set_to_real(room);
	return room;
}

static void
to_program(sigset_t *set)
{
	if (set != NULL && signals_active())
		signals_set_to_program(set);
}

MODEL_EXPORT int
sigaction(int signo, const struct sigaction *restrict act,
	  struct sigaction *restrict old)
{
	struct sigaction room;
	int ret;

	if (!signals_active())
		return MODEL_REAL(sigaction)(signo, act, old);
	if (signo == SIGNALS_STAND_IN) {
		errno = EINVAL;
		return -1;
	}
	if (signals_action(signo, act, old))
		return 0;
	if (act != NULL) {
		room = *act;
		signals_set_to_real(&room.sa_mask);
		act = &room;
	}
	ret = MODEL_REAL(sigaction)(signo, act, old);
	if (ret == 0 && old != NULL)
		to_program(&old->sa_mask);
	return ret;
}

/* The variants of signal(), for intercepted signals. */
static bool
set_handler(int signo, sighandler_t handler, int flags, sighandler_t *before)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = flags;
	if (!signals_active() || handler == SIG_ERR ||
	    !signals_action(signo, &act, &old))
		return false;
	*before = old.sa_handler;
	return true;
}

#define DEFINE_SIGNAL(name, flags)                                             \
	sighandler_t name(int signo, sighandler_t handler);                    \
	MODEL_EXPORT sighandler_t name(int signo, sighandler_t handler)        \
	{                                                                      \
		sighandler_t before;                                           \
                                                                               \
		if (set_handler(signo, handler, flags, &before))               \
			return before;                                         \
		return MODEL_REAL(name)(signo, handler);                       \
	}

DEFINE_SIGNAL(signal, SA_RESTART)
DEFINE_SIGNAL(bsd_signal, SA_RESTART)
DEFINE_SIGNAL(ssignal, SA_RESTART)
DEFINE_SIGNAL(sysv_signal, SA_RESETHAND | SA_NODEFER)
DEFINE_SIGNAL(__sysv_signal, SA_RESETHAND | SA_NODEFER)

#define DEFINE_MASK(name)                                               \
	MODEL_EXPORT int name(int how, const sigset_t *restrict set,    \
			      sigset_t *restrict old)                   \
	{                                                               \
		sigset_t room;                                          \
		int ret = MODEL_REAL(name)(how, to_real(set, &room), old); \
									\
		if (ret == 0) {                                         \
			to_program(old);                                \
			signals_repost();                               \
		}                                                       \
		return ret;                                             \
	}

DEFINE_MASK(sigprocmask)
DEFINE_MASK(pthread_sigmask)

/* The obsolete mask functions call an internal function of the C library. */
static int
change_one(int how, int signo)
{
	sigset_t set;

	if (sigemptyset(&set) != 0 || sigaddset(&set, signo) != 0)
		return -1;
	return sigprocmask(how, &set, NULL);
}

MODEL_EXPORT int
sighold(int signo)
{
	return change_one(SIG_BLOCK, signo);
}

MODEL_EXPORT int
sigrelse(int signo)
{
	return change_one(SIG_UNBLOCK, signo);
}

MODEL_EXPORT int
sigignore(int signo)
{
	sighandler_t before;

	if (set_handler(signo, SIG_IGN, 0, &before))
		return 0;
	return MODEL_REAL(sigignore)(signo);
}

MODEL_EXPORT sighandler_t
sigset(int signo, sighandler_t handler)
{
	sighandler_t before;
	sigset_t old;

	if (!signals_active() || !signals_action(signo, NULL, NULL))
		return MODEL_REAL(sigset)(signo, handler);
	if (handler == SIG_HOLD) {
		struct sigaction now;

		signals_action(signo, NULL, &now);
		before = now.sa_handler;
	} else if (!set_handler(signo, handler, 0, &before)) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigprocmask(SIG_BLOCK, NULL, &old);
	change_one(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, signo);
	return sigismember(&old, signo) == 1 ? SIG_HOLD : before;
}

MODEL_EXPORT int
sigpending(sigset_t *set)
{
	int ret = MODEL_REAL(sigpending)(set);

	if (ret == 0 && signals_active()) {
		sigdelset(set, SIGNALS_STAND_IN);
		if (signals_is_pending())
			sigaddset(set, SIGSEGV);
	}
	return ret;
}

MODEL_EXPORT int
sigaltstack(const stack_t *restrict ss, stack_t *restrict old)
{
	int ret;

	if (!signals_active())
		return MODEL_REAL(sigaltstack)(ss, old);
	ret = signals_stack_set(ss, old,
				(uintptr_t)__builtin_frame_address(0));
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

/* A function whose only difference is the mask. */
#define DEFINE_WITH_MASK(name, parameters, next)                        \
	MODEL_EXPORT int name parameters                                \
	{                                                               \
		sigset_t room;                                          \
									\
		set = to_real(set, &room);                              \
		return MODEL_REAL(name) next;                           \
	}

DEFINE_WITH_MASK(sigsuspend, (const sigset_t *set), (set))
DEFINE_WITH_MASK(pselect,
		 (int nb_fds, fd_set *restrict rd, fd_set *restrict wr, fd_set *restrict ex,
		  const struct timespec *restrict timeout, const sigset_t *restrict set),
		 (nb_fds, rd, wr, ex, timeout, set))
DEFINE_WITH_MASK(pthread_attr_setsigmask_np, (pthread_attr_t *attr, const sigset_t *set),
		 (attr, set))
DEFINE_WITH_MASK(posix_spawnattr_setsigmask,
		 (posix_spawnattr_t *restrict attr, const sigset_t *restrict set), (attr, set))

MODEL_EXPORT int
ppoll(struct pollfd *fds, nfds_t nb_fds, const struct timespec *timeout,
      const sigset_t *set)
{
	static const struct timespec now;
	sigset_t room;

	if (events_poll_is_due(fds, nb_fds))
		timeout = &now;
	return events_poll_done(fds, nb_fds,
				MODEL_REAL(ppoll)(fds, nb_fds, timeout,
						  to_real(set, &room)));
}

/* The _FORTIFY_SOURCE variant. */
int __ppoll_chk(struct pollfd *fds, nfds_t nb_fds,
		const struct timespec *timeout, const sigset_t *set,
		size_t fds_bytes);
MODEL_EXPORT int
__ppoll_chk(struct pollfd *fds, nfds_t nb_fds, const struct timespec *timeout,
	    const sigset_t *set, size_t fds_bytes)
{
	sigset_t room;

	if (fds_bytes / sizeof(*fds) >= nb_fds)
		return ppoll(fds, nb_fds, timeout, set);
	return MODEL_REAL(__ppoll_chk)(fds, nb_fds, timeout,
				       to_real(set, &room), fds_bytes);
}

MODEL_EXPORT int
epoll_pwait(int epfd, struct epoll_event *events, int nb_events, int timeout,
	    const sigset_t *set)
{
	sigset_t room;

	return events_epoll_done(epfd, events,
				 MODEL_REAL(epoll_pwait)(epfd, events,
							 nb_events, timeout,
							 to_real(set, &room)));
}

MODEL_EXPORT int
epoll_pwait2(int epfd, struct epoll_event *events, int nb_events,
	     const struct timespec *timeout, const sigset_t *set)
{
	sigset_t room;

	return events_epoll_done(epfd, events,
				 MODEL_REAL(epoll_pwait2)(epfd, events,
							  nb_events, timeout,
							  to_real(set, &room)));
}

int __libc_current_sigrtmax(void);
MODEL_EXPORT int
__libc_current_sigrtmax(void)
{
	int last = MODEL_REAL(__libc_current_sigrtmax)();

	return signals_active() && last >= SIGNALS_STAND_IN ?
	       SIGNALS_STAND_IN - 1 : last;
}

/* A new thread has its alternate stack from its first instruction on. */
struct thread_start {
	void *(*run)(void *arg);
	thrd_start_t run_c11;
	void *arg;
};

static void *
start_thread(void *arg)
{
	struct signals_stack *stack = arg;
	struct thread_start start;

	memcpy(&start, signals_stack_scratch(stack), sizeof(start));
	signals_stack_enter(stack);
	return start.run(start.arg);
}

static int
start_thread_c11(void *arg)
{
	struct signals_stack *stack = arg;
	struct thread_start start;

	memcpy(&start, signals_stack_scratch(stack), sizeof(start));
	signals_stack_enter(stack);
	return start.run_c11(start.arg);
}

static struct signals_stack *
prepare_thread(const struct thread_start *start)
{
	struct signals_stack *stack;

	_Static_assert(sizeof(*start) <= 64, "fits the scratch of a stack");
	stack = signals_active() ? signals_stack_new() : NULL;
	if (stack != NULL)
		memcpy(signals_stack_scratch(stack), start, sizeof(*start));
	return stack;
}

MODEL_EXPORT int
pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
	       void *(*run)(void *arg), void *restrict arg)
{
	struct thread_start start = {.run = run, .arg = arg};
	struct signals_stack *stack = prepare_thread(&start);
	int ret;

	if (stack == NULL)
		return MODEL_REAL(pthread_create)(thread, attr, run, arg);
	ret = MODEL_REAL(pthread_create)(thread, attr, start_thread, stack);
	if (ret != 0)
		signals_stack_free(stack);
	return ret;
}

MODEL_EXPORT int
thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	struct thread_start start = {.run_c11 = run, .arg = arg};
	struct signals_stack *stack = prepare_thread(&start);
	int ret;

	if (stack == NULL)
		return MODEL_REAL(thrd_create)(thread, run, arg);
	ret = MODEL_REAL(thrd_create)(thread, start_thread_c11, stack);
	if (ret != thrd_success)
		signals_stack_free(stack);
	return ret;
}
