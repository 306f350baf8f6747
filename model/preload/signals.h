/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SIGSEGV belongs to the model, and yet to the program.
 *
 * Really, SIGSEGV always has our handler, is never blocked, and each thread
 * has an alternate stack of ours. What the program asked for (its action, its
 * mask, its alternate stack) is remembered, shown to it when it looks, and
 * used for each fault that is not ours. The same for SIGBUS, which guarded
 * copies may meet, except that its mask is left alone.
 *
 * Whether the program blocked SIGSEGV is kept where the kernel keeps masks:
 * signal 64 stands in for it in every real mask. So it follows threads,
 * fork(), exec(), handlers, siglongjmp() and setcontext() by itself. The
 * program sees SIGRTMAX = 63, as the C library keeps 32 and 33 for itself.
 *
 * Known limits: handlers of other signals that ask for SA_ONSTACK run on our
 * alternate stack; sigaction(), sigaltstack() and sigprocmask() made as raw
 * system calls are seen only when signals_start() looks.
 */

#ifndef MODEL_SIGNALS_H
#define MODEL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define SIGNALS_STAND_IN 64

/* Whether this process runs on a modelled machine at all. */
bool signals_active(void);

/*
 * Take over from whoever handles SIGSEGV and SIGBUS now and give the calling
 * thread its stack. To be called again whenever somebody may have installed a
 * handler past us by a raw system call. Idempotent.
 */
void signals_start(void);

/* Sets of the program as the kernel gets them, and back. */
void signals_set_to_real(sigset_t *set);
void signals_set_to_program(sigset_t *set);

/*
 * The program's action for a signal that was taken over, as sigaction();
 * false when it was not: then the kernel's action is the program's.
 */
bool signals_action(int signo, const struct sigaction *act,
		    struct sigaction *old);
/* Its action for a delivery: with SA_RESETHAND it is the default afterwards. */
void signals_action_consume(int signo, struct sigaction *act);

/* A blocked SIGSEGV that somebody sent waits here, per thread. */
void signals_pend(const siginfo_t *info);
bool signals_is_pending(void);
/* After a change of the mask: send it again if it is not blocked now. */
void signals_repost(void);

/* Real death by signo once the handler returns; info as the kernel gave it. */
void signals_die(int signo, siginfo_t *info, ucontext_t *uc);

/* Pass on a fault that is the program's own: deliver_*.c. */
void signals_deliver(int signo, siginfo_t *info, ucontext_t *uc);

/* Alternate stacks: signals_stack.c. */
struct signals_stack;
struct signals_stack *signals_stack_new(void); /* NULL: no memory */
void signals_stack_free(struct signals_stack *stack); /* never entered */
/* The calling thread takes it, until it ends. */
void signals_stack_enter(struct signals_stack *stack);
/* Room for what a thread is to run, in a stack not yet entered. */
void *signals_stack_scratch(struct signals_stack *stack);
/* The calling thread gets one if it has none. */
void signals_stack_ensure(void);
/* sigaltstack() of the program; sp is in the caller's frame. 0 or -errno. */
int signals_stack_set(const stack_t *ss, stack_t *old, uintptr_t sp);
/*
 * The upper end of the stack for a handler that interrupts at sp, and its
 * lower limit (0: not known).
 */
uintptr_t signals_stack_top(uintptr_t sp, bool on_stack, uintptr_t *limit);

#endif /* MODEL_SIGNALS_H */
